"""How long indexing will take, from a sample that is indexed into a graph that is thrown away."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from time import monotonic
from typing import Any, Final

from sarag_rdf.base.ports import CountsUsage, Extractor, Workers
from sarag_rdf.building.plan import PlannedSource
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.session import Session
from sarag_rdf.kg.vectors import recorded_model
from sarag_rdf.models.client import OpenAIEmbedder

SAMPLE: Final = 24
"""Sources in the sample."""
LEAST: Final = 100
"""Sources that must be left to index: fewer are indexed soon after their models are loaded."""


def estimated_seconds(
    kg: KnowledgeGraph,
    todo: Sequence[PlannedSource],
    extractor: Extractor,
    workers: Workers | None,
    **reading: Any,
) -> float | None:
    """About how many seconds workers, or one process, take for sources, once models are loaded.

    The sample is indexed in one process, and their characters are what it is proportional to. None
    for fewer than `LEAST` sources, and where a sample would call a model endpoint. `reading` are
    the options of `KnowledgeGraph.index`.
    """
    if len(todo) < LEAST or isinstance(extractor, CountsUsage):
        return None
    with kg.session.read(missing_ok=True) as snapshot:
        recorded = recorded_model(snapshot.reader)
    embedder = kg.session.models.embedders(recorded).texts.embedder
    if isinstance(embedder, OpenAIEmbedder):
        return None
    sample = Random(0).sample(todo, SAMPLE)  # noqa: S311 - always the same
    timed = workers.timed(extractor, embedder) if workers else None
    reading["extractor"] = timed or extractor
    with KnowledgeGraph(Session(None, embedder=timed or embedder)) as tried:
        tried.index(sample[0].source, **reading)  # loads the models
        begin = monotonic()
        if timed:
            timed.restart()
        tried.index([each.source for each in sample[1:]], **reading)
        seconds = monotonic() - begin
    factor = _size(todo) / max(_size(sample[1:]), 1)
    if not workers or not timed:
        return factor * seconds
    documents = sum(len(planned.documents) for planned in todo)
    return workers.seconds(factor * timed.processor, factor * (seconds - timed.seconds), documents)


def _size(sources: Sequence[PlannedSource]) -> int:
    return sum(len(planned.source.text) for planned in sources)
