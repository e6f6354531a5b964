"""Wikidata5M, which comes as lists and texts, as truthy Wikibase RDF.

A folder has files of four kinds, tab-separated and in UTF-8, packed or not: triples (``Q22686 P39
Q11696``), a text for each entity (``Q22686 text``), and the names of entities and of relations
(``Q22686 name name ...``), of which the first is the label. Files are recognised by ``text``,
``entity`` and ``relation`` in their names; all others are triples. They are read line by line, so
that memory does not grow with them.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import Literal, NamedNode

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import ScratchFolder
from sarag_rdf.base.ports import Progress, silent
from sarag_rdf.base.vocab import RDF, RDFS, SKOS, WIKIBASE_SCHEMA
from sarag_rdf.building.graph_import import Importer, rdf_blocks
from sarag_rdf.graph.store.input_files import READ_ERRORS, input_file, unpacked

_LANGUAGE = "en"
_ENTITIES = "http://www.wikidata.org/entity/"
_DIRECT = "http://www.wikidata.org/prop/direct/"
_WIKIBASE = "http://wikiba.se/ontology#"
_SUFFIXES = {".txt", ".tsv", ".gz", ".bz2", ".xz"}
_ENTITY, _RELATION = re.compile(r"Q[1-9]\d*"), re.compile(r"P[1-9]\d*")
_ID = re.compile(r"[QP][1-9]\d*")
_LINES = 10_000
"""Lines between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Wikidata5MFiles:
    """The files of a folder by their content."""

    triples: tuple[Path, ...]
    texts: tuple[Path, ...]
    names: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> Wikidata5MFiles:
        """Raises `UsageError` for another place, `InputError` if files are missing."""
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder: give the folder with the files")
        files = [p for p in sorted(folder.iterdir()) if p.is_file() and p.suffix in _SUFFIXES]
        texts = tuple(path for path in files if "text" in path.name)
        names = tuple(p for p in files if "entity" in p.name or "relation" in p.name)
        triples = tuple(path for path in files if path not in (*texts, *names))
        missing = [
            what
            for what, paths in (("triples", triples), ("names of entities", names))
            if not paths
        ]
        if missing:
            raise InputError(
                f"no file with {' and '.join(missing)} in {folder}: unpack the archives of "
                "Wikidata5M (triples, text and aliases) into one folder"
            )
        return cls(triples, texts, names)


@contextmanager
def converted(folder: Path, max_expansion: int, progress: Progress = silent) -> Iterator[Path]:
    """A packed file of N-Triples with all files of a folder, which is deleted afterwards.

    Equal files give equal bytes. Raises `InputError` for a line of another form, `UsageError`.
    """
    files = Wikidata5MFiles.of(folder)
    with ScratchFolder("import") as scratch:
        path = scratch.path / "wikidata5m.nt.gz"
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as output:
            for lines in _ntriples(files, max_expansion, progress):
                output.write("".join(f"{line} .\n" for line in lines).encode())
        yield path


def _ntriples(
    files: Wikidata5MFiles, max_expansion: int, progress: Progress
) -> Iterator[list[str]]:
    """Triples of one line of input each, without their ends."""
    named: set[str] = set()
    used: set[str] = set()
    for path in files.names:
        for location, line in _lines(path, max_expansion, progress):
            id_, *names = [part.strip() for part in line.split("\t")]
            names = list(dict.fromkeys(filter(None, names)))
            if not _ID.fullmatch(id_) or not names:
                raise _unreadable(location, "an id and names")
            if id_[0] == "P":
                named.add(id_)
                yield [*_property(id_), *_names(id_, names)]
            else:
                yield _names(id_, names)
    for path in files.texts:
        for location, line in _lines(path, max_expansion, progress):
            id_, _, text = line.partition("\t")
            if not _ENTITY.fullmatch(id_) or not text.strip():
                raise _unreadable(location, "the id of an entity and a text")
            yield [f"{_node(id_)} {WIKIBASE_SCHEMA.description} {_literal(text.strip())}"]
    for path in files.triples:
        for location, line in _lines(path, max_expansion, progress):
            parts = line.split("\t")
            kinds = (_ENTITY, _RELATION, _ENTITY)
            if len(parts) != len(kinds) or not all(
                kind.fullmatch(part) for kind, part in zip(kinds, parts, strict=True)
            ):
                raise _unreadable(location, "the ids of an entity, a relation and an entity")
            head, relation, tail = parts
            used.add(relation)
            yield [f"{_node(head)} {NamedNode(_DIRECT + relation)} {_node(tail)}"]
    for relation in sorted(used - named):
        yield _property(relation)


def _lines(path: Path, max_expansion: int, progress: Progress) -> Iterator[tuple[str, str]]:
    """(place, line) for each line that is not empty."""
    advance, position = progress(f"converting {path.name}", path.stat().st_size), 0
    number = 0
    with input_file(str(path), max_expansion) as file:
        try:
            with unpacked(file) as (stream, raw):
                for number, data in enumerate(stream, start=1):
                    if number % _LINES == 0:
                        advance(raw.tell() - position)
                        position = raw.tell()
                    line = data.decode("utf-8").rstrip("\r\n")
                    if line.strip():
                        yield f"line {number:,} of {path}", line
        except UnicodeDecodeError as error:
            raise InputError(
                f"line {number:,} of {path} is not UTF-8: check that the file is unpacked"
            ) from error
        except READ_ERRORS as error:
            raise InputError(f"{path} cannot be read: {error}: get the file again") from error
    advance(path.stat().st_size - position)


def _names(id_: str, names: list[str]) -> list[str]:
    label, *aliases = names
    return [
        f"{_node(id_)} {RDFS.label} {_literal(label)}",
        *(f"{_node(id_)} {SKOS.altLabel} {_literal(alias)}" for alias in aliases),
    ]


def _property(id_: str) -> list[str]:
    """The declaration of a relation, by which its statements are read."""
    node = _node(id_)
    return [
        f"{node} {RDF.type} <{_WIKIBASE}Property>",
        f"{node} <{_WIKIBASE}propertyType> <{_WIKIBASE}WikibaseItem>",
        f"{node} <{_WIKIBASE}directClaim> {NamedNode(_DIRECT + id_)}",
    ]


def _node(id_: str) -> NamedNode:
    return NamedNode(_ENTITIES + id_)


def _literal(text: str) -> Literal:
    return Literal(text, language=_LANGUAGE)


def _unreadable(location: str, expected: str) -> InputError:
    return InputError(
        f"{location} is not {expected}, separated by tabs: check that the folder has the files "
        "of Wikidata5M and no others"
    )


IMPORTER = Importer(
    "the folder of Wikidata5M", rdf_blocks, vocabulary="wikibase", converted=converted
)
