"""Sees that a query of others cannot end this process: a long one is tried in a child first.

The engine's parser and planner call themselves as deep as a text nests, and a stack that runs out
ends the process. No text of `LONGEST_HERE` characters takes half of the 8 MiB that a thread has.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

import pyoxigraph as ox

from sarag_rdf.errors import QueryError
from sarag_rdf.sandbox import EndedError, Limits, run
from sarag_rdf.stores.query_guard import QueryTraits, inspect_query
from sarag_rdf.stores.query_size import ADVICE, check_size

LONGEST_HERE: Final = 2_000
"""Characters; the shortest text known to end a process with a stack of 8 MiB has 4,600."""
STACK: Final = 4 << 20
"""Bytes of the stack on which a query is tried: half of what it has when it runs."""
_LIMITS: Final = Limits(seconds=30, memory=2 << 30)


def check_query(text: str) -> QueryTraits:
    """The traits of a query that may run in this process.

    Raises `QueryError` for one that is too deep or too long, or ends the process that tries it.
    One that does not parse is left to the engine.
    """
    if len(text) <= LONGEST_HERE:
        return inspect_query(text)
    check_size(text)
    try:
        return run(tried, _LIMITS, text)
    except EndedError as error:
        raise QueryError(f"the SPARQL {error}: {ADVICE}") from error


def tried(text: str) -> QueryTraits:
    """The traits of a query that has been parsed and planned, over no data and with no network."""
    traits = inspect_query(text)
    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=_try, args=(text,))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return traits


def _try(text: str) -> None:
    errors = (SyntaxError, RuntimeError, ValueError, OSError)
    store = ox.Store()
    with _no_sockets(), contextlib.suppress(*errors):
        result = store.query(text)
        if isinstance(result, ox.QuerySolutions | ox.QueryTriples):
            next(result, None)


@contextlib.contextmanager
def _no_sockets() -> Iterator[None]:
    """Let this process open nothing, so that SERVICE is not called, let alone twice."""
    try:
        import resource
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
