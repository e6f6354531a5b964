"""``sarag index``: documents in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import (
    embedder_option,
    endpoint_of,
    endpoint_options,
    kg_option,
    open_graph,
    setting,
    sparql_write_options,
)
from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from sarag_rdf.knowledge_graph import KnowledgeGraph


@click.command(
    name="index",
    short_help="index documents into a knowledge graph",
    epilog="Example:  sarag index docs/ notes.md --kg kg",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@kg_option
@sparql_write_options
@setting(
    "--extractor",
    help="spacy, llm or openie:FILE. Default: what the graph was extracted with; for a new graph "
    "llm with an endpoint, else spacy.",
)
@setting("--words", default=500, help="Words in a chunk.")
@setting("--overlap", default=200, help="Words that a chunk shares with the one before.")
@setting("--base", help="What the IRIs of a new graph begin with (http or https).")
@setting("--root", type=click.Path(path_type=Path), help="Folder that source IRIs are relative to.")
@setting("--language", default="auto", help="BCP 47 tag of the documents, or auto.")
@setting("--max-chars", default=5_000_000, help="Largest document, in characters.")
@setting("--stdin-format", default="txt", help="Of '-': txt, md, html, json, jsonl, csv, tsv.")
@embedder_option
@endpoint_options
@click.option("--dry-run", is_flag=True, help="Tell chunks, calls and tokens; write nothing.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any document could not be indexed.")
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Index files, folders, or standard input (-) into a knowledge graph.

    Reads .txt, .md, .html, .json, .jsonl, .csv and .tsv; PDF, DOCX and the like with
    pip install 'sarag-rdf[documents]'. What is in the graph already is left alone; a source
    whose text changed is replaced. A file that cannot be read costs one line, never the rest.
    """
    missing = [str(path) for path in paths if str(path) != "-" and not path.exists()]
    if missing:
        raise UsageError(f"there is no {', '.join(missing)}")
    arguments: dict[str, Any] = {
        "words": options["words"],
        "overlap": options["overlap"],
        "root": options["root"],
        "language": options["language"],
        "max_chars": options["max_chars"],
        "stdin_format": options["stdin_format"],
    }
    with open_graph(options, base=options["base"]) as kg:
        made = kg.extractor(options["extractor"] or _default_extractor(kg, options))
        arguments["extractor"] = made
        if options["dry_run"]:
            return _dry_run(kg.plan(paths, **arguments), made, options)
        from sarag_rdf.cli.progress import bars

        click.echo(f"sarag: indexing with {made.method.extractor} ({made.method.model})", err=True)
        progress, end = bars()
        try:
            report = kg.index(paths, progress=progress, **arguments)
        finally:
            end()
        counts = kg.stats()
    for problem in report.problems:
        click.echo(f"sarag: {problem}", err=True)
    nothing = not (report.added or report.updated or report.unchanged)
    if nothing and not report.problems:
        named = ", ".join(map(str, paths))
        click.echo(f"sarag: {named}: no document found: name a folder that holds some", err=True)
    click.echo(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.duplicates} duplicates, {len(report.problems)} not indexed"
        f"{_in_quarantine(report.quarantined)}"
    )
    click.echo(
        f"{options['kg']}: {counts['sources']} sources, {counts['documents']} documents, "
        f"{counts['entities']} entities, {counts['relationships']} relationships, "
        f"{counts['quads']} quads"
    )
    _usage(made)
    return int(nothing or (options["strict"] and bool(report.problems)))


def _default_extractor(kg: KnowledgeGraph, options: dict[str, Any]) -> str:
    """What the graph was extracted with; for a new graph llm with an endpoint, else spacy.

    So an endpoint that is named for `ask` does not make everything be extracted anew.
    """
    known = kg.extractors()
    if len(known) == 1 and next(iter(known)) in ("spacy", "llm"):
        return next(iter(known))
    return "llm" if endpoint_of(options) else "spacy"


def _in_quarantine(count: int) -> str:
    return f" ({count} in quarantine: sarag quarantine list)" if count else ""


def _usage(extractor: Any) -> None:
    usage = getattr(extractor, "usage", None)
    if usage is not None and (usage.calls or usage.cached_calls):
        click.echo(
            f"{usage.calls} calls, {usage.cached_calls} from the cache, {usage.tokens_in} tokens "
            f"in, {usage.tokens_out} out, ${usage.cost:.4f}"
        )


def _dry_run(plan: Any, extractor: Any, options: dict[str, Any]) -> int:
    for problem in (*plan.problems, *plan.quarantined):
        click.echo(f"sarag: {problem}", err=True)
    documents = plan.documents
    click.echo(
        f"would index {len(plan.todo)} sources as {len(documents)} documents; "
        f"{plan.unchanged} unchanged, {plan.duplicates} duplicates, "
        f"{len(plan.problems)} not readable{_in_quarantine(len(plan.quarantined))}"
    )
    estimate = getattr(extractor, "estimate", None)
    if estimate is None:
        click.echo("0 calls, 0 tokens: this extractor asks no model endpoint")
    else:
        prices = {"price_in": options["price_in"], "price_out": options["price_out"]}
        usage = estimate(documents, **prices)
        click.echo(
            f"about {usage.calls} calls, {usage.tokens_in} tokens in, {usage.tokens_out} out, "
            f"${usage.cost:.4f}"
        )
    return 0
