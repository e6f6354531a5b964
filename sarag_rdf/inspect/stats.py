"""Counts of what a graph holds."""

from __future__ import annotations

from sarag_rdf.graph.rows import GraphReader

MEASURES = (
    "sources",
    "quarantined sources",
    "documents",
    "descriptions",
    "mentions",
    "relationships",
    "entities",
    "persons",
    "organizations",
    "geopolitical entities",
    "other entities",
    "describes links",
    "relatedTo links",
    "named graphs",
    "quads",
)


def stats(reader: GraphReader) -> dict[str, int]:
    """Measure -> count, in the order of `MEASURES`."""
    counts = {measure.value: int(count.value) for measure, count in reader.kept("stats")}
    return {measure: counts[measure] for measure in MEASURES}
