"""Results for readers and programs: the evidence in them, activation in words, and their JSON.

Evidence are the sentences of retrieved documents that answer a question, in the order of its hops.

No model is needed. A question with several hops asks each document for something else: the words
that the sentences of a better document hold are answered there and count no more, the document's
own name says nothing about one of its sentences, and a sentence that names another document leads
to it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from sarag_rdf.base.iris import strip_disambiguation
from sarag_rdf.base.options import MAX_COUNT, budget_option, option
from sarag_rdf.base.ports import CountTokens
from sarag_rdf.base.questions import asked_for
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import (
    VALUE_TYPES,
    Answer,
    Context,
    Document,
    Excerpt,
    RankedDocument,
    Retrieved,
    Section,
)
from sarag_rdf.base.words import Words, words_of
from sarag_rdf.retrieval.context import Budget, ContextStrategy
from sarag_rdf.retrieval.view import GraphView

LINK, KIND, OPENING = 0.4, 0.1, 0.1
"""The value of naming another document, of naming what is of the kind that the question asks for,
and of being the first sentence, relative to holding all words that are still asked for."""
MORE = 0.08
"""The least value that a second sentence adds to the first."""
CARRIES = 0.05
"""The least share of the question that a document answers to be in the chain of evidence."""
FIRST = 5
"""The number of best documents that may be in the chain of evidence."""

Span = tuple[int, int]

_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_NUMBER = re.compile(
    r"\b(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|"
    r"thousand|million|billion)\b",
    re.IGNORECASE,
)
_KINDS = {"time": _YEAR, "number": _NUMBER}
"""What a question asks for -> how a sentence names it."""


class RetrievedEvidence:
    """The evidence in what a question retrieved; the sentences are read once."""

    excerpts: tuple[Excerpt, ...]
    """One sentence of each document, by rank, or two where the second adds to the first.

    Of the words of the question, weighted by ``log(1 + N / df)`` where df of the N sentences of all
    documents contain one, those count that are not in the document's own name and not in the
    evidence of a better document. The value of sentences is their share of these words, plus `LINK`
    if they name another document, which the question does not, `KIND` if they name a thing, a year
    or a number as the question asks for, and `OPENING` if the first one of the document is among
    them. The sentence of the highest value is chosen, of equal ones the first, and the one that
    adds most to it, if that is at least `MORE`. Inflected forms are one word (Snowball's stemmer of
    the document's language), and so are "birth" and "born"; stop words do not count. An empty
    document has no spans.
    """

    def __init__(self, retrieved: Retrieved) -> None:
        self._question = retrieved.query.text
        self._documents = [ranked.document for ranked in retrieved.documents]
        entities = {entity.iri: entity for entity in retrieved.entities}
        self._things = [e.name for e in retrieved.entities if e.type not in VALUE_TYPES]
        self._spans = [sentence_spans(each.text, headings=False) for each in self._documents]
        self._sentences = [
            [words_of(document.text[slice(*span)], document.language) for span in spans]
            for document, spans in zip(self._documents, self._spans, strict=True)
        ]
        self._names = []
        for ranked in retrieved.documents:
            entity = entities.get(ranked.entity)
            name = strip_disambiguation(ranked.document.title)
            if not name and entity is not None and entity.type not in VALUE_TYPES:
                name = entity.name
            self._names.append(words_of(name, ranked.document.language))
        languages = {document.language for document in self._documents}
        self._asked = {language: words_of(self._question, language) for language in languages}
        every = frozenset[str]().union(*self._asked.values())
        counts = Counter(
            word for several in self._sentences for words in several for word in words & every
        )
        total = sum(map(len, self._sentences))
        self._weights = {word: math.log(1 + total / count) for word, count in counts.items()}
        self._answered: set[str] = set()
        self.excerpts = tuple(map(self._excerpt, range(len(self._documents))))

    def _weight(self, words: Iterable[str]) -> float:
        return sum(self._weights.get(word, 0.0) for word in sorted(words))

    def _excerpt(self, place: int) -> Excerpt:
        """The evidence of the document at this place; the words that it holds are answered."""
        document, own = self._documents[place], self._names[place]
        sentences, question = self._sentences[place], self._asked[document.language]
        asked = question - own
        left, most = asked - self._answered, self._weight(asked) or 1.0
        every = frozenset[str]().union(*sentences)
        names = [
            name
            for other, name in enumerate(self._names)
            if other != place and name and name <= every and not (name <= question or name <= own)
        ]
        answers = [words & left for words in sentences]
        bonus = [LINK * any(name <= words for name in names) for words in sentences]
        texts = [document.text[slice(*span)] for span in self._spans[place]]
        fits = [KIND * is_fit for is_fit in self._fits(document, texts)]

        def value(*chosen: int) -> float:
            words = answers[chosen[0]].union(*(answers[at] for at in chosen[1:]))
            parts = (max(part[at] for at in chosen) for part in (bonus, fits))
            return self._weight(words) / most + sum(parts) + OPENING * (0 in chosen)

        chosen: list[int] = []
        if sentences:
            values = [value(at) for at in range(len(sentences))]
            best = values.index(max(values))
            chosen = [best]

            def adds(at: int) -> bool:
                extra = bonus[at] > bonus[best] or fits[at] > fits[best] or at == 0
                return extra or not answers[at] <= answers[best]

            more = [
                value(best, at) - values[best] if at != best and adds(at) else 0.0
                for at in range(len(sentences))
            ]
            if max(more) >= MORE:
                chosen.append(more.index(max(more)))
        self._answered.update(*(sentences[at] & asked for at in chosen))
        return Excerpt(document, tuple(self._spans[place][at] for at in sorted(chosen)))

    def _fits(self, document: Document, sentences: Sequence[str]) -> list[bool]:
        """Which sentences name what the question asks for, and does not name itself."""
        if kind := _KINDS.get(asked_for(self._question)):
            return [kind.search(sentence) is not None for sentence in sentences]
        known = f"{self._question} {document.title}"
        things = [name for name in self._things if name in document.text and name not in known]
        return [any(name in sentence for name in things) for sentence in sentences]

    @cached_property
    def chain(self) -> tuple[tuple[int, Excerpt], ...]:
        """The evidence that answers the question hop by hop, each with the rank of its document.

        Of the `FIRST` best documents those that answer at least `CARRIES` of the question, by the
        weights of its words, or that their evidence names. First come those that the question
        names, then those that the evidence of the ones before names, then others, each by rank.
        """
        shown = [self._shown(place) for place in range(min(FIRST, len(self._documents)))]
        asked = [self._asked[document.language] for document in self._documents]

        def named_by(place: int, among: Iterable[int]) -> list[int]:
            names = ((at, self._names[at]) for at in among)
            return [at for at, name in names if name and name <= shown[place]]

        places: list[int] = []
        answered: set[str] = set()
        for place, words in enumerate(shown):
            covered = (words | self._names[place]) & asked[place]
            share = self._weight(covered - answered) / (self._weight(asked[place]) or 1.0)
            if words and (not places or share >= CARRIES):
                places.append(place)
                answered |= covered
        for place in places:  # grows
            others = [at for at, words in enumerate(shown) if words and at not in places]
            places += named_by(place, others)
        places.sort()
        order = [at for at in places if self._names[at] and self._names[at] <= asked[at]]
        order = order or places[:1]
        for place in order:  # grows
            order += named_by(place, [at for at in places if at not in order])
        order += [at for at in places if at not in order]
        return tuple((at + 1, self.excerpts[at]) for at in order)

    def sentence_naming(self, document: str, name: str) -> str:
        """The first sentence of a document (its IRI) with most of the words of a name.

        The words of the document's own name do not count. "" if it has none, or was not retrieved.
        """
        for each, spans, sentences in zip(
            self._documents, self._spans, self._sentences, strict=True
        ):
            if each.iri == document:
                wanted = words_of(strip_disambiguation(name), each.language)
                wanted -= words_of(strip_disambiguation(each.title), each.language)
                counts = [len(words & wanted) for words in sentences]
                most = max(counts, default=0)
                return each.text[slice(*spans[counts.index(most)])] if most else ""
        return ""

    def _shown(self, place: int) -> Words:
        excerpt = self.excerpts[place]
        texts = [excerpt.document.text[slice(*span)] for span in excerpt.spans]
        return words_of(" ".join(texts), excerpt.document.language)


@dataclass(frozen=True, kw_only=True)
class Chain(ContextStrategy):
    """The chain of evidence: a few sentences in the order of the hops, for small models.

    Then the evidence of the other documents, by rank, as the budget allows.
    """

    name = "chain"
    budget: int = budget_option(400)
    documents: int = option(FIRST, "Maximum number of documents with evidence.", ge=1, le=MAX_COUNT)

    def build(self, view: GraphView, retrieved: Retrieved, count: CountTokens) -> Context:  # noqa: ARG002
        evidence = RetrievedEvidence(retrieved)
        ranks = [rank for rank, _ in evidence.chain]
        ranks += [rank for rank in range(1, len(evidence.excerpts) + 1) if rank not in ranks]
        budget = Budget(count, self.budget)
        taken = [excerpt for rank in ranks if (excerpt := evidence.excerpts[rank - 1]).spans]
        taken = [e for e in taken[: self.documents] if budget.take(e.titled_text)]
        excerpts = {f"D{number}": excerpt for number, excerpt in enumerate(taken, start=1)}
        return Context((Section("", excerpts),) if excerpts else (), budget.used, "chain")


# --------------------------------------------------------------------- Results in words and as JSON


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
