"""Synchronous spreading activation: worked by hand, and what holds for every graph."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sarag_rdf.algo.activation import spread
from sarag_rdf.algo.activation_paper import spread_paper
from sarag_rdf.algo.arcs import Arc, Pass, Spread, arcs_of, chain_to

Links = list[tuple[str, str, str, float]]

CHAIN: Links = [("p", "a", "b", 0.5), ("q", "b", "c", 0.5)]


def test_chain() -> None:
    # Round 1: b = .5. Round 2: c = .5 * .5 = .25; nothing goes back to a. Round 3: nor to b.
    assert spread(arcs_of(CHAIN), {"a": 1.0}, rounds=3) == Spread(
        {"a": 1.0, "b": 0.5, "c": 0.25},
        [Pass(1, "a", "b", "p", 0.5, 0.5, 0.5), Pass(2, "b", "c", "q", 0.5, 0.25, 0.25)],
    )


def test_rounds_bound_the_distance() -> None:
    for rounds, reached in ((0, "a"), (1, "ab"), (2, "abc")):
        assert set(spread(arcs_of(CHAIN), {"a": 1.0}, rounds=rounds).activation) == set(reached)


def test_diamond() -> None:
    # Round 1: l = r = .5. Round 2: t = .5 * .5 + .5 * .5 = .5, both at once. Round 3: no echo.
    links = [("1", "s", "l", 0.5), ("2", "s", "r", 0.5), ("3", "l", "t", 0.5), ("4", "r", "t", 0.5)]
    found = spread(arcs_of(links), {"s": 1.0}, rounds=3)
    assert found.activation == {"s": 1.0, "l": 0.5, "r": 0.5, "t": 0.5}
    assert [(p.origin, p.amount, p.activation) for p in found.passes if p.target == "t"] == [
        ("l", 0.25, 0.5),
        ("r", 0.25, 0.5),
    ]


def test_of_parallel_links_the_strongest_counts() -> None:
    links = [("p", "s", "t", 0.25), ("r", "t", "s", 0.5), ("q", "s", "t", 0.5)]
    found = spread(arcs_of(links), {"s": 1.0}, rounds=1)
    assert found.activation["t"] == 0.5
    assert [p.link for p in found.passes] == ["q"]  # of two at .5 the smaller name


def test_self_loops_pass_nothing() -> None:
    links: Links = [("p", "a", "b", 0.5), ("loop", "b", "b", 0.5)]
    assert spread(arcs_of(links), {"a": 1.0}, rounds=3).activation == {"a": 1.0, "b": 0.5}


def test_seeds_fire_at_the_same_time_with_what_they_held() -> None:
    # a = .2 + .5 * .4 = .4 and b = .4 + .5 * .2 = .5: neither hears of the other's gain.
    found = spread(arcs_of(CHAIN[:1]), {"a": 0.2, "b": 0.4}, rounds=5)
    assert found.activation == {"a": 0.4, "b": 0.5}


def test_neighbours_that_were_reached_together_exchange_once() -> None:
    # Round 1: x = y = .5. Round 2: x = y = .5 + .5 * .5 = .75. Round 3: all have fired.
    links: Links = [("1", "s", "x", 0.5), ("2", "s", "y", 0.5), ("3", "x", "y", 0.5)]
    found = spread(arcs_of(links), {"s": 1.0}, rounds=9)
    assert found.activation == {"s": 1.0, "x": 0.75, "y": 0.75}


def test_what_comes_late_is_added_but_not_passed_on() -> None:
    # Round 1: x = .5, y = .25. Round 2: x and y fire at once: x = .5 + .5 * .25 = .625,
    # y = .25 + .5 * .5 = .5, z = .5 * .5 = .25 from x as it was. Round 3: z has no one new.
    links = [
        ("1", "s", "x", 0.5),
        ("2", "s", "y", 0.25),
        ("3", "x", "y", 0.5),
        ("4", "x", "z", 0.5),
    ]
    found = spread(arcs_of(links), {"s": 1.0}, rounds=4)
    assert found.activation == {"s": 1.0, "x": 0.625, "y": 0.5, "z": 0.25}


def test_a_node_holds_at_most_one() -> None:
    links = [("1", "a", "t", 1.0), ("2", "b", "t", 0.5)]
    found = spread(arcs_of(links), {"a": 1.0, "b": 1.0}, rounds=1)
    assert found.activation["t"] == 1.0
    assert [(p.amount, p.activation) for p in found.passes] == [(1.0, 1.0), (0.5, 1.0)]
    assert spread({}, {"a": 3.0, "b": 0.0, "c": -1.0}, rounds=1).activation == {"a": 1.0}


def test_unknown_seeds_and_no_seeds() -> None:
    assert spread(arcs_of(CHAIN), {"x": 0.5}, rounds=2) == Spread({"x": 0.5}, [])
    assert spread(arcs_of(CHAIN), {}, rounds=2) == Spread({}, [])


# ---------------------------------------------------------------------------- Chains


def by_target(passes: list[Pass]) -> dict[str, list[Pass]]:
    found: defaultdict[str, list[Pass]] = defaultdict(list)
    for step in passes:
        found[step.target].append(step)
    return found


def test_a_chain_follows_the_largest_amount_back() -> None:
    # s-l .5, s-r .75, l-t 1, r-t .5: t gets 1 * .5 = .5 from l and .5 * .75 = .375 from r.
    links = [
        ("1", "s", "l", 0.5),
        ("2", "s", "r", 0.75),
        ("3", "l", "t", 1.0),
        ("4", "r", "t", 0.5),
    ]
    found = spread(arcs_of(links), {"s": 1.0}, rounds=2)
    chain = chain_to("t", by_target(list(found.passes)), ["s"])
    assert [(p.origin, p.target, p.amount) for p in chain] == [("s", "l", 0.5), ("l", "t", 0.5)]
    assert chain_to("s", by_target(list(found.passes)), ["s"]) == []
    assert chain_to("nowhere", by_target(list(found.passes)), ["s"]) == []


def test_a_chain_does_not_use_what_came_later() -> None:
    # In the published algorithm b, on the chain a - b - c, gets .5 from a and then .9 * .45 from
    # c; c got its own from b. The chain of c goes by b's first gain.
    links = [("p", "a", "b", 0.5), ("q", "b", "c", 0.9)]
    passes = by_target(list(spread_paper(arcs_of(links), ["a"]).passes))
    assert [(p.origin, p.target) for p in chain_to("c", passes, ["a"])] == [("a", "b"), ("b", "c")]
    # Were c's echo the larger one, b's own chain would still have to begin at the seed.
    echo = [Pass(0, "a", "b", "p", 0.1, 0.1, 0.1), Pass(1, "b", "c", "q", 1.0, 0.1, 0.1)]
    echo.append(Pass(2, "c", "b", "q", 1.0, 0.9, 1.0))
    assert [p.round for p in chain_to("b", by_target(echo), ["a"])] == [0, 1, 2]


# ------------------------------------------------------------------ What holds for all graphs

nodes = st.sampled_from("abcdefgh")
weights = st.one_of(st.floats(0.0, 1.0, allow_subnormal=False), st.sampled_from([0.25, 0.5, 1.0]))


@st.composite
def graphs(draw: st.DrawFn) -> Links:
    drawn = draw(st.lists(st.tuples(nodes, nodes, weights), max_size=16))
    return [(f"link{n:02}", one, other, weight) for n, (one, other, weight) in enumerate(drawn)]


seeds_ = st.dictionaries(nodes, st.floats(0.01, 1.0), min_size=1, max_size=3)
rounds_ = st.integers(0, 6)


@given(graphs(), seeds_, rounds_, st.randoms(use_true_random=False))
def test_no_order_matters(
    links: Links, seeds: dict[str, float], rounds: int, order: random.Random
) -> None:
    wanted = spread(arcs_of(links), seeds, rounds=rounds)
    shuffled_links, items = list(links), list(seeds.items())
    order.shuffle(shuffled_links)
    order.shuffle(items)
    turned = [
        (n, o, s, w) if order.random() < 0.5 else (n, s, o, w) for n, s, o, w in shuffled_links
    ]
    arcs = list(arcs_of(turned).items())
    order.shuffle(arcs)
    for _, found in arcs:
        order.shuffle(found)
    again = spread(dict(arcs), dict(items), rounds=rounds)
    assert again.activation == wanted.activation
    assert again.passes == wanted.passes


@given(graphs(), seeds_, rounds_)
def test_every_node_fires_once_and_hears_no_echo(
    links: Links, seeds: dict[str, float], rounds: int
) -> None:
    found = spread(arcs_of(links), seeds, rounds=rounds)
    fired = {step.origin: step.round for step in found.passes}
    pairs = [(step.origin, step.target) for step in found.passes]
    assert len(set(pairs)) == len(pairs)
    strongest: defaultdict[frozenset[str], float] = defaultdict(float)
    for _, one, other, weight in links:
        ends = frozenset((one, other))
        strongest[ends] = max(strongest[ends], weight)
    for step in found.passes:
        assert step.round == fired[step.origin] <= rounds
        assert fired.get(step.target, rounds + 1) >= step.round
        assert step.weight == strongest[frozenset((step.origin, step.target))]
        assert step.origin != step.target


@given(graphs(), seeds_, rounds_)
def test_the_trace_accounts_for_all_activation(
    links: Links, seeds: dict[str, float], rounds: int
) -> None:
    found = spread(arcs_of(links), seeds, rounds=rounds)
    held = dict(seeds)
    for round_ in range(1, rounds + 1):
        now = [step for step in found.passes if step.round == round_]
        before = dict(held)
        for target in {step.target for step in now}:
            steps = [step for step in now if step.target == target]
            for step in steps:
                assert step.amount == step.weight * before[step.origin]
            held[target] = min(1.0, before.get(target, 0.0) + sum(s.amount for s in steps))
            assert {step.activation for step in steps} == {held[target]}
    assert held == found.activation
    assert all(0.0 < value <= 1.0 for value in held.values())


@given(graphs(), seeds_, rounds_)
def test_another_round_takes_nothing_away(
    links: Links, seeds: dict[str, float], rounds: int
) -> None:
    now = spread(arcs_of(links), seeds, rounds=rounds).activation
    later = spread(arcs_of(links), seeds, rounds=rounds + 1).activation
    assert all(later[node] >= value for node, value in now.items())
    assert all(now[node] >= min(1.0, value) for node, value in seeds.items())


@given(graphs(), seeds_, rounds_, st.booleans())
def test_a_chain_leads_from_a_seed_to_every_node_that_was_reached(
    links: Links, seeds: dict[str, float], rounds: int, paper: bool
) -> None:
    arcs = arcs_of(links)
    found = spread_paper(arcs, seeds) if paper else spread(arcs, seeds, rounds=rounds)
    passes = by_target(list(found.passes))
    for node in found.activation:
        chain = chain_to(node, passes, seeds)
        if node in seeds:
            assert chain == []
            continue
        assert chain[0].origin in seeds
        assert chain[-1].target == node
        for earlier, later in pairwise(chain):
            assert earlier.target == later.origin
            assert earlier.round < later.round
        assert set(chain) <= set(found.passes)
        assert not {step.target for step in chain[:-1]} & set(seeds)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 1000), weights), min_size=1, max_size=10))
def test_down_a_tree_from_its_root_both_algorithms_agree(drawn: list[tuple[int, float]]) -> None:
    """Arcs lead away from the root: there is one way to each node, and none back."""
    arcs: dict[str, list[Arc]] = {}
    for number, (parent, weight) in enumerate(drawn, start=1):
        arc = Arc(f"n{number}", f"link{number}", weight)
        arcs.setdefault(f"n{parent % number}", []).append(arc)
    synchronous = spread(arcs, {"n0": 1.0}, rounds=len(drawn))
    assert synchronous.activation == spread_paper(arcs, ["n0"]).activation
    assert len(synchronous.activation) == len(drawn) + 1


@given(st.lists(weights, min_size=1, max_size=8))
def test_on_a_star_both_algorithms_agree(drawn: list[float]) -> None:
    """Both ways this time: what the rays give back to the centre, which is full, is lost."""
    arcs = arcs_of((f"link{n}", "centre", f"ray{n}", weight) for n, weight in enumerate(drawn))
    found = spread(arcs, {"centre": 1.0}, rounds=3).activation
    assert found == spread_paper(arcs, ["centre"]).activation
    assert found == {"centre": 1.0, **{f"ray{n}": w for n, w in enumerate(drawn) if w}}
