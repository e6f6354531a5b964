"""The phrases of relationships in all evidence, grouped as decisions about them are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pyoxigraph import Literal, Quad

from sarag_rdf.base.iris import phrase_key, use_of
from sarag_rdf.base.vocab import SARAG, Term, iri, iri_or_literal
from sarag_rdf.building.derive.decisions import (
    VALUE_TYPE,
    Decisions,
    PhraseSignature,
    read_decisions,
)
from sarag_rdf.building.derive.statements import (
    DOCUMENT,
    OBJECT,
    STATEMENT_PROPERTIES,
    SUBJECT,
    NameUses,
    UseProperty,
    statement_of,
)
from sarag_rdf.graph.graph_reader import GraphReader

_PHRASE, _VALUE = SARAG.phrase.value, SARAG.value.value
_TEXT, _TYPE = SARAG.text.value, SARAG.entityType.value
MAX_EXAMPLE = 300
"""Characters of an example sentence; longer sentences are taken only if there are no others."""


@dataclass(frozen=True, slots=True)
class PhraseSummary:
    """The relationships with a phrase between subjects and objects of some types.

    The object type is `VALUE_TYPE` for dates and literals. `names` is the number of distinct names
    at the ends of the relationships; `stated` is the number of relationships that state a property
    already.
    """

    signature: PhraseSignature
    count: int
    names: int
    stated: int
    examples: tuple[str, ...]
    """Up to three sentences, each of another relationship."""

    @property
    def importance(self) -> int:
        """The number of relationships times that of their names."""
        return self.count * self.names


@dataclass(slots=True)
class _Group:
    relationships: int = 0
    stated: int = 0
    names: set[str] = field(default_factory=set)
    sentences: set[str] = field(default_factory=set)


def summarize_phrases(reader: GraphReader) -> list[PhraseSummary]:
    """The phrases of all relationships, the most important first."""
    decisions = Decisions.of(read_decisions(reader), reader.minter)
    groups: defaultdict[PhraseSignature, _Group] = defaultdict(_Group)
    for (graph,) in reader.select_provenance("source-graphs"):
        _add(groups, graph.value, reader.store.quads(graph.value), decisions)
    summaries = [
        PhraseSummary(
            signature, group.relationships, len(group.names), group.stated, _examples(group)
        )
        for signature, group in groups.items()
    ]
    return sorted(summaries, key=lambda summary: (-summary.importance, summary.signature))


def _add(
    groups: defaultdict[PhraseSignature, _Group],
    graph: str,
    quads: Iterable[Quad],
    decisions: Decisions,
) -> None:
    """Add the relationships of a source graph to the groups."""
    relationships: defaultdict[str, dict[str, Term]] = defaultdict(dict)
    properties: list[UseProperty] = []
    for quad in quads:
        subject, predicate = iri(quad.subject), quad.predicate.value
        if predicate in STATEMENT_PROPERTIES or predicate == _TEXT:
            relationships[subject][predicate] = iri_or_literal(quad.object)
        if predicate in (_TYPE, _VALUE):
            properties.append((subject, graph, predicate, iri_or_literal(quad.object)))
    uses = NameUses.of(properties)
    for relationship, values in relationships.items():
        if not values.keys() >= {_PHRASE, SUBJECT, DOCUMENT}:
            continue
        group = groups[_signature(values, graph, uses)]
        group.relationships += 1
        group.names |= set(_ends(values))
        group.sentences.add(values[_TEXT].value if _TEXT in values else "")
        group.stated += statement_of(relationship, graph, values, decisions, uses) is not None


def _signature(values: dict[str, Term], graph: str, uses: NameUses) -> PhraseSignature:
    def use(end: str) -> tuple[str, str]:
        return (
            (use_of(values[DOCUMENT].value, values[end].value), graph)
            if end in values
            else ("", "")
        )

    is_value = isinstance(values.get(_VALUE), Literal) or use(OBJECT) in uses.values
    return PhraseSignature(
        phrase_key(values[_PHRASE].value),
        uses.types.get(use(SUBJECT), ""),
        VALUE_TYPE if is_value else uses.types.get(use(OBJECT), ""),
    )


def _ends(values: dict[str, Term]) -> Iterator[str]:
    yield values[SUBJECT].value
    if OBJECT in values:
        yield values[OBJECT].value
    elif _VALUE in values:
        yield values[_VALUE].value


def _examples(group: _Group) -> tuple[str, ...]:
    """Three sentences spread over all, those of a reasonable length first."""
    ordered = sorted(group.sentences - {""}, key=lambda text: (len(text) > MAX_EXAMPLE, text))
    usable = [text for text in ordered if len(text) <= MAX_EXAMPLE] or ordered
    last = len(usable) - 1
    positions = sorted({0, last // 2, last}) if usable else []
    return tuple(usable[position] for position in positions)
