"""A disk that is full: one clear line, nothing that was reported is lost, and the rest later."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.building.entailed_graph import entailment_errors
from tests.command import Result, run_sarag
from tests.fault_server import playing
from tests.faults.corpus import openie_corpus, triples
from tests.faults.places import resized, small_disk
from tests.faults.scenarios import DOCUMENTS, OPENIE, SCENARIOS, Sarag
from tests.faults.soak import graphs_of
from tests.forked import run_forked
from tests.sample_graph import embeddings

INDEX = ("index", "docs", *OPENIE, "--language", "en")
IMPORT = ("import", "items.nt", "--as", "rdf")
FULL = "the disk is full (small/kg): free some space and run it again"
PLENTY = 200_000


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of several commits when they are cut small, and triples."""
    folder = tmp_path_factory.mktemp("inputs")
    openie_corpus(folder, count=120)
    triples(folder / "items.nt", 20_000)
    return folder


@pytest.fixture
def work(inputs: Path, tmp_path: Path) -> Path:
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    with playing(embeddings) as server:
        yield {"SARAG_BASE_URL": server.base_url, "SARAG_EMBEDDER": "openai:one"}


def sound(kg: Path) -> int:
    """How many sources are in a graph that opens and conforms."""
    with sarag_rdf.open(kg, endpoint=None) as graph:
        assert graph.validate().conforms
        return graph.stats()["sources"]


def undisturbed(work: Path, env: dict[str, str], *command: str) -> dict[str, frozenset[str]]:
    done = run_forked(*command, "--kg", "undisturbed", cwd=work, env=env)
    assert done.code == 0, done
    return dict(graphs_of(work / "undisturbed"))


def test_indexing_goes_on_when_there_is_room(work: Path, env: dict[str, str]) -> None:
    command = (*INDEX, "--words", "4", "--overlap", "0")
    want = undisturbed(work, env, *command)
    counts = []
    with small_disk(work / "small", 1) as disk:
        for size in (600, 5_000, 10_000):
            resized(disk, size)
            done = run_forked(*command, "--kg", "small/kg", cwd=work, env=env)
            if done.code == 0:
                break
            without_caches(done).fails(1, "the disk is full (small/kg")
            if (disk / "kg" / "store" / "CURRENT").exists():
                count = sound(disk / "kg")
                assert f"{FULL}; {count} sources are in the graph" in done.err
                counts.append(count)
        assert len(counts) > 1, "the disk was hardly ever full"
        assert counts == sorted(counts), "what was in the graph stays there"
        resized(disk, PLENTY)
        done = run_forked(*command, "--kg", "small/kg", cwd=work, env=env)
        assert (done.code, done.complaints) == (0, []), done
        assert sound(disk / "kg") == 120
        assert graphs_of(disk / "kg") == want


def test_what_follows_is_there_for_whatever_went_in(work: Path, env: dict[str, str]) -> None:
    """With entailment on: after each command on a full disk, and at the end."""
    shutil.rmtree(work / "docs")
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == "entailed")
    scenario.prepare(work, Sarag(work, env))
    shutil.copytree(work / "kg", work / "undisturbed")
    want = undisturbed(work, env, *scenario.command)
    counts = []
    with small_disk(work / "small", PLENTY) as disk:
        shutil.copytree(work / "kg", disk / "kg")
        used = shutil.disk_usage(disk).used >> 10
        for room in (500, 4_000):
            resized(disk, used + room)
            done = run_forked(*scenario.command, "--kg", "small/kg", cwd=work, env=env)
            counts.append(sound(disk / "kg"))
            with sarag_rdf.open(disk / "kg", endpoint=None) as kg, kg.session.read() as snapshot:
                assert entailment_errors(snapshot.own) == (set(), set())
            if done.code == 0:
                break
            without_caches(done).fails(1, FULL)
        assert 40 <= counts[0] < DOCUMENTS, "the disk was never full"
        assert counts == sorted(counts), "what was in the graph stays there"
        resized(disk, PLENTY)
        done = run_forked(*scenario.command, "--kg", "small/kg", cwd=work, env=env)
        assert (done.code, done.complaints) == (0, []), done
        assert graphs_of(disk / "kg") == want


def test_an_import_goes_on_when_there_is_room(work: Path, env: dict[str, str]) -> None:
    command = (*IMPORT, "--no-vectors")
    want = undisturbed(work, env, *command)
    with small_disk(work / "small", 5_000) as disk:
        done = run_forked(*command, "--kg", "small/kg", cwd=work, env=env)
        done.fails(1, FULL)
        assert list(disk.glob("kg/store/bulk-*.sst")) == []
        resized(disk, PLENTY)
        done = run_forked(*command, "--kg", "small/kg", cwd=work, env=env)
        assert (done.code, done.complaints) == (0, []), done
        assert graphs_of(disk / "kg") == want


def test_what_cannot_be_cached_fails_no_command(work: Path, env: dict[str, str]) -> None:
    shutil.rmtree(work / "docs")
    openie_corpus(work, count=40)
    want = undisturbed(work, env, *INDEX)
    with small_disk(work / "small", 100) as disk:
        (work / "kg").mkdir()
        (work / "kg" / "cache").symlink_to(disk)
        done = run_forked(*INDEX, cwd=work, env=env)
        one_warning(done, "the disk is full")
        assert graphs_of(work / "kg") == want
        found = run_forked("search", "Ada", "--json", cwd=work, env=env)
        one_warning(found, "the disk is full")
        assert not list(disk.glob("**/*.part"))
        resized(disk, PLENTY)
        again = run_forked("search", "Ada", "--json", cwd=work, env=env)
        assert (again.code, again.complaints, again.out) == (0, [], found.out)


def without_caches(done: Result) -> Result:
    """Without the warning about caches: what meets the full disk first is chance."""
    lines = done.err.splitlines(keepends=True)
    told = [line for line in lines if "sarag: cannot write caches in" in line]
    assert len(told) <= 1
    return replace(done, err="".join(line for line in lines if line not in told))


def one_warning(done: Result, *words: str) -> None:
    assert done.code == 0, done
    assert len(done.complaints) == 1, done.err
    assert "cannot write caches" in done.complaints[0]
    for word in words:
        assert word in done.complaints[0]


def test_an_export_leaves_what_was_there(work: Path, env: dict[str, str]) -> None:
    undisturbed(work, env, *INDEX)
    with small_disk(work / "small", 100) as disk:
        (disk / "graph.ttl").write_text("before")
        done = run_forked("export", "--kg", "undisturbed", "-o", "small/graph.ttl", cwd=work)
        done.fails(1, "the disk is full (small/graph.ttl)")
        assert [path.name for path in disk.iterdir()] == ["graph.ttl"]
        assert (disk / "graph.ttl").read_text() == "before"


def test_no_room_for_temporary_files(tmp_path: Path, env: dict[str, str]) -> None:
    """The model that detects languages is unpacked into one."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("Ada met Boris. " * 20, "utf-8")
    with small_disk(tmp_path / "disk", 64) as disk:
        full = {**env, "TMPDIR": str(disk)}
        index = ("index", "docs", "--extractor", "spacy")
        done = run_sarag(*index, cwd=tmp_path, env=full)
        done.fails(1, "the disk is full", "TMPDIR")
        done = run_sarag(*index, "--language", "en", cwd=tmp_path, env=full)
        assert done.code == 0, done


def test_a_limit_of_the_size_of_files(work: Path, env: dict[str, str]) -> None:
    """For whoever is not root: the same through RLIMIT_FSIZE."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = run_sarag(*INDEX, cwd=work, env=env, preexec_fn=limited)
    done.fails(1, "the file size limit is exceeded", "sources are in the graph")
    count = sound(work / "kg")
    assert f"; {count} sources are in the graph" in done.err
    again = run_forked(*INDEX, cwd=work, env=env)
    assert (again.code, again.complaints) == (0, []), again
    assert graphs_of(work / "kg") == undisturbed(work, env, *INDEX)
