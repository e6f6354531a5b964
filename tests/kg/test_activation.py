"""Activation as RDF: valid by its shapes, from each document back to a seed, in fixed bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from pyoxigraph import NamedNode, Quad

import sarag_rdf
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.types import Answer, Retrieved, Usage
from sarag_rdf.base.vocab import PROV, RDF, RDFS, SARAG
from sarag_rdf.graph.store.shacl import read_shapes, validate
from sarag_rdf.kg import vectors
from sarag_rdf.kg.activation_export import activation_trig
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.fsck import fsck
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.retrieval.retriever import question_of
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag
from tests.sample_graph import make_graph

QUESTION = "Which river flows through the seat of Orbis?"
RETRIEVERS: dict[str, dict[str, Any]] = {
    "sarag": {},
    "sarag-paper": {"c": 0.1, "tau_a": 0.05, "tau_d": 0.0},
    "kg-infused": {"c": 0.2},
    "khop": {},
    "dense": {},
}
REPLIES: list[dict[str, Any]] = [
    {"numbers": [1]},
    {"numbers": [1]},
    {"summary": "Ada founded Orbis."},
    {"query": "Orbis Ulm"},
    {"note": "Orbis has its seat in Ulm, on the Danube."},
    {"note": "Ada founded Orbis, which has its seat in Ulm, on the Danube."},
    {"final_answer": "Danube"},
]


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = make_graph(tmp_path_factory.mktemp("activation") / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as opened:
        yield opened


def answered(kg: KnowledgeGraph) -> Answer:
    reasoner = kg.reasoner("kg-infused:seeds=1", kg.gather("sarag"), QueuedLLM(REPLIES))
    return reasoner.answer(question_of(QUESTION))


_CALLS = count()


def found(kg: KnowledgeGraph, name: str) -> Retrieved | Answer:
    if name == "answer":  # the cost of a call does not count, for it may be cached
        calls = next(_CALLS)
        return replace(answered(kg), usage=Usage(calls))
    return kg.search(QUESTION, retriever=name, **RETRIEVERS[name])


def quads(kg: KnowledgeGraph, name: str) -> list[Quad]:
    return list(ox.parse(kg.activation(found(kg, name)), format=ox.RdfFormat.TRIG))


class Asked:
    """What was written, as a store that answers SELECT over all its graphs."""

    def __init__(self, kg: KnowledgeGraph, name: str) -> None:
        self._store = ox.Store()
        self._store.extend(quads(kg, name))

    def rows(self, query: str) -> list[dict[str, str]]:
        found = self._store.query(query, use_default_graph_as_union=True)
        assert isinstance(found, ox.QuerySolutions)
        names = [variable.value for variable in found.variables]
        return [{n: row[n].value for n in names if row[n] is not None} for row in found]


@pytest.mark.parametrize("name", [*RETRIEVERS, "answer"])
def test_the_shapes_hold(kg: KnowledgeGraph, name: str) -> None:
    report = validate(read_shapes("activation-shapes.ttl"), quads(kg, name))
    assert report.conforms, report


@pytest.mark.parametrize("name", [*RETRIEVERS, "answer"])
def test_the_same_search_gives_the_same_bytes(kg: KnowledgeGraph, name: str) -> None:
    trig = kg.activation(found(kg, name))
    assert trig == kg.activation(found(kg, name))
    other = activation_trig(kg.search("Who taught Ada?", retriever="dense"), Minter())
    graphs = [{q.graph_name for q in ox.parse(t, format=ox.RdfFormat.TRIG)} for t in (trig, other)]
    assert (len(graphs[0]), graphs[0] & graphs[1]) == (1, set())
    assert b"_:" not in trig


REQUIRED = [
    (SARAG.Search, SARAG.question),
    (SARAG.Search, SARAG.retriever),
    (SARAG.Seed, SARAG.node),
    (SARAG.Seed, SARAG.amount),
    (SARAG.ActivationStep, SARAG.origin),
    (SARAG.ActivationStep, SARAG.target),
    (SARAG.ActivationStep, SARAG.via),
    (SARAG.ActivationStep, PROV.wasDerivedFrom),
    (SARAG.ActivationStep, PROV.wasGeneratedBy),
    (SARAG.SearchResult, SARAG.document),
    (SARAG.SearchResult, SARAG.rank),
    (SARAG.SearchResult, SARAG.score),
    (SARAG.Evidence, SARAG.text),
    (SARAG.Evidence, SARAG.beginIndex),
    (SARAG.Evidence, PROV.wasDerivedFrom),
    (SARAG.ModelCall, SARAG.model),
    (SARAG.ModelCall, SARAG.promptHash),
    (SARAG.Answering, PROV.wasInformedBy),
    (SARAG.Activation, SARAG.question),
    (SARAG.Answer, PROV.value),
]


def test_the_shapes_find_what_is_missing(kg: KnowledgeGraph) -> None:
    every = quads(kg, "answer")
    for class_, property_ in REQUIRED:
        nodes = {q.subject for q in every if q.predicate == RDF.type and q.object == class_}
        node = min(nodes, key=str)
        rest = [q for q in every if not (q.subject == node and q.predicate == property_)]
        assert len(rest) < len(every), (class_, property_)
        report = validate(read_shapes("activation-shapes.ttl"), rest)
        assert not report.conforms, (class_, property_)


def test_every_document_leads_back_to_a_seed(kg: KnowledgeGraph) -> None:
    searched = kg.search(QUESTION)
    rows = Asked(kg, "sarag").rows(
        f"""SELECT ?rank (COUNT(DISTINCT ?step) AS ?steps) (COUNT(DISTINCT ?seed) AS ?seeds) {{
          ?result {SARAG.rank} ?rank .
          OPTIONAL {{ ?result {PROV.wasDerivedFrom}+ ?step . ?step a {SARAG.ActivationStep} }}
          OPTIONAL {{ ?result {PROV.wasDerivedFrom}+ ?seed . ?seed a {SARAG.Seed} }}
        }} GROUP BY ?rank ORDER BY ?rank"""
    )
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    for row, ranked in zip(rows, searched.documents, strict=True):
        assert int(row["steps"]) >= len(ranked.chain) > 0
        assert int(row["seeds"]) > 0


def test_amounts_are_those_of_the_search(kg: KnowledgeGraph) -> None:
    asked = Asked(kg, "sarag")
    for step in {s for d in kg.search(QUESTION).documents for s in d.chain}:
        pattern = (
            f"{SARAG.origin} {NamedNode(step.origin)} ; {SARAG.target} {NamedNode(step.target)} ; "
            f"{SARAG.via} {NamedNode(step.relationship)} ; {SARAG.round} {step.round} ; "
            f"{SARAG.amount} ?amount"
        )
        [row] = asked.rows(f"SELECT ?amount {{ ?step {pattern} }}")
        assert float(row["amount"]) == pytest.approx(step.amount)


def test_statements_with_rounds_order_and_calls(kg: KnowledgeGraph) -> None:
    asked, answer = Asked(kg, "answer"), answered(kg)
    rows = asked.rows(
        f"""SELECT ?round ?order ?text ?place ?prompt ?hash ?model {{
          ?step {SARAG.round} ?round ; {SARAG.order} ?order ; {PROV.wasGeneratedBy} ?call ;
            {SARAG.via} ?statement .
          ?statement a {RDF.Statement} ; {RDFS.label} ?text .
          ?call {SARAG.order} ?place ; {SARAG.prompt} ?prompt ; {SARAG.promptHash} ?hash ;
            {SARAG.model} ?model .
        }} ORDER BY ?order"""
    )
    call = ("select_statements", PROMPTS.digest("select_statements"), "queued")
    assert [tuple(row.values()) for row in rows] == [
        ("1", "1", "Ada founded Orbis.", "1", *call),
        ("2", "2", "Orbis has its seat in Ulm.", "2", *call),
    ]
    [row] = asked.rows(
        f"SELECT ?value ?cited {{ ?answer a {SARAG.Answer} ; {PROV.value} ?value ; "
        f"{PROV.wasDerivedFrom} ?cited }}"
    )
    assert row == {"value": "Danube", "cited": answer.citations[0].document}
    calls = [stage for stage in answer.trace if stage.kind == "call"]
    assert len(asked.rows(f"SELECT ?call {{ ?call a {SARAG.ModelCall} }}")) == len(calls) == 7


def test_an_answer_without_a_model_is_its_search(kg: KnowledgeGraph) -> None:
    written = ox.parse(kg.activation(kg.ask(QUESTION)), format=ox.RdfFormat.TRIG)
    report = validate(read_shapes("activation-shapes.ttl"), written)
    assert report.conforms, report


def test_why_was_this_passage_found(kg: KnowledgeGraph) -> None:
    rows = Asked(kg, "sarag").rows(query_file("examples", "14-why-activation-found-a-passage").text)
    first = [row for row in rows if row["rank"] == "1"]
    assert [row["round"] for row in first] == sorted(row["round"] for row in first)
    assert first[0]["from"] in {seed.name for seed in kg.search(QUESTION).seeds}
    assert {"describes"} <= {row["statement"] for row in rows if "statement" in row}


def test_an_activation_is_not_traversed(tmp_path: Path) -> None:
    folder = make_graph(tmp_path / "kg")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        before = kg.search(QUESTION)
        loaded = quads(kg, "sarag")
        with kg.session.write() as reader:
            reader.store.apply(Change(insert=tuple(loaded)))
        assert kg.search(QUESTION) == before
        assert kg.validate().conforms
        assert fsck(kg).in_order


def test_on_the_command_line(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_graph(tmp_path / "kg")
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    for command in ("search", "ask"):
        done = sarag(command, QUESTION, "--activation", "found.trig")
        assert (done.code, done.err) == (0, "sarag: activation written to found.trig\n")
        text = (tmp_path / "found.trig").read_bytes()
        assert list(ox.parse(text, format=ox.RdfFormat.TRIG))
    done = sarag("search", QUESTION, "--activation", "found.ttl")
    assert (done.code, "ends in .trig" in done.err) == (2, True)
    done = sarag("ask", QUESTION, "--activation", "no/such/found.trig")
    assert (done.code, "existing folder" in done.err) == (2, True)
