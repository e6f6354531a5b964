"""The prompts as models see them. ``SARAG_UPDATE_GOLDEN=1`` rewrites the files beside this one."""

from __future__ import annotations

import os
from pathlib import Path

import jinja2
import pytest

from sarag_rdf.fence import fence_for
from sarag_rdf.index.extract_llm import entities_prompt, relationships_prompt
from sarag_rdf.index.grounding import grounded_mentions
from sarag_rdf.reason.single import answer_prompt
from sarag_rdf.resources import render_prompt
from sarag_rdf.types import Context, Document, Query

HERE = Path(__file__).parent
ULM = Document("urn:1", "urn:s", "Ulm", "Ulm lies on the Danube. Einstein was born there.", 0, 48)
UNTITLED = Document(
    "urn:2", "urn:s", "", "The Danube is {{ 2850 }} km long.\n\nIt is <old>.", 0, 48
)
EXAMPLE_NAMES = ("Zyblorax Quendlefip", "Zybbie", "Vumtown", "Grobblia", "Wuzzle Cup", "GoS")


def rendered() -> dict[str, str]:
    context = Context({"D1": ULM, "D2": UNTITLED}, ("Ulm lies on the Danube.", "E. & co."))
    query = Query("How long is the river at the birthplace of Einstein?")
    return {
        "entities": entities_prompt(ULM),
        "entities_untitled": entities_prompt(UNTITLED),
        "relationships": relationships_prompt(ULM, ["Ulm", "Danube", "Einstein"]),
        "answer": answer_prompt(query, context),
        "answer_without_relationships": answer_prompt(query, Context({"D1": ULM}, ())),
    }


@pytest.mark.parametrize("name", sorted(rendered()))
def test_golden(name: str) -> None:
    path = HERE / f"{name}.txt"
    text = rendered()[name] + "\n"
    if os.environ.get("SARAG_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_golden_file_is_rendered() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == set(rendered())


def test_a_document_is_not_a_template() -> None:
    assert "{{ 2850 }} km" in rendered()["entities_untitled"]


@pytest.mark.parametrize("name", ["entities", "relationships", "answer"])
def test_missing_values_raise(name: str) -> None:
    with pytest.raises(jinja2.UndefinedError):
        render_prompt(name)


def test_the_example_cannot_become_content() -> None:
    prompt = entities_prompt(ULM)
    found = [
        {"name": name, "type": "misc", "aliases": [], "information": name} for name in EXAMPLE_NAMES
    ]
    assert all(name in prompt for name in EXAMPLE_NAMES)
    assert grounded_mentions(found, ULM.titled_text) == ()


def test_fence() -> None:
    assert fence_for("a", "b") == fence_for("a", "b") != fence_for("ab")
    assert len(fence_for()) == 20
    assert fence_for("\ud800")
