"""``sarag export`` for a Wikibase: files, endings, and options that fit no other format."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.command import Sarag
from tests.sample_graph import make_graph


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return make_graph(tmp_path / "kg")


def test_the_ending_chooses_the_syntax(graph: Path, sarag: Sarag, tmp_path: Path) -> None:
    export = ("export", "--kg", graph, "--format", "wikibase", "--output")
    assert sarag(*export, tmp_path / "dump.nt").code == 0
    assert sarag(*export, tmp_path / "dump.ttl").code == 0
    assert (tmp_path / "dump.ttl").read_text().startswith("@prefix ")
    triples = set(ox.parse(path=str(tmp_path / "dump.nt"), format=ox.RdfFormat.N_TRIPLES))
    assert triples == set(ox.parse(path=str(tmp_path / "dump.ttl"), format=ox.RdfFormat.TURTLE))


def test_json_and_commands_go_to_a_file(graph: Path, sarag: Sarag, tmp_path: Path) -> None:
    for format_ in ("wikibase-json", "quickstatements"):
        result = sarag("export", "--kg", graph, "--format", format_, "-o", tmp_path / format_)
        assert result.code == 0
        assert "written to" in result.err
    lines = (tmp_path / "wikibase-json").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("[", "]")
    assert all(line.endswith(",") for line in lines[1:-2])
    assert json.loads(lines[1].rstrip(","))["id"] == "P1"
    assert (tmp_path / "quickstatements").read_text().startswith("CREATE\nLAST\tL")


@pytest.mark.parametrize(
    "option",
    [
        ("--namespace", "https://x.example/"),
        ("--typed", "3"),
        ("--flavor", "truthy"),
        ("--properties", "ids.tsv"),
        ("--over", "movies"),
    ],
)
def test_options_of_wikibase_are_refused_elsewhere(
    graph: Path, sarag: Sarag, option: tuple[str, str]
) -> None:
    result = sarag("export", "--kg", graph, *option)
    result.fails(2, f"{option[0]} requires --format ", "not turtle")


def test_what_is_not_there(graph: Path, sarag: Sarag, tmp_path: Path) -> None:
    export = ("export", "--kg", graph, "--format", "quickstatements")
    sarag(*export, "--over", "movies").fails(2, "movies")
    sarag(*export, "--properties", tmp_path / "none.tsv").fails(1, "none.tsv", "cannot read")
    sarag("export", "--kg", tmp_path / "none", "--format", "wikibase").fails(1, "no graph")
