"""Graphs in and out: imports, exports, the description of the data set, and rdflib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, NoReturn

from sarag_rdf.base.compression import MAX_EXPANSION
from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.base.exchange import values_of
from sarag_rdf.base.plugins import load, loadable
from sarag_rdf.base.ports import GraphStore, Progress, silent
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.building.imports import restore as restoring
from sarag_rdf.building.imports import run
from sarag_rdf.building.imports.importer import Importer, ImportOptions
from sarag_rdf.building.imports.run import ImportReport
from sarag_rdf.graph.exporter import ExportedGraph, Exporter, ExportReport
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.store.child_parser import MAX_SECONDS
from sarag_rdf.graph.store.files import input_file
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.export import description as void
from sarag_rdf.kg.session import Session

if TYPE_CHECKING:
    import rdflib


def export(
    session: Session,
    format_: str,
    output: IO[bytes],
    progress: Progress = silent,
    **given: Any,
) -> ExportReport | None:
    """Write the graph with the exporter of a format; see `KnowledgeGraph.export`."""
    exporter: Exporter = load("exporters", format_)
    values = values_of(f"the format {format_}", exporter.settings, given)

    def read(over: Sequence[str]) -> GraphReader:
        with session.read() as snapshot:
            return select_parts(snapshot.own, over) if over else snapshot.own

    def read_any(over: Sequence[str]) -> GraphReader:
        with session.read() as snapshot:
            is_foreign = snapshot.reader.over is not None
            return snapshot.reader if is_foreign else select_parts(snapshot.own, over)

    graph = ExportedGraph(read, read_any, session.write, session.models.llm, progress)
    return exporter.write(graph, output, **values)


def describe(
    session: Session, dumps: Sequence[str], endpoint: str, **description: str | None
) -> bytes:
    """VoID, DCAT and PROV of the data set as Turtle; see `KnowledgeGraph.describe`."""
    files = list(map(void.dump_of, dumps))
    if description:
        set_description(session, **description)
    with session.read() as snapshot:
        return void.describe(snapshot.reader, files, endpoint)


def set_description(session: Session, **description: str | None) -> None:
    """Store properties of the data set, such as its title, in the graph."""
    with session.write(create=False) as reader:
        void.write_dataset_metadata(reader, void.DatasetMetadata(**description))
        session.vectors.carry_over(reader)


def import_graph(
    session: Session, where: str, options: ImportOptions, progress: Progress, *, embed: bool
) -> ImportReport:
    """Import a file or URL as a graph of its own; see `KnowledgeGraph.import_graph`."""
    with session.write() as reader:
        session.vectors.record_model(reader, tries=embed)
        report = run.run_import(reader, where, options, progress)
        if embed:
            session.vectors.build(reader, progress)
        return report


def suggest_mapping(
    session: Session, where: str, kind: str, schema: Schema, prefixes: dict[str, str]
) -> str:
    """A mapping for a file; see `KnowledgeGraph.suggest_mapping`."""
    importer: Importer = load("importers", kind)
    if importer.suggest is None:
        kinds = [plugin.name for plugin, found in loadable("importers") if _suggests(found)]
        raise UsageError(f"--suggest-mapping needs --as {' or '.join(kinds)}, not --as {kind}")
    with session.read(missing_ok=True) as snapshot:
        base = snapshot.own.minter.base
    with input_file(where) as file:
        return importer.suggest(file, schema, base, prefixes)


def _suggests(importer: Any) -> bool:
    return isinstance(importer, Importer) and importer.suggest is not None


def drop_import(session: Session, name: str) -> None:
    """Drop an imported graph; raises `UsageError` if there is none of that name."""
    with session.write() as reader:
        run.forget_import(reader, name)


def restore(
    session: Session,
    where: str,
    format_: str | None,
    progress: Progress,
    *,
    embed: bool,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
) -> int:
    """Load an export into an empty graph; returns the number of quads."""
    limits = (max_expansion, max_seconds)
    exported = restoring.exported_meta(where, format_, *limits)
    with session.write() as reader:
        count = restoring.restore(reader.store, where, exported, format_, progress, *limits)
    if embed:  # a block of its own: the base of the graph is now that of the export
        with session.write() as reader:
            session.vectors.build(reader, progress)
    return count


_CHANGES = ("add", "addN", "remove", "update", "remove_graph", "destroy")
"""Methods of a store of rdflib that change it; `add_graph` is called for reading, too."""


def read_only_dataset(store: GraphStore) -> rdflib.Dataset:
    """An `rdflib.Dataset` that reads a store; changes raise `UsageError`.

    Raises `MissingDependencyError`; `UsageError` for the store of a SPARQL endpoint.
    """
    if not isinstance(store, OxigraphStore):
        raise UsageError(
            "the graph of a SPARQL endpoint has no store here: use rdflib's SPARQLStore with its "
            "URL"
        )
    try:
        from oxrdflib import OxigraphStore as OxrdflibStore
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "oxrdflib is not installed: pip install 'sarag-rdf[rdflib]'"
        ) from error
    import rdflib

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            "this data set is read-only: change the graph with the methods of KnowledgeGraph"
        )

    methods: dict[str, Any] = dict.fromkeys(_CHANGES, refuse)
    methods["add_graph"] = lambda _, graph: None  # noqa: ARG005
    methods["snapshot"] = store  # which has the files open
    read_only = type("ReadOnlyStore", (OxrdflibStore,), methods)
    dataset = rdflib.Dataset(store=read_only(store=store.inner), default_union=True)
    for prefix, namespace in PREFIXES.items():
        dataset.bind(prefix, namespace)
    return dataset
