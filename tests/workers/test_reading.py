"""Reading with workers: the same sources and problems, whatever happens to a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base import sandbox
from sarag_rdf.base.types import Source
from sarag_rdf.documents.format import Duplicate, InputProblem, Record
from sarag_rdf.documents.reading import InputFile, Read, ReadOptions, read
from sarag_rdf.plugins.workers.spread import Processes, seconds
from sarag_rdf.plugins.workers.work import Models, Recipe
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT, environment, interruptible
from tests.sample_graph import CapitalExtractor, quads_of
from tests.workers.converted import CONVERTER, PAGE, folder_of_all_kinds, pdf
from tests.workers.scripted import content, lives, processes, until


@pytest.fixture(autouse=True)
def converter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(CONVERTER)
    yield
    sandbox._end_idle()


def everything(folder: Path, workers: str | None, **options: Any) -> list[Read]:
    return [*read([folder], ReadOptions(workers=workers, max_chars=6_000, **options))]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_the_number_of_workers_does_not_change_what_is_read(tmp_path: Path, workers: str) -> None:
    folder = folder_of_all_kinds(tmp_path / "files")
    expected = everything(folder, None)
    kinds = [type(item.outcome) for item in expected]
    assert (kinds.count(Source), kinds.count(InputProblem), kinds.count(Duplicate)) == (28, 12, 1)
    assert everything(folder, workers) == expected


def test_the_number_of_workers_does_not_change_the_graph(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = folder_of_all_kinds(tmp_path / "files")
    seen = []
    for workers in (None, "1", "3"):
        caplog.clear()
        place = tmp_path / f"kg{workers}"
        with sarag_rdf.open(place, embedder=HashEmbedder(), endpoint=None) as kg:
            report = kg.index(folder, extractor=CapitalExtractor(), workers=workers)
            again = kg.sync(folder, extractor=CapitalExtractor(), workers=workers)
        assert (again.added, again.deleted, again.unchanged) == (0, 0, report.added)
        seen.append((content(place), report.problems, report.added, caplog.messages))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][2] == 29
    assert "1 column is not indexed" in " ".join(caplog.messages)


def test_documents_are_converted_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for two other processes; there are no more of them afterwards than before."""
    notes = tmp_path / "notes"
    (tmp_path / "files").mkdir()
    for number in range(12):
        pdf(tmp_path / "files" / f"{number:02}.pdf", noted=str(notes), together=3)
    found = [item.outcome for item in everything(tmp_path / "files", "3")]
    assert [type(outcome) for outcome in found] == [Source] * 12
    assert len(processes(notes)) == 3
    until(lambda: len([*filter(lives, processes(notes))]) <= 2, 10)


def test_a_killed_process_is_the_failure_of_its_file_alone(tmp_path: Path) -> None:
    for number in range(8):
        pdf(tmp_path / f"{number}.pdf", kills=number == 3)
    found = [item.outcome for item in everything(tmp_path, "2")]
    problems = [str(outcome) for outcome in found if isinstance(outcome, InputProblem)]
    assert len(found) == 8
    expected = "3.pdf: needed more memory to read than is available: leave it out"
    assert problems == [f"{tmp_path}/{expected}"]


def test_files_are_converted_as_they_are_needed(tmp_path: Path) -> None:
    """Two a worker are ahead, however slowly the results are taken."""
    notes = tmp_path / "notes"
    (tmp_path / "files").mkdir()
    for number in range(40):
        pdf(tmp_path / "files" / f"{number:02}.pdf", noted=str(notes))
    items = read([tmp_path / "files"], ReadOptions(workers="2"))
    for _ in range(3):
        next(items)
    begun = notes.read_text().splitlines()
    assert len(begun) <= 7
    del items
    assert len(notes.read_text().splitlines()) <= 9


def test_small_and_plain_files_are_read_without_another_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ada met Bea. " * 1_000)
    (tmp_path / "b.md").write_text("Ada met Bea. " * 1_001)
    (tmp_path / "c.html").write_text("<p>Ada met Bea.")
    (tmp_path / "d.html").write_text(PAGE)
    (tmp_path / "e.json").write_text(json.dumps([{"text": "Ada."}] * 1_000))
    taken: list[str] = []

    class Recording(Processes):
        def read(self, files: Any) -> Any:
            for file in files:
                taken.append(file.key)
                yield [*file.records()]

    from sarag_rdf.documents.reading import _PathReader

    reader = _PathReader(ReadOptions())
    assert len([*reader.read([(tmp_path, "")], Recording(2))]) > 4
    assert taken == ["d.html"]


def test_a_worker_elsewhere_reads_what_it_is_sent(tmp_path: Path) -> None:
    """As on a cluster: it has no such file, and gives the same records and problems."""
    models = Models(Recipe(None, None).pickled())
    options = ReadOptions()
    good, bad = pdf(tmp_path / "good.pdf"), tmp_path / "bad.pdf"
    bad.write_text("no signature")
    from sarag_rdf.plugins.office import PDF

    for path in (good, bad):
        file = InputFile(str(path), path.name, PDF, options, path, path.stat().st_size)
        expected, data = [*file.records()], path.read_bytes()
        path.unlink()
        assert models.convert(file, data) == (expected, ())
        assert [type(each) for each in expected] == [Record if path == good else InputProblem]


def test_an_interrupt_ends_reading_at_once_and_leaves_the_graph(tmp_path: Path) -> None:
    notes, files, place = tmp_path / "notes", tmp_path / "files", tmp_path / "kg"
    files.mkdir()
    pdf(files / "0.pdf")
    with sarag_rdf.open(place, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(files, extractor=CapitalExtractor())
    before = quads_of(place)
    for number in range(1, 6):
        pdf(files / f"{number}.pdf", noted=str(notes), seconds=600)
    command = ["-m", "sarag_rdf", "index", files, "--kg", place, "--workers", "3"]
    with subprocess.Popen(
        [sys.executable, *map(str, command), "--extractor", "spacy"],
        env=environment(PYTHONPATH=os.pathsep.join((str(ROOT), str(CONVERTER)))),
        preexec_fn=interruptible,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        until(lambda: len(processes(notes)) == 3)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=20)
    assert program.returncode == 130
    assert err.splitlines()[-1].startswith("sarag: interrupted")
    until(lambda: not any(map(lives, processes(notes))), 10)
    assert quads_of(place) == before


def test_the_time_with_workers_is_that_of_what_is_busy_longest() -> None:
    """100 s of work for workers and 10 s for the writer, by hand; batches are of 32 documents."""
    assert seconds(4, 100.0, 10.0, 1_000) == 25.0
    assert seconds(20, 100.0, 10.0, 1_000) == 10.0
    assert seconds(1_000, 100.0, 10.0, 33) == 50.0
    shared = 110.0 / (os.cpu_count() or 1)
    assert Processes(1_000).seconds(100.0, 10.0, 100_000) == max(10.0, shared)
    assert Processes(1).seconds(100.0, 10.0, 100_000) == 100.0 if shared < 100 else shared
