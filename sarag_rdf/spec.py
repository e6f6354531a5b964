"""How a user names a part with options of its own: ``name:key=value:key=value``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sarag_rdf.errors import UsageError


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
