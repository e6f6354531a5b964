"""``sarag``: finds the command, turns every error into one line and an exit code."""

from __future__ import annotations

import importlib
import keyword
import logging
import os
import sys
import tomllib
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from click.core import ParameterSource

from sarag_rdf import __version__
from sarag_rdf.cache_errors import FirstOnly, lack_of_room
from sarag_rdf.errors import SaragError, UsageError, one_line
from sarag_rdf.redaction import redacted

COMMANDS = {
    "index": "index documents into a knowledge graph",
    "update": "bring in anew what changed of the documents",
    "delete": "take documents out of the graph",
    "sync": "make the graph match a folder",
    "import": "bring in a knowledge graph: Wikibase, SKOS, any RDF",
    "search": "find documents and relationships for a question",
    "ask": "answer a question from the graph",
    "strategies": "list retrievers, reasoners and others with their options",
    "query": "run SPARQL",
    "export": "write the graph as RDF",
    "describe": "describe the data set: VoID, DCAT, provenance",
    "link": "link entities to items of an imported graph",
    "mappings": "write the links as an SSSOM table",
    "merge": "tell that two entities are one, by hand or by rule",
    "split": "tell that names are of two things",
    "serve": "a SPARQL endpoint, search and answers over HTTP",
    "validate": "check the graph against its SHACL shapes",
    "fsck": "check whether a graph is in order, and repair it",
    "quarantine": "see to sources that did not conform",
    "stats": "count what the graph holds",
    "evaluate": "measure retrieval and answers on questions with known answers",
}
INTERRUPTED = 130


def _command(name: str) -> click.Command:
    """A command, from its module; that of one called by a keyword of Python ends in ``_``."""
    module = f"{name}_" if keyword.iskeyword(name) else name
    command: click.Command = importlib.import_module(f"sarag_rdf.cli.{module}").command
    return command


class LazyGroup(click.Group):
    """Imports a command's module when it is called: ``sarag --help`` loads no model."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        return _command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sarag")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="SARAG_CONFIG",
    help="Settings file; default ./sarag.toml where there is one.",
)
@click.pass_context
def cli(ctx: click.Context, config: Path | None) -> None:
    """Documents in, a linked-data knowledge graph and grounded answers out.

    Settings are options whose help names a variable: --name, else SARAG_NAME in the environment,
    else name in sarag.toml.

    \b
    Example:
      sarag index docs/ --kg kg
      sarag search "Which river flows through the birthplace of Marie Curie?"
    """  # noqa: D301 - click reads the backspace
    settings = _settings(config)
    if settings:
        ctx.default_map = _default_map(settings)


def _settings(config: Path | None) -> dict[str, Any]:
    path = config or Path("sarag.toml")
    if config is None and not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise UsageError(f"{path} cannot be read as TOML: it is nested too deeply") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read as TOML: {error}") from error
    return {key: _as_given(path, key, value) for key, value in found.items()}


def _as_given(path: Path, key: str, value: Any) -> str | list[Any]:
    """A setting as it would be given on the command line: options check what they are given."""
    if isinstance(value, list):
        return [_as_given(path, key, part) for part in value]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(
        f"{path} sets {key} to something other than text, a number, true, false or a list"
    )


def _default_map(settings: dict[str, Any]) -> dict[str, Any]:
    """Each setting for every command that has an option of that name; others are an error."""
    used: set[str] = set()
    result = {name: _defaults_of(_command(name), settings, used) for name in COMMANDS}
    unknown = settings.keys() - used
    if unknown:
        raise UsageError(
            f"sarag.toml sets what no command knows: {', '.join(sorted(unknown))}; keys are the "
            "names of options, without dashes in front"
        )
    return result


def _defaults_of(
    command: click.Command, settings: dict[str, Any], used: set[str]
) -> dict[str, Any]:
    """The settings that are options of a command or of one below it; they are added to `used`."""
    options = {
        (option.lstrip("-").replace("-", "_")): parameter
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and parameter.envvar and parameter.name
    }
    known = {
        key: options[key.replace("-", "_")] for key in settings if key.replace("-", "_") in options
    }
    used.update(known)
    below = command.commands if isinstance(command, click.Group) else {}
    own = {str(option.name): _fitting(option, key, settings[key]) for key, option in known.items()}
    return own | {name: _defaults_of(inner, settings, used) for name, inner in below.items()}


def _fitting(option: click.Parameter, key: str, value: str | list[Any]) -> str | list[Any]:
    """A list for an option that may be given several times, and for others one value."""
    if getattr(option, "multiple", False):
        return value if isinstance(value, list) else [value]
    if isinstance(value, list):
        raise UsageError(f"sarag.toml sets {key} to a list: give one value")
    return value


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 wrong usage, 3 no answer in the evidence."""
    handler = _BesideBars()
    handler.addFilter(logging.Filter("sarag_rdf"))
    handler.addFilter(FirstOnly())
    logging.basicConfig(format="sarag: %(message)s", level=logging.WARNING, handlers=[handler])
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    sys.excepthook = _show
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


class _BesideBars(logging.Handler):
    """Writes a line of its own, though a progress bar stands on the last one."""

    def emit(self, record: logging.LogRecord) -> None:
        text = redacted(self.format(record))
        if "tqdm" not in sys.modules:
            click.echo(text, err=True)
            return
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write a traceback, of which the messages of all causes are a part, without secrets."""
    click.echo(
        redacted("".join(traceback.format_exception(kind, error, trace))), err=True, nl=False
    )


def _run(arguments: list[str]) -> int:
    try:
        result = cli.main(arguments or ["--help"], prog_name="sarag", standalone_mode=False)
        sys.stdout.flush()
    except SaragError as error:
        return _complain(str(error), error.exit_code)
    except click.exceptions.Exit as error:
        return error.exit_code
    except SystemExit:
        return 0  # only click itself exits here: whoever reads standard output has gone away
    except (click.Abort, KeyboardInterrupt):
        return _complain(
            "interrupted: what was done is kept, the same command goes on with the rest",
            INTERRUPTED,
        )
    except click.ClickException as error:
        hint = ""
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f" (see {error.ctx.command_path} --help)"
        message = _of_settings(error) or error.format_message()
        return _complain(message.rstrip(".") + hint, error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(_system_message(error), 1)
    except MemoryError:
        return _complain("out of memory: index fewer or smaller documents at a time", 1)
    except Exception as error:
        if os.environ.get("SARAG_DEBUG"):
            raise
        return _complain(
            f"unexpected {type(error).__name__}: {error} "
            "(set SARAG_DEBUG=1 to see where, and please report it)",
            1,
        )
    return result if isinstance(result, int) else 0


def _of_settings(error: click.ClickException) -> str:
    """What to say of a value that comes from the settings file; empty for any other error."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return ""
    name = error.param.name or ""
    if error.ctx.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP:
        return ""
    path = error.ctx.find_root().params.get("config") or Path("sarag.toml")
    keys = {option.lstrip("-").replace("-", "_") for option in error.param.opts}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        key = line.partition("=")[0].strip().strip("\"'")
        if key.replace("-", "_") in keys:
            return f"{path}, line {number}: {key}: {error.message}"
    return f"{path}: {name}: {error.message}"


def _system_message(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    what, remedy = lack_of_room(error)
    if what:
        return f"{what}{where}: {remedy}; what was done before is kept"
    return f"{error.strerror or error}{where}"


def _complain(message: str, code: int) -> int:
    click.echo(f"sarag: {one_line(redacted(message))}", err=True)
    return code
