"""Indexing: in once, wholly or not at all, and the same whatever happened on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, Quad

import sarag_rdf
from sarag_rdf.base.errors import EndpointDownError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Advance
from sarag_rdf.base.types import Document, Extraction, Source
from sarag_rdf.base.vocab import PROV, RDF, SARAG, XSD
from sarag_rdf.building import index_run, source_evidence
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.building.index_run import IndexReport
from sarag_rdf.building.plan import Plan, Request, compared
from sarag_rdf.documents.format import Duplicate, InputProblem
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.texts import full_documents
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import CapitalExtractor

MINTER = Minter()
SOURCES = (
    Source("Ada met Bea in Oslo. Bea knows Cid.\nThen Cid left Oslo for Rome.", "One", "1.txt"),
    Source("Rome lies on the Tiber. Cid swam in the Tiber.", "Two", "2.txt"),
    Source("Dan wrote to Ada.", "", "3.txt"),
    Source("Eve heard of Dan 🦀 from Bea, who lives in Oslo.", "Four", "sub/4.txt"),
)
CHUNKS = 9
"""Windows of 6 words that share 2 cut the sources into 3, 2, 1 and 3 documents."""

Input = Source | InputProblem | Duplicate


class Stopping(CapitalExtractor):
    """Extracts, but raises an error instead of its result number `at`."""

    def __init__(self, at: int, error: BaseException) -> None:
        self._at = at
        self._error = error

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for number, result in enumerate(super().extract(documents)):
            if number == self._at:
                raise self._error
            yield result


class Failing(CapitalExtractor):
    """Extracts, but not from documents in which a word occurs."""

    def __init__(self, word: str) -> None:
        self._word = word

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            found = next(super().extract([document]))
            yield ValueError(f"cannot read {self._word}") if self._word in document.text else found


def empty() -> GraphReader:
    return GraphReader(OxigraphStore.in_memory(), MINTER)


def planned(reader: GraphReader, inputs: Iterable[Input], words: int = 6, overlap: int = 2) -> Plan:
    request = Request.of((), words=words, overlap=overlap)
    return compared(reader, inputs, request, CapitalExtractor.method)


def index(
    reader: GraphReader, inputs: Iterable[Input], extractor: CapitalExtractor | None = None
) -> IndexReport:
    return index_run.run(reader, planned(reader, inputs), extractor or CapitalExtractor())


def indexed(inputs: Iterable[Input] = SOURCES) -> GraphReader:
    reader = empty()
    index(reader, inputs)
    return reader


def lasting(reader: GraphReader) -> set[Quad]:
    """All quads but those that tell of runs and of the graph's revision."""
    passing = {MINTER.runs_graph, MINTER.meta_graph}
    return {q for q in reader.store.quads() if str(q.graph_name)[1:-1] not in passing}


def runs(reader: GraphReader) -> set[str]:
    quads = reader.store.quads(MINTER.runs_graph)
    return {str(q.subject) for q in quads if (q.predicate, q.object) == (RDF.type, SARAG.Run)}


def sources_in(reader: GraphReader) -> set[str]:
    """Keys of the sources that are indexed."""
    return {
        row[0].value.partition("/source/")[2] for row in reader.select_provenance("source-states")
    }


# ---------------------------------------------------------------------------- In once


def test_everything_goes_in() -> None:
    reader = empty()
    report = index(reader, SOURCES)
    assert (report.added, report.updated, report.unchanged, report.duplicates) == (4, 0, 0, 0)
    assert (report.documents, report.problems) == (CHUNKS, [])
    assert sources_in(reader) == {"1.txt", "2.txt", "3.txt", "sub/4.txt"}
    counts = {str(quad.predicate): 0 for quad in lasting(reader)}
    assert f"<{SARAG.relatedTo.value}>" in counts
    relationships = [q for q in lasting(reader) if q.predicate == SARAG.subjectMention]
    assert len(relationships) == report.relationships
    assert report.mentions > 10


def test_indexing_twice_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "kg"

    def once() -> tuple[set[str], str]:
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
            report = kg.index(SOURCES, extractor=CapitalExtractor(), words=6, overlap=2)
            reports.append(report)
            revision = kg.meta().revision
        store = OxigraphStore.open(folder / "store")
        return set(map(str, store.quads())), revision

    reports: list[IndexReport] = []
    first, second = once(), once()
    assert second == first
    assert (reports[0].added, reports[0].unchanged) == (4, 0)
    assert (reports[1].added, reports[1].updated, reports[1].unchanged) == (0, 0, 4)
    assert reports[1].documents == 0


def test_a_write_changes_the_revision_and_is_a_run() -> None:
    reader = empty()
    revisions = []
    for count in (2, 2, 4):
        Writer(reader).write_metadata("some model")
        index(reader, SOURCES[:count])
        meta = read_meta(reader.store)
        assert meta is not None
        assert (meta.base, meta.embedding_model) == (MINTER.base, "some model")
        revisions.append(meta.revision)
    assert revisions[0] == revisions[1] != revisions[2]
    assert len(runs(reader)) == 2
    quads = list(reader.store.quads(MINTER.runs_graph))
    for property_, count in {PROV.startedAtTime: 2, PROV.endedAtTime: 2, PROV.used: 4}.items():
        assert len([q for q in quads if q.predicate == property_]) == count


def test_a_plan_writes_nothing() -> None:
    reader = indexed(SOURCES[:2])
    before = set(reader.store.quads())
    made = planned(reader, SOURCES)
    assert [p.source for p in made.todo] == list(SOURCES[2:])
    assert (made.unchanged, made.duplicates) == (2, 0)
    assert len(made.documents) == 4
    assert set(reader.store.quads()) == before


def test_duplicates_and_what_could_not_be_read_are_counted() -> None:
    reader = empty()
    problem = InputProblem("5.pdf", "is encrypted: save it without a password")
    inputs: list[Input] = [*SOURCES, SOURCES[0], Duplicate("1.txt"), problem]
    report = index(reader, inputs)
    assert (report.added, report.duplicates, report.problems) == (4, 2, [problem])
    assert lasting(reader) == lasting(indexed())


def test_a_key_of_two_different_sources_is_a_problem_and_the_first_is_taken() -> None:
    reader = empty()
    other = Source("Finn met Gil.", "", "3.txt")
    for added in (1, 0):
        report = index(reader, [SOURCES[2], other, SOURCES[2]])
        assert (report.added, report.updated, report.unchanged) == (added, 0, 1 - added)
        assert (report.duplicates, len(report.problems)) == (1, 1)
        assert "3.txt: is the key of two different sources" in str(report.problems[0])
    assert lasting(reader) == lasting(indexed(SOURCES[2:3]))


def test_progress_counts_every_document() -> None:
    reader = empty()
    told: list[tuple[str, int]] = []
    done: list[int] = []

    def progress(what: str, total: int) -> Advance:
        told.append((what, total))
        return done.append

    index_run.run(reader, planned(reader, SOURCES), CapitalExtractor(), progress=progress)
    assert told == [("indexing documents", CHUNKS)]
    assert sum(done) == CHUNKS


# ----------------------------------------------------------------------- Order and rest


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_in_any_order_the_graphs_are_the_same(order: tuple[int, ...]) -> None:
    inputs = [SOURCES[i] for i in order]
    one_by_one = empty()
    for source in inputs:
        index(one_by_one, [source])
    assert lasting(indexed(inputs)) == lasting(one_by_one) == lasting(indexed())


def test_offsets_reproduce_the_chunks() -> None:
    reader = indexed()
    texts = {MINTER.source(s.key, s.title, s.text): s for s in SOURCES}
    iris = [row[0].value for row in reader.rows("document-texts")]
    documents = full_documents(reader, iris).values()
    assert len(documents) == CHUNKS
    for document in documents:
        source = texts[document.source_iri]
        assert source.text[document.begin : document.end] == document.text
        assert (document.title, document.language) == (source.title, "en")
        assert len(document.text.split()) <= 6
    assert {d.source_iri for d in documents} == texts.keys()


def test_no_blank_nodes_no_default_graph_and_times_only_of_runs() -> None:
    reader = indexed()
    for quad in reader.store.quads():
        assert not isinstance(quad.graph_name, DefaultGraph)
        assert not any(isinstance(term, BlankNode) for term in quad.triple)
    timed = {
        str(quad.graph_name)[1:-1]
        for quad in reader.store.quads()
        if isinstance(quad.object, Literal) and quad.object.datatype == XSD.dateTime
    }
    assert timed == {MINTER.runs_graph}
    graphs = {str(quad.graph_name)[1:-1] for quad in lasting(reader)}
    assert graphs == {MINTER.kg_graph} | {
        MINTER.source_graph(MINTER.source(s.key, s.title, s.text)) for s in SOURCES
    }


# ------------------------------------------------------------------------------ Changes


def test_a_changed_text_replaces_what_was_there() -> None:
    reader = indexed()
    changed = Source("Finn met Ada. Finn never was in Oslo.", "One", "1.txt")
    report = index(reader, [changed, *SOURCES[1:]])
    assert (report.added, report.updated, report.unchanged) == (0, 1, 3)
    assert lasting(reader) == lasting(indexed([changed, *SOURCES[1:]]))
    names = {q.object.value for q in lasting(reader) if q.predicate == SARAG.normalizedName}  # type: ignore[union-attr]
    assert {"finn", "ada"} <= names


@pytest.mark.parametrize(
    "changed",
    [
        Source(SOURCES[2].text, "A title", "3.txt"),
        Source(SOURCES[2].text, "", "3.txt", language="de"),
    ],
)
def test_a_changed_title_or_language_counts_as_a_change(changed: Source) -> None:
    reader = indexed()
    report = index(reader, [*SOURCES[:2], changed, SOURCES[3]])
    assert (report.updated, report.unchanged) == (1, 3)
    assert lasting(reader) == lasting(indexed([*SOURCES[:2], changed, SOURCES[3]]))


def test_another_chunk_size_indexes_anew() -> None:
    reader = indexed()
    made = planned(reader, SOURCES, words=9, overlap=3)
    assert all(source.known for source in made.todo)
    report = index_run.run(reader, made, CapitalExtractor())
    assert (report.added, report.updated, report.unchanged) == (0, 4, 0)
    fresh = empty()
    index_run.run(fresh, planned(fresh, SOURCES, words=9, overlap=3), CapitalExtractor())
    assert lasting(reader) == lasting(fresh)
    assert lasting(reader) != lasting(indexed())


def test_what_other_rules_made_evidence_of_is_extracted_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as older:
        older.setattr(source_evidence, "EVIDENCE_RULES", "1")
        reader = indexed()
        assert index(reader, SOURCES).unchanged == 4
    report = index(reader, SOURCES)
    assert (report.added, report.updated, report.unchanged) == (0, 4, 0)
    assert lasting(reader) == lasting(indexed())
    told = {q.object for q in reader.store.quads() if q.predicate == SARAG.settings}
    assert told == {Literal(f"evidence={source_evidence.EVIDENCE_RULES}; overlap=2; words=6")}
    assert index(reader, SOURCES).unchanged == 4


def test_a_source_without_words_is_in_and_stays_in() -> None:
    reader = empty()
    assert index(reader, [Source(" \n", "", "blank.txt")]).added == 1
    assert index(reader, [Source(" \n", "", "blank.txt")]).unchanged == 1


# ----------------------------------------------------------------------------- Languages


@pytest.mark.parametrize("language", ["", "en_US", "no language!", "en-u", "a-b"])
def test_a_source_in_no_language_is_a_problem_and_the_rest_goes_in(language: str) -> None:
    bad = Source("Ada met Bea.", "", "bad.txt", language=language)
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index([bad, SOURCES[2]], extractor=CapitalExtractor())
    assert report.added == 1
    assert [str(problem) for problem in report.problems] == [
        f"bad.txt: '{language}' is not a language: give a BCP 47 tag such as en or pt-BR"
    ]


@pytest.mark.parametrize("declared", ["en-u", "de-1994-1994-x", "i-ab", "x"])
def test_a_page_that_declares_no_language_of_rdf_is_read_all_the_same(
    tmp_path: Path, declared: str
) -> None:
    page = f"<html lang='{declared}'><body><p>Ada met Bea in Oslo.</p></body></html>"
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(tmp_path, extractor=CapitalExtractor())
        assert (report.added, report.problems) == (1, [])
        assert kg.search("Who met Bea?").documents[0].document.language == "en"


# ------------------------------------------------------------------------- Interruptions

STOPS: list[BaseException] = [KeyboardInterrupt(), EndpointDownError("refused")]


@pytest.mark.parametrize("error", STOPS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("batch", [1, 3, 256])
@pytest.mark.parametrize("at", range(CHUNKS))
def test_a_run_goes_on_where_another_was_interrupted(
    at: int, batch: int, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_run, "COMMIT_DOCUMENTS", batch)
    reader = empty()
    with pytest.raises(type(error)):
        index(reader, SOURCES, Stopping(at, error))
    # What was extracted wholly, 3, 2, 1 and 3 documents, is in, and nothing in part.
    whole = [3, 5, 6, 9]
    count = sum(documents <= at for documents in whole)
    assert lasting(reader) == lasting(indexed(SOURCES[:count]))
    assert len(runs(reader)) == (count > 0)

    report = index(reader, SOURCES)
    assert (report.added, report.unchanged) == (4 - count, count)
    assert lasting(reader) == lasting(indexed())


def test_an_interrupted_update_leaves_the_old_version() -> None:
    reader = indexed()
    changed = [Source(s.text + " Gil too.", s.title, s.key) for s in SOURCES]
    with pytest.raises(KeyboardInterrupt):
        index(reader, changed, Stopping(5, KeyboardInterrupt()))
    assert lasting(reader) == lasting(indexed([changed[0], *SOURCES[1:]]))
    assert index(reader, changed).updated == 3
    assert lasting(reader) == lasting(indexed(changed))


def test_a_document_that_fails_is_a_problem_and_the_rest_goes_in() -> None:
    reader = empty()
    report = index(reader, SOURCES, Failing("Tiber"))
    assert [str(problem) for problem in report.problems] == ["2.txt: cannot read Tiber"]
    assert (report.added, report.documents) == (3, CHUNKS - 2)
    assert lasting(reader) == lasting(indexed([SOURCES[0], *SOURCES[2:]]))
    assert index(reader, SOURCES).added == 1
    assert lasting(reader) == lasting(indexed())


def test_a_changed_source_that_fails_keeps_its_old_version() -> None:
    reader = indexed()
    before = lasting(reader)
    report = index(reader, [Source("Hal is new here.", "", "3.txt")], Failing("Hal"))
    assert (report.updated, len(report.problems)) == (0, 1)
    assert lasting(reader) == before


def test_what_is_kept_equals_what_is_built_anew() -> None:
    reader = indexed()
    index(reader, [Source("Ada is gone.", "One", "1.txt")])
    kept = set(reader.store.quads(MINTER.kg_graph))
    assert kept == set(rebuild(reader).insert)
    assert len(kept) > 20
