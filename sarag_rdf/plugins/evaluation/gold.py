"""``sarag evaluate extraction`` and ``resolution``: against annotated sentences and mentions.

The gold file of `extraction` has the format of examples (`sarag_rdf.plugins.statement_models`):
JSON Lines with a text and all of its statements. Names are compared without accents, brackets,
quotes and units; an object that is a literal, as its text or as its value.

The gold file of `resolution` is a tab-separated table with one mention per row: `entity` (any
key), `name`, and optionally `type`, `aliases` and `related` (names separated by ``|``). Each row
becomes a document that mentions the name, with its aliases, and relates it to the related names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import click

import sarag_rdf
from sarag_rdf.base import tabular, types
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.plugins import plugins
from sarag_rdf.base.ports import Extractor, Progress, Table
from sarag_rdf.base.tabular import TableRow
from sarag_rdf.base.types import Document, Extraction, Mention, Relation
from sarag_rdf.base.vocab import text_of
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, progress_bars
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import commands
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.evaluation.reporting import block, table
from sarag_rdf.plugins.statement_models import Example, read_examples, soft_text

# ------------------------------------------------------------------------------------- Extraction

Key = tuple[str, str, str]
"""Subject, IRI of the property and object, as they are compared."""
_COLUMNS: Final = {
    "gold": "gold|d", "extracted": "extracted|d", "precision": "P", "recall": "R", "f1": "F1",
}  # fmt: skip


def keys_of(relation: Relation) -> frozenset[Key]:
    """The keys of a typed relation: several if its object is a literal."""
    subject, objects = relation.subject, {relation.object}
    if relation.value is not None:
        objects |= {relation.value.lexical, relation.value.text}
    triples = {(subject, each) for each in objects}
    if relation.inverse:
        triples = {(end, start) for start, end in triples}
    return frozenset((soft_text(s), relation.predicate, soft_text(o)) for s, o in triples)


def report(
    extractor: Extractor, gold: Sequence[Example], schema: Schema, progress: Progress
) -> dict[str, Any]:
    """Measures over all statements and by property, and what differs by sentence.

    Each sentence is a document of its own. Undefined measures are 0.
    """
    documents = [
        Document(f"urn:sentence:{number}", "urn:sentences", "", example.text, 0, len(example.text))
        for number, example in enumerate(gold)
    ]
    advance = progress("extracting", len(documents))
    labels = {iri: property_.label for iri, property_ in schema.properties.items()}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sentences = []
    for example, extraction in zip(gold, extractor.extract(documents), strict=True):
        known = {
            (soft_text(s.subject), s.property, soft_text(s.object)) for s in example.statements
        }
        problem = str(extraction) if isinstance(extraction, Exception) else None
        relations = () if isinstance(extraction, Exception) else extraction.relations
        extracted = dict.fromkeys(keys_of(r) for r in relations if r.predicate)
        every = frozenset[Key]().union(*extracted)
        for key in known:
            counts[key[1]].update(gold=1, found=key in every)
        for keys in extracted:
            counts[min(keys)[1]].update(extracted=1, right=not known.isdisjoint(keys))
        unexpected = (min(keys) for keys in extracted if not keys & known)
        differing: dict[str, Iterable[Key]] = {"missing": known - every, "unexpected": unexpected}
        shown = {kind: _shown(keys, labels) for kind, keys in differing.items()}
        sentences.append({"text": example.text, **shown, "problem": problem})
        advance(1)
    rows = {labels.get(iri, iri): _measured(own) for iri, own in counts.items()}
    return {
        "all": _measured(sum(counts.values(), Counter())),
        "properties": dict(sorted(rows.items())),
        "sentences": sentences,
    }


def _measured(counts: Counter[str]) -> dict[str, Any]:
    gold, extracted = counts["gold"], counts["extracted"]
    scores = PRF(counts["right"] / max(1, extracted), counts["found"] / max(1, gold))
    return {"gold": gold, "extracted": extracted, **scores.values(digits=6)}


def _shown(keys: Iterable[Key], labels: Mapping[str, str]) -> list[list[str]]:
    return sorted([subject, labels.get(iri, iri), object_] for subject, iri, object_ in keys)


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{counted(len(data['sentences']), 'sentence')}; figures in percent"
    rows = [{"property": name, **row} for name, row in data["properties"].items()]
    yield ""
    yield from block("", "property", [*rows, {"property": "all", **data["all"]}], _COLUMNS)
    problems = [row["problem"] for row in data["sentences"] if row["problem"]]
    if problems:
        yield ""
        yield f"{counted(len(problems), 'sentence')} could not be extracted: {problems[0]}"


@click.command(
    name="extraction",
    epilog="Example:  sarag evaluate extraction --gold gold.jsonl --kg kg --extractor llm",
)
@flags.path_option(
    "--gold",
    "Sentences with all their statements, in the format of the option examples of extractors "
    "(.jsonl).",
    required=True,
)
@flags.kg_option
@click.option(
    "--ontology", "ontologies", multiple=True, metavar="FILE",
    help="Ontology to follow, in place of those of --kg. May be repeated.",
)  # fmt: skip
@click.option(
    "--extractor", default="spacy", show_default=True, metavar="NAME[:KEY=VALUE]...",
    help="Extractor to evaluate, as for index.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT sentences.")
@flags.embedder_option
@commands.result_options
@flags.endpoint_options
def extraction(**options: Any) -> None:
    """Report precision, recall and F1 of typed statements, by property.

    The extractor follows the ontologies of the graph --kg, else the packaged one. The JSON lists
    the statements of each sentence that are missing or unexpected.
    """
    graph = _memory_graph(options) if options["ontologies"] else flags.open_graph(options)
    with graph as kg, progress_bars() as progress:
        schema = kg.ontologies.schema(more=options["ontologies"])
        schema = schema if schema.properties else common_schema()
        gold = read_examples(options["gold"], schema)[: options["limit"]]
        if not gold:
            raise InputError(f"{options['gold']} has no sentences")
        extractor = kg.extractor(options["extractor"], schema=schema)
        measured = report(extractor, gold, schema, progress)
    setting = {
        "gold": options["gold"].name,
        "extractor": options["extractor"],
        "model": extractor.method.model,
        "limit": options["limit"],
        "version": sarag_rdf.__version__,
    }
    data = {"setting": setting, **measured}
    commands.show_results(options, data, lines(data))


def _memory_graph(options: dict[str, Any]) -> AbstractContextManager[KnowledgeGraph]:
    return sarag_rdf.open(None, embedder=options["embedder"], endpoint=flags.endpoint_of(options))


# ------------------------------------------------------------------------------------- Resolution

DEFAULT: Final = "default"
"""Names and unambiguous aliases, which are followed without a rule."""
_FILE, _SUFFIX = "mention-", ".txt"
"""The name of a mention's document, around the number of the mention."""
_ENTITIES: Final = """
PREFIX sarag: <https://w3id.org/sarag/ontology#>
SELECT ?name ?entity WHERE { ?mention sarag:normalizedName ?name ; sarag:refersTo ?entity }
"""


@dataclass(frozen=True, slots=True)
class GoldMention:
    """A name in a document of its own, and the key of the entity that it stands for."""

    entity: str
    name: str
    type: types.EntityType = "misc"
    aliases: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    def source(self, number: int) -> types.Source:
        others = f" With {', '.join(self.related)}." if self.related else ""
        return types.Source(f"{self.name}.{others}", "", f"{_FILE}{number}{_SUFFIX}")


def read_gold(path: Path) -> list[GoldMention]:
    """Read the table of mentions. Raises `InputError` with the row of each error."""
    rows = tabular.read_table(path, ("entity", "name"), "a table of mentions")
    mentions = tabular.parse_rows(path, rows, _mention)
    if not mentions:
        raise InputError(f"{path} has no mentions: write one per line below the header")
    return mentions


def _mention(row: TableRow) -> GoldMention:
    if not row["entity"] or not normalize_name(row["name"]):
        raise ValueError("a mention needs an entity and a name")
    type_ = row["type"] or "misc"
    if type_ not in types.ENTITY_TYPES:
        known = ", ".join(types.ENTITY_TYPES)
        raise ValueError(f"no such type: '{type_}': write one of {known}")
    aliases, related = (
        tuple(filter(None, map(str.strip, row[column].split("|"))))
        for column in ("aliases", "related")
    )
    return GoldMention(row["entity"], row["name"], type_, aliases, related)


class GoldExtractor:
    """Gives each document of a gold file the mentions of its row."""

    method = types.Method("gold", "resolution", "", {})

    def __init__(self, mentions: Sequence[GoldMention]) -> None:
        self._mentions = mentions

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            number = document.source_iri.rpartition(_FILE)[2].removesuffix(_SUFFIX)
            row = self._mentions[int(number)]
            own = normalize_name(row.name)
            others = dict.fromkeys(n for n in row.related if normalize_name(n) != own)
            first = Mention(row.name, row.type, row.aliases, (document.text,))
            yield Extraction(
                (first, *map(Mention, others)),
                tuple(Relation(row.name, "with", name) for name in others),
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

    The precision of a mention is the share of its predicted group that is of its entity, its recall
    the share of its entity that is in its predicted group.
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


@click.command(name="resolution", epilog="Example:  sarag evaluate resolution mentions.tsv")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--rules", callback=commands.parse_names, help="Comma-separated merge rules. Default: all."
)
@click.option(
    "--least", default=0.9, show_default=True, type=click.FloatRange(0, 1),
    help="Minimum cosine, for the rule near.",
)  # fmt: skip
@flags.embedder_option
@flags.embedding_endpoint_options
@flags.json_option
def resolution(**options: Any) -> None:
    """Merge the mentions of a table by each merge rule, and compare with their known entities.

    The tab-separated table has the columns entity and name, and optionally type, aliases and
    related (names separated by |). Each rule is applied without review, after the merges that are
    made by default. Figures are in percent: of pairs of mentions, and B-cubed.
    """
    mentions = read_gold(options["file"])
    gold = [mention.entity for mention in mentions]
    rows = []
    with _memory_graph(options) as kg:
        sources = [mention.source(number) for number, mention in enumerate(mentions)]
        kg.index(sources, extractor=GoldExtractor(mentions))
        for rule in (DEFAULT, *(options["rules"] or plugins("merge_rules"))):
            merged = 0
            if rule != DEFAULT:
                proposals = kg.decisions.propose_merges(rule, least=options["least"])
                merged = len(kg.decisions.accept(proposals).decisions) if proposals else 0
            entities = cast("Table", kg.query(_ENTITIES))
            groups = {text_of(name): text_of(entity) for name, entity in entities.rows}
            predicted = [groups[normalize_name(mention.name)] for mention in mentions]
            scores = {"pairs": pairwise(gold, predicted), "b_cubed": b_cubed(gold, predicted)}
            if merged:
                kg.decisions.undo(rule)
            figures = {name: score.values(times=100, digits=1) for name, score in scores.items()}
            rows.append({"rule": rule, "merges": merged, **figures})
    counts = {"mentions": len(mentions), "entities": len(set(gold))}
    heads = ["rule", "merges", "pairs P", "R", "F1", "B-cubed P", "R", "F1"]
    cells = [
        [str(each) for each in (rule, merges, *pairs.values(), *b_cubed.values())]
        for rule, merges, pairs, b_cubed in map(dict.values, rows)
    ]
    emit(
        options,
        {**counts, "least": options["least"], "rules": rows},
        f"{counts['mentions']} mentions of {counts['entities']} entities; figures in percent\n",
        *table(heads, cells),
    )
