"""Runs functions in child processes, which may crash, hang or run out of memory.

Native parsers overflow their stacks on hostile input, and some parsers take quadratic time; in a
child process, either results in an exception. `multiprocessing`, and thus pebble and billiard,
would import the caller's ``__main__`` again in each child, which breaks scripts without an
``if __name__ == "__main__"`` guard; loky has no time limit for a call. Therefore the processes are
started here, and only framing, timeouts and pickling are those of `multiprocessing.connection`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.sandbox.memory import half_of_memory, machine_memory, process_memory

__all__ = [
    "EndedError",
    "Limits",
    "half_of_memory",
    "machine_memory",
    "process_memory",
    "run",
    "stream",
]

READY, ITEM, DONE, FAILED = "ready", "item", "done", "failed"
"""Kinds of messages of a child: it has started; an item of a stream; the result of a task, with
whether the child is too large to be reused; the exception of a task."""
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")
_START = 60.0
"""Time limit in seconds for starting a child, which normally takes 0.15."""
_MAX_IDLE = 2
"""The maximum number of idle children that are kept for further tasks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a task.

    seconds: wall-clock time of a call, or between two items of a stream. memory: address space of
    the child process in bytes, if the system can limit it.
    """

    seconds: float
    memory: int


class EndedError(SaragError):
    """A task whose child process died; the message is a predicate, such as "took too long".

    `by_time`: the time limit was exceeded.
    """

    def __init__(self, message: str, *, by_time: bool = False) -> None:
        super().__init__(message)
        self.by_time = by_time


def run(
    function: Callable[_Arguments, _Result],
    limits: Limits,
    *arguments: _Arguments.args,
    **_: _Arguments.kwargs,
) -> _Result:
    """Call a function of this package in a child process, and return its result.

    The function is imported by name; arguments and results are pickled. Raises what the function
    raises, and `EndedError` if the child crashes or exceeds a limit.
    """
    with _acquire() as child:
        child.begin(function, arguments, limits)
        kind, payload = child.receive(limits)
        assert kind == DONE  # noqa: S101 - the function does not return an iterator
        result: _Result = child.finish(payload)
        return result


def stream(
    function: Callable[_Arguments, Iterator[_Result]],
    limits: Limits,
    *arguments: _Arguments.args,
    **_: _Arguments.kwargs,
) -> Generator[_Result, None, None]:
    """Iterate over an iterator that a function of this package returns in a child process.

    The child works ahead as far as the connection buffers items. Raises what `run` raises.
    """
    with _acquire() as child:
        child.begin(function, arguments, limits)
        while True:
            kind, payload = child.receive(limits)
            if kind == DONE:
                child.finish(payload)
                return
            yield payload


class _Child:
    """A child process, and the parent's end of the connection to it."""

    def __init__(self) -> None:
        path = _search_path()
        parent_end, child_end = socket.socketpair()
        with parent_end, child_end:
            self._process = subprocess.Popen(  # noqa: S603 - the same interpreter
                [sys.executable, "-P", "-m", "sarag_rdf.base.sandbox", str(child_end.fileno())],
                stdin=subprocess.PIPE,  # never written; closing it signals the end of the parent
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("SARAG_DEBUG") else subprocess.DEVNULL,
                pass_fds=(child_end.fileno(),),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            )
            self._connection = Connection(parent_end.detach())
        self.is_reusable = False
        self.search_path = path
        try:
            self._await_start()
        except BaseException:  # also an interrupt, after which nobody would end the process
            self.end()
            raise

    def _await_start(self) -> None:
        try:
            if self._connection.poll(_START):
                self._connection.recv()
                return
        except (EOFError, OSError):
            pass
        raise SaragError(
            "cannot start the child process for untrusted input: set SARAG_DEBUG=1 for details"
        )

    def begin(self, function: Callable[..., Any], arguments: Any, limits: Limits) -> None:
        self.is_reusable = False
        folder = None
        with contextlib.suppress(OSError):  # the folder may have been deleted
            folder = os.getcwd()  # noqa: PTH109 - sent as a string
        try:
            self._connection.send((function, arguments, limits, folder))
        except OSError as error:
            raise self._death() from error

    def receive(self, limits: Limits) -> tuple[str, Any]:
        """The next message; raises what the task raised, or `EndedError`."""
        try:
            if not self._connection.poll(limits.seconds):
                message = f"took more than {limits.seconds:g} seconds to read"
                raise EndedError(message, by_time=True)
            kind, payload = self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error
        if kind == FAILED:
            if isinstance(payload, MemoryError):
                raise EndedError(f"needs more than {limits.memory >> 20} MiB of memory to read")
            self.is_reusable = True
            raise payload
        return kind, payload

    def finish(self, payload: tuple[Any, bool]) -> Any:
        result, is_too_large = payload
        self.is_reusable = not is_too_large
        return result

    def _death(self) -> EndedError:
        """The error for a process that has died."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(5)
            if code == -signal.SIGALRM:
                return EndedError("took too long to read", by_time=True)
            if code == -signal.SIGKILL:
                return EndedError("needed more memory to read than is available")
            if code < 0:
                return EndedError(f"crashed its parser ({signal.Signals(-code).name})")
        return EndedError("ended its parser")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Kill the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()


_idle: list[_Child] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _acquire() -> Iterator[_Child]:
    """A child for exclusive use, which is killed afterwards unless it can be reused."""
    with _lock:
        child = _idle.pop() if _idle else None
    if child is not None and not (child.is_alive and child.search_path == _search_path()):
        child.end()
        child = None
    if child is None:
        child = _Child()
    try:
        yield child
    finally:
        with _lock:
            is_kept = child.is_reusable and len(_idle) < _MAX_IDLE
            if is_kept:
                _idle.append(child)
        if not is_kept:
            child.end()


def _search_path() -> list[str]:
    """The module search path of this process, without the working directory."""
    package = str(Path(__file__).parents[3])
    return [*(entry for entry in sys.path if entry), package]


@atexit.register
def _end_all() -> None:
    with _lock:
        while _idle:
            _idle.pop().end()


def _reset() -> None:
    """Forget the children after a fork, because they belong to the parent."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
