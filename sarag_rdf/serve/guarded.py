"""Runs an ASGI application of another library behind the access rules of the server."""

from __future__ import annotations

from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sarag_rdf.errors import one_line
from sarag_rdf.serve.access import ANONYMOUS, AccessRules, RateLimiter
from sarag_rdf.serve.jobs import RequestError
from sarag_rdf.serve.server import listen, run_app
from sarag_rdf.serve.settings import ServeSettings

ACCESS: Final = "sarag.access"
"""Key of the `Access` in the scope of a request."""


class AccessMiddleware:
    """Admits clients that may read, with or without a token, and limits their requests."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules
        self._limiter = RateLimiter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            try:
                authorization = headers.get(b"authorization", b"").decode("latin-1")
                access = scope[ACCESS] = self._rules.access(authorization)
                who = access.name
                if who == ANONYMOUS and scope.get("client"):
                    who = f"{who} {scope['client'][0]}"
                self._limiter.admit(who, access.per_minute)
                access.require("read")
            except RequestError as error:
                text = f"{one_line(str(error))}\n"
                await PlainTextResponse(text, error.status, error.headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def serve_to_clients(app: ASGIApp, settings: ServeSettings) -> None:
    """Serve the application until interrupted."""
    guarded = AccessMiddleware(app, settings.access)
    run_app(guarded, settings, listen(settings))
