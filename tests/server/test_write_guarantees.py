"""What holds of the graph whatever is written to ``sarag serve``, and whenever it is killed."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest

import sarag_rdf
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import iri
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import COPY, OxigraphStore
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import run_sarag
from tests.fault_server import playing, send
from tests.sample_graph import BASE, graph_of, make_graph, quads_of
from tests.server.running import Got, Running, all_end, serving
from tests.server.test_questions import endpoint as model

META, KG, LINKS = BASE + "graph/meta", BASE + "graph/kg", BASE + "graph/links"
OTHER = "http://a.example/graph"
S = "https://w3id.org/sarag/ontology#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
QUESTION = "/search?q=Who+taught+Ada%3F"
TURTLE = "text/turtle"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[dict[str, str]]:
    """Models for the servers, the one that embeds by the name that graphs are made with."""
    with playing(model) as server:
        yield server.settings


class ModelEndpoint(HashEmbedder):
    """Embeds as the endpoint does, and goes by its name."""

    name = "openai:hash"


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    return make_graph(tmp_path / "kg", embedder=ModelEndpoint())


@pytest.fixture
def server(kg: Path, endpoint: dict[str, str]) -> Iterator[Running]:
    with serving(kg, "--writable", "--workers", "1", env=endpoint) as running:
        yield running


def store(graph: str) -> str:
    return f"/rdf-graph-store?graph={quote(graph, safe='')}"


def put(server: Running, graph: str, turtle: str) -> Got:
    return server.ask("PUT", store(graph), turtle, token=True, Content_Type=TURTLE)


def source_graph(kg: Path, word: str) -> str:
    """The graph of the source whose text holds a word."""
    return next(graph_of(q) for q in quads_of(kg) if word in str(q.object))


def lines(kg: Path) -> set[str]:
    """The graph without its revision."""
    return {str(quad) for quad in quads_of(kg) if "revision" not in quad.predicate.value}


def is_in_order(kg: Path) -> None:
    """Fsck finds nothing, nothing is left in the folder, and a search works."""
    with sarag_rdf.open(kg, embedder=ModelEndpoint(), endpoint=None) as graph:
        assert fsck(graph).findings == ()
    assert not list(kg.glob(f"{COPY}*"))
    with sarag_rdf.open(kg, embedder=ModelEndpoint(), endpoint=None) as graph:
        assert graph.search("Who taught Ada?").documents


# ------------------------------------------------------------------------ Protected graphs


def test_protected_graphs_are_told_by_what_changes_and_not_by_the_text(
    server: Running, kg: Path
) -> None:
    """The engine takes each of these texts for one that writes to the traversed graph."""
    before = lines(kg)
    triple = "<http://s> <http://p> <http://o>"
    texts = [
        f"BASE <{KG}#z> CLEAR GRAPH <>",
        f"BASE <{KG}#z> DROP GRAPH <>",
        f"PREFIX a: <{BASE}graph> INSERT DATA {{ GRAPH a:\\/kg {{ {triple} }} }}",
        f"BASE <{BASE}x/y/z> INSERT DATA {{ GRAPH <../../graph/kg> {{ {triple} }} }}",
        f"BASE <{BASE}> INSERT DATA {{ GRAPH <graph/./meta> {{ {triple} }} }}",
        f"BASE <{KG}> DELETE {{ GRAPH <> {{ ?s ?p ?o }} }} INSERT {{ GRAPH <> "
        f'{{ ?s ?p "x" }} }} WHERE {{ GRAPH <> {{ ?s ?p ?o }} }}',
        "DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { GRAPH ?g { ?s ?p 'x' } } "
        f"WHERE {{ GRAPH ?g {{ ?s a <{S}Entity> ; ?p ?o }} }}",
        f"COPY <{OTHER}> TO <{KG}>",
        f"INSERT DATA {{ GRAPH <{BASE}graph/external/mine> {{ {triple} }} }}",
        f"INSERT DATA {{ GRAPH <{BASE}graph/ontology/mine> {{ {triple} }} }}",
    ]
    assert put(server, OTHER, f"{triple} .").status == 201
    before = lines(kg)
    for text in texts:
        got = server.update(text)
        assert lines(kg) == before, text
        assert got.status == 403, (text, got)


def test_a_relative_graph_is_written_where_the_engine_says(server: Running, kg: Path) -> None:
    text = "BASE <http://a.example/x/> INSERT DATA { GRAPH <../graph> { <s> <p> <o> } }"
    assert server.update(text).status == 204
    assert [graph_of(q) for q in quads_of(kg) if "a.example/x/s" in str(q.subject)] == [OTHER]


# --------------------------------------------------- Writes that cannot be read afterwards


def _bricks() -> dict[str, Callable[[str], str]]:
    """Writes by name; each is given the graph of a source, and what it does breaks searching."""

    def without(pattern: str) -> Callable[[str], str]:
        return lambda graph: f"WITH <{graph}> DELETE {{ {pattern} }} WHERE {{ {pattern} }}"

    def instead(pattern: str, value: str) -> Callable[[str], str]:
        put_in = pattern.replace("?o", value)
        return lambda graph: (
            f"WITH <{graph}> DELETE {{ {pattern} }} INSERT {{ {put_in} }} WHERE {{ {pattern} }}"
        )

    def also(triples: str) -> Callable[[str], str]:
        return lambda graph: f"INSERT DATA {{ GRAPH <{graph}> {{ {triples} }} }}"

    return {
        "no text": without(f"?s <{S}text> ?o"),
        "no document": without(f"?s a <{S}Document>"),
        "no source": without(f"?s a <{S}Source>"),
        "no digest": without(f"?s <{S}sha256> ?o"),
        "no name": without(f"?s <{S}name> ?o"),
        "no name use": without(f"?s a <{S}NameUse>"),
        "no mention": without(f"?s <{S}useOf> ?o"),
        "no offsets": without(f"?s <{S}beginIndex> ?o"),
        "no language": without("?s <http://purl.org/dc/terms/language> ?o"),
        "no ends": without(f"?s <{S}objectMention> ?o"),
        "no origin": without("?s <http://www.w3.org/ns/prov#wasDerivedFrom> ?o"),
        "an IRI as text": instead(f"?s <{S}text> ?o", "<http://text>"),
        "an IRI as name": instead(f"?s <{S}name> ?o", "<http://name>"),
        "a text as mention": instead(f"?s <{S}useOf> ?o", '"Ada"'),
        "an offset in words": instead(f"?s <{S}beginIndex> ?o", '"first"'),
        "another document": also(f'<{BASE}doc/x> a <{S}Document> ; <{S}text> "x"'),
        "a blank node": also(f'[] a <{S}Document> ; <{S}text> "x"'),
        "another's source": also(f"<{BASE}source/x> a <{S}Source>"),
        "a second base": lambda _: (
            "INSERT DATA { GRAPH <http://evil/graph/meta> { <http://evil/dataset> a "
            f'<{S}KnowledgeGraph> ; <{S}baseIRI> "http://evil/" }} }}'
        ),
        "a source without its graph": lambda _: (
            f"INSERT DATA {{ GRAPH <{BASE}graph/source/x> {{ <{BASE}source/x> a <{S}Source> }} }}"
        ),
        "a decision of text": lambda _: (
            f"INSERT DATA {{ GRAPH <{BASE}graph/decisions> {{ <http://d> "
            f'<https://w3id.org/sssom/mapping_justification> "x" }} }}'
        ),
    }


def test_what_cannot_be_searched_afterwards_is_refused(server: Running, kg: Path) -> None:
    graph = source_graph(kg, "Boris taught Ada")
    before = lines(kg)
    for name, text in _bricks().items():
        got = server.update(text(graph))
        assert got.status == 409, (name, got)
        assert "nothing was written" in got.text, (name, got)
        assert lines(kg) == before, name
    found = server.ask("GET", QUESTION)
    assert found.status == 200, found
    assert "Boris taught Ada" in found.text
    is_in_order(kg)


def _strange() -> dict[str, str]:
    """Triples that a graph of the user's own may hold, by what they pretend to be."""
    doc = f"<{BASE}doc/x>"
    return {
        "a document without a text": f"{doc} a <{S}Document>",
        "a document whose text is an IRI": f"{doc} a <{S}Document> ; <{S}text> <http://text>",
        "a document of no source": f'{doc} a <{S}Document> ; <{S}text> "Ada was taught by Eve."',
        "a mention without a name": f"<{BASE}mention/x> a <{S}Mention>",
        "a source": f'<{BASE}source/x> a <{S}Source> ; <{S}sha256> "x" ; <{S}extractedBy> <http://e>'
        ' ; <http://purl.org/dc/terms/language> "en"',
        "a name use": f"<{BASE}doc/x#x> a <{S}NameUse> ; <{S}text> <http://t> ; "
        f"<http://www.w3.org/ns/prov#wasDerivedFrom> {doc}",
        "a relationship": f"<{BASE}relationship/x> a <{S}Relationship> ; <{S}text> 1 ; "
        f"<{S}phrase> 2 ; <{S}confidence> <http://c> ; "
        f"<http://www.w3.org/ns/prov#wasDerivedFrom> {doc}",
        "an entity": f'<{BASE}entity/x> a <{S}Entity> ; <{SKOS}prefLabel> "Ada"',
        "another description of the graph": f"<{BASE}dataset> a <{S}KnowledgeGraph> ; "
        f'<{S}baseIRI> "http://evil/" ; <{S}revision> "1" ; <{S}embeddingModel> "evil"',
        "a quarantine": f'<http://q> a <{S}Quarantine> ; <{S}violations> "many" ; '
        f"<http://purl.org/dc/terms/source> <{BASE}source/x>",
        "an import": f'<http://i> a <{S}ImportedGraph> ; <{S}kind> "evil" ; <{S}graph> <http://g>',
        "blank nodes": f'[] a <{S}Document> ; <{S}text> [ <http://p> ( 1 "two" ) ]',
    }


def test_a_graph_of_ones_own_may_hold_anything(server: Running, kg: Path) -> None:
    there = sorted(
        {
            iri(quad.subject)
            for quad in quads_of(kg)
            if "/doc/" in str(quad.subject) and "#" not in str(quad.subject)
        }
    )
    wanted = server.ask("GET", QUESTION).json()
    for number, (name, triples) in enumerate(_strange().items()):
        assert put(server, f"http://own/{number}", f"{triples} .").status == 201, name
        told = [triples.replace(f"{BASE}doc/x", document) for document in there]
        text = f"INSERT DATA {{ GRAPH <http://own/{number}> {{ {' . '.join(told)} }} }}"
        assert server.update(text).status == 204, name  # it is said of all documents, too
        got = server.ask("GET", QUESTION)
        assert got.status == 200, (name, got)
        assert got.json() == wanted, name
        assert server.ask("GET", "/ask?reasoner=single&q=Who+taught+Ada%3F").status == 200, name
    is_in_order(kg)
    with sarag_rdf.open(kg, embedder=ModelEndpoint(), endpoint=None) as graph:
        assert graph.stats()["sources"] == 3


def test_links_that_are_none_do_not_stop_a_search(
    kg: Path, endpoint: dict[str, str], tmp_path: Path
) -> None:
    skos = tmp_path / "rivers.ttl"
    skos.write_text(f'<http://t/1> a <{SKOS}Concept> ; <{SKOS}prefLabel> "Danube"@en .\n')
    with sarag_rdf.open(kg, embedder=ModelEndpoint(), endpoint=None) as graph:
        graph.import_graph(skos, "skos")
    entity = next(
        iri(q.subject)
        for q in quads_of(kg)
        if "Danube" in str(q.object) and "/entity/" in str(q.subject)
    )
    with serving(kg, "--writable", env=endpoint) as server:
        for value in ('"text"', "<http://nowhere>", "[]"):
            server.update(
                f"INSERT DATA {{ GRAPH <{LINKS}> {{ <{entity}> <{SKOS}exactMatch> {value} . "
                f"<http://no/entity> <{SKOS}exactMatch> {value} }} }}"
            )
            got = server.ask("GET", QUESTION)
            assert got.status == 200, (value, got)


# ---------------------------------------------------------------- One revision at a time

_TORN = f"""ASK {{
  {{ GRAPH <{KG}> {{ ?text <{S}describes> ?e }}
     FILTER NOT EXISTS {{ GRAPH ?g {{ ?text <{S}text> ?t }} }} }}
  UNION
  {{ GRAPH <{KG}> {{ ?r <{S}subject> ?e }}
     FILTER NOT EXISTS {{ GRAPH ?g {{ ?r <{S}text> ?t }} }} }}
  UNION
  {{ GRAPH ?g {{ ?d <{S}mentions> ?m }}
     FILTER NOT EXISTS {{ GRAPH <{KG}> {{ ?m <{S}refersTo> ?e }} }} }}
}}"""
"""Whether something is derived of what is not there, or not derived of what is."""


def _many(folder: Path, count: int) -> Path:
    sources = [
        Source(f"Ada{n} founded Orbis{n}. Orbis{n} has its seat in Ulm.", f"Ada{n}", f"{n}.txt")
        for n in range(count)
    ]
    return make_graph(folder, sources, embedder=ModelEndpoint())


def _contents(kg: Path) -> dict[str, str]:
    """The source graphs as N-Triples."""
    found: dict[str, str] = {}
    for quad in quads_of(kg):
        graph = graph_of(quad)
        if graph.startswith(BASE + "graph/source/"):
            found[graph] = found.get(graph, "") + f"{quad.triple} .\n"
    return found


def _drop_and_put_back(graph: str, content: str) -> Iterator[str]:
    yield f"DROP GRAPH <{graph}>"
    yield f"INSERT DATA {{ GRAPH <{graph}> {{ {content} }} }}"


@pytest.mark.fault
def test_readers_see_one_revision_while_others_write(
    tmp_path: Path, endpoint: dict[str, str]
) -> None:
    kg = _many(tmp_path / "kg", 20)
    before, contents = lines(kg), _contents(kg)
    with serving(kg, "--writable", env=endpoint) as server:
        over = threading.Event()
        torn: list[Got] = []
        searched: list[Got] = []

        def ask_sparql() -> None:
            while not over.is_set():
                torn.append(server.query(_TORN))

        def ask_search() -> None:
            while not over.is_set():
                searched.append(server.ask("GET", "/search?q=Who+founded+Orbis7%3F"))
                searched.append(
                    server.ask("GET", "/ask?reasoner=single&q=Where+has+Orbis9+its+seat%3F")
                )

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(ask_sparql), pool.submit(ask_search), pool.submit(ask_search)]
            try:
                for graph, content in list(contents.items())[:8]:
                    for text in _drop_and_put_back(graph, content):
                        assert server.update(text).status == 204
                done = run_sarag("search", "Orbis3", "--kg", kg, cwd=tmp_path, env=endpoint)
                assert done.code == 0, done
            finally:
                over.set()
            for reader in readers:
                reader.result()
    assert len(torn) > 10
    assert {(got.status, got.text.count("true")) for got in torn} == {(200, 0)}
    assert len(searched) > 4
    assert [got for got in searched if got.status != 200] == []
    assert lines(kg) == before
    is_in_order(kg)


@pytest.mark.fault
def test_a_server_that_is_killed_while_writing_loses_nothing(
    tmp_path: Path, endpoint: dict[str, str]
) -> None:
    """Killed four times: at a random moment of a random write, each."""
    kg = _many(tmp_path / "kg", 12)
    contents = _contents(kg)
    whole = {frozenset(contents) - {graph} for graph in contents} | {frozenset(contents)}
    seed = random.Random(4711)
    for _ in range(4):
        with serving(kg, "--writable", "--workers", "1", env=endpoint) as server:
            assert server.query(_TORN).json()["boolean"] is False
            assert server.ask("GET", "/search?q=Orbis3").status == 200
            for missing in contents.keys() - _contents(kg).keys():
                text = f"INSERT DATA {{ GRAPH <{missing}> {{ {contents[missing]} }} }}"
                assert server.update(text).status == 204
            graph = seed.choice(sorted(contents))
            _kill_while_writing(
                server, _drop_and_put_back(graph, contents[graph]), seed.uniform(0.0, 0.6)
            )
        assert frozenset(_contents(kg)) in whole
        assert all(contents[graph] == found for graph, found in _contents(kg).items())
        _is_derived(kg)
    with serving(kg, "--writable", env=endpoint) as server:
        assert server.update(f"CLEAR SILENT GRAPH <{OTHER}>").status == 204
    is_in_order(kg)


def _kill_while_writing(server: Running, texts: Iterator[str], seconds: float) -> None:
    """Send updates, and kill the server with its processes `seconds` later."""

    def write() -> None:
        with suppress(OSError, HTTPException):  # the server is gone
            for text in texts:
                server.update(text)

    writer = threading.Thread(target=write)
    writer.start()
    writer.join(seconds)
    processes = {server.process.pid, *server.children()}
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    writer.join()
    server.process.wait()
    assert all_end(processes)


def _is_derived(kg: Path) -> None:
    graph = OxigraphStore.open(kg / "store")
    wanted = rebuild(GraphReader(graph, Minter(BASE))).insert
    assert set(wanted) == set(graph.quads(KG))


# ------------------------------------------------------------------------- Blank nodes


def test_only_iris_of_our_own_become_blank_nodes_again(server: Running) -> None:
    theirs = "https://other.example/.well-known/genid/abc123"
    ours = "https://example.org/.well-known/genid/named"
    text = f'<{theirs}> <http://p> "1" . <{ours}> <http://p> <{theirs}> . [] <http://p> "2" .'
    assert put(server, OTHER, text).status == 201
    got = server.ask("GET", store(OTHER), Accept="application/n-triples")
    assert f'<{theirs}> <http://p> "1" .' in got.text
    assert f"<{ours}> <http://p> <{theirs}> ." in got.text
    assert got.text.count("_:") == 1


# ------------------------------------------------------- The description and a clean slate


def test_a_clean_slate_can_be_filled_in_the_same_update(server: Running, kg: Path) -> None:
    contents = _contents(kg)
    graph = source_graph(kg, "Boris taught Ada")
    text = f"CLEAR ALL ; INSERT DATA {{ GRAPH <{graph}> {{ {contents[graph]} }} }}"
    assert server.update(text).status == 204
    assert set(_contents(kg)) == {graph}
    _is_derived(kg)
    got = server.update(f"CLEAR ALL ; INSERT DATA {{ GRAPH <{KG}> {{ {contents[graph]} }} }}")
    got.is_line(403, KG)
    assert set(_contents(kg)) == {graph}
    is_in_order(kg)


def test_a_clean_slate_has_no_ontology(server: Running, kg: Path, tmp_path: Path) -> None:
    path = tmp_path / "museum.ttl"
    path.write_text("<http://m.example/A> a <http://www.w3.org/2002/07/owl#Class> .")
    with sarag_rdf.open(kg, embedder=ModelEndpoint(), endpoint=None) as graph:
        stored = graph.ontologies.add(path)
        server.update(f"CLEAR GRAPH <{stored.graph}>").is_line(403, stored.graph, "an ontology")
        assert server.update("CLEAR ALL").status == 204
        graph.reload()
        assert graph.ontologies.list() == ()
        assert fsck(graph).in_order


def test_no_update_stores_terms_that_are_too_deep(kg: Path, endpoint: dict[str, str]) -> None:
    def nested(depth: int) -> bytes:
        term = "<urn:o>"
        for _ in range(depth):
            term = f"<<( <urn:s> <urn:p> {term} )>>"
        return f"<urn:s> <urn:p> {term} .".encode()

    def files(handler: BaseHTTPRequestHandler) -> None:
        send(handler, 200, nested(int(handler.path[1:])), **{"Content-Type": TURTLE})

    with playing(files) as web, serving(kg, "--writable", "--allow-load", env=endpoint) as server:
        load = f"LOAD <{web.root}/{{}}> INTO GRAPH <{OTHER}>"
        assert server.update(load.format(100)).status == 204
        before = lines(kg)
        server.update(load.format(101)).is_line(400, "100 deep")
        assert lines(kg) == before
