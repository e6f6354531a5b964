"""Extraction read from a file in the JSON format of HippoRAG (OSU-NLP-Group/HippoRAG).

::

    {"docs": [{"title": "...", "text": "...", "passage": "title, line break, text",
               "extracted_entities": ["..."],
               "extracted_triples": [["subject", "phrase", "object"]]}]}

`title` and `text` may be absent. Open information extraction knows no types, so every mention
is of the type "misc".
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.errors import ExtractionFormatError, InputError
from sarag_rdf.extract.names import lead_name, short_names_of_lead, without_bracket
from sarag_rdf.extract.sentences import MAX_SENTENCES, describe, naming, split_sentences
from sarag_rdf.iris import normalize_name
from sarag_rdf.options import Options
from sarag_rdf.types import Document, Extraction, Mention, Method, Relation

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the file holds for one passage; white space folded everywhere.

    `malformed` counts triples that are not three non-empty strings.
    """

    title: str
    text: str
    passage: str
    entities: tuple[str, ...]
    triples: tuple[Triple, ...]
    malformed: int = 0


@dataclass(frozen=True, kw_only=True)
class OpenIEOptions(Options):
    """`OpenIEExtractor` has a file instead of options."""

    name = "openie"


class OpenIEExtractor:
    """Extractions from a file of passages, by the text of a passage or of a chunk of it.

    Raises `ExtractionFormatError` for a file of another shape, `InputError` for one that cannot
    be read. A document that the file does not know is yielded as an `InputError`.
    """

    options = OpenIEOptions

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        self._method = Method("openie", path.name, hashlib.sha256(content).hexdigest())
        self._missing_documents = 0
        self._placed: defaultdict[Entry, set[Triple]] = defaultdict(set)
        self._repeated = 0
        self._entries = [self._entry(path, place, doc) for place, doc in _docs(path, content)]
        self._by_text = {entry.text: entry for entry in reversed(self._entries)}
        self._by_text |= {entry.passage: entry for entry in reversed(self._entries)}

    @property
    def method(self) -> Method:
        return self._method

    @property
    def discarded(self) -> Counter[str]:
        """Triples of the passages so far that no extraction holds, by reason."""
        return +Counter(
            {
                "triples that are not three texts": sum(e.malformed for e in self._placed),
                "relationships between names that are in no chunk together": sum(
                    len(set(entry.triples) - placed) for entry, placed in self._placed.items()
                ),
                "repeated relationships": self._repeated,
            }
        )

    @property
    def missing_documents(self) -> int:
        """How many documents so far had no entry in the file."""
        return self._missing_documents

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result a document, in order."""
        for document in documents:
            found = self._find(document)
            if found is None:
                self._missing_documents += 1
                name = document.title or _fold(document.text)[:60] or document.iri
                yield InputError(f"no extraction for {name} in {self._method.model}")
            else:
                extraction = _extraction(document, *found)
                self._repeated += len(found[1]) - len(extraction.relations)
                yield extraction

    def _find(self, document: Document) -> tuple[Sequence[str], Sequence[Triple]] | None:
        text = _fold(document.text)
        for whole in (_fold(document.titled_text), text):
            if entry := self._by_text.get(whole):
                self._placed[entry] |= set(entry.triples)
                return entry.entities, entry.triples
        within = [entry for entry in self._entries if text in entry.passage] if text else []
        same_title = [entry for entry in within if entry.title == _fold(document.title)]
        if not within:
            return None
        entry = (same_title or within)[0]
        words = _key(document.titled_text)
        triples = [t for t in entry.triples if _key(t[0]) in words and _key(t[2]) in words]
        self._placed[entry] |= set(triples)
        return [name for name in entry.entities if _key(name) in words], triples

    def _entry(self, path: Path, place: int, doc: Any) -> Entry:
        if not isinstance(doc, dict):
            raise _format_error(path, f"docs[{place}] is not an object")
        for key in ("extracted_entities", "extracted_triples"):
            if not isinstance(doc.get(key), list):
                raise _format_error(path, f"docs[{place}] has no list '{key}'")
        whole = doc.get("passage")
        first, _, rest = whole.partition("\n") if isinstance(whole, str) else ("", "", "")
        title = _string(doc.get("title")) or _fold(first if rest else "")
        text = _string(doc.get("text")) or _fold(rest or first)
        if not text:
            raise _format_error(path, f"docs[{place}] has neither 'passage' nor 'text'")
        triples = [_triple(value) for value in doc["extracted_triples"]]
        return Entry(
            title,
            text,
            _string(whole) or _fold(f"{title} {text}"),
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


def _fold(text: str) -> str:
    return " ".join(text.split())


def _string(value: Any) -> str:
    return _fold(value) if isinstance(value, str) else ""


def _triple(value: Any) -> Triple | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    subject, phrase, object_ = map(_string, value)
    return (subject, phrase, object_) if subject and phrase and object_ else None


def _key(text: str) -> str:
    return f" {normalize_name(text)} "


def _extraction(
    document: Document, entities: Sequence[str], triples: Sequence[Triple]
) -> Extraction:
    """Mentions are the title, the entities, and ends of triples that are not among them.

    What an untitled document opens with stands for its title.
    """
    title = _fold(document.title) or lead_name(document.text)
    short = short_names_of_lead(document.text)
    ends = (end for subject, _, object_ in triples for end in (subject, object_))
    names: dict[str, str] = {}
    for name in (*([title] if title else []), *entities, *ends):
        names.setdefault(normalize_name(name), name)
    sentences = split_sentences(document.text)
    mentions = []
    for name in names.values():
        about = sentences[:MAX_SENTENCES] if name == title else naming([name], sentences)
        bare = without_bracket(name) if name == title else name
        others = (bare, *short) if name == title else ()
        aliases = tuple(dict.fromkeys(other for other in others if other and other != name))
        mentions.append(Mention(name, "misc", aliases, describe(name, about)))
    relations = dict.fromkeys(
        Relation(names[normalize_name(subject)], phrase, names[normalize_name(object_)])
        for subject, phrase, object_ in triples
    )
    return Extraction(tuple(mentions), tuple(relations))
