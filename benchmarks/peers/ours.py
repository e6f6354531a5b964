"""`sarag` itself, and what peers are given: the passages, the questions and our graph of them."""

from __future__ import annotations

import json
import resource
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sarag_rdf
from benchmarks.peers.exchange import (
    DEPTH,
    RESULT,
    WARM_UP,
    Entity,
    Passage,
    Question,
    Relationship,
    write,
)
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import Table, embed_queries
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation import datasets
from sarag_rdf.plugins.evaluation.datasets import Corpus

INDEXED = "index.json"
"""The processor seconds of indexing, beside the results."""
DOCUMENTS = """SELECT DISTINCT ?document ?title ?text {
  ?document a sarag:Document ; sarag:text ?text . OPTIONAL { ?document dcterms:title ?title } }"""
DESCRIBED = """SELECT DISTINCT ?document ?entity ?name ?class {
  ?document a sarag:Document ; sarag:describes ?entity .
  ?entity a sarag:Entity, ?class ; skos:prefLabel ?name . FILTER(?class != sarag:Entity)
} ORDER BY ?entity ?class ?document"""
RELATED = """SELECT DISTINCT ?relationship ?subject ?phrase ?object ?text ?document {
  ?relationship sarag:subject ?subject ; sarag:object ?object ; sarag:phrase ?phrase ;
    sarag:text ?text ; prov:wasDerivedFrom ?document .
} ORDER BY ?relationship ?document"""


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def index(folder: Path, corpus: Corpus, timings: Path) -> None:
    """Index a corpus into a new folder, and write the processor seconds to a file.

    An existing graph is used as it is; raises `InputError` if it lacks a passage.
    """
    begin = processor_seconds()
    with sarag_rdf.open(folder) as kg:
        is_new = not kg.extractors()
        if is_new:
            kg.index([passage.source for passage in corpus.passages])
            kg.search(WARM_UP, limit=DEPTH)
        parts = {corpus.index_of_part(title, text) for title, text in kg.documents()}
    seconds = processor_seconds() - begin
    if missing := len(corpus.passages) - len(parts - {None}):
        raise InputError(f"{folder} lacks {missing} passages of the corpus: name a new folder")
    if is_new:
        timings.write_text(json.dumps({"index_seconds": round(seconds, 3)}), "utf-8")


def give(
    kg: KnowledgeGraph, corpus: Corpus, questions: Sequence[datasets.Question], folder: Path
) -> None:
    """Write what peers are given into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    passages = [Passage(i, p.title, p.text) for i, p in enumerate(corpus.passages)]
    asked = [Question(q.query.text, names_in(kg, q)) for q in questions]
    entities, relationships = parts(kg, corpus)
    write(folder / "passages.jsonl", passages)
    write(folder / "questions.jsonl", asked)
    write(folder / "entities.jsonl", entities)
    write(folder / "relationships.jsonl", relationships)


def names_in(kg: KnowledgeGraph, question: datasets.Question) -> list[str]:
    """The names in a question from which `sarag` starts, as the graph spells them."""
    found = kg.search(question.query.text, limit=1)
    return list(dict.fromkeys(seed.name for seed in found.seeds if seed.name and not seed.text))


def parts(kg: KnowledgeGraph, corpus: Corpus) -> tuple[list[Entity], list[Relationship]]:
    """The entities with their passages, and the relationships between two of them."""
    numbers = {
        document: corpus.index_of_part(title or "", text)
        for document, title, text in table(kg, DOCUMENTS)
    }
    names: dict[str, str] = {}
    kinds: dict[str, str] = {}
    places = defaultdict[str, list[int]](list)
    for document, entity, name, kind in table(kg, DESCRIBED):
        names.setdefault(entity, name)
        kinds.setdefault(entity, kind.rpartition("#")[2].rpartition("/")[2])
        if (number := numbers[document]) is not None and number not in places[entity]:
            places[entity].append(number)
    entities = [Entity(name, kinds[iri], places[iri]) for iri, name in names.items() if places[iri]]
    relationships = [
        Relationship(names[subject], phrase, names[object_], text, number)
        for _, subject, phrase, object_, text, document in table(kg, RELATED)
        if subject in names and object_ in names and subject != object_
        and (number := numbers[document]) is not None
    ]  # fmt: skip
    return entities, relationships


def table(kg: KnowledgeGraph, query: str) -> list[tuple[Any, ...]]:
    """The values of each row; None for those that are not bound."""
    prefixes = "".join(f"PREFIX {name}: <{base}> " for name, base in PREFIXES.items())
    result = kg.query(prefixes + query)
    assert isinstance(result, Table)
    return [tuple(term and term.value for term in row) for row in result.rows]


def rank(
    kg: KnowledgeGraph, corpus: Corpus, questions: Sequence[datasets.Question], folder: Path
) -> None:
    """Ask `sarag` every question, as `exchange.run` asks a peer."""
    embedder = kg.embedder()
    embed_queries(embedder, [question.query.text for question in questions])  # not timed
    kg.search(WARM_UP, limit=DEPTH)
    rankings, milliseconds = [], []
    for question in questions:
        begin = time.process_time()
        found = kg.search(question.query.text, limit=DEPTH)
        milliseconds.append(round(1000 * (time.process_time() - begin), 3))
        documents = [ranked.document for ranked in found.documents]
        rankings.append([corpus.index_of_part(d.title, d.text) for d in documents])
    timings = folder.parent / INDEXED
    seconds = json.loads(timings.read_text("utf-8")) if timings.exists() else {}
    result = {
        "packages": {"sarag-rdf": sarag_rdf.__version__},
        "index_seconds": seconds.get("index_seconds"),
        "milliseconds": milliseconds,
        "rankings": rankings,
    }
    folder.mkdir(exist_ok=True)
    (folder / RESULT).write_text(json.dumps(result), "utf-8")
