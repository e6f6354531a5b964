"""``sarag evaluate extraction``: typed statements against those of sentences that were annotated.

The gold file has the format of examples (`sarag_rdf.extraction.examples`): JSON Lines with a
text and all of its statements. Names are compared without accents, brackets, quotes and units; an
object that is a literal, as its text or as its value.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import sarag_rdf
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.ports import Extractor, Progress
from sarag_rdf.base.types import Document, Relation
from sarag_rdf.cli.flags import (
    embedder_option,
    endpoint_of,
    endpoint_options,
    kg_option,
    open_graph,
)
from sarag_rdf.cli.output import counted, progress_bars
from sarag_rdf.extraction.examples import Example, read_examples
from sarag_rdf.extraction.names import soft_text
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.evaluation.commands import check_outputs, result_options, show_results
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.evaluation.report import block

Key = tuple[str, str, str]
"""Subject, IRI of the property and object, as they are compared."""
_COLUMNS = {
    "gold": "gold|d", "extracted": "extracted|d", "precision": "P", "recall": "R", "f1": "F1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """The statements of a sentence, each as the keys that it can be compared by.

    `problem` says why the sentence could not be extracted.
    """

    text: str
    gold: tuple[Key, ...]
    extracted: tuple[frozenset[Key], ...]
    problem: str = ""


def keys_of(relation: Relation) -> frozenset[Key]:
    """The keys of a typed relation: several if its object is a literal."""
    subject, objects = relation.subject, {relation.object}
    if relation.value is not None:
        objects |= {relation.value.lexical, relation.value.text}
    triples = {(subject, each) for each in objects}
    if relation.inverse:
        triples = {(end, start) for start, end in triples}
    return frozenset((soft_text(s), relation.predicate, soft_text(o)) for s, o in triples)


def extract_all(
    extractor: Extractor, gold: Sequence[Example], progress: Progress
) -> list[SentenceResult]:
    """Extract from each sentence, as a document of its own."""
    documents = [
        Document(f"urn:sentence:{number}", "urn:sentences", "", example.text, 0, len(example.text))
        for number, example in enumerate(gold)
    ]
    advance = progress("extracting", len(documents))
    results = []
    for example, found in zip(gold, extractor.extract(documents), strict=True):
        known = tuple(
            (soft_text(s.subject), s.property, soft_text(s.object)) for s in example.statements
        )
        if isinstance(found, Exception):
            results.append(SentenceResult(example.text, known, (), str(found)))
        else:
            typed = (keys_of(relation) for relation in found.relations if relation.predicate)
            results.append(SentenceResult(example.text, known, tuple(dict.fromkeys(typed))))
        advance(1)
    return results


def report(
    results: Sequence[SentenceResult], schema: Schema, setting: Mapping[str, Any]
) -> dict[str, Any]:
    """The setting, measures over all statements and by property, and what differs by sentence.

    Precision is the share of the statements extracted that are gold, recall the share of gold
    statements that were extracted; undefined ones are 0.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        gold, extracted = set(result.gold), frozenset[Key]().union(*result.extracted)
        for key in gold:
            counts[key[1]].update(gold=1, found=key in extracted)
        for keys in result.extracted:
            counts[min(keys)[1]].update(extracted=1, right=not gold.isdisjoint(keys))
    labels = {iri: schema.properties[iri].label for iri in counts if iri in schema.properties}
    rows = {labels.get(iri, iri): _measured(own) for iri, own in counts.items()}
    return {
        "setting": dict(setting),
        "all": _measured(sum(counts.values(), Counter())),
        "properties": dict(sorted(rows.items())),
        "sentences": [
            {
                "text": result.text,
                "missing": _shown(set(result.gold).difference(*result.extracted), labels),
                "unexpected": _shown(
                    (min(k) for k in result.extracted if not k & set(result.gold)), labels
                ),
                "problem": result.problem or None,
            }
            for result in results
        ],
    }


def _measured(counts: Counter[str]) -> dict[str, Any]:
    gold, extracted = counts["gold"], counts["extracted"]
    scores = PRF(counts["right"] / max(1, extracted), counts["found"] / max(1, gold))
    values = {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1}
    rounded = {name: round(value, 6) for name, value in values.items()}
    return {"gold": gold, "extracted": extracted, **rounded}


def _shown(keys: Iterable[Key], labels: Mapping[str, str]) -> list[list[str]]:
    return sorted([subject, labels.get(iri, iri), object_] for subject, iri, object_ in keys)


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The measures of each property and of all, in percent."""
    yield f"{counted(len(data['sentences']), 'sentence')}; figures in percent"
    rows = [{"property": name, **row} for name, row in data["properties"].items()]
    yield ""
    yield from block("", "property", [*rows, {"property": "all", **data["all"]}], _COLUMNS)
    problems = [row["problem"] for row in data["sentences"] if row["problem"]]
    if problems:
        yield ""
        yield f"{counted(len(problems), 'sentence')} could not be extracted: {problems[0]}"


# ---------------------------------------------------------------------------------------- Command


@click.command(
    name="extraction",
    epilog="Example:  sarag evaluate extraction --gold gold.jsonl --kg kg --extractor llm",
)
@click.option(
    "--gold", required=True, type=click.Path(path_type=Path),
    help="Sentences with all their statements, in the format of the option examples of extractors "
    "(.jsonl).",
)  # fmt: skip
@kg_option
@click.option(
    "--ontology", "ontologies", multiple=True, metavar="FILE",
    help="Ontology to follow, in place of those of --kg. May be repeated.",
)  # fmt: skip
@click.option(
    "--extractor", default="spacy", show_default=True, metavar="NAME[:KEY=VALUE]...",
    help="Extractor to evaluate, as for index.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Use only the first LIMIT sentences.")
@embedder_option
@result_options
@endpoint_options
def command(**options: Any) -> None:
    """Report precision, recall and F1 of typed statements, by property.

    The extractor follows the ontologies of the graph --kg, else the packaged one. The JSON lists
    the statements of each sentence that are missing or unexpected.
    """
    check_outputs(options["output"])
    with _graph(options) as kg, progress_bars() as progress:
        schema = kg.ontologies.schema(more=options["ontologies"])
        schema = schema if schema.properties else common_schema()
        gold = read_examples(options["gold"], schema)[: options["limit"]]
        if not gold:
            raise InputError(f"{options['gold']} has no sentences")
        extractor = kg.extractor(options["extractor"], schema=schema)
        results = extract_all(extractor, gold, progress)
    method = extractor.method
    setting = {
        "gold": options["gold"].name,
        "extractor": options["extractor"],
        "model": method.model,
        "limit": options["limit"],
        "version": sarag_rdf.__version__,
    }
    data = report(results, schema, setting)
    show_results(options, data, lines(data))


def _graph(options: dict[str, Any]) -> AbstractContextManager[KnowledgeGraph]:
    """The graph of --kg, or an empty one for the ontologies of files."""
    if not options["ontologies"]:
        return open_graph(options)
    endpoint = endpoint_of(options)
    return sarag_rdf.open(None, embedder=options["embedder"], endpoint=endpoint)
