"""Graph-walk compression as printed, beside a reference written from the text of the paper.

"The Reasoning Bottleneck in Graph-RAG", section 3.2. The reference has its own seeds, search and
assembly over plain dictionaries, and is compared on random graphs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.answering.single import Single
from sarag_rdf.base.options import Spec
from sarag_rdf.base.types import Context, Evidence, Extraction, Mention, Query, Relation
from sarag_rdf.plugins.papers.graph_walk import GraphWalk
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.answering.sample import answer_of
from tests.papers.test_graph_walk import made, met, shown
from tests.retrieval.graphs import Content
from tests.retrieval.sample import found_for, view_with, words

PAPER = GraphWalk.of({"preset": "paper"})
NAMES = [f"{letter}{rest}" for letter in "BCDFGHKL" for rest in ("ama", "ola")]


@dataclass(frozen=True)
class Chunk:
    """A text with what an extractor found in it."""

    text: str
    descriptions: Mapping[str, str]
    """Entity -> what is said of it."""
    relationships: Sequence[tuple[str, str, str]]
    """Subject, object, text."""

    @property
    def content(self) -> Content:
        mentions = [Mention(name, descriptions=(text,)) for name, text in self.descriptions.items()]
        relations = [Relation(one, "met", other, text) for one, other, text in self.relationships]
        return "", self.text, Extraction(tuple(mentions), tuple(relations))


# ------------------------------------------------------------------------- The reference

Level = tuple[list[str], list[str], list[str]]
"""Entity descriptions, relationship descriptions, chunks."""


def compressed(question: str, chunks: Sequence[Chunk], budget: int) -> dict[int, Level] | None:
    """Hop -> what is shown of it; None if no entity matches, and the context stays as it is."""
    asked = question.lower().strip("?").split()
    entities = {name for chunk in chunks for name in chunk.descriptions}
    distance = {name: 0 for name in entities if name.lower() in asked}
    if not distance:
        return None
    edges = [(one, other) for chunk in chunks for one, other, _ in chunk.relationships]
    for hop in (1, 2, 3):  # phase 2
        for one, other in [*edges, *((other, one) for one, other in edges)]:
            if distance.get(one) == hop - 1 and other not in distance:
                distance[other] = hop
    bridges: dict[str, int] = {}
    for chunk in chunks:  # phase 3; the hop of a bridge is one more than that of its neighbour
        beside = [distance[name] for name in chunk.descriptions if name in distance]
        for name in chunk.descriptions:
            if beside and name not in distance:
                bridges[name] = min(bridges.get(name, 99), min(beside) + 1)
    distance.update(bridges)
    levels: dict[int, Level] = {}
    left = budget

    def take(hop: int, place: int, text: str) -> None:
        nonlocal left
        if len(text.split()) <= left:
            left -= len(text.split())
            levels.setdefault(hop, ([], [], []))[place].append(text)

    told = set()
    for hop, place, text in sorted(statements(chunks, distance)):  # phase 4, first priority
        if text not in told:
            told.add(text)
            take(hop, place, text)
    reached = {chunk.text: sum(name in distance for name in chunk.descriptions) for chunk in chunks}
    first = sorted((c for c in chunks if reached[c.text]), key=lambda c: -reached[c.text])
    second = [c for c in chunks if not reached[c.text] and "met" in c.text.lower().split()]
    for chunk in (*first, *second):
        near = [distance[name] for name in chunk.descriptions if name in distance]
        take(min(near, default=4), 2, chunk.text)
    return levels


def statements(
    chunks: Sequence[Chunk], distance: Mapping[str, int]
) -> Iterator[tuple[int, int, str]]:
    """Hop, 0 for an entity and 1 for a relationship, and the text."""
    for chunk in chunks:
        for name, text in chunk.descriptions.items():
            if name in distance:
                yield distance[name], 0, text if name in text.split() else f"{name}: {text}"
        for one, other, text in chunk.relationships:
            if one in distance and other in distance:
                yield min(distance[one], distance[other]), 1, text


def random_chunks(rng: random.Random) -> list[Chunk]:
    """Chunks of two or three people; some texts are repeated, some do not name whom they are of."""
    chunks = []
    for number in range(rng.randint(2, 9)):
        people = rng.sample(NAMES, rng.randint(2, 3))
        about = {
            name: rng.choice([f"{name} is number {number}", f"a guest of {number}", f"{name} came"])
            for name in people
        }
        pairs = [(people[0], people[1])] if rng.random() < 0.7 else []
        again = f"{people[0]} came" if rng.random() < 0.2 else f"{people[0]} met {people[1]}"
        word = rng.choice(["met", "saw"])
        chunks.append(
            Chunk(
                f"Chunk {number} where someone {word} {' '.join(people[:1])}",
                about,
                [(one, other, again) for one, other in pairs],
            )
        )
    return chunks


# ---------------------------------------------------------------------------- Comparison


@pytest.mark.parametrize("part", range(4))
def test_random_graphs(part: int) -> None:
    """Budgets from almost nothing to more than there is."""
    compared = 0
    for seed in range(25 * part, 25 * part + 25):
        rng = random.Random(seed)
        chunks = random_chunks(rng)
        question = f"Who met {rng.choice(NAMES)}?"
        budget = rng.choice([3, 10, 25, 60, 500])
        reader, documents = made([chunk.content for chunk in chunks])
        facts = ["a fact that was retrieved"]
        options = GraphWalk.of({"preset": "paper", "budget": budget})
        retrieved = found_for(question, *documents, facts=facts)
        context = options.build(view_with(reader), retrieved, words)
        wanted = compressed(question, chunks, budget)
        if wanted is None:
            assert shown(context) == [("", facts, [chunk.text for chunk in chunks])], seed
            continue
        compared += 1
        found = [
            (
                list(section.descriptions),
                list(section.relationships),
                [excerpt.text for excerpt in section.excerpts.values()],
            )
            for section in context.sections
        ]
        assert found == [wanted[hop] for hop in sorted(wanted)], seed
        assert context.tokens == sum(map(words, context.texts)) <= budget
    assert compared > 5


# ------------------------------------------------------------------------------- By hand


def two_people(question: str, facts: Sequence[str] = ()) -> Context:
    contents = [met("Ada", "Bea"), met("Bea", "Cid", "Bea was seen by Cid.")]
    reader, documents = made(contents)
    walk = GraphWalk.of({"preset": "paper", "budget": 4})
    return walk.build(view_with(reader), found_for(question, *documents, facts=facts), words)


def test_descriptions_stand_before_relationships() -> None:
    """The sentence that relates Ada and Bea also describes both."""
    text = "Ada taught Bea."
    mentions = (
        Mention("Ada", descriptions=(text, "a countess")),
        Mention("Bea", descriptions=(text, "Bea was young.")),
    )
    reader, documents = made(
        [("", text, Extraction(mentions, (Relation("Ada", "taught", "Bea", "She taught her."),)))]
    )
    context = PAPER.build(view_with(reader), found_for("Ada?", *documents), words)
    near, far = context.sections
    assert near.descriptions == ("Ada taught Bea. a countess",)
    assert near.relationships == ("She taught her.",)
    assert far.descriptions == ("Ada taught Bea. Bea was young.",)
    assert list(context.texts) == [
        "Ada taught Bea.",
        "Ada taught Bea. a countess",
        "She taught her.",
        "Ada taught Bea. Bea was young.",
    ]


def test_statements_may_take_the_whole_budget() -> None:
    [section] = two_people("Ada?").sections
    assert (section.descriptions, section.excerpts) == (("Ada met Bea.",), {})


def test_without_seeds_everything_that_was_retrieved_whatever_the_budget() -> None:
    facts = [f"fact {number}" for number in range(40)]
    context = two_people("What is it?", facts)
    assert shown(context) == [("", facts, ["Ada met Bea.", "Bea was seen by Cid."])]
    assert (context.tokens, context.builder) == (88, "whole")


def test_the_preset() -> None:
    assert str(PAPER) == ("graph-walk:documents=1000:descriptions=true:share=1.0:uncompressed=true")
    assert Spec.parse("graph-walk:preset=paper:budget=9").read(GraphWalk).budget == 9


# ---------------------------------------------------------------------- Graphs of others

SKOS_GRAPH = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <https://example.org/thing/> .
ex:scheme a skos:ConceptScheme .
ex:water a skos:Concept ; skos:inScheme ex:scheme ; skos:prefLabel "water"@en ;
  skos:definition "what flows"@en ; skos:narrower ex:stream .
ex:stream a skos:Concept ; skos:inScheme ex:scheme ; skos:prefLabel "stream"@en ;
  skos:definition "a small river"@en ; skos:broader ex:water .
"""
LABELLED_GRAPH = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <https://example.org/thing/> .
ex:partOf rdfs:label "is part of"@en .
ex:water rdfs:label "water"@en ; rdfs:comment "what flows"@en .
ex:stream rdfs:label "stream"@en ; rdfs:comment "a small river"@en ; ex:partOf ex:water .
"""
ITEMS = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
wd:P1 a wikibase:Property ; rdfs:label "part of"@en ; wikibase:directClaim wdt:P1 .
wd:Q1 a wikibase:Item ; rdfs:label "water"@en ; schema:description "what flows"@en .
wd:Q2 a wikibase:Item ; rdfs:label "stream"@en ; schema:description "a small river"@en ;
  wdt:P1 wd:Q1 .
"""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("skos", SKOS_GRAPH),
        ("rdf", LABELLED_GRAPH),
        ("wikibase", ITEMS),
    ],
)
def test_descriptions_of_imported_entities_are_named(kind: Any, text: str, tmp_path: Path) -> None:
    (tmp_path / "graph.ttl").write_text(text, "utf-8")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None, over=["water"]) as kg:
        kg.import_graph(tmp_path / "graph.ttl", kind=kind, name="water")
        gather = kg.gather("dense", context="graph-walk:preset=paper")
        context = gather(Query("Is a stream water?")).context
    assert [text for section in context.sections for text in section.descriptions] == [
        "stream: a small river",
        "water: what flows",
    ]


def test_facts_that_fill_the_budget_are_what_is_asked() -> None:
    """Phase 4: facts come first, and the model is asked though no document fits after them.

    "Bea met Ada." has three words, and describes both ends of the relationship that it states, once
    each; the document of twelve words exceeds the budget of six.
    """
    sentence = "Bea met Ada."
    text = f"{sentence} {'more ' * 9}".strip()
    people = tuple(Mention(name, descriptions=(sentence,)) for name in ("Bea", "Ada"))
    extraction = Extraction(people, (Relation("Bea", "met", "Ada", sentence),))
    reader, documents = made([("", text, extraction)])
    options = GraphWalk.of({"preset": "paper", "budget": 6})
    context = options.build(view_with(reader), found_for("Who met Ada?", *documents), words)
    assert not context.excerpts
    [section] = context.sections
    assert (section.descriptions, section.relationships) == ((sentence,), ())
    document = documents[0].document
    llm = QueuedLLM([{"reasoning": "", "sufficient": True, "final_answer": "Bea"}])
    evidence = Evidence(found_for("Who met Ada?", *documents), context)
    answer = answer_of(Single(), lambda _: evidence, llm, Query("Who met Ada?"))
    assert (answer.text, answer.usage.calls) == ("Bea", 1)
    assert [citation.document for citation in answer.citations] == [document.iri]
