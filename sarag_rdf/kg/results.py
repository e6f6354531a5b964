"""Results for readers and programs: their JSON, chains in words, and the sentence to show of each.

No model is needed: sentences are compared with the question by their words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any
from urllib.parse import unquote

from Stemmer import Stemmer

from sarag_rdf.base.sentences import STOP_WORDS, sentence_spans
from sarag_rdf.base.types import Answer, Context, Document, RankedDocument, Retrieved
from sarag_rdf.extraction.names import strip_disambiguation

_WORD = re.compile(r"\w+")


def names_of(retrieved: Retrieved) -> dict[str, str]:
    """Names of the entities and documents that a retrieval touched, texts of relationships."""
    names = {link.relationship: link.text for link in retrieved.subgraph.links}
    names |= {seed.node: seed.name for seed in retrieved.seeds}
    names |= {entity.iri: entity.name for entity in retrieved.entities}
    return {**names, **retrieved.names}


def source_name(iri: str) -> str:
    """The key of a source, such as the path of its file, or else its IRI."""
    return unquote(iri.partition("/source/")[2]) or iri


def path_in_words(ranked: RankedDocument, retrieved: Retrieved, names: Mapping[str, str]) -> str:
    """The path of activation in words, or else what the document has in common with the question.

    A relationship is given as its sentence, which names the entity that it leads to. `names` are
    those of `names_of`.
    """
    if not ranked.entity:
        similarity = f"similarity {ranked.similarity:.2f} to the question"
        if retrieved.entities:
            return f"{similarity}, no activation"
        return "words in common with the question" if retrieved.retriever == "bm25" else similarity
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


# ------------------------------------------------------------------------------------- JSON


def retrieved_to_dict(retrieved: Retrieved) -> dict[str, Any]:
    """Everything a retrieval gives, explanation included; IRIs as strings, floats unrounded.

    Each document has the `sentence` that best shows why it was retrieved, and `why`: the chain to
    it in words.
    """
    names = names_of(retrieved)

    def with_names(value: Any, *ends: str) -> dict[str, Any]:
        named = {f"{end}_name": names.get(getattr(value, end), "") for end in ends}
        return asdict(value) | named

    documents = [
        {
            **_fields(ranked, "rank score similarity activation entity"),
            **_fields(ranked.document, "iri title text begin end language"),
            "source": ranked.document.source_iri,
            "entity_name": names.get(ranked.entity, ""),
            "sentence": sentence,
            "why": path_in_words(ranked, retrieved, names),
            "measures": dict(ranked.measures),
            "parts": dict(ranked.parts),
            "arrivals": [with_names(arrival, "entity") for arrival in ranked.arrivals],
            "chain": [
                with_names(step, "origin", "target") | {"text": names.get(step.relationship, "")}
                for step in ranked.chain
            ],
        }
        for ranked, sentence in zip(
            retrieved.documents, key_sentences_of(retrieved, names), strict=True
        )
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
        "seeds": [asdict(seed) for seed in retrieved.seeds],
        "entities": [
            _fields(entity, "iri name type activation hop")
            | {"seed": entity.is_seed, "activated": entity.is_activated}
            for entity in retrieved.entities
        ],
        "documents": documents,
        "relationships": relationships,
        "paths": [
            asdict(path)
            | {"hops": [{"property": hop, "inverse": is_inverse} for hop, is_inverse in path.hops]}
            | {"answers": [asdict(end) | {"nodes": [*end.nodes]} for end in path.answers]}
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


def _fields(value: Any, names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names.split()}


# ---------------------------------------------------------------------------- Key sentences


def key_sentences_of(retrieved: Retrieved, names: Mapping[str, str]) -> list[str]:
    """The key sentence of each retrieved document, in order of rank; "" of an empty document.

    `names` are the names of nodes by IRI, as `names_of` gives them.
    """
    onward: dict[str, list[str]] = {ranked.document.iri: [] for ranked in retrieved.documents}
    for ranked in retrieved.documents:
        for step in ranked.chain:
            if step.origin in onward and step.origin_type == "document":
                onward[step.origin].append(names.get(step.target, ""))
    documents = [ranked.document for ranked in retrieved.documents]
    leading_on = [" ".join(onward[document.iri]) for document in documents]
    spans = key_sentences(documents, retrieved.query.text, leading_on)
    return [
        document.text[begin:end] for document, (begin, end) in zip(documents, spans, strict=True)
    ]


def key_sentences(
    documents: Sequence[Document], question: str, onward: Sequence[str]
) -> list[tuple[int, int]]:
    """(begin, end) in code points of one sentence of each text, or (0, 0) of an empty one.

    A sentence scores the sum of ``log(1 + N / df)`` over the words that it shares with the question
    or with the names in `onward` that led from its document to others; df of the N sentences of all
    texts contain the word. The words of a document's own title count for none of its sentences,
    since all of them are about it. Inflected forms are one word (Snowball's stemmer of the
    document's language), stop words do not count, and the first of equal sentences wins.
    """
    sentences = [
        [(span, _words(d.text[slice(*span)], d.language)) for span in sentence_spans(d.text)]
        for d in documents
    ]
    frequency = Counter(word for of_text in sentences for _, words in of_text for word in words)
    total = sum(map(len, sentences))

    def score(words: set[str]) -> float:
        return sum(math.log(1 + total / frequency[word]) for word in sorted(words))

    chosen = []
    for document, of_text, names in zip(documents, sentences, onward, strict=True):
        relevant = _words(f"{question} {names}", document.language)
        relevant -= _words(strip_disambiguation(document.title), document.language)
        best = max(of_text, key=lambda item: score(item[1] & relevant), default=((0, 0), set()))
        chosen.append(best[0])
    return chosen


def _words(text: str, language: str) -> set[str]:
    """The stems of a text's words without stop words; the words, where no stemmer is known."""
    words = [word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS]
    stemmer = _stemmer(language.partition("-")[0])
    return set(words if stemmer is None else stemmer.stemWords(words))


@cache
def _stemmer(language: str) -> Any:
    """The stemmer of a language, or None."""
    try:
        return Stemmer(language)
    except KeyError:
        return None
