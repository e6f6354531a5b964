"""What the cases found, once each: it stays found without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.base.errors import QueryError, SaragError, UsageError, one_line
from sarag_rdf.models.client import endpoint_client
from sarag_rdf.plugins.http_writes.update_guard import inspect_update
from sarag_rdf.server.serve_settings import checked_public_url
from tests.fuzz.hostile import graph, is_line
from tests.reading import read_paths


def _model(url: str) -> object:
    return endpoint_client(ModelEndpoint(url, timeout=1.0), "none")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (SparqlEndpoint, ""),
        (SparqlEndpoint, "http://[/"),
        (checked_public_url, "http://\x1b[31m/kg/"),
        (checked_public_url, "http://[::1/"),
        (_model, ""),
        (_model, "http://\u0085/kg/"),
        (_model, "http://\u017f/kg/"),
        (_model, "http://e.example/\x00"),
        (_model, "http://[31m/"),
    ],
)
def test_urls_that_are_none(make: Callable[[str], object], text: str) -> None:
    with pytest.raises(UsageError):
        make(text)


def test_halves_of_surrogate_pairs_are_no_query() -> None:
    with graph() as kg, pytest.raises(QueryError, match="UTF-8"):
        kg.query("ASK {} # \udcff")
    with pytest.raises(QueryError, match="UTF-8"):
        inspect_update("CLEAR ALL # \ud800", "http://e.example/")


def test_a_problem_moves_no_cursor(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\x7fa\u009b31m,b\n1,2\n".encode())
    (told,) = map(str, read_paths([tmp_path / "a.csv"]))
    assert "has no text column" in told
    assert is_line(told)
    assert one_line("a\n\x1b[2J b\u202e") == "a \ufffd[2J b\ufffd"


def test_a_deep_dump_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[\n{"id": ' + "[" * 100_000)
    with graph() as kg, pytest.raises(SaragError, match="too deeply"):
        kg.import_graph(tmp_path / "a.json", "wikibase", embed=False)
