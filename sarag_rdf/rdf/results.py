"""SPARQL results out: the W3C's CSV, TSV and JSON formats, and Turtle for triples."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.ports import Table, Triples
from sarag_rdf.vocab import PREFIXES

RESULT_FORMATS = ("table", "csv", "tsv", "json", "turtle", "ntriples")


def serialize_results(result: Table | Triples | bool, format_: str) -> str:
    """A result as text (all formats but ``table``).

    Triples can be turtle or ntriples, rows and booleans csv, tsv or json; another pair raises
    `UsageError`.
    """
    if isinstance(result, Triples):
        return _triples(result, format_)
    if format_ == "json":
        return json.dumps(_json(result), ensure_ascii=False, indent=2) + "\n"
    if format_ in ("csv", "tsv"):
        if isinstance(result, bool):
            raise UsageError("an ASK result has no rows: choose --format json or table")
        return _csv(result) if format_ == "csv" else _tsv(result)
    raise UsageError(f"rows cannot be written as {format_}: choose table, csv, tsv or json")


def _triples(result: Triples, format_: str) -> str:
    formats = {"turtle": ox.RdfFormat.TURTLE, "ntriples": ox.RdfFormat.N_TRIPLES}
    if format_ not in formats:
        raise UsageError(f"triples cannot be written as {format_}: choose turtle or ntriples")
    triples = sorted(set(result.triples), key=str)
    data = ox.serialize(triples, format=formats[format_], prefixes=PREFIXES)
    return (data or b"").decode("utf-8")


def _json(result: Table | bool) -> dict[str, Any]:
    """SPARQL 1.1 Query Results JSON Format."""
    if isinstance(result, bool):
        return {"head": {}, "boolean": result}
    bindings = [
        {
            name: json_term(term)
            for name, term in zip(result.variables, row, strict=True)
            if term is not None
        }
        for row in result.rows
    ]
    return {"head": {"vars": list(result.variables)}, "results": {"bindings": bindings}}


def json_term(term: Any) -> dict[str, Any]:
    """A term in the SPARQL JSON format."""
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, ox.Triple):
        parts = {"subject": term.subject, "predicate": term.predicate, "object": term.object}
        return {"type": "triple", "value": {k: json_term(v) for k, v in parts.items()}}
    found = {"type": "literal", "value": term.value}
    if term.language:
        found["xml:lang"] = term.language
    elif term.datatype.value != "http://www.w3.org/2001/XMLSchema#string":
        found["datatype"] = term.datatype.value
    return found


def plain(term: Any) -> str:
    """A term without its syntax: what CSV and tables show; unbound is empty."""
    if term is None:
        return ""
    if isinstance(term, ox.BlankNode | ox.Triple):
        return str(term)
    return str(term.value)


def _csv(table: Table) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(table.variables)
    writer.writerows([plain(term) for term in row] for row in table.rows)
    return buffer.getvalue()


def _tsv(table: Table) -> str:
    lines = ["\t".join(f"?{name}" for name in table.variables)]
    lines += ["\t".join("" if t is None else tsv_term(t) for t in row) for row in table.rows]
    return "\n".join(lines) + "\n"


def tsv_term(term: Any) -> str:
    """A term in the SPARQL TSV format: Turtle without a line break or tab."""
    return str(term).replace("\t", "\\t")
