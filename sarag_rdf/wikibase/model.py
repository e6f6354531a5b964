"""Wikibase's JSON data model: reading entity documents, and building them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sarag_rdf.errors import InputError
from sarag_rdf.iris import sha256_hex
from sarag_rdf.wikibase.numbers import number

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


Snak = dict[str, Any]
Statement = dict[str, Any]
Texts = dict[str, Any]

TEXT_LIMIT = 250
"""Characters of a label, description or alias that a Wikibase takes by default."""


def _snak(property_id: str, datatype: str, kind: str, value: Any) -> Snak:
    held = {"value": value, "type": kind}
    snak = {"snaktype": "value", "property": property_id, "datavalue": held, "datatype": datatype}
    return {**snak, "hash": content_hash(snak)}


def item_snak(property_id: str, id_: str) -> Snak:
    value = {"entity-type": "item", "numeric-id": number(id_), "id": id_}
    return _snak(property_id, "wikibase-item", "wikibase-entityid", value)


def text_snak(property_id: str, text: str, language: str) -> Snak:
    value = {"text": text, "language": language or "und"}
    return _snak(property_id, "monolingualtext", "monolingualtext", value)


def quantity_snak(property_id: str, amount: str) -> Snak:
    value = {"amount": f"{Decimal(amount):+f}", "unit": "1"}
    return _snak(property_id, "quantity", "quantity", value)


def string_snak(property_id: str, text: str, datatype: str = "string") -> Snak:
    return _snak(property_id, datatype, "string", text)


def grouped(snaks: Iterable[Snak]) -> dict[str, list[Snak]]:
    """Snaks by property, by number; each once."""
    groups: dict[str, dict[str, Snak]] = {}
    for snak in snaks:
        groups.setdefault(snak["property"], {})[snak["hash"]] = snak
    return {key: list(groups[key].values()) for key in sorted(groups, key=number)}


def reference(snaks: Iterable[Snak]) -> dict[str, Any]:
    groups = grouped(snaks)
    return {"hash": content_hash(groups), "snaks": groups, "snaks-order": list(groups)}


def statement(
    entity: str,
    seed: Sequence[str],
    main: Snak,
    qualifiers: Iterable[Snak] = (),
    references: Iterable[dict[str, Any]] = (),
) -> Statement:
    """A statement whose id is made from `seed` and the property: the same at every export."""
    made: Statement = {
        "mainsnak": main,
        "type": "statement",
        "id": f"{entity}${_guid(*seed, main['property'])}",
        "rank": "normal",
    }
    if groups := grouped(qualifiers):
        made["qualifiers"] = groups
        made["qualifiers-order"] = list(groups)
    if found := {held["hash"]: held for held in references}:
        made["references"] = [found[key] for key in sorted(found)]
    return made


def _guid(*seed: str) -> str:
    code = sha256_hex(*seed)[:32].upper()
    return "-".join((code[:8], code[8:12], code[12:16], code[16:20], code[20:]))


def claims(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Statements by property, by number."""
    groups: dict[str, list[Statement]] = {}
    for made in statements:
        groups.setdefault(made["mainsnak"]["property"], []).append(made)
    return {key: groups[key] for key in sorted(groups, key=number)}


def text(value: str, language: str) -> dict[str, str]:
    """A label, description or alias: one line, and no longer than a Wikibase takes."""
    line = " ".join(value.split())
    if len(line) > TEXT_LIMIT:
        line = line[: TEXT_LIMIT - 1].rstrip() + "…"
    return {"language": language, "value": line}


def texts(values: dict[str, str]) -> Texts:
    """Texts by language, without empty ones."""
    made = {language: text(values[language], language) for language in sorted(values)}
    return {language: held for language, held in made.items() if held["value"]}


def entity(id_: str, page: tuple[int, str], held: dict[str, Any]) -> dict[str, Any]:
    """An entity document; `page` is its revision, and when that was made."""
    item = id_.startswith("Q")
    return {
        "type": "item" if item else "property",
        "id": id_,
        "labels": {},
        "descriptions": {},
        "aliases": {},
        "claims": {},
        **({"sitelinks": {}} if item else {}),
        **held,
        "pageid": 2 * number(id_) - (0 if item else 1),
        "ns": 0 if item else 120,
        "title": id_ if item else f"Property:{id_}",
        "lastrevid": page[0],
        "modified": page[1],
    }
