"""What commands print: notes, JSON or lines of text, progress bars, atomic output files."""

from __future__ import annotations

import json
import logging
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import SaragError, UsageError, one_line
from sarag_rdf.base.files import replacing
from sarag_rdf.base.iris import source_name
from sarag_rdf.base.ports import Advance, Progress
from sarag_rdf.base.sentences import printable_line

if TYPE_CHECKING:
    import jinja2

_QUIET = "sarag_rdf.quiet"
_NOT_WRITABLE = (PermissionError, FileNotFoundError, NotADirectoryError, IsADirectoryError)


def add_verbosity_options(command: click.Command) -> None:
    """Add -q and -v to a command, or to all subcommands of a group; a second call does nothing."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            add_verbosity_options(subcommand)
    elif not any(parameter.name == "quiet" for parameter in command.params):
        command.params += [
            _flag("-q", "--quiet", _set_quiet, "Suppress notes and progress bars."),
            _flag("-v", "--verbose", _set_verbose, "Write a debug log to standard error."),
        ]


def is_quiet() -> bool:
    """Whether the running command was called with -q."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def note(text: str) -> None:
    """Write a note to standard error, unless the command is quiet."""
    if not is_quiet():
        problem(text)


def problem(text: object) -> None:
    """Write a line about a problem to standard error."""
    click.echo(f"sarag: {text}", err=True)


def _flag(short: str, long: str, callback: Any, text: str) -> click.Option:
    return click.Option(
        [short, long], is_flag=True, expose_value=False, callback=callback, help=text
    )


def _set_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_QUIET] = value


def _set_verbose(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Lower the level of the library's loggers until the command ends."""
    if value:
        logger = logging.getLogger("sarag_rdf")
        context.call_on_close(lambda level=logger.level: logger.setLevel(level))
        logger.setLevel(logging.DEBUG)


def emit(options: Mapping[str, Any], data: Any, *lines: str, failed: bool = False) -> int:
    """Print `data` as JSON if the command was called with --json, else lines of text.

    Dataclasses have the keys that their fields name. Returns the exit code: 1 if it `failed`.
    """
    if options["as_json"]:
        echo_json(data)
    else:
        for line in lines:
            click.echo(line)
    return int(failed)


def counted(number: int, noun: str) -> str:
    """A count with its noun: ``1 row``, ``2 rows``, ``2 properties``, ``2 classes``."""
    if number == 1:
        return f"{number} {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}es" if noun.endswith("s") else f"{number} {noun}s"


_NAME = 300
"""Characters of a name that are printed."""
_BLANK = "\0"
"""An empty line in a template, whose other lines without text are left out."""


def line_width() -> int:
    """Characters of a line of text."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 140))


def printable(name: str) -> str:
    """A name as one line, without control characters that could affect a terminal."""
    name = printable_line(name)
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _fill(text: str, indent: int = 0, limit: int | None = None) -> str:
    """Lines of printable text, of which at most `limit` characters are shown."""
    text, margin = printable_line(text), " " * indent
    if limit is not None and len(text) > limit:
        text = text[:limit].rsplit(" ", 1)[0] + " …"
    return textwrap.fill(text, line_width(), initial_indent=margin, subsequent_indent=margin)


def _aligned(text: str, **options: Any) -> str:
    """Lines with aligned cells, which end in tabs; see `columns`."""
    rows = (line.split("\t") for line in text.splitlines() if line.strip())
    return "\n".join(columns(rows, **options))


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - text for a terminal
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "aligned": _aligned,
        "angled": "<{}>".format,
        "bold": partial(click.style, bold=True),
        "counted": counted,
        "dim": partial(click.style, dim=True),
        "fill": _fill,
        "json": partial(json.dumps, ensure_ascii=False),
        "name": printable,
        "one_line": one_line,
        "score": lambda score: f"{score:.{3 if abs(score) >= 0.1 else 5}f}",
        "source": source_name,
        "usage": usage_line,
    }
    return environment


def text_lines(template: str, **values: Any) -> Iterator[str]:
    """The lines of a template of ``cli/templates``, without those that have no text."""
    text = _templates().get_template(template).render(blank=_BLANK, **values)
    return (line.replace(_BLANK, "") for line in text.split("\n") if line.strip())


def usage_line(usage: Any) -> str:
    """Calls, tokens and cost of a language model."""
    cached = f"{usage.cached_calls} from the cache, " if usage.cached_calls else ""
    return (
        f"{usage.calls} calls, {cached}{usage.tokens_in} tokens in, {usage.tokens_out} out, "
        f"${usage.cost:.4f}"
    )


def columns(
    rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = (), most: int = 10_000
) -> Iterator[str]:
    """Indented lines with aligned cells; the columns of `numbers` are aligned to the right.

    Columns are at most `most` characters wide, but for the last one, which is not padded.
    """
    listed = [[one_line(cell) for cell in row] for row in rows]
    widths = [min(most, max(map(len, column))) for column in zip(*listed, strict=True)]
    for row in listed:
        cells = [
            cell.rjust(width) if number in numbers else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        cells[-1] = cells[-1] if len(row) - 1 in numbers else row[-1]
        yield f"  {'  '.join(cells)}".rstrip()


def json_text(data: Any) -> str:
    """Data as the command line prints and writes it, without a line break at the end."""
    return json.dumps(data, ensure_ascii=False, indent=2, default=_plain)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value)


def echo_json(data: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json_text(data))


@contextmanager
def open_output(output: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that is replaced when the block ends without an exception."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with _replace_atomically(output) as stream:
        yield stream
    note(f"written to {output}")


def check_writable(output: Path | None, *suffixes: str) -> None:
    """Raise `UsageError` for a file that could not be written after a long run."""
    if output is None:
        return
    if suffixes and output.suffix.lower() not in suffixes:
        ends = " or ".join(suffixes)
        raise UsageError(f"cannot write {output}: use a name that ends in {ends}")
    if output.is_dir() or not output.resolve().parent.is_dir():
        raise UsageError(f"cannot write {output}: name a file in an existing folder")


def write_output(output: Path | None, text: str) -> None:
    """Write a text as `open_output` does."""
    with open_output(output) as stream:
        stream.write(text.encode())


@contextmanager
def _replace_atomically(output: Path) -> Iterator[IO[bytes]]:
    """Write a temporary file and rename it at the end; a pipe or device is written directly.

    Raises `SaragError` for a file that cannot be written.
    """
    is_special = output.exists() and not output.is_file()
    try:
        with ExitStack() as stack:
            try:
                opened = output.open("wb") if is_special else replacing(output.resolve())
                stream = stack.enter_context(opened)
            except _NOT_WRITABLE as error:
                raise SaragError(
                    f"cannot write {output}: {error.strerror}: name a file in a folder that exists "
                    "and that you may write to"
                ) from error
            yield stream
    except OSError as error:
        error.filename = str(output)
        raise


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """A Progress that shows one bar after the other, if standard error is a terminal."""
    bar: Any = None
    is_hidden = is_quiet() or not sys.stderr.isatty()

    def progress(what: str, total: int) -> Advance:
        from tqdm import tqdm

        nonlocal bar
        if bar is not None:
            bar.close()
        bar = tqdm(total=total, desc=what, file=sys.stderr, disable=is_hidden or total == 0)
        current = bar

        def advance(done: int) -> None:
            current.update(done)

        return advance

    try:
        yield progress
    finally:
        if bar is not None:
            bar.close()
