"""Settings files, what a folder's own file may set, and ``sarag trust``.

The file of the working folder may come from a stranger. It sets what its option declares harmless
(see `Setting`); other settings count from the user's own file, from the one that ``--config``
names, or once the user trusts the folder.

The trusted files, with their SHA-256, are listed in ``trusted.json`` of the user's state folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from sarag_rdf.base.endpoints import user_folder
from sarag_rdf.base.errors import SaragError, UsageError
from sarag_rdf.base.files import replacing
from sarag_rdf.base.options import Harmless
from sarag_rdf.base.redaction import redacted

NAME: Final = "sarag.toml"
FILES: Final = "sarag_rdf.settings"
"""Key of the settings files in the context's `meta`, by precedence."""
_TRUSTED: Final = "trusted.json"
Value = str | list[Any]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SettingsFile:
    """A settings file: its path, its values as texts of the command line, and the SHA-256 of it.

    `is_own` says that the user has named or trusted it, so that all its settings count.
    """

    path: Path
    values: Mapping[str, Value]
    sha256: str
    is_own: bool = True

    def line(self, key: str) -> str:
        """Where a key is set, for messages: the path and the number of the line."""
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            if line.partition("=")[0].strip().strip("\"'") == key:
                return f"{self.path}, line {number}"
        return str(self.path)


class Setting(click.Option):
    """An option that the environment, as SARAG_NAME, and settings files can set.

    `harmless` says whether the file of a folder that is not trusted may set it: never, which is the
    default; always; or if the value leads to no place outside of that folder. An option that
    decides where texts and secrets go, which files are written or loaded, or how much hostile input
    may use is not harmless.
    """

    def __init__(
        self, *args: Any, harmless: Harmless = False, is_needed: bool = True, **attributes: Any
    ) -> None:
        """`is_needed` unless the command may do without a value that may not be set."""
        super().__init__(*args, **attributes)
        self.harmless = harmless
        self.is_needed = is_needed

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, Any]:
        """The value and its source: a settings file where click would take the default."""
        value, source = super().consume_value(ctx, opts)
        if source is ParameterSource.DEFAULT and (origin := self._origin(ctx)) is not None:
            return self._value_in(*origin), ParameterSource.DEFAULT_MAP
        return value, source

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, if it may come from where it does; otherwise raises `UsageError`."""
        origin = self._origin(ctx) if self.is_of_file(ctx) else None
        if origin is not None:
            file, key = origin
            trusted = "" if file.is_own else ", which is not trusted"
            shown = redacted(str(value))
            _log.debug("setting %s = %s from %s%s", key, shown, file.path, trusted)
            if not file.is_own and not self.permits(value, file.path.parent):
                if not self.is_needed:
                    _log.info("%s: %s is ignored: run sarag trust", file.line(key), key)
                    return None
                raise UsageError(
                    f"{file.line(key)}: {key} = {json.dumps(value)} counts only if you trust this "
                    "file, since it decides where data goes, which files are used, or a limit: "
                    f"read the file, then run sarag trust, or give --{key}"
                )
        return super().process_value(ctx, value)

    def is_of_file(self, ctx: click.Context) -> bool:
        """Whether a settings file gives the value in this call."""
        return ctx.get_parameter_source(str(self.name)) is ParameterSource.DEFAULT_MAP

    def permits(self, value: Value, folder: Path) -> bool:
        """Whether the file of an untrusted folder may set this value."""
        if self.harmless == "inside":
            values = value if isinstance(value, list | tuple) else [value]
            return all(_is_inside(str(text), folder) for text in values)
        return self.harmless

    def key_in(self, file: SettingsFile) -> str:
        """The key by which a file sets it: its name with dashes or underscores; else empty."""
        names = {name.lstrip("-").replace("-", "_") for name in self.opts if name.startswith("--")}
        return next((key for key in file.values if key.replace("-", "_") in names), "")

    def where(self, ctx: click.Context) -> str:
        """The file, line and key of the value, for messages."""
        file, key = self._origin(ctx) or (SettingsFile(Path(NAME), {}, ""), str(self.name))
        return f"{file.line(key)}: {key}"

    def _origin(self, ctx: click.Context) -> tuple[SettingsFile, str] | None:
        """The first file that sets it, and the key there."""
        for file in ctx.meta.get(FILES, ()):
            if key := self.key_in(file):
                return file, key
        return None

    def _value_in(self, file: SettingsFile, key: str) -> Value:
        """A list for a repeatable option, a single value for others."""
        value = file.values[key]
        if self.multiple:
            return value if isinstance(value, list) else [value]
        if isinstance(value, list):
            raise UsageError(f"{file.path}: {key} must be a single value, not a list")
        return value


def _is_inside(value: str, folder: Path) -> bool:
    """Whether no part of a value, NAME:KEY=VALUE, is a URL or a path that leaves the folder."""
    home = Path(os.path.realpath(folder))
    return "\0" not in value and all(
        not part.startswith("~") and Path(os.path.realpath(folder / part)).is_relative_to(home)
        for part in re.split("[:=,]", value)
    )


def settings_files(config: Path | None) -> list[SettingsFile]:
    """The settings files that exist, by precedence: --config or else the folder's, the user's."""
    files, own = [], user_folder("CONFIG") / NAME
    if config is not None:
        files.append(read_settings(config))
    elif Path(NAME).is_file() and Path(NAME).resolve() != own.resolve():
        files.append(read_settings(Path(NAME), is_trusted))
    if own.is_file():
        files.append(read_settings(own))
    return files


def read_settings(
    path: Path, is_trusted: Callable[[Path, str], bool] = lambda *_: True
) -> SettingsFile:
    """A settings file; raises `UsageError` for one that cannot be read."""
    try:
        data = path.read_bytes()
        settings = tomllib.loads(data.decode("utf-8"))
    except RecursionError as error:
        raise UsageError(f"cannot read {path} as TOML: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text: save it as UTF-8") from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read {path} as TOML: {error}") from error
    values = {key: _argument(path, key, value) for key, value in settings.items()}
    digest = hashlib.sha256(data).hexdigest()
    return SettingsFile(path, values, digest, is_trusted(path, digest))


def _argument(path: Path, key: str, value: Any) -> Value:
    """A setting as the text of a command line argument, which its option then validates."""
    if isinstance(value, list):
        return [_argument(path, key, item) for item in value]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{path}: {key} must be a string, a number, true, false or a list")


def refuse_unknown(files: Sequence[SettingsFile], commands: Iterable[click.Command]) -> None:
    """Raise `UsageError` for a setting that no command has.

    Commands are asked for only until one of them has each setting.
    """
    unknown = {file.path: set(file.values) for file in files}
    for command in commands:
        for file in files:
            unknown[file.path] -= {key for key, _ in settings_of(file, [command])}
        if not any(unknown.values()):
            return
    for path, keys in unknown.items():
        if keys:
            plural = "" if len(keys) == 1 else "s"
            raise UsageError(
                f"{path}: unknown setting{plural}: {', '.join(sorted(keys))}: a setting is the "
                "name of an option without leading dashes"
            )


def settings_of(
    file: SettingsFile, commands: Iterable[click.Command]
) -> Iterator[tuple[str, Setting]]:
    """The keys of a file with the options that they set, of all commands and subcommands."""
    for command in commands:
        for option in command.params:
            if isinstance(option, Setting) and (key := option.key_in(file)):
                yield key, option
        if isinstance(command, click.Group):
            yield from settings_of(file, _subcommands(command))


def _subcommands(group: click.Group) -> list[click.Command]:
    """The commands of a group, which it may import now."""
    with click.Context(group) as context:
        commands = [group.get_command(context, name) for name in group.list_commands(context)]
    return [command for command in commands if command is not None]


def settings_message(error: click.ClickException) -> str:
    """The message for an invalid value in a settings file; empty for any other error."""
    if not isinstance(error, click.BadParameter) or error.ctx is None:
        return ""
    option = error.param
    if not isinstance(option, Setting) or not option.is_of_file(error.ctx):
        return ""
    return f"{option.where(error.ctx)}: {error.message}"


@click.command(epilog="Example:  sarag trust projects/rivers")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Trust the folder no longer.")
@click.option("--list", "listed", is_flag=True, help="Print the trusted folders.")
def trust(folder: Path, *, remove: bool, listed: bool) -> int:
    """Trust the sarag.toml of a folder, until it changes: all its settings count.

    Without this, the file of a folder sets only what is harmless, not where texts and keys go,
    which files are written or loaded, or how much a document may use. Settings that are not
    harmless are printed.
    """
    if remove and listed:
        raise UsageError("give --list or --remove, not both")
    path, trusted = folder.resolve() / NAME, _trusted()
    if listed:
        for name, sha256 in sorted(trusted.items()):
            is_current = Path(name).is_file() and read_settings(Path(name)).sha256 == sha256
            click.echo(f"{name}{'' if is_current else '  (changed or missing)'}")
    elif remove:
        trusted.pop(str(path), None)
        _write(trusted)
        click.echo(f"not trusted: {path}")
    else:
        _trust(path, trusted)
    return 0


def is_trusted(path: Path, sha256: str) -> bool:
    """Whether the user trusts a settings file with this content."""
    return _trusted().get(str(path.parent.resolve() / path.name)) == sha256


def _trust(path: Path, trusted: Mapping[str, str]) -> None:
    if not path.is_file():
        raise UsageError(f"no such file: {path}: give a folder that has a {NAME}")
    file = read_settings(path)
    group = click.get_current_context().find_root().command
    assert isinstance(group, click.Group)  # noqa: S101 - for the type checker
    _write({**trusted, str(path): file.sha256})
    click.echo(f"trusted: {path}")
    refused = {
        key
        for key, option in settings_of(file, _subcommands(group))
        if not option.permits(file.values[key], path.parent)
    }
    for key, value in file.values.items():
        if key in refused:
            click.echo(f"  {key} = {redacted(json.dumps(value))}")


def _trusted() -> dict[str, str]:
    """Path -> SHA-256 of the files that the user trusts; empty if they cannot be read."""
    try:
        trusted = json.loads((user_folder("STATE") / _TRUSTED).read_bytes())
    except (OSError, ValueError):
        return {}
    return trusted if isinstance(trusted, dict) else {}


def _write(trusted: Mapping[str, str]) -> None:
    folder = user_folder("STATE")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(folder / _TRUSTED) as stream:
            stream.write(json.dumps(trusted, indent=2).encode())
    except OSError as error:
        raise SaragError(
            f"cannot write {folder}: {error.strerror}: name a folder that you may write to with "
            "XDG_STATE_HOME"
        ) from error
