"""How a user names a part with options of its own: ``name:key=value:key=value``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_type_hints

from sarag_rdf.errors import UsageError


@dataclass(frozen=True, slots=True)
class Most:
    """The greatest value that an option takes, stated with its type.

    It bounds what one question may cost; what values make sense is for the part itself to check.
    """

    value: int


MOST_COUNT, MOST_HOPS, MOST_TOKENS = 1000, 10, 1_000_000
Count = Annotated[int, Most(MOST_COUNT)]
"""Documents, relationships or descriptions that something begins with or ends in."""
Hops = Annotated[int, Most(MOST_HOPS)]
"""Steps, each of which may be as costly as all before it."""
Tokens = Annotated[int, Most(MOST_TOKENS)]
Weight = Annotated[float, Most(MOST_COUNT)]


def greatest_values(made: Any) -> dict[str, int]:
    """The greatest values of those options of a class that state one."""
    hints = get_type_hints(made.__init__, include_extras=True)
    bounds = {
        name: [bound.value for bound in _annotations(hint) if isinstance(bound, Most)]
        for name, hint in hints.items()
    }
    return {name: values[0] for name, values in bounds.items() if values}


def _annotations(hint: Any) -> list[Any]:
    """What a type is annotated with, also within a union."""
    found = list(getattr(hint, "__metadata__", ()))
    return found or [one for part in get_args(hint) for one in _annotations(part)]


@dataclass(frozen=True, slots=True)
class Spec:
    """A part by name, with options; `label` is how it was asked for."""

    label: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, label: str) -> Spec:
        """Read ``name`` or ``name:key=value:key=value``; numbers, true and false become such.

        Raises `UsageError`.

        >>> Spec.parse("single:brief=true:max_tokens=300").options
        {'brief': True, 'max_tokens': 300}
        """
        name, *settings = label.strip().split(":")
        options = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not (key and equals and value):
                raise UsageError(
                    f"'{label}' cannot be read: write name or name:key=value:key=value"
                )
            options[key] = _value(value)
        return cls(label.strip(), name, options)


def _value(value: str) -> bool | int | float | str:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
