"""Vectors in an engine give what vectors in files give: Milvus Lite, Qdrant, and PostgreSQL."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarag_rdf
from sarag_rdf.base.errors import VectorStoreError
from sarag_rdf.base.ports import Vector
from sarag_rdf.graph.graph_reader import KINDS
from sarag_rdf.graph.vectors import search_indexes
from sarag_rdf.graph.vectors.vector_store import FolderVectors, VectorStore
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.vectors import ChooseVectors
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.vector_engines.choices import EngineChoice
from sarag_rdf.plugins.vector_engines.engine import EngineVectors, VectorEngine
from sarag_rdf.plugins.vector_engines.milvus import MilvusEngine
from sarag_rdf.testing.conformance import check_vector_engine
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.graph.test_vector_updates import Angles, changes, matrix, same, unit
from tests.graph.test_vector_updates import names as some_names
from tests.sample_graph import SOURCES, CapitalExtractor
from tests.strategies import RETRIEVERS
from tests.vector_engines import ENGINES, address, empty_engine

pytestmark = pytest.mark.interop
CORPUS = ROOT / "examples" / "corpus"
CHANGED = ("marie-curie", "vistula", "warsaw", "ulm")
QUESTIONS = (
    "Near which city was the doctoral supervisor of Ludwig Boltzmann born?",
    "Which rivers flow through Ulm and Tulcea?",
)
BETWEEN = ("sarag", "dotrag", "paths")
"""Retrievers that are asked after each change: together they read the vectors of every kind."""


def opened(folder: Path | None, vectors: str | ChooseVectors | None = None) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, vectors=vectors)


def copied(folder: Path) -> Path:
    """Every tenth document of the corpus, and those that the test changes."""
    folder.mkdir()
    every = sorted(CORPUS.glob("*.md"))
    for path in {*every[::10], *(CORPUS / f"{name}.md" for name in CHANGED)}:
        shutil.copy(path, folder)
    return folder


Found = dict[tuple[str, str], tuple[list[str], list[float]]]


def searched(
    kg: KnowledgeGraph,
    retrievers: Iterable[str] = RETRIEVERS,
    questions: Sequence[str] = QUESTIONS,
) -> Found:
    """The documents and relationships that every retriever finds, and their scores."""
    found = {}
    for retriever in retrievers:
        for question in questions:
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


def test_a_graph_is_searched_alike_with_every_engine(
    tmp_path: Path,
) -> None:
    """After it was indexed, updated, added to, synchronised and deleted from."""
    files = copied(tmp_path / "files")
    late = files / "vistula.md"
    late.rename(tmp_path / "vistula.md")
    steps: list[Callable[[KnowledgeGraph], object]] = [
        lambda kg: kg.index(files, root=files, extractor=CapitalExtractor()),
        lambda kg: kg.update(files, root=files, extractor=CapitalExtractor()),
        lambda kg: kg.index(files, root=files, extractor=CapitalExtractor()),
        lambda kg: kg.delete(["warsaw.md", "ulm.md"]),
        lambda kg: kg.say(title="Physicists"),
        lambda kg: kg.sync(files, root=files, yes=True, extractor=CapitalExtractor()),
    ]
    with ExitStack() as stack:
        choices = [stack.enter_context(empty_engine(kind, tmp_path)) for kind in ENGINES]
        here = stack.enter_context(opened(tmp_path / "here"))
        there = [stack.enter_context(opened(tmp_path / c.name, c)) for c in choices]
        collections: dict[EngineChoice, set[str]] = {}
        for number, step in enumerate(steps):
            if number == 1:
                text = "# Marie Curie\n\nShe taught Copernicus in Ulm."
                (files / "marie-curie.md").write_text(text)
            if number == 2:
                (tmp_path / "vistula.md").rename(late)
            asked = RETRIEVERS if step is steps[-1] else BETWEEN
            question = QUESTIONS[1 - number % 2 :][:1]
            step(here)
            expected = searched(here, asked, question)
            assert {retriever for (retriever, _), (iris, _) in expected.items() if iris} == {*asked}
            for kg, choice in zip(there, choices, strict=True):
                step(kg)
                alike(expected, searched(kg, asked, question))
                names = set(choice.engine.collections())
                assert names == collections.setdefault(choice, names), "changed in place"
        assert all(fsck(kg).in_order for kg in there)
        for choice, names in collections.items():
            [mine] = {name[: len("sarag-") + 16] for name in names}
            kinds = {name.rpartition("-")[0] for name in names}
            assert kinds == {f"{mine}-documents-{kind}" for kind in KINDS}
            counts = {name.split("-")[3]: choice.engine.count(name) for name in names}
            assert counts["document"] == here.stats()["documents"]
            folder = tmp_path / choice.name / "cache" / "vectors"
            assert list(folder.glob("*.arrays"))
            assert not list(folder.glob("*.f32")), "no vectors are kept here"


def test_a_graph_in_memory(choice: EngineChoice) -> None:
    with opened(None) as here, opened(None, choice) as there:
        for kg in (here, there):
            kg.index(SOURCES[:2], extractor=CapitalExtractor())
        alike(searched(here), searched(there))
        for kg in (here, there):
            kg.index(SOURCES, extractor=CapitalExtractor())
        alike(searched(here), searched(there))
        assert len(choice.engine.collections()) == len(KINDS)
    assert not list(choice.engine.collections()), "nobody would find them again"


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


def test_collections_that_are_lost_are_made_anew(choice: EngineChoice, tmp_path: Path) -> None:
    with opened(tmp_path / "kg", choice) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        whole, engine = searched(kg), choice.engine
        before = engine.collections()
        for name in before:
            engine.drop(name)
        with pytest.raises(VectorStoreError) as told:
            kg.search("Ulm")
        assert "\n" not in str(told.value)
        kg.reload()
        assert not fsck(kg).in_order
        alike(whole, searched(kg))
        assert fsck(kg).in_order
        assert len(engine.collections()) == len(before)
        assert not set(engine.collections()) & set(before)
        for name in engine.collections():
            engine.drop(name)
        assert not fsck(kg).in_order
        fsck(kg, repair=True)
        assert fsck(kg).in_order
        alike(whole, searched(kg))


def test_points_that_are_lost_are_noticed(choice: EngineChoice, tmp_path: Path) -> None:
    with opened(tmp_path / "kg", choice) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        whole, engine = searched(kg), choice.engine
        [documents] = [name for name in engine.collections() if "-document-" in name]
        engine.delete(documents, [kg.search("Ulm").documents[0].document.iri])
        with pytest.raises(VectorStoreError, match="open the graph again"):
            searched(kg)
        kg.reload()
        alike(whole, searched(kg))


def test_a_copy_of_a_graph_has_collections_of_its_own(choice: EngineChoice, tmp_path: Path) -> None:
    with opened(tmp_path / "kg", choice) as kg:
        kg.index(SOURCES[:2], extractor=CapitalExtractor())
        old, mine = searched(kg), set(choice.engine.collections())
    shutil.copytree(tmp_path / "kg", tmp_path / "copy")
    (tmp_path / "kg").rename(tmp_path / "moved")
    with opened(tmp_path / "moved", choice) as kg, opened(tmp_path / "copy", choice) as copy:
        alike(old, searched(kg))
        assert set(choice.engine.collections()) == mine, "a folder that was moved keeps its own"
        alike(old, searched(copy))
        copy.index(SOURCES, extractor=CapitalExtractor())
        new = searched(copy)
        alike(old, searched(kg))
        copy.delete("boris.txt")
        kg.index(SOURCES, extractor=CapitalExtractor())
        alike(new, searched(kg))
        assert len(choice.engine.collections()) == 2 * len(mine)
        assert mine < set(choice.engine.collections())


def test_the_store_here_and_the_engine_take_turns(
    choice: EngineChoice, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = []
    for number, vectors in enumerate((address(choice), "files") * 2):
        with opened(tmp_path / "kg", vectors) as kg:
            kg.index(SOURCES[: 2 + number // 2], extractor=CapitalExtractor())
            found.append(searched(kg))
    alike(found[0], found[1])
    alike(found[2], found[3])
    assert not caplog.records


@pytest.mark.parametrize("kind", ["milvus", "qdrant", "postgres"])
def test_an_engine_that_is_down_is_told_in_one_line(kind: str, tmp_path: Path) -> None:
    with opened(tmp_path / "kg", "files") as kg:
        kg.index(SOURCES[:2], extractor=CapitalExtractor())
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{closed.getsockname()[1]}"
        vectors = (
            f"postgres:postgresql://{where}/db" if kind == "postgres" else f"{kind}:http://{where}"
        )
        with opened(tmp_path / "kg", vectors) as kg:
            fails: list[Callable[[], object]] = [
                lambda: kg.search("Ulm"),
                lambda: kg.index(SOURCES, extractor=CapitalExtractor()),
            ]
            for fail in fails:
                with pytest.raises(VectorStoreError, match="see that it runs") as told:
                    fail()
                assert "\n" not in str(told.value)
            assert kg.stats()["documents"] == 3
    with opened(tmp_path / "kg") as kg:
        assert len(kg.search("Ulm").documents) == 3


def test_changes_that_are_made_do_not_fail_for_an_engine_that_is_down(
    choice: EngineChoice,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened(tmp_path / "kg", choice) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())

        def fails(name: str, *_: object) -> Any:
            raise VectorStoreError(f"{name} is unreachable")

        for call in ("marked", "create"):  # the first ones of an update, and of a new index
            monkeypatch.setattr(choice.engine, call, fails)
        changes: list[Callable[[], object]] = [
            lambda: kg.say(title="People"),
            lambda: kg.delete("boris.txt"),
        ]
        for change in changes:
            caplog.clear()
            change()
            assert "vectors not updated; the next search updates them: sarag-" in caplog.text
        monkeypatch.undo()
        assert len(kg.search("Ulm").documents) == 2
        assert b"People" in kg.describe()


# ---------------------------------------------------------------------------- The store


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_indexes, "SAMPLE", 4)
    monkeypatch.setattr("sarag_rdf.plugins.vector_engines.engine.BATCH", 3)


@pytest.fixture(scope="module", params=ENGINES)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VectorEngine]:
    """Each engine, for all tests of this file; names of collections must not be used twice."""
    folder = tmp_path_factory.mktemp("engine")
    with empty_engine(request.param, folder) as choice:
        yield choice.engine


def test_engines_do_what_the_port_says(engine: VectorEngine) -> None:
    check_vector_engine(engine)


@pytest.mark.usefixtures("small")
def test_any_history_ends_as_one_made_afresh(
    engine: VectorEngine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    @settings(max_examples=2 if isinstance(engine, MilvusEngine) else 10)
    @given(st.dictionaries(some_names, st.integers(0, 4), max_size=20), changes)
    def check(angles: Angles, history: list[tuple[Angles, set[str]]]) -> None:
        store = EngineVectors(engine, fresh(), FolderVectors(tmp_path_factory.mktemp("here")))
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
        assert index.collection not in engine.collections()

    check()


def fresh() -> str:
    return f"sarag-{uuid4().hex[:16]}-documents"


class Failing:
    """Ends before a call that changes something, as many as that were made before."""

    def __init__(self, engine: VectorEngine, calls: int) -> None:
        self._engine, self._left = engine, calls

    def __getattr__(self, name: str) -> Any:
        if name in ("create", "drop", "mark", "put", "delete"):
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
        return getattr(self._engine, name)


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
    change: Callable[[EngineVectors], None],
    calls: int,
    after: Angles,
    engine: VectorEngine,
    tmp_path: Path,
) -> None:
    for left in range(calls + 1):
        name, here = fresh(), FolderVectors(tmp_path / str(left))
        store = EngineVectors(engine, name, here)
        store.save("entity", "0", sorted(BEFORE), [matrix(BEFORE)])
        killed = False
        try:
            change(EngineVectors(cast("VectorEngine", Failing(engine, left)), name, here))
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
        own = [each for each in engine.collections() if each.startswith(name)]
        assert own == [found.collection], "nothing is left behind"


def test_what_an_engine_finds_equally_near_is_told_by_iri(
    engine: VectorEngine, tmp_path: Path
) -> None:
    angles = {f"http://example.org/{number:03}": number % 2 for number in range(300)}
    store = EngineVectors(engine, fresh(), FolderVectors(tmp_path))
    index = store.save("entity", "0", sorted(angles), [matrix(angles)])
    assert [iri for iri, _ in index.nearest(unit(0), 3)] == sorted(angles)[:6:2]
    assert [iri for iri, _ in index.nearest(unit(0), 151)][-1] == sorted(angles)[1]


def test_vectors_that_were_changed_meanwhile_are_not_mixed_with_older_ones(
    engine: VectorEngine, tmp_path: Path
) -> None:
    store = EngineVectors(engine, fresh(), FolderVectors(tmp_path))
    index = store.save("entity", "0", sorted(BEFORE), [matrix(BEFORE)])
    assert store.update("entity", "0", "1", [A], [A], [matrix({A: 4})]) is not None
    asked: list[Callable[[], object]] = [
        lambda: index.vectors(np.arange(3)),
        lambda: index.nearest(unit(1), 1),
    ]
    for ask in asked:
        with pytest.raises(VectorStoreError, match="changed by another process"):
            ask()


@pytest.mark.parametrize("rows", [2, 4])
def test_there_must_be_one_vector_an_iri(rows: int, engine: VectorEngine, tmp_path: Path) -> None:
    store = EngineVectors(engine, fresh(), FolderVectors(tmp_path))
    with pytest.raises(ValueError, match="vectors than IRIs"):
        store.save("entity", "0", sorted(BEFORE), [matrix(BEFORE | {D: 1})[:rows]])
    assert store.load("entity", "0") is None


def test_the_first_vectors_of_a_kind_come_later(engine: VectorEngine, tmp_path: Path) -> None:
    """Where nothing was embedded yet nobody knows how wide vectors are."""
    store = EngineVectors(engine, fresh(), FolderVectors(tmp_path))
    nothing: Vector = np.zeros((0, 0), dtype=np.float32)
    assert len(store.save("entity", "0", [], [nothing])) == 0
    assert store.load("entity", "0") is not None
    assert store.update("entity", "0", "1", [], [A], [matrix({A: 1})]) is None
    same(store.save("entity", "1", [A], [matrix({A: 1})]), {A: 1})
