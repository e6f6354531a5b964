"""Entity resolution on mentions whose entities are known: pairs of mentions, and B-cubed.

A gold file is a tab-separated table with one mention per row: `entity` (any key), `name`, and
optionally `type`, `aliases` and `related` (names separated by ``|``). Each row becomes a document
that mentions the name, with its aliases, and relates it to the related names.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.tables import read_text
from sarag_rdf.base.types import (
    ENTITY_TYPES,
    Document,
    EntityType,
    Extraction,
    Mention,
    Method,
    Relation,
    Source,
)

COLUMNS = ("entity", "name", "type", "aliases", "related")
_FILE, _SUFFIX = "mention-", ".txt"
"""The name of a mention's document, around the number of the mention."""


@dataclass(frozen=True, slots=True)
class GoldMention:
    """A name in a document of its own, and the key of the entity that it stands for."""

    entity: str
    name: str
    type: EntityType = "misc"
    aliases: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    def source(self, number: int) -> Source:
        """The document that mentions it."""
        others = f" With {', '.join(self.related)}." if self.related else ""
        return Source(f"{self.name}.{others}", "", f"{_FILE}{number}{_SUFFIX}")


def read_gold(path: Path) -> list[GoldMention]:
    """Read a gold file. Raises `InputError`."""
    rows = csv.DictReader(read_text(path).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = {"entity", "name"} - set(rows.fieldnames or ())
    unknown = set(rows.fieldnames or ()) - set(COLUMNS)
    if missing or unknown:
        raise InputError(
            f"{path} is not a table of mentions: give the columns entity and name, and as needed "
            "type, aliases and related, separated by tabs"
        )
    return [_mention(path, number, row) for number, row in enumerate(rows, start=2)]


def _mention(path: Path, line: int, row: Mapping[str, str | None]) -> GoldMention:
    cells = {column: (row.get(column) or "").strip() for column in COLUMNS}
    if not cells["entity"] or not normalize_name(cells["name"]):
        raise InputError(f"{path}, line {line}: a mention needs an entity and a name")
    type_ = cells["type"] or "misc"
    if type_ not in ENTITY_TYPES:
        raise InputError(
            f"{path}, line {line}: no such type: '{type_}': write one of {', '.join(ENTITY_TYPES)}"
        )
    aliases, related = (
        tuple(name.strip() for name in cells[column].split("|") if name.strip())
        for column in ("aliases", "related")
    )
    return GoldMention(cells["entity"], cells["name"], type_, aliases, related)


class GoldExtractor:
    """Gives each document of a gold file the mentions of its row."""

    method = Method("gold", "resolution", "", {})

    def __init__(self, mentions: Sequence[GoldMention]) -> None:
        self._mentions = mentions

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result per document, in order."""
        for document in documents:
            number = document.source_iri.rpartition(_FILE)[2].removesuffix(_SUFFIX)
            row = self._mentions[int(number)]
            own = normalize_name(row.name)
            others = tuple(n for n in row.related if normalize_name(n) != own)
            first = Mention(row.name, row.type, row.aliases, (document.text,))
            yield Extraction(
                (first, *(Mention(name) for name in dict.fromkeys(others))),
                tuple(Relation(row.name, "with", name) for name in dict.fromkeys(others)),
            )


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall and F1, in [0, 1]; undefined ones are 1: nothing is wrong, or missing."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def pairwise(gold: Sequence[str], predicted: Sequence[str]) -> Scores:
    """Of all pairs of mentions that are called one entity, those that are, and the reverse."""
    both = _pairs(Counter(zip(gold, predicted, strict=True)).values())
    proposed, true = _pairs(Counter(predicted).values()), _pairs(Counter(gold).values())
    return Scores(both / proposed if proposed else 1.0, both / true if true else 1.0)


def _pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def b_cubed(gold: Sequence[str], predicted: Sequence[str]) -> Scores:
    """Means over mentions (Bagga and Baldwin, "Algorithms for Scoring Coreference Chains", 1998).

    The precision of a mention is the share of those in its found group that are of its entity, its
    recall the share of those of its entity that are in its found group.
    """
    if not gold:
        return Scores(1.0, 1.0)
    both = Counter(zip(gold, predicted, strict=True))
    of_entity, of_group = Counter(gold), Counter(predicted)
    total = len(gold)
    return Scores(
        sum(count * count / of_group[group] for (_, group), count in both.items()) / total,
        sum(count * count / of_entity[entity] for (entity, _), count in both.items()) / total,
    )


def groups(mentions: Sequence[GoldMention], entities: Mapping[str, str]) -> list[str]:
    """The group of each mention: `entities` maps normalised names to entities of a graph."""
    return [entities[normalize_name(mention.name)] for mention in mentions]
