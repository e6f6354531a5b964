"""Functions that do to their process what a parser may do on hostile input."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path


def number() -> int:
    return os.getpid()


def folder() -> str:
    return str(Path.cwd())


def crash() -> None:
    os.abort()


def hang() -> None:
    time.sleep(600)


def grow() -> int:
    return len(bytes(8 << 30))


def raise_error(message: str) -> None:
    raise ValueError(message)


def leave() -> None:
    os._exit(3)


def count(end: int, crash_at: int = -1) -> Iterator[int]:
    for place in range(end):
        if place == crash_at:
            os.abort()
        yield place


def hang_after(end: int) -> Iterator[int]:
    yield from range(end)
    hang()
