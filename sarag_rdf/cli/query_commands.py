"""``sarag query``, ``stats`` and ``validate``: what is in a graph."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import QueryError, UsageError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, is_quiet, note, text_lines
from sarag_rdf.graph.store.results import RESULT_FORMATS, serialize_results
from sarag_rdf.graph.store.shacl import ENGINES, Violation

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.kg.queries import PatternCount, QueryExplanation


@click.command(
    epilog="Example:  sarag query 'SELECT ?name { ?e a sarag:Person ; skos:prefLabel ?name }'"
)
@click.argument("sparql", required=False)
@flags.path_option("--file", "-f", "file", "Read the query from this file.")
@flags.read_options
@flags.query_over_option
@flags.at_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(RESULT_FORMATS),
    help="Output format. Default: table, or turtle for CONSTRUCT and DESCRIBE.",
)
@flags.switch("--allow-service", "Permit SERVICE, which sends requests to other servers.")
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0.0),
    help="Time limit of the query in seconds; 0 for none. An endpoint has --sparql-timeout.",
)
@flags.json_option
@flags.switch("--no-prefixes", "Do not declare the default prefixes, and print whole IRIs.")
@flags.switch(
    "--explain",
    "Do not run the query: print what it reads, with the number of triples of each pattern, "
    "and the terms that do not occur. Format: table or json.",
)
def query(sparql: str | None, file: Path | None, **options: Any) -> int:
    """Run a SPARQL query.

    The default graph is the union of the graphs of the documents, or of the graphs named by --over.
    FROM replaces it. Imported graphs are queried only if --over, FROM or GRAPH names them. A triple
    that is in several graphs gives several solutions; use SELECT DISTINCT to get it once.

    The query is an argument, a --file, or standard input (-). The prefixes sarag:, common:, skos:,
    rdf:, rdfs:, prov:, dcterms:, schema:, owl:, xsd:, void:, dcat:, foaf:, sssom: and semapv: are
    predeclared, and those that the ontologies of the graph declare.
    """
    if options["as_json"] and options["format_"] not in (None, "json"):
        raise UsageError(f"--json and --format {options['format_']} exclude each other")
    options["as_json"] |= options["format_"] == "json"
    text = _read_query(sparql, file)
    with flags.open_graph(options) as kg:
        prefixes = not options["no_prefixes"]
        if options["explain"]:
            if options["at"]:
                raise UsageError("--explain counts the whole graph: leave --at out")
            return _explain(kg.explain_query(text, prefixes=prefixes), options)
        result = kg.query(
            text,
            at=options["at"] or "",
            allow_service=options["allow_service"],
            prefixes=prefixes,
            timeout=options["timeout"],
        )
        known = kg.prefixes() if prefixes and not isinstance(result, bool) else {}
        if isinstance(result, Table) and not result.rows and not is_quiet():
            with suppress(QueryError):  # what cannot be analysed has been run
                for term in kg.explain_query(text, prefixes=prefixes).unused:
                    note(f"in this query: {term}")
    usual = "turtle" if isinstance(result, Triples) else "table"
    format_ = "json" if options["as_json"] else options["format_"] or usual
    if format_ == "table" and not isinstance(result, Triples):
        from sarag_rdf.cli.answers import show_table

        show_table(result, known)
    else:
        click.echo(serialize_results(result, format_, known).encode(), nl=False)
    return 0


def _explain(explanation: QueryExplanation, options: dict[str, Any]) -> int:
    """Print an explanation; exit code 1 if the query would not run."""
    if options["format_"] not in (None, "table", "json"):
        raise UsageError("--explain prints text or JSON: choose --format table or json")
    is_refused = bool(explanation.services) and not options["allow_service"]
    counts = [_count_text(pattern) for pattern in explanation.patterns]
    lines = text_lines("explanation.j2", of=explanation, is_refused=is_refused, counts=counts)
    return emit(options, explanation, *lines, failed=is_refused or bool(explanation.undeclared))


def _count_text(pattern: PatternCount) -> str:
    if pattern.triples is None:
        return "elsewhere"
    return f"more than {pattern.triples:,}" if pattern.has_more else f"{pattern.triples:,}"


def _read_query(sparql: str | None, file: Path | None) -> str:
    if (sparql is None) == (file is None):
        raise UsageError("give one query: an argument, --file FILE, or - for standard input")
    try:
        if file is not None and str(file) != "-":
            return file.read_text(encoding="utf-8")
        if file is not None or sparql == "-":
            return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"the query is not UTF-8: {error.reason}") from error
    return sparql or ""


@click.command(epilog="Example:  sarag stats --kg kg --json")
@flags.read_options
@flags.json_option
def stats(**options: Any) -> int:
    """Print counts of the graph's contents, its base IRI and its embedding model."""
    with flags.open_graph(options) as kg:
        meta = kg.meta()
        counts = kg.stats()
        imported = kg.imports()
    described = {
        "base": meta.base,
        "revision": meta.revision,
        "embedding_model": meta.embedding_model,
    }
    graphs = {i.name: {"kind": i.kind, "graph": i.graph, "state": i.state} for i in imported}
    return emit(
        options,
        described | counts | {"imported_graphs": graphs},
        f"{'base':24}{meta.base}",
        f"{'embedding model':24}{meta.embedding_model}",
        *(f"{measure:24}{count:>12,}" for measure, count in counts.items()),
        *(f"{'imported graph':24}{i.name} ({i.kind}, {i.state})" for i in imported),
    )


# --------------------------------------------------------------------------------------- Validation

_LISTED = 50
"""Violations that are printed."""


@click.command(epilog="Example:  sarag validate --kg kg")
@flags.read_options
@flags.write_options
@flags.json_option
@click.option(
    "--engine",
    "shacl_engine",
    type=click.Choice(ENGINES),
    default=None,
    show_default="shacl, or pyshacl where shacl is not installed",
    help="SHACL engine; both report the same violations.",
)
@flags.shapes_options
@flags.switch("--turtle", "Print the SHACL validation report as Turtle.")
def validate(**options: Any) -> int:
    """Validate the whole graph against its SHACL shapes; exit code 1 if it does not conform.

    With --shapes, the entities and their statements are validated against your own shapes instead.
    With --on-violation quarantine, statements that violate them are no longer derived; see
    'sarag quarantine statements'. The exit code is then 1 if other violations remain.
    """
    shapes, engine = options["shapes"], options["shacl_engine"]
    if options["on_violation"] and not shapes:
        raise UsageError("--on-violation requires --shapes")
    with flags.open_graph(options) as kg:
        if options["on_violation"] == "quarantine":
            return _apply_shapes(kg, options)
        report = kg.validate(engine, shapes=shapes)
    if options["turtle"]:
        click.echo(report.turtle, nl=False)
        return int(not report.conforms)
    data = {"conforms": report.conforms, "triples": report.triples, "violations": report.violations}
    lines = [f"conforms: {report.triples} triples, no violations"]
    if not report.conforms:
        count = counted(len(report.violations), "violation")
        lines = [*listed(report.violations), f"does not conform: {count}"]
    return emit(options, data, *lines, failed=not report.conforms)


def _apply_shapes(kg: KnowledgeGraph, options: dict[str, Any]) -> int:
    """Put statements into quarantine; returns 1 if violations remain."""
    gate = kg.quarantine.apply_shapes(*options["shapes"], engine=options["shacl_engine"])
    data = {
        "quarantined": [decision.statement for decision in gate.quarantined],
        "violations": gate.remaining,
    }
    return emit(
        options,
        data,
        *listed(gate.remaining),
        f"{counted(len(gate.quarantined), 'statement')} put into quarantine, "
        f"{counted(len(gate.remaining), 'violation')} left",
        failed=bool(gate.remaining),
    )


def listed(violations: Sequence[object]) -> Iterator[str]:
    """The first violations of shapes, or other findings, one per line."""
    for one in violations[:_LISTED]:
        yield f"{one} [{one.constraint}]" if isinstance(one, Violation) else str(one)
    if len(violations) > _LISTED:
        yield f"... and {len(violations) - _LISTED} more (--json shows all)"
