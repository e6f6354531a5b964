"""The examples run as they stand, each in a folder of its own."""

from __future__ import annotations

import ast
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    "sparql_over_the_graph.py": (
        "Daniel Gabriel Fahrenheit was born in Gdańsk  (Daniel Gabriel Fahrenheit)",
        "Baltic Sea? True",
        "lines of Turtle",
    ),
    "langchain_retriever.py": ("1. Marie Curie", "2. Warsaw", "why: ", "[Warsaw, 0-56] Warsaw is"),
    "llamaindex_retriever.py": ("1. Marie Curie (", "2. Warsaw (", "why: "),
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


def test_the_notebook_runs_and_shows_its_values(sarag: Sarag, tmp_path: Path) -> None:
    """Each cell is executed as Jupyter does: its last expression is shown, as HTML if it can."""
    skip_without_models()
    path = ROOT / "examples/graph_in_a_notebook.ipynb"
    book = json.loads(path.read_text("utf-8"))
    assert (book["nbformat"], len({cell["id"] for cell in book["cells"]})) == (
        4,
        len(book["cells"]),
    )
    names: dict[str, Any] = {}
    shown = []
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert [text for text in shown if len(text) > 20_000] == []
    assert "<td>entities</td>" in shown[0]
    assert "<td>Marie Curie</td>" in shown[1]
    assert any("'Marie Curie', 'Warsaw', 'Vistula'" in text for text in shown)
    assert not list(tmp_path.iterdir())
