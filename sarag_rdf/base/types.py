"""The values that flow through the library. All are frozen; IRIs are plain strings.

``Source -> Document -> Extraction`` while indexing, ``Query -> Retrieved -> Context -> Answer``
while answering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from itertools import pairwise
from operator import add
from typing import Any, Literal, get_args

from sarag_rdf.base.notebooks import SHOWN, cut, more, table_html

EntityType = Literal[
    "person", "organization", "geopolitical", "time", "quantity", "adjective", "misc"
]
"""The four types of the SA-RAG paper (appendix B: PERSON, ORGANIZATION, GPE, MISC), and those of
what is mentioned without being a thing: dates, quantities, and adjectives such as "Danish"."""

ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)
VALUE_TYPES: frozenset[EntityType] = frozenset({"time", "quantity", "adjective"})
"""The types of values: activation passes through them, and they are no entities."""

NodeType = Literal["document", "entity"]

_FIRST = 5
"""Documents that are named in a short form."""


def _shown(document: Document) -> str:
    return cut(document.title or document.iri)


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or one record of a JSON, JSONL or CSV file, as text.

    `key` is the path relative to the indexed root (with ``#record`` for a record), or empty for a
    text without a path, whose IRI contains the hash of its content. `title` is not part of `text`,
    to which offsets refer.
    """

    text: str
    title: str = ""
    key: str = ""
    language: str = "en"
    media_type: str = "text/plain"
    is_titled: bool = True
    """Whether the title is that of the text, not the name of its file."""


@dataclass(frozen=True, slots=True)
class Document:
    """A chunk of a source: ``source.text[begin:end] == text``, offsets in Unicode code points."""

    iri: str
    source_iri: str
    title: str
    text: str
    begin: int
    end: int
    language: str = "en"
    is_titled: bool = True

    @property
    def titled_text(self) -> str:
        """The title, a line break, the text: the form that is embedded, displayed and prompted."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Mention:
    """A named entity in one document; `classes` are IRIs of classes of an ontology."""

    name: str
    type: EntityType = "misc"
    aliases: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a text: lexical form, datatype and, if it has one, unit (QUDT) of a literal."""

    text: str
    lexical: str
    datatype: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relationship between two mentions of one document, in the document's own words.

    `confidence` lies in [0, 1]. A typed relationship has a `predicate`, the IRI of a property; it
    states (subject, predicate, object), or, if `inverse`, (object, predicate, subject). With a
    `value`, that literal is the object, and `object` its text, which need not be a mention. It
    holds from `start` to `end`, or `at` a point in time, as far as the document says so: dates,
    months or years.
    """

    subject: str
    phrase: str
    object: str
    text: str = ""
    confidence: float = 1.0
    predicate: str = ""
    inverse: bool = False
    value: Value | None = None
    start: Value | None = None
    end: Value | None = None
    at: Value | None = None

    @property
    def times(self) -> tuple[Value | None, Value | None, Value | None]:
        """Start, end and point in time."""
        return self.start, self.end, self.at

    @property
    def sentence(self) -> str:
        """The textual description of the link (paper 5.3), which is embedded."""
        return self.text or f"{self.subject} {self.phrase} {self.object}"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in one document; ends of relations are among the mentions.

    Mention types that are not among `ENTITY_TYPES` are replaced by the nearest when indexed.
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """The method of an extraction; equal methods have the same activity IRI (PROV-O)."""

    extractor: str
    model: str
    prompt_hash: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of an endpoint: counts, and the cost in US dollars if prices were given."""

    calls: int = 0
    cached_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Query:
    """A question. Further inputs of retrieval become fields here, not parameters of retrievers.

    `weights` are activation weights in [0, 4] of properties and classes by IRI, in the place of
    those of the graph's annotations. `limit` is the maximum number of documents of a context, by
    default the retriever's, `budget` the maximum size in tokens of one that a reasoner builds. `at`
    is a year, month or date: activation passes no relationship that did not hold then.
    """

    text: str
    weights: tuple[tuple[str, float], ...] = ()
    at: str = ""
    limit: int | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """When a statement holds, as its relationship says: a year, month or date, or empty."""

    start_time: str = ""
    end_time: str = ""
    point_in_time: str = ""

    @property
    def times(self) -> str:
        """The times in words, such as "1919 to 1937"; empty without any."""
        if self.start_time and self.end_time:
            return f"{self.start_time} to {self.end_time}"
        if self.start_time or self.end_time:
            return f"from {self.start_time}" if self.start_time else f"to {self.end_time}"
        return self.point_in_time


@dataclass(frozen=True, slots=True)
class Link(Timed):
    """A relationship of the subgraph; `weight`, in [0, 1], is the factor of activation.

    `similarity` is the cosine of the question and the relationship's text, in [-1, 1].
    """

    relationship: str
    subject: str
    object: str
    text: str
    similarity: float = 0.0
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity or document that is active at the start; `name` and `reason` describe it.

    `text` is the description that made an entity a seed, or the document itself, with its
    similarity to the question; it is empty, with similarity 1, for a name in the question. A name
    that is typed otherwise there is in the `reason`, and `activation` is its probability.
    """

    node: str
    text: str
    similarity: float
    activation: float = 1.0
    name: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The n-hop neighbourhood of the seeds (paper 5.4); `hops` maps each entity to its distance."""

    seeds: tuple[Seed, ...]
    hops: Mapping[str, int]
    links: tuple[Link, ...]

    def __repr__(self) -> str:
        sizes = f"{len(self.seeds)} seeds, {len(self.hops)} entities, {len(self.links)} links"
        return f"<Subgraph of {sizes}>"


@dataclass(frozen=True, slots=True)
class Step:
    """Activation passed over one edge: ``amount = weight * activation of origin``.

    `kind` is the kind of the edge (`sarag_rdf.retrieval.network.EDGE_KINDS`), which may be passed
    in either direction. `relationship` is the IRI of the relationship, or of the edge's property
    where it has none (``sarag:describes``). `activation` is that of `target` afterwards; a document
    gets ``weight * min(1, activation of origin without the document's own)``.

    `round` grows along a chain. With sarag it counts stages, three in each round t of an
    `Arrival`: 3t - 2 to an entity, 3t - 1 between entities, 3t to a document; with sarag-paper
    all steps. `factor` is the factor of activation weights in `weight`, 1 without any.
    """

    round: int
    origin: str
    target: str
    relationship: str
    weight: float
    amount: float
    activation: float
    kind: str
    origin_type: NodeType
    target_type: NodeType
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """The contribution of one entity, the largest, to the activation of a document in one round.

    `round` counts from 1. `kind` is ``about`` if the entity is the document's topic, else
    ``describes``. `activation` is the entity's, `echo` the part of it that the document itself
    passed to the entity, `frequency` the number of documents that describe the entity, and
    `weight` that of the edge: ``amount = min(1, activation - echo) / frequency * weight``.
    """

    round: int
    entity: str
    activation: float
    echo: float
    frequency: int
    weight: float
    amount: float
    kind: str


@dataclass(frozen=True, slots=True)
class ActivatedEntity:
    """An entity with its activation, at most 1; `chain` leads there from a seed in `hop` steps."""

    iri: str
    name: str
    type: EntityType
    activation: float
    is_seed: bool
    is_activated: bool
    hop: int
    chain: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A retrieved document, ordered by `score`, which is the sum of `parts`.

    The score is computed from `measures` and the calibration of the retrieval. With sarag
    `activation` is the sum of the `arrivals`, one a round, `entity` that of the largest, and
    `chain` leads to the document in that round. With sarag-paper `entity` is the most activated one
    that the document describes, and `activation` and `chain` are its own. Without it no activation
    reached the document.
    """

    document: Document
    score: float
    similarity: float
    activation: float
    entity: str
    rank: int
    chain: tuple[Step, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    arrivals: tuple[Arrival, ...] = ()

    def __repr__(self) -> str:
        return f"<RankedDocument {self.rank}. {_shown(self.document)} (score {self.score:.3f})>"


@dataclass(frozen=True, slots=True)
class PathAnswer:
    """What is at the end of a relation path; `nodes` are those between the topic and it.

    `iri` is that of an entity, empty for a date or number.
    """

    iri: str
    name: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationPath:
    """A sequence of properties from a topic, in words, with its SPARQL and what it leads to.

    `hops` are the properties and whether they are followed from object to subject. `probability`,
    in [0, 1], is that of saying what the question asks. `sparql` and `answers` are empty for a path
    that was ranked only; with `is_cut` there may be more answers.
    """

    topic: str
    topic_name: str
    hops: tuple[tuple[str, bool], ...]
    text: str
    score: float
    sparql: str = ""
    answers: tuple[PathAnswer, ...] = ()
    is_cut: bool = False
    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The result of a retrieval: ranked documents and relationships, with their explanation.

    `settings` are the retriever's parameters, `calibration` the numbers from this question's
    similarities and the fixed weights: with both, every score can be recomputed. `names` has the
    names of nodes and relationships in the explanation. `paths` are relation paths, the best first,
    and `problem` says why none of them was answered with, or is empty.
    `sources` has the documents that state the `relationships`, by relationship: those that were
    retrieved, or all of them if no document was.
    """

    query: Query
    retriever: str
    settings: Mapping[str, float | int | str]
    documents: tuple[RankedDocument, ...]
    relationships: tuple[Link, ...]
    seeds: tuple[Seed, ...]
    entities: tuple[ActivatedEntity, ...]
    subgraph: Subgraph
    calibration: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[RelationPath, ...] = ()
    problem: str = ""
    sources: Mapping[str, Document] = field(default_factory=dict)

    def __repr__(self) -> str:
        first = ", ".join(f"{d.rank}. {_shown(d.document)}" for d in self.documents[:_FIRST])
        after = ", ..." if len(self.documents) > _FIRST else ""
        return (
            f"<Retrieved by {self.retriever} for {cut(self.query.text)!r}: "
            f"{len(self.documents)} documents{': ' if first else ''}{first}{after}>"
        )

    def _repr_html_(self) -> str:
        rows = (
            (d.rank, d.document.title, f"{d.score:.3f}", d.document.text)
            for d in self.documents[:SHOWN]
        )
        return table_html(
            ("rank", "title", "score", "text"), rows, more(len(self.documents) - SHOWN)
        )


@dataclass(frozen=True, slots=True)
class Statement(Timed):
    """A statement that leads from one entity of a graph to another, which `text` says in full.

    `iri` is that of its node, or contains the triple (`sarag_rdf.base.iris.statement_iri`).
    `predicate` is its property, or empty if the statement has only a `phrase`.
    """

    iri: str
    subject: str
    predicate: str
    object: str
    phrase: str
    text: str
    subject_name: str
    object_name: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """Subject, phrase and object as they are read."""
        return self.subject_name, self.phrase, self.object_name


@dataclass(frozen=True, slots=True)
class Selection:
    """A statement that a model selected from `start`, one of its ends.

    `round` and `order` count from 1, and `order` goes on over all rounds; `call` is the place of
    the call in the trace of the answer.
    """

    statement: Statement
    start: str
    round: int
    order: int
    call: int

    @property
    def end(self) -> str:
        """The entity that the statement leads to."""
        statement = self.statement
        return statement.object if self.start == statement.subject else statement.subject


@dataclass(frozen=True, slots=True)
class Activation:
    """The activation memory of KG-Infused RAG for one question (its section 3.3, equation 4)."""

    question: str
    seeds: tuple[Seed, ...]
    selections: tuple[Selection, ...]

    @property
    def rounds(self) -> int:
        """The number of rounds that selected something."""
        return len({selection.round for selection in self.selections})


@dataclass(frozen=True, slots=True)
class Citation:
    """The origin of a statement: a document, its source, and offsets in that source."""

    document: str
    source: str
    title: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A document, or some sentences of it: `spans` are (begin, end) in its text, ascending."""

    document: Document
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def whole(cls, document: Document) -> Excerpt:
        """All of a document."""
        return cls(document, ((0, len(document.text)),))

    @property
    def text(self) -> str:
        """The spans in their order, with an ellipsis for omitted text between them."""
        text = self.document.text
        parts = [text[begin:end] for begin, end in self.spans]
        gaps = [text[one[1] : two[0]] for one, two in pairwise(self.spans)]
        joints = [gap if not gap.strip() else " ... " for gap in gaps]
        return "".join(part + joint for part, joint in zip(parts, [*joints, ""], strict=False))

    @property
    def titled_text(self) -> str:
        """The title, a line break, the text."""
        return f"{self.document.title}\n{self.text}" if self.document.title else self.text

    @property
    def citation(self) -> Citation:
        """From the first to the last character that is shown."""
        document = self.document
        begin, end = document.begin + self.spans[0][0], document.begin + self.spans[-1][1]
        return Citation(document.iri, document.source_iri, document.title, begin, end)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a context; `sources` are those of relationships and descriptions, by their text."""

    heading: str
    excerpts: Mapping[str, Excerpt]
    relationships: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    sources: Mapping[str, Citation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """The input of a model; labels (``D1``, ...) are distinct, `tokens` are those of the texts."""

    sections: tuple[Section, ...]
    tokens: int = 0
    builder: str = ""

    @property
    def excerpts(self) -> dict[str, Excerpt]:
        """All excerpts by label, in their order."""
        return {k: v for section in self.sections for k, v in section.excerpts.items()}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to answer from: no excerpt, description or relationship."""
        return next(self.texts, None) is None

    @property
    def texts(self) -> Iterator[str]:
        """All texts of the context, which are data and not instructions."""
        for section in self.sections:
            yield from (excerpt.titled_text for excerpt in section.excerpts.values())
            yield from section.descriptions
            yield from section.relationships


@dataclass(frozen=True, slots=True)
class Evidence:
    """The retrieval for a question or sub-question, and the context that was built from it."""

    retrieved: Retrieved
    context: Context


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a reasoner: its purpose, details as plain JSON, and the prompt of a call."""

    kind: Literal["retrieval", "call", "note"]
    name: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """An event of the answering of a question.

    ``call``: a call of the model begins, with the `name` of its prompt. ``step``: a stage is
    complete. ``text``: the next part of the answer. ``withdrawn``: the text so far does not count,
    because the model was asked again.
    """

    kind: Literal["call", "step", "text", "withdrawn"]
    name: str = ""
    text: str = ""
    stage: Stage | None = None


OnEvent = Callable[[AnswerEvent], None]
"""Receives the events of an answer; an exception ends the work."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, or a part of one, and the answer that a model read or a lookup found.

    `support` is in [0, 1]: the share of the question that one sentence with the answer holds
    (`sarag_rdf.answering.confidence`), or the probability of what was looked up.
    """

    question: str
    answer: str
    support: float
    is_looked_up: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question.

    `outcome` is ``answered``; or ``insufficient`` when the model finds no answer in the evidence;
    or ``evidence`` if there is no model. `retrieved` is that of the question itself (empty without
    retrieval), `evidence` the input of all calls, `trace` all steps in order. `activations` are the
    memories of a reasoner that selects statements, `model` is the name of the language model.
    `facts` are what the answer was read from, in order, and `confidence` is the probability that it
    is right, as estimated from them; None where nothing was read.
    """

    outcome: Literal["answered", "insufficient", "evidence"]
    text: str
    reasoning: str
    citations: tuple[Citation, ...]
    retrieved: Retrieved
    usage: Usage = field(default_factory=Usage)
    evidence: tuple[Evidence, ...] = ()
    trace: tuple[Stage, ...] = ()
    activations: tuple[Activation, ...] = ()
    model: str = ""
    facts: tuple[Fact, ...] = ()
    confidence: float | None = None

    def __repr__(self) -> str:
        text = f": {cut(self.text)!r}" if self.text else ""
        return f"<Answer {self.outcome}{text}, {len(self.citations)} citations>"

    def _repr_html_(self) -> str:
        if self.outcome == "evidence":
            return self.retrieved._repr_html_()
        rows = ((c.title, c.source, f"{c.begin}-{c.end}") for c in self.citations)
        return table_html((f"{self.outcome}: {self.text}", "source", "offsets"), rows)


# Schemas as graphs use them


@dataclass(frozen=True, slots=True)
class TermCount:
    """A class or datatype, and the number of subjects or objects that it has."""

    iri: str
    count: int


@dataclass(frozen=True, slots=True)
class ClassUse:
    """A class, and the number of things that are stated to belong to it."""

    iri: str
    instances: int


@dataclass(frozen=True, slots=True)
class PropertyUse:
    """A property with its numbers of statements, subjects and objects, and the classes of both."""

    iri: str
    statements: int
    subjects: int = 0
    objects: int = 0
    domains: tuple[TermCount, ...] = ()
    ranges: tuple[TermCount, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaUse:
    """The classes and properties of a graph, the most frequent first; those not used have 0."""

    classes: tuple[ClassUse, ...]
    properties: tuple[PropertyUse, ...]
