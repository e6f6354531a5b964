"""What a language model found in a document, held against the document's own words.

A name that does not stand in the document was made up, or taken from the prompt's example, and
is dropped. Names are compared as `sarag_rdf.iris.normalize_name` writes them, on word boundaries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sarag_rdf.index.describe import describe, naming, split_sentences
from sarag_rdf.iris import normalize_name
from sarag_rdf.types import Mention, Relation

# Thai to Lao, Burmese, Khmer, kana, Chinese characters: scripts without spaces between words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


class Words:
    """A text in which normalised names are looked up as whole words."""

    def __init__(self, text: str) -> None:
        self._text = f" {normalize_name(text)} "

    def hold(self, name: str) -> bool:
        """Whether the name occurs; a script without spaces has no word boundaries to heed."""
        key = normalize_name(name)
        if not key:
            return False
        return (key if _UNSPACED.search(key) else f" {key} ") in self._text


def tidy(text: str) -> str:
    """Fold white space, and drop control characters, which RDF formats cannot all hold."""
    return " ".join(_CONTROL.sub("", text).split())


def grounded_mentions(
    entities: Iterable[Mapping[str, Any]],
    text: str,
    body: str = "",
    discarded: Counter[str] | None = None,
) -> tuple[Mention, ...]:
    """Return the entities of a reply that occur in `text`, those of one name merged, in order.

    Each entity has ``name``, ``type``, ``aliases`` and ``information``. Its mention has one
    description of the information, else of the sentences of `body` (the text without its title)
    that name it, or none. An entity of which only an alias occurs takes that for its name. A
    place loses the sentences that name another entity that is not a place (paper, appendix B: a
    place is not described by what happened to others in it). Entities that do not occur are
    counted in `discarded`.
    """
    dropped = Counter[str]() if discarded is None else discarded
    words = Words(text)
    merged: dict[str, Mention] = {}
    for entity in entities:
        forms = _forms([entity["name"], *entity["aliases"]], words)
        if not forms:
            dropped["names that the text does not contain"] += 1
            continue
        found = Mention(forms[0], entity["type"], forms[1:], _sentences(entity["information"]))
        key = normalize_name(found.name)
        merged[key] = _merge(merged[key], found) if key in merged else found
    mentions = list(merged.values())
    sentences = split_sentences(body)
    return tuple(_described(mention, mentions, sentences) for mention in mentions)


def grounded_relations(
    relationships: Iterable[Mapping[str, Any]],
    mentions: Sequence[Mention],
    discarded: Counter[str] | None = None,
) -> tuple[Relation, ...]:
    """Return the relationships between two different mentions, each once, in order.

    Each has ``subject``, ``phrase``, ``object`` and ``sentence``; ends may be any name or alias.
    What is not returned is counted in `discarded`.
    """
    dropped = Counter[str]() if discarded is None else discarded
    names = {normalize_name(alias): m.name for m in mentions for alias in m.aliases}
    names |= {normalize_name(m.name): m.name for m in mentions}
    kept: dict[Relation, None] = {}
    for found in relationships:
        subject = names.get(normalize_name(found["subject"]))
        object_ = names.get(normalize_name(found["object"]))
        phrase, sentence = tidy(found["phrase"]), tidy(found["sentence"])
        relation = Relation(subject or "", phrase or "is related to", object_ or "", sentence)
        if not (subject and object_):
            dropped["relationships between names that were not extracted"] += 1
        elif subject == object_:
            dropped["relationships of a name with itself"] += 1
        elif not (phrase or sentence):
            dropped["relationships without a phrase or a sentence"] += 1
        elif relation in kept:
            dropped["repeated relationships"] += 1
        else:
            kept[relation] = None
    return tuple(kept)


def _forms(candidates: Iterable[str], words: Words) -> tuple[str, ...]:
    """The names that occur, each once."""
    kept: dict[str, str] = {}
    for candidate in map(tidy, candidates):
        if words.hold(candidate):
            kept.setdefault(normalize_name(candidate), candidate)
    return tuple(kept.values())


def _sentences(information: str) -> tuple[str, ...]:
    return tuple(split_sentences(tidy(information)))


def _merge(first: Mention, second: Mention) -> Mention:
    key = normalize_name(first.name)
    aliases = {normalize_name(alias): alias for alias in (*second.aliases, *first.aliases)}
    aliases.pop(key, None)
    sentences = dict.fromkeys((*first.descriptions, *second.descriptions))
    return Mention(first.name, first.type, tuple(aliases.values()), tuple(sentences))


def _described(mention: Mention, mentions: Sequence[Mention], body: Sequence[str]) -> Mention:
    """The mention with its sentences, else those of the body, made one description."""
    told = _of_it(list(mention.descriptions), mention, mentions)
    text = " ".join(told)
    if text and not Words(text).hold(mention.name):
        text = f"{mention.name}: {text}"
    naming_it = naming((mention.name, *mention.aliases), body) if not text else []
    found = (text,) if text else describe(mention.name, _of_it(naming_it, mention, mentions))
    return Mention(mention.name, mention.type, mention.aliases, found)


def _of_it(sentences: list[str], mention: Mention, mentions: Sequence[Mention]) -> list[str]:
    """For a place, the sentences that name nothing but places."""
    if mention.type == "geopolitical":
        own = {normalize_name(form) for form in (mention.name, *mention.aliases)}
        others = [
            form
            for other in mentions
            if other.type != "geopolitical"
            for form in (other.name, *other.aliases)
            if normalize_name(form) not in own
        ]
        sentences = [s for s in sentences if not _names_any(s, others)]
    return sentences


def _names_any(sentence: str, names: Iterable[str]) -> bool:
    words = Words(sentence)
    return any(words.hold(name) for name in names)
