"""Both retrievers on a graph small enough to be worked out by hand.

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
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sarag_rdf.assemble import RETRIEVERS, make_retriever
from sarag_rdf.context.report import retrieved_to_dict
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.vectors import GraphVectors
from sarag_rdf.index.evidence import source_quads
from sarag_rdf.index.refresh import refresh
from sarag_rdf.iris import Minter
from sarag_rdf.models.fakes import HashEmbedder
from sarag_rdf.ports import Embedder, Matrix, Vector, VectorStore
from sarag_rdf.stores.oxigraph import OxigraphStore
from sarag_rdf.stores.vectors import ExactIndex, MemoryVectors
from sarag_rdf.types import (
    Document,
    Extraction,
    Mention,
    Method,
    Query,
    Relation,
    Retrieved,
    Source,
)
from sarag_rdf.vocab import SARAG

MINTER = Minter()
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


def indexed(contents: Sequence[tuple[str, str, Extraction]]) -> tuple[GraphReader, list[str]]:
    """A graph of one document a source, by title and text, and the documents' IRIs."""
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    quads, iris = [], []
    for number, (title, text, extraction) in enumerate(contents, start=1):
        source = MINTER.source(f"{number}.txt", "", "")
        iri = MINTER.document(source, 0, len(text), text)
        document = Document(iri, source, title, text, 0, len(text))
        method = Method("test", "none")
        quads += source_quads(MINTER, Source(text, title), source, method, [(document, extraction)])
        iris.append(iri)
    reader.store.apply(refresh(reader, (), quads))
    return reader, iris


def small_graph(title: str, dull: bool) -> tuple[GraphReader, GraphVectors, list[str]]:
    """The graph above, with a title for document 3; `dull` makes all descriptions equally near."""
    cosines = dict.fromkeys(NAMES, 0.3)
    cosines |= {} if dull else {"Ada in 1": 0.9, "Bea in 1": 0.5}
    contents = []
    for number, (one, other) in enumerate(pairwise(NAMES), start=1):
        document = Document("", "", title if number == 3 else "", f"document {number}", 0, 10)
        cosines[document.titled_text] = (0.2, 0.4, 0.6, 0.0)[number - 1]
        cosines[f"{one} knows {other}"] = (0.7, 0.5, 0.3, 0.1)[number - 1]
        found = [Mention(n, descriptions=(f"{n} in {number}",)) for n in (one, other)]
        for mention in found:
            cosines.setdefault(mention.descriptions[0], 0.1)
        relations = (Relation(one, "knows", other),)
        contents.append((document.title, document.text, Extraction(tuple(found), relations)))
    reader, iris = indexed(contents)
    return reader, GraphVectors(reader, TableEmbedder(cosines), MemoryVectors(), "1"), iris


def search(
    name: str, *, question: str = QUESTION, title: str = "", dull: bool = False, **options: Any
) -> tuple[Retrieved, list[str]]:
    """What a retriever finds in the small graph, and the IRIs of its documents."""
    reader, vectors, iris = small_graph(title, dull)
    return make_retriever(name, reader, vectors, options).retrieve(Query(question)), iris


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


def test_published_chains() -> None:
    found, _ = search("sarag-paper", k=1, c=0.0)
    assert steps(found, ADA) == []
    assert steps(found, EVE) == [(ADA, BEA), (BEA, CID), (CID, DAN), (DAN, EVE)]
    (eve,) = [e for e in found.entities if e.iri == EVE]
    # Each step passes on what its origin held: 1, .7, .35, .105.
    amounts = [0.7, 0.7 * 0.5, 0.35 * 0.3, 0.105 * 0.1]
    assert [step.amount for step in eve.chain] == pytest.approx(amounts, abs=1e-6)
    assert [step.weight for step in eve.chain] == pytest.approx([0.7, 0.5, 0.3, 0.1], abs=1e-6)


# ------------------------------------------------------------------------------ Default

SETTINGS: dict[str, Any] = {"k": 1, "n": 2, "c": 0.0, "decay": 0.6, "gain": 0.7}


def test_the_default_method() -> None:
    found, documents = search("sarag", **SETTINGS)
    # Seeds. The nearest document, 3, has the greatest cosine of all: 1. The .9-quantile of the
    # descriptions' cosines .9, .5, .1 (six times) is .62; the nearest, Ada's, is the greatest,
    # and counts half.
    assert [(s.node, s.activation) for s in found.seeds] == [(documents[2], 1.0), (ADA, 0.5)]
    assert [s.similarity for s in found.seeds] == pytest.approx([0.6, 0.9])
    assert [s.name for s in found.seeds] == ["document 3", "Ada"]
    assert [s.reason for s in found.seeds] == ["document", "description: Ada in 1"]
    assert found.subgraph.hops == {ADA: 0, CID: 0, DAN: 0, BEA: 1, EVE: 1}

    # Links between .1 and .7 weigh 1, 2/3, 1/3 and 0.
    weights = {(k.subject, k.object): k.weight for k in found.subgraph.links}
    assert weights == pytest.approx(
        {(ADA, BEA): 1, (BEA, CID): 2 / 3, (CID, DAN): 1 / 3, (DAN, EVE): 0}, abs=1e-6
    )
    # The link of document 3 weighs 1/3 and opens its gates .4 + .6 / 3 = .6 wide: Cid, its only
    # subject, gets (.3 + .5) * .6 = .48, Dan .3 * .6 = .18. An arc between entities takes .6 of
    # its link, divided by the documents of where it starts: 1 for Ada and Eve, else 2.
    # Round 1: Cid = .48, Dan = .18, and from Ada, Bea = .6 * .5 = .3. Round 2: these three fire
    # at once: Cid = .48 + .2 * .3 + .1 * .18 = .558, Bea = .3 + .2 * .48 = .396, and
    # Dan = .18 + .1 * .48 = .228. Then all have fired.
    assert activations(found) == pytest.approx(
        {ADA: 0.5, BEA: 0.396, CID: 0.558, DAN: 0.228}, abs=1e-6
    )
    assert [(e.iri, e.name) for e in found.entities] == [
        (CID, "Cid"),
        (ADA, "Ada"),
        (BEA, "Bea"),
        (DAN, "Dan"),
    ]
    assert all(e.is_activated for e in found.entities)
    assert {e.iri for e in found.entities if e.is_seed} == {ADA}

    # Documents: an entity's activation without what the document gave it, over its number of
    # documents, times .2. 1: Ada .5 * .2. 2: Cid .558 / 2 * .2, more than Bea .396 / 2 * .2.
    # 3: Cid (.558 - .48) / 2 * .2, more than Dan (.228 - .18) / 2 * .2. 4: Dan .228 / 2 * .2.
    amounts = {1: 0.1, 2: 0.0558, 3: 0.0078, 4: 0.0228}
    by_number = {documents.index(d.document.iri) + 1: d for d in found.documents}
    assert {n: d.entity for n, d in by_number.items()} == {1: ADA, 2: CID, 3: CID, 4: DAN}
    assert {n: d.activation for n, d in by_number.items()} == pytest.approx(amounts, abs=1e-6)
    # Scores: the cosines .2, .4, .6, 0 have the mean .3 and the deviation sqrt .05.
    roots = {n: math.sqrt(amount) for n, amount in amounts.items()}
    mean, deviation = fmean(roots.values()), pstdev(roots.values())
    assert {n: d.score for n, d in by_number.items()} == pytest.approx(
        {
            n: (cosine - 0.3) / math.sqrt(0.05) + 0.7 * (roots[n] - mean) / deviation
            for n, cosine in {1: 0.2, 2: 0.4, 3: 0.6, 4: 0.0}.items()
        },
        abs=1e-5,
    )
    assert list(by_number) == [2, 1, 3, 4]
    # From the .98-quantile on, .5 + .94 * .2 = .688, a relationship is shown.
    assert [k.text for k in found.relationships] == ["Ada knows Bea"]


def test_without_gain_similarity_alone_orders_documents() -> None:
    found, documents = search("sarag", **SETTINGS | {"gain": 0.0})
    assert [documents.index(d.document.iri) + 1 for d in found.documents] == [3, 2, 1, 4]
    assert [d.score for d in found.documents] == pytest.approx(
        [x / math.sqrt(0.05) for x in (0.3, 0.1, -0.1, -0.3)], abs=1e-5
    )


def test_a_document_speaks_more_of_what_its_title_names() -> None:
    # Document 3 is about Cid: (.3 + .5 + .5, at most 1) * .6 = .6 to Cid. Then
    # Cid = .6 + .2 * .3 + .1 * .18 = .678, Bea = .3 + .2 * .6 = .42, Dan = .18 + .1 * .6 = .24.
    # In document 3, Cid's .078 / 2 counts .7 and not .2.
    found, documents = search("sarag", title="The Cid (novel)", **SETTINGS)
    assert activations(found) == pytest.approx(
        {ADA: 0.5, BEA: 0.42, CID: 0.678, DAN: 0.24}, abs=1e-6
    )
    (third,) = [d for d in found.documents if d.document.iri == documents[2]]
    assert third.entity == CID
    assert third.activation == pytest.approx(0.0273, abs=1e-6)
    assert found.seeds[0].name == "The Cid (novel)"


def test_what_the_question_names_is_a_seed() -> None:
    found, documents = search("sarag", question="What did Cid's father give to bea?", **SETTINGS)
    assert {(s.node, s.activation) for s in found.seeds} == {
        (documents[2], 1.0),
        (CID, 1.0),
        (ADA, 0.5),
    }  # 'bea' is a common word here.
    (cid,) = [s for s in found.seeds if s.node == CID]
    assert (cid.text, cid.similarity, cid.reason) == ("", 1.0, "named in the question")
    # Round 1: Cid, full, fires as document 3 and Ada do: Bea = .6 * .5 + .2 * 1 = .5 and
    # Dan = .18 + .1 * 1 = .28. Round 2: Cid and Ada have fired.
    assert activations(found) == pytest.approx({CID: 1, ADA: 0.5, BEA: 0.5, DAN: 0.28}, abs=1e-6)


def test_default_chains() -> None:
    found, documents = search("sarag", **SETTINGS)
    assert steps(found, ADA) == []
    assert steps(found, CID) == [(documents[2], CID)]
    assert steps(found, BEA) == [(ADA, BEA)]  # .6 * .5 = .3, more than the .096 from Cid
    by_name = {e.name: e for e in found.entities}
    (step,) = by_name["Bea"].chain
    assert (step.round, step.weight, step.amount) == pytest.approx((1, 0.6, 0.3), abs=1e-6)
    assert step.activation == pytest.approx(0.3, abs=1e-6)
    assert step.relationship in {k.relationship for k in found.subgraph.links}
    (step,) = by_name["Cid"].chain
    assert (step.weight, step.amount) == pytest.approx((0.48, 0.48), abs=1e-6)
    assert step.relationship == SARAG.describes.value
    # Without Ada, as no description is near enough, Bea is reached from document 3 over Cid.
    found, _ = search("sarag", dull=True, **SETTINGS)
    assert steps(found, BEA) == [(documents[2], CID), (CID, BEA)]


def test_a_description_that_is_not_near_makes_no_seed() -> None:
    # Bea's .5 lies below the .9-quantile, .62; so do all others; the second document likewise.
    found, documents = search("sarag", **SETTINGS | {"k": 4})
    assert [s.node for s in found.seeds] == [documents[2], ADA]


# --------------------------------------------------------------------------- Both of them


def test_without_hops_only_seeds_are_active() -> None:
    found, documents = search("sarag-paper", tau_d=0.0, k=1, n=0)
    assert found.subgraph.hops == {ADA: 0}
    assert found.subgraph.links == ()
    assert found.relationships == ()
    assert activations(found) == {ADA: 1.0}
    assert [d.document.iri for d in found.documents] == [documents[0]]

    # Here the seed document still passes to what it describes, but Cid and Dan pass nothing.
    found, documents_ = search("sarag", **SETTINGS | {"n": 0})
    assert found.subgraph.hops == {ADA: 0, CID: 0, DAN: 0}
    assert activations(found) == pytest.approx({ADA: 0.5, CID: 0.48, DAN: 0.18}, abs=1e-6)
    assert steps(found, DAN) == [(documents_[2], DAN)]
    assert found.relationships == ()


def test_an_entity_of_two_near_descriptions_is_one_seed() -> None:
    found, _ = search("sarag-paper", k=8, n=0)
    assert {s.node for s in found.seeds} == {ADA, BEA, CID, DAN, EVE}
    assert len(found.seeds) == 5
    assert [s.node for s in found.seeds[:2]] == [ADA, BEA]
    assert [s.similarity for s in found.seeds[:2]] == pytest.approx([0.9, 0.5])


@pytest.mark.parametrize(
    ("name", "options"),
    [("sarag-paper", {"k": 8, "n": 0, "tau_d": 0.0}), ("sarag", SETTINGS)],
)
def test_at_most_so_many_documents(name: str, options: dict[str, Any]) -> None:
    without, _ = search(name, **options)
    assert [d.rank for d in without.documents] == [1, 2, 3, 4]
    found, _ = search(name, **options, limit=2)
    assert found.documents == without.documents[:2]


@pytest.mark.parametrize("name", RETRIEVERS)
def test_nothing_is_indexed(name: str) -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    vectors = GraphVectors(reader, HashEmbedder(), MemoryVectors(), "1")
    found = make_retriever(name, reader, vectors, {}).retrieve(Query("anything"))
    assert (found.documents, found.entities, found.seeds) == ((), (), ())


WRONG: list[dict[str, Any]] = [{"k": 0}, {"n": -1}, {"c": 1.0}, {"c": -0.1}, {"depth": 3}]


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in RETRIEVERS for options in WRONG]
    + [("sarag", {"decay": 1.5}), ("sarag", {"gain": -1.0}), ("sarag", {"tau_a": 0.5})],
)
def test_options_that_cannot_work(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=name):
        search(name, **options)


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


@pytest.mark.parametrize(("name", "preset"), [("sarag", "musique"), ("sarag-paper", "hotpot")])
def test_unknown_presets(name: str, preset: str) -> None:
    with pytest.raises(UsageError, match=f"unknown preset '{preset}' for {name}"):
        search(name, preset=preset)


def test_unknown_retriever() -> None:
    with pytest.raises(UsageError, match="unknown retriever 'dense': choose one of sarag, sarag-p"):
        search("dense")


# ------------------------------------------------------------- A larger graph, by chance


class SqueezedIndex(ExactIndex):
    """An index whose cosines all lie between .6 and 1, as those of many embedders do."""

    def _cosines(self, vector: Vector) -> NDArray[np.float32]:
        return np.asarray(0.6 + 0.4 * super()._cosines(vector), dtype=np.float32)


class SqueezedVectors(MemoryVectors):
    def save(self, kind: str, key: str, iris: Sequence[str], matrix: Matrix) -> ExactIndex:
        return SqueezedIndex(iris, matrix)


WORDS = (
    "amber", "brook", "cedar", "delta", "ember", "frost", "grove", "haven", "island", "jade",
    "knoll", "lake", "meadow",
)  # fmt: skip


def larger_graph(seed: int) -> tuple[GraphReader, Callable[[VectorStore], GraphVectors]]:
    """Forty documents of two to four named things and as many relations, in random words."""
    chance = random.Random(seed)
    contents = []
    for number in range(40):
        names = chance.sample([word.title() for word in WORDS], chance.randint(2, 4))
        found = [
            Mention(name, descriptions=(f"{name} {' '.join(chance.sample(WORDS, 4))}",))
            for name in names
        ]
        relations = [
            Relation(one, " ".join(chance.sample(WORDS, 2)), other)
            for one, other in pairwise(names)
        ]
        title = chance.choice(["", names[0], f"{names[1]} (place)", "Notes"])
        text = f"{number} {' '.join(chance.choices(WORDS, k=12))}"
        contents.append((title, text, Extraction(tuple(found), tuple(relations))))
    reader, _ = indexed(contents)
    embedder: Embedder = HashEmbedder()
    return reader, lambda store: GraphVectors(reader, embedder, store, "1")


QUESTIONS = ("amber lake near the brook", "jade", "which knoll meets the meadow of frost?")


@pytest.mark.parametrize("question", QUESTIONS)
def test_squeezing_all_cosines_changes_no_result_of_the_default(question: str) -> None:
    reader, vectors = larger_graph(1)
    plain, squeezed = (
        make_retriever("sarag", reader, vectors(store), {"c": 0.5}).retrieve(Query(question))
        for store in (MemoryVectors(), SqueezedVectors())
    )
    assert len(plain.documents) == 40
    assert len([e for e in plain.entities if not e.is_seed]) > 3
    assert [d.document for d in squeezed.documents] == [d.document for d in plain.documents]
    assert [d.score for d in squeezed.documents] == pytest.approx(
        [d.score for d in plain.documents], abs=1e-4
    )
    assert activations(squeezed) == pytest.approx(activations(plain), abs=1e-5)
    assert [k.relationship for k in squeezed.relationships] == [
        k.relationship for k in plain.relationships
    ]
    # That is not because nothing was squeezed, nor does it hold for absolute thresholds.
    assert min(d.similarity for d in squeezed.documents) >= 0.6
    plain, squeezed = (
        make_retriever("sarag-paper", reader, vectors(store), {}).retrieve(Query(question))
        for store in (MemoryVectors(), SqueezedVectors())
    )
    assert len(squeezed.documents) > len(plain.documents)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_step_of_every_chain_is_exact(name: str, question: str) -> None:
    reader, vectors = larger_graph(2)
    options = {"c": 0.2, "k": 1} if name == "sarag-paper" else {"c": 0.5, "k": 1}
    made = make_retriever(name, reader, vectors(MemoryVectors()), options)
    found = made.retrieve(Query(question))
    links = {link.relationship: link for link in found.subgraph.links}
    seeds = {seed.node: seed.activation for seed in found.seeds}
    counts = documents_by_entity(reader, found)
    assert len([e for e in found.entities if len(e.chain) > 1]) >= 2
    for entity in found.entities:
        assert bool(entity.chain) != (entity.iri in seeds)
        held = None
        for step in entity.chain:
            least = seeds[step.origin] if held is None else held
            if name == "sarag":  # What the origin held is what the step before left it with.
                assert step.amount == step.weight * least
            if step.relationship == SARAG.describes.value:
                assert (held, name) == (None, "sarag")
                held = step.activation
                continue
            link = links[step.relationship]
            assert {step.origin, step.target} == {link.subject, link.object}
            if name == "sarag":
                share = float(found.settings["decay"]) / counts[step.origin]
                assert step.weight == pytest.approx(link.weight * share)
            else:  # More may have come in between.
                assert step.weight == link.weight
                assert least <= step.amount / step.weight + 1e-9 <= 1 + 2e-9
            held = step.activation
        if entity.chain:
            assert entity.chain[-1].activation <= entity.activation + 1e-12


def documents_by_entity(reader: GraphReader, found: Retrieved) -> dict[str, int]:
    """How many documents describe each entity: the one number that an explanation leaves out."""
    counts: dict[str, int] = {}
    for entity, _ in reader.rows_for("entity-documents", [e.iri for e in found.entities]):
        counts[entity.value] = counts.get(entity.value, 0) + 1
    return counts


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_score_can_be_recomputed_from_the_report(name: str, question: str) -> None:
    reader, vectors = larger_graph(3)
    options = {"c": 0.2, "tau_d": 0.3, "tau_r": 0.25} if name == "sarag-paper" else {"c": 0.5}
    made = make_retriever(name, reader, vectors(MemoryVectors()), options)
    report = json.loads(json.dumps(retrieved_to_dict(made.retrieve(Query(question)))))
    settings, calibration = report["settings"], report["calibration"]
    assert (report["question"], report["retriever"]) == (question, name)
    assert len(report["documents"]) > 3
    for document in report["documents"]:
        score = document["similarity"]
        if name == "sarag":
            score = (score - calibration["similarity_mean"]) / calibration["similarity_deviation"]
            root = math.sqrt(document["activation"]) - calibration["root_activation_mean"]
            score += settings["gain"] * root / calibration["root_activation_deviation"]
        else:
            assert document["similarity"] >= settings["tau_d"]
        assert document["score"] == pytest.approx(score)
    scores = [document["score"] for document in report["documents"]]
    assert scores == sorted(scores, reverse=True)
    assert [d["rank"] for d in report["documents"]] == list(range(1, len(scores) + 1))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", RETRIEVERS)
def test_the_report_is_of_one_piece(name: str, question: str) -> None:
    reader, vectors = larger_graph(3)
    options = {"c": 0.2, "tau_d": 0.3, "tau_r": 0.25} if name == "sarag-paper" else {"c": 0.5}
    made = make_retriever(name, reader, vectors(MemoryVectors()), options)
    report = json.loads(json.dumps(retrieved_to_dict(made.retrieve(Query(question)))))
    entities = {e["iri"]: e for e in report["entities"]}
    seeds = {s["node"]: s for s in report["seeds"]}
    names = {s["node"]: s["name"] for s in report["seeds"]}
    names |= {iri: entity["name"] for iri, entity in entities.items()}
    threshold = report["settings"].get("tau_a", 0.1)
    assert len(entities) > 3
    for entity in entities.values():
        assert entity["activated"] == (entity["activation"] > threshold)
        assert entity["seed"] == (entity["iri"] in seeds)
        assert entity["activation"] >= seeds.get(entity["iri"], entity)["activation"]
    assert len(report["relationships"]) >= 1
    for link in report["relationships"]:
        assert entities[link["subject"]]["activated"]
        assert entities[link["object"]]["activated"]
        assert link["subject_name"] == entities[link["subject"]]["name"]
        assert link["text"].startswith(link["subject_name"])
        if name == "sarag-paper":
            assert link["similarity"] > report["settings"]["tau_r"]
            rescaled = (link["similarity"] - 0.2) / 0.8
            assert link["weight"] == pytest.approx(rescaled)
    spoken_for = [d for d in report["documents"] if d["entity"]]
    assert len(spoken_for) > 3
    for document in spoken_for:
        speaker = entities[document["entity"]]
        assert document["entity_name"] == speaker["name"]
        assert document["activation"] <= speaker["activation"]
        targets = [step["target"] for step in document["chain"]]
        assert targets[-1:] == ([] if speaker["seed"] else [speaker["iri"]])
        for step in document["chain"]:
            assert step["origin_name"] == names[step["origin"]]
            assert bool(step["text"]) == (step["relationship"] != SARAG.describes.value)
