"""Queries with a time limit, in a child process: the engine itself cannot be interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sarag_rdf.base.errors import QueryTimeoutError, StoreError
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.sandbox import EndedError, Limits, half_of_memory, run
from sarag_rdf.graph.store.oxigraph import OxigraphStore

_UNLIMITED: Final = 1e6
"""Seconds (11 days) that stand for no limit."""


def query_in_child(
    folder: Path, text: str, seconds: float, *, union: bool, default_graphs: Sequence[str] | None
) -> Table | Triples | bool:
    """Run a query on the graph in `folder` as it is now; the other arguments are those of `query`.

    `seconds` is the time limit; 0 means none. An interrupt ends the query at once. Raises
    `QueryTimeoutError`, and what `OxigraphStore.open` and `query` raise.
    """
    limits = Limits(seconds or _UNLIMITED, half_of_memory())
    try:
        return run(_query, limits, folder, text, union, default_graphs)
    except EndedError as error:
        if error.by_time:
            raise QueryTimeoutError(
                f"the query took more than {seconds:g} seconds: raise --timeout (in Python: "
                "timeout), or simplify the query; --explain prints how much each pattern matches"
            ) from error
        raise StoreError(
            "the query needs more memory than is available, or crashed the engine: add a LIMIT, "
            "or simplify it"
        ) from error


def _query(
    folder: Path, text: str, union: bool, default_graphs: Sequence[str] | None
) -> Table | Triples | bool:
    store = OxigraphStore.open(folder / "store")
    return store.query(text, union=union, default_graphs=default_graphs)
