"""The methods to compare with, on a graph small enough to be worked out by hand.

::

      Ada --.7-- Bea --.5-- Cid --.3-- Dan --.1-- Eve        cosines of the question and a link
       \\        / \\        / \\        / \\        /
        document 1   document 2  document 3  document 4
           .2           .4          .6          0            cosines of the question and a text
"""

from __future__ import annotations

import math
import random
import re
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Extraction, Mention, Query, Relation, Retrieved
from sarag_rdf.cli.answers import show_retrieved
from sarag_rdf.cli.question_commands import search as command
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.plugins.papers.ppr import Walk, walk_of
from sarag_rdf.retrieval.view import GraphView
from tests.retrieval.graphs import MINTER, QUESTIONS, AxesEmbedder, indexed, larger_graph, view_of

QUESTION = "Does the cat or the dog sleep?"
NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve")
ADA, BEA, CID, DAN, EVE = (MINTER.entity(name.lower()) for name in NAMES)
TEXTS = ("one dog", "two", "three dogs", "four cat cat")
COSINES = (0.2, 0.4, 0.6, 0.0)
BASELINES = ("bm25", "dense", "rrf", "khop", "ppr", "ket")


def small_graph(*, related: bool = True) -> tuple[GraphView, list[str]]:
    """The graph above, with the IRIs of its documents; document 1 has a title.

    The names of Bea and Cid have the cosine .6, all others 0; Ada's description is the nearest.
    """
    vectors: dict[str, dict[str, float]] = {QUESTION: {"q": 1.0}, "Ada in 1": {"q": 0.9}}
    vectors |= {name: {name[0]: 1.0} for name in NAMES} | {"Cid": {"B": 0.6, "C": 0.8}}
    contents = []
    for number, (one, other) in enumerate(pairwise(NAMES), start=1):
        title, text = "dog" if number == 1 else "", TEXTS[number - 1]
        vectors[f"{title}\n{text}" if title else text] = {"q": COSINES[number - 1]}
        vectors[f"{one} knows {other}"] = {"q": 0.9 - 0.2 * number}
        found = [Mention(name, descriptions=(f"{name} in {number}",)) for name in (one, other)]
        for mention in found:
            vectors.setdefault(mention.descriptions[0], {"q": 0.1})
        relations = (Relation(one, "knows", other),) if related else ()
        contents.append((title, text, Extraction(tuple(found), relations)))
    reader, iris = indexed(contents)
    return view_of(reader, AxesEmbedder("qABCDE", vectors)), iris


def search(name: str, **options: Any) -> tuple[Retrieved, list[int]]:
    """What a method finds in the small graph, and the numbers of its documents."""
    view, iris = small_graph()
    found = make_retriever(name, view, options).retrieve(Query(QUESTION))
    return found, [iris.index(document.document.iri) + 1 for document in found.documents]


def scores(found: Retrieved) -> list[float]:
    return [document.score for document in found.documents]


# ------------------------------------------------------------------------ Words and meaning

RARE = math.log(1 + 3.5 / 1.5)
"""The weight of a word that one of four documents has: 'dog', and 'cat'."""


def test_bm25_by_hand() -> None:
    # With its title, document 1 has 3 words, as document 4; the others 1 and 2: 9 / 4 on average.
    # 'dog' stands twice in document 1, 'cat' twice in document 4, so the two are equal.
    found, documents = search("bm25")
    lengths = 1.2 * (1 - 0.75 + 0.75 * 3 / (9 / 4))
    assert scores(found) == pytest.approx([RARE * 2 / (2 + lengths)] * 2, abs=1e-6)
    assert sorted(documents) == [1, 4]
    assert [d.document.iri for d in found.documents] == sorted(
        d.document.iri for d in found.documents
    )
    assert [(d.rank, d.similarity, d.entity) for d in found.documents] == [(1, 0, ""), (2, 0, "")]


def test_bm25_of_two_words_and_several_lengths() -> None:
    texts = [("Fox", "the fox runs"), ("", "the dog runs"), ("", "a cat")]
    reader, iris = indexed([(title, text, Extraction()) for title, text in texts])
    found = make_retriever("bm25", view_of(reader), {}).retrieve(Query("Fox runs, fox!"))
    # Lengths 4, 3, 2: mean 3. df: fox 1, runs 2. A word counts once however often it is asked.
    fox, runs = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    first = fox * 2 / (2 + 1.2 * 1.25) + runs * 1 / (1 + 1.2 * 1.25)
    assert scores(found) == pytest.approx([first, runs / 2.2], abs=1e-6)
    assert [d.document.iri for d in found.documents] == iris[:2]


def test_dense_ranks_all_by_similarity() -> None:
    found, documents = search("dense")
    assert documents == [3, 2, 1, 4]
    assert scores(found) == pytest.approx([0.6, 0.4, 0.2, 0.0], abs=1e-6)
    assert [d.similarity for d in found.documents] == scores(found)
    assert [d.document.titled_text for d in found.documents][2] == "dog\none dog"


def test_rrf_adds_reciprocal_ranks() -> None:
    # By meaning 3, 2, 1, 4; by words documents 1 and 4 alone, in the order of their IRIs.
    _, words = search("bm25")
    expected = {3: 1 / 61, 2: 1 / 62, 1: 1 / 63, 4: 1 / 64}
    for rank, number in enumerate(words, start=1):
        expected[number] += 1 / (60 + rank)
    found, numbers = search("rrf")
    assert dict(zip(numbers, scores(found), strict=True)) == pytest.approx(expected)
    assert set(numbers[:2]) == {1, 4}
    similarities = {n: d.similarity for n, d in zip(numbers, found.documents, strict=True)}
    assert similarities == pytest.approx({1: 0.2, 2: 0.4, 3: 0.6, 4: 0.0}, abs=1e-6)
    # With k = 0 the first by meaning gets as much as anything can from one ranking.
    found, numbers = search("rrf", k=0)
    assert scores(found)[numbers.index(3)] == 1.0
    assert found.settings == {"k": 0}


# --------------------------------------------------------------------------------- Expansion


@pytest.mark.parametrize(
    ("n", "entities", "expected"),
    [
        (0, [ADA], [1]),
        (1, [ADA, BEA], [2, 1]),
        (2, [ADA, BEA, CID], [3, 2, 1]),
        (3, [ADA, BEA, CID, DAN], [3, 2, 1, 4]),
    ],
)
def test_khop_reaches_so_far_and_ranks_by_similarity(
    n: int, entities: list[str], expected: list[int]
) -> None:
    found, documents = search("khop", k=1, n=n)
    assert documents == expected
    assert scores(found) == pytest.approx([COSINES[i - 1] for i in expected], abs=1e-6)
    assert found.subgraph.hops == {entity: hop for hop, entity in enumerate(entities)}
    assert [(s.node, s.name, s.reason) for s in found.seeds] == [
        (ADA, "Ada", "description: Ada in 1")
    ]
    assert found.subgraph.seeds == found.seeds


def test_khop_starts_at_several_descriptions() -> None:
    found, documents = search("khop", k=8, n=0)
    assert {s.node for s in found.seeds} == {ADA, BEA, CID, DAN, EVE}
    assert documents == [3, 2, 1, 4]


# ---------------------------------------------------------------------------------- PageRank


@pytest.mark.parametrize("seed", range(20))
def test_pagerank_is_that_of_networkx(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.randint(2, 12)
    graph = nx.Graph()
    graph.add_nodes_from(range(size))
    edges, weights = [], []
    for _ in range(chance.randint(1, 2 * size)):  # Some parallel, some nodes without any.
        one, other = chance.sample(range(size), 2)
        weight = chance.uniform(0.1, 3.0)
        edges.append((one, other))
        weights.append(weight)
        before = graph.get_edge_data(one, other, {"weight": 0.0})["weight"]
        graph.add_edge(one, other, weight=before + weight)
    reset = {node: chance.choice([0.0, chance.random()]) for node in range(size)} | {0: 0.5}
    damping = chance.choice([0.0, 0.5, 0.85])
    rank = Walk(np.array(edges), np.array(weights), size).pagerank(
        np.array(list(reset.values())), damping
    )
    expected = nx.pagerank(graph, damping, personalization=reset, max_iter=1000, tol=1e-12)
    assert rank == pytest.approx(np.array([expected[node] for node in range(size)]), abs=1e-8)
    assert rank.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("synonyms", "alike"), [(0.8, False), (0.5, True), (1.0, False)])
def test_ppr_by_hand(synonyms: float, alike: bool) -> None:
    # The nearest two relationships, .7 and .5, end at Ada (.7), Bea (.6 on average), Cid (.5):
    # the first two remain. Two documents describe Bea. Documents: .2, .4, .6, 0 between 0 and 1.
    reset: dict[str | int, float] = {ADA: 0.7, BEA: 0.6 / 2}
    reset |= {1: 0.05 / 3, 2: 0.05 * 2 / 3, 3: 0.05}
    graph = nx.Graph()
    for number, (one, other) in enumerate(pairwise((ADA, BEA, CID, DAN, EVE)), start=1):
        graph.add_edge(one, other, weight=1.0)
        graph.add_edges_from([(number, one), (number, other)], weight=0.5)
    if alike:
        graph[BEA][CID]["weight"] += 0.6
    expected = nx.pagerank(graph, 0.5, personalization=reset, max_iter=1000, tol=1e-12)
    found, documents = search("ppr", k=2, synonyms=synonyms)
    assert sorted(documents) == [1, 2, 3, 4]
    assert scores(found) == pytest.approx([expected[n] for n in documents], abs=1e-6)
    assert [d.similarity for d in found.documents] == pytest.approx(
        [COSINES[n - 1] for n in documents], abs=1e-6
    )
    assert (found.settings["order"], documents[0]) == ("pagerank", 1)


def test_ppr_needs_relationships_else_it_is_dense() -> None:
    view, _ = small_graph(related=False)
    found, dense = (
        make_retriever(name, view, {}).retrieve(Query(QUESTION)) for name in ("ppr", "dense")
    )
    assert found.documents == dense.documents
    assert found.settings["order"] == "similarity"


def test_the_walk_is_made_once_for_a_view() -> None:
    view, other = small_graph()[0], small_graph()[0]
    assert walk_of(view, 0.8) is walk_of(view, 0.8)
    assert walk_of(view, 0.8) is not walk_of(view, 0.5)
    assert walk_of(view, 0.8) is not walk_of(other, 0.8)


# ---------------------------------------------------------------------------------- All of them


@pytest.mark.parametrize("name", BASELINES)
def test_at_most_so_many_documents(name: str) -> None:
    view = view_of(larger_graph(4))
    for question in QUESTIONS:
        every = make_retriever(name, view, {}).retrieve(Query(question))
        few = make_retriever(name, view, {"limit": 3}).retrieve(Query(question))
        assert few.documents == every.documents[:3]
        assert len(few.documents) == 3
        assert [d.rank for d in every.documents] == list(range(1, len(every.documents) + 1))
        order = [(-d.score, d.document.iri) for d in every.documents]
        assert order == sorted(order)
        assert (every.entities, every.relationships, every.retriever) == ((), (), name)


@pytest.mark.parametrize("name", BASELINES)
def test_nothing_is_indexed(name: str) -> None:
    view = view_of(GraphReader(OxigraphStore.in_memory(), MINTER))
    assert make_retriever(name, view, {}).retrieve(Query("anything")).documents == ()


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, {"depth": 3}) for name in BASELINES]
    + [("bm25", {"k": 3}), ("dense", {"n": 1}), ("rrf", {"k": -1})]
    + [("khop", {"k": 0}), ("khop", {"n": -1}), ("ppr", {"k": 0}), ("ppr", {"damping": 1.0})]
    + [("ppr", {"damping": -0.1}), ("ppr", {"weight": 0.0}), ("ppr", {"synonyms": 0.0})]
    + [("ppr", {"synonyms": 1.1})],
)
def test_options_that_cannot_work(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=name):
        search(name, **options)


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("name", BASELINES)
def test_what_is_shown_has_no_empty_parts(
    name: str, explain: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    show_retrieved(search(name)[0], explain=explain)
    shown = capsys.readouterr().out
    assert shown.startswith(f"{QUESTION}\n{name}" if explain else f"{QUESTION}\nevidence: ")
    assert not re.search(r"\(\)|: 0$|[Aa]ctivated|alone|via", shown, re.MULTILINE)
    is_khop = explain and name == "khop"
    assert ("Seeds: 5" in shown) == ("Entities in the subgraph: 5" in shown) == is_khop
    assert ("similarity 0.20" in shown) == (name != "bm25")
    assert re.search(r" 1\. .*  (score )?0\.\d", shown)


def test_the_command_line_says_where_retrievers_are_listed() -> None:
    (option,) = [option for option in command.params if option.name == "retriever"]
    assert "sarag strategies" in getattr(option, "help", "")
