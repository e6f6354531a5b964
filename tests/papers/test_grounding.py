"""Queries of plain-word patterns on a real small graph."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Extraction, Mention, Relation
from sarag_rdf.plugins.papers.sparql_grounded import Grounding, parse_patterns
from sarag_rdf.plugins.papers.sparql_grounded import ground as ground_patterns
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.graphs import MINTER, indexed, view_of
from tests.typed_graph import typed_graph


def extraction(*facts: tuple[str, str, str]) -> Extraction:
    names = dict.fromkeys(name for s, _, o in facts for name in (s, o))
    return Extraction(
        tuple(Mention(name) for name in names), tuple(Relation(s, p, o) for s, p, o in facts)
    )


CONTENTS = [
    ("Orrin Mill", "It stands in Halden, Vale.",
     extraction(("Orrin Mill", "stands in", "Halden, Vale"), ("Orrin Mill", "built by", "Tom"))),
    ("Halden", "Halden was founded by Ida. It was sold in 1720.",
     extraction(("Halden", "founded by", "Ida"), ("market", "sold in", "1720"))),
    ("Ida", "Ida was born in Ulm and married Tom.",
     extraction(("Ida", "born in", "Ulm"), ("Ida", "married", "Tom"))),
]  # fmt: skip


@pytest.fixture(scope="module")
def view() -> GraphView:
    reader, _ = indexed(CONTENTS)
    return view_of(reader)


def ground(view: GraphView, body: str) -> Grounding:
    return ground_patterns(view, parse_patterns(f"SELECT ?answer WHERE {{ {body} }}"))


def test_a_chain_binds_and_tells_what_supports_it(view: GraphView) -> None:
    found = ground(view, '"Halden" "founded by" ?who . ?who "born in" ?answer')
    assert found.problem == ""
    first = found.bindings[0]
    assert (first.value, first.entity) == ("Ulm", MINTER.entity("ulm"))
    assert first.variables == {"who": "Ida", "answer": "Ulm"}
    assert [support.text for support in first.support] == [
        "Halden founded by Ida",
        "Ida born in Ulm",
    ]
    assert all(support.document.startswith(MINTER.base + "doc/") for support in first.support)
    assert [b.score for b in found.bindings] == sorted(b.score for b in found.bindings)[::-1]


def test_relationships_match_in_both_directions(view: GraphView) -> None:
    found = ground(view, '?answer "founded by" "Ida"')
    assert found.bindings[0].value == "Halden"


def test_a_part_of_a_name_between_commas_is_the_same_thing(view: GraphView) -> None:
    found = ground(view, '"Orrin Mill" "stands in" ?town . ?town "founded by" ?answer')
    assert found.bindings[0].value == "Ida"
    assert found.bindings[0].variables["town"] == "Halden, Vale"


def test_what_a_document_states_counts_for_what_it_is_about(view: GraphView) -> None:
    found = ground(view, '"Halden" "sold in" ?answer')
    assert "1720" in [binding.value for binding in found.bindings]


def test_an_unknown_name_is_no_link(view: GraphView) -> None:
    found = ground(view, '"Qwertz" "founded by" ?answer')
    assert (found.is_linked, found.bindings) == (False, ())
    assert "'Qwertz'" in found.problem


def test_a_near_name_with_a_word_in_common_is_linked(view: GraphView) -> None:
    found = ground(view, '"The Mill" "built by" ?answer')
    assert {link.label for link in found.linked} == {"Orrin Mill"}
    assert all(0.0 < link.similarity < 1.0 for link in found.linked)
    assert found.bindings[0].value == "Tom"


def test_patterns_without_a_common_solution(view: GraphView) -> None:
    found = ground(view, '"Ulm" "born in" ?a . ?a "sold in" "1720" . ?a "is" ?answer')
    assert found.is_linked
    assert found.bindings == ()
    assert found.problem


def test_the_query_that_was_run_gives_the_same_again(view: GraphView) -> None:
    found = ground(view, '"Halden" "founded by" ?who . ?who "born in" ?answer')
    result = view._view.reader.store.query(found.sparql)
    assert isinstance(result, Table)
    values = {term.value for row in result.rows for term in row if term}
    assert {
        found.bindings[0].entity,
        *(s.relationship for s in found.bindings[0].support),
    } <= values
    assert "SERVICE" not in found.sparql


def test_a_name_cannot_break_out_of_the_query(view: GraphView) -> None:
    found = ground(view, '"Halden> } DROP ALL" "founded by" ?answer')
    assert found.is_linked
    assert "DROP" not in found.sparql


def test_statements_whose_object_is_a_value_are_passed_over() -> None:
    with typed_graph(None) as kg, kg.session.read() as snapshot:
        found = ground(snapshot.view, '?answer "was" "Ilse Brandt"')
    assert {binding.value for binding in found.bindings} <= {"Linz", "Emil Sand", "7 May 1901"}
    assert found.bindings


def test_statements_of_an_imported_graph_bind() -> None:
    """Two steps over triples that no relationship of the documents stands for."""
    films = Path(__file__).parents[2] / "examples" / "films.ttl"
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["films"]) as kg:
        kg.import_graph(films, "rdf", name="films")
        with kg.session.read() as snapshot:
            found = ground(
                snapshot.view,
                '?film "director" "Ruben Soldevila" . ?film "language" ?answer',
            )
    assert found.bindings[0].value == "Catalan"
    [support, _] = found.bindings[0].support
    assert "director" in support.text
