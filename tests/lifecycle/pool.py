"""Documents that histories are made of: names shared, shortened, in conflict, in the title."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Document, EntityType, Extraction, Mention, Method, Relation, Source

_NYC = "New York City (NYC) lies on the Hudson River. NYC is home to the United Nations (UN)."
POOL: dict[str, tuple[str, ...]] = {
    "new-york-city.txt": (
        _NYC,
        "NYC was named after the Duke of York. The Duke of York ruled New York City.",
        "The Hudson River passes New York City. Henry Hudson sailed up the Hudson River.",
    ),
    "nyc.txt": (
        _NYC,
        "NYC stands for New York Council (NYC). The New York Council met in Albany.",
        "Ada Lovelace visited NYC in 1843. She met Charles Babbage there.",
    ),
    "un/united-nations.txt": (
        "The United Nations (UN) was founded in San Francisco. Trygve Lie led the UN.",
        "Utrecht Neuroscience (UN) is an institute in Utrecht. Trygve Lie never saw the UN.",
    ),
    "un/copy.txt": (_NYC, "The United Nations (UN) was founded in San Francisco. It meets in NYC."),
    "ada-lovelace.txt": (
        "Ada Lovelace was a mathematician. Lovelace wrote to Charles Babbage. Ada lived in London.",
        "Augusta Ada King worked with Babbage. Lovelace is a town in Texas.",
        "Countess of Lovelace (Ada Lovelace) met Mary Somerville in London.",
    ),
    "babbage.txt": (
        "Charles Babbage built the Difference Engine. Babbage was born in London.",
        "The Babbage Institute is in Minneapolis. Charles Babbage gave it his name.",
    ),
    "london.txt": (
        "London lies on the Thames. Jack London wrote novels. London was read by Ada Lovelace.",
        "Jack London was born in San Francisco. London sailed to Hawaii.",
    ),
    "notes.txt": (
        "The Duke of York met the Countess of Lovelace in London.",
        "Mary Somerville taught Ada. She wrote to the United Nations (UN) of letters.",
    ),
}
"""Versions of a text by key."""

NAMED: dict[str, tuple[str, ...]] = {
    "a.txt": ("person A = B, C; A > D", "org A = D; A > B; B > A", "misc A", "misc B = A"),
    "b.txt": ("place B = A; B > C", "person B; misc C = B; C > B", "misc D; D > D"),
    "c.txt": ("misc C = D; person A", "org D = C; C = D; D > A", "place A = B, D; A > C"),
    "d.txt": ("misc E = A, B; E > A", "person E = C; C = E; misc A; E > C", "misc F = F; F > F"),
    "e/a.txt": ("person A = B, C; A > D", "misc the A; org a = B; a > the A"),
    "e/f.txt": ("misc F = E; E = F; F > E", "place F; person F; org F = D"),
}
"""What `NamesExtractor` reads: ``TYPE NAME = ALIAS, ...`` and ``SUBJECT > OBJECT``."""


def source(key: str, text: str) -> Source:
    """The source that a file of this key and text gives."""
    return Source(text, string.capwords(Path(key).stem.replace("-", " ")), key, "en", "text/plain")


class NamesExtractor:
    """Finds what a text declares: every way in which names can be aliases of each other."""

    method = Method("names", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            mentions: dict[str, Mention] = {}
            relations: list[Relation] = []
            kind = "misc"
            for part in document.text.split("; "):
                words = part.split(" ", 1)
                named = {"person", "misc", "org", "place"} & {words[0]}
                if named:
                    kind, part = words
                if " > " in part:
                    subject, object_ = part.split(" > ")
                    relations.append(Relation(subject, "knows", object_, f"{part}."))
                    for name in (subject, object_):
                        mentions.setdefault(name, Mention(name, "misc", (), ()))
                    continue
                name, _, aliases = part.partition(" = ")
                others = tuple(aliases.split(", ")) if aliases else ()
                mentions[name] = Mention(name, _TYPES[kind], others, (f"{part}!",))
            yield Extraction(tuple(mentions.values()), tuple(relations))


_TYPES: dict[str, EntityType] = {
    "org": "organization",
    "place": "geopolitical",
    "person": "person",
    "misc": "misc",
}


class Remembered:
    """Another extractor, that reads each text once."""

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._found: dict[tuple[str, str], Extraction | Exception] = {}

    @property
    def method(self) -> Method:
        return self._extractor.method

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            key = (document.title, document.text)
            if key not in self._found:
                [self._found[key]] = self._extractor.extract([document])
            yield self._found[key]


_NAME = re.compile(r"\b(?:[A-Z]\w*)(?: (?:of|de|[A-Z]\w*))* ?(?:[A-Z]\w*)?")


def write_openie(path: Path) -> Path:
    """An extraction file for the pool: capitalised names, and neighbours related."""
    docs = []
    for text in dict.fromkeys(text for texts in POOL.values() for text in texts):
        triples = []
        names: dict[str, None] = {}
        for sentence in text.split(". "):
            found = [name.strip() for name in _NAME.findall(sentence)]
            names.update(dict.fromkeys(found))
            triples += [[found[0], "is near", name] for name in found[1:]]
        docs.append({"text": text, "extracted_entities": [*names], "extracted_triples": triples})
    path.write_text(json.dumps({"docs": docs}), encoding="utf-8")
    return path
