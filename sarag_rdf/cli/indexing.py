"""What `index`, `update` and `sync` share: their options, and how they tell what was done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import (
    Decorator,
    embedder_option,
    endpoint_of,
    endpoint_options,
    expansion_option,
    kg_option,
    open_graph,
    seconds_option,
    setting,
    sparql_write_options,
)
from sarag_rdf.errors import EmptyGraphError, NotAGraphError, UsageError, one_line

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.ports import Extractor, Progress

_READING = (
    *("words", "overlap", "root", "language"),
    *("max_chars", "max_file", "max_expansion", "max_seconds"),
)


def indexing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The graph, and how documents are read, extracted and embedded."""
    decorators: list[Decorator] = [
        kg_option,
        sparql_write_options,
        setting(
            "--extractor",
            help="spacy, llm or openie:FILE. Default: what the graph was extracted with; for "
            "a new graph llm with an endpoint, else spacy.",
        ),
        setting("--words", default=500, help="Words in a chunk."),
        setting("--overlap", default=200, help="Words that a chunk shares with the one before."),
        setting(
            "--root",
            type=click.Path(path_type=Path),
            help="Folder that source IRIs are relative to.",
        ),
        setting("--language", default="auto", help="BCP 47 tag of the documents, or auto."),
        setting("--max-chars", default=5_000_000, help="Largest document, in characters."),
        setting(
            "--max-file",
            default=512,
            type=click.IntRange(1),
            help="Largest file of records (.jsonl, .csv, .tsv), in MiB.",
        ),
        expansion_option,
        seconds_option,
        embedder_option,
        endpoint_options,
        click.option(
            "--strict", is_flag=True, help="Exit with 1 if any document could not be indexed."
        ),
    ]
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


base_option = setting("--base", help="What the IRIs of a new graph begin with (http or https).")

yes_option = click.option(
    "--yes", is_flag=True, help="Delete even more than a third of the sources."
)

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="List what would be done; write nothing."
)


def reading_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """How documents are read, as keyword arguments of `index`."""
    return {name: options[name] for name in _READING}


def same_extractor(kg: KnowledgeGraph, options: dict[str, Any]) -> Extractor:
    """The extractor that was named, or that of the graph; a new graph gets that of `index`.

    Raises `UsageError` where the graph does not tell which: all would be extracted anew by another.
    """
    known = kg.extractors()
    if not options["extractor"] and known and known not in ({"spacy"}, {"llm"}):
        raise UsageError(
            f"the graph was extracted with {' and '.join(sorted(known))}: name --extractor again "
            "(openie:FILE with the file), for what another one has extracted is extracted anew"
        )
    return extractor_of(kg, options)


def extractor_of(kg: KnowledgeGraph, options: dict[str, Any]) -> Extractor:
    """The extractor that was named; else that of the graph, `llm` with an endpoint, or `spacy`.

    So an endpoint that is named for `ask` does not make everything be extracted anew.
    """
    if options["extractor"]:
        return kg.extractor(options["extractor"])
    known = kg.extractors()
    if len(known) == 1 and next(iter(known)) in ("spacy", "llm"):
        return kg.extractor(next(iter(known)))
    return kg.extractor("llm" if endpoint_of(options) else "spacy")


def with_bars(work: Callable[[Progress], Any], extractor: Extractor) -> Any:
    """Run with bars of progress, after a line that tells the extractor."""
    from sarag_rdf.cli.output import bars

    method = extractor.method
    click.echo(f"sarag: indexing with {method.extractor} ({method.model})", err=True)
    progress, end = bars()
    try:
        return work(progress)
    finally:
        end()


def echo_problems(problems: Any) -> None:
    """A line each, on standard error."""
    for problem in problems:
        click.echo(f"sarag: {problem}", err=True)


def echo_counts(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    """A line that tells what the graph holds now."""
    try:
        counts = kg.stats()
    except (EmptyGraphError, NotAGraphError):
        click.echo(f"{options['kg']}: no graph was made: there was nothing to index")
        return
    click.echo(
        f"{options['kg']}: {counts['sources']} sources, {counts['documents']} documents, "
        f"{counts['entities']} entities, {counts['relationships']} relationships, "
        f"{counts['quads']} quads"
    )


def echo_usage(extractor: Any) -> None:
    """What a model was asked, where one was."""
    usage = getattr(extractor, "usage", None)
    if usage is not None and (usage.calls or usage.cached_calls):
        click.echo(
            f"{usage.calls} calls, {usage.cached_calls} from the cache, {usage.tokens_in} tokens "
            f"in, {usage.tokens_out} out, ${usage.cost:.4f}"
        )


def echo_estimate(plan: Any, extractor: Any, options: dict[str, Any]) -> bool:
    """What a model would be asked; False for an extractor that asks none."""
    estimate = getattr(extractor, "estimate", None)
    if estimate is None:
        return False
    prices = {"price_in": options["price_in"], "price_out": options["price_out"]}
    usage = estimate(plan.documents, **prices)
    click.echo(
        f"about {usage.calls} calls, {usage.tokens_in} tokens in, {usage.tokens_out} out, "
        f"${usage.cost:.4f}"
    )
    return True


def in_quarantine(count: int) -> str:
    """What a line of counts has at its end."""
    return f" ({count} in quarantine: sarag quarantine list)" if count else ""


def echo_changes(plan: Any, extractor: Extractor, options: dict[str, Any]) -> int:
    """What would be done, a line each, and the counts: for --dry-run; 1 if it would be refused."""
    echo_problems((*plan.problems, *plan.quarantined))
    for planned in plan.todo:
        click.echo(f"{'update' if planned.known else 'add':6}  {one_line(planned.name)}")
    for name in plan.deletions.values():
        click.echo(f"delete  {one_line(name)}")
    updated = sum(planned.known for planned in plan.todo)
    click.echo(
        f"would be {len(plan.todo) - updated} added, {updated} updated, "
        f"{len(plan.deletions)} deleted, {plan.unchanged} unchanged, "
        f"{plan.duplicates} duplicates, {len(plan.problems)} not "
        f"readable{in_quarantine(len(plan.quarantined))}"
    )
    echo_left_out(plan.left_out)
    echo_estimate(plan, extractor, options)
    echo_problems([plan.refused] if plan.refused else [])
    return int(bool(plan.refused))


def echo_report(report: Any) -> None:
    """What was done: the problems, and the counts."""
    echo_problems(report.problems)
    click.echo(
        f"{report.added} added, {report.updated} updated, {report.deleted} deleted, "
        f"{report.unchanged} unchanged, {report.duplicates} duplicates, {len(report.problems)} not "
        f"indexed{in_quarantine(report.quarantined)}"
    )
    echo_left_out(report.left_out)
    echo_discarded(report.discarded)


def echo_discarded(counts: Mapping[str, int]) -> None:
    """A line about what was extracted and is not in the graph, if there is any."""
    if counts:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(counts.items()))
        click.echo(f"extracted but not recorded: {reasons}")


def echo_left_out(count: int) -> None:
    """A line about files that the graph does not hold, if there are any."""
    if count:
        files = "1 new file" if count == 1 else f"{count} new files"
        it = "it" if count == 1 else "them"
        click.echo(f"{files} left out: sarag index or sarag sync adds {it}")


def exit_code(report: Any, *, strict: bool) -> int:
    """1 if nothing could be done of what was asked; with `strict` also for any problem."""
    done = report.added + report.updated + report.deleted + report.unchanged
    return int(bool(report.problems) and (strict or not done))


def follow(
    options: dict[str, Any],
    plan: Callable[[KnowledgeGraph, Extractor], Any],
    change: Callable[..., Any],
    *,
    base: str | None = None,
) -> int:
    """Tell what `plan` says with --dry-run, else do what `change` does and tell of it."""
    with open_graph(options, base=base) as kg:
        made = same_extractor(kg, options)
        if options["dry_run"]:
            return echo_changes(plan(kg, made), made, options)
        report = with_bars(lambda progress: change(kg, extractor=made, progress=progress), made)
        echo_report(report)
        echo_counts(kg, options)
    echo_usage(made)
    return exit_code(report, strict=options["strict"])
