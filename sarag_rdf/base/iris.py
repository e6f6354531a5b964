"""Deterministic IRIs: the same content under the same base always has the same IRI."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.redaction import holds_password, masked

DEFAULT_BASE = "https://example.org/kg/"

_BETWEEN_INITIALS = re.compile(
    r"(?<=\b\w)\.\s+(?=\w\.)"
    r"|(?:(?<=^[b-z])|(?<=\s[b-z]))\s+(?=[a-z](?:\s+[a-z]){0,3}\s+\w\w)"
)
"""Between "J. R." and between "J R" before a longer word, unless the first may be the article."""
_TRAILING_PARENTHESES = re.compile(r"\s*\([^()]*\)\s*$")
_INITIAL_DOTS = re.compile(r"(?<=\b\w)\.")
_ACCENTED = re.compile(r"([a-z])[\u0300-\u036f]+")
_CURRENCIES = "$\u00a2-\u00a5\u20a0-\u20cf"
_SIGNS = f".#*%+\u2212\u00b0\u266d{_CURRENCIES}"
"""Characters that may tell names apart: \u2212 is the minus sign, \u266d the musical flat."""
_IS_SIGN = re.compile(f"[{_SIGNS}]")
_NOT_ASCII_NAME = re.compile(r"[^a-z0-9.#*%+$]+")
_LETTERS = rf"[^\s{_SIGNS}]+"
_WORD = re.compile(
    rf"(?:(?<!\S)(?:\.|[+\u2212{_CURRENCIES}]+(?=\d)))?"  # .NET, +44, $5
    rf"{_LETTERS}(?:[+{_CURRENCIES}]+{_LETTERS})*"  # 1+1, A$AP
    rf"(?:[#%+\u2212\u00b0\u266d{_CURRENCIES}]+|\*)?(?!{_LETTERS})"  # C#, 5%, C++, B\u266d, US$, A*
)
"""A word of a name, with the signs that belong to it."""
_PAIRED = re.compile(r"(?<!\w)(\*{1,3}|\$\$?)(?=[^\s\d])(.{1,100}?)(?<!\s)\1(?!\w)")
"""Emphasis and formulas: *A*, $x$."""
_HASHED = re.compile(r"sha256-[0-9a-f]{32}")
_POSSESSIVE = re.compile(r"['\u2019]s\b")


@lru_cache(maxsize=1 << 16)
def normalize_name(name: str) -> str:
    """Normalize a name; names with the same normalized form are considered equal.

    NFKC, case folded, accents of Latin letters removed ("Müller" is "muller"), possessive endings
    and the dots of initials and spaces between them removed ("U.S." is "us", "J. R. Tolkien" and
    "J R Tolkien" are "jr tolkien"), every other run of punctuation and white space replaced by a
    space, a leading "the" removed. A name without letters and digits ("???", an emoji) keeps its
    characters.

    Signs that are written together with a word belong to it: plus and currencies within it and
    after it ("C++", "1+1", "A$AP", "US$") and before a digit ("+44"), a number sign (also for a
    sharp), a percent, degree, minus or flat sign and one asterisk after it ("C#", "5%", "A*"), and
    one dot before it (".NET"). Pairs of asterisks and of dollars around words are removed.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    folded = unicodedata.normalize("NFKC", _ACCENTED.sub(r"\1", folded)).strip()
    bare = _BETWEEN_INITIALS.sub("", _POSSESSIVE.sub("", folded))
    bare = _PAIRED.sub(r" \2 ", _INITIAL_DOTS.sub("", bare))
    if bare.isascii():
        plain = _NOT_ASCII_NAME.sub(" ", bare)
    else:
        sharp = bare.replace("\u266f", "#")
        plain = "".join(c if _in_word(c) or _IS_SIGN.match(c) else " " for c in sharp)
    words = " ".join(_WORD.findall(plain))
    while words.startswith("the ") and len(words) > 4:
        words = words[4:]
    return words or " ".join(folded.split())


def strip_disambiguation(title: str) -> str:
    """A title without its disambiguation in parentheses.

    >>> strip_disambiguation("Hello Love (album)")
    'Hello Love'
    """
    return _TRAILING_PARENTHESES.sub("", title) or title


def phrase_key(phrase: str) -> str:
    """A phrase in the form in which decisions refer to it: case folded, with single spaces."""
    return " ".join(phrase.casefold().split())


def _in_word(character: str) -> bool:
    """Whether a character is a letter, a digit, or a mark as in Devanagari vowel signs."""
    return character.isalnum() or unicodedata.category(character) in ("Mn", "Mc")


def sha256_hex(*parts: str) -> str:
    """The SHA-256 of the parts, each prefixed by its length, so that the framing is unambiguous."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(str(len(data)).encode() + b":" + data)
    return digest.hexdigest()


_LAST_PART = re.compile(r"[/#](?=[^/#]+$)")


def namespace(iri: str) -> str:
    """The namespace of an IRI: up to its last slash or number sign that is not at the end."""
    match = _LAST_PART.search(iri)
    return iri[: match.end()] if match else iri


def local_name(iri: str) -> str:
    """The part of an IRI after its namespace, or after its last colon, without percent-encoding."""
    bare = iri.rstrip("/#")
    return unquote(bare.removeprefix(namespace(bare)) or bare.rpartition(":")[2]) or iri


def prefixed_name(iri: str, prefixes: Mapping[str, str]) -> str:
    """An IRI with a prefix, if the rest is a plain name; else empty. The longest namespace counts.

    >>> prefixed_name("http://a/b", {"a": "http://a/"}), prefixed_name("http://a/b.", {})
    ('a:b', '')
    """
    for prefix, space in sorted(prefixes.items(), key=lambda item: (-len(item[1]), item[0])):
        if iri.startswith(space) and re.fullmatch(r"[A-Za-z0-9_][\w-]*", iri[len(space) :]):
            return f"{prefix}:{iri[len(space) :]}"
    return ""


_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")


def plain_words(identifier: str) -> str:
    """The words of an IRI or name: without namespace and prefix, camel case and underscores."""
    bare = re.split(r"[#/:]", identifier.rstrip("#/:"))[-1]
    return " ".join(_WORD_BREAK.sub(" ", bare).split())


STATEMENT = "urn:sarag:statement:"
"""The prefix of IRIs for relationships that are single triples, without a node of their own."""


def source_name(iri: str) -> str:
    """The key of a source, such as the path of its file, or else its IRI."""
    return unquote(iri.partition("/source/")[2]) or iri


def statement_iri(subject: str, property_: str, object_: str) -> str:
    """An IRI for a triple, which contains the IRIs of subject, property and object."""
    return STATEMENT + ":".join(quote(part, safe="-._~") for part in (subject, property_, object_))


def statement_of(iri: str) -> tuple[str, str, str] | None:
    """The triple (subject, property, object) of an IRI by `statement_iri`; None for others."""
    parts = iri.removeprefix(STATEMENT).split(":")
    if not iri.startswith(STATEMENT) or len(parts) != 3:
        return None
    subject, property_, object_ = map(unquote, parts)
    return subject, property_, object_


MAX_NAME_SEGMENT = 80
"""Code points of a name in an IRI; longer names are cut and end in a hash."""
_ENCODED = {ord("#"): "%23", ord("%"): "%25"}
_NAME_SEGMENT = re.compile(
    "[0-9a-z_.*+$#%"
    "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd]+"
)
"""Letters, digits, marks and signs that an IRI contains without percent-encoding (RFC 3987)."""


def name_segment(normalized: str) -> str:
    """The path segment of an IRI for a normalised name, readable and distinct for each name.

    Spaces become underscores: "marie curie" is ``marie_curie``, and "c#" is ``c%23``. A name that
    is too long, or has characters other than letters, digits, marks and the signs of names, is cut
    at the first of these and ends in a hyphen and a hash; no other segment has a hyphen.
    """
    match = _NAME_SEGMENT.match(normalized.replace(" ", "_"))
    readable = match.group() if match else ""
    if not readable.isascii() and not all(map(_in_segment, readable)):
        readable = ""
    is_whole = len(readable) == len(normalized) <= MAX_NAME_SEGMENT and "_" not in normalized
    if is_whole and any(map(_in_word, readable)):
        return readable.translate(_ENCODED)
    return f"{readable[:MAX_NAME_SEGMENT].translate(_ENCODED)}-{_short_hash(normalized)}"


def _in_segment(character: str) -> bool:
    return character == "_" or _in_word(character) or _IS_SIGN.match(character) is not None


def _short_hash(text: str) -> str:
    raw = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(raw).decode("ascii").lower()[:16]


def use_of(document: str, mention: str) -> str:
    """The IRI of the use of a name in a document: that of the document, with the name."""
    return f"{document}#{mention.rpartition('/mention/')[2]}"


def is_iri(text: str) -> bool:
    """Whether a text is an absolute IRI."""
    try:
        NamedNode(text)
    except ValueError:
        return False
    return True


NamedGraph = Literal[
    "kg", "sources", "decisions", "numbers", "quarantine", "ontologies", "imported",
    "links", "entailed", "meta", "runs",
]  # fmt: skip
"""A kind of named graphs, by the name that it has in queries: ``<urn:sarag:graph:kg>``."""
_PATHS: dict[NamedGraph, str] = {
    "kg": "kg",  # What retrieval traverses, derived from the sources.
    "sources": "source/",  # The evidence of a source.
    "decisions": "decisions",  # Decisions to merge or split names.
    "numbers": "wikibase-numbers",  # Numbers of entities in Wikibase exports.
    "quarantine": "quarantine/",  # A source that was not admitted.
    "ontologies": "ontology/",
    "imported": "external/",
    "links": "links",  # Links to other graphs.
    "entailed": "entailed",  # What follows from typed statements and ontologies.
    "meta": "meta",  # Description of the dataset, revision, embedding model.
    "runs": "runs",  # Runs and their times.
}
"""The catalogue of named graphs: where each is below ``graph/``.

A path that ends in a slash has several: one of each source, ontology or import.
"""
SHARED_GRAPHS: frozenset[NamedGraph] = frozenset({"links", "entailed", "meta", "runs"})
"""Graphs about all parts of a knowledge graph, not about its documents alone."""
MANAGED_GRAPHS: frozenset[NamedGraph] = frozenset(
    {"kg", "meta", "entailed", "imported", "ontologies"}
)
"""Graphs that only the library writes: derived data, metadata, and what was read from files."""


class _GraphIri:
    """The IRI of a named graph, as an attribute of a `Minter`."""

    def __init__(self, kind: NamedGraph) -> None:
        self._kind = kind

    def __get__(self, minter: Minter, owner: object) -> str:
        return minter.graph(self._kind)


@dataclass(frozen=True, slots=True)
class Minter:
    """Mints IRIs under a base, an http(s) IRI that ends in ``/``, without fragment or query."""

    base: str = DEFAULT_BASE
    kg_graph = _GraphIri("kg")
    meta_graph = _GraphIri("meta")
    runs_graph = _GraphIri("runs")
    links_graph = _GraphIri("links")
    entailed_graph = _GraphIri("entailed")
    decisions_graph = _GraphIri("decisions")
    numbers_graph = _GraphIri("numbers")

    @classmethod
    def for_base(cls, base: str) -> Minter:
        """A minter for a base as written by a user; raises `UsageError` if it is invalid."""
        if holds_password(base):
            raise UsageError(
                f"the base of IRIs must not contain a user name or password: use {masked(base)}"
            )
        shape = r"https?://[^\s<>\"{}|\\^`#?/]+(/[^\s<>\"{}|\\^`#?]*)?"
        if not re.fullmatch(shape, base) or not is_iri(base):
            raise UsageError(
                f"invalid base of IRIs '{base}': give an http or https IRI without spaces, '#' and "
                "'?', for example https://data.example.org/kg/"
            )
        return cls(base if base.endswith("/") else base + "/")

    def mention(self, normalized: str) -> str:
        return f"{self.base}mention/{name_segment(normalized)}"

    def variant(self, normalized: str, qualifier: str) -> str:
        """A name for another entity: name and encoded qualifier, joined by a tilde."""
        encoded = quote(qualifier, safe="", errors="surrogatepass")
        if len(encoded) > MAX_NAME_SEGMENT:
            encoded = f"{encoded[:MAX_NAME_SEGMENT].rpartition('%')[0]}-{_short_hash(qualifier)}"
        return f"{self.base}mention/{name_segment(normalized)}~{encoded}"

    def entity(self, normalized: str) -> str:
        return f"{self.base}entity/{name_segment(normalized)}"

    def entity_of_mention(self, mention: str) -> str:
        """The entity of a mention, unless an alias assigns it to another."""
        return f"{self.base}entity/{mention.removeprefix(self.base + 'mention/')}"

    def mention_of_entity(self, entity: str) -> str:
        """The mention from which the IRI of an entity is derived."""
        return f"{self.base}mention/{entity.removeprefix(self.base + 'entity/')}"

    def source(self, key: str, title: str, text: str) -> str:
        """The IRI of a source, from its percent-encoded path, or from a hash if it has none."""
        if not key:
            return f"{self.base}source/sha256-{sha256_hex(title, text)[:32]}"
        path, mark, record = key.partition("#")
        safe = "/~!$&'()*+,;=:@-._"
        name = f"{self.base}source/{quote(path, safe=safe)}"
        return f"{name}#{quote(record, safe=safe)}" if mark else name

    def key_of_source(self, source: str) -> str:
        """The path of a source, from its IRI; empty if the IRI contains a hash."""
        name = source.removeprefix(f"{self.base}source/")
        return "" if name == source or _HASHED.fullmatch(name) else unquote(name)

    def document(self, source: str, begin: int, end: int, text: str) -> str:
        return f"{self.base}doc/{sha256_hex(source, str(begin), str(end), text)[:32]}"

    def relationship(
        self, subject: str, phrase: str, object_: str, text: str, document: str
    ) -> str:
        """The IRI of a relationship between two mentions in a document, from all its parts."""
        code = sha256_hex(subject, phrase, object_, text, document)[:32]
        return f"{self.base}relationship/{code}"

    def extraction(self, *parts: str) -> str:
        return f"{self.base}extraction/{sha256_hex(*parts)[:32]}"

    def quarantine(self, source: str) -> str:
        """The record of a source in quarantine."""
        return f"{self.base}quarantine/{sha256_hex(source)[:32]}"

    def mapping(self, subject: str, predicate: str, object_: str) -> str:
        """The node with the provenance of a link."""
        return f"{self.base}mapping/{sha256_hex(subject, predicate, object_)[:32]}"

    def phrase(self, phrase: str, subject_type: str, object_type: str) -> str:
        """A phrase between names of these types, which decisions are about."""
        ends = f"{quote(subject_type, safe='')}/{quote(object_type, safe='')}"
        return f"{self.base}phrase/{ends}/{name_segment(phrase)}"

    def run(self, identifier: str) -> str:
        return f"{self.base}run/{identifier}"

    def search(self, digest: str) -> str:
        """A search or the answering of a question, by a digest of its description."""
        return f"{self.base}search/{digest[:32]}"

    def activation_graph(self, digest: str) -> str:
        return f"{self.base}graph/activation/{digest[:32]}"

    @property
    def knowledge_graph(self) -> str:
        """The dataset."""
        return self.base + "dataset"

    @property
    def graphs(self) -> str:
        """The prefix of the IRIs of all named graphs."""
        return self.base + "graph/"

    def graph(self, kind: NamedGraph) -> str:
        """The IRI of a named graph; the prefix of the IRIs of a kind that has several."""
        return self.graphs + _PATHS[kind]

    def kind_of(self, graph: str) -> NamedGraph | None:
        """The kind of a named graph; None for one that is not in the catalogue."""
        path = graph.removeprefix(self.graphs)
        if path != graph:
            for kind, known in _PATHS.items():
                if path == known or (known.endswith("/") and path.startswith(known)):
                    return kind
        return None

    def ontology_graph(self, name: str) -> str:
        return self.graph("ontologies") + name

    def imported_graph(self, name: str) -> str:
        return self.graph("imported") + name

    def source_graph(self, source: str) -> str:
        return self.graph("sources") + sha256_hex(source)[:32]

    def quarantine_graph(self, source: str) -> str:
        return self.graph("quarantine") + sha256_hex(source)[:32]
