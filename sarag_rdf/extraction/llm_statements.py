"""Typed statements by a language model: one call per text, whose replies are bound to the text.

The properties and classes of the schema are enumerations in the JSON schema of the reply, so that
every statement conforms to the ontology. Of a large ontology only the properties nearest to the
sentences and clauses of the text are in the prompt and in the enumeration, and those of its
examples. Arguments are bound to the text (`sarag_rdf.extraction.binding`) and literals are
normalised (`sarag_rdf.extraction.values`), never by the model.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain
from math import ceil
from operator import itemgetter
from typing import Any, Final

import numpy as np

from sarag_rdf.base.ports import Embedder, Matrix
from sarag_rdf.base.prompts import array_of, fence_for, object_of, one_of, render_prompt, string
from sarag_rdf.base.sentences import split_sentences
from sarag_rdf.base.types import Document, Extraction, Relation, Value
from sarag_rdf.extraction.binding import BoundArgument, TextBinder
from sarag_rdf.extraction.examples import Example
from sarag_rdf.extraction.names import WordMatcher
from sarag_rdf.extraction.statements import RangeKind, literal, range_kind, with_statements
from sarag_rdf.extraction.values import ValueSpan
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema, local_name

PROMPT: Final = "statements"
"""The name of the prompt and of the call."""
MAX_STATEMENTS: Final = 60
_LONGEST_DEFINITION: Final = 80
_LONGEST_ARGUMENT: Final = 160
_LITERALS: Final[dict[RangeKind, str]] = {
    "date": "date", "duration": "duration", "number": "number", "string": "text", "url": "URL",
    "coordinates": "coordinates", "unsupported": "value",
}  # fmt: skip
"""Kinds of literals as the prompt names them."""
_FENCE: Final = 8
"""Digits of the fence: short, for prompts that small models read."""
_WORDS: Final = re.compile(r"""\"[^"]*\"|\w(?:[\w'’&/-]|\.(?=\w))*""")
"""Words and quotations."""
_RUN: Final = re.compile(r"\bX(?:\s+X\b)+")
_CLAUSE_END: Final = re.compile(r"[,;.!?]\s+|\s+(?:and|which|who|whose|where|that|with|but)\s+")
_NEAR: Final = 2
"""Examples in a prompt are chosen from this many times as many nearest ones."""
_SAME_PLACE: Final = 2
"""Characters by which a value and an argument at the same place may differ at either end."""


@dataclass(frozen=True, slots=True)
class Request:
    """The prompt and JSON schema of one call, with the IRIs of the labels in the schema."""

    prompt: str
    schema: Mapping[str, Any]
    properties: Mapping[str, str]
    classes: Mapping[str, str]


class StatementModel:
    """Builds the calls for statements of one schema, and reads the replies.

    At most `most_properties` properties, as many classes and `most_examples` examples are in a
    prompt: the nearest by `embedder`. Without one, all properties and classes and the first
    examples are. Safe to use from several threads.
    """

    def __init__(
        self,
        schema: Schema,
        embedder: Embedder | None,
        examples: Sequence[Example] = (),
        *,
        most_properties: int = 25,
        most_examples: int = 4,
    ) -> None:
        self._schema = schema
        self._embedder = embedder
        self._examples = [bound for example in examples if (bound := _bound_example(example))]
        self._most_properties = most_properties
        self._most_examples = most_examples
        self._lock = threading.RLock()
        self._property_labels = _distinct_labels(
            schema.properties.values(),
            {p.iri: schema.label_of(p.domains) for p in schema.properties.values()},
        )
        self._class_labels = _distinct_labels(schema.classes.values(), {})

    def request(self, document: Document, names: Sequence[str] = ()) -> Request:
        """The call for a document; with the names of its mentions their classes are asked for."""
        text = document.titled_text
        sentences = split_sentences(text)
        examples = self._nearest_examples(text)
        properties = self._nearest_properties([*sentences, *_clauses(text)], examples)
        classes = self._nearest_classes([*names, *sentences]) if names else ()
        names = names if classes else ()
        prompt = self._prompt(text, names, classes, properties, examples)
        property_of = {self._property_labels[iri]: iri for iri in properties}
        class_of = {self._class_labels[iri]: iri for iri in classes}
        statement = object_of(
            subject=string(_LONGEST_ARGUMENT),
            property=one_of(property_of),
            object=string(_LONGEST_ARGUMENT),
        )
        parts = {"statements": array_of(statement, max_statements(text), min_items=None)}
        if names:
            class_item = object_of(name=one_of(names), **{"class": one_of(class_of)})
            parts = {"classes": array_of(class_item, len(names), min_items=None), **parts}
        return Request(prompt, object_of(**parts), property_of, class_of)

    def _prompt(
        self,
        text: str,
        names: Sequence[str],
        classes: Iterable[str],
        properties: Iterable[str],
        examples: Iterable[Example],
    ) -> str:
        answers = [{"text": e.text, "answer": _answer(e, self._property_labels)} for e in examples]
        return render_prompt(
            PROMPT,
            document=text,
            names=names,
            classes=[self._class_labels[class_] for class_ in classes],
            properties=[self._line(iri) for iri in properties],
            examples=answers,
            fence=fence_for(text, *names, length=_FENCE),
        )

    def count_words(self, document: Document) -> int:
        """About the number of words of the prompt for a document, without any embedding."""
        return self._words_around + len(document.titled_text.split())

    @cached_property
    def _words_around(self) -> int:
        """The words of a prompt with the first properties and examples, and no text."""
        properties = list(self._schema.properties)
        if self._embedder is not None:
            properties = properties[: self._most_properties]
        examples = self._examples[: self._most_examples]
        return len(self._prompt("", (), (), properties, examples).split())

    def extraction(
        self,
        document: Document,
        extraction: Extraction,
        request: Request,
        reply: Mapping[str, Any],
        discarded: Counter[str] | None = None,
    ) -> Extraction:
        """The extraction with the statements and classes of the reply (`with_statements`).

        Statements that the text or the ontology does not admit are counted by reason.
        """
        stated: dict[str, list[str]] = {}
        for item in reply.get("classes", ()):
            if item["class"] in request.classes:
                stated.setdefault(item["name"], []).append(request.classes[item["class"]])
        counts = Counter[str]() if discarded is None else discarded
        relations = self._relations(document, request, reply, counts)
        return with_statements(extraction, relations, self._schema, stated=stated, discarded=counts)

    def _relations(
        self, document: Document, request: Request, reply: Mapping[str, Any], counts: Counter[str]
    ) -> Iterator[Relation]:
        """The statements of a reply whose arguments the text has, in the reply's order."""
        binder = TextBinder(document.titled_text)
        sentences = split_sentences(document.text) or split_sentences(document.title)
        matchers = [(sentence, WordMatcher(sentence)) for sentence in sentences]
        for item in reply["statements"]:
            iri = request.properties.get(item["property"])
            if iri is None:
                counts["statements with a property outside the ontology"] += 1
                continue
            property_ = self._schema.properties[iri]
            subject, object_ = binder.bind(item["subject"]), binder.bind(item["object"])
            if subject is None or object_ is None:
                counts["statements with an argument that the text does not contain"] += 1
                continue
            fits, value = literal_of(property_, object_, binder)
            if not fits and iri not in self._value_properties:
                counts["statements that violate the domain or range of the property"] += 1
                continue
            text = _evidence(matchers, subject, object_)
            name = value.text if value else object_.name
            yield Relation(subject.name, property_.label, name, text, predicate=iri, value=value)

    def _line(self, iri: str) -> str:
        """A property as in the prompt: label, domain, range, definition."""
        property_ = self._schema.properties[iri]
        domain = self._schema.label_of(property_.domains)
        range_ = _LITERALS.get(range_kind(property_)) or self._schema.label_of(property_.ranges)
        line = f"{self._property_labels[iri]}: {domain or 'anything'} -> {range_ or 'anything'}"
        definition = " ".join(property_.definition.split())
        if len(definition) > _LONGEST_DEFINITION:
            definition = definition[:_LONGEST_DEFINITION].rpartition(" ")[0] + " ..."
        return f"{line} ({definition})" if definition else line

    def _nearest_examples(self, text: str) -> list[Example]:
        """The nearest examples, of which the last is the nearest.

        Those of which a clause is near to a clause of the text are near, and those that are near
        as a whole. Among near ones, those that show a further property are preferred to those that
        do not.
        """
        if not self._examples or not self._most_examples:
            return []
        if self._embedder is None:
            return self._examples[: self._most_examples]
        order = self._ranked_examples(text)[: self._most_examples * _NEAR]
        shown: set[str] = set()
        new: list[int] = []
        others: list[int] = []
        for position in order:
            properties = {statement.property for statement in self._examples[position].statements}
            (others if properties <= shown else new).append(position)
            shown |= properties
        chosen = [*new, *others][: self._most_examples]
        return [self._examples[position] for position in reversed(order) if position in chosen]

    def _ranked_examples(self, text: str) -> list[int]:
        """Places of examples: the nearest to the text and to each of its clauses, the next, ...

        Names and numbers are masked in clauses, so that those are near that say the same of others.
        """
        with self._lock:
            first, vectors = self._clause_vectors
            whole = self._example_vectors @ self._embed([text])[0]
            parts = np.maximum.reduceat(self._embed(_clauses(text)) @ vectors.T, first, axis=1)
        similarity = np.vstack([whole + parts.mean(axis=0), parts])
        ranks = np.argsort(np.argsort(-similarity, axis=1, kind="stable"), axis=1, kind="stable")
        order = np.lexsort((-similarity[0], ranks.min(axis=0)))
        return [int(position) for position in order]

    def _nearest_properties(self, texts: Sequence[str], examples: Sequence[Example]) -> list[str]:
        """Those of the examples, and the nearest to a text, in the order of the schema."""
        iris = list(self._schema.properties)
        if self._embedder is None or len(iris) <= self._most_properties:
            return iris
        first = dict.fromkeys(s.property for example in examples for s in example.statements)
        order = self._ranked(texts, self._property_vectors)
        chosen = dict.fromkeys([*first, *(iris[position] for position in order)])
        limited = set(list(chosen)[: self._most_properties])
        return [iri for iri in iris if iri in limited]

    def _nearest_classes(self, texts: Sequence[str]) -> list[str]:
        iris = list(self._schema.classes)
        if self._embedder is None or len(iris) <= self._most_properties:
            return iris
        chosen = {
            iris[position]
            for position in self._ranked(texts, self._class_vectors)[: self._most_properties]
        }
        return [iri for iri in iris if iri in chosen]

    def _ranked(self, texts: Sequence[str], vectors: Matrix) -> list[int]:
        """Rows by their greatest cosine with one of the texts."""
        with self._lock:
            similarity = (vectors @ self._embed(list(texts)).T).max(axis=1)
        return [int(position) for position in np.argsort(-similarity, kind="stable")]

    def _embed(self, texts: Sequence[str]) -> Matrix:
        assert self._embedder is not None  # noqa: S101 - callers select only with an embedder
        return self._embedder.embed(texts)

    @cached_property
    def _value_properties(self) -> frozenset[str]:
        """Properties between entities of which examples have a value as object, as a season 2014.

        Their values are names.
        """
        iris = set()
        for example in self._examples:
            binder = TextBinder(example.text)
            for statement in example.statements:
                property_ = self._schema.properties[statement.property]
                object_ = binder.bind(statement.object)
                if object_ is None or range_kind(property_) != "entity":
                    continue
                if not literal_of(property_, object_, binder)[0]:
                    iris.add(property_.iri)
        return frozenset(iris)

    @cached_property
    def _example_vectors(self) -> Matrix:
        return self._embed([example.text for example in self._examples])

    @cached_property
    def _clause_vectors(self) -> tuple[list[int], Matrix]:
        """Vectors of the clauses of the examples, and the place of the first of each example."""
        clauses = [_clauses(example.text) for example in self._examples]
        first = [0, *accumulate(map(len, clauses))][:-1]
        return first, self._embed([*chain.from_iterable(clauses)])

    @cached_property
    def _property_vectors(self) -> Matrix:
        return self._embed([_description(p) for p in self._schema.properties.values()])

    @cached_property
    def _class_vectors(self) -> Matrix:
        return self._embed([c.label for c in self._schema.classes.values()])


def max_statements(text: str) -> int:
    """The maximum number of statements in a reply: 4, and one for 25 characters of the text."""
    return min(4 + ceil(len(text) / 25), MAX_STATEMENTS)


def literal_of(
    property_: OntologyProperty, object_: BoundArgument, binder: TextBinder
) -> tuple[bool, Value | None]:
    """Whether an object fits the range of a property, and its literal; None for an entity.

    The value in the text at the place of the object is used whole: "546" of "546 metres" has its
    unit.
    """
    kind = range_kind(property_)
    spans = [s for s in binder.values if s.begin < object_.end and object_.begin < s.end]
    whole = next((s for s in spans if _is_at(s, object_)), None)
    if kind == "entity":
        return whole is None or whole.kind == "identifier", None
    if kind in ("string", "any"):
        value = literal(property_, object_.name, whole.value if whole else None)
        return True, value
    read = (literal(property_, s.value.text, s.value) for s in spans)
    value = next(filter(None, read), None) or literal(property_, object_.name, None)
    return value is not None, value


def _is_at(span: ValueSpan, argument: BoundArgument) -> bool:
    return (
        abs(span.begin - argument.begin) <= _SAME_PLACE
        and abs(span.end - argument.end) <= _SAME_PLACE
    )


def _evidence(
    sentences: Sequence[tuple[str, WordMatcher]], subject: BoundArgument, object_: BoundArgument
) -> str:
    """The first sentence with both arguments, else with the object, else the subject."""

    def rank(pair: tuple[str, WordMatcher]) -> int:
        return 2 * pair[1].contains(object_.name) + pair[1].contains(subject.name)

    return max(sentences, key=rank, default=("", None))[0]


def _bound_example(example: Example) -> Example | None:
    """The example with arguments as its text has them, in their order; without other statements."""
    binder = TextBinder(example.text)
    statements = []
    for statement in example.statements:
        subject, object_ = binder.bind(statement.subject), binder.bind(statement.object)
        if subject is not None and object_ is not None:
            bound = replace(statement, subject=subject.name, object=object_.name)
            statements.append((object_.begin, subject.begin, bound))
    statements.sort(key=itemgetter(0, 1))
    text = " ".join(example.text.split())
    return Example(text, tuple(bound for *_, bound in statements)) if statements else None


def _clauses(text: str) -> list[str]:
    """The clauses of a text, roughly, with its names and numbers masked."""
    masked = _RUN.sub("X", _WORDS.sub(_mask, text))
    clauses = [clause for clause in _CLAUSE_END.split(masked) if " " in clause.strip()]
    return clauses or [masked]


def _mask(word: re.Match[str]) -> str:
    first = word[0][0]
    return "X" if first == '"' or first.isupper() or first.isdigit() else word[0]


def _answer(example: Example, labels: Mapping[str, str]) -> str:
    items = [
        {"subject": s.subject, "property": labels[s.property], "object": s.object}
        for s in example.statements
        if s.property in labels
    ]
    return json.dumps({"statements": items}, ensure_ascii=False, separators=(",", ":"))


def _distinct_labels(
    terms: Iterable[OntologyClass | OntologyProperty], domains: Mapping[str, str]
) -> dict[str, str]:
    """A label for each IRI; those that several share have the domain, or else the IRI, in brackets.

    Labels are distinct without regard to case.
    """
    terms = list(terms)
    labels = {term.iri: " ".join(term.label.split()) or local_name(term.iri) for term in terms}
    for detail in (
        lambda iri: domains.get(iri, ""),
        local_name,
        lambda iri: f"<{iri}>",
    ):
        counts = Counter(label.casefold() for label in labels.values())
        for iri, label in labels.items():
            if counts[label.casefold()] > 1 and (text := detail(iri)):
                labels[iri] = f"{label} ({text})"
    return labels


def _description(property_: OntologyProperty) -> str:
    """The text of a property that is embedded."""
    return ". ".join(
        text
        for text in (property_.label, *property_.alternatives[:2], *property_.phrases[:3])
        if text
    )
