"""Seeds: the entities of the k nearest descriptions (paper 5.4)."""

from __future__ import annotations

from collections import defaultdict

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.vectors import GraphVectors
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
