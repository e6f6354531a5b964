"""A secret stands in no output, no file and no answer, whatever goes wrong and however loud."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.command import Sarag
from tests.fault_server import FaultServer, Play, failure, playing, raw, send
from tests.index.test_resume import chat
from tests.sample_graph import embeddings, make_graph
from tests.serve.running import serving

MARK = "f0rb1dden"
SECRETS = {
    "SARAG_API_KEY": f"sk-{MARK}-sarag-0001",
    "OPENAI_API_KEY": f"sk-{MARK}-openai-0002",
    "SARAG_SPARQL_USER": f"user-{MARK}-0003",
    "SARAG_SPARQL_PASSWORD": f"pass-{MARK}-0004",
    "SARAG_SERVE_TOKEN": f"token-{MARK}-0005",
}
TOKEN = {"SARAG_SPARQL_TOKEN": f"bearer-{MARK}-0006"}
Run = Callable[..., str]


@pytest.fixture
def run(sarag: Sarag, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Run:
    """Runs the command with all secrets set; gives what it says, with all that anyone logs."""
    caplog.set_level(logging.DEBUG)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)

    def say(*arguments: str, **more: str) -> str:
        for name, value in more.items():
            monkeypatch.setenv(name, value)
        caplog.clear()
        done = sarag(*arguments)
        return f"{done.out}\n{done.err}\n{caplog.text}"

    return say


def assert_clean(folder: Path, *texts: str) -> None:
    """The mark is in none of the texts, and in no file or name below a folder."""
    for text in texts:
        assert MARK not in text, text[max(0, text.find(MARK) - 300) : text.find(MARK) + 100]
    for path in folder.rglob("*"):
        assert MARK not in path.name
        if path.is_file():
            assert MARK.encode() not in path.read_bytes(), path


def good(handler: BaseHTTPRequestHandler) -> None:
    """Play chat, embeddings, and a list of one model."""
    if handler.path.endswith("/models"):
        listed = [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}]
        send(handler, 200, json.dumps({"object": "list", "data": listed}).encode())
    elif handler.path.endswith("/embeddings"):
        embeddings(handler)
    else:
        chat(handler)


def echo(status: int) -> Play:
    """An error that repeats all headers of the request, and with them the key."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        told = " ".join(f"{name}: {value}" for name, value in handler.headers.items())
        body = json.dumps({"error": {"message": told, "type": "t", "param": None, "code": told}})
        send(handler, status, body.encode(), Content_Type="application/json")

    return play


FAULTS: dict[str, Play] = {
    "good": good,
    "400": echo(400),
    "401": echo(401),
    "404": echo(404),
    "422": echo(422),
    "wrong": echo(200),
    "redirect": raw(307, b"", Location="http://127.0.0.1:9/v1"),
    "web page": raw(200, b"<html>no</html>", Content_Type="text/html"),
    "501": failure(400, f"response_format {SECRETS['SARAG_API_KEY']} is unknown"),
}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Ada knows Ulm. Ulm is a town.")
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS)
def test_models(run: Run, documents: Path, fault: str) -> None:
    with playing(FAULTS[fault]) as server:
        more = {"SARAG_BASE_URL": server.base_url, "SARAG_EMBEDDER": "openai:m"}
        told = [run("index", "docs", "--extractor", "llm", **more)]
        assert server.seen
        assert server.seen[0][2]["Authorization"] == f"Bearer {SECRETS['SARAG_API_KEY']}"
        make_graph(documents / "other")
        told.append(run("ask", "Ada?", "--kg", "other", **more))
        if fault == "good":
            told += [
                run(*command, **more)
                for command in (("ask", "Who is Ada?", "--json"), ("export",), ("describe",))
            ]
    assert_clean(documents, *told)


@pytest.mark.parametrize("credentials", ["password", "token"])
@pytest.mark.parametrize("status", [200, 400, 401, 404, 500, 307])
def test_endpoints(run: Run, documents: Path, credentials: str, status: int) -> None:
    head = {"Location": "http://127.0.0.1:9/"} if status == 307 else {}

    def act(handler: BaseHTTPRequestHandler) -> None:
        if credentials == "password" and "Authorization" not in handler.headers:
            send(handler, 401, b"", WWW_Authenticate='Basic realm="r"')
        elif head:
            send(handler, status, b"", **head)
        else:
            echo(status)(handler)

    more = {"SARAG_CACHE_DIR": str(documents / "caches")}
    more |= TOKEN if credentials == "token" else {}
    with playing(act) as server:
        told = [
            run(*command, "--kg", f"{server.root}/query", **more)
            for command in (("query", "ASK {}"), ("stats",))
        ]
        assert any("Authorization" in headers for _, _, headers in server.seen)
    assert_clean(documents, *told)


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "docs", "--extractor", "llm", "--model", "m", "--base-url"),
        ("ask", "Ada?", "--model", "m", "--base-url"),
        ("search", "Ada?", "--embedder", "openai:m", "--base-url"),
        ("query", "ASK {}", "--kg"),
        ("query", "ASK {}", "--endpoint"),
        ("index", "docs", "--kg", "http://127.0.0.1:9/query", "--update-url"),
        ("import", "--as", "rdf"),
        ("serve", "--port", "0", "--public-url"),
        ("serve", "--kg"),
        ("describe", "--sparql-endpoint"),
    ],
    ids=" ".join,
)
def test_a_url_with_a_password_is_refused(
    sarag: Sarag, documents: Path, arguments: tuple[str, ...]
) -> None:
    make_graph(documents / "kg")
    url = f"http://user:{MARK}@127.0.0.1:9/v1"
    done = sarag(*arguments, url)
    done.fails(2, "password")
    assert_clean(documents, done.out, done.err)


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with playing(echo(400)) as server:
        yield server


def test_the_server(tmp_path: Path, model: FaultServer) -> None:
    kg = make_graph(tmp_path / "kg")
    options = ("--writable", "--base-url", model.base_url, "--model", "m")
    token = SECRETS["SARAG_SERVE_TOKEN"]
    with serving(kg, *options, env=SECRETS) as server:
        shown = f"Bearer {token}"
        answers = [
            server.ask("GET", "/ask?q=Ada"),
            server.ask("GET", "/search?q=Ada"),
            server.ask("GET", "/sparql"),
            server.ask("GET", "/openapi.json"),
            server.ask("GET", f"/sparql?query={'{' * 10}", Authorization=shown),
            server.ask("POST", "/update", "nonsense", Content_Type="application/sparql-update",
                       Authorization=shown),
            server.ask("POST", "/update", "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }",
                       Content_Type="application/sparql-update", Authorization=shown),
            server.ask("POST", "/update", "x", Content_Type="application/sparql-update",
                       Authorization=f"Bearer wrong-{MARK}"),
            server.ask("PUT", "/rdf-graph-store?graph=urn:h", "no", Content_Type="text/turtle",
                       Authorization=shown),
        ]  # fmt: skip
        server.stop()
        log = server.log.read_text()
    assert 204 in [answer.status for answer in answers]
    told = [f"{answer.headers} {answer.body!r}" for answer in answers]
    assert_clean(tmp_path, log, *told)
