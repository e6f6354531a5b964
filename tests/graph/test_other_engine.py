"""Vectors in an engine elsewhere give what vectors here give: with Qdrant, in its local mode."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient

import sarag_rdf
from examples.qdrant_vectors import Qdrant, in_qdrant
from sarag_rdf.base.errors import VectorStoreError
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.graph.graph_reader import KINDS
from sarag_rdf.graph.vectors import search_indexes
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.vectors import ChooseVectors
from sarag_rdf.plugins.vector_engine import EngineVectors
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.graph.test_vector_updates import Angles, changes, matrix, names, same, unit
from tests.sample_graph import SOURCES, CapitalExtractor
from tests.strategies import RETRIEVERS

pytestmark = pytest.mark.interop
CORPUS = ROOT / "examples" / "corpus"
CHANGED = ("marie-curie", "vistula", "warsaw", "ulm")
QUESTIONS = (
    "Near which city was the doctoral supervisor of Ludwig Boltzmann born?",
    "Which rivers flow through Ulm and Tulcea?",
)
BETWEEN = ("sarag", "dotrag", "paths")
"""Retrievers that are asked after each change: together they read the vectors of every kind."""


@pytest.fixture(params=["memory", "folder"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[QdrantClient]:
    """Qdrant in this process, kept nowhere or in files."""
    in_memory = request.param == "memory"
    made = QdrantClient(":memory:") if in_memory else QdrantClient(path=str(tmp_path / "qdrant"))
    yield made
    made.close()


def opened(folder: Path | None, vectors: ChooseVectors | None = None) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, vectors=vectors)


def copied(folder: Path) -> Path:
    """Every fifth document of the corpus, and those that the test changes."""
    folder.mkdir()
    every = sorted(CORPUS.glob("*.md"))
    for path in {*every[::5], *(CORPUS / f"{name}.md" for name in CHANGED)}:
        shutil.copy(path, folder)
    return folder


Found = dict[tuple[str, str], tuple[list[str], list[float]]]


def searched(kg: KnowledgeGraph, retrievers: Iterable[str] = RETRIEVERS) -> Found:
    """The documents and relationships that every retriever finds, and their scores."""
    found = {}
    for retriever in retrievers:
        for question in QUESTIONS:
            outcome = kg.search(question, retriever=retriever)
            scored = [(one.document.iri, one.score) for one in outcome.documents]
            scored += [(one.relationship, one.similarity) for one in outcome.relationships]
            iris, scores = [iri for iri, _ in scored], [score for _, score in scored]
            found[retriever, question] = iris, scores
    return found


def alike(one: Found, other: Found) -> None:
    assert one.keys() == other.keys()
    assert any(iris for iris, _ in one.values())
    for asked, (iris, scores) in one.items():
        assert other[asked][0] == iris, asked
        np.testing.assert_allclose(other[asked][1], scores, atol=1e-5, rtol=0, err_msg=str(asked))


def test_a_graph_with_other_vectors_is_searched_alike(client: QdrantClient, tmp_path: Path) -> None:
    """After it was indexed, updated, added to, synchronised and deleted from."""
    files = copied(tmp_path / "files")
    late = files / "vistula.md"
    late.rename(tmp_path / "vistula.md")
    graphs = [opened(tmp_path / "here"), opened(tmp_path / "there", in_qdrant(client, "g"))]
    steps: list[Callable[[KnowledgeGraph], object]] = [
        lambda kg: kg.index(files, root=files, extractor=CapitalExtractor()),
        lambda kg: kg.update(files, root=files, extractor=CapitalExtractor()),
        lambda kg: kg.index(files, root=files, extractor=CapitalExtractor()),
        lambda kg: kg.delete(["warsaw.md", "ulm.md"]),
        lambda kg: kg.say(title="Physicists"),
        lambda kg: kg.sync(files, root=files, yes=True, extractor=CapitalExtractor()),
    ]
    collections = set[str]()
    for number, step in enumerate(steps):
        if number == 1:
            (files / "marie-curie.md").write_text("# Marie Curie\n\nShe taught Copernicus in Ulm.")
        if number == 2:
            (tmp_path / "vistula.md").rename(late)
        for kg in graphs:
            step(kg)
        asked = RETRIEVERS if step is steps[-1] else BETWEEN
        here, there = (searched(kg, asked) for kg in graphs)
        assert {retriever for (retriever, _), (iris, _) in here.items() if iris} == {*asked}
        alike(here, there)
        names_ = set(Qdrant(client).collections())
        assert names_ == (collections or names_), "changed in place"
        collections = names_
        assert graphs[1].fsck().in_order
    assert {name.rpartition("-")[0] for name in collections} == {f"g-documents-{k}" for k in KINDS}
    counts = {name.split("-")[2]: client.count(name).count for name in collections}
    assert counts["document"] == graphs[0].stats()["documents"]
    folder = tmp_path / "there" / "cache" / "vectors"
    assert list(folder.glob("*.arrays"))
    assert not list(folder.glob("*.f32")), "no vectors are kept here"
    for kg in graphs:
        kg.close()


def test_a_graph_in_memory(client: QdrantClient) -> None:
    with opened(None) as here, opened(None, in_qdrant(client, "g")) as there:
        for kg in (here, there):
            kg.index(SOURCES[:2], extractor=CapitalExtractor())
        alike(searched(here), searched(there))
        for kg in (here, there):
            kg.index(SOURCES, extractor=CapitalExtractor())
        alike(searched(here), searched(there))
    assert len(Qdrant(client).collections()) == len(KINDS)


def test_every_choice_of_parts_has_a_name_that_stays(tmp_path: Path) -> None:
    asked: list[str] = []

    def choose(scope: str, here: VectorStore) -> VectorStore:
        asked.append(scope)
        return here

    with opened(tmp_path / "kg", choose) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        kg.search("Ulm")
        assert set(asked) == {"documents"}
        asked.clear()
        kg.import_graph(ROOT / "examples" / "places.ttl", "skos", name="places")
        kg.search("Ulm")
        [scope] = set(asked)
    assert scope.isalnum()
    assert len(scope) == 16
    asked.clear()
    with opened(tmp_path / "kg", choose) as kg:
        kg.search("Ulm")
    assert set(asked) == {scope}


def test_collections_that_are_lost_are_made_anew(client: QdrantClient, tmp_path: Path) -> None:
    with opened(tmp_path / "kg", in_qdrant(client, "g")) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        whole, engine = searched(kg), Qdrant(client)
        before = engine.collections()
        for name in before:
            engine.drop(name)
        with pytest.raises(VectorStoreError, match=r"^Qdrant: .*: see that it runs"):
            kg.search("Ulm")
        kg.reload()
        assert not kg.fsck().in_order
        alike(whole, searched(kg))
        assert kg.fsck().in_order
        assert len(engine.collections()) == len(before)
        assert not set(engine.collections()) & set(before)
        for name in engine.collections():
            engine.drop(name)
        assert not kg.fsck().in_order
        kg.fsck(repair=True)
        assert kg.fsck().in_order
        alike(whole, searched(kg))


def test_points_that_are_lost_are_noticed(client: QdrantClient, tmp_path: Path) -> None:
    with opened(tmp_path / "kg", in_qdrant(client, "g")) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        whole, engine = searched(kg), Qdrant(client)
        [documents] = [name for name in engine.collections() if "-document-" in name]
        engine.delete(documents, [kg.search("Ulm").documents[0].document.iri])
        with pytest.raises(VectorStoreError, match="open the graph again"):
            searched(kg)
        kg.reload()
        alike(whole, searched(kg))


def test_an_older_copy_of_a_graph_does_not_take_newer_vectors(
    client: QdrantClient, tmp_path: Path
) -> None:
    vectors = in_qdrant(client, "g")
    with opened(tmp_path / "kg", vectors) as kg:
        kg.index(SOURCES[:2], extractor=CapitalExtractor())
        old = searched(kg)
        shutil.copytree(tmp_path / "kg", tmp_path / "copy")
        kg.index(SOURCES, extractor=CapitalExtractor())
        new = searched(kg)
        with opened(tmp_path / "copy", vectors) as copy:
            alike(old, searched(copy))
        kg.reload()
        alike(new, searched(kg))


def test_the_store_here_and_the_engine_take_turns(
    client: QdrantClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = []
    for number, vectors in enumerate((in_qdrant(client, "g"), None) * 2):
        with opened(tmp_path / "kg", vectors) as kg:
            kg.index(SOURCES[: 2 + number // 2], extractor=CapitalExtractor())
            found.append(searched(kg))
    alike(found[0], found[1])
    alike(found[2], found[3])
    assert not caplog.records


def test_an_engine_that_is_down_is_told_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path / "kg", in_qdrant(QdrantClient(":memory:"), "g")) as kg:
        kg.index(SOURCES[:2], extractor=CapitalExtractor())
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = QdrantClient(f"http://127.0.0.1:{port}", check_compatibility=False)
        with opened(tmp_path / "kg", in_qdrant(client, "g")) as kg:
            fails: list[Callable[[], object]] = [
                lambda: kg.search("Ulm"),
                lambda: kg.fsck(),
                lambda: kg.index(SOURCES, extractor=CapitalExtractor()),
            ]
            for fail in fails:
                with pytest.raises(VectorStoreError, match=r"^Qdrant: .*refused: see") as told:
                    fail()
                assert "\n" not in str(told.value)
            assert kg.stats()["documents"] == 3
    with opened(tmp_path / "kg") as kg:
        assert len(kg.search("Ulm").documents) == 3


def test_changes_that_are_made_do_not_fail_for_an_engine_that_is_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = QdrantClient(":memory:")
    with opened(tmp_path / "kg", in_qdrant(client, "g")) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        client.close()
        changes: list[Callable[[], object]] = [
            lambda: kg.say(title="People"),
            lambda: kg.delete("boris.txt"),
        ]
        for change in changes:
            caplog.clear()
            change()
            assert "vectors not updated; the next search updates them: Qdrant: " in caplog.text
    with opened(tmp_path / "kg", in_qdrant(QdrantClient(":memory:"), "g")) as kg:
        assert len(kg.search("Ulm").documents) == 2
        assert b"People" in kg.describe()


# ---------------------------------------------------------------------------- The store


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_indexes, "SAMPLE", 4)
    monkeypatch.setattr("sarag_rdf.plugins.vector_engine.BATCH", 3)


LOCAL = QdrantClient(":memory:")


@pytest.mark.usefixtures("small")
@settings(max_examples=40)
@given(st.dictionaries(names, st.integers(0, 4), max_size=20), changes)
def test_any_history_ends_as_one_made_afresh(
    tmp_path_factory: pytest.TempPathFactory,
    angles: Angles,
    history: list[tuple[Angles, set[str]]],
) -> None:
    folder = tmp_path_factory.mktemp("here")
    store = EngineVectors(Qdrant(LOCAL), uuid4().hex, FolderVectors(folder))
    index = store.save("entity", "0", sorted(angles), [matrix(angles)])
    same(index, angles)
    for number, (come, gone) in enumerate(history):
        angles = {k: v for k, v in angles.items() if k not in gone} | come
        updated = store.update(
            "entity", str(number), str(number + 1), sorted(gone | come.keys()), sorted(come),
            (matrix({iri: come[iri]}) for iri in sorted(come)),
        )  # fmt: skip
        assert updated is not None
        assert updated.collection == index.collection
        same(updated, angles)
        loaded = store.load("entity", str(number + 1))
        assert loaded is not None
        same(loaded, angles)
        assert store.load("entity", str(number)) is None
    store.discard("entity")
    assert index.collection not in Qdrant(LOCAL).collections()


class Failing(Qdrant):
    """Ends before a call that changes something, as many as that were made before."""

    def __init__(self, client: QdrantClient, calls: int) -> None:
        super().__init__(client)
        self._left = calls

    def _count(self) -> None:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1

    def create(self, name: str, width: int) -> None:
        self._count()
        super().create(name, width)

    def drop(self, name: str) -> None:
        self._count()
        super().drop(name)

    def mark(self, name: str, key: str) -> None:
        self._count()
        super().mark(name, key)

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        self._count()
        super().put(name, iris, vectors)

    def delete(self, name: str, iris: Sequence[str]) -> None:
        self._count()
        super().delete(name, iris)


A, B, C, D = (f"http://example.org/{name}" for name in "abcd")
BEFORE: Angles = {A: 1, B: 2, C: 3}
AFTER: Angles = {B: 2, C: 0, D: 1}


def update(store: EngineVectors) -> None:
    come = {C: 0, D: 1}
    store.update("entity", "0", "1", [A, C], [C, D], (matrix({i: come[i]}) for i in (C, D)))


def save(store: EngineVectors) -> None:
    store.save("entity", "1", sorted(AFTER), [matrix(AFTER)[:2], matrix(AFTER)[2:]])


def rekey(store: EngineVectors) -> None:
    store.rekey("entity", "0", "1")


@pytest.mark.parametrize(
    ("change", "calls", "after"), [(update, 5, AFTER), (save, 5, AFTER), (rekey, 1, BEFORE)]
)
def test_wherever_a_change_is_broken_off_no_stale_vectors_are_taken(
    change: Callable[[EngineVectors], None], calls: int, after: Angles, tmp_path: Path
) -> None:
    for left in range(calls + 1):
        client, here = QdrantClient(":memory:"), FolderVectors(tmp_path / str(left))
        store = EngineVectors(Qdrant(client), "g", here)
        store.save("entity", "0", sorted(BEFORE), [matrix(BEFORE)])
        killed = False
        try:
            change(EngineVectors(Failing(client, left), "g", here))
        except KeyboardInterrupt:
            killed = True
        assert killed == (left < calls), "every call was tried"
        for key, angles in (("0", BEFORE), ("1", after)):
            found = store.load("entity", key)
            assert found is not None or key == "0" or killed
            if found is not None:
                same(found, angles)
        store.save("entity", "1", sorted(after), [matrix(after)])
        found = store.load("entity", "1")
        assert found is not None
        same(found, after)
        assert Qdrant(client).collections() == [found.collection], "nothing is left behind"


def test_what_an_engine_finds_equally_near_is_told_by_iri(tmp_path: Path) -> None:
    angles = {f"http://example.org/{number:03}": number % 2 for number in range(300)}
    store = EngineVectors(Qdrant(LOCAL), uuid4().hex, FolderVectors(tmp_path))
    index = store.save("entity", "0", sorted(angles), [matrix(angles)])
    assert [iri for iri, _ in index.nearest(unit(0), 3)] == sorted(angles)[:6:2]
    assert [iri for iri, _ in index.nearest(unit(0), 151)][-1] == sorted(angles)[1]


def test_vectors_that_were_changed_meanwhile_are_not_mixed_with_older_ones(tmp_path: Path) -> None:
    store = EngineVectors(Qdrant(LOCAL), uuid4().hex, FolderVectors(tmp_path))
    index = store.save("entity", "0", sorted(BEFORE), [matrix(BEFORE)])
    assert store.update("entity", "0", "1", [A], [D], [matrix({D: 1})]) is not None
    asked: list[Callable[[], object]] = [
        lambda: index.vectors(np.arange(3)),
        lambda: index.nearest(unit(1), 1),
    ]
    for ask in asked:
        with pytest.raises(VectorStoreError, match="changed by another process"):
            ask()


@pytest.mark.parametrize("rows", [2, 4])
def test_there_must_be_one_vector_an_iri(rows: int, tmp_path: Path) -> None:
    store = EngineVectors(Qdrant(LOCAL), uuid4().hex, FolderVectors(tmp_path))
    with pytest.raises(ValueError, match="vectors than IRIs"):
        store.save("entity", "0", sorted(BEFORE), [matrix(BEFORE | {D: 1})[:rows]])
    assert store.load("entity", "0") is None


def test_the_first_vectors_of_a_kind_come_later(tmp_path: Path) -> None:
    """Where nothing was embedded yet nobody knows how wide vectors are."""
    store = EngineVectors(Qdrant(LOCAL), uuid4().hex, FolderVectors(tmp_path))
    nothing: Vector = np.zeros((0, 0), dtype=np.float32)
    assert len(store.save("entity", "0", [], [nothing])) == 0
    assert store.load("entity", "0") is not None
    assert store.update("entity", "0", "1", [], [A], [matrix({A: 1})]) is None
    same(store.save("entity", "1", [A], [matrix({A: 1})]), {A: 1})
