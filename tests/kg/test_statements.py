"""What documents state, listed for review, and statements that a reviewer calls wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.tabular import read_table, write_table
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.relation_paths.test_paths import TermsExtractor

TEXT = (
    "Ann | was head of | Thule | head- 0.9 | 1919/1937\n\n"
    "Bea | was head of | Thule | head- 0.6 | 1938/\n\n"
    "Thule | was founded in | 1901 | inception 0.8 |\n\n"
    "Thule | had its start in | 1901 | inception 0.7 |"
)


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    folder = tmp_path / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.index([Source(TEXT, "clubs", "clubs.txt")], extractor=TermsExtractor())
    return folder


def heads(folder: Path) -> set[str]:
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        return set(graph.ask("Who was the head of Thule?").text.split("; "))


def test_the_least_certain_come_first_with_sentences_and_sources(kg: Path, sarag: Sarag) -> None:
    lines = sarag("statements", "--kg", kg).out.splitlines()
    assert lines == [
        "Thule | head | Bea  0.60",
        "  Bea | was head of | Thule | head- 0.6 | 1938/ (clubs.txt)",
        "Thule | inception | 1901  0.80",
        "  Thule | had its start in | 1901 | inception 0.7 | (clubs.txt)",
        "Thule | head | Ann  0.90",
        "  Ann | was head of | Thule | head- 0.9 | 1919/1937 (clubs.txt)",
        "3 statements",
    ]
    [one] = json.loads(sarag("statements", "--property", "inception", "--kg", kg, "--json").out)
    assert (one["name"], one["object_name"], one["confidence"]) == ("Thule", "1901", 0.8)
    assert one["texts"] == [
        "Thule | had its start in | 1901 | inception 0.7 |",
        "Thule | was founded in | 1901 | inception 0.8 |",
    ]
    assert sarag("statements", "--below", "0.7", "--kg", kg).out.endswith("\n1 statement\n")
    assert sarag("statements", "Thule", "--kg", kg).out.endswith("\n3 statements\n")
    assert sarag("statements", "Ann", "--kg", kg).out.startswith("Thule | head | Ann  0.90\n")
    sarag("statements", "Nobody", "--kg", kg).fails(2, "no entity is named 'Nobody'")
    sarag("statements", "--property", "flies", "--kg", kg).fails(2, "no such property: 'flies'")


def test_what_is_wrong_is_not_derived_any_more_until_released(
    kg: Path, tmp_path: Path, sarag: Sarag
) -> None:
    review = tmp_path / "review.csv"
    assert sarag("statements", "--review", review, "--kg", kg).code == 0
    rows = [dict(row.cells) for row in read_table(review, ("decision",))]
    rows[0]["decision"], rows[1]["decision"] = "Wrong", "right"
    review.write_text(write_table(list(rows[0]), rows, ","))
    done = sarag("statements", "--accept", review, "--kg", kg)
    assert done.out == "1 statement put into quarantine\n"
    assert sarag("statements", "--kg", kg).out.endswith("\n2 statements\n")
    assert heads(kg) == {"Ann"}
    with sarag_rdf.open(kg, embedder=HashEmbedder(), endpoint=None) as graph:  # and from elsewhere
        more = Source("Bea | was head of | Thule | head- 0.9 | 1938/", "more", "more.txt")
        graph.index([more], extractor=TermsExtractor())
    assert heads(kg) == {"Ann"}
    assert "[review, " in sarag("quarantine", "statements", "--kg", kg).out
    assert sarag("quarantine", "statements", "--release-all", "--kg", kg).code == 0
    assert heads(kg) == {"Ann", "Bea"}


def test_words_that_are_no_decision_and_tables_without_any(
    kg: Path, tmp_path: Path, sarag: Sarag
) -> None:
    review = tmp_path / "review.tsv"
    sarag("statements", "--review", review, "--kg", kg)
    done = sarag("statements", "--accept", review, "--kg", kg)
    assert done.out == "0 statements put into quarantine: write wrong in the column decision\n"
    rows = [dict(row.cells) for row in read_table(review, ())]
    rows[2]["decision"] = "perhaps"
    review.write_text(write_table(list(rows[0]), rows))
    sarag("statements", "--accept", review, "--kg", kg).fails(
        1, "row 4, column decision: 'perhaps'"
    )
    assert sarag("statements", "--kg", kg).out.endswith("\n3 statements\n")
    rows[2] |= {"decision": "wrong", "entity": "foo bar"}
    review.write_text(write_table(list(rows[0]), rows))
    sarag("statements", "--accept", review, "--kg", kg).fails(1, "row 4, columns entity and prop")
    rows[2]["entity"] = "https://example.org/kg/entity/nobody"
    review.write_text(write_table(list(rows[0]), rows))
    sarag("statements", "--accept", review, "--kg", kg).fails(2, "no document states https://exam")


def test_the_inverse_of_what_is_wrong_is_rejected_as_well(tmp_path: Path, sarag: Sarag) -> None:
    (tmp_path / "clubs.ttl").write_text("""
        @prefix c: <https://w3id.org/sarag/common#> .
        @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        c:head a owl:ObjectProperty ; rdfs:label "head" ; owl:inverseOf c:leads .
        c:leads a owl:ObjectProperty ; rdfs:label "leads" .
    """)
    text = "Ann | leads | Thule | leads 0.9 |\n\nThule | has the head | Ann | head 0.9 |"
    folder = tmp_path / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.ontologies.add(tmp_path / "clubs.ttl")
        graph.index([Source(text, "clubs", "clubs.txt")], extractor=TermsExtractor())
    review = tmp_path / "review.tsv"
    sarag("statements", "--property", "leads", "--review", review, "--kg", folder)
    rows = [dict(row.cells) | {"decision": "wrong"} for row in read_table(review, ())]
    review.write_text(write_table(list(rows[0]), rows))
    done = sarag("statements", "--accept", review, "--kg", folder)
    assert done.out == "2 statements put into quarantine\n"
    assert sarag("statements", "--kg", folder).out == "0 statements\n"
