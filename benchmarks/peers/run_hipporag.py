"""HippoRAG 2 over our graph; no language model is asked.

Our relationships are the file of extractions that it reads. The filter of facts, for which it asks
a language model, keeps all of them. Modules for models that are not used here (vLLM, GritLM and
those of cloud providers) are imported at its start, and replaced by empty ones.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from benchmarks.peers.exchange import DEPTH, Ask, Question, Task, Vectors, run

for unused, names in {
    "vllm": ("SamplingParams", "LLM"), "gritlm": ("GritLM",), "litellm": (),
}.items():  # fmt: skip
    stand_in = ModuleType(unused)
    for name in names:
        setattr(stand_in, name, type(name, (), {}))
    sys.modules[unused] = stand_in
os.environ["OPENAI_API_KEY"] = "unused"

from hipporag import HippoRAG  # noqa: E402
from hipporag.utils.config_utils import BaseConfig  # noqa: E402

MODEL = "none"
"""The name of the language model, which is part of the name of the file of extractions."""


def build(task: Task) -> Ask:
    class Embedding:
        def batch_encode(self, texts: str | list[str], **_: Any) -> Vectors:
            return task.embed([texts] if isinstance(texts, str) else list(texts))

    config = BaseConfig(
        save_dir=str(task.folder),
        llm_name=MODEL,
        embedding_model_name="text-embedding",
        openie_mode="online",
        retrieval_top_k=DEPTH,
    )
    write_extractions(task)
    rag = HippoRAG(global_config=config)
    rag.embedding_model = Embedding()
    for store in (
        rag.chunk_embedding_store, rag.entity_embedding_store, rag.fact_embedding_store
    ):  # fmt: skip
        store.embedding_model = rag.embedding_model
    rag.rerank_filter = keep_all
    rag.index([passage.full for passage in task.passages])
    numbers = {passage.full: passage.number for passage in task.passages}

    def ask(question: Question) -> Sequence[int]:
        found = rag.retrieve([question.text], num_to_retrieve=DEPTH)
        return [numbers[text] for text in found[0].docs]

    return ask


def keep_all(
    _: str, facts: list[Any], indices: list[int], len_after_rerank: int
) -> tuple[list[int], list[Any], dict[str, Any]]:
    return indices[:len_after_rerank], facts[:len_after_rerank], {}


def write_extractions(task: Task) -> None:
    names, triples = defaultdict[int, list[str]](list), defaultdict[int, list[list[str]]](list)
    for entity in task.entities:
        for number in entity.passages:
            names[number].append(entity.name)
    for each in task.relationships:
        triples[each.passage].append([each.subject, each.phrase, each.object])
    docs = [
        {
            "idx": str(passage.number),
            "passage": passage.full,
            "extracted_entities": names[passage.number],
            "extracted_triples": triples[passage.number],
        }
        for passage in task.passages
    ]
    path = task.folder / f"openie_results_ner_{MODEL}.json"
    path.write_text(json.dumps({"docs": docs}), "utf-8")


if __name__ == "__main__":
    run(build, "hipporag")
