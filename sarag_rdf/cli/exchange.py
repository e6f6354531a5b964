"""Options of the commands ``import`` and ``export``, as importers and exporters declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.exchange import Setting
from sarag_rdf.base.plugins import loadable


def declared(group: str) -> dict[str, tuple[Setting, ...]]:
    """Name of each plug-in of a group -> its settings; none for one that cannot be loaded."""
    return {
        plugin.name: () if isinstance(found, Exception) else found.settings
        for plugin, found in loadable(group)
    }


def _by_name(settings: Iterable[tuple[Setting, ...]]) -> dict[str, list[Setting]]:
    """Keyword -> the different settings of that name."""
    named: dict[str, list[Setting]] = {}
    for setting in (setting for several in settings for setting in several):
        same = named.setdefault(setting.name, [])
        if setting.meaning not in [other.meaning for other in same]:
            same.append(setting)
    return named


def options_of(group: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the options of all plug-ins of a group, each once."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for several in reversed(list(_by_name(declared(group).values()).values())):
            if several[0].flag is not None:
                function = _option(several)(function)
        return function

    return decorate


def _option(several: list[Setting]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    setting = several[0]
    repeated = ["May be repeated."] if setting.default == () else []
    meanings = [each.meaning for each in several]
    attributes: dict[str, Any] = {"help": " ".join([*meanings, *repeated])}
    if setting.default is False:
        attributes["is_flag"] = True
    elif setting.default == ():
        attributes["multiple"] = True
    elif isinstance(setting.default, int):
        attributes |= {"type": click.IntRange(0), "default": setting.default}
    elif setting.choices:
        attributes |= {"type": click.Choice(setting.choices), "default": setting.default}
    elif setting.metavar == "FILE":
        attributes |= {"type": click.Path(path_type=Path), "metavar": "FILE"}
    else:
        attributes["default"] = setting.default
    return click.option(setting.option, setting.name, **attributes)


def given_settings(group: str, option: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The values given for the settings of a plug-in, which `option` selects.

    Raises `UsageError` for a value of a setting that only other plug-ins have.
    """
    settings = declared(group)
    own = {setting.name for setting in settings[name]}
    values = {}
    for several in _by_name(settings.values()).values():
        setting = several[0]
        value = options.get(setting.name, setting.default)
        if value == setting.default:
            continue
        if setting.name not in own:
            users = [n for n, all_ in settings.items() if setting.name in {s.name for s in all_}]
            raise UsageError(
                f"{setting.option} requires {option} {', '.join(users[:-1])}"
                f"{' or ' if users[1:] else ''}{users[-1]}, not {name}"
            )
        values[setting.name] = value
    return values
