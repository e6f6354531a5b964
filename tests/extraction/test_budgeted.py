"""A model for the central documents, keywords for the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source, Usage
from sarag_rdf.plugins.papers.budgeted import (
    BudgetedExtractor,
    BudgetedOptions,
    centrality,
    keyword_weights,
)
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag

TEXTS = {
    "Ulm": "Ulm lies on the Danube. The Danube flows past Ulm Minster.",
    "Danube": "The Danube flows from the Black Forest past Ulm and Vienna to the Black Sea.",
    "Vienna": "Vienna lies on the Danube. Boltzmann taught in Vienna.",
    "Boltzmann": "Boltzmann was born in Vienna.",
    "Zebra": "A zebra has stripes.",
}
DOCUMENTS = [
    Document(f"https://d.example/{t}", "https://d.example/", t, text, 0, len(text))
    for t, text in TEXTS.items()
]


class Recorder:
    """Extracts the title, and records the documents that it is given."""

    method = Method("recorder", "model", "hash", {"a": "b"})

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.discarded = {"odd": 1}

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for document in documents:
            self.titles.append(document.title)
            mention = Mention(document.title, descriptions=(document.text,))
            yield Extraction((mention,), (Relation(document.title, "is", document.title, "x"),))

    def estimate(self, documents: list[Document], *, price_in: float, price_out: float) -> Usage:
        return Usage(2 * len(documents), 0, 100 * len(documents), 10, price_in + price_out)


def extracted(extractor: BudgetedExtractor) -> list[Extraction]:
    found = list(extractor.extract(iter(DOCUMENTS)))
    assert all(isinstance(extraction, Extraction) for extraction in found)
    return [extraction for extraction in found if isinstance(extraction, Extraction)]


@pytest.mark.parametrize(
    ("share", "read"),
    [(0.0, 0), (0.2, 1), (0.21, 2), (0.4, 2), (0.6, 3), (1.0, 5)],
)
@pytest.mark.parametrize("embedder", [None, HashEmbedder()])
def test_the_model_reads_its_share(share: float, read: int, embedder: HashEmbedder | None) -> None:
    model = Recorder()
    found = extracted(BudgetedExtractor(model, BudgetedOptions(share=share), embedder=embedder))
    assert len(found) == len(DOCUMENTS)
    assert len(model.titles) == read
    by_model = {d.title for d, e in zip(DOCUMENTS, found, strict=True) if e.relations}
    assert by_model == set(model.titles)
    for document, extraction in zip(DOCUMENTS, found, strict=True):
        assert extraction.mentions[0].name == document.title


def test_the_central_documents_come_first() -> None:
    for share, titles in ((0.2, {"Danube"}), (0.4, {"Danube", "Vienna"})):
        model = Recorder()
        extracted(BudgetedExtractor(model, BudgetedOptions(share=share)))
        assert set(model.titles) == titles
    model = Recorder()
    extracted(BudgetedExtractor(model, BudgetedOptions(share=0.8)))
    assert "Zebra" not in model.titles


def test_keywords_are_shared_names_and_words_with_their_sentences() -> None:
    found = extracted(BudgetedExtractor(Recorder(), BudgetedOptions(share=0.0, keywords=4)))
    vienna = {mention.name: mention.descriptions for mention in found[2].mentions}
    assert vienna["Boltzmann"] == ("Boltzmann: Boltzmann taught in Vienna.",)
    assert vienna["Danube"] == ("Danube: Vienna lies on the Danube.",)
    assert not any(extraction.relations for extraction in found)
    [zebra] = found[4].mentions
    assert (zebra.name, zebra.descriptions) == ("Zebra", ("Zebra: A zebra has stripes.",))
    assert len(found[1].mentions) == 4  # the title is one of the best


def test_names_of_several_words_are_one_keyword() -> None:
    texts = ("The Tower of London stands.", "Ann saw the Tower of London.", "Tower of London")
    weights = keyword_weights(
        [Document(f"urn:{n}", "urn:s", "", t, 0, len(t)) for n, t in enumerate(texts)]
    )
    assert {"Tower of London"} <= weights[0].keys() & weights[1].keys()
    assert "Ann" not in weights[1]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("Marie Curie était née à Varsovie.", "Marie Curie étudie près de Varsovie."),
         {"Marie Curie", "Varsovie"}),
        (("Висла течёт через город Варшава.", "Варшава и река Висла."), {"Висла", "Варшава"}),
        (("Sie kannte Émile Zola in Österreich.", "Émile Zola öffnete Österreich."),
         {"Émile Zola", "Österreich"}),
    ],
)  # fmt: skip
def test_names_end_before_small_letters_of_any_script(
    texts: Sequence[str], names: set[str]
) -> None:
    weights = keyword_weights(
        [Document(f"urn:{n}", "urn:s", "", t, 0, len(t)) for n, t in enumerate(texts)]
    )
    assert weights[0].keys() == weights[1].keys() == names


def test_centrality_is_the_pagerank_of_the_nearest_neighbours() -> None:
    weights = keyword_weights(DOCUMENTS)
    vectors = HashEmbedder().embed([document.titled_text for document in DOCUMENTS])
    terms = sorted({term for own in weights for term in own})
    rows = np.array([[own.get(term, 0.0) for term in terms] for own in weights])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    expected = nx.Graph()
    expected.add_nodes_from(range(len(DOCUMENTS)))
    for matrix in (rows, vectors.astype(float)):
        for a in range(len(DOCUMENTS)):
            cosines = [(-round(float(matrix[a] @ matrix[b]), 6), b) for b in range(5) if b != a]
            for cosine, b in sorted(cosines)[:2]:
                if cosine < 0:
                    before = expected.get_edge_data(a, b, {"weight": 0.0})["weight"]
                    expected.add_edge(a, b, weight=max(before, -cosine))
    ranks = nx.pagerank(expected, alpha=0.85, tol=1e-10, max_iter=500)
    assert np.allclose(centrality(weights, vectors, 4), [ranks[n] for n in range(5)], atol=1e-5)


def test_its_settings_are_part_of_the_method() -> None:
    one, other = (BudgetedExtractor(Recorder(), BudgetedOptions(share=s)) for s in (0.2, 0.4))
    assert one.method != other.method
    assert (one.method.extractor, one.method.model) == ("budgeted", "model")
    assert one.method.settings["budget_extractor"] == "recorder"
    assert one.method.settings["a"] == "b"
    assert one.discarded == {"odd": 1}


def test_the_estimate_is_the_share_of_the_models() -> None:
    extractor = BudgetedExtractor(Recorder(), BudgetedOptions(share=0.4))
    usage = extractor.estimate(DOCUMENTS, price_in=1.0, price_out=1.5)
    assert usage == Usage(4, 0, 200, 4, 1.0)
    assert extractor.estimate([], price_in=1.0, price_out=1.0) is not None


def test_on_the_command_line_with_a_file_instead_of_a_model(sarag: Sarag, tmp_path: Path) -> None:
    docs = [
        {
            "title": title, "text": text, "passage": f"{title}\n{text}",
            "extracted_entities": [title, "Danube"],
            "extracted_triples": [[title, "is near", "Danube"]],
        }
        for title, text in TEXTS.items()
    ]  # fmt: skip
    (tmp_path / "openie.json").write_text(json.dumps({"docs": docs}))
    lines = [json.dumps({"title": title, "text": text}) for title, text in TEXTS.items()]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    extractor = f"budgeted:share=0.4:openie={tmp_path / 'openie.json'}"
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(tmp_path / "texts.jsonl", extractor=extractor)
        assert (report.added, report.problems) == (5, [])
        assert kg.extractors() == {"budgeted"}
        assert kg.validate().conforms
        names = {entity.name for entity in kg.search("Where is the Danube?").entities}
        assert "Danube" in names
        again = kg.index(tmp_path / "texts.jsonl", extractor=extractor)
        assert again.unchanged == 5
    done = sarag("index", tmp_path / "texts.jsonl", "--kg", tmp_path / "kg", "--extractor",
                 "budgeted:share=2")  # fmt: skip
    done.fails(2, "share of budgeted", "between 0 and 1")


def test_keywords_alone_need_no_model(tmp_path: Path, sarag: Sarag) -> None:
    with pytest.raises(UsageError, match="needs an extractor"):
        BudgetedExtractor(None)
    (tmp_path / "ulm.txt").write_text("Ulm lies on the Danube.")
    (tmp_path / "vienna.txt").write_text("Vienna lies on the Danube.")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        files = [tmp_path / "ulm.txt", tmp_path / "vienna.txt"]
        report = kg.index(files, extractor="budgeted:share=0")
        assert (report.added, report.problems) == (2, [])
        assert kg.validate().conforms
        before = kg.query("SELECT ?e { ?e a sarag:Entity } ORDER BY ?e")
    # Another extractor is not chosen unasked.
    done = sarag("index", tmp_path / "ulm.txt", "--kg", tmp_path / "kg")
    done.fails(2, "extracted with budgeted", "--extractor")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.query("SELECT ?e { ?e a sarag:Entity } ORDER BY ?e") == before


def test_all_sources_are_documents_of_one_ranking() -> None:
    sources = [Source(text, title, f"{title}.txt") for title, text in TEXTS.items()]
    model = Recorder()
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(sources, extractor=BudgetedExtractor(model, BudgetedOptions(share=0.4)))
    assert set(model.titles) == {"Danube", "Vienna"}
