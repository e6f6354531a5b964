"""The store of a graph as an rdflib data set, by oxrdflib, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from sarag_rdf.errors import MissingDependencyError, UsageError
from sarag_rdf.ports import GraphStore
from sarag_rdf.rdf.oxigraph import OxigraphStore
from sarag_rdf.vocab import PREFIXES

if TYPE_CHECKING:
    import rdflib

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
    read_only = type("ReadOnlyStore", (OxrdflibStore,), methods)
    dataset = rdflib.Dataset(store=read_only(store=store.inner), default_union=True)
    for prefix, namespace in PREFIXES.items():
        dataset.bind(prefix, namespace)
    return dataset
