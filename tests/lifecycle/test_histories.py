"""Whatever was added, updated and deleted, the graph is that of its documents indexed afresh.

``SARAG_HISTORIES=1000`` runs so many histories an extractor.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from pyoxigraph import Quad

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.ports import Extractor
from sarag_rdf.building.incremental import rebuild
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.openie import OpenIEExtractor
from sarag_rdf.testing.fakes import HashEmbedder
from tests.lifecycle.pool import NAMED, POOL, NamesExtractor, Remembered, source, write_openie
from tests.sample_graph import graph_of

COMMITS = (1, 2, 256)
"""Documents in a commit."""
Step = tuple[str, Mapping[str, int] | Sequence[str], int]
"""What is done, with which versions of which documents, so many a commit."""


@st.composite
def histories(draw: st.DrawFn, pool: Mapping[str, Sequence[str]]) -> list[Step]:
    """Steps over a pool of documents."""
    chosen = st.fixed_dictionaries(
        {}, optional={key: st.integers(0, len(texts) - 1) for key, texts in pool.items()}
    )
    steps: list[Step] = []
    for kind in draw(st.lists(st.sampled_from(("index", "update", "delete", "sync")), max_size=7)):
        payload: Any = draw(chosen)
        if kind == "delete":
            payload = draw(st.lists(st.sampled_from(sorted(pool)), max_size=4, unique=True))
        steps.append((kind, payload, draw(st.sampled_from(COMMITS))))
    return steps


class Player:
    """A graph that goes through a history, and the documents that it should then hold."""

    def __init__(
        self,
        pool: Mapping[str, Sequence[str]],
        extractor: Extractor,
        folder: Path,
        where: Path | None = None,
    ) -> None:
        self._pool = pool
        self._extractor = extractor
        self._folder = folder
        self.kg = sarag_rdf.open(where, embedder=HashEmbedder(), endpoint=None)
        self.kg.index([source("first", "Ada.")], extractor=extractor)
        self.kg.delete(["first"])
        self.now: dict[str, int] = {}

    def play(self, step: Step) -> None:
        """Do a step, and hold what was derived against what the evidence gives."""
        kind, payload, size = step
        with commits_of(size):
            getattr(self, f"_{kind}")(payload)
        assert kg_quads(self.kg) == rebuilt(self.kg), "refresh is not rebuild"

    def _index(self, payload: Mapping[str, int]) -> None:
        report = self.kg.index(self._sources(payload), extractor=self._extractor)
        assert report.problems == []
        self.now |= payload

    def _update(self, payload: Mapping[str, int]) -> None:
        known = {key: version for key, version in payload.items() if key in self.now}
        report = self.kg.update(self._sources(payload), extractor=self._extractor)
        assert (len(report.problems), report.added) == (len(payload) - len(known), 0)
        self.now |= known

    def _delete(self, payload: Sequence[str]) -> None:
        wanted = [key for key in payload if key in self.now]
        assert self.kg.delete(wanted) == tuple(wanted)
        for key in wanted:
            del self.now[key]

    def _sync(self, payload: Mapping[str, int]) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        for key, version in payload.items():
            path = self._folder / key
            path.parent.mkdir(exist_ok=True)
            path.write_text(self._pool[key][version], encoding="utf-8")
        options: dict[str, Any] = {"extractor": self._extractor, "language": "en"}
        report = self.kg.sync(self._folder, yes=True, **options)
        assert (report.problems, report.deleted) == ([], len(self.now.keys() - payload.keys()))
        self.now = dict(payload)

    def _sources(self, payload: Mapping[str, int]) -> list[sarag_rdf.Source]:
        return [source(key, self._pool[key][version]) for key, version in payload.items()]

    def afresh(self, order: Sequence[str], size: int) -> KnowledgeGraph:
        """Another graph, of the same documents in some order."""
        kg = sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None)
        with commits_of(size):
            documents = self._sources({key: self.now[key] for key in order if key in self.now})
            kg.index(documents, extractor=self._extractor)
        return kg


@contextmanager
def commits_of(size: int) -> Iterator[None]:
    with (
        mock.patch("sarag_rdf.building.index_run.COMMIT_DOCUMENTS", size),
        mock.patch("sarag_rdf.building.commit.COMMIT_REMOVALS", size),
    ):
        yield


def reader_of(kg: KnowledgeGraph) -> GraphReader:
    with kg.session.read() as snapshot:
        return snapshot.own


def kg_quads(kg: KnowledgeGraph) -> list[str]:
    reader = reader_of(kg)
    return sorted(map(str, reader.store.quads(reader.minter.kg_graph)))


def rebuilt(kg: KnowledgeGraph) -> list[str]:
    return sorted(map(str, rebuild(reader_of(kg)).insert))


def canonical(kg: KnowledgeGraph) -> list[str]:
    """N-Quads of all but meta and runs; there is no blank node, so sorting makes them canonical."""
    reader = reader_of(kg)
    apart = {reader.minter.meta_graph, reader.minter.runs_graph}
    kept: list[Quad] = [quad for quad in reader.store.quads() if graph_of(quad) not in apart]
    return sorted(map(str, kept))


def play(
    pool: Mapping[str, Sequence[str]],
    extractor: Extractor,
    folder: Path,
    steps: Sequence[Step],
    order: Sequence[str],
    size: int,
) -> None:
    player = Player(pool, extractor, folder)
    for step in steps:
        note(f"{step}")
        player.play(step)
    assert canonical(player.kg) == canonical(player.afresh(order, size))
    assert player.kg.validate().conforms
    player.play(("delete", list(player.now), 256))
    assert canonical(player.kg) == []


def checked(pool: Mapping[str, Sequence[str]], folder: Path, steps: Sequence[Step]) -> None:
    """Play in a folder, and find everything in order after each step, caches too."""
    shutil.rmtree(folder / "kg", ignore_errors=True)
    player = Player(pool, NamesExtractor(), folder / "docs", folder / "kg")
    with player.kg as kg:
        for step in steps:
            note(f"{step}")
            player.play(step)
            report = fsck(kg)
            assert (report.findings, report.notes) == ((), ())
            assert report.counts["sources"] == len(player.now)


def many(default: int) -> settings:
    """Settings of hypothesis: the same histories in each run, unless more are wanted."""
    wanted = int(os.environ.get("SARAG_HISTORIES", "0"))
    return settings(
        max_examples=wanted or default,
        derandomize=not wanted,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("histories")


@pytest.fixture(scope="module")
def spacy_extractor() -> Extractor:
    from sarag_rdf.extraction.spacy_extractor import SpacyExtractor, load_pipeline

    try:
        load_pipeline()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return Remembered(SpacyExtractor())


@pytest.fixture(scope="module")
def openie_extractor(tmp_path_factory: pytest.TempPathFactory) -> Extractor:
    path = write_openie(tmp_path_factory.mktemp("openie") / "pool.json")
    return Remembered(OpenIEExtractor(path))


@pytest.mark.history
@many(25)
@given(histories(POOL), st.permutations(sorted(POOL)), st.sampled_from(COMMITS))
def test_histories_read_by_spacy(
    folder: Path, spacy_extractor: Extractor, steps: list[Step], order: list[str], size: int
) -> None:
    play(POOL, spacy_extractor, folder / "docs", steps, order, size)


@pytest.mark.history
@many(25)
@given(histories(POOL), st.permutations(sorted(POOL)), st.sampled_from(COMMITS))
def test_histories_read_from_openie(
    folder: Path, openie_extractor: Extractor, steps: list[Step], order: list[str], size: int
) -> None:
    play(POOL, openie_extractor, folder / "docs", steps, order, size)


@pytest.mark.history
@many(40)
@given(histories(NAMED), st.permutations(sorted(NAMED)), st.sampled_from(COMMITS))
def test_histories_of_names(folder: Path, steps: list[Step], order: list[str], size: int) -> None:
    """Aliases of each other, of several, in circles: what real texts seldom have."""
    play(NAMED, NamesExtractor(), folder / "docs", steps, order, size)


@pytest.mark.history
@many(12)
@given(histories(NAMED))
def test_after_each_step_everything_is_in_order(folder: Path, steps: list[Step]) -> None:
    """What is kept for searching follows each change."""
    checked(NAMED, folder, steps)
