"""Spreading activation as it was published, on graphs that can be worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.plugins.papers.sarag_paper import (
    Transfer,
    WeightedEdge,
    both_ways,
    rescale,
    running_maxima,
    spread_paper,
    spread_synchronously,
    strongest_chain,
)

Links = list[tuple[str, str, str, float]]

CHAIN: Links = [("p", "a", "b", 0.5), ("q", "b", "c", 0.5)]


def edge(target: str, relationship: str, weight: float) -> WeightedEdge:
    return WeightedEdge(target, relationship, weight, "related_to")


def edges_of(links: Links) -> dict[str, list[WeightedEdge]]:
    return both_ways([("related_to", *link, link[-1]) for link in links])


def activations(links: Links, *seeds: str) -> Mapping[str, float]:
    activation, _ = spread_paper(edges_of(links), seeds)
    return activation


def test_chain() -> None:
    # a = 1 fires: b = .5 * 1 = .5.
    # b fires: a = min(1, 1 + .5 * .5) = 1, c = .5 * .5 = .25.
    # c fires: b = .5 + .5 * .25 = .625; b has been visited and does not fire again.
    assert activations(CHAIN, "a") == {"a": 1.0, "b": 0.625, "c": 0.25}


def test_diamond() -> None:
    # s fires: l = r = .5. l fires: t = .25. r fires: t = .25 + .25 = .5.
    # t fires once, though it was queued twice: l = r = .5 + .5 * .5 = .75.
    links = [("1", "s", "l", 0.5), ("2", "s", "r", 0.5), ("3", "l", "t", 0.5), ("4", "r", "t", 0.5)]
    assert activations(links, "s") == {"s": 1.0, "l": 0.75, "r": 0.75, "t": 0.5}


def test_parallel_links_add_up() -> None:
    # t = .5 + .25, over one after the other; s stays at 1.
    links = [("p", "s", "t", 0.5), ("q", "t", "s", 0.25)]
    activation, steps = spread_paper(edges_of(links), ["s"])
    assert activation == {"s": 1.0, "t": 0.75}
    assert [(step.relationship, step.activation) for step in steps[:2]] == [("p", 0.5), ("q", 0.75)]


def test_a_self_loop_passes_nothing() -> None:
    # With the loop b would get another .5 * .5 from itself.
    links: Links = [("p", "a", "b", 0.5), ("loop", "b", "b", 0.5)]
    assert "loop" not in {edge.relationship for edges in edges_of(links).values() for edge in edges}
    assert activations(links, "a") == {"a": 1.0, "b": 0.5}
    assert edges_of([("loop", "b", "b", 0.5)]) == {}


def test_activation_is_bounded_at_one() -> None:
    # t gets 1 from l, and another 1 from r.
    links = [("1", "s", "l", 1.0), ("2", "s", "r", 1.0), ("3", "l", "t", 1.0), ("4", "r", "t", 1.0)]
    activation, steps = spread_paper(edges_of(links), ["s"])
    assert activation == dict.fromkeys("slrt", 1.0)
    assert {step.activation for step in steps} == {1.0}


def test_every_seed_fires_again() -> None:
    # Weights .25. From a: b = .25; c = .25 * .25 = .0625; back from c, b = .25 + .25 * .0625
    # = .265625. Then c is set to 1 and nobody counts as visited: b = .265625 + .25 = .515625;
    # b fires: a and c are full; a fires once more: b = .515625 + .25 = .765625.
    links = [("p", "a", "b", 0.25), ("q", "b", "c", 0.25)]
    activation, steps = spread_paper(edges_of(links), ["a", "c"])
    assert activation == {"a": 1.0, "b": 0.765625, "c": 1.0}
    assert [step.origin for step in steps].count("a") == 2


def test_seeds_without_links_and_seeds_named_twice() -> None:
    assert activations(CHAIN, "x") == {"x": 1.0}
    assert activations(CHAIN, "a", "a") == activations(CHAIN, "a")
    assert activations(CHAIN) == {}


# ------------------------------------------------------------------------------ Weights


@pytest.mark.parametrize(
    ("similarity", "c", "weight"),
    [
        (1.0, 0.4, 1.0),
        (0.7, 0.4, 0.5),  # (.7 - .4) / .6
        (0.4, 0.4, 0.0),
        (0.1, 0.4, 0.0),  # -.5 as printed
        (-1.0, 0.4, 0.0),
        (0.3, 0.0, 0.3),
        (-0.3, 0.0, 0.0),
        (1.0000001, 0.4, 1.0),  # what rounding may make of a cosine
    ],
)
def test_rescaled_weights(similarity: float, c: float, weight: float) -> None:
    assert rescale(similarity, c) == pytest.approx(weight, abs=1e-12)
    assert 0.0 <= rescale(similarity, c) <= 1.0


def test_cosines_at_c_of_point_four() -> None:
    # Weights (.7 - .4) / .6 = .5 and (.64 - .4) / .6 = .4: b = .5, c = .4 * .5 = .2, and back
    # from c, b = .5 + .4 * .2 = .58.
    links = [("p", "a", "b", rescale(0.7, 0.4)), ("q", "b", "c", rescale(0.64, 0.4))]
    assert activations(links, "a") == pytest.approx({"a": 1.0, "b": 0.58, "c": 0.2})


def test_links_below_c_pass_nothing_but_carry_the_walk() -> None:
    # As printed, both weights are -.5: b = -.5 and c = .25, two negatives making a positive.
    links = [("p", "a", "b", rescale(0.1, 0.4)), ("q", "b", "c", rescale(0.1, 0.4))]
    activation, transfers = spread_paper(edges_of(links), ["a"])
    assert activation == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert transfers == []
    # The walk goes s-x first: x fires with 0, so that z gets nothing, and x does not fire again
    # when it has .5 * .5 = .25 from y.
    links = [("0", "s", "x", 0.0), ("1", "s", "y", 0.5), ("2", "y", "x", 0.5), ("3", "x", "z", 0.5)]
    assert activations(links, "s") == {"s": 1.0, "y": 0.5, "x": 0.25, "z": 0.0}


# -------------------------------------------------------------------------------- Order


def test_the_order_of_seeds_matters_and_is_ascending() -> None:
    # a first: b = .5, c = .25, b = .625; then b = 1: c = .25 + .5 = .75.
    # b first: a = .5, c = .5; then a = 1 and b, still full, fires again: c = .5 + .5 = 1.
    assert printed(edges_of(CHAIN), ["a", "b"])["c"] == 0.75
    assert printed(edges_of(CHAIN), ["b", "a"])["c"] == 1.0
    for seeds in ("ab", "ba"):
        assert activations(CHAIN, *seeds) == {"a": 1.0, "b": 1.0, "c": 0.75}


def test_the_order_of_edges_matters_and_is_that_of_targets_and_relationships() -> None:
    # s-l, s-r, l-r, each .5. In the order of targets: l = r = .5; l fires: r = .5 + .25 = .75;
    # r fires with .75: l = .5 + .375 = .875. The other way round l and r change places.
    links: Links = [("1", "s", "l", 0.5), ("2", "s", "r", 0.5), ("3", "l", "r", 0.5)]
    assert activations(links, "s") == {"s": 1.0, "l": 0.875, "r": 0.75}
    backwards = {node: found[::-1] for node, found in edges_of(links).items()}
    assert spread_paper(backwards, ["s"])[0] == {"s": 1.0, "l": 0.75, "r": 0.875}
    assert edges_of(links[::-1]) == edges_of(links)
    assert edges_of(links)["s"] == [edge("l", "1", 0.5), edge("r", "2", 0.5)]


def test_the_steps_are_numbered() -> None:
    _, steps = spread_paper(edges_of(CHAIN), ["a"])
    assert {step.kind for step in steps} == {"related_to"}
    assert [
        (s.round, s.origin, s.target, s.relationship, s.amount, s.activation) for s in steps
    ] == [
        (0, "a", "b", "p", 0.5, 0.5),
        (1, "b", "a", "p", 0.25, 1.0),
        (2, "b", "c", "q", 0.25, 0.25),
        (3, "c", "b", "q", 0.125, 0.625),
    ]


# ------------------------------------------------------------------- A second implementation


def printed(
    adjacency: Mapping[str, Sequence[WeightedEdge]], initially_active: list[str]
) -> dict[str, float]:
    """Algorithm 1 line by line, seeds in the order given: slow, with lists for sets and queues."""
    nodes = set(adjacency) | {edge.target for edges in adjacency.values() for edge in edges}
    value = dict.fromkeys(nodes | set(initially_active), 0.0)
    for seed in initially_active:
        value[seed] = 1.0
        visited: list[str] = []
        queue = [seed]
        while len(queue) > 0:
            node = queue[0]
            queue = queue[1:]
            if node in visited:
                continue
            visited = [*visited, node]
            for target, _, weight, _ in adjacency.get(node, []):
                value[target] = min(1.0, value[target] + weight * value[node])
                if target not in visited:
                    queue = [*queue, target]
    return value


nodes = st.sampled_from("abcdefg")
cosines = st.floats(-1.0, 1.0, allow_subnormal=False)


@given(
    st.lists(st.tuples(nodes, nodes, cosines), max_size=14),
    st.sets(nodes, max_size=3),
    st.sampled_from([0.0, 0.2, 0.4]),
    st.randoms(use_true_random=False),
)
def test_it_is_the_printed_algorithm(
    drawn: list[tuple[str, str, float]], seeds: set[str], c: float, order: random.Random
) -> None:
    adjacency: dict[str, list[WeightedEdge]] = {}
    for number, (one, other, cosine) in enumerate(drawn):
        weight = max(0.0, (cosine - c) / (1 - c))
        if one != other:
            adjacency.setdefault(one, []).append(edge(other, f"link{number:02}", weight))
            adjacency.setdefault(other, []).append(edge(one, f"link{number:02}", weight))
    for edges in adjacency.values():
        edges.sort(key=lambda edge: (edge.target, edge.relationship))
    wanted = {node: a for node, a in printed(adjacency, sorted(seeds)).items() if a > 0}

    links = [(f"link{n:02}", s, o, rescale(w, c)) for n, (s, o, w) in enumerate(drawn)]
    order.shuffle(links)
    shuffled = sorted(seeds)
    order.shuffle(shuffled)
    activation, steps = spread_paper(edges_of(links), shuffled)
    assert {node: a for node, a in activation.items() if a > 0} == wanted
    assert set(activation.values()) <= {0.0, *wanted.values()}

    # The steps account for it: each adds its amount to the activation of its target, be that 1
    # since the target, a seed, was set to it.
    before: dict[str, set[float]] = {
        node: {1.0 if node in seeds else 0.0, 0.0} for node in "abcdefg"
    }
    for step in steps:
        assert step.amount in {step.weight * value for value in before[step.origin]}
        after = {min(1.0, value + step.amount) for value in before[step.target]}
        assert step.activation in after
        before[step.target] = {step.activation} | ({1.0} & before[step.target])


def synchronous(
    weights: Mapping[tuple[str, str], float], active: set[str], iterations: int
) -> dict[str, float]:
    """The formula of section 5.5 with a matrix of weights, parallel arcs added up."""
    value = {node: 1.0 if node in active else 0.0 for node in "abcdefg"}
    for _ in range(iterations):
        value = {
            j: min(1.0, value[j] + sum(value[i] * weights.get((i, j), 0.0) for i in value))
            for j in value
        }
    return value


@given(
    st.lists(st.tuples(nodes, nodes, st.floats(0.0, 1.0)), max_size=14),
    st.sets(nodes, max_size=3),
    st.integers(0, 4),
)
def test_all_at_once_it_is_the_formula_of_the_text(
    drawn: list[tuple[str, str, float]], seeds: set[str], iterations: int
) -> None:
    weights: dict[tuple[str, str], float] = {}
    for one, other, weight in drawn:
        if one != other:
            for pair in ((one, other), (other, one)):
                weights[pair] = weights.get(pair, 0.0) + weight
    links = [(f"link{n:02}", s, o, w) for n, (s, o, w) in enumerate(drawn)]
    activation, transfers = spread_synchronously(edges_of(links), seeds, iterations)
    for node, value in synchronous(weights, seeds, iterations).items():
        assert activation.get(node, 0.0) == pytest.approx(value, abs=1e-9)
    assert {transfer.round for transfer in transfers} <= set(range(iterations))


def test_the_formula_of_the_text_knows_no_order() -> None:
    # One iteration: b = .5. Two: c = .5 * .5, and b gets another .5 from a, as a does from b.
    assert spread_synchronously(edges_of(CHAIN), ["a"], 1)[0] == {"a": 1.0, "b": 0.5}
    activation, transfers = spread_synchronously(edges_of(CHAIN), ["a"], 2)
    assert activation == {"a": 1.0, "b": 1.0, "c": 0.25}
    chain = strongest_chain("c", running_maxima(transfers), {"a"})
    assert [(step.round, step.origin, step.target) for step in chain] == [
        (0, "a", "b"),
        (1, "b", "c"),
    ]


# ------------------------------------------------------------------------------- Chains


def exhaustive_chain(node: str, transfers: list[Transfer], seeds: set[str]) -> list[int]:
    """The rounds of a chain by its definition: all transfers to each node are searched."""
    rounds: list[int] = []
    while node not in seeds:
        before = rounds[0] if rounds else len(transfers)
        earlier = [t for t in transfers if t.target == node and t.round < before]
        best = min(earlier, key=lambda transfer: (-transfer.amount, transfer.round))
        rounds.insert(0, best.round)
        node = best.origin
    return rounds


def test_a_chain_takes_the_largest_transfer_before_the_next() -> None:
    # c gets .25 from b in round 2, when the largest transfer to b was that of round 0.
    _, transfers = spread_paper(edges_of(CHAIN), ["a"])
    chain = strongest_chain("c", running_maxima(transfers), {"a"})
    assert [(step.origin, step.target, step.amount) for step in chain] == [
        ("a", "b", 0.5),
        ("b", "c", 0.25),
    ]
    assert strongest_chain("a", running_maxima(transfers), {"a"}) == ()


@given(
    st.lists(st.tuples(nodes, nodes, st.sampled_from([0.25, 0.5, 0.7, 1.0])), max_size=14),
    st.sets(nodes, min_size=1, max_size=3),
)
def test_chains_are_those_of_an_exhaustive_search(
    drawn: list[tuple[str, str, float]], seeds: set[str]
) -> None:
    links = [(f"link{n:02}", s, o, w) for n, (s, o, w) in enumerate(drawn)]
    activation, transfers = spread_paper(edges_of(links), seeds)
    maxima = running_maxima(transfers)
    for node in activation:
        chain = strongest_chain(node, maxima, seeds)
        assert [step.round for step in chain] == exhaustive_chain(node, transfers, seeds)
