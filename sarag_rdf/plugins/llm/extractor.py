"""Extraction by a language model: two calls per document (SA-RAG paper, section 5.3, appendix B).

Replies are grounded: names that do not occur in the document are discarded. With the schema of an
ontology a third call asks for typed statements (`sarag_rdf.plugins.llm.statement_calls`), of one
document or of several; the first two can be left to another extractor.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice, repeat, tee
from math import ceil
from typing import Any, Final

from sarag_rdf.base.errors import (
    ContextTooLongError,
    TruncatedReplyError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, Options, max_tokens_option, option
from sarag_rdf.base.ports import LLM, CountsDiscarded, CountsUsage, Embedder, Extractor, Services
from sarag_rdf.base.prompts import array_of, fence_for, object_of, one_of, restored, string
from sarag_rdf.base.types import (
    ENTITY_TYPES,
    Document,
    Extraction,
    Mention,
    Method,
    Relation,
    Usage,
)
from sarag_rdf.extraction.names import build_descriptions, nearest_type
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.plugins.llm.statement_calls import PROMPT, PROMPTS, StatementModel
from sarag_rdf.plugins.named_sentences import WordMatcher, sentences_with_name, split_sentences
from sarag_rdf.plugins.statement_models import Example, examples_of
from sarag_rdf.plugins.threads import map_in_order

TOKENS_PER_WORD: Final = 4 / 3
"""Tokens per white-space separated English word, for estimates."""
REPLY_ALLOWANCE: Final = 800
"""Tokens per reply, for estimates."""
MAX_BATCH: Final = 20
MAX_ENTITIES: Final = 60
MAX_RELATIONSHIPS: Final = 80
CHARACTERS_PER_ITEM: Final = 30
"""A reply may have ten items, plus one for this many characters of the document, in steps of ten.

The limit stops small models that repeat themselves. On 1,890 encyclopedia paragraphs, GPT-3.5
exceeded it in one paragraph for entities, and in one for triples.
"""

_DOCUMENT_ERRORS: Final = (UnparsableReplyError, TruncatedReplyError, ContextTooLongError)


def max_items(document: Document, limit: int) -> int:
    """The maximum number of entities or relationships in a reply, not above `limit`."""
    steps = ceil((10 + len(document.titled_text) / CHARACTERS_PER_ITEM) / 10)
    return min(10 * steps, limit)


def entities_schema(limit: int = MAX_ENTITIES) -> dict[str, Any]:
    """The schema of the first reply; every string and array in it is bounded."""
    entity = object_of(
        name=string(200),
        # Servers that do not enforce schemas return other types as well: see `entity_types`.
        type={"anyOf": [one_of(ENTITY_TYPES), string(60)]},
        aliases=array_of(string(200), 12, min_items=None),
        information=string(1500),
    )
    return object_of(entities=array_of(entity, limit, min_items=None))


def relationships_schema(names: Sequence[str], limit: int = MAX_RELATIONSHIPS) -> dict[str, Any]:
    """The schema of the second reply, where subjects and objects must be among `names`."""
    end = one_of(names)
    relationship = object_of(subject=end, phrase=string(120), object=end, sentence=string(500))
    return object_of(relationships=array_of(relationship, limit, min_items=None))


def entities_prompt(document: Document) -> str:
    """The prompt for the entities of a document."""
    text = document.titled_text
    return PROMPTS.render("entities", document=text, fence=fence_for(text))


def relationships_prompt(document: Document, names: Sequence[str]) -> str:
    """The prompt for the relationships between the named entities of a document."""
    text = document.titled_text
    fence = fence_for(text, *names)
    return PROMPTS.render("relationships", document=text, names=names, fence=fence)


@dataclass(frozen=True, kw_only=True)
class LLMOptions(Options):
    """Options of `LLMExtractor`."""

    name = "llm"
    max_tokens: int = max_tokens_option(4096)
    properties: int = option(
        25,
        "Maximum number of properties of an ontology in a prompt, and of classes.",
        ge=1,
        le=MAX_COUNT,
    )
    examples: str | None = option(
        None, "JSONL file of sentences with their statements; requires an ontology."
    )
    shots: int = option(
        4, "Maximum number of examples of statements in a prompt.", ge=0, le=MAX_COUNT
    )
    names: str | None = option(
        None,
        "Extractor of names and relationships in place of the model, such as spacy, so that the "
        "model is asked for statements only; requires an ontology.",
    )
    batch: int = option(
        1,
        "Number of documents whose statements are asked for in one call, with as many times the "
        "tokens of a reply; requires an ontology.",
        ge=1,
        le=MAX_BATCH,
    )


class LLMExtractor:
    """An `sarag_rdf.base.ports.Extractor` that calls `llm` for `concurrency` documents at a time.

    With a schema that has properties a third call extracts typed relations and classes. Without an
    embedder all properties of the schema and the first examples are in its prompt. With `batch` it
    is one call for so many documents; what fails for several is asked of each.

    If a reply is truncated or does not satisfy its schema, or if a prompt is too long for the
    model, the result of the document is that error. Any other error would affect every document,
    and is raised.
    """

    options = LLMOptions

    def __init__(
        self,
        llm: LLM,
        concurrency: int = 4,
        options: LLMOptions | None = None,
        schema: Schema | None = None,
        *,
        embedder: Embedder | None = None,
        examples: Sequence[Example] = (),
        names: Extractor | None = None,
    ) -> None:
        """With a `schema`, statements with its properties and classes are extracted as well.

        The `embedder` selects the properties and `examples` for each prompt. With `names`, what
        that extracts stands for the replies of the first two calls.
        """
        if concurrency < 1:
            raise UsageError(f"concurrency must be 1 or more, not {concurrency}")
        self._llm = llm
        self._concurrency = concurrency
        self._options = options or LLMOptions()
        self._schema = schema
        self._embedder = embedder
        self._examples = tuple(examples)
        self._names = names
        if self._statements is None and (names is not None or self._options.batch > 1):
            raise UsageError(
                "llm:names and llm:batch are for statements in the terms of an ontology: add one "
                "that has properties with 'sarag ontology add', or leave them out"
            )
        self._usage = Usage()
        self._discarded: Counter[str] = Counter()
        self._lock = threading.Lock()

    @classmethod
    def build(cls, options: LLMOptions, services: Services) -> LLMExtractor:
        """Follows the schema of the graph; raises `UsageError` without a language model."""
        schema = services.schema
        examples = examples_of(options.examples, schema)
        embedder = services.embedder() if schema else None
        llm, concurrency = services.llm(), services.concurrency
        names = services.extractor(options.names) if options.names else None
        return cls(
            llm, concurrency, options, schema, embedder=embedder, examples=examples, names=names
        )

    @property
    def method(self) -> Method:
        """Model, prompts and settings, with the temperature and seed of the model if known.

        The setting ``ontology`` is the digest of the schema, if there is one.
        """
        options = self._options
        settings = {**getattr(self._llm, "settings", {}), "max_tokens": str(options.max_tokens)}
        prompts = ["entities", "relationships"] if self._names is None else []
        if self._names is not None:
            inner = self._names.method
            settings |= {f"names_{key}": value for key, value in inner.settings.items()}
            settings["names"] = f"{inner.extractor} {inner.model} {inner.prompt_hash}".strip()
        if self._schema is not None:
            settings["ontology"] = self._schema.digest
        if self._statements is not None:
            prompts.append(PROMPT)
            if options.batch > 1:
                settings["batch"] = str(options.batch)
            settings["properties"] = str(options.properties)
            if self._embedder is not None:
                settings["embedder"] = self._embedder.name
            if self._examples:
                settings["shots"] = str(options.shots)
                settings["examples"] = sha256(repr(self._examples).encode()).hexdigest()
        return Method("llm", self._llm.model, PROMPTS.digest(*prompts), settings)

    @property
    def usage(self) -> Usage:
        """Usage of all replies so far, without failed calls."""
        with self._lock:
            used = self._usage
        return used + self._names.usage if isinstance(self._names, CountsUsage) else used

    @property
    def discarded(self) -> Counter[str]:
        """Counts of items of replies so far that are not in an extraction, by reason."""
        counts = Counter[str]()
        if isinstance(self._names, CountsDiscarded):
            counts += self._names.discarded
        with self._lock:
            return counts + self._discarded

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result per document, in order; at most twice `concurrency` batches are read ahead.

        When the iterator is closed or interrupted, no further calls start, and running calls are
        not waited for.
        """
        pairs: Iterator[tuple[Document, Extraction | Exception | None]]
        if self._names is None:
            pairs = zip(documents, repeat(None), strict=False)
        else:
            documents, others = tee(documents)
            pairs = zip(documents, self._names.extract(others), strict=True)
        size = self._options.batch if self._statements is not None else 1
        batches = iter(lambda: list(islice(pairs, size)), [])
        for results in map_in_order(self._results, batches, self._concurrency):
            yield from results

    @cached_property
    def _statements(self) -> StatementModel | None:
        if self._schema is None or not self._schema.properties:
            return None
        most, shots = self._options.properties, self._options.shots
        return StatementModel(
            self._schema, self._embedder, self._examples, most_properties=most, most_examples=shots
        )

    def estimate(
        self, documents: Iterable[Document], *, price_in: float = 0.0, price_out: float = 0.0
    ) -> Usage:
        """Estimate the usage and cost of `extract`, without any call.

        Prices are in US dollars per million tokens. The estimate counts two calls per document
        unless another extractor finds the names, with a schema one per batch, 4/3 tokens per
        white-space separated word of the prompts (too few for languages without spaces) and
        `REPLY_ALLOWANCE` tokens per reply of a document, without retries.
        """
        replies = count = words = 0
        for count, document in enumerate(documents, start=1):  # noqa: B007 - the last is read
            if self._names is None:
                replies += 2
                prompts = entities_prompt(document), relationships_prompt(document, ())
                words += sum(len(prompt.split()) for prompt in prompts)
            if self._statements is not None:
                replies += 1
                words += len(document.titled_text.split())
        calls = replies
        if self._statements is not None:
            batches = ceil(count / self._options.batch)
            calls += batches - count
            words += batches * self._statements.words_around
        tokens_in, tokens_out = ceil(words * TOKENS_PER_WORD), replies * REPLY_ALLOWANCE
        cost = (tokens_in * price_in + tokens_out * price_out) / 1_000_000
        return Usage(calls, 0, tokens_in, tokens_out, cost)

    def _results(
        self, batch: Sequence[tuple[Document, Extraction | Exception | None]], stop: threading.Event
    ) -> list[Extraction | Exception]:
        """The results of a batch of documents, of which another extractor may have found names."""
        results = [
            self._untyped(document, stop) if found is None else found for document, found in batch
        ]
        if self._statements is not None:
            named = {
                place: (document, found)
                for place, ((document, _), found) in enumerate(zip(batch, results, strict=True))
                if isinstance(found, Extraction) and document.titled_text.strip()
            }
            typed = self._typed(self._statements, list(named.values()), stop)
            for place, result in zip(named, typed, strict=True):
                results[place] = result
        return results

    def _typed(
        self,
        statements: StatementModel,
        named: Sequence[tuple[Document, Extraction]],
        stop: threading.Event,
    ) -> list[Extraction | Exception]:
        """The extractions with what the model states in a call for all, or else in one for each."""
        if not named:
            return []
        documents = [document for document, _ in named]
        names: list[list[str]] = []
        if self._names is None:
            names = [[mention.name for mention in found.mentions] for _, found in named]
        request = statements.request(documents, names)
        try:
            reply = self._ask(PROMPT, request.prompt, request.schema, stop, len(named))
        except _DOCUMENT_ERRORS as error:
            if len(named) == 1:
                return [error]
            return [result for pair in named for result in self._typed(statements, [pair], stop)]
        counts: Counter[str] = Counter()
        typed: list[Extraction | Exception] = [
            statements.extraction(document, found, request, own, counts)
            for (document, found), own in zip(named, request.replies(reply), strict=True)
        ]
        self._count(counts)
        return typed

    def _untyped(self, document: Document, stop: threading.Event) -> Extraction | Exception:
        if not document.titled_text.strip():
            return Extraction()
        counts: Counter[str] = Counter()
        schema = entities_schema(max_items(document, MAX_ENTITIES))
        try:
            entities = self._ask("entities", entities_prompt(document), schema, stop)["entities"]
            mentions = grounded_mentions(entities, document.titled_text, document.text, counts)
            relations: tuple[Relation, ...] = ()
            if len(mentions) > 1:
                names = [mention.name for mention in mentions]
                prompt = relationships_prompt(document, names)
                schema = relationships_schema(names, max_items(document, MAX_RELATIONSHIPS))
                reply = self._ask("relationships", prompt, schema, stop)
                relations = grounded_relations(reply["relationships"], mentions, counts)
        except _DOCUMENT_ERRORS as error:
            return error
        self._count(counts)
        return Extraction(mentions, relations)

    def _count(self, discarded: Counter[str]) -> None:
        with self._lock:
            self._discarded += discarded

    def _ask(
        self,
        name: str,
        prompt: str,
        schema: Mapping[str, Any],
        stop: threading.Event,
        documents: int = 1,
    ) -> dict[str, Any]:
        if stop.is_set():
            raise CancelledError
        most = documents * self._options.max_tokens
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=most)
        with self._lock:
            self._usage += reply.usage
        return dict(restored(reply.data))


_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


def clean_reply_text(text: str) -> str:
    """Collapse white space, and remove control characters, which not all RDF formats allow."""
    return " ".join(_CONTROL.sub("", text).split())


def grounded_mentions(
    entities: Iterable[Mapping[str, Any]],
    text: str,
    body: str = "",
    discarded: Counter[str] | None = None,
) -> tuple[Mention, ...]:
    """The entities of a reply that occur in `text`, in order; those with the same name are merged.

    Each entity has ``name``, ``type``, ``aliases`` and ``information``; its type may be any label
    (see `sarag_rdf.extraction.names`). The mention has at most one description: the
    information, else the sentences of `body` (the text without its title) with its name. An entity
    of which only an alias occurs is named by that alias. The description of a place omits
    sentences that name an entity of another type (SA-RAG paper, appendix B: a place is not
    described by events that happened there). Entities that do not occur are counted in `discarded`.
    """
    counts = Counter[str]() if discarded is None else discarded
    words = WordMatcher(text)
    merged: dict[str, Mention] = {}
    for entity in entities:
        names: dict[str, str] = {}
        for name in map(clean_reply_text, (entity["name"], *entity["aliases"])):
            if words.contains(name):
                names.setdefault(normalize_name(name), name)
        if not names:
            counts["names that the text does not contain"] += 1
            continue
        first, *aliases = names.values()
        information = split_sentences(clean_reply_text(entity["information"]))
        mention = Mention(first, entity["type"], tuple(aliases), tuple(information))
        key = normalize_name(mention.name)
        merged[key] = _merge_mentions(merged[key], mention) if key in merged else mention
    mentions = list(merged.values())
    sentences = split_sentences(body)
    return tuple(_with_description(mention, mentions, sentences) for mention in mentions)


def grounded_relations(
    relationships: Iterable[Mapping[str, Any]],
    mentions: Sequence[Mention],
    discarded: Counter[str] | None = None,
) -> tuple[Relation, ...]:
    """The relationships of a reply between two different mentions, without duplicates, in order.

    Each has ``subject``, ``phrase``, ``object`` and ``sentence``; subject and object may be names
    or aliases. Relationships that are not returned are counted in `discarded`.
    """
    counts = Counter[str]() if discarded is None else discarded
    names = {normalize_name(alias): m.name for m in mentions for alias in m.aliases}
    names |= {normalize_name(m.name): m.name for m in mentions}
    relations: dict[Relation, None] = {}
    for item in relationships:
        subject = names.get(normalize_name(item["subject"]))
        object_ = names.get(normalize_name(item["object"]))
        phrase, sentence = clean_reply_text(item["phrase"]), clean_reply_text(item["sentence"])
        relation = Relation(subject or "", phrase or "is related to", object_ or "", sentence)
        if not (subject and object_):
            counts["relationships between names that were not extracted"] += 1
        elif subject == object_:
            counts["relationships of a name with itself"] += 1
        elif not (phrase or sentence):
            counts["relationships without a phrase or a sentence"] += 1
        elif relation in relations:
            counts["repeated relationships"] += 1
        else:
            relations[relation] = None
    return tuple(relations)


def _merge_mentions(first: Mention, second: Mention) -> Mention:
    key = normalize_name(first.name)
    aliases = {normalize_name(alias): alias for alias in (*second.aliases, *first.aliases)}
    aliases.pop(key, None)
    sentences = dict.fromkeys((*first.descriptions, *second.descriptions))
    return Mention(first.name, first.type, tuple(aliases.values()), tuple(sentences))


def _with_description(
    mention: Mention, mentions: Sequence[Mention], body: Sequence[str]
) -> Mention:
    """The mention with one description, from its own sentences or else those of the body."""
    text = " ".join(_only_about(mention, list(mention.descriptions), mentions))
    if text:
        is_named = WordMatcher(text).contains(mention.name)
        descriptions: tuple[str, ...] = (text if is_named else f"{mention.name}: {text}",)
    else:
        sentences = sentences_with_name((mention.name, *mention.aliases), body)
        sentences = _only_about(mention, sentences, mentions)
        descriptions = build_descriptions(mention.name, sentences)
    return Mention(mention.name, mention.type, mention.aliases, descriptions)


def _only_about(mention: Mention, sentences: list[str], mentions: Sequence[Mention]) -> list[str]:
    """All sentences, or for a place those that name only places."""
    if nearest_type(mention.type) != "geopolitical":
        return sentences
    own = {normalize_name(name) for name in (mention.name, *mention.aliases)}
    others = [
        name
        for other in mentions
        if nearest_type(other.type) != "geopolitical"
        for name in (other.name, *other.aliases)
        if normalize_name(name) not in own
    ]
    return [s for s in sentences if not any(map(WordMatcher(s).contains, others))]
