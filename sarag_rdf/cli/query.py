"""``sarag query``: run SPARQL from an argument, a file or standard input."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import kg_option, open_graph, query_over_option, sparql_options
from sarag_rdf.errors import QueryError, UsageError
from sarag_rdf.ports import Triples
from sarag_rdf.rdf.results import RESULT_FORMATS, serialize_results

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph


@click.command(
    name="query",
    epilog="Example:  sarag query 'SELECT ?name { ?e a sarag:Person ; skos:prefLabel ?name }'",
)
@click.argument("sparql", required=False)
@click.option(
    "--file", "-f", "file", type=click.Path(path_type=Path), help="Read the query from this file."
)
@kg_option
@query_over_option
@sparql_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(RESULT_FORMATS),
    help="Output format. Default: table, or turtle for CONSTRUCT and DESCRIBE.",
)
@click.option(
    "--allow-service", is_flag=True, help="Permit SERVICE, which sends requests to other servers."
)
@click.option("--no-prefixes", is_flag=True, help="Do not declare the default prefixes.")
def command(sparql: str | None, file: Path | None, **options: Any) -> int:
    """Run a SPARQL query.

    The default graph is the union of the graphs of the documents, or of the graphs named by --over.
    FROM replaces it. Imported graphs are queried only if --over, FROM or GRAPH names them. A triple
    that is in several graphs gives several solutions; use SELECT DISTINCT to get it once.

    The query is an argument, a --file, or standard input (-). The prefixes sarag:, common:, skos:,
    rdf:, rdfs:, prov:, dcterms:, schema:, owl:, xsd:, void:, dcat:, foaf:, sssom: and semapv: are
    predeclared, and those that the ontologies of the graph declare.
    """
    text = _read_query(sparql, file)
    prologue = ""
    try:
        with open_graph(options) as kg:
            if not options["no_prefixes"]:
                prologue = _prologue(kg)
            result = kg.query(prologue + text, allow_service=options["allow_service"])
    except QueryError as error:
        raise QueryError(_correct_column(str(error), len(prologue))) from error
    format_ = options["format_"] or ("turtle" if isinstance(result, Triples) else "table")
    if format_ == "table" and not isinstance(result, Triples):
        from sarag_rdf.cli.output import show_table

        show_table(result)
    else:
        click.echo(serialize_results(result, format_).encode(), nl=False)
    return 0


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


def _prologue(kg: KnowledgeGraph) -> str:
    """Declarations of the default prefixes, to be prepended to the first line of a query."""
    from sarag_rdf.vocab import PREFIXES

    prefixes = {**kg.ontologies.prefixes(), **PREFIXES}
    return "".join(f"PREFIX {name}: <{iri}> " for name, iri in prefixes.items())


def _correct_column(message: str, width: int) -> str:
    """Subtract the width of the prologue from columns of the first line in an error message."""
    return re.sub(r"\bat 1:(\d+)", lambda m: f"at 1:{max(1, int(m.group(1)) - width)}", message)
