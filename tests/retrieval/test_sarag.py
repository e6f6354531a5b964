"""The default retriever on a graph small enough to be worked out by hand.

::

      Ada --1-- Bea --.75-- Cid --.5-- Dan --0-- Eve      Fay     weights of relationships
       \\       / \\         / \\        / \\       /        |
          one       two        three      four        five

The first four documents tell of the relationship above them. The title of the second is Bea, of
the third Cid, of the fourth Dan, of the fifth Fay: they are about these. The first has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Extraction, Mention, Query, Relation, Retrieved
from sarag_rdf.base.vocab import COMMON, SARAG
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.retrieval import sarag
from sarag_rdf.retrieval.activation import Rates
from sarag_rdf.retrieval.view import GraphView
from tests.retrieval.graphs import (
    MINTER,
    QUESTIONS,
    AxesEmbedder,
    indexed,
    larger_graph,
    view_of,
)

NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve", "Fay")
ADA, BEA, CID, DAN, EVE, FAY = (MINTER.entity(name.lower()) for name in NAMES)
TITLES = ("", "Bea", "Cid", "Dan", "Fay")
TEXTS = ("one day", "two days", "three days", "they dance", "five days")
TITLED = tuple(f"{t}\n{text}" if t else text for t, text in zip(TITLES, TEXTS, strict=True))
PLAIN, NAMING = "where do you dance?", "Where did Ada dance?"
LOW_ADA, LOW_BEA = "where did ada dance?", "where did bea dance?"
"""Questions with one vector. Of all texts only the fourth has a word of the first two."""
VECTORS: dict[str, Mapping[str, float]] = {
    **{question: {"q": 1.0} for question in (PLAIN, NAMING, LOW_ADA, LOW_BEA)},
    **{name: {name[0]: 1.0} for name in NAMES},
    # Cosines with the question and with names.
    TITLED[0]: {"q": 0.6, "A": 0.8},
    TITLED[1]: {"q": 0.4, "B": 0.4},
    TITLED[2]: {"q": 0.6},
    TITLED[3]: {"q": 0.1, "A": 0.2},
    TITLED[4]: {"q": 0.3},
    "Ada knows Bea": {"q": 0.5},
    "Bea knows Cid": {"q": 0.4},
    "Cid knows Dan": {"q": 0.3},
    "Dan knows Eve": {"q": 0.1},
}
SETTINGS: dict[str, Any] = {
    "k": 1, "n": 2, "c": 0.0, "decay": 0.5, "gain": 0.5, "class_gain": 1.0,
    "topic_penalty": 1.5, "near": 0.5,
}  # fmt: skip


@pytest.fixture(autouse=True)
def round_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants that are easy to calculate with, whatever they are tuned to."""
    monkeypatch.setattr(sarag, "MASK", 0.5)
    monkeypatch.setattr(sarag, "WORDS", 0.25)
    monkeypatch.setattr(sarag, "Rates", partial(Rates, topic_weight=0.8, mention_weight=0.2))


def small_graph() -> tuple[GraphView, list[str]]:
    found = [
        Extraction((Mention(one), Mention(other)), (Relation(one, "knows", other),))
        for one, other in pairwise(NAMES[:5])
    ]
    found.append(Extraction((Mention("Fay"),)))
    contents = list(zip(TITLES, TEXTS, found, strict=True))
    reader, iris = indexed(contents)
    return view_of(reader, AxesEmbedder("qABCDEF", VECTORS)), iris


def search(question: str = NAMING, **options: Any) -> tuple[Retrieved, list[str]]:
    """What is found in the graph above, and the IRIs of its documents."""
    view, iris = small_graph()
    made = make_retriever("sarag", view, {**SETTINGS, **options})
    return made.retrieve(Query(question)), iris


def z(values: list[float]) -> list[float]:
    mean, deviation = fmean(values), pstdev(values)
    return [(value - mean) / deviation for value in values]


def steps(found: Retrieved, document: str) -> list[tuple[str, str]]:
    (chain,) = [d.chain for d in found.documents if d.document.iri == document]
    return [(step.origin, step.target) for step in chain]


# ----------------------------------------------------------------------------- By hand


def test_all_parts_of_the_score() -> None:
    found, iris = search()
    documents = {iris.index(d.document.iri): d for d in found.documents}
    assert len(documents) == 5

    # Meaning: cosines less half of those with Ada: .6 - .4, .4, .6, .1 - .1, .3. Their mean is
    # .3, their variance (.01 + .01 + .09 + .09) / 5 = .04.
    meaning = [-0.5, 0.5, 1.5, -1.5, 0.0]
    # Words: v for the fourth, 0 for the others: mean v / 5, deviation .4 v, whatever v.
    words = [-0.5, -0.5, -0.5, 2.0, -0.5]
    # The nearest, with .25 of the words, is the third: with Ada it holds 1 at the start.
    assert {(s.node, s.activation, s.name, s.reason) for s in found.seeds} == {
        (iris[2], 1.0, "Cid", "document"),
        (ADA, 1.0, "Ada", "named in the question"),
    }

    # Round 1. The third document gives .5 to Cid and to Dan. Then Ada 1 gives Bea
    # .5 * 1 * 1 = .5; Cid, of two documents, gives Bea .5 * .75 / 2 * .5 = .09375 and Dan
    # .5 * .5 / 2 * .5 = .0625, which Dan gives Cid too.
    bea, cid = 0.59375, 0.5625  # Dan as Cid
    first = [
        0.2,  # from Ada, which it is not about: 1 * .2
        bea / 2 * 0.8,  # .2375
        (cid - 0.5) / 2 * 0.8,  # .025, without its own
        cid / 2 * 0.8,  # .225, from Dan
        0.0,
    ]
    # Round 2. Documents give half to both that they describe: .1 (Ada, Bea), .11875 (Bea, Cid),
    # .0125 (Cid, Dan), .1125 (Dan, Eve). So Ada .1, Bea .21875, Cid .13125, Dan .125, Eve .1125.
    # Then they give one another: Ada to Bea .5 * .1 = .05, Bea to Cid .1875 * .21875, Cid to Bea
    # .1875 * .13125, Cid to Dan .125 of it, Dan to Cid .125 * .125. (Bea to Ada .25 * .21875,
    # which gives the first .0109.)
    bea = 0.21875 + 0.05 + 0.1875 * 0.13125
    cid = 0.13125 + 0.1875 * 0.21875 + 0.125 * 0.125
    dan = 0.125 + 0.125 * 0.13125
    second = [
        (bea - 0.1) / 2 * 0.2,  # .01934, now from Bea
        (bea - 0.11875) / 2 * 0.8,  # .06984
        (cid - 0.0125) / 2 * 0.8,  # .07016
        (dan - 0.1125) / 2 * 0.8,  # .01156
        0.0,
    ]
    for row, document in documents.items():
        amounts = [a.amount for a in document.arrivals]
        assert amounts == pytest.approx([x for x in (first[row], second[row]) if x], abs=1e-6)
        assert document.activation == pytest.approx(first[row] + second[row], abs=1e-6)
    assert {row: d.entity for row, d in documents.items()} == {
        0: ADA, 1: BEA, 2: CID, 3: DAN, 4: "",
    }  # fmt: skip
    assert [a.entity for a in documents[0].arrivals] == [ADA, BEA]

    wanted = {
        "meaning": meaning,
        "words": [0.25 * value for value in words],
        "activation_1": [0.5 * value for value in z([math.sqrt(amount) for amount in first])],
        "activation_2": [0.5 * value for value in z([math.sqrt(amount) for amount in second])],
        "asked": [0.0] * 5,  # the question names no class
        "repetition": [0.0] * 5,  # each is about something else, or about nothing
    }
    for row, document in documents.items():
        parts = {name: values[row] for name, values in wanted.items()}
        assert document.parts == pytest.approx(parts, abs=1e-5)
        assert document.score == pytest.approx(sum(parts.values()), abs=1e-5)
    # Scores: -0.367, 1.357, 1.529, -0.831, -1.687.
    assert [iris.index(d.document.iri) for d in found.documents] == [2, 1, 0, 3, 4]
    assert [d.rank for d in found.documents] == [1, 2, 3, 4, 5]

    # What all this was made of.
    assert [documents[row].similarity for row in range(5)] == pytest.approx(
        [0.6, 0.4, 0.6, 0.1, 0.3]
    )
    assert documents[0].measures == pytest.approx(
        {"similarity": 0.6, "named": 0.8, "words": 0.0, "asked": 0.0, "repetition": 0.0}, abs=1e-6
    )
    assert found.calibration["meaning_mean"] == pytest.approx(0.3)
    assert found.calibration["meaning_deviation"] == pytest.approx(0.2)
    assert found.calibration["weight_floor"] == pytest.approx(0.1)
    assert found.calibration["weight_ceiling"] == pytest.approx(0.5)
    assert found.settings == SETTINGS
    assert found.retriever == "sarag"


def test_entities_links_and_chains() -> None:
    found, (one, two, three, four, _) = search()
    held = {entity.name: entity for entity in found.entities}
    # Over both rounds, at most 1: as above, Bea .5938 + .2934, and so on.
    assert {name: entity.activation for name, entity in held.items()} == pytest.approx(
        {"Ada": 1, "Bea": 0.887109, "Cid": 0.750391, "Dan": 0.703906, "Eve": 0.1125}, abs=1e-6
    )
    for entity in found.entities:
        assert entity.is_activated == (entity.activation >= sarag.ACTIVATED)
        assert entity.is_seed == (entity.name == "Ada")
    # Relationships between activated entities, the nearest first, if they have any weight.
    assert [(k.text, k.subject, k.object) for k in found.relationships] == [
        ("Ada knows Bea", ADA, BEA),
        ("Bea knows Cid", BEA, CID),
        ("Cid knows Dan", CID, DAN),
    ]
    assert [k.weight for k in found.relationships] == pytest.approx([1, 0.75, 0.5])
    assert [k.similarity for k in found.relationships] == pytest.approx([0.5, 0.4, 0.3])

    assert steps(found, one) == [(ADA, one)]
    # The third got most in round 2: from Cid, which the second document gave .1188, more than
    # came over Bea (.0410) and from Dan.
    assert steps(found, three) == [(ADA, BEA), (BEA, two), (two, CID), (CID, three)]
    # The fourth in round 1: from Dan, which the third gave .5, more than .0625 from Cid.
    assert steps(found, four) == [(three, DAN), (DAN, four)]
    (chain,) = [d.chain for d in found.documents if d.document.iri == three]
    assert [step.round for step in chain] == [2, 3, 4, 6]
    assert [step.amount for step in chain] == pytest.approx(
        [0.5, 0.2375, 0.11875, 0.07015625], abs=1e-6
    )
    describes = SARAG.describes.value
    assert [step.relationship == describes for step in chain] == [False, True, True, True]
    assert found.names[chain[0].relationship] == "Ada knows Bea"
    assert {found.names[iri] for iri in (ADA, BEA, CID, two)} == {"Ada", "Bea", "Cid"}


def test_without_a_name_nothing_is_masked() -> None:
    found, iris = search(PLAIN)
    # Cosines .6, .4, .6, .1, .3 as they are. With .25 of the words, the first and the third are
    # the nearest, and equally near: the lower IRI is the seed.
    assert [s.node for s in found.seeds] == [min(iris[0], iris[2])]
    documents = {iris.index(d.document.iri): d for d in found.documents}
    assert [documents[row].parts["meaning"] for row in range(5)] == pytest.approx(
        z([0.6, 0.4, 0.6, 0.1, 0.3]), abs=1e-5
    )
    assert {d.measures["named"] for d in found.documents} == {0.0}


def test_without_gain_activation_does_not_count() -> None:
    found, iris = search(gain=0.0)
    plain, _ = search()
    parts = {d.document.iri: d.parts for d in plain.documents}
    for document in found.documents:
        assert document.parts["activation_1"] == document.parts["activation_2"] == 0.0
        wanted = parts[document.document.iri]
        for part in ("meaning", "words"):
            assert document.parts[part] == wanted[part]
    # -.5 - .125, .5 - .125, 1.5 - .125, -1.5 + .5, -.125.
    assert [iris.index(d.document.iri) for d in found.documents] == [2, 1, 4, 0, 3]


def test_one_round() -> None:
    found, _ = search(n=1)
    for document in found.documents:
        assert list(document.parts) == ["meaning", "words", "activation_1", "asked", "repetition"]
        assert {arrival.round for arrival in document.arrivals} <= {1}
    both, _ = search()
    first = {d.document.iri: d.arrivals[:1] for d in both.documents}
    assert {d.document.iri: d.arrivals for d in found.documents} == first


def test_three_rounds() -> None:
    found, _ = search(n=3)
    assert [list(d.parts)[2:-2] for d in found.documents] == [
        ["activation_1", "activation_2", "activation_3"]
    ] * 5
    assert max(a.round for d in found.documents for a in d.arrivals) == 3


def test_without_nearest_documents_only_names_are_seeds() -> None:
    found, _ = search(k=0)
    assert [s.node for s in found.seeds] == [ADA]
    found, _ = search(PLAIN, k=0)
    assert (found.seeds, found.entities, found.relationships) == ((), (), ())
    assert [(d.activation, d.chain, d.arrivals) for d in found.documents] == [(0, (), ())] * 5
    activations = ("activation_1", "activation_2")
    assert {d.parts[part] for d in found.documents for part in activations} == {0}


def test_without_capitals_only_what_a_document_is_about_is_named() -> None:
    found, _ = search(LOW_BEA, k=0)
    assert [(s.node, s.activation) for s in found.seeds] == [(BEA, 1.0)]
    assert search(LOW_ADA, k=0)[0].seeds == ()  # No document is about Ada.


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_so_many_nearest_documents_are_seeds(k: int) -> None:
    found, iris = search(k=k)
    assert len([s for s in found.seeds if s.node in iris]) == min(k, 5)


def test_aliases_share_activation() -> None:
    contents = [
        (TITLES[number], TEXTS[number], Extraction((Mention(name, aliases=("Gus",)),)))
        for number, name in enumerate(("Ada", "Bea"))
    ]
    reader, _ = indexed(contents)
    question = "Is Gus there?"
    embedder = AxesEmbedder("qABCDEF", {**VECTORS, question: {"q": 1.0}})
    found = make_retriever("sarag", view_of(reader, embedder), {"k": 0}).retrieve(Query(question))
    assert {s.node: s.activation for s in found.seeds} == {ADA: 0.5, BEA: 0.5}
    # Of the mean of both names' vectors: .8 / 2 and .4 / 2.
    assert sorted(d.measures["named"] for d in found.documents) == pytest.approx([0.2, 0.4])


def repeated(**options: Any) -> Retrieved:
    """Three documents about Ada, one about Bea, and two about nothing, by falling similarity."""
    cosines = {"Ada": (0.9, 0.8, 0.7), "Bea": (0.6,), "": (0.5, 0.4)}
    contents = [
        (title, f"text {n}", Extraction((Mention(title or "Cid"),)))
        for title, own in cosines.items()
        for n in range(len(own))
    ]
    vectors = {
        f"{title}\ntext {n}" if title else f"text {n}": {"q": cosine}
        for title, own in cosines.items()
        for n, cosine in enumerate(own)
    }
    reader, _ = indexed(contents)
    view = view_of(reader, AxesEmbedder("qABC", {PLAIN: {"q": 1.0}, **vectors}))
    return make_retriever("sarag", view, {"k": 0, "gain": 0, **options}).retrieve(Query(PLAIN))


def test_a_topic_loses_for_each_better_document_about_it() -> None:
    plain, found = (repeated(topic_penalty=penalty) for penalty in (0.0, 2.0))
    assert [d.document.title for d in plain.documents] == ["Ada", "Ada", "Ada", "Bea", "", ""]
    # z of .9 to .4, whose mean is .65 and deviation .1708: 1.46, .88, .29, -.29, -.88, -1.46.
    # The second about Ada loses 2, the third 4.
    assert [(d.document.title, d.document.text) for d in found.documents] == [
        ("Ada", "text 0"), ("Bea", "text 0"), ("", "text 0"), ("Ada", "text 1"),
        ("", "text 1"), ("Ada", "text 2"),
    ]  # fmt: skip
    assert [d.score for d in found.documents] == pytest.approx(
        [1.4639, -0.2928, -0.8783, 0.8783 - 2, -1.4639, 0.2928 - 4], abs=1e-3
    )
    assert [d.measures["repetition"] for d in found.documents] == [0, 0, 0, 1, 0, 2]
    assert [d.parts["repetition"] for d in found.documents] == [0, 0, 0, -2, 0, -4]


def test_with_a_penalty_a_limit_leaves_the_first() -> None:
    every = repeated(topic_penalty=2.0).documents
    for limit in range(1, 6):
        assert repeated(topic_penalty=2.0, limit=limit).documents == every[:limit]


ULM, ORBIS, LINZ = "Ulm", "Orbis", "Linz"


def asking(question: str, **options: Any) -> Retrieved:
    """A document about Ada, which names a city and a company with documents, and one about Linz.

    No other document names the city of Linz.
    """
    ulm, linz = (Mention(name, classes=(COMMON["City"].value,)) for name in (ULM, LINZ))
    orbis = Mention(ORBIS, classes=(COMMON["Company"].value,))
    contents = [
        ("Ada", "text", Extraction((Mention("Ada"), ulm, orbis))),
        (ULM, "text", Extraction((ulm,))),
        (ORBIS, "text", Extraction((orbis,))),
        (LINZ, "text", Extraction((linz,))),
    ]
    cosines = {"Ada": 0.9, LINZ: 0.8, ORBIS: 0.7, ULM: 0.2}
    vectors = {f"{title}\ntext": {"q": cosine} for title, cosine in cosines.items()}
    reader, _ = indexed(contents)
    view = view_of(reader, AxesEmbedder("qABC", {question: {"q": 1.0}, **vectors}))
    options = {"gain": 0, "class_gain": 3, **options}
    return make_retriever("sarag", view, options).retrieve(Query(question))


@pytest.mark.parametrize(
    ("question", "classes", "asked"),
    [
        ("In which city was she born?", "city", {ULM}),
        ("In which towns did she live?", "town", {ULM}),  # an alternative label, in the plural
        ("In which settlement was she born?", "settlement", {ULM}),  # cities are settlements
        ("Which companies of that city did she found?", "city and company", {ULM, ORBIS}),
        ("In which country was she born?", "country", set()),
        ("Did she like City Lights?", None, set()),
        ("Where was she born?", None, set()),
    ],
)
def test_the_class_that_a_question_asks_for_leads_on(
    question: str, classes: str | None, asked: set[str]
) -> None:
    """Linz is a city too, and among the first, but only its own document names it."""
    found = asking(question)
    assert found.settings.get("classes") == classes
    parts = {d.document.title: d.parts["asked"] for d in found.documents}
    assert parts == {title: 3.0 * (title in asked) for title in ("Ada", ULM, ORBIS, LINZ)}
    assert {d.document.title for d in found.documents if d.measures["asked"]} == asked


def test_what_is_asked_for_rises() -> None:
    question = "In which city was she born?"
    order = [d.document.title for d in asking(question).documents]
    assert order == [ULM, "Ada", LINZ, ORBIS]
    plain = asking(question, class_gain=0)
    assert [d.document.title for d in plain.documents] == ["Ada", LINZ, ORBIS, ULM]
    assert "classes" not in plain.settings
    for limit in (1, 2, 3):
        found = asking(question, limit=limit)
        assert [d.document.title for d in found.documents] == order[:limit]


# -------------------------------------------------------------------------- Of any graph


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("limit", [None, 3])
def test_without_explanation_the_ranking_is_the_same(question: str, limit: int | None) -> None:
    view = view_of(larger_graph(1))
    told, untold = (
        make_retriever("sarag", view, {"explain": explain, "limit": limit}).retrieve(
            Query(question)
        )
        for explain in (True, False)
    )
    assert any(d.chain for d in told.documents)
    assert [(d.document, d.score, d.rank, d.parts, d.measures) for d in untold.documents] == [
        (d.document, d.score, d.rank, d.parts, d.measures) for d in told.documents
    ]
    assert (untold.settings, untold.calibration) == (told.settings, told.calibration)
    assert (untold.entities, untold.seeds, untold.relationships) == ((), (), ())


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_limit_leaves_the_first(question: str) -> None:
    view = view_of(larger_graph(1))
    every = make_retriever("sarag", view, {}).retrieve(Query(question))
    for limit in (1, 7, 99):
        found = make_retriever("sarag", view, {"limit": limit}).retrieve(Query(question))
        assert found.documents == every.documents[:limit]
        assert found.seeds == every.seeds


def test_the_same_question_again() -> None:
    view = view_of(larger_graph(1))
    made = make_retriever("sarag", view, {})
    once = [made.retrieve(Query(question)) for question in QUESTIONS]
    again = [
        make_retriever("sarag", view_of(larger_graph(1)), {}).retrieve(Query(question))
        for question in QUESTIONS
    ]
    assert once == again


def test_a_named_entity_that_many_outdo_is_told() -> None:
    # Four share the alias: .25 each. The one document that is a seed gives at least .5 to more
    # than are told.
    crowd = tuple(Mention(f"Ones {number:03}") for number in range(sarag.ENTITIES + 20))
    owners = [
        ("", f"owner {x}", Extraction((Mention(f"Ada {x * 3}", aliases=("Ada",)),))) for x in "bcde"
    ]
    reader, iris = indexed([("", "who is ada", Extraction(crowd)), *owners])
    options = {"k": 1, "decay": 1.0, "limit": 1}
    found = make_retriever("sarag", view_of(reader), options).retrieve(Query("Who is Ada?"))
    assert [s.node for s in found.seeds if s.reason == "document"] == iris[:1]
    most, others = found.entities[: sarag.ENTITIES], found.entities[sarag.ENTITIES :]
    assert min(entity.activation for entity in most) >= 0.5
    named = {s.name: s.activation for s in found.seeds if s.reason == "named in the question"}
    assert named == {f"Ada {x * 3}": 0.25 for x in "bcde"}
    assert {e.name for e in others if e.is_seed} == named.keys()
    assert len(others) == 4


@pytest.mark.parametrize("question", QUESTIONS)
def test_entities_on_the_chains_of_documents_are_told(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sarag, "ENTITIES", 2)
    view = view_of(larger_graph(5))
    found = make_retriever("sarag", view, {"c": 0.5}).retrieve(Query(question))
    told = [entity.iri for entity in found.entities]
    passed = {iri for d in found.documents for s in d.chain for iri in (s.origin, s.target)}
    assert 2 < len(told) == len(set(told))
    assert passed & set(view.iris.entities) <= set(told)
    activations = [entity.activation for entity in found.entities]
    assert activations == sorted(activations, reverse=True)


WRONG: list[dict[str, Any]] = [
    *({"k": -1}, {"n": 0}, {"n": -1}, {"c": 1.0}, {"c": -0.1}),
    *({"decay": 1.5}, {"decay": -0.1}, {"gain": -1.0}, {"tau_a": 0.5}, {"depth": 3}),
]


@pytest.mark.parametrize("options", WRONG)
def test_options_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="sarag"):
        make_retriever("sarag", small_graph()[0], options)
