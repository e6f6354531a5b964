"""Where a command writes: standard output, or a file that is replaced only when all is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import click


@contextmanager
def written_to(output: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that is replaced at the end; says which."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with _replacing(output) as stream:
        yield stream
    click.echo(f"sarag: written to {output}", err=True)


@contextmanager
def _replacing(output: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file at the end; a pipe or device is written itself."""
    if output.exists() and not output.is_file():
        with output.open("wb") as stream:
            yield stream
        return
    target = output.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(output)
        raise
