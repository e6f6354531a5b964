"""The names of resources, and the sentences behind statements, with the names in them marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

from sarag_rdf.base.iris import Minter, namespace
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.vocab import PREFIXES, PROV, RDF, SARAG, XSD
from sarag_rdf.server.description import Resources

MAX_TEXT = 40_000
"""Characters of a document that are read; of other texts `MAX_VALUE`, of names `MAX_NAME`."""
MAX_VALUE, MAX_NAME = 1200, 140
MAX_USES = 400
"""Names of a document that are marked."""
_MAX_LANGUAGE = 40
_NO_SPACES = "\u0e00"
"""From here on, scripts begin that do not put spaces between words: Thai, CJK."""
_WORDS = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Ref:
    """A link to the page of a resource."""

    iri: str
    text: str
    language: str = ""

    @property
    def href(self) -> str:
        return page_href(self.iri)


@dataclass(frozen=True, slots=True)
class Value:
    """A literal, of which `text` may be cut."""

    text: str
    language: str = ""
    note: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text; one that names a resource links to it."""

    text: str
    ref: Ref | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document with the names in it marked; offsets are those of the source."""

    segments: tuple[Segment, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Relationship:
    """What a sentence states; the objects are an entity, a literal or both (of a date)."""

    iri: str
    subject: str
    objects: tuple[Any, ...]
    phrase: str
    text: str
    language: str
    words: str
    confidence: str
    document: str
    properties: frozenset[str]
    inverse: frozenset[str]

    @property
    def ref(self) -> Ref:
        return Ref(self.iri, self.text, self.language)

    @property
    def object(self) -> Any:
        """The object to show: the entity, if there is one."""
        return self.objects[0]

    @property
    def is_typed(self) -> bool:
        return bool(self.properties or self.inverse)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence that a relationship was read from, in its document."""

    relationship: Relationship
    sentence: tuple[Segment, ...]
    document: Ref | None


def page_href(iri: str, **parameters: object) -> str:
    """The URL of a resource's page, relative to the pages of the server."""
    more = "".join(f"&{name}={value}" for name, value in parameters.items())
    return f"resource?iri={quote(iri, safe='')}{more}"


class Texts:
    """Reads names and sentences for the page of a resource."""

    def __init__(self, resources: Resources, minter: Minter) -> None:
        self._resources = resources
        self._minter = minter
        self._names: dict[str, dict[str, str]] = {}

    def ref(self, iri: str) -> Ref:
        """A link to a resource by its name, or by the end of its IRI."""
        named = self._resources.name(iri)
        if named is None or not named[1].value.strip():
            key = self._minter.key_of_source(iri)
            return Ref(iri, cut(key or local_name(iri), MAX_NAME))
        text, language = named[1].value, language_of(named[1])
        return Ref(iri, cut(" ".join(text.split()), MAX_NAME), language)

    def end(self, term: Any) -> Ref | Value:
        """A term as a link or a value."""
        if is_iri_term(term):
            return self.ref(term.value)
        if isinstance(term, ox.Literal):
            text = cut(term.value, MAX_VALUE)
            plain = term.datatype in (XSD.string, RDF.langString)
            note = "" if plain else local_name(term.datatype.value)
            return Value(text, language_of(term), note, len(term.value) > MAX_VALUE)
        return Value(cut(str(term), MAX_VALUE))

    def source(self, iri: str) -> Ref:
        """A source by its path."""
        key = self._minter.key_of_source(iri)
        return Ref(iri, cut(key, MAX_NAME)) if key else self.ref(iri)

    def property(self, iri: str) -> Ref:
        """A property by its label, or its name in words."""
        named = self._resources.name(iri)
        if named is None:
            return Ref(iri, in_words(local_name(iri)))
        return Ref(iri, cut(named[1].value, MAX_NAME), language_of(named[1]))

    def relationship(self, iri: str) -> Relationship:
        """A relationship as described in the graph."""
        read = self._resources
        objects = (*read.values(iri, SARAG.object), *read.values(iri, SARAG.value))
        texts = [t for t in read.values(iri, SARAG.text) if isinstance(t, ox.Literal)]
        return Relationship(
            iri,
            read.iri(iri, SARAG.subject),
            objects or (ox.Literal(""),),
            read.value(iri, SARAG.phrase),
            cut(texts[0].value, MAX_VALUE) if texts else "",
            language_of(texts[0]) if texts else "",
            read.value(iri, SARAG.valueText),
            read.value(iri, SARAG.confidence),
            read.iri(iri, PROV.wasDerivedFrom),
            frozenset(t.value for t in read.values(iri, SARAG.property)),
            frozenset(t.value for t in read.values(iri, SARAG.inverseProperty)),
        )

    def evidence(self, relationship: Relationship) -> Evidence:
        """A relationship with its sentence."""
        document = relationship.document
        segments: tuple[Segment, ...] = ()
        if document:
            text = self.text(document)
            ends = {
                relationship.subject,
                *(t.value for t in relationship.objects if is_iri_term(t)),
            }
            spellings = {s: e for s, e in self.spellings(document).items() if e in ends}
            begin, end = best_sentence(text, relationship, self.spellings(document))
            segments = self.mark(text[begin:end][:MAX_VALUE], spellings)
        return Evidence(relationship, segments, self.ref(document) if document else None)

    def text(self, document: str) -> str:
        """The first `MAX_TEXT` characters of a document."""
        return self._resources.value(document, SARAG.text)[:MAX_TEXT]

    def spellings(self, document: str) -> dict[str, str]:
        """Spelling -> entity, as the document uses its names."""
        if document in self._names:
            return self._names[document]
        entities = self._names[document] = {}
        read = self._resources
        for use in read.subjects(document, PROV.wasDerivedFrom, MAX_USES):
            mention = read.iri(use, SARAG.useOf)
            entity = read.iri(mention, SARAG.refersTo) if mention else ""
            for name in read.values(use, SARAG.name) if entity else ():
                entities[name.value] = entity
        return entities

    def mark(self, text: str, spellings: Mapping[str, str]) -> tuple[Segment, ...]:
        """A text in pieces: names link to their entities, the longest first where they overlap."""
        names = sorted((name for name in spellings if name.strip()), key=lambda n: (-len(n), n))
        if not names:
            return (Segment(text),)
        pattern = re.compile("|".join(map(_whole_name, names)))
        segments, position = [], 0
        refs = {entity: self.ref(entity) for entity in set(spellings.values())}
        for match in pattern.finditer(text):
            if match.start() > position:
                segments.append(Segment(text[position : match.start()]))
            segments.append(Segment(match.group(), refs[spellings[match.group()]]))
            position = match.end()
        return (*segments, Segment(text[position:])) if position < len(text) else tuple(segments)


def _whole_name(name: str) -> str:
    """A pattern for a name between other words; scripts without spaces have none between."""
    before = r"(?<!\w)" if name[0].isalnum() and name[0] < _NO_SPACES else ""
    after = r"(?!\w)" if name[-1].isalnum() and name[-1] < _NO_SPACES else ""
    return before + re.escape(name) + after


def best_sentence(
    text: str, relationship: Relationship, spellings: Mapping[str, str]
) -> tuple[int, int]:
    """The sentence with most of the names and words of a relationship, the first if several.

    The object counts more than the subject, for which a sentence often has a pronoun.
    """
    weights = {relationship.subject: 2.0}
    weights |= {term.value: 3.0 for term in relationship.objects if is_iri_term(term)}
    names = [name for name, entity in spellings.items() if entity in weights]
    words = set(_WORDS.findall(f"{relationship.phrase} {relationship.text}".casefold()))
    best, chosen = -1.0, (0, min(len(text), MAX_VALUE))
    for begin, end in sentence_spans(text):
        sentence = text[begin:end]
        score = sum(weights[e] for e in {spellings[name] for name in names if name in sentence})
        score += 3.0 * bool(relationship.words and relationship.words in sentence)
        sentence_words = set(_WORDS.findall(sentence.casefold()))
        score += 2.0 * len(words & sentence_words) / max(1, len(words))
        if score > best:
            best, chosen = score, (begin, end)
    return chosen


def is_iri_term(term: Any) -> bool:
    return isinstance(term, ox.NamedNode)


def language_of(literal: Any) -> str:
    return str(getattr(literal, "language", None) or "")[:_MAX_LANGUAGE]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def local_name(iri: str) -> str:
    """The last part of an IRI, with a known prefix; the IRI if it has no parts."""
    base = namespace(iri)
    name = unquote(iri[len(base) :]) or iri
    prefix = next((prefix for prefix, known in PREFIXES.items() if known == base), "")
    return f"{prefix}:{name}" if prefix else name


def in_words(name: str) -> str:
    """A name in camel case or with underscores as words."""
    bare = name.partition(":")[2] if re.fullmatch(r"[a-z]+:\w+", name) else name
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bare).replace("_", " ").lower()
