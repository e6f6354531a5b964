"""Doors: paths of a server for clients of another protocol, such as MCP or OpenAI's API.

They are found by the entry points of the group ``sarag_rdf.doors``: functions that take the
settings and the workers of a server, and return a `Door`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute

from sarag_rdf.base.errors import MissingDependencyError, one_line
from sarag_rdf.base.plugins import plugins
from sarag_rdf.server.jobs import RequestError
from sarag_rdf.server.pool import Workers
from sarag_rdf.server.settings import ServeSettings

log = logging.getLogger(__name__)


def one_line_response(error: RequestError) -> Response:
    """An error as one line of text."""
    return PlainTextResponse(f"{one_line(str(error))}\n", error.status, error.headers)


@dataclass(frozen=True, slots=True)
class Door:
    """Routes at `path` and below it.

    Each request needs a token with `scope`. A door that `may_cost` calls a language model for some
    requests, so that ``--cors *`` does not open it to the pages of all origins. `paths` describe it
    in OpenAPI, with `schemas`; `lifespan` runs as long as the server.
    """

    path: str
    title: str
    routes: Sequence[BaseRoute]
    scope: Literal["read", "ask"] = "read"
    may_cost: bool = True
    error: Callable[[RequestError], Response] = one_line_response
    paths: dict[str, Any] = field(default_factory=dict)
    schemas: dict[str, Any] = field(default_factory=dict)
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext

    def has(self, path: str) -> bool:
        """Whether a path is one of this door, known or not."""
        return path == self.path or path.startswith(self.path + "/")


def doors(settings: ServeSettings, workers: Workers) -> list[Door]:
    """All doors whose dependencies are installed; raises `PluginError` for a broken one."""
    found: list[Door] = []
    for plugin in plugins("doors").values():
        try:
            found.append(plugin.load()(settings, workers))
        except MissingDependencyError as error:
            log.debug("the door %s is closed: %s", plugin.name, error)
    return found
