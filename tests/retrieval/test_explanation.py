"""The explanation is exact: scores follow from the report alone, and from no embedder's range."""

from __future__ import annotations

import gc
import json
import math
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Query, Source
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.kg.vectors import make_embedder
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.plugins.evaluation.datasets import read_corpus, read_questions
from sarag_rdf.plugins.papers.baselines import Dense
from sarag_rdf.retrieval.retriever import scored
from sarag_rdf.retrieval.view import GraphView
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.retrieval.graphs import MINTER, QUESTIONS, SqueezedEmbedder, larger_graph, view_of
from tests.sample_graph import CapitalExtractor
from tests.strategies import RETRIEVERS
from tests.test_docs import skip_without_models

SAMPLE = Path(os.environ.get("SARAG_TEST_MUSIQUE", "none"))
"""A folder with corpus.json, questions_dev50.json and an OpenIE extraction, of MuSiQue."""
DESCRIBES = SARAG.describes.value
Report = dict[str, Any]


def reported(view: GraphView, question: str, name: str = "sarag", **options: Any) -> Report:
    """The report as it comes back from JSON."""
    found = make_retriever(name, view, options).retrieve(Query(question))
    report: Report = json.loads(json.dumps(retrieved_to_dict(found), allow_nan=False))
    return report


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> GraphReader:
    """The graph of the example corpus, with capitalised words as names."""
    folder = tmp_path_factory.mktemp("examples") / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(ROOT / "examples" / "corpus", extractor=CapitalExtractor())
    assert (report.added, report.problems) == (44, [])
    return GraphReader(OxigraphStore.open(folder / "store"), MINTER)


EXAMPLE_QUESTIONS = [
    record["question"]
    for record in json.loads((ROOT / "examples" / "questions.json").read_text("utf-8"))
]


def test_there_are_examples() -> None:
    assert len(EXAMPLE_QUESTIONS) == 17


# ------------------------------------------------------------------------ From the report


def rebuilt(report: Report, document: Mapping[str, Any]) -> dict[str, float]:
    """The parts of a document's score, from the numbers of the report."""
    settings, calibration = report["settings"], report["calibration"]
    measures = document["measures"]

    def z(name: str, value: float) -> float:
        deviation: float = calibration[f"{name}_deviation"]
        return (value - calibration[f"{name}_mean"]) / deviation if deviation > 0.0 else 0.0

    masked = measures["similarity"] - calibration["mask_weight"] * measures["named"]
    parts = {
        "meaning": z("meaning", masked),
        "words": calibration["words_weight"] * z("words", measures["words"]),
    }
    activations = {
        arrival["round"]: min(1.0, arrival["activation"] - arrival["echo"])
        / arrival["frequency"]
        * arrival["weight"]
        for arrival in document["arrivals"]
    }
    for round_ in range(1, settings["n"] + 1):
        name = f"activation_{round_}"
        parts[name] = settings["gain"] * z(name, math.sqrt(activations.get(round_, 0.0)))
    parts["asked"] = settings["class_gain"] * measures["asked"]
    parts["repetition"] = -settings["topic_penalty"] * measures["repetition"]
    return parts


def check(report: Report) -> None:
    """All that the report of one question promises."""
    seeds = {seed["node"]: seed for seed in report["seeds"]}
    scores = []
    for document in report["documents"]:
        parts = rebuilt(report, document)
        assert document["parts"] == pytest.approx(parts, rel=1e-9, abs=1e-9)
        assert document["score"] == pytest.approx(sum(parts.values()), rel=1e-9, abs=1e-9)
        scores.append(document["score"])
        check_activation(report, document)
        check_chain(document, seeds)
    assert scores == sorted(scores, reverse=True)
    calibration, settings = report["calibration"], report["settings"]
    for link in report["relationships"]:
        above = link["similarity"] - calibration["weight_floor"]
        weight = above / (calibration["weight_ceiling"] - calibration["weight_floor"])
        assert link["weight"] == pytest.approx(min(1.0, weight), abs=1e-5)
        assert link["text"]
        assert link["subject_name"]
        assert link["object_name"]
    names = {"k", "n", "c", "decay", "gain", "class_gain", "topic_penalty", "near"}
    assert settings.keys() - {"classes"} == names


def check_activation(report: Report, document: Report) -> None:
    arrivals = document["arrivals"]
    for arrival in arrivals:
        amount = min(1.0, arrival["activation"] - arrival["echo"])
        assert arrival["amount"] == amount / arrival["frequency"] * arrival["weight"]
        assert arrival["entity_name"]
    assert [a["round"] for a in arrivals] == sorted({a["round"] for a in arrivals})
    assert document["activation"] == sum(a["amount"] for a in arrivals)
    assert bool(document["entity"]) == bool(arrivals) == bool(document["chain"])
    if arrivals:
        most = max(arrivals, key=lambda arrival: arrival["amount"])
        assert (document["entity"], document["entity_name"]) == (
            most["entity"],
            most["entity_name"],
        )
        last = document["chain"][-1]
        assert (last["origin"], last["target"]) == (most["entity"], document["iri"])
        assert (last["amount"], last["round"]) == (most["amount"], 3 * most["round"])
        assert last["weight"] == most["weight"] / most["frequency"]


def check_chain(document: Report, seeds: Mapping[str, Report]) -> None:
    """From a seed to the document; each but an entity hands on a share of its activation."""
    chain = document["chain"]
    before = None
    for step in chain:
        assert step["origin_name"]
        assert step["target_name"]
        assert bool(step["text"]) == (step["relationship"] != DESCRIBES)
        types = {0: ("entity", "document"), 1: ("document", "entity"), 2: ("entity", "entity")}
        assert (step["origin_type"], step["target_type"]) == types[step["round"] % 3]
        assert step["kind"] == ("related_to" if step["text"] else "describes")
        assert step["amount"] > 0.0
        assert step["activation"] >= step["amount"]
        if before is None:
            activation = seeds[step["origin"]]["activation"]
        else:
            assert step["origin"] == before["target"]
            assert step["round"] > before["round"]
            activation = before["activation"]
        kind = step["round"] % 3
        if kind == 1 or (kind == 2 and before is not None):
            assert step["amount"] == pytest.approx(step["weight"] * activation, rel=1e-9)
        elif kind == 2:  # A seed may have been given more by documents.
            assert step["amount"] >= step["weight"] * activation * (1 - 1e-9)
        before = step


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "options",
    [{}, {"n": 1}, {"n": 3, "c": 0.5, "k": 5}, {"gain": 0.0}, {"k": 0}, {"decay": 1.0, "c": 0.0}],
)
def test_scores_follow_from_the_report(question: str, options: dict[str, Any]) -> None:
    report = reported(view_of(larger_graph(2)), question, **options)
    check(report)
    assert len(report["documents"]) == 40
    assert bool(report["relationships"]) or "c" not in options


def test_scores_of_the_examples_follow_from_the_report(examples: GraphReader) -> None:
    view = view_of(examples)
    lengths = set()
    for question in EXAMPLE_QUESTIONS:
        report = reported(view, question)
        check(report)
        assert len(report["documents"]) == len(view.iris.documents) >= 44
        assert len(report["entities"]) > 5
        lengths |= {len(document["chain"]) for document in report["documents"]}
    assert {1, 2, 3} <= lengths


@pytest.mark.skipif(
    not SAMPLE.is_dir(), reason="optional: SARAG_TEST_MUSIQUE names no folder of data"
)
def test_scores_of_a_sample_of_musique_follow_from_the_report(tmp_path: Path) -> None:
    (openie,) = SAMPLE.glob("openie*.json")
    passages = read_corpus(SAMPLE / "corpus.json").passages
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(p.text, p.title, p.id) for p in passages], extractor=f"openie:{openie}")
    view = view_of(GraphReader(OxigraphStore.open(tmp_path / "kg" / "store"), MINTER))
    assert len(view.iris.documents) == 1890
    questions = read_questions(SAMPLE / "questions_dev50.json").questions
    assert len(questions) == 50
    for question in questions:
        check(reported(view, question.query.text, limit=100))


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_published_report_has_chains_and_names(question: str) -> None:
    report = reported(
        view_of(larger_graph(2)), question, "sarag-paper", c=0.2, tau_d=0.1, tau_r=0.2
    )
    assert len(report["documents"]) > 3
    assert len(report["relationships"]) > 0
    seeds = {seed["node"] for seed in report["seeds"]}
    names = {entity["iri"]: entity["name"] for entity in report["entities"]}
    for document in report["documents"]:
        assert (document["measures"], document["parts"], document["arrivals"]) == ({}, {}, [])
        assert document["entity_name"] == names[document["entity"]]
        chain = document["chain"]
        nodes = [*(step["origin"] for step in chain), document["entity"]]
        assert nodes[0] in seeds
        assert nodes[1:] == [step["target"] for step in chain]
        for step in chain:
            assert (step["origin_name"], step["target_name"]) == (
                names[step["origin"]],
                names[step["target"]],
            )
            assert step["text"]
    assert max(len(document["chain"]) for document in report["documents"]) > 0


@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_report_has_the_same_fields(name: str) -> None:
    view = view_of(larger_graph(2))
    wanted = reported(view, QUESTIONS[0])
    found = reported(view, QUESTIONS[0], name)
    assert found.keys() == wanted.keys()
    for document in found["documents"]:
        assert document.keys() == wanted["documents"][0].keys()


# ----------------------------------------------------------------------- Any embedder


def check_squeezed(reader: GraphReader, embedder: Embedder, questions: list[str]) -> None:
    """Cosines in about [.6, 1] give the ranking, and the scores, of the embedder as it is."""
    squeezed = SqueezedEmbedder(embedder, 0.4)
    one, other = embedder.embed(questions[:2])
    near, far = squeezed.embed(questions[:2])
    np.testing.assert_allclose(near @ far, 0.4 * (one @ other) + 0.6, atol=1e-6)
    plain_view, squeezed_view = view_of(reader, embedder), view_of(reader, squeezed)
    for question in questions:
        plain, moved = reported(plain_view, question), reported(squeezed_view, question)
        assert [d["iri"] for d in moved["documents"]] == [d["iri"] for d in plain["documents"]]
        for before, after in zip(plain["documents"], moved["documents"], strict=True):
            assert after["score"] == pytest.approx(before["score"], abs=1e-4)
            assert after["parts"] == pytest.approx(before["parts"], abs=1e-4)
            assert after["similarity"] == pytest.approx(0.4 * before["similarity"] + 0.6, abs=1e-5)
            assert after["entity"] == before["entity"]
        near, far = plain["relationships"], moved["relationships"]
        assert {k["iri"] for k in near} == {k["iri"] for k in far}
        assert [0.4 * k["similarity"] + 0.6 for k in near] == pytest.approx(
            [k["similarity"] for k in far], abs=1e-5
        )


def test_squeezing_all_cosines_changes_nothing() -> None:
    check_squeezed(larger_graph(1), HashEmbedder(), list(QUESTIONS))


def test_squeezing_all_cosines_changes_nothing_in_the_examples(examples: GraphReader) -> None:
    check_squeezed(examples, HashEmbedder(), EXAMPLE_QUESTIONS)


def test_squeezing_the_cosines_of_the_default_model_changes_nothing(
    examples: GraphReader,
) -> None:
    skip_without_models()
    model = CachedEmbedder(make_embedder(None, None), None)  # Many relationships have one text.
    check_squeezed(examples, model, EXAMPLE_QUESTIONS)


def test_squeezing_changes_what_the_published_thresholds_find() -> None:
    reader = larger_graph(1)
    plain, moved = (
        reported(view_of(reader, embedder), QUESTIONS[0], "sarag-paper")
        for embedder in (HashEmbedder(), SqueezedEmbedder(HashEmbedder(), 0.4))
    )
    assert len(moved["documents"]) > len(plain["documents"])


def test_ranks_have_no_gap_where_a_document_was_deleted_meanwhile() -> None:
    view = view_of(larger_graph(1))
    [first, second] = view.iris.documents[:2]
    documents = [scored(iri, 1.0) for iri in (first, "urn:deleted", second)]
    found = Dense().result(view, Query(QUESTIONS[0]), documents)
    assert [(d.document.iri, d.rank) for d in found.documents] == [(first, 1), (second, 2)]


def test_a_view_is_freed_without_a_garbage_collection() -> None:
    view = view_of(larger_graph(1))
    view.network.frequencies(np.array([0]))
    freed = weakref.ref(view)
    gc.disable()
    try:
        del view
        assert freed() is None
    finally:
        gc.enable()


class Years:
    """Names and years are mentions; nothing is related."""

    method = Method("years", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            words = dict.fromkeys(re.findall(r"[A-Z][a-z]+|\d{4}", document.text))
            yield Extraction(
                tuple(
                    Mention(word, "time" if word.isdigit() else "person", (), (document.text,))
                    for word in words
                ),
                (),
            )


def test_a_chain_leads_over_the_topic_rather_than_over_a_shared_year() -> None:
    sources = (
        Source("Anna sang in 1907 with Boris.", "Anna", "a"),
        Source("Boris met Carla once.", "Boris", "b"),
        Source("Carla danced in 1907.", "Carla", "c"),
        Source("Dora danced in 1907.", "", "d"),
    )
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(sources, extractor=Years())
        found = kg.search("Who was with Anna?", retriever="sarag:k=0:n=3")
        by_title = {ranked.document.title: ranked for ranked in found.documents}
        carla, untitled = by_title["Carla"], by_title[""]
        names = [found.names.get(step.origin) for step in carla.chain]
        assert names == ["Anna", "Anna", "Boris", "Boris", "Carla"]
        assert max(carla.arrivals, key=lambda a: a.amount).entity != carla.entity
        assert found.names[untitled.entity] == "1907", "nothing else leads there"
