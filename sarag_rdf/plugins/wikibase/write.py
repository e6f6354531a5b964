"""Writes Wikibase exports (RDF, JSON, QuickStatements), after assigning ids to new entities."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import pyoxigraph as ox

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.exchange import Setting
from sarag_rdf.base.iris import Minter
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

FORMATS: Final = ("wikibase", "wikibase-json", "quickstatements")
SYNTAXES: Final = {"ntriples": ox.RdfFormat.N_TRIPLES, "turtle": ox.RdfFormat.TURTLE}


@dataclass(frozen=True, slots=True)
class WikibaseOptions:
    """Options of a Wikibase export.

    `namespace` is the base of ``entity/``, ``prop/`` and so on; by default ``wikibase/`` below the
    base of the graph. `syntax` is the RDF syntax, `flavor` the kind of statements. `targets` maps
    ids of the export to ids in the target Wikibase, for QuickStatements.
    """

    namespace: str = ""
    syntax: str = "ntriples"
    flavor: Flavor = "full"
    targets: Mapping[str, str] = field(default_factory=dict)

    def vocabulary(self, minter: Minter) -> Vocabulary:
        """The vocabulary of the export. Raises `UsageError` for an invalid namespace."""
        top = Minter.for_base(self.namespace).base if self.namespace else f"{minter.base}wikibase/"
        return Vocabulary(f"{top}entity/")


def write_wikibase(
    export: Export, format_: str, output: IO[bytes], options: WikibaseOptions | None = None
) -> None:
    """Write a graph as ``wikibase``, ``wikibase-json`` or ``quickstatements``.

    Raises `UsageError` for an unknown format.
    """
    options = options or WikibaseOptions()
    if format_ == "wikibase":
        _write_rdf(export, output, options)
    elif format_ == "wikibase-json":
        for text in _json(export, options.vocabulary(export.reader.minter)):
            output.write(text)
    elif format_ == "quickstatements":
        vocabulary = options.vocabulary(export.reader.minter)
        for line in commands(export, vocabulary, options.targets):
            output.write(line.encode() + b"\n")
    else:
        raise UsageError(f"unknown format '{format_}': use one of {', '.join(FORMATS)}")


def _write_rdf(export: Export, output: IO[bytes], options: WikibaseOptions) -> None:
    vocabulary = options.vocabulary(export.reader.minter)
    prefixes = {**PREFIXES, "cc": CC.base, "geo": GEO.base, **vocabulary.prefixes()}
    syntax = SYNTAXES[options.syntax]
    ox.serialize(triples(export, vocabulary, options.flavor), output, syntax, prefixes=prefixes)


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


def _exporter(format_: str, *settings: Setting) -> Exporter:
    def write(
        graph: ExportedGraph,
        output: IO[bytes],
        *,
        over: tuple[str, ...],
        typed: int,
        table: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        export = open_export(lambda: graph.read(over or (DOCUMENTS,)), graph.write, typed=typed)
        chosen = WikibaseOptions(targets=table or {}, **options)
        write_wikibase(export, format_, output, chosen)

    return Exporter(write, (*_COMMON, *settings), _SUFFIXES)


_COMMON = (
    Setting(
        "over",
        "Wikibase formats: export this imported graph ('documents' for the indexed documents).",
        (),
    ),
    Setting(
        "typed",
        "Wikibase formats: create a property for each phrase that occurs in at least this many "
        "statements. Default: 0, for none.",
        0,
    ),
    Setting(
        "namespace",
        "Wikibase formats: IRI prefix of entity/, prop/ and so on. Default: wikibase/ below the "
        "base of the graph.",
        "",
    ),
)
_RDF = (
    Setting(
        "flavor",
        "wikibase: full statements, or only their values (truthy).",
        "full",
        choices=("full", "truthy"),
    ),
    Setting("syntax", "RDF syntax.", "ntriples", flag=None, choices=("ntriples", "turtle")),
)
_SUFFIXES = {suffix: {"syntax": "turtle"} for suffix in (".ttl", ".turtle")}
RDF = _exporter("wikibase", *_RDF)
JSON = _exporter("wikibase-json")
QUICKSTATEMENTS = _exporter(
    "quickstatements",
    Setting(
        "table",
        "quickstatements: a table that maps ids of this export to ids in the target.",
        flag="--properties",
        metavar="FILE",
        read=lambda given: given if isinstance(given, Mapping) else read_targets(Path(given)),
    ),
)
