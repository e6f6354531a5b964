"""Imports a file into a named graph of its own, in batches; an interrupted import resumes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.errors import InputError, UsageError
from sarag_rdf.graph.metadata import revised
from sarag_rdf.graph.parts import ALL, COMPLETE, LINKS
from sarag_rdf.graph.reader import DOCUMENTS, GraphReader
from sarag_rdf.imports.child_parser import BLOCK, is_plain, load_lines, triples_apart
from sarag_rdf.imports.files import InputFile, Told, input_file
from sarag_rdf.imports.options import ImportOptions
from sarag_rdf.imports.profile import KINDS, asked_for, broader_cycle, seen_as, used_in
from sarag_rdf.ports import Change, GraphStore, Progress, Term, silent
from sarag_rdf.resources import query_file
from sarag_rdf.vocab import DCTERMS, RDF, SARAG, VOID, XSD

BATCH = 500_000
"""Triples between two points from which an interrupted import goes on."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported: `already` if the same file stood there under the same name."""

    name: str
    kind: str
    graph: str
    triples: int
    already: bool = False
    warnings: tuple[str, ...] = ()


def run_import(
    reader: GraphReader, where: str, order: ImportOptions, progress: Progress = silent
) -> ImportReport:
    """Import a file or what a URL gives. Raises `InputError`, `UsageError`, `StoreError`."""
    if order.kind not in KINDS:
        raise UsageError(f"unknown kind '{order.kind}': choose one of {', '.join(KINDS)}, sarag")
    with input_file(where, order.max_expansion) as file:
        name = import_name(order.name, file.name)
        entry = Entry(name, order.kind, file.origin, file.sha256, order.settings)
        before = entry_of(stored(reader, name), name)
        graph = reader.minter.imported_graph(name)
        if before is not None and before.state == COMPLETE:
            if before.same_as(entry):
                return ImportReport(name, before.kind, graph, before.triples, already=True)
            if not order.replace:
                what = (
                    "this file, in another way,"
                    if before.sha256 == file.sha256
                    else "another graph"
                )
                raise UsageError(
                    f"{what} is imported as '{name}' already: give --name another name, "
                    "or --replace it"
                )
            _read_through(reader, file, order, progress)
            before = None
        done = _resumed(reader, before, entry)
        try:
            return _loaded(reader, file, order, replace(entry, state=str(done)), progress)
        except (InputError, UsageError):
            _write(reader, name, None, drop=graph)
            raise


def forget_import(reader: GraphReader, name: str) -> None:
    """Drop an imported graph and what is said of it; raises `UsageError` for an unknown name."""
    if not stored(reader, name):
        raise UsageError(f"there is no imported graph '{name}' here")
    _write(reader, name, None, drop=reader.minter.imported_graph(name))


def _resumed(reader: GraphReader, before: Entry | None, entry: Entry) -> int:
    """How many triples of this very import are there; what another left behind goes."""
    if before is not None and before.state != COMPLETE and before.same_as(entry):
        return int(before.state)
    _write(reader, entry.name, entry, drop=reader.minter.imported_graph(entry.name))
    return 0


def _read_through(
    reader: GraphReader, file: InputFile, order: ImportOptions, progress: Progress
) -> None:
    """Read a file to its end, so that one that is broken or of no use replaces nothing."""
    told = Told(progress("checking bytes", file.path.stat().st_size))
    used: set[str] = set()
    for block in triples_apart(file, order, _genid(reader)):
        used |= block.predicates
        told(block.position)
    if not used:
        raise InputError(_empty(file, order))
    seen_as(order.kind, used, order.paths)


def _loaded(
    reader: GraphReader, file: InputFile, order: ImportOptions, entry: Entry, progress: Progress
) -> ImportReport:
    graph = NamedNode(reader.minter.imported_graph(entry.name))
    before, genid = int(entry.state), _genid(reader)
    load = load_lines if is_plain(file, order) else _load_triples
    for done in load(reader.store, file, order, graph.value, genid, before, progress):
        _write(reader, entry.name, replace(entry, state=str(done)))
    size = _size(reader, entry.name)
    if not size:
        raise InputError(_empty(file, order))
    used = used_in(reader, graph.value, asked_for(order.paths))
    seen = seen_as(order.kind, used, order.paths)
    complete = replace(entry, kind=seen.kind, state=COMPLETE, triples=size, paths=seen.paths)
    _write(reader, entry.name, complete)
    warnings = [] if seen.is_named else [_nameless(entry.name)]
    circle = broader_cycle(reader, graph.value) if seen.kind == "skos" else []
    if circle:
        shown = " -> ".join(f"<{node}>" for node in [*circle, circle[0]])
        warnings.append(f"skos:broader leads in a circle: {shown}")
    return ImportReport(
        entry.name, seen.kind, graph.value, complete.triples, warnings=tuple(warnings)
    )


def _load_triples(
    store: GraphStore,
    file: InputFile,
    order: ImportOptions,
    graph: str,
    genid: str,
    done: int,
    progress: Progress,
) -> Iterator[int]:
    """Load a file behind its first `done` triples; yields how many have been loaded."""
    told = Told(progress("importing bytes", file.path.stat().st_size))
    held: list[bytes] = []
    read = loaded = 0
    for block in triples_apart(file, order, genid, min(BLOCK, BATCH)):
        told(block.position)
        read += block.count
        if read <= done:
            continue
        held.append(block.data)
        if read - max(done, loaded) >= BATCH:
            store.load_ntriples(b"".join(held), graph)
            held.clear()
            loaded = read
            yield read
    if held:
        store.load_ntriples(b"".join(held), graph)
        yield read


def _nameless(name: str) -> str:
    return (
        "nothing in it has a name (rdfs:label): SPARQL can ask it (sarag query --over "
        f"{name}), but a search finds nothing in it by name"
    )


def _empty(file: InputFile, order: ImportOptions) -> str:
    if order.is_filtered:
        return f"{file.name} holds no triples that are kept: see --language, --type, --property"
    return f"{file.name} holds no triples"


def _genid(reader: GraphReader) -> str:
    return f"{reader.minter.base}genid/"


def _size(reader: GraphReader, name: str) -> int:
    text = query_file("index", "graph-size").fill(None, {"kg": reader.minter.imported_graph(name)})
    ((count,),) = reader.store.select(text, "triples").rows
    return int(count.value)


def _write(reader: GraphReader, name: str, entry: Entry | None, *, drop: str = "") -> None:
    """Replace what is said of an imported graph, and change the revision."""
    change = Change(
        (drop,) if drop else (),
        tuple(stored(reader, name)),
        tuple(entry.quads(reader)) if entry else (),
    )
    reader.store.apply(revised(reader, change))


_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_ROLES = {
    "label": SARAG.labelProperty,
    "alias": SARAG.aliasProperty,
    "description": SARAG.descriptionProperty,
}


def import_name(wanted: str | None, file_name: str) -> str:
    """The name that was given, or one made of the file's; raises `UsageError`."""
    name = wanted or re.sub(r"[^a-z0-9]+", "-", file_name.partition(".")[0].lower()).strip("-")
    if not _NAME.fullmatch(name) or name in (ALL, DOCUMENTS, LINKS):
        raise UsageError(
            f"'{name}' cannot be the name of a graph: give --name with lower case letters, "
            "digits, '-', '_' and '.'; 'all', 'documents' and 'links' are taken"
        )
    return name


@dataclass(frozen=True, slots=True)
class Entry:
    """An imported graph: what it was made of and how far it came.

    `settings` tell with the digest of the file whether an import is the same as another.
    """

    name: str
    kind: str
    origin: str
    sha256: str
    settings: str
    state: str = "0"
    triples: int = 0
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def same_as(self, other: Entry) -> bool:
        """Whether another import gives the same graph, seen in the same way."""
        return (self.sha256, self.settings) == (other.sha256, other.settings)

    def quads(self, reader: GraphReader) -> list[Quad]:
        """The description, with the number of triples once it is complete."""
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


def node_of(reader: GraphReader, name: str) -> NamedNode:
    """The node that describes an imported graph."""
    return NamedNode(f"{reader.minter.base}import/{name}")


def stored(reader: GraphReader, name: str) -> list[Quad]:
    """What the data set says now of an imported graph."""
    node = node_of(reader, name)
    return [q for q in reader.store.quads(reader.minter.meta_graph) if q.subject == node]


def entry_of(quads: Iterable[Quad], name: str) -> Entry | None:
    """The entry that `Entry.quads` made, or None where there is nothing."""
    values = {q.predicate.value: str(getattr(q.object, "value", "")) for q in quads}
    if not values:
        return None
    return Entry(
        name,
        values[SARAG.kind.value],
        values[DCTERMS.source.value],
        values[SARAG.sha256.value],
        values[SARAG.settings.value],
        values[SARAG.importState.value],
        int(values.get(VOID.triples.value, 0)),
    )
