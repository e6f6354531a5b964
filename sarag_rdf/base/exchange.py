"""Options of importers and exporters, each declared once: for Python and for the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sarag_rdf.base.errors import UsageError


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of an importer or exporter.

    `name` is its keyword in Python. `meaning` is one sentence, for the help. The type follows from
    the default: a text (None or ``""``), a number of at least 0, a flag (False), or several texts
    (``()``). `flag` is its name on the command line, by default that of the keyword with two
    hyphens; None if it is for Python alone. `read` makes the value of what is given, such as the
    content of a file; the ``str`` of that value identifies it.
    """

    name: str
    meaning: str
    default: Any = None
    flag: str | None = ""
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None

    @property
    def option(self) -> str:
        """How messages name it."""
        if self.flag is None:
            return self.name
        return self.flag or f"--{self.name.replace('_', '-')}"

    def value(self, given: Any) -> Any:
        """The value of what is given. Raises `UsageError` for one that is not a choice."""
        if self.choices and given not in self.choices:
            raise UsageError(f"{self.option} is '{given}': choose from {', '.join(self.choices)}")
        if self.default == () and given is not None:
            return tuple(given)
        return given if self.read is None or given == self.default else self.read(given)


def values_of(what: str, settings: Iterable[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all settings: those given, else their defaults.

    Raises `UsageError` for a name that is not among the settings of `what`.
    """
    declared = {setting.name: setting for setting in settings}
    for name in given:
        if name not in declared:
            known = f"its own options are {', '.join(declared)}" if declared else "omit it"
            raise UsageError(f"'{name}' does not apply to {what}: {known}")
    return {
        name: setting.value(given.get(name, setting.default)) for name, setting in declared.items()
    }
