"""Jobs for worker processes and their replies, which are sent through a pipe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from sarag_rdf.base.errors import SaragError


class RequestError(SaragError):
    """A request that cannot be served, with an HTTP status and a message of one line."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class AccessibleGraphs:
    """Graphs that a client may read: all or those in `allow`, without those in `deny`.

    See `sarag_rdf.graph.parts.accessible_graphs` for their names.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    @property
    def is_limited(self) -> bool:
        return self.allow is not None or bool(self.deny)


@dataclass(frozen=True, slots=True)
class QueryJob:
    """A query; `default_graphs` and `named_graphs` are None if the request names no dataset.

    `over` names the parts of the graph to query in that case; empty for those of the server.
    `help_url` is the URL of the documentation of the row limit.
    """

    text: str
    accept: str
    base: str
    help_url: str = ""
    over: tuple[str, ...] = ()
    default_graphs: tuple[str, ...] | None = None
    named_graphs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """An update; `using` and `using_named` are the dataset of the request."""

    text: str
    base: str
    using: tuple[str, ...] = ()
    using_named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadGraphJob:
    """Read the triples of a graph; None for the default graph."""

    graph: str | None
    accept: str


@dataclass(frozen=True, slots=True)
class Payload:
    """A file with RDF, and its media type."""

    path: str
    media_type: str


@dataclass(frozen=True, slots=True)
class WriteGraphJob:
    """`replace` a graph, `merge` into it, or `drop` it; None for the default graph."""

    action: Literal["replace", "merge", "drop"]
    graph: str | None
    base: str
    payloads: tuple[Payload, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeJob:
    """Describe the service at the URL `endpoint`."""

    endpoint: str
    accept: str


CompletionKind = Literal["class", "property", "entity"]
"""What is completed."""


@dataclass(frozen=True, slots=True)
class ExploreJob:
    """Read neighbours of a node, names of nodes, terms that begin with a prefix, or prefixes.

    `over` names the parts of the graph; empty for those of the server.
    """

    action: Literal["neighbours", "complete", "names", "prefixes"]
    iris: tuple[str, ...] = ()
    limit: int = 0
    kind: CompletionKind = "entity"
    prefix: str = ""
    over: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it is about, for the audit log."""
        return self.prefix or (self.iris[0] if self.iris else "")


@dataclass(frozen=True, slots=True)
class ResourceJob:
    """Describe a resource as `media_type`, or with `redirect` lead to its description.

    `iris` are spellings of its IRI, of which the first that exists counts; `url` is that of the
    descriptions, `store_url` that of the graph store; `page` counts instances from 1. `known` are
    entity tags of representations that the client has.
    """

    iris: tuple[str, ...]
    media_type: str
    url: str
    store_url: str
    page: int = 1
    redirect: bool = False
    known: frozenset[str] = frozenset()

    @property
    def resource(self) -> str:
        """What the job is about."""
        return next(iter(self.iris), "")


@dataclass(frozen=True, slots=True)
class QuestionJob:
    """A question for the method `search` or `ask` of a graph, with keyword arguments.

    With `trace`, the result of a search has the frames of its activation; with `stream`, what
    happens while an answer is made is reported as `Progress`. `over` names parts of the graph;
    empty for those of the server.
    """

    method: Literal["search", "ask"]
    question: str
    options: dict[str, Any]
    trace: bool = False
    stream: bool = False
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitedJob:
    """A job of a client that may read some graphs only."""

    job: Any
    graphs: AccessibleGraphs


ReadJob = QueryJob | ReadGraphJob | DescribeJob | ResourceJob | ExploreJob
Job = ReadJob | UpdateJob | WriteGraphJob


@dataclass(frozen=True, slots=True)
class JobReply:
    """A response; the body is `head`, followed by the content of the file at `path`, if any.

    `rows` is the number of rows or triples of a result.
    """

    status: int
    media_type: str = ""
    head: bytes = b""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What happens before the reply to a job, as an event with JSON data."""

    event: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stop:
    """Tells a worker that nobody waits for its reply any more; it looks at each `Progress`."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """A `RequestError` in a form that can be pickled."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
