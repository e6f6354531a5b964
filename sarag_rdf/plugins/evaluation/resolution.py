"""``sarag evaluate resolution``: merge rules on mentions whose entities are known.

Figures are those of pairs of mentions, and B-cubed.

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
from typing import Any, cast

import click

import sarag_rdf
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.plugins import plugins
from sarag_rdf.base.ports import Table
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
from sarag_rdf.base.vocab import text_of
from sarag_rdf.cli.flags import (
    embedder_option,
    embedding_endpoint_options,
    endpoint_of,
    json_option,
)
from sarag_rdf.cli.output import echo_json
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.commands import parse_names
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.evaluation.report import table

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


def pairwise(gold: Sequence[str], predicted: Sequence[str]) -> PRF:
    """Of all pairs of mentions that are called one entity, those that are, and the reverse.

    An undefined share is 1: nothing is wrong, or missing.
    """
    both = _pairs(Counter(zip(gold, predicted, strict=True)).values())
    proposed, true = _pairs(Counter(predicted).values()), _pairs(Counter(gold).values())
    return PRF(both / proposed if proposed else 1.0, both / true if true else 1.0)


def _pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def b_cubed(gold: Sequence[str], predicted: Sequence[str]) -> PRF:
    """Means over mentions (Bagga and Baldwin, "Algorithms for Scoring Coreference Chains", 1998).

    The precision of a mention is the share of those in its found group that are of its entity, its
    recall the share of those of its entity that are in its found group.
    """
    if not gold:
        return PRF(1.0, 1.0)
    both = Counter(zip(gold, predicted, strict=True))
    of_entity, of_group = Counter(gold), Counter(predicted)
    total = len(gold)
    return PRF(
        sum(count * count / of_group[group] for (_, group), count in both.items()) / total,
        sum(count * count / of_entity[entity] for (entity, _), count in both.items()) / total,
    )


def groups(mentions: Sequence[GoldMention], entities: Mapping[str, str]) -> list[str]:
    """The group of each mention: `entities` maps normalised names to entities of a graph."""
    return [entities[normalize_name(mention.name)] for mention in mentions]


# ---------------------------------------------------------------------------------------- Command


DEFAULT = "default"
"""Names and unambiguous aliases, which are followed without a rule."""
_ENTITIES = """
PREFIX sarag: <https://w3id.org/sarag/ontology#>
SELECT ?name ?entity WHERE { ?mention sarag:normalizedName ?name ; sarag:refersTo ?entity }
"""


@click.command(name="resolution", epilog="Example:  sarag evaluate resolution mentions.tsv")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rules", callback=parse_names, help="Comma-separated merge rules. Default: all.")
@click.option(
    "--least", default=0.9, show_default=True, type=click.FloatRange(0, 1),
    help="Minimum cosine, for the rule near.",
)  # fmt: skip
@embedder_option
@embedding_endpoint_options
@json_option
def command(**options: Any) -> None:
    """Merge the mentions of a table by each merge rule, and compare with their known entities.

    The tab-separated table has the columns entity and name, and optionally type, aliases and
    related (names separated by |). Each rule is applied without review, after the merges that are
    made by default. Figures are in percent: of pairs of mentions, and B-cubed.
    """
    mentions = read_gold(options["file"])
    if not mentions:
        raise InputError(f"{options['file']} has no mentions")
    gold = [mention.entity for mention in mentions]
    rows = []
    with sarag_rdf.open(None, embedder=options["embedder"], endpoint=endpoint_of(options)) as kg:
        sources = [mention.source(number) for number, mention in enumerate(mentions)]
        kg.index(sources, extractor=GoldExtractor(mentions))
        for rule in (DEFAULT, *(options["rules"] or plugins("merge_rules"))):
            merged = 0
            if rule != DEFAULT:
                proposals = kg.decisions.propose_merges(rule, least=options["least"])
                merged = len(kg.decisions.accept(proposals).decisions) if proposals else 0
            predicted = groups(mentions, _entities(kg))
            scores = {"pairs": pairwise(gold, predicted), "b_cubed": b_cubed(gold, predicted)}
            if merged:
                kg.decisions.undo(rule)
            figures = {
                measure: {
                    name: round(100 * getattr(score, name), 1)
                    for name in ("precision", "recall", "f1")
                }
                for measure, score in scores.items()
            }
            rows.append({"rule": rule, "merges": merged, **figures})
    if options["as_json"]:
        counts = {"mentions": len(mentions), "entities": len(set(gold))}
        echo_json({**counts, "least": options["least"], "rules": rows})
        return
    click.echo(f"{len(mentions)} mentions of {len(set(gold))} entities; figures in percent\n")
    heads = ["rule", "merges", "pairs P", "R", "F1", "B-cubed P", "R", "F1"]
    shown = [
        [
            row["rule"],
            str(row["merges"]),
            *(
                f"{value:.1f}"
                for measure in ("pairs", "b_cubed")
                for value in row[measure].values()
            ),
        ]
        for row in rows
    ]
    for line in table(heads, shown):
        click.echo(line)


def _entities(kg: KnowledgeGraph) -> dict[str, str]:
    """Normalised name -> entity."""
    table = cast("Table", kg.query(_ENTITIES))
    return {text_of(name): text_of(entity) for name, entity in table.rows}
