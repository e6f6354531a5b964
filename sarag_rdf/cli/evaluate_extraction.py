"""``sarag evaluate extraction``: extraction against ontologies, on Text2KGBench."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.documents import discarded_lines
from sarag_rdf.cli.options import embedder_option, endpoint_of, endpoint_options, json_option
from sarag_rdf.cli.output import echo_json, note, progress_bars
from sarag_rdf.plugins.evaluation.text2kgbench import SUITES, read_benchmark

if TYPE_CHECKING:
    from sarag_rdf.plugins.evaluation.extraction import (
        MakeExtractor,
        ModelExtractors,
        OntologyResult,
    )
    from sarag_rdf.plugins.evaluation.text2kgbench import BenchmarkOntology


@click.command(
    name="extraction",
    epilog="Example:  sarag evaluate extraction --data text2kgbench --suite dbpedia_webnlg "
    "--ontologies 9_astronaut --examples-per-property 10",
)
@click.option(
    "--data", required=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the benchmark, with a folder for each suite.",
)  # fmt: skip
@click.option(
    "--suite", type=click.Choice(SUITES), default=SUITES[0], show_default=True,
    help="Suite of ontologies.",
)  # fmt: skip
@click.option("--ontologies", help="Comma-separated ontologies, such as 9_astronaut. Default: all.")
@click.option(
    "--extractor", default="learned", show_default=True,
    metavar="NAME[:KEY=VALUE]...",
    help="Extractor to evaluate: learned, llm at --base-url, or predictions:FOLDER for statements "
    "in files.",
)  # fmt: skip
@click.option(
    "--examples-per-property", type=click.IntRange(0, 1000), default=0, show_default=True,
    help="Number of training sentences given as examples for each property.",
)  # fmt: skip
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="Least confidence of a statement.",
)
@click.option("--limit", type=click.IntRange(1), help="Number of test sentences of each ontology.")
@click.option("--titled", is_flag=True, help="Join the sentences about a topic under its name.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the examples.")
@click.option(
    "--replies", type=click.Path(path_type=Path, dir_okay=False),
    help="Cache the replies of the model in this file (.sqlite), to resume an interrupted run.",
)  # fmt: skip
@embedder_option
@endpoint_options
@json_option
def command(**options: Any) -> None:
    """Report precision, recall and F1 of typed statements, and their conformance.

    The official measures are those of Text2KGBench: predictions are restricted to the properties of
    the sentence's gold statements. The strict ones count all predictions, and the soft F1 ignores
    accents, brackets, quotes and units. All figures are in percent.
    """
    from sarag_rdf.plugins.evaluation import extraction

    names = [n.strip() for n in options["ontologies"].split(",")] if options["ontologies"] else None
    ontologies = read_benchmark(options["data"], options["suite"], names)
    name = options["extractor"]
    setting = {
        key: options[key]
        for key in ("suite", "extractor", "examples_per_property", "limit", "titled", "seed")
    }
    discarded: dict[str, int] = {}
    if name.startswith("predictions:"):
        folder = Path(name.removeprefix("predictions:"))
        results = list(extraction.score_predictions(ontologies, folder, options["limit"]))
    elif name == "learned":
        results = _run(ontologies, _spacy(options), options)
    elif name.partition(":")[0] == "llm":
        extractors = _llm(options)
        results = _run(ontologies, extractors, options)
        setting["model"] = extractors.model
        discarded = dict(sorted(extractors.discarded.items()))
    else:
        raise UsageError(f"no such extractor: '{name}': choose learned, llm or predictions:FOLDER")
    if options["as_json"]:
        echo_json(extraction.report(results, setting) | {"discarded": discarded})
        return
    for line in extraction.lines(results, setting):
        click.echo(line)
    for line in discarded_lines(discarded):
        click.echo(line)


def _spacy(options: dict[str, Any]) -> MakeExtractor:
    from sarag_rdf.kg.registry import make_embedder
    from sarag_rdf.plugins.evaluation import extraction

    return extraction.typed_extractor(
        make_embedder(options["embedder"], None), threshold=options["threshold"]
    )


def _llm(options: dict[str, Any]) -> ModelExtractors:
    from sarag_rdf.kg.registry import make_embedder, make_llm, options_of
    from sarag_rdf.plugins.evaluation.extraction import ModelExtractors

    endpoint = endpoint_of(options)
    return ModelExtractors(
        make_llm(endpoint, options["replies"]),
        make_embedder(options["embedder"], endpoint),
        concurrency=options["concurrency"],
        options=options_of("extractor", options["extractor"]),
    )


def _run(
    ontologies: list[BenchmarkOntology], make: MakeExtractor, options: dict[str, Any]
) -> list[OntologyResult]:
    from sarag_rdf.plugins.evaluation import extraction

    total = sum(len(ontology.test[: options["limit"]]) for ontology in ontologies)
    results = []
    with progress_bars() as progress:
        started = monotonic()
        for result in extraction.evaluate_extraction(
            ontologies,
            make,
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
