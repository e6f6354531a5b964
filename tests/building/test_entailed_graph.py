"""The entailed graph changes with each change of what it follows from, in one transaction."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pyoxigraph as ox
import pytest
from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import EntailmentError, MissingDependencyError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change
from sarag_rdf.base.sandbox import Limits
from sarag_rdf.base.vocab import RDF
from sarag_rdf.building import entailed_graph, entailment
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.entailed_graph import (
    EntailingStore,
    entailment_errors,
    new_metadata,
)
from sarag_rdf.building.entailment import Axioms
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.graph.parts import StoredOntology, ontology_added, recorded_graphs
from sarag_rdf.graph.store.oxigraph import OxigraphStore

EX = "https://example.org/x#"
AXIOMS = f"""
@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:partOf a owl:TransitiveProperty . :cityOf rdfs:subPropertyOf :partOf .
:contains owl:inverseOf :partOf ; rdfs:domain :Place .
:knows a owl:SymmetricProperty ; rdfs:range :Person . :born rdfs:subPropertyOf :dated .
:City rdfs:subClassOf :Place . :Place rdfs:subClassOf :Thing .
"""
MINTER = Minter()
KG = NamedNode(MINTER.kg_graph)


def node(name: object) -> NamedNode:
    return NamedNode(f"{EX}{name}")


def quad(subject: object, property_: str, object_: object) -> Quad:
    value = object_ if isinstance(object_, Literal) else node(object_)
    return Quad(node(subject), RDF.type if property_ == "a" else node(property_), value, KG)


def ontology(reader: GraphReader, turtle: str = AXIOMS, name: str = "axioms") -> Change:
    """The change that stores an ontology."""
    triples = [quad.triple for quad in ox.parse(turtle.encode(), ox.RdfFormat.TURTLE)]
    stored = StoredOntology(name, MINTER.ontology_graph(name), f"file:///{name}.ttl", "0")
    content, metadata = ontology_added(reader, stored, triples)
    return Change((stored.graph,), metadata.delete, (*content, *metadata.insert))


@pytest.fixture
def reader() -> GraphReader:
    """A writer's reader of a graph with an ontology, for whose documents entailment is on."""
    reader = GraphReader(EntailingStore(OxigraphStore.in_memory(), MINTER), MINTER)
    Writer(reader).write_metadata("")
    reader.store.apply(with_revision(reader, ontology(reader)))
    reader.store.apply(Change(insert=new_metadata(MINTER, [MINTER.kg_graph])))
    return reader


def entailed(reader: GraphReader) -> set[str]:
    """The entailed triples with short names."""
    quads = reader.store.quads(MINTER.entailed_graph)
    return {" ".join(term.value.rpartition("#")[2] for term in quad.triple) for quad in quads}


def apply(reader: GraphReader, insert: Iterable[Quad], delete: Iterable[Quad] = ()) -> None:
    reader.store.apply(with_revision(reader, Change((), tuple(delete), tuple(insert))))


def refuse(*_: object) -> Iterator[object]:
    raise AssertionError("a reasoner was started")


def test_a_statement_and_what_follows_are_one_change(
    reader: GraphReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: list[Change] = []
    store = OxigraphStore.apply

    def noted(self: OxigraphStore, change: Change) -> None:
        changes.append(change)
        store(self, change)

    monkeypatch.setattr(OxigraphStore, "apply", noted)
    reader.store.apply(Change(insert=(quad("oslo", "cityOf", "norway"),)))
    [change] = changes
    assert {q.graph_name for q in change.insert} == {KG, NamedNode(MINTER.entailed_graph)}
    assert entailed(reader) == {
        "oslo partOf norway", "norway contains oslo", "norway type Place", "norway type Thing",
    }  # fmt: skip


def test_what_follows_from_a_chain_is_what_is_joined(reader: GraphReader) -> None:
    apply(reader, [quad(a, "cityOf", b) for a, b in ("ab", "bc", "de")])
    assert "a partOf c" in entailed(reader)
    apply(reader, [quad("c", "partOf", "d")])
    assert {"a partOf e", "e contains a"} <= entailed(reader)
    apply(reader, [], [quad("b", "cityOf", "c")])
    assert entailed(reader).isdisjoint({"a partOf e", "a partOf c", "b partOf c"})
    assert {"c partOf e", "a partOf b"} <= entailed(reader)


@pytest.mark.parametrize("seed", range(6))
def test_after_any_changes_it_is_a_fresh_closure(reader: GraphReader, seed: int) -> None:
    choose = random.Random(seed)
    properties = ("partOf", "cityOf", "contains", "knows", "born", "other", "a")
    stored: list[Quad] = []
    count = 0
    for _ in range(12):
        added = {
            quad(
                choose.randrange(9),
                property_,
                Literal(str(choose.randrange(3)))
                if property_ == "born"
                else choose.choice(("City", "Place", "Other"))
                if property_ == "a"
                else choose.randrange(9),
            )
            for property_ in choose.choices(properties, k=3)
        }
        removed = choose.sample(stored, min(len(stored), choose.randrange(4)))
        apply(reader, added, removed)
        stored = sorted({*stored}.difference(removed) | added, key=str)
        assert entailment_errors(reader) == (set(), set())
        count = max(count, len(entailed(reader)))
        if choose.random() < 0.3:  # another writer, who reads what is stored
            reader = GraphReader(EntailingStore(reader.store, MINTER), MINTER)
    assert count > 20


def test_it_follows_ontologies_and_the_graphs_that_it_is_on_for(reader: GraphReader) -> None:
    apply(reader, [quad("oslo", "a", "City")])
    assert entailed(reader) == {"oslo type Place", "oslo type Thing"}
    more = "<urn:x> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:y> ."
    apply(reader, ontology(reader, more.replace("urn:x", f"{EX}Thing"), "more").insert)
    assert entailed(reader) == {"oslo type Place", "oslo type Thing", "oslo type urn:y"}
    graph = MINTER.ontology_graph("axioms")
    reader.store.apply(with_revision(reader, Change((graph,))))
    assert entailed(reader) == set()
    reader.store.apply(with_revision(reader, ontology(reader)))
    assert entailed(reader) == {"oslo type Place", "oslo type Thing", "oslo type urn:y"}
    off = new_metadata(MINTER, [KG.value])
    reader.store.apply(Change(delete=off))
    assert entailed(reader) == set()
    assert recorded_graphs(MINTER, reader.store.quads(MINTER.meta_graph)) == set()


def test_nothing_is_reasoned_without_statements_that_matter(
    reader: GraphReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(reader, [quad("oslo", "a", "City")])
    monkeypatch.setattr(Axioms, "entailed", refuse)
    apply(reader, [quad("oslo", "other", "rome"), quad("oslo", "a", "Other")])
    elsewhere = Quad(node("x"), node("partOf"), node("y"), NamedNode("https://example.org/mine"))
    apply(reader, [elsewhere], [quad("oslo", "other", "rome")])
    assert entailed(reader) == {"oslo type Place", "oslo type Thing"}


def test_statements_that_nothing_joins_are_reasoned_about_in_batches(
    reader: GraphReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entailment, "BATCH", 4)
    chain = [quad(number, "partOf", number + 1) for number in range(5)]
    apply(reader, [*chain, *(quad(f"c{number}", "a", "City") for number in range(11))])
    sizes = [
        len(batch)
        for batch in entailed_graph.axioms_of(reader, [KG.value])._batches(
            quad.triple for quad in reader.store.quads(KG.value)
        )
    ]
    assert sorted(sizes) == [3, 4, 4, 5]
    assert entailment_errors(reader) == (set(), set())
    assert "0 partOf 5" in entailed(reader)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("LIMITS", Limits(0.001, 2 << 30), "the entailments need more than 0.001 seconds"),
        ("LIMITS", Limits(60, 100 << 20), "the entailments need more than 100 MiB of memory"),
        ("MAX_TRIPLES", 100, "there are more than 100 entailed triples"),
    ],
)
def test_beyond_a_limit_nothing_changes(
    reader: GraphReader, monkeypatch: pytest.MonkeyPatch, name: str, value: object, words: str
) -> None:
    apply(reader, [quad("oslo", "cityOf", "norway")])
    before = set(reader.store.quads())
    chain = [quad(number, "partOf", number + 1) for number in range(250)]
    with monkeypatch.context() as patched:
        patched.setattr(entailment, name, value)
        with pytest.raises(EntailmentError, match=f"{words}, so this change was not made: turn"):
            apply(reader, chain)
        assert set(reader.store.quads()) == before
        stored = OxigraphStore.in_memory()
        stored.load([*before, *chain])
        with pytest.raises(EntailmentError, match=f"{words}$"):
            entailment_errors(GraphReader(stored, MINTER))
    apply(reader, chain[:60])
    assert "0 partOf 60" in entailed(reader)


def test_the_limit_of_triples_is_that_of_the_graph(
    reader: GraphReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entailment, "MAX_TRIPLES", 5)
    apply(reader, [quad("oslo", "a", "City"), quad("rome", "a", "City")])
    with pytest.raises(EntailmentError, match="more than 5 entailed triples"):
        apply(reader, [quad("ulm", "a", "City")])
    apply(reader, [quad("ulm", "a", "Place")])
    assert len(entailed(reader)) == 5


def test_without_a_reasoner_nothing_is_written(
    reader: GraphReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(reader, [quad("oslo", "a", "City")])
    before = set(reader.store.quads())
    monkeypatch.setitem(__import__("sys").modules, "reasonable", None)
    words = r"pip install 'sarag-rdf\[entailment\]', or do without: sarag ontology entail --off"
    for change in (
        Change(insert=(quad("oslo", "other", "rome"),)),  # before documents that may state more
        Change(delete=(quad("oslo", "a", "City"),)),
        Change(drop=(MINTER.ontology_graph("axioms"),)),
    ):
        with pytest.raises(MissingDependencyError, match=words):
            reader.store.apply(with_revision(reader, change))
    assert set(reader.store.quads()) == before
    reader.store.apply(Change(delete=new_metadata(MINTER, [KG.value])))
    assert entailed(reader) == set()
    apply(reader, [quad("rome", "a", "City")])
