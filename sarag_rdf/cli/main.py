"""``sarag``: loads commands and settings, and turns exceptions into one line and an exit code."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from keyword import iskeyword
from pathlib import Path
from types import TracebackType

import click

from sarag_rdf import __version__
from sarag_rdf.base.errors import FirstOnly, PluginError, SaragError, lack_of_room, one_line
from sarag_rdf.base.plugins import find, load, plugins
from sarag_rdf.base.redaction import redacted
from sarag_rdf.cli.output import add_verbosity_options
from sarag_rdf.cli.settings_files import FILES, refuse_unknown, settings_files, settings_message

_COMMANDS = {
    "index": ("document_commands", "index documents into a knowledge graph"),
    "update": ("document_commands", "re-index documents that have changed"),
    "delete": ("document_commands", "delete documents from the graph"),
    "sync": ("document_commands", "make the graph match a folder"),
    "import": ("exchange_commands", "import a knowledge graph: Wikibase, SKOS, any RDF"),
    "search": ("question_commands", "find documents and relationships for a question"),
    "ask": ("question_commands", "answer a question from the graph"),
    "strategies": ("question_commands", "list retrievers, reasoners and others with their options"),
    "query": ("query_commands", "run SPARQL"),
    "export": ("exchange_commands", "write the graph as RDF"),
    "merge": ("entity_commands", "declare two entities the same, by hand or by rule"),
    "serve": ("server_commands", "serve a SPARQL endpoint, search and answers over HTTP"),
    "token": ("server_commands", "make a token for a server"),
    "trust": ("settings_files", "let the settings file of a folder set everything"),
    "validate": ("query_commands", "validate the graph against its SHACL shapes"),
    "stats": ("query_commands", "print counts of the graph's contents"),
}
"""Name -> module, and what the command does."""
_RESUMABLE = ("index", "update", "sync", "import", "evaluate")
"""Commands that continue where they were interrupted."""
INTERRUPTED = 130


def command_names() -> tuple[str, ...]:
    """The names of all commands: this package's, then those of plug-ins."""
    return (*_COMMANDS, *(name for name in plugins("commands") if name not in _COMMANDS))


def _load(name: str) -> click.Command:
    """Import the module of a command."""
    if name in _COMMANDS:
        module = importlib.import_module(f"sarag_rdf.cli.{_COMMANDS[name][0]}")
        command: click.Command = getattr(module, f"{name}_" if iskeyword(name) else name)
    else:
        command = load("commands", name)
    add_verbosity_options(command)
    return command


def summary(name: str) -> str:
    """One line of what a command does, or why it cannot be loaded."""
    if name in _COMMANDS:
        return _COMMANDS[name][1]
    try:
        help_text = _load(name).get_short_help_str(limit=200)
    except PluginError as error:
        return str(error)
    return help_text[:1].lower() + help_text[1:].rstrip(".")


class LazyGroup(click.Group):
    """Imports a command's module when it is called: ``sarag --help`` loads no model."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(command_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        is_known = cmd_name in _COMMANDS or find("commands", cmd_name)
        return _load(cmd_name) if is_known else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in command_names()])


def _lazily(names: Iterable[str]) -> Iterator[click.Command]:
    """Commands, each imported when it is asked for, but those that cannot be imported."""
    for name in names:
        with suppress(PluginError):
            yield _load(name)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sarag")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="SARAG_CONFIG",
    help="Settings file, in place of ./sarag.toml.",
)
@click.pass_context
def cli(ctx: click.Context, config: Path | None) -> None:
    """Turn documents into an RDF knowledge graph, and answer questions from it.

    An option whose help names an environment variable can also be set there, in sarag.toml, or in
    ~/.config/sarag/sarag.toml; the first of these takes precedence, and the command line over all.
    The sarag.toml of a folder sets only what is harmless, until you run sarag trust.

    \b
    Example:
      sarag index docs/ --kg kg
      sarag search "Which river flows through the birthplace of Marie Curie?"
    """  # noqa: D301 - click reads the backspace
    files, invoked = settings_files(config), ctx.invoked_subcommand
    if files and invoked != "trust":  # which no file sets
        ctx.meta[FILES] = files
        refuse_unknown(files, _lazily(sorted(command_names(), key=lambda name: name != invoked)))


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 success, 1 failure, 2 wrong usage, 3 no answer in the evidence."""
    handler = _ConsoleHandler()
    handler.addFilter(logging.Filter("sarag_rdf"))
    handler.addFilter(FirstOnly())
    logging.basicConfig(format="sarag: %(message)s", level=logging.WARNING, handlers=[handler])
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    sys.excepthook = _print_traceback
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


class _ConsoleHandler(logging.Handler):
    """Writes records to standard error, on lines of their own above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        text = redacted(self.format(record))
        if "tqdm" not in sys.modules:
            click.echo(text, err=True)
            return
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback with the messages of all causes, secrets redacted."""
    text = "".join(traceback.format_exception(kind, error, trace))
    click.echo(redacted(text), err=True, nl=False)


def _run(arguments: list[str]) -> int:
    try:
        result = cli.main(arguments or ["--help"], prog_name="sarag", standalone_mode=False)
        sys.stdout.flush()
    except SaragError as error:
        return _fail(str(error), error.exit_code)
    except click.exceptions.Exit as error:
        return error.exit_code
    except SystemExit as error:
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return 0  # raised by click, when the reader of standard output has closed the pipe
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except (click.Abort, KeyboardInterrupt):
        hint = ": completed work is saved, run the same command again to continue"
        is_resumable = any(name in arguments[:3] for name in _RESUMABLE)
        writes = "--dry-run" not in arguments
        return _fail(f"interrupted{hint if is_resumable and writes else ''}", INTERRUPTED)
    except click.ClickException as error:
        hint = ""
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f" (see {error.ctx.command_path} --help)"
        message = settings_message(error) or error.format_message()
        return _fail(message.rstrip(".") + hint, error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        cause, remedy = lack_of_room(error)
        if cause:
            return _fail(f"{cause}{where}: {remedy} and run the command again", 1)
        return _fail(f"{error.strerror or error}{where}", 1)
    except MemoryError:
        return _fail("out of memory: index fewer or smaller documents at a time", 1)
    except Exception as error:
        if os.environ.get("SARAG_DEBUG"):
            raise
        return _fail(
            f"unexpected {type(error).__name__}: {error} "
            "(set SARAG_DEBUG=1 for a traceback, and please report it)",
            1,
        )
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    click.echo(f"sarag: {one_line(redacted(message))}", err=True)
    return code
