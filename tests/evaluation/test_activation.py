"""``sarag evaluate activation`` on a small graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Sarag
from tests.evaluation.fixed import without_models

QUESTION = "On which river lies the birthplace of Ada Brandt?"


@pytest.fixture
def indexed(sarag: Sarag, sample_kg: Path, monkeypatch: pytest.MonkeyPatch) -> Sarag:
    without_models(monkeypatch)
    monkeypatch.setenv("SARAG_KG", str(sample_kg))
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
    activated = [int(row[1]) for row in table]
    assert activated[0] > activated[-1]
    assert indexed(*command, "--plot", "two.png").out == first.out
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_invalid_values_of_c_are_refused(indexed: Sarag) -> None:
    for values in ("1", "a", "0.3,-1", "nan"):
        outcome = indexed("evaluate", "activation", QUESTION, "--c", values)
        assert outcome.code == 2, values
        assert len(outcome.err.splitlines()) == 1, values
    assert indexed("evaluate", "activation", QUESTION, "--c", "").code == 0
