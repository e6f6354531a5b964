"""Shapes of the user over typed statements: reported, or single statements in quarantine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.kg import vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.kg.test_phrases import (
    BORN,
    EX,
    MINTER,
    ONTOLOGY,
    SOURCES,
    SentenceExtractor,
    statements,
    table,
)
from tests.sample_graph import derived

PREFIXES = f"""
@prefix ex: <{EX}> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix sarag: <https://w3id.org/sarag/ontology#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
ONE_STUDENT = (
    PREFIXES
    + """
ex:TeacherShape a sh:NodeShape ; sh:targetSubjectsOf ex:taught ;
    sh:property [ sh:path ex:taught ; sh:maxCount 1 ] ;
    sh:property [ sh:path ex:birthYear ; sh:minCount 1 ] .
"""
)


@pytest.fixture
def kg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeGraph]:
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    (tmp_path / "crafts.ttl").write_text(ONTOLOGY, encoding="utf-8")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as graph:
        graph.ontologies.add(tmp_path / "crafts.ttl")
        graph.index(SOURCES, extractor=SentenceExtractor())
        graph.decisions.accept(
            table(
                tmp_path / "phrases.tsv",
                BORN,
                {"phrase": "studied with", "property": "taught", "direction": "inverse"},
            ),
            "phrases",
        )
        yield graph


def shapes(tmp_path: Path, turtle: str) -> Path:
    path = tmp_path / "mine.ttl"
    path.write_text(turtle, encoding="utf-8")
    return path


LINZ = PREFIXES + (
    "ex:LinzShape a sh:NodeShape ; sh:targetSubjectsOf ex:bornIn ; sh:property [ "
    f'sh:path ex:bornIn ; sh:in ( <{MINTER.entity("ulm")}> ) ; sh:message "only in Ulm" ] .'
)
BORN_IN_LINZ = ("boris", "bornIn", "linz")


def test_violations_are_reported(kg: KnowledgeGraph, tmp_path: Path) -> None:
    before = statements(kg)
    assert BORN_IN_LINZ in before
    [violation] = kg.validate(shapes=[shapes(tmp_path, LINZ)]).violations
    assert (violation.focus, violation.path) == (MINTER.entity("boris"), f"{EX}bornIn")
    assert violation.message == "only in Ulm"
    assert statements(kg) == before


def test_a_statement_is_put_into_quarantine_and_released(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    before, graph = statements(kg), derived(kg)
    path = shapes(tmp_path, LINZ)
    report = kg.quarantine.apply_shapes(path)
    [decision] = report.quarantined
    assert decision.statement == (
        MINTER.entity("boris"),
        f"{EX}bornIn",
        f"<{MINTER.entity('linz')}>",
    )
    assert (decision.note, report.remaining) == ("only in Ulm", ())
    assert statements(kg) == before - {BORN_IN_LINZ}
    assert kg.decisions.list("statements") == [decision]
    kg.delete(["boris.txt"])
    kg.index(SOURCES, extractor=SentenceExtractor())
    assert statements(kg) == before - {BORN_IN_LINZ}
    assert kg.quarantine.apply_shapes(path).quarantined == ()
    assert kg.decisions.list() == []
    with pytest.raises(UsageError, match="no decision about 'nothing'"):
        kg.decisions.undo("nothing", "statements")
    assert kg.decisions.undo(MINTER.entity("boris"), "statements") == [decision]
    assert derived(kg) == graph


def test_without_a_value_all_statements_of_the_property_are_meant(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    """Missing values are reported only, while the shape has a target."""
    path = shapes(tmp_path, ONE_STUDENT)
    report = kg.quarantine.apply_shapes(path)
    assert len(report.report.violations) == 2
    assert {d.qualifier for d in report.quarantined} == {
        f"<{MINTER.entity(name)}>" for name in ("ada", "clara")
    }
    assert report.remaining == ()  # who taught no one is no target
    assert not any(property_ == "taught" for _, property_, _ in statements(kg))


def test_what_is_no_shape_is_refused(kg: KnowledgeGraph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        kg.validate(shapes=[tmp_path / "missing.ttl"])
    with pytest.raises(InputError, match=r"the SHACL shapes .*are invalid"):
        kg.quarantine.apply_shapes(shapes(tmp_path, "no turtle"))


def test_shapes_that_crash_the_parser_are_refused(kg: KnowledgeGraph, tmp_path: Path) -> None:
    deep = "<<( <urn:a> <urn:b> " * 100_000 + "<urn:c> " + ")>>" * 100_000
    with pytest.raises(InputError, match=r"the SHACL shapes .*are invalid"):
        kg.validate(shapes=[shapes(tmp_path, f"<urn:a> <urn:b> {deep} .")])


def test_on_the_command_line(kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag) -> None:
    shapes(tmp_path, LINZ)
    reported = sarag("validate", "--shapes", "mine.ttl")
    assert reported.code == 1
    assert f"only in Ulm (found: {MINTER.entity('linz')}) [Violation: sh:" in reported.out
    warning = f"sh:property [ sh:path <{EX}born> ; sh:minCount 1 ; sh:severity sh:Warning ]"
    shapes(
        tmp_path,
        f"{PREFIXES}<urn:s> a sh:NodeShape ; sh:targetSubjectsOf <{EX}bornIn> ; {warning} .",
    )
    assert (
        f" [Warning: sh:minCount of <{EX}born>]\n" in sarag("validate", "--shapes", "mine.ttl").out
    )
    shapes(tmp_path, LINZ)
    quarantined = sarag("validate", "--shapes", "mine.ttl", "--on-violation", "quarantine")
    assert (quarantined.code, quarantined.out) == (
        0,
        "1 statement put into quarantine, 0 violations left\n",
    )
    [listed] = json.loads(sarag("quarantine", "statements", "--json").out)
    assert listed["decision"].startswith(f"<{MINTER.entity('boris')}>  <{EX}bornIn>")
    released = sarag("quarantine", "statements", "--release", listed["iri"])
    assert released.out == "1 statement released\n"
    assert sarag("quarantine", "statements").out == ""
    (tmp_path / "dora.txt").write_text("Dora was born in Linz.", encoding="utf-8")
    arguments = ("--shapes", "mine.ttl", "--extractor", "spacy")
    indexed = sarag("index", "dora.txt", *arguments)
    assert "of the shapes, such as" in indexed.err
    assert sarag("index", "dora.txt", "--on-violation", "report").complaints == [
        "sarag: --on-violation requires --shapes"
    ]
    indexed = sarag("index", "dora.txt", *arguments, "--on-violation", "quarantine")
    assert "put into quarantine: sarag quarantine statements" in indexed.err
