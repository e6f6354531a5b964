"""fast-graphrag over our graph; no language model is asked.

Its extraction service is one that returns our graph of a passage, and the names of our graph in a
question. Descriptions that are too long for it are cut instead of summarized, and no relationships
are merged, both of which it would ask a language model for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fast_graphrag import GraphRAG, QueryParam
from fast_graphrag._llm import BaseEmbeddingService, BaseLLMService
from fast_graphrag._models import TEditRelationList, TEntityDescription
from fast_graphrag._policies._ranking import RankingPolicy_TopK
from fast_graphrag._services import DefaultInformationExtractionService
from fast_graphrag._types import TEntity, TGraph, TRelation

from benchmarks.peers.exchange import DEPTH, WIDTH, Ask, Question, Task, Vectors, run

DESCRIPTION = 512
"""The greatest length of a description, in characters."""


def build(task: Task) -> Ask:
    asked: list[str] = []
    graphs = graphs_of(task)

    @dataclass
    class Model(BaseLLMService):  # type: ignore[misc]
        async def send_message(self, prompt: str, response_model: Any = None, **_: Any) -> Any:
            if response_model is TEntityDescription:
                return TEntityDescription(description=prompt[-DESCRIPTION:]), []
            if response_model is TEditRelationList:
                return TEditRelationList(grouped_facts=[]), []
            raise RuntimeError(f"fast-graphrag asked a language model for {response_model}")

    @dataclass
    class Embedding(BaseEmbeddingService):  # type: ignore[misc]
        embedding_dim: int = WIDTH

        async def encode(self, texts: list[str], model: str | None = None) -> Vectors:
            return task.embed(texts)

    class Extraction(DefaultInformationExtractionService):  # type: ignore[misc]
        async def extract_entities_from_query(self, **_: Any) -> Mapping[str, list[str]]:
            return {"named": [name.upper() for name in asked], "generic": []}

        async def _extract_from_chunk(self, _llm: Any, chunk: Any, *_: Any) -> Any:
            graph = graphs[task.numbers[chunk.content.strip()]]
            for relationship in graph.relationships:
                relationship.chunks = [chunk.id]
            return graph

    config = GraphRAG.Config(
        llm_service=Model(model="none"),
        embedding_service=Embedding(),
        information_extraction_service_cls=Extraction,
        chunk_ranking_policy=RankingPolicy_TopK(RankingPolicy_TopK.Config(top_k=DEPTH)),
    )
    rag = GraphRAG(
        working_dir=str(task.folder), domain="", example_queries="", entity_types=[], config=config
    )
    rag.insert([passage.full for passage in task.passages], show_progress=False)

    def ask(question: Question) -> Sequence[int]:
        asked[:] = question.names
        found = rag.query(question.text, QueryParam(only_context=True))
        return [task.numbers[chunk.content.strip()] for chunk, _ in found.context.chunks]

    return ask


def graphs_of(task: Task) -> dict[int, Any]:
    """The entities and relationships of each passage; names in capitals, as in its own graphs."""
    told = defaultdict[tuple[int, str], list[str]](list)
    graphs = {passage.number: TGraph([], []) for passage in task.passages}
    for each in task.relationships:
        subject, object_ = each.subject.upper(), each.object.upper()
        graphs[each.passage].relationships.append(TRelation(subject, object_, each.text))
        told[each.passage, subject].append(each.text)
        told[each.passage, object_].append(each.text)
    for entity in task.entities:
        for number in entity.passages:
            texts = dict.fromkeys(told[number, entity.name.upper()])
            graphs[number].entities.append(
                TEntity(entity.name.upper(), entity.kind.upper(), " ".join(texts)[:DESCRIPTION])
            )
    return graphs


if __name__ == "__main__":
    run(build, "fast-graphrag")
