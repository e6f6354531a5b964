"""QuickStatements (version 1) commands that create the items of a graph in a Wikibase.

QuickStatements cannot create properties, so they must exist. All items are created with their
texts before any statements, so that the items in statements exist.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import pyoxigraph as ox

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.exchange import Setting
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.terms import text_of
from sarag_rdf.base.vocab import DCTERMS, PREFIXES
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.metadata import read_meta
from sarag_rdf.graph.reader import DOCUMENTS, GraphReader
from sarag_rdf.plugins.wikibase import model
from sarag_rdf.plugins.wikibase.contents import collect_contents
from sarag_rdf.plugins.wikibase.items import Export, equivalences, prepare_export
from sarag_rdf.plugins.wikibase.model import Json, grouped_snaks, statements
from sarag_rdf.plugins.wikibase.numbers import is_id, write_numbers
from sarag_rdf.plugins.wikibase.rdf import Flavor, dump_header, dump_triples
from sarag_rdf.plugins.wikibase.vocabulary import CC, GEO, Vocabulary


def read_targets(file: Path) -> dict[str, str]:
    """Read a tab-separated table of ids: id in the export, id in the target. ``#`` is a comment."""
    targets: dict[str, str] = {}
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
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


def commands(export: Export, vocabulary: Vocabulary, targets: Mapping[str, str]) -> Iterator[str]:
    """Commands, one per line; ids that are not in `targets` are not changed.

    Raises `UsageError` if the target would assign other ids to new items, because the ids of the
    export have gaps.
    """
    new = {export.numbers[name] for name in export.items()} - targets.keys()
    if new and (len(new) < len(export.items()) or not export.numbers.is_contiguous(export.items())):
        raise UsageError(
            f"the target would assign other ids to {len(new)} new items, such as {min(new)}: give "
            "the ids of all items in the target in the table of --properties"
        )
    for entity in export.entities(vocabulary):
        if entity.id.startswith("Q"):
            yield from _texts(entity.data, targets)
    for entity in export.entities(vocabulary):
        if entity.id.startswith("Q"):
            yield from _statements(entity.data, targets)


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
    yield from dump_header(modified, license_)
    yield from dump_header(modified, license_, ox.NamedNode(vocabulary.top + "dump"))
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
