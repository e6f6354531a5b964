"""Runs functions in child processes, each of which may crash, hang or run out of memory.

Native parsers overflow their stacks on hostile input, and some parsers take quadratic time; in a
child process either costs one error. `multiprocessing`, and with it pebble, loky and billiard,
imports the caller's ``__main__`` again in each child, so that a script without an
``if __name__ == "__main__"`` guard would break: hence own processes, with the framing, the time
limit of a read and the pickling of `multiprocessing.connection`.
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
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sarag_rdf.errors import SaragError
from sarag_rdf.sandbox.protocol import Kind, Limits

_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")
_START = 60.0
"""Seconds that a child may take to start; measured are 0.15."""
_MOST_IDLE = 2
"""Children that are kept for further tasks."""


class EndedError(SaragError):
    """A task ended with its child process: the message says what it did, such as "took too long".

    `by_time`: it is the limit of time that it exceeded.
    """

    def __init__(self, what: str, *, by_time: bool = False) -> None:
        super().__init__(what)
        self.by_time = by_time


def run(
    function: Callable[_Arguments, _Result],
    limits: Limits,
    *arguments: _Arguments.args,
    **_: _Arguments.kwargs,
) -> _Result:
    """What a function of this package returns in a child process.

    The function is found by its name; arguments and results are pickled. Raises what it raises,
    and `EndedError` if the child crashes, or exceeds a limit.
    """
    with _borrowed() as child:
        child.begin(function, arguments, limits)
        kind, payload = child.receive(limits)
        assert kind is Kind.DONE  # noqa: S101 - the function does not return an iterator
        result: _Result = child.finish(payload)
        return result


def stream(
    function: Callable[_Arguments, Iterator[_Result]],
    limits: Limits,
    *arguments: _Arguments.args,
    **_: _Arguments.kwargs,
) -> Generator[_Result, None, None]:
    """The items of an iterator that a function of this package returns in a child process.

    The child works ahead by as much as the connection holds. Raises what `run` raises.
    """
    with _borrowed() as child:
        child.begin(function, arguments, limits)
        while True:
            kind, payload = child.receive(limits)
            if kind is Kind.DONE:
                child.finish(payload)
                return
            yield payload


class _Child:
    """A process, and the parent's end of the connection to it."""

    def __init__(self) -> None:
        path = _search_path()
        own, other = socket.socketpair()
        with own, other:
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, "-P", "-m", "sarag_rdf.sandbox", str(other.fileno())],
                stdin=subprocess.PIPE,  # never written to: its end tells the child of ours
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("SARAG_DEBUG") else subprocess.DEVNULL,
                pass_fds=(other.fileno(),),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            )
            self._connection = Connection(own.detach())
        self.usable = False
        self.search_path = path
        self._await_start()

    def _await_start(self) -> None:
        try:
            if self._connection.poll(_START):
                self._connection.recv()
                return
        except (EOFError, OSError):
            pass
        self.end()
        raise SaragError(
            "the process that reads foreign input does not start: set SARAG_DEBUG=1 to see why"
        )

    def begin(self, function: Callable[..., Any], arguments: Any, limits: Limits) -> None:
        self.usable = False
        folder = None
        with contextlib.suppress(OSError):  # it may have been deleted
            folder = os.getcwd()  # noqa: PTH109 - a string is sent
        try:
            self._connection.send((function, arguments, limits, folder))
        except OSError as error:
            raise self._death() from error

    def receive(self, limits: Limits) -> tuple[Kind, Any]:
        """The next message; raises what the task raised, or `EndedError`."""
        try:
            if not self._connection.poll(limits.seconds):
                what = f"took more than {limits.seconds:g} seconds to read"
                raise EndedError(what, by_time=True)
            kind, payload = self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._death() from error
        if kind is Kind.FAILED:
            if isinstance(payload, MemoryError):
                raise EndedError(_memory(limits))
            self.usable = True
            raise payload
        return kind, payload

    def finish(self, payload: tuple[Any, bool]) -> Any:
        result, is_spent = payload
        self.usable = not is_spent
        return result

    def _death(self) -> EndedError:
        """Why the process ended by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(5)
            if code == -signal.SIGALRM:
                return EndedError("took too long to read", by_time=True)
            if code == -signal.SIGKILL:
                return EndedError("needed more memory to read than there is")
            if code < 0:
                return EndedError(f"made its parser crash ({signal.Signals(-code).name})")
        return EndedError("made its parser end")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End the process at once."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()


_idle: list[_Child] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _borrowed() -> Iterator[_Child]:
    """A child that nobody else uses; ended afterwards if it cannot take another task."""
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
            kept = child.usable and len(_idle) < _MOST_IDLE
            if kept:
                _idle.append(child)
        if not kept:
            child.end()


def _search_path() -> list[str]:
    """Where the child finds modules: where this process does, without the working folder."""
    package = str(Path(__file__).parents[2])
    return [*(entry for entry in sys.path if entry), package]


def _memory(limits: Limits) -> str:
    return f"needs more than {limits.memory >> 20} MiB of memory to read"


@atexit.register
def _end_all() -> None:
    with _lock:
        while _idle:
            _idle.pop().end()


def _forget() -> None:
    """In a forked process: the children are those of its parent."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
