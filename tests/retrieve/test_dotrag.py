"""Search in rounds over paths, on the graph of `test_kg_infused`: Ada - Bea - Cid - Dan - Eve."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.types import Query, Retrieved
from tests.retrieve.test_kg_infused import ADA, BEA, CID, DAN, EVE, graph


def search(**options: Any) -> Retrieved:
    view, _ = graph()
    options = {"k": 1, "c": 0.0, "t": 1, **options}
    return make_retriever("dotrag", view, options).retrieve(Query("who?"))


def amounts(found: Retrieved) -> dict[str, float]:
    return {entity.iri: entity.activation for entity in found.entities}


def test_paths() -> None:
    # The gate maps the cosines .7, .5, .3, .1 of the statements to 1, 2/3, 1/3, 0.
    found = search()
    weights = {ADA: 1, BEA: 1, CID: 5 / 6, DAN: 2 / 3}
    assert amounts(found) == pytest.approx(weights, abs=1e-6)
    (cid,) = [entity for entity in found.entities if entity.iri == CID]
    assert [(step.origin, step.target) for step in cid.chain] == [(ADA, BEA), (BEA, CID)]
    assert EVE in amounts(search(h=4))


def test_steps_are_limited() -> None:
    assert set(amounts(search(h=1))) == {ADA, BEA}
