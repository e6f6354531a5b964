"""Our SHACL engine finds what two others find: focus node, path and constraint component."""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import NamedNode, Triple

from sarag_rdf.errors import MissingDependencyError, SaragError
from sarag_rdf.inspect.validate import validate_triples
from sarag_rdf.rdf.shacl.constraints import CONSTRAINTS
from sarag_rdf.rdf.shacl.data import Data
from sarag_rdf.rdf.shacl.report import violations_of
from sarag_rdf.rdf.shacl.shapes import parse_shapes, read_shapes, validate
from sarag_rdf.vocab import SH
from tests.shacl.engines import (
    EVIDENCE_SHAPES,
    ROOT,
    SHAPES,
    Finding,
    ours,
    pyshacl,
    rdf_validate_shacl,
)
from tests.shacl.mutations import evidence, mutations, read, written

FILES = ROOT / "tests" / "ontology"
COMPARING = {
    f"{SH.base}{name}ConstraintComponent"
    for name in ("MinInclusive", "MaxInclusive", "LessThanOrEquals")
}
NUMBERS = ("integer", "large integer", "negative", "decimal", "negative decimal")
TIMES = ("time", "late time")
COMPARED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("beginIndex", "endIndex", "confidence", "violations"), NUMBERS),
    **dict.fromkeys(("startedAtTime", "endedAtTime"), TIMES),
}
"""Properties whose values are compared, and the names of the values that they can be compared with.

SHACL calls it a violation if values cannot be compared. pySHACL compares some nevertheless, and
rdf-validate-shacl takes "1e3" for a number. There each engine has findings of its own, but all
agree on what else is wrong, and that something is.
"""
GRAPHS = {
    "evidence": (EVIDENCE_SHAPES, evidence(), 3, 7),
    "whole": (SHAPES, read((FILES / "good.ttl").read_bytes()), 7, 17),
}
"""Name -> shapes, a sound graph, and of how many mutations each other engine is asked one.

Every property is spoiled in some 50 ways, so that steps prime to that reach them all.
"""
EACH_GRAPH = pytest.mark.parametrize("name", GRAPHS)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let rdflib read ill-formed literals without a word."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def comparable(label: str, found: Counter[Finding], *, strict: bool) -> Counter[Finding]:
    """What is found, without comparisons of what cannot be compared; `strict` means ill-formed."""
    match = re.search(r"with (.*) as (?:further )?(\w+)$", label)
    if match is None or match[2] not in COMPARED or match[1] in COMPARED[match[2]]:
        return found
    if strict and not re.search("ill-formed|not a number", match[1]):
        return found
    return Counter({key: n for key, n in found.items() if key[2] not in COMPARING})


def spoiled(name: str, step: int) -> dict[str, bytes]:
    graphs = list(all_mutations(name))
    return {label: written(graph) for label, graph in graphs[::step]}


def all_mutations(name: str) -> Iterator[tuple[str, list[Triple]]]:
    files, triples, _, _ = GRAPHS[name]
    return mutations(triples, read_shapes(*(path.name for path in files)))


def assert_same(
    shapes: Sequence[Path], label: str, data: bytes, found: Counter[Finding], *, strict: bool
) -> None:
    own = ours(shapes, data)
    assert bool(own) is bool(found), label
    assert comparable(label, own, strict=strict) == comparable(label, found, strict=strict), label


# ------------------------------------------------------------------------- Three engines


@pytest.mark.parametrize("shapes", [SHAPES, EVIDENCE_SHAPES], ids=["whole", "evidence"])
@pytest.mark.parametrize("file", ["good.ttl", "bad.ttl"])
def test_three_engines_agree_on_files(shapes: Sequence[Path], file: str, tmp_path: Path) -> None:
    data = (FILES / file).read_bytes()
    found = ours(shapes, data)
    assert bool(found) is (file == "bad.ttl" or shapes is EVIDENCE_SHAPES)
    assert pyshacl(shapes, data) == found
    assert rdf_validate_shacl(shapes, {file: data}, tmp_path) == {file: found}


def test_three_engines_agree_on_sound_evidence(tmp_path: Path) -> None:
    data = written(evidence("pt-BR"))
    assert ours(EVIDENCE_SHAPES, data) == pyshacl(EVIDENCE_SHAPES, data) == Counter()
    assert rdf_validate_shacl(EVIDENCE_SHAPES, {"": data}, tmp_path) == {"": Counter()}


@EACH_GRAPH
def test_pyshacl_finds_the_same(name: str) -> None:
    shapes, _, _, step = GRAPHS[name]
    refused, texts = 0, spoiled(name, step)
    for label, data in texts.items():
        found = pyshacl(shapes, data)
        refused += found is None
        if found is not None:
            assert_same(shapes, label, data, found, strict=False)
    assert len(texts) > 200
    assert refused < len(texts) / 50


@EACH_GRAPH
def test_rdf_validate_shacl_finds_the_same(name: str, tmp_path: Path) -> None:
    shapes, _, step, _ = GRAPHS[name]
    texts = spoiled(name, step)
    assert len(texts) > 500
    for label, found in rdf_validate_shacl(shapes, texts, tmp_path).items():
        assert_same(shapes, label, texts[label], found, strict=True)


@EACH_GRAPH
def test_mutations_break_every_constraint_of_every_shape(name: str) -> None:
    """Else the tests above would leave some unasked."""
    files, triples, _, _ = GRAPHS[name]
    shapes = read_shapes(*(path.name for path in files))
    parts = {inner.node: inner for shape in shapes for inner in (shape, *shape.properties)}
    asked = {(part.node, c.component) for part in parts.values() for c in part.constraints}
    asked |= {(p.node, SH.ClosedConstraintComponent) for p in parts.values() if p.closed}
    targets = {term for triple in triples for term in (triple.predicate, triple.object)}
    absent = {
        inner.node
        for shape in shapes
        if not targets & {*shape.classes, *shape.subjects_of}
        for inner in (shape, *shape.properties)
    }
    broken = set()
    for _, graph in all_mutations(name):
        quads = ox.parse(validate(shapes, Data(graph)).turtle, format=ox.RdfFormat.TURTLE)
        result: dict[NamedNode, object] = {}
        for quad in quads:
            if quad.predicate in (SH.sourceShape, SH.sourceConstraintComponent):
                result[quad.predicate] = quad.object
            if len(result) == 2:
                broken.add((result[SH.sourceShape], result[SH.sourceConstraintComponent]))
                result = {}
    assert {pair for pair in asked - broken if pair[0] not in absent} == set()


# ------------------------------------------------------------------- What is not known


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ("sh:equals <urn:q>", "unsupported: the shape .*equals>"),
        ("sh:sparql []", "unsupported: the shape .*sparql>"),
        ("sh:targetNode <urn:n>", "unsupported: the shape .*targetNode>"),
        ("sh:property [ sh:path [ sh:inversePath <urn:p> ] ]", "is not an IRI"),
        ("sh:property <urn:nothing>", "contain no shape <urn:nothing>"),
        (
            "sh:property [ sh:path <urn:p> ; sh:datatype <http://www.w3.org/2001/XMLSchema#date> ]",
            "the datatype <http://www.w3.org/2001/XMLSchema#date>",
        ),
    ],
)
def test_what_is_not_known_is_never_passed_over(shape: str, complaint: str) -> None:
    text = f"@prefix sh: <{SH.base}> . <urn:s> a sh:NodeShape ; sh:targetClass <urn:c> ; {shape} ."
    with pytest.raises(SaragError, match=complaint):
        parse_shapes(text.encode())


def test_every_constraint_that_is_known_is_in_use() -> None:
    used = {
        quad.predicate
        for path in EVIDENCE_SHAPES
        for quad in ox.parse(path=path, format=ox.RdfFormat.TURTLE)
    }
    assert CONSTRAINTS.keys() - used == set()


def test_a_dollar_is_the_very_end() -> None:
    """As SPARQL has it, and JavaScript; Python lets a line break follow."""
    shapes = parse_shapes(
        f"@prefix sh: <{SH.base}> . <urn:s> sh:targetClass <urn:c> ; sh:property <urn:p> . "
        '<urn:p> sh:path <urn:q> ; sh:pattern "^a$" .'.encode()
    )
    text = '<urn:n> a <urn:c> ; <urn:q> "a", "a\\n", "ab" .'
    data = Data(quad.triple for quad in ox.parse(text, format=ox.RdfFormat.TURTLE))
    found = validate(shapes, data).violations
    assert [violation.value for violation in found] == ["a\n", "ab"]


# -------------------------------------------------------------------------------- Report


def test_the_report_says_what_the_violations_say() -> None:
    data = Data(read((FILES / "bad.ttl").read_bytes()))
    report = validate(read_shapes("shapes.ttl"), data)
    assert len(report.violations) > 20
    assert not report.conforms
    assert [v.component for v in violations_of(report.turtle)] == [
        v.component for v in report.violations
    ]
    named = [v for v in report.violations if v.focus.startswith("https:")]
    assert [v for v in violations_of(report.turtle) if v.focus.startswith("https:")] == named


def test_a_class_below_is_found_by_what_graph_or_ontology_says() -> None:
    shapes = parse_shapes(
        f"@prefix sh: <{SH.base}> . <urn:s> sh:targetClass <urn:c> ; sh:minLength 99 .".encode()
    )
    below = read(b"<urn:b> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:c> .")
    data = read(b"<urn:n> a <urn:b> .")
    assert validate(shapes, Data(data)).conforms
    assert not validate(shapes, Data([*data, *below])).conforms
    assert not validate(shapes, Data(data, below)).conforms


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyshacl", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[shacl\]'"):
        validate_triples([])
