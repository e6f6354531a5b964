"""URLs of endpoints, what follows from them, and where their caches are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sarag_rdf.base.endpoints import SparqlEndpoint, is_url
from sarag_rdf.base.errors import UsageError
from tests.command import Sarag


@pytest.mark.parametrize(
    ("query", "update", "store"),
    [
        ("http://h:7878/query", "http://h:7878/update", "http://h:7878/store"),
        ("https://h/ds/query", "https://h/ds/update", "https://h/ds/data"),
        ("http://h/a/ds/sparql", "http://h/a/ds/update", "http://h/a/ds/data"),
        ("http://h:8890/sparql", "http://h:8890/sparql", "http://h:8890/sparql-graph-crud"),
        ("http://h/sparql-auth", "http://h/sparql-auth", "http://h/sparql-graph-crud-auth"),
        (
            "http://h/repositories/r",
            "http://h/repositories/r/statements",
            "http://h/repositories/r/rdf-graphs/service",
        ),
        ("http://h/elsewhere", "", ""),
    ],
)
def test_urls_for_writing(query: str, update: str, store: str) -> None:
    made = SparqlEndpoint(query).writable()
    assert (made.query_url, made.update_url, made.store_url) == (query, update, store)


def test_what_is_named_counts_before_what_is_usual() -> None:
    made = SparqlEndpoint("http://h/query", "http://h/u", "http://h/s").writable()
    assert (made.update_url, made.store_url) == ("http://h/u", "http://h/s")


@pytest.mark.parametrize(
    ("location", "wanted"),
    [
        ("http://h/x", True),
        ("HTTPS://h", True),
        ("kg", False),
        ("C:/x", False),
        (Path("kg"), False),
    ],
)
def test_what_is_a_url(location: object, wanted: bool) -> None:
    assert is_url(location) is wanted


@pytest.mark.parametrize(
    "url",
    ["ftp://h/x", "http:///x", "http://h:0/", "http://h:99999/", "http://h/a b", "http://h/#x"],
)
def test_a_bad_url_is_refused(url: str) -> None:
    message = f"not the URL of an endpoint: '{url}': use http://HOST/PATH"
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        SparqlEndpoint(url)


def test_a_password_in_a_url_is_refused() -> None:
    with pytest.raises(UsageError, match="must not contain a password: set SARAG_SPARQL_USER"):
        SparqlEndpoint("http://ann:secret@h/x")


def test_caches_are_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(tmp_path / "own"))
    remotes = [
        SparqlEndpoint("http://h/a"),
        SparqlEndpoint("http://h/b"),
        SparqlEndpoint("http://h/a", kind="skos"),
        SparqlEndpoint("http://h/a", kind="skos", graph="urn:g"),
    ]
    folders = {remote.cache() for remote in remotes}
    assert len(folders) == 4
    assert {folder.parent for folder in folders} == {tmp_path / "own" / "endpoints"}
    monkeypatch.delenv("SARAG_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert SparqlEndpoint("http://h/a").cache().is_relative_to(tmp_path / "xdg" / "sarag")


def test_options_that_do_not_fit(sarag: Sarag, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://127.0.0.1:9/query"
    sarag("stats", "--kg", "kg", "--endpoint", url).fails(1, url)
    sarag("stats", "--kg", "kg", "--graph-kind", "skos").fails(2, "kg is a folder")
    sarag("stats", "--kg", url, "--default-graph", "urn:g").fails(2, "--graph-kind")
    sarag("stats", "--kg", "http://a:b@h/x").fails(2, "SARAG_SPARQL_USER")
    sarag("stats", "--graph-kind", "skos").fails(2, "kg is a folder")
    sarag("link", "--kg", "kg", "--to", url, "--graph-kind", "skos", "--review", "x").fails(
        1, "no graph at kg"
    )
    monkeypatch.setenv("SARAG_ENDPOINT", url)
    sarag("stats").fails(1, url)
    sarag("stats", "--kg", "kg").fails(1, "no graph at kg")
    monkeypatch.setenv("SARAG_KG", "kg")
    sarag("stats").fails(1, "no graph at kg")
    monkeypatch.delenv("SARAG_ENDPOINT")
    sarag("stats", "--endpoint", url).fails(1, url)


def test_the_kind_of_an_endpoint_counts_wherever_the_graph_is_named(
    sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = ("--graph-kind", "skos")
    monkeypatch.setenv("SARAG_KG", "named")
    sarag("stats", *kind).fails(2, "named is a folder: --graph-kind")
    monkeypatch.setenv("SARAG_GRAPH_KIND", "skos")
    sarag("stats").fails(2, "named is a folder: --graph-kind")
    sarag("stats", "--kg", "other").fails(1, "no graph at other")
    monkeypatch.setenv("SARAG_UPDATE_URL", "http://127.0.0.1:9/update")
    sarag("index", ".").fails(2, "named is a folder")
