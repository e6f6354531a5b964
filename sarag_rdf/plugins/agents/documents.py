"""What was retrieved as the metadata of documents, the same for LangChain and LlamaIndex."""

from __future__ import annotations

from typing import Any

from sarag_rdf.base.types import RankedDocument, Retrieved
from sarag_rdf.kg.key_sentences import key_sentences_of
from sarag_rdf.kg.report import names_of, path_in_words


def metadata_of(retrieved: Retrieved) -> list[tuple[RankedDocument, dict[str, Any]]]:
    """The retrieved documents, each with its metadata: plain values that JSON can hold.

    ``iri`` and ``source`` are IRIs, ``begin`` and ``end`` offsets of the text in the source.
    ``sentence`` best shows why the document was found, ``why`` is the chain in words, and ``chain``
    has its steps.
    """
    names = names_of(retrieved)
    sentences = key_sentences_of(retrieved, names)
    return [
        (ranked, _metadata(ranked, retrieved, names, sentence))
        for ranked, sentence in zip(retrieved.documents, sentences, strict=True)
    ]


def _metadata(
    ranked: RankedDocument, retrieved: Retrieved, names: dict[str, str], sentence: str
) -> dict[str, Any]:
    document = ranked.document
    return {
        "iri": document.iri,
        "source": document.source_iri,
        "title": document.title,
        "begin": document.begin,
        "end": document.end,
        "language": document.language,
        "rank": ranked.rank,
        "score": float(ranked.score),
        "similarity": float(ranked.similarity),
        "activation": float(ranked.activation),
        "retriever": retrieved.retriever,
        "sentence": sentence,
        "why": path_in_words(ranked, retrieved, names),
        "chain": [
            {
                "origin": step.origin,
                "origin_name": names.get(step.origin, ""),
                "target": step.target,
                "target_name": names.get(step.target, ""),
                "kind": step.kind,
                "relationship": step.relationship,
                "text": names.get(step.relationship, ""),
                "amount": float(step.amount),
            }
            for step in ranked.chain
        ],
    }
