"""The ports of the library as Protocols; adapters are in `graph.store` and `models`.

Fakes in tests implement the same Protocols and pass the same contract tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Quad, Triple

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.notebooks import SHOWN, more, table_html
from sarag_rdf.base.types import (
    Answer,
    Document,
    Evidence,
    Extraction,
    Method,
    Query,
    Retrieved,
    Usage,
)
from sarag_rdf.base.vocab import XSD

if TYPE_CHECKING:
    import pandas

Vector = NDArray[np.float32]
"""Shape (d,), unit length."""
Matrix = NDArray[np.float32]
"""Shape (n, d), rows of unit length."""

Advance = Callable[[int], None]
"""Called with the number of items that were completed since the last call."""
Progress = Callable[[str, int], Advance]
"""Called with a description and the total number of items at the beginning of a task."""


def silent(what: str, total: int) -> Advance:  # noqa: ARG001
    """A Progress that shows nothing."""
    return lambda done: None  # noqa: ARG005


@dataclass(frozen=True, slots=True)
class Change:
    """An atomic change: graphs are dropped, quads deleted, then inserted; `create` adds graphs."""

    drop: tuple[str, ...] = ()
    delete: tuple[Quad, ...] = ()
    insert: tuple[Quad, ...] = ()
    create: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A SELECT result: `rows` are aligned with `variables`; None for an unbound variable."""

    variables: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def __repr__(self) -> str:
        return f"<Table of {len(self.rows)} rows: {', '.join(self.variables)}>"

    def _repr_html_(self) -> str:
        rows = (map(_text, row) for row in self.rows[:SHOWN])
        return table_html(self.variables, rows, more(len(self.rows) - SHOWN))

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of Python values; raises `MissingDependencyError`."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                "pandas is not installed: pip install 'sarag-rdf[pandas]'"
            ) from error
        rows = [[_value(term) for term in row] for row in self.rows]
        return pandas.DataFrame(rows, columns=list(self.variables))


_INTEGERS = ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger")
_READERS: Mapping[str, Callable[[str], Any]] = {
    **{XSD[name].value: int for name in _INTEGERS},
    **{XSD[name].value: float for name in ("decimal", "double", "float")},
    XSD.boolean.value: lambda text: text in ("true", "1"),
    XSD.dateTime.value: datetime.fromisoformat,
    XSD.date.value: date.fromisoformat,
}


def _text(term: Any) -> str:
    return "" if term is None else str(getattr(term, "value", term))


def _value(term: Any) -> Any:
    """A term as a value of Python; a literal that cannot be read is text."""
    if term is None:
        return None
    read = _READERS.get(getattr(getattr(term, "datatype", None), "value", ""), str)
    with suppress(ValueError):
        return read(_text(term))
    return _text(term)


@dataclass(frozen=True, slots=True)
class Triples:
    """A CONSTRUCT or DESCRIBE result."""

    triples: list[Triple]

    def __repr__(self) -> str:
        return f"<Triples: {len(self.triples)}>"

    def _repr_html_(self) -> str:
        rows = (map(_text, triple) for triple in self.triples[:SHOWN])
        note = more(len(self.triples) - SHOWN)
        return table_html(("subject", "predicate", "object"), rows, note)


class GraphStore(Protocol):
    """A SPARQL 1.1 dataset with named graphs."""

    @property
    def is_shared(self) -> bool:
        """Whether the store may contain graphs of other applications."""

    max_values: int
    """The most values in a query; fewer once an endpoint has refused so many."""

    def query(
        self, text: str, *, union: bool = False, default_graphs: Sequence[str] | None = None
    ) -> Table | Triples | bool:
        """Run a query; with `union` the default graph is the union of all named graphs.

        With `default_graphs` it is the union of these, and GRAPH still ranges over all named
        graphs. Results are complete when the method returns. Raises `QueryError` for a text that
        does not parse, `StoreError` otherwise.
        """

    def select(self, text: str, key: str, *, iris: bool = False) -> Table:
        """All rows of a SELECT query, in pages by `key` if the store has a row limit.

        `key` is a variable of the result that is always bound. With `iris`, all cells are IRIs,
        or unbound, which an endpoint may return faster. Raises what `query` raises.
        """

    def each_row(self, text: str, key: str, *, iris: bool = False) -> Iterator[tuple[Any, ...]]:
        """The rows of `select`, which a store on this machine does not hold all at once.

        They must be read in one thread.
        """

    def apply(self, change: Change) -> None:
        """Apply a change as one transaction; an endpoint applies it in several requests."""

    def load(self, quads: Iterable[Quad]) -> None:
        """Bulk load quads; unlike `apply`, a failure may leave part of them in the store."""

    def load_ntriples(self, data: bytes, graph: str) -> None:
        """Add N-Triples without blank nodes to a graph, as `load` does; raises SyntaxError."""

    def quads(self, graph: str | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph, in an unspecified order."""

    def graphs(self) -> list[str]:
        """IRIs of all named graphs, sorted."""

    def close(self) -> None:
        """Release the store; a second call does nothing."""


class Embedder(Protocol):
    """Turns texts into unit vectors; those of questions by `embed_queries`, if it has that."""

    @property
    def name(self) -> str:
        """The name of the model; vectors of different models are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, the texts of a graph: shape (len(texts), d), float32, unit rows."""
        ...


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Embed queries, as passages if the model makes no difference."""
    embed: Callable[[Sequence[str]], Matrix]
    embed = getattr(embedder, "embed_queries", embedder.embed)
    return embed(texts)


Arrays = Mapping[str, NDArray[Any]]
"""Named arrays of numbers."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`data` matches the schema; of a cached reply, `first_...` are those of its call, if known."""

    data: dict[str, Any]
    usage: Usage
    first_usage: Usage | None = field(default=None, compare=False)
    first_seconds: float = field(default=0.0, compare=False)


class LLM(Protocol):
    """A chat model that answers in JSON."""

    @property
    def model(self) -> str:
        """The name of the model at its endpoint."""
        ...

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """Answer `prompt` (one user message) with an object that matches the JSON `schema`.

        `name` is a short identifier of the call, ``[a-z_]+``. Raises an `EndpointError`.
        """
        ...


Seen = Callable[[str], None]
"""Called with the text of a reply so far; it begins anew if the model is asked again."""


@runtime_checkable
class StreamingLLM(LLM, Protocol):
    """A chat model whose reply can be read while it is written."""

    def stream(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int, seen: Seen
    ) -> Reply:
        """The same as `complete`; `seen` is called with the text so far, if any is available."""
        ...


class Extractor(Protocol):
    """Extracts mentions and relations; may also be `CountsUsage` and the like below."""

    @property
    def method(self) -> Method:
        """A description of the extraction method, which is part of the graph's provenance."""
        ...

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result per document, in order; an exception for a document that failed.

        An error that would affect all further documents is raised instead.
        """
        ...


class Workers(Protocol):
    """Processes, here or elsewhere, that convert files, extract and embed."""

    @property
    def size(self) -> int:
        """How many they are."""

    def read(self, files: Iterable[Any]) -> Generator[Any, None, None]:
        """The records of each `InputFile`, in order; several are converted at a time."""

    def spread(
        self, extractor: Extractor, texts: Any, cache: Callable[[str], Path | None]
    ) -> AbstractContextManager[Extractor]:
        """A block with the extractor to use in it, given the `CachedEmbedder` and places of caches.

        What calls an endpoint stays in this process.
        """

    def timed(self, extractor: Extractor, embedder: Embedder) -> Any:
        """Both in one, with the `seconds` and `processor` seconds they took since `restart()`."""

    def seconds(self, moved: float, rest: float, documents: int) -> float:
        """How long a run takes, of which one core needs `moved` for what they do, and `rest`."""


@runtime_checkable
class CountsUsage(Protocol):
    """An extractor that calls a model endpoint."""

    @property
    def usage(self) -> Usage:
        """The usage of all calls so far."""
        ...


@runtime_checkable
class CountsDiscarded(Protocol):
    """An extractor that leaves out a part of what it reads."""

    @property
    def discarded(self) -> Mapping[str, int]:
        """Reason -> number of items so far that are not in an extraction."""
        ...


@runtime_checkable
class Estimates(Protocol):
    """An extractor that can tell what `extract` would cost."""

    def estimate(
        self, documents: Sequence[Document], *, price_in: float = 0.0, price_out: float = 0.0
    ) -> Usage | None:
        """The expected usage, without any call, or None; prices are dollars per million tokens."""
        ...


class Services(Protocol):
    """What extractors are built from; models are loaded when they are asked for.

    An extractor class has a class method ``build(options, services)``, which raises `UsageError`
    for options that do not fit the graph.
    """

    @property
    def schema(self) -> Any:
        """The `sarag_rdf.graph.ontology.schema.Schema` to follow; None without terms."""
        ...

    @property
    def concurrency(self) -> int:
        """Number of simultaneous calls of the language model."""
        ...

    def llm(self) -> LLM:
        """The language model; raises `UsageError` if none is configured."""
        ...

    def embedder(self) -> Embedder | None:
        """The embedder of the graph, if it has one."""
        ...

    def extractor(self, chosen: str) -> Extractor:
        """Another extractor, as ``name:key=value``."""
        ...


class Retriever(Protocol):
    """Finds the documents and relationships for a question."""

    def retrieve(self, query: Query) -> Retrieved: ...


Gather = Callable[[Query], Evidence]
"""Retrieves for a question or sub-question, and builds the context."""
CountTokens = Callable[[str], int]
"""Counts the tokens of a text, exactly or approximately."""


class Reasoner(Protocol):
    """Answers a question with a model, from evidence that it gathers, or from none."""

    def answer(self, query: Query) -> Answer:
        """Answer a question. Raises `EndpointError`, or what retrieval raises."""
        ...
