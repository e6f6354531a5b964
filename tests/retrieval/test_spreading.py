"""Rounds over what they touch are those over the whole graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sarag_rdf.retrieval.chains import chain_to_entity
from sarag_rdf.retrieval.network.edges import Edges, Floats, Iris, Network
from sarag_rdf.retrieval.network.kinds import EdgeKind, EdgeQuery
from sarag_rdf.retrieval.network.spreading import (
    Activation,
    Rates,
    Round,
    Spreading,
    spread,
    spread_round,
)
from sarag_rdf.retrieval.network.traversal import NetworkTraversal
from tests.retrieval.networks import gate_of, network_of, weighted

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
    return network_of(
        [f"d{n}" for n in range(documents)],
        [f"e{n}" for n in range(entities)],
        [f"r{n:02}" for n in range(len(ends))],
        described,
        [topics.get(n, -1) if draw(st.booleans()) else -1 for n in range(documents)],
        ends,
        [pair for pair in same if pair[0] < pair[1]],
    )


def by_iri(network: Network, round_: Round) -> dict[str, object]:
    """The activation of a round, by IRI, without that of 0."""

    def active(iris: Sequence[str], values: Floats) -> dict[str, float]:
        return {iris[row]: float(values[row]) for row in np.flatnonzero(values).tolist()}

    links = round_.associations
    return {
        "initial": active(network.entities, round_.initial),
        "entities": active(network.entities, round_.entities),
        "outgoing": active(network.documents, round_.outgoing),
        "documents": active(network.documents, round_.documents),
        "top_contributors": {
            network.documents[row]: network.entities[int(round_.top_contributors[row])]
            for row in np.flatnonzero(round_.top_contributors >= 0).tolist()
        },
        "associations": [
            (network.relationships[r], network.entities[o], network.entities[t], float(a))
            for r, o, t, a in zip(
                links.statement, links.source, links.target, links.amount, strict=True
            )
        ],
    }


def everywhere(
    network: Network, sources: Activation, seeds: Activation, weights: list[float], rates: Rates,
    count: int, beam: int,
) -> list[Round]:  # fmt: skip
    """The same rounds, each over the whole network."""
    found = []
    for _ in range(count):
        found.append(spread_round(weighted(network, weights), sources, seeds, rates))
        documents = found[-1].documents
        best = np.argsort(-documents, kind="stable")[:beam]
        sources = {int(row): min(1.0, float(documents[row])) for row in best if documents[row]}
        seeds = {}
    return found


@settings(deadline=None, max_examples=300)
@given(linked(), st.data(), st.integers(1, 3), st.integers(1, 4))
def test_what_is_not_touched_changes_nothing(
    network: Network, data: st.DataObject, count: int, beam: int
) -> None:
    document = st.integers(0, len(network.documents) - 1)
    entity = st.integers(0, len(network.entities) - 1)
    sources = data.draw(st.dictionaries(document, SHARES, max_size=3))
    seeds = data.draw(st.dictionaries(entity, SHARES, max_size=2))
    weights = [data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in network.relationships]
    rates, more = Rates(decay=0.4), sorted(data.draw(st.sets(document, max_size=2)))
    iris = Iris(network.documents, network.entities, network.relationships)
    found = spread(
        NetworkTraversal(network), iris, gate_of(weights), rates,
        sources=sources, seeds=seeds, rounds=count, beam=beam, candidates=more,
    )  # fmt: skip
    whole = everywhere(network, sources, seeds, weights, rates, count, beam)
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
    network = network_of(
        ["d0", "d1", "d2"],
        ["e0", "e1", "e2"],
        ["r0", "r1"],
        [(0, 0), (1, 1), (2, 2)],
        [-1, -1, -1],
        [(0, 1), (1, 2)],
    )
    iris = Iris(network.documents, network.entities, network.relationships)
    found = spread(
        NetworkTraversal(network), iris, gate_of([0.5, 0.0]), Rates(),
        sources={0: 1.0}, seeds={}, rounds=3, beam=2,
    )  # fmt: skip
    assert list(found.network.documents) == ["d0", "d1"]
    assert list(found.network.entities) == ["e0", "e1"]
    assert found.network.relationships[:] == ["r0"]
    assert found.network.documents[-1] == "d1"


# ------------------------------------------------------------------- Another kind of edge

INSTANCE_OF = EdgeKind(
    "instance_of",  # type: ignore[arg-type]
    "entity",
    "entity",
    "https://example.org/instanceOf",
    EdgeQuery("instances"),
    weight=0.5,
)
"""Entities and their classes, which are entities: a kind without statements."""


def test_activation_spreads_over_any_kind_of_edge_between_entities() -> None:
    # d0 - e0; e0 is an instance of e1 and related to e2 with a weight of .3, both described by d1.
    plain = network_of(
        ["d0", "d1"],
        ["e0", "e1", "e2"],
        ["r0", "r1"],
        [(0, 0), (1, 1), (1, 2)],
        [0, 2],
        [(2, 0), (0, 1)],
    )
    instances = Edges.of([0], [1], predicate=0, weight=INSTANCE_OF.weight)
    network = Network(
        plain.documents,
        plain.entities,
        plain.relationships,
        {**plain.edges, INSTANCE_OF: instances},
        ("https://example.org/instanceOf",),
    )
    iris = Iris(network.documents, network.entities, network.relationships)
    found = spread(
        NetworkTraversal(network), iris, gate_of([0.3, 0.2]), Rates(),
        sources={}, seeds={0: 1.0}, rounds=1, beam=1,
    )  # fmt: skip
    (round_,) = found.rounds
    # Of the two edges between e0 and e1, the class is the stronger: .15 * .5; to e2 .15 * .3.
    assert round_.entities.tolist() == pytest.approx([1.0, 0.075, 0.045])
    # To d1 from e2, its topic: .045 * .7; from e1 .075 * .2.
    assert round_.documents.tolist() == pytest.approx([0.7, 0.0315])
    assert [step.kind for step in chain_to_entity(found.rounds, 0, 1)] == ["instance_of"]
    (step,) = chain_to_entity(found.rounds, 0, 1)
    assert step.relationship == INSTANCE_OF.predicate
    assert step.weight == pytest.approx(0.075)
    assert [step.kind for step in chain_to_entity(found.rounds, 0, 2)] == ["related_to"]
    stored = Network.of_arrays(
        network.documents, network.entities, network.relationships, network.arrays(), network.edges
    )
    assert stored[INSTANCE_OF].pairs().tolist() == [[0, 1]]
    assert stored[INSTANCE_OF].weight.tolist() == [0.5]
