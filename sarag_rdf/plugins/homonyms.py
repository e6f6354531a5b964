"""``sarag split``, and its rule ``homonyms``: names by which sources mean different things.

Two uses of a name are compared by what surrounds them: the vectors of their documents, the other
names in these, and the statements that relate the name. The uses in all sources are clustered by
average linkage; groups that are clearly apart are proposed as things of their own. A reviewer
decides in a table, with a row for each source, which of them means which thing. Decisions are those
of `kg.decisions.split`: about a name in some sources, so that they hold when these change.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode, Quad

from sarag_rdf.base import tabular
from sarag_rdf.base.arrays import rows_of
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import local_name, plain_words
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.tabular import DECISION, TableRow, parse_rows, read_table, write_table
from sarag_rdf.base.vocab import PROV, SARAG, iri, text_of
from sarag_rdf.building.decision_records import Decision, Decisions
from sarag_rdf.building.plan import IndexedSources
from sarag_rdf.cli import flags
from sarag_rdf.cli.entity_commands import (
    action_of,
    check_review,
    list_or_undo,
    note_option,
    review_options,
    show_decisions,
    undo_options,
)
from sarag_rdf.cli.output import counted, emit, write_output
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.kg.deciding import record_decisions, variant_decision
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.session import Snapshot

RULE = "homonyms"
"""The rule of the decisions."""
LEAST = 0.7
"""Least confidence in a proposal, by default."""
SAME_THING = (-1.31, 4.90, 0.87, 0.42, 0.91)
"""Logistic regression on `use_features`: whether two sources mean one thing by a name."""
APART = (1.33, 3.10, -5.72)
"""Logistic regression on `cut_features`: whether two groups of sources mean different things.

Both are fitted on pairs of entities whose names were made one (see benchmarks/identity.md).
"""
_COLUMNS = (DECISION, "name", "qualifier", "confidence", "source", "sentence", "beside", "classes")
_SHOWN = 4
"""Names beside a name that are shown."""


@dataclass(slots=True)
class Use:
    """A name in one source, given by its IRI; other names are IRIs of mentions."""

    source: str
    spellings: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    related: set[str] = field(default_factory=set)
    """Names to which a statement relates the name."""
    beside: set[str] = field(default_factory=set)
    """Names in the same documents."""


@dataclass(frozen=True, slots=True)
class Part:
    """Sources that mean one thing by a name; the part without a `qualifier` keeps the name."""

    uses: tuple[Use, ...]
    qualifier: str = ""


@dataclass(frozen=True, slots=True)
class Homonym:
    """A name of different things (the IRI of a mention), and the confidence in that, in [0, 1].

    The first part, which has most sources, keeps the name.
    """

    name: str
    confidence: float
    parts: tuple[Part, ...]

    @property
    def label(self) -> str:
        """A spelling of the name."""
        return min(
            spelling for part in self.parts for use in part.uses for spelling in use.spellings
        )


def find_homonyms(snapshot: Snapshot, least: float = LEAST) -> list[Homonym]:
    """Names of entities by which groups of sources mean different things, most confident first.

    A name is split in two, and each part again, while the confidence is at least `least`. What a
    decision has split off stays as it is.
    """
    found = []
    for name, uses, features in names_of_several_sources(snapshot):
        confidence, groups = split_uses(features, least)
        if len(groups) > 1:
            parts = [[uses[row] for row in group] for group in groups]
            found.append(Homonym(name, round(confidence, 4), _qualified(parts)))
    return sorted(found, key=lambda each: (-each.confidence, each.name))


def names_of_several_sources(
    snapshot: Snapshot,
) -> Iterator[tuple[str, list[Use], NDArray[np.float64]]]:
    """Each name of an entity that several sources use, with its uses and their `use_features`."""
    uses, sources = uses_by_name(snapshot.own)
    rarity = {name: math.log(sources / len(several)) for name, several in uses.items()}
    index = snapshot.view.vectors.index("document")
    for name in sorted(_names_of_entities(snapshot.own) & uses.keys()):
        several = uses[name]
        if len(several) > 1:
            rows = (rows_of(index.iris, sorted(use.documents)) for use in several)
            means = np.stack([index.vectors(each).mean(axis=0) for each in rows])
            vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
            yield name, several, use_features(several, vectors, rarity)


def uses_by_name(reader: GraphReader) -> tuple[dict[str, list[Use]], int]:
    """Name -> its use in each source where no decision gives it another meaning; all sources."""
    decisions = Decisions.read(reader)
    graphs = [graph.value for (graph,) in reader.select_provenance("source-graphs")]
    result: defaultdict[str, list[Use]] = defaultdict(list)
    for graph in sorted(graphs):
        for name, use in _uses_in(reader.store.quads(graph)).items():
            if decisions.variant(name, graph) == name:
                result[name].append(use)
    return result, len(graphs)


def _uses_in(quads: Iterable[Quad]) -> dict[str, Use]:
    """Name -> its use, in the quads of one source."""
    nodes: defaultdict[str, defaultdict[NamedNode, set[str]]]
    nodes = defaultdict(lambda: defaultdict(set))
    source = ""
    for quad in quads:
        nodes[iri(quad.subject)][quad.predicate].add(text_of(quad.object))
        if quad.predicate == SARAG.source:
            source = text_of(quad.object)
    uses: dict[str, Use] = {}
    beside: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes.values():
        for name in node[SARAG.useOf]:
            use = uses.setdefault(name, Use(source))
            use.spellings |= node[SARAG.name]
            use.documents |= node[PROV.wasDerivedFrom]
            use.types |= node[SARAG.entityType]
            use.classes |= node[SARAG.entityClass]
            for document in node[PROV.wasDerivedFrom]:
                beside[document].add(name)
    for node in nodes.values():
        ends = node[SARAG.subjectMention] | node[SARAG.objectMention]
        for end in ends & uses.keys():
            uses[end].related |= ends - {end}
    for name, use in uses.items():
        use.beside = set().union(*(beside[document] for document in use.documents)) - {name}
    return uses


def _names_of_entities(reader: GraphReader) -> set[str]:
    """Names that refer to an entity, and not to a value."""
    rows = reader.select_provenance_for("instances", [SARAG.Entity.value])
    entities = {iri(row[1]) for row in rows}
    return {iri(name) for _, name in reader.select_provenance_for("entity-mentions", entities)}


def use_features(
    uses: Sequence[Use], vectors: NDArray[np.floating], rarity: Mapping[str, float]
) -> NDArray[np.float64]:
    """What speaks for one meaning in each pair of n uses: shape (n, n, 4), of vectors (n, d).

    The cosine of the documents; log(1 + sum of the rarities of the other names that both have); the
    same of those that a statement relates to the name in one of the two; and whether most uses are
    of a place, which texts about anything name. The rarity of a name is log(sources / sources that
    have it). Vectors are of unit length.
    """
    features = np.zeros((len(uses), len(uses), 4))
    features[..., 0] = vectors @ vectors.T
    for row, one in enumerate(uses):
        for column, other in enumerate(uses[:row]):
            shared = one.beside & other.beside
            related = shared & (one.related | other.related)
            weights = [math.log1p(sum(map(rarity.__getitem__, each))) for each in (shared, related)]
            features[row, column, 1:3] = features[column, row, 1:3] = weights
    places = sum("geopolitical" in use.types for use in uses)
    features[..., 3] = places > len(uses) / 2
    return features


def cut_features(same: NDArray[np.float64], first: NDArray[np.bool_]) -> tuple[float, float]:
    """What speaks for a cut between the `first` uses and the others, in probabilities.

    `same` (n, n) has those that two uses mean one thing: the mean within the groups (0.5 if each
    has one use), and the greatest across.
    """
    is_within = first[:, None] == first[None, :]
    within = same[is_within & np.triu(np.ones_like(is_within), 1)]
    return float(within.mean()) if within.size else 0.5, float(same[~is_within].max())


def first_cut(same: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of n uses, at least 2, are on one side of the last join of average linkage.

    `same` (n, n) has the probabilities that two uses mean one thing. Sokal and Michener, "A
    Statistical Method for Evaluating Systematic Relationships", 1958.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    size = len(same)
    clusters = {row: [row] for row in range(size)}
    tree = linkage(squareform(1 - same, checks=False), "average")[:, :2].astype(int)
    for number, (one, other) in enumerate(tree[:-1].tolist(), size):
        clusters[number] = clusters.pop(one) + clusters.pop(other)
    first = np.zeros(size, dtype=bool)
    first[clusters[int(tree[-1, 0])]] = True
    return first


def split_uses(features: NDArray[np.float64], least: float) -> tuple[float, list[list[int]]]:
    """The confidence in the first cut, in [0, 1], and the groups of uses, the largest first."""
    same = _logistic(SAME_THING, features)

    def cut(rows: list[int]) -> tuple[float, list[list[int]]]:
        if len(rows) == 1:
            return 0.0, [rows]
        own = same[np.ix_(rows, rows)]
        first = first_cut(own)
        confidence = float(_logistic(APART, np.array(cut_features(own, first))))
        if confidence < least:
            return confidence, [rows]
        sides = (np.array(rows)[first].tolist(), np.array(rows)[~first].tolist())
        return confidence, [group for side in sides for group in cut(side)[1]]

    confidence, groups = cut([*range(len(same))])
    return confidence, sorted(groups, key=lambda group: (-len(group), group))


def _logistic(weights: Sequence[float], features: NDArray[np.float64]) -> NDArray[np.float64]:
    score: NDArray[np.float64] = weights[0] + features @ np.array(weights[1:])
    return 1 / (1 + np.exp(-score))


def _qualified(parts: Sequence[Sequence[Use]]) -> tuple[Part, ...]:
    """The parts, all but the first with a qualifier of their own.

    It is the class, or else the related name, or else the name beside it, that most sources of the
    part have and no other part has; dates and other names with digits are passed over.
    """
    result = [Part(tuple(parts[0]))]
    for number, uses in enumerate(parts[1:], 1):
        others = [use for part in parts if part is not uses for use in part]
        qualifier = f"{number + 1}"
        for kind in ("classes", "related", "beside"):
            known = set().union(*(getattr(use, kind) for use in others))
            own = (each for use in uses for each in getattr(use, kind) - known)
            counts = Counter(each for each in own if not any(map(str.isdigit, local_name(each))))
            if counts:
                best = min(counts, key=lambda each: (-counts[each], each))
                qualifier = _words(best).lower()
                break
        while qualifier in {part.qualifier for part in result}:
            qualifier += f" {number + 1}"
        result.append(Part(tuple(uses), qualifier))
    return tuple(result)


# Review


def review_rows(reader: GraphReader, found: Iterable[Homonym]) -> Iterator[dict[str, object]]:
    """A row for each source of a homonym: the first sentence with the name, and names beside it.

    Rows without a qualifier are of the sources that keep the name.
    """
    listed = list(found)
    uses = [use for each in listed for part in each.parts for use in part.uses]
    keys = IndexedSources(reader).display_names(use.source for use in uses)
    texts = {
        row[0].value: row[3].value
        for row in reader.rows_for("documents", {d for use in uses for d in use.documents})
    }
    for each in listed:
        for part in each.parts:
            for use in part.uses:
                rarest = sorted(use.beside, key=lambda n: (n not in use.related, n))
                yield {
                    "name": each.label,
                    "qualifier": part.qualifier,
                    "confidence": each.confidence,
                    "source": keys[use.source],
                    "sentence": _sentence(use, texts),
                    "beside": ", ".join(map(_words, rarest[:_SHOWN])),
                    "classes": ", ".join(map(_words, sorted(use.classes or use.types))),
                }


def _words(node: str) -> str:
    return plain_words(local_name(node))


def _sentence(use: Use, texts: Mapping[str, str]) -> str:
    """The first sentence with a spelling of the name; the first one of its documents if none."""
    sentences = [
        texts[document][begin:end]
        for document in sorted(use.documents)
        for begin, end in sentence_spans(texts[document], headings=False)
    ]
    naming = (each for each in sentences if any(name in each for name in use.spellings))
    return next(naming, sentences[0] if sentences else "")


def table(rows: Iterable[Mapping[str, object]], delimiter: str = "\t") -> str:
    """The table of `review_rows`."""
    return write_table(_COLUMNS, rows, delimiter)


def accept(kg: KnowledgeGraph, path: Path) -> tuple[list[Decision], int]:
    """Decide the accepted rows of a table: in its source, the name means the thing `qualifier`.

    Returns the decisions, one for each name and qualifier, and the number of rows that decide
    nothing. Raises `InputError` with the rows of all errors, and what `kg.decisions.split` raises.
    """
    rows = read_table(path, (DECISION, "name", "qualifier", "source"))
    meant: dict[tuple[str, str], str] = {}
    parse_rows(path, rows, partial(_accept_row, meant))
    sources: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (name, source), qualifier in meant.items():
        sources[name, qualifier].append(source)
    decisions = []
    with kg.session.write(create=False) as reader:
        for (name, qualifier), several in sources.items():
            decisions.append(variant_decision(reader, name, several, qualifier, rule=RULE))
        record_decisions(reader, decisions)
    return decisions, len(rows) - len(meant)


def _accept_row(meant: dict[tuple[str, str], str], row: TableRow) -> None:
    """Note what a name means in a source, (name, source) -> qualifier, if the row was accepted.

    Raises `ValueError` for a row without a qualifier, or with another one than an earlier row.
    """
    if not row.decision():
        return
    key, qualifier = (row["name"], row["source"]), row["qualifier"]
    if not qualifier:
        raise ValueError("column qualifier: write what the name means in this source")
    if meant.setdefault(key, qualifier) != qualifier:
        raise ValueError("column qualifier: an earlier row has another one for this source")


# Command


@click.command(epilog="Example:  sarag split Mercury --in planets/mercury.md --as planet")
@click.argument("name", required=False)
@flags.write_options
@flags.embedding_options
@click.option("--from", "other", metavar="NAME", help="A name that refers to another entity.")
@click.option(
    "--in",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Source in which NAME refers to another entity: a file, a record or an IRI. May be "
    "repeated.",
)
@click.option(
    "--as", "qualifier", metavar="QUALIFIER", help="Qualifier of that entity, such as planet."
)
@review_options("names of several things", RULE)
@click.option(
    "--least",
    default=LEAST,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Minimum confidence of what the rule finds.",
)
@note_option
@undo_options("merges and splits")
def command(name: str | None, **options: Any) -> int:
    """Declare that NAME and another name, or NAME in some sources, are different entities.

    --from separates two names that an alias has joined. --in and --as give NAME an entity of its
    own in these sources.

    With --rule homonyms, names are found by which sources seem to mean different things: --dry-run
    lists them, and --review writes a table with a row for each source. Write accept in the column
    decision where the name means the thing of the column qualifier, then split these rows off with
    --accept; --undo takes the rule's name.
    """
    other, sources, qualifier = options["other"], options["sources"], options["qualifier"]
    what = "NAME --from NAME, or NAME --in SOURCE --as QUALIFIER"
    is_complete = bool(other) != bool(sources and qualifier) and bool(sources) == bool(qualifier)
    action = action_of(
        options,
        what,
        is_given=bool(name or other or sources or qualifier),
        is_complete=bool(name) and is_complete,
    )
    check_review(options, action)
    with flags.open_graph(options) as kg:
        if action in ("--list", "--undo"):
            return list_or_undo(kg, "identity", action, options)
        if action == "--rule":
            return _propose(kg, options)
        if action == "--accept":
            decisions, skipped = accept(kg, options["accept"])
            hint = "" if decisions else ": write accept in the column decision to split a row off"
            data = {"split": len(decisions), "rows_skipped": skipped}
            return emit(
                options, data, f"{len(decisions)} split, {counted(skipped, 'row')} skipped{hint}"
            )
        if other:
            decision = kg.decisions.keep_apart(str(name), other, note=options["note"])
        else:
            decision = kg.decisions.split(str(name), sources, qualifier, note=options["note"])
        return show_decisions(kg, [decision], options)


def _propose(kg: KnowledgeGraph, options: Mapping[str, Any]) -> int:
    """Write the table of --review, or list what is found."""
    if options["rule"] != RULE:
        raise UsageError(f"unknown rule '{options['rule']}': choose from {RULE}")
    with kg.session.read() as snapshot:
        found = find_homonyms(snapshot, options["least"])
        rows = [*review_rows(snapshot.own, found)]
    if options["review"] is not None:
        write_output(options["review"], table(rows, tabular.delimiter_for(options["review"])))
    shown = rows if options["dry_run"] else ()
    lines = (
        f"{row['name']}  [{row['qualifier']}]  {row['source']}: {row['sentence']}" for row in shown
    )
    return emit(options, rows, *lines, f"{counted(len(found), 'name')} would be split by {RULE}")
