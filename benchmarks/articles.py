"""Articles by ``sarag export --format articles``: what dense retrieval finds of relation paths.

``python -m benchmarks.articles openie ARTICLES.jsonl OPENIE.json`` writes an OpenIE file that names
only the topics of articles: then they are indexed with ``--extractor openie:OPENIE.json`` in a
fraction of the time that spaCy takes.

``python -m benchmarks.articles search --kg KG --over NAME --articles KG --questions FILE`` searches
the graph of articles, and counts as `sarag evaluate paths` does, against the topic of a question
and its answers (DotRAG, section A.4). Article topics are the entities that the documents found are
about; chunk-resolved adds the neighbours of each that its document names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from urllib.parse import unquote

import click

import sarag_rdf
from sarag_rdf.base.arrays import find
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import Retriever
from sarag_rdf.plugins.evaluation.datasets import Question
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.evaluation.path_questions import (
    PathResult,
    names_of,
    neighbours,
    read_files,
    relation_paths,
    row_of,
)
from sarag_rdf.retrieval.view import GraphView


@click.group()
def main() -> None:
    """Index articles, and search them."""


@main.command()
@click.argument("articles", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
def openie(articles: Path, output: Path) -> None:
    """Write the file."""
    records = [json.loads(line) for line in articles.read_text("utf-8").splitlines()]
    docs = [
        {
            "title": record["title"],
            "text": record["text"],
            "passage": f"{record['title']}\n{record['text']}",
            "extracted_entities": [record["title"]],
            "extracted_triples": [],
        }
        for record in records
    ]
    output.write_text(json.dumps({"docs": docs}), "utf-8")


def search_articles(
    retriever: Retriever, view: GraphView, questions: Sequence[Question]
) -> list[PathResult]:
    """Search articles about the entities of `view` for all questions, without their brackets.

    Raises `InputError` if no document is an article about an entity of the graph.
    """
    results, every_topic = [], set[str]()
    for question in questions:
        begin = perf_counter()
        documents = retriever.retrieve(question.query).documents
        seconds = perf_counter() - begin
        # An article is about the identifier of its record, in the IRI of its source.
        iris = [r.document.source_iri.partition("/source/")[2].partition("#")[2] for r in documents]
        texts = [
            (topic, ranked.document.titled_text)
            for topic, ranked in zip(map(unquote, iris), documents, strict=True)
            if find(view.iris.entities, topic) >= 0
        ]
        topics = {topic for topic, _ in texts}
        every_topic |= topics
        names = names_of(view, topics)
        mentioned = set[str]().union(*(_mentioned(view, *pair) for pair in texts))
        expected = {*question.answers, *filter(None, [question.topic])}
        scores = {
            "article topics": PRF.of(names, expected),
            "chunk-resolved": PRF.of(names | mentioned, expected),
        }
        results.append(PathResult(scores, seconds, 0.0))
    if questions and not every_topic:
        raise InputError(
            "no document is an article about an entity of the graph: index a file by 'sarag export "
            "--format articles' of the same graph, and name its graph with --articles"
        )
    return results


def _mentioned(view: GraphView, topic: str, text: str) -> set[str]:
    """The names of the neighbours of an entity that occur in a text."""
    plain = " ".join(text.split()).casefold()
    names = names_of(view, neighbours(view, [topic]) - {topic})
    return {name for name in names if " ".join(name.split()).casefold() in plain}


@main.command()
@click.option("--kg", required=True)
@click.option("--over", required=True)
@click.option("--articles", required=True)
@click.option("--retriever", default="dense:limit=5", show_default=True)
@click.option("--questions", multiple=True, required=True, type=click.Path(path_type=Path))
def search(kg: str, over: str, articles: str, retriever: str, questions: tuple[Path, ...]) -> None:
    """Print precision, recall and F1 of each file of questions, in percent."""
    files = read_files(questions)
    with sarag_rdf.open(kg, over=[over]) as graph, sarag_rdf.open(articles) as other:
        view = relation_paths(graph.retriever("paths")).view
        found = other.retriever(retriever)
        results = {path: search_articles(found, view, own) for path, own in files.items()}
    for path, own in results.items():
        click.echo(f"{path.name}: {json.dumps(row_of(path, own)['accountings'])}")


if __name__ == "__main__":
    main()
