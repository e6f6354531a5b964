"""SPARQL results in the W3C's JSON, XML, CSV and TSV formats, and in RDF: written and read.

`encode_header`, `encode_rows` and `encode_footer` write SELECT results row by row, so that a large
result need not fit into memory; `serialize_results` returns a complete result as text.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.sandbox import Limits, half_of_memory, run
from sarag_rdf.base.sentences import NOT_IN_XML
from sarag_rdf.base.vocab import DEEPEST_TERM, PREFIXES, XSD, is_deep

RESULT_FORMATS = ("table", "csv", "tsv", "json", "turtle", "ntriples")
Solution = Sequence[Any]
"""The terms of a solution; None for an unbound variable."""
_XML_HEADER = '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
_STRING = XSD.string.value
_PARTS = ("subject", "predicate", "object")
_quote_json = json.JSONEncoder(ensure_ascii=False).encode


def serialize_results(
    result: Table | Triples | bool, format_: str, prefixes: Mapping[str, str] = PREFIXES
) -> str:
    """Serialize a result as text, in any format but ``table``; Turtle with those prefixes it uses.

    Triples can be written as turtle or ntriples, solutions as csv, tsv or json, and booleans as
    json. Raises `UsageError` for other combinations.
    """
    if isinstance(result, Triples):
        formats = {"turtle": ox.RdfFormat.TURTLE, "ntriples": ox.RdfFormat.N_TRIPLES}
        if format_ not in formats:
            raise UsageError(f"cannot write triples as {format_}: choose turtle or ntriples")
        triples = sorted(set(result.triples), key=str)
        text = "".join(map(str, triples))
        used = {name: space for name, space in prefixes.items() if f"<{space}" in text}
        return (ox.serialize(triples, None, formats[format_], prefixes=used) or b"").decode()
    if format_ not in ("csv", "tsv", "json"):
        raise UsageError(f"cannot write rows as {format_}: choose table, csv, tsv or json")
    if isinstance(result, bool):
        if format_ != "json":
            raise UsageError("an ASK result has no rows: choose --format json or table")
        data = encode_boolean(result, format_)
    else:
        rows = encode_rows(result.variables, result.rows, format_)
        data = encode_header(result.variables, format_) + b"".join(rows) + encode_footer(format_)
    if format_ == "json":
        return json.dumps(json.loads(data), ensure_ascii=False, indent=2) + "\n"
    return data.decode()


def encode_boolean(value: bool, format_: str) -> bytes:
    """An ASK result; as CSV and TSV, which the standard does not define for it, a single word."""
    word = "true" if value else "false"
    if format_ == "json":
        return f'{{"head":{{}},"boolean":{word}}}\n'.encode()
    if format_ == "xml":
        return f"{_XML_HEADER}<head/><boolean>{word}</boolean></sparql>\n".encode()
    return f"{word}\n".encode()


def encode_header(variables: Sequence[str], format_: str, link: str = "") -> bytes:
    """The bytes before the rows; `link` is a URL for the ``link`` of JSON and XML results."""
    if format_ == "json":
        head: dict[str, Any] = {"vars": list(variables)}
        if link:
            head["link"] = [link]
        return f'{{"head":{json.dumps(head, ensure_ascii=False)},"results":{{"bindings":['.encode()
    if format_ == "xml":
        names = "".join(f"<variable name={quoteattr(name)}/>" for name in variables)
        href = f"<link href={quoteattr(link)}/>" if link else ""
        return f"{_XML_HEADER}<head>{names}{href}</head><results>\n".encode()
    if format_ == "csv":
        return _csv_line(variables)
    return ("\t".join(f"?{name}" for name in variables) + "\n").encode()


def encode_footer(format_: str) -> bytes:
    """The bytes after the rows."""
    return {"json": b"\n]}}\n", "xml": b"</results></sparql>\n"}.get(format_, b"")


def encode_rows(
    variables: Sequence[str], rows: Iterable[Solution], format_: str
) -> Iterator[bytes]:
    """The bytes of each row."""
    if format_ == "json":
        separator = "\n"
        keys = [f"{_quote_json(name)}:" for name in variables]
        for row in rows:  # this is where a large result spends most of its time
            pairs = zip(keys, row, strict=True)
            cells = ",".join(key + _json_cell(term) for key, term in pairs if term is not None)
            yield f"{separator}{{{cells}}}".encode()
            separator = ",\n"
    elif format_ == "xml":
        for row in rows:
            cells = "".join(
                f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>"
                for name, term in zip(variables, row, strict=True)
                if term is not None
            )
            yield f"<result>{cells}</result>\n".encode()
    elif format_ == "csv":
        for row in rows:
            yield _csv_line([plain_text(term) for term in row])
    else:
        for row in rows:
            cells = "\t".join("" if t is None else str(t).replace("\t", "\\t") for t in row)
            yield f"{cells}\n".encode()


def plain_text(term: Any) -> str:
    """A term without its syntax, as in CSV and tables; empty if unbound."""
    if term is None:
        return ""
    if isinstance(term, ox.BlankNode | ox.Triple):
        return str(term)
    return str(term.value)


def _csv_line(values: Sequence[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(values)
    return buffer.getvalue().encode()


def _json_cell(term: Any) -> str:
    """A term in the SPARQL JSON format, with triple terms as in SPARQL 1.2."""
    if isinstance(term, ox.Triple):
        parts = zip(_PARTS, term, strict=True)
        value = ",".join(f'"{name}":{_json_cell(part)}' for name, part in parts)
        return f'{{"type":"triple","value":{{{value}}}}}'
    value = _quote_json(term.value)
    if isinstance(term, ox.NamedNode):
        return f'{{"type":"uri","value":{value}}}'
    if isinstance(term, ox.BlankNode):
        return f'{{"type":"bnode","value":{value}}}'
    if term.language:
        value += f',"xml:lang":{_quote_json(term.language)}'
    elif term.datatype.value != _STRING:
        value += f',"datatype":{_quote_json(term.datatype.value)}'
    return f'{{"type":"literal","value":{value}}}'


def _xml_term(term: Any) -> str:
    if isinstance(term, ox.NamedNode):
        return f"<uri>{_xml_text(term.value)}</uri>"
    if isinstance(term, ox.BlankNode):
        return f"<bnode>{_xml_text(term.value)}</bnode>"
    if isinstance(term, ox.Triple):
        parts = zip(_PARTS, term, strict=True)
        inner = "".join(f"<{name}>{_xml_term(part)}</{name}>" for name, part in parts)
        return f"<triple>{inner}</triple>"
    attribute = f" datatype={quoteattr(term.datatype.value)}"
    if term.language:
        attribute = f" xml:lang={quoteattr(term.language)}"
    elif term.datatype.value == _STRING:
        attribute = ""
    return f"<literal{attribute}>{_xml_text(term.value)}</literal>"


def _xml_text(value: str) -> str:
    """Escaped text; characters that XML 1.0 does not allow become U+FFFD."""
    return escape(NOT_IN_XML.sub("\ufffd", value), {"\r": "&#13;"})


# ------------------------------------------------------------------------------------ Reading


def parse_json_results(data: Any) -> Table | bool:
    """A SELECT or ASK result in JSON; raises KeyError, TypeError, AttributeError, ValueError."""
    if "boolean" in data:
        if not isinstance(data["boolean"], bool):
            raise TypeError
        return data["boolean"]
    variables = tuple(map(str, data["head"]["vars"]))
    rows = [
        tuple(_term(row[name]) if name in row else None for name in variables)
        for row in data["results"]["bindings"]
    ]
    if variables == ("__ASK_RETVAL",):  # the table that Virtuoso returns for ASK
        return [str(row[0].value) for row in rows if row[0]] not in ([], ["0"], ["false"])
    return Table(variables, rows)


def _term(value: dict[str, Any], depth: int = 0) -> Any:
    """A term of the SPARQL JSON format or of Virtuoso's; raises ValueError if nested too deeply."""
    kind, text = value["type"], value["value"]
    if kind == "uri":
        return ox.NamedNode(text)
    if kind == "bnode":
        return ox.BlankNode(re.sub(r"\W", "-", text).strip("-") or "b")
    if kind == "triple":
        if depth == DEEPEST_TERM:
            raise ValueError("triple terms are nested too deeply")
        return ox.Triple(*(_term(text[part], depth + 1) for part in _PARTS))
    if kind not in ("literal", "typed-literal"):
        raise ValueError(kind)
    if "xml:lang" in value:
        return ox.Literal(text, language=value["xml:lang"])
    if "datatype" in value:
        return ox.Literal(text, datatype=ox.NamedNode(value["datatype"]))
    return ox.Literal(text)


_SAFE_SIZE: Final = 2_000
"""Data of up to this many bytes cannot be nested deeply enough to crash a process."""
_SECONDS: Final = 120.0


def parse_in_sandbox(data: bytes, syntax: ox.RdfFormat) -> list[ox.Triple]:
    """The triples of `data`, in order; more than `_SAFE_SIZE` bytes are parsed in a child process.

    Raises SyntaxError and ValueError as the parser does, also for triple terms that are nested too
    deeply, and `EndedError` for data on which the parser crashes or exceeds its limits.
    """
    if len(data) > _SAFE_SIZE:
        limits = Limits(_SECONDS, half_of_memory())
        data, syntax = run(_as_ntriples, limits, data, syntax.media_type), ox.RdfFormat.N_TRIPLES
    return [quad.triple for quad in ox.parse(data, syntax)]


def _as_ntriples(data: bytes, media_type: str) -> bytes:
    triples = [quad.triple for quad in ox.parse(data, ox.RdfFormat.from_media_type(media_type))]
    if any(map(is_deep, triples)):
        raise ValueError("triple terms are nested too deeply")
    return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
