"""The context that a model is given: documents by label and relationships (paper 5.5, 5.6)."""

from __future__ import annotations

from sarag_rdf.types import Context, Retrieved


def render_context(
    retrieved: Retrieved, *, max_documents: int = 10, max_relationships: int = 30
) -> Context:
    """Label the best documents D1, D2, ... and list the best relationships, each text once."""
    documents = {
        f"D{rank}": found.document
        for rank, found in enumerate(retrieved.documents[:max_documents], start=1)
    }
    texts = dict.fromkeys(link.text for link in retrieved.relationships if link.text)
    return Context(documents, tuple(texts)[:max_relationships])
