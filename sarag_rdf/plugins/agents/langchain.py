"""A LangChain retriever: ``pip install 'sarag-rdf[langchain]'``.

::

    from sarag_rdf.plugins.agents.langchain import SaragRetriever
    SaragRetriever(kg=kg, k=5).invoke("Which river flows through Warsaw?")
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from sarag_rdf.base.errors import MissingDependencyError

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "LangChain is not installed: pip install 'sarag-rdf[langchain]'"
    ) from error

from sarag_rdf.base.options import Options
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph


class SaragRetriever(BaseRetriever):
    """Retrieves documents from a knowledge graph, by spreading activation or another retriever.

    `metadata` of a document is what ``sarag search --json`` says about it: its IRI and that of its
    source, offsets, score, and the chain that led to it. The asynchronous methods search in a
    thread.
    Errors are those of `KnowledgeGraph.search`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    kg: KnowledgeGraph
    """An open graph; closing it is up to the caller."""
    retriever: str | Options = "sarag"
    """A name, ``name:key=value``, or an options object; see `KnowledgeGraph.search`."""
    k: int = Field(default=10, ge=1)
    """Maximum number of documents; ``invoke(question, k=3)`` changes it for one question."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further options of the retriever."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        **options: Any,
    ) -> list[Document]:
        given = {**self.options, **options}
        limit = given.pop("k", self.k)
        retrieved = self.kg.search(query, retriever=self.retriever, limit=limit, **given)
        return [
            Document(
                id=each["iri"],
                page_content=each.pop("text"),
                metadata={"retriever": retrieved.retriever, **each},
            )
            for each in retrieved_to_dict(retrieved)["documents"]
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        search = partial(self._get_relevant_documents, run_manager=run_manager.get_sync())
        return await asyncio.to_thread(search, query, **options)
