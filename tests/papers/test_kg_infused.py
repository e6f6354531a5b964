"""KG-Infused RAG: what is offered, selected, asked, read and remembered, stage by stage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.answering.conversation import NO_EVIDENCE
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import UnparsableReplyError, UsageError
from sarag_rdf.base.ports import Reasoner
from sarag_rdf.base.types import Answer, Source
from sarag_rdf.kg.evidence import answer_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.papers.kg_infused import NO_NOTE
from sarag_rdf.plugins.papers.with_facts import SelfAsk
from sarag_rdf.retrieval.retriever import question_of
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.answering.sample import answer_of, told
from tests.command import Sarag
from tests.sample_graph import SOURCES, CapitalExtractor
from tests.servers import Server

QUESTION = "Which river flows through the seat of Orbis?"
E = "https://example.org/e/"
RIVERS = """
@prefix e: <https://example.org/e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:Orbis rdfs:label "Orbis" ; rdfs:comment "Orbis with a seat" ; e:seat e:Ulm ; e:form e:Guild .
e:Ulm rdfs:label "Ulm" ; rdfs:comment "A town" ; e:liesOn e:Danube ; e:mayor e:Orbis .
e:Danube rdfs:label "Danube" ; rdfs:comment "Water" ; e:flowsTo e:Sea .
e:Guild rdfs:label "Guild" ; rdfs:comment "Something else" .
e:Sea rdfs:label "Black Sea" ; rdfs:comment "More water" .
"""
"""Offered first: 1. Orbis seat Ulm (the nearer), 2. Orbis form Guild; then the two of Ulm."""
SUMMARY = {"summary": "Orbis has its seat in Ulm,\nwhich lies on the Danube."}
QUERY = {"query": "Ulm Danube"}
NOTE = {"note": "Ulm lies on the Danube."}
BETTER = {"note": "Orbis has its seat in Ulm. Ulm lies on the Danube."}
FINAL = {"final_answer": "Danube"}
ONE = "kg-infused:seeds=1"


def numbers(*chosen: int) -> dict[str, Any]:
    return {"numbers": list(chosen)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of three documents with an imported graph of rivers."""
    path = tmp_path_factory.mktemp("infused")
    (path / "rivers.ttl").write_text(RIVERS)
    with sarag_rdf.open(path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        kg.import_graph(path / "rivers.ttl", "rdf", name="rivers", embed=False)
    return path / "kg"


@pytest.fixture
def llm() -> QueuedLLM:
    return QueuedLLM([])


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[KnowledgeGraph]:
    """The graph whose documents are searched, and whose rivers are activated."""
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, facts="rivers") as kg:
        yield kg


def kg_reasoner(kg: KnowledgeGraph, reasoner: str, llm: QueuedLLM) -> Reasoner:
    return kg.reasoner(reasoner, kg.gather("dense"), llm)


def asked(kg: KnowledgeGraph, llm: QueuedLLM, reasoner: str) -> Answer:
    return kg_reasoner(kg, reasoner, llm).answer(question_of(QUESTION))


def test_an_empty_note_is_not_taken_for_a_search_without_documents(opened: KnowledgeGraph) -> None:
    answer = asked(opened, QueuedLLM([{"note": " "}]), "kg-infused:baseline=rag")
    assert (answer.outcome, answer.reasoning) == ("insufficient", NO_NOTE)


def test_all_stages(opened: KnowledgeGraph) -> None:
    llm = QueuedLLM([numbers(1), numbers(2), SUMMARY, QUERY, NOTE, BETTER, FINAL])
    answer = asked(opened, llm, ONE)
    assert told(answer) == [
        "call select_statements",
        "call select_statements",
        "note activation",
        "call summarize_statements",
        "call expand_question",
        f"retrieval: {QUESTION}",
        "retrieval: Ulm Danube",
        "call passage_note",
        "call augment_note",
        "call answer_from_note",
    ]
    first, second, summary, expansion, note, better, final = llm.prompts
    assert [line for line in first.splitlines() if " | " in line][1:] == [
        "1. Orbis | seat | Ulm",
        "2. Orbis | form | Guild",
    ]
    offered = [line for line in second.splitlines() if " | " in line][1:]
    assert offered == [
        "- Orbis | seat | Ulm",
        "1. Ulm | mayor | Orbis",
        "2. Ulm | lies on | Danube",
    ]
    assert "- Orbis | seat | Ulm\n- Ulm | lies on | Danube\n" in summary
    assert "Orbis has its seat in Ulm, which lies on the Danube.\n" in expansion
    assert "Ulm lies on the Danube. The Danube flows to Tulcea." in note
    assert NOTE["note"] in better
    assert "which lies on the Danube" in better
    assert BETTER["note"] in final
    assert SOURCES[1].text not in final
    assert (answer.outcome, answer.text, answer.reasoning) == ("answered", "Danube", BETTER["note"])
    assert [citation.title for citation in answer.citations] == ["Ulm"]
    assert answer.usage.calls == 7
    assert answer.model == "queued"
    calls = [stage.prompt for stage in answer.trace if stage.kind == "call"]
    assert calls == llm.prompts


def test_the_memory(opened: KnowledgeGraph) -> None:
    llm = QueuedLLM([numbers(1, 2), numbers(2, 2), SUMMARY, QUERY, NOTE, BETTER, FINAL])
    answer = asked(opened, llm, ONE)
    [memory] = answer.activations
    assert (memory.question, memory.rounds) == (QUESTION, 2)
    [seed] = memory.seeds
    assert (seed.node, seed.name) == (f"{E}Orbis", "Orbis")
    assert seed.reason == "description: Orbis with a seat"
    assert [
        (s.round, s.order, s.call, s.statement.predicate.removeprefix(E), s.end.removeprefix(E))
        for s in memory.selections
    ] == [(1, 1, 0, "seat", "Ulm"), (1, 2, 0, "form", "Guild"), (2, 3, 1, "liesOn", "Danube")]
    assert memory.selections[0].statement.iri.startswith("urn:sarag:statement:")
    assert memory.selections[0].statement.text == "Orbis seat Ulm"
    assert json.loads(json.dumps(answer_to_dict(answer)))["activations"][0]["question"] == QUESTION


def test_an_entity_without_statements_is_no_seed(opened: KnowledgeGraph) -> None:
    """Equation 3: Guild has the description that is nearest, but no triple starts there."""
    question = "Something else, something else with a seat"
    for reasoner, seed in ((ONE, "Orbis"), (f"{ONE}:inverse=true", "Guild")):
        llm = QueuedLLM([numbers(), QUERY, NOTE, FINAL])
        answer = kg_reasoner(opened, reasoner, llm).answer(question_of(question))
        assert [each.name for each in answer.activations[0].seeds] == [seed]


def test_no_entity_is_activated_twice(opened: KnowledgeGraph) -> None:
    """The mayor of Ulm leads back to Orbis, and the guild leads nowhere."""
    replies = [numbers(2), SUMMARY, QUERY, NOTE, BETTER, FINAL]
    assert len(asked(opened, QueuedLLM(replies), f"{ONE}:rounds=6").trace) == 9
    replies = [numbers(1), numbers(1), SUMMARY, QUERY, NOTE, BETTER, FINAL]
    memory = asked(opened, QueuedLLM(replies), f"{ONE}:rounds=6").activations[0]
    assert [s.round for s in memory.selections] == [1, 2]


def test_a_selection_of_nothing_ends_the_rounds(opened: KnowledgeGraph) -> None:
    llm = QueuedLLM([numbers(1), numbers(), SUMMARY, QUERY, NOTE, BETTER, FINAL])
    assert asked(opened, llm, f"{ONE}:rounds=6").activations[0].rounds == 1
    # With nothing at all the question is expanded without facts, and no note is augmented.
    llm = QueuedLLM([numbers(), QUERY, NOTE, FINAL])
    answer = asked(opened, llm, ONE)
    assert [call.name for call in llm.calls] == [
        "select_statements",
        "expand_question",
        "passage_note",
        "answer_from_note",
    ]
    assert "=== facts" not in llm.prompts[1]
    assert answer.activations[0].selections == ()


ACTIVATED = ["select_statements", "summarize_statements"]


@pytest.mark.parametrize(
    ("options", "calls", "searches"),
    [
        ("baseline=no-retrieval", ["answer_from_note"], 0),
        ("baseline=rag", ["passage_note", "answer_from_note"], 1),
        ("baseline=expansion", ["expand_question", "passage_note", "answer_from_note"], 2),
        ("expansion=false", [*ACTIVATED, "passage_note", "augment_note", "answer_from_note"], 1),
        (
            "augmentation=false",
            [*ACTIVATED, "expand_question", "passage_note", "answer_from_note"],
            2,
        ),
        ("expansion=false:augmentation=false", ["passage_note", "answer_from_note"], 1),
    ],
)
def test_baselines_and_ablations(
    opened: KnowledgeGraph, options: str, calls: list[str], searches: int
) -> None:
    replies = {
        "select_statements": numbers(2),
        "summarize_statements": SUMMARY,
        "expand_question": QUERY,
        "passage_note": NOTE,
        "augment_note": BETTER,
        "answer_from_note": FINAL,
    }
    llm = QueuedLLM([replies[name] for name in calls])
    answer = asked(opened, llm, f"{ONE}:rounds=1:{options}")
    assert [call.name for call in llm.calls] == calls
    assert len(answer.evidence) == searches
    assert (answer.outcome, answer.text) == ("answered", "Danube")
    assert answer.evidence or answer.citations == ()


@pytest.mark.parametrize(("passages", "read"), [(2, [1, 1]), (3, [2, 1]), (6, [3, 3])])
def test_half_of_the_passages_are_for_each_question(
    opened: KnowledgeGraph, passages: int, read: list[int]
) -> None:
    llm = QueuedLLM([QUERY, NOTE, FINAL])
    answer = asked(opened, llm, f"kg-infused:baseline=expansion:passages={passages}")
    assert [len(e.context.excerpts) for e in answer.evidence] == read
    documents = {iri for e in answer.evidence for x in e.context.excerpts.values()
                 for iri in [x.document.iri]}  # fmt: skip
    assert llm.prompts[1].count("\n=== D") == len(documents) <= passages


def test_an_expansion_that_repeats_the_question_is_not_searched_for(opened: KnowledgeGraph) -> None:
    llm = QueuedLLM([{"query": "which river flows through the seat of Orbis"}, NOTE, FINAL])
    answer = asked(opened, llm, "kg-infused:baseline=expansion:passages=2")
    assert [len(e.context.excerpts) for e in answer.evidence] == [2]


def test_statements_that_end_at_an_entity(opened: KnowledgeGraph) -> None:
    llm = QueuedLLM([numbers(3, 2), SUMMARY, QUERY, NOTE, BETTER, FINAL])
    answer = asked(opened, llm, f"{ONE}:rounds=1:inverse=true")
    chosen = answer.activations[0].selections
    found = {(s.statement.subject_name, s.end.removeprefix(E)) for s in chosen}
    assert found == {("Orbis", "Guild"), ("Ulm", "Ulm")}


def test_a_round_selects_no_more_than_it_may(opened: KnowledgeGraph) -> None:
    llm = QueuedLLM([numbers(1), numbers(), SUMMARY, QUERY, NOTE, BETTER, FINAL])
    asked(opened, llm, f"{ONE}:selected=1")
    numbers_ = llm.calls[0].schema["properties"]["numbers"]
    assert (numbers_["maxItems"], numbers_["items"]["enum"]) == (1, [1, 2])


def test_of_many_statements_some_are_offered(opened: KnowledgeGraph) -> None:
    prompts = []
    for _ in range(2):
        llm = QueuedLLM([numbers(), QUERY, NOTE, FINAL])
        asked(opened, llm, f"{ONE}:statements=1")
        prompts.append(llm.prompts[0])
    assert prompts[0] == prompts[1]
    assert ("2. " in prompts[0], "1. Orbis | " in prompts[0]) == (False, True)
    assert "1. Orbis | seat | Ulm" in prompts[0]  # It shares the word seat with the question.


def test_a_number_that_was_not_offered(opened: KnowledgeGraph) -> None:
    with pytest.raises(UnparsableReplyError, match="is not one of"):
        asked(opened, QueuedLLM([numbers(3)]), ONE)


def test_nothing_is_found(folder: Path) -> None:
    """Without documents the summary is the note; without facts, too, nothing is asked."""
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source("no names here")], extractor=CapitalExtractor())
        gather = kg.gather("bm25")
        llm = QueuedLLM([QUERY])
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, facts="rivers") as own:
            asked = question_of(QUESTION)
            answer = kg.reasoner("kg-infused", gather, llm).answer(asked)
            assert (answer.outcome, answer.reasoning) == ("insufficient", NO_EVIDENCE)
            llm = QueuedLLM([numbers(2), SUMMARY, QUERY, FINAL])
            answer = own.reasoner(f"{ONE}:rounds=1", gather, llm).answer(asked)
            assert answer.reasoning == " ".join(SUMMARY["summary"].split())
            assert answer.text == "Danube"


# ------------------------------------------------------------------------- Which graph


def test_the_graph_of_the_documents_has_facts(folder: Path) -> None:
    """A statement in several documents is offered once, and its sentence is its text."""
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, facts="documents") as kg:
        llm = QueuedLLM([numbers(1), SUMMARY, QUERY, NOTE, BETTER, FINAL])
        answer = asked(kg, llm, f"{ONE}:rounds=1")
        assert "1. Ada | with | Orbis" in llm.prompts[0]
        [chosen] = answer.activations[0].selections
        assert chosen.statement.text == "Ada founded Orbis."
        assert (chosen.statement.predicate, chosen.statement.phrase) == ("", "with")


def test_what_is_searched_beside_the_facts(folder: Path) -> None:
    def sources(**options: Any) -> set[str]:
        with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, **options) as kg:
            found = kg.search(QUESTION, retriever="dense")
        return {"page" if d.document.iri.startswith(E) else "document" for d in found.documents}

    assert sources() == {"page", "document"}
    assert sources(facts="rivers") == {"document"}
    assert sources(facts="documents") == {"page", "document"}
    assert sources(facts="rivers", over=["rivers", "documents"]) == {"page", "document"}
    with pytest.raises(UsageError, match=r"no such graph: 'river'.*did you mean rivers"):
        sources(facts="river")


def test_only_descriptions_are_embedded(folder: Path) -> None:
    """A large graph has far more relationships and pages."""
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, facts="rivers") as kg:
        asked(kg, QueuedLLM([numbers(), QUERY, NOTE, FINAL]), ONE)
        with kg.session.read() as snapshot:
            assert set(snapshot.view.facts.vectors._indexes) == {"description"}


def test_an_endpoint_has_facts(
    oxigraph: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    oxigraph.clear()
    import pyoxigraph as ox

    quads = [
        ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode(f"{E}graph"))
        for t in ox.parse(RIVERS.encode(), format=ox.RdfFormat.TURTLE)
    ]
    oxigraph.load(ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"")
    facts = SparqlEndpoint(oxigraph.query_url, kind="rdf", graph=f"{E}graph")
    options: dict[str, Any] = {"facts": facts, "over": ["documents"], "endpoint": None}
    with sarag_rdf.open(folder, embedder=HashEmbedder(), **options) as kg:
        llm = QueuedLLM([numbers(1), numbers(2), SUMMARY, QUERY, NOTE, BETTER, FINAL])
        answer = asked(kg, llm, ONE)
    assert [s.statement.text for s in answer.activations[0].selections] == [
        "Orbis seat Ulm",
        "Ulm lies on Danube",
    ]
    documents = [e.document.iri for e in answer.evidence[0].context.excerpts.values()]
    assert not any(iri.startswith(E) for iri in documents)


def test_an_unknown_graph_on_the_command_line(sarag: Sarag, folder: Path) -> None:
    done = sarag("ask", QUESTION, "--kg", folder, "--facts", "lakes")
    assert done.code == 2
    assert "no such graph: 'lakes': use one of" in done.err


# --------------------------------------------------------------------- In other reasoners


def test_self_ask_with_facts(opened: KnowledgeGraph) -> None:
    """A follow-up question is answered as by kg-infused, and only it."""
    follow_up = {"needs_follow_up": True, "follow_up": "Where is Orbis?", "final_answer": ""}
    final = {"needs_follow_up": False, "follow_up": "", "final_answer": "Danube"}
    infused = [numbers(1), SUMMARY, QUERY, NOTE, BETTER, {"final_answer": "Ulm"}]
    llm = QueuedLLM([follow_up, *infused, final])
    answer = asked(opened, llm, "self-ask:facts=true:rounds=1")
    assert told(answer) == [
        "call self_ask",
        "call select_statements",
        "note activation",
        "call summarize_statements",
        "call expand_question",
        "retrieval: Where is Orbis?",
        "retrieval: Ulm Danube",
        "call passage_note",
        "call augment_note",
        "call answer_from_note",
        "call self_ask",
    ]
    assert [memory.question for memory in answer.activations] == ["Where is Orbis?"]
    assert all("Where is Orbis?" in prompt for prompt in llm.prompts[1:])
    assert (answer.text, answer.reasoning) == ("Danube", "Where is Orbis? Ulm")
    assert answer.citations
    llm = QueuedLLM([{"needs_follow_up": True, "follow_up": "Where?", "final_answer": ""}])
    with pytest.raises(UsageError, match="reads the graph"):
        answer_of(SelfAsk(facts=True), opened.gather("dense"), llm)


def better(answer: bool) -> dict[str, Any]:
    return {"second_is_better": answer}


def test_a_note_is_replaced_by_a_better_one(opened: KnowledgeGraph) -> None:
    second = {"note": "Ulm lies on the Danube, which flows to Tulcea."}
    worse = {"note": "Ulm."}
    llm = QueuedLLM(
        [NOTE, {"query": "Tulcea"}, second, better(True), QUERY, worse, better(False),
         {"query": " tulcea"}, FINAL]
    )  # fmt: skip
    answer = asked(opened, llm, "deepnote")
    assert told(answer) == [
        f"retrieval: {QUESTION}",
        "call passage_note",
        "call refine_query",
        "retrieval: Tulcea",
        "call update_note",
        "call compare_notes",
        "call refine_query",
        "retrieval: Ulm Danube",
        "call update_note",
        "call compare_notes",
        "call refine_query",
        "call answer_from_note",
    ]
    assert answer.reasoning == second["note"]
    assert second["note"] in llm.prompts[-1]
    assert f"- {QUESTION}\n- Tulcea\n" in llm.prompts[4]


@pytest.mark.parametrize(("failures", "searches"), [(1, 2), (2, 3), (3, 4)])
def test_notes_that_are_no_better(opened: KnowledgeGraph, failures: int, searches: int) -> None:
    turns = [
        reply
        for number in range(failures)
        for reply in ({"query": f"Query {number}"}, {"note": f"Note {number}"}, better(False))
    ]
    answer = asked(opened, QueuedLLM([NOTE, *turns, FINAL]), f"deepnote:failures={failures}")
    assert len(answer.evidence) == searches
    assert answer.reasoning == NOTE["note"]


def test_deepnote_with_facts(opened: KnowledgeGraph) -> None:
    """The facts join the first note and each later one; queries are refined without them."""
    llm = QueuedLLM(
        [numbers(1), SUMMARY, NOTE, BETTER, {"query": "Tulcea"}, {"note": "New."},
         {"note": "New, with facts."}, better(True), {"query": ""}, FINAL]
    )  # fmt: skip
    options = "steps=2:rounds=1:facts=true"
    answer = asked(opened, llm, f"deepnote:{options}")
    assert [call.name for call in llm.calls if call.name == "augment_note"] == ["augment_note"] * 2
    assert answer.reasoning == "New, with facts."
    assert len(answer.activations) == 1


def test_self_rag_with_facts(opened: KnowledgeGraph) -> None:
    """Passages for question and expansion; a note on each alone, with the facts worked in."""
    judged: dict[str, Any] = {
        "relevant": True,
        "final_answer": "Danube",
        "support": "fully",
        "utility": 5,
    }
    each = [NOTE, BETTER, {**judged, "final_answer": "Rhine", "utility": 4}, NOTE, BETTER, judged]
    llm = QueuedLLM([numbers(1), SUMMARY, QUERY, *each])
    answer = asked(opened, llm, "self-rag:facts=true:rounds=1:passages=2")
    assert told(answer) == [
        "call select_statements",
        "note activation",
        "call summarize_statements",
        "call expand_question",
        f"retrieval: {QUESTION}",
        "retrieval: Ulm Danube",
        *["call passage_note", "call augment_note", "call self_rag"] * 2,
        "note reflection",
    ]
    assert (answer.text, len(answer.activations)) == ("Danube", 1)
    notes = [call.prompt for call in llm.calls if call.name == "passage_note"]
    titles = [excerpt.document for e in answer.evidence for excerpt in e.context.excerpts.values()]
    assert [document.text in notes[0] for document in titles] == [True, False]
    assert [document.text in notes[1] for document in titles] == [False, True]
    assert all(BETTER["note"] in call.prompt for call in llm.calls if call.name == "self_rag")
    nothing = QueuedLLM([numbers(), {"query": ""}, judged, judged])
    answer = asked(opened, nothing, "self-rag:facts=true:passages=2")
    assert [call.name for call in nothing.calls][-2:] == ["self_rag", "self_rag"]
