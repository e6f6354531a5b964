"""IRIs are functions of content: the same input gives the same IRI under the same base."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

from sarag_rdf.errors import UsageError
from sarag_rdf.redaction import holds_password, masked

DEFAULT_BASE = "https://example.org/kg/"

_BETWEEN_INITIALS = re.compile(r"(?<=\b\w)\.\s+(?=\w\.)")
_INITIAL_DOTS = re.compile(r"(?<=\b\w)\.")
_ACCENTED = re.compile(r"([a-z])[\u0300-\u036f]+")
_NOT_ASCII_WORD = re.compile(r"[^a-z0-9]+")
_HASHED = re.compile(r"sha256-[0-9a-f]{32}")
_POSSESSIVE = re.compile(r"['\u2019]s\b")


@lru_cache(maxsize=1 << 16)
def normalize_name(name: str) -> str:
    """Return the key under which names are the same name.

    NFKC, case folded, accents of Latin letters dropped ("Müller" is "muller"), possessive endings
    and the dots of initials removed ("U.S." is "us", "J. R. Tolkien" is "jr tolkien"), every
    other run of punctuation and space one space, a leading "the" dropped. A name with no letter
    or digit at all ("???", an emoji) keeps its characters.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    folded = unicodedata.normalize("NFKC", _ACCENTED.sub(r"\1", folded)).strip()
    bare = _BETWEEN_INITIALS.sub("", _POSSESSIVE.sub("", folded))
    bare = _INITIAL_DOTS.sub("", bare)
    if bare.isascii():
        words = " ".join(_NOT_ASCII_WORD.sub(" ", bare).split())
    else:
        words = " ".join("".join(c if _in_word(c) else " " for c in bare).split())
    while words.startswith("the ") and len(words) > 4:
        words = words[4:]
    return words or " ".join(folded.split())


def _in_word(character: str) -> bool:
    """Letters, digits, and the marks that scripts such as Devanagari write vowels with."""
    return character.isalnum() or unicodedata.category(character) in ("Mn", "Mc")


def sha256_hex(*parts: str) -> str:
    """Return the SHA-256 of the parts, each framed by its length, so that none can imitate two."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(str(len(data)).encode() + b":" + data)
    return digest.hexdigest()


_LAST_PART = re.compile(r"[/#](?=[^/#]+$)")


def namespace(iri: str) -> str:
    """An IRI up to its last slash or number sign that something follows."""
    found = _LAST_PART.search(iri)
    return iri[: found.end()] if found else iri


STATEMENT = "urn:sarag:statement:"
"""What the IRI of a relationship begins with that no node of the graph stands for."""


def statement_iri(subject: str, property_: str, object_: str) -> str:
    """The IRI that stands for a triple: all three of its IRIs can be read from it."""
    return STATEMENT + ":".join(quote(part, safe="-._~") for part in (subject, property_, object_))


def statement_of(iri: str) -> tuple[str, str, str] | None:
    """Subject, property and object of the triple that an IRI stands for; None if it is another."""
    parts = iri.removeprefix(STATEMENT).split(":")
    if not iri.startswith(STATEMENT) or len(parts) != 3:
        return None
    subject, property_, object_ = map(unquote, parts)
    return subject, property_, object_


def _name_code(normalized: str) -> str:
    raw = hashlib.sha256(normalized.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(raw).decode("ascii").lower()[:20]


def is_iri(text: str) -> bool:
    """Whether a text is an absolute IRI."""
    try:
        NamedNode(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Minter:
    """Makes IRIs under one base, an http(s) IRI without fragment or query that ends in ``/``."""

    base: str = DEFAULT_BASE

    @classmethod
    def for_base(cls, base: str) -> Minter:
        """Check and complete a base as a user writes it; raise `UsageError` if it cannot serve."""
        if holds_password(base):
            raise UsageError(
                f"the base of IRIs may hold no user name or password: give {masked(base)}"
            )
        shape = r"https?://[^\s<>\"{}|\\^`#?/]+(/[^\s<>\"{}|\\^`#?]*)?"
        if not re.fullmatch(shape, base) or not is_iri(base):
            raise UsageError(
                f"'{base}' cannot be the base of IRIs: give an http or https IRI without "
                "spaces, '#' and '?', for example https://data.example.org/kg/"
            )
        return cls(base if base.endswith("/") else base + "/")

    def mention(self, normalized: str) -> str:
        return f"{self.base}mention/{_name_code(normalized)}"

    def variant(self, normalized: str, qualifier: str) -> str:
        """A name where it stands for another thing, which the qualifier tells from the others."""
        code = _name_code("\0".join((normalized, qualifier)))
        return f"{self.base}mention/{code}"

    def entity(self, normalized: str) -> str:
        return f"{self.base}entity/E-{_name_code(normalized)}"

    def entity_of_mention(self, mention: str) -> str:
        """The entity that a mention refers to when no alias says otherwise."""
        return f"{self.base}entity/E-{mention.removeprefix(self.base + 'mention/')}"

    def mention_of_entity(self, entity: str) -> str:
        """The name that gives an entity its IRI."""
        return f"{self.base}mention/{entity.rpartition('E-')[2]}"

    def source(self, key: str, title: str, text: str) -> str:
        """IRI of a source: its path (characters that no IRI may hold percent-encoded), or hash."""
        if not key:
            return f"{self.base}source/sha256-{sha256_hex(title, text)[:32]}"
        path, mark, record = key.partition("#")
        safe = "/~!$&'()*+,;=:@-._"
        name = f"{self.base}source/{quote(path, safe=safe)}"
        return f"{name}#{quote(record, safe=safe)}" if mark else name

    def key_of_source(self, source: str) -> str:
        """The path that a source's IRI was made of; empty where it was made of a hash."""
        name = source.removeprefix(f"{self.base}source/")
        return "" if name == source or _HASHED.fullmatch(name) else unquote(name)

    def document(self, source: str, begin: int, end: int, text: str) -> str:
        return f"{self.base}doc/{sha256_hex(source, str(begin), str(end), text)[:32]}"

    def description(self, mention: str, text: str, document: str) -> str:
        return f"{self.base}description/{sha256_hex(mention, text, document)[:32]}"

    def relationship(
        self, subject: str, phrase: str, object_: str, text: str, document: str
    ) -> str:
        """IRI of what a document says of two mentions: every part of the statement counts."""
        code = sha256_hex(subject, phrase, object_, text, document)[:32]
        return f"{self.base}relationship/{code}"

    def extraction(self, *parts: str) -> str:
        return f"{self.base}extraction/{sha256_hex(*parts)[:32]}"

    def quarantine(self, source: str) -> str:
        """The record of a source that did not conform."""
        return f"{self.base}quarantine/{sha256_hex(source)[:32]}"

    def mapping(self, subject: str, predicate: str, object_: str) -> str:
        """The node that says how a link came about."""
        return f"{self.base}mapping/{sha256_hex(subject, predicate, object_)[:32]}"

    def run(self, identifier: str) -> str:
        return f"{self.base}run/{identifier}"

    @property
    def knowledge_graph(self) -> str:
        """The data set itself."""
        return self.base + "dataset"

    @property
    def graphs(self) -> str:
        """What the IRIs of all graphs begin with."""
        return self.base + "graph/"

    @property
    def kg_graph(self) -> str:
        """The graph that is traversed; a pure function of the source graphs."""
        return self.base + "graph/kg"

    @property
    def meta_graph(self) -> str:
        """Data set description, revision, embedding model."""
        return self.base + "graph/meta"

    @property
    def runs_graph(self) -> str:
        """Runs with their times."""
        return self.base + "graph/runs"

    @property
    def links_graph(self) -> str:
        """Links between entities and what is the same elsewhere."""
        return self.base + "graph/links"

    @property
    def decisions_graph(self) -> str:
        """What was decided about names: which are of one thing, and which are not."""
        return self.base + "graph/decisions"

    @property
    def imported_graphs(self) -> str:
        """What the IRIs of all imported graphs begin with."""
        return self.base + "graph/external/"

    def imported_graph(self, name: str) -> str:
        return self.imported_graphs + name

    @property
    def numbers_graph(self) -> str:
        """Numbers that entities have in exports to Wikibase."""
        return self.base + "graph/wikibase-numbers"

    @property
    def source_graphs(self) -> str:
        """What the IRIs of all source graphs begin with."""
        return self.base + "graph/source/"

    def source_graph(self, source: str) -> str:
        return self.source_graphs + sha256_hex(source)[:32]

    @property
    def quarantine_graphs(self) -> str:
        """What the IRIs of all quarantine graphs begin with."""
        return self.base + "graph/quarantine/"

    def quarantine_graph(self, source: str) -> str:
        return self.quarantine_graphs + sha256_hex(source)[:32]
