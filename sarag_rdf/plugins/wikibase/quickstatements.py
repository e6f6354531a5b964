"""QuickStatements (version 1) commands that create the items of a graph in a Wikibase.

QuickStatements cannot create properties, so they must exist. All items are created with their
texts before any statements, so that the items in statements exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase.entities import Export
from sarag_rdf.plugins.wikibase.model import Json, grouped_snaks, statements
from sarag_rdf.plugins.wikibase.numbers import is_id
from sarag_rdf.plugins.wikibase.vocabulary import Vocabulary


def read_targets(file: Path) -> dict[str, str]:
    """Read a tab-separated table of ids: id in the export, id in the target. ``#`` is a comment."""
    targets: dict[str, str] = {}
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        own, _, target = (part.strip() for part in line.partition("\t"))
        if not (is_id(own) and is_id(target) and own[0] == target[0]):
            raise InputError(
                f"{file}, line {number}: expected an id, a tab and the id in the target, for "
                "example P1 and P31"
            )
        targets[own] = target
    return targets


def commands(export: Export, vocabulary: Vocabulary, targets: Mapping[str, str]) -> Iterator[str]:
    """Commands, one per line; ids that are not in `targets` are not changed.

    Raises `UsageError` if the target would assign other ids to new items, because the ids of the
    export have gaps.
    """
    new = {export.numbers[name] for name in export.items()} - targets.keys()
    if new and (len(new) < len(export.items()) or not export.numbers.is_contiguous(export.items())):
        raise UsageError(
            f"the target would assign other ids to {len(new)} new items, such as {min(new)}: give "
            "the ids of all items in the target in the table of --properties"
        )
    for entity in export.entities(vocabulary):
        if entity.id.startswith("Q"):
            yield from _texts(entity.data, targets)
    for entity in export.entities(vocabulary):
        if entity.id.startswith("Q"):
            yield from _statements(entity.data, targets)


def _texts(data: Json, targets: Mapping[str, str]) -> Iterator[str]:
    subject = targets.get(data["id"], "")
    if not subject:
        yield "CREATE"
        subject = "LAST"
    for prefix, key in (("L", "labels"), ("D", "descriptions")):
        for language, text_value in data[key].items():
            yield "\t".join((subject, prefix + language, _quoted(text_value["value"])))
    for language, aliases in data["aliases"].items():
        for text_value in aliases:
            yield "\t".join((subject, f"A{language}", _quoted(text_value["value"])))


def _statements(data: Json, targets: Mapping[str, str]) -> Iterator[str]:
    subject = targets.get(data["id"], data["id"])
    for _, group in statements(data):
        for statement in group:
            words = [subject, *_pair(statement["mainsnak"], targets)]
            for snak in grouped_snaks(statement, "qualifiers"):
                words += _pair(snak, targets)
            # QuickStatements uses only the last reference of a line, so each gets its own line.
            for reference in statement.get("references") or [{}]:
                sources: list[str] = []
                for snak in grouped_snaks(reference, "snaks"):
                    property_id, value = _pair(snak, targets)
                    sources += ["S" + property_id[1:], value]
                yield "\t".join([*words, *sources])


def _pair(snak: Json, targets: Mapping[str, str]) -> tuple[str, str]:
    property_id = targets.get(snak["property"], snak["property"])
    return property_id, _value(snak["datavalue"]["value"], targets)


def _value(value: Any, targets: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if "text" in value:
        return f"{value['language']}:{_quoted(value['text'])}"
    if "amount" in value:
        unit = value["unit"].rpartition("/")[2]
        amount = str(value["amount"]).removeprefix("+")
        return amount if unit == model.NO_UNIT else f"{amount}U{targets.get(unit, unit)[1:]}"
    if "time" in value:
        return f"{value['time']}/{value['precision']}"
    if "latitude" in value:
        return f"@{value['latitude']}/{value['longitude']}"
    return targets.get(value["id"], value["id"])


def _quoted(text: str) -> str:
    """In quotes, on one line and without tabs; quotes inside are not escaped, as in the tool."""
    return f'"{" ".join(text.split())}"'
