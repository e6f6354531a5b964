"""Indexing in several processes: the same graph, whatever happens to a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import EndpointDownError, InputError, ModelError, UsageError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Usage, Value
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.plugins.threads import map_in_order
from sarag_rdf.plugins.workers.pool import (
    ClosedError,
    NoRoomError,
    Pool,
    ProcessWorker,
    WorkerDiedError,
    process_pool,
)
from sarag_rdf.plugins.workers.spread import CACHE, SHARD, Arrived, SpreadExtractor
from sarag_rdf.plugins.workers.work import Models, Recipe
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import CapitalExtractor
from tests.workers.scripted import (
    Scripted,
    content,
    extracted,
    index,
    lives,
    processes,
    sources,
    started,
    title,
    until,
)

COUNT = 3 * SHARD + 4


def vectors_of(folder: Path, text: str) -> object:
    cache = CachedEmbedder(HashEmbedder(), folder / "cache" / "embeddings.sqlite", keep=False)
    return cache.cached(text)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The graph without workers."""
    folder = tmp_path_factory.mktemp("alone")
    report = index(folder / "kg", Scripted(folder / "notes"), COUNT)
    assert (report.added, report.problems) == (COUNT, [])
    assert processes(folder / "notes") == {os.getpid()}
    return content(folder / "kg")


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_change_the_graph(
    tmp_path: Path, expected: list[str], workers: int
) -> None:
    notes = tmp_path / "notes"
    report = index(tmp_path / "kg", Scripted(notes, together=workers), COUNT, workers)
    assert (report.added, report.problems) == (COUNT, [])
    assert content(tmp_path / "kg") == expected
    assert len(processes(notes)) == workers
    assert os.getpid() not in processes(notes)
    assert set(extracted(notes).values()) == {1}
    assert not any(map(lives, processes(notes)))
    assert not (tmp_path / "kg" / "cache" / CACHE).exists()


def test_texts_are_embedded_by_the_workers(tmp_path: Path) -> None:
    """The embedder of this process is not called, neither for new texts nor for a new model."""

    class Absent(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            raise AssertionError(texts)

        def __reduce__(self) -> object:  # type: ignore[override]
            return HashEmbedder, ()

    for added, updated, model in ((40, 0, "a"), (0, 0, "a"), (0, 40, "b")):
        folder, extractor = tmp_path / "kg", Scripted(tmp_path / "notes", model=model)
        with sarag_rdf.open(folder, embedder=Absent(), endpoint=None) as kg:
            report = kg.index(sources(40), extractor=extractor, workers="2")
            assert (report.added, report.updated) == (added, updated)
        assert vectors_of(folder, sources(1)[0].title + "\n" + sources(1)[0].text) is not None
        for file in (folder / "cache").glob("embeddings.sqlite*"):
            file.unlink()  # embedded again in the second round, in which no source is new
        for file in (folder / "cache" / "vectors").rglob("*"):
            if file.is_file():
                file.unlink()


def test_a_killed_worker_repeats_only_its_own_documents(
    tmp_path: Path, expected: list[str]
) -> None:
    notes = tmp_path / "notes"
    deadly = title(SHARD + 5)
    report = index(tmp_path / "kg", Scripted(notes, kills_once=(deadly,)), COUNT, 2)
    assert (report.added, report.problems) == (COUNT, [])
    assert content(tmp_path / "kg") == expected
    again = {name for name, times in extracted(notes).items() if times > 1}
    assert again == {title(n) for n in range(SHARD, SHARD + 6)}


def test_a_document_that_kills_every_worker_is_reported_and_the_others_are_indexed(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    report = index(tmp_path / "kg", Scripted(notes, kills=(title(3),)), 40, 2)
    assert report.added == 39
    [problem] = report.problems
    assert str(problem) == "3.txt: the worker process has ended (SIGKILL)"
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.stats()["sources"] == 39


def test_an_exception_is_what_it_is_without_workers(tmp_path: Path) -> None:
    extractor = Scripted(tmp_path / "notes", fails=(title(2),), raises=(title(50),))
    outcomes = []
    for workers in (None, 2):
        folder = tmp_path / f"kg{workers}"
        with pytest.raises(EndpointDownError, match="Part 50 is down") as raised:
            index(folder, extractor, COUNT, workers)
        assert type(raised.value) is EndpointDownError
        outcomes.append(content(folder))
        report = index(folder, Scripted(tmp_path / "notes", fails=(title(2),)), COUNT, workers)
        assert [str(problem) for problem in report.problems] == ["2.txt: Part 2 fails"]
        outcomes.append(content(folder))
    assert outcomes[:2] == outcomes[2:]


def test_a_killed_writer_loses_nothing_that_a_worker_returned(tmp_path: Path) -> None:
    total, notes = 8 * SHARD, tmp_path / "notes"
    with started(tmp_path, 2, total, seconds=0.02) as writer:
        until(lambda: len(extracted(notes)) > 4.5 * SHARD)
        writer.kill()
    until(lambda: not any(map(lives, processes(notes))), 10)
    first = extracted(notes)
    index(tmp_path / "kg", Scripted(notes), total, 2)
    repeated = [name for name in first if extracted(notes)[name] > 1]
    assert len(extracted(notes)) == total
    assert len(repeated) <= 2 * SHARD
    index(tmp_path / "alone", Scripted(tmp_path / "others"), total)
    assert content(tmp_path / "kg") == content(tmp_path / "alone")


def test_an_interrupt_ends_the_workers_at_once(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with started(tmp_path, 2, COUNT, seconds=5) as writer:  # a batch takes minutes
        until(lambda: len(processes(notes)) == 2)
        writer.send_signal(signal.SIGINT)
        writer.wait(20)
    assert writer.returncode
    assert not any(map(lives, processes(notes)))


def test_documents_are_taken_as_workers_can_extract_them(tmp_path: Path) -> None:
    """At most two batches a worker are held, however slowly the results are taken."""
    taken = 0

    def documents() -> Iterator[Document]:
        nonlocal taken
        for number in range(100 * SHARD):
            taken += 1
            yield Document(f"urn:{number}", "urn:", title(number), "Ada met Bea.", 0, 12)

    recipe = Recipe(CapitalExtractor(), None).pickled()
    pool = process_pool(2, recipe)
    texts = CachedEmbedder(HashEmbedder(), None)
    method = CapitalExtractor.method
    extractor = SpreadExtractor(method, pool, texts, Arrived(method, None))
    results = extractor.extract(documents())
    for _ in range(SHARD + 1):
        assert isinstance(next(results), Extraction)
        assert taken <= 5 * SHARD
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(ClosedError):
        pool.call("check")


def test_what_calls_an_endpoint_stays_in_this_process(tmp_path: Path) -> None:
    """Workers would need its key; texts are embedded by workers all the same."""

    class Calling(Scripted):
        usage = Usage(calls=1)

    notes = tmp_path / "notes"
    assert index(tmp_path / "kg", Calling(notes), 40, 2).added == 40
    assert processes(notes) == {os.getpid()}


@pytest.mark.parametrize("text", ["0", "-1", "two", "1001", "1.5", "²"])
def test_a_bad_number_is_refused_before_anything_is_read(sarag: Sarag, text: str) -> None:
    Path("a.txt").write_text("Ada met Bea.")
    result = sarag("index", "a.txt", f"--workers={text}")
    result.fails(2, "give a number from 1 to 1000, or ray://HOST:PORT")
    assert not Path("kg").exists()


def test_an_unknown_kind_is_refused(sarag: Sarag) -> None:
    Path("a.txt").write_text("Ada met Bea.")
    sarag("index", "a.txt", "--workers", "dask://here:1").fails(2, "choose from processes, ray")


def test_the_settings_of_a_folder_that_is_not_trusted_start_no_workers(sarag: Sarag) -> None:
    Path("a.txt").write_text("Ada met Bea.")
    Path("sarag.toml").write_text('workers = "ray://evil.example:1"\n')
    sarag("index", "a.txt").fails(2, "sarag.toml, line 1: workers = ", "run sarag trust")


def test_an_object_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    class Local(CapitalExtractor):
        pass

    with (
        sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg,
        pytest.raises(UsageError, match="index without workers"),
    ):
        kg.index(sources(2), extractor=Local(), workers="1")


def test_a_worker_that_cannot_load_its_recipe_says_so() -> None:
    start = partial(process_pool, 1)
    pickled = Recipe(CapitalExtractor(), None).pickled()
    version, _, rest = pickled.partition(b"\0")
    wrong = rest.replace(b"CapitalExtractor", b"CapitalExtractoX")
    with pytest.raises(UsageError, match="define their classes in a module"):
        start(version + b"\0" + wrong).call("check")
    with pytest.raises(UsageError, match="install the same"):
        start(b"0.0.0\0" + rest).call("check")


def test_without_room_for_another_worker_the_first_does_the_work() -> None:
    """As on a cluster that has lost a node."""
    recipe = Recipe(None, HashEmbedder()).pickled()
    workers: list[ProcessWorker] = []
    starts = count()

    def start() -> ProcessWorker:
        if next(starts):
            raise NoRoomError("no processor is free")
        workers.append(ProcessWorker(recipe, 1))
        return workers[-1]

    pool = Pool(start, 3)
    parts = [(f"text {number}",) for number in range(20)]
    found = [*map_in_order(lambda part, _: pool.call("embed", part), parts, 3)]
    assert [matrix.tolist() for matrix in found] == [
        HashEmbedder().embed(part).tolist() for part in parts
    ]
    workers[0].end()
    with pytest.raises(WorkerDiedError):
        pool.call("embed", parts[0])
    with pytest.raises(NoRoomError):
        pool.call("embed", parts[0])
    pool.close()


def test_a_worker_that_dies_at_every_start_is_an_error() -> None:
    starts = []

    def start() -> ProcessWorker:
        starts.append(ProcessWorker(Recipe(None, None).pickled(), 1))
        starts[-1].end()
        return starts[-1].call("check") or starts[-1]

    pool = Pool(start, 2)
    with pytest.raises(ModelError):
        pool.call("check")
    assert len(starts) == 3
    pool.close()


def test_the_first_results_of_a_batch_are_kept_where_the_extractor_breaks_off(
    tmp_path: Path,
) -> None:
    extractor = Scripted(tmp_path / "notes", raises=("b",), fails=("a",))
    documents = [Document(f"urn:{t}", "urn:", t, "Ada met Bea.", 0, 12) for t in "xabc"]
    shard = Models(Recipe(extractor, HashEmbedder()).pickled()).extract(documents, embeds=True)
    assert [type(result) for result in shard.results] == [Extraction, InputError]
    assert isinstance(shard.error, EndpointDownError)
    assert shard.texts == ("x\nAda met Bea.", "Ada met Bea.")
    assert shard.vectors is not None
    assert (shard.vectors == HashEmbedder().embed(shard.texts)).all()


def test_extractions_are_stored_as_they_are_or_not_at_all(tmp_path: Path) -> None:
    date = Value("1867", "1867", "http://www.w3.org/2001/XMLSchema#gYear")
    whole = Extraction(
        (Mention("Ada 🦀", "person", ("A",), ("She.",), ("urn:c",)), Mention("\udc80")),
        (Relation("Ada 🦀", "met", "1867", "", 0.1, "urn:p", True, date, date),),
    )
    unlike = Extraction((), (Relation("a", "b", "c", confidence=float("nan")),))
    documents = [Document(f"urn:{n}", "urn:", "", "text", 0, 4) for n in range(3)]
    arrived = Arrived(Method("x", "y"), tmp_path / CACHE)
    arrived.put(zip(documents, [whole, unlike, InputError("no")], strict=True))
    assert arrived.get(documents) == {"urn:0": whole}
    assert Arrived(Method("x", "z"), tmp_path / CACHE).get(documents) == {}
    arrived.delete()
    assert [*tmp_path.iterdir()] == []
