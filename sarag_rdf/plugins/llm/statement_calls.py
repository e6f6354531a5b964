"""Typed statements by a language model: one call for one or several texts, bound to each text.

The properties and classes of the schema are enumerations in the JSON schema of the reply, so that
every statement conforms to the ontology. Of a large ontology only the properties nearest to the
sentences and clauses of the text are in the prompt and in the enumeration, and those of its
examples. Arguments are bound to the text (`TextBinder`) and literals are
normalised (`sarag_rdf.extraction.text_values`), never by the model.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, takewhile
from math import ceil
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from sarag_rdf.base.iris import local_name
from sarag_rdf.base.ports import Embedder, Matrix
from sarag_rdf.base.prompts import Prompts, array_of, fence_for, object_of, one_of, string
from sarag_rdf.base.types import Document, Extraction, Relation, Value
from sarag_rdf.extraction.text_values import ValueSpan, find_values
from sarag_rdf.extraction.typed_statements import RangeKind, literal, range_kind
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.plugins.named_sentences import WordMatcher, split_sentences
from sarag_rdf.plugins.statement_models import Example, soft_text, with_statements

PROMPTS: Final = Prompts(Path(__file__).parent / "prompts")
"""The prompts for entities, relationships and statements."""
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
    """The prompt and JSON schema of one call, with the IRIs of the labels in the schema.

    Of several `texts` the reply has an object for each, by its number.
    """

    prompt: str
    schema: Mapping[str, Any]
    properties: Mapping[str, str]
    classes: Mapping[str, str]
    texts: int = 1

    def replies(self, reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """What the reply to the call says of each text."""
        return [reply] if self.texts == 1 else [reply[name] for name in _numbers(self.texts)]


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
        self._lock = threading.Lock()
        self._vectors: dict[str, Matrix] = {}
        """Vectors of the terms of the schema and of the examples, embedded when first needed."""
        self._property_labels = _distinct_labels(
            schema.properties.values(),
            {p.iri: schema.label_of(p.domains) for p in schema.properties.values()},
        )
        self._class_labels = _distinct_labels(schema.classes.values(), {})

    def request(
        self, documents: Sequence[Document], names: Sequence[Sequence[str]] = ()
    ) -> Request:
        """The call for documents; with the names of the mentions of each their classes are asked.

        One that has no names, or one without classes in the schema, is asked for statements only.
        """
        texts = [document.titled_text for document in documents]
        sentences = [sentence for text in texts for sentence in split_sentences(text)]
        clauses = [clause for text in texts for clause in _clauses(text)]
        examples = self._nearest_examples(texts)
        shown = (statement.property for example in examples for statement in example.statements)
        properties = self._nearest("properties", [*sentences, *clauses], shown)
        every = list(dict.fromkeys(chain.from_iterable(names)))
        classes = self._nearest("classes", [*every, *sentences]) if every else []
        names = names if classes else [()] * len(texts)
        property_of = {self._property_labels[iri]: iri for iri in properties}
        class_of = {self._class_labels[iri]: iri for iri in classes}
        replies = [
            self._reply(text, own, property_of, class_of)
            for text, own in zip(texts, names, strict=True)
        ]
        schema, count = replies[0], len(replies)
        if count > 1:
            schema = object_of(**dict(zip(_numbers(count), replies, strict=True)))
        prompt = self._prompt(texts, names, classes, properties, examples)
        return Request(prompt, schema, property_of, class_of, count)

    @staticmethod
    def _reply(
        text: str, names: Sequence[str], properties: Iterable[str], classes: Iterable[str]
    ) -> dict[str, Any]:
        """The schema of what is replied of one text."""
        statement = object_of(
            subject=string(_LONGEST_ARGUMENT),
            property=one_of(properties),
            object=string(_LONGEST_ARGUMENT),
        )
        parts = {"statements": array_of(statement, max_statements(text), min_items=None)}
        if names:
            class_item = object_of(name=one_of(names), **{"class": one_of(classes)})
            parts = {"classes": array_of(class_item, len(names), min_items=None), **parts}
        return object_of(**parts)

    def _prompt(
        self,
        texts: Sequence[str],
        names: Sequence[Sequence[str]],
        classes: Iterable[str],
        properties: Iterable[str],
        examples: Iterable[Example],
    ) -> str:
        return PROMPTS.render(
            PROMPT,
            texts=texts,
            names=names,
            classes=[self._class_labels[class_] for class_ in classes],
            properties=[self._line(iri) for iri in properties],
            examples=[{"text": each.text, "answer": self._answer(each)} for each in examples],
            fence=fence_for(*texts, *chain.from_iterable(names), length=_FENCE),
        )

    def _answer(self, example: Example) -> str:
        labels = self._property_labels
        items = [
            {"subject": s.subject, "property": labels[s.property], "object": s.object}
            for s in example.statements
            if s.property in labels
        ]
        return json.dumps({"statements": items}, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def words_around(self) -> int:
        """The words of a prompt with the first properties and examples, and no text."""
        properties = list(self._schema.properties)
        if self._embedder is not None:
            properties = properties[: self._most_properties]
        examples = self._examples[: self._most_examples]
        return len(self._prompt([""], [()], (), properties, examples).split())

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
            if not fits:
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

    def _nearest_examples(self, texts: Sequence[str]) -> list[Example]:
        """The nearest examples, of which the last is the nearest.

        Those of which a clause is near to a clause of a text are near, and those that are near
        as a whole. Among near ones, those that show a further property are preferred to those that
        do not.
        """
        if not self._examples or not self._most_examples:
            return []
        if self._embedder is None:
            return self._examples[: self._most_examples]
        order = self._ranked_examples(texts)[: self._most_examples * _NEAR]
        shown: set[str] = set()
        adds_nothing: dict[int, bool] = {}
        for position in order:
            properties = {statement.property for statement in self._examples[position].statements}
            adds_nothing[position] = properties <= shown
            shown |= properties
        chosen = sorted(order, key=adds_nothing.__getitem__)[: self._most_examples]
        return [self._examples[position] for position in reversed(order) if position in chosen]

    def _ranked_examples(self, texts: Sequence[str]) -> list[int]:
        """Places of examples: the nearest to each text and to each clause of one, the next, ...

        Names and numbers are masked in clauses, so that those are near that say the same of others.
        """
        wholes = [example.text for example in self._examples]
        clauses = [_clauses(whole) for whole in wholes]
        first = [0, *accumulate(map(len, clauses))][:-1]
        rows = []
        for text in texts:
            parts = self._cosines("clauses", [*chain.from_iterable(clauses)], _clauses(text)).T
            rows.append(np.maximum.reduceat(parts, first, axis=1))
        whole = self._cosines("examples", wholes, texts).T
        whole = whole + np.array([parts.mean(axis=0) for parts in rows])
        similarity = np.vstack([whole, *rows])
        ranks = np.argsort(np.argsort(-similarity, axis=1, kind="stable"), axis=1, kind="stable")
        order = np.lexsort((-whole.mean(axis=0), ranks.min(axis=0)))
        return [int(position) for position in order]

    def _nearest(
        self,
        kind: Literal["properties", "classes"],
        texts: Sequence[str],
        first: Iterable[str] = (),
    ) -> list[str]:
        """The `first` terms and those nearest to one of the texts, in the order of the schema."""
        terms: Mapping[str, OntologyClass | OntologyProperty] = getattr(self._schema, kind)
        iris = list(terms)
        if self._embedder is None or len(iris) <= self._most_properties:
            return iris
        cosines = self._cosines(kind, map(_description, terms.values()), texts)
        nearest = np.argsort(-cosines.max(axis=1), kind="stable")
        order = [iris[position] for position in nearest]
        chosen = set(list(dict.fromkeys([*first, *order]))[: self._most_properties])
        return [iri for iri in iris if iri in chosen]

    def _cosines(self, name: str, known: Iterable[str], texts: Sequence[str]) -> Matrix:
        """Shape (known, texts); the vectors of what is known are kept by a name."""
        assert self._embedder is not None  # noqa: S101 - callers select only with an embedder
        with self._lock:
            if name not in self._vectors:
                self._vectors[name] = self._embedder.embed(list(known))
            cosines: Matrix = self._vectors[name] @ self._embedder.embed(list(texts)).T
        return cosines


def _numbers(count: int) -> list[str]:
    """The names of so many texts in a prompt and in its reply."""
    return [str(number) for number in range(1, count + 1)]


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
    whole = next(
        (
            span
            for span in spans
            if abs(span.begin - object_.begin) <= _SAME_PLACE
            and abs(span.end - object_.end) <= _SAME_PLACE
        ),
        None,
    )
    if kind == "entity":
        return whole is None or whole.kind == "identifier", None
    if kind in ("string", "any"):
        value = literal(property_, object_.name, whole.value if whole else None)
        return True, value
    read = (literal(property_, s.value.text, s.value) for s in spans)
    value = next(filter(None, read), None) or literal(property_, object_.name, None)
    return value is not None, value


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


def _distinct_labels(
    terms: Iterable[OntologyClass | OntologyProperty], domains: Mapping[str, str]
) -> dict[str, str]:
    """A label for each IRI; those that several share have the domain, or else the IRI, in brackets.

    Labels are distinct without regard to case.
    """
    terms = list(terms)
    labels = {term.iri: " ".join(term.label.split()) or local_name(term.iri) for term in terms}
    for detail in (lambda iri: domains.get(iri, ""), local_name, "<{}>".format):
        counts = Counter(label.casefold() for label in labels.values())
        for iri, label in labels.items():
            if counts[label.casefold()] > 1 and (text := detail(iri)):
                labels[iri] = f"{label} ({text})"
    return labels


def _description(term: OntologyClass | OntologyProperty) -> str:
    """The text of a term that is embedded."""
    if isinstance(term, OntologyClass):
        return term.label
    texts = (term.label, *term.alternatives[:2], *term.phrases[:3])
    return ". ".join(filter(None, texts))


# Places of arguments in the text

_ARTICLE = re.compile(r"(?:the|an|a)\s+(?=\S)")
"""In lower case: that of "The Hague" is part of the name."""
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+")
"""A word, or initials: "U.S." is the word "us"."""
_ADJECTIVE_ENDINGS = ("", "n", "an", "ian", "ese", "i", "ish", "ic")
"""Endings of adjectives of countries, after the name without its last vowels."""
_PRONOUNS = frozenset(
    "he him his she her hers it its they them their theirs this that these those who which i me my "
    "we us our you your".split()
)
_MIN_STEM = 4


@dataclass(frozen=True, slots=True)
class BoundArgument:
    """An argument and its place ``text[begin:end]``, offsets in Unicode code points.

    `name` is the text at that place, or the name of a place of which the text has the adjective.
    """

    name: str
    begin: int
    end: int


class _Word(NamedTuple):
    key: str
    begin: int
    end: int


class TextBinder:
    """Binds arguments to one text: finds the span that an argument of a model's reply is.

    Models change spelling, add what they know ("Ulm, Germany") and normalise dates. An argument is
    bound by the first of these that succeeds:

    1. it occurs in the text as it is, as whole words;
    2. its words occur without regard to case, accents, punctuation and plural endings;
    3. it is a date, number or other value that the text writes differently: "1905-03-12" is bound
       to "12 March 1905";
    4. it is a place or people whose adjective occurs: "Italy" is bound to "Italian";
    5. the longest run of its words that occurs has more than half of its characters and begins with
       its first word ("Ulm, Germany"), or has two words and more than two thirds of its characters.

    A qualifier in brackets at the end of an argument need not occur.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def values(self) -> list[ValueSpan]:
        """The values in the text."""
        return find_values(self.text)

    def bind(self, argument: str) -> BoundArgument | None:
        """The place of an argument, the first of several; None if the text does not contain it.

        A pronoun is not an argument.

        >>> TextBinder("Born in Zürich on 12 March 1905.").bind("1905-03-12").name
        '12 March 1905'
        """
        argument = " ".join(argument.split()).strip("\"'“”‘’ ")
        words = _words(argument)
        if not words or argument.casefold() in _PRONOUNS:
            return None
        bare = _QUALIFIER.sub("", argument)
        return (
            self._exact(argument)
            or self._run(words)
            or self._run(_words(bare))
            or self._value(argument)
            or self._adjective(argument)
            or self._partial_run(_words(bare))
        )

    def _exact(self, argument: str) -> BoundArgument | None:
        spaced = r"\s+".join(map(re.escape, argument.split()))
        match = re.search(rf"(?<!\w){spaced}(?!\w)", self.text)
        return self._bound(*match.span()) if match else None

    @cached_property
    def _words(self) -> list[_Word]:
        return _words(self.text)

    def _run(self, words: Sequence[_Word]) -> BoundArgument | None:
        """The place of all the words, one after another."""
        position, size = self._longest_run(words)
        return self._bound_words(position, size) if words and size == len(words) else None

    def _partial_run(self, words: Sequence[_Word]) -> BoundArgument | None:
        """The place of most of the words: of those at the beginning, or of any two or more."""
        total = sum(len(word.key) for word in words)
        for start in range(len(words)):
            position, size = self._longest_run(words[start:])
            share = sum(len(word.key) for word in words[start : start + size])
            if 2 * share > total and start == 0:
                return self._bound_words(position, size)
            if 3 * share > 2 * total and size > 1:
                return self._bound_words(position, size)
        return None

    def _longest_run(self, words: Sequence[_Word]) -> tuple[int, int]:
        """Place and number of the words at the beginning that occur one after another."""
        best, position = 0, 0
        for begin in range(len(self._words)):
            pairs = zip(words, self._words[begin:], strict=False)
            size = sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, pairs))
            if size > best:
                best, position = size, begin
        return position, best

    def _bound_words(self, position: int, size: int) -> BoundArgument:
        return self._bound(self._words[position].begin, self._words[position + size - 1].end)

    def _value(self, argument: str) -> BoundArgument | None:
        keys = {soft_text(argument)}
        values = [span for span in find_values(argument) if span.begin == 0]
        whole = [span for span in values if not any(map(str.isupper, argument[span.end :]))]
        keys |= {soft_text(span.value.lexical) for span in whole}
        for span in self.values:
            if soft_text(span.value.lexical) in keys:
                return self._bound(span.begin, span.end)
        return None

    def _adjective(self, argument: str) -> BoundArgument | None:
        stem = _folded(argument).rstrip("aeiouy")
        if not argument[:1].isupper() or " " in argument or len(stem) < _MIN_STEM - 1:
            return None
        whole = _folded(argument)
        forms = {stem + ending for ending in _ADJECTIVE_ENDINGS} | {whole + "n", whole + "an"}
        forms.discard(whole)
        for word in self._words:
            text = self.text[word.begin : word.end]
            if text[:1].isupper() and _folded(text) in forms:
                return BoundArgument(argument, word.begin, word.end)
        return None

    def _bound(self, begin: int, end: int) -> BoundArgument:
        if "(" in self.text[begin:end] and self.text[end : end + 1] == ")":
            end += 1
        if article := _ARTICLE.match(self.text, begin, end):
            begin = article.end()
        return BoundArgument(" ".join(self.text[begin:end].split()), begin, end)


def _words(text: str) -> list[_Word]:
    return [_Word(_key(match[0]), *match.span()) for match in _WORD.finditer(text)]


def _key(word: str) -> str:
    folded = _folded(word).replace(".", "")
    return folded.removesuffix("s") if len(folded) > _MIN_STEM else folded


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))
