"""nano-graphrag's local search over our graph; no language model is asked.

Its extraction is replaced by a function that stores our graph, as its option provides for. Its
communities are left out: reports on them take a language model, and do not change which passages it
lists. Passages are ranked as in the context that it would give to a language model.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from benchmarks.peers.exchange import WIDTH, Ask, Question, Task, Vectors, run
from benchmarks.peers.words import Words

WORDS = Words()
tiktoken: Any = import_module("tiktoken")
tiktoken.encoding_for_model = lambda _: WORDS  # before it is used

from nano_graphrag import GraphRAG, QueryParam  # noqa: E402
from nano_graphrag._storage import NetworkXStorage  # noqa: E402
from nano_graphrag._utils import EmbeddingFunc, compute_mdhash_id  # noqa: E402

SEPARATOR = "<SEP>"
"""Between the passages of an entity, in its storage."""
ROWS = re.compile(r'^\d+,\t"(.*?)"$(?=\n\d+,\t"|\n```)', re.M | re.S)


class GraphWithoutCommunities(NetworkXStorage):  # type: ignore[misc]
    async def clustering(self, algorithm: str) -> None:
        pass

    async def community_schema(self) -> dict[str, Any]:
        return {}


def build(task: Task) -> Ask:
    async def embed(texts: list[str]) -> Vectors:
        return task.embed(texts)

    async def no_model(*_: Any, **__: Any) -> str:
        raise RuntimeError("nano-graphrag asked for a language model")

    async def store(
        chunks: Mapping[str, Mapping[str, Any]],
        *,
        knwoledge_graph_inst: Any,
        entity_vdb: Any,
        **_: Any,
    ) -> Any:
        keys = {task.numbers[chunk["content"]]: key for key, chunk in chunks.items()}
        await store_graph(task, keys, knwoledge_graph_inst, entity_vdb)
        return knwoledge_graph_inst

    rag = GraphRAG(
        working_dir=str(task.folder),
        embedding_func=EmbeddingFunc(embedding_dim=WIDTH, max_token_size=8192, func=embed),
        best_model_func=no_model,
        cheap_model_func=no_model,
        entity_extraction_func=store,
        graph_storage_cls=GraphWithoutCommunities,
        enable_llm_cache=False,
    )
    rag.insert([passage.full for passage in task.passages])
    shown = {as_shown(passage.full): passage.number for passage in task.passages}

    def ask(question: Question) -> Sequence[int]:
        context = rag.query(question.text, QueryParam(mode="local", only_need_context=True))
        _, _, sources = (context or "").rpartition("-----Sources-----")
        return [shown[text] for text in ROWS.findall(sources)]

    return ask


def as_shown(text: str) -> str:
    """A text as the context has it: without quotation marks at its ends."""
    return text.strip().strip("'").strip('"')


async def store_graph(task: Task, keys: Mapping[int, str], graph: Any, vectors: Any) -> None:
    described = defaultdict[str, list[str]](list)
    between = defaultdict[tuple[str, str], list[Any]](list)
    for each in task.relationships:
        described[each.subject].append(each.text)
        described[each.object].append(each.text)
        between[min(each.subject, each.object), max(each.subject, each.object)].append(each)
    content = {}
    for entity in task.entities:
        description = SEPARATOR.join(sorted(set(described[entity.name]))) or entity.name
        sources = SEPARATOR.join(keys[number] for number in entity.passages)
        node = {"entity_type": entity.kind, "description": description, "source_id": sources}
        await graph.upsert_node(entity.name, node_data=node)
        content[compute_mdhash_id(entity.name, prefix="ent-")] = {
            "content": entity.name + description, "entity_name": entity.name
        }  # fmt: skip
    for (first, second), rows in between.items():
        edge = {
            "weight": len(rows),
            "description": SEPARATOR.join(sorted({row.text for row in rows})),
            "source_id": SEPARATOR.join(dict.fromkeys(keys[row.passage] for row in rows)),
            "order": 1,
        }
        await graph.upsert_edge(first, second, edge_data=edge)
    await vectors.upsert(content)


if __name__ == "__main__":
    run(build, "nano-graphrag")
