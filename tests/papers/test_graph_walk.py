"""What lies near the question in the graph, on a chain of seven people by hand.

Each document states that one of them met the next: Ada - Bea - Cid - Dan - Eve - Fay - Gus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Context, Extraction, Mention, RankedDocument, Relation, Retrieved
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.kg.registry import context_options
from sarag_rdf.plugins.papers.graph_walk import (
    Contents,
    Fact,
    GraphWalk,
    co_occurring,
    read_contents,
    seeds_of,
    tiers,
    walked,
)
from tests.retrieval.graphs import MINTER, Content, indexed, view_of
from tests.retrieval.sample import found, found_for, view_with, words

NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve", "Fay", "Gus")
ADA, BEA, CID, DAN, EVE, FAY, GUS = (MINTER.entity(name.lower()) for name in NAMES)


def met(one: str, other: str, text: str = "") -> Content:
    """An untitled document that states it."""
    sentence = text or f"{one} met {other}."
    mentions = tuple(Mention(name, descriptions=(sentence,)) for name in (one, other))
    return "", sentence, Extraction(mentions, (Relation(one, "met", other, sentence),))


CHAIN = [met(one, other) for one, other in pairwise(NAMES)]


class Silent:
    """An embedding model that nobody may ask."""

    name = "silent"

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise AssertionError(f"asked for {texts}")


def made(contents: Sequence[Content]) -> tuple[GraphReader, tuple[RankedDocument, ...]]:
    """A graph, and its documents as they were retrieved."""
    reader, iris = indexed(contents)
    ranked = [found(title, text, number) for number, (title, text, _) in enumerate(contents)]
    return reader, tuple(
        replace(one, document=replace(one.document, iri=iri))
        for one, iri in zip(ranked, iris, strict=True)
    )


def walk(
    question: str, contents: Sequence[Content] = CHAIN, *, budget: int = 1000, **options: Any
) -> Context:
    reader, documents = made(contents)
    return GraphWalk(budget=budget, **options).build(
        view_with(reader), found_for(question, *documents), words
    )


def shown(context: Context) -> list[tuple[str, list[str], list[str]]]:
    """Heading, facts, and texts of documents by section."""
    return [
        (s.heading, list(s.relationships), [excerpt.text for excerpt in s.excerpts.values()])
        for s in context.sections
    ]


# --------------------------------------------------------------------------- 1. Seeds


@pytest.mark.parametrize(
    ("question", "seeds"),
    [
        ("Who met Ada?", {"ada"}),
        ("Who met ADA\u2019s friend?", {"ada"}),
        ("Where is New Ulm?", {"new ulm", "mayor"}),
        ("Is Ulm new?", {"new ulm", "mayor"}),
        ("Where is Ulm?", set()),
        ("Is it Adaville?", set()),
        ("Which railway is it?", {"railway"}),
        ("Which valley?", {"railway"}),
        ("Is it orrin alone?", {"railway"}),
        ("Who is the oldest person there?", set()),
        ("", set()),
    ],
)
def test_seeds_by_whole_names_all_words_or_a_long_word(question: str, seeds: set[str]) -> None:
    """Two words of a name of two will do, or one with five letters; "new" and "ulm" have three.

    "Person" and "there" are too common to match anything.
    """
    names = {
        "ada": ["ada", "countess"],
        "new ulm": ["new ulm"],
        "mayor": ["mayor of new ulm", "new ulm"],
        "railway": ["orrin valley railway"],
        "who": ["the who", "who"],
        "person": ["there person"],
    }
    assert seeds_of(question, names) == seeds


def test_aliases_count_as_names() -> None:
    text = "Ada, the Countess, met Bea."
    mentions = (Mention("Ada", aliases=("The Countess",), descriptions=(text,)),)
    reader, documents = made([("", text, Extraction(mentions, ()))])
    names = read_contents(reader, [documents[0].document]).names
    assert seeds_of("Who is the Countess?", names) == {ADA}


# --------------------------------------------------------------------- 2. Breadth first

FACTS = [Fact((one, other), "") for one, other in pairwise((ADA, BEA, CID, DAN, EVE, FAY, GUS))]


@pytest.mark.parametrize(
    ("seeds", "hops", "reached"),
    [
        ({ADA}, 3, {ADA: 0, BEA: 1, CID: 2, DAN: 3}),
        ({ADA}, 0, {ADA: 0}),
        ({DAN}, 1, {CID: 1, DAN: 0, EVE: 1}),
        ({ADA, CID}, 3, {ADA: 0, BEA: 1, CID: 0, DAN: 1, EVE: 2, FAY: 3}),
        (set(), 3, {}),
    ],
)
def test_facts_are_walked_both_ways_up_to_so_many_hops(
    seeds: set[str], hops: int, reached: dict[str, int]
) -> None:
    assert walked(seeds, FACTS, hops) == reached


# --------------------------------------------------------------------- 3. Co-occurrence


def test_what_stands_beside_something_reached_is_one_hop_further() -> None:
    """Only beside what was walked to: Eve is beside Dan, Fay only beside Eve."""
    entities = {
        "d1": frozenset({ADA, DAN}),
        "d2": frozenset({BEA, DAN}),
        "d3": frozenset({BEA, EVE}),
        "d4": frozenset({EVE, FAY}),
        "d5": frozenset({ADA, BEA}),
    }
    reached = {ADA: 0, BEA: 2}
    assert co_occurring(reached, entities) == {ADA: 0, BEA: 2, DAN: 1, EVE: 3}


# -------------------------------------------------------------------------- 4. Assembly


def test_what_the_documents_hold_is_read_from_the_graph() -> None:
    """Of the documents asked for alone."""
    reader, documents = made(CHAIN)
    first, second = documents[0].document, documents[1].document
    contents = read_contents(reader, [second, first])
    assert contents.entities == {
        first.iri: frozenset({ADA, BEA}),
        second.iri: frozenset({BEA, CID}),
    }
    assert contents.names == {ADA: ["ada"], BEA: ["bea"], CID: ["cid"]}
    assert contents.facts == [
        Fact((ADA, BEA), "Ada met Bea.", first.iri),
        Fact((BEA, CID), "Bea met Cid.", second.iri),
    ]


def test_sections_by_hop() -> None:
    """Dan is the third hop, Eve is beside him; that Eve met Fay is not told as a fact."""
    context = walk("Who met Ada?")
    assert shown(context) == [
        ("named in the question", ["Ada met Bea."], ["Ada met Bea."]),
        ("1 hop away", ["Bea met Cid."], ["Bea met Cid."]),
        ("2 hops away", ["Cid met Dan."], ["Cid met Dan."]),
        ("3 hops away", ["Dan met Eve."], ["Dan met Eve."]),
        ("further", [], ["Eve met Fay.", "Fay met Gus."]),
    ]
    assert list(context.excerpts) == ["D1", "D2", "D3", "D4", "D5", "D6"]
    assert (context.tokens, context.builder) == (4 * 3 + 6 * 3, "graph-walk")


def test_a_document_without_a_word_of_the_question_is_left_out() -> None:
    """ "Met" is a word of the question above, and none of this one."""
    assert "Fay met Gus." not in [text for _, _, texts in shown(walk("Ada?")) for text in texts]
    assert shown(walk("Ada?"))[-1] == ("further", [], ["Eve met Fay."])


def test_fewer_hops_and_documents() -> None:
    assert shown(walk("Who was Dan?", hops=0)) == [
        (
            "named in the question",
            ["Cid met Dan.", "Dan met Eve."],
            ["Cid met Dan.", "Dan met Eve."],
        ),
        ("further", [], ["Bea met Cid.", "Eve met Fay."]),
    ]
    context = walk("Ada?", documents=1)
    assert shown(context) == [("named in the question", ["Ada met Bea."], ["Ada met Bea."])]
    for hops, most in ((-1, 20), (3, 0)):
        with pytest.raises(UsageError, match=r"^(hops|documents) of graph-walk must be"):
            walk("Ada?", hops=hops, documents=most)


def test_documents_with_most_of_what_was_reached_come_first() -> None:
    """Both describe Ada; the second Bea as well. Ties stay in the order of retrieval."""
    documents = [found("", text, n).document for n, text in enumerate("abcde")]
    iris = [document.iri for document in documents]
    entities = {
        iris[0]: frozenset({ADA}),
        iris[1]: frozenset({ADA, BEA}),
        iris[2]: frozenset({GUS}),
        iris[3]: frozenset({BEA}),
    }
    hops = {ADA: 0, BEA: 1}
    first, second = tiers("What is e or c?", documents, Contents(entities, {}, []), hops)
    assert [document.text for document in first] == ["b", "a", "d"]
    assert [document.text for document in second] == ["c", "e"]


def test_a_fact_that_several_documents_state_is_told_once_and_where_it_is_nearest() -> None:
    """One sentence for two relationships: from Ada, and from Bea to Cid."""
    text = "Ada and Bea met Cid."
    contents = [met("Ada", "Bea", text), met("Bea", "Cid", text)]
    assert [facts for _, facts, _ in shown(walk("Ada?", contents))] == [[text], []]


# ------------------------------------------------------------------------------ Budget


@pytest.mark.parametrize(
    ("budget", "sections"),
    [
        (3, [("named in the question", [], ["Ada met Bea."])]),
        (5, [("named in the question", [], ["Ada met Bea."])]),
        (6, [("named in the question", ["Ada met Bea."], ["Ada met Bea."])]),
        (
            9,
            [
                ("named in the question", ["Ada met Bea."], ["Ada met Bea."]),
                ("1 hop away", [], ["Bea met Cid."]),
            ],
        ),
        (
            12,
            [
                ("named in the question", ["Ada met Bea."], ["Ada met Bea."]),
                ("1 hop away", ["Bea met Cid."], ["Bea met Cid."]),
            ],
        ),
    ],
)
def test_half_of_the_budget_is_for_facts_at_most(
    budget: int, sections: list[tuple[str, list[str], list[str]]]
) -> None:
    """Each fact and each document has three words."""
    context = walk("Ada?", budget=budget)
    assert shown(context) == sections
    assert context.tokens == sum(map(words, context.texts)) <= budget


def test_what_does_not_fit_is_left_out_and_what_does_is_taken() -> None:
    long = met("Ada", "Bea", "Ada met Bea in a town far away from here.")
    context = walk("Ada?", [long, met("Ada", "Cid")], budget=8)
    assert shown(context) == [("named in the question", ["Ada met Cid."], ["Ada met Cid."])]


def test_nothing_fits() -> None:
    assert walk("Ada?", budget=2) == Context((), 0, "graph-walk")


# ---------------------------------------------------------------------------- No seeds


def test_without_seeds_whole_documents_within_the_same_budget() -> None:
    """Three documents of three words; one fact would fit no more."""
    reader, documents = made(CHAIN)
    retrieved = found_for("What is it?", *documents, facts=["a fact of five words"])
    context = GraphWalk(budget=11, documents=4).build(view_with(reader), retrieved, words)
    assert shown(context) == [("", [], ["Ada met Bea.", "Bea met Cid.", "Cid met Dan."])]
    assert (context.tokens, context.builder) == (9, "whole")


def test_nothing_was_found() -> None:
    reader, _ = made(CHAIN)
    assert GraphWalk().build(view_with(reader), found_for("Ada?"), words) == Context((), 0, "whole")


# ----------------------------------------------------------------------------- No model


@pytest.mark.parametrize("question", ["Who met Ada?", "What is it?"])
def test_no_model_is_asked(question: str) -> None:
    reader, documents = made(CHAIN)
    retrieved: Retrieved = found_for(question, *documents)
    chosen = context_options("graph-walk:hops=1", 50)
    view = view_of(reader, Silent())
    context = chosen.build(view, retrieved, words)
    assert context == chosen.build(view, retrieved, words)
    assert 0 < context.tokens <= 50
