"""A local HTTP server that plays an endpoint's faults, one after another, and counts requests."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

Play = Callable[[BaseHTTPRequestHandler], None]


class FaultServer:
    """Plays its acts in order, the last of them again and again.

    `requests` holds (time in seconds, body) of each, of JSON or of a form, `seen` its method, path
    and headers; `releases` lets hanging acts end, `disconnects` counts clients that left a stream.
    """

    def __init__(self, *acts: Play) -> None:
        self.requests: list[tuple[float, dict[str, Any]]] = []
        self.seen: list[tuple[str, str, Message]] = []
        self.releases = threading.Event()
        self.disconnects = 0
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                self.raw = self.rfile.read(length)
                body = _body(self.headers.get_content_type(), self.raw)
                with lock:
                    outer.requests.append((time.monotonic(), body))
                    outer.seen.append((self.command, self.path, self.headers))
                    act = acts[min(len(outer.requests), len(acts)) - 1]
                act(self)

            do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815 - names that http.server looks for

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._server.owner = self  # type: ignore[attr-defined]
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.base_url = f"{self.root}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a command that takes its models from here, with `hash` for texts."""
        return {
            "SARAG_BASE_URL": self.base_url,
            "SARAG_EMBEDDER": "openai:hash",
            "SARAG_MODEL": "m",
        }

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, body in self.requests]

    def close(self) -> None:
        self.releases.set()
        self._server.shutdown()
        self._server.server_close()


def _body(media_type: str, data: bytes) -> dict[str, Any]:
    if media_type == "application/x-www-form-urlencoded":
        return dict(parse_qsl(data.decode(), keep_blank_values=True))
    if media_type == "text/turtle":
        return {"turtle": data.decode()}
    body: dict[str, Any] = json.loads(data or b"{}")
    return body


@contextmanager
def playing(*acts: Play) -> Iterator[FaultServer]:
    server = FaultServer(*acts)
    try:
        yield server
    finally:
        server.close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    headers.setdefault("Content-Type", "application/json")
    headers.setdefault("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> Play:
    """A well-formed completion of 10 tokens in and 5 out."""
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
    return raw(200, json.dumps(body).encode())


def streamed(
    content: str,
    *,
    pieces: int | None = None,
    error: str = "",
    hang: bool = False,
    held: int | None = None,
    pause: float = 0.0,
) -> Play:
    """A completion of 10 tokens in and 5 out as a stream of words.

    With `pieces`, it ends after so many words: with an `error`, silently, or not at all (`hang`).
    After `held` words it goes on when the server `releases` it. It waits
    for `pause` seconds before each word.
    """
    words = re.findall(r"\S+\s*", content)

    def play(handler: BaseHTTPRequestHandler) -> None:
        owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()

        def write(choices: list[Any], **more: Any) -> None:
            head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
            line = json.dumps({**head, "choices": choices, **more})
            handler.wfile.write(f"data: {line}\n\n".encode())
            handler.wfile.flush()

        try:
            for number, word in enumerate(words[:pieces]):
                if number == held:
                    owner.releases.wait(20)
                time.sleep(pause)
                write([{"index": 0, "delta": {"content": word}, "finish_reason": None}])
            if hang:
                owner.releases.wait(20)
            if pieces is not None and error:
                handler.wfile.write(f'data: {{"error": {{"message": "{error}"}}}}\n\n'.encode())
            if pieces is not None:
                return
            write([{"index": 0, "delta": {}, "finish_reason": "stop"}])
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            write([], usage=usage)
            handler.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            owner.disconnects += 1

    return play


def data(value: Any) -> Play:
    """A completion whose text is JSON."""
    return completion(json.dumps(value))


def failure(status: int, message: str, *, param: str | None = None, **headers: str) -> Play:
    """An error in OpenAI's form."""
    body = {"error": {"message": message, "type": "t", "param": param, "code": None}}
    return raw(status, json.dumps(body).encode(), **headers)


def raw(status: int, body: bytes, **headers: str) -> Play:
    return lambda handler: send(handler, status, body, **headers)


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Send half of an answer, then reset the connection."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "1", "choi')
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def hang(handler: BaseHTTPRequestHandler) -> None:
    """Answer nothing until the server is closed."""
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    owner.releases.wait(60)


Answer = tuple[int, str, bytes]
"""Status, media type, body."""


def relay(root: str, change: Callable[[Answer], Answer] = lambda answer: answer) -> Play:
    """Hand a request on to another server, and its answer back, changed."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        data = handler.raw or None  # type: ignore[attr-defined]
        request = urllib.request.Request(root + handler.path, data, method=handler.command)
        for name in ("Content-Type", "Accept"):
            if name in handler.headers:
                request.add_header(name, handler.headers[name])
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = response.status, response.headers.get_content_type(), response.read()
        except urllib.error.HTTPError as error:
            with error:
                answer = error.code, error.headers.get_content_type(), error.read()
        status, type_, body = change(answer)
        send(handler, status, body, Content_Type=type_)

    return play
