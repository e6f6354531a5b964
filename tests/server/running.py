"""A ``sarag serve`` in a process of its own, and raw requests to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlencode

from tests.command import environment, interruptible
from tests.forked import Forked, start

TOKEN = "a-token-of-the-tests"
_PATIENCE = 60.0
JSON = "application/sparql-results+json"
Process = Forked | subprocess.Popen[bytes] | subprocess.Popen[str]


@dataclass(frozen=True)
class Got:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def json(self) -> Any:
        return json.loads(self.body)

    def is_json_error(self, status: int, code: str, *words: str) -> None:
        """Assert that this is an error in JSON, as those of /search and /ask are, on one line."""
        assert self.status == status, self
        assert self.media_type == "application/json", self
        error = self.json()["error"]
        assert error["code"] == code, self
        assert "\n" not in error["message"], self
        for word in words:
            assert word in error["message"], self

    def is_line(self, status: int, *words: str) -> None:
        """Assert that this is an error in one line of plain text."""
        assert self.status == status, self
        assert self.media_type == "text/plain", self
        assert self.text.count("\n") == 1, self.text
        for word in words:
            assert word in self.text, self.text


@dataclass
class Running:
    """A server's address and process."""

    process: Process
    host: str
    port: int
    log: Path
    stdout: TextIO | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        *,
        token: bool = False,
        **headers: str,
    ) -> Got:
        """One request; names of headers with underscores for dashes."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_PATIENCE)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {TOKEN}"
        data = body.encode() if isinstance(body, str) else body
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Got(answer.status, found, answer.read())
        finally:
            connection.close()

    def query(self, text: str, accept: str = JSON, **more: str) -> Got:
        """A query by GET."""
        return self.ask("GET", "/sparql?" + urlencode({"query": text, **more}), Accept=accept)

    def update(self, text: str, parameters: str = "") -> Got:
        """An update with the token."""
        return self.ask(
            "POST",
            f"/update{parameters}",
            text,
            token=True,
            Content_Type="application/sparql-update",
        )

    def values(self, text: str) -> list[list[str]]:
        """The rows of a SELECT, as plain values; an unbound one is empty."""
        got = self.query(text)
        assert got.status == 200, got.text
        names = got.json()["head"]["vars"]
        return [
            [row.get(name, {}).get("value", "") for name in names]
            for row in got.json()["results"]["bindings"]
        ]

    def raw(self, data: bytes) -> bytes:
        """Send bytes as they are, and read until the server hangs up or falls silent.

        It may hang up before it has read all of them.
        """
        parts = []
        with socket.create_connection((self.host, self.port), timeout=10) as wire:
            with suppress(ConnectionResetError, BrokenPipeError):
                wire.sendall(data)
            with suppress(TimeoutError, ConnectionResetError):
                while part := wire.recv(1 << 16):
                    parts.append(part)
        return b"".join(parts)

    def children(self) -> set[int]:
        """Processes that the server has started, and those that they have started."""
        found: set[int] = set()
        unseen = [self.process.pid]
        while unseen:
            number = unseen.pop()
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                text = Path(f"/proc/{number}/task/{number}/children").read_text()
                unseen += [int(child) for child in text.split()]
            found.add(number)
        return found - {self.process.pid}

    def stop(self) -> None:
        """Interrupt the server, and wait until it has ended."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=_PATIENCE)


@contextmanager
def serving(
    kg: Path, *options: str, env: Mapping[str, str] | None = None, is_forked: bool = True
) -> Iterator[Running]:
    """``sarag serve`` on a free port, in a process of its own, which begins with its imports."""
    command = ["serve", "--kg", str(kg), "--port", "0", *options]
    variables = {"SARAG_SERVE_TOKEN": TOKEN, **(env or {})}
    log = kg.parent / "stderr.txt"
    reading, writing = os.pipe()
    with log.open("w") as errors, os.fdopen(reading, encoding="utf-8") as stdout:
        with os.fdopen(writing) as output:
            launch = start if is_forked else _launch
            process = launch(command, kg.parent, variables, output.fileno(), errors.fileno())
        try:
            yield _started(process, stdout, log)
        finally:
            process.kill()
            process.wait()


def _launch(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    """What `tests.forked.start` does, without its imports."""
    return subprocess.Popen(
        [sys.executable, "-m", "sarag_rdf", *arguments],
        env=environment(**env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        preexec_fn=interruptible,
    )


def _started(process: Process, stdout: TextIO, log: Path) -> Running:
    with selectors.DefaultSelector() as waiting:  # takes any number of open files
        waiting.register(stdout, selectors.EVENT_READ)
        assert waiting.select(_PATIENCE), "the server does not start"
    found = re.search(r"http://\[?([\w.:]+?)\]?:(\d+)/", stdout.readline())
    if not found:
        process.wait(_PATIENCE)
        raise AssertionError(log.read_text())
    running = Running(process, found.group(1), int(found.group(2)), log, stdout)
    _await(running)
    return running


def _await(running: Running) -> None:
    """The socket is open from the start; the first answer says that the processes are."""
    assert running.ask("GET", "/sparql?query=ASK%7B%7D").status in (200, 401)


def alive(number: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z" and os.getpid() != number


def all_end(numbers: set[int]) -> bool:
    """Whether none of the processes runs after a while; the last to go sees its pipe closed."""
    deadline = time.monotonic() + _PATIENCE
    while any(map(alive, numbers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, numbers))
