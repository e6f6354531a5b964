"""SPARQL results that leave the library, held against the W3C's formats and rdflib's readers."""

from __future__ import annotations

import csv
import io
import json

import pyoxigraph as ox
import pytest
from rdflib import BNode, Literal, URIRef
from rdflib.query import Result
from rdflib.term import Node

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.vocab import SKOS, XSD
from sarag_rdf.graph.store.results import RESULT_FORMATS, serialize_results
from tests.sample_graph import CROOKED_NAMES

IRI = ox.NamedNode("https://example.org/a?b=c&d")
TABLE = Table(
    ("x", "y"),
    [
        (IRI, ox.Literal("plain")),
        (ox.Literal("fünf", language="de"), ox.Literal(5)),
        (None, ox.Literal("1.50", datatype=XSD.decimal)),
        (ox.Literal('a "quote", a comma'), ox.Literal("two\nlines\tand a tab \\ \r")),
        (ox.BlankNode("b0"), None),
        (None, None),
    ],
)
VALUES: list[tuple[Node | None, Node | None]] = [
    (URIRef(IRI.value), Literal("plain")),
    (Literal("fünf", lang="de"), Literal("5", datatype=URIRef(XSD.integer.value))),
    (None, Literal("1.50", datatype=URIRef(XSD.decimal.value), normalize=False)),
    (Literal('a "quote", a comma'), Literal("two\nlines\tand a tab \\ \r")),
    (BNode("b0"), None),
    (None, None),
]
CROOKED = Table(("name",), [(ox.Literal(name, language="en"),) for name in CROOKED_NAMES])
EMPTY = Table(("x", "y"), [])


def parsed(text: str, format_: str) -> list[tuple[Node | None, ...]]:
    """The rows that rdflib reads; blank nodes get the name b0."""
    result = Result.parse(io.BytesIO(text.encode()), format=format_)
    names = result.vars or []
    rows = [tuple(binding.get(name) for name in names) for binding in result.bindings]
    return [tuple(BNode("b0") if isinstance(t, BNode) else t for t in row) for row in rows]


# -------------------------------------------------------------------------------- JSON


def test_json() -> None:
    """SPARQL 1.1 Query Results JSON Format, 3.2.2: terms; an unbound variable is left out."""
    data = json.loads(serialize_results(TABLE, "json"))
    string = {"type": "literal", "value": "plain"}
    decimal = {"type": "literal", "value": "1.50", "datatype": XSD.decimal.value}
    assert data["head"] == {"vars": ["x", "y"]}
    rows = data["results"]["bindings"]
    assert rows[0] == {"x": {"type": "uri", "value": IRI.value}, "y": string}
    assert rows[1]["x"] == {"type": "literal", "value": "fünf", "xml:lang": "de"}
    assert rows[1]["y"] == {"type": "literal", "value": "5", "datatype": XSD.integer.value}
    assert rows[2] == {"y": decimal}
    assert rows[3]["y"] == {"type": "literal", "value": "two\nlines\tand a tab \\ \r"}
    assert rows[4] == {"x": {"type": "bnode", "value": "b0"}}
    assert rows[5] == {}


def test_json_read_by_rdflib() -> None:
    assert parsed(serialize_results(TABLE, "json"), "json") == VALUES
    names = parsed(serialize_results(CROOKED, "json"), "json")
    assert names == [(Literal(name, lang="en"),) for name in CROOKED_NAMES]


@pytest.mark.parametrize("value", [True, False])
def test_json_boolean(value: bool) -> None:
    text = serialize_results(value, "json")
    assert json.loads(text) == {"head": {}, "boolean": value}
    assert Result.parse(io.BytesIO(text.encode()), format="json").askAnswer is value


def test_json_read_by_pyoxigraph() -> None:
    read = ox.parse_query_results(
        serialize_results(TABLE, "json"), format=ox.QueryResultsFormat.JSON
    )
    assert isinstance(read, ox.QuerySolutions)
    assert [tuple(row) for row in read] == TABLE.rows


# --------------------------------------------------------------------------------- CSV


def test_csv() -> None:
    """SPARQL 1.1 Query Results CSV: RFC 4180 with CRLF, terms without their syntax."""
    assert serialize_results(TABLE, "csv") == (
        "x,y\r\n"
        "https://example.org/a?b=c&d,plain\r\n"
        "fünf,5\r\n"
        ",1.50\r\n"
        '"a ""quote"", a comma","two\nlines\tand a tab \\ \r"\r\n'
        "_:b0,\r\n"
        ",\r\n"
    )


def test_csv_read_by_python_and_rdflib() -> None:
    text = serialize_results(TABLE, "csv")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == ["x", "y"]
    assert rows[4] == ['a "quote", a comma', "two\nlines\tand a tab \\ \r"]
    read = parsed(text, "csv")
    assert [[str(t) if t is not None else "" for t in row] for row in read][:3] == rows[1:4]
    assert read[4] == (BNode("b0"), None)
    names = list(csv.reader(io.StringIO(serialize_results(CROOKED, "csv"), newline="")))
    assert names == [["name"], *([name] for name in CROOKED_NAMES)]


def test_csv_row_of_one_unbound_value_is_a_row() -> None:
    text = serialize_results(Table(("x",), [(None,), (None,)]), "csv")
    assert len(list(csv.reader(io.StringIO(text, newline="")))) == 3


# --------------------------------------------------------------------------------- TSV


def test_tsv() -> None:
    """SPARQL 1.1 Query Results TSV: terms as in Turtle, one line a row."""
    lines = serialize_results(TABLE, "tsv").split("\n")
    assert lines == [
        "?x\t?y",
        '<https://example.org/a?b=c&d>\t"plain"',
        f'"fünf"@de\t"5"^^<{XSD.integer.value}>',
        f'\t"1.50"^^<{XSD.decimal.value}>',
        r'"a \"quote\", a comma"' + "\t" + r'"two\nlines\tand a tab \\ \r"',
        "_:b0\t",
        "\t",
        "",
    ]


def test_tsv_read_by_rdflib_and_pyoxigraph() -> None:
    # rdflib 7 does not read a row that holds nothing at all
    assert parsed(serialize_results(Table(("x", "y"), TABLE.rows[:5]), "tsv"), "tsv") == VALUES[:5]
    for table in (TABLE, CROOKED):
        text = serialize_results(table, "tsv")
        read = ox.parse_query_results(text, format=ox.QueryResultsFormat.TSV)
        assert isinstance(read, ox.QuerySolutions)
        assert [tuple(row) for row in read] == table.rows


# ---------------------------------------------------------------------- Other results


@pytest.mark.parametrize(
    ("format_", "text"), [("csv", "x,y\r\n"), ("tsv", "?x\t?y\n")], ids=["csv", "tsv"]
)
def test_no_rows(format_: str, text: str) -> None:
    assert serialize_results(EMPTY, format_) == text
    assert parsed(text, format_) == []


def test_no_rows_json() -> None:
    assert json.loads(serialize_results(EMPTY, "json"))["results"] == {"bindings": []}


@pytest.mark.parametrize("format_", ["turtle", "ntriples"])
def test_triples_are_sorted_and_single(format_: str) -> None:
    one, two = (ox.Triple(IRI, SKOS.prefLabel, ox.Literal(n, language="en")) for n in ("a", "]]>"))
    text = serialize_results(Triples([two, one, two]), format_)
    assert text == serialize_results(Triples([one, two]), format_)
    format_of = {"turtle": ox.RdfFormat.TURTLE, "ntriples": ox.RdfFormat.N_TRIPLES}
    read = list(ox.parse(text.encode(), format=format_of[format_]))
    assert {quad.triple for quad in read} == {one, two}
    assert len(read) == 2
    assert ("@prefix skos:" in text) == (format_ == "turtle")


@pytest.mark.parametrize("format_", ["csv", "tsv", "json"])
def test_triples_are_no_rows(format_: str) -> None:
    with pytest.raises(UsageError, match="choose turtle or ntriples"):
        serialize_results(Triples([]), format_)


@pytest.mark.parametrize("format_", ["turtle", "ntriples"])
def test_rows_are_no_triples(format_: str) -> None:
    with pytest.raises(UsageError, match="choose table, csv, tsv or json"):
        serialize_results(EMPTY, format_)


@pytest.mark.parametrize("format_", ["csv", "tsv"])
def test_boolean_has_no_rows(format_: str) -> None:
    with pytest.raises(UsageError, match="choose --format json or table"):
        serialize_results(True, format_)


def test_formats() -> None:
    assert RESULT_FORMATS == ("table", "csv", "tsv", "json", "turtle", "ntriples")
