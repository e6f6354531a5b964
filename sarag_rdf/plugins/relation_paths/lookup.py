"""The lookup ``paths``: the ends of a relation path through imported graphs, without a model.

What an imported graph states stands in no sentence that a model could read; what was extracted from
documents does, and is not looked up, since paths over it are often wrong (`benchmarks/paths.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Evidence, Excerpt, Query, RelationPath, Section
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch, Topic
from sarag_rdf.retrieval.context import measured
from sarag_rdf.retrieval.view import GraphView

LEAST: Final = 0.6
"""Least probability of a path that is answered with; `benchmarks/paths.md` has what follows."""
_DOCUMENTS: Final = 10
"""Documents that are cited with an answer, at most."""


def lookup(view: GraphView, query: Query) -> Found | None:
    """The answer of the most probable path through imported graphs, if it is probable enough.

    Paths do not say when statements held: a question about a time is not looked up.
    """
    if query.at:
        return None
    search = PathSearch(view, Paths(imported=True, least=LEAST, limit=_DOCUMENTS))
    if not search.in_use.parts:
        return None
    topics, paths = search.find(query.text)
    if not paths or not paths[0].answers:
        return None
    return looked_up(search, query, topics, paths, "paths")


def looked_up(
    search: PathSearch,
    query: Query,
    topics: Sequence[Topic],
    paths: Sequence[RelationPath],
    name: str,
) -> Found:
    """The ends of the first path, with the documents of the entities on it; `name` is of whom.

    These are the pages of imported entities, or else the documents that describe them.
    """
    chosen, *others = paths
    retrieved = search.retrieved(query, topics, (chosen,))
    retrieved = replace(retrieved, paths=(chosen, *others))
    ends = (iri for answer in chosen.answers for iri in (*answer.nodes, answer.iri))
    on_path = {chosen.topic, *ends}
    reached = [ranked.document for ranked in retrieved.documents if ranked.entity]
    pages = [document for document in reached if document.iri in on_path]
    excerpts = {f"D{n}": Excerpt.whole(page) for n, page in enumerate(pages or reached, start=1)}
    section = Section("", excerpts, ())
    return Found(
        tuple(answer.name for answer in chosen.answers),
        f"{chosen.text} ({chosen.topic_name}), {chosen.probability:.0%} probable",
        Evidence(retrieved, measured((section,) if excerpts else (), name)),
    )
