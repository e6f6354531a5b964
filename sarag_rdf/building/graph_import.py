"""Imports a file into a named graph, in batches, so that it can resume if it is interrupted.

An `Importer`, which an entry point of the group ``sarag_rdf.importers`` names, says which files
become the triples of the graph; they are parsed in a child process, which streams N-Triples back.
The vocabulary of the graph is detected from the properties that it uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat

from sarag_rdf.base.errors import EntailmentError, InputError, MissingDependencyError, UsageError
from sarag_rdf.base.iris import Minter, is_iri, sha256_hex
from sarag_rdf.base.options import declared_options, option
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import Change, GraphStore, Progress, silent
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import (
    DC,
    DCTERMS,
    FOAF,
    RDFS,
    SARAG,
    SCHEMA,
    SKOS,
    VOID,
    WIKIBASE,
    WIKIBASE_SCHEMA,
    Namespace,
    text_of,
)
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.metadata import Meta, read_meta, with_revision
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.parts import ALL, COMPLETE, LINKS, Imported, graph_size
from sarag_rdf.graph.records import record_of, record_quads
from sarag_rdf.graph.store.input_files import (
    BLOCK,
    InputFile,
    PositionProgress,
    RdfReadOptions,
    StatementBlock,
    input_file,
    parse_quads,
    rdf_format,
    read_triples,
    run_in_child,
    triple_blocks,
    unpacked,
)

SuggestMapping = Callable[[InputFile, Schema, str, Mapping[str, str]], str]
"""(file, schema, base IRI of the graph, prefixes) -> a mapping for the file."""


@dataclass(frozen=True, kw_only=True)
class ImportOptions(RdfReadOptions):
    """How files are read; an importer may add options of its own in a subclass.

    `kind` is the name of the importer. Raises `UsageError` for a text that should be an IRI.
    """

    name = "an import"
    kind: str = ""
    label: tuple[str, ...] = option((), "rdf: IRI of a property for names.")
    alias: tuple[str, ...] = option((), "rdf: IRI of a property for alternative names.")
    description: tuple[str, ...] = option((), "rdf: IRI of a property for descriptions.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for iri in [self.base_iri, *self.label, *self.alias, *self.description]:
            check_iri(iri)

    @property
    def importer(self) -> Importer:
        """The importer of this kind."""
        return importer_of(self.kind)

    def own(self) -> dict[str, Any]:
        """Flag -> value, for the options of the importer that are not at their defaults.

        The ``str`` of a value identifies it, that of a file by its content.
        """
        common = {declared.name for declared in declared_options(ImportOptions)}
        return {
            str(declared.flag): getattr(self, declared.name)
            for declared in declared_options(type(self))
            if declared.name not in common and getattr(self, declared.name) != declared.default
        }

    @property
    def given(self) -> dict[str, Any]:
        """Flag -> value, for those options that select or map triples."""
        languages = {"--language": self.languages} if self.languages else {}
        return {**languages, **self.own()}

    @property
    def identity(self) -> str:
        """All options on which the imported graph depends, as a text for comparison."""
        paths = {role: ",".join(iris) for role, iris in self.paths.items() if iris}
        own = {name: _text(value) for name, value in sorted(self.given.items())}
        values = {
            "as": self.kind,
            "format": self.format or "",
            "base": self.base_iri or "",
            **paths,
            **own,
        }
        return "; ".join(f"{name}={value}" for name, value in values.items())

    @property
    def paths(self) -> dict[str, Sequence[str]]:
        """Properties by role: label, alias, description."""
        return {"label": self.label, "alias": self.alias, "description": self.description}


@dataclass(frozen=True, slots=True)
class Importer:
    """A kind of files that can be imported.

    `summary` is a noun phrase for the help. `blocks` reads a file into blocks of about so many
    triples, without blank nodes, which become IRIs below `genid`; it is a function of a module, as
    it runs in a child process. `vocabulary` says how the imported graph is read: ``rdf``, ``skos``
    or ``wikibase``. `options` are its options. `converted` makes one file of a folder, and yields
    its path. `suggest` writes a mapping for a file from a schema, the base IRI of the graph and
    prefixes.
    """

    summary: str
    blocks: Callable[[InputFile, Any, str, int], Iterator[StatementBlock]]
    vocabulary: str = "rdf"
    options: type[ImportOptions] = ImportOptions
    converted: Callable[[Path, int, Progress], AbstractContextManager[Path]] | None = None
    suggest: SuggestMapping | None = None


def check_iri(iri: str | None) -> None:
    """Raise `UsageError` for a text that is not an absolute IRI."""
    if iri and not is_iri(iri):
        raise UsageError(f"{iri!r} is not an absolute IRI: give one such as https://...")


def importer_of(kind: str) -> Importer:
    """The importer of a kind; raises `UsageError` for an unknown one, `PluginError`."""
    importer: Importer = load("importers", kind)
    return importer


def _text(value: Any) -> str:
    return ",".join(sorted(value)) if isinstance(value, tuple) else str(value)


def parse_triples(
    file: InputFile, options: ImportOptions, genid: str, size: int = BLOCK
) -> Iterator[StatementBlock]:
    """The triples of a file in blocks of `size`; blank nodes become IRIs below `genid`.

    Raises `InputError`, also for a file on which the child process ends, and `UsageError`.
    """
    blocks = options.importer.blocks
    yield from run_in_child(file, options.max_seconds, blocks, file, options, genid, size)


def rdf_blocks(
    file: InputFile, options: ImportOptions, genid: str, size: int
) -> Iterator[StatementBlock]:
    """The triples of an RDF file."""
    with unpacked(file) as (stream, raw):
        yield from triple_blocks(read_triples(file, stream, options, genid), size, raw.tell)


RDF_FILES = Importer("any RDF", rdf_blocks)
SKOS_FILES = Importer("a SKOS thesaurus", rdf_blocks, vocabulary="skos")

_DBO = Namespace("http://dbpedia.org/ontology/")
CANDIDATES: Mapping[str, tuple[NamedNode, ...]] = {
    "label": (
        *(RDFS.label, SKOS.prefLabel, WIKIBASE_SCHEMA.name, SCHEMA.name, FOAF.name),
        *(DCTERMS.title, DC.title),
    ),
    "alias": (
        *(SKOS.altLabel, SKOS.hiddenLabel, WIKIBASE_SCHEMA.alternateName, SCHEMA.alternateName),
        FOAF.nick,
    ),
    "description": (
        *(RDFS.comment, SKOS.definition, WIKIBASE_SCHEMA.description, SCHEMA.description),
        *(DCTERMS.description, DC.description, _DBO.abstract),
    ),
}
"""Properties for names and descriptions in common vocabularies, in order of preference."""
_STATEMENT_PROPERTY = WIKIBASE.statementProperty.value
_WIKIBASE_PROPERTIES = (
    _STATEMENT_PROPERTY,
    *(WIKIBASE[name].value for name in ("rank", "statements", "propertyType")),
    *(f"http://www.wikidata.org/prop/direct/{number}" for number in ("P31", "P279")),
)
"""A graph with one of these properties is a Wikibase dump, even without labels."""
_SARAG_PROPERTIES = tuple(property_.value for property_ in (SARAG.subjectMention, SARAG.useOf))


@dataclass(frozen=True, slots=True)
class GraphProfile:
    """How to read a graph: the folder of its queries (`kind`), and properties by role (`paths`)."""

    kind: str
    paths: Mapping[str, Sequence[str]]
    is_named: bool = True


def profile_of(kind: str, used: Set[str], requested: Mapping[str, Sequence[str]]) -> GraphProfile:
    """The profile of a graph that uses these properties; raises `InputError` if it has no names.

    A Wikibase dump may have no names, as it can still be queried with SPARQL.
    """
    is_wikibase = kind == "wikibase" and not used.isdisjoint(_WIKIBASE_PROPERTIES)
    if any(iri in used for iri in _SARAG_PROPERTIES):
        raise InputError("this is an export of sarag: import it with --as sarag")
    if kind == "wikibase" and _STATEMENT_PROPERTY not in used:
        kind = "wikibase-truthy"
    paths: dict[str, Sequence[str]] = {}
    for role, candidates in CANDIDATES.items() if kind == "rdf" else ():
        common = (node.value for node in candidates)
        properties = [iri for iri in requested.get(role) or common if iri in used]
        if properties:
            paths[role] = properties
    label = SKOS.prefLabel if kind == "skos" else RDFS.label
    labels = paths.get("label", ()) if kind == "rdf" else [label.value]
    is_named = any(iri in used for iri in labels)
    if not (is_named or is_wikibase):
        what = "a SKOS vocabulary" if kind == "skos" else "a Wikibase dump"
        raise InputError(
            "no labels found (rdfs:label, skos:prefLabel, schema:name, foaf:name, dcterms:title): "
            "give the property for labels with --label IRI"
            if kind == "rdf"
            else f"no labels found: check that this is {what}, or try another --as"
        )
    return GraphProfile(kind, paths, is_named)


def used_properties(
    reader: GraphReader, graph: str, requested: Mapping[str, Sequence[str]]
) -> set[str]:
    """Of the properties that determine the profile of a graph, those that it uses."""
    properties = {node.value for nodes in CANDIDATES.values() for node in nodes}
    properties |= {iri for iris in requested.values() for iri in iris}
    properties |= {*_WIKIBASE_PROPERTIES, *_SARAG_PROPERTIES}
    query = query_file("index", "property-uses")
    text = query.fill([NamedNode(iri) for iri in sorted(properties)], {"kg": graph})
    return {property_.value for (property_,) in reader.store.select(text, query.key).rows}


def broader_cycle(reader: GraphReader, graph: str) -> list[str]:
    """A cycle of concepts linked by ``skos:broader``, in order; usually empty."""
    import networkx as nx

    broader = (q for q in reader.store.quads(graph) if q.predicate == SKOS.broader)
    wider = nx.DiGraph(sorted((text_of(quad.subject), text_of(quad.object)) for quad in broader))
    try:
        return [concept for concept, _ in nx.find_cycle(wider)]
    except nx.NetworkXNoCycle:
        return []


BATCH = 500_000
"""Triples between two checkpoints from which an interrupted import resumes."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The imported graph; `already` if the same file had already been imported under this name."""

    name: str
    kind: str
    graph: str
    triples: int
    already: bool = False
    warnings: tuple[str, ...] = ()


def run_import(
    reader: GraphReader,
    location: str,
    options: ImportOptions,
    *,
    name: str | None = None,
    replaces: bool = False,
    progress: Progress = silent,
) -> ImportReport:
    """Import a file, a URL or a folder under a name, by default one made of its own.

    With `replaces`, it takes the place of another import of that name. Raises `InputError`,
    `UsageError`, `StoreError`.
    """
    converted = options.importer.converted
    if converted is None:
        return _import_file(reader, location, options, name, replaces, progress)
    folder = Path(location).expanduser()
    name = import_name(name, folder.resolve().name)
    origin = folder.resolve().as_uri()
    with converted(folder, options.max_expansion, progress) as path:
        return _import_file(reader, str(path), options, name, replaces, progress, origin)


def _import_file(
    reader: GraphReader,
    location: str,
    options: ImportOptions,
    name: str | None,
    replaces: bool,
    progress: Progress,
    origin: str = "",
) -> ImportReport:
    """`origin` is the IRI of what was converted into the file."""
    with input_file(location, options.max_expansion) as file:
        name = import_name(name, file.name)
        graph = reader.minter.imported_graph(name)
        source = origin or file.origin
        record = Imported(name, options.kind, graph, source, file.sha256, options.identity)
        stored = _stored(reader, name)
        before = record_of(Imported, stored) if stored else None
        what = (record.sha256, record.settings)
        is_same = before is not None and (before.sha256, before.settings) == what
        if before is not None and before.state == COMPLETE:
            if is_same:
                return ImportReport(name, before.kind, graph, before.triples or 0, already=True)
            if not replaces:
                is_file = before.sha256 == file.sha256
                other = "this file with other options" if is_file else "another file"
                raise UsageError(
                    f"{other} has already been imported as '{name}': give another --name, or "
                    "--replace it"
                )
            _validate_file(reader, file, options, progress)
        elif before is not None and is_same:
            record = replace(record, state=before.state)
        if record.state == "0":
            _write(reader, name, record, drop=graph)
        try:
            return _load(reader, file, options, record, progress)
        except (EntailmentError, InputError, MissingDependencyError, UsageError):
            _write(reader, name, None, drop=graph)
            raise


def forget_import(reader: GraphReader, name: str) -> None:
    """Delete an imported graph and its metadata; raises `UsageError` for an unknown name."""
    if not _stored(reader, name):
        raise UsageError(f"no such imported graph: '{name}'")
    _write(reader, name, None, drop=reader.minter.imported_graph(name))


def _validate_file(
    reader: GraphReader, file: InputFile, options: ImportOptions, progress: Progress
) -> None:
    """Parse a whole file, so that an invalid file does not replace a graph."""
    report_position = PositionProgress(progress("checking bytes", file.path.stat().st_size))
    used: set[str] = set()
    for block in parse_triples(file, options, _genid(reader)):
        used |= block.predicates
        report_position(block.position)
    if not used:
        raise InputError(_empty_message(file, options))
    profile_of(options.importer.vocabulary, used, options.paths)


def _load(
    reader: GraphReader,
    file: InputFile,
    options: ImportOptions,
    record: Imported,
    progress: Progress,
) -> ImportReport:
    """Load a file after the last checkpoint of its record, and write its metadata."""
    name, graph = record.name, record.graph
    notes = _load_triples(reader, file, options, record, progress)
    count = graph_size(reader.store, graph)
    if not count:
        raise InputError(_empty_message(file, options))
    used = used_properties(reader, graph, options.paths)
    profile = profile_of(options.importer.vocabulary, used, options.paths)
    paths: dict[str, Any] = {role: tuple(iris) for role, iris in profile.paths.items()}
    complete = replace(record, kind=profile.kind, state=COMPLETE, triples=count)
    _write(reader, name, replace(complete, **paths))
    if not profile.is_named:
        notes.append(
            "no labels found (rdfs:label): the graph can be queried (sarag query --over "
            f"{name}), but a search cannot find its entities by name"
        )
    cycle = broader_cycle(reader, graph) if profile.kind == "skos" else []
    if cycle:
        shown = " -> ".join(f"<{node}>" for node in [*cycle, cycle[0]])
        notes.append(f"skos:broader leads in a circle: {shown}")
    return ImportReport(name, profile.kind, graph, count, warnings=tuple(notes))


def _load_triples(
    reader: GraphReader,
    file: InputFile,
    options: ImportOptions,
    record: Imported,
    progress: Progress,
) -> list[str]:
    """Load a file after the last checkpoint of its record; returns warnings about the file."""
    report_position = PositionProgress(progress("importing bytes", file.path.stat().st_size))
    batch: list[bytes] = []
    notes: list[str] = []
    read, loaded = 0, int(record.state)

    def checkpoint() -> None:
        reader.store.load_ntriples(b"".join(batch), record.graph)
        batch.clear()
        _write(reader, record.name, replace(record, state=str(read)))

    for block in parse_triples(file, options, _genid(reader), min(BLOCK, BATCH)):
        report_position(block.position)
        read += block.count
        notes += block.warnings
        if read > int(record.state):
            batch.append(block.data)
        if batch and read - loaded >= BATCH:
            checkpoint()
            loaded = read
    if batch:
        checkpoint()
    return notes


def _empty_message(file: InputFile, options: ImportOptions) -> str:
    given = f", and {', '.join(options.given)}" if options.given else ""
    return f"no triples in {file.name}: check the file{given}"


def _genid(reader: GraphReader) -> str:
    return f"{reader.minter.base}genid/"


def _write(reader: GraphReader, name: str, record: Imported | None, *, drop: str = "") -> None:
    """Replace the metadata of an imported graph, and change the revision."""
    node, meta = _node(reader, name), reader.minter.meta_graph
    classes = (SARAG.ImportedGraph, VOID.Dataset)
    insert = record_quads(record, node, meta, *classes) if record else ()
    change = Change((drop,) if drop else (), tuple(_stored(reader, name)), tuple(insert))
    reader.store.apply(with_revision(reader, change))


def import_name(requested: str | None, file_name: str) -> str:
    """The given name, or one from the file name; raises `UsageError` if it is invalid."""
    name = requested or re.sub(r"[^a-z0-9]+", "-", file_name.partition(".")[0].lower()).strip("-")
    if not _NAME.fullmatch(name) or name in (ALL, DOCUMENTS, LINKS):
        raise UsageError(
            f"'{name}' is not a valid name of a graph: give a --name of lower case letters, "
            "digits, '-', '_' and '.', other than 'all', 'documents' and 'links'"
        )
    return name


def _node(reader: GraphReader, name: str) -> NamedNode:
    return NamedNode(f"{reader.minter.base}import/{name}")


def _stored(reader: GraphReader, name: str) -> list[Quad]:
    """The stored metadata of an imported graph."""
    node = _node(reader, name)
    return [q for q in reader.store.quads(reader.minter.meta_graph) if q.subject == node]


_DATASETS = (RdfFormat.TRIG, RdfFormat.N_QUADS)


def exported_meta(location: str, options: RdfReadOptions) -> Meta:
    """The base IRI and revision of an exported graph; raises `InputError`, `UsageError`."""
    with input_file(location, options.max_expansion) as file:
        if rdf_format(file, options.format) not in _DATASETS:
            raise UsageError(
                f"{file.name} is not in a format with named graphs: restore from TriG or N-Quads, "
                "such as the output of sarag export --format trig"
            )
        bases, with_blank_nodes, revision = set(), set(), ""
        for quad, _ in parse_quads(file, options):
            if isinstance(quad.graph_name, DefaultGraph):
                raise InputError(
                    f"{file.name} is not an export of sarag: it has triples outside named graphs"
                )
            if quad.predicate == SARAG.baseIRI:
                bases.add(text_of(quad.object))
            elif quad.predicate == SARAG.revision:
                revision = revision or text_of(quad.object)
            if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode):
                with_blank_nodes.add(text_of(quad.graph_name))
    if len(bases) != 1:
        raise InputError(
            f"{file.name} is not an export of sarag: expected one base IRI (sarag:baseIRI), found "
            f"{len(bases)}"
        )
    (base,) = bases
    if not all(name.startswith(Minter(base).graph("ontologies")) for name in with_blank_nodes):
        raise InputError(
            f"{file.name} is not an export of sarag: it has blank nodes outside ontologies"
        )
    return Meta(base, revision)


def restore(
    store: GraphStore,
    location: str,
    exported: Meta,
    options: RdfReadOptions,
    progress: Progress = silent,
) -> int:
    """Load an export that has been validated into an empty store; returns the number of quads.

    The metadata is loaded last, so that the result of an interrupted restore has none, and is
    deleted by the next one. A store with the same export is not changed. Raises `UsageError` for a
    store with another graph.
    """
    base, before = exported.base, read_meta(store)
    if before is not None:
        if before.revision and (before.base, before.revision) == (base, exported.revision):
            return sum(1 for _ in store.quads())
        raise UsageError("the graph is not empty: restore into another folder")
    if not store.is_shared:  # the result of an interrupted restore is deleted
        graphs = {getattr(quad.graph_name, "value", "") for quad in store.quads()}
        store.apply(Change(drop=tuple(sorted(graphs))))
    meta_graph, genid = NamedNode(Minter(base).meta_graph), f"{base}genid/"
    metadata: list[Quad] = []
    count = 0
    with input_file(location, options.max_expansion) as file:
        report_position = PositionProgress(progress("restoring bytes", file.path.stat().st_size))

        def data() -> Iterator[Quad]:
            nonlocal count
            for quad, position in parse_quads(file, options):
                count += 1
                report_position(position)
                if quad.graph_name == meta_graph:
                    metadata.append(quad)
                else:
                    yield _skolemized(quad, genid)

        store.load(data())
    restored = _without_missing(store, metadata, Minter(base).graph("ontologies"))
    store.apply(Change(insert=tuple(restored)))
    return count - len(metadata) + len(restored)


def _is_empty(store: GraphStore, graph: str) -> bool:
    return next(iter(store.quads(graph)), None) is None


def _without_missing(store: GraphStore, meta: list[Quad], ontologies: str) -> list[Quad]:
    """The metadata without imported graphs and ontologies that are not in the export."""
    missing = {
        quad.subject
        for quad in meta
        if quad.predicate == SARAG.graph and _is_empty(store, text_of(quad.object))
    }
    missing |= {
        quad.subject
        for quad in meta
        if text_of(quad.subject).startswith(ontologies) and quad.predicate == SARAG.sha256
        if _is_empty(store, text_of(quad.subject))
    }
    return [quad for quad in meta if quad.subject not in missing]


_EXPORTED = re.compile("b([0-9a-f]{32})")
"""Labels of the blank nodes that exports have for Skolem IRIs."""


def _skolemized(quad: Quad, genid: str) -> Quad:
    """The quad as it was stored: with the Skolem IRIs of the blank nodes of ontologies."""
    subject, object_ = quad.subject, quad.object
    if isinstance(subject, BlankNode):
        subject = _skolem_iri(subject, quad, genid)
    if isinstance(object_, BlankNode):
        object_ = _skolem_iri(object_, quad, genid)
    return Quad(subject, quad.predicate, object_, quad.graph_name)


def _skolem_iri(node: BlankNode, quad: Quad, genid: str) -> NamedNode:
    exported = _EXPORTED.fullmatch(node.value)
    digest = exported[1] if exported else sha256_hex(text_of(quad.graph_name), node.value)[:32]
    return NamedNode(genid + digest)
