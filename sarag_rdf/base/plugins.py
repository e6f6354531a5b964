"""Plug-ins, which are found by entry points, and imported when they are first used.

A distribution declares its plug-ins in its ``pyproject.toml``, and so does this one::

    [project.entry-points."sarag_rdf.retrievers"]
    nearest = "my_package.nearest:Nearest"

`GROUPS` has the groups, with what an entry point of each stands for. Looking up a name reads the
metadata of this distribution first, and that of all others only if the name is not found there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, distributions
from typing import TYPE_CHECKING, Any, Final

from sarag_rdf.base.errors import PluginError, UsageError

if TYPE_CHECKING:
    from sarag_rdf.base.ports import Workers

GROUPS: Final[Mapping[str, str]] = {
    "retrievers": "retriever",
    "contexts": "context",
    "reasoners": "reasoner",
    "extractors": "extractor",
    "lookups": "lookup",
    "formats": "document format",
    "importers": "importer",
    "exporters": "export format",
    "mapping_languages": "mapping language",
    "merge_rules": "merge rule",
    "linkers": "linker",
    "vector_engines": "vector engine",
    "commands": "command",
    "doors": "door of the server",
    "updates": "language of updates",
    "checks": "deep check",
    "workers": "kind of workers",
}
"""Group, without the prefix ``sarag_rdf.``, and what one of its plug-ins is called."""
RETRIEVER: Final = "sarag"
CONTEXT: Final = "selected"
REASONER: Final = "auto"
"""The plug-ins that answer questions where none is named."""
_OWN: Final = "sarag-rdf"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in that is installed: its group and name, and the distribution that it comes from."""

    group: str
    name: str
    package: str
    version: str
    entry: EntryPoint

    def load(self) -> Any:
        """What the entry point names. Raises `PluginError` if it cannot be imported."""
        try:
            return self.entry.load()
        except Exception as error:
            kind = GROUPS[self.group]
            raise PluginError(
                f"the {kind} '{self.name}' of the package {self.package} {self.version} cannot be "
                f"loaded: {type(error).__name__}: {error} (update or uninstall that package)"
            ) from error


@cache
def _own(group: str) -> Mapping[str, Plugin]:
    """Plug-ins of this distribution, sorted by name: an installer keeps no other order."""
    try:
        own = distribution(_OWN)
    except PackageNotFoundError as error:
        raise PluginError(
            "the package sarag-rdf is not installed, so that nothing is known of its parts: run "
            "pip install ."
        ) from error
    entries = own.entry_points.select(group=f"sarag_rdf.{group}")
    plugins = (Plugin(group, e.name, _OWN, own.version, e) for e in entries)
    return {plugin.name: plugin for plugin in sorted(plugins, key=lambda plugin: plugin.name)}


@cache
def _others(group: str) -> Mapping[str, Plugin]:
    """Plug-ins of other distributions, by name; of two with one name the first on the path."""
    plugins: dict[str, Plugin] = {}
    for other in distributions():
        for entry in other.entry_points.select(group=f"sarag_rdf.{group}"):
            package = other.metadata["Name"]  # read last: it takes longer than all entry points
            if package != _OWN:
                plugin = Plugin(group, entry.name, package, other.version, entry)
                plugins.setdefault(entry.name, plugin)
    return dict(sorted(plugins.items()))


def plugins(group: str) -> Mapping[str, Plugin]:
    """All plug-ins of a group by name, none imported; no other package takes the name of ours."""
    own = _own(group)
    return {**own, **{name: other for name, other in _others(group).items() if name not in own}}


def find(group: str, name: str) -> Plugin | None:
    """The plug-in of that name, if there is one."""
    return _own(group).get(name) or _others(group).get(name)


def load(group: str, name: str) -> Any:
    """Import what a plug-in stands for; raises `UsageError` with the known names, `PluginError`."""
    plugin = find(group, name)
    if plugin is None:
        names = ", ".join(plugins(group)) or "none is installed"
        raise UsageError(f"unknown {GROUPS[group]} '{name}': choose from {names}")
    return plugin.load()


def workers_of(chosen: str | None) -> Workers | None:
    """The workers that are chosen by ``KIND://PLACE`` or a number, or None.

    Raises `UsageError` for others, `MissingDependencyError`.
    """
    if not chosen:
        return None
    kind = chosen.partition("://")[0] if "://" in chosen else "processes"
    workers: Workers = load("workers", kind)(chosen)
    return workers


def loadable(group: str) -> Iterator[tuple[Plugin, Any | PluginError]]:
    """Each plug-in of a group with what it stands for, or with the error that it raises."""
    for plugin in plugins(group).values():
        try:
            yield plugin, plugin.load()
        except PluginError as error:
            yield plugin, error
