"""Imports Wikibase dumps; JSON dumps are read one entity at a time, with filters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
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
INSTANCE_OF: Final = "P31"
_ENTITY_TYPES = ("item", "property")


@dataclass(frozen=True, kw_only=True)
class DumpOptions(ImportOptions):
    """Which entities and statements of a JSON dump are imported; `languages` selects texts.

    Documents of properties are always imported, as items are described with them.
    """

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

    def selected(self, data: Json) -> dict[str, Any] | None:
        """The document with the selected texts and claims, or None if it is not selected."""
        if self.types and data.get("type") == "item" and not self._has_type(data):
            return None
        selected = dict(data)
        if self.languages:
            for key in ("labels", "descriptions", "aliases"):
                texts = mapping(data, key).items()
                selected[key] = {code: text for code, text in texts if code in self.languages}
        if self.properties:
            claims = mapping(data, "claims").items()
            selected["claims"] = {id_: group for id_, group in claims if id_ in self.properties}
        return selected

    def _has_type(self, data: Json) -> bool:
        return any(
            statement.get("rank") != "deprecated"
            and statement["mainsnak"]["snaktype"] == "value"
            and entity_id(statement["mainsnak"]["datavalue"]["value"]) in self.types
            for statement in mapping(data, "claims").get(INSTANCE_OF, ())
        )


def read_entities(
    path: Path | str, options: DumpOptions | None = None, max_expansion: int = MAX_EXPANSION
) -> Iterator[Entity]:
    """The selected entities of a dump, in order.

    Raises `InputError`, with the line, for a file that is not a dump, or is damaged or truncated.
    """
    file = Path(path)
    try:
        with file.open("rb") as raw, unpacked(raw, max_expansion) as stream:
            yield from _Reader(file, raw, stream, options or DumpOptions()).entities()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error


class _Reader:
    """Reads one file once."""

    def __init__(self, file: Path, raw: IO[bytes], stream: IO[bytes], options: DumpOptions) -> None:
        self._file, self._raw, self._stream, self._options = file, raw, stream, options
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
        documents = self._lines if by_line else self._whole
        for data in documents(body + b"\n", array=array):
            with self._checked("document"):
                selected = self._options.selected(data)
                self._last = Entity(data).id
            if selected is not None:
                yield Entity(selected, self._raw.tell())

    def _next(self) -> bytes:
        """The next line; an empty one at the end of the file."""
        self._begin = self._position
        with self._checked("line"):
            line = self._stream.readline()
        self._line += 1
        self._position += len(line)
        return line

    def _lines(self, text: bytes, *, array: bool) -> Iterator[dict[str, Any]]:
        """Documents with one per line; an array must be closed."""
        open_ = array
        while text:
            text = text.strip()
            if text and array and not open_:
                self._fail("text after the end of the array")
            if array and text.endswith(b"]"):
                open_, text = False, text[:-1].rstrip()
            if text:
                with self._checked("line"):
                    data = json.loads(text.removesuffix(b","))
                if not isinstance(data, dict):
                    self._fail("the line is not an entity document")
                yield data
            text = self._next()
        if open_:
            self._fail("the array of entities is not closed: the file is truncated")

    def _whole(self, first: bytes, *, array: bool) -> Iterator[dict[str, Any]]:
        """Documents of a file that is parsed at once."""
        with self._checked("file"):
            data = json.loads((b"[" if array else b"") + first + self._stream.read())
        if isinstance(data, dict):
            entities = data.get("entities", [data])
            data = list(entities.values()) if isinstance(entities, dict) else entities
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            self._fail("the file has no entity documents")
        yield from data

    @contextmanager
    def _checked(self, what: str) -> Iterator[None]:
        """Errors in this block name the place in the file; `what` is line, file or document."""
        try:
            yield
        except InputError as error:
            self._fail(str(error), error)
        except TOO_SHORT_OR_DAMAGED as error:
            self._fail("the compressed data is truncated or damaged", error)
        except OSError as error:
            self._fail(f"the compressed data is damaged ({error})", error)
        except RecursionError as error:
            self._fail(f"the {what} is nested too deeply", error)
        except ValueError as error:
            self._fail(f"the {what} is not JSON ({error}): it is damaged or truncated", error)
        except (KeyError, TypeError, AttributeError) as error:
            self._fail(f"the {what} is not a valid Wikibase document ({error})", error)

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
    for entity in read_entities(file.path, options, file.max_expansion):
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
