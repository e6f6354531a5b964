"""The examples run as they stand, each in a process and a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, environment
from tests.test_docs import skip_without_models

TELLS = {
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


@pytest.mark.parametrize("name", TELLS)
def test_an_example_runs_and_tells_something(name: str, tmp_path: Path) -> None:
    skip_without_models()
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
    for words in TELLS[name]:
        assert words in done.stdout
    assert not list(tmp_path.iterdir()), "an example writes nothing"
