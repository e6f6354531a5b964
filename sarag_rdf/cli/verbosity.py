"""The options -q and -v of every command, and notes on standard error."""

from __future__ import annotations

import logging
from typing import Any

import click

_QUIET = "sarag_rdf.quiet"
_LIBRARY = "sarag_rdf"


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
        logger = logging.getLogger(_LIBRARY)
        context.call_on_close(lambda level=logger.level: logger.setLevel(level))
        logger.setLevel(logging.DEBUG)
