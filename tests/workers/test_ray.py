"""Indexing on a Ray cluster of two nodes: the same graph, whatever is killed meanwhile."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.plugins.workers.ray_pool import ray as ray_workers
from sarag_rdf.plugins.workers.spread import SHARD
from tests.workers.converted import CONVERTER, folder_of_all_kinds, pdf
from tests.workers.ray_cluster import Cluster, cluster
from tests.workers.scripted import (
    Scripted,
    content,
    extracted,
    index,
    lives,
    processes,
    started,
    title,
    until,
)

COUNT = 6 * SHARD
_PATIENCE = 240.0


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("alone")
    index(folder / "kg", Scripted(folder / "notes"), COUNT)
    return content(folder / "kg")


def run(
    folder: Path,
    nodes: Cluster,
    env: Mapping[str, str] | None = None,
    count: int | Path = COUNT,
    **faults: Any,
) -> list[str]:
    """The lines that the program prints: the number of sources, then problems or an error."""
    with started(folder, nodes.address, count, nodes.env | dict(env or {}), **faults) as writer:
        out, err = writer.communicate(timeout=_PATIENCE)
    return (out if writer.returncode == 0 else err).splitlines()


def _a_cluster_makes_the_same_graph(nodes: Cluster, tmp_path: Path, expected: list[str]) -> None:
    notes = tmp_path / "notes"
    assert run(tmp_path, nodes, together=2) == [str(COUNT)]
    assert content(tmp_path / "kg") == expected
    assert len(processes(notes)) == 2
    assert set(extracted(notes).values()) == {1}


def _exceptions_and_deaths_of_actors(nodes: Cluster, tmp_path: Path, expected: list[str]) -> None:
    faults: dict[str, Any] = {
        "kills": (title(3),),
        "kills_once": (title(SHARD),),
        "fails": (title(7),),
    }
    added, *problems = run(tmp_path, nodes, **faults)
    assert int(added) == COUNT - 2
    deadly, failed = sorted(problems)
    assert deadly.startswith("3.txt: the worker has ended")
    assert failed == "7.txt: Part 7 fails"
    (tmp_path / "other").mkdir()
    errors = run(tmp_path / "other", nodes, raises=(title(5),))
    assert errors[-1] == "EndpointDownError: Part 5 is down"


def _actors_read_documents(nodes: Cluster, tmp_path: Path, expected: list[str]) -> None:
    """They have no such files; the one that kills every actor is reported, as without workers."""
    files, notes = tmp_path / "files", tmp_path / "converted"
    folder_of_all_kinds(files)
    (tmp_path / "alone").mkdir()
    alone = index(tmp_path / "alone" / "kg", Scripted(tmp_path / "alone" / "notes"), files)
    problems = [str(problem) for problem in alone.problems]
    assert run(tmp_path, nodes, count=files) == [str(alone.added), *problems]
    assert content(tmp_path / "kg") == content(tmp_path / "alone" / "kg")
    for number in range(4):
        pdf(files / f"5x{number}.pdf", noted=str(notes), together=2)
    pdf(files / "5y.pdf", kills_parent=True)
    added, *problems = run(tmp_path, nodes, count=files)
    assert int(added) == 4
    [problem] = [each for each in problems if "5y.pdf" in each]
    assert problem.startswith(f"{files}/5y.pdf: the worker has ended")
    assert len(processes(notes)) == 2


def _an_interrupt_of_reading_ends_the_actors(
    nodes: Cluster, tmp_path: Path, expected: list[str]
) -> None:
    notes, files = tmp_path / "converted", tmp_path / "files"
    files.mkdir()
    for number in range(4):
        pdf(files / f"{number}.pdf", noted=str(notes), seconds=600)
    with started(tmp_path, nodes.address, files, nodes.env) as writer:
        until(lambda: len(processes(notes)) == 2)
        writer.send_signal(signal.SIGINT)
        writer.wait(30)
    assert writer.returncode
    until(lambda: not any(map(lives, processes(notes))), 10)


def _a_killed_writer_loses_nothing_that_an_actor_returned(
    nodes: Cluster, tmp_path: Path, expected: list[str]
) -> None:
    notes = tmp_path / "notes"
    with started(tmp_path, nodes.address, COUNT, nodes.env, seconds=0.05) as writer:
        until(lambda: len(extracted(notes)) > 3.5 * SHARD)
        writer.kill()
    first = extracted(notes)
    assert len(run(tmp_path, nodes)) == 1
    repeated = [name for name in first if extracted(notes)[name] > 1]
    assert len(repeated) <= 2 * SHARD
    assert content(tmp_path / "kg") == expected


def _an_interrupt_ends_the_actors(nodes: Cluster, tmp_path: Path, expected: list[str]) -> None:
    notes = tmp_path / "notes"
    with started(tmp_path, nodes.address, COUNT, nodes.env, seconds=10) as writer:
        until(lambda: len(processes(notes)) == 2)  # a batch takes minutes
        writer.send_signal(signal.SIGINT)
        writer.wait(30)
    assert writer.returncode
    until(lambda: not any(map(lives, processes(notes))), 10)


def _a_killed_node_and_then_a_killed_cluster(
    nodes: Cluster, tmp_path: Path, expected: list[str]
) -> None:
    notes = tmp_path / "notes"
    with started(tmp_path, nodes.address, COUNT, nodes.env, seconds=0.05) as writer:
        until(lambda: len(extracted(notes)) > 2.5 * SHARD)
        nodes.kill(1)
        assert writer.wait(_PATIENCE) == 0  # the other node extracts what is left
    assert content(tmp_path / "kg") == expected
    repeated = [name for name, times in extracted(notes).items() if times > 1]
    assert len(repeated) <= SHARD
    nodes.kill(0)
    (tmp_path / "other").mkdir()
    hurry = {f"RAY_CLIENT_{kind}_CONNECTION_TIMEOUT_S": "1" for kind in ("INITIAL", "MAX")}
    lines = run(tmp_path / "other", nodes, hurry)  # Ray writes lines of its own
    assert any(line.startswith("ModelError: no Ray cluster answers") for line in lines)


@pytest.mark.fault
@pytest.mark.minute
def test_on_a_cluster(tmp_path: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other: two clusters at a time would wait for each other's processors."""
    monkeypatch.syspath_prepend(CONVERTER)
    monkeypatch.setenv("PYTHONPATH", str(CONVERTER))
    with cluster() as nodes:
        for step in (
            _a_cluster_makes_the_same_graph,
            _exceptions_and_deaths_of_actors,
            _actors_read_documents,
            _an_interrupt_of_reading_ends_the_actors,
            _a_killed_writer_loses_nothing_that_an_actor_returned,
            _an_interrupt_ends_the_actors,
            _a_killed_node_and_then_a_killed_cluster,
        ):
            folder = tmp_path / step.__name__
            folder.mkdir()
            step(nodes, folder, expected)


@pytest.mark.parametrize(
    "address",
    ["ray://", "ray://host", "ray://host:x", "ray://user:key@host:1", "ray://host:1/path"]
    + [f"ray://host:1?{query}" for query in ("workers=0", "workers=x", "size=2", "workers")],
)
def test_a_bad_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="give ray://HOST:PORT") as raised:
        ray_workers(address)
    assert "key" not in str(raised.value)


def test_without_ray_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sarag-rdf\[cluster\]'"):
        ray_workers("ray://host:1?workers=2")
