"""The phrases of relationships in all evidence, grouped as decisions about them are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyoxigraph import Literal

from sarag_rdf.base.iris import phrase_key
from sarag_rdf.base.vocab import SARAG, Term, iri, text_of
from sarag_rdf.building.decision_records import VALUE_TYPE, Decisions, PhraseSignature
from sarag_rdf.building.derive import (
    DOCUMENT,
    OBJECT,
    PHRASE,
    SUBJECT,
    VALUE,
    NameUses,
    StatementParts,
    statement_of,
    use_at,
)
from sarag_rdf.graph.graph_reader import GraphReader

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
    decisions = Decisions.read(reader)
    groups: defaultdict[PhraseSignature, _Group] = defaultdict(_Group)
    for (graph,) in reader.select_provenance("source-graphs"):
        parts, sentences = StatementParts(), dict[str, str]()
        for quad in reader.store.quads(graph.value):
            parts.add(quad)
            if quad.predicate == SARAG.text:
                sentences[iri(quad.subject)] = text_of(quad.object)
        uses = NameUses.of(parts.uses)
        for (relationship, _), values in parts.relationships.items():
            if not values.keys() >= {PHRASE, SUBJECT, DOCUMENT}:
                continue
            group = groups[_signature(values, graph.value, uses)]
            group.relationships += 1
            ends = (values[SUBJECT], values.get(OBJECT) or values.get(VALUE))
            group.names |= {end.value for end in ends if end is not None}
            group.sentences.add(sentences.get(relationship, ""))
            statement = statement_of(relationship, graph.value, values, decisions, uses)
            group.stated += statement is not None
    summaries = [
        PhraseSummary(
            signature, group.relationships, len(group.names), group.stated, _examples(group)
        )
        for signature, group in groups.items()
    ]
    return sorted(summaries, key=lambda summary: (-summary.importance, summary.signature))


def _signature(values: dict[str, Term], graph: str, uses: NameUses) -> PhraseSignature:
    subject, object_ = (use_at(values, end, graph) for end in (SUBJECT, OBJECT))
    is_value = isinstance(values.get(VALUE), Literal) or object_ in uses.values
    return PhraseSignature(
        phrase_key(values[PHRASE].value),
        uses.types.get(subject, ""),
        VALUE_TYPE if is_value else uses.types.get(object_, ""),
    )


def _examples(group: _Group) -> tuple[str, ...]:
    """Three sentences spread over all, those of a reasonable length first."""
    ordered = sorted(group.sentences - {""}, key=lambda text: (len(text) > MAX_EXAMPLE, text))
    usable = [text for text in ordered if len(text) <= MAX_EXAMPLE] or ordered
    last = len(usable) - 1
    positions = sorted({0, last // 2, last}) if usable else []
    return tuple(usable[position] for position in positions)
