"""Writes Wikibase exports (RDF, JSON, QuickStatements), after assigning ids to new entities."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Self

import pyoxigraph as ox

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.vocab import DCTERMS, PREFIXES, text_of
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.plugins.wikibase.contents import collect_contents
from sarag_rdf.plugins.wikibase.entities import Export, equivalences, prepare_export
from sarag_rdf.plugins.wikibase.numbers import write_numbers
from sarag_rdf.plugins.wikibase.quickstatements import commands, read_targets
from sarag_rdf.plugins.wikibase.rdf import Flavor, dump_header, dump_triples
from sarag_rdf.plugins.wikibase.vocabulary import CC, GEO, Vocabulary

SYNTAXES: Final = {"ntriples": ox.RdfFormat.N_TRIPLES, "turtle": ox.RdfFormat.TURTLE}


@dataclass(frozen=True, kw_only=True)
class WikibaseOptions(Options):
    """Options of all Wikibase exports."""

    name = "Wikibase exports"
    over: tuple[str, ...] = option(
        (),
        "Wikibase formats: export this imported graph ('documents' for the indexed documents).",
    )
    typed: int = option(
        0,
        "Wikibase formats: create a property for each phrase that occurs in at least this many "
        "statements. Default: 0, for none.",
        ge=0,
    )
    namespace: str = option(
        "",
        "Wikibase formats: IRI prefix of entity/, prop/ and so on. Default: wikibase/ below the "
        "base of the graph.",
    )

    def vocabulary(self, minter: Minter) -> Vocabulary:
        """The vocabulary of the export. Raises `UsageError` for an invalid namespace."""
        top = Minter.for_base(self.namespace).base if self.namespace else f"{minter.base}wikibase/"
        return Vocabulary(f"{top}entity/")


@dataclass(frozen=True, kw_only=True)
class RdfOptions(WikibaseOptions):
    """Options of the RDF of a Wikibase dump."""

    flavor: Flavor = option(
        "full",
        "wikibase: full statements, or only their values (truthy).",
        choices=("full", "truthy"),
    )
    syntax: str = option("ntriples", "RDF syntax.", choices=tuple(SYNTAXES), flag=None)


@dataclass(frozen=True, kw_only=True)
class QuickStatementsOptions(WikibaseOptions):
    """Options of QuickStatements; in Python, the table may be a mapping."""

    table: Path | None = option(
        None,
        "quickstatements: a table that maps ids of this export to ids in the target.",
        flag="--properties",
    )
    targets: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any], **other: Any) -> Self:
        """The options; a mapping as `table` is the `targets`."""
        if isinstance(values.get("table"), Mapping):
            return super().of({**values, "table": None}, targets=values["table"], **other)
        return super().of(values, **other)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.table is not None:
            object.__setattr__(self, "targets", read_targets(self.table))


def _export_of(graph: ExportedGraph, options: WikibaseOptions) -> tuple[Export, Vocabulary]:
    export = open_export(
        lambda: graph.read(options.over or (DOCUMENTS,)), graph.write, typed=options.typed
    )
    return export, options.vocabulary(export.reader.minter)


def _write_rdf(graph: ExportedGraph, output: IO[bytes], options: RdfOptions) -> None:
    export, vocabulary = _export_of(graph, options)
    prefixes = {**PREFIXES, "cc": CC.base, "geo": GEO.base, **vocabulary.prefixes()}
    syntax = SYNTAXES[options.syntax]
    ox.serialize(triples(export, vocabulary, options.flavor), output, syntax, prefixes=prefixes)


def _write_json(graph: ExportedGraph, output: IO[bytes], options: WikibaseOptions) -> None:
    output.writelines(_json(*_export_of(graph, options)))


def _write_commands(
    graph: ExportedGraph, output: IO[bytes], options: QuickStatementsOptions
) -> None:
    for line in commands(*_export_of(graph, options), options.targets):
        output.write(line.encode() + b"\n")


def triples(export: Export, vocabulary: Vocabulary, flavor: Flavor = "full") -> Iterator[ox.Triple]:
    """The header, for the common node of dumps and that of this dump, then every entity."""
    modified, license_ = export.page_info[1], _license(export.reader)
    yield from dump_header(modified, license_=license_)
    dump = ox.NamedNode(vocabulary.top + "dump")
    yield from dump_header(modified, license_=license_, dump=dump)
    yield from dump_triples(export.entities(vocabulary), vocabulary, flavor)
    yield from equivalences(export, vocabulary)


def _license(reader: GraphReader) -> str:
    """The IRI of the license of the documents, if they are exported and have one; else empty."""
    if all(part.name != DOCUMENTS for part in reader.parts):
        return ""
    node = reader.minter.knowledge_graph
    licenses = (
        text_of(quad.object)
        for quad in reader.store.quads(reader.minter.meta_graph)
        if quad.predicate == DCTERMS.license and quad.subject == ox.NamedNode(node)
    )
    return min(licenses, default="")


def _json(export: Export, vocabulary: Vocabulary) -> Iterator[bytes]:
    """A JSON array with one entity per line."""
    between = b"[\n"
    for entity in export.entities(vocabulary):
        text = json.dumps(entity.data, ensure_ascii=False, separators=(",", ":"))
        yield between + text.encode()
        between = b",\n"
    yield b"\n]\n"


OpenReader = Callable[[], GraphReader]
OpenWriter = Callable[[], AbstractContextManager[GraphReader]]


def open_export(read: OpenReader, write: OpenWriter, *, typed: int = 0) -> Export:
    """Prepare a graph for export, with ids for all entities.

    `read` opens the current graph for reading; `write` opens it for writing and is called only if
    ids are missing. A phrase with at least `typed` statements gets its own property; 0 means none.
    If others change the graph during preparation, it is read again.
    """
    while True:
        reader = read()
        contents, before = collect_contents(reader, typed=typed), read_meta(reader.store)
        export = prepare_export(reader, contents)
        if not export.added:
            return export
        with write() as writer:
            write_numbers(writer, prepare_export(writer, contents).added)
        reader = read()
        if read_meta(reader.store) == before:
            return prepare_export(reader, contents)


_SUFFIXES = {suffix: {"syntax": "turtle"} for suffix in (".ttl", ".turtle")}
RDF = Exporter(_write_rdf, RdfOptions, _SUFFIXES)
JSON = Exporter(_write_json, WikibaseOptions)
QUICKSTATEMENTS = Exporter(_write_commands, QuickStatementsOptions)
