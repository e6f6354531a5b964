"""Extraction by a language model: two calls per document (SA-RAG paper, section 5.3, appendix B).

What the model returns is checked against the document's own words.
"""

from __future__ import annotations

import queue
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from sarag_rdf.errors import (
    ContextTooLongError,
    TruncatedReplyError,
    UnparsableReplyError,
    UsageError,
)
from sarag_rdf.extract.entity_types import nearest_type
from sarag_rdf.extract.sentences import describe, naming, split_sentences
from sarag_rdf.fence import fence_for, restored
from sarag_rdf.iris import normalize_name
from sarag_rdf.options import Options, max_tokens_option
from sarag_rdf.ports import LLM
from sarag_rdf.resources import prompt_hash, render_prompt
from sarag_rdf.types import ENTITY_TYPES, Document, Extraction, Mention, Method, Relation, Usage

CALLS_A_DOCUMENT: Final = 2
TOKENS_A_WORD: Final = 4 / 3
"""Tokens a white-space separated word of English, as estimates count."""
REPLY_ALLOWANCE: Final = 800
"""Tokens that estimates allow for one reply."""
MAX_ENTITIES: Final = 60
MAX_RELATIONSHIPS: Final = 80
CHARACTERS_AN_ITEM: Final = 30
"""A reply may hold ten items, and one more for so many characters of the document, in steps of ten.

A small model that begins to repeat itself repeats itself up to the limit. Of 1,890 encyclopedia
paragraphs, GPT-3.5 found more entities than this in one, and more triples in one.
"""

_OF_ONE_DOCUMENT: Final = (UnparsableReplyError, TruncatedReplyError, ContextTooLongError)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _string(length: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": length}


def _array(items: Mapping[str, Any], length: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "maxItems": length}


def most_items(document: Document, limit: int) -> int:
    """How many entities or relationships a reply about the document may hold, `limit` at most."""
    steps = ceil((10 + len(document.titled_text) / CHARACTERS_AN_ITEM) / 10)
    return min(10 * steps, limit)


def entities_schema(most: int = MAX_ENTITIES) -> dict[str, Any]:
    """The schema of the first reply; every string and array in it is bounded."""
    entity = _object(
        name=_string(200),
        # Servers that enforce no schema give other types, too: see `entity_types`.
        type={"anyOf": [{"type": "string", "enum": list(ENTITY_TYPES)}, _string(60)]},
        aliases=_array(_string(200), 12),
        information=_string(1500),
    )
    return _object(entities=_array(entity, most))


def relationships_schema(names: Sequence[str], most: int = MAX_RELATIONSHIPS) -> dict[str, Any]:
    """The schema of the second reply: `names` are the only ends that it admits."""
    end = {"type": "string", "enum": list(names)}
    relationship = _object(subject=end, phrase=_string(120), object=end, sentence=_string(500))
    return _object(relationships=_array(relationship, most))


def entities_prompt(document: Document) -> str:
    text = document.titled_text
    return render_prompt("entities", document=text, fence=fence_for(text))


def relationships_prompt(document: Document, names: Sequence[str]) -> str:
    text = document.titled_text
    fence = fence_for(text, *names)
    return render_prompt("relationships", document=text, names=names, fence=fence)


@dataclass(frozen=True, kw_only=True)
class LLMOptions(Options):
    """Options of `LLMExtractor`."""

    name = "llm"
    max_tokens: int = max_tokens_option(4096)


class LLMExtractor:
    """Entities and relationships from a language model, two calls per document.

    Up to `concurrency` documents are extracted at a time. If a reply does not match its schema or
    is truncated, or a prompt is too long for the model, the result of that document is the error;
    any other error would affect every document and is raised.
    """

    options = LLMOptions

    def __init__(self, llm: LLM, concurrency: int = 4, options: LLMOptions | None = None) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency must be 1 or more, not {concurrency}")
        self._llm = llm
        self._concurrency = concurrency
        self._max_tokens = (options or LLMOptions()).max_tokens
        self._usage = Usage()
        self._discarded: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def method(self) -> Method:
        """Model, prompts and settings; the temperature and seed if the model tells them."""
        settings = {**getattr(self._llm, "settings", {}), "max_tokens": str(self._max_tokens)}
        return Method("llm", self._llm.model, prompt_hash("entities", "relationships"), settings)

    @property
    def usage(self) -> Usage:
        """What all replies so far cost; a call that ended in an error is not in it."""
        with self._lock:
            return self._usage

    @property
    def discarded(self) -> Counter[str]:
        """What replies so far held that no extraction holds, by reason."""
        with self._lock:
            return self._discarded.copy()

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result a document, in order; at most twice `concurrency` documents are read ahead.

        When the iterator is closed or interrupted, calls that have not begun are not made, and
        those under way are not waited for.
        """
        return _in_order(self._result, documents, self._concurrency)

    def estimate(
        self, documents: Iterable[Document], *, price_in: float = 0.0, price_out: float = 0.0
    ) -> Usage:
        """Estimate what `extract` will cost, without a call; prices in US dollars a million tokens.

        Two calls a document, 4/3 tokens a white-space separated word of the prompts (too few for
        languages without spaces), `REPLY_ALLOWANCE` tokens a reply; retries are not counted.
        """
        calls = words = 0
        for document in documents:
            calls += CALLS_A_DOCUMENT
            words += len(entities_prompt(document).split())
            words += len(relationships_prompt(document, ()).split())
        tokens_in = ceil(words * TOKENS_A_WORD)
        tokens_out = calls * REPLY_ALLOWANCE
        cost = (tokens_in * price_in + tokens_out * price_out) / 1_000_000
        return Usage(calls, 0, tokens_in, tokens_out, cost)

    def _result(self, document: Document, stop: threading.Event) -> Extraction | Exception:
        try:
            return self._extraction(document, stop)
        except _OF_ONE_DOCUMENT as error:
            return error

    def _extraction(self, document: Document, stop: threading.Event) -> Extraction:
        if not document.titled_text.strip():
            return Extraction()
        schema = entities_schema(most_items(document, MAX_ENTITIES))
        found = self._ask("entities", entities_prompt(document), schema)
        labels = [entity["type"] for entity in found["entities"]]
        retyped = tuple(label for label in labels if label not in ENTITY_TYPES)
        entities = [
            {**entity, "type": nearest_type(entity["type"])} for entity in found["entities"]
        ]
        dropped: Counter[str] = Counter()
        mentions = grounded_mentions(entities, document.titled_text, document.text, dropped)
        self._discard(dropped)
        if len(mentions) < 2:
            return Extraction(mentions, (), retyped)
        if stop.is_set():
            raise CancelledError
        names = [mention.name for mention in mentions]
        prompt = relationships_prompt(document, names)
        schema = relationships_schema(names, most_items(document, MAX_RELATIONSHIPS))
        found = self._ask("relationships", prompt, schema)
        dropped = Counter()
        relations = grounded_relations(found["relationships"], mentions, dropped)
        self._discard(dropped)
        return Extraction(mentions, relations, retyped)

    def _discard(self, counts: Counter[str]) -> None:
        with self._lock:
            self._discarded += counts

    def _ask(self, name: str, prompt: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=self._max_tokens)
        with self._lock:
            self._usage += reply.usage
        return dict(restored(reply.data))


_Work = Callable[[Document, threading.Event], Extraction | Exception]
_Job = tuple["Future[Extraction | Exception]", Document]


def _in_order(
    work: _Work, documents: Iterable[Document], concurrency: int
) -> Iterator[Extraction | Exception]:
    """Yield the results of `work` in the order of `documents`, from `concurrency` threads.

    The threads are daemons: those of a ThreadPoolExecutor would be waited for when the program
    ends, for minutes if an endpoint hangs, however often Ctrl-C was pressed.
    """
    jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
    stop, broken = threading.Event(), threading.Event()
    pending: deque[Future[Extraction | Exception]] = deque()
    threads = 0
    try:
        for document in documents:
            pending.append(Future())
            jobs.put((pending[-1], document))
            if threads < concurrency:
                threads += 1
                threading.Thread(
                    target=_serve, args=(jobs, work, stop, broken), daemon=True
                ).start()
            if len(pending) >= 2 * concurrency:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        stop.set()
        for future in pending:
            future.cancel()
        for _ in range(threads):
            jobs.put(None)


def _serve(
    jobs: queue.SimpleQueue[_Job | None],
    work: _Work,
    stop: threading.Event,
    broken: threading.Event,
) -> None:
    """Work on jobs; none is begun behind one that fails, whose error is raised before its turn."""
    while (job := jobs.get()) is not None:
        future, document = job
        if broken.is_set():
            future.cancel()
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(work(document, stop))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            broken.set()
            future.set_exception(error)


# Thai to Lao, Burmese, Khmer, kana, Chinese characters: scripts without spaces between words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


class Words:
    """A text in which normalised names are looked up as whole words."""

    def __init__(self, text: str) -> None:
        self._text = f" {normalize_name(text)} "

    def hold(self, name: str) -> bool:
        """Whether the name occurs; a script without spaces has no word boundaries to heed."""
        key = normalize_name(name)
        if not key:
            return False
        return (key if _UNSPACED.search(key) else f" {key} ") in self._text


def tidy(text: str) -> str:
    """Fold white space, and drop control characters, which RDF formats cannot all hold."""
    return " ".join(_CONTROL.sub("", text).split())


def grounded_mentions(
    entities: Iterable[Mapping[str, Any]],
    text: str,
    body: str = "",
    discarded: Counter[str] | None = None,
) -> tuple[Mention, ...]:
    """Return the entities of a reply that occur in `text`, those of one name merged, in order.

    Each entity has ``name``, ``type``, ``aliases`` and ``information``. Its mention has one
    description of the information, else of the sentences of `body` (the text without its title)
    that name it, or none. An entity of which only an alias occurs takes that for its name. A
    place loses the sentences that name another entity that is not a place (paper, appendix B: a
    place is not described by what happened to others in it). Entities that do not occur are
    counted in `discarded`.
    """
    dropped = Counter[str]() if discarded is None else discarded
    words = Words(text)
    merged: dict[str, Mention] = {}
    for entity in entities:
        forms = _forms([entity["name"], *entity["aliases"]], words)
        if not forms:
            dropped["names that the text does not contain"] += 1
            continue
        found = Mention(forms[0], entity["type"], forms[1:], _sentences(entity["information"]))
        key = normalize_name(found.name)
        merged[key] = _merge(merged[key], found) if key in merged else found
    mentions = list(merged.values())
    sentences = split_sentences(body)
    return tuple(_described(mention, mentions, sentences) for mention in mentions)


def grounded_relations(
    relationships: Iterable[Mapping[str, Any]],
    mentions: Sequence[Mention],
    discarded: Counter[str] | None = None,
) -> tuple[Relation, ...]:
    """Return the relationships between two different mentions, each once, in order.

    Each has ``subject``, ``phrase``, ``object`` and ``sentence``; ends may be any name or alias.
    What is not returned is counted in `discarded`.
    """
    dropped = Counter[str]() if discarded is None else discarded
    names = {normalize_name(alias): m.name for m in mentions for alias in m.aliases}
    names |= {normalize_name(m.name): m.name for m in mentions}
    kept: dict[Relation, None] = {}
    for found in relationships:
        subject = names.get(normalize_name(found["subject"]))
        object_ = names.get(normalize_name(found["object"]))
        phrase, sentence = tidy(found["phrase"]), tidy(found["sentence"])
        relation = Relation(subject or "", phrase or "is related to", object_ or "", sentence)
        if not (subject and object_):
            dropped["relationships between names that were not extracted"] += 1
        elif subject == object_:
            dropped["relationships of a name with itself"] += 1
        elif not (phrase or sentence):
            dropped["relationships without a phrase or a sentence"] += 1
        elif relation in kept:
            dropped["repeated relationships"] += 1
        else:
            kept[relation] = None
    return tuple(kept)


def _forms(candidates: Iterable[str], words: Words) -> tuple[str, ...]:
    """The names that occur, each once."""
    kept: dict[str, str] = {}
    for candidate in map(tidy, candidates):
        if words.hold(candidate):
            kept.setdefault(normalize_name(candidate), candidate)
    return tuple(kept.values())


def _sentences(information: str) -> tuple[str, ...]:
    return tuple(split_sentences(tidy(information)))


def _merge(first: Mention, second: Mention) -> Mention:
    key = normalize_name(first.name)
    aliases = {normalize_name(alias): alias for alias in (*second.aliases, *first.aliases)}
    aliases.pop(key, None)
    sentences = dict.fromkeys((*first.descriptions, *second.descriptions))
    return Mention(first.name, first.type, tuple(aliases.values()), tuple(sentences))


def _described(mention: Mention, mentions: Sequence[Mention], body: Sequence[str]) -> Mention:
    """The mention with its sentences, else those of the body, made one description."""
    told = _of_it(list(mention.descriptions), mention, mentions)
    text = " ".join(told)
    if text and not Words(text).hold(mention.name):
        text = f"{mention.name}: {text}"
    naming_it = naming((mention.name, *mention.aliases), body) if not text else []
    found = (text,) if text else describe(mention.name, _of_it(naming_it, mention, mentions))
    return Mention(mention.name, mention.type, mention.aliases, found)


def _of_it(sentences: list[str], mention: Mention, mentions: Sequence[Mention]) -> list[str]:
    """For a place, the sentences that name nothing but places."""
    if mention.type == "geopolitical":
        own = {normalize_name(form) for form in (mention.name, *mention.aliases)}
        others = [
            form
            for other in mentions
            if other.type != "geopolitical"
            for form in (other.name, *other.aliases)
            if normalize_name(form) not in own
        ]
        sentences = [s for s in sentences if not _names_any(s, others)]
    return sentences


def _names_any(sentence: str, names: Iterable[str]) -> bool:
    words = Words(sentence)
    return any(words.hold(name) for name in names)
