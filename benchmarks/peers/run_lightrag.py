"""LightRAG over our graph, in its default mode "mix"; no language model is asked.

`ainsert_custom_kg` keeps one passage for an entity or a relationship, so the others are added to
its graph storage afterwards. Low-level keywords are the names of our graph in the question, and
the high-level keyword is the question; a language model would choose both.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from lightrag import LightRAG, QueryParam
from lightrag.constants import GRAPH_FIELD_SEP
from lightrag.utils import EmbeddingFunc, Tokenizer, compute_mdhash_id, sanitize_text_for_encoding

from benchmarks.peers.exchange import WIDTH, Ask, Question, Task, Vectors, run
from benchmarks.peers.words import Words

Ends = tuple[str, str]


def custom_graph(task: Task) -> dict[str, Any]:
    """Passages, entities and relationships, one for each two entities."""
    described = defaultdict[str, list[str]](list)
    between = defaultdict[Ends, list[tuple[str, str, int]]](list)
    for each in task.relationships:
        for name in (each.subject, each.object):
            if each.text not in described[name]:
                described[name].append(each.text)
        ends = min(each.subject, each.object), max(each.subject, each.object)
        between[ends].append((each.phrase, each.text, each.passage))
    return {
        "chunks": [
            {"content": passage.full, "source_id": str(passage.number), "file_path": "corpus"}
            for passage in task.passages
        ],
        "entities": [
            {
                "entity_name": entity.name,
                "entity_type": entity.kind,
                "description": "\n".join(described[entity.name]) or entity.name,
                "source_id": str(entity.passages[0]),
            }
            for entity in task.entities
        ],
        "relationships": [
            {
                "src_id": ends[0],
                "tgt_id": ends[1],
                "keywords": ", ".join(dict.fromkeys(phrase for phrase, _, _ in rows)),
                "description": "\n".join(dict.fromkeys(text for _, text, _ in rows)),
                "source_id": str(rows[0][2]),
            }
            for ends, rows in between.items()
            if ends[0] != ends[1]
        ],
    }


async def add_sources(rag: LightRAG, task: Task) -> None:
    """Give each entity and relationship all of its passages."""
    chunks = [
        compute_mdhash_id(sanitize_text_for_encoding(passage.full), prefix="chunk-")
        for passage in task.passages
    ]
    graph = rag.chunk_entity_relation_graph
    for entity in task.entities:
        node = await graph.get_node(entity.name)
        if node is not None:
            sources = GRAPH_FIELD_SEP.join(chunks[number] for number in entity.passages)
            await graph.upsert_node(entity.name, {**node, "source_id": sources})
    places = defaultdict[Ends, list[int]](list)
    for each in task.relationships:
        places[min(each.subject, each.object), max(each.subject, each.object)].append(each.passage)
    for (first, second), numbers in places.items():
        edge = await graph.get_edge(first, second)
        if edge is not None:
            sources = GRAPH_FIELD_SEP.join(chunks[number] for number in dict.fromkeys(numbers))
            await graph.upsert_edge(first, second, {**edge, "source_id": sources})


def build(task: Task) -> Ask:
    async def embed(texts: list[str]) -> Vectors:
        return task.embed(texts)

    async def no_model(*_: Any, **__: Any) -> str:
        raise RuntimeError("LightRAG asked for a language model")

    async def index() -> LightRAG:
        rag = LightRAG(
            working_dir=str(task.folder),
            embedding_func=EmbeddingFunc(embedding_dim=WIDTH, func=embed),
            llm_model_func=no_model,
            tokenizer=Tokenizer("words", Words()),
            enable_llm_cache=False,
        )
        await rag.initialize_storages()
        await rag.ainsert_custom_kg(custom_graph(task))
        await add_sources(rag, task)
        return rag

    loop = asyncio.new_event_loop()
    rag = loop.run_until_complete(index())
    numbers = {sanitize_text_for_encoding(p.full): p.number for p in task.passages}

    def ask(question: Question) -> Sequence[int]:
        keywords = list(question.names) or [question.text]
        param = QueryParam(
            mode="mix", ll_keywords=keywords, hl_keywords=[question.text], enable_rerank=False
        )
        found = loop.run_until_complete(rag.aquery_data(question.text, param))
        chunks = found.get("data", {}).get("chunks", [])
        return [numbers[chunk["content"]] for chunk in chunks]

    return ask


if __name__ == "__main__":
    run(build, "lightrag-hku")
