"""The JSON that the explorer and the editor read: parts of a graph, names, completions, frames."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import sarag_rdf
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.plugins.explorer import MAX_NODES, NameIndex, write_names
from sarag_rdf.server.picture.trace import activation_frames, chain_to
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import make_graph
from tests.server.running import Running, serving

BASE = "https://example.org/kg/"
ADA, ORBIS = f"{BASE}entity/ada", f"{BASE}entity/orbis"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("explore") / "kg")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with serving(folder, "--workers", "1") as running:
        yield running


def test_neighbours_have_sentences_names_and_kinds(server: Running) -> None:
    found = server.ask("GET", f"/graph/neighbours?iri={quote(ADA)}").json()
    nodes = {node["iri"]: node for node in found["nodes"]}
    assert (nodes[ADA]["name"], nodes[ADA]["kind"]) == ("Ada", "entity")
    assert "document" in {node["kind"] for node in nodes.values()}
    [edge] = [edge for edge in found["edges"] if {edge["source"], edge["target"]} == {ADA, ORBIS}]
    assert (edge["source"], edge["phrase"]) == (ADA, "with")
    assert edge["text"] == "Ada founded Orbis."
    assert edge["relationship"].startswith(f"{BASE}relationship/")
    assert found["left_out"] == {"nodes": 0, "at_least": False}


def test_a_year_is_a_value_among_neighbours_and_in_the_frames(tmp_path: Path) -> None:
    class DatedExtractor:
        method = Method("dated", "none")

        def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
            for document in documents:
                mentions = (Mention("Ada", "person"), Mention("1843", "time"))
                yield Extraction(mentions, (Relation("Ada", "wrote in", "1843", document.text),))

    folder = make_graph(
        tmp_path / "kg", [Source("Ada wrote in 1843.", "", "ada")], extractor=DatedExtractor()
    )
    kinds = {"Ada": "entity", "1843": "value"}
    with serving(folder, "--workers", "1") as running:
        found = running.ask("GET", f"/graph/neighbours?iri={quote(ADA)}").json()
    assert kinds.items() <= {node["name"]: node["kind"] for node in found["nodes"]}.items()
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        trace = activation_frames(kg.search("What did Ada do?"))
    assert kinds.items() <= {node["name"]: node["kind"] for node in trace["nodes"]}.items()


def test_what_is_left_out_is_counted(server: Running) -> None:
    whole = server.ask("GET", f"/graph/neighbours?iri={quote(ADA)}").json()
    part = server.ask("GET", f"/graph/neighbours?iri={quote(ADA)}&limit=1").json()
    assert len(part["nodes"]) == 2
    assert part["left_out"]["nodes"] == len(whole["nodes"]) - 2
    ends = {end for edge in part["edges"] for end in (edge["source"], edge["target"])}
    assert ends <= {node["iri"] for node in part["nodes"]}


def test_a_class_has_its_instances_as_neighbours(server: Running) -> None:
    class_ = quote("https://w3id.org/sarag/ontology#Entity", safe="")
    found = server.ask("GET", f"/graph/neighbours?iri={class_}").json()
    assert {ADA, ORBIS} <= {node["iri"] for node in found["nodes"]}


def test_terms_are_completed_by_their_beginning(server: Running) -> None:
    def complete(kind: str, prefix: str) -> list[str]:
        got = server.ask("GET", f"/graph/complete?kind={kind}&prefix={quote(prefix)}")
        return [term["iri"] for term in got.json()["terms"]]

    assert complete("entity", "aD") == [ADA]
    assert complete("entity", "") == []
    assert complete("class", "mentio") == ["https://w3id.org/sarag/ontology#Mention"]
    assert "https://w3id.org/sarag/ontology#relatedTo" in complete("property", "rel")
    assert complete("entity", '" } SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } #') == []


def test_names_are_found_by_their_words_however_they_are_spelled(tmp_path: Path) -> None:
    names = ["Ada", "Ada  Lovelace", "Countess Ada", "C++", "Müller", "東京大学", 'The "Ada" prize']
    iris = {f"http://x.example/{number}": name for number, name in enumerate(names)}
    write_names(tmp_path / "names", [(name, iri) for iri, name in iris.items()])
    index = NameIndex(tmp_path / "names")

    def find(prefix: str, limit: int = 9) -> list[str]:
        return [name for name, _ in index.find(prefix, limit)]

    assert find("aD") == ["Ada", "Ada Lovelace", "Countess Ada", 'The "Ada" prize']
    assert find("ada", 2) == ["Ada", "Ada Lovelace"]
    assert find("ADA  lo") == ["Ada Lovelace"]
    assert find("lovelace a") == []
    assert find("c++") == ["C++", "Countess Ada"]
    assert (find("mu"), find("MÜ"), find("東")) == (["Müller"], ["Müller"], ["東京大学"])
    for prefix in ('"ada" OR "c', "ada * NOT x", "", "+\0", "name:a"):
        assert find(prefix) == [], prefix
    write_names(tmp_path / "names", [("Ada", "urn:a"), ("Augusta Ada", "urn:a")])
    assert NameIndex(tmp_path / "names").find("a", 9) == [("Ada", "urn:a")]
    write_names(tmp_path / "none", [])
    assert NameIndex(tmp_path / "none").find("a", 1) == []
    with pytest.raises(FileNotFoundError):
        NameIndex(tmp_path / "missing")


def test_names_of_the_current_state_alone_are_in_files(tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")
    with (
        tempfile.TemporaryDirectory() as name,  # sockets in it must have short paths
        serving(folder, "--writable", env={"TMPDIR": name}) as server,
    ):
        scratch = Path(name)
        for number in range(4):
            add = f"<urn:x{number}> <http://www.w3.org/2004/02/skos/core#prefLabel> 'x{number}'"
            assert server.update(f"INSERT DATA {{ GRAPH <urn:own> {{ {add} }} }}").status < 300
            for over in ("", "&over=documents", "&over=documents&over=documents"):
                got = server.ask("GET", f"/graph/complete?prefix=ada{over}")
                assert [term["iri"] for term in got.json()["terms"]] == [ADA]
            assert len(list(scratch.rglob("names-*"))) == 2  # of all that is served, of documents
        for number in range(30):
            server.ask("GET", f"/graph/complete?prefix=ada{'&over=documents' * number}")
        assert len(list(scratch.rglob("names-*"))) == 2


def test_names_are_given_for_many_iris(server: Running) -> None:
    body = json.dumps([ADA, f"{BASE}entity/nobody"])
    found = server.ask("POST", "/graph/names", body, Content_Type="application/json").json()
    assert [(n["iri"], n["name"]) for n in found["nodes"]] == [
        (ADA, "Ada"),
        (f"{BASE}entity/nobody", "nobody"),
    ]
    prefixes = server.ask("GET", "/graph/prefixes").json()["prefixes"]
    assert prefixes["entity"] == f"{BASE}entity/"
    assert "common" in prefixes


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/graph/neighbours", "'iri' is missing"),
        ("/graph/neighbours?iri=ada", "not an absolute IRI"),
        (
            f"/graph/neighbours?iri={quote(ADA)}&limit={MAX_NODES + 1}",
            f"'limit': input should be less than or equal to {MAX_NODES}",
        ),
        (f"/graph/neighbours?iri={quote(ADA)}&limit=x", "'limit'"),
        (f"/graph/neighbours?iri={quote(ADA)}&iri={quote(ADA)}", "more than once"),
        (f"/graph/neighbours?iri={quote(ADA)}&over=nothing", "nothing"),
        ("/graph/complete?kind=colour", "'kind': input should be"),
        (f"/graph/complete?prefix={'a' * 201}", "at most 200 characters"),
        ("/graph/complete?q=a", "unknown parameter 'q'"),
    ],
)
def test_a_wrong_request_is_told_why(server: Running, path: str, word: str) -> None:
    server.ask("GET", path).is_line(400, word)


def test_a_body_that_is_no_list_is_refused(server: Running) -> None:
    for body in ("{", '{"a": 1}', "[1]", json.dumps([ADA] * (MAX_NODES + 1)), '["ada"]'):
        got = server.ask("POST", "/graph/names", body, Content_Type="application/json")
        assert got.status == 400, body
    server.ask("POST", "/graph/names", "[]", Content_Type="text/plain").is_line(415, "json")


def test_a_denied_graph_is_not_walked(folder: Path) -> None:
    """Without the graph that joins the documents, no entity has a name or a neighbour."""
    tokens = folder.parent / "tokens.yaml"
    tokens.write_text(
        f"anonymous:\n  scopes: [read]\n  graphs:\n    deny: ['{BASE}graph/kg']\ntokens: []\n"
    )
    with serving(folder, "--workers", "1", "--tokens", str(tokens)) as limited:
        found = limited.ask("GET", f"/graph/neighbours?iri={quote(ADA)}").json()
        assert found["edges"] == []
        assert limited.ask("GET", "/graph/complete?prefix=ada").json() == {"terms": []}
        body = json.dumps([ADA])
        named = limited.ask("POST", "/graph/names", body, Content_Type="application/json").json()
        assert named["nodes"][0]["classes"] == []


def test_frames_lead_to_the_documents_that_the_picture_has_paths_to(folder: Path) -> None:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        found = kg.search("Which river flows through the seat of Orbis?", retriever="sarag-paper")
    trace = activation_frames(found)
    edges = {(edge["source"], edge["target"]) for edge in trace["edges"]}
    reached = [ranked for ranked in found.documents if ranked.entity]
    assert reached
    for ranked in reached:
        assert edges.issuperset((step.origin, step.target) for step in chain_to(ranked))
        assert (ranked.entity, ranked.document.iri) in edges
        assert trace["frames"][-1]["activation"][ranked.document.iri] == ranked.activation


def test_frames_grow_from_the_seeds_to_the_results(folder: Path) -> None:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        found = kg.search("Which river flows through the seat of Orbis?")
    trace = activation_frames(found)
    first, *_, last = trace["frames"]
    seeds = {node["iri"] for node in trace["nodes"] if node["seed"]}
    assert first["activation"].keys() == seeds == {seed.node for seed in found.seeds}
    assert first["label"] == "Seeds"
    assert last["activation"].keys() > seeds
    rounds = [frame["round"] for frame in trace["frames"]]
    assert rounds == sorted(set(rounds))
    for frame in trace["frames"][1:]:
        steps = {
            (s.origin, s.target)
            for chain in (*(d.chain for d in found.documents), *(e.chain for e in found.entities))
            for s in chain
            if s.round == frame["round"]
        }
        edges = [trace["edges"][place] for place in frame["passed"]]
        assert {(edge["source"], edge["target"]) for edge in edges} == steps
    small = activation_frames(found, most=3)
    assert len(small["nodes"]) == 3
    assert small["left_out"]["nodes"] == len(trace["nodes"]) - 3
    assert all(node["seed"] or node["rank"] for node in small["nodes"])
