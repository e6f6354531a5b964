"""What the answer to a question depends on, beside the system and the question itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sarag_rdf.evaluate.judge import settings_of
from sarag_rdf.ports import LLM
from sarag_rdf.resources import prompt_hash

ANSWERING: Final = (
    "_evidence",
    "answer",
    "answer_brief",
    "closed_book",
    "cot",
    "decompose",
    "generic_cot",
    "route",
    "self_ask",
    "sparql_cot",
    "sparql_grounded",
)
"""Prompts that reasoners use."""


def depends_on(
    llm: LLM,
    *,
    graph: Mapping[str, Any],
    budget: int | None,
    tokenizer: str | None,
    version: str,
) -> dict[str, Any]:
    """Plain JSON values that are part of the key of every kept answer.

    `graph` is what tells one graph from another; the rest of the key is the system, and the
    question with its known answers.
    """
    return {
        "model": llm.model,
        "settings": settings_of(llm),
        "prompts": prompt_hash(*ANSWERING),
        "graph": dict(graph),
        "budget": budget,
        "tokenizer": tokenizer,
        "version": version,
    }
