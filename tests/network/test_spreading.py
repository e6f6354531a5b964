"""Rounds over what they touch are those over the whole graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sarag_rdf.network.edges import Network
from sarag_rdf.network.spreading import Floats, Iris, Rates, Round, Spreading, spread, spread_round
from sarag_rdf.network.traversal import NetworkTraversal
from tests.network.test_network import pairs, rows
from tests.network.test_rounds import weigher

SHARES = st.floats(0.01, 1.0)


@st.composite
def linked(draw: st.DrawFn) -> Network:
    """At most 8 documents and 8 entities, one of them a hub; loops, parallel links, same ones."""
    documents, entities = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    document, entity = st.integers(0, documents - 1), st.integers(0, entities - 1)
    hub = st.one_of(st.just(0), entity)
    described = sorted(draw(st.sets(st.tuples(document, hub), max_size=20)))
    ends = draw(st.lists(st.tuples(hub, entity), max_size=14))
    same = sorted(draw(st.sets(st.tuples(entity, entity), max_size=3)))
    topics = dict(described)
    return Network(
        [f"d{n}" for n in range(documents)],
        [f"e{n}" for n in range(entities)],
        [f"r{n:02}" for n in range(len(ends))],
        pairs(*described),
        rows(*(topics.get(n, -1) if draw(st.booleans()) else -1 for n in range(documents))),
        pairs(*ends),
        pairs(*(pair for pair in same if pair[0] < pair[1])),
    )


def by_iri(network: Network, round_: Round) -> dict[str, object]:
    """What a round moved, by IRI; what holds nothing is left out."""

    def held(iris: Sequence[str], values: Floats) -> dict[str, float]:
        return {iris[row]: float(values[row]) for row in np.flatnonzero(values).tolist()}

    links = round_.links
    return {
        "start": held(network.entities, round_.start),
        "entities": held(network.entities, round_.entities),
        "given": held(network.documents, round_.given),
        "documents": held(network.documents, round_.documents),
        "speakers": {
            network.documents[row]: network.entities[int(round_.speakers[row])]
            for row in np.flatnonzero(round_.speakers >= 0).tolist()
        },
        "carried": [
            (network.relationships[r], network.entities[o], network.entities[t], float(a))
            for r, o, t, a in zip(
                links.relationship, links.origin, links.target, links.amount, strict=True
            )
        ],
    }


def everywhere(
    network: Network, held: Mapping[int, float], seeds: Mapping[int, float], weights: list[float],
    rates: Rates, count: int, few: int,
) -> list[Round]:  # fmt: skip
    """The same rounds, each over the whole network."""
    found = []
    for _ in range(count):
        found.append(spread_round(network, held, seeds, weigher(weights), rates))
        documents = found[-1].documents
        best = np.argsort(-documents, kind="stable")[:few]
        held = {int(row): min(1.0, float(documents[row])) for row in best if documents[row]}
        seeds = {}
    return found


@settings(deadline=None, max_examples=300)
@given(linked(), st.data(), st.integers(1, 3), st.integers(1, 4))
def test_what_is_not_touched_changes_nothing(
    network: Network, data: st.DataObject, count: int, few: int
) -> None:
    document = st.integers(0, len(network.documents) - 1)
    entity = st.integers(0, len(network.entities) - 1)
    held = data.draw(st.dictionaries(document, SHARES, max_size=3))
    seeds = data.draw(st.dictionaries(entity, SHARES, max_size=2))
    weights = [data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in network.relationships]
    rates, more = Rates(decay=0.4), sorted(data.draw(st.sets(document, max_size=2)))
    iris = Iris(network.documents, network.entities, network.relationships)
    found = spread(
        NetworkTraversal(network), iris, weigher(weights), rates,
        held=held, seeds=seeds, rounds=count, few=few, documents=more,
    )  # fmt: skip
    whole = everywhere(network, held, seeds, weights, rates, count, few)
    told = [by_iri(found.network, round_) for round_ in found.rounds]
    assert told == [by_iri(network, round_) for round_ in whole]
    check_rows(network, found)
    assert set(more) <= set(found.documents.tolist())


def check_rows(network: Network, found: Spreading) -> None:
    """Rows are those of the whole graph, and frequencies as there."""
    assert [network.documents[row] for row in found.documents] == list(found.network.documents)
    assert [network.entities[row] for row in found.entities] == list(found.network.entities)
    relationships = [network.relationships[row] for row in found.relationships]
    assert relationships == list(found.network.relationships)
    whole = network.frequencies[found.entities].tolist()
    assert found.network.frequencies.tolist() == whole


def test_no_more_is_touched_than_a_round_can_reach() -> None:
    # d0 - e0 = e1 - d1, with a link of weight 0 from e1 to e2, which d2 describes.
    network = Network(
        ["d0", "d1", "d2"],
        ["e0", "e1", "e2"],
        ["r0", "r1"],
        pairs((0, 0), (1, 1), (2, 2)),
        rows(-1, -1, -1),
        pairs((0, 1), (1, 2)),
    )
    iris = Iris(network.documents, network.entities, network.relationships)
    found = spread(
        NetworkTraversal(network), iris, weigher([0.5, 0.0]), Rates(),
        held={0: 1.0}, seeds={}, rounds=3, few=2,
    )  # fmt: skip
    assert list(found.network.documents) == ["d0", "d1"]
    assert list(found.network.entities) == ["e0", "e1"]
    assert found.network.relationships[:] == ["r0"]
    assert found.network.documents[-1] == "d1"
