"""Seeds: entities that the question names, and those of the k nearest descriptions (paper 5.4)."""

from __future__ import annotations

import re
from collections import defaultdict

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


_WORD = re.compile(r"[^\s]+")
_LONGEST = 8
"""Words of the longest name that is looked for in a question."""


def named_seeds(reader: GraphReader, question: str) -> tuple[Seed, ...]:
    """Entities whose name or alias stands in the question, the longest names first.

    A name within a longer one that was found does not count ('York' in 'New York'). Names are
    looked up by IRI, which is a function of the normalised name: no text is searched. Only names
    with a capital letter or a digit in the question are tried, so that common words are not.
    """
    words = [match.span() for match in _WORD.finditer(question)]
    spans: dict[tuple[int, int], str] = {}
    for length in range(min(_LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            text = question[words[first][0] : words[first + length - 1][1]]
            if any(c.isupper() or c.isdigit() for c in text):
                name = normalize_name(text)
                if name:
                    spans[first, first + length] = reader.minter.mention(name)
    entities = _referred(reader, set(spans.values()))
    seeds: dict[str, Seed] = {}
    taken: set[int] = set()
    for (begin, end), mention in spans.items():
        if mention in entities and taken.isdisjoint(range(begin, end)):
            taken |= set(range(begin, end))
            seeds.setdefault(entities[mention], Seed(entities[mention], "", 1.0))
    return tuple(seeds.values())


def _referred(reader: GraphReader, mentions: set[str]) -> dict[str, str]:
    """Mention -> entity; a name that no document uses is that of the only entity it is alias of."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for owner, alias, _ in reader.rows_for("alias-owners", mentions):
        owners[alias.value].add(owner.value)
    sole = {alias: min(found) for alias, found in owners.items() if len(found) == 1}
    rows = reader.rows_for("mention-targets", mentions | set(sole.values()))
    targets = {mention.value: entity.value for mention, entity in rows}
    named = {alias: targets[owner] for alias, owner in sole.items() if owner in targets}
    return named | {mention: targets[mention] for mention in mentions if mention in targets}
