"""What rules and models propose to decide, as tables for review, and the rows that were accepted.

Merges are proposed by the names of entities, classes by their names or by a language model, and
the properties that phrases state by the meaning of both. DotRAG (section A.5) lets a model look
through clusters of entities, and relabel the types of entities in batches; it checks that each of
them comes back once. Here its replies are proposals: nothing changes before they are accepted.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

from pyoxigraph import Literal

from sarag_rdf.base.arrays import batches, find, rows_of
from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError, UsageError
from sarag_rdf.base.iris import local_name, normalize_name, phrase_key
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import LLM, Embedder, Progress, silent
from sarag_rdf.base.prompts import array_of, fence_for, object_of, one_of, render_prompt
from sarag_rdf.base.tabular import DECISION, TableRow, write_table
from sarag_rdf.base.types import ENTITY_TYPES
from sarag_rdf.base.vocab import RDF, SARAG, SEMAPV, TYPE_CLASSES, Term, iri, text_of
from sarag_rdf.building.decision_records import (
    ANY_TYPE,
    NO_PROPERTY,
    SUBJECTS,
    VALUE_TYPE,
    Decision,
    Decisions,
    Kind,
    PhraseSignature,
    read_decisions,
)
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
from sarag_rdf.building.link_records import Match, samples_of
from sarag_rdf.building.merge_rules import MergeRule, propose
from sarag_rdf.extraction.phrases import PhraseMatcher
from sarag_rdf.extraction.review import CountedPhrase, PropertySuggester, Suggestion
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import today
from sarag_rdf.graph.ontology.schema import Schema, TermNames
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.texts import documents_of, entity_labels
from sarag_rdf.kg.entity_lookup import decided_entity
from sarag_rdf.kg.session import Snapshot

log = logging.getLogger(__name__)

_NEAREST = 50
"""Nearest entities that the rules ``near`` and ``cluster`` look at first."""
SHOWN: Final = 20
"""Entities that a model is asked about in one call."""
NO_CLASS: Final = "none of these"
_TOKENS: Final = 30
"""Tokens of the reply about one entity."""
_MAX_TOKENS: Final = 400


# Merges


def propose_merges(snapshot: Snapshot, rule: str, least: float) -> list[Match]:
    """Merges that a rule proposes: the subject of a row would be merged into its object."""
    chosen: MergeRule = load("merge_rules", rule)
    nearest = partial(_nearest, snapshot)
    rows = propose(
        snapshot.own, chosen, nearest, lambda kind: snapshot.view.vectors.index(kind), least
    )
    labels = entity_labels(select_parts(snapshot.own), {iri for row in rows for iri in row.pair})
    return [
        replace(
            row,
            subject_label=labels[row.subject][0],
            object_label=labels[row.object][0],
            tool=rule,
            date=today(),
        )
        for row in rows
    ]


def with_remarks(
    reader: GraphReader, rows: Sequence[Match], llm: LLM, progress: Progress
) -> list[Match]:
    """Proposals with a remark by a language model: whether it finds the two the same.

    Rows with one object are put to it together. The remark is for review.
    """
    members = _members(reader, {iri for row in rows for iri in row.pair})
    by_centre: defaultdict[str, list[Match]] = defaultdict(list)
    for row in rows:
        by_centre[row.object].append(row)
    advance = progress("curating clusters", len(by_centre))
    comments: dict[str, dict[str, str]] = {}
    for centre, several in by_centre.items():
        comments[centre] = remarks(members[centre], [members[r.subject] for r in several], llm)
        advance(1)
    return [replace(row, comment=comments[row.object][row.subject]) for row in rows]


def _nearest(snapshot: Snapshot, entity: str, least: float) -> list[tuple[str, float]]:
    """Entities whose names have a cosine of at least `least` with the entity's, with the cosine."""
    index = snapshot.view.vectors.index("entity")
    if find(index.iris, entity) < 0:  # merged into another entity
        return []
    [vector] = index.vectors(rows_of(index.iris, [entity]))
    k = _NEAREST
    while len(nearest := index.nearest(vector, k)) == k and nearest[-1][1] >= least:
        k *= 4
    return [(other, cosine) for other, cosine in nearest if other != entity and cosine >= least]


def _members(
    reader: GraphReader, entities: Collection[str], *, texts: bool = True
) -> dict[str, Member]:
    """Entities with names and types, and with `texts` one of their descriptions."""
    samples = samples_of(select_parts(reader), entities) if texts else {}
    return {
        iri: Member(iri, name, type_, samples.get(iri, ""))
        for iri, (name, type_) in entity_labels(reader, entities).items()
    }


# Classes

CLASS_IN_NAME = "class-in-name"
"""The rule by which "Lund University" is a university."""
BY_MODEL = "by-model"
"""The rule by which a language model says what an entity is."""
CLASS_COLUMNS = (DECISION, "name", "class", "type", "documents", "rule", "note", "entity")


@dataclass(frozen=True, slots=True)
class ClassProposal:
    """An entity with the IRI of the class that `rule` proposes for it.

    `type` is the entity type; `documents` the number of documents that describe the entity.
    """

    entity: str
    name: str
    class_iri: str
    type: str
    documents: int
    rule: str = CLASS_IN_NAME


def propose_classes(
    reader: GraphReader, schema: Schema, llm: LLM | None = None, progress: Progress = silent
) -> list[ClassProposal]:
    """The classes of entities, by their names ("University of Lund") or by a model.

    Those of entities in most documents come first. Omitted are entities that belong to the class,
    and those whose classes were decided. By their names, classes of persons are not proposed. Of a
    model, replies are omitted that no class fits, and those that are not valid, whose number is
    logged. Raises `UnparsableReplyError` if no reply is valid.
    """
    entities, classes = _undecided(reader)
    documents = documents_of(reader, entities)
    members = _members(reader, entities, texts=llm is not None).values()
    listed = sorted(members, key=lambda each: (-len(documents.get(each.iri, ())), each.iri))
    named: Iterable[tuple[Member, str | None]]
    if llm is None:
        of_name = PhraseMatcher(schema).classes_of_name
        named = ((member, next(iter(of_name(member.name)), None)) for member in listed)
    else:
        named = _classes_by_model(listed, schema, llm, progress)
    return [
        ClassProposal(
            member.iri,
            member.name,
            class_,
            member.type,
            len(documents.get(member.iri, ())),
            CLASS_IN_NAME if llm is None else BY_MODEL,
        )
        for member, class_ in named
        if class_ and not schema.belongs(classes[member.iri], [class_])
    ]


def _classes_by_model(
    members: Sequence[Member], schema: Schema, llm: LLM, progress: Progress
) -> Iterator[tuple[Member, str | None]]:
    """Each entity with the class that a model gives it, if any."""
    names = TermNames("class", schema.classes)
    by_label = {names.name(class_): class_ for class_ in schema.classes}
    if not by_label:
        raise UsageError("the graph has no ontology with classes: see sarag ontology add")
    advance = progress("relabelling entities", len(members))
    unanswered = 0
    for member, label in relabelled(members, sorted(by_label), llm):
        unanswered += label is None
        yield member, by_label.get(label or "")
        advance(1)
    if unanswered and unanswered == len(members):
        raise UnparsableReplyError(
            f"no reply of {llm.model} about the classes of {unanswered} entities could be used: "
            "try another model"
        )
    if unanswered:
        log.warning(
            "no usable reply of %s about %d of %d entities: they are left out",
            llm.model, unanswered, len(members),
        )  # fmt: skip


def _undecided(reader: GraphReader) -> tuple[set[str], defaultdict[str, set[str]]]:
    """The entities whose classes were not decided, and the classes of all entities."""
    classes: defaultdict[str, set[str]] = defaultdict(set)
    entities: set[str] = set()
    referents: dict[str, str] = {}
    for quad in reader.store.quads(reader.minter.kg_graph):
        if quad.predicate == RDF.type and quad.object == SARAG.Entity:
            entities.add(iri(quad.subject))
        elif quad.predicate == RDF.type:
            classes[iri(quad.subject)].add(text_of(quad.object))
        elif quad.predicate == SARAG.refersTo:
            referents[iri(quad.subject)] = text_of(quad.object)
    decided = Decisions.of(read_decisions(reader), reader.minter).classes
    return entities - {referents[name] for name in decided if name in referents}, classes


def class_table(proposals: Sequence[ClassProposal], schema: Schema, delimiter: str = "\t") -> str:
    """Proposals as a table for review, with a column `decision` for ``accept``."""
    names = TermNames("class", schema.classes)
    labels = {each.class_iri: names.name(each.class_iri) for each in proposals}
    labels = {iri: iri if label in TYPE_CLASSES else label for iri, label in labels.items()}
    rows = (asdict(each) | {"class": labels[each.class_iri]} for each in proposals)
    return write_table(CLASS_COLUMNS, rows, delimiter)


def classes_named(schema: Schema, classes: Sequence[str]) -> list[str]:
    """IRIs of classes, each once; raises `UsageError` for unknown ones and for several types.

    So it does for a name that is that of an entity type and of a class of one's own ontologies.
    """
    names = TermNames("class", schema.classes)
    result = dict.fromkeys(_class_named(names, name) for name in classes)
    if len(result.keys() & {class_.value for class_ in TYPE_CLASSES.values()}) > 1:
        raise UsageError("an entity has one entity type: give one of " + ", ".join(TYPE_CLASSES))
    return list(result)


def _class_named(names: TermNames, name: str) -> str:
    type_ = TYPE_CLASSES.get(name)
    if type_ is None:
        return names.resolve(name)
    class_ = names.find(name)
    if class_ is not None and class_ not in common_schema().classes:
        raise UsageError(
            f"'{name}' is an entity type and a class: give sarag:{local_name(type_.value)} for the "
            f"entity type, or <{class_}> for the class"
        )
    return type_.value


def class_decision(reader: GraphReader, schema: Schema, row: TableRow) -> Decision | None:
    """The decision in a row, if it was accepted; raises `ValueError` with the column at fault."""
    if not row.decision():
        return None
    column = "name"
    try:
        decided_entity(reader, row["name"])
        column = "class"
        [class_] = classes_named(schema, [row["class"]])
    except UsageError as error:
        raise ValueError(f"column {column}: {error}") from error
    return Decision(
        "class", normalize_name(row["name"]), class_, justification=SEMAPV.LexicalMatching.value,
        rule=row["rule"], date=today(), note=row["note"],
    )  # fmt: skip


# Phrases

MOST = 100
"""Default number of phrases in a table for review."""
CERTAIN = 0.6
"""Confidence from which a suggestion is entered in the column for the property."""
NONE = "none"
"""The word for `NO_PROPERTY` in tables."""
FORWARD, INVERSE = "forward", "inverse"
_PHRASE, _SUBJECT, _OBJECT = "phrase", "subject type", "object type"
_PROPERTY, _DIRECTION = "property", "direction"
PHRASE_COLUMNS = (
    *(DECISION, _PHRASE, _SUBJECT, _OBJECT, _PROPERTY, _DIRECTION, "confidence"),
    *("other properties", "count", "names", "stated"),
    *("example 1", "example 2", "example 3", "note"),
)
_TYPES = frozenset((*ENTITY_TYPES, ANY_TYPE, VALUE_TYPE))


@dataclass(frozen=True, slots=True)
class PhraseProposal:
    """A phrase with the properties that it may state, by descending confidence."""

    phrase: PhraseSummary
    suggestions: tuple[Suggestion, ...]


def propose_phrases(
    reader: GraphReader, schema: Schema, embedder: Embedder, *, most: int = MOST, all_: bool = False
) -> list[PhraseProposal]:
    """The most important phrases, each with up to three suggested properties.

    Phrases whose relationships all state a property already, and those that were decided, are
    omitted unless `all_`. The importance of a phrase is the number of its relationships times
    that of the names that they relate.
    """
    decisions = [d for d in read_decisions(reader) if d.kind in SUBJECTS["phrases"]]
    decided = {(d.name, d.ends) for d in decisions}
    summaries = [
        summary
        for summary in summarize_phrases(reader)
        if all_
        or (
            summary.stated < summary.count
            and (summary.signature.phrase, summary.signature[1:]) not in decided
        )
    ][:most]
    suggester = PropertySuggester(schema, embedder)
    suggestions = suggester.suggest([CountedPhrase(*s.signature) for s in summaries])
    return [
        PhraseProposal(summary, tuple(of_phrase))
        for summary, of_phrase in zip(summaries, suggestions, strict=True)
    ]


def phrase_table(proposals: Sequence[PhraseProposal], schema: Schema, delimiter: str = "\t") -> str:
    """Proposals as a table for review.

    The first suggestion is entered as the property if its confidence is at least `CERTAIN`.
    """
    names = TermNames("property", schema.properties)
    return write_table(PHRASE_COLUMNS, (_cells(p, names) for p in proposals), delimiter)


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


def phrase_decision(
    earlier: dict[PhraseSignature, Decision], schema: Schema, row: TableRow
) -> Decision | None:
    """The decision in a row, unless it has no property or was rejected.

    Raises `ValueError` with the column of an error, also for a phrase for which an `earlier` row
    has another property; the row is added to these.
    """
    if row.decision() is False or not row[_PROPERTY]:
        return None
    phrase = phrase_key(row[_PHRASE])
    if not phrase:
        raise ValueError(f"column {_PHRASE}: the phrase is missing")
    subject, object_ = _end(row, _SUBJECT), _end(row, _OBJECT)
    direction = row[_DIRECTION].casefold() or FORWARD
    if direction not in (FORWARD, INVERSE):
        raise ValueError(
            f"column {_DIRECTION}: unknown direction '{row[_DIRECTION]}': use {FORWARD} or "
            f"{INVERSE}"
        )
    kind: Kind = "property"
    property_ = NO_PROPERTY
    if row[_PROPERTY].casefold() != NONE:
        try:
            property_ = TermNames("property", schema.properties).resolve(row[_PROPERTY])
        except UsageError as error:
            raise ValueError(f"column {_PROPERTY}: {error}") from error
        is_inverse = direction == INVERSE
        kind = "inverse property" if is_inverse else "property"
        object_ = _object_type(schema, property_, object_, is_inverse=is_inverse)
    decision = Decision(
        kind, phrase, property_, ends=(subject, object_), date=today(), note=row["note"]
    )
    if earlier.setdefault(PhraseSignature(phrase, subject, object_), decision) != decision:
        raise ValueError(
            f"column {_PROPERTY}: an earlier row has another property for this phrase: keep one of "
            "them"
        )
    return decision


def _end(row: TableRow, column: str) -> str:
    """The entity type in a column; raises `ValueError`."""
    type_ = row[column].casefold() or ANY_TYPE
    if type_ not in _TYPES or (type_ == VALUE_TYPE and column == _SUBJECT):
        types = ", ".join((*ENTITY_TYPES, ANY_TYPE))
        more = f" or {VALUE_TYPE}" if column == _OBJECT else ""
        raise ValueError(f"column {column}: unknown type '{row[column]}': use {types}{more}")
    return type_


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
            f"column {_DIRECTION}: the values of '{known.label}' are literals, which cannot be "
            f"subjects: use {FORWARD}"
        )
    if type_ not in (VALUE_TYPE, ANY_TYPE, "time"):
        raise ValueError(
            f"column {_PROPERTY}: the values of '{known.label}' are literals, but the objects of "
            f"the phrase are entities of the type {type_}: use a property of entities"
        )
    return VALUE_TYPE


# What a language model says of entities


@dataclass(frozen=True, slots=True)
class Member:
    """An entity as a model sees it."""

    iri: str
    name: str
    type: str = ""
    text: str = ""


_Numbered = Mapping[str, Member]
"""Number in a prompt -> member."""


def remarks(centre: Member, members: Sequence[Member], llm: LLM) -> dict[str, str]:
    """Member -> a remark for review: whether a model finds it the same thing as the centre.

    A reply may name only members that it was shown.
    """
    verdicts: dict[str, str] = {}
    for batch in map(_numbered, batches(members, SHOWN)):
        schema = object_of(same=array_of(one_of(list(batch)), len(batch)))
        reply = _reply("curate_cluster", batch, llm, schema, _MAX_TOKENS, centre=centre)
        verdicts |= {
            member.iri: "no usable reply"
            if reply is None
            else "the same"
            if number in reply["same"]
            else "something else"
            for number, member in batch.items()
        }
    return {iri: f"{llm.model}: {verdict}" for iri, verdict in verdicts.items()}


def relabelled(
    members: Sequence[Member], classes: Sequence[str], llm: LLM
) -> Iterator[tuple[Member, str | None]]:
    """Each entity with the label of its class; "" for none of them, None without a valid reply.

    `classes` are labels. Entities that a reply does not name exactly once are asked about again,
    together, and then have no valid reply.
    """
    for batch in map(_numbered, batches(members, SHOWN)):
        labels = _labels(batch, classes, llm)
        missing = [member for member in batch.values() if member.iri not in labels]
        if 0 < len(missing) < len(batch):
            labels |= _labels(_numbered(missing), classes, llm)
        yield from ((member, labels.get(member.iri)) for member in batch.values())


def _labels(batch: _Numbered, classes: Sequence[str], llm: LLM) -> dict[str, str]:
    """Entity -> label, for those that the reply names exactly once."""
    labelled = object_of(entity=one_of(list(batch)), type=one_of([*classes, NO_CLASS]))
    schema = object_of(labels=array_of(labelled, len(batch)))
    tokens = _TOKENS * (len(batch) + 1)
    reply = _reply("relabel_entities", batch, llm, schema, tokens, classes=classes, none=NO_CLASS)
    rows = reply["labels"] if reply is not None else []
    counts = Counter(row["entity"] for row in rows)
    return {
        batch[row["entity"]].iri: "" if row["type"] == NO_CLASS else row["type"]
        for row in rows
        if counts[row["entity"]] == 1
    }


def _numbered(members: Sequence[Member]) -> _Numbered:
    return {str(number): member for number, member in enumerate(members, start=1)}


def _reply(
    name: str, batch: _Numbered, llm: LLM, schema: Any, max_tokens: int, **values: Any
) -> Any:
    """What a model replies to a prompt about numbered members; None without a valid reply."""
    texts = [text for m in batch.values() for text in (m.name, m.type, m.text)]
    for value in values.values():
        texts += [value.name, value.text] if isinstance(value, Member) else value
    fence = fence_for(*texts, length=8)
    prompt = render_prompt(name, members=batch, fence=fence, **values)
    try:
        return llm.complete(prompt, schema, name=name, max_tokens=max_tokens).data
    except (TruncatedReplyError, UnparsableReplyError):
        return None


# Tables

REQUIRED = {"classes": (DECISION, "name", "class"), "phrases": (_PHRASE, _PROPERTY)}
"""Columns that a table about a subject must have."""


# ------------------------------------------------------------------------- Phrases of relationships

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
