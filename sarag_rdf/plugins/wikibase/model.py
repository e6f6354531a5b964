"""The JSON data model of Wikibase: reading and building entity documents."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyoxigraph import Literal

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.plugins.wikibase.numbers import number
from sarag_rdf.plugins.wikibase.vocabulary import GREGORIAN

Json = Mapping[str, Any]
NUMBERED = {"item": "Q", "property": "P", "lexeme": "L"}
"""The letter before the number of an entity's id."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity document; `consumed` is the number of bytes read from its file, for progress."""

    data: Json
    consumed: int = 0

    @property
    def id(self) -> str:
        """``Q42`` or ``P31``; raises `InputError` for a document without one."""
        id_ = self.data.get("id") or self.data.get("entity")
        if not isinstance(id_, str) or not id_:
            raise InputError("an entity document has no id: this is not a Wikibase JSON dump")
        return id_


def mapping(data: Json, key: str) -> Json:
    """The map under a key; PHP serializes an empty one as a list, or omits it."""
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def statements(data: Json) -> Iterator[tuple[str, list[Json]]]:
    yield from mapping(data, "claims").items()


def best_ranked(group: list[Json]) -> list[Json]:
    """The statements of best rank: preferred ones, else normal ones, but never deprecated ones."""
    preferred = [statement for statement in group if statement.get("rank") == "preferred"]
    return preferred or [s for s in group if s.get("rank", "normal") == "normal"]


def grouped_snaks(holder: Json, key: str) -> Iterator[Json]:
    """Snaks of qualifiers or of a reference, in the order given in the document."""
    groups = mapping(holder, key)
    order = holder.get(f"{key}-order") or groups
    for property_id in order:
        yield from groups.get(property_id, ())


def entity_id(value: Json) -> str:
    """The id in a value of type ``wikibase-entityid``."""
    if "id" in value:
        return str(value["id"])
    return f"{NUMBERED.get(value.get('entity-type', ''), 'Q')}{value['numeric-id']}"


def content_hash(content: Any) -> str:
    """A hash of content, 40 hexadecimal digits, without the `hash` fields of documents."""
    bare = json.dumps(_without_hashes(content), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(bare.encode("ascii")).hexdigest()[:40]


def _without_hashes(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {k: _without_hashes(v) for k, v in content.items() if k != "hash"}
    if isinstance(content, list | tuple):
        return [_without_hashes(item) for item in content]
    return content


Snak = dict[str, Any]
Value = dict[str, Any]
Statement = dict[str, Any]
Texts = dict[str, Any]

NO_LANGUAGE = "mul"
"""Language code of Wikibase for labels without a language, or for all languages."""
NO_UNIT = "1"
"""Unit of a quantity without one."""
TEXT_LIMIT = 250
"""Default limit of Wikibase for a label, description or alias, in characters."""


def _snak(property_id: str, datatype: str, kind: str, value: Any) -> Snak:
    data = {"value": value, "type": kind}
    snak = {"snaktype": "value", "property": property_id, "datavalue": data, "datatype": datatype}
    return {**snak, "hash": content_hash(snak)}


def item_snak(property_id: str, id_: str) -> Snak:
    value = {"entity-type": "item", "numeric-id": number(id_), "id": id_}
    return _snak(property_id, "wikibase-item", "wikibase-entityid", value)


def text_snak(property_id: str, text: str, language: str) -> Snak:
    value = {"text": text, "language": language or "und"}
    return _snak(property_id, "monolingualtext", "monolingualtext", value)


def quantity_snak(property_id: str, amount: str, unit: str = NO_UNIT) -> Snak:
    """A snak whose value is a number; `unit` is the IRI of an item."""
    value = {"amount": f"{Decimal(amount):+f}", "unit": unit}
    return _snak(property_id, "quantity", "quantity", value)


def time_value(time: str, precision: int) -> Value:
    """A time of the Gregorian calendar; `precision` is 9 for a year, 10 a month, 11 a day."""
    around = {"timezone": 0, "before": 0, "after": 0}
    return {"time": time, **around, "precision": precision, "calendarmodel": GREGORIAN}


def value_snak(property_id: str, datatype: str, value: Value) -> Snak:
    """A snak whose value is a time or a coordinate."""
    return _snak(property_id, datatype, datatype.replace("-", ""), value)


def string_snak(property_id: str, text: str, datatype: str = "string") -> Snak:
    """A snak whose value is a string or a URL."""
    return _snak(property_id, datatype, "string", text)


def grouped(snaks: Iterable[Snak]) -> dict[str, list[Snak]]:
    """Unique snaks by property, ordered by its number."""
    distinct = {(snak["property"], snak["hash"]): snak for snak in snaks}
    return _by_property((property_id, snak) for (property_id, _), snak in distinct.items())


def _by_property(pairs: Iterable[tuple[str, Snak]]) -> dict[str, list[Snak]]:
    groups: defaultdict[str, list[Snak]] = defaultdict(list)
    for property_id, item in pairs:
        groups[property_id].append(item)
    return {key: groups[key] for key in sorted(groups, key=number)}


def reference(snaks: Iterable[Snak]) -> dict[str, Any]:
    groups = grouped(snaks)
    return {"hash": content_hash(groups), "snaks": groups, "snaks-order": list(groups)}


def statement(
    entity: str,
    seed: Sequence[str],
    main: Snak,
    qualifiers: Iterable[Snak] = (),
    references: Iterable[dict[str, Any]] = (),
    rank: str = "normal",
) -> Statement:
    """A statement; its id is a function of `seed` and the property, equal in every export."""
    result: Statement = {
        "mainsnak": main,
        "type": "statement",
        "id": f"{entity}${_guid(*seed, main['property'])}",
        "rank": rank,
    }
    if groups := grouped(qualifiers):
        result["qualifiers"] = groups
        result["qualifiers-order"] = list(groups)
    if by_hash := {reference["hash"]: reference for reference in references}:
        result["references"] = [by_hash[key] for key in sorted(by_hash)]
    return result


def _guid(*seed: str) -> str:
    code = sha256_hex(*seed)[:32].upper()
    return "-".join((code[:8], code[8:12], code[12:16], code[16:20], code[20:]))


def claims(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    return _by_property((item["mainsnak"]["property"], item) for item in statements)


def text(value: str, language: str) -> dict[str, str]:
    """A label, description or alias on one line, truncated to `TEXT_LIMIT`."""
    line = " ".join(value.split())
    if len(line) > TEXT_LIMIT:
        line = line[: TEXT_LIMIT - 1].rstrip() + "…"
    return {"language": language, "value": line}


def texts(values: dict[str, str]) -> Texts:
    """Texts by language, without empty ones."""
    result = {language: text(values[language], language) for language in sorted(values)}
    return {language: item for language, item in result.items() if item["value"]}


def aliases(labels: dict[str, str], names: Iterable[Literal]) -> dict[str, list[dict[str, str]]]:
    """Names by language, in order and without the labels."""
    by_language: dict[str, dict[str, dict[str, str]]] = {}
    for name in names:
        language = name.language or NO_LANGUAGE
        alias = text(name.value, language)
        if alias["value"] and alias["value"] != " ".join(labels.get(language, "").split()):
            by_language.setdefault(language, {})[alias["value"]] = alias
    return {language: list(by_language[language].values()) for language in sorted(by_language)}


def entity(id_: str, page: tuple[int, str], content: dict[str, Any]) -> dict[str, Any]:
    """An entity document; `page` is its revision and the time of that revision."""
    item = id_.startswith("Q")
    return {
        "type": "item" if item else "property",
        "id": id_,
        "labels": {},
        "descriptions": {},
        "aliases": {},
        "claims": {},
        **({"sitelinks": {}} if item else {}),
        **content,
        "pageid": 2 * number(id_) - (0 if item else 1),
        "ns": 0 if item else 120,
        "title": id_ if item else f"Property:{id_}",
        "lastrevid": page[0],
        "modified": page[1],
    }
