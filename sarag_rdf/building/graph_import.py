"""Detection of the vocabulary of a graph: its folder of queries, and properties for names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import EntailmentError, InputError, MissingDependencyError, UsageError
from sarag_rdf.base.ports import Change, GraphStore, Progress, Table, Term, silent
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import DCTERMS, RDF, SARAG, VOID, XSD
from sarag_rdf.building.importer import ImportOptions, parse_triples
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.graph.parts import ALL, COMPLETE, LINKS
from sarag_rdf.graph.reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.store.child_parser import BLOCK
from sarag_rdf.graph.store.files import InputFile, PositionProgress, input_file

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_DC, _DCTERMS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"
_SCHEMA, _SCHEMAS = "http://schema.org/", "https://schema.org/"
_FOAF, _DBO = "http://xmlns.com/foaf/0.1/", "http://dbpedia.org/ontology/"
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "label": (
        *(f"{_RDFS}label", f"{_SKOS}prefLabel", f"{_SCHEMA}name", f"{_SCHEMAS}name"),
        *(f"{_FOAF}name", f"{_DCTERMS}title", f"{_DC}title"),
    ),
    "alias": (
        *(f"{_SKOS}altLabel", f"{_SKOS}hiddenLabel", f"{_SCHEMA}alternateName"),
        *(f"{_SCHEMAS}alternateName", f"{_FOAF}nick"),
    ),
    "description": (
        *(f"{_RDFS}comment", f"{_SKOS}definition", f"{_SCHEMA}description"),
        *(f"{_SCHEMAS}description", f"{_DCTERMS}description", f"{_DC}description"),
        f"{_DBO}abstract",
    ),
}
"""Properties for names and descriptions in common vocabularies, in order of preference."""
_STATEMENT_PROPERTY = "http://wikiba.se/ontology#statementProperty"
_WIKIBASE_PROPERTIES = (
    *(f"http://wikiba.se/ontology#{name}" for name in ("rank", "statements", "propertyType")),
    *(f"http://www.wikidata.org/prop/direct/{number}" for number in ("P31", "P279")),
)
"""A graph with one of these properties is a Wikibase dump, even without labels."""
_LABEL_PROPERTY = {
    "skos": f"{_SKOS}prefLabel",
    "wikibase": f"{_RDFS}label",
    "wikibase-truthy": f"{_RDFS}label",
}
_BROADER = f"{_SKOS}broader"
_SARAG_PROPERTIES = tuple(
    SARAG[name].value for name in ("subjectMention", "descriptionOf", "mentions")
)


@dataclass(frozen=True, slots=True)
class GraphProfile:
    """How to read a graph: the folder of its queries (`kind`), and properties by role (`paths`)."""

    kind: str
    paths: Mapping[str, Sequence[str]]
    is_named: bool = True


def profile_properties(requested: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Properties whose use in a graph determines its profile."""
    candidates = {iri for iris in (*CANDIDATES.values(), *requested.values()) for iri in iris}
    return frozenset({_STATEMENT_PROPERTY, *_WIKIBASE_PROPERTIES, *_SARAG_PROPERTIES, *candidates})


def profile_of(kind: str, used: Set[str], requested: Mapping[str, Sequence[str]]) -> GraphProfile:
    """The profile of a graph that uses these properties; raises `InputError` if it has no names.

    A Wikibase dump may have no names, as it can still be queried with SPARQL.
    """
    markers = {_STATEMENT_PROPERTY, *_WIKIBASE_PROPERTIES}
    is_wikibase = kind == "wikibase" and not markers.isdisjoint(used)
    if any(iri in used for iri in _SARAG_PROPERTIES):
        raise InputError("this is an export of sarag: import it with --as sarag")
    if kind == "wikibase" and _STATEMENT_PROPERTY not in used:
        kind = "wikibase-truthy"
    paths: dict[str, Sequence[str]] = {}
    for role, candidates in CANDIDATES.items() if kind == "rdf" else ():
        properties = [iri for iri in requested.get(role) or candidates if iri in used]
        if properties:
            paths[role] = properties
    labels = paths.get("label", ()) if kind == "rdf" else [_LABEL_PROPERTY[kind]]
    is_named = any(iri in used for iri in labels)
    if not (is_named or is_wikibase):
        raise InputError(_no_labels_message(kind))
    return GraphProfile(kind, paths, is_named)


def used_properties(reader: GraphReader, graph: str, properties: Iterable[str]) -> set[str]:
    """The properties that are used in a loaded graph."""
    query = query_file("index", "property-uses")
    text = query.fill([NamedNode(iri) for iri in sorted(set(properties))], {"kg": graph})
    result = reader.store.query(text)
    assert isinstance(result, Table)  # noqa: S101 - it is a SELECT
    return {property_.value for (property_,) in result.rows}


def broader_cycle(reader: GraphReader, graph: str) -> list[str]:
    """A cycle of concepts linked by ``skos:broader``, in order; usually empty."""
    wider: defaultdict[str, list[str]] = defaultdict(list)
    for quad in reader.store.quads(graph):
        if quad.predicate.value == _BROADER and isinstance(quad.object, NamedNode):
            wider[str(getattr(quad.subject, "value", ""))].append(quad.object.value)
    done: set[str] = set()
    for start in sorted(wider):
        path = [start]
        while path:
            further = next((n for n in wider.get(path[-1], ()) if n not in done), None)
            if further is None:
                done.add(path.pop())
            elif further in path:
                return path[path.index(further) :]
            else:
                path.append(further)
    return []


def _no_labels_message(kind: str) -> str:
    if kind == "rdf":
        return (
            "no labels found (rdfs:label, skos:prefLabel, schema:name, foaf:name, dcterms:title): "
            "give the property for labels with --label IRI"
        )
    what = "a SKOS vocabulary" if kind == "skos" else "a Wikibase dump"
    return f"no labels found: check that this is {what}, or try another --as"


BATCH = 500_000
"""Triples between two checkpoints from which an interrupted import resumes."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_ROLES = {
    "label": SARAG.labelProperty,
    "alias": SARAG.aliasProperty,
    "description": SARAG.descriptionProperty,
}


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """The metadata of an imported graph: its origin, and the progress of its import.

    Imports with the same digest of the file and the same `settings` are the same.
    """

    name: str
    kind: str
    origin: str
    sha256: str
    settings: str
    state: str = "0"
    triples: int = 0
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def same_as(self, other: ImportRecord) -> bool:
        """Whether another import has the same file and settings."""
        return (self.sha256, self.settings) == (other.sha256, other.settings)

    def quads(self, reader: GraphReader) -> list[Quad]:
        """The metadata as quads, with the number of triples if the import is complete."""
        node = node_of(reader, self.name)
        pairs: list[tuple[NamedNode, Term]] = [
            (RDF.type, SARAG.ImportedGraph),
            (RDF.type, VOID.Dataset),
            (DCTERMS.identifier, Literal(self.name)),
            (DCTERMS.source, Literal(self.origin)),
            (SARAG.kind, Literal(self.kind)),
            (SARAG.sha256, Literal(self.sha256)),
            (SARAG.settings, Literal(self.settings)),
            (SARAG.graph, NamedNode(reader.minter.imported_graph(self.name))),
            (SARAG.importState, Literal(self.state)),
        ]
        if self.state == COMPLETE:
            pairs.append((VOID.triples, Literal(str(self.triples), datatype=XSD.integer)))
        pairs += [
            (_ROLES[role], NamedNode(iri)) for role, iris in self.paths.items() for iri in iris
        ]
        graph = NamedNode(reader.minter.meta_graph)
        return [Quad(node, predicate, value, graph) for predicate, value in pairs]


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
    reader: GraphReader, location: str, options: ImportOptions, progress: Progress = silent
) -> ImportReport:
    """Import a file, a URL or a folder. Raises `InputError`, `UsageError`, `StoreError`."""
    converted = options.importer.converted
    if converted is None:
        return _import_file(reader, location, options, progress)
    folder = Path(location).expanduser()
    named = replace(options, name=import_name(options.name, folder.resolve().name))
    with converted(folder, options.max_expansion, progress) as path:
        return _import_file(reader, str(path), named, progress, folder.resolve().as_uri())


def _import_file(
    reader: GraphReader,
    location: str,
    options: ImportOptions,
    progress: Progress,
    origin: str = "",
) -> ImportReport:
    """`origin` is the IRI of what was converted into the file."""
    with input_file(location, options.max_expansion) as file:
        file = replace(file, origin=origin or file.origin)
        name = import_name(options.name, file.name)
        record = ImportRecord(name, options.kind, file.origin, file.sha256, options.settings)
        before = record_of(stored_quads(reader, name), name)
        graph = reader.minter.imported_graph(name)
        if before is not None and before.state == COMPLETE:
            if before.same_as(record):
                return ImportReport(name, before.kind, graph, before.triples, already=True)
            if not options.replace:
                is_same_file = before.sha256 == file.sha256
                what = "this file with other options" if is_same_file else "another file"
                raise UsageError(
                    f"{what} has already been imported as '{name}': give another --name, or "
                    "--replace it"
                )
            _validate_file(reader, file, options, progress)
            before = None
        done = _resume(reader, before, record)
        try:
            return _load(reader, file, options, replace(record, state=str(done)), progress)
        except (EntailmentError, InputError, MissingDependencyError, UsageError):
            _write(reader, name, None, drop=graph)
            raise


def forget_import(reader: GraphReader, name: str) -> None:
    """Delete an imported graph and its metadata; raises `UsageError` for an unknown name."""
    if not stored_quads(reader, name):
        raise UsageError(f"no such imported graph: '{name}'")
    _write(reader, name, None, drop=reader.minter.imported_graph(name))


def _resume(reader: GraphReader, before: ImportRecord | None, record: ImportRecord) -> int:
    """The checkpoint of the same interrupted import, or 0 after deleting that of another one."""
    if before is not None and before.state != COMPLETE and before.same_as(record):
        return int(before.state)
    _write(reader, record.name, record, drop=reader.minter.imported_graph(record.name))
    return 0


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
    record: ImportRecord,
    progress: Progress,
) -> ImportReport:
    graph = NamedNode(reader.minter.imported_graph(record.name))
    before, genid = int(record.state), _genid(reader)
    notes: list[str] = []
    arguments = (reader.store, file, options, graph.value, genid, before, progress)
    for done in _load_triples(*arguments, notes):
        _write(reader, record.name, replace(record, state=str(done)))
    size = _size(reader, record.name)
    if not size:
        raise InputError(_empty_message(file, options))
    used = used_properties(reader, graph.value, profile_properties(options.paths))
    profile = profile_of(options.importer.vocabulary, used, options.paths)
    complete = replace(record, kind=profile.kind, state=COMPLETE, triples=size, paths=profile.paths)
    _write(reader, record.name, complete)
    warnings = notes if profile.is_named else [*notes, _unnamed_warning(record.name)]
    cycle = broader_cycle(reader, graph.value) if profile.kind == "skos" else []
    if cycle:
        shown = " -> ".join(f"<{node}>" for node in [*cycle, cycle[0]])
        warnings.append(f"skos:broader leads in a circle: {shown}")
    return ImportReport(
        record.name, profile.kind, graph.value, complete.triples, warnings=tuple(warnings)
    )


def _load_triples(
    store: GraphStore,
    file: InputFile,
    options: ImportOptions,
    graph: str,
    genid: str,
    done: int,
    progress: Progress,
    notes: list[str],
) -> Iterator[int]:
    """Load a file after its first `done` triples; yields the number of triples loaded so far.

    Warnings about the file are added to `notes`.
    """
    report_position = PositionProgress(progress("importing bytes", file.path.stat().st_size))
    batch: list[bytes] = []
    read = loaded = 0
    for block in parse_triples(file, options, genid, min(BLOCK, BATCH)):
        report_position(block.position)
        read += block.count
        notes += block.warnings
        if read <= done:
            continue
        batch.append(block.data)
        if read - max(done, loaded) >= BATCH:
            store.load_ntriples(b"".join(batch), graph)
            batch.clear()
            loaded = read
            yield read
    if batch:
        store.load_ntriples(b"".join(batch), graph)
        yield read


def _unnamed_warning(name: str) -> str:
    return (
        f"no labels found (rdfs:label): the graph can be queried (sarag query --over {name}), but "
        "a search cannot find its entities by name"
    )


def _empty_message(file: InputFile, options: ImportOptions) -> str:
    given = f", and {', '.join(options.given)}" if options.given else ""
    return f"no triples in {file.name}: check the file{given}"


def _genid(reader: GraphReader) -> str:
    return f"{reader.minter.base}genid/"


def _size(reader: GraphReader, name: str) -> int:
    text = query_file("index", "graph-size").fill(None, {"kg": reader.minter.imported_graph(name)})
    ((count,),) = reader.store.select(text, "triples").rows
    return int(count.value)


def _write(reader: GraphReader, name: str, record: ImportRecord | None, *, drop: str = "") -> None:
    """Replace the metadata of an imported graph, and change the revision."""
    change = Change(
        (drop,) if drop else (),
        tuple(stored_quads(reader, name)),
        tuple(record.quads(reader)) if record else (),
    )
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


def node_of(reader: GraphReader, name: str) -> NamedNode:
    """The node that describes an imported graph."""
    return NamedNode(f"{reader.minter.base}import/{name}")


def stored_quads(reader: GraphReader, name: str) -> list[Quad]:
    """The stored metadata of an imported graph."""
    node = node_of(reader, name)
    return [q for q in reader.store.quads(reader.minter.meta_graph) if q.subject == node]


def record_of(quads: Iterable[Quad], name: str) -> ImportRecord | None:
    """The record in the quads of `ImportRecord.quads`, or None if there are none."""
    values = {q.predicate.value: str(getattr(q.object, "value", "")) for q in quads}
    if not values:
        return None
    return ImportRecord(
        name,
        values[SARAG.kind.value],
        values[DCTERMS.source.value],
        values[SARAG.sha256.value],
        values[SARAG.settings.value],
        values[SARAG.importState.value],
        int(values.get(VOID.triples.value, 0)),
    )
