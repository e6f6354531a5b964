"""JSON schemas of model replies: closed objects in which every string and array is bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def object_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """A closed object that requires all properties; models write them in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def string(max_length: int) -> dict[str, Any]:
    """A string of at most `max_length` characters."""
    return {"type": "string", "maxLength": max_length}


def one_of(values: Iterable[str]) -> dict[str, Any]:
    """One of these strings."""
    return {"type": "string", "enum": list(values)}


def array_of(
    items: Mapping[str, Any], max_items: int, *, min_items: int | None = 0
) -> dict[str, Any]:
    """An array of `min_items` to `max_items` items; None leaves the minimum out."""
    minimum = {} if min_items is None else {"minItems": min_items}
    return {"type": "array", "items": dict(items), **minimum, "maxItems": max_items}


def boolean() -> dict[str, Any]:
    """True or false."""
    return {"type": "boolean"}
