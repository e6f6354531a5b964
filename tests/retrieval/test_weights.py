"""Activation weights: annotations of properties and classes, and those of one search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Retrieved
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.schemas import parse_weights
from sarag_rdf.retrieval.view import Engine
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.typed_graph import EX, index_people

QUESTION = "Whom did Emil Sand teach?"
PREFIXES = "@prefix sarag: <https://w3id.org/sarag/ontology#> .\n"
NARROWER = f"""
<{EX}teacher> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <{EX}knows> .
<{EX}knows> a <http://www.w3.org/2002/07/owl#ObjectProperty> .
<{EX}Chemist> a <http://www.w3.org/2002/07/owl#Class> ;
    <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{EX}Person> .
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of typed statements: teacher (from Ilse to Emil), birth places, a chemist."""
    folder = tmp_path_factory.mktemp("weights")
    with graph(folder / "kg") as kg:
        index_people(kg, folder)
    return folder / "kg"


@pytest.fixture
def kg(folder: Path, tmp_path: Path) -> Iterator[KnowledgeGraph]:
    export = tmp_path / "people.trig"
    with graph(folder) as original, export.open("wb") as stream:
        original.export("trig", stream)
    with graph(None) as copy:
        copy.restore(export)
        yield copy


def graph(folder: Path | None, engine: Engine = "auto") -> KnowledgeGraph:
    return sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, engine=engine)


def add(kg: KnowledgeGraph, folder: Path, turtle: str, name: str) -> None:
    path = folder / f"{name}.ttl"
    path.write_text(PREFIXES + turtle, encoding="utf-8")
    kg.ontologies.add(path)


def search(kg: KnowledgeGraph, **options: Any) -> Retrieved:
    return kg.search(QUESTION, **{"c": 0.0, "k": 0, "n": 1, **options})


def test_a_class_by_its_label_where_only_classes_are_stored(tmp_path: Path) -> None:
    owl, rdfs = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
    data = tmp_path / "boats.ttl"
    data.write_text(
        f"<{EX}x> a <{EX}Vessel> ; <{rdfs}label> 'Heron' ; <{EX}near> <{EX}y> .\n"
        f"<{EX}y> a <{EX}Buoy> ; <{rdfs}label> 'Otter' .\n"
        f"<{EX}Buoy> <{rdfs}label> 'floating mark'@en .\n"
        f"<{EX}a> <{rdfs}label> 'Anna' ; <{EX}knows> <{EX}b> . <{EX}b> <{rdfs}label> 'Bert' .\n"
    )
    with graph(tmp_path / "kg") as kg:
        kg.import_graph(data, "rdf")
        vessel = f'<{EX}Vessel> a <{owl}Class> ; <{rdfs}label> "sailing vessel"@en .'
        add(kg, tmp_path, vessel, "classes")

        for question, label, iri in (
            ("What is near Otter?", "Sailing vessel", "Vessel"),
            ("What is near Heron?", "floating mark", "Buoy"),
        ):
            for term in (label, EX + iri):
                found = kg.search(question, c=0.0, k=0, n=1, weights={term: 2})
                assert set(factors(found).values()) == {2.0}


def factors(found: Retrieved) -> dict[tuple[str, str], float]:
    """(origin, target) -> factor, of the steps between entities on all chains."""
    steps = [step for entity in found.entities for step in entity.chain]
    return {
        (found.names[step.origin], found.names[step.target]): step.factor
        for step in steps
        if step.kind == "related_to"
    }


def amounts(found: Retrieved) -> dict[str, float]:
    return {entity.name: entity.activation for entity in found.entities}


def test_without_weights_there_is_no_setting(kg: KnowledgeGraph) -> None:
    found = search(kg)
    assert "weights" not in found.settings
    assert set(factors(found).values()) == {1.0}
    assert amounts(found)["Ilse Brandt"] > 0


def test_an_annotation_multiplies_what_passes(kg: KnowledgeGraph, tmp_path: Path) -> None:
    before = search(kg)
    add(kg, tmp_path, f"<{EX}teacher> sarag:activationWeight 3 .", "weights")
    found = search(kg)
    assert found.settings["weights"] == f"<{EX}teacher>=3"
    assert factors(found)["Emil Sand", "Ilse Brandt"] == 3
    assert amounts(found)["Ilse Brandt"] > amounts(before)["Ilse Brandt"]
    assert amounts(found)["Linz"] == amounts(before)["Linz"]


def test_those_of_a_search_take_its_place(kg: KnowledgeGraph, tmp_path: Path) -> None:
    add(kg, tmp_path, f"<{EX}teacher> sarag:activationWeight 3 .", "weights")
    assert search(kg, weights={"teacher": 1}).settings["weights"] == f"<{EX}teacher>=1"
    plain = {**amounts(search(kg, weights={"teacher": 1}))}
    assert plain["Ilse Brandt"] < amounts(search(kg))["Ilse Brandt"]


@pytest.mark.parametrize("name", ["birth place", "birthPlace", f"{EX}birthPlace", "e:birthPlace"])
def test_zero_cuts_a_property_by_any_of_its_names(kg: KnowledgeGraph, name: str) -> None:
    assert ("Emil Sand", "Linz") in factors(search(kg))
    assert ("Emil Sand", "Linz") not in factors(search(kg, weights={name: 0}))


@pytest.mark.parametrize(("direction", "passes"), [("forward", False), ("backward", True)])
def test_direction(kg: KnowledgeGraph, tmp_path: Path, direction: str, passes: bool) -> None:
    """Ilse is the subject of `teacher`, and Emil the object, though the text says it inversely."""
    add(kg, tmp_path, f'<{EX}teacher> sarag:activationDirection "{direction}" .', "direction")
    found = search(kg)
    taught = next(link for link in found.subgraph.links if "taught" in link.text)
    used = {s.relationship for e in found.entities for s in e.chain if s.kind == "related_to"}
    assert (taught.relationship in used) is passes


def test_decay_of_a_property(kg: KnowledgeGraph, tmp_path: Path) -> None:
    add(kg, tmp_path, f"<{EX}birthPlace> sarag:activationDecay 0.0 .", "decay")
    assert ("Emil Sand", "Linz") not in factors(search(kg))


def test_classes_weigh_what_leads_to_their_instances(kg: KnowledgeGraph) -> None:
    before = search(kg)
    found = search(kg, weights={f"{EX}Chemist": 2, "Place": 0})
    assert factors(found) == {("Emil Sand", "Ilse Brandt"): 2.0}
    assert amounts(found)["Ilse Brandt"] > amounts(before)["Ilse Brandt"]


def test_narrower_terms_inherit(kg: KnowledgeGraph, tmp_path: Path) -> None:
    rules = f"<{EX}knows> sarag:activationWeight 2 . <{EX}Person> sarag:activationWeight 1.5 ."
    add(kg, tmp_path, NARROWER + rules, "rules")
    assert factors(search(kg))["Emil Sand", "Ilse Brandt"] == 3.0
    own = search(kg, weights={f"{EX}teacher": 1, f"{EX}Chemist": 1})
    assert factors(own)["Emil Sand", "Ilse Brandt"] <= 1.5


def test_both_engines_give_the_same(folder: Path) -> None:
    weights = {"teacher": 2.5, "birth place": 0.5, "Person": 1.2}
    found = []
    for engine in ("memory", "sparql"):
        with graph(folder, engine) as kg:
            found.append(search(kg, weights=weights))
    assert found[0] == found[1]
    assert factors(found[0])


def test_the_published_method_is_steered_too(kg: KnowledgeGraph) -> None:
    options: dict[str, Any] = {"retriever": "sarag-paper", "c": 0.0, "tau_a": 0.0, "tau_d": 0.0}
    before = kg.search(QUESTION, **options)
    found = kg.search(QUESTION, weights={"teacher": 0, "birth place": 0}, **options)
    assert found.settings["weights"]
    assert sum(amounts(found).values()) < sum(amounts(before).values())


def test_imported_edges_are_steered_by_their_predicates(tmp_path: Path) -> None:
    turtle = f"""
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . {PREFIXES}
    @prefix ex: <{EX}> .
    ex:ann rdfs:label "Ann Reed" ; ex:likes ex:bob ; ex:loathes ex:cid .
    ex:bob rdfs:label "Bob Hale" . ex:cid rdfs:label "Cid Moor" .
    ex:likes sarag:activationWeight 0 . ex:loathes sarag:activationWeight 0 .
    """
    (tmp_path / "friends.ttl").write_text(turtle, encoding="utf-8")
    with graph(tmp_path / "kg") as kg:
        kg.import_graph(tmp_path / "friends.ttl", "rdf")
    with sarag_rdf.open(
        tmp_path / "kg", embedder=HashEmbedder(), endpoint=None, over=["friends"]
    ) as kg:
        question = "Who is close to Ann Reed?"
        assert factors(kg.search(question, c=0.0, k=0, n=1)) == {}
        weights = {f"{EX}likes": 2, f"{EX}loathes": 2}
        found = kg.search(question, c=0.0, k=0, n=1, weights=weights)
        assert set(factors(found).values()) == {2.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"nothing": 1}}, "no such property or class: 'nothing'"),
        ({"weights": {"teacher": 4.1}}, "weight of teacher must be a number between 0 and 4"),
        ({"weights": {"teacher": -1}}, "between 0 and 4, not -1"),
        ({"weights": {"teacher": float("nan")}}, "between 0 and 4, not nan"),
        ({"weights": {"teacher": 2}, "retriever": "dense"}, "dense does not spread activation"),
    ],
)
def test_weights_that_cannot_be_used(
    folder: Path, options: Mapping[str, Any], message: str
) -> None:
    with graph(folder) as kg, pytest.raises(UsageError, match=message):
        kg.search(QUESTION, **options)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("sarag:activationWeight 5", "activation weight of <.*teacher> must be a number between"),
        ('sarag:activationWeight "much"', "between 0 and 4, not 'much'"),
        ("sarag:activationDecay 1.5", "decay of <.*teacher> must be a number between 0 and 1"),
        ('sarag:activationDirection "up"', "must be both, forward or backward, not 'up'"),
    ],
)
def test_annotations_that_are_not_allowed_are_errors(
    kg: KnowledgeGraph, tmp_path: Path, annotation: str, message: str
) -> None:
    path = tmp_path / "bad.ttl"
    path.write_text(
        f"{PREFIXES} <{EX}teacher> a rdf:Property ; {annotation} .".replace(
            "rdf:Property", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#Property>"
        )
    )
    findings = [f.message for f in kg.ontologies.check(path) if f.severity == "error"]
    assert len(findings) == 1
    kg.ontologies.add(path)
    with pytest.raises(UsageError, match=message):
        search(kg)


def test_weights_are_written_as_terms_and_numbers() -> None:
    assert parse_weights(["foaf:knows=2", " http://a/b?c=d = 0.5 "]) == {
        "foaf:knows": 2.0,
        "http://a/b?c=d": 0.5,
    }
    for text in ("foaf:knows", "=2", "foaf:knows=two", ""):
        with pytest.raises(UsageError, match="is not an activation weight: write TERM=WEIGHT"):
            parse_weights([text])


def test_on_the_command_line(folder: Path, sarag: Sarag) -> None:
    with graph(folder) as kg:
        search(kg)  # caches the vector of the question: the command has no such embedder
    arguments = ("search", QUESTION, "--kg", folder, "--retriever", "sarag:c=0:k=0:n=1")
    found = sarag(*arguments, "--explain", "--weight", "teacher=2", "--weight", "Place=0")
    assert found.code == 0, found
    assert f"<{EX}teacher>=2" in found.out
    assert "2 times its own" in found.out
    sarag(*arguments, "--weight", "teacher").fails(2, "write TERM=WEIGHT")
