"""What was retrieved, as plain JSON values: the stable output of ``search --json``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from sarag_rdf.context.highlight import key_sentences
from sarag_rdf.types import Answer, Context, Retrieved, Step


def names_of(retrieved: Retrieved) -> dict[str, str]:
    """Names of the entities and documents that a retrieval touched, texts of relationships."""
    names = {link.relationship: link.text for link in retrieved.subgraph.links}
    names |= {seed.node: seed.name for seed in retrieved.seeds}
    names |= {entity.iri: entity.name for entity in retrieved.entities}
    return {**names, **retrieved.names}


def key_sentences_of(retrieved: Retrieved) -> list[str]:
    """The sentence of each retrieved document that best shows why it was retrieved."""
    names = names_of(retrieved)
    paths = [
        " ".join(
            names.get(iri, "")
            for step in ranked.chain
            for iri in (step.origin, step.target)
            if iri != ranked.document.iri
        )
        for ranked in retrieved.documents
    ]
    texts = [ranked.document.text for ranked in retrieved.documents]
    spans = key_sentences(texts, retrieved.query.text, paths)
    return [text[begin:end] for text, (begin, end) in zip(texts, spans, strict=True)]


def source_name(iri: str) -> str:
    """The key of a source, such as the path of its file, or else its IRI."""
    return unquote(iri.partition("/source/")[2]) or iri


def retrieved_to_dict(retrieved: Retrieved) -> dict[str, Any]:
    """Everything a retrieval gives, explanation included; IRIs as strings, floats unrounded."""
    names = names_of(retrieved)

    def with_names(step: Step) -> dict[str, Any]:
        return {
            **asdict(step),
            "origin_name": names.get(step.origin, ""),
            "target_name": names.get(step.target, ""),
            "text": names.get(step.relationship, ""),
        }

    return {
        "question": retrieved.query.text,
        "retriever": retrieved.retriever,
        "settings": dict(retrieved.settings),
        "calibration": dict(retrieved.calibration),
        "seeds": [asdict(seed) for seed in retrieved.seeds],
        "entities": [
            {
                "iri": e.iri,
                "name": e.name,
                "type": e.type,
                "activation": e.activation,
                "seed": e.is_seed,
                "activated": e.is_activated,
                "hop": e.hop,
            }
            for e in retrieved.entities
        ],
        "documents": [
            {
                "rank": d.rank,
                "iri": d.document.iri,
                "source": d.document.source_iri,
                "title": d.document.title,
                "text": d.document.text,
                "begin": d.document.begin,
                "end": d.document.end,
                "language": d.document.language,
                "score": d.score,
                "similarity": d.similarity,
                "activation": d.activation,
                "entity": d.entity,
                "entity_name": names.get(d.entity, ""),
                "measures": dict(d.measures),
                "parts": dict(d.parts),
                "arrivals": [
                    {**asdict(arrival), "entity_name": names.get(arrival.entity, "")}
                    for arrival in d.arrivals
                ],
                "chain": [with_names(step) for step in d.chain],
            }
            for d in retrieved.documents
        ],
        "relationships": [
            {
                "iri": link.relationship,
                "subject": link.subject,
                "subject_name": names.get(link.subject, ""),
                "object": link.object,
                "object_name": names.get(link.object, ""),
                "text": link.text,
                "similarity": link.similarity,
                "weight": link.weight,
            }
            for link in retrieved.relationships
        ],
        "paths": [
            {
                "topic": path.topic,
                "topic_name": path.topic_name,
                "text": path.text,
                "score": path.score,
                "hops": [
                    {"property": property_, "inverse": is_inverse}
                    for property_, is_inverse in path.hops
                ],
                "sparql": path.sparql,
                "answers": [
                    {"iri": answer.iri, "name": answer.name, "nodes": list(answer.nodes)}
                    for answer in path.answers
                ],
                "is_cut": path.is_cut,
            }
            for path in retrieved.paths
        ],
    }


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """An answer with its citations, cost and evidence."""
    return {
        "outcome": answer.outcome,
        "answer": answer.text,
        "reasoning": answer.reasoning,
        "citations": [asdict(citation) for citation in answer.citations],
        "usage": asdict(answer.usage),
        "evidence": retrieved_to_dict(answer.retrieved),
        "contexts": [context_to_dict(evidence.context) for evidence in answer.evidence],
        "trace": [asdict(stage) for stage in answer.trace],
        "activations": [asdict(activation) for activation in answer.activations],
        "model": answer.model,
    }


def context_to_dict(context: Context) -> dict[str, Any]:
    """What a model was given: sections with excerpts, descriptions, relationships."""
    return {
        "builder": context.builder,
        "tokens": context.tokens,
        "sections": [
            {
                "heading": section.heading,
                "excerpts": [
                    {"label": label, "text": excerpt.text, **asdict(excerpt.citation)}
                    for label, excerpt in section.excerpts.items()
                ],
                "descriptions": list(section.descriptions),
                "relationships": list(section.relationships),
            }
            for section in context.sections
        ],
    }
