"""Corpora of passages, read from JSON files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.types import Source

_UNLIKE = re.compile(r"[\s\x00-\x1f\ufffd\ufffe\uffff\ud800-\udfff]+")
"""Characters that are ignored in comparisons: white space, and characters that XML forbids."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage; `id` is that of the file, else its position from 0."""

    id: str
    title: str
    text: str

    @property
    def source(self) -> Source:
        """The passage as a source for indexing."""
        return Source(self.text, self.title)


class Corpus:
    """Distinct passages by title and text, in the order of their file.

    White space is ignored in comparisons, because files differ in how they join sentences.
    """

    def __init__(self, passages: list[Passage], sha256: str = "", file: str = "") -> None:
        self.file = file
        self.sha256 = sha256
        distinct: dict[tuple[str, str], Passage] = {}
        filled = [passage for passage in passages if _bare(passage.text)]
        for passage in filled:
            distinct.setdefault((_bare(passage.title), _bare(passage.text)), passage)
        self.passages = tuple(distinct.values())
        self.empty = len(passages) - len(filled)
        self.duplicates = len(filled) - len(distinct)
        self._exact = {key: number for number, key in enumerate(distinct)}
        self._texts: dict[str, int] = {}
        self._parts: dict[tuple[str, str], int | None] = {}
        self._titled: dict[str, list[tuple[str, int]]] = {}
        for number, (title, text) in enumerate(distinct):
            self._texts.setdefault(text, number)
            self._titled.setdefault(title, []).append((text, number))

    @property
    def summary(self) -> dict[str, Any]:
        """The corpus in a report: file, SHA-256, and number of passages."""
        return {"file": self.file, "sha256": self.sha256, "passages": len(self.passages)}

    def index_of(self, title: str, text: str) -> int | None:
        """The position in `passages` of a title and text, or None.

        A passage without a title matches any title; an empty title matches the first passage with
        the text.
        """
        key = _bare(title), _bare(text)
        if key in self._exact:
            return self._exact[key]
        return self._exact.get(("", key[1])) if key[0] else self._texts.get(key[1])

    def index_of_part(self, title: str, text: str) -> int | None:
        """The position of the passage with this title and text, or else that contains the text.

        None for an empty text, or without such a passage.
        """
        if (title, text) not in self._parts:
            self._parts[title, text] = self._part(title, text)
        return self._parts[title, text]

    def _part(self, title: str, text: str) -> int | None:
        key = _bare(title), _bare(text)
        if key in self._exact or not key[1]:
            return self._exact.get(key)
        return next((n for whole, n in self._titled.get(key[0], ()) if key[1] in whole), None)


def read_corpus(path: Path) -> Corpus:
    """Read ``[{title, text}]``, its JSON Lines, ``{title: text}`` or ``{title: [sentences]}``.

    Raises `InputError`, also for a corpus without texts.
    """
    file = read_json(path)
    corpus = Corpus(list(_passages(file)), file.sha256, path.name)
    if not corpus.passages:
        raise file.error("no passage with a text")
    return corpus


def joined(value: Any) -> str | None:
    """A text, or a list of sentences joined into a text; None for other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(sentence, str) for sentence in value):
        return " ".join(sentence.strip() for sentence in value)
    return None


def _passages(file: JsonFile) -> Iterator[Passage]:
    if isinstance(file.data, dict) and not isinstance(file.data.get("text"), str):
        for position, (title, value) in enumerate(file.data.items()):
            text = joined(value)
            if text is None:
                raise file.error(f"'{title}' is neither a text nor a list of sentences")
            yield Passage(str(position), title, text)
        return
    for position, record in enumerate(file.records("text")):
        text = joined(record["text"])
        title = record.get("title") or ""
        if text is None or not isinstance(title, str):
            raise file.error(f"the title or text of record {position + 1} is not a string")
        yield Passage(str(record.get("id", position)), title, text)


def _bare(text: str) -> str:
    return _UNLIKE.sub("", text)


@dataclass(frozen=True, slots=True)
class JsonFile:
    """The data of a JSON file, or the list of values of a JSON Lines file, with its SHA-256."""

    path: Path
    sha256: str
    data: Any

    def error(self, reason: str) -> InputError:
        """An error that names the file."""
        formats = "see docs/reference/evaluation.md for the formats"
        return InputError(f"{self.path}: {reason} ({formats})")

    def records(self, key: str) -> list[dict[str, Any]]:
        """The objects of a list, or a single object; raises `InputError` for one without `key`."""
        items = [self.data] if isinstance(self.data, dict) and key in self.data else self.data
        if not isinstance(items, list):
            raise self.error(f"expected a list of objects with '{key}'")
        for position, item in enumerate(items, 1):
            if not isinstance(item, dict) or key not in item:
                raise self.error(f"record {position} is not an object with '{key}'")
        return items


def read_json(path: Path) -> JsonFile:
    """Read JSON or JSON Lines; raises `InputError`."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: save it as UTF-8") from error
    if not text.strip():
        raise InputError(f"{path} is empty: name a file that contains JSON")
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        data = _lines(path, text, error)
    return JsonFile(path, hashlib.sha256(content).hexdigest(), data)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; raises ValueError for duplicate keys."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key '{duplicate}' in an object")
    return values


def _lines(path: Path, text: str, whole: Exception) -> list[Any]:
    """One value per line. If the first line is not JSON, the error of the whole file is raised."""
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line, object_pairs_hook=_object))
        except (ValueError, RecursionError) as error:
            reason = f"line {number}: {error}" if values else str(whole)
            raise InputError(f"{path} is not valid JSON ({reason}): correct it") from error
    return values
