"""Relation paths over a small graph of films that brings its own phrases."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UnparsableReplyError
from sarag_rdf.base.ports import Reply
from sarag_rdf.base.types import (
    Document,
    Extraction,
    Mention,
    Method,
    Query,
    Relation,
    RelationPath,
    Source,
    Usage,
    Value,
)
from sarag_rdf.base.vocab import XSD
from sarag_rdf.cli.answers import show_retrieved
from sarag_rdf.extraction.text_values import find_values
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.datasets import Question, read_questions
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.evaluation.path_questions import (
    evaluate_paths,
    examples,
    read_files,
    relation_paths,
)
from sarag_rdf.plugins.relation_paths import path_index, path_lookup, superlatives
from sarag_rdf.plugins.relation_paths.fitting import (
    Example,
    Offers,
    calibrated,
    fit_model,
    fitted,
    offers,
)
from sarag_rdf.plugins.relation_paths.path_model import (
    FEATURES,
    Hop,
    PathSchema,
    packaged_model,
    read_model,
    read_schema,
)
from sarag_rdf.plugins.relation_paths.paths import PathSearch
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.graphs import MINTER, view_of
from tests.sample_graph import CapitalExtractor

FILMS = "https://films.example.org/"
STEP = {"the children of the parents of the person"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "films.ttl"
DIRECTOR, ACTOR, LANGUAGE = (Hop(FILMS + name) for name in ("director", "actor", "language"))


@pytest.fixture(scope="module")
def kg() -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["films"]) as graph:
        graph.import_graph(EXAMPLE, "rdf", name="films")
        yield graph


def paths_of(kg: KnowledgeGraph, **options: Any) -> PathSearch:
    found = kg.retriever("paths", **options)
    return relation_paths(found)


def followed(kg: KnowledgeGraph, topic: str, *hops: Hop, **options: Any) -> RelationPath:
    paths = paths_of(kg, **options)
    [about] = paths.topics(f"[{topic}]")
    return paths.follow_hops(about, hops)


def names(path: RelationPath) -> list[str]:
    return [answer.name for answer in path.answers]


def test_the_schema_in_use(kg: KnowledgeGraph) -> None:
    schema = paths_of(kg).index.schema
    assert {hop.predicate for hop in schema.hops} == {
        FILMS + n for n in ("director", "actor", "language")
    }
    assert schema.kinds[DIRECTOR.start] == "film"
    assert schema.kinds[DIRECTOR.end] == "person"
    assert schema.fan_out[ACTOR.start] == pytest.approx(5 / 3)
    assert schema.fan_out[LANGUAGE.reverse.start] == pytest.approx(3 / 2)
    # A director of one film acts in another; nobody is a language.
    assert ACTOR.reverse in schema.after(DIRECTOR)
    assert LANGUAGE not in schema.after(LANGUAGE)
    assert PathSchema(**json.loads(schema.to_json())) == schema


def test_paths_in_words(kg: KnowledgeGraph) -> None:
    schema = paths_of(kg).index.schema
    texts = packaged_model().texts(schema, (DIRECTOR, DIRECTOR.reverse, LANGUAGE))
    assert texts == (
        "the languages of the films directed by the directors of the film",
        "the languages of the films directed by who directed the film",
    )


def test_phrases_without_annotations() -> None:
    hop = Hop("urn:p")
    kinds = {"+urn:p": "film", "-urn:p": "city"}
    for label, forward, inverse in (
        ("birth place", "birth place of", "films with the birth place"),
        ("filmed in", "cities (filmed in) of", "films filmed in"),
        ("part of", "cities with the part", "part of"),
        ("has genre", "genre of", "films with the genre"),
    ):
        schema = PathSchema({"urn:p": label}, kinds, {hop.start: 1.0, hop.end: 1.0})
        assert packaged_model().phrases(schema, hop) == (forward,)
        assert packaged_model().phrases(schema, hop.reverse) == (inverse,)


def test_properties_of_other_graphs_are_known_by_their_names(tmp_path: Path) -> None:
    """A mayor is a head of state only by another name of it; a birth that is a thing is no date."""
    (tmp_path / "a.ttl").write_text("""
        PREFIX : <https://towns.example/>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        :ulm rdfs:label "Ulm" ; :birthDate "1377"^^xsd:gYear ; :inhabitants 9 ; :mayor :ida .
        :ida rdfs:label "Ida" ; :P19 :ulm ; :death_date :feast . :feast rdfs:label "a feast" .
        :P19 rdfs:label "place of birth"@en .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["a"]) as kg:
        kg.import_graph(tmp_path / "a.ttl", "rdf", name="a")
        schema = paths_of(kg).index.schema
    phrases = {
        start.replace("https://towns.example/", ""): p for start, p in schema.packaged.items()
    }
    assert phrases == {
        "+birthDate": ["date of birth of", "when was born"],
        "+inhabitants": ["population of", "how many inhabitants has"],
        "+P19": ["birthplaces of"],
        "-P19": ["people born in"],
    }
    assert packaged_model().asked("How high is it?") == "number"
    assert packaged_model().asked("How many are there?") == ""


def test_the_packaged_ontology_has_a_phrase_for_each_direction() -> None:
    properties = common_schema().properties.values()
    between_things = [each.iri for each in properties if not each.is_literal]
    assert len(between_things) > 30
    for iri in between_things:
        for hop in (Hop(iri), Hop(iri, True)):
            schema = PathSchema({iri: "label"}, {hop.start: "thing"}, {hop.start: 1.0})
            phrase = packaged_model().noun_phrase(schema, hop)
            assert "label" not in phrase, f"no phrase for {hop} in ontology/phrases.ttl"
            assert packaged_model().is_plural(schema, hop), phrase


def test_annotated_phrases_come_before_those_of_texts() -> None:
    hop = Hop("urn:p", True)
    stated = {hop.start: ("was born in",)}
    schema = PathSchema(
        {"urn:p": "birth place"}, {}, {hop.start: 1.0}, {hop.start: ("natives of",)}, stated
    )
    assert packaged_model().phrases(schema, hop) == ("natives of", "things that was born in")


def test_what_texts_say_is_a_phrase_too() -> None:
    hop = Hop("urn:p", True)
    stated = {hop.start: ("was born in",)}
    schema = PathSchema(
        {"urn:p": "birth place"}, {"+urn:p": "person"}, {hop.start: 1.0}, {}, stated
    )
    assert packaged_model().phrases(schema, hop)[1] == "people that was born in"


def test_topics_are_masked_by_their_kind(kg: KnowledgeGraph) -> None:
    paths = paths_of(kg)
    [topic] = paths.topics("who directed [Winter Harbour]?")
    assert (topic.name, topic.question) == ("Winter Harbour", "who directed the film?")
    assert topic.seed.node == FILMS + "harbour"
    [topic] = paths.topics("In which films did Berta Quill act?")
    assert topic.question == "In which films did the person act?"


@pytest.mark.parametrize(("question", "kind"), [("[]", ""), ("who", "person"), ("which", "")])
def test_what_is_asked_by_few_words_or_none(question: str, kind: str) -> None:
    assert packaged_model().asked(question) == kind


def test_a_marked_name_that_no_entity_has_is_not_replaced_by_another_entity(
    kg: KnowledgeGraph,
) -> None:
    paths = paths_of(kg)
    assert paths.find("who directed [Nobody Knows It]?") == ([], ())
    assert kg.search("who directed [Nobody Knows It]?", retriever="paths").paths == ()
    [topic] = paths.topics("who directed Winter Harbour [sic]?")
    assert topic.name == "Winter Harbour"


def test_a_walk_does_not_return(kg: KnowledgeGraph) -> None:
    found = followed(kg, "Winter Harbour", DIRECTOR, DIRECTOR.reverse)
    assert names(found) == ["The Glass Orchard"]
    assert found.answers[0].nodes == (FILMS + "ines",)
    # Colleagues of colleagues of Berta: not by the film that she shares with the first of them.
    found = followed(kg, "Berta Quill", ACTOR.reverse, ACTOR, ACTOR.reverse)
    assert names(found) == ["Paper Lantern"]
    # Nobody else acted in a film of Ruben: its language leads to another film, not back.
    found = followed(kg, "Paper Lantern", LANGUAGE, LANGUAGE.reverse)
    assert names(found) == ["The Glass Orchard"]


def test_one_query_a_property_path_where_it_can_be(kg: KnowledgeGraph) -> None:
    hops = (DIRECTOR.reverse, LANGUAGE)
    plain = followed(kg, "Ines Falcato", *hops, explain=False)
    assert f"^<{FILMS}director>/<{FILMS}language> ?answer" in plain.sparql
    chain = followed(kg, "Ines Falcato", *hops)
    assert "?n1" in chain.sparql
    assert names(plain) == names(chain) == ["Catalan", "Portuguese"]
    turning = followed(kg, "Berta Quill", ACTOR.reverse, ACTOR, ACTOR.reverse, explain=False)
    assert "?answer != ?n1" in turning.sparql or "?n1 != ?answer" in turning.sparql
    assert names(turning) == ["Paper Lantern"]
    assert kg.query(plain.sparql, over=["films"])


def test_answers_beyond_the_limit_are_cut(kg: KnowledgeGraph) -> None:
    found = followed(kg, "Ines Falcato", DIRECTOR.reverse, answers=1)
    assert (len(found.answers), found.is_cut) == (1, True)


def test_documents_follow_from_answers(kg: KnowledgeGraph) -> None:
    found = kg.search("films directed by [Ruben Soldevila]", retriever="paths", limit=2)
    [path] = [path for path in found.paths if path.answers]
    assert path.text == "the films directed by the person"
    assert names(path) == ["Paper Lantern"]
    assert found.documents[0].document.title == "Paper Lantern"
    assert [step.target for step in found.documents[0].chain] == [FILMS + "lantern"]
    sentence = found.names[found.documents[0].chain[0].relationship]
    assert sentence == "Paper Lantern director Ruben Soldevila"


@pytest.mark.parametrize("explain", [False, True])
def test_it_is_said_that_answers_were_left_out(
    kg: KnowledgeGraph, capsys: pytest.CaptureFixture[str], explain: bool
) -> None:
    question = "actors of [The Glass Orchard]"
    show_retrieved(kg.search(question, retriever="paths:least=0:answers=1"), explain=explain)
    assert "and at least 1 more" in " ".join(capsys.readouterr().out.split())
    show_retrieved(kg.search(question, retriever="paths:least=0"), explain=explain)
    assert "at least" not in capsys.readouterr().out


def test_many_paths_are_searched_by_a_beam(kg: KnowledgeGraph) -> None:
    paths = paths_of(kg, candidates=10, beam=3)
    [topic] = paths.topics("who directed [Winter Harbour]?")
    some, features, _ = paths.compared(topic)
    assert len(some) < len(paths_of(kg).compared(topic)[0])
    assert features.shape == (len(some), len(FEATURES))
    assert np.isfinite(features).all()


def test_a_model_that_is_none(kg: KnowledgeGraph, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    for text in ("", "[]", "{}", packaged_model().to_json().replace('"mean"', '"men"')):
        file.write_text(text)
        with pytest.raises(InputError, match="fit-paths"):
            kg.search("who?", retriever="paths", model=str(file))
    file.write_text(packaged_model().to_json())
    assert read_model(file) == packaged_model()
    assert kg.search("[Berta Quill] films", retriever="paths", model=str(file)).paths


def test_an_improbable_path_is_not_followed(
    kg: KnowledgeGraph, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "actors of [The Glass Orchard]"
    [first, second, *_] = kg.search(question, retriever="paths:least=0").paths
    assert first.answers
    found = kg.search(question, retriever=f"paths:least={first.probability + 1e-3}")
    assert found.paths[0].text == first.text
    assert not any(path.sparql or path.answers for path in found.paths)
    assert found.problem.startswith("no path of this graph says what is asked; the nearest: ")
    assert first.text in found.problem
    assert second.text in found.problem
    assert found.documents
    show_retrieved(found, explain=False)
    assert "no path of this graph says what is asked" in capsys.readouterr().out
    data = retrieved_to_dict(found)
    assert data["problem"] == found.problem
    assert data["paths"][0]["probability"] == first.probability


def test_probabilities_of_scores_and_gaps() -> None:
    model = packaged_model().calibrated([0.5, -3.0, -1.0, -2.0])
    assert model.probability(4.0, (0.0, 0.0)) == pytest.approx(1 / 2)
    assert model.probability(6.0, (0.0, 0.0)) == pytest.approx(1 / (1 + np.exp(-1)))
    assert model.probability(8.0, (1 / 3, 1.0)) == pytest.approx(1 / 2)
    assert 0.0 <= model.probability(-1e6, (0, 0)) < model.probability(1e6, (0, 0)) <= 1.0
    is_right = np.array([False, False, True, True])
    by_score = Offers(np.outer([1.0, 2.0, 3.0, 4.0], [1, 0, 0]), is_right)
    fitted_model = calibrated(model, [by_score])
    assert fitted_model.probability(2.5, (0, 0)) == pytest.approx(1 / 2, abs=1e-3)
    assert by_score.shares(fitted_model, 0.5) == (1.0, 0.0)
    by_words = Offers(np.array([[3.0, 0.5, 1], [3, 0.7, 1], [3, 0, 0], [3, 0.1, 1]]), is_right)
    fitted_model = calibrated(model, [by_score, by_words])
    assert fitted_model.calibration["unsaid"] < 0
    assert by_words.shares(fitted_model, 0.5) == (1.0, 0.0)
    even = calibrated(model, [Offers(by_score.rows[:2], is_right[:2])])
    assert even.probability(7.0, (0, 0)) == 1 / 2


def test_paths_without_the_right_property_are_offered_as_wrong() -> None:
    weights = np.eye(len(FEATURES))[0]
    features, gaps = np.outer([3.0, 2.0, 1.0], weights), np.array([[0, 0], [0.5, 1], [1, 1]])
    properties = (frozenset({"a", "b"}), frozenset({"a"}), frozenset({"c"}))
    offered = offers([Example(features, np.array([1.0, 0.2, 0.0]), properties, gaps)], weights)
    pairs = zip(offered.rows.tolist(), offered.is_right.tolist(), strict=True)
    assert sorted(pairs) == [
        ([1.0, 1.0, 1.0], False),
        ([2.0, 0.5, 1.0], False),
        ([3.0, 0.0, 0.0], True),
    ]


@pytest.mark.parametrize(
    ("question", "path", "gaps"),
    [
        ("who directed [Winter Harbour]?", "the directors of the film", (0.0, 0.0)),
        ("who directed the remake of [Winter Harbour]?", "the directors of the film", (1 / 3, 1.0)),
        ("who directed the film [Winter Harbour]?", "the directors of the film", (0.0, 0.0)),
        (
            "which films are by the director of [Winter Harbour]?",
            "the films directed by the directors of the film",
            (0.0, 0.0),
        ),
        (
            "which films are by the director of [Winter Harbour]?",
            "the directors of the films directed by the directors of the film",
            (0.0, 1.0),
        ),
        ("who starred in [Winter Harbour]?", "the directors of the film", (1.0, 1.0)),
        (
            "who starred in films by the director of [Winter Harbour]?",
            "the actors starring in the films directed by the directors of the film",
            (0.0, 0.0),
        ),
        (
            "who starred in films by the director of [Winter Harbour]?",
            "the directors of the films starring the actors starring in the film",
            (0.0, 1.0),
        ),
        (
            "which films has the director of [Winter Harbour]?",
            "the directors of the films directed by the directors of the film",
            (0.0, 1.0),
        ),
    ],
)
def test_gaps_of_paths(
    kg: KnowledgeGraph, question: str, path: str, gaps: tuple[float, float]
) -> None:
    search = paths_of(kg)
    ranked = search.ranked(search.topics(question))
    found = {search.model.texts(search.index.schema, each.hops)[0]: each.gaps for each in ranked}
    assert found[path] == gaps


def test_the_phrases_of_the_best_paths_alone_are_embedded(kg: KnowledgeGraph) -> None:
    paths = paths_of(kg, candidates=10)
    [topic] = paths.topics("who directed [Winter Harbour]?")
    some, features, _ = paths.compared(topic)
    every, exact, _ = paths_of(kg, candidates=1000).compared(topic)
    assert len(some) == 10 < len(every)
    for hops, row in zip(some, features, strict=True):
        np.testing.assert_allclose(row, exact[every.index(hops)])


# Evaluation


def test_sets_of_names() -> None:
    found = PRF.of({"a", "b"}, {"b", "c", "d"})
    assert (found.precision, found.recall) == (1 / 2, 1 / 3)
    assert found.f1 == pytest.approx(0.4)
    assert PRF.of(set(), {"a"}).f1 == 0.0


def test_three_accountings(kg: KnowledgeGraph) -> None:
    paths = paths_of(kg)
    marked = "the films directed by [Ruben Soldevila]"
    question = Question("1", Query(""), ("Paper Lantern",), topic="Ruben Soldevila", marked=marked)
    [result] = evaluate_paths(paths, [question], plain=False)
    assert [round(s.precision, 3) for s in result.scores.values()] == [1.0, 1.0, round(2 / 5, 3)]
    assert [s.recall for s in result.scores.values()] == [1.0, 1.0, 1.0]


def test_weights_are_fitted(kg: KnowledgeGraph, tmp_path: Path) -> None:
    rows = ["question\tanswers"]
    rows += [
        f"who directed [{film}]\tInes Falcato" for film in ("Winter Harbour", "The Glass Orchard")
    ]
    file = tmp_path / "questions.tsv"
    file.write_text("\n".join(rows) + "\n")
    questions = read_questions(file).questions
    assert questions[0].query.text == "who directed Winter Harbour"
    assert questions[0].marked == "who directed [Winter Harbour]"
    paths = paths_of(kg, explain=False)
    every = examples(paths, questions)
    fit = fit_model(paths.model, [every], "test", "two questions")
    assert fit.all == (1.0,)
    assert fit.model.version == "test"
    with pytest.raises(InputError, match="--over"):
        fitted([Example(np.zeros((0, len(FEATURES))), np.zeros(0), (), np.zeros((0, 2)))])
    with pytest.raises(InputError, match="give more questions"):
        fit_model(paths.model, [every[:1]], "test", "one question")


def test_tables_and_files_of_questions(tmp_path: Path) -> None:
    """The topic is in brackets, or named beside the question."""
    file = tmp_path / "questions.tsv"
    file.write_text("question\tanswers\nwho\tIda|Mia\n", encoding="utf-8-sig")
    [question] = read_questions(file).questions
    assert (question.query.text, question.topic, question.marked) == ("who", "", "who")
    assert (question.id, question.answers) == ("row 1", ("Ida", "Mia"))
    for text, complaint in (
        ("text\n1\n", "question and answers"),
        ("question\tanswers\n", "no questions"),
        ("question\tanswers\nwho\t\n \tIda\n", r"question 2 \(row 2\): the question is empty"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=complaint):
            read_questions(file)
    for text, complaint in (
        ("question\tanswers\nwho\tIda\n\nwhere\t\n", "row 2 has no answer"),
        ("question\tanswers\nwhere\n", "row 1 has no answer"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=complaint):
            read_files([file])
    file = tmp_path / "questions.json"
    record = {"id": 1, "question": "Who lives in the Weiße Gasse of LINZ?"}
    record["path"] = {"topic_name": "Linz"}
    file.write_text(json.dumps([{**record, "answer": ["Ida"]}]))
    [question] = read_questions(file).questions
    assert question.marked == "Who lives in the Weiße Gasse of [LINZ]?"
    for records, complaint in (([{**record, "answer": []}], "no answer"), ([], "no questions")):
        file.write_text(json.dumps(records))
        with pytest.raises(InputError, match=complaint):
            read_files([file])


# A model chooses


class Chooser:
    model = "chooser"

    def __init__(self, reply: str | None) -> None:
        self._reply = reply
        self.prompts: list[str] = []

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        self.prompts.append(prompt)
        assert schema["properties"]["path"]["enum"][:2] == ["1", "2"]
        if self._reply is None:
            raise UnparsableReplyError("no JSON")
        return Reply({"path": self._reply}, Usage(1, 0, 10, 1))


@pytest.mark.parametrize(("reply", "chosen"), [("2", 2), (None, 1)])
def test_a_model_chooses_a_path(reply: str | None, chosen: int) -> None:
    llm = Chooser(reply)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["films"], llm=llm) as kg:
        kg.import_graph(EXAMPLE, "rdf", name="films")
        answer = kg.ask(
            "who directed [Winter Harbour]?", reasoner="path-choice:margin=1000:least=0"
        )
    assert len(llm.prompts) == 1
    [note] = [stage.detail for stage in answer.trace if stage.kind == "note"]
    assert note["chosen"] == chosen
    assert bool(note["problem"]) == (reply is None)
    assert answer.reasoning.startswith(note["paths"][chosen - 1]["text"])
    assert answer.text == "; ".join(names(answer.retrieved.paths[0]))
    assert answer.citations
    json.dumps(note)


def test_a_model_is_offered_only_the_paths_within_the_margin() -> None:
    llm = Chooser("2")
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["films"], llm=llm) as kg:
        kg.import_graph(EXAMPLE, "rdf", name="films")

        def paths_of(reasoner: str) -> list[float]:
            answer = kg.ask("who directed [Winter Harbour]?", reasoner=reasoner)
            [note] = [stage.detail for stage in answer.trace if stage.kind == "note"]
            return [path["score"] for path in note["paths"]]

        every = paths_of("path-choice:margin=1000:least=0")
        second = every[0] - every[1]
        assert len(paths_of(f"path-choice:margin={second * 1.001}:least=0")) == 2 < len(every)
        assert len(llm.prompts) == 2
        assert paths_of(f"path-choice:margin={second * 0.999}:least=0") == every[:1]
        assert len(llm.prompts) == 2, "without another path there is nothing to choose"


def test_a_model_is_told_which_topic_a_path_starts_from(tmp_path: Path) -> None:
    (tmp_path / "towns.ttl").write_text("""
        PREFIX : <https://towns.example/>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        :a rdfs:label "Ulm" ; rdfs:comment "a town on a river" ; :mayor :ida .
        :b rdfs:label "Linz" ; rdfs:comment "a town on a river" ; :mayor :mia .
        :ida rdfs:label "Ida" .  :mia rdfs:label "Mia" .
    """)
    llm = Chooser("1")
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["towns"], llm=llm) as kg:
        kg.import_graph(tmp_path / "towns.ttl", "rdf", name="towns")
        kg.ask("who rules a town on a river?", reasoner="path-choice:hops=1:margin=1000:least=0")
    [prompt] = llm.prompts
    assert prompt.startswith("A question is about Ulm or Linz or Ida. Some paths")
    assert "(Ulm): Ida" in prompt
    assert "(Linz): Mia" in prompt


LANGUAGES = "which languages are the films in that were directed by the director of Winter Harbour?"


def test_imported_statements_answer_without_a_model(
    kg: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(superlatives.extreme)  # which imports what is changed here, before it is
    monkeypatch.setattr(path_lookup, "LEAST", 0.0)
    answer = kg.ask(LANGUAGES)
    best = paths_of(kg, least=0.0).find(LANGUAGES)[1][0]
    assert (answer.outcome, answer.text) == ("answered", "; ".join(names(best)))
    assert answer.reasoning == f"{best.text} (Winter Harbour)"
    assert answer.confidence == best.probability
    sure = f"auto:least={best.probability + 0.01:.2f}"
    assert kg.ask(LANGUAGES, reasoner=sure).outcome == "evidence", "it is not so sure"
    assert (answer.usage.calls, answer.model) == (0, "")
    assert answer.citations
    assert answer.retrieved.paths[0] == best
    assert kg.ask(LANGUAGES, reasoner="auto:lookup=none").outcome == "evidence"
    assert kg.ask(LANGUAGES, reasoner="single").outcome == "evidence"
    assert kg.ask(LANGUAGES, at="1999").text == answer.text, "its statements have no times"
    monkeypatch.setattr(path_lookup, "LEAST", 1.0)
    assert kg.ask(LANGUAGES).outcome == "evidence", "no path is sure"


TOWNS = """
    PREFIX : <https://towns.example/>
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    :Town a rdfs:Class ; rdfs:label "town"@en . :Person a rdfs:Class ; rdfs:label "person"@en .
    :born rdfs:label "date of birth" . :people rdfs:label "population" . :mayor rdfs:label "mayor" .
    :code rdfs:label "code" . :since rdfs:label "founding" .
    :ulm a :Town ; rdfs:label "Ulm" ; :mayor :ida ; :people 1203 ; :code "U1" ; :since :age .
    :linz a :Town ; rdfs:label "Linz" ; :since "1410"^^xsd:gYear .
    :ida a :Person ; rdfs:label "Ida" ; :born "1961-05-04T00:00:00Z"^^xsd:dateTime .
    :age rdfs:label "The Iron Age" . :mia rdfs:label "Mia" ; :born "1963"^^xsd:gYear .
"""


@pytest.mark.parametrize(
    ("question", "answers", "kind"),
    [
        ("what is the date of birth of the mayor of [Ulm]?", ["1961-05-04"], "year"),
        ("what is the population of [Ulm]?", ["1203"], "number"),
        ("what is the date of birth of [Mia]?", ["1963"], "year"),  # of whom nothing else is said
        ("what is the code of [Ulm]?", ["U1"], "text"),
        ("what is the founding of [Ulm]?", ["The Iron Age"], None),  # where there are entities
    ],
)
def test_paths_end_at_dates_numbers_and_texts(
    tmp_path: Path, question: str, answers: list[str], kind: str | None
) -> None:
    (tmp_path / "towns.ttl").write_text(TOWNS)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["towns"]) as kg:
        kg.import_graph(tmp_path / "towns.ttl", "rdf", name="towns")
        schema = paths_of(kg).index.schema
        values = {hop.predicate for hop in schema.hops if hop.end not in schema.joins}
        assert values == {f"https://towns.example/{name}" for name in ("born", "people", "code")}
        for explain in (True, False):
            found = kg.search(question, retriever=f"paths:least=0:explain={explain}".lower())
            [best, *_] = found.paths
            assert names(best) == answers
            assert [bool(answer.iri) for answer in best.answers] == [kind is None]
            end = Hop(*best.hops[-1]).end
            assert kind is None or schema.kinds[end] == kind
        assert {each.name for each in found.entities} <= {"Ulm", "Ida", "Mia", "The Iron Age"}
        assert list(ox.parse(kg.activation(found), format=ox.RdfFormat.TRIG))


@pytest.mark.parametrize(
    ("question", "closed"),
    [
        ("Who is the father of Ada?", {"the parents of the person"}),
        ("Who are the sons of Ada?", {"the children of the person"}),
        ("Who is Ada's paternal grandmother?", {"the parents of the parents of the person"}),
        ("Who is the grandson of Ada?", {"the children of the children of the person"}),
        ("When was the mother of Ada born?", {"the date of birth of the parents of the person"}),
        ("Where was the mother of Ada born?", set()),
        ("Whose father is Ada?", set()),
        (
            "Which person is the child of the parent of Ada?",
            {"the children of the parents of the person"},
        ),
        (
            "Who is the person who is the child of the parent of Ada?",
            {"the children of the parents of the person"},
        ),
        ("What is Ada about?", set()),
        ("What is the elevation of Ada?", set()),
    ],
)
def test_a_path_says_all_that_is_asked_in_its_direction(
    tmp_path: Path, question: str, closed: set[str]
) -> None:
    """ "Fathered" is stated of children, and "father" is no word for them."""
    (tmp_path / "family.ttl").write_text("""
        PREFIX common: <https://w3id.org/sarag/common#>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX : <https://family.example/>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        :ada a common:Person ; rdfs:label "Ada" ; common:parent :bo ; common:child :cy .
        :bo a common:Person ; rdfs:label "Bo" ; common:parent :di ; common:birthDate
            "1801-02-03"^^xsd:date .
        :cy a common:Person ; rdfs:label "Cy" ; common:child :em .
        :di a common:Person ; rdfs:label "Di" . :em a common:Person ; rdfs:label "Em" .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["family"]) as kg:
        kg.import_graph(tmp_path / "family.ttl", "rdf", name="family")
        search = paths_of(kg, candidates=1000)
        ranked = search.ranked(search.topics(question))
        assert {
            search.model.texts(search.index.schema, each.hops)[0]
            for each in ranked
            if each.gaps == (0, 0)
        } == closed


def test_a_label_names_the_object_alone_and_of_the_grandchild_if_there_is_a_property(
    tmp_path: Path,
) -> None:
    (tmp_path / "family.ttl").write_text("""
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX : <https://family.example/>
        :mother rdfs:label "mother" . :near rdfs:label "moored near" .
        :nephew rdfs:label "nephew" .
        :ada a :Human ; rdfs:label "Ada" ; :nephew :em .
        :cy a :Human ; rdfs:label "Cy" ; :mother :ada ; :near :ada .
        :em a :Human ; rdfs:label "Em" .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["family"]) as kg:
        kg.import_graph(tmp_path / "family.ttl", "rdf", name="family")
        assert kg.ask("Who is the mother of Ada?").outcome == "evidence"
        assert kg.ask("Who is moored near Ada?").text == "Cy"
        assert kg.ask("Who is the nephew of Ada?").text == "Em"
        assert [each.name for each in paths_of(kg).topics("the mother of [Rameau's nephew]")] == []


def assert_answer(file: Path, question: str, answer: str) -> None:
    """A graph answers a question so without a model; or not at all, if the answer is empty."""
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["graph"]) as kg:
        kg.import_graph(file, "rdf", name="graph")
        found = kg.ask(question)
        outcome = "answered" if answer else "evidence"
        assert (found.outcome, found.text if answer else "") == (outcome, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of Danubia?", "Ulm"),
        ("What is the capital of Ulm?", ""),
        ("What is Ulm the capital of?", "Danubia"),
        ("Of which country is Ulm the capital?", "Danubia"),
        ("What is Danubia the capital of?", ""),
        ("Who is the mayor of Ulm?", "Ida"),
        ("What is Ida the mayor of?", "Ulm"),
        ("Who is the mayor of Ida?", ""),
        ("What is Ulm made of?", "brick"),
        ("What does Ulm consist of?", ""),
        ("What is made of brick?", "Ulm"),
    ],
)
def test_a_label_with_of_names_the_subject_alone(
    tmp_path: Path, question: str, answer: str
) -> None:
    (tmp_path / "towns.ttl").write_text("""
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX : <https://towns.example/>
        :capital rdfs:label "capital of" . :mayor rdfs:label "mayor" . :from rdfs:label "made of" .
        :Town rdfs:label "town" . :Person rdfs:label "person" . :Country rdfs:label "country" .
        :ulm a :Town ; rdfs:label "Ulm" ; :capital :danubia ; :mayor :ida ; :from :brick .
        :danubia a :Country ; rdfs:label "Danubia" . :ida a :Person ; rdfs:label "Ida" .
        :brick a :Material ; rdfs:label "brick" .
    """)
    assert_answer(tmp_path / "towns.ttl", question, answer)


PEOPLE = """
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    PREFIX owl: <http://www.w3.org/2002/07/owl#>
    PREFIX common: <https://w3id.org/sarag/common#>
    PREFIX : <https://people.example/>
    :studiedUnder rdfs:label "studied under" . :influenced rdfs:label "influenced" .
    :follows rdfs:label "follows" . :taughtBy rdfs:label "taught by" .
    :tutor rdfs:label "tutor" . :employs rdfs:label "employs" .
    :ada a :Person ; rdfs:label "Ada" ; :studiedUnder :bo ; :influenced :cy ; :follows :di ;
        :taughtBy :em ; :tutor :fay ; common:spouse :tom .
    :pia a :Person ; rdfs:label "Pia" ; :studiedUnder :ada ; :influenced :ada ; :follows :ada ;
        :taughtBy :ada ; :tutor :ada .
    :bo a :Person ; rdfs:label "Bo" . :cy a :Person ; rdfs:label "Cy" .
    :di a :Person ; rdfs:label "Di" . :em a :Person ; rdfs:label "Em" .
    :fay a :Person ; rdfs:label "Fay" . :tom a :Person ; rdfs:label "Tom" .
    :orrin a :Company ; rdfs:label "Orrin" ; :employs :ada .
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who studied under Ada?", "Pia"),
        ("Who did Ada study under?", "Bo"),
        ("Under whom did Ada study?", "Bo"),
        ("Who studied under Bo?", "Ada"),
        ("Who did Bo study under?", ""),
        ("Who influenced Ada?", "Pia"),
        ("Who did Ada influence?", "Cy"),
        ("Who was influenced by Ada?", "Cy"),
        ("By whom was Ada influenced?", "Pia"),
        ("Who follows Ada?", "Pia"),
        ("Who does Ada follow?", "Di"),
        ("Who follows Pia?", ""),
        ("Who was Ada taught by?", "Em"),
        ("Who was taught by Ada?", "Pia"),
        ("By whom was Ada taught?", "Em"),
        ("Who taught Ada?", "Em"),
        ("Whom did Ada teach?", "Pia"),
        ("Who taught Em?", ""),
        ("Who is the tutor of Ada?", "Fay"),
        ("What is Ada the tutor of?", "Pia"),
        ("Who is Ada's tutor?", "Fay"),
        ("Who employs Ada?", "Orrin"),
        ("Who is employed by Orrin?", "Ada"),
        ("Who does Orrin employ?", "Ada"),
        ("Whom does Fay employ?", ""),
        ("Who is the wife of Tom?", "Ada"),  # a symmetric property, stated from the other end
    ],
)
def test_verbs_have_a_direction(tmp_path: Path, question: str, answer: str) -> None:
    """Both ends of these properties are persons, so that nothing else says which one is asked."""
    (tmp_path / "people.ttl").write_text(PEOPLE)
    assert_answer(tmp_path / "people.ttl", question, answer)


FIRMS = """
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    PREFIX common: <https://w3id.org/sarag/common#>
    PREFIX : <https://firms.example/>
    :orrin a :Company ; rdfs:label "Orrin" . :vex a :Company ; rdfs:label "Vex" ;
        common:founder :orrin ; common:employer :orrin ; common:namedAfter :ada .
    :ada a :Person ; rdfs:label "Ada" ; common:employer :vex ; common:memberOf :vex .
    :zed a :Person ; rdfs:label "Zed" ; common:namedAfter :vex .
    :inn a :River ; rdfs:label "Inn" ; common:mouth :danube .
    :isar a :River ; rdfs:label "Isar" ; common:mouth :inn .
    :danube a :River ; rdfs:label "Danube" .
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who employs Vex?", "Orrin"),
        ("Who is employed by Vex?", "Ada"),
        ("Who founded Vex?", "Orrin"),
        ("What did Orrin found?", "Vex"),
        ("What did Vex found?", ""),
        ("What does Inn flow into?", "Danube"),
        ("Into what does Isar flow?", "Inn"),
        ("What flows into Inn?", "Isar"),
        ("What does Danube flow into?", ""),
        ("What is Vex a member of?", ""),
        ("Who is a member of Vex?", "Ada"),
        ("Who was Vex named after?", "Ada"),
        ("After whom was Vex named?", "Ada"),
        ("Who was named after Vex?", "Zed"),
        ("How was Vex founded?", ""),
        ("Why did Ada employ Vex?", ""),
        ("Who is a member near Vex?", ""),
        ("Who founded Vex and employs Ada?", ""),
    ],
)
def test_packaged_phrases_have_a_direction(tmp_path: Path, question: str, answer: str) -> None:
    """What the graph does not say is not answered by what it says the other way round."""
    (tmp_path / "firms.ttl").write_text(FIRMS)
    assert_answer(tmp_path / "firms.ttl", question, answer)


def test_imported_graphs_are_looked_up_before_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_lookup, "LEAST", 0.0)
    question, text = "who directed [Winter Harbour]?", "Winter Harbour is a film by Ida Brandt."
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder()) as kg:
        kg.index([Source(text, "Winter Harbour", "a.txt")], extractor=CapitalExtractor())
        kg.import_graph(EXAMPLE, "rdf", name="films")
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), over=["documents", "films"]) as kg:
        answer = kg.ask(question)
        assert answer.outcome == "answered"
        hops = {hop for path in answer.retrieved.paths for hop, _ in path.hops}
        assert hops and all(hop.startswith(FILMS) for hop in hops)
        every = {hop.predicate for hop in paths_of(kg).index.schema.hops}
        assert not all(hop.startswith(FILMS) for hop in every)


COMMON = "https://w3id.org/sarag/common#"


class LivesExtractor:
    """Reads lines such as "Ada | is the daughter of | Bo | parent 0.9"."""

    method = Method("lives", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            relations = []
            for line in filter(None, document.text.splitlines()):
                subject, phrase, object_, typed = line.split(" | ")
                predicate, confidence = typed.split()
                kind = XSD.gYearMonth if "-" in object_ else XSD.gYear
                value = Value(object_, object_, kind.value) if object_[0].isdigit() else None
                text = f"{subject} {phrase} {object_}"
                relations.append(
                    Relation(
                        *(subject, phrase, object_, text, float(confidence)),
                        predicate=f"{COMMON}{predicate}",
                        value=value,
                    )
                )
            names = {name for r in relations for name in (r.subject, "" if r.value else r.object)}
            mentions = (
                Mention(name, "person" if name < "S" else "geopolitical", (), (name,))
                for name in sorted(names - {""})
            )
            yield Extraction(tuple(mentions), tuple(relations))


LIVES = (
    "Ada | is the daughter of | Bo | parent 0.9\n\nAda | is the child of | Eve | parent 0.8\n\n"
    "Ada | studied under | Fay | studentOf 0.9\n\nAda | was born in | 1801 | birthDate 0.9",
    "Fay | was born in | Ulm | birthPlace 0.5\n\nBo | was born in | Tulcea | birthPlace 0.9\n\n"
    "Fay | died in | 1900 | deathDate 0.9\n\nFay | died on | 1900-05 | deathDate 0.9",
    "Noon | was directed by | Ida | creator 0.9\n\nNoon | was produced by | Lux | creator 0.9\n\n"
    "Fay | received | Quill Prize | awardReceived 0.9\n\nFay | received | Oar | awardReceived 0.9",
)


@pytest.mark.parametrize(
    ("question", "text", "confidence", "sources"),
    [
        ("Where was the teacher of Ada born?", "Ulm", 0.45, ["a.txt", "b.txt"]),
        ("When was Ada born?", "1801", 0.9, ["a.txt"]),
        ("Who are the parents of Ada?", "Bo; Eve", 0.8, ["a.txt"]),
        ("Who studied under Fay?", "Ada", 0.9, ["a.txt"]),
        ("Who studied under Ada?", "", 0, []),
        ("Who is the father of Ada?", "", 0, []),  # the graph does not say which of them it is
        ("Who is the daughter of Bo?", "Ada", 0.9, ["a.txt"]),
        ("Who is the son of Bo?", "", 0, []),
        ("Where did Ada buy a coat?", "", 0, []),
        ("When did Fay die?", "1900-05", 0.9, ["b.txt"]),
        ("Who directed Noon?", "Ida", 0.9, ["c.txt"]),
        ("Who produced Noon?", "Lux", 0.9, ["c.txt"]),
        ("Where was Noon directed?", "", 0, []),
        ("Who wrote Noon?", "", 0, []),
        ("Which oar was awarded to Fay?", "Oar", 0.9, ["c.txt"]),
        ("Which quill was awarded to Fay?", "", 0, []),
        ("Which medal was awarded to Fay?", "", 0, []),
        ("Which town was the teacher of Ada born in?", "", 0, []),  # of Ulm it knows no class
        ("Which place was the teacher of Ada born in?", "Ulm", 0.45, ["a.txt", "b.txt"]),
        ("Can you tell me who the teacher of Ada was?", "Fay", 0.9, ["a.txt"]),
        ("Who taught the teacher of Ada?", "", 0, []),
        ("What Ada film is Noon?", "", 0, []),
        ("Which noon did the teacher of somebody direct?", "", 0, []),
        ("What did the director Ida make?", "Noon", 0.9, ["c.txt"]),
        ("Who directed the play Noon?", "Ida", 0.9, ["c.txt"]),
        ("Who did Fay teach?", "Ada", 0.9, ["a.txt"]),
        ("Who did Ada parent?", "", 0, []),  # here it is a verb
    ],
)
def test_documents_answer_with_the_certainty_of_what_they_state(
    tmp_path: Path, question: str, text: str, confidence: float, sources: list[str]
) -> None:
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), endpoint=None) as kg:
        texts = zip(LIVES, ("a.txt", "b.txt", "c.txt"), strict=True)
        kg.index([Source(t, name, name) for t, name in texts], extractor=LivesExtractor())
        answer = kg.ask(question)
    if not text:
        assert answer.outcome == "evidence"
        return
    assert (answer.outcome, answer.text) == ("answered", text)
    [best, *_] = answer.retrieved.paths
    assert answer.confidence == pytest.approx(best.probability * confidence, abs=1e-4)
    assert sorted({citation.title for citation in answer.citations}) == sources
    assert all(label in answer.reasoning for label in answer.evidence[0].context.excerpts)
    for excerpt in answer.evidence[0].context.excerpts.values():  # the lines that state it, alone
        assert len(excerpt.text.splitlines()) < len(excerpt.document.text.splitlines())


TERMS = (
    "Ann | was head of | Thule | head- 0.9 | 1919/1937\n\n"
    "Bea | was head of | Thule | head- 0.9 | 1938/\n\n"
    "Thule | was founded in | 1901 | inception 0.9 |\n\n"
    "Thule | had its start in | 1905 | inception 0.9 |\n\n"
    "Ann | was married to | Carl | spouse 0.9 | 1920/1930\n\n"
    "Bea | was the teacher of | Dan | studentOf- 0.9 | 1950"
)


class TermsExtractor:
    """Reads lines such as "Ann | was head of | Thule | head- 0.9 | 1919/1937"."""

    method = Method("terms", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            relations, names = [], set[str]()
            for line in filter(None, document.text.splitlines()):
                subject, phrase, object_, typed, times = (part.strip() for part in line.split("|"))
                predicate, confidence = typed.split()
                start, slash, end = map(_year, times.partition("/"))
                value = _year(object_) if object_.isdigit() else None
                if not value and object_[0].isdigit():
                    value = find_values(object_)[0].value
                names |= {subject} if value else {subject, object_}
                relations.append(
                    Relation(
                        *(subject, phrase, object_, f"{subject} {phrase} {object_}"),
                        float(confidence),
                        predicate=COMMON + predicate.rstrip("-"),
                        inverse=predicate.endswith("-"),
                        value=value,
                        start=start if slash else None,
                        end=end,
                        at=None if slash else start,
                    )
                )
            mentions = (
                Mention(name, "organization" if name == "Thule" else "person", (), (name,))
                for name in sorted(names)
            )
            yield Extraction(tuple(mentions), tuple(relations))


def _year(text: str) -> Value | None:
    return Value(text, text, XSD.gYear.value) if text else None


@pytest.mark.parametrize(
    ("question", "at", "text"),
    [
        ("Who was the head of Thule?", "", "Ann; Bea"),
        ("Who is the head of Thule?", "", "Bea"),
        ("Who heads Thule?", "", "Bea"),
        ("Who headed Thule?", "", "Ann; Bea"),
        ("Who has been the head of Thule?", "", "Ann; Bea"),
        ("Who's the head of Thule?", "", "Bea"),
        ("Who is the head of [Thule]?", "", "Bea"),
        ("Who is the head of Thule?", "1925", "Ann"),
        ("Who was the head of Thule?", "1937-12", "Ann"),
        ("Who was the head of Thule?", "1938", "Bea"),
        ("Who was the head of Thule?", "1910", ""),
        ("Who was the head of Thule in 1925?", "", "Ann"),
        ("Who was the head of Thule in December 1937?", "", "Ann"),
        ("Who was the head of Thule in 1938?", "", "Bea"),
        ("Who was the head of Thule in 1910?", "", ""),
        ("Was Ann the head of Thule in 1925?", "", "yes"),
        ("Was Ann the head of Thule in 1950?", "", ""),
        ("Who is the spouse of Ann?", "", ""),  # no longer
        ("Who was the spouse of Ann?", "", "Carl"),
        ("Who is the teacher of Dan?", "", "Bea"),  # a point in time is no end
        ("Who is the teacher of Dan?", "1951", ""),
    ],
)
def test_what_has_ended_is_not_so_now(tmp_path: Path, question: str, at: str, text: str) -> None:
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(TERMS, "terms", "terms.txt")], extractor=TermsExtractor())
        answer = kg.ask(question, at=at)
    assert (answer.outcome, answer.text if text else "") == (
        "answered" if text else "evidence",
        text,
    )
    if "Ann" in text or text == "yes":
        assert "(1919 to 1937)" in answer.reasoning or "(1920 to 1930)" in answer.reasoning


def test_words_of_names_say_nothing_of_the_time(tmp_path: Path) -> None:
    text = TERMS.replace("Thule", "Was United")
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(text, "terms", "terms.txt")], extractor=TermsExtractor())
        assert kg.ask("Who is the head of Was United?").text == "Bea"
        assert kg.ask("Who was the head of Was United?").text == "Ann; Bea"


def test_imported_values_exclude_each_other_as_well(tmp_path: Path) -> None:
    (tmp_path / "museum.ttl").write_text(f"""
        PREFIX : <https://towns.example/> PREFIX common: <{COMMON}>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        :a rdfs:label "Halden" ; common:inception "1901"^^xsd:gYear , "1905"^^xsd:gYear .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["museum"], endpoint=None) as kg:
        kg.import_graph(tmp_path / "museum.ttl", "rdf", name="museum")
        answer = kg.ask("When was Halden founded?")
    assert answer.text == "1901; 1905"
    assert answer.confidence == pytest.approx(answer.retrieved.paths[0].probability / 2, abs=1e-4)


def test_values_that_exclude_each_other_are_half_as_probable(tmp_path: Path) -> None:
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(TERMS, "terms", "terms.txt")], extractor=TermsExtractor())
        answer = kg.ask("When was Thule founded?")
    assert answer.text == "1901; 1905"
    assert "disagree" in answer.reasoning
    assert answer.confidence == pytest.approx(
        answer.retrieved.paths[0].probability * 0.9 / 2, abs=1e-4
    )


def test_imported_statements_that_have_ended_are_not_so_now(tmp_path: Path) -> None:
    """By RDF reification with the times of the ontology, as an export of a graph has them."""
    (tmp_path / "towns.ttl").write_text("""
        PREFIX : <https://towns.example/>
        PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX sarag: <https://w3id.org/sarag/ontology#>
        :mayor rdfs:label "mayor" .
        :a rdfs:label "Halden" ; :mayor :ida , :mia .
        :ida rdfs:label "Ida Brandt" . :mia rdfs:label "Mia Thorn" .
        :s rdf:type rdf:Statement ; rdf:subject :a ; rdf:predicate :mayor ; rdf:object :ida ;
            sarag:startTime "1990" ; sarag:endTime "2001" .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["towns"], endpoint=None) as kg:
        kg.import_graph(tmp_path / "towns.ttl", "rdf", name="towns")
        assert kg.ask("Who is the mayor of Halden?").text == "Mia Thorn"
        assert kg.ask("Who was the mayor of Halden?").text == "Ida Brandt; Mia Thorn"
        assert kg.ask("Who was the mayor of Halden?", at="1995").text == "Ida Brandt; Mia Thorn"
        assert kg.ask("Who was the mayor of Halden?", at="1985").text == "Mia Thorn"


def test_documents_that_are_not_read_state_nothing(tmp_path: Path) -> None:
    """An import that repeats their statements is as certain as it is by itself."""
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        texts = zip(LIVES, ("a.txt", "b.txt", "c.txt"), strict=True)
        kg.index([Source(t, name, name) for t, name in texts], extractor=LivesExtractor())
        (tmp_path / "copy.ttl").write_text(f"""
            PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
            PREFIX common: <{COMMON}> PREFIX : <https://example.org/kg/entity/>
            :ada rdfs:label "Ada" ; common:studentOf :fay . :fay rdfs:label "Fay" .
        """)
        kg.import_graph(tmp_path / "copy.ttl", "rdf", name="copy")
    with sarag_rdf.open(
        tmp_path / "kg", embedder=HashEmbedder(), endpoint=None, over=["copy"]
    ) as kg:
        answer = kg.ask("Who is the teacher of Ada?")
        assert (answer.text, answer.confidence) == ("Fay", answer.retrieved.paths[0].probability)


def test_words_that_no_ontology_has_are_not_looked_up_in_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read for them that grows with the documents."""
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(LIVES[0], "a", "a.txt")], extractor=LivesExtractor())
        with monkeypatch.context() as context:
            context.setattr(path_index, "read_schema", None)
            assert kg.ask("Where did Ada buy a coat?").outcome == "evidence"
        assert kg.ask("When was Ada born?").outcome == "answered"
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(LIVES[0], "a", "a.txt")], extractor=CapitalExtractor())
        monkeypatch.setattr(path_index, "read_schema", None)
        assert kg.ask("When was Ada born?").outcome == "evidence", "nothing is typed"


def test_all_things_of_one_name_answer_and_other_questions_are_not_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_lookup, "LEAST", 0.0)
    (tmp_path / "towns.ttl").write_text("""
        PREFIX : <https://towns.example/>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        :mayor rdfs:label "mayor" .
        :a rdfs:label "Halden" ; rdfs:comment "a town" ; :mayor :ida .
        :ida rdfs:label "Ida Brandt" .
        :b rdfs:label "Halden" ; :mayor :mia . :mia rdfs:label "Mia Thorn" .
        :c rdfs:label "Brisk" ; :mayor :tor . :tor rdfs:label "Tor Wenna" .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), over=["towns"]) as kg:
        kg.import_graph(tmp_path / "towns.ttl", "rdf", name="towns")
        answer = kg.ask("Who is the mayor of Halden?")
        assert sorted(answer.text.split("; ")) == ["Ida Brandt", "Mia Thorn"]
        assert [citation.title for citation in answer.citations] == ["Halden", "Halden"]
        assert [path.topic for path in answer.retrieved.paths[:2]] == [
            "https://towns.example/a",
            "https://towns.example/b",
        ]
        assert kg.ask("Who is the mayor of Brisk?").text == "Tor Wenna"
        assert kg.ask("Was Tor Wenna or whoever the mayor of Brisk?").outcome == "evidence"
        assert kg.ask("Who was the mayor of Brisk before Tor Wenna?").outcome == "evidence"
        assert kg.ask("Who is the mayor of a town?").outcome == "evidence"


def test_imported_graphs_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after a change of documents, but after one of ontologies or imports."""
    readings = []

    def reading(reader: GraphReader, linked: Iterable[Collection[str]]) -> PathSchema:
        readings.append([part.name for part in reader.parts])
        return read_schema(reader, linked)

    monkeypatch.setattr(path_index, "read_schema", reading)

    def asked(change: Callable[[KnowledgeGraph], object]) -> str:
        with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder()) as kg:
            change(kg)
        with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder()) as kg:
            return kg.ask("who directed [Winter Harbour]?").text

    def index(text: str) -> Callable[[KnowledgeGraph], object]:
        source = Source(text, "Ulm", "a.txt")
        return lambda kg: kg.index([source], extractor=CapitalExtractor())

    words = tmp_path / "words.ttl"
    words.write_text("""
        PREFIX : <https://films.example.org/>
        PREFIX owl: <http://www.w3.org/2002/07/owl#>
        :director a owl:ObjectProperty ;
            <https://w3id.org/sarag/ontology#forwardPhrase> "who directed"@en .
    """)
    monkeypatch.setattr(path_lookup, "LEAST", 0.0)
    asked(index("Ada met Bo."))
    assert readings == []
    changes = [
        (lambda kg: kg.import_graph(EXAMPLE, "rdf", name="films"), 1),
        (index("Ada met Cy."), 1),
        (lambda kg: kg.ontologies.add(str(words)), 2),
        (index("Ada met Di."), 2),
        (lambda kg: kg.import_graph(EXAMPLE, "rdf", name="others"), 3),
    ]
    for change, count in changes:
        assert asked(change) == "Ines Falcato"
        assert len(readings) == count
    assert all("documents" not in parts for parts in readings)


def test_an_empty_graph_has_no_paths() -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    assert read_schema(reader) == PathSchema()
    topics, paths = PathSearch(view_of(reader)).find("who directed [Winter Harbour]?")
    assert (topics, paths) == ([], ())


def test_walks_beyond_their_limit_are_cut(kg: KnowledgeGraph) -> None:
    hops = DIRECTOR.reverse, LANGUAGE
    assert not followed(kg, "Ines Falcato", *hops).is_cut
    found = followed(kg, "Ines Falcato", *hops, walks=1)
    assert (len(found.answers), found.is_cut) == (1, True)


@pytest.mark.parametrize("explain", [True, False])
def test_a_step_passes_on_a_share_of_the_activation_of_its_origin(
    kg: KnowledgeGraph, explain: bool
) -> None:
    question = "which films are in the languages of the films directed by [Ines Falcato]?"
    found = kg.search(question, retriever=f"paths:followed=3:explain={str(explain).lower()}")
    activation = {entity.iri: entity.activation for entity in found.entities}
    steps = [step for entity in found.entities for step in entity.chain]
    assert steps
    assert all(step.amount == step.weight * activation[step.origin] for step in steps)
    assert all(step.activation == activation[step.target] for step in steps)
