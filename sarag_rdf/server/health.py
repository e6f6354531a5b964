"""``/health``: whether a server reads its graph, and in which state, for load balancers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf import __version__
from sarag_rdf.server.jobs import JSON, JobReply
from sarag_rdf.server.openapi import Operation, operations
from sarag_rdf.server.requests import run
from sarag_rdf.server.worker import Worker


@dataclass(frozen=True, slots=True)
class HealthJob:
    """Read the revision of the graph."""

    def run(self, worker: Worker) -> JobReply:
        """The state as JSON; raises `StoreError`."""
        meta = worker.snapshot.meta
        state = {"status": "ok", "revision": meta.revision if meta else "", "version": __version__}
        return JobReply(
            200, JSON, json.dumps(state).encode(), headers={"Cache-Control": "no-store"}
        )


@operations(get=Operation(gives="Health"))
async def health(request: Request) -> Response:
    """The revision of the graph that is served now; it is another after each write.

    Servers of one graph return the same. Needs no token.
    """
    return await run(request, HealthJob(), "", "pages")
