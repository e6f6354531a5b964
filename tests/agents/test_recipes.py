"""The recipes of the documentation run, and print what their page shows."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import ROOT
from tests.sample_graph import make_graph
from tests.server.running import Running, serving
from tests.wikibase.engines import node

PAGE = (ROOT / "docs/how-to/recipes.md").read_text("utf-8")
_RECIPE = re.compile(
    r"^```(?P<language>python|js)\n(?P<code>.*?)^```\n\n```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
RECIPES = list(_RECIPE.finditer(PAGE))
PYTHON = [recipe for recipe in RECIPES if recipe["language"] == "python"]
[COMUNICA] = [recipe for recipe in RECIPES if recipe["language"] == "js"]
ORIGIN = "https://tools.example.org"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = make_graph(tmp_path_factory.mktemp("recipes") / "kg")
    with serving(folder, "--cors", ORIGIN, "--workers", "1") as running:
        yield running


def test_every_block_of_code_is_a_recipe_with_output() -> None:
    assert len(PYTHON) == 5
    assert len(re.findall(r"^```(?:python|js)$", PAGE, re.MULTILINE)) == len(RECIPES)


@pytest.mark.parametrize("recipe", PYTHON, ids=range(len(PYTHON)))
def test_a_recipe_in_python(
    recipe: re.Match[str],
    server: Running,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "kg").symlink_to(server.log.parent / "kg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sarag_rdf.kg.vectors.make_embedder", lambda *_: HashEmbedder())
    exec(recipe["code"].replace("http://localhost:7878", server.url), {})
    assert capsys.readouterr().out == recipe["output"]


@pytest.mark.interop
def test_the_recipe_for_comunica(server: Running) -> None:
    modules = os.environ.get("NODE_PATH", "nothing")
    if not Path(modules, "@comunica/query-sparql").is_dir():
        pytest.skip(f"node does not find @comunica/query-sparql (NODE_PATH is {modules})")
    code = COMUNICA["code"].replace("http://localhost:7878", server.url)
    done = subprocess.run([node(), "-e", code], check=True, capture_output=True, text=True)
    assert done.stdout == COMUNICA["output"]


def test_requests_of_yasgui_are_allowed(server: Running) -> None:
    """The preflight and the request that Yasgui sends from a page of another origin."""
    asked = server.ask(
        "OPTIONS",
        "/sparql",
        Origin=ORIGIN,
        Sec_Fetch_Site="cross-site",
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="accept,content-type",
    )
    assert asked.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in asked.headers["access-control-allow-methods"]
    got = server.ask(
        "POST",
        "/sparql",
        urlencode({"query": "SELECT * { ?s ?p ?o } LIMIT 1"}),
        Origin=ORIGIN,
        Sec_Fetch_Site="cross-site",
        Content_Type="application/x-www-form-urlencoded",
        Accept="application/sparql-results+json,*/*;q=0.9",
    )
    assert got.status == 200
    assert got.headers["access-control-allow-origin"] == ORIGIN
    assert len(got.json()["results"]["bindings"]) == 1
    assert 'endpoint: "http://localhost:7878/sparql", method: "POST"' in PAGE
