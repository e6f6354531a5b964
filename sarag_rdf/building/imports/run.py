"""Imports a file into its own named graph, in batches, so that it can resume if interrupted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.base.errors import EntailmentError, InputError, MissingDependencyError, UsageError
from sarag_rdf.base.ports import Change, GraphStore, Progress, silent
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import DCTERMS, RDF, SARAG, VOID, XSD, Term
from sarag_rdf.building.imports.importer import ImportOptions, parse_triples
from sarag_rdf.building.imports.profile import (
    broader_cycle,
    profile_of,
    profile_properties,
    used_properties,
)
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.metadata import with_revision
from sarag_rdf.graph.parts import ALL, COMPLETE, LINKS
from sarag_rdf.graph.store.input_files import BLOCK, InputFile, PositionProgress, input_file

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
        file = replace(file, origin=origin or file.origin)
        name = import_name(name, file.name)
        record = ImportRecord(name, options.kind, file.origin, file.sha256, options.identity)
        before = record_of(stored_quads(reader, name), name)
        graph = reader.minter.imported_graph(name)
        if before is not None and before.state == COMPLETE:
            if before.same_as(record):
                return ImportReport(name, before.kind, graph, before.triples, already=True)
            if not replaces:
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
