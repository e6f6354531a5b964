"""The stable output of ``search --json``, and the chain of a document in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from sarag_rdf.base.types import Answer, Context, RankedDocument, Retrieved, Step


def names_of(retrieved: Retrieved) -> dict[str, str]:
    """Names of the entities and documents that a retrieval touched, texts of relationships."""
    names = {link.relationship: link.text for link in retrieved.subgraph.links}
    names |= {seed.node: seed.name for seed in retrieved.seeds}
    names |= {entity.iri: entity.name for entity in retrieved.entities}
    return {**names, **retrieved.names}


def path_in_words(ranked: RankedDocument, retrieved: Retrieved, names: Mapping[str, str]) -> str:
    """The path of activation in words, or else what the document has in common with the question.

    A relationship is given as its sentence, which names the entity that it leads to. `names` are
    those of `names_of`.
    """
    if not ranked.entity:
        alike = f"similarity {ranked.similarity:.2f} to the question"
        if retrieved.entities:
            return f"{alike}, no activation"
        if retrieved.retriever == "bm25":
            return "words in common with the question"
        return alike
    start = ranked.chain[0].origin if ranked.chain else ranked.entity
    seed = next(s for s in retrieved.seeds if s.node == start)
    name = names.get(seed.node, seed.name)
    if seed.text == seed.node:
        places = [f"document {name} (similar to the question)"]
    elif seed.text:
        places = [f"{name} (its description is similar to the question)"]
    else:
        places = [f"{name} (named in the question)"]
    for step in ranked.chain:
        target = names.get(step.target, step.target)
        if step.kind == "related_to":
            places.append(f'"{names.get(step.relationship, step.relationship)}"')
        elif step.target_type == "entity":
            places.append(target)
        elif step.target != ranked.document.iri:
            places.append(f"document {target}")
    return " -> ".join(places)


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
