"""``sarag query``: SPARQL from an argument, a file or standard input."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, query_over_option, sparql_options
from sarag_rdf.errors import QueryError, UsageError
from sarag_rdf.ports import Triples
from sarag_rdf.rdf.results import RESULT_FORMATS, serialize_results


@click.command(
    name="query",
    epilog="Example:  sarag query 'SELECT ?name { ?e a sarag:Person ; skos:prefLabel ?name }'",
)
@click.argument("sparql", required=False)
@click.option("--file", "-f", "file", type=click.Path(path_type=Path), help="Read the query here.")
@kg_option
@query_over_option
@sparql_options
@click.option(
    "--format", "format_", type=click.Choice(RESULT_FORMATS), help="Default: table, turtle."
)
@click.option("--allow-service", is_flag=True, help="Let SERVICE reach the network.")
@click.option("--no-prefixes", is_flag=True, help="Do not declare the usual prefixes.")
def command(sparql: str | None, file: Path | None, **options: Any) -> int:
    """Run SPARQL over the documents' graphs, those of --over, or the data set that it names.

    Imported graphs are asked only if --over, FROM or GRAPH names them. Oxigraph finds a triple once
    for each graph that it stands in: SELECT DISTINCT finds it once.
    The query is an argument, a --file, or standard input (-). Prefixes sarag:, skos:, rdf:,
    rdfs:, prov:, dcterms:, schema:, owl:, xsd:, void:, dcat:, foaf:, sssom:, semapv: are declared
    already.
    """
    text = _query_text(sparql, file)
    prefixes = "" if options["no_prefixes"] else _prefixes()
    try:
        with open_graph(options) as kg:
            result = kg.query(prefixes + text, allow_service=options["allow_service"])
    except QueryError as error:
        raise QueryError(_without_prefixes(str(error), len(prefixes))) from error
    format_ = options["format_"] or ("turtle" if isinstance(result, Triples) else "table")
    if format_ == "table" and not isinstance(result, Triples):
        from sarag_rdf.cli.output import show_table

        show_table(result)
    else:
        click.echo(serialize_results(result, format_).encode(), nl=False)
    return 0


def _query_text(sparql: str | None, file: Path | None) -> str:
    if (sparql is None) == (file is None):
        raise UsageError("give one query: an argument, --file FILE, or - for standard input")
    try:
        if file is not None and str(file) != "-":
            return file.read_text(encoding="utf-8")
        if file is not None or sparql == "-":
            return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"the query is not UTF-8 text: {error.reason}") from error
    return sparql or ""


def _prefixes() -> str:
    """Declares the usual prefixes; goes in front of the query, on its own first line."""
    from sarag_rdf.vocab import PREFIXES

    return "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())


def _without_prefixes(message: str, width: int) -> str:
    """Count columns of the first line from where the user's own text begins."""
    return re.sub(r"\bat 1:(\d+)", lambda m: f"at 1:{max(1, int(m.group(1)) - width)}", message)
