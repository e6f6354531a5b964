"""QuickStatements (version 1) commands that create the items of a graph in a Wikibase.

QuickStatements cannot create properties, so they must exist. All items are created with their
texts before any statements, so that the items in statements exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import pyoxigraph as ox

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.vocab import DCTERMS, PREFIXES, text_of
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase.items import Export, collect_contents, equivalences, prepare_export
from sarag_rdf.plugins.wikibase.model import Json, grouped_snaks, statements
from sarag_rdf.plugins.wikibase.numbers import is_id, write_numbers
from sarag_rdf.plugins.wikibase.rdf import Flavor, dump_header, dump_triples
from sarag_rdf.plugins.wikibase.vocabulary import CC, GEO


def read_targets(file: Path) -> dict[str, str]:
    """Read a tab-separated table of ids: id in the export, id in the target. ``#`` is a comment."""
    targets: dict[str, str] = {}
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        own, _, target = (part.strip() for part in line.partition("\t"))
        if not (is_id(own) and is_id(target) and own[0] == target[0]):
            raise InputError(
                f"{file}, line {number}: expected an id, a tab and the id in the target, for "
                "example P1 and P31"
            )
        targets[own] = target
    return targets


def commands(export: Export, targets: Mapping[str, str]) -> Iterator[str]:
    """Commands, one per line; ids that are not in `targets` are not changed.

    Raises `UsageError` if the target would assign other ids to new items, due to gaps in the ids.
    """
    new = {export.numbers[name] for name in export.items()} - targets.keys()
    if new and (len(new) < len(export.items()) or not export.numbers.is_contiguous(export.items())):
        raise UsageError(
            f"the target would assign other ids to {len(new)} new items, such as {min(new)}: give "
            "the ids of all items in the target in the table of --properties"
        )
    for lines in (_texts, _statements):
        for entity in export.entities():
            if entity.id.startswith("Q"):
                yield from lines(entity.data, targets)


def _texts(data: Json, targets: Mapping[str, str]) -> Iterator[str]:
    subject = targets.get(data["id"], "")
    if not subject:
        yield "CREATE"
        subject = "LAST"
    for prefix, key in (("L", "labels"), ("D", "descriptions")):
        for language, text_value in data[key].items():
            yield "\t".join((subject, prefix + language, _quoted(text_value["value"])))
    for language, aliases in data["aliases"].items():
        for text_value in aliases:
            yield "\t".join((subject, f"A{language}", _quoted(text_value["value"])))


def _statements(data: Json, targets: Mapping[str, str]) -> Iterator[str]:
    subject = targets.get(data["id"], data["id"])
    for _, group in statements(data):
        for statement in group:
            if statement["rank"] == "deprecated":  # the tool would make it a normal one
                continue
            words = [subject, *_pair(statement["mainsnak"], targets)]
            for snak in grouped_snaks(statement, "qualifiers"):
                words += _pair(snak, targets)
            # QuickStatements uses only the last reference of a line, so each gets its own line.
            for reference in statement.get("references") or [{}]:
                sources: list[str] = []
                for snak in grouped_snaks(reference, "snaks"):
                    property_id, value = _pair(snak, targets)
                    sources += ["S" + property_id[1:], value]
                yield "\t".join([*words, *sources])


def _pair(snak: Json, targets: Mapping[str, str]) -> tuple[str, str]:
    property_id = targets.get(snak["property"], snak["property"])
    return property_id, _value(snak["datavalue"]["value"], targets)


def _value(value: Any, targets: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if "text" in value:
        return f"{value['language']}:{_quoted(value['text'])}"
    if "amount" in value:
        unit = value["unit"].rpartition("/")[2]
        amount = str(value["amount"]).removeprefix("+")
        return amount if unit == model.NO_UNIT else f"{amount}U{targets.get(unit, unit)[1:]}"
    if "time" in value:
        return f"{value['time']}/{value['precision']}"
    if "latitude" in value:
        return f"@{value['latitude']}/{value['longitude']}"
    return targets.get(value["id"], value["id"])


def _quoted(text: str) -> str:
    """In quotes, on one line and without tabs; quotes inside are not escaped, as in the tool."""
    return f'"{" ".join(text.split())}"'


@dataclass(frozen=True, kw_only=True)
class WikibaseOptions(Options):
    """Options of all Wikibase exports."""

    name = "Wikibase exports"
    over: tuple[str, ...] = option(
        (), "Wikibase formats: export this imported graph ('documents' for the indexed documents)."
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


@dataclass(frozen=True, kw_only=True)
class RdfOptions(WikibaseOptions):
    """Options of the RDF of a Wikibase dump."""

    flavor: Flavor = option(
        "full",
        "wikibase: full statements, or only their values (truthy).",
        choices=("full", "truthy"),
    )
    syntax: str = option("ntriples", "RDF syntax.", choices=("ntriples", "turtle"), flag=None)


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


def _write_rdf(graph: ExportedGraph, output: IO[bytes], options: RdfOptions) -> None:
    export = _opened(graph, options)
    vocabulary = export.vocabulary
    prefixes = {**PREFIXES, "cc": CC.base, "geo": GEO.base, **vocabulary.prefixes()}
    format_ = ox.RdfFormat.TURTLE if options.syntax == "turtle" else ox.RdfFormat.N_TRIPLES
    ox.serialize(_triples(export, options.flavor), output, format_, prefixes=prefixes)


def _triples(export: Export, flavor: Flavor) -> Iterator[ox.Triple]:
    """The header, for the common node of dumps and that of this dump, then every entity."""
    modified, license_ = export.page_info[1], _license(export.reader)
    yield from dump_header(modified, license_)
    yield from dump_header(modified, license_, ox.NamedNode(export.vocabulary.top + "dump"))
    yield from dump_triples(export.entities(), export.vocabulary, flavor)
    yield from equivalences(export)


def _license(reader: GraphReader) -> str:
    """The IRI of the license of the documents, if they are exported and have one; else empty."""
    if all(part.name != DOCUMENTS for part in reader.parts):
        return ""
    node = reader.minter.knowledge_graph
    quads = reader.store.quads(reader.minter.meta_graph)
    key = ox.NamedNode(node), DCTERMS.license
    licenses = (text_of(quad.object) for quad in quads if (quad.subject, quad.predicate) == key)
    return min(licenses, default="")


def _write_json(graph: ExportedGraph, output: IO[bytes], options: WikibaseOptions) -> None:
    between = b"[\n"
    for entity in _opened(graph, options).entities():
        text = json.dumps(entity.data, ensure_ascii=False, separators=(",", ":"))
        output.write(between + text.encode())
        between = b",\n"
    output.write(b"\n]\n")


def _write_quickstatements(
    graph: ExportedGraph, output: IO[bytes], options: QuickStatementsOptions
) -> None:
    for line in commands(_opened(graph, options), options.targets):
        output.write(line.encode() + b"\n")


def _opened(graph: ExportedGraph, options: WikibaseOptions) -> Export:
    """A graph with ids for all entities; it is opened for writing only if ids are missing."""
    while True:
        reader = graph.read(options.over or (DOCUMENTS,))
        contents = collect_contents(reader, typed=options.typed)
        export = prepare_export(reader, contents, options.namespace)
        if not export.added:
            return export
        with graph.write() as writer:
            write_numbers(writer, prepare_export(writer, contents, options.namespace).added)


_SUFFIXES = {suffix: {"syntax": "turtle"} for suffix in (".ttl", ".turtle")}
RDF = Exporter(_write_rdf, RdfOptions, _SUFFIXES)
JSON = Exporter(_write_json, WikibaseOptions)
QUICKSTATEMENTS = Exporter(_write_quickstatements, QuickStatementsOptions)
