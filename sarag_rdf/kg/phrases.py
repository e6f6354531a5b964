"""Decisions about the phrases of relationships: which properties of an ontology they state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri, phrase_key
from sarag_rdf.base.tables import DECISION, TableRow, raise_for_rows, read_table, write_table
from sarag_rdf.base.types import ENTITY_TYPES
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.building.derive.decisions import (
    ANY_TYPE,
    NO_PROPERTY,
    SUBJECTS,
    VALUE_TYPE,
    Decision,
    PhraseSignature,
    read_decisions,
)
from sarag_rdf.building.derive.phrase_uses import PhraseSummary, summarize_phrases
from sarag_rdf.extraction.induction import (
    CountedPhrase,
    InducedProperty,
    ProposedClass,
    ProposedProperty,
    induce_properties,
    local_names,
    write_turtle,
)
from sarag_rdf.extraction.suggestions import PropertySuggester, Suggestion, TypedPhrase
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.ontologies import ontology_triples
from sarag_rdf.graph.ontology.read import common_schema, schema_of
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.terms import TermNames
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.kg.identity import record_decisions, today, undo_decisions
from sarag_rdf.kg.session import Session

MOST = 100
"""Default number of phrases in a table for review."""
CERTAIN = 0.6
"""Confidence from which a suggestion is entered in the column for the property."""
NONE = "none"
"""The word for `NO_PROPERTY` in tables."""
FORWARD, INVERSE = "forward", "inverse"
_PHRASE, _SUBJECT, _OBJECT = "phrase", "subject type", "object type"
_PROPERTY, _DIRECTION = "property", "direction"
COLUMNS = (
    *(
        DECISION,
        _PHRASE,
        _SUBJECT,
        _OBJECT,
        _PROPERTY,
        _DIRECTION,
        "confidence",
        "other properties",
    ),
    *("count", "names", "stated", "example 1", "example 2", "example 3", "note"),
)
_TYPES = frozenset((*ENTITY_TYPES, ANY_TYPE, VALUE_TYPE))
MOST_INDUCED = 2000
"""Number of phrases from which an ontology is induced, the most important ones."""
_INDUCED_CLASSES = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Place",
    "time": "Time",
}
_STATING = (SARAG.property, SARAG.inverseProperty)


@dataclass(frozen=True, slots=True)
class PhraseProposal:
    """A phrase with the properties that it may state, by descending confidence."""

    phrase: PhraseSummary
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True, slots=True)
class AcceptReport:
    """The decisions of a table, and the number of relationships with a property before and after.

    `skipped` is the number of rows without a property or with the decision no.
    """

    decisions: tuple[Decision, ...]
    skipped: int
    stated_before: int
    stated: int


class Phrases:
    """Decisions about phrases, which can be undone."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def schema(self) -> Schema:
        """The schema of the stored ontologies, or the packaged one if there are none."""
        with self._session.read() as snapshot:
            return _schema(snapshot.own)

    def suggest(self, *, most: int = MOST, all_: bool = False) -> list[PhraseProposal]:
        """The most important phrases, each with up to three suggested properties.

        Phrases whose relationships all state a property already, and those that were decided, are
        omitted unless `all_`. The importance of a phrase is the number of its relationships times
        that of the names that they relate.
        """
        with self._session.read() as snapshot:
            reader = snapshot.own
            decided = {(d.name, d.ends) for d in _decisions(reader)}
            summaries = [
                summary
                for summary in summarize_phrases(reader)
                if all_
                or (
                    summary.stated < summary.count
                    and (summary.signature.phrase, summary.signature[1:]) not in decided
                )
            ][:most]
            meta = read_meta(reader.store)
            embedder = self._session.models.embedder(meta.embedding_model if meta else "")
            suggester = PropertySuggester(_schema(reader), embedder)
        suggestions = suggester.suggest([TypedPhrase(*s.signature) for s in summaries])
        return [
            PhraseProposal(summary, tuple(of_phrase))
            for summary, of_phrase in zip(summaries, suggestions, strict=True)
        ]

    def review(self, proposals: Sequence[PhraseProposal], delimiter: str = "\t") -> str:
        """Proposals as a table for review, which `accept` reads.

        The first suggestion is entered as the property if its confidence is at least `CERTAIN`.
        """
        names = TermNames("property", self.schema().properties)
        return write_table(COLUMNS, (_cells(p, names) for p in proposals), delimiter)

    def accept(self, table: Path) -> AcceptReport:
        """Decide that the phrases in a reviewed table state the properties in it.

        Rows without a property and rows with the decision no are skipped. A phrase with the
        property ``none`` states nothing. Earlier decisions about the same phrases are replaced.
        The statements are derived from the evidence; nothing is extracted again. Raises
        `InputError` with the row and column of each error, and then decides nothing.
        """
        rows = read_table(table, (_PHRASE, _PROPERTY))
        with self._session.write(create=False) as reader:
            schema = _schema(reader)
            decisions: dict[PhraseSignature, Decision] = {}
            errors: list[str] = []
            for row in rows:
                try:
                    if row.decision() is False or not row[_PROPERTY]:
                        continue
                    decision = _decision(row, schema)
                except ValueError as error:
                    errors.append(f"row {row.number}, {error}")
                    continue
                signature = PhraseSignature(decision.name, *decision.ends)
                if decisions.setdefault(signature, decision) != decision:
                    errors.append(
                        f"row {row.number}, column {_PROPERTY}: an earlier row has another "
                        "property for this phrase: keep one of them"
                    )
            raise_for_rows(table, errors)
            replaced = [
                d for d in _decisions(reader) if PhraseSignature(d.name, *d.ends) in decisions
            ]
            before = _stating(reader)
            record_decisions(reader, decisions.values(), replaced)
            skipped = len(rows) - len(decisions)
            return AcceptReport(tuple(decisions.values()), skipped, before, _stating(reader))

    def induce(self, *, namespace: str = "", least: int = 2) -> str:
        """An ontology proposed from the corpus itself, as Turtle to be edited.

        It has one property for each cluster of phrases with at least `least` relationships, with
        the phrases, and examples of sentences that state it. Its terms are in `namespace`, by
        default ``ontology/`` below the base of the graph. Raises `UsageError` for an invalid
        namespace, and if no phrase is frequent enough.
        """
        with self._session.read() as snapshot:
            reader = snapshot.own
            meta = read_meta(reader.store)
            embedder = self._session.models.embedder(meta.embedding_model if meta else "")
            phrases = [
                CountedPhrase(*summary.signature, summary.count, summary.examples)
                for summary in summarize_phrases(reader)[:MOST_INDUCED]
            ]
            base = namespace or f"{reader.minter.base}ontology/"
        if not base.endswith(("#", "/")) or not is_iri(base):
            raise UsageError(f"invalid namespace '{base}': give an IRI that ends in # or /")
        properties = induce_properties(phrases, embedder, least=least)
        if not properties:
            raise UsageError(
                f"no phrase has {least} relationships: index more documents, or lower --least"
            )
        return _turtle(base, properties)

    def decisions(self) -> list[Decision]:
        """All decisions about phrases."""
        with self._session.read() as snapshot:
            return _decisions(snapshot.own)

    def undo(self, what: str | None) -> list[Decision]:
        """Undo decisions: by a phrase, or by the IRI of a decision or of a run; None for all.

        Raises `UsageError` if there are none.
        """
        with self._session.write(create=False) as reader:
            return undo_decisions(reader, what, "phrases")


def _turtle(namespace: str, properties: Sequence[InducedProperty]) -> str:
    def class_name(type_: str) -> str:
        return _INDUCED_CLASSES.get(type_, "")

    types = {type_ for p in properties for type_ in (p.subject_type, p.object_type)}
    proposed = [
        ProposedProperty(
            name, _label(p, properties), p.phrases, p.inverse_phrases,
            class_name(p.subject_type), class_name(p.object_type),
            p.object_type == VALUE_TYPE, p.sentences, p.count,
        )
        for name, p in zip(local_names(properties, class_name), properties, strict=True)
    ]  # fmt: skip
    classes = [
        ProposedClass(name, name.lower())
        for type_, name in _INDUCED_CLASSES.items()
        if type_ in types
    ]
    return write_turtle(namespace, classes, proposed)


def _label(property_: InducedProperty, properties: Sequence[InducedProperty]) -> str:
    """The label, with the types of the arguments if another property has the same label."""
    if sum(other.label == property_.label for other in properties) == 1:
        return property_.label
    return f"{property_.label} ({property_.subject_type}, {property_.object_type})"


def _decisions(reader: GraphReader) -> list[Decision]:
    return [d for d in read_decisions(reader) if d.kind in SUBJECTS["phrases"]]


def _schema(reader: GraphReader) -> Schema:
    schema = schema_of(ontology_triples(reader))
    return schema if schema.properties else common_schema()


def _stating(reader: GraphReader) -> int:
    """The number of relationships that state a property."""
    quads = reader.store.quads(reader.minter.kg_graph)
    return sum(quad.predicate in _STATING for quad in quads)


def _cells(proposal: PhraseProposal, names: TermNames) -> dict[str, object]:
    summary, suggestions = proposal.phrase, proposal.suggestions
    signature = summary.signature
    cells: dict[str, object] = {
        _PHRASE: signature.phrase,
        _SUBJECT: signature.subject_type or ANY_TYPE,
        _OBJECT: signature.object_type or ANY_TYPE,
        "count": summary.count,
        "names": summary.names,
        "stated": summary.stated,
    }
    cells |= {f"example {number}": text for number, text in enumerate(summary.examples, 1)}
    if suggestions and suggestions[0].confidence >= CERTAIN:
        first, suggestions = suggestions[0], suggestions[1:]
        cells[_PROPERTY] = names.name(first.property)
        cells[_DIRECTION] = INVERSE if first.is_inverse else FORWARD
        cells["confidence"] = f"{first.confidence:.2f}"
    cells["other properties"] = "; ".join(
        f"{names.name(s.property)} ({f'{INVERSE}, ' if s.is_inverse else ''}{s.confidence:.2f})"
        for s in suggestions
    )
    return cells


def _decision(row: TableRow, schema: Schema) -> Decision:
    """The decision in a row; raises `ValueError` with the column of an error."""
    phrase = phrase_key(row[_PHRASE])
    if not phrase:
        raise ValueError(f"column {_PHRASE}: the phrase is missing")
    ends = []
    for column in (_SUBJECT, _OBJECT):
        type_ = row[column].casefold() or ANY_TYPE
        if type_ not in _TYPES or (type_ == VALUE_TYPE and column == _SUBJECT):
            types = ", ".join((*ENTITY_TYPES, ANY_TYPE))
            more = f" or {VALUE_TYPE}" if column == _OBJECT else ""
            raise ValueError(f"column {column}: unknown type '{row[column]}': use {types}{more}")
        ends.append(type_)
    direction = row[_DIRECTION].casefold() or FORWARD
    if direction not in (FORWARD, INVERSE):
        raise ValueError(
            f"column {_DIRECTION}: unknown direction '{row[_DIRECTION]}': use {FORWARD} or "
            f"{INVERSE}"
        )
    if row[_PROPERTY].casefold() == NONE:
        return Decision(
            "property", phrase, NO_PROPERTY, ends=(ends[0], ends[1]), date=today(), note=row["note"]
        )
    try:
        property_ = TermNames("property", schema.properties).resolve(row[_PROPERTY])
    except UsageError as error:
        raise ValueError(f"column {_PROPERTY}: {error}") from error
    is_inverse = direction == INVERSE
    object_type = _object_type(schema, property_, ends[1], is_inverse=is_inverse)
    return Decision(
        "inverse property" if is_inverse else "property",
        phrase, property_, ends=(ends[0], object_type), date=today(), note=row["note"],
    )  # fmt: skip


def _object_type(schema: Schema, property_: str, type_: str, *, is_inverse: bool) -> str:
    """The type of the objects for which a property is decided; raises `ValueError`.

    With a property of entities, a date is the entity of its name; with a property of literals, any
    object is a value.
    """
    known = schema.properties.get(property_)
    if known is None:
        return type_
    if not known.is_literal:
        return "time" if type_ == VALUE_TYPE else type_
    if is_inverse:
        raise ValueError(
            f"column {_DIRECTION}: the values of '{known.label}' are literals, which are no "
            f"subjects: use {FORWARD}"
        )
    if type_ not in (VALUE_TYPE, ANY_TYPE, "time"):
        raise ValueError(
            f"column {_PROPERTY}: the values of '{known.label}' are literals, but the objects of "
            f"the phrase are entities of the type {type_}: use a property of entities"
        )
    return VALUE_TYPE
