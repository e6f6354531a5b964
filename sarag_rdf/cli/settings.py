"""Settings files: which ones count, what each of them sets, and what a folder's own file may set.

The file of the working folder may come from a stranger. It sets what its option declares harmless
(see `Setting`); other settings count from the user's own file, from the one that ``--config``
names, or once the user trusts the folder (`sarag_rdf.cli.trust`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from sarag_rdf.base.endpoints import user_folder
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import Harmless

NAME: Final = "sarag.toml"
Value = str | list[Any]

_FILES: Final = "sarag_rdf.settings"
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

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, if it may come from where it does; otherwise raises `UsageError`."""
        if ctx.get_parameter_source(str(self.name)) is ParameterSource.DEFAULT_MAP:
            file, key = _origin(ctx, self)
            trusted = "" if file.is_own else ", which is not trusted"
            _log.debug("setting %s = %s from %s%s", key, value, file.path, trusted)
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

    def permits(self, value: Value, folder: Path) -> bool:
        """Whether the file of an untrusted folder may set this value."""
        if self.harmless == "inside":
            values = value if isinstance(value, list | tuple) else [value]
            return all(_is_inside(str(text), folder) for text in values)
        return self.harmless


def _is_inside(value: str, folder: Path) -> bool:
    """Whether no part of a value, NAME:KEY=VALUE, is a URL or a path that leaves the folder."""
    home = Path(os.path.realpath(folder))
    return "\0" not in value and all(
        not part.startswith("~") and Path(os.path.realpath(folder / part)).is_relative_to(home)
        for part in re.split("[:=,]", value)
    )


def settings_files(
    config: Path | None, is_trusted: Callable[[Path, str], bool]
) -> list[SettingsFile]:
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


def set_defaults(
    ctx: click.Context,
    files: Sequence[SettingsFile],
    commands: Iterable[tuple[str, click.Command]],
) -> None:
    """Make the settings of all files defaults of the command that is run, the first of `commands`.

    Others are asked for only until one of them has each setting. Raises `UsageError` for a setting
    that no command has.
    """
    ctx.meta[_FILES] = files
    ctx.default_map = {}
    unknown = {file.path: set(file.values) for file in files}
    for number, (name, command) in enumerate(commands):
        if number == 0:
            for file in reversed(files):
                _set_defaults(ctx.default_map.setdefault(name, {}), file, command)
        elif not any(unknown.values()):
            return
        for file in files:
            unknown[file.path] -= {key for key, _ in settings_of(file, [command])}
    for path, keys in unknown.items():
        if keys:
            plural = "" if len(keys) == 1 else "s"
            raise UsageError(
                f"{path}: unknown setting{plural}: {', '.join(sorted(keys))}: a setting is the "
                "name of an option without leading dashes"
            )


def _set_defaults(defaults: Any, file: SettingsFile, command: click.Command) -> None:
    for key, option in _options_in(file, command):
        defaults[option.name] = _default(option, file.path, key, file.values[key])
    if isinstance(command, click.Group):
        for name, inner in _subcommands(command).items():
            _set_defaults(defaults.setdefault(name, {}), file, inner)


def _default(option: Setting, path: Path, key: str, value: Value) -> Value:
    """A list for a repeatable option, a single value for others."""
    if option.multiple:
        return value if isinstance(value, list) else [value]
    if isinstance(value, list):
        raise UsageError(f"{path}: {key} must be a single value, not a list")
    return value


def settings_of(file: SettingsFile, commands: Iterable[click.Command]) -> list[tuple[str, Setting]]:
    """The keys of a file with the options that they set, of all commands."""
    found = []
    for command in commands:
        found += _options_in(file, command)
        if isinstance(command, click.Group):
            found += settings_of(file, _subcommands(command).values())
    return found


def _subcommands(group: click.Group) -> dict[str, click.Command]:
    """The commands of a group by name, which it may import now."""
    with click.Context(group) as context:
        found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def _options_in(file: SettingsFile, command: click.Command) -> list[tuple[str, Setting]]:
    return [
        (key, option)
        for option in command.params
        if isinstance(option, Setting)
        for key in [_key(option, file)]
        if key
    ]


def _key(option: Setting, file: SettingsFile) -> str:
    """The key by which a file sets an option: its name with dashes or underscores; else empty."""
    names = {name.lstrip("-").replace("-", "_") for name in option.opts if name.startswith("--")}
    return next((key for key in file.values if key.replace("-", "_") in names), "")


def _origin(ctx: click.Context, option: Setting) -> tuple[SettingsFile, str]:
    """The file that sets an option, and the key there."""
    files: list[SettingsFile] = ctx.meta[_FILES]
    return next((file, key) for file in files for key in [_key(option, file)] if key)


def settings_message(error: click.ClickException) -> str:
    """The message for an invalid value in a settings file; empty for any other error."""
    if not isinstance(error, click.BadParameter) or error.ctx is None:
        return ""
    name = str(error.param.name) if isinstance(error.param, Setting) else ""
    if error.ctx.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP:
        return ""
    assert isinstance(error.param, Setting)  # noqa: S101 - or the name would be empty
    file, key = _origin(error.ctx, error.param)
    return f"{file.line(key)}: {key}: {error.message}"
