"""``sarag strategies``, and options of strategies on the command line."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from sarag_rdf.base import plugins
from sarag_rdf.base.errors import PluginError
from sarag_rdf.base.options import declared_options
from sarag_rdf.kg.registry import strategies, strategy
from sarag_rdf.testing.fakes import HashEmbedder
from tests import reference
from tests.command import Sarag
from tests.sample_graph import make_graph
from tests.strategies import STRATEGIES

QUESTION = "Who founded Orbis?"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a graph, as the working folder."""
    make_graph(tmp_path / "kg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sarag_rdf.kg.vectors.make_embedder", lambda *_: HashEmbedder())
    return tmp_path


def test_every_option_of_every_strategy_is_listed(sarag: Sarag) -> None:
    listed = sarag("strategies").out
    data = json.loads(sarag("strategies", "--json").out)
    assert data.keys() == STRATEGIES.keys()
    assert data["reasoner"]["cot"]["package"] == "sarag-rdf"
    for kind, table in STRATEGIES.items():
        for name, class_ in table.items():
            assert f"--{kind} {name}:" in listed
            shown = sarag("strategies", name).out
            options = data[kind][name]["options"]
            assert options.keys() == {option.name for option in declared_options(class_)}
            for option in declared_options(class_):
                assert f"\n  {option.name}" in shown
                assert options[option.name]["default"] == json.loads(json.dumps(option.default))


def test_an_unknown_strategy_is_one_line(sarag: Sarag) -> None:
    sarag("strategies", "sorag").fails(2, "unknown strategy 'sorag'", "sarag-paper", "graph-walk")


def test_a_broken_strategy_is_one_line_and_stops_nothing(
    sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("broken", "a_module_that_is_missing:Broken", "sarag_rdf.retrievers")
    broken = plugins.Plugin("retrievers", "broken", "hello", "1.2", entry)
    others = plugins._others
    monkeypatch.setattr(
        plugins,
        "_others",
        lambda group: {"broken": broken} if group == "retrievers" else others(group),
    )
    done = sarag("strategies")
    assert done.code == 0
    [line] = [line for line in done.err.splitlines() if line]
    assert "the retriever 'broken' of the package hello 1.2 cannot be loaded" in line
    assert "--retriever sarag:" in done.out
    assert "broken" not in strategies("retriever")
    with pytest.raises(PluginError, match="cannot be loaded"):
        strategy("retriever", "broken")


# ------------------------------------------------------------------ search, ask and their flags


def settings(sarag: Sarag, *arguments: str) -> dict[str, float]:
    done = sarag("search", QUESTION, "--json", *arguments)
    assert done.code == 0, done
    found: dict[str, float] = json.loads(done.out)["settings"]
    return found


def test_every_option_of_a_retriever_can_be_set(sarag: Sarag, graph: Path) -> None:
    scoring = {"class_gain": 2.0, "topic_penalty": 3.0, "near": 0.5}
    defaults = {"k": 3, "n": 2, "c": 0.98, "decay": 0.15, "gain": 0.4, **scoring}
    assert settings(sarag) == defaults
    given = settings(sarag, "--retriever", "sarag:k=2:decay=0.2:gain=1:c=0.5:n=1")
    assert given == {"k": 2, "n": 1, "c": 0.5, "decay": 0.2, "gain": 1.0, **scoring}
    paper = settings(sarag, "--retriever", "sarag-paper:preset=2wiki:tau_d=0:tau_a=0.1")
    assert (paper["k"], paper["n"], paper["tau_d"], paper["tau_a"]) == (10, 3, 0.0, 0.1)


def test_the_limit_of_the_specification_counts(
    sarag: Sarag, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(*arguments: str) -> int:
        done = sarag("search", QUESTION, "--json", "--retriever", *arguments)
        return len(json.loads(done.out)["documents"])

    assert count("dense:limit=1") == 1
    assert count("dense:limit=1", "--limit", "2") == 2
    assert count("dense") == 3
    monkeypatch.setenv("SARAG_LIMIT", "2")
    assert count("dense") == 2
    assert count("dense:limit=1") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--reasoner", "nonsense"),
        ("--reasoner", "cot:steps=nonsense"),
        ("--context", "nonsense"),
        ("--retriever", "nonsense"),
        ("--retriever", "sarag:k=nonsense"),
    ],
)
def test_ask_refuses_unknown_names_without_a_model(
    sarag: Sarag, graph: Path, arguments: tuple[str, str]
) -> None:
    sarag("ask", QUESTION, *arguments).fails(2, "nonsense")


MODEL_OPTIONS = {"model", "concurrency", "temperature", "model_seed", "price_in", "price_out"}
MODEL_COMMANDS = {
    "index",
    "update",
    "sync",
    "ask",
    "serve",
    "mcp",
    "qa",
    "confidence",
    "retrieval",
    "evidence",
    "tune",
    "table",
    "compare",
    "extraction",
    "preferences",
    "questions",
    "export",
    "merge",
    "retype",
    "entities",
}
"""Commands that may call a language model."""


def test_only_commands_that_call_a_model_have_its_options() -> None:
    having = {
        name.rpartition(" ")[2]
        for name, command in reference.commands()
        if MODEL_OPTIONS & {parameter.name for parameter in command.params}
    }
    assert having == MODEL_COMMANDS
