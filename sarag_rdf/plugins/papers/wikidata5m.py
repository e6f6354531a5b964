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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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
_NAMES = re.compile(r"\s*([QP][1-9]\d*)\s*\t(.*\S.*)"), "an id and names"
_TEXT = re.compile(r"(Q[1-9]\d*)\t(.*\S.*)"), "the id of an entity and a text"
_TRIPLE = (
    re.compile(r"(Q[1-9]\d*)\t(P[1-9]\d*)\t(Q[1-9]\d*)"),
    "the ids of an entity, a relation and an entity",
)
"""The form of a line, and what it has, for a message."""
_LINES = 10_000
"""Lines between two reports of progress."""


class _Files(NamedTuple):
    names: list[Path]
    texts: list[Path]
    triples: list[Path]


def _files_of(folder: Path) -> _Files:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: give the folder with the files")
    files = [p for p in sorted(folder.iterdir()) if p.is_file() and p.suffix in _SUFFIXES]
    texts = [path for path in files if "text" in path.name]
    names = [path for path in files if "entity" in path.name or "relation" in path.name]
    triples = [path for path in files if path not in (*texts, *names)]
    found = {"triples": triples, "names of entities": names}
    if missing := [kind for kind, paths in found.items() if not paths]:
        raise InputError(
            f"no file with {' and '.join(missing)} in {folder}: unpack the archives of "
            "Wikidata5M (triples, text and aliases) into one folder"
        )
    return _Files(names, texts, triples)


@contextmanager
def converted(folder: Path, max_expansion: int, progress: Progress = silent) -> Iterator[Path]:
    """A packed file of N-Triples with all files of a folder, which is deleted afterwards.

    Equal files give equal bytes. Raises `InputError` for a line of another form or a folder without
    triples or names, and `UsageError` for what is not a folder.
    """
    files = _files_of(folder)
    with ScratchFolder("import") as scratch:
        path = scratch.path / "wikidata5m.nt.gz"
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as output:
            for lines in _ntriples(files, max_expansion, progress):
                output.write("".join(f"{line} .\n" for line in lines).encode())
        yield path


def _ntriples(files: _Files, max_expansion: int, progress: Progress) -> Iterator[list[str]]:
    """Triples of one line of input each, without their ends."""
    named: set[str] = set()
    used: set[str] = set()
    for id_, names in _lines(files.names, _NAMES, max_expansion, progress):
        label, *aliases = dict.fromkeys(filter(None, map(str.strip, names.split("\t"))))
        if id_[0] == "P":
            named.add(id_)
        yield [
            *(_property(id_) if id_[0] == "P" else ()),
            f"{_node(id_)} {RDFS.label} {_literal(label)}",
            *(f"{_node(id_)} {SKOS.altLabel} {_literal(alias)}" for alias in aliases),
        ]
    for id_, text in _lines(files.texts, _TEXT, max_expansion, progress):
        yield [f"{_node(id_)} {WIKIBASE_SCHEMA.description} {_literal(text.strip())}"]
    for head, relation, tail in _lines(files.triples, _TRIPLE, max_expansion, progress):
        used.add(relation)
        yield [f"{_node(head)} {NamedNode(_DIRECT + relation)} {_node(tail)}"]
    for relation in sorted(used - named):
        yield _property(relation)


def _lines(
    paths: Iterable[Path], form: tuple[re.Pattern[str], str], max_expansion: int, progress: Progress
) -> Iterator[tuple[str, ...]]:
    """The groups of each line that is not empty."""
    pattern, expected = form
    for path in paths:
        for location, line in _lines_of(path, max_expansion, progress):
            match = pattern.fullmatch(line)
            if match is None:
                raise InputError(
                    f"{location} is not {expected}, separated by tabs: check that the folder has "
                    "the files of Wikidata5M and no others"
                )
            yield match.groups()


def _lines_of(path: Path, max_expansion: int, progress: Progress) -> Iterator[tuple[str, str]]:
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


IMPORTER = Importer(
    "the folder of Wikidata5M", rdf_blocks, vocabulary="wikibase", converted=converted
)
