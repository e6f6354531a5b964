"""One round of spreading activation over documents and entities.

Documents pass activation to the entities that they describe, entities over relationships to
entities, and entities to the documents that describe them. What an entity holds, an entity that is
linked as the same holds as well. All nodes of a kind fire at once, so the result depends on no
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.algo.network import Network, Rows
from sarag_rdf.algo.strongest import Strongest

Floats = NDArray[np.float64]
Weigh = Callable[[Rows], Floats]
"""Weights in [0, 1] of relationships, given by row."""


@dataclass(frozen=True)
class Rates:
    """How much is passed on.

    `decay` is the share of its activation that a document passes to each entity that it
    describes, and an entity to the next, times the link's weight. An entity gives `about` to a
    document that is about it, `aside` to any other. All in [0, 1].
    """

    decay: float = 0.15
    about: float = 0.7
    aside: float = 0.2


SAME = -2
"""Stands for a relationship where a link between entities that are the same carried."""


@dataclass(frozen=True)
class Links:
    """What carried activation between entities, each in one direction: arrays of one length.

    `size` is the number of entities.
    """

    origin: Rows
    target: Rows
    relationship: Rows
    weight: Floats
    amount: Floats
    size: int

    @cached_property
    def strongest(self) -> Strongest:
        """By target."""
        return Strongest(self.target, self.amount, self.size)


@dataclass(frozen=True)
class Round:
    """Where activation was at the start, and where it came to.

    `start` and `entities` hold each entity's activation before and after anything carried it,
    `given` what each document gave to every entity that it describes, `crossed` the links between
    same entities that carried it first, `links` the relationships that carried, `returned` the
    links that carried what relationships had brought, `documents` each document's activation,
    `speakers` the entity that gave it most, or -1. Activation of entities may exceed 1: what they
    give does not. `described` is that of the network.
    """

    held: Mapping[int, float]
    seeds: Mapping[int, float]
    start: Floats
    entities: Floats
    given: Floats
    crossed: Links
    links: Links
    returned: Links
    documents: Floats
    speakers: Rows
    rates: Rates
    described: Rows

    @cached_property
    def givers(self) -> Strongest:
        """Which rows of `described` gave most to each entity."""
        documents, entities = self.described.T
        return Strongest(entities, self.given[documents], len(self.entities))

    @cached_property
    def reached(self) -> Rows:
        """Documents with activation, ascending."""
        return np.flatnonzero(self.documents)


def spread_round(
    network: Network,
    held: Mapping[int, float],
    seeds: Mapping[int, float],
    weigh: Weigh,
    rates: Rates,
) -> Round:
    """Spread from documents (`held`) and entities (`seeds`), both by row, with values in (0, 1].

    With df(e) the number of documents that describe e, and w the weight of the strongest
    relationship between two entities::

        given(d)      = decay * held(d)
        start(e)      = seeds(e) + sum over d of given(d)
        crossed(e)    = start(e) + sum over s of start(s)
        brought(e)    = sum over f of decay * w(e, f) * crossed(f) / df(f)
        entities(e)   = crossed(e) + brought(e) + sum over s of brought(s)
        documents(d)  = max over e of min(1, entities(e) - given(d)) / df(e) * share(d, e)

    where d describes e, s is linked with e as the same, and share is `about` or `aside`. A
    document does not get back from an entity what it gave to that entity; over a relationship to
    another entity it may.
    """
    given = np.zeros(len(network.documents))
    for document, activation in held.items():
        given[document] = rates.decay * activation
    origins, entities = network.described.T
    size = len(network.entities)
    start = np.bincount(entities, given[origins], minlength=size).astype(np.float64)
    for entity, activation in seeds.items():
        start[entity] += activation
    crossed = _crossed(network, start)
    before = start + np.bincount(crossed.target, crossed.amount, minlength=size)
    links = _carried(network, before, weigh, rates)
    brought = np.bincount(links.target, links.amount, minlength=size).astype(np.float64)
    returned = _crossed(network, brought)
    after = before + brought + np.bincount(returned.target, returned.amount, minlength=size)
    documents, speakers = _arrived(network, after, given, rates)
    return Round(
        held,
        seeds,
        start,
        after,
        given,
        crossed,
        links,
        returned,
        documents,
        speakers,
        rates,
        network.described,
    )


def _crossed(network: Network, held: Floats) -> Links:
    """What entities hold, handed whole to those that are linked as the same."""
    one, other = network.identical.T
    origin, target = np.concatenate((one, other)), np.concatenate((other, one))
    live = held[origin] > 0.0
    origin, target = origin[live], target[live]
    weight = np.ones(len(origin))
    same = np.full(len(origin), SAME)
    return Links(origin, target, same, weight, held[origin], len(network.entities))


def _carried(network: Network, start: Floats, weigh: Weigh, rates: Rates) -> Links:
    active = np.flatnonzero(start)
    touched = np.zeros(len(network.ends), dtype=bool)
    touched[network.starting_at.of(active)] = True
    touched[network.ending_at.of(active)] = True
    found = np.flatnonzero(touched)
    weights = weigh(found)
    ends = network.ends[found]
    live = (weights > 0.0) & (ends[:, 0] != ends[:, 1])
    found, weights, ends = found[live], weights[live], ends[live]
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((found, -weights, high, low))
    low, high, found, weights = low[order], high[order], found[order], weights[order]
    first = np.ones(len(found), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, found, weights = low[first], high[first], found[first], weights[first]
    origin, target = np.concatenate((low, high)), np.concatenate((high, low))
    relationship = np.concatenate((found, found))
    weight = rates.decay * np.concatenate((weights, weights)) / network.frequencies[origin]
    amount = weight * start[origin]
    carried = amount > 0.0
    return Links(
        origin[carried],
        target[carried],
        relationship[carried],
        weight[carried],
        amount[carried],
        len(network.entities),
    )


def _arrived(
    network: Network, entities: Floats, given: Floats, rates: Rates
) -> tuple[Floats, Rows]:
    pairs = network.by_entity.of(np.flatnonzero(entities))
    document, entity = network.described[pairs].T
    share = np.where(network.is_topic[pairs], rates.about, rates.aside)
    rest = np.clip(entities[entity] - given[document], 0.0, 1.0)
    amount = rest / network.frequencies[entity] * share
    amount[rest < 1e-12] = 0.0
    order = np.lexsort((-entity, amount))
    order = order[amount[order] > 0.0]
    documents = np.zeros(len(network.documents))
    speakers = np.full(len(network.documents), -1)
    documents[document[order]] = amount[order]
    speakers[document[order]] = entity[order]
    return documents, speakers
