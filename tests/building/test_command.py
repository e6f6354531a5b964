"""``sarag import``: what it prints, and options that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import Sarag
from tests.sample_graph import make_graph

SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <https://terms.example.org/> .
t:river skos:prefLabel "river"@en ; skos:broader t:water .
t:water skos:prefLabel "water"@en .
"""


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.ttl"
    path.write_text(SKOS)
    return path


def test_everything_can_be_printed_as_json(sarag: Sarag, terms: Path) -> None:
    asked = ("import", terms, "--as", "skos", "--no-vectors", "--json")
    report = json.loads(sarag(*asked).out)
    assert (report["name"], report["triples"], report["already"]) == ("terms", 3, False)
    assert json.loads(sarag(*asked).out)["already"]
    (listed,) = json.loads(sarag("import", "--list", "--json").out)
    assert (listed["name"], listed["state"]) == ("terms", "complete")
    assert json.loads(sarag("import", "--drop", "terms", "--json").out) == {"dropped": "terms"}


def test_a_graph_is_restored_from_a_file_of_any_suffix(sarag: Sarag, tmp_path: Path) -> None:
    kg = make_graph(tmp_path / "kg")
    assert sarag("export", "--kg", kg, "--format", "nquads", "--output", "backup").code == 0
    asked = ("import", "backup", "--as", "sarag", "--kg", "copy", "--no-vectors")
    sarag(*asked).fails(2, "give its format with --format")
    sarag(*asked, "--format", "nquads", "--name", "mine").fails(
        2, "--name cannot be combined with --as sarag"
    )
    sarag(*asked, "--format", "nquads", "--language", "en").fails(
        2, "--language cannot be combined with"
    )
    assert not (tmp_path / "copy").exists()
    result = sarag(*asked, "--format", "nquads", "--json")
    assert json.loads(result.out)["quads"] == len(Path("backup").read_text().splitlines())
