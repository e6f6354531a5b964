"""The examples run as they stand, each in a folder of its own."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, Sarag, environment
from tests.test_docs import skip_without_models

PRINTED = {
    "python_api.py": ("3 sources", "1. Marie Curie", "2. Warsaw", "outcome: evidence"),
    "bring_your_own_extractor.py": (
        "4 mentions, 2 relationships",
        "Vienna is the capital of Austria",
        "conforms to the shapes: True",
    ),
    "qdrant_vectors.py": ("example-documents-document: 3 vectors", "1. Marie Curie", "2. Warsaw"),
    "sparql_over_the_graph.py": (
        "Daniel Gabriel Fahrenheit was born in Gdańsk  (Daniel Gabriel Fahrenheit)",
        "Baltic Sea? True",
        "lines of Turtle",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_its_results(
    name: str, sarag: Sarag, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without_models()
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    printed = capsys.readouterr().out
    for words in PRINTED[name]:
        assert words in printed
    assert not list(tmp_path.iterdir()), "an example writes nothing"


def test_an_example_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    skip_without_models()
    name = "bring_your_own_extractor.py"
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name],
        check=False,
        cwd=tmp_path,
        env=environment(PYTHONIOENCODING="utf-8"),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in PRINTED[name])
