"""A process that is killed while it sends vectors to an engine leaves what the next one repairs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import VectorStoreError
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.registry import options_of
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.vector_engines.choices import EngineChoice
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import environment
from tests.sample_graph import SOURCES, CapitalExtractor
from tests.vector_engines import address

pytestmark = pytest.mark.interop
CHILD = """
import sys, time
import sarag_rdf
from sarag_rdf.kg.registry import options_of
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import SOURCES, CapitalExtractor

folder, vectors, documents = sys.argv[1], sys.argv[2], int(sys.argv[3])
engine, put = options_of("vectors", vectors).engine, 0
sent = type(engine).put

def stalling(self, *arguments):
    global put
    sent(self, *arguments)
    put += 1
    if put == 2:
        print("now", flush=True)
        while True:  # is killed amid one of these
            sent(self, *arguments)

type(engine).put = stalling
with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, vectors=vectors) as kg:
    kg.index(SOURCES[:documents], extractor=CapitalExtractor())
"""
Found = list[tuple[str, float]]


def found(kg: KnowledgeGraph) -> Found:
    outcome = kg.search("Which rivers flow through Ulm and Vienna?")
    scored = [(one.document.iri, one.score) for one in outcome.documents]
    scored += [(one.relationship, one.similarity) for one in outcome.relationships]
    return [(iri, round(score, 5)) for iri, score in scored]


def opened(folder: Path, vectors: str) -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, vectors=vectors)


def test_what_a_kill_leaves_is_repaired_by_the_next_run(
    choice: EngineChoice, tmp_path: Path
) -> None:
    """Killed while the first relationships are sent, after the documents; then in an update."""
    vectors, folder = address(choice), tmp_path / "kg"
    expected = {}
    for documents in (2, len(SOURCES)):
        with opened(tmp_path / "plain", "files") as kg:
            kg.index(SOURCES[:documents], extractor=CapitalExtractor())
            expected[documents] = found(kg)
    repairs: list[Callable[[KnowledgeGraph], object]] = [
        lambda kg: kg.search("Ulm"),
        lambda kg: kg.index(SOURCES, extractor=CapitalExtractor()),
    ]
    for documents, repair in zip(expected, repairs, strict=True):
        choice.close()
        command = [sys.executable, "-c", CHILD, str(folder), vectors, str(documents)]
        with subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "now\n"
            child.send_signal(signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
        with opened(folder, vectors) as kg:
            repair(kg)
            assert found(kg) == expected[documents]
            assert fsck(kg).in_order
            assert len(choice.engine.collections()) == 2, "nothing is left behind"
            for name in choice.engine.collections():
                assert choice.engine.marked(name)


HOLDER = """
import sys, time
from sarag_rdf.kg.registry import options_of
options_of("vectors", sys.argv[1]).engine.collections()
print("now", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("vectors", ["milvus:vectors.db", "qdrant:vectors"])
def test_a_file_that_another_process_has_open_is_told_in_one_line(
    vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-c", HOLDER, vectors]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "now\n"
        choice = options_of("vectors", vectors)
        with pytest.raises(VectorStoreError, match=r"another (process|instance)") as told:
            choice.engine.collections()
        assert "\n" not in str(told.value)
        child.kill()
    assert not choice.engine.collections()
    choice.close()
