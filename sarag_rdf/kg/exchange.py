"""What exporters and importers are given, and the graph as a data set of rdflib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.base.plugins import load, loadable
from sarag_rdf.base.ports import GraphStore, Progress
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.building.importer import Importer, SuggestMapping
from sarag_rdf.graph.exporter import ExportedGraph
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.session import Session

if TYPE_CHECKING:
    import rdflib


def exported_graph(session: Session, progress: Progress) -> ExportedGraph:
    """What an exporter may use of a graph."""

    def read(over: Sequence[str]) -> GraphReader:
        with session.read() as snapshot:
            return select_parts(snapshot.own, over) if over else snapshot.own

    def read_any(over: Sequence[str]) -> GraphReader:
        with session.read() as snapshot:
            is_foreign = snapshot.reader.over is not None
            return snapshot.reader if is_foreign else select_parts(snapshot.own, over)

    return ExportedGraph(read, read_any, session.write, session.models.llm, progress)


def suggesting(kind: str) -> SuggestMapping:
    """What suggests a mapping for files of a kind; raises `UsageError` if nothing does."""
    importer: Importer = load("importers", kind)
    if importer.suggest is None:
        kinds = [
            plugin.name
            for plugin, found in loadable("importers")
            if isinstance(found, Importer) and found.suggest is not None
        ]
        raise UsageError(f"--suggest-mapping needs --as {' or '.join(kinds)}, not --as {kind}")
    return importer.suggest


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
