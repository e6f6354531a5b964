"""Search in rounds over paths, on the graph of `test_kg_infused`: Ada - Bea - Cid - Dan - Eve."""

from __future__ import annotations

from typing import Any

import pytest

from sarag_rdf.base.types import Extraction, Mention, Query, Relation, Retrieved
from sarag_rdf.kg.registry import make_retriever
from tests.papers.test_kg_infused_search import ADA, BEA, CID, DAN, EVE, graph
from tests.retrieval.graphs import indexed, view_of
from tests.retrieval.test_retrievers import TableEmbedder


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


def test_a_step_has_all_statements_between_its_entities_and_the_weight_of_the_best() -> None:
    """Ada directed (cosine .2) and wrote (.8) Bea: the gate maps .2 to 0 and .8 to 1."""
    cosines = {"Ada": 0.3, "Bea": 0.3, "a": 0.9, "b": 0.1, "text": 0.0}
    cosines |= {"Ada directed Bea": 0.2, "Ada wrote Bea": 0.8, "who? Ada wrote Bea": 0.5}
    cosines |= {"who? Ada directed Bea; Ada wrote Bea": 0.5}
    mentions = Mention("Ada", descriptions=("a",)), Mention("Bea", descriptions=("b",))
    relations = Relation("Ada", "directed", "Bea"), Relation("Ada", "wrote", "Bea")
    reader, _ = indexed([("", "text", Extraction(mentions, relations))])
    view = view_of(reader, TableEmbedder(cosines))
    options = {"k": 1, "c": 0.0, "t": 1}
    found = make_retriever("dotrag", view, options).retrieve(Query("who?"))
    assert amounts(found) == pytest.approx({ADA: 1, BEA: 1}, abs=1e-6)
    texts = [link.text for link in found.relationships]
    assert texts == ["Ada wrote Bea", "Ada directed Bea"]
    (bea,) = [entity for entity in found.entities if entity.iri == BEA]
    assert [found.names[step.relationship] for step in bea.chain] == ["Ada wrote Bea"]


def test_the_amount_of_a_step_is_its_weight_times_the_activation_before() -> None:
    for entity in search().entities:
        before = 1.0
        for step in entity.chain:
            assert step.amount == pytest.approx(step.weight * before)
            before = step.activation
