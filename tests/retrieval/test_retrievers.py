"""The published method on a graph small enough to be worked out by hand, and any retriever.

::

      Ada --.7-- Bea --.5-- Cid --.3-- Dan --.1-- Eve        cosines of the question and a link
       \\        / \\        / \\        / \\        /
        document 1   document 2  document 3  document 4
           .2           .4          .6          0            cosines of the question and a text

Document i tells of the link above it and of its two ends. The descriptions of Ada and Bea in
document 1 have cosines .9 and .5, all others .1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Extraction, Mention, Query, Relation, Retrieved
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.retrieval.context import Whole
from sarag_rdf.retrieval.view import GraphView
from tests.retrieval.graphs import MINTER, QUESTIONS, indexed, larger_graph, view_of
from tests.strategies import RETRIEVERS
from tests.typed_graph import typed_graph

QUESTION = "who?"
NAMES = ("Ada", "Bea", "Cid", "Dan", "Eve")
ADA, BEA, CID, DAN, EVE = (MINTER.entity(name.lower()) for name in NAMES)


class TableEmbedder:
    """Vectors in the plane, by the cosine that each text shall have with the question."""

    name = "table"

    def __init__(self, cosines: Mapping[str, float]) -> None:
        self._cosines = cosines

    def _cosine(self, text: str) -> float:
        return 1.0 if text.endswith("?") else self._cosines[text]

    def embed(self, texts: Sequence[str]) -> Matrix:
        rows = [(c, math.sqrt(1 - c * c)) for c in map(self._cosine, texts)]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 2)


def small_graph() -> tuple[GraphView, list[str]]:
    """The graph above, and the IRIs of its documents."""
    cosines = dict.fromkeys(NAMES, 0.3) | {"Ada in 1": 0.9, "Bea in 1": 0.5}
    contents = []
    for number, (one, other) in enumerate(pairwise(NAMES), start=1):
        text = f"document {number}"
        cosines[text] = (0.2, 0.4, 0.6, 0.0)[number - 1]
        cosines[f"{one} knows {other}"] = (0.7, 0.5, 0.3, 0.1)[number - 1]
        found = [Mention(n, descriptions=(f"{n} in {number}",)) for n in (one, other)]
        for mention in found:
            cosines.setdefault(mention.descriptions[0], 0.1)
        relations = (Relation(one, "knows", other),)
        contents.append(("", text, Extraction(tuple(found), relations)))
    reader, iris = indexed(contents)
    return view_of(reader, TableEmbedder(cosines)), iris


def search(name: str, *, question: str = QUESTION, **options: Any) -> tuple[Retrieved, list[str]]:
    """What a retriever finds in the small graph, and the IRIs of its documents."""
    view, iris = small_graph()
    return make_retriever(name, view, options).retrieve(Query(question)), iris


def activations(found: Retrieved) -> dict[str, float]:
    return {entity.iri: entity.activation for entity in found.entities}


def steps(found: Retrieved, entity: str) -> list[tuple[str, str]]:
    (chain,) = [e.chain for e in found.entities if e.iri == entity]
    return [(step.origin, step.target) for step in chain]


# -------------------------------------------------------------------------- As published


def test_the_published_method() -> None:
    found, documents = search("sarag-paper", k=1)
    assert [(s.node, s.activation) for s in found.seeds] == [(ADA, 1.0)]
    assert found.seeds[0].similarity == pytest.approx(0.9)
    assert found.subgraph.hops == {ADA: 0, BEA: 1, CID: 2, DAN: 3, EVE: 4}

    # Weights with c = .4: (.7 - .4) / .6 = 1/2, (.5 - .4) / .6 = 1/6, and 0 for .3 and .1.
    weights = {(k.subject, k.object): k.weight for k in found.subgraph.links}
    assert weights == pytest.approx(
        {(ADA, BEA): 1 / 2, (BEA, CID): 1 / 6, (CID, DAN): 0, (DAN, EVE): 0}, abs=1e-6
    )
    # Ada = 1: Bea = 1/2; Cid = 1/12; back from Cid, Bea = 1/2 + 1/72 = 37/72, just above .5.
    assert activations(found) == pytest.approx({ADA: 1, BEA: 37 / 72, CID: 1 / 12}, abs=1e-6)
    assert [e.iri for e in found.entities if e.is_activated] == [ADA, BEA]
    assert [(e.name, e.type, e.hop) for e in found.entities] == [
        ("Ada", "misc", 0),
        ("Bea", "misc", 1),
        ("Cid", "misc", 2),
    ]

    # Documents 1 and 2 describe Ada or Bea; .2 and .4 are below tau_d = .45.
    assert found.documents == ()
    # Between activated entities, and above tau_r = .5: Ada - Bea.
    assert [(k.text, k.subject, k.object) for k in found.relationships] == [
        ("Ada knows Bea", ADA, BEA)
    ]
    assert found.retriever == "sarag-paper"
    assert documents


def test_the_published_method_orders_documents_by_similarity() -> None:
    found, documents = search("sarag-paper", k=1, tau_d=0.2 - 1e-6)
    assert [d.document.iri for d in found.documents] == [documents[1], documents[0]]
    assert [d.rank for d in found.documents] == [1, 2]
    assert [d.score for d in found.documents] == pytest.approx([0.4, 0.2])
    # The strongest entity speaks for a document: Bea for 2, Ada (and not Bea) for 1.
    assert [d.entity for d in found.documents] == [BEA, ADA]
    assert [d.activation for d in found.documents] == pytest.approx([37 / 72, 1])
    (first, second) = (d.document for d in found.documents)
    assert (first.text, first.begin, first.end, first.language) == ("document 2", 0, 10, "en")
    assert second.source_iri == MINTER.source("1.txt", "", "")


def test_the_published_thresholds() -> None:
    # tau_a = .52 leaves only Ada; the links need both ends.
    found, documents = search("sarag-paper", k=1, tau_a=0.52, tau_d=0.0)
    assert [d.document.iri for d in found.documents] == [documents[0]]
    assert found.relationships == ()
    # With c = 0 the weights are .7, .5, .3, .1; n = 2 ends at Cid, and Cid - Dan is left out.
    found, _ = search("sarag-paper", k=1, n=2, c=0.0, tau_a=0.3, tau_r=0.45)
    assert found.subgraph.hops == {ADA: 0, BEA: 1, CID: 2}
    assert len(found.subgraph.links) == 2
    # Bea = .7, Cid = .5 * .7 = .35, and back: Bea = .7 + .5 * .35 = .875.
    assert activations(found) == pytest.approx({ADA: 1, BEA: 0.875, CID: 0.35}, abs=1e-6)
    assert [k.text for k in found.relationships] == ["Ada knows Bea", "Bea knows Cid"]


def copied_facts(copies: int) -> GraphView:
    """Ada knows Bea, in so many overlapping chunks; and Cid, who is described once."""
    cosines = dict.fromkeys(("Ada", "Bea", "Cid"), 0.1) | {"Ada knows Bea": 0.58, "Ada": 0.3}
    cosines |= {"Ada is a smith.": 0.9, "Bea sings.": 0.1, "Cid is a baker.": 0.8}
    found = Extraction(
        (
            Mention("Ada", descriptions=("Ada is a smith.",)),
            Mention("Bea", descriptions=("Bea sings.",)),
        ),
        (Relation("Ada", "knows", "Bea"),),
    )
    contents = [("", f"chunk {number}", found) for number in range(copies)]
    contents.append(("", "other", Extraction((Mention("Cid", descriptions=("Cid is a baker.",)),))))
    cosines |= {text: 0.1 for _, text, _ in contents}
    reader, _ = indexed(contents)
    return view_of(reader, TableEmbedder(cosines))


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_fact_counts_once_however_many_chunks_have_it(copies: int) -> None:
    """w' = (.58 - .4) / .6 = .3; added up, three copies would pass tau_a with .9."""
    options = {"k": 1, "n": 1}
    found = make_retriever("sarag-paper", copied_facts(copies), options).retrieve(Query(QUESTION))
    assert activations(found) == pytest.approx({ADA: 1.0, BEA: 0.3}, abs=1e-6)
    assert len(found.subgraph.links) == 1


@pytest.mark.parametrize("name", ["sarag-paper", "khop"])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_description_counts_once_however_many_chunks_have_it(name: str, copies: int) -> None:
    found = make_retriever(name, copied_facts(copies), {"k": 2}).retrieve(Query(QUESTION))
    assert [seed.node for seed in found.seeds] == [ADA, CID]


@pytest.mark.parametrize("name", ["sarag-paper", "khop"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_counts_description_nodes(name: str, k: int) -> None:
    """SA-RAG, section 5.4: the top k descriptions are nodes, one of each of three films.

    Their texts are equal, so that they are taken in the order of their IRIs.
    """
    names = ("Ada", "Bea", "Cid")
    cosines = dict.fromkeys(names, 0.1) | {"A film.": 0.9, "text": 0.1}
    mentions = tuple(Mention(name, descriptions=("A film.",)) for name in names)
    reader, _ = indexed([("", "text", Extraction(mentions))])
    view = view_of(reader, TableEmbedder(cosines))
    found = make_retriever(name, view, {"k": k}).retrieve(Query(QUESTION))
    assert len(found.seeds) == k


def test_relationships_without_documents_have_sources() -> None:
    """SA-RAG, section 5.6: tau_d prunes every document, and relationships are what is asked."""
    view, documents = small_graph()
    options = {"k": 1, "n": 2, "c": 0.0, "tau_a": 0.3, "tau_r": 0.45, "tau_d": 1.0}
    found = make_retriever("sarag-paper", view, options).retrieve(Query(QUESTION))
    assert not found.documents
    context = Whole().build(view, found, len)
    assert not context.excerpts
    [section] = context.sections
    assert {text: cited.document for text, cited in section.sources.items()} == {
        "Ada knows Bea": documents[0], "Bea knows Cid": documents[1]
    }  # fmt: skip


def test_relationships_of_other_texts_or_ends_stay_parallel() -> None:
    cosines = dict.fromkeys(("Ada", "Bea", "chunk", "Bea knows Ada", "Ada likes Bea"), 0.58)
    cosines |= {"Ada knows Bea": 0.58, "Ada is a smith.": 0.9}
    relations = (("Ada", "knows", "Bea"), ("Bea", "knows", "Ada"), ("Ada", "likes", "Bea"))
    mentions = (Mention("Ada", descriptions=("Ada is a smith.",)), Mention("Bea"))
    found = Extraction(mentions, tuple(Relation(*parts) for parts in relations))
    view = view_of(indexed([("", "chunk", found)])[0], TableEmbedder(cosines))
    result = make_retriever("sarag-paper", view, {"k": 1, "n": 1}).retrieve(Query(QUESTION))
    assert len(result.subgraph.links) == 3


def test_spreading_may_be_synchronous() -> None:
    # c = 0: Bea = .7 after one hop; with n = 2 iterations Bea = .7 + .7 and Cid = .5 * .7.
    found, _ = search("sarag-paper", k=1, n=2, c=0.0, spreading="synchronous")
    assert activations(found) == pytest.approx({ADA: 1, BEA: 1, CID: 0.35}, abs=1e-6)
    with pytest.raises(UsageError, match="walk"):
        search("sarag-paper", spreading="sideways")


def test_published_chains() -> None:
    found, _ = search("sarag-paper", k=1, c=0.0)
    assert steps(found, ADA) == []
    assert steps(found, EVE) == [(ADA, BEA), (BEA, CID), (CID, DAN), (DAN, EVE)]
    (eve,) = [e for e in found.entities if e.iri == EVE]
    # Each step passes on what its origin held: 1, .7, .35, .105.
    amounts = [0.7, 0.7 * 0.5, 0.35 * 0.3, 0.105 * 0.1]
    assert [step.amount for step in eve.chain] == pytest.approx(amounts, abs=1e-6)
    assert [step.weight for step in eve.chain] == pytest.approx([0.7, 0.5, 0.3, 0.1], abs=1e-6)


def test_published_chains_of_documents() -> None:
    found, documents = search("sarag-paper", k=1, c=0.0, tau_a=0.3, tau_d=0.0)
    by_iri = {d.document.iri: d for d in found.documents}
    # Ada, a seed, speaks for 1; Bea for 2; Cid for 3, with .35.
    wanted = {0: [], 1: [(ADA, BEA)], 2: [(ADA, BEA), (BEA, CID)]}
    for number, pairs in wanted.items():
        chain = by_iri[documents[number]].chain
        assert [(step.origin, step.target) for step in chain] == pairs
        assert [found.names[step.relationship] for step in chain] == [
            "Ada knows Bea", "Bea knows Cid",
        ][: len(pairs)]  # fmt: skip
    assert {found.names[entity] for entity in (ADA, BEA, CID)} == {"Ada", "Bea", "Cid"}


def test_without_hops_only_seeds_are_active() -> None:
    found, documents = search("sarag-paper", tau_d=0.0, k=1, n=0)
    assert found.subgraph.hops == {ADA: 0}
    assert found.subgraph.links == ()
    assert found.relationships == ()
    assert activations(found) == {ADA: 1.0}
    assert [d.document.iri for d in found.documents] == [documents[0]]


def test_an_entity_of_two_near_descriptions_is_one_seed() -> None:
    found, _ = search("sarag-paper", k=8, n=0)
    assert {s.node for s in found.seeds} == {ADA, BEA, CID, DAN, EVE}
    assert len(found.seeds) == 5
    assert [s.node for s in found.seeds[:2]] == [ADA, BEA]
    assert [s.similarity for s in found.seeds[:2]] == pytest.approx([0.9, 0.5])


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"n": -1}, {"c": 1.0}, {"c": -0.1}, {"depth": 3}, {"gain": 1.0}]
)
def test_published_options_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="sarag-paper"):
        search("sarag-paper", **options)


@pytest.mark.parametrize(("preset", "k", "n"), [("musique", 3, 4), ("2wiki", 10, 3)])
def test_presets(preset: str, k: int, n: int) -> None:
    found, _ = search("sarag-paper", preset=preset)
    assert (found.settings["k"], found.settings["n"]) == (k, n)
    for name, value in {"c": 0.4, "tau_a": 0.5, "tau_d": 0.45, "tau_r": 0.5}.items():
        assert found.settings[name] == value
    found, _ = search("sarag-paper", preset=preset, k=1)
    assert (found.settings["k"], found.settings["n"]) == (1, n)


def test_the_published_defaults_are_those_for_musique() -> None:
    assert search("sarag-paper")[0] == search("sarag-paper", preset="musique")[0]


def test_unknown_presets() -> None:
    with pytest.raises(UsageError, match=r"^unknown option 'preset' of sarag: choose from k, n, c"):
        search("sarag", preset="musique")
    with pytest.raises(UsageError) as raised:
        search("sarag-paper", preset="hotpot")
    assert str(raised.value) == (
        "unknown preset 'hotpot' of sarag-paper: choose from musique, 2wiki"
    )


# ------------------------------------------------------------------------- Any retriever


def test_unknown_retriever() -> None:
    with pytest.raises(UsageError, match="unknown retriever 'other': choose from bm25, dense, "):
        search("other")


@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.filterwarnings("error")
def test_nothing_is_indexed(name: str) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    found = make_retriever(name, view_of(reader), {}).retrieve(Query("Anything?"))
    assert (found.documents, found.entities, found.seeds) == ((), (), ())


@pytest.mark.parametrize("name", RETRIEVERS)
def test_options_that_nobody_takes(name: str) -> None:
    with pytest.raises(UsageError, match=rf"^unknown option 'colour' of {name}: .*\blimit\b"):
        search(name, colour="red")
    with pytest.raises(UsageError, match=f"^unknown option 'view' of {name}: "):
        search(name, view=None)


def test_an_option_of_another_retriever() -> None:
    with pytest.raises(UsageError) as raised:
        search("bm25", k=3)
    assert str(raised.value) == "unknown option 'k' of bm25: choose from limit"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": "red"}, "gain of sarag must be a number between 0 and 1000, not 'red'"),
        ({"k": 2.5}, "k of sarag must be an integer between 0 and 1000, not 2.5"),
        ({"k": None}, "k of sarag must be an integer between 0 and 1000, not None"),
        ({"limit": "ten"}, "limit of sarag must be an integer of at least 1, not 'ten'"),
    ],
)
def test_values_of_another_kind(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        search("sarag", **options)
    assert str(raised.value) == message


def test_numbers_of_numpy_are_numbers() -> None:
    search("sarag", k=np.int64(3), gain=np.float32(0.5), c=0, limit=None)


@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_documents_are_ranked_by_score(name: str, question: str) -> None:
    view = view_of(larger_graph(3))
    options = {"c": 0.2, "tau_d": 0.1} if name == "sarag-paper" else {}
    every = make_retriever(name, view, options).retrieve(Query(question))
    assert every.retriever == name
    assert len(every.documents) > 3
    scores = [document.score for document in every.documents]
    assert scores == sorted(scores, reverse=True)
    assert [document.rank for document in every.documents] == list(range(1, len(scores) + 1))
    assert len({document.document.iri for document in every.documents}) == len(scores)
    some = make_retriever(name, view, {**options, "limit": 2}).retrieve(Query(question))
    assert some.documents == every.documents[:2]


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_report_is_json(name: str) -> None:
    found = make_retriever(name, view_of(larger_graph(3)), {}).retrieve(Query(QUESTIONS[0]))
    report = retrieved_to_dict(found)
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize("name", sorted(RETRIEVERS))
def test_a_statement_whose_object_is_a_value_may_be_the_nearest(name: str) -> None:
    with typed_graph(None) as kg:
        found = kg.search("Ilse Brandt, a chemist, was 169 cm tall.", retriever=name)
        assert {ranked.document.text for ranked in found.documents} or name == "sarag-paper"
        with kg.session.read() as snapshot:
            count = len(snapshot.view.iris.relationships)
            assert 0 < len(snapshot.view.network.stated(np.arange(count))) < count
