"""Runs functions in child processes, which may crash, hang or run out of memory.

Native parsers overflow their stacks on hostile input, and some parsers take quadratic time; in a
child process, either results in an exception. `multiprocessing` would import the caller's
``__main__`` again in each child, which breaks scripts without a guard; loky has no time limit for
a call. So processes are started here; framing and pickling are those of `multiprocessing`.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

from sarag_rdf.base.errors import SaragError

_READY, _ITEM, _DONE, _FAILED = "ready", "item", "done", "failed"
"""Kinds of messages of a child: it has started; an item, the result, the exception of a task."""
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")
_START = 60.0
"""Time limit in seconds for starting a child, which normally takes 0.15."""
_MAX_IDLE = 2
"""The maximum number of idle children that wait for further tasks, but for `idle_children`."""
_MAX_MEMORY = 512 << 20
"""Bytes of memory with which a child is replaced, to return them to the system."""
_CHILD: Final = "from sarag_rdf.base.sandbox import main; main({})"
"""The program of a child, with the file descriptor of the connection."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a task.

    seconds: wall-clock time of a call, or between two items of a stream. memory: address space of
    the child process in bytes, if the system can limit it.
    """

    seconds: float
    memory: int


class EndedError(SaragError):
    """A task whose child process died; the message is a predicate, such as "took too long"."""

    def __init__(self, message: str, *, by_time: bool = False) -> None:
        super().__init__(message)
        self.by_time = by_time


def run(
    function: Callable[_Arguments, _Result],
    limits: Limits,
    *arguments: _Arguments.args,
    **_: _Arguments.kwargs,
) -> _Result:
    """Call a function of this package in a child process; raises its errors and `EndedError`."""
    with _acquire() as child:
        child.begin(function, arguments, limits)
        kind, result = child.receive(limits)
        assert kind == _DONE  # noqa: S101 - the function does not return an iterator
        return cast("_Result", result)


def stream(
    function: Callable[_Arguments, Iterator[_Result]],
    limits: Limits,
    *arguments: _Arguments.args,
    **_: _Arguments.kwargs,
) -> Generator[_Result, None, None]:
    """Iterate over what a function returns in a child process, which works ahead."""
    with _acquire() as child:
        child.begin(function, arguments, limits)
        while True:
            kind, item = child.receive(limits)
            if kind == _DONE:
                return
            yield item


def start_process(variables: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a process that runs tasks (`main`) and ends with this one; it finds the same modules.

    `variables` are its environment.
    """
    parent_end, child_end = socket.socketpair()
    with parent_end, child_end:
        process = subprocess.Popen(  # noqa: S603 - the same interpreter
            [sys.executable, "-P", "-c", _CHILD.format(child_end.fileno())],
            stdin=subprocess.PIPE,  # never written; closing it signals the end of the parent
            stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get("SARAG_DEBUG") else subprocess.DEVNULL,
            pass_fds=(child_end.fileno(),),
            env={**variables, "PYTHONPATH": os.pathsep.join(_search_path())},
        )
        return process, Connection(parent_end.detach())


class _Child:
    """A child process, and the parent's end of the connection to it."""

    def __init__(self) -> None:
        self.search_path = _search_path()
        self._process, self._connection = start_process(os.environ)
        self.is_reusable = False
        try:
            has_started = self._connection.poll(_START) and bool(self._connection.recv())
        except (EOFError, OSError):
            has_started = False
        except BaseException:  # an interrupt, after which nobody would end the process
            self.end()
            raise
        if not has_started:
            self.end()
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
        if kind == _FAILED and isinstance(payload, MemoryError):
            raise EndedError(f"needs more than {limits.memory >> 20} MiB of memory to read")
        if kind != _ITEM:
            self.is_reusable = process_memory(self._process.pid) <= _MAX_MEMORY
        if kind == _FAILED:
            raise payload
        return kind, payload

    def _death(self) -> EndedError:
        """The error for a process that has died."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(5)
            if code == -signal.SIGKILL:
                return EndedError("needed more memory to read than is available")
            if code < 0:
                return EndedError(f"crashed its parser ({signal.Signals(-code).name})")
        return EndedError("ended its parser")

    def is_usable(self) -> bool:
        """Whether the process lives, and finds the same modules as this one."""
        return self._process.poll() is None and self.search_path == _search_path()

    def end(self) -> None:
        """Kill the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()


_idle: list[_Child] = []
_most_idle = _MAX_IDLE
_lock = threading.Lock()


@contextlib.contextmanager
def idle_children(number: int) -> Iterator[None]:
    """A block in which so many children may wait for further tasks of several threads."""
    global _most_idle
    _most_idle = max(number, _MAX_IDLE)
    try:
        yield
    finally:
        _most_idle = _MAX_IDLE
        _end_idle(_MAX_IDLE)


@contextlib.contextmanager
def _acquire() -> Iterator[_Child]:
    """A child for exclusive use, which is killed afterwards unless it can be reused."""
    with _lock:
        child = _idle.pop() if _idle else None
    if child is not None and not child.is_usable():
        child.end()
        child = None
    child = child or _Child()
    try:
        yield child
    finally:
        with _lock:
            if is_kept := child.is_reusable and len(_idle) < _most_idle:
                _idle.append(child)
        if not is_kept:
            child.end()


def _search_path() -> list[str]:
    """The module search path of this process, without the working directory."""
    package = str(Path(__file__).parents[2])
    return [*(entry for entry in sys.path if entry), package]


@atexit.register
def _end_idle(kept: int = 0) -> None:
    with _lock:
        while len(_idle) > kept:
            _idle.pop().end()


def _reset() -> None:
    """Forget the children after a fork, because they belong to the parent."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


os.register_at_fork(after_in_child=_reset)


# --------------------------------------------------------------------- In the child process


def main(descriptor: int) -> None:
    """Run the tasks of the parent; returns when the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The system kills this process when the parent's end of standard input closes, even while a
    # native parser holds the global interpreter lock.
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    connection = Connection(descriptor)
    connection.send((_READY, None))
    with contextlib.suppress(EOFError, OSError):
        while True:
            function, arguments, limits, folder = connection.recv()
            if folder is not None:  # paths may be relative to the caller's working directory
                with contextlib.suppress(OSError):
                    os.chdir(folder)
            _run_task(connection, function, arguments, limits)


def _run_task(
    connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits
) -> None:
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        soft = limits.memory if hard == resource.RLIM_INFINITY else min(limits.memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    try:
        result = function(*arguments)
        if isinstance(result, Iterator):
            for item in result:
                connection.send((_ITEM, item))
            result = None
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - raised by the parent
        if not isinstance(error, SaragError):
            error.add_note(f"in the child process:\n{traceback.format_exc()}")
        error.__traceback__ = error.__cause__ = error.__context__ = None
        try:
            connection.send((_FAILED, error))
        except BrokenPipeError:
            raise
        except Exception:  # noqa: BLE001 - an exception that cannot be pickled
            connection.send((_FAILED, RuntimeError(f"{type(error).__name__}: {error}")))
    else:
        connection.send((_DONE, result))


# --------------------------------------------------------------------------------- Memory


_OWN = re.compile(r"^(?:RssAnon|VmSwap):\s+(\d+) kB$", re.MULTILINE)


def machine_memory() -> int:
    """Bytes of the machine's memory, or of its control group, if that has less; 0 if unknown."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
    try:
        group = f"\n{Path('/proc/self/cgroup').read_text()}".partition("\n0::/")[2].strip()
        return min(size, int(Path("/sys/fs/cgroup", group, "memory.max").read_text()))
    except (OSError, ValueError):  # not Linux, no control group, or one without a limit ("max")
        return size


def half_of_memory() -> int:
    """Half of the machine's memory in bytes, but at least 4 GiB."""
    return max(4 << 30, machine_memory() // 2)


def process_memory(process: int) -> int:
    """Bytes of a process's memory, swapped or not; on Linux without mapped files. 0 if it ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0 if Path("/proc/self/status").exists() else _resident(process)
    return sum(int(kib) << 10 for kib in _OWN.findall(status))


def _resident(process: int) -> int:
    """The resident set of a process in bytes, as any POSIX system says it; 0 if it has ended."""
    command = ["/bin/ps", "-o", "rss=", "-p", str(process)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    except OSError:
        return 0
    return int(text) << 10 if text.strip().isdigit() else 0
