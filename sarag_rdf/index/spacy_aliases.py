"""Other names that a text gives for a thing: acronyms, "also known as", names at birth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spacy.tokens import Doc

from sarag_rdf.index.spacy_mentions import SUBJECTS, Sighting
from sarag_rdf.iris import normalize_name
from sarag_rdf.types import EntityType

_ACRONYM = re.compile(r"\s*\(\s*(?:the |or )?[\"'\u201c]?([A-Z][\w.&/-]{1,9}?)[\"'\u201d]?\s*[),;]")
_KNOWN_AS = re.compile(
    r"\s*(?:\([^()]*\))?[\s,(]*(?:(?:is|was|are|were) )?(?:"
    r"(?:also|better|best|commonly|popularly|sometimes|often|formerly|previously|originally) "
    r"(?:known|called|referred to)(?: simply| professionally| commonly)?(?: as)?"
    r"|known(?: professionally| simply| commonly)? as|a\.?k\.?a\.?)[\s\"'`\u201c]*(?:the )?",
)
_BORN = re.compile(r"[\s,(]*(?:(?:was|is) )?(?:born|n\u00e9e|nee)(?: as)?[\s\"'`\u201c]*")


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name that a text gives; `is_global` if it serves outside this document."""

    name: str
    alias: str
    is_global: bool


def text_after(doc: Doc, sighting: Sighting) -> str:
    """The two hundred characters that follow a sighting."""
    last = doc[sighting.end - 1]
    return doc.text[last.idx + len(last) : last.idx + len(last) + 200]


def defined_aliases(
    doc: Doc, sightings: list[Sighting], types: Mapping[str, EntityType]
) -> Iterator[Alias]:
    """Yield acronyms in brackets, names "also known as", and names at birth."""
    by_begin = {s.begin: s for s in sightings}
    for left in sightings:
        if left.is_date:
            continue
        type_ = types[normalize_name(left.name)]
        following = text_after(doc, left)
        if (match := _ACRONYM.match(following)) and _abbreviates(match[1], left.name, type_):
            yield Alias(left.name, match[1], True)
        for pattern in (_KNOWN_AS, _BORN):
            match = pattern.match(following)
            if not match:
                continue
            offset = doc[left.end - 1].idx + len(doc[left.end - 1]) + match.end()
            span = doc.char_span(offset, offset + 1, alignment_mode="expand")
            right = by_begin.get(span.start) if span is not None else None
            if right is None or right.is_date:
                continue
            if not (match[0].strip().startswith("(") or _opens_clause(doc, left)):
                continue
            if pattern is _BORN and (type_ != "person" or right.type == "geopolitical"):
                continue
            is_global = pattern is _KNOWN_AS or " " in right.name
            yield Alias(left.name, right.name, is_global)


def _opens_clause(doc: Doc, sighting: Sighting) -> bool:
    """Tell whether a thing is a subject, or the first one in its sentence."""
    root = doc[sighting.begin : sighting.end].root
    before = doc[root.sent.start : sighting.begin]
    return root.dep_ in SUBJECTS or not any(token.pos_ in ("PROPN", "VERB") for token in before)


def _abbreviates(short: str, name: str, type_: EntityType) -> bool:
    """Tell whether a word in brackets after a name is its acronym.

    Its letters have to occur in the name in order, from the first; an organization of three
    words or more may have an acronym from another language (CERN).
    """
    letters = [character for character in short if character.isalpha()]
    capitals = sum(character.isupper() for character in letters)
    words = name.split()
    if type_ == "person" or len(words) < 2 or capitals < 2 or capitals * 2 <= len(letters):
        return False
    if type_ == "organization" and len(words) >= 3:
        return True
    rest = iter(normalize_name(name))
    return short[0].lower() == normalize_name(name)[0] and all(c.lower() in rest for c in letters)
