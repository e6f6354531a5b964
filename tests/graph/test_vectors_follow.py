"""What is made of a graph follows its changes: as if it had been made afresh, but by less work."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarag_rdf
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import Advance, Matrix, silent
from sarag_rdf.base.types import Document, Extraction, Mention, Relation, Source
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.link_records import EXACT, Match
from sarag_rdf.building.source_evidence import SourceGraph
from sarag_rdf.graph.graph_reader import KINDS, Delta, GraphReader, Journal
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.graph.texts import is_disjoint_from_imports
from sarag_rdf.graph.vectors.graph_vectors import GraphVectors
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore
from sarag_rdf.retrieval.network import EDGE_KINDS, Iris, arrays_of
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.graphs import METHOD, MINTER, WORDS

QUESTIONS = HashEmbedder().embed(["amber lake", "Jade of the meadow"])


def graph(store: OxigraphStore) -> GraphReader:
    """The graph for one run that writes."""
    reader = GraphReader(store, MINTER, journal=Journal())
    Writer(reader).write_metadata("hash")
    return reader


def source_of(number: int) -> str:
    return MINTER.source(f"{number}.txt", "", "")


def write(reader: GraphReader, seeds: dict[int, int], drop: Sequence[int] = ()) -> None:
    """Put sources by number, made of a seed each, and drop others, in one commit."""
    quads = []
    for number, seed in seeds.items():
        chance = random.Random(seed)
        names = [word.title() for word in chance.sample(WORDS[:6], 3)]
        alias = (chance.choice(WORDS[:6]),) if seed % 3 == 0 else ()
        found = Extraction(
            tuple(Mention(n, aliases=alias, descriptions=(f"{n} {seed}",)) for n in names),
            tuple(Relation(a, chance.choice(WORDS), b) for a, b in pairwise(names)),
        )
        text, title = f"{' '.join(names)} {seed % 4}", names[seed % 3] if seed % 2 else ""
        iri = MINTER.document(source_of(number), 0, len(text), text)
        document = Document(iri, source_of(number), title, text, 0, len(text))
        quads += SourceGraph(
            MINTER, Source(text, title), source_of(number), METHOD, [(document, found)]
        ).quads
    dropped = [MINTER.source_graph(source_of(number)) for number in (*seeds, *drop)]
    Writer(reader).commit(dropped, quads, [source_of(number) for number in seeds])


def delta_of(reader: GraphReader) -> Delta | None:
    meta = read_meta(reader.store)
    assert meta is not None
    assert reader.journal is not None
    return reader.journal.delta(meta.revision)


def made(reader: GraphReader, folder: Path | None) -> GraphVectors:
    """All that is made of a graph as it is; in a folder what is there follows."""
    meta = read_meta(reader.store)
    assert meta is not None
    store = VectorStore() if folder is None else FolderVectors(folder)
    delta = None if folder is None else delta_of(reader)
    vectors = GraphVectors(reader, HashEmbedder(), store, meta.revision, delta)
    for kind in KINDS:
        vectors.index(kind)
    vectors.words()
    return vectors


@contextmanager
def nothing_is_read_whole() -> Iterator[None]:
    with (
        patch("sarag_rdf.graph.vectors.graph_vectors.texts_of", side_effect=AssertionError),
        patch("sarag_rdf.retrieval.view.network_arrays", side_effect=AssertionError),
        patch("sarag_rdf.retrieval.view.name_arrays", side_effect=AssertionError),
    ):
        yield


def network(reader: GraphReader, vectors: GraphVectors) -> dict[str, list[Any]]:
    """The arrays of the network and of names, the lists, and the texts that are kept."""
    view = GraphView(reader, vectors)
    made = view.network
    lists = {name: list(getattr(made.iris, name)) for name in Iris.__slots__}
    edges = {kind: made.edges(kind) for kind in EDGE_KINDS}
    lists["labels"] = sorted(view.labels(lists["entities"]).items())
    lists["statements"] = sorted(view.statements(lists["relationships"]).items())
    lists["pages"] = sorted(map(astuple, view.documents(lists["documents"]).values()))
    arrays = {f"names {name}": array for name, array in view.name_index.arrays.items()}
    arrays |= arrays_of(made.iris, edges)
    return lists | {name: array.tolist() for name, array in arrays.items()}


def same(found: GraphVectors, fresh: GraphVectors) -> None:
    for kind in KINDS:
        one, other = found.index(kind), fresh.index(kind)
        assert list(one.iris) == list(other.iris), kind
        for question in QUESTIONS:
            assert one.nearest(question, 5) == other.nearest(question, 5)
            assert one.moments(question) == other.moments(question)
            assert one.quantile(question, 0.9) == other.quantile(question, 0.9)
        rows = np.arange(len(other))
        np.testing.assert_array_equal(one.vectors(rows), other.vectors(rows))
    words, others = found.words().arrays(), fresh.words().arrays()
    assert words.keys() == others.keys()
    for name, values in others.items():
        np.testing.assert_array_equal(words[name], values, name)


commits = st.tuples(
    st.dictionaries(st.integers(0, 7), st.integers(0, 30), max_size=4),
    st.sets(st.integers(0, 7), max_size=4),
)
runs = st.lists(st.lists(commits, min_size=1, max_size=3), min_size=1, max_size=4)


@pytest.mark.history
@settings(max_examples=20)
@given(runs)
def test_any_history_of_runs_ends_as_one_made_afresh(
    history: list[list[tuple[dict[int, int], set[int]]]],
) -> None:
    store = OxigraphStore.in_memory()
    with tempfile.TemporaryDirectory() as folder:
        reader = graph(store)
        write(reader, {0: 1, 1: 2, 2: 3})
        network(reader, made(reader, Path(folder)))
        for run in history:
            reader = graph(store)
            for seeds, drop in run:
                write(reader, seeds, sorted(drop - seeds.keys()))
            with nothing_is_read_whole():
                found = made(reader, Path(folder))
                followed = network(reader, found)
            fresh = made(reader, None)
            same(found, fresh)
            assert followed == network(reader, fresh)
            same(made(GraphReader(store, MINTER, journal=Journal()), Path(folder)), found)


class CountingEmbedder(HashEmbedder):
    """Remembers what it was asked."""

    batch_size = 512

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return super().embed(texts)


def test_a_change_is_told_by_what_it_touches() -> None:
    store = OxigraphStore.in_memory()
    reader = graph(store)
    write(reader, {0: 1, 1: 2})
    assert delta_of(reader) is None  # There was no revision before the first.
    reader = graph(store)
    write(reader, {0: 1})
    delta = delta_of(reader)
    assert delta is not None
    assert {kind: len(iris) for kind, iris in delta.touched.items()} == {
        "description": 3, "relationship": 2, "document": 1, "entity": 0,
    }  # fmt: skip
    assert {iri for iri in delta.derived if "/entity/" not in iri} == set()
    assert not delta.is_empty
    reader = graph(store)
    Writer(reader).release([MINTER.quarantine_graph("x")])
    delta = delta_of(reader)
    assert delta is not None
    assert delta.is_empty
    reader = graph(store)
    write(reader, {}, [0])
    delta = delta_of(reader)
    assert delta is not None
    assert delta.touched["entity"]
    assert delta.touched["entity"] <= delta.derived


def test_what_is_not_in_the_journal_makes_it_useless() -> None:
    store = OxigraphStore.in_memory()
    write(graph(store), {0: 1})
    reader, other = graph(store), graph(store)
    write(reader, {1: 1})
    write(other, {2: 2})
    assert delta_of(reader) is None
    write(reader, {3: 3})
    assert delta_of(reader) is None
    with patch("sarag_rdf.graph.graph_reader.MAX_TOUCHED", 3):
        reader = graph(store)
        write(reader, {4: 4})
        assert delta_of(reader) is None


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in {
        "ulm.txt": "Ulm lies on the Danube. Albert Einstein was born in Ulm.",
        "bern.txt": "Bern lies on the Aare. Albert Einstein worked in Bern.",
    }.items():
        (folder / name).write_text(text)
    return folder


def test_a_run_embeds_and_reads_what_changed(documents: Path, tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    with sarag_rdf.open(tmp_path / "kg", embedder=embedder, endpoint=None) as kg:
        kg.index(documents)
        assert len(embedder.texts) > 5
        embedder.texts.clear()
        (documents / "ulm.txt").write_text("Ulm lies on the Danube. It has a minster.")
        with nothing_is_read_whole():
            kg.index(documents)
            found = [d.document.text for d in kg.search("minster", retriever="bm25").documents]
        assert found == ["Ulm lies on the Danube. It has a minster."]
        assert not any("Bern" in text for text in embedder.texts)
        assert any("minster" in text for text in embedder.texts)


def test_a_kind_is_embedded_when_a_retriever_needs_it_and_follows_from_then_on(
    documents: Path, tmp_path: Path
) -> None:
    embedder, shown = CountingEmbedder(), list[tuple[str, int]]()

    def progress(what: str, total: int) -> Advance:
        shown.append((what, total))
        return silent(what, total)

    folder = tmp_path / "kg" / "cache" / "vectors"
    with sarag_rdf.open(tmp_path / "kg", embedder=embedder, endpoint=None, progress=progress) as kg:
        kg.index(documents)
        assert sorted(kind for kind in KINDS if (folder / f"{kind}.arrays").exists()) == [
            "document",
            "relationship",
        ]
        kg.search("Where was Albert Einstein born?")
        assert shown == []
        embedder.texts.clear()
        kg.search("Where was Albert Einstein born?", retriever="khop")
        [(what, total)] = shown
        assert what == "embedding description texts"
        assert len(set(embedder.texts)) <= total
        embedder.texts.clear()
        kg.search("Where was Albert Einstein born?", retriever="khop")
        (documents / "ulm.txt").write_text("Ulm lies on the Danube. It has a minster.")
        with nothing_is_read_whole():
            kg.index(documents)
            assert any("Ulm" in text for text in embedder.texts)
            embedder.texts.clear()
            kg.search("Where was Albert Einstein born?", retriever="khop")
        assert embedder.texts == []
        assert len(shown) == 1


def test_vectors_that_are_interrupted_go_on_where_they_stopped(
    documents: Path, tmp_path: Path
) -> None:
    """Each search embeds two texts and is interrupted, until all are embedded."""
    embedder = CountingEmbedder()
    embedder.batch_size = 2

    def progress(what: str, total: int) -> Advance:
        def advance(count: int) -> None:
            if len(embedder.texts) > 2:
                raise KeyboardInterrupt

        return advance

    texts: list[str] = []
    with sarag_rdf.open(
        tmp_path / "kg", embedder=embedder, endpoint=None, keep_vectors=False, progress=progress
    ) as kg:
        (documents.parent / "ulm.ttl").write_text(
            "".join(
                f'<https://example.org/{n}> <http://www.w3.org/2000/01/rdf-schema#label> "N {n}" .'
                for n in range(5)
            )
        )
        kg.import_graph(documents.parent / "ulm.ttl", "rdf", embed=False)
        for number in range(3):
            embedder.texts.clear()
            question = f"Which is the number {number}?"
            if number < 2:
                with pytest.raises(KeyboardInterrupt):
                    kg.search(question, retriever="dense")
            else:
                assert len(kg.search(question, retriever="dense").documents) == 5
            assert embedder.texts.pop(0) == question
            texts += embedder.texts
        assert sorted(texts) == ["N 0", "N 1", "N 2", "N 3", "N 4"]


def test_beside_an_import_and_through_links_vectors_follow(documents: Path, tmp_path: Path) -> None:
    label = '<http://www.w3.org/2004/02/skos/core#prefLabel> "Ulm"@en'
    (tmp_path / "towns.ttl").write_text(f"<https://example.org/towns/ulm> {label} .")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(documents)
        kg.import_graph(tmp_path / "towns.ttl", "skos")
        assert len(kg.search("Ulm", retriever="bm25").documents) == 2
        link = Match(MINTER.entity("ulm"), EXACT, "https://example.org/towns/ulm")
        with nothing_is_read_whole():
            kg.links.accept([link])
            kg.search("Ulm")
            kg.say(title="Towns")
            kg.search("Ulm")
            (documents / "bern.txt").write_text("Bern lies on the Aare.")
            kg.index(documents)
            kg.search("Ulm")
            kg.links.undo(None)
            kg.search("Ulm")


def test_nodes_that_an_import_speaks_of_are_read_with_it(tmp_path: Path) -> None:
    entity = MINTER.entity("ulm")
    label = '<http://www.w3.org/2000/01/rdf-schema#label> "Ulm on the Danube"@en'
    (tmp_path / "towns.nt").write_text(f"<{entity}> {label} .\n")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([sarag_rdf.Source("Ulm lies on the Danube.")])
        kg.import_graph(tmp_path / "towns.nt", "rdf", name="towns")
        with kg.session.read() as snapshot:
            reader = snapshot.searched
        empty = {kind: frozenset[str]() for kind in KINDS}
        assert is_disjoint_from_imports(reader, Delta("1", "2", empty))
        assert not is_disjoint_from_imports(
            reader, Delta("1", "2", empty | {"entity": frozenset([entity])})
        )
        other = MINTER.entity("danube")
        assert is_disjoint_from_imports(
            reader, Delta("1", "2", empty | {"entity": frozenset([other])})
        )


def test_other_arrays_follow_too(tmp_path: Path) -> None:
    """What concerns no document is kept as it is; what cannot tell is made anew."""
    store = FolderVectors(tmp_path)
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    touched = {kind: frozenset[str]() for kind in KINDS}
    one, two = np.array([1]), np.array([2])
    before = GraphVectors(reader, HashEmbedder(), store, "1")
    for name in "abcd":
        before.cached_arrays(name, lambda: {"x": one})
    delta = Delta("1", "2", touched | {"entity": frozenset([sha256_hex("x")])})
    after = GraphVectors(reader, HashEmbedder(), store, "2", delta)

    def not_made() -> dict[str, np.ndarray]:
        raise AssertionError

    assert after.cached_arrays("a", lambda: {"x": two})["x"] == two
    assert after.cached_arrays("b", not_made, lambda old, _: old)["x"] == one
    assert after.cached_arrays("c", not_made, lambda old, _: {"x": old["x"] + 4})["x"] == 5
    assert after.cached_arrays("d", lambda: {"x": two}, lambda *_: None)["x"] == two
    again = GraphVectors(reader, HashEmbedder(), FolderVectors(tmp_path), "2")
    assert [int(again.cached_arrays(name, not_made)["x"][0]) for name in "abcd"] == [2, 1, 5, 2]
    nothing = GraphVectors(reader, HashEmbedder(), store, "3", Delta("2", "3", touched))
    assert nothing.cached_arrays("c", not_made, lambda *_: None)["x"] == 5
