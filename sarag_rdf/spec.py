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
        """Read ``name`` or ``name:key=value:key=value``; numbers become numbers.

        Raises `UsageError`.

        >>> Spec.parse("sarag:k=5:c=0.9").options
        {'k': 5, 'c': 0.9}
        """
        name, *settings = label.strip().split(":")
        options = {}
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not (key and equals and value):
                raise UsageError(f"'{label}' is no method: write name or name:key=value:key=value")
            options[key] = _number(value)
        return cls(label.strip(), name, options)


def _number(value: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
