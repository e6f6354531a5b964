"""Decisions about the classes of entities, by hand and by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UnparsableReplyError, UsageError
from sarag_rdf.base.iris import Minter, normalize_name
from sarag_rdf.base.ports import Reply, Table
from sarag_rdf.base.tabular import read_table
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source, Usage
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.proposals import ClassProposal
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import derived

MINTER = Minter()
EX = "https://campus.example/ontology#"
ONTOLOGY = f"""
@prefix ex: <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

ex:Organization a owl:Class ; rdfs:label "organization"@en .
ex:University a owl:Class ; rdfs:subClassOf ex:Organization ; rdfs:label "university"@en .
ex:Institute a owl:Class ; rdfs:subClassOf ex:Organization ; rdfs:label "institute"@en .
ex:Town a owl:Class ; rdfs:label "town"@en .
ex:teachesAt a owl:ObjectProperty ; rdfs:label "teaches at"@en ; rdfs:range ex:Institute .
"""
SOURCES = (
    Source("Ada teaches at Orbis University.", "", "ada.txt"),
    Source("Boris left Orbis University and Ulm.", "", "boris.txt"),
)


class StaffExtractor:
    """Ada and Boris are persons, and Orbis University is a place by mistake; Ada teaches there."""

    method = Method("staff", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction]:
        for document in documents:
            names = [n for n in ("Ada", "Boris", "Orbis University", "Ulm") if n in document.text]
            university = Mention("Orbis University", "geopolitical")
            people = [Mention(n, "person" if n in ("Ada", "Boris") else "misc") for n in names]
            mentions = [university if m.name == university.name else m for m in people]
            relations = [
                Relation(n, "teaches at", university.name, predicate=f"{EX}teachesAt")
                for n in names
                if n == "Ada"
            ]
            yield Extraction(tuple(mentions), tuple(relations))


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    (tmp_path / "campus.ttl").write_text(ONTOLOGY, encoding="utf-8")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as graph:
        graph.ontologies.add(tmp_path / "campus.ttl")
        graph.index(SOURCES, extractor=StaffExtractor())
        yield graph


def classes(kg: KnowledgeGraph, name: str) -> set[str]:
    """Local names of the classes of an entity."""
    entity = MINTER.entity(normalize_name(name))
    found = kg.query(f"SELECT ?class {{ GRAPH <{MINTER.kg_graph}> {{ <{entity}> a ?class }} }}")
    assert isinstance(found, Table)
    return {row[0].value.rpartition("#")[2] for row in found.rows} - {"Entity"}


def test_a_decided_type_replaces_that_of_the_documents(kg: KnowledgeGraph) -> None:
    before = derived(kg)
    assert classes(kg, "Orbis University") == {"Organization", "Institute"}, "as its class says"
    [decision] = kg.decisions.retype("Orbis University", "geopolitical", note="the campus")
    assert (decision.other, decision.note) == (SARAG.GeoPoliticalEntity.value, "the campus")
    assert classes(kg, "Orbis University") == {"GeoPoliticalEntity", "Institute"}
    derived(kg)
    kg.delete(["boris.txt"])
    kg.index(SOURCES, extractor=StaffExtractor())
    assert classes(kg, "Orbis University") == {"GeoPoliticalEntity", "Institute"}
    derived(kg)
    assert kg.decisions.list() == []
    assert kg.decisions.undo("Orbis University", "classes") == [decision]
    assert derived(kg) == before


def test_a_decided_class_replaces_those_that_follow_from_statements(kg: KnowledgeGraph) -> None:
    kg.decisions.retype("Orbis University", "ex:University")
    assert classes(kg, "Orbis University") == {"Organization", "University"}, "with its type"
    kg.decisions.retype("orbis university", "university", "geopolitical")
    assert classes(kg, "Orbis University") == {"GeoPoliticalEntity", "University"}
    assert len(kg.decisions.list("classes")) == 2
    derived(kg)


def test_a_later_decision_about_a_name_replaces_the_earlier_one(kg: KnowledgeGraph) -> None:
    kg.decisions.retype("Ulm", "sarag:Organization")
    kg.decisions.retype(MINTER.entity("ulm"), f"<{EX}Town>", "geopolitical")
    assert classes(kg, "Ulm") == {"GeoPoliticalEntity", "Town"}
    kg.decisions.retype("Ulm", "Town")
    assert classes(kg, "Ulm") == {"GeoPoliticalEntity", "Town"}
    derived(kg)


def test_a_decision_holds_for_the_entity_that_its_name_is_merged_into(kg: KnowledgeGraph) -> None:
    kg.decisions.retype("Ulm", "geopolitical")
    kg.decisions.merge("Orbis University", "Ulm")
    kg.decisions.retype("Orbis University", "sarag:Organization")  # its own name takes precedence
    assert classes(kg, "Orbis University") == {"Organization", "Institute"}
    derived(kg)
    kg.decisions.undo("Ulm")
    assert classes(kg, "Ulm") == {"GeoPoliticalEntity"}
    assert len(kg.decisions.list("classes")) == 2


def test_unknown_names_and_classes_are_refused(kg: KnowledgeGraph) -> None:
    with pytest.raises(UsageError, match="no entity 'Nobody' in this graph"):
        kg.decisions.retype("Nobody", "person")
    with pytest.raises(UsageError, match="no such class: 'village'"):
        kg.decisions.retype("Ulm", "village")
    with pytest.raises(UsageError, match="one entity type"):
        kg.decisions.retype("Ulm", "person", "misc")
    with pytest.raises(UsageError, match="give the class"):
        kg.decisions.retype("Ulm")
    with pytest.raises(UsageError, match="no decision: see sarag retype --list"):
        kg.decisions.undo(None, "classes")
    with pytest.raises(UsageError, match="choose from class-in-name, by-model"):
        kg.decisions.propose_classes("guess")


def test_a_name_of_an_entity_type_and_of_a_class_asks_which(kg: KnowledgeGraph) -> None:
    asked = f"'organization' .* give sarag:Organization for .* or <{EX}Organization> for the class"
    with pytest.raises(UsageError, match=asked):
        kg.decisions.retype("Ulm", "organization")
    [type_] = kg.decisions.retype("Ulm", "sarag:Organization")
    assert type_.other == SARAG.Organization.value
    [class_, *_] = kg.decisions.retype("Ulm", "ex:Organization")
    assert class_.other == f"{EX}Organization"
    with pytest.raises(UsageError, match="one entity type"):
        kg.decisions.retype("Ulm", "sarag:Organization", "person")
    proposal = ClassProposal(MINTER.entity("ulm"), "Ulm", f"{EX}Organization", "misc", 1)
    assert f"{EX}Organization" in kg.decisions.table([proposal], "classes"), "not 'organization'"


def test_a_rule_proposes_classes_that_a_reviewer_accepts(
    kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag
) -> None:
    listed = sarag("retype", "--rule", "class-in-name", "--dry-run").out.splitlines()
    assert listed == [
        f"Orbis University  ->  {EX}University",
        "1 entity would be retyped by class-in-name",
    ]
    sarag("retype", "--rule", "class-in-name", "--review", "classes.csv")
    path = tmp_path / "classes.csv"
    [row] = read_table(path, ())
    assert row.cells == {
        "decision": "",
        "name": "Orbis University",
        "class": "university",
        "type": "organization",
        "documents": "2",
        "rule": "class-in-name",
        "note": "",
        "entity": MINTER.entity("orbis university"),
    }
    undecided = sarag("retype", "--accept", "classes.csv").out
    assert undecided == "0 retyped: write accept in the column decision to retype an entity\n"
    path.write_text(path.read_text(encoding="utf-8").replace("\n,", "\naccept,"), encoding="utf-8")
    assert sarag("retype", "--accept", "classes.csv").out == "1 retyped\n"
    kg.reload()
    assert classes(kg, "Orbis University") == {"Organization", "University"}
    assert kg.decisions.propose_classes() == []
    told, type_ = json.loads(sarag("retype", "--list", "--json").out)
    assert SARAG.Organization.value in type_["decision"]
    assert told["decision"].startswith(f"Orbis University  belongs to  {EX}University  [class-in-")
    assert sarag("retype", "--undo", "class-in-name").out == "2 undone\n"
    kg.reload()
    assert len(kg.decisions.propose_classes()) == 1


def test_a_model_proposes_classes(tmp_path: Path) -> None:
    """Numbers that come back twice, or not at all, are asked about once more."""
    (tmp_path / "campus.ttl").write_text(ONTOLOGY, encoding="utf-8")
    label = {"Ada": "none of these", "Orbis University": "university", "Ulm": "town"}

    def reply(*skipped: str) -> Callable[[str], dict[str, Any]]:
        def labels(prompt: str) -> dict[str, Any]:
            lines = prompt.split("=== entities")[1].splitlines()[1:]
            named = [line.split(". ", 1) for line in lines if line[:1].isdigit()]
            rows = [
                {"entity": number, "type": kind}
                for number, text in named
                for name, kind in label.items()
                if text.startswith(name) and name not in skipped
            ]
            return {"labels": [*rows, rows[0]]}

        return labels

    llm = Labelling([reply("Ulm"), reply("Boris")])
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), llm=llm) as kg:
        kg.ontologies.add(tmp_path / "campus.ttl")
        kg.index(SOURCES, extractor=StaffExtractor())
        proposals = kg.decisions.propose_classes("by-model")
        assert len(llm.prompts) == 2
        assert "- university" in llm.prompts[0]
        assert not {"Ada", "Boris"} & {proposal.name for proposal in proposals}
        assert "Ulm" in {proposal.name for proposal in proposals}
        assert {proposal.rule for proposal in proposals} == {"by-model"}
        assert kg.decisions.list("classes") == []
        (tmp_path / "a.tsv").write_text(kg.decisions.table(proposals, "classes"), encoding="utf-8")
        assert kg.decisions.accept(tmp_path / "a.tsv", "classes").decisions == ()


def test_entities_without_a_usable_reply_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "campus.ttl").write_text(ONTOLOGY, encoding="utf-8")
    one = {"labels": [{"entity": "1", "type": "none of these"}]}
    nothing: dict[str, Any] = {"labels": []}
    llm = Labelling([lambda _: one, lambda _: nothing, lambda _: nothing])
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), llm=llm) as kg:
        kg.ontologies.add(tmp_path / "campus.ttl")
        kg.index(SOURCES, extractor=StaffExtractor())
        assert kg.decisions.propose_classes("by-model") == []
        assert "no usable reply of labelling about " in caplog.text
        with pytest.raises(UnparsableReplyError, match="could be used: try another model"):
            kg.decisions.propose_classes("by-model")


class Labelling:
    """A model that answers each call by a function of its prompt; then it has nothing to say."""

    model = "labelling"

    def __init__(self, replies: Sequence[Callable[[str], dict[str, Any]]]) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        assert name == "relabel_entities"
        self.prompts.append(prompt)
        return Reply(self.replies.pop(0)(prompt), Usage(1, 0, 10, 1))


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ("perhaps\tUlm\ttown", "row 2, column decision: 'perhaps' is no decision"),
        ("accept\tUlm\tvillage", "row 2, column class: no such class: 'village'"),
        ("accept\tNobody\ttown", "row 2, column name: no entity 'Nobody'"),
    ],
)
def test_errors_in_a_table_name_row_and_column(
    kg: KnowledgeGraph, tmp_path: Path, cells: str, complaint: str
) -> None:
    path = tmp_path / "classes.tsv"
    path.write_text(f"decision\tname\tclass\n{cells}\nyes\tUlm\ttown\n", encoding="utf-8")
    with pytest.raises(InputError, match=complaint) as caught:
        kg.decisions.accept(path, "classes")
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith("Nothing was changed")
    assert kg.decisions.list("classes") == []


def test_on_the_command_line(kg: KnowledgeGraph, sarag: Sarag) -> None:
    told = sarag("retype", "Ulm", "town", "geopolitical", "--note", "on the Danube").out
    assert len(told.splitlines()) == 2
    assert sarag("merge", "--list").out == ""
    assert sarag("retype", "Ulm").complaints == [
        "sarag: give NAME and CLASS, or one of --rule, --accept, --list, --undo"
    ]
    assert (
        sarag("retype", "--rule", "class-in-name")
        .complaints[0]
        .startswith("sarag: --rule decides nothing")
    )
    sarag("retype", "Ulm", "person", "--dry-run").fails(2, "--dry-run requires --rule")
    sarag("retype", "--undo", "Ulm", "--review", "t.tsv").fails(2, "--review requires --rule")
    assert sarag("merge", "--undo-all").complaints == ["sarag: no decision: see sarag merge --list"]
    assert sarag("retype", "--undo-all").out == "2 undone\n"
