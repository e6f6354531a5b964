"""Imports Wikibase dumps; JSON dumps are read one entity at a time, with filters."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from pyoxigraph import Triple

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import MAX_EXPANSION, TOO_SHORT_OR_DAMAGED, unpacked
from sarag_rdf.base.options import option
from sarag_rdf.building.graph_import import Importer, ImportOptions, check_iri, rdf_blocks
from sarag_rdf.graph.store.input_files import InputFile, StatementBlock, triple_blocks
from sarag_rdf.plugins.wikibase.model import (
    Entity,
    Json,
    entity_id,
    grouped_snaks,
    mapping,
    statements,
)
from sarag_rdf.plugins.wikibase.rdf import entity_triples, property_triples
from sarag_rdf.plugins.wikibase.vocabulary import WIKIDATA, Vocabulary

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_entities(
    path: Path | str,
    *,
    languages: Collection[str] = (),
    types: Collection[str] = (),
    properties: Collection[str] = (),
    max_expansion: int = MAX_EXPANSION,
) -> Iterator[Entity]:
    """The entities of a dump, in order, filtered by `DumpFilter`.

    Raises `InputError`, with the line, for a file that is not a dump, or is damaged or truncated.
    """
    filter_ = DumpFilter(frozenset(languages), frozenset(types), frozenset(properties))
    file = Path(path)
    try:
        with file.open("rb") as raw, unpacked(raw, max_expansion) as stream:
            yield from _Reader(file, raw, stream, filter_).entities()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error


class _Reader:
    """Reads one file once."""

    def __init__(self, file: Path, raw: IO[bytes], stream: IO[bytes], filter_: DumpFilter) -> None:
        self._file, self._raw, self._stream, self._filter = file, raw, stream, filter_
        self._line = 0
        self._begin = 0
        self._position = 0
        self._last = ""

    def entities(self) -> Iterator[Entity]:
        first = self._next()
        while first and not first.strip():
            first = self._next()
        text = first.removeprefix(_BYTE_ORDER_MARK).strip()
        if not text:
            raise InputError(f"{self._file} is empty: export it again")
        array = text.startswith(b"[")
        body = (text[1:] if array else text).strip()
        if array and not body:
            body = self._next().strip()
            by_line = body != b"{"
        else:
            by_line = body == b"]" or _is_document(body)
        read = self._parse_lines if by_line else self._parse_at_once
        yield from read(body + b"\n", array=array)

    def _next(self) -> bytes:
        """The next line; an empty one at the end of the file."""
        self._begin = self._position
        try:
            line = self._stream.readline()
        except TOO_SHORT_OR_DAMAGED as error:
            self._fail("the compressed data is truncated or damaged", error)
        except OSError as error:
            self._fail(f"the compressed data is damaged ({error})", error)
        self._line += 1
        self._position += len(line)
        return line

    def _parse_lines(self, text: bytes, *, array: bool) -> Iterator[Entity]:
        """Entities with one per line; an array must be closed."""
        open_ = array
        while text:
            text = text.strip()
            if text and array and not open_:
                self._fail("text after the end of the array")
            if array and text.endswith(b"]"):
                open_, text = False, text[:-1].rstrip()
            if text:
                yield from self._entity(text.removesuffix(b","))
            text = self._next()
        if open_:
            self._fail("the array of entities is not closed: the file is truncated")

    def _entity(self, text: bytes) -> Iterator[Entity]:
        try:
            data = json.loads(text)
        except RecursionError as error:
            self._fail("the line is nested too deeply", error)
        except ValueError as error:
            self._fail(f"the line is not JSON ({error}): it is damaged or truncated", error)
        if not isinstance(data, dict):
            self._fail("the line is not an entity document")
        yield from self._filtered(data)

    def _filtered(self, data: dict[str, Any]) -> Iterator[Entity]:
        try:
            filtered = self._filter(data)
            self._last = Entity(data).id
        except (KeyError, TypeError, AttributeError) as error:
            self._fail(f"the document is not a valid Wikibase document ({error})", error)
        except InputError as error:
            self._fail(str(error), error)
        if filtered is not None:
            yield Entity(filtered, self._raw.tell())

    def _parse_at_once(self, first: bytes, *, array: bool) -> Iterator[Entity]:
        """Entities of a file that is parsed at once."""
        try:
            text = first + self._stream.read()
            data = json.loads(b"[" + text if array else text)
        except TOO_SHORT_OR_DAMAGED as error:
            self._fail("the compressed data is truncated or damaged", error)
        except RecursionError as error:
            self._fail("the file is nested too deeply", error)
        except ValueError as error:
            self._fail(f"the file is not a JSON dump, or damaged ({error})", error)
        if isinstance(data, dict):
            entities = data.get("entities", [data])
            data = list(entities.values()) if isinstance(entities, dict) else entities
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            self._fail("the file has no entity documents")
        for document in data:
            yield from self._filtered(document)

    def _fail(self, what: str, error: Exception | None = None) -> NoReturn:
        after = f", after {self._last}" if self._last else ""
        raise InputError(
            f"{self._file}, line {max(self._line, 1)}, byte {self._begin}{after}: {what}; "
            "download or export the file again"
        ) from error


def _is_document(text: bytes) -> bool:
    """Whether a line is one entity document, with or without the "," or "]" of an array."""
    try:
        value = json.loads(text.rstrip(b"]").rstrip().removesuffix(b","))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "entities" not in value


INSTANCE_OF: Final = "P31"
_TEXTS: Final = ("labels", "descriptions", "aliases")


@dataclass(frozen=True, slots=True)
class DumpFilter:
    """Selects items, claims and texts of a dump; an empty field selects everything.

    `languages` selects labels, descriptions and aliases; `types` selects items that are instances
    of one of these ids (P31, not deprecated); `properties` selects claims by property. Documents of
    properties are always selected, as items are described with them.
    """

    languages: Collection[str] = ()
    types: Collection[str] = ()
    properties: Collection[str] = ()

    def __call__(self, data: Json) -> dict[str, Any] | None:
        """The filtered document, or None if it is not selected."""
        if self.types and data.get("type") == "item" and not self._has_type(data):
            return None
        filtered = dict(data)
        if self.languages:
            for key in _TEXTS:
                texts = mapping(data, key).items()
                filtered[key] = {code: text for code, text in texts if code in self.languages}
        if self.properties:
            claims = mapping(data, "claims").items()
            filtered["claims"] = {id_: group for id_, group in claims if id_ in self.properties}
        return filtered

    def _has_type(self, data: Json) -> bool:
        for statement in mapping(data, "claims").get(INSTANCE_OF, ()):
            snak = statement["mainsnak"]
            if statement.get("rank") == "deprecated" or snak["snaktype"] != "value":
                continue
            if entity_id(snak["datavalue"]["value"]) in self.types:
                return True
        return False


@dataclass(frozen=True, kw_only=True)
class DumpOptions(ImportOptions):
    """Which entities and statements of a JSON dump are imported."""

    types: tuple[str, ...] = option(
        (), "JSON dumps: import only instances of this item, such as Q5.", flag="--type"
    )
    properties: tuple[str, ...] = option(
        (),
        "JSON dumps: import only statements of this property, such as P19.",
        flag="--property",
    )
    entity_base: str | None = option(
        None, "JSON dumps: IRI prefix of entities. Default: that of Wikidata."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iri(self.entity_base)


_ENTITY_TYPES = ("item", "property")


def _blocks(
    file: InputFile, options: DumpOptions, genid: str, size: int
) -> Iterator[StatementBlock]:
    """The triples of an RDF or JSON dump."""
    if file.suffix == ".json" and options.format is None:
        position = [0]
        triples = _dump_triples(file, options, position)
        yield from triple_blocks(triples, size, lambda: position[0])
        return
    if options.own():
        raise UsageError(
            "--type, --property and --entity-base apply only to Wikibase JSON dumps: omit them"
        )
    yield from rdf_blocks(file, options, genid, size)


def _dump_triples(file: InputFile, options: DumpOptions, position: list[int]) -> Iterator[Triple]:
    """The triples of a JSON dump; `position` is set to the number of bytes read so far.

    Properties that the dump uses but does not describe are declared too, as nothing else connects
    their statements with their values. Lexemes and other types of entities are skipped.
    """
    vocabulary = Vocabulary(entity=options.entity_base or WIKIDATA)
    datatypes: dict[str, str] = {}
    described: set[str] = set()
    entities = read_entities(
        file.path,
        languages=options.languages,
        types=options.types,
        properties=options.properties,
        max_expansion=file.max_expansion,
    )
    for entity in entities:
        position[0] = entity.consumed
        if "redirect" not in entity.data and entity.data.get("type") not in _ENTITY_TYPES:
            continue
        if entity.data.get("type") == "property":
            described.add(entity.id)
        datatypes |= _datatypes(entity)
        yield from entity_triples(entity, vocabulary)
    for id_ in sorted(datatypes.keys() - described):
        yield from property_triples(vocabulary, id_, datatypes[id_])


def _datatypes(entity: Entity) -> dict[str, str]:
    """Property -> datatype, from all snaks of an entity that have one."""
    snaks = []
    for _, group in statements(entity.data):
        for statement in group:
            snaks.append(statement["mainsnak"])
            snaks += grouped_snaks(statement, "qualifiers")
            for reference in statement.get("references", ()):
                snaks += grouped_snaks(reference, "snaks")
    return {s["property"]: s["datatype"] for s in snaks if "datatype" in s and "property" in s}


IMPORTER = Importer(
    "a Wikibase RDF or JSON dump", _blocks, vocabulary="wikibase", options=DumpOptions
)
