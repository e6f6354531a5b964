"""The child process, which runs tasks until its parent closes the connection.

Started as ``python -P -m sarag_rdf.base.sandbox FD``, where FD is a socket to the parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.sandbox import DONE, FAILED, ITEM, READY, Limits

_GRACE = 5.0
"""Seconds after the time limit at which a child kills itself, if its parent has not done so."""
_MAX_PEAK = 512 << 20
"""Bytes of peak memory after which a child is replaced, to return its memory to the system."""


def main(descriptor: int) -> None:
    """Run the tasks of the parent; returns when the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _die_with_parent()
    connection = Connection(descriptor)
    connection.send((READY, None))
    with contextlib.suppress(EOFError, OSError):
        while True:
            function, arguments, limits, folder = connection.recv()
            if folder is not None:  # paths may be relative to the caller's working directory
                with contextlib.suppress(OSError):
                    os.chdir(folder)
            _run(connection, function, arguments, limits)


def _die_with_parent() -> None:
    """Make the system kill this process when the parent's end of standard input closes.

    The signal also works while a native parser holds the global interpreter lock.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def _run(
    connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits
) -> None:
    _limit_memory(limits.memory)
    try:
        with _alarm(limits):
            result = function(*arguments)
        if isinstance(result, Iterator):
            _stream(connection, result, limits)
            result = None
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - raised by the parent
        _send_error(connection, error)
    else:
        connection.send((DONE, (result, _peak_memory() > _MAX_PEAK)))


def _stream(connection: Connection, items: Iterator[Any], limits: Limits) -> None:
    """Send items one by one; the time until the parent receives them does not count."""
    end = object()
    while True:
        with _alarm(limits):
            item = next(items, end)
        if item is end:
            return
        connection.send((ITEM, item))


def _send_error(connection: Connection, error: Exception) -> None:
    if not isinstance(error, SaragError):
        error.add_note(f"in the child process:\n{traceback.format_exc()}")
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        connection.send((FAILED, error))
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - an exception that cannot be pickled
        connection.send((FAILED, RuntimeError(f"{type(error).__name__}: {error}")))


@contextlib.contextmanager
def _alarm(limits: Limits) -> Iterator[None]:
    """Kill this process after the time limit, in case the parent cannot."""
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _limit_memory(size: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _peak_memory() -> int:
    """The peak memory of this process in bytes.

    On Linux, `getrusage` includes the peak of the parent process, so /proc is used instead.
    """
    with contextlib.suppress(OSError, StopIteration, ValueError):
        status = Path("/proc/self/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


if __name__ == "__main__":
    main(int(sys.argv[1]))
