"""What does not conform is neither silently in nor silently out, and nothing is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

import sarag_rdf
from sarag_rdf.base.errors import ExtractionFormatError, NotAGraphError, StoreError, UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source
from sarag_rdf.base.vocab import DCTERMS, RDF, SARAG
from sarag_rdf.building import evidence_quarantine, index_run
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.evidence_quarantine import QuarantinedSource, read_quarantine
from sarag_rdf.building.index_run import IndexReport
from sarag_rdf.building.plan import Request, plan
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.store.shacl import parse_shapes
from sarag_rdf.kg.gate import retry, validate_own
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.openie import OpenIEExtractor
from sarag_rdf.testing.fakes import HashEmbedder

ADA = Source("Ada met Bea.", "Ada", "people/ada.txt")
BAD = Source("Cid met Bea.", "Cid", "people/cid.txt")
MINTER = Minter()
IRI = MINTER.source(BAD.key, BAD.title, BAD.text)
NAMES = {"Ada", "Bea", "Cid"}


class Meetings:
    """Who met whom; what it finds of Cid is spoiled."""

    def __init__(
        self, *mentions: Mention, relation: Relation | None = None, version: str = "1"
    ) -> None:
        self._mentions = mentions
        self._relation = relation
        self.method = Method("meetings", "none", settings={"version": version})
        self.read: list[str] = []

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            self.read.append(document.title)
            names = [word.strip(".") for word in document.text.split() if word.strip(".") in NAMES]
            mentions = tuple(Mention(name, "person") for name in names)
            relation = Relation(names[0], "met", names[-1], confidence=0.5)
            if "Cid" in document.text:
                mentions += self._mentions
                relation = self._relation or relation
            yield Extraction(mentions, (relation,))


def too_sure(version: str = "1") -> Meetings:
    return Meetings(relation=Relation("Cid", "met", "Bea", confidence=7), version=version)


def opened(folder: Path | None = None) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None)


def quads(kg: KnowledgeGraph) -> set[Quad]:
    with kg.session.read() as snapshot:
        return set(snapshot.reader.store.quads())


def without_records(found: Iterable[Quad]) -> set[Quad]:
    """What stays the same whatever is in quarantine."""
    passing = (MINTER.runs_graph, MINTER.meta_graph, MINTER.graph("quarantine"))
    return {q for q in found if not str(q.graph_name)[1:-1].startswith(passing)}


def in_quarantine(kg: KnowledgeGraph) -> list[str]:
    return [record.source for record in kg.quarantine.sources()]


def counts(report: IndexReport) -> tuple[int, int, int, int]:
    return report.added, report.updated, report.unchanged, report.quarantined


# -------------------------------------------------------------- How bad data can arise


BROKEN: dict[str, tuple[Meetings, str]] = {
    "too sure": (too_sure(), "confidence: an xsd:decimal from 0 to 1. (found: 7.0)"),
    "less than not sure": (
        Meetings(relation=Relation("Cid", "met", "Bea", confidence=-0.5)),
        "(found: -0.5)",
    ),
    "no number": (
        Meetings(relation=Relation("Cid", "met", "Bea", confidence=float("nan"))),
        "(found: NaN.0) and 2 more",
    ),
    "no phrase": (Meetings(relation=Relation("Cid", "", "Bea")), "exactly one phrase"),
    "long phrase": (
        Meetings(relation=Relation("Cid", "met " * 2000, "Bea")),
        "... 8,000 characters)",
    ),
    "long name": (Meetings(Mention("D" * 1001, descriptions=("x",))), "at most 1,000 characters"),
    "control character": (Meetings(Mention("D\x00n")), "(found: D\\x00n)"),
    "control character in an alias": (Meetings(Mention("Dan", aliases=("D\x1b[2J",))), "\\x1b[2J"),
    "empty description": (Meetings(Mention("Dan", descriptions=("",))), "at most one text"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_bad_data_goes_to_quarantine_and_the_rest_joins(name: str) -> None:
    extractor, complaint = BROKEN[name]
    with opened() as clean, opened() as kg:
        clean.index([ADA], extractor=extractor)
        report = kg.index([BAD, ADA], extractor=extractor)
        assert counts(report) == (1, 0, 0, 1)
        [problem] = map(str, report.problems)
        assert problem.startswith("people/cid.txt: does not conform and is in quarantine: ")
        assert complaint in problem
        assert problem.endswith(f"(sarag quarantine show {IRI})")
        assert problem.isprintable()
        assert without_records(quads(kg)) == without_records(quads(clean))
        assert in_quarantine(kg) == [IRI]
        assert kg.validate().conforms
        assert kg.validate("pyshacl").conforms
        assert kg.stats()["quarantined sources"] == 1
        [document] = kg.search("Who met Bea?").documents
        assert document.document.title == "Ada"


UNWRITABLE: dict[str, Meetings] = {
    "a lone surrogate": Meetings(Mention("D\ud800n")),
    "a number as name": Meetings(Mention(3)),  # type: ignore[arg-type]
    "nothing as text": Meetings(Mention("Dan", descriptions=(None,))),  # type: ignore[arg-type]
    "a word as confidence": Meetings(
        relation=Relation("Cid", "met", "Bea", confidence="high")  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_cannot_even_be_written_is_a_problem_and_the_rest_joins(name: str) -> None:
    with opened() as kg:
        report = kg.index([BAD, ADA], extractor=UNWRITABLE[name])
        assert counts(report) == (1, 0, 0, 0)
        [problem] = map(str, report.problems)
        assert problem.startswith("people/cid.txt: its extraction cannot be written as RDF (")
        assert in_quarantine(kg) == []


def openie(folder: Path, *entities: Any) -> OpenIEExtractor:
    file = folder / "openie.json"
    passages = [{"passage": f"{source.title}\n{source.text}"} for source in (ADA, BAD)]
    found = {"extracted_entities": ["Bea", *entities], "extracted_triples": []}
    file.write_text(json.dumps({"docs": [passage | found for passage in passages]}))
    return OpenIEExtractor(file)


def test_a_file_of_extractions_can_hold_bad_data(tmp_path: Path) -> None:
    with opened() as kg:
        report = kg.index([BAD], extractor=openie(tmp_path, "C\u0000d", 7, ""))
        assert report.quarantined == 1
        assert "C\\x00d" in str(report.problems[0])


def test_a_file_of_another_shape_is_still_refused_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "openie.json"
    file.write_text('{"docs": [{"passage": "x", "extracted_entities": "Bea"}]}')
    with pytest.raises(ExtractionFormatError):
        OpenIEExtractor(file)


def test_texts_are_cleaned_and_languages_checked_before() -> None:
    sources = [
        Source("Cid\x00 met\ud800 Bea.", "Ci\x07d", "a.txt"),
        Source("Cid met Bea.", "", "b.txt", language="no language!"),
    ]
    with opened() as kg:
        report = kg.index(sources, extractor=Meetings())
        assert (report.added, report.quarantined) == (1, 0)
        assert [problem.name for problem in report.problems] == ["b.txt"]
        assert "not a language" in str(report.problems[0])


# ------------------------------------------------------------------- The run afterwards


def test_an_unchanged_source_is_not_extracted_again_but_told_of_again() -> None:
    with opened() as kg:
        first = kg.index([BAD, ADA], extractor=too_sure())
        before = quads(kg)
        extractor = too_sure()
        again = kg.index([BAD, ADA], extractor=extractor)
        assert extractor.read == []
        assert counts(again) == (0, 0, 1, 1)
        assert list(map(str, again.problems)) == list(map(str, first.problems))
        assert quads(kg) == before
        plan = kg.plan([BAD, ADA], extractor=too_sure())
        assert (plan.todo, plan.unchanged, plan.problems) == ((), 1, ())
        assert list(map(str, plan.quarantined)) == list(map(str, first.problems))


def test_a_changed_source_replaces_what_is_kept_of_it() -> None:
    other = Source("Cid met Bea and Ada.", BAD.title, BAD.key)
    with opened() as kg:
        kg.index([BAD], extractor=too_sure())
        [before] = kg.quarantine.sources()
        assert counts(kg.index([other], extractor=too_sure())) == (0, 0, 0, 1)
        [after] = kg.quarantine.sources()
        assert (after.source, after.sha256) != (before.source, before.sha256)
        assert len(kg.quarantine.show(IRI)[1].violations) == 1


def test_a_source_that_conforms_by_another_method_leaves_quarantine() -> None:
    with opened() as clean, opened() as kg:
        clean.index([ADA, BAD], extractor=Meetings(version="2"))
        kg.index([BAD], extractor=too_sure())
        report = kg.index([ADA, BAD], extractor=Meetings(version="2"))
        assert (counts(report), report.problems) == ((2, 0, 0, 0), [])
        assert in_quarantine(kg) == []
        assert without_records(quads(kg)) == without_records(quads(clean))
        graphs = {str(quad.graph_name) for quad in quads(kg)}
        assert not any("quarantine" in graph for graph in graphs)


def test_an_update_that_fails_leaves_the_older_version_in() -> None:
    other = Source("Cid and Ada met Bea.", BAD.title, BAD.key)
    with opened() as kg:
        kg.index([ADA, BAD], extractor=Meetings())
        before = quads(kg)
        report = kg.index([ADA, other], extractor=too_sure())
        assert counts(report) == (0, 0, 1, 1)
        assert "; its older version stays in the graph: " in str(report.problems[0])
        assert without_records(quads(kg)) == without_records(before)
        again = kg.index([ADA, other], extractor=too_sure())
        assert counts(again) == (0, 0, 1, 1)
        assert list(map(str, again.problems)) == list(map(str, report.problems))


def test_a_source_that_is_again_what_the_graph_holds_leaves_quarantine() -> None:
    other = Source("Cid and Ada met Bea.", BAD.title, BAD.key)
    with opened() as kg:
        kg.index([BAD], extractor=Meetings())
        kg.index([other], extractor=too_sure())
        assert in_quarantine(kg) == [IRI]
        report = kg.index([BAD], extractor=Meetings())
        assert (counts(report), report.problems) == ((0, 0, 1, 0), [])
        assert in_quarantine(kg) == []


# ------------------------------------------------------------------------- What is kept


def test_a_record_holds_the_evidence_the_report_and_where_they_are_from() -> None:
    extractor = Meetings(Mention("D\x00\n\"'\\n é🦀\x85", aliases=("Dan",)))
    with opened() as kg:
        kg.index([BAD], extractor=extractor)
        record, kept = kg.quarantine.show("people/cid.txt")
        assert record == QuarantinedSource(
            IRI, "Cid", "en", record.sha256, record.extraction, record.when, len(kept.violations)
        )
        lines = kept.content.split("\n")[:-1]
        assert lines == sorted(lines)
        evidence = list(ox.parse(kept.content, format=ox.RdfFormat.N_TRIPLES))
        assert (
            evidence_quarantine.validate_evidence(quad.triple for quad in evidence).violations
            == kept.violations
        )
        assert Literal("D\x00\n\"'\\n é🦀\x85", language="en") in {q.object for q in evidence}
        assert len(rdflib.Graph().parse(data=kept.content, format="nt")) == len(evidence)
        report = rdflib.Graph().parse(data=kept.report, format="turtle")
        results = list(report.objects(None, rdflib.SH.result))
        assert len(results) == record.violations > 0


def test_a_record_conforms_to_the_shapes_itself() -> None:
    with opened() as kg:
        kg.index([BAD, ADA], extractor=too_sure())
        data = rdflib.Graph()
        data.parse(data="".join(f"{quad.triple} .\n" for quad in quads(kg)), format="nt")
        shapes = Path(__file__).parents[2] / "ontology" / "shapes.ttl"
        assert (None, None, rdflib.URIRef(SARAG.Quarantine.value)) in data
        conforms, _, text = pyshacl.validate(data, shacl_graph=str(shapes))
        assert conforms, text


def test_no_query_sees_what_is_in_quarantine() -> None:
    with opened() as kg:
        kg.index([BAD, ADA], extractor=too_sure())
        for pattern in ("?x a sarag:Relationship ; sarag:confidence 7.0", f"<{IRI}> ?p ?o"):
            assert kg.query(f"PREFIX sarag: <{SARAG.base}> ASK {{ {pattern} }}") is False


def test_an_imported_graph_cannot_pretend_that_something_is_in_quarantine(tmp_path: Path) -> None:
    with opened(tmp_path / "kg") as kg:
        kg.index([BAD], extractor=too_sure())
        records = [q for q in quads(kg) if "quarantine" in str(q.graph_name)]
    store = ox.Store(str(tmp_path / "kg" / "store"))
    other = NamedNode(MINTER.imported_graph("other"))
    for quad in records:
        wrong = NamedNode("urn:other") if quad.predicate == DCTERMS.source else quad.object
        store.add(Quad(NamedNode("urn:record"), quad.predicate, wrong, other))
    store.flush()
    del store
    with opened(tmp_path / "kg") as kg:
        assert in_quarantine(kg) == [IRI]


# ----------------------------------------------------------------------- Retry and drop


def test_what_conforms_by_now_joins_without_being_extracted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    extractor = Meetings(Mention("D" * 1001))
    with opened(tmp_path / "kg") as kg, opened() as clean:
        kg.index([BAD, ADA], extractor=extractor)
        assert kg.quarantine.retry().rejected == (IRI,)
        with monkeypatch.context() as patch:
            patch.setattr(evidence_quarantine, "read_shapes", lambda *names: parse_shapes())
            retried = kg.quarantine.retry()
            clean.index([BAD, ADA], extractor=extractor)
        assert (retried.admitted, retried.rejected) == ((IRI,), ())
        assert in_quarantine(kg) == []
        assert without_records(quads(kg)) == without_records(quads(clean))
        found = kg.search("Who met Bea?").documents
        assert {document.document.title for document in found} == {"Ada", "Cid"}
        extractor.read.clear()
        assert counts(kg.index([BAD, ADA], extractor=extractor)) == (0, 0, 2, 0)
        assert extractor.read == []


def test_a_retry_replaces_the_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Source("Cid and Ada met Bea.", BAD.title, BAD.key)
    with opened() as kg, opened() as clean:
        kg.index([BAD], extractor=Meetings())
        kg.index([other], extractor=too_sure())
        with monkeypatch.context() as patch:
            patch.setattr(evidence_quarantine, "read_shapes", lambda *names: parse_shapes())
            assert kg.quarantine.retry(["people/cid.txt"]).admitted == (IRI,)
            clean.index([other], extractor=too_sure())
        assert without_records(quads(kg)) == without_records(quads(clean))


def test_a_retry_that_finds_other_faults_keeps_the_new_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened() as kg:
        with monkeypatch.context() as patch:
            patch.setattr(evidence_quarantine, "SHAPES", ("shapes.ttl",))
            kg.index([BAD], extractor=too_sure())
        many = kg.quarantine.sources()[0].violations
        before = quads(kg)
        assert kg.quarantine.retry().rejected == (IRI,)
        assert kg.quarantine.sources()[0].violations == 1 < many
        assert len(kg.quarantine.show(IRI)[1].violations) == 1
        after = quads(kg)
        assert kg.quarantine.retry().rejected == (IRI,)
        assert quads(kg) == after != before


def test_what_is_dropped_is_read_again() -> None:
    with opened() as kg:
        kg.index([BAD, ADA], extractor=too_sure())
        before = quads(kg)
        assert kg.quarantine.drop(["people/cid.txt"]) == (IRI,)
        assert without_records(quads(kg)) == without_records(before)
        assert in_quarantine(kg) == []
        extractor = too_sure()
        assert counts(kg.index([BAD, ADA], extractor=extractor)) == (0, 0, 1, 1)
        assert extractor.read == ["Cid"]
        assert kg.quarantine.drop() == (IRI,)
        assert kg.quarantine.drop() == ()


def test_a_name_that_nothing_has_is_refused() -> None:
    with opened() as kg:
        kg.index([BAD, ADA], extractor=too_sure())
        quarantine = kg.quarantine
        for call in (
            quarantine.show,
            lambda n: quarantine.retry([n]),
            lambda n: quarantine.drop([n]),
        ):
            with pytest.raises(UsageError, match="sarag quarantine list"):
                call("people/ada.txt")
        assert in_quarantine(kg) == [IRI]


def test_a_graph_that_is_not_there_has_no_quarantine_and_is_not_made(tmp_path: Path) -> None:
    with opened(tmp_path / "kg") as kg:
        quarantine = kg.quarantine
        for call in (quarantine.sources, quarantine.retry, quarantine.drop):
            with pytest.raises(NotAGraphError):
                call()
    assert not (tmp_path / "kg").exists()


@pytest.mark.parametrize("part", [SARAG.report, SARAG.content])
@pytest.mark.parametrize("value", [None, "<not RDF"], ids=["missing", "no RDF"])
def test_a_damaged_record_is_told_of_and_can_be_dropped(
    part: NamedNode, value: str | None, tmp_path: Path
) -> None:
    with opened(tmp_path / "kg") as kg:
        kg.index([BAD, ADA], extractor=too_sure())
    store = ox.Store(str(tmp_path / "kg" / "store"))
    [old] = store.quads_for_pattern(None, part, None)
    store.remove(old)
    if value is not None:
        store.add(Quad(old.subject, part, Literal(value), old.graph_name))
    store.flush()
    del store
    with opened(tmp_path / "kg") as kg:
        with pytest.raises(StoreError, match="sarag quarantine drop"):
            kg.quarantine.retry()
        assert kg.quarantine.drop() == (IRI,)
        assert kg.stats()["sources"] == 1


# ------------------------------------------------------------- Whatever an extractor gives


texts = st.text(max_size=12) | st.sampled_from(["", " ", "Bea", "bea", "The Bea", "x" * 1001])
found_mentions = st.lists(
    st.builds(
        Mention,
        texts,
        st.sampled_from(["person", "organization", "geopolitical", "misc", "dragon", ""]),
        st.lists(texts, max_size=2).map(tuple),
        st.lists(texts, max_size=2).map(tuple),
    ),
    max_size=3,
).map(tuple)
found_relations = st.lists(
    st.builds(Relation, texts, texts, texts, texts, st.floats()), max_size=2
).map(tuple)


@given(st.lists(st.builds(Extraction, found_mentions, found_relations), min_size=3, max_size=3))
def test_whatever_an_extractor_gives_the_graph_conforms(found: list[Extraction]) -> None:
    class Anything:
        method = Method("anything", "none")

        def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
            yield from found

    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    sources = [ADA, BAD, Source("Bea met nobody.", "Bea", "bea.txt")]
    report = index_run.run(reader, plan(reader, Request.of(sources), Anything.method), Anything())
    Writer(reader).write_metadata("none")
    assert report.added + len(report.problems) == 3
    assert report.quarantined == len(read_quarantine(reader)) <= len(report.problems)
    assert all(str(problem).isprintable() for problem in report.problems)
    checked = validate_own(reader)
    assert checked.conforms, checked.violations
    again = plan(reader, Request.of(sources), Anything.method)
    assert len(again.todo) == len(report.problems) - report.quarantined
    assert retry(reader, read_quarantine(reader)).admitted == ()


# ---------------------------------------------------------------- What is validated at all


def test_validation_leaves_out_imported_graphs_and_quarantine(tmp_path: Path) -> None:
    with opened(tmp_path / "kg") as kg:
        kg.index([ADA], extractor=Meetings())
    store = OxigraphStore.open(tmp_path / "kg" / "store", writable=True)
    spoiled = (NamedNode("urn:x"), RDF.type, SARAG.Document)
    for graph in (MINTER.imported_graph("other"), MINTER.quarantine_graph("urn:other")):
        store.inner.add(Quad(*spoiled, NamedNode(graph)))
    store.close()
    with opened(tmp_path / "kg") as kg:
        assert kg.validate().conforms
        assert kg.validate("pyshacl").triples == kg.validate().triples
    store = OxigraphStore.open(tmp_path / "kg" / "store", writable=True)
    store.inner.add(Quad(*spoiled, NamedNode(MINTER.links_graph)))
    store.close()
    with opened(tmp_path / "kg") as kg:
        found, cross = kg.validate(), kg.validate("pyshacl")
        assert not found.conforms
        assert found.violations == cross.violations


def test_an_engine_that_does_not_exist_is_refused() -> None:
    with opened() as kg, pytest.raises(UsageError, match="use one of shacl, pyshacl"):
        kg.validate("nothing")  # type: ignore[arg-type]
