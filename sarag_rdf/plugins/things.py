"""A profile for publishing: things with their classes, names and statements, and their sources.

Evidence, mentions and values are left out. Each typed statement has a node of its own, a statement
in the sense of RDF Schema (RDF 1.1, section 5.3) with its subject, predicate and object, that one
property, ``dcterms:source``, joins to the source that states it, with the times that this gives,
and with its rank. The triple of a deprecated statement is left out, and its node is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from tempfile import TemporaryFile
from typing import IO

import pyoxigraph as ox

from sarag_rdf.base.options import Options, option
from sarag_rdf.base.vocab import (
    DCTERMS,
    OWL,
    RDF,
    RDFS,
    SARAG,
    SKOS,
    WIKIBASE,
    iri,
    iri_or_literal,
    text_of,
)
from sarag_rdf.building.link_records import identities
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.graph_reader import BATCH, GraphReader
from sarag_rdf.graph.parts import COMPLETE, imported_graphs, select_parts
from sarag_rdf.graph.valid_time import TIME_PROPERTIES, Times, stated_times
from sarag_rdf.kg.rdf_export import ontology_prefixes, prefixes_under, used_prefixes

SYNTAXES = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}


@dataclass(frozen=True, kw_only=True)
class ThingsOptions(Options):
    """Options of the profile."""

    name = "things"
    syntax: str = option("turtle", "Syntax of RDF.", choices=tuple(SYNTAXES))
    same_as: bool = option(
        False, "Write owl:sameAs instead of skos:exactMatch to items that are no skos:Concept."
    )


def _write(graph: ExportedGraph, output: IO[bytes], options: ThingsOptions) -> None:
    reader = graph.read(())
    store, minter = reader.store, reader.minter
    known = prefixes_under(minter.base) | ontology_prefixes(store, minter.base)
    if options.syntax == "turtle":
        _turtle(triples(reader, same_as=options.same_as), output, known)
        return
    prefixes = used_prefixes(store, known, {minter.kg_graph, minter.links_graph})
    prefixes |= {name: known[name] for name in ("dcterms", "rdf", "source")}
    prefixes |= {"owl": OWL.base} if options.same_as else {}
    statements = triples(reader, same_as=options.same_as)
    ox.serialize(statements, output, SYNTAXES[options.syntax], prefixes=prefixes)


_PREFIX = re.compile(rb"@prefix ([^:]*):")
_QUOTED = re.compile(rb'<[^>]*>|"(?:[^"\\]|\\.)*"')
_PREFIXED = re.compile(rb"([\w-]+):")


def _turtle(statements: Iterator[ox.Triple], output: IO[bytes], known: dict[str, str]) -> None:
    """Turtle with the prefixes that it uses, and an empty line before each subject."""
    with TemporaryFile() as file:
        ox.serialize(statements, file, ox.RdfFormat.TURTLE, prefixes=known)
        file.seek(0)
        body = (line for line in file if not _PREFIX.match(line))
        used = {name for line in body for name in _PREFIXED.findall(_QUOTED.sub(b"", line))}
        file.seek(0)
        for line in file:
            prefix = _PREFIX.match(line)
            if prefix is None or prefix[1] in used:
                output.write(line if prefix or line.startswith(b"\t") else b"\n" + line)


def _individuals(reader: GraphReader) -> set[str]:
    """The items of imported graphs with links of exact match to them that are no concepts."""
    imported = [graph.name for graph in imported_graphs(reader) if graph.state == COMPLETE]
    items = {item for _, item in identities(reader)}
    if not (imported and items):
        return set()
    rows = select_parts(reader, imported).rows_for("entity-names", items)
    concepts = reader.select_provenance_for("instances", [SKOS.Concept.value])
    return {iri(row[0]) for row in rows} - {iri(row[1]) for row in concepts}


def triples(reader: GraphReader, *, same_as: bool = False) -> Iterator[ox.Triple]:
    """Things in the order of their IRIs, then their statements, then the sources of these.

    With `same_as`, ``owl:sameAs`` leads to individuals of imported graphs, which
    ``skos:exactMatch`` would make concepts.
    """
    things = sorted({iri(row[0]) for row in reader.rows("entity-texts")})
    batches = [things[n : n + BATCH] for n in range(0, len(things), BATCH)]
    links: dict[str, list[ox.Triple]] = {}
    individuals = _individuals(reader) if same_as else set[str]()
    for quad in reader.store.quads(reader.minter.links_graph):
        is_same = quad.predicate == SKOS.exactMatch and text_of(quad.object) in individuals
        predicate = OWL.sameAs if is_same else quad.predicate
        triple = ox.Triple(quad.subject, predicate, iri_or_literal(quad.object))
        links.setdefault(iri(quad.subject), []).append(triple)
    for batch in batches:
        yield from _things(reader, batch, links)
    sources: dict[str, None] = {}
    times, ranks = stated_times(reader), dict(reader.select_provenance("ranks"))
    for batch in batches:
        yield from _statements(reader, batch, times, ranks, sources)
    titles = {iri(row[0]): row[2] for row in reader.select_provenance("source-states")}
    for source in sorted(sources):
        yield ox.Triple(ox.NamedNode(source), RDF.type, SARAG.Source)
        if titles.get(source) is not None:
            yield ox.Triple(ox.NamedNode(source), DCTERMS.title, titles[source])


def _things(
    reader: GraphReader, batch: Sequence[str], links: Mapping[str, Sequence[ox.Triple]]
) -> Iterator[ox.Triple]:
    stated = [ox.Triple(*row) for row in reader.select_provenance_for("things", batch)]
    known = {iri(triple.subject) for triple in stated}
    linked = chain.from_iterable(links.get(name, ()) for name in batch if name in known)
    first = (RDF.type, RDFS.label)
    yield from sorted(
        {*stated, *linked},
        key=lambda t: (
            iri(t.subject),
            first.index(t.predicate) if t.predicate in first else len(first),
            str(t.predicate),
            str(t.object),
        ),
    )


def _statements(
    reader: GraphReader,
    batch: Sequence[str],
    times: Mapping[str, Times],
    ranks: Mapping[ox.NamedNode, ox.NamedNode],
    sources: dict[str, None],
) -> Iterator[ox.Triple]:
    rows = [*reader.select_provenance_for("typed-statements", batch)]
    rows += reader.select_provenance_for("deprecated-statements", batch)
    rows.sort(key=str)
    documents = {iri(row[-1]) for row in rows}
    source_of = {iri(row[0]): row[1] for row in reader.rows_for("documents", documents)}
    for relationship, subject, predicate, object_, *_, document in rows:
        source = source_of[iri(document)]
        sources[iri(source)] = None
        yield ox.Triple(relationship, RDF.type, RDF.Statement)
        yield ox.Triple(relationship, RDF.subject, subject)
        yield ox.Triple(relationship, RDF.predicate, predicate)
        yield ox.Triple(relationship, RDF.object, object_)
        for property_, time in zip(TIME_PROPERTIES, times.get(iri(relationship), ()), strict=False):
            if time is not None:
                yield ox.Triple(relationship, property_, time)
        if rank := ranks.get(relationship):
            yield ox.Triple(relationship, WIKIBASE.rank, rank)
        yield ox.Triple(relationship, DCTERMS.source, source)


EXPORTER = Exporter(
    _write, ThingsOptions, {".nt": {"syntax": "ntriples"}, ".rdf": {"syntax": "rdfxml"}}
)
