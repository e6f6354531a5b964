"""Extraction against ontologies, on Text2KGBench.

The folder of the benchmark has a folder for each suite::

    python -m benchmarks.text2kgbench --data text2kgbench --suite dbpedia_webnlg \\
        --ontologies 9_astronaut --extractor llm --base-url URL

Official measures are those of the benchmark: predictions are restricted to the properties of the
sentence's gold statements. The strict ones count all predictions, and the soft F1 ignores accents,
brackets, quotes and units. All figures are in percent.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import click

from benchmarks.text2kgbench import score
from benchmarks.text2kgbench.data import SUITES, BenchmarkOntology, read_benchmark
from sarag_rdf.base.types import Document, Relation
from sarag_rdf.cli.flags import embedder_option, endpoint_of, endpoint_options, json_option
from sarag_rdf.cli.output import echo_json, note, progress_bars, text_lines
from sarag_rdf.kg.registry import make_extractor
from sarag_rdf.kg.vectors import make_embedder, make_llm
from sarag_rdf.plugins.evaluation.commands import parse_names, replies_option
from sarag_rdf.plugins.statement_models import Example


@click.command()
@click.option(
    "--data", required=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the benchmark, with a folder for each suite.",
)  # fmt: skip
@click.option(
    "--suite", type=click.Choice(SUITES), default=SUITES[0], show_default=True,
    help="Suite of ontologies.",
)  # fmt: skip
@click.option(
    "--ontologies", callback=parse_names,
    help="Comma-separated ontologies, such as 9_astronaut. Default: all.",
)  # fmt: skip
@click.option(
    "--extractor", default="learned", show_default=True, metavar="NAME[:KEY=VALUE]...",
    help="Extractor to evaluate, or predictions:FOLDER for statements in files.",
)  # fmt: skip
@click.option(
    "--examples-per-property", type=click.IntRange(0, 1000), default=10, show_default=True,
    help="Number of training sentences given as examples for each property.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Number of test sentences of each ontology.")
@click.option("--titled", is_flag=True, help="Join the sentences about a topic under its name.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the examples.")
@replies_option
@embedder_option
@endpoint_options
@json_option
def main(**options: Any) -> None:
    """Report precision, recall and F1 of typed statements on Text2KGBench."""
    ontologies = read_benchmark(options["data"], options["suite"], options["ontologies"] or None)
    name = options["extractor"]
    keys = ("suite", "extractor", "examples_per_property", "limit", "titled", "seed")
    setting = {key: options[key] for key in keys}
    discarded: Counter[str] = Counter()
    if name.startswith("predictions:"):
        folder = Path(name.removeprefix("predictions:"))
        results = list(score.score_predictions(ontologies, folder, options["limit"]))
    else:
        results = _run(ontologies, options, discarded)
    if options["as_json"]:
        echo_json(score.report(results, setting) | {"discarded": dict(sorted(discarded.items()))})
        return
    for line in score.lines(results, setting):
        click.echo(line)
    for line in text_lines("discarded.j2", discarded=discarded):
        click.echo(line)


def _run(
    ontologies: list[BenchmarkOntology], options: dict[str, Any], discarded: Counter[str]
) -> list[score.OntologyResult]:
    total = sum(len(ontology.test[: options["limit"]]) for ontology in ontologies)
    results = []
    with TemporaryDirectory() as folder, progress_bars() as progress:
        started = monotonic()
        for result in score.evaluate_extraction(
            ontologies,
            _extractors(options, Path(folder), discarded),
            examples_per_property=options["examples_per_property"],
            limit=options["limit"],
            titled=options["titled"],
            seed=options["seed"],
            advance=progress("extracting", total),
        ):
            results.append(result)
            if not sys.stderr.isatty():  # there is no bar
                done = f"{result.sentences} sentences, {result.examples} examples"
                note(f"{result.name}: {done}, {monotonic() - started:.0f} s")
                started = monotonic()
    return results


def _extractors(
    options: dict[str, Any], folder: Path, discarded: Counter[str]
) -> score.MakeExtract:
    """The extractor of each ontology, as ``sarag index --extractor`` would make it.

    Examples are given to it as a file. `discarded` counts what it does not use by reason, and
    documents without a valid reply.
    """
    endpoint = endpoint_of(options)
    embedder = make_embedder(options["embedder"], endpoint)

    def make(ontology: BenchmarkOntology, examples: Sequence[Example]) -> score.Extract:
        chosen = options["extractor"]
        if examples:
            path = folder / f"{ontology.name}.jsonl"
            rows = (score.record_of(example) for example in examples)
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
            chosen = f"{chosen}:examples={path}"
        extractor = make_extractor(
            chosen,
            lambda: make_llm(endpoint, options["replies"]),
            concurrency=options["concurrency"],
            schema=ontology.schema,
            embedder=lambda: embedder,
        )

        def extract(documents: Sequence[Document]) -> Iterator[list[Relation]]:
            for found in extractor.extract(documents):
                if isinstance(found, Exception):
                    discarded["documents without a valid reply"] += 1
                    yield []
                else:
                    yield [relation for relation in found.relations if relation.predicate]
            discarded.update(getattr(extractor, "discarded", {}))

        return extract

    return make


if __name__ == "__main__":
    main()
