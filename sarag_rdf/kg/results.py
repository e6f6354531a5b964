"""Results for readers and programs: their JSON, and the chains of activation in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from sarag_rdf.base.iris import strip_disambiguation
from sarag_rdf.base.types import VALUE_TYPES, Answer, Context, Excerpt, RankedDocument, Retrieved
from sarag_rdf.kg.evidence import RetrievedEvidence


def names_of(retrieved: Retrieved) -> dict[str, str]:
    """Names of the entities and documents that a retrieval touched, texts of relationships."""
    names = {link.relationship: link.text for link in retrieved.subgraph.links}
    names |= {seed.node: seed.name for seed in retrieved.seeds}
    names |= {entity.iri: entity.name for entity in retrieved.entities}
    return {**names, **retrieved.names}


def path_in_words(
    ranked: RankedDocument,
    retrieved: Retrieved,
    names: Mapping[str, str],
    evidence: RetrievedEvidence,
) -> str:
    """The path of activation in words, or else what the document has in common with the question.

    A relationship is given as its sentence, which names the entity that it leads to, and so is the
    name in a retrieved document. A value, such as a year, explains nothing: if activation came
    over one, the reason is a retrieved document that names this one, or else its text. `names` are
    those of `names_of`.
    """
    similarity = f"similarity {ranked.similarity:.2f} to the question"
    if not ranked.entity:
        if retrieved.entities:
            return f"{similarity}, no activation"
        return "words in common with the question" if retrieved.retriever == "bm25" else similarity
    entity = next((e for e in retrieved.entities if e.iri == ranked.entity), None)
    if entity is not None and entity.type in VALUE_TYPES:
        title = strip_disambiguation(ranked.document.title)
        for other in (each.document for each in retrieved.documents if title and each != ranked):
            if title in (sentence := evidence.sentence_naming(other.iri, title)):
                return f'document {names.get(other.iri, other.title)} -> "{sentence}"'
        before = [step.origin for step in ranked.chain if step.target == ranked.entity]
        also = f" as in {names[before[-1]]}" if before and before[-1] in names else ""
        return f"{similarity}, and {names.get(ranked.entity, ranked.entity)}{also}"
    start = ranked.chain[0].origin if ranked.chain else ranked.entity
    seed = next((s for s in retrieved.seeds if s.node == start), None)
    name = names.get(start, start)
    if seed is None:
        places = [name]
    elif seed.text == seed.node:
        places = [f"document {name} (similar to the question)"]
    elif seed.text:
        places = [f"{name} (its description is similar to the question)"]
    else:
        places = [f"{name} ({seed.reason})"]
    for step in ranked.chain:
        target = names.get(step.target, step.target)
        if step.kind == "same_as" and target == names.get(step.origin):
            continue  # a linked node of that name
        if step.kind == "related_to":
            places.append(f'"{names.get(step.relationship, step.relationship)}"')
        elif step.target_type == "entity":
            sentence = evidence.sentence_naming(step.origin, target)
            places += [f'"{sentence}"'] if sentence else []
            places.append(target)
        elif step.target != ranked.document.iri:
            if places[-1] == target:  # its topic
                places.pop()
            places.append(f"document {target}")
    return " -> ".join(places)


# ------------------------------------------------------------------------------------- JSON


def retrieved_to_dict(retrieved: Retrieved) -> dict[str, Any]:
    """Everything a retrieval gives, explanation included; IRIs as strings, floats unrounded.

    Each document has its evidence, `sentences` with offsets in the source, and `why`: the chain of
    activation to it in words. `evidence_chain` has the evidence in the order of the hops.
    """
    names, evidence = names_of(retrieved), RetrievedEvidence(retrieved)

    def with_names(value: Any, *ends: str) -> dict[str, Any]:
        named = {f"{end}_name": names.get(getattr(value, end), "") for end in ends}
        return _flat(value) | named

    documents = [
        {
            **_fields(ranked, "rank score similarity activation entity"),
            **_fields(ranked.document, "iri title text begin end language"),
            "source": ranked.document.source_iri,
            "entity_name": names.get(ranked.entity, ""),
            "sentences": _sentences(excerpt),
            "why": path_in_words(ranked, retrieved, names, evidence),
            "measures": dict(ranked.measures),
            "parts": dict(ranked.parts),
            "arrivals": [with_names(arrival, "entity") for arrival in ranked.arrivals],
            "chain": [
                with_names(step, "origin", "target") | {"text": names.get(step.relationship, "")}
                for step in ranked.chain
            ],
        }
        for ranked, excerpt in zip(retrieved.documents, evidence.excerpts, strict=True)
    ]
    relationships = []
    for link in retrieved.relationships:
        relationship = with_names(link, "subject", "object")
        relationships.append({"iri": relationship.pop("relationship"), **relationship})
    return {
        "question": retrieved.query.text,
        "retriever": retrieved.retriever,
        "settings": dict(retrieved.settings),
        "calibration": dict(retrieved.calibration),
        "seeds": [_flat(seed) for seed in retrieved.seeds],
        "entities": [
            _fields(entity, "iri name type activation hop")
            | {"seed": entity.is_seed, "activated": entity.is_activated}
            for entity in retrieved.entities
        ],
        "documents": documents,
        "evidence_chain": [
            {"rank": rank}
            | _fields(excerpt.document, "iri title")
            | {"source": excerpt.document.source_iri, "sentences": _sentences(excerpt)}
            for rank, excerpt in evidence.chain
        ],
        "relationships": relationships,
        "paths": [
            asdict(path)
            | {"hops": [{"property": hop, "inverse": is_inverse} for hop, is_inverse in path.hops]}
            | {"answers": [asdict(end) | {"nodes": [*end.nodes]} for end in path.answers]}
            for path in retrieved.paths
        ],
        "problem": retrieved.problem,
    }


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """An answer with its citations, cost and evidence."""
    return {
        "outcome": answer.outcome,
        "answer": answer.text,
        "confidence": answer.confidence,
        "facts": [asdict(fact) for fact in answer.facts],
        "reasoning": answer.reasoning,
        "citations": [asdict(citation) for citation in answer.citations],
        "usage": asdict(answer.usage),
        "evidence": retrieved_to_dict(answer.retrieved),
        "contexts": [_context(evidence.context) for evidence in answer.evidence],
        "trace": [asdict(stage) for stage in answer.trace],
        "activations": [asdict(activation) for activation in answer.activations],
        "model": answer.model,
    }


def _context(context: Context) -> dict[str, Any]:
    """What a model was given: sections with excerpts, descriptions, relationships."""
    sections = [
        _fields(section, "heading descriptions relationships")
        | {
            "excerpts": [
                {"label": label, "text": excerpt.text, **asdict(excerpt.citation)}
                for label, excerpt in section.excerpts.items()
            ]
        }
        for section in context.sections
    ]
    return {"builder": context.builder, "tokens": context.tokens, "sections": sections}


def _sentences(excerpt: Excerpt) -> list[dict[str, Any]]:
    document = excerpt.document
    return [
        {
            "text": document.text[begin:end],
            "begin": document.begin + begin,
            "end": document.begin + end,
        }
        for begin, end in excerpt.spans
    ]


def _flat(value: Any) -> dict[str, Any]:
    """As `asdict`, which copies what it finds, for a dataclass of texts and numbers."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _fields(value: Any, names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names.split()}
