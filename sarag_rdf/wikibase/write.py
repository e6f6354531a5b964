"""Writes Wikibase exports (RDF, JSON, QuickStatements) and numbers new entities first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Final

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.vocab import PREFIXES
from sarag_rdf.wikibase.entities import Export, equivalences, prepare, survey
from sarag_rdf.wikibase.numbers import write_numbers
from sarag_rdf.wikibase.quickstatements import commands
from sarag_rdf.wikibase.rdf import Flavor, dump_header, dump_triples
from sarag_rdf.wikibase.vocabulary import CC, GEO, Vocabulary

FORMATS: Final = ("wikibase", "wikibase-json", "quickstatements")
SYNTAXES: Final = {"ntriples": ox.RdfFormat.N_TRIPLES, "turtle": ox.RdfFormat.TURTLE}


@dataclass(frozen=True, slots=True)
class Settings:
    """How an export is written.

    `namespace` is what ``entity/``, ``prop/`` and the others stand below; by default ``wikibase/``
    under the graph's base. `syntax` is that of RDF, `flavor` that of its statements. `targets` are
    the ids that own ids have in the Wikibase for which QuickStatements are meant.
    """

    namespace: str = ""
    syntax: str = "ntriples"
    flavor: Flavor = "full"
    targets: Mapping[str, str] = field(default_factory=dict)

    def vocabulary(self, minter: Minter) -> Vocabulary:
        """Raises `UsageError` for a namespace that is no base of IRIs."""
        top = Minter.for_base(self.namespace).base if self.namespace else f"{minter.base}wikibase/"
        return Vocabulary(f"{top}entity/")


def write_wikibase(
    export: Export, format_: str, output: IO[bytes], settings: Settings | None = None
) -> None:
    """Write a graph as ``wikibase``, ``wikibase-json`` or ``quickstatements``.

    Raises `UsageError` for an unknown format.
    """
    chosen = settings or Settings()
    if format_ == "wikibase":
        _write_rdf(export, output, chosen)
    elif format_ == "wikibase-json":
        for text in _json(export):
            output.write(text)
    elif format_ == "quickstatements":
        for line in commands(export, chosen.targets):
            output.write(line.encode() + b"\n")
    else:
        raise UsageError(f"unknown format '{format_}': choose one of {', '.join(FORMATS)}")


def _write_rdf(export: Export, output: IO[bytes], settings: Settings) -> None:
    vocabulary = settings.vocabulary(export.reader.minter)
    prefixes = {**PREFIXES, "cc": CC.base, "geo": GEO.base, **vocabulary.prefixes()}
    syntax = SYNTAXES[settings.syntax]
    ox.serialize(triples(export, vocabulary, settings.flavor), output, syntax, prefixes=prefixes)


def triples(export: Export, vocabulary: Vocabulary, flavor: Flavor = "full") -> Iterator[ox.Triple]:
    """The header, under the node of every dump and under one's own, then every entity."""
    modified = export.page[1]
    yield from dump_header(modified, license_="")
    yield from dump_header(modified, license_="", dump=ox.NamedNode(vocabulary.top + "dump"))
    yield from dump_triples(export.entities(), vocabulary, flavor)
    yield from equivalences(export, vocabulary)


def _json(export: Export) -> Iterator[bytes]:
    """An array with one entity a line."""
    between = b"[\n"
    for entity in export.entities():
        text = json.dumps(entity.data, ensure_ascii=False, separators=(",", ":"))
        yield between + text.encode()
        between = b",\n"
    yield b"\n]\n"


Reading = Callable[[], GraphReader]
Writing = Callable[[], AbstractContextManager[GraphReader]]


def numbered(read: Reading, write: Writing, *, typed: int = 0) -> Export:
    """A graph that is ready to be exported.

    `read` opens what is exported as it is now, `write` the graph for one writer; it is only called
    if numbers are missing. `typed` is the number of statements from which on a phrase gets a
    property of its own; 0 gives none to any. If others change the graph meanwhile, it is gone
    through again.
    """
    while True:
        reader = read()
        found, before = survey(reader, typed=typed), read_meta(reader.store)
        export = prepare(reader, found)
        if not export.added:
            return export
        with write() as writer:
            write_numbers(writer, prepare(writer, found).added)
        reader = read()
        if read_meta(reader.store) == before:
            return prepare(reader, found)
