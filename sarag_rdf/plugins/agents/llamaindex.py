"""A LlamaIndex retriever: ``pip install 'sarag-rdf[llamaindex]'``.

::

    from sarag_rdf.plugins.agents.llamaindex import SaragRetriever
    SaragRetriever(kg, k=5).retrieve("Which river flows through Warsaw?")
"""

from __future__ import annotations

import asyncio
from typing import Any

from sarag_rdf.base.errors import MissingDependencyError

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "LlamaIndex is not installed: pip install 'sarag-rdf[llamaindex]'"
    ) from error

from sarag_rdf.base.options import Options
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph

_FOR_MODELS = ("title",)
"""Metadata that language and embedding models read; the rest is for programs."""


class SaragRetriever(BaseRetriever):
    """Retrieves nodes from a knowledge graph, by spreading activation or another retriever.

    The metadata of a node are what ``sarag search --json`` says about its document: its IRI and
    that of its source, offsets, score, and the chain that led to it. The asynchronous methods
    search in a thread.
    Errors are those of `KnowledgeGraph.search`.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        *,
        retriever: str | Options = "sarag",
        k: int = 10,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        """`kg` is an open graph; `k` the maximum number of nodes; see `KnowledgeGraph.search`."""
        super().__init__(callback_manager=callback_manager)
        self._kg, self._retriever, self._k, self._options = kg, retriever, k, options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        retrieved = self._kg.search(
            query_bundle.query_str, retriever=self._retriever, limit=self._k, **self._options
        )
        nodes = []
        for each in retrieved_to_dict(retrieved)["documents"]:
            text = each.pop("text")
            metadata = {"retriever": retrieved.retriever, **each}
            hidden = [name for name in metadata if name not in _FOR_MODELS]
            node = TextNode(
                id_=each["iri"],
                text=text,
                start_char_idx=each["begin"],
                end_char_idx=each["end"],
                metadata=metadata,
                excluded_llm_metadata_keys=hidden,
                excluded_embed_metadata_keys=hidden,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=each["source"])},
            )
            nodes.append(NodeWithScore(node=node, score=float(each["score"])))
        return nodes

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
