"""``sarag evaluate extraction``: extraction against ontologies, on Text2KGBench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import embedder_option, json_option
from sarag_rdf.cli.output import echo_json, progress_bars
from sarag_rdf.errors import UsageError

SUITES = ("dbpedia_webnlg", "wikidata_tekgen")


@click.command(
    name="extraction",
    epilog="Example:  sarag evaluate extraction --data text2kgbench --suite dbpedia_webnlg "
    "--ontologies 9_astronaut --examples-per-property 10",
)
@click.option(
    "--benchmark", type=click.Choice(["text2kgbench"]), default="text2kgbench", show_default=True,
    help="Benchmark whose files are read.",
)  # fmt: skip
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
    "--extractor", default="spacy", show_default=True,
    help="Extractor to evaluate: spacy, or predictions:FOLDER for statements in files.",
)  # fmt: skip
@click.option(
    "--examples-per-property", type=click.IntRange(0, 1000), default=0, show_default=True,
    help="Number of training sentences given as examples for each property.",
)  # fmt: skip
@click.option("--threshold", type=click.FloatRange(0, 1), help="Least confidence of a statement.")
@click.option("--limit", type=click.IntRange(1), help="Number of test sentences of each ontology.")
@click.option("--titled", is_flag=True, help="Join the sentences about a topic under its name.")
@click.option(
    "--scorers", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of scorers by ontology, trained on other ontologies (benchmarks/train_typed.py).",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the examples.")
@embedder_option
@json_option
def command(**options: Any) -> None:
    """Report precision, recall and F1 of typed statements, and their conformance.

    The official measures are those of Text2KGBench: predictions are restricted to the properties of
    the sentence's gold statements. The strict ones count all predictions, and the soft F1 ignores
    accents, brackets, quotes and units. All figures are in percent.
    """
    from sarag_rdf.evaluation import extraction_run
    from sarag_rdf.evaluation.text2kgbench import read_benchmark

    names = [n.strip() for n in options["ontologies"].split(",")] if options["ontologies"] else None
    ontologies = read_benchmark(options["data"], options["suite"], names)
    name = options["extractor"]
    setting = {
        key: options[key]
        for key in ("suite", "extractor", "examples_per_property", "limit", "titled", "seed")
    }
    if name.startswith("predictions:"):
        folder = Path(name.removeprefix("predictions:"))
        results = list(extraction_run.score_predictions(ontologies, folder, options["limit"]))
    elif name == "spacy":
        results = _run(ontologies, options)
    else:
        raise UsageError(f"no such extractor: '{name}': choose spacy or predictions:FOLDER")
    if options["as_json"]:
        echo_json(extraction_run.report(results, setting))
        return
    for line in extraction_run.lines(results, setting):
        click.echo(line)


def _run(ontologies: list[Any], options: dict[str, Any]) -> list[Any]:
    from sarag_rdf.evaluation import extraction_run
    from sarag_rdf.kg.registry import make_embedder

    make = extraction_run.typed_extractor(
        make_embedder(options["embedder"], None),
        threshold=options["threshold"],
        scorers=options["scorers"],
        with_examples=options["examples_per_property"] > 0,
    )
    total = sum(len(ontology.test[: options["limit"]]) for ontology in ontologies)
    with progress_bars() as progress:
        return list(
            extraction_run.evaluate_extraction(
                ontologies,
                make,
                examples_per_property=options["examples_per_property"],
                limit=options["limit"],
                titled=options["titled"],
                seed=options["seed"],
                advance=progress("extracting", total),
            )
        )
