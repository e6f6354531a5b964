"""SELECT and ASK results as bytes, row by row: the W3C's JSON, XML, CSV and TSV formats."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from sarag_rdf.rdf.results import json_term, plain, tsv_term

_XML = '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_STRING = "http://www.w3.org/2001/XMLSchema#string"
_quoted = json.JSONEncoder(ensure_ascii=False).encode
Row = Sequence[Any]


def boolean(value: bool, format_: str) -> bytes:
    """An ASK result; CSV and TSV, which the standard does not define for it, hold the word."""
    word = "true" if value else "false"
    if format_ == "json":
        return f'{{"head":{{}},"boolean":{word}}}\n'.encode()
    if format_ == "xml":
        return f"{_XML}<head/><boolean>{word}</boolean></sparql>\n".encode()
    return f"{word}\n".encode()


def head(variables: Sequence[str], format_: str, link: str = "") -> bytes:
    """What stands before the rows; `link` leads to more about them, where a format can say so."""
    if format_ == "json":
        said: dict[str, Any] = {"vars": list(variables)}
        if link:
            said["link"] = [link]
        return f'{{"head":{json.dumps(said, ensure_ascii=False)},"results":{{"bindings":['.encode()
    if format_ == "xml":
        names = "".join(f"<variable name={quoteattr(name)}/>" for name in variables)
        more = f"<link href={quoteattr(link)}/>" if link else ""
        return f"{_XML}<head>{names}{more}</head><results>\n".encode()
    if format_ == "csv":
        return _csv_line(variables)
    return ("\t".join(f"?{name}" for name in variables) + "\n").encode()


def tail(format_: str) -> bytes:
    """What stands behind the rows."""
    return {"json": b"\n]}}\n", "xml": b"</results></sparql>\n"}.get(format_, b"")


def rows(variables: Sequence[str], found: Iterable[Row], format_: str) -> Iterator[bytes]:
    """Each row as bytes."""
    if format_ == "json":
        between = "\n"
        keys = [f"{_quoted(name)}:" for name in variables]
        for row in found:
            yield (between + _json_row(keys, row)).encode()
            between = ",\n"
    elif format_ == "xml":
        for row in found:
            yield _xml_row(variables, row).encode()
    elif format_ == "csv":
        for row in found:
            yield _csv_line([_csv_value(term) for term in row])
    else:
        for row in found:
            yield ("\t".join("" if t is None else tsv_term(t) for t in row) + "\n").encode()


def _json_row(keys: Sequence[str], row: Row) -> str:
    """A row with its keys, which are JSON already: most of the time of a large result goes here."""
    cells = (
        key + _json_cell(term) for key, term in zip(keys, row, strict=True) if term is not None
    )
    return "{" + ",".join(cells) + "}"


def _json_cell(term: Any) -> str:
    if isinstance(term, ox.NamedNode):
        return f'{{"type":"uri","value":{_quoted(term.value)}}}'
    if isinstance(term, ox.Literal) and term.datatype.value == _STRING:
        return f'{{"type":"literal","value":{_quoted(term.value)}}}'
    return json.dumps(json_term(term), ensure_ascii=False, separators=(",", ":"))


def _csv_line(values: Sequence[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(values)
    return buffer.getvalue().encode()


def _csv_value(term: Any) -> str:
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else plain(term)


def _xml_row(variables: Sequence[str], row: Row) -> str:
    cells = (
        f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>"
        for name, term in zip(variables, row, strict=True)
        if term is not None
    )
    return f"<result>{''.join(cells)}</result>\n"


def _xml_term(term: Any) -> str:
    if isinstance(term, ox.NamedNode):
        return f"<uri>{_text(term.value)}</uri>"
    if isinstance(term, ox.BlankNode):
        return f"<bnode>{_text(term.value)}</bnode>"
    if isinstance(term, ox.Triple):
        parts = (("subject", term.subject), ("predicate", term.predicate), ("object", term.object))
        inner = "".join(f"<{name}>{_xml_term(part)}</{name}>" for name, part in parts)
        return f"<triple>{inner}</triple>"
    if term.language:
        return f"<literal xml:lang={quoteattr(term.language)}>{_text(term.value)}</literal>"
    if term.datatype.value == _STRING:
        return f"<literal>{_text(term.value)}</literal>"
    return f"<literal datatype={quoteattr(term.datatype.value)}>{_text(term.value)}</literal>"


def _text(value: str) -> str:
    """Text of an element; what XML 1.0 cannot hold becomes the replacement character."""
    return escape(_NOT_XML.sub("\ufffd", value), {"\r": "&#13;"})
