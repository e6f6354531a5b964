"""Reads Wikibase JSON dumps one entity at a time, with filters."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from sarag_rdf.compression import MAX_EXPANSION, TOO_SHORT_OR_DAMAGED, unpacked
from sarag_rdf.errors import InputError
from sarag_rdf.wikibase.model import Entity, Json, entity_id, mapping

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_entities(
    path: Path | str,
    *,
    languages: Collection[str] = (),
    types: Collection[str] = (),
    properties: Collection[str] = (),
    skip: int = 0,
    max_expansion: int = MAX_EXPANSION,
) -> Iterator[Entity]:
    """Entities of a dump in its order; for what the filters keep see `Filter`.

    `skip` is the `position` of the last entity that was read before: reading goes on behind it.
    Raises `InputError`, which names the place, for a file that is no dump, broken, or cut off.
    """
    keep = Filter(frozenset(languages), frozenset(types), frozenset(properties))
    file = Path(path)
    try:
        with file.open("rb") as raw, unpacked(raw, max_expansion) as stream:
            yield from _Reader(file, raw, stream, keep).entities(skip)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error


class _Reader:
    """One pass over one file."""

    def __init__(self, file: Path, raw: IO[bytes], stream: IO[bytes], keep: Filter) -> None:
        self._file, self._raw, self._stream, self._keep = file, raw, stream, keep
        self._line = 0
        self._begin = 0
        self._position = 0
        self._last = ""

    def entities(self, skip: int) -> Iterator[Entity]:
        first = self._next()
        while first and not first.strip():
            first = self._next()
        text = first.removeprefix(_BYTE_ORDER_MARK).strip()
        if not text:
            raise InputError(f"{self._file} is empty: export it anew")
        array = text.startswith(b"[")
        body = (text[1:] if array else text).strip()
        if array and not body:
            body = self._next().strip()
            by_line = body != b"{"
        else:
            by_line = body == b"]" or _is_document(body)
        read = self._lines if by_line else self._whole
        yield from read(body + b"\n", skip, array=array)

    def _next(self) -> bytes:
        """The next line; an empty one at the end of the file."""
        self._begin = self._position
        try:
            line = self._stream.readline()
        except TOO_SHORT_OR_DAMAGED as error:
            self._fail("the compressed data ends too early or is damaged", error)
        except OSError as error:
            self._fail(f"the compressed data is damaged ({error})", error)
        self._line += 1
        self._position += len(line)
        return line

    def _lines(self, text: bytes, skip: int, *, array: bool) -> Iterator[Entity]:
        """Entities one a line; an array must end."""
        if skip:
            self._seek(skip)
            text = b"\n"
        open_ = array
        while text:
            text = text.strip()
            if text and array and not open_:
                self._fail("text stands behind the end of the array")
            if array and text.endswith(b"]"):
                open_, text = False, text[:-1].rstrip()
            if text:
                yield from self._entity(text.removesuffix(b","))
            text = self._next()
        if open_:
            self._fail("the file ends before the array of entities does: it is cut off")

    def _seek(self, skip: int) -> None:
        """Go on behind an earlier position; lines are counted from there."""
        try:
            self._position = self._stream.seek(skip)
        except (*TOO_SHORT_OR_DAMAGED, OSError) as error:
            self._fail("the compressed data ends too early or is damaged", error)
        if self._position != skip:
            raise InputError(f"{self._file} has no byte {skip}: begin at its start again")

    def _entity(self, text: bytes) -> Iterator[Entity]:
        try:
            data = json.loads(text)
        except RecursionError as error:
            self._fail("the line is nested too deeply", error)
        except ValueError as error:
            self._fail(f"the line is no JSON ({error}): it is damaged or cut off", error)
        if not isinstance(data, dict):
            self._fail("the line holds no entity document")
        yield from self._kept(data, self._position)

    def _kept(self, data: dict[str, Any], position: int) -> Iterator[Entity]:
        try:
            left = self._keep(data)
            self._last = Entity(data).id
        except (KeyError, TypeError, AttributeError) as error:
            self._fail(f"the document is not as Wikibase writes it ({error})", error)
        except InputError as error:
            self._fail(str(error), error)
        if left is not None:
            yield Entity(left, position, self._raw.tell())

    def _whole(self, first: bytes, skip: int, *, array: bool) -> Iterator[Entity]:
        """A file that is parsed at once; only behind its last entity reading may go on."""
        try:
            text = first + self._stream.read()
            data = json.loads(b"[" + text if array else text)
        except TOO_SHORT_OR_DAMAGED as error:
            self._fail("the compressed data ends too early or is damaged", error)
        except RecursionError as error:
            self._fail("the file is nested too deeply", error)
        except ValueError as error:
            self._fail(f"the file is no JSON dump or damaged ({error})", error)
        if isinstance(data, dict):
            held = data.get("entities", [data])
            data = list(held.values()) if isinstance(held, dict) else held
        if not isinstance(data, list) or not all(isinstance(held, dict) for held in data):
            self._fail("the file holds no entity documents")
        if skip < len(text):
            for left, document in zip(range(len(data) - 1, -1, -1), data, strict=True):
                yield from self._kept(document, 0 if left else len(text))

    def _fail(self, what: str, error: Exception | None = None) -> NoReturn:
        after = f", after {self._last}" if self._last else ""
        raise InputError(
            f"{self._file}, line {max(self._line, 1)}, byte {self._begin}{after}: {what}; "
            "download or export the file anew"
        ) from error


def _is_document(text: bytes) -> bool:
    """Whether a line holds one entity document, with what an array writes behind it or without."""
    try:
        found = json.loads(text.rstrip(b"]").rstrip().removesuffix(b","))
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "entities" not in found


INSTANCE_OF: Final = "P31"
_TEXTS: Final = ("labels", "descriptions", "aliases")


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps everything where it names nothing.

    `languages` are those of labels, descriptions and aliases; `types` ids of which an item must
    be an instance (P31, not deprecated); `properties` those whose claims are kept. Properties
    themselves are kept whatever the types: items are described with them.
    """

    languages: Collection[str] = ()
    types: Collection[str] = ()
    properties: Collection[str] = ()

    def __call__(self, data: Json) -> dict[str, Any] | None:
        """What is left of a document, or None."""
        if self.types and data.get("type") == "item" and not self._of_type(data):
            return None
        left = dict(data)
        if self.languages:
            for key in _TEXTS:
                texts = mapping(data, key).items()
                left[key] = {code: held for code, held in texts if code in self.languages}
        if self.properties:
            claims = mapping(data, "claims").items()
            left["claims"] = {id_: group for id_, group in claims if id_ in self.properties}
        return left

    def _of_type(self, data: Json) -> bool:
        for statement in mapping(data, "claims").get(INSTANCE_OF, ()):
            snak = statement["mainsnak"]
            if statement.get("rank") == "deprecated" or snak["snaktype"] != "value":
                continue
            if entity_id(snak["datavalue"]["value"]) in self.types:
                return True
        return False
