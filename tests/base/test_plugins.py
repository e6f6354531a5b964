"""Plug-ins are found by entry points, imported when named, and never stop anything else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import sarag_rdf
from sarag_rdf.base import plugins as module
from sarag_rdf.base.errors import PluginError, UsageError
from sarag_rdf.base.plugins import GROUPS, load, loadable, plugins
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag
from tests.typed_graph import SOURCES, TypedExtractor

ENTRIES = """\
[sarag_rdf.commands]
greet = hello_plugin:greet
broken = hello_plugin_that_is_missing:nothing
search = hello_plugin:greet
"""
CODE = """\
import click

@click.command()
def greet():
    "Say hello."
    click.echo("hello")
"""


def install(folder: Path) -> None:
    """A distribution as pip would leave it, with one command that works and one that does not."""
    (folder / "hello_plugin.py").write_text(CODE, "utf-8")
    info = folder / "hello_plugin-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello-plugin\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRIES, "utf-8")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module._others.cache_clear()
    yield tmp_path
    module._others.cache_clear()


def test_plugins_of_others_are_listed_with_their_package(installed: Path) -> None:
    found = plugins("commands")
    assert {found[name].package for name in ("greet", "broken")} == {"hello-plugin"}
    assert found["greet"].version == "1.2"
    assert load("commands", "greet").name == "greet"


def test_a_broken_plugin_is_one_line_and_stops_no_other(installed: Path) -> None:
    with pytest.raises(PluginError, match=r"'broken' of the package hello-plugin 1\.2"):
        load("commands", "broken")
    outcomes = {plugin.name: outcome for plugin, outcome in loadable("commands")}
    assert isinstance(outcomes["broken"], PluginError)
    assert not isinstance(outcomes["greet"], PluginError)


def test_an_unknown_name_lists_those_there_are(installed: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown command 'gret': choose from .*greet"):
        load("commands", "gret")


def test_no_plugin_takes_the_name_of_a_part_of_this_package(installed: Path) -> None:
    assert plugins("retrievers")["sarag"].package == "sarag-rdf"


@pytest.mark.parametrize("group", GROUPS)
def test_every_entry_point_of_this_package_can_be_loaded(group: str) -> None:
    own = [plugin for plugin in plugins(group).values() if plugin.package == "sarag-rdf"]
    for plugin in own:
        assert plugin.load() is not None


def test_nothing_is_imported_before_it_is_named() -> None:
    code = (
        "import sys; from sarag_rdf.base.plugins import find; assert find('retrievers', 'sarag')\n"
        "print([name for name in sys.modules if name.startswith('sarag_rdf.retrieval')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_command_of_a_plugin_runs_and_a_broken_one_is_one_line(
    installed: Path, sarag: Sarag
) -> None:
    assert sarag("greet").out == "hello\n"
    assert sarag("search", "--help").out.startswith("Usage: sarag search")
    sarag("broken").fails(1, "'broken' of the package hello-plugin 1.2 cannot be loaded")
    help_page = " ".join(sarag("--help").out.split())
    assert "say hello" in help_page
    assert "cannot be loaded" in help_page


def test_the_core_works_without_the_plugins_of_this_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Indexing, search, answers, queries and export need none of them."""

    def core(group: str) -> dict[str, module.Plugin]:
        own = distribution("sarag-rdf").entry_points.select(group=f"sarag_rdf.{group}")
        kept = sorted(e for e in own if not e.value.startswith("sarag_rdf.plugins"))
        return {e.name: module.Plugin(group, e.name, "sarag-rdf", "", e) for e in kept}

    monkeypatch.setattr(module, "_own", core)
    for name in [name for name in sys.modules if name.startswith("sarag_rdf.plugins")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sarag_rdf.plugins", None)
    replies: list[dict[str, Any]] = [
        {"questions": ["Where was Ilse Brandt born?"]},
        {"final_answer": "Linz"},
    ]
    with sarag_rdf.open(None, embedder=HashEmbedder(), llm=QueuedLLM(replies)) as kg:
        kg.index(SOURCES, extractor=TypedExtractor())
        assert kg.search("Where was Ilse Brandt born?").documents
        assert kg.ask("Where was Ilse Brandt born?").text == "Linz"
        assert kg.query("ASK { ?person ?property ?value }") is True
        output = BytesIO()
        kg.export("turtle", output)
        assert b"Ilse Brandt" in output.getvalue()
        with pytest.raises(UsageError, match="unknown reasoner 'sparql-typed': choose from"):
            kg.ask("Who?", reasoner="sparql-typed")
