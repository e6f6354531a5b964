"""KG-Infused RAG without a model, worked out by hand on the graph of `test_retrievers`.

::

      Ada --.7--> Bea --.5--> Cid --.3--> Dan --.1--> Eve      cosines of the question and a link
       \\        / \\        / \\        / \\        /
        document 1   document 2  document 3  document 4
           .2           .4          .6          0            cosines of the question and a text
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.types import Extraction, Mention, Query, Relation, Retrieved
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.papers.test_kg_infused import RIVERS, E
from tests.retrieval.graphs import MINTER, indexed, view_of
from tests.retrieval.test_retrievers import NAMES, TableEmbedder
from tests.sample_graph import SOURCES, CapitalExtractor

ADA, BEA, CID, DAN, EVE = (MINTER.entity(name.lower()) for name in NAMES)
ONE = "who? Ada knows Bea"
TWO = "who? Ada knows Bea Bea knows Cid"
"""The question with the texts of the two nearest statements; its cosine with the question is .3."""


def graph(eve: float = 0.1) -> tuple[GraphView, list[str]]:
    """`eve` is the cosine of Eve's description, which is 0.1 for all but Ada's and Bea's."""
    cosines = dict.fromkeys(NAMES, 0.3) | {"Ada in 1": 0.9, "Bea in 1": 0.5, TWO: 0.3, ONE: 0.5}
    cosines["Eve in 4"] = eve
    contents = []
    for number, (one, other) in enumerate(pairwise(NAMES), start=1):
        cosines[f"document {number}"] = (0.2, 0.4, 0.6, 0.0)[number - 1]
        cosines[f"{one} knows {other}"] = (0.7, 0.5, 0.3, 0.1)[number - 1]
        mentions = [Mention(n, descriptions=(f"{n} in {number}",)) for n in (one, other)]
        for mention in mentions:
            cosines.setdefault(mention.descriptions[0], 0.1)
        relations = (Relation(one, "knows", other),)
        contents.append(("", f"document {number}", Extraction(tuple(mentions), relations)))
    reader, iris = indexed(contents)
    return view_of(reader, TableEmbedder(cosines)), iris


def search(*, eve: float = 0.1, **options: Any) -> tuple[Retrieved, list[str]]:
    view, iris = graph(eve)
    options = {"k": 1, "c": 0.0, "texts": 2, **options}
    return make_retriever("kg-infused", view, options).retrieve(Query("who?")), iris


def amounts(found: Retrieved) -> dict[str, float]:
    return {entity.iri: entity.activation for entity in found.entities}


def test_rounds() -> None:
    # The gate maps .1, the smallest similarity, to 0 and .7, the largest, to 1: 1, 2/3, 1/3, 0.
    found, _ = search()
    assert amounts(found) == pytest.approx({ADA: 1, BEA: 1, CID: 2 / 3}, abs=1e-6)
    assert amounts(search(n=1)[0]) == pytest.approx({ADA: 1, BEA: 1}, abs=1e-6)
    assert amounts(search(n=0)[0]) == {ADA: 1}
    # Dan knows Eve is not above the gate.
    every = pytest.approx({ADA: 1, BEA: 1, CID: 2 / 3, DAN: 2 / 9}, abs=1e-6)
    assert amounts(search(n=9)[0]) == every
    assert [link.text for link in found.relationships] == ["Ada knows Bea", "Bea knows Cid"]
    [seed] = found.seeds
    assert (seed.name, seed.reason) == ("Ada", "description: Ada in 1")
    (cid,) = [entity for entity in found.entities if entity.iri == CID]
    assert [(s.round, s.origin, s.target) for s in cid.chain] == [(1, ADA, BEA), (2, BEA, CID)]
    assert [step.amount for step in cid.chain] == pytest.approx([1, 2 / 3], abs=1e-6)


def test_statements_that_end_at_an_entity() -> None:
    """Bea is the subject of one statement and the object of another."""
    seeds = {"k": 2, "n": 1}
    assert amounts(search(**seeds)[0]).keys() == {ADA, BEA, CID}
    found, _ = search(k=1, n=1, inverse=True)
    assert amounts(found).keys() == {ADA, BEA}
    found, _ = search(k=2, n=2, inverse=True, entities=1)
    assert [link.text for link in found.relationships] == ["Ada knows Bea"]


def test_an_entity_without_statements_is_no_seed() -> None:
    """Equation 3 with E that triples start at: Eve has the nearest description, but no statement.

    After her (.95) come Ada (.9) and Bea (.5), at which statements start. Over incident statements
    she is a seed.
    """
    assert amounts(search(k=1, n=0, eve=0.95)[0]) == {ADA: 1}
    assert amounts(search(k=2, n=0, eve=0.95)[0]) == {ADA: 1, BEA: 1}
    assert amounts(search(k=1, n=0, eve=0.95, inverse=True)[0]) == {EVE: 1}


def test_the_gate() -> None:
    """Above the third quartile there is one statement, and only that expands the question."""
    found, _ = search(c=0.5, texts=0)
    assert amounts(found) == pytest.approx({ADA: 1, BEA: 1, CID: 1 / 3}, abs=1e-6)
    limits = {"weight_floor": 0.4, "weight_ceiling": 0.7}
    assert found.calibration == pytest.approx(limits, abs=1e-6)


def test_both_rankings() -> None:
    found, documents = search()
    # By the question 3, 2, 1, 4. The expanded one lies at (.3, sqrt(1 - .09)) in the plane, nearest
    # to document 1, then to 2, 4 and 3.
    # In turn: 3, 1, 2, (2,) (1,) 4; so 4 has place 6.
    assert [d.document.iri for d in found.documents] == [documents[n] for n in (2, 0, 1, 3)]
    assert [1 / d.score for d in found.documents] == pytest.approx([1, 2, 3, 6])
    near = 0.3 * 0.2 + math.sqrt(1 - 0.3**2) * math.sqrt(1 - 0.2**2)
    assert found.documents[1].measures == pytest.approx(
        {"similarity": 0.2, "expanded": near}, abs=1e-6
    )
    # Ada and Bea are equally active in 1; Bea, and Cid through her, in 2 and 3.
    assert [d.entity for d in found.documents] == [CID, ADA, BEA, ""]
    assert [len(d.chain) for d in found.documents] == [2, 0, 1, 0]


def test_without_statements_the_ranking_is_that_of_the_question() -> None:
    found, documents = search(texts=0)
    assert [d.document.iri for d in found.documents] == [documents[n] for n in (2, 1, 0, 3)]


def test_facts_of_another_graph(tmp_path: Path) -> None:
    """They expand the question and are explained; only documents are found."""
    (tmp_path / "rivers.ttl").write_text(RIVERS)
    options: dict[str, Any] = {"embedder": HashEmbedder(), "endpoint": None}
    with sarag_rdf.open(tmp_path / "kg", **options) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        kg.import_graph(tmp_path / "rivers.ttl", "rdf", name="rivers", embed=False)
    with sarag_rdf.open(tmp_path / "kg", facts="rivers", **options) as kg:
        found = kg.search(
            "Which river flows through the seat of Orbis?", retriever="kg-infused:c=0.0:k=1"
        )
    assert {d.document.title for d in found.documents} == {"Ada", "Ulm", "Boris"}
    assert [seed.name for seed in found.seeds] == ["Orbis"]
    assert found.entities[0].iri.startswith(E)
    assert "Orbis seat Ulm" in [link.text for link in found.relationships]
    assert all(not d.entity for d in found.documents)
