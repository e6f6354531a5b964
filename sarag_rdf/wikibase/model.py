"""Entity documents: Wikibase's JSON data model as Python dicts, and what is read from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sarag_rdf.errors import InputError

Json = Mapping[str, Any]
NUMBERED = {"item": "Q", "property": "P", "lexeme": "L"}
"""The letter before the number of an entity's id."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity document.

    `position` is the offset in the unpacked text behind it, where reading may go on (0 if it may
    not); `consumed` the bytes read of the file itself, for a display of progress.
    """

    data: Json
    position: int = 0
    consumed: int = 0

    @property
    def id(self) -> str:
        """``Q42`` or ``P31``; raises `InputError` for a document without one."""
        found = self.data.get("id") or self.data.get("entity")
        if not isinstance(found, str) or not found:
            raise InputError("an entity document has no id: this is not a Wikibase JSON dump")
        return found


def mapping(data: Json, key: str) -> Json:
    """The map of that key; PHP writes an empty one as a list, or leaves it out."""
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}


def statements(data: Json) -> Iterator[tuple[str, list[Json]]]:
    """Property ids with their statements."""
    yield from mapping(data, "claims").items()


def best(group: list[Json]) -> list[Json]:
    """Those of best rank: the preferred, else the normal; never the deprecated."""
    preferred = [statement for statement in group if statement.get("rank") == "preferred"]
    return preferred or [s for s in group if s.get("rank", "normal") == "normal"]


def grouped_snaks(holder: Json, key: str) -> Iterator[Json]:
    """Snaks of qualifiers or of a reference, in the order that the document gives."""
    groups = mapping(holder, key)
    order = holder.get(f"{key}-order") or groups
    for property_id in order:
        yield from groups.get(property_id, ())


def entity_id(value: Json) -> str:
    """The id that a value of type ``wikibase-entityid`` names."""
    if "id" in value:
        return str(value["id"])
    return f"{NUMBERED.get(value.get('entity-type', ''), 'Q')}{value['numeric-id']}"


def content_hash(content: Any) -> str:
    """40 hexadecimal digits made from content; what the documents call `hash` plays no part."""
    bare = json.dumps(_without_hashes(content), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(bare.encode("ascii")).hexdigest()[:40]


def _without_hashes(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {k: _without_hashes(v) for k, v in content.items() if k != "hash"}
    if isinstance(content, list | tuple):
        return [_without_hashes(item) for item in content]
    return content
