"""JSON and JSON Lines files, with the digest that names their content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.errors import InputError


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file's values: what its JSON says, or the list of its lines; `sha256` is of its bytes."""

    path: Path
    sha256: str
    data: Any

    def error(self, reason: str) -> InputError:
        """An error that names the file."""
        return InputError(f"{self.path}: {reason} (see docs/evaluation.md for the formats)")

    def records(self, key: str) -> list[dict[str, Any]]:
        """The objects of a list, or one object alone that has `key`; each must have it."""
        items = [self.data] if isinstance(self.data, dict) and key in self.data else self.data
        if not isinstance(items, list):
            raise self.error(f"a list of objects with '{key}' is expected")
        for place, item in enumerate(items, 1):
            if not isinstance(item, dict) or key not in item:
                raise self.error(f"record {place} is no object with '{key}'")
        return items


def read_json(path: Path) -> JsonFile:
    """Read JSON, or else one JSON value a line; raises `InputError`."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    if not text.strip():
        raise InputError(f"{path} is empty: name a file that holds JSON")
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        data = _lines(path, text, error)
    return JsonFile(path, hashlib.sha256(content).hexdigest(), data)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, none of whose keys may hide another value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' stands twice in one object")
    return found


def _lines(path: Path, text: str, whole: Exception) -> list[Any]:
    """One value a line. If not even the first line is JSON, the error of the whole counts."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line, object_pairs_hook=_object))
        except (ValueError, RecursionError) as error:
            reason = f"line {number}: {error}" if values else str(whole)
            raise InputError(f"{path} is not JSON ({reason}): mend it") from error
    return values
