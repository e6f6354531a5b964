"""Entities that a question names, and those of the k nearest descriptions (paper 5.4)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.vectors import GraphVectors
from sarag_rdf.iris import normalize_name
from sarag_rdf.ports import Vector
from sarag_rdf.types import Seed


def nearest_seeds(
    reader: GraphReader, vectors: GraphVectors, question: Vector, k: int
) -> tuple[Seed, ...]:
    """Seeds by falling similarity, each entity once, with the description that is nearest."""
    nearest = vectors.index("description").nearest(question, k)
    described: defaultdict[str, list[str]] = defaultdict(list)
    for text, entity in reader.rows_for("described-entities", [iri for iri, _ in nearest]):
        described[text.value].append(entity.value)
    seeds: dict[str, Seed] = {}
    for description, similarity in nearest:
        for entity in sorted(described[description]):
            seeds.setdefault(entity, Seed(entity, description, similarity))
    return tuple(seeds.values())


_WORD = re.compile(r"\S+")
_LONGEST = 12
"""Words of the longest name that is looked for in a question."""
_OWNERS = 4
"""An alias of more names than these says nothing."""
_NO_NAMES = frozenset(
    "who whom whose what which when where why how is are was were do does did has have had can "
    "could in on at of to for from by with the a an".split()
)
"""Words that a question begins with, and that are no names where they stand alone."""


def named_entities(
    reader: GraphReader, question: str, topics: Container[str] = frozenset()
) -> dict[str, float]:
    """Entities whose name or alias stands in the question, with their activation in (0, 1].

    The longest names count: one within another that was found does not ('York' in 'New York').
    Names are looked up by IRI, which is a function of the normalised name: no text is searched.
    A name needs a capital letter or a digit in the question, so that common words do not count;
    in a question that is written without capitals, it must be that of one of the `topics`
    instead ('coffee', where a document is about it). An alias of several entities (up to 4) is
    shared among them.
    """
    words = [match.span() for match in _WORD.finditer(question)]
    spans: dict[tuple[int, int], str] = {}
    is_plain = not any(c.isupper() for c in question[1:])
    marked = [any(c.isupper() or c.isdigit() for c in question[b:e]) for b, e in words]
    common: set[str] = set()
    for length in range(min(_LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            is_common = not any(marked[first : first + length])
            if is_common and not is_plain:
                continue
            name = normalize_name(question[words[first][0] : words[first + length - 1][1]])
            if name and name not in _NO_NAMES:
                mention = spans[first, first + length] = reader.minter.mention(name)
                if is_common:
                    common.add(mention)
    entities = _referred(reader, set(spans.values()))
    named: dict[str, float] = {}
    taken: set[int] = set()
    for (begin, end), mention in spans.items():
        found = entities.get(mention, [])
        if mention in common:
            found = [entity for entity in found if entity in topics]
        if found and taken.isdisjoint(range(begin, end)):
            taken |= set(range(begin, end))
            for entity in found:
                named.setdefault(entity, 1.0 / len(found))
    return named


def entities_of_names(reader: GraphReader, names: Iterable[str]) -> dict[str, list[str]]:
    """Name -> the entities of that name or alias (up to 4), ascending; unknown names are absent."""
    mentions = {name: reader.minter.mention(normalize_name(name)) for name in names if name.strip()}
    entities = _referred(reader, set(mentions.values()))
    return {name: entities[m] for name, m in mentions.items() if m in entities}


def _referred(reader: GraphReader, mentions: set[str]) -> dict[str, list[str]]:
    """Mention -> its entity; a name that no document uses is that of what it is an alias of."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for owner, alias, _ in reader.kept_for("alias-owners", mentions):
        owners[alias.value].add(owner.value)
    few = {alias: found for alias, found in owners.items() if len(found) <= _OWNERS}
    rows = reader.kept_for("mention-targets", mentions.union(*few.values()))
    targets = {mention.value: entity.value for mention, entity in rows}
    named = {
        alias: sorted({targets[owner] for owner in found if owner in targets})
        for alias, found in few.items()
    }
    named |= {mention: [targets[mention]] for mention in mentions if mention in targets}
    return {mention: entities for mention, entities in named.items() if entities}
