"""``sarag query --explain``: what a query reads, without running it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import QueryError, UsageError
from sarag_rdf.base.ports import Table
from sarag_rdf.kg import queries as kg_query
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.typed_graph import EX, index_people

IMPORTED = """
@prefix f: <https://feeds.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
f:a a f:Feed ; rdfs:label "A" ; f:next f:b .
f:b a f:Feed ; rdfs:label "B" .
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("explained")
    (root / "feeds.ttl").write_text(IMPORTED)
    with sarag_rdf.open(root / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        index_people(kg, root)
        kg.import_graph(root / "feeds.ttl", "rdf", embed=False)
    return root / "kg"


QUERY = """SELECT ?name { ?p a ex:Chemist ; skos:prefLabel ?name ; ex:birthPlac ?c .
  OPTIONAL { ?p ex:height ?h } FILTER(?h > 1) }"""


def test_what_a_query_reads_is_printed(sarag: Sarag, folder: Path) -> None:
    explained = sarag("query", "--kg", folder, "--explain", QUERY)
    assert (explained.code, explained.err) == (0, "")
    assert explained.out.splitlines() == [
        "form: SELECT",
        "default graph: the union of the graphs of documents",
        "network: none",
        "triple patterns: 4, with the number of matching triples each",
        "  1  ?p a ex:Chemist",
        "  4  ?p skos:prefLabel ?name",
        "  0  ?p ex:birthPlac ?c",
        "  1  ?p ex:height ?h  (not in every solution)",
        "terms that do not occur:",
        "  property ex:birthPlac is not declared in any ontology of the graph: did you mean "
        "ex:birthPlace?",
    ]


def test_terms_that_do_not_occur_are_named_where_a_query_has_no_result(
    sarag: Sarag, folder: Path
) -> None:
    done = sarag("query", "--kg", folder, "SELECT ?p { ?p ex:birthPlac ?c }")
    assert done.out.endswith("0 rows\n")
    [line] = done.complaints
    assert line.startswith("sarag: in this query: property ex:birthPlac is not declared")
    assert line.endswith("did you mean ex:birthPlace?")
    found = sarag("query", "--kg", folder, "SELECT ?p { ?p a ex:Chemist OPTIONAL { ?p ex:x ?c } }")
    assert found.err == "", "there is a result"
    starred = sarag("query", "--kg", folder, "SELECT ?p { ?p !(a|^a) <urn:nothing> }")
    assert (starred.code, starred.err) == (0, ""), "it cannot be analysed"
    assert sarag("query", "--kg", folder, "-q", "SELECT ?p { ?p ex:birthPlac ?c }").err == ""


def test_counts_are_those_of_the_parts_that_are_read(sarag: Sarag, folder: Path) -> None:
    query = "PREFIX f: <https://feeds.example/> SELECT * { ?x a f:Feed ; f:next ?y }"

    def counts(*over: str) -> tuple[list[int], list[str]]:
        arguments = [part for name in over for part in ("--over", name)]
        found = sarag("query", "--kg", folder, *arguments, "--explain", "--format", "json", query)
        data = json.loads(found.out)
        return [pattern["triples"] for pattern in data["patterns"]], data["over"]

    assert counts() == ([0, 0], ["documents"])
    assert counts("feeds") == ([2, 1], ["feeds"])
    assert counts("feeds", "documents") == ([2, 1], ["feeds", "documents"])
    sarag("query", "--kg", folder, "--over", "x", "--explain", query).fails(2, "no such graph")


def test_named_graphs(sarag: Sarag, folder: Path) -> None:
    graph = "https://example.org/kg/graph/external/feeds"
    inner = "?x a ?class . GRAPH ?g { ?x <https://feeds.example/next> ?y }"
    explained = sarag("query", "--kg", folder, "--explain", f"SELECT * {{ {inner} }}")
    assert "named graphs: any; GRAPH ?g" in explained.out
    assert "1  GRAPH ?g: ?x <https://feeds.example/next> ?y" in explained.out
    query = f"SELECT * FROM <{graph}> FROM NAMED <{graph}> {{ {inner} }}"
    explained = sarag("query", "--kg", folder, "--explain", query)
    assert f"default graph: <{graph}>\nnamed graphs: <{graph}>; GRAPH ?g" in explained.out
    assert "  2  ?x a ?class\n" in explained.out
    assert "do not occur" not in explained.out


def test_a_query_that_would_not_run(sarag: Sarag, folder: Path) -> None:
    """A prefix without a declaration does not hide the rest, and no server is asked."""
    service = "SELECT * { ?x ex:teacher ?y . SERVICE <http://127.0.0.1:1/> { ?y ?p ?o } }"
    explained = sarag("query", "--kg", folder, "--explain", service)
    assert explained.code == 1
    assert "network: <http://127.0.0.1:1/> (refused without --allow-service)" in explained.out
    assert "  elsewhere  ?y ?p ?o" in explained.out
    allowed = sarag("query", "--kg", folder, "--explain", "--allow-service", service)
    assert (allowed.code, "refused" in allowed.out) == (0, False)
    unknown = "SELECT * { ?x zz:p ?y ; ex:teacher yy:z }"
    explained = sarag("query", "--kg", folder, "--explain", unknown)
    assert explained.code == 1
    assert "0  ?x zz:p ?y\n" in explained.out
    assert "do not occur" not in explained.out
    assert explained.out.endswith(
        "prefix zz: is not declared: add PREFIX zz: <...>\n"
        "prefix yy: is not declared: add PREFIX yy: <...>\n"
    )
    sarag("query", "--kg", folder, "--explain", "SELECT {").fails(1, "does not parse")
    sarag("query", "--kg", folder, "--explain", "--format", "csv", "ASK {}").fails(2, "table or")


def test_counts_stop(folder: Path, monkeypatch: pytest.MonkeyPatch, sarag: Sarag) -> None:
    monkeypatch.setattr(kg_query, "MOST_COUNTED", 3)
    explained = sarag(
        "query", "--kg", folder, "--explain", "SELECT * { ?x ?y ?z . ?a a ex:Chemist }"
    )
    assert "  more than 3  ?x ?y ?z\n" in explained.out
    assert "            1  ?a a ex:Chemist\n" in explained.out


def test_the_query_does_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT ?x {{ ?x <{EX}teacher> ?y FILTER(STRLEN(STR(?x)) > 1) }}"
    asked: list[str] = []
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        with kg.session.read() as snapshot:
            store = snapshot.reader.store
            query = store.query

            def note(
                text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
            ) -> object:
                asked.append(text)
                return query(text, union=union, default_graphs=default_graphs)

            monkeypatch.setattr(store, "query", note)
        explained = kg.explain_query(text)
        assert isinstance(kg.query(text), Table)
        assert [pattern.triples for pattern in explained.patterns] == [1]
        assert asked.index(text) == len(asked) - 1
        assert "STRLEN" not in "".join(asked[:-1])
        with pytest.raises(UsageError, match="no such graph"):
            kg.explain_query(text, over=["x"])
        with pytest.raises(QueryError, match="does not parse"):
            kg.explain_query("INSERT DATA { <a:b> <a:b> 1 }")
