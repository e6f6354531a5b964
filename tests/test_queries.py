"""The query files: what their headers say is what they do, and each names its graphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import Literal, NamedNode
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue

import sarag_rdf
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Table, Triples
from sarag_rdf.base.resources import QueryFile, query_file, query_names
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import Term
from sarag_rdf.building.link_records import EXACT
from sarag_rdf.graph.records import Match
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import SOURCES, make_graph
from tests.typed_graph import typed_graph

FOLDER = Path(sarag_rdf.__file__).parent.parent / "queries"
KINDS = ("rdf", "sarag", "skos", "wikibase", "wikibase-truthy")
"""Kinds of graph that can be searched: the same queries for each."""
FOLDERS = {path.parent.name for path in FOLDER.rglob("*.rq")} - {"examples"}
FILES = [(kind, name) for kind in sorted({*FOLDERS, *KINDS}) for name in query_names(kind)]
GRAPHS = {
    name: f"https://example.org/kg/graph/{name}"
    for name in (
        "kg",
        "links",
        "decisions",
        "meta",
        "runs",
        "all",
        "sources",
        "ontologies",
        "entailed",
    )
}
EMPTY_VALUES = re.compile(r"VALUES\s+\(?([?\w ]+?)\)?\s*\{\s*\}")
VALUES = (NamedNode("https://example.org/kg/a"), NamedNode("https://example.org/kg/b"))
TRIPLES = ((*VALUES, VALUES[0]), (*VALUES, VALUES[1]))


@cache
def algebra_of(text: str) -> CompValue:
    """The algebra of a query as rdflib parses it, which takes a while."""
    algebra: CompValue = prepareQuery(text).algebra
    return algebra


@cache
def library_source() -> str:
    package = Path(sarag_rdf.__file__).parent
    return "\n".join(path.read_text("utf-8") for path in package.rglob("*.py"))


def parameter(query: QueryFile) -> str | None:
    return None if query.header["params"] == "none" else query.header["params"]


def filled(query: QueryFile) -> str:
    if parameter(query) is None:
        return query.fill(None, GRAPHS)
    return query.fill(TRIPLES if query.takes_statements else VALUES, GRAPHS)


def test_all_files_are_found() -> None:
    assert {kind for kind, _ in FILES} >= {"index", *KINDS}
    assert len(FILES) > 190
    assert {path.stem for path in (FOLDER / "kinds").iterdir()} == {*KINDS} - {"sarag"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_graph_has_the_same_queries_and_headers(kind: str) -> None:
    own = {"document-values", "value-texts"} if kind != "sarag" else set()
    own |= {"passages"} if kind == "rdf" else set()
    own |= {"entity-values"} if kind in ("rdf", "skos") else set()
    assert set(query_names(kind)) == {*query_names("sarag"), *own}
    assert len(query_names(kind)) >= 19
    for name in query_names("sarag"):
        ours, theirs = query_file("sarag", name).header, query_file(kind, name).header
        assert {k: ours[k] for k in ("params", "returns")} == {
            k: theirs[k] for k in ("params", "returns")
        }, name


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_the_header_says_what_is_taken_and_returned(kind: str, name: str) -> None:
    query = query_file(kind, name)
    assert query.header.keys() - {"cells"} == {"summary", "params", "returns"}
    assert query.header.get("cells", "IRIs") == "IRIs"
    assert query.text.startswith("#+ summary: ")
    assert query.header["summary"].endswith(".")
    taken = [found.lstrip("?") for found in EMPTY_VALUES.findall(query.text)]
    expected = parameter(query)
    if query.takes_statements:
        forms = ["subject ?property ?object", f"{parameter(query)} ?property ?value"]
        expected = next((form for form in forms if taken == [form]), forms[0])
    assert taken == ([] if parameter(query) is None else [expected])
    for text in (filled(query), query.fill(None, GRAPHS)):
        result = ox.Store().query(text)
        assert isinstance(result, ox.QuerySolutions)
        assert [v.value for v in result.variables] == query.header["returns"].split()
    if parameter(query):
        assert parameter(query) in query.header["returns"].split() or name in {
            "mention-relationships",
            "shared-ends",
        }


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_rdflib_reads_the_same_variables(kind: str, name: str) -> None:
    query = query_file(kind, name)
    algebra = algebra_of(filled(query))
    assert [str(v) for v in algebra.PV] == query.header["returns"].split()


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_values_and_graphs_are_filled_in(kind: str, name: str) -> None:
    query = query_file(kind, name)
    text = filled(query)
    assert "urn:sarag:graph:" not in text
    assert set(re.findall(r"urn:sarag:graph:(\w+)", query.text)) <= GRAPHS.keys()
    if parameter(query) is None:
        with pytest.raises(SaragError, match=f"query {name} has no empty VALUES block"):
            query.fill(VALUES, GRAPHS)
    elif not query.takes_statements:
        assert f"VALUES ?{parameter(query)} {{ {VALUES[0]} {VALUES[1]} }}" in text


def patterns(node: object, inside: bool = False) -> Iterator[tuple[bool, object]]:
    """Every triple pattern or path of an algebra tree, and whether it stands in a GRAPH."""
    if isinstance(node, CompValue):
        if node.name in ("Graph", "GraphGraphPattern"):  # The second is a Graph in an EXISTS.
            inside = True
        if node.name in ("BGP", "TriplesBlock"):
            yield from ((inside, triple) for triple in node.triples)
            return
        for part in node.values():
            yield from patterns(part, inside)
    elif isinstance(node, list | tuple | dict):
        for part in node.values() if isinstance(node, dict) else node:
            yield from patterns(part, inside)


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_every_pattern_names_its_graph(kind: str, name: str) -> None:
    found = list(patterns(algebra_of(filled(query_file(kind, name)))))
    assert found
    assert [pattern for inside, pattern in found if not inside] == []


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_graph_without_an_iri_is_the_default_graph(kind: str, name: str) -> None:
    """Its patterns lose their GRAPH and stay as they are; other graphs are not touched."""
    query = query_file(kind, name)
    values = None
    if parameter(query) is not None:
        values = TRIPLES if query.takes_statements else VALUES
    text = query.fill(values, GRAPHS | {"kg": ""})
    assert text.count("{") == filled(query).count("{")
    inside = Counter(map(str, (p for within, p in patterns(algebra_of(text)) if within)))
    every = [(within, str(p)) for within, p in patterns(algebra_of(filled(query)))]
    lost = Counter(p for _, p in every) - inside
    named = f"GRAPH <{GRAPHS['kg']}>"
    assert bool(lost) == (named in filled(query))
    assert [v.value for v in solutions(text).variables] == query.header["returns"].split()


def solutions(text: str) -> ox.QuerySolutions:
    result = ox.Store().query(text)
    assert isinstance(result, ox.QuerySolutions)
    return result


def test_a_pattern_without_a_graph_would_be_found() -> None:
    text = (
        "SELECT * { GRAPH ?g { ?s ?p ?o } OPTIONAL { ?s <a:b>/<a:c> ?x } "
        "FILTER EXISTS { ?x ?y ?z } }"
    )
    outside = [pattern for inside, pattern in patterns(algebra_of(text)) if not inside]
    assert len(outside) == 2


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_every_query_is_used(kind: str, name: str) -> None:
    of_each_kind = 'f"{kind}-texts"'
    wanted = {f'"{name}"', of_each_kind} if name.endswith("-texts") else {f'"{name}"'}
    assert any(string in library_source() for string in wanted)


# ------------------------------------------------------------------------------- Filling


@pytest.mark.parametrize(
    "term",
    [
        Literal('" } SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } #'),
        Literal("line\nbreak \\ and ''' and \"\"\""),
        Literal("\\1 \\g<0>", language="en"),
        Literal("3", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
        NamedNode("https://example.org/kg/source/a%20b#1"),
    ],
)
def test_a_value_comes_back_as_it_was_put_in(term: Term) -> None:
    query = QueryFile("test", {}, "SELECT ?x WHERE { VALUES ?x { } }")
    result = ox.Store().query(query.fill([term], {}))
    assert isinstance(result, ox.QuerySolutions)
    assert [row["x"] for row in result] == [term]


def test_several_variables_are_filled_by_row() -> None:
    query = QueryFile("test", {}, "SELECT ?x ?y WHERE { VALUES (?x ?y) { } }")
    rows = [(VALUES[0], Literal("1")), (VALUES[1], Literal("2"))]
    result = ox.Store().query(query.fill(rows, {}))
    assert isinstance(result, ox.QuerySolutions)
    assert [(row["x"], row["y"]) for row in result] == rows


def test_no_values_give_no_rows() -> None:
    query = QueryFile("test", {}, "SELECT ?x WHERE { VALUES ?x { } }")
    result = ox.Store().query(query.fill([], {}))
    assert isinstance(result, ox.QuerySolutions)
    assert list(result) == []


EXAMPLES = query_names("examples")


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_standard_and_finds_something(name: str, tmp_path: Path) -> None:
    query = query_file("examples", name)
    assert query.header.keys() == {"summary", "params", "returns"}
    assert query.header["summary"].endswith(".")
    assert query.header["params"] == "none"
    prepareQuery(query.text)
    store = typed_store(tmp_path) if name == "13-typed-statements" else example_store(tmp_path)
    found = store.query(query.text, union=True)
    if isinstance(found, Table):
        assert list(found.variables) == query.header["returns"].split()
        assert found.rows
    else:
        assert isinstance(found, Triples)
        assert found.triples


def typed_store(folder: Path) -> OxigraphStore:
    """Documents with typed statements, and their ontology."""
    typed_graph(folder / "kg").close()
    return OxigraphStore.open(folder / "kg" / "store")


def example_store(folder: Path) -> OxigraphStore:
    """Documents, an imported thesaurus, a link to it, and the activation of a question."""
    more = "Ulm lies on the Danube. Orbis built a bridge in Ulm."
    made = make_graph(folder / "kg", [*SOURCES, Source(more, "Danube", "danube.txt")])
    item = "https://thesaurus.example.org/ulm"
    label = '<http://www.w3.org/2004/02/skos/core#prefLabel> "Ulm"@en'
    (folder / "towns.ttl").write_text(f"<{item}> {label} .")
    with sarag_rdf.open(made, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(folder / "towns.ttl", "skos")
        kg.links.accept([Match(Minter().entity("ulm"), EXACT, item)])
        trig = kg.activation(kg.search("Which river is at the seat of Orbis?"))
        with kg.session.write() as reader:
            quads = tuple(ox.parse(trig, format=ox.RdfFormat.TRIG))
            reader.store.apply(Change(insert=quads))
    return OxigraphStore.open(made / "store")
