"""A child process may do anything: its parent gets one error, and the next task its answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.sandbox import EndedError, Limits, run, stream
from tests.attack import victims
from tests.command import environment
from tests.server.running import alive, all_end

LIMITS = Limits(seconds=120, memory=2 << 30)
SHORT = Limits(seconds=1, memory=2 << 30)


def test_the_tasks_of_one_thread_share_a_child() -> None:
    numbers = {run(victims.number, LIMITS) for _ in range(20)}
    assert len(numbers) == 1
    assert os.getpid() not in numbers


def test_a_child_works_where_its_caller_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A child that is used again, too, so that relative paths mean the same."""
    children = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert run(victims.folder, LIMITS) == str(tmp_path / name)
        children.add(run(victims.number, LIMITS))
    assert len(children) == 1


def test_a_child_of_a_large_process_is_used_again() -> None:
    """The peak memory that Linux reports for a new process begins with that of its parent."""
    code = (
        "from sarag_rdf.base.sandbox import Limits, run\n"
        "from tests.attack import victims\n"
        "large = bytearray(b'x') * (700 << 20)\n"
        "limits = Limits(seconds=120, memory=2 << 30)\n"
        "print(len({run(victims.number, limits) for _ in range(3)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("victim", "limits", "message"),
    [
        (victims.crash, LIMITS, r"crashed its parser \(SIGABRT\)"),
        (victims.leave, LIMITS, "ended its parser"),
        (victims.hang, SHORT, "took more than 1 seconds"),
        (victims.grow, LIMITS, "needs more than 2048 MiB of memory"),
    ],
)
def test_a_child_that_ends_is_one_error(
    victim: Callable[[], object], limits: Limits, message: str
) -> None:
    with pytest.raises(EndedError, match=message) as caught:
        run(victim, limits)
    assert isinstance(caught.value, SaragError)
    assert caught.value.by_time == (victim is victims.hang)
    assert run(victims.number, LIMITS) != os.getpid()


def test_what_a_task_raises_is_raised() -> None:
    before = run(victims.number, LIMITS)
    with pytest.raises(ValueError, match="it is broken"):
        run(victims.raise_error, LIMITS, "it is broken")
    assert run(victims.number, LIMITS) == before


def test_items_come_one_by_one() -> None:
    assert list(stream(victims.count, LIMITS, 1_000)) == list(range(1_000))
    assert list(stream(victims.count, LIMITS, 0)) == []
    before = run(victims.number, LIMITS)
    unfinished = stream(victims.count, LIMITS, 1_000_000)
    assert next(unfinished) == 0
    unfinished.close()
    assert all_end({before})


def test_items_before_a_crash_and_a_hang_are_given() -> None:
    crashing = stream(victims.count, LIMITS, 10, 4)
    assert [next(crashing) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(EndedError, match="SIGABRT"):
        next(crashing)
    hanging = stream(victims.hang_after, SHORT, 2)
    assert [next(hanging), next(hanging)] == [0, 1]
    with pytest.raises(EndedError, match="took more than"):
        next(hanging)


def test_threads_have_children_of_their_own() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda end: list(stream(victims.count, LIMITS, end)), range(40)))
    assert found == [list(range(end)) for end in range(40)]


SCRIPT = """
import sys
from sarag_rdf.base.sandbox import Limits, run
from tests.attack import victims
print("started")
print(run(victims.number, Limits(120, 2 << 30)), flush=True)
{rest}
"""


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    """Nor does a file in the working folder stand for a module."""
    script = tmp_path / "scripts" / "script.py"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(rest=""))
    (tmp_path / "pickle.py").write_text("raise SystemExit('a file of the working folder')")
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    started, child = done.stdout.split()
    assert started == "started"
    assert all_end({int(child)})


def test_a_child_ends_with_its_parent_though_it_hangs() -> None:
    rest = "run(victims.hang, Limits(600, 2 << 30))"
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(rest=rest)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout as lines:
        assert lines.readline() == "started\n"
        child = int(lines.readline())
        assert alive(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert all_end({child})
