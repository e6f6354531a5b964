"""Articles of a graph: every statement is in one; they are indexed with their topics."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import UnparsableReplyError
from sarag_rdf.base.ports import LLM, Table
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.papers.articles import ArticleReport
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag
from tests.sample_graph import SOURCES, CapitalExtractor

FILMS = "https://films.example.org/"
EXAMPLE = Path(__file__).parents[2] / "examples" / "films.ttl"
RIVERS = """
@prefix : <https://rivers.example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ulm rdfs:label "Ulm"@en ; rdfs:comment "A town in Swabia"@en ; :liesOn :danube , :unnamed ;
  :inhabitants 128928 .
:danube rdfs:label "Danube"@en .
:unnamed :liesOn :danube .
"""


@pytest.fixture(scope="module")
def kg() -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as graph:
        graph.import_graph(EXAMPLE, "rdf", name="films")
        yield graph


def articles(
    kg: KnowledgeGraph, *over: str, rewrite: bool = False
) -> tuple[dict[str, str], ArticleReport]:
    output = io.BytesIO()
    report = kg.export("articles", output, over=over, rewrite=rewrite)
    records = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [record["id"] for record in records] == sorted(record["id"] for record in records)
    assert isinstance(report, ArticleReport)
    assert report.articles == len(records)
    return {record["id"]: record["text"] for record in records}, report


def test_statements_are_in_the_articles_of_both_ends(kg: KnowledgeGraph) -> None:
    texts, report = articles(kg, "films")
    assert texts[FILMS + "harbour"].splitlines() == [
        "Winter Harbour is a film.",
        "Actors starring in Winter Harbour: Berta Quill, Tomas Arvo.",
        "Directors of Winter Harbour: Ines Falcato.",
        "Languages of Winter Harbour: Portuguese.",
    ]
    assert texts[FILMS + "ruben"].splitlines()[1:] == [
        "Films starring Ruben Soldevila: The Glass Orchard.",
        "Films directed by Ruben Soldevila: Paper Lantern.",
    ]
    # 3 directors, 5 actors, 3 languages
    assert (report.statements, report.covered) == (11, 11)
    assert articles(kg, "films")[0] == texts


def test_what_has_no_name_is_counted(tmp_path: Path) -> None:
    (tmp_path / "rivers.ttl").write_text(RIVERS)
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(tmp_path / "rivers.ttl", "rdf", name="rivers")
        texts, report = articles(kg, "rivers")
    ulm = texts["https://rivers.example.org/ulm"]
    assert ulm.splitlines() == [
        "A town in Swabia.",
        "Inhabitants of Ulm: 128928.",
        "Things (lies on) of Ulm: Danube.",
    ]
    assert report.unnamed == {"https://rivers.example.org/liesOn": 1}
    assert (report.statements, report.covered, report.nameless) == (4, 2, 1)


def test_an_article_names_the_class_that_its_topic_has(tmp_path: Path) -> None:
    (tmp_path / "sky.ttl").write_text("""
        PREFIX : <https://sky.example/>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
        PREFIX owl: <http://www.w3.org/2002/07/owl#>
        :m a :Planet , owl:NamedIndividual ; rdfs:label "Mars" ; :orbits :s .
        :v a :Planet ; rdfs:label "Venus" ; :orbits :s .
        :p a :Moon ; rdfs:label "Phobos" ; :orbits :m .
        :s a :Star , owl:NamedIndividual ; rdfs:label "Sun" .
        :u a :University ; rdfs:label "Orbis" ; :observes :m .
    """)
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(tmp_path / "sky.ttl", "rdf", name="sky")
        texts, _ = articles(kg, "sky")
    assert [text.splitlines()[0] for text in texts.values()] == [
        "Mars is a planet.",
        "Phobos is a moon.",
        "Sun is a star.",
        "Orbis is a university.",
        "Venus is a planet.",
    ]


def test_the_statements_of_documents() -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=CapitalExtractor())
        texts, report = articles(kg, "documents")
        count = kg.query(
            "SELECT (COUNT(DISTINCT ?r) AS ?n) { ?r sarag:subject ?s ; sarag:object ?o }"
        )
    assert isinstance(count, Table)
    [[number]] = count.rows
    assert report.statements == report.covered == int(number.value) > 0
    [ada] = [text for iri, text in texts.items() if iri.endswith("/ada")]
    assert "Ada founded Orbis." in ada


def test_many_names_are_several_sentences(tmp_path: Path) -> None:
    label = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
    store = ox.Store()
    hub = ox.NamedNode("urn:x:hub")
    store.add(ox.Quad(hub, label, ox.Literal("Hub")))
    for number in range(30):
        node = ox.NamedNode(f"urn:x:{number:02}")
        store.add(ox.Quad(node, label, ox.Literal(f"Town {number:02}")))
        store.add(ox.Quad(node, ox.NamedNode("urn:x:near"), hub))
    store.dump(tmp_path / "towns.nt", from_graph=ox.DefaultGraph())
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(tmp_path / "towns.nt", "rdf", name="towns")
        texts, _ = articles(kg, "towns")
    lines = texts["urn:x:hub"].splitlines()
    assert [line.count("Town") for line in lines] == [12, 12, 6]
    assert all("Hub: " in line for line in lines)


def rewritten(llm: LLM) -> tuple[dict[str, str], ArticleReport]:
    with sarag_rdf.open(None, embedder=HashEmbedder(), llm=llm) as kg:
        kg.import_graph(EXAMPLE, "rdf", name="films")
        return articles(kg, "films", rewrite=True)


def test_what_a_model_leaves_out_is_added() -> None:
    replies: list[dict[str, str] | Exception] = [{"article": "A text."} for _ in range(9)]
    # by IRI: Berta, Catalan, Winter Harbour, ...
    replies[2] = {"article": "Winter Harbour, by Ines Falcato, is\nin Portuguese with Tomas Arvo."}
    replies[3] = UnparsableReplyError("no JSON")
    llm = QueuedLLM(replies)
    texts, report = rewritten(llm)
    assert texts[FILMS + "harbour"].splitlines() == [
        "Winter Harbour, by Ines Falcato, is",
        "in Portuguese with Tomas Arvo.",
        "Actors starring in Winter Harbour: Berta Quill, Tomas Arvo.",
    ]
    assert texts[FILMS + "ines"].startswith("Ines Falcato is a person.\nFilms directed by")
    assert (report.rewritten, report.refused) == (8, 1)
    assert report.restored == 1 + sum(len(text.splitlines()) - 1 for text in (
        texts[FILMS + name] for name in ("berta", "catalan", "lantern", "orchard", "portuguese",
                                         "ruben", "tomas")
    ))  # fmt: skip
    assert report.covered == 11
    assert "Directors of Winter Harbour: Ines Falcato." in llm.prompts[2]


def test_articles_are_indexed_with_their_topics(sarag: Sarag, tmp_path: Path) -> None:
    with sarag_rdf.open("graph", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(EXAMPLE, "rdf", name="films")
    arguments = ["--format", "articles", "--kg", "graph", "--over", "films"]
    done = sarag("export", *arguments, "--output", "films.jsonl")
    assert done.code == 0
    assert "9 articles; 11 statements, of which 11 are in an article" in done.err
    before = Path("films.jsonl").read_bytes()
    alone = ("export", "--kg", "graph", "--format", "articles", "--output", "films.jsonl")
    sarag(*alone).fails(1, "--over")
    assert Path("films.jsonl").read_bytes() == before
    sarag("export", "--kg", "graph", "--over", "films").fails(2, "--over", "articles")
    sarag("export", *arguments, "--entities").fails(2, "--entities", "articles")
    sarag("export", "--kg", "graph", "--rewrite").fails(2, "--rewrite", "articles")
    sarag("export", *arguments, "--rewrite", "-o", "x.jsonl").fails(2, "--base-url")
    assert not (tmp_path / "x.jsonl").exists()
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index("films.jsonl", extractor=CapitalExtractor())
        found = kg.search("What are the languages of Winter Harbour?", retriever="bm25", limit=1)
    assert found.documents[0].document.source_iri.endswith(f"films.jsonl#{FILMS}harbour")
