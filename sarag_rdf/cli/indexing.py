"""Options and output shared by `index`, `update`, `sync` and `delete`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import EmptyGraphError, NotAGraphError, UsageError, one_line
from sarag_rdf.cli.options import (
    Decorator,
    embedder_option,
    endpoint_of,
    endpoint_options,
    expansion_option,
    json_option,
    kg_option,
    open_graph,
    seconds_option,
    setting,
    sparql_write_options,
)
from sarag_rdf.cli.output import counted
from sarag_rdf.cli.verbosity import note

if TYPE_CHECKING:
    from sarag_rdf.base.ports import Extractor, Progress
    from sarag_rdf.graph.ontology.schema import Schema
    from sarag_rdf.kg.graph import KnowledgeGraph

_READING = (
    *("words", "overlap", "root", "language"),
    *("max_chars", "max_file", "max_expansion", "max_seconds"),
)


def indexing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--kg, and the options for reading, extracting and embedding documents."""
    decorators: list[Decorator] = [
        kg_option,
        sparql_write_options,
        setting(
            "--extractor",
            harmless="inside",
            help="spacy, llm, budgeted or openie:FILE. Default: the graph's extractor; for a new "
            "graph llm with an endpoint, else spacy.",
        ),
        setting(
            "--examples",
            metavar="FILE",
            help="Sentences with their statements (.jsonl), which spacy or llm learns from. The "
            "same as examples=FILE in --extractor.",
        ),
        setting("--words", harmless=True, default=500, help="Words per chunk."),
        setting(
            "--overlap", harmless=True, default=200, help="Words shared by consecutive chunks."
        ),
        setting(
            "--root",
            type=click.Path(path_type=Path),
            help="Folder that source IRIs are relative to.",
        ),
        setting(
            "--language",
            harmless=True,
            default="auto",
            help="BCP 47 tag of the documents, or auto.",
        ),
        setting("--max-chars", default=5_000_000, help="Maximum document size, in characters."),
        setting(
            "--max-file",
            default=512,
            type=click.IntRange(1),
            help="Maximum size of a file of records (.jsonl, .csv, .tsv), in MiB.",
        ),
        expansion_option,
        seconds_option,
        embedder_option,
        endpoint_options,
        click.option(
            "--strict", is_flag=True, help="Exit with 1 if any document could not be indexed."
        ),
        json_option,
    ]
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


base_option = setting("--base", harmless=True, help="Base IRI of a new graph (http or https).")

yes_option = click.option(
    "--yes", is_flag=True, help="Confirm the deletion of more than a third of the sources."
)

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="List the changes without making them."
)


def reading_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """The options for reading documents, as keyword arguments of `KnowledgeGraph.index`."""
    return {name: options[name] for name in _READING}


def extractor_for_update(kg: KnowledgeGraph, options: dict[str, Any]) -> Extractor:
    """The extractor for `update` and `sync`: that of --extractor, or the graph's own.

    Raises `UsageError` if the graph's extractor cannot be determined, because with a different one
    every document would be extracted again.
    """
    known = kg.extractors()
    if not options["extractor"] and known and known not in ({"spacy"}, {"llm"}):
        raise UsageError(
            f"the graph was extracted with {' and '.join(sorted(known))}: pass the same "
            "--extractor again (openie:FILE with the file); with another one, everything is "
            "extracted again"
        )
    return extractor_for_index(kg, options)


def extractor_for_index(
    kg: KnowledgeGraph, options: dict[str, Any], *, schema: Schema | None = None
) -> Extractor:
    """That of --extractor, else the graph's own, else `llm` with an endpoint, else `spacy`.

    The graph's own takes precedence over `llm`, so that an endpoint that is set for `ask` does not
    cause everything to be extracted again. It follows `schema`, by default that of the ontologies.

    Raises `UsageError` for a graph of another extractor without --extractor: its options are not
    known.
    """
    name = options["extractor"]
    if not name:
        known = kg.extractors()
        name = next(iter(known)) if len(known) == 1 else ""
        if name not in ("", "spacy", "llm"):
            raise UsageError(
                f"the graph was extracted with {name}: pass the same --extractor again, with its "
                "file or options; another one would extract its documents again"
            )
        if name not in ("spacy", "llm"):
            name = "llm" if endpoint_of(options) else "spacy"
    return kg.extractor(_with_examples(name, options["examples"]), schema=schema)


def _with_examples(name: str, file: str | None) -> str:
    """The extractor with the file of --examples."""
    if not file:
        return name
    if name.partition(":")[0] not in ("spacy", "llm"):
        raise UsageError(f"--examples is for spacy and llm; {name} learns from no examples")
    if ":" in file:
        raise UsageError(f"--examples {file}: a path with a colon cannot be given: rename it")
    return f"{name}:examples={file}"


@contextmanager
def indexing_progress(extractor: Extractor) -> Iterator[Progress]:
    """A note that names the extractor, then progress bars."""
    from sarag_rdf.cli.output import progress_bars

    method = extractor.method
    digest = method.settings.get("ontology", "")
    schema = f", ontology {digest[:8]}" if digest else ""
    note(f"indexing with {method.extractor} ({method.model}{schema})")
    with progress_bars() as progress:
        yield progress


def echo_problems(problems: Iterable[object]) -> None:
    """Print problems to standard error, one per line."""
    for problem in problems:
        click.echo(f"sarag: {problem}", err=True)


def graph_counts(kg: KnowledgeGraph) -> dict[str, int] | None:
    """Counts of the graph's contents, or None if there is no graph."""
    try:
        return kg.stats()
    except (EmptyGraphError, NotAGraphError):
        return None


def echo_counts(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    """Print a line with the counts of the graph's contents."""
    counts = graph_counts(kg)
    if counts is None:
        click.echo(f"{options['kg']}: no graph was created: no document could be indexed")
        return
    click.echo(
        f"{options['kg']}: {counted(counts['sources'], 'source')}, "
        f"{counted(counts['documents'], 'document')}, {counted(counts['entities'], 'entity')}, "
        f"{counted(counts['relationships'], 'relationship')}, {counted(counts['quads'], 'quad')}"
    )


def echo_usage(extractor: Any) -> None:
    """Print the model calls of an extractor, their tokens and cost, if it made any."""
    usage = getattr(extractor, "usage", None)
    if usage is not None and (usage.calls or usage.cached_calls):
        click.echo(
            f"{usage.calls} calls, {usage.cached_calls} from the cache, {usage.tokens_in} tokens "
            f"in, {usage.tokens_out} out, ${usage.cost:.4f}"
        )


def estimate_usage(plan: Any, extractor: Any, options: dict[str, Any]) -> Any:
    """The expected `Usage` of a plan; None for an extractor that calls no model endpoint."""
    estimate = getattr(extractor, "estimate", None)
    if estimate is None:
        return None
    return estimate(plan.documents, price_in=options["price_in"], price_out=options["price_out"])


def echo_estimate(usage: Any) -> None:
    """Print a line with estimated model calls."""
    click.echo(
        f"about {usage.calls} calls, {usage.tokens_in} tokens in, {usage.tokens_out} out, "
        f"${usage.cost:.4f}"
    )


def quarantine_hint(count: int) -> str:
    """The end of a line of counts: how many sources are in quarantine, if any."""
    return f" ({count} in quarantine: sarag quarantine list)" if count else ""


def echo_changes(plan: Any, extractor: Extractor, options: dict[str, Any]) -> int:
    """Print the changes of a plan for --dry-run; returns 1 if --yes would be needed."""
    echo_problems((*plan.problems, *plan.quarantined))
    usage = estimate_usage(plan, extractor, options)
    if options["as_json"]:
        _echo_plan_json(plan, usage)
    else:
        for planned in plan.todo:
            click.echo(f"{'update' if planned.known else 'add':6}  {one_line(planned.name)}")
        for name in plan.deletions.values():
            click.echo(f"delete  {one_line(name)}")
        updated = sum(planned.known for planned in plan.todo)
        click.echo(
            f"would be {len(plan.todo) - updated} added, {updated} updated, "
            f"{len(plan.deletions)} deleted, {plan.unchanged} unchanged, "
            f"{plan.duplicates} duplicates, {len(plan.problems)} not readable"
            f"{quarantine_hint(len(plan.quarantined))}"
        )
        echo_new_files(plan.left_out)
        if usage is not None:
            echo_estimate(usage)
    echo_problems([plan.refused] if plan.refused else [])
    return int(bool(plan.refused))


def echo_plan(plan: Any, extractor: Any, options: dict[str, Any]) -> None:
    """Print the number of sources and documents of a plan, and the estimated model calls."""
    echo_problems((*plan.problems, *plan.quarantined))
    usage = estimate_usage(plan, extractor, options)
    if options["as_json"]:
        _echo_plan_json(plan, usage)
        return
    click.echo(
        f"would index {counted(len(plan.todo), 'source')} as "
        f"{counted(len(plan.documents), 'document')}; "
        f"{plan.unchanged} unchanged, {plan.duplicates} duplicates, "
        f"{len(plan.problems)} not readable{quarantine_hint(len(plan.quarantined))}"
    )
    if usage is None:
        click.echo("0 calls, 0 tokens: this extractor calls no model endpoint")
    else:
        echo_estimate(usage)


def _echo_plan_json(plan: Any, usage: Any) -> None:
    from sarag_rdf.cli.output import echo_json

    echo_json(
        {
            "add": [planned.name for planned in plan.todo if not planned.known],
            "update": [planned.name for planned in plan.todo if planned.known],
            "delete": list(plan.deletions.values()),
            "documents": len(plan.documents),
            "unchanged": plan.unchanged,
            "duplicates": plan.duplicates,
            "new_files_skipped": plan.left_out,
            "problems": [asdict(problem) for problem in plan.problems],
            "quarantined": [asdict(problem) for problem in plan.quarantined],
            "estimate": None if usage is None else asdict(usage),
        }
    )


def echo_report_json(report: Any, kg: KnowledgeGraph, extractor: Any) -> None:
    """Print the report of a run, the graph's counts and the model calls as JSON."""
    from sarag_rdf.cli.output import echo_json

    values = {field.name: getattr(report, field.name) for field in fields(report)}
    data = {k: dict(v) if isinstance(v, Mapping) else v for k, v in values.items()}
    data["problems"] = [asdict(problem) for problem in report.problems]
    usage = getattr(extractor, "usage", None)
    data["usage"] = None if usage is None else asdict(usage)
    data["graph"] = graph_counts(kg)
    echo_json(data)


def echo_report(report: Any) -> None:
    """Print the counts of a run."""
    click.echo(
        f"{report.added} added, {report.updated} updated, {report.deleted} deleted, "
        f"{report.unchanged} unchanged, {report.duplicates} duplicates, {len(report.problems)} not "
        f"indexed{quarantine_hint(report.quarantined)}"
    )
    echo_new_files(report.left_out)
    echo_discarded(report.discarded)


def echo_discarded(counts: Mapping[str, int]) -> None:
    """Print why extracted statements were not recorded, if any were discarded."""
    if counts:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(counts.items()))
        click.echo(f"extracted but not recorded: {reasons}")


def echo_new_files(count: int) -> None:
    """Print a line about new files that `update` does not add, if there are any."""
    if count:
        files, pronoun = ("1 new file", "it") if count == 1 else (f"{count} new files", "them")
        click.echo(f"{files} skipped: sarag index or sarag sync adds {pronoun}")


def exit_code(report: Any, *, strict: bool) -> int:
    """1 if there were problems and no source was processed; with `strict`, if there were any."""
    processed = report.added + report.updated + report.deleted + report.unchanged
    return int(bool(report.problems) and (strict or not processed))


def run_changes(
    options: dict[str, Any],
    plan: Callable[[KnowledgeGraph, Extractor], Any],
    change: Callable[..., Any],
    *,
    base: str | None = None,
) -> int:
    """Print what `plan` returns with --dry-run; else call `change` and print its report."""
    with open_graph(options, base=base) as kg:
        extractor = extractor_for_update(kg, options)
        if options["dry_run"]:
            return echo_changes(plan(kg, extractor), extractor, options)
        with indexing_progress(extractor) as progress:
            report = change(kg, extractor=extractor, progress=progress)
        echo_problems(report.problems)
        if options["as_json"]:
            echo_report_json(report, kg, extractor)
        else:
            echo_report(report)
            echo_counts(kg, options)
            echo_usage(extractor)
    return exit_code(report, strict=options["strict"])
