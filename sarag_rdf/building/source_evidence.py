"""The evidence of one source, as the quads of its source graph.

Evidence is about mentions (names); the entity that a name refers to is derived (`derive`). The
quads are a function of source and method, independent of time, run and order.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.iris import Minter, normalize_name, strip_disambiguation, use_of
from sarag_rdf.base.redaction import redacted
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source, Value
from sarag_rdf.base.vocab import DCTERMS, PROV, RDF, RDFS, SARAG, XSD, Term
from sarag_rdf.extraction.names import names_in_title, topic_name
from sarag_rdf.extraction.text_values import value_of_name
from sarag_rdf.graph.records import decimal
from sarag_rdf.graph.valid_time import TIME_PROPERTIES

EVIDENCE_RULES = "9"
"""Version of the rules that turn extractions into evidence: normalisation of names, names in
titles, topics of documents, identity of relationships. It is part of every method, so that sources
are extracted again when the rules change."""

MAX_LABEL = 100
"""Characters of a label of a document."""

Pair = tuple[NamedNode, Term]


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _literal(value: Value) -> Literal:
    return Literal(value.lexical, datatype=NamedNode(value.datatype))


def shortened(text: str) -> str:
    """A text on one line with at most `MAX_LABEL` characters, cut between words if possible."""
    line = " ".join(text.split())
    if len(line) <= MAX_LABEL:
        return line
    head, _, _ = line[:MAX_LABEL].rpartition(" ")
    return (head if len(head) > MAX_LABEL // 2 else line[: MAX_LABEL - 1]) + "\u2026"


class SourceGraph:
    """The quads of the graph of one source, with the extractions of its documents.

    `relationships` is the number of recorded relationships; `discarded` counts the extracted items
    that are not recorded, by reason.
    """

    def __init__(
        self,
        minter: Minter,
        source: Source,
        source_iri: str,
        method: Method,
        extractions: Iterable[tuple[Document, Extraction]],
    ) -> None:
        self._minter = minter
        self._iri = NamedNode(source_iri)
        self._graph = NamedNode(minter.source_graph(source_iri))
        self._extraction = NamedNode(extraction_iri(minter, source_iri, method))
        self._language = source.language
        self.relationships = 0
        self.discarded: Counter[str] = Counter()
        self._quads: dict[Quad, None] = {}
        self._add_source(source, method)
        for document, extraction in extractions:
            self._add_document(document, extraction)
        self.discarded = +self.discarded

    @property
    def quads(self) -> list[Quad]:
        """The quads so far, without duplicates, in the order of addition."""
        return list(self._quads)

    def _add(self, subject: NamedNode, *pairs: Pair) -> None:
        for predicate, value in pairs:
            self._quads[Quad(subject, predicate, value, self._graph)] = None

    def _text(self, value: str) -> Literal:
        return Literal(value, language=self._language)

    def _add_source(self, source: Source, method: Method) -> None:
        self._add(
            self._iri,
            (RDF.type, SARAG.Source),
            (SARAG.sha256, Literal(text_digest(source.text))),
            (DCTERMS.language, Literal(source.language)),
            (DCTERMS["format"], Literal(source.media_type)),
            (SARAG.extractedBy, self._extraction),
        )
        if source.title:
            self._add(self._iri, (DCTERMS.title, self._text(source.title)))
        self._add(
            self._extraction,
            (RDF.type, SARAG.Extraction),
            (RDF.type, PROV.Activity),
            (SARAG.extractor, Literal(method.extractor)),
            (SARAG.model, Literal(redacted(method.model))),
            (SARAG.settings, Literal(redacted(_settings_text(method)))),
        )
        if method.prompt_hash:
            self._add(self._extraction, (SARAG.promptHash, Literal(method.prompt_hash)))

    def _add_document(self, document: Document, extraction: Extraction) -> None:
        node = NamedNode(document.iri)
        self._add(
            node,
            (RDF.type, SARAG.Document),
            (SARAG.source, self._iri),
            (SARAG.text, self._text(document.text)),
            (SARAG.sha256, Literal(text_digest(document.text))),
            (SARAG.beginIndex, Literal(str(document.begin), datatype=XSD.integer)),
            (SARAG.endIndex, Literal(str(document.end), datatype=XSD.integer)),
            (DCTERMS.language, Literal(document.language)),
        )
        if document.title:
            self._add(node, (DCTERMS.title, self._text(document.title)))
        self._add(node, (RDFS.label, self._text(shortened(document.titled_text))))
        for name in map(normalize_name, names_in_title(document.title)):
            if name:
                self._add(node, (SARAG.titleMention, self._mention(name)))
        topic = topic_of(document, extraction)
        descriptions: defaultdict[NamedNode, dict[str, None]] = defaultdict(dict)
        for mention in extraction.mentions:
            use = self._add_mention(node, mention, topic)
            if use:
                descriptions[use] |= dict.fromkeys(mention.descriptions)
        for use, texts in descriptions.items():
            if texts:
                self._add(use, (SARAG.text, self._text(" ".join(texts))))
        if topic:
            self._add(node, (SARAG.topicMention, self._mention(topic)))
        names = {normalize_name(m.name) for m in extraction.mentions} - {""}
        relations: dict[str, Relation] = {}
        for relation in extraction.relations:
            ends = [relation.subject] if relation.value else [relation.subject, relation.object]
            if not names.issuperset(map(normalize_name, ends)):
                self.discarded["relationships between names that were not extracted"] += 1
                continue
            iri = self._relationship(node, relation)
            other = relations.setdefault(iri, relation)
            self.discarded["repeated relationships"] += other is not relation
            if relation.confidence > other.confidence:
                relations[iri] = relation
        for iri, relation in relations.items():
            self._add_relation(NamedNode(iri), node, relation, names)
        self.relationships += len(relations)

    def _mention(self, normalized: str) -> NamedNode:
        return NamedNode(self._minter.mention(normalized))

    def _add_mention(self, document: NamedNode, mention: Mention, topic: str) -> NamedNode | None:
        """Add the use of a name, without its description; None if nothing is left of the name."""
        normalized = normalize_name(mention.name)
        if not normalized:
            self.discarded["mentions without a name"] += 1
            return None
        iri = self._minter.mention(normalized)
        type_, value = value_of_name(mention.name, mention.type)
        if normalized == topic and mention.type == "misc":
            type_, value = "misc", None
        node, use = NamedNode(iri), NamedNode(use_of(document.value, iri))
        self._add(
            use,
            (RDF.type, SARAG.NameUse),
            (SARAG.useOf, node),
            (PROV.wasDerivedFrom, document),
            (SARAG.name, self._text(mention.name)),
            (SARAG.entityType, Literal(type_)),
            *((SARAG.entityClass, NamedNode(class_)) for class_ in mention.classes),
        )
        if value is not None:
            self._add(use, (SARAG.value, _literal(value)))
        for alias in mention.aliases:
            other = normalize_name(alias)
            if other:
                self._add(use, (SARAG.alias, self._text(alias)))
            if other and other != normalized:
                self._add(use, (SARAG.aliasMention, self._mention(other)))
        return use

    def _relationship(self, document: NamedNode, relation: Relation) -> str:
        subject, object_ = map(normalize_name, (relation.subject, relation.object))
        return self._minter.relationship(
            self._minter.mention(subject), relation.phrase, self._minter.mention(object_),
            " ".join([relation.sentence, *(time.lexical for _, time in _times(relation))]),
            document.value,
        )  # fmt: skip

    def _add_relation(
        self, node: NamedNode, document: NamedNode, relation: Relation, names: Container[str]
    ) -> None:
        self._add(
            node,
            (RDF.type, SARAG.Relationship),
            (SARAG.subjectMention, self._mention(normalize_name(relation.subject))),
            (SARAG.text, self._text(relation.sentence)),
            (SARAG.phrase, self._text(relation.phrase)),
            (SARAG.confidence, decimal(relation.confidence)),
            (PROV.wasDerivedFrom, document),
        )
        object_ = normalize_name(relation.object)
        if object_ in names:
            self._add(node, (SARAG.objectMention, self._mention(object_)))
        if relation.predicate:
            stated = SARAG.statedInverseProperty if relation.inverse else SARAG.statedProperty
            self._add(node, (stated, NamedNode(relation.predicate)))
        if value := relation.value:
            text = self._text(value.text)
            self._add(node, (SARAG.value, _literal(value)), (SARAG.valueText, text))
            if value.unit:
                self._add(node, (SARAG.unit, NamedNode(value.unit)))
        self._add(node, *((property_, _literal(time)) for property_, time in _times(relation)))


def _times(relation: Relation) -> list[tuple[NamedNode, Value]]:
    """The times of a relation with their properties."""
    pairs = zip(TIME_PROPERTIES, relation.times, strict=True)
    return [(property_, time) for property_, time in pairs if time is not None]


def topic_of(document: Document, extraction: Extraction) -> str:
    """The normalised name of the topic of a document, or empty if it has no such mention.

    The topic is the title, with or without its disambiguation in brackets, else as `topic_name`.
    """
    names = {normalize_name(mention.name) for mention in extraction.mentions}
    topic = topic_name(document.title, document.text, [m.name for m in extraction.mentions])
    titles = map(normalize_name, (topic, strip_disambiguation(topic)))
    return next((title for title in titles if title in names), "")


def _settings_text(method: Method) -> str:
    settings = {**method.settings, "evidence": EVIDENCE_RULES}
    return "; ".join(f"{key}={value}" for key, value in sorted(settings.items()))


def extraction_iri(minter: Minter, source_iri: str, method: Method) -> str:
    """IRI of the extraction of a source, from its method (with the version of the rules)."""
    return minter.extraction(
        source_iri, method.extractor, method.model, method.prompt_hash, _settings_text(method)
    )
