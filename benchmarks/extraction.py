"""Extraction held against a file of open information extraction, on a seeded sample of it.

The product's own extractor runs as it does while indexing: a language model behind any
OpenAI-compatible endpoint, or spaCy and rules, which need none::

    python benchmarks/extraction.py --reference OPENIE_JSON --base-url http://127.0.0.1:8080/v1
    python benchmarks/extraction.py --reference OPENIE_JSON --extractor spacy --limit 300

OPENIE_JSON is in the format that `sarag_rdf.extract.openie` describes. ``--cache FILE``
keeps replies, so that a second run costs nothing; ``--show 2`` prints two extractions in full;
``--json OUT`` writes figures and extractions to a file. The key, if the endpoint asks for one, is
read from OPENAI_API_KEY.

Names are compared as `sarag_rdf.iris.normalize_name` writes them, and counted over all documents
together. What the file holds was extracted by another model: precision against it is agreement,
not truth. Rows "names only" leave out what has no capital letter or has a digit, such as dates,
amounts and common nouns, which open information extraction lists and the product's prompts do
not ask for.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sarag_rdf.errors import InputError, SaragError, UsageError
from sarag_rdf.extract.llm import LLMExtractor, LLMOptions, WordMatcher
from sarag_rdf.extract.spacy.pipeline import SpacyExtractor
from sarag_rdf.iris import normalize_name
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.models.client import endpoint_model
from sarag_rdf.models.openai_llm import OpenAILLM
from sarag_rdf.sentences import split_sentences
from sarag_rdf.types import Document, Extraction, Method, Usage

NOTE = (
    "Precision and recall are agreement with what another extractor found, not truth: an entity "
    "that only one of the two lists may be right."
)

Pair = frozenset[str]


class Extractor(Protocol):
    """What both extractors have."""

    @property
    def method(self) -> Method: ...

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]: ...


@dataclass(frozen=True, slots=True)
class Reference:
    """What the file holds for one document: its names as they stand there, and its pairs."""

    document: Document
    names: frozenset[str]
    pairs: frozenset[tuple[str, str]]


@dataclass(slots=True)
class Agreement:
    """Counts over all documents of what was found, what the file holds, and what is in both."""

    found: int = 0
    reference: int = 0
    both: int = 0

    def count(self, found: set[Any], reference: set[Any]) -> None:
        self.found += len(found)
        self.reference += len(reference)
        self.both += len(found & reference)

    @property
    def precision(self) -> float:
        return self.both / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.both / self.reference if self.reference else 0.0


@dataclass(slots=True)
class Figures:
    """What a run of one extractor over the sample gave."""

    entities: Agreement = field(default_factory=Agreement)
    entities_names_only: Agreement = field(default_factory=Agreement)
    entities_or_aliases: Agreement = field(default_factory=Agreement)
    pairs: Agreement = field(default_factory=Agreement)
    pairs_names_only: Agreement = field(default_factory=Agreement)
    types: Counter[str] = field(default_factory=Counter)
    aliases: int = 0
    described: int = 0
    relations: int = 0
    absent_names: list[str] = field(default_factory=list)
    loose_ends: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    sentences: int = 0
    failures: list[str] = field(default_factory=list)

    def count(self, reference: Reference, extraction: Extraction) -> None:
        """Add one document. A mention is found under its name; under aliases in one row only."""
        mentions, relations = extraction.mentions, extraction.relations
        names = {mention.name for mention in mentions}
        self.entities.count(_keys(names), _keys(reference.names))
        self.entities_names_only.count(
            _keys(filter(_is_name, names)), _keys(filter(_is_name, reference.names))
        )
        main = {normalize_name(alias): m.name for m in mentions for alias in m.aliases}
        main |= {normalize_name(name): name for name in names}
        meant = {main.get(key, key) for key in _keys(reference.names)}
        self.entities_or_aliases.count(_keys(names), _keys(meant))
        ends = {(relation.subject, relation.object) for relation in relations}
        self.pairs.count(_pairs(ends), _pairs(reference.pairs))
        self.pairs_names_only.count(
            _pairs(filter(_is_pair_of_names, ends)),
            _pairs(filter(_is_pair_of_names, reference.pairs)),
        )
        self.types.update(mention.type for mention in mentions)
        self.aliases += sum(len(mention.aliases) for mention in mentions)
        self.described += sum(bool(mention.descriptions) for mention in mentions)
        self.relations += len(relations)
        words = WordMatcher(reference.document.titled_text)
        self.absent_names += [name for name in names if not words.contains(name)]
        self.loose_ends += [end for pair in ends for end in pair if end not in names]
        texts = [text for mention in mentions for text in mention.descriptions]
        texts += [relation.text for relation in relations if relation.text]
        sentences = [sentence for text in texts for sentence in split_sentences(text)]
        self.sentences += len(sentences)
        self.added += [s for s in sentences if _adds(s, reference.document.titled_text)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Sample, extract, count, print; returns the exit code."""
    options = _options(arguments)
    try:
        sample = read_sample(options.reference, options.limit, options.seed)
        extractor = make_extractor(options)
        begun = time.perf_counter()
        results = []
        for result in extractor.extract(reference.document for reference in sample):
            results.append(result)
            print(f"\r{len(results)} of {len(sample)}", end="", file=sys.stderr, flush=True)
        seconds = time.perf_counter() - begun
        print(file=sys.stderr)
    except SaragError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    figures = Figures()
    for reference, result in zip(sample, results, strict=True):
        if isinstance(result, Extraction):
            figures.count(reference, result)
        else:
            kind = type(result).__name__
            figures.failures.append(f"{reference.document.title}: {kind}: {result}")
    usage = extractor.usage if isinstance(extractor, LLMExtractor) else Usage()
    for line in report(options, extractor.method, figures, usage, seconds, len(sample)):
        print(line)
    for reference, result in list(zip(sample, results, strict=True))[: options.show]:
        print(*shown(reference, result), sep="\n")
    if options.json:
        record = _record(options, extractor.method, figures, usage, seconds, sample, results)
        options.json.write_text(json.dumps(record, indent=1, ensure_ascii=False), "utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--reference", type=Path, required=True, help="extraction file to compare with")
    add("--extractor", choices=("llm", "spacy"), default="llm", help="what extracts")
    add("--base-url", help="endpoint of the model, mostly ending in /v1")
    add("--model", help="model at the endpoint; the only one there if not given")
    add("--limit", type=_positive, default=10, help="documents in the sample")
    add("--seed", type=int, default=0, help="seed of the sample")
    add("--cache", type=Path, help="file that keeps replies between runs")
    add("--json", type=Path, help="file for figures and extractions")
    add("--show", type=int, default=0, help="extractions to print in full")
    add("--concurrency", type=_positive, default=1, help="documents at a time (llm)")
    add("--max-tokens", type=_positive, default=4096, help="limit of one reply (llm)")
    add("--timeout", type=float, default=900.0, help="seconds to wait for one reply (llm)")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def read_sample(path: Path, limit: int, seed: int) -> list[Reference]:
    """Draw `limit` documents at random, or all in random order if there are fewer."""
    try:
        docs = json.loads(path.read_text("utf-8"))["docs"]
        entries = [_reference(number, doc) for number, doc in enumerate(docs)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not an extraction file: {error!r}") from error
    return random.Random(seed).sample(entries, min(limit, len(entries)))


def _reference(number: int, doc: dict[str, Any]) -> Reference:
    text = doc["text"]
    triples = [triple for triple in doc["extracted_triples"] if len(triple) == 3]
    return Reference(
        Document(f"urn:document:{number}", "urn:source", doc["title"], text, 0, len(text)),
        frozenset(doc["extracted_entities"]),
        frozenset((str(subject), str(object_)) for subject, _, object_ in triples),
    )


def make_extractor(options: argparse.Namespace) -> Extractor:
    """The extractor that the options name, with its model loaded or its endpoint asked."""
    if options.extractor == "spacy":
        spacy = SpacyExtractor()
        _ = spacy.method  # loads the pipeline, which is not to be timed
        return spacy
    if not options.base_url:
        raise UsageError("--extractor llm needs --base-url")
    llm = OpenAILLM(
        base_url=options.base_url,
        model=options.model or endpoint_model(options.base_url),
        timeout=options.timeout,
        max_retries=0,
    )
    cached = CachedLLM(llm, options.cache or ":memory:")
    return LLMExtractor(cached, options.concurrency, LLMOptions(max_tokens=options.max_tokens))


def _adds(sentence: str, text: str) -> bool:
    """Whether a sentence holds a number or, past its first word, a capital that `text` does not."""
    known = set(normalize_name(text).split())
    for place, word in enumerate(sentence.split()):
        telling = any(map(str.isdigit, word)) or (place > 0 and word.lstrip("\"'([")[:1].isupper())
        if telling and not set(normalize_name(word).split()) <= known:
            return True
    return False


def _keys(names: Iterable[str]) -> set[str]:
    return {key for name in names if (key := normalize_name(name))}


def _pairs(ends: Iterable[tuple[str, str]]) -> set[Pair]:
    keys = (frozenset(map(normalize_name, pair)) for pair in ends)
    return {pair for pair in keys if len(pair) == 2}


def _is_name(name: str) -> bool:
    return any(map(str.isupper, name)) and not any(map(str.isdigit, name))


def _is_pair_of_names(pair: tuple[str, str]) -> bool:
    return all(map(_is_name, pair))


def report(
    options: argparse.Namespace,
    method: Method,
    figures: Figures,
    usage: Usage,
    seconds: float,
    documents: int,
) -> Iterator[str]:
    """The figures as lines of text."""
    settings = " ".join(f"{key}={value}" for key, value in method.settings.items())
    yield f"extractor  {method.extractor}: {method.model} {settings}"
    if method.prompt_hash:
        yield f"prompts    {method.prompt_hash[:12]}"
    yield f"sample     {documents} documents of {options.reference.name}, seed {options.seed}"
    yield ""
    yield f"{'':24}{'precision':>9} {'recall':>6}   {'found':>5} {'file':>5} {'both':>5}"
    yield _row("entities", figures.entities)
    yield _row("  names only", figures.entities_names_only)
    yield _row("  name or alias", figures.entities_or_aliases)
    yield _row("pairs", figures.pairs)
    yield _row("  names only", figures.pairs_names_only)
    yield NOTE
    yield ""
    types = ", ".join(f"{count} {type_}" for type_, count in figures.types.most_common())
    yield f"mentions   {figures.types.total()}: {types}"
    yield f"           {figures.aliases} aliases, {figures.described} described"
    yield f"relations  {figures.relations}"
    yield _must_be_none("entities that do not occur in their document", figures.absent_names)
    yield _must_be_none("ends of relations that are not among the mentions", figures.loose_ends)
    yield (
        f"sentences with a number or capitalised word that the document does not have: "
        f"{len(figures.added)} of {figures.sentences}"
    )
    yield f"documents that failed: {len(figures.failures)}"
    yield from (f"  {failure}" for failure in figures.failures)
    yield (
        f"{usage.calls} calls and {usage.cached_calls} from the cache, {usage.tokens_in} tokens "
        f"in, {usage.tokens_out} out (without calls that failed)"
    )
    yield f"{seconds / max(documents, 1):.2f} seconds a document"


def _row(label: str, agreement: Agreement) -> str:
    return (
        f"{label:24}{agreement.precision:9.2f} {agreement.recall:6.2f}   "
        f"{agreement.found:5} {agreement.reference:5} {agreement.both:5}"
    )


def _must_be_none(label: str, names: Sequence[str]) -> str:
    told = f": {'; '.join(names[:20])}" if names else ""
    return f"{label} (must be 0): {len(names)}{told}"


def shown(reference: Reference, result: Extraction | Exception) -> Iterator[str]:
    """One document and what was found in it, to be read."""
    yield f"\n{'=' * 20} {reference.document.title}\n{reference.document.text}\n"
    if not isinstance(result, Extraction):
        yield f"failed: {result}"
        return
    for mention in result.mentions:
        aliases = f" = {' = '.join(mention.aliases)}" if mention.aliases else ""
        yield f"[{mention.type}] {mention.name}{aliases}"
        yield from (f"    {description}" for description in mention.descriptions)
    for link in result.relations:
        yield f"{link.subject} | {link.phrase} | {link.object}\n    {link.sentence}"


def _record(
    options: argparse.Namespace,
    method: Method,
    figures: Figures,
    usage: Usage,
    seconds: float,
    sample: Sequence[Reference],
    results: Sequence[Extraction | Exception],
) -> dict[str, Any]:
    agreements = {
        name: {"precision": value.precision, "recall": value.recall}
        for name in Figures.__dataclass_fields__
        if isinstance(value := getattr(figures, name), Agreement)
    }
    return {
        "note": NOTE,
        "method": {**asdict(method), "settings": dict(method.settings)},
        "sample": {
            "reference": options.reference.name,
            "documents": len(sample),
            "seed": options.seed,
        },
        "agreement": agreements,
        "figures": asdict(figures),
        "usage": asdict(usage),
        "seconds_a_document": seconds / max(len(sample), 1),
        "extractions": [
            {
                "title": reference.document.title,
                "text": reference.document.text,
                **(asdict(r) if isinstance(r, Extraction) else {"error": str(r)}),
            }
            for reference, r in zip(sample, results, strict=True)
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
