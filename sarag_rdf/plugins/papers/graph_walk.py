"""Graph-walk compression ("The Reasoning Bottleneck in Graph-RAG", section 3.2).

What was retrieved is walked as a graph from the entities of the question, and what lies near is
kept, ordered by hops. No model is called, neither for language nor for embeddings.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, budget_option, option
from sarag_rdf.base.ports import CountTokens
from sarag_rdf.base.sentences import STOP_WORDS
from sarag_rdf.base.types import Citation, Context, Document, Excerpt, Retrieved, Section
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.retrieval.context import Budget, ContextStrategy, Whole
from sarag_rdf.retrieval.view import GraphView

LONG = 5
"""Letters from which on a word of the question may match a part of a name."""


class Fact(NamedTuple):
    """A relationship between two entities, or a description of one, as a document states it."""

    ends: tuple[str, ...]
    text: str
    document: str = ""


class Contents(NamedTuple):
    """What the retrieved documents hold: entities by document, normalized names by entity, facts.

    Descriptions are read only if they are to be shown.
    """

    entities: Mapping[str, frozenset[str]]
    names: Mapping[str, Sequence[str]]
    facts: Sequence[Fact]
    descriptions: Sequence[Fact] = ()


@dataclass(frozen=True, kw_only=True)
class GraphWalk(ContextStrategy):
    """Keeps what is connected with the question, up to the budget, in sections by hop.

    1. Seeds: entities whose name stands in the question, or all of whose content words do, or
       that have a word of at least `LONG` letters in common with it.
    2. Breadth-first search from them over the facts of the documents, up to `hops`.
    3. An entity that a document describes together with one that was reached is reached too.
    4. Assembly: facts by the hop of their nearer end, each text once, up to half the budget;
       then documents that describe what was reached, most such entities first; then documents
       with a word of the question.

    That half is this library's own, as whole sentences would leave no room for documents. Where no
    entity matches the context is `Whole`, within the same budget.

    The preset is phase 4 as printed: the descriptions of an entity come at its hop, before the
    relationships of that hop; there is one budget for all, in order of priority; and without a seed
    the context stays uncompressed. A community report, the paper's last priority, has no
    counterpart. What does not fit is passed over, and what follows may still fit: there the paper
    is open.
    """

    name = "graph-walk"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"documents": MAX_COUNT, "descriptions": True, "share": 1.0, "uncompressed": True}
    }
    budget: int = budget_option(4000)
    hops: int = option(
        3, "Maximum distance from the entities of the question, in hops.", ge=0, le=MAX_HOPS
    )
    documents: int = option(
        20, "Maximum number of documents whose entities are searched.", ge=1, le=MAX_COUNT
    )
    descriptions: bool = option(
        False, "Descriptions of entities are part of the context, beside relationships."
    )
    share: float = option(
        0.5,
        "Share of the budget that relationships and descriptions may take, before documents.",
        ge=0.0,
        le=1.0,
    )
    uncompressed: bool = option(
        False,
        "Where no entity matches the question, the context is all that was retrieved, whatever "
        "the budget.",
    )

    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:
        documents = [ranked.document for ranked in retrieved.documents[: self.documents]]
        contents = read_contents(view.reader, documents, descriptions=self.descriptions)
        seeds = seeds_of(retrieved.query.text, contents.names)
        if not seeds:
            all_ = Whole(documents=MAX_COUNT, relationships=MAX_COUNT)
            within = Whole(budget=self.budget, documents=self.documents)
            return (all_ if self.uncompressed else within).build(view, retrieved, count)
        hops = co_occurring(walked(seeds, contents.facts, self.hops), contents.entities)
        return self._assembled(retrieved.query.text, count, documents, contents, hops)

    def _assembled(
        self,
        question: str,
        count: CountTokens,
        documents: Sequence[Document],
        contents: Contents,
        hops: Mapping[str, int],
    ) -> Context:
        share = Budget(count, max(1, int(self.budget * self.share)))
        citations = {document.iri: Excerpt.whole(document).citation for document in documents}
        texts: defaultdict[tuple[int, bool], dict[str, Citation]] = defaultdict(dict)
        for text, (hop, is_fact, origin) in _nearest(contents, hops).items():
            if share.take(text):
                texts[hop, is_fact][text] = citations[origin]
        budget = Budget(count, self.budget, used=share.used)
        first, second = tiers(question, documents, contents, hops)
        by_hop: defaultdict[int, list[Document]] = defaultdict(list)
        for document in (*first, *second):
            if budget.take(document.titled_text):
                near = [hops[e] for e in contents.entities.get(document.iri, ()) if e in hops]
                by_hop[min(near, default=self.hops + 1)].append(document)
        sections, numbers = [], itertools.count(1)
        for hop in sorted({*by_hop, *(hop for hop, _ in texts)}):
            excerpts = {f"D{next(numbers)}": Excerpt.whole(d) for d in by_hop[hop]}
            facts, descriptions = texts[hop, True], texts[hop, False]
            parts = excerpts, tuple(facts), tuple(descriptions), facts | descriptions
            sections.append(Section(_heading(hop, self.hops), *parts))
        return Context(tuple(sections), budget.used, "graph-walk")


def read_contents(
    reader: GraphReader, documents: Iterable[Document], *, descriptions: bool = False
) -> Contents:
    """Read entities, their names, facts, and on request descriptions of documents."""
    iris = [document.iri for document in documents]
    entities: defaultdict[str, set[str]] = defaultdict(set)
    for document, entity in reader.rows_for("described-by", iris):
        entities[document.value].add(entity.value)
    rows = reader.rows_for("document-relationships", iris)
    facts = [Fact((row[2].value, row[3].value), row[4].value, row[0].value) for row in rows]
    facts.sort(key=lambda fact: (fact.text, fact.ends, fact.document))
    every = set[str]().union(*entities.values(), *(fact.ends for fact in facts))
    names: defaultdict[str, set[str]] = defaultdict(set)
    for entity, name in reader.rows_for("entity-names", every):
        names[entity.value].add(normalize_name(name.value))
    return Contents(
        {document: frozenset(members) for document, members in entities.items()},
        {entity: sorted(members) for entity, members in names.items()},
        facts,
        _descriptions(reader, iris, names) if descriptions else (),
    )


def _descriptions(
    reader: GraphReader, documents: Sequence[str], names: Mapping[str, Iterable[str]]
) -> list[Fact]:
    """Descriptions that come from documents, with the entity's name where they do not tell it."""
    triples = {
        (entity.value, text.value, document.value)
        for document, entity, text in reader.rows_for("descriptions-in-documents", documents)
    }
    labels: dict[str, str] = {}
    for entity, name, _ in reader.rows_for("entity-labels", {entity for entity, *_ in triples}):
        labels.setdefault(entity.value, name.value)
    described = []
    for entity, text, document in sorted(triples):
        normal = f" {normalize_name(text)} "
        is_named = any(f" {name} " in normal for name in names.get(entity, ()))
        shown = text if is_named else f"{labels.get(entity, entity)}: {text}"
        described += [Fact((entity,), shown, document)] if text else []
    return described


def seeds_of(question: str, names: Mapping[str, Sequence[str]]) -> set[str]:
    """Entities that the question matches: exactly, by all content words, or by a long word.

    >>> names = {"a": ["lake ida"], "b": ["orrin valley railway"], "c": ["of"]}
    >>> sorted(seeds_of("Where is Lake Ida?", names)), sorted(seeds_of("Which valleys?", names))
    (['a'], [])
    >>> sorted(seeds_of("Which railway passes the lake of Ida?", names))
    ['a', 'b']
    """
    asked = f" {normalize_name(question)} "
    words = set(asked.split())
    long = {word for word in words - STOP_WORDS if len(word) >= LONG}

    def is_asked(name: str) -> bool:
        content = [word for word in name.split() if word not in STOP_WORDS]
        has_all = len(content) > 1 and words.issuperset(content)
        return bool(content) and (f" {name} " in asked or has_all or not long.isdisjoint(content))

    return {entity for entity, known in names.items() if any(map(is_asked, known))}


def walked(seeds: Iterable[str], facts: Iterable[Fact], hops: int) -> dict[str, int]:
    """Entity -> hops from the nearest seed, over facts in both directions."""
    import networkx as nx

    graph = nx.Graph(fact.ends for fact in facts)
    starts = set(seeds)
    graph.add_nodes_from(starts)
    if not starts:
        return {}
    return dict(nx.multi_source_dijkstra_path_length(graph, starts, cutoff=hops))


def co_occurring(
    reached: Mapping[str, int], entities: Mapping[str, frozenset[str]]
) -> dict[str, int]:
    """Adds what a document describes beside something that was reached, one hop further."""
    expanded = dict(reached)
    for members in entities.values():
        hops = [reached[entity] for entity in members if entity in reached]
        if hops:
            for entity in members - reached.keys():
                expanded[entity] = min(expanded.get(entity, min(hops) + 1), min(hops) + 1)
    return expanded


def tiers(
    question: str, documents: Sequence[Document], contents: Contents, hops: Mapping[str, int]
) -> tuple[list[Document], list[Document]]:
    """Documents that describe reached entities, most first; then those with words in common."""
    mentions = {
        document.iri: len(contents.entities.get(document.iri, frozenset()) & hops.keys())
        for document in documents
    }
    first = [document for document in documents if mentions[document.iri]]
    first.sort(key=lambda document: -mentions[document.iri])
    words = set(normalize_name(question).split()) - STOP_WORDS
    second = [
        document
        for document in documents
        if not mentions[document.iri] and words & set(normalize_name(document.titled_text).split())
    ]
    return first, second


def _nearest(contents: Contents, hops: Mapping[str, int]) -> dict[str, tuple[int, bool, str]]:
    """Text -> its least hop, whether it is a relationship's, and its document, nearest first."""
    closest = [
        (min(hops[end] for end in fact.ends), is_fact, fact.text, fact.document)
        for is_fact, several in enumerate((contents.descriptions, contents.facts))
        for fact in several
        if hops.keys() >= {*fact.ends}
    ]
    nearest: dict[str, tuple[int, bool, str]] = {}
    for hop, is_fact, text, document in sorted(closest):
        nearest.setdefault(text, (hop, bool(is_fact), document))
    return nearest


def _heading(hop: int, most: int) -> str:
    if hop == 0:
        return "named in the question"
    return f"{hop} hop{'s' if hop > 1 else ''} away" if hop <= most else "further"
