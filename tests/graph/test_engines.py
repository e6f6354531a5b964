"""Three SHACL engines find the same: focus node, path and constraint component."""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import NamedNode, Triple

from sarag_rdf.base.errors import MissingDependencyError, SaragError
from sarag_rdf.base.vocab import SH
from sarag_rdf.graph.store import shacl as engines
from sarag_rdf.graph.store.shacl import (
    ENGINES,
    ShaclEngine,
    parse_shapes,
    read_shapes,
    validate,
    violations_of,
)
from tests.fault_server import playing, raw
from tests.graph.engines import (
    EVIDENCE_SHAPES,
    ROOT,
    SHAPES,
    Finding,
    ours,
    pyshacl,
    rdf_validate_shacl,
)
from tests.graph.mutations import evidence, mutations, read, written

FILES = ROOT / "tests" / "graph"
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
    "evidence": (EVIDENCE_SHAPES, evidence(), 13, 37),
    "whole": (SHAPES, read((FILES / "good.ttl").read_bytes()), 29, 47),
}
"""Name -> shapes, a sound graph, and of how many mutations each other engine is asked one.

Every property is spoiled in some 50 ways, so that steps prime to that reach them all.
"""
NO_CONSTRAINTS = {
    *(SH.path, SH.name, SH.description, SH.order, SH.message, SH.ignoredProperties),
}
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
    return mutations(triples, shapes_graph(files))


def shapes_graph(files: Sequence[Path]) -> list[Triple]:
    return [triple for path in files for triple in read(path.read_bytes())]


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


@pytest.mark.interop
@EACH_GRAPH
def test_pyshacl_finds_the_same(name: str) -> None:
    shapes, _, _, step = GRAPHS[name]
    refused, texts = 0, spoiled(name, step)
    for label, data in texts.items():
        found = pyshacl(shapes, data)
        refused += found is None
        if found is not None:
            assert_same(shapes, label, data, found, strict=False)
    assert len(texts) > 30
    assert refused <= len(texts) / 20


@pytest.mark.interop
@EACH_GRAPH
def test_rdf_validate_shacl_finds_the_same(name: str, tmp_path: Path) -> None:
    shapes, _, step, _ = GRAPHS[name]
    texts = spoiled(name, step)
    assert len(texts) > 100
    for label, found in rdf_validate_shacl(shapes, texts, tmp_path).items():
        assert_same(shapes, label, texts[label], found, strict=True)


@EACH_GRAPH
def test_mutations_break_every_constraint_of_every_shape(name: str) -> None:
    """Else the tests above would leave some unasked."""
    files, triples, _, _ = GRAPHS[name]
    asked, targets, inner = set(), defaultdict(set), defaultdict(set)
    inactive = set()
    for part, predicate, value in shapes_graph(files):
        if predicate == SH.deactivated:
            inactive.add(part)
        elif predicate in (SH.targetClass, SH.targetSubjectsOf):
            targets[part].add(value)
        elif predicate == SH.property:
            inner[part].add(value)
        elif predicate.value.startswith(SH.base) and predicate not in NO_CONSTRAINTS:
            name_ = predicate.value.removeprefix(SH.base)
            asked.add((part, SH[f"{name_[0].upper()}{name_[1:]}ConstraintComponent"]))
    present = {term for triple in triples for term in (triple.predicate, triple.object)}
    reached = {
        part
        for shape, terms in targets.items()
        if terms & present and shape not in inactive
        for part in (shape, *inner[shape])
        if part not in inactive
    }
    shapes = read_shapes(*(path.name for path in files))
    broken = set()
    for _, graph in all_mutations(name):
        quads = ox.parse(validate(shapes, graph).turtle, format=ox.RdfFormat.TURTLE)
        result: dict[NamedNode, object] = {}
        for quad in quads:
            if quad.predicate in (SH.sourceShape, SH.sourceConstraintComponent):
                result[quad.predicate] = quad.object
            if len(result) == 2:
                broken.add((result[SH.sourceShape], result[SH.sourceConstraintComponent]))
                result = {}
    assert len(asked) > 60
    assert {pair for pair in asked - broken if pair[0] in reached} == set()


# ------------------------------------------------------------ The whole of SHACL Core

PREFIXES = (
    f"@prefix sh: <{SH.base}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    "@prefix : <urn:> . "
)
CORE = {
    "Class": ("sh:class :c", ":a", ":n"),
    "Datatype": ("sh:datatype xsd:date", '"2026-11-22"^^xsd:date', '"November"^^xsd:date'),
    "NodeKind": ("sh:nodeKind sh:BlankNodeOrIRI", "[]", '"text"'),
    "MinCount": ("sh:minCount 2", "1, 2", "1"),
    "MaxCount": ("sh:maxCount 1", "1", "1, 2"),
    "MinExclusive": ("sh:minExclusive 1", "1.5", "1"),
    "MinInclusive": ("sh:minInclusive 1", "1", "0"),
    "MaxExclusive": ("sh:maxExclusive 1", "0", "1"),
    "MaxInclusive": ("sh:maxInclusive 1", "1", "2e0"),
    "MinLength": ("sh:minLength 2", '"ab"', '"a"'),
    "MaxLength": ("sh:maxLength 2", '"ab"', '"abc"'),
    "Pattern": ('sh:pattern "^A" ; sh:flags "i"', '"abc"', '"bc"'),
    "LanguageIn": ('sh:languageIn ("en" "de")', '"a"@en-GB', '"a"@fr'),
    "UniqueLang": ("sh:uniqueLang true", '"a"@en, "a"@de', '"a"@en, "b"@en'),
    "Equals": ("sh:equals :other", "1", "2"),
    "Disjoint": ("sh:disjoint :other", "2", "1"),
    "LessThan": ("sh:lessThan :other", "0", "1"),
    "LessThanOrEquals": ("sh:lessThanOrEquals :other", "1", "2"),
    "Not": ("sh:not [ sh:datatype xsd:integer ]", '"a"', "1"),
    "And": ("sh:and ([ sh:minLength 2 ] [ sh:maxLength 3 ])", '"abc"', '"a"'),
    "Or": ("sh:or ([ sh:maxLength 1 ] [ sh:minLength 3 ])", '"abc"', '"ab"'),
    "Xone": ("sh:xone ([ sh:minLength 1 ] [ sh:minLength 3 ])", '"ab"', '"abc"'),
    "Node": ("sh:node [ sh:property [ sh:path :other ; sh:minCount 1 ] ]", ":a", ":n"),
    "QualifiedMinCount": (
        "sh:qualifiedValueShape [ sh:minLength 2 ] ; sh:qualifiedMinCount 1", '"ab"', '"a"'),
    "QualifiedMaxCount": (
        "sh:qualifiedValueShape [ sh:minLength 2 ] ; sh:qualifiedMaxCount 0", '"a"', '"ab"'),
    "HasValue": ("sh:hasValue 1", "1, 2", "2"),
    "In": ("sh:in (1 2)", "2", "3"),
}  # fmt: skip
"""Constraint component -> constraint on the values of a property, values that meet it, others."""
PATHS = {
    "sh:inversePath :back": ":y :back :a .",
    "sh:alternativePath (:p :q)": ":a :q :y .",
    "sh:zeroOrMorePath :p": ":a :p :x . :x :p :y .",
    "sh:oneOrMorePath :p": ":a :p :x . :x :p :y .",
    "sh:zeroOrOnePath :p": ":a :p :y .",
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#first> :p ; "
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> (:q)": ":a :p :x . :x :q :y .",
}
EACH_ENGINE = pytest.mark.parametrize("engine", ENGINES)


def components(engine: ShaclEngine, shapes: str, data: str) -> list[str]:
    compiled = parse_shapes((PREFIXES + shapes).encode())
    report = validate(compiled, read((PREFIXES + data).encode()), engine=engine)
    assert report.conforms is (report.violations == ())
    assert len(violations_of(report.turtle)) == len(report.violations)
    return [violation.component for violation in report.violations]


@EACH_ENGINE
@pytest.mark.parametrize("component", CORE)
def test_every_component_of_shacl_core(engine: ShaclEngine, component: str) -> None:
    constraint, valid, invalid = CORE[component]
    shapes = f":s sh:targetNode :a ; sh:property [ sh:path :p ; {constraint} ] ."
    data = ":a a :c ; :other 1 ; :p "
    assert components(engine, shapes, data + valid + " .") == []
    expected = f"{component}ConstraintComponent"
    assert set(components(engine, shapes, data + invalid + " .")) == {expected}


@EACH_ENGINE
@pytest.mark.parametrize("path", PATHS)
def test_every_path_of_shacl_core(engine: ShaclEngine, path: str) -> None:
    shapes = f":s sh:targetNode :a ; sh:property [ sh:path [ {path} ] ; sh:hasValue :y ] ."
    assert components(engine, shapes, PATHS[path]) == []
    assert components(engine, shapes, ":a :other :y .") == ["HasValueConstraintComponent"]


@EACH_ENGINE
@pytest.mark.parametrize(
    "target",
    ["sh:targetNode :a", "sh:targetClass :c", "sh:targetSubjectsOf :p", "sh:targetObjectsOf :q"],
)
def test_every_target_of_shacl_core(engine: ShaclEngine, target: str) -> None:
    shapes, data = f":s {target} ; sh:maxLength 1 .", ":a a :c ; :p 1 . :b :q :a ."
    assert components(engine, shapes, data) == ["MaxLengthConstraintComponent"]
    assert components(engine, f":s {target} ; sh:deactivated true ; sh:maxLength 1 .", data) == []


@EACH_ENGINE
def test_a_closed_shape(engine: ShaclEngine) -> None:
    shapes = (
        ":s sh:targetNode :a ; sh:closed true ; sh:property [ sh:path :p ] ; "
        "sh:ignoredProperties (:q) ."
    )
    assert components(engine, shapes, ":a :p 1 ; :q 1 .") == []
    assert components(engine, shapes, ":a :p 1 ; :r 1 .") == ["ClosedConstraintComponent"]


@EACH_ENGINE
def test_the_report_keeps_paths_and_severities(engine: ShaclEngine) -> None:
    shapes = parse_shapes(
        (
            PREFIXES + ":s sh:targetNode :a ; sh:property [ sh:severity sh:Warning ; "
            "sh:path [ sh:inversePath :p ] ; sh:minCount 1 ] ."
        ).encode()
    )
    report = validate(shapes, [], engine=engine)
    (violation,) = report.violations
    assert (violation.focus, violation.path) == ("urn:a", "")
    quads = read(report.turtle.encode())
    assert [t.object for t in quads if t.predicate == SH.inversePath] == [NamedNode("urn:p")]
    assert [t.object for t in quads if t.predicate == SH.resultSeverity] == [SH.Warning]


# ----------------------------------------------------- Shapes and data that are refused


@pytest.mark.parametrize(
    ("shapes", "complaint"),
    [
        (":s", "the SHACL shapes are invalid: .*; correct the shapes file"),
        (':s sh:targetNode :a ; sh:property [ sh:path :p ; sh:pattern "(" ] .', "pattern"),
        (":s sh:targetNode :a ; sh:in :p .", "sh:in is not a well-formed list"),
        (f":s sh:targetNode :a ; sh:not {'[ sh:not ' * 999} [ sh:in () ] {']' * 999} .", "48 deep"),
    ],
)
def test_invalid_shapes_raise(shapes: str, complaint: str) -> None:
    with pytest.raises(SaragError, match=complaint) as raised:
        validate(parse_shapes((PREFIXES + shapes).encode()), read(b"<urn:a> <urn:p> 1 ."))
    assert "\n" not in str(raised.value)


@pytest.mark.attack
def test_a_pattern_takes_linear_time() -> None:
    shapes = ':s sh:targetNode :a ; sh:property [ sh:path :p ; sh:pattern "^(a+)+$" ] .'
    data = f':a :p "{"a" * 50_000}!" .'
    assert components("shacl", shapes, data) == ["PatternConstraintComponent"]


def test_shapes_that_refer_to_themselves() -> None:
    shapes = ":s sh:targetNode :a ; sh:property [ sh:path :p ; sh:node :s ] ."
    assert components("shacl", shapes, ":a :p :b . :b :p :a .") == []


def test_a_dollar_is_the_very_end() -> None:
    """As SPARQL has it, and JavaScript; Python lets a line break follow."""
    shapes = parse_shapes(
        f"@prefix sh: <{SH.base}> . <urn:s> sh:targetClass <urn:c> ; sh:property <urn:p> . "
        '<urn:p> sh:path <urn:q> ; sh:pattern "^a$" .'.encode()
    )
    text = '<urn:n> a <urn:c> ; <urn:q> "a", "a\\n", "ab" .'
    found = validate(shapes, read(text.encode())).violations
    assert [violation.value for violation in found] == ["a\n", "ab"]


# -------------------------------------------------------------------------------- Report


def test_the_report_says_what_the_violations_say() -> None:
    data = read((FILES / "bad.ttl").read_bytes())
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
    assert validate(shapes, data).conforms
    assert not validate(shapes, [*data, *below]).conforms
    report = validate(shapes, data, below)
    assert (report.conforms, report.triples) == (False, 1)


def test_a_missing_package_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, command in (("pyshacl", r"'sarag-rdf\[pyshacl\]'"), ("shacl", "shacl")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingDependencyError, match=f"pip install {command}"):
            validate(parse_shapes(), [], engine=package)  # type: ignore[arg-type]


def test_pyshacl_validates_where_shacl_has_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shacl", None)
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    assert validate(read_shapes(*(path.name for path in EVIDENCE_SHAPES)), evidence()).conforms


@pytest.mark.parametrize(
    "service",
    [
        "SERVICE <{url}> {{ ?s ?p ?o }}",
        r"SERVIC\\u0045 <{url}> {{ ?s ?p ?o }}",
        "FILTER(1<2)SERVICE?x#>\n{{ ?s ?p ?o }}",
        "service#\n<{url}> {{ ?s ?p ?o }}",
    ],
)
def test_no_query_of_shapes_reaches_the_network(service: str) -> None:
    """pySHACL overlooks escapes and comments."""
    with playing(raw(200, b"{}")) as server:
        text = service.format(url=server.root)
        shapes = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
          <urn:s> a sh:NodeShape ; sh:targetNode <urn:n> ; sh:message "m" ;
            sh:sparql [ sh:select '''SELECT $this WHERE {{ {text} }}''' ] ."""
        with pytest.raises(SaragError, match="a query has SERVICE or FROM"):
            parse_shapes(shapes.encode())
        with pytest.raises(SaragError, match="a query has SERVICE or FROM"):
            parse_shapes(shapes.replace(text, "").replace("WHERE", "FROM <urn:g>").encode())
        assert server.requests == []
