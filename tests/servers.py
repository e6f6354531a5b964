"""Real SPARQL servers on free ports of this machine, with an empty store each.

`oxigraph_server` and `virtuoso_server` are context managers; the fixtures of this module keep one
of each for a session: who loads data into one clears it first.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

STARTING_SECONDS = 60
VIRTUOSO_ROWS = 100
"""Rows at which the Virtuoso of the tests cuts results: so few that paging is needed."""

_INI = """
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
FileExtend = 200
[TempDatabase]
DatabaseFile = {folder}/virtuoso-temp.db
TransactionFile = {folder}/virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
DisableUnixSocket = 1
ServerThreads = 10
CheckpointInterval = 0
NumberOfBuffers = {buffers}
MaxDirtyBuffers = {dirty}
DirsAllowed = {folder}
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerThreads = 5
Charset = UTF-8
[SPARQL]
ResultSetMaxRows = {rows}
MaxQueryCostEstimationTime = 40000
MaxQueryExecutionTime = 60
"""
_EMPTIED = (
    "delete from DB.DBA.RDF_QUAD"
    " where G <> iri_to_id('http://www.openlinksw.com/schemas/virtrdf#');"
)
"""Deletes all quads but Virtuoso's own; `RDF_GLOBAL_RESET` takes a second for each test."""


@dataclass(frozen=True)
class Server:
    """URLs and process of a running server; `load` takes N-Quads, `clear` empties the store."""

    name: str
    query_url: str
    update_url: str
    store_url: str
    load: Callable[[bytes], None]
    clear: Callable[[], None]
    pid: int


@contextmanager
def oxigraph_server() -> Iterator[Server]:
    """The server of Oxigraph, which takes SPARQL strictly; skips where it is not installed."""
    beside = Path(sys.executable).parent / "oxigraph"
    program = str(beside) if beside.exists() else shutil.which("oxigraph")
    if program is None:
        pytest.skip("oxigraph is not installed: pip install oxigraph")
    root = f"http://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "serve", "--location", folder, "--bind", root.removeprefix("http://")]
        store = f"{root}/store"
        with _running(command, Path(folder), f"{root}/query?query=ASK%7B%7D") as pid:
            yield Server(
                "oxigraph",
                f"{root}/query",
                f"{root}/update",
                store,
                lambda data: _send(store, "POST", data, "application/n-quads"),
                lambda: _send(store, "DELETE"),
                pid,
            )


@contextmanager
def virtuoso_server(rows: int = VIRTUOSO_ROWS, buffers: int = 10_000) -> Iterator[Server]:
    """Virtuoso, whose SPARQL has ways of its own; skips where it is not installed.

    `rows` is the limit of its results, `buffers` are the pages of 8 KB in its memory. Everyone may
    write to ``/sparql``; ``/sparql-auth`` takes the user ``dba``, password ``dba``.
    """
    program, client = shutil.which("virtuoso-t"), shutil.which("isql-vt")
    if program is None or client is None:
        pytest.skip("virtuoso-t is not installed: apt-get install virtuoso-opensource-7-bin")
    sql, http = free_port(), free_port()
    root = f"http://127.0.0.1:{http}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ini = folder / "virtuoso.ini"
        sizes = {"rows": rows, "buffers": buffers, "dirty": buffers * 6 // 10}
        ini.write_text(_INI.format(folder=folder, sql=sql, http=http, **sizes), "utf-8")

        def execute(statements: str) -> None:
            command = [str(client), f"127.0.0.1:{sql}", "dba", "dba", f"exec={statements}"]
            done = subprocess.run(command, check=True, capture_output=True, timeout=120)
            assert b"*** Error" not in done.stdout + done.stderr, done

        def load(data: bytes) -> None:
            (folder / "data.nq").write_bytes(data)
            text = f"file_to_string_output('{folder}/data.nq')"
            execute(f"DB.DBA.TTLP_MT({text}, '', 'urn:default', 512);")

        with _running([program, "-f", "-c", str(ini)], folder, f"{root}/sparql") as pid:
            execute('grant "SPARQL_UPDATE" to "SPARQL";')
            yield Server(
                "virtuoso",
                f"{root}/sparql",
                f"{root}/sparql",
                f"{root}/sparql-graph-crud",
                load,
                lambda: execute(_EMPTIED),
                pid,
            )


@pytest.fixture(scope="session")
def oxigraph() -> Iterator[Server]:
    with oxigraph_server() as server:
        yield server


@pytest.fixture(scope="session")
def virtuoso() -> Iterator[Server]:
    with virtuoso_server() as server:
        yield server


@pytest.fixture(params=["oxigraph", "virtuoso"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the two servers, emptied."""
    found: Server = request.getfixturevalue(request.param)
    found.clear()
    return found


def free_port() -> int:
    """A port that nobody listens at.

    It lies below the ports that the system gives to outgoing connections, any of which could take
    it before the server does, and above those of Ray's processes.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def _running(command: list[str], folder: Path, url: str) -> Iterator[int]:
    """A process that answers at a URL, until the block ends."""
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
    try:
        until = time.monotonic() + STARTING_SECONDS
        while not _answers(url):
            assert process.poll() is None, (folder / "output.txt").read_text("utf-8")
            assert time.monotonic() < until, f"{command[0]} does not answer at {url}"
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def _send(url: str, method: str, data: bytes | None = None, type_: str = "") -> None:
    request = urllib.request.Request(url, data, method=method)
    if type_:
        request.add_header("Content-Type", type_)
    with urllib.request.urlopen(request, timeout=60):
        pass
