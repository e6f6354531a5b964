"""Extraction read from a file in the JSON format of HippoRAG (OSU-NLP-Group/HippoRAG).

::

    {"docs": [{"title": "...", "text": "...", "passage": "title, line break, text",
               "extracted_entities": ["..."],
               "extracted_triples": [["subject", "phrase", "object"]]}]}

`title` and `text` are optional. Open information extraction has no entity types, so every mention
has the type "misc".
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import ExtractionFormatError, InputError, UsageError
from sarag_rdf.base.files import read_bytes
from sarag_rdf.base.iris import normalize_name, strip_disambiguation
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import Services
from sarag_rdf.base.types import Document, EntityType, Extraction, Mention, Method, Relation
from sarag_rdf.extraction.names import (
    MAX_SENTENCES,
    build_descriptions,
    short_names_of_person,
    topic_name,
)
from sarag_rdf.extraction.text_values import parse_value
from sarag_rdf.plugins.named_sentences import WordMatcher, sentences_with_name, split_sentences

MAX_BYTES = 1 << 30
"""Maximum size of a file, which has the extractions of a whole corpus."""

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PassageExtraction:
    """The extraction of one passage, with all white space collapsed.

    `malformed` is the number of triples that are not three non-empty strings.
    """

    title: str
    text: str
    passage: str
    entities: tuple[str, ...]
    triples: tuple[Triple, ...]
    malformed: int = 0


@dataclass(frozen=True, kw_only=True)
class OpenIEOptions(Options):
    """Options of `OpenIEExtractor`, which are written ``openie:FILE``."""

    name = "openie"
    argument = "file"
    file: str | None = option(None, "JSON file of extractions.")


class OpenIEExtractor:
    """Looks up extractions in a file, for documents that are its passages or chunks of them.

    Raises `ExtractionFormatError` for a file of the wrong format, and `InputError` for one that
    cannot be read. The result of a document that is not in the file is an `InputError`.
    """

    options = OpenIEOptions

    def __init__(self, path: Path) -> None:
        content = read_bytes(path, MAX_BYTES)
        self.method = Method("openie", path.name, hashlib.sha256(content).hexdigest())
        self.missing_documents = 0
        """The number of documents so far that are not in the file."""
        self._extracted: defaultdict[PassageExtraction, set[Triple]] = defaultdict(set)
        self._passages = [_passage(path, number, doc) for number, doc in _docs(path, content)]
        self._by_text = {passage.text: passage for passage in reversed(self._passages)}
        self._by_text |= {passage.passage: passage for passage in reversed(self._passages)}

    @classmethod
    def build(cls, options: OpenIEOptions, services: Services) -> OpenIEExtractor:  # noqa: ARG003
        """The extractor of the file; raises `UsageError` without one."""
        if not options.file:
            raise UsageError("openie needs a file: write openie:FILE")
        return cls(Path(options.file))

    @property
    def discarded(self) -> Counter[str]:
        """Counts of the triples of the passages so far that are not in an extraction, by reason."""
        apart = sum(len({*p.triples} - triples) for p, triples in self._extracted.items())
        return +Counter(
            {
                "malformed triples": sum(passage.malformed for passage in self._extracted),
                "relationships between names in different chunks": apart,
            }
        )

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result per document, in order."""
        for document in documents:
            items = self._look_up(document)
            if items is None:
                self.missing_documents += 1
                name = document.title or _collapse(document.text)[:60] or document.iri
                yield InputError(f"no extraction for {name} in {self.method.model}")
            else:
                yield _extraction(document, *items)

    def _look_up(self, document: Document) -> tuple[Sequence[str], Sequence[Triple]] | None:
        """Entities and triples of a document: those of its passage whose names it contains."""
        text = _collapse(document.text)
        for whole in (_collapse(document.titled_text), text):
            if passage := self._by_text.get(whole):
                self._extracted[passage] |= set(passage.triples)
                return passage.entities, passage.triples
        containing = [p for p in self._passages if text in p.passage] if text else []
        same_title = [p for p in containing if p.title == _collapse(document.title)]
        if not containing:
            return None
        passage = (same_title or containing)[0]
        words = WordMatcher(document.titled_text)
        triples = [t for t in passage.triples if words.contains(t[0]) and words.contains(t[2])]
        self._extracted[passage] |= set(triples)
        return list(filter(words.contains, passage.entities)), triples


def _passage(path: Path, number: int, doc: Any) -> PassageExtraction:
    """Parse item `number` of ``docs``; raises `ExtractionFormatError`."""
    if not isinstance(doc, dict):
        raise _format_error(path, f"docs[{number}] is not an object")
    for key in ("extracted_entities", "extracted_triples"):
        if not isinstance(doc.get(key), list):
            raise _format_error(path, f"docs[{number}] has no list '{key}'")
    whole = doc.get("passage")
    first, _, rest = whole.partition("\n") if isinstance(whole, str) else ("", "", "")
    title = _string(doc.get("title")) or _collapse(first if rest else "")
    text = _string(doc.get("text")) or _collapse(rest or first)
    if not text:
        raise _format_error(path, f"docs[{number}] has neither 'passage' nor 'text'")
    triples = [_triple(value) for value in doc["extracted_triples"]]
    return PassageExtraction(
        title,
        text,
        _string(whole) or _collapse(f"{title} {text}"),
        tuple(name for value in doc["extracted_entities"] if (name := _string(value))),
        tuple(triple for triple in triples if triple),
        triples.count(None),
    )


def _docs(path: Path, content: bytes) -> Iterator[tuple[int, Any]]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _format_error(path, f"not JSON ({error})") from error
    docs = data.get("docs") if isinstance(data, dict) else None
    if not isinstance(docs, list):
        raise _format_error(path, "the top level has no list 'docs'")
    return enumerate(docs)


def _format_error(path: Path, reason: str) -> ExtractionFormatError:
    return ExtractionFormatError(
        f"{path} is not an extraction file: {' '.join(reason.split())}; expected "
        '{"docs": [{"passage", "extracted_entities", "extracted_triples"}]}'
    )


def _collapse(text: str) -> str:
    """The text with every run of white space replaced by one space."""
    return " ".join(text.split())


def _string(value: Any) -> str:
    return _collapse(value) if isinstance(value, str) else ""


def _triple(value: Any) -> Triple | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    subject, phrase, object_ = map(_string, value)
    return (subject, phrase, object_) if subject and phrase and object_ else None


def _extraction(
    document: Document, entities: Sequence[str], triples: Sequence[Triple]
) -> Extraction:
    """Mentions are the title, the entities, and other subjects and objects of the triples.

    A document without a title is titled by the name at its start.
    """
    ends = [end for subject, _, object_ in triples for end in (subject, object_)]
    title = topic_name(document.title, document.text, [*entities, *ends])
    short_names = short_names_of_person(document.text)
    names: dict[str, str] = {}
    for name in (*([title] if title else []), *entities, *ends):
        names.setdefault(normalize_name(name), name)
    sentences = split_sentences(document.text)
    mentions = []
    for name in names.values():
        aliases: tuple[str, ...] = ()
        about = sentences_with_name([name], sentences)
        if name == title:
            about = sentences[:MAX_SENTENCES]
            others = (strip_disambiguation(name), *short_names)
            aliases = tuple(dict.fromkeys(other for other in others if other and other != name))
        type_: EntityType = "time" if name != title and parse_value(name, "date") else "misc"
        mentions.append(Mention(name, type_, aliases, build_descriptions(name, about)))
    relations = (
        Relation(names[normalize_name(subject)], phrase, names[normalize_name(object_)])
        for subject, phrase, object_ in triples
    )
    return Extraction(tuple(mentions), tuple(relations))
