"""The choice of a format by Accept (RFC 9110, 12.5.1), and parameters of requests."""

from __future__ import annotations

import pytest

from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.media import (
    RDF_TYPES,
    RESULT_TYPES,
    base_type,
    check_charset,
    choose_media_type,
)
from sarag_rdf.server.requests import parse_parameters


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "text/turtle"),
        ("*/*", "text/turtle"),
        ("application/*", "application/n-triples"),
        ("application/rdf+xml;q=0.2, text/turtle;q=0.1", "application/rdf+xml"),
        ("*/*;q=0.1, application/ld+json", "application/ld+json"),
        ("text/turtle;q=0, */*", "application/n-triples"),
        ("text/*;q=0.5, text/n3;q=0.9", "text/n3"),
        ('application/ld+json;profile="http://a/";q=0.9, text/turtle;q=0.1', "application/ld+json"),
        ("text/turtle;q=0.000", None),
        ("image/png", None),
        ("text/html, application/json;q=0.1", "application/json"),
    ],
)
def test_choice(accept: str, chosen: str | None) -> None:
    assert choose_media_type(accept, RDF_TYPES) == chosen


def test_the_default_of_rows_is_json() -> None:
    assert choose_media_type("*/*", RESULT_TYPES) == "application/sparql-results+json"


def test_names_of_types() -> None:
    assert base_type("Text/Turtle ; charset=UTF-8") == "text/turtle"
    assert base_type("nothing") == base_type("") == base_type("a/b\r\nX: 1") == ""
    with pytest.raises(RequestError, match="send the RDF as UTF-8"):
        check_charset('text/turtle; charset="UTF-16"', "RDF")
    for fine in ("text/turtle", 'text/turtle; charset="UTF-8"', "text/turtle;charset=us-ascii"):
        check_charset(fine, "RDF")


def test_parameters() -> None:
    assert parse_parameters(b"a=1&a=2&b&c=x%20y+z&d=%C3%A4&&e==") == [
        ("a", "1"), ("a", "2"), ("b", ""), ("c", "x y z"), ("d", "ä"), ("e", "="),
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b"a=%", b"a=%f", b"a=%fg", b"%zz=1", b"a=%ff", b"a=\xff"])
def test_bad_parameters(data: bytes) -> None:
    with pytest.raises(RequestError):
        parse_parameters(data)
