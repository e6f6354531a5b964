"""What the library needs from the outside, as Protocols; adapters are in `stores` and `models`.

A fake that a test uses implements the same Protocol and runs the same contract tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode, Quad, Triple

from sarag_rdf.types import (
    Answer,
    Context,
    Document,
    Evidence,
    Extraction,
    Method,
    Query,
    Retrieved,
    Usage,
)

Vector = NDArray[np.float32]
"""Shape (d,), unit length."""
Matrix = NDArray[np.float32]
"""Shape (n, d), rows of unit length."""

Advance = Callable[[int], None]
Progress = Callable[[str, int], Advance]
"""Called with what begins and how many there are; returns what is called as they get done."""


def silent(what: str, total: int) -> Advance:  # noqa: ARG001
    """The Progress that shows nothing."""
    return lambda done: None  # noqa: ARG005


Term = NamedNode | Literal
"""An RDF term of stored data: there are no blank nodes in it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One atomic change of a store: graphs dropped, then quads deleted, then quads inserted."""

    drop: tuple[str, ...] = ()
    delete: tuple[Quad, ...] = ()
    insert: tuple[Quad, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A SELECT result: `rows` align with `variables`; None is an unbound variable."""

    variables: tuple[str, ...]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Triples:
    """A CONSTRUCT or DESCRIBE result."""

    triples: list[Triple]


class GraphStore(Protocol):
    """A SPARQL 1.1 data set with named graphs."""

    @property
    def is_shared(self) -> bool:
        """Whether graphs of others may stand beside those of sarag."""

    def query(
        self, text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
    ) -> Table | Triples | bool:
        """Run a query; with `union` the default graph is the union of all named graphs.

        With `default_graphs` it is the union of these, and GRAPH still reaches all named graphs.
        Results are complete when the method returns. Raises `QueryError` for a text that does
        not parse, `StoreError` otherwise.
        """

    def select(self, text: str, key: str) -> Table:
        """All rows of a SELECT query, however many: in pages by `key` where a store has limits.

        `key` is a variable of the result that is always bound. Raises what `query` raises.
        """

    def apply(self, change: Change) -> None:
        """Make a change wholly or not at all; an endpoint can only make it step by step."""

    def load(self, quads: Iterable[Quad]) -> None:
        """Add many quads fast; unlike a change, part of them may be there if it fails."""

    def load_ntriples(self, data: bytes, graph: str) -> None:
        """Add N-Triples without blank nodes to a graph, as `load` does.

        Raises SyntaxError, with line and offset, for data that does not parse.
        """

    def quads(self, graph: str | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph, in an unspecified order."""

    def graphs(self) -> list[str]:
        """IRIs of all named graphs, sorted."""

    def close(self) -> None:
        """Give the store free; a second call does nothing."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Names the model; vectors of two names are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts: shape (len(texts), d), float32, unit rows."""
        ...


class VectorIndex(Protocol):
    """Similarities of one kind of node (descriptions, relationships, documents, entities).

    `sarag_rdf.vectors.index.AnyIndex` makes all of it of `iris` and two methods.
    """

    @property
    def iris(self) -> Sequence[str]:
        """All IRIs in ascending order; their places in it are the positions below."""

    def __len__(self) -> int: ...

    def nearest(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        """The k IRIs of highest cosine, best first, ties by IRI; of very many a few are missed."""

    def nearest_rows(self, vector: Vector, k: int) -> tuple[NDArray[np.int64], Vector]:
        """The same as positions and cosines, each of shape (min(k, n),)."""

    def similarities(self, vector: Vector, iris: Sequence[str]) -> NDArray[np.float32]:
        """Cosines of the given IRIs, shape (len(iris),). Raises KeyError for an unknown IRI."""

    def vectors(self, positions: NDArray[np.int64]) -> Matrix:
        """The vectors at these positions, shape (len(positions), d)."""

    def cosines(self, vector: Vector, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines at these positions alone, shape (len(positions),)."""

    def quantile(self, vector: Vector, q: float) -> tuple[float, float]:
        """The q-quantile and the maximum of the cosines with `vector`; (0, 0) if empty.

        Of a fixed random sample where there are many vectors; so are the moments.
        """

    def moments(self, vector: Vector) -> tuple[float, float]:
        """Mean and standard deviation of the cosines with `vector`; (0, 0) if empty."""


class WordIndex(Protocol):
    """Scores texts by the words that they share with a question."""

    def scores(self, text: str) -> NDArray[np.float32]:
        """One score a text, in the order in which they were given, at least 0: shape (n,)."""
        ...


Arrays = Mapping[str, NDArray[Any]]
"""Named arrays of numbers, as one file holds them."""


class VectorStore(Protocol):
    """Keeps vector indexes, and arrays made of the graph, between runs.

    What is kept may be deleted at any time.
    """

    def names(self) -> Sequence[str]:
        """Names of the arrays and kinds of the indexes that are kept, readable or not."""

    def key_of(self, name: str) -> str:
        """The key that arrays or an index are kept under; empty where it cannot be read."""

    def discard(self, name: str) -> None:
        """Delete what is kept of a name."""

    def load_arrays(self, name: str, key: str) -> Arrays | None:
        """The arrays saved under name and key, not to be written to, or None."""

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        """Keep arrays if that is possible."""

    def load(self, kind: str, key: str) -> VectorIndex | None:
        """The index of a kind if it was saved under this key, else None."""

    def save(
        self, kind: str, key: str, iris: Sequence[str], blocks: Iterable[Matrix]
    ) -> VectorIndex:
        """Make an index of IRIs (ascending) and their vectors, and keep it if that is possible.

        The vectors come in blocks, at least one, and are written as they come.
        """

    def update(
        self,
        kind: str,
        before: str,
        after: str,
        gone: Sequence[str],
        come: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> VectorIndex | None:
        """Bring the index of one key to another: some IRIs go, others come with their vectors.

        `come` ascends; what was there before must be among what is `gone`, of which others need
        not have been there. None if there is no such index or it cannot be written: it is then
        made anew, and what was there is of no use any more.
        """

    def rekey(self, name: str, before: str, after: str) -> None:
        """Let the index or the arrays of one key, if they are there, be those of another."""

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        """Do what makes searching an index faster, if it is there and large."""


ChooseVectors = Callable[[str, VectorStore], VectorStore]
"""Given a name of the parts that are searched and the store here, gives the store to be used."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A structured reply: `data` satisfies the schema that was asked for."""

    data: dict[str, Any]
    usage: Usage


class LLM(Protocol):
    """A chat model that answers in JSON."""

    @property
    def model(self) -> str:
        """Names the model at its endpoint."""
        ...

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """Answer `prompt` (one user message) with an object that satisfies the JSON `schema`.

        `name` is a short identifier of the call, ``[a-z_]+``. Raises an `EndpointError`.
        """
        ...


class Extractor(Protocol):
    """Finds mentions and relations in documents.

    An extractor that drops some of what it finds may count that, by reason, in an attribute
    ``discarded: Mapping[str, int]``; the report of a run then includes those counts.
    """

    @property
    def method(self) -> Method:
        """Describes how it works; part of the graph's provenance."""
        ...

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result a document, in order; an exception stands for a document that failed.

        An error that would fail every further document is raised instead.
        """
        ...


class Retriever(Protocol):
    """Finds the documents and relationships for a question."""

    def retrieve(self, query: Query) -> Retrieved: ...


class ContextBuilder(Protocol):
    """Chooses what a model is given of what was retrieved."""

    def build(self, retrieved: Retrieved) -> Context: ...


Gather = Callable[[Query], Evidence]
"""Retrieves for a question or sub-question, and builds the context."""
CountTokens = Callable[[str], int]
"""How many tokens a text has, as a model's tokenizer or an approximation tells."""


class Reasoner(Protocol):
    """Answers a question with a model, from evidence that it gathers, or from none."""

    def answer(self, query: Query) -> Answer:
        """Raises an `EndpointError`, or what the gathering of evidence raises."""
        ...
