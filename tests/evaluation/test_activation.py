"""``sarag evaluate activation`` on a real small graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Sarag

QUESTION = "Where was the mother of Ada born?"


@pytest.fixture
def indexed(sarag: Sarag, tmp_path: Path) -> Sarag:
    (tmp_path / "ada.txt").write_text("Ada was born in London. Her mother was Bea of Ulm.")
    (tmp_path / "bea.txt").write_text("Bea was born in Ulm. Ulm lies on the Danube.")
    assert sarag("index", "ada.txt", "bea.txt").code == 0
    return sarag


@pytest.mark.parametrize("retriever", ["sarag", "sarag-paper"])
def test_it_tells_a_line_a_value_and_draws(indexed: Sarag, retriever: str, tmp_path: Path) -> None:
    command = ("evaluate", "activation", QUESTION, "--retriever", retriever, "--c", "0.2,0,0.9")
    first = indexed(*command, "--plot", "one.png")
    assert first.code == 0
    table = [line.split() for line in first.out.splitlines()[2:]]
    assert [row[0] for row in table] == ["0", "0.2", "0.9"]
    passing = [int(row[3]) for row in table]
    assert passing == sorted(passing, reverse=True)
    assert indexed(*command, "--plot", "two.png").out == first.out
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_invalid_values_of_c_are_refused(indexed: Sarag) -> None:
    for values in ("1", "a", "0.3,-1", "nan"):
        outcome = indexed("evaluate", "activation", QUESTION, "--c", values)
        assert outcome.code == 2, values
        assert len(outcome.err.splitlines()) == 1, values
    assert indexed("evaluate", "activation", QUESTION, "--c", "").code == 0
