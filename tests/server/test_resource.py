"""Dereferencing: the IRIs of a graph and their descriptions, as data and as pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.compare import isomorphic

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import SEMAPV
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.server.pages import resource_page
from sarag_rdf.server.resource import _merged_into
from sarag_rdf.server.resource_reader import MAX_STATEMENTS, Resources, describe_resource
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor, insert
from tests.server.chromium import open_browser
from tests.server.running import Got, Running, serving
from tests.typed_graph import EX, typed_graph

BASE = "https://example.org/kg/"
SARAG = rdflib.Namespace("https://w3id.org/sarag/ontology#")
ILSE = BASE + "entity/ilse_brandt"
THING = "https://things.example.org/linz"
MANUAL = SEMAPV.ManualMappingCuration.value
CLAIM = "https://things.example.org/claim"
EVERYTHING = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o FILTER(?s != <{CLAIM}>) }}"
MANY = "https://things.example.org/Many"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "\"' onmouseover='alert(1)",
    "]]> <!-- &lt;b&gt;",
    "\u202e gnirts \u200f",
)
MESSES = ("Entity", "Document", "Relationship", "Source", "Mention", "Description")
PREFIXES = """PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX t: <https://things.example.org/> PREFIX s: <https://w3id.org/sarag/ontology#> """
MESS = """s:text 5 , "a" , t:x ; s:refersTo "x" ; s:subject "s" , 1.5 ; s:object [] ; s:name [] ;
  s:source "no iri" ; s:beginIndex "x" ; s:property "p" ; s:useOf "u" ; s:about 1 ; s:phrase t:p ;
  s:describes "d" ; rdfs:label t:x , "" , " " ; s:confidence "<b>" ; s:describes t:messEntity ;
  <http://www.w3.org/2002/07/owl#sameAs> "same" , <urn:x> ; s:mergedInto "m" ;
  <http://www.w3.org/ns/prov#wasDerivedFrom> "y" , t:messDocument ; s:subject t:messEntity ;
  <http://www.w3.org/ns/prov#wasGeneratedBy> "z" ; s:refersTo t:messEntity ; s:useOf t:messMention ;
  s:aliasMention t:messMention ; <http://www.w3.org/2002/07/owl#annotatedSource> t:messEntity .
"""
"""Statements that are not of the graph model; a graph of one's own may have such."""
IMPORTED = "\n".join(
    [
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>",
        "PREFIX t: <https://things.example.org/>",
        't:Danube rdfs:label "</svg><script>alert(2)</script>" .',
        f'<{THING}> a t:City ; rdfs:label "Linz"@de , "לינץ"@he ; t:by <javascript:alert(1)> ;',
        '  t:river t:Danube ; t:shape [ t:corner 1 , 2.50 ; t:part [ t:name "inner" ] ] .',
        *(f"<{THING}> t:note {json.dumps(text)} ." for text in HOSTILE),
        *(f'<{MANY}/{n:03}> a <{MANY}> ; rdfs:label "thing {n}" .' for n in range(120)),
    ]
)  # fmt: skip
FORMATS = {
    "turtle": ("text/turtle", "turtle"),
    "ntriples": ("application/n-triples", "nt"),
    "jsonld": ("application/ld+json", "json-ld"),
    "rdfxml": ("application/rdf+xml", "xml"),
}
"""Parameter -> media type, parser of rdflib."""


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Typed statements, a name in Japanese, a source with a space, an import, a link to it."""
    folder = tmp_path_factory.mktemp("resource")
    (folder / "things.ttl").write_text(IMPORTED, "utf-8")
    typed_graph(folder / "kg").close()
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source("Ada met Boris.", key="a folder/ä.txt")], extractor=CapitalExtractor())
        kg.import_graph(folder / "things.ttl", "rdf", name="things")
        link = Match(BASE + "entity/linz", EXACT, THING, MANUAL, 0.75, tool="by hand")
        kg.decisions.merge("Boris", "Ada", note="the same")
        kg.links.accept([link])
    mess = PREFIXES + "".join(f"t:mess{kind} a s:{kind} ; {MESS}" for kind in MESSES)
    own = ox.NamedNode("https://own.example.org/graph")
    mess += "".join(f"t:doc{n} a s:Document ; s:describes t:messEntity ." for n in range(90))
    parsed = ox.parse(mess.encode(), ox.RdfFormat.TURTLE)
    says = ox.NamedNode("urn:says")
    claim = ox.Triple(ox.NamedNode("urn:a"), says, ox.Literal("</script>"))
    insert(folder / "kg", ox.Quad(ox.NamedNode(CLAIM), says, claim, own))
    insert(folder / "kg", *(ox.Quad(t.subject, t.predicate, t.object, own) for t in parsed))
    return folder / "kg"


@pytest.fixture(scope="module")
def server(kg: Path) -> Iterator[Running]:
    with serving(kg, "--workers", "1") as running:
        yield running


def resource(server: Running, iri: str, accept: str = "text/turtle", more: str = "") -> Got:
    return server.ask("GET", f"/resource?iri={quote(iri, safe='')}{more}", Accept=accept)


def page(server: Running, iri: str, more: str = "") -> str:
    got = resource(server, iri, "text/html", more)
    assert (got.status, got.media_type) == (200, "text/html"), got
    return got.text


def triples(data: str | bytes, format_: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=data, format=format_)


def some(server: Running, pattern: str) -> str:
    """The first ?x of a pattern, in the order of IRIs."""
    prefix = "PREFIX sarag: <https://w3id.org/sarag/ontology#> "
    return server.values(f"{prefix}SELECT ?x {{ {pattern} }} ORDER BY ?x LIMIT 1")[0][0]


def text_of(markup: str) -> str:
    """The visible text of a page or a part of it, with single spaces."""
    bare = re.sub(r"<script.*?</script>|</?(?:a|bdi|small|span|q)\b[^>]*>", "", markup, flags=re.S)
    bare = re.sub(r"<[^>]*>", " ", bare)
    return " ".join(html.unescape(bare).split())


# --------------------------------------------------------------------------- Addresses


def test_an_iri_leads_to_its_description(server: Running) -> None:
    got = server.ask("GET", "/entity/ilse_brandt", Accept="text/turtle")
    assert (got.status, got.body) == (303, b"")
    assert got.headers["location"] == f"/resource?iri={quote(ILSE, safe='')}"
    assert f'<{got.headers["location"]}>; rel="describedby"' in got.headers["link"]
    found = server.ask("GET", got.headers["location"], Accept="text/turtle")
    assert (found.status, found.media_type) == (200, "text/turtle")
    assert found.headers["vary"] == "Accept, Authorization"
    location = got.headers["location"]
    assert (
        found.headers["content-location"]
        == f"http://127.0.0.1:{server.port}{location}&format=turtle"
    )
    assert f'<{ILSE}>; rel="describes"' in found.headers["link"]
    assert (rdflib.URIRef(ILSE), rdflib.RDF.type, SARAG.Entity) in triples(found.body, "turtle")


@pytest.mark.parametrize(
    ("path", "iri"),
    [
        ("source/a%20folder/%C3%A4.txt", BASE + "source/a%20folder/%C3%A4.txt"),
        ("mention/ilse_brandt", BASE + "mention/ilse_brandt"),
        ("dataset", BASE + "dataset"),
    ],
)
def test_paths_are_iris(server: Running, path: str, iri: str) -> None:
    got = server.ask("GET", "/" + path)
    assert got.status == 303
    assert parse_qs(urlsplit(got.headers["location"]).query) == {"iri": [iri]}


@pytest.mark.parametrize("name", ["ontology/people", "kg"])
def test_a_named_graph_leads_to_its_triples(server: Running, name: str) -> None:
    got = server.ask("GET", "/graph/" + name)
    assert got.status == 303
    assert got.headers["location"].startswith("/rdf-graph-store?graph=https%3A%2F%2F")
    assert server.ask("GET", got.headers["location"], Accept="text/turtle").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/entity/nobody",
        "/graph/source/0",
        "/entity/%00",
        "/entity/%FF%FE",
        "/entity/a%3Cb%3E%22",
        "/entity/",
        "/doc/../../etc/passwd",
        "/source/%E2%80%AE%0D%0ASet-Cookie:%20a=b",
    ],
)
def test_unknown_paths(server: Running, path: str) -> None:
    got = server.ask("GET", path)
    got.is_line(404, "not found")
    assert "set-cookie" not in got.headers


def test_unknown_and_wrong_iris(server: Running) -> None:
    resource(server, BASE + "entity/nobody").is_line(404, "nobody")
    resource(server, "entity/ilse_brandt").is_line(400, "'iri'")
    server.ask("GET", "/resource").is_line(400, "'iri'")
    resource(server, ILSE, more="&format=png").is_line(400, "format", "turtle")
    resource(server, ILSE, more="&page=0").is_line(400, "page")
    resource(server, ILSE, more="&page=" + "9" * 5000).is_line(400, "page")
    resource(server, ILSE, "image/png").is_line(406, "text/turtle")
    server.ask("POST", "/resource", "").is_line(405, "GET")


def test_each_end_of_a_statement_dereferences(server: Running) -> None:
    """Whatever a description links to has a description itself."""
    graph = triples(resource(server, ILSE).body, "turtle")
    ends = {str(end) for end in (*graph.subjects(), *graph.objects()) if "://" in str(end)}
    assert len(ends) > 20
    assert {end: got.status for end in ends if (got := resource(server, end)).status != 200} == {}


def test_head_has_no_body(server: Running) -> None:
    for path in ("/entity/ilse_brandt", f"/resource?iri={quote(ILSE, safe='')}"):
        head, got = server.ask("HEAD", path), server.ask("GET", path)
        assert (head.status, head.body) == (got.status, b"")
        differing = {"date"}
        assert {k: v for k, v in head.headers.items() if k not in differing} == {
            k: v for k, v in got.headers.items() if k not in differing
        }


def test_links_of_other_sites_work_but_their_scripts_do_not(server: Running) -> None:
    foreign = "cross-site"
    for path in ("/entity/ilse_brandt", f"/resource?iri={quote(ILSE, safe='')}"):
        got = server.ask(
            "GET",
            path,
            Sec_Fetch_Site=foreign,
            Sec_Fetch_Mode="navigate",
            Sec_Fetch_Dest="document",
        )
        assert got.status in (200, 303)
        server.ask("GET", path, Sec_Fetch_Site=foreign).is_line(403, "--cors")


def test_iris_below_the_public_url_are_addresses(server: Running, kg: Path) -> None:
    """The base is ``https://example.org/kg/``; a web server removes the path of the public URL."""
    url = BASE.rstrip("/")
    with serving(kg, "--workers", "1", "--public-url", url) as public:
        got = public.ask("GET", "/entity/ilse_brandt", Host="example.org")
        assert got.headers["location"] == f"{url}/resource?iri={quote(ILSE, safe='')}"
        path = got.headers["location"].removeprefix(url)
        assert public.ask("GET", path, Host="example.org", Accept="text/turtle").status == 200


# ------------------------------------------------------------------------- Content types


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "text/turtle"),
        ("*/*", "text/turtle"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
        ("text/html;q=0.5, application/ld+json", "application/ld+json"),
        ("application/n-triples", "application/n-triples"),
        ("application/rdf+xml", "application/rdf+xml"),
        ("application/*;q=0.1, text/turtle;q=0", "application/n-triples"),
    ],
)
def test_accept(server: Running, accept: str, media_type: str) -> None:
    got = resource(server, ILSE, accept)
    assert (got.status, got.media_type) == (200, media_type)
    alternates = set(re.findall(r'rel="alternate"; type="([^"]+)"', got.headers["link"]))
    assert alternates == {"text/html", *(name for name, _ in FORMATS.values())}


def resources(server: Running) -> dict[str, str]:
    """Kind of page -> an IRI of the graph."""
    return {
        "entity": ILSE,
        "date": some(server, "?x a sarag:TemporalValue"),
        "document": some(server, "?x a sarag:Document"),
        "source": some(server, "?x a sarag:Source"),
        "relationship": some(server, "?x a sarag:Relationship"),
        "mention": some(server, "?x a sarag:Mention"),
        "class": EX + "Chemist",
        "property": EX + "birthPlace",
        "vocabulary": str(SARAG.Entity),
        "imported": THING,
        "linked": BASE + "entity/linz",
        "many": MANY,
    }


def test_an_imported_thing_shows_links_without_their_records(server: Running) -> None:
    markup = page(server, THING)
    assert "exact match" in markup
    assert BASE + "entity/linz" in unquote(markup)
    assert "annotated" not in text_of(markup)


def test_all_formats_have_the_same_triples(server: Running) -> None:
    for kind, iri in resources(server).items():
        found = {
            name: triples(resource(server, iri, media_type).body, parser)
            for name, (media_type, parser) in FORMATS.items()
        }
        markup = page(server, iri)
        block = re.search(r'<script type="application/ld\+json">(.*?)</script>', markup, re.S)
        assert block, kind
        found["page"] = triples(block.group(1), "json-ld")
        by_name = {
            name: triples(resource(server, iri, "*/*", f"&format={name}").body, parser)
            for name, (_, parser) in FORMATS.items()
        }
        assert len(found["turtle"]) >= 2, kind
        for name, graph in (*found.items(), *by_name.items()):
            assert isomorphic(graph, found["turtle"]), (kind, name)


def test_the_triples_are_those_of_the_graph(server: Running) -> None:
    """Every triple of a description is in the graph or in the vocabulary."""
    vocabulary = rdflib.Graph()
    for name in ("sarag", "common"):
        vocabulary.parse(f"ontology/{name}.ttl")
    everything = server.query(EVERYTHING, "text/turtle", over="all")
    stored = triples(everything.body, "turtle")
    graph = triples(resource(server, ILSE).body, "turtle")
    assert len(graph - stored - vocabulary) == 0
    about = set(stored.triples((rdflib.URIRef(ILSE), None, None)))
    assert about <= set(graph)
    assert set(stored.triples((None, None, rdflib.URIRef(ILSE)))) <= set(graph)
    relationship = rdflib.URIRef(some(server, f"?x sarag:subject <{ILSE}>"))
    assert set(stored.triples((relationship, None, None))) <= set(graph)


def test_nested_nodes_are_described_with_their_owner(server: Running) -> None:
    graph = triples(resource(server, THING).body, "turtle")
    assert rdflib.Literal("inner") in set(graph.objects())


def test_instances_are_paged(server: Running) -> None:
    seen: list[str] = []
    for number in (1, 2, 3):
        data = triples(resource(server, MANY, more=f"&page={number}").body, "turtle")
        members = [str(s) for s in data.subjects(rdflib.RDF.type, rdflib.URIRef(MANY))]
        assert 0 < len(members) <= MAX_STATEMENTS
        seen += members
        markup = page(server, MANY, f"&page={number}")
        assert f"120, page {number} of 3" in text_of(markup)
        assert ('rel="next"' in markup) == (number < 3)
        assert ('rel="prev"' in markup) == (number > 1)
    assert len(seen) == len(set(seen)) == 120


# ------------------------------------------------------------------------------- Pages


class Markup(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_pages_are_well_formed_and_link_to_this_server_only(server: Running) -> None:
    for kind, iri in resources(server).items():
        markup = Markup(page(server, iri))
        assert markup.open == [], kind
        hrefs = [a["href"] for tag in ("a", "link") for a in markup.all(tag) if "href" in a]
        allowed = ("resource?iri=", "static/", "./", "docs", "sparql-editor", "#", "data:,")
        assert [href for href in hrefs if not href.startswith(allowed)] == [], kind
        scripts = markup.all("script")
        assert [script["type"] for script in scripts] == ["application/ld+json"]
        handlers = {name for _, attributes in markup.elements for name in attributes}
        assert not {name for name in handlers if name.startswith("on") or name == "style"}
        ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
        assert len(ids) == len(set(ids)), kind
        labels = {a["aria-labelledby"] for _, a in markup.elements if "aria-labelledby" in a}
        assert labels <= set(ids)
        assert len(markup.all("h1")) == len(markup.all("main")) == 1


def test_every_link_of_an_entity_page_works(server: Running) -> None:
    hrefs = {a["href"] for a in Markup(page(server, ILSE)).all("a")}
    followed = {href.partition("#")[0] for href in hrefs if href.startswith("resource?")}
    assert len(followed) > 10
    assert {h for h in followed if server.ask("GET", "/" + h).status != 200} == set()
    sparql = {unquote(h.partition("query=")[2]) for h in hrefs if "query=" in h}
    assert sparql
    assert {query for query in sparql if server.query(query).status != 200} == set()


def test_an_entity(server: Running) -> None:
    text = text_of(page(server, ILSE))
    for part in (
        "Entity chemist person",
        "Ilse Brandt",
        ILSE,
        "birth place Linz Ilse Brandt was born in Linz.",
        "confidence 0.9",
        "birth date 1901-05-07 xsd:date Ilse Brandt was born on 7 May 1901.",
        "height 169 xsd:integer Ilse Brandt, a chemist, was 169 cm tall.",
        "teacher Emil Sand Emil Sand taught Ilse Brandt.",
        "In the words of the documents met … Emil Sand",
        "ilse.txt, characters 0 to 29",
        "Where its name comes from ilse brandt written “Ilse Brandt” in 3 documents",
        "Explore from here",
    ):
        assert part in text, part
    markup = page(server, ILSE)
    assert '<svg class="neighbourhood"' in markup
    assert f'href="./?entity={quote(ILSE, safe="")}"' in markup


def test_a_link_shows_why_it_is_one(server: Running) -> None:
    text = text_of(page(server, BASE + "entity/linz"))
    assert "In other graphs exact match Linz in " in text
    assert "confidence 0.75" in text
    assert "manual mapping curation" in text


def test_a_document(server: Running) -> None:
    iri = some(server, f"?x sarag:source <{BASE}source/emil.txt>")
    markup = page(server, iri)
    text = text_of(markup)
    assert "Emil Sand was born in Linz. Emil Sand was born in Linz" in text
    assert "Characters 0 to" in text
    assert "Source emil.txt" in text
    assert f'<a class="mark" href="resource?iri={quote(ILSE, safe="")}">Ilse Brandt</a>' in markup


def test_a_source(server: Running) -> None:
    text = text_of(page(server, BASE + "source/emil.txt"))
    assert "Documents Emil Sand was born in Linz. Emil Sand taught Ilse Brandt." in text
    assert "characters 0 to" in text


def test_a_relationship(server: Running) -> None:
    iri = some(
        server, f"?x sarag:subject <{ILSE}> ; sarag:phrase ?p FILTER(STR(?p) = 'was born in')"
    )
    text = text_of(page(server, iri))
    for part in ("Ilse Brandt was born in Linz.", "ilse.txt", "Confidence 0.9", "Extractor typed",
                 "Property birth place"):  # fmt: skip
        assert part in text, part


def test_a_class_and_a_property(server: Running) -> None:
    text = text_of(page(server, EX + "Chemist"))
    assert "Instances 1" in text
    assert "Ilse Brandt" in text
    assert "sub class of person" in text
    text = text_of(page(server, EX + "birthPlace"))
    assert "Statements 2" in text
    assert "Emil Sand → Linz" in text
    assert "range place" in text
    assert "Class entity" in text_of(page(server, str(SARAG.Entity)))
    assert "← teacher leads here from Ilse Brandt" in text_of(
        page(server, BASE + "entity/emil_sand")
    )


def test_a_merged_name_says_so_and_its_iri_still_leads_there(server: Running) -> None:
    text = text_of(page(server, BASE + "entity/boris"))
    assert "boris written “Boris” in 1 document" in text
    assert "ada written “Ada” in 1 document merged by decision into boris, manual" in text
    assert ", the same" in text
    got = server.ask("GET", "/entity/ada")
    assert (got.status, got.headers["location"]) == (
        303,
        f"/resource?iri={quote(BASE, safe='')}entity%2Fboris",
    )
    got = resource(server, BASE + "entity/ada", more="&format=ntriples")
    assert got.headers["location"].endswith("entity%2Fboris&format=ntriples")


def test_the_iri_of_an_entity_that_was_split_leads_to_its_name() -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        texts = [Source(f"Mercury is a {what}.", key=f"{what}.txt") for what in ("god", "metal")]
        kg.index(texts, extractor=CapitalExtractor())
        meta = kg.meta()
        for what in ("god", "metal"):
            kg.decisions.split("Mercury", [f"{what}.txt"], what)
        with kg.session.read() as snapshot:
            store = snapshot.reader.store
            assert isinstance(store, OxigraphStore)
            resources = Resources(store.inner)
            entity = f"{meta.base}entity/mercury"
            assert _merged_into(resources, [entity], meta) == f"{meta.base}mention/mercury"


def page_of(turtle: str, name: str) -> str:
    """The visible text of the page of t:`name` in a store with these triples."""
    prefixes = (
        "PREFIX t: <https://things.example.org/> PREFIX g: <https://things.example.org/genid/>"
        "PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX s: <https://w3id.org/sarag/ontology#>"
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>"
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"
    )
    store = ox.Store()
    store.load((prefixes + turtle).encode(), ox.RdfFormat.TURTLE, to_graph=ox.NamedNode("urn:g"))
    resources = Resources(store)
    description = describe_resource(resources, f"https://things.example.org/{name}")
    return text_of(resource_page(resources, description, "", None))


def test_nodes_for_blank_ones_are_shown_by_their_members() -> None:
    ontology = """t:Ship a owl:Class ; rdfs:label "ship" .
    t:maker a owl:ObjectProperty ; rdfs:domain g:1 ; rdfs:range g:3 .
    g:1 a owl:Class ; owl:unionOf g:2 . g:2 rdf:first t:Ship ; rdf:rest g:4 .
    g:4 rdf:first t:Tool ; rdf:rest rdf:nil .
    g:3 owl:unionOf g:5 . g:5 rdf:first g:3 ; rdf:rest g:5 ."""
    shown = page_of(ontology, "maker")
    assert "domain ship or Tool" in shown
    assert "range 3 or 3 or 3" in shown, "a list without an end is cut"
    assert "first leads here from ship, Tool" in page_of(ontology, "Ship")


def test_statements_of_imported_graphs_have_their_times() -> None:
    graph = """t:lab rdfs:label "Lab" ; t:head t:ada , t:ben . t:ada rdfs:label "Ada" .
    t:1 a rdf:Statement ; rdf:subject t:lab ; rdf:predicate t:head ; rdf:object t:ada ;
        s:startTime "2009" ; s:endTime "2012" .
    t:2 a rdf:Statement ; rdf:subject t:lab ; rdf:predicate t:head ; rdf:object t:ada ;
        s:startTime "2016" .
    t:3 rdf:subject t:lab ; rdf:predicate t:head ; rdf:object t:ben ."""
    assert "head Ada 2009 to 2012, from 2016 ben Statements that lead here" in page_of(graph, "lab")
    assert "head leads here from Lab 2009 to 2012, from 2016" in page_of(graph, "ada")


def test_classes_in_equal_words_are_shown_once() -> None:
    graph = """t:ada a s:Entity , s:Person , t:Person ; rdfs:label "Ada" .
    t:Person rdfs:label "person" . t:orbis a s:Person , s:Entity ; rdfs:label "Orbis" ."""
    assert "Entity person Ada" in page_of(graph, "ada")
    assert "Entity person Orbis" in page_of(graph, "orbis")


def test_hostile_texts_are_shown_as_they_are(server: Running) -> None:
    markup = page(server, THING)
    text = text_of(markup)
    for literal in HOSTILE:
        assert " ".join(literal.split()) in text, literal
    assert "<img" not in markup
    assert "</svg><script>alert(2)</script>: river" in text  # in the picture, too
    assert markup.count("<script") == 1
    assert 'href="javascript' not in markup
    assert '<bdi lang="he">לינץ</bdi>' in markup


@pytest.mark.parametrize("kind", MESSES)
def test_statements_that_break_the_model_are_shown(server: Running, kind: str) -> None:
    iri = f"https://things.example.org/mess{kind}"
    Markup(page(server, iri))
    assert len(triples(resource(server, iri).body, "turtle")) > 10


def test_documents_that_are_left_out_are_counted(server: Running) -> None:
    markup = page(server, "https://things.example.org/messEntity")
    found = re.search(r"At least (\d+) more: show all by a query", text_of(markup))
    assert found
    assert 30 <= int(found.group(1)) <= MAX_STATEMENTS


def test_triple_terms(server: Running) -> None:
    """JSON-LD cannot express them, so the page has no data block; it shows them all the same."""
    assert "<<( <urn:a> <urn:says>" in resource(server, CLAIM).text
    resource(server, CLAIM, "application/ld+json").is_line(406, "Turtle")
    markup = page(server, CLAIM)
    assert "<script" not in markup
    assert "<urn:says>" in text_of(markup)


def test_a_passage_leads_to_its_sentence(server: Running) -> None:
    document = some(server, f"?x sarag:source <{BASE}source/emil.txt>")
    href = f"resource?iri={quote(document, safe='')}#c28"
    assert href in {a["href"] for a in Markup(page(server, ILSE)).all("a")}
    assert "c28" in {
        attributes.get("id") for attributes in Markup(page(server, document)).all("div")
    }


def test_languages(server: Running) -> None:
    assert '<html lang="en">' in page(server, THING)
    assert '<bdi lang="de">Linz</bdi>' in page(server, THING)


@pytest.mark.browser
def test_a_browser_reports_nothing(server: Running, tmp_path: Path) -> None:
    """The data block violates no content security policy; nothing is wider than a phone."""
    with open_browser(tmp_path) as browser:
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            width=360, height=780, deviceScaleFactor=1, mobile=True,
        )  # fmt: skip
        for kind, iri in resources(server).items():
            browser.visit(f"{server.url}/resource?iri={quote(iri, safe='')}")
            assert browser.run("document.documentElement.scrollWidth") <= 360, kind
            assert browser.run("getComputedStyle(document.querySelector('h1')).fontWeight") == "700"
            assert browser.run("document.querySelectorAll('[onerror], img').length") == 0
        assert browser.complaints == []
        assert [url for url in browser.requests if not url.startswith((server.url, "data:"))] == []


def test_what_a_client_has_is_not_sent_again_until_the_graph_changes(
    server: Running, kg: Path
) -> None:
    path = f"/resource?iri={quote(f'{BASE}entity/linz', safe='')}"
    first = server.ask("GET", path, Accept="text/turtle")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"  # the server has a token
    assert first.headers["vary"] == "Accept, Authorization"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = server.ask("GET", path, Accept="text/turtle", If_None_Match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["vary"] == "Accept, Authorization"
    page = server.ask("GET", path, Accept="text/html", If_None_Match=tag)
    assert (page.status, page.headers["etag"] != tag) == (200, True)
    insert(kg, ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.NamedNode("urn:c")))
    assert server.ask("GET", path, Accept="text/turtle", If_None_Match=tag).status == 200
