"""What is asked of a worker process and what it answers; these values cross a pipe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from sarag_rdf.errors import SaragError


class RequestError(SaragError):
    """What a client did wrong, or the server cannot do: an HTTP status and one line."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class QueryJob:
    """A query; graphs are None where the protocol names no data set.

    `over` names the parts of the graph that are asked then, none for those of the server.
    `help_url` is where a client reads about the limit of rows.
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
    """An update; `using` and `using_named` are the data set that the protocol names."""

    text: str
    base: str
    using: tuple[str, ...] = ()
    using_named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadGraphJob:
    """The triples of one graph; None is the default graph."""

    graph: str | None
    accept: str


@dataclass(frozen=True, slots=True)
class Payload:
    """RDF in a file, with its media type."""

    path: str
    media_type: str


@dataclass(frozen=True, slots=True)
class WriteGraphJob:
    """`replace` a graph, `merge` into it, or `drop` it; None is the default graph."""

    action: Literal["replace", "merge", "drop"]
    graph: str | None
    base: str
    payloads: tuple[Payload, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeJob:
    """The description of the service that is reached at `endpoint`."""

    endpoint: str
    accept: str


@dataclass(frozen=True, slots=True)
class QuestionJob:
    """A question to `search` for, or to `ask`, with the options of the method of that name."""

    method: Literal["search", "ask"]
    question: str
    options: dict[str, Any]


ReadJob = QueryJob | ReadGraphJob | DescribeJob
Job = ReadJob | UpdateJob | WriteGraphJob


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: `head`, then the content of the file at `path` if there is one."""

    status: int
    media_type: str = ""
    head: bytes = b""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error, as it crosses the pipe."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
