"""The lookup ``paths``: the ends of a relation path through imported graphs, without a model.

What an imported graph states stands in no sentence that a model could read. What was extracted from
documents does, and is not looked up: few paths over it are probable (`benchmarks/paths.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Evidence, Excerpt, Query, RelationPath, Section
from sarag_rdf.plugins.relation_paths.path_model import Hop
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch, Topic
from sarag_rdf.retrieval.context import measured
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

LEAST: Final = 0.8
"""Least probability of a path that is answered with; `benchmarks/paths.md` has what follows."""
_DOCUMENTS: Final = 10
"""Documents that are cited with an answer, at most."""
_HOMONYMS: Final = 5
"""Things with the name of the topic that are followed beside it, at most."""


def lookup(view: GraphView, query: Query) -> Found | None:
    """The answer of the best path through imported graphs that is probable enough.

    A path starts at one name and does not say when its statements held: a question that names
    several things or none, or is about a time, is not looked up. All things of the name answer.
    """
    search = PathSearch(view, Paths(imported=True, least=LEAST, limit=_DOCUMENTS))
    if query.at or not search.in_use.parts:
        return None
    text, marks = MARKED.subn(r"\1", query.text)
    names = len(named_spans(view.names, text, ProperNames(view)))
    if names > 1 or not (names or marks):
        return None
    topics, paths = search.find(query.text)
    if not paths or not paths[0].answers:
        return None
    best = paths[0]
    hops = tuple(Hop(*hop) for hop in best.hops)
    others = [topic for topic in topics if topic.seed.node != best.topic][:_HOMONYMS]
    alike = (search.follow_hops(topic, hops) for topic in others)
    chosen = [best, *(path for path in alike if path.answers)]
    return looked_up(search, query, topics, chosen, paths[1:], "paths")


def looked_up(
    search: PathSearch,
    query: Query,
    topics: Sequence[Topic],
    chosen: Sequence[RelationPath],
    others: Sequence[RelationPath],
    name: str,
) -> Found:
    """The ends of the chosen paths, with the documents of the entities on them.

    These are the pages of imported entities, or else the documents that describe them. `name` is
    that of the context.
    """
    best = chosen[0]
    retrieved = search.retrieved(query, topics, tuple(chosen))
    retrieved = replace(retrieved, paths=(*chosen, *others))
    answers = [answer for path in chosen for answer in path.answers]
    on_path = {path.topic for path in chosen}.union(
        iri for answer in answers for iri in (*answer.nodes, answer.iri)
    )
    ranked_documents = (ranked for ranked in retrieved.documents if ranked.entity)
    reached = [ranked.document for ranked in ranked_documents if ranked.document.text]
    pages = [document for document in reached if document.iri in on_path]
    excerpts = {f"D{n}": Excerpt.whole(page) for n, page in enumerate(pages or reached, start=1)}
    section = Section("", excerpts, ())
    return Found(
        tuple(dict.fromkeys(answer.name for answer in answers)),
        f"{best.text} ({best.topic_name})",
        best.probability,
        Evidence(retrieved, measured((section,) if excerpts else (), name)),
    )
