"""A secret stands in no output, no file and no answer, whatever goes wrong and however loud."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.base.errors import EndpointError, SaragError, UsageError
from sarag_rdf.base.ports import Table
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.models.client import OpenAIEmbedder, endpoint_model
from sarag_rdf.models.openai_llm import OpenAILLM
from sarag_rdf.testing.fakes import QueuedLLM
from tests.base.test_redaction import FORMS, is_gone
from tests.building.test_resume import chat
from tests.command import Sarag, run_sarag
from tests.fault_server import FaultServer, Play, completion, data, failure, playing, raw, send
from tests.sample_graph import embeddings, make_graph, nquads
from tests.server.running import serving

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


# ---------------------------------------------------------------- What comes back encoded

KEY = 'sk-f0rb1dden/"quoted" & <more>+1'.replace(" ", "_")
"""A key that each encoding writes in another way."""
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def listing(*names: str) -> bytes:
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "x"} for name in names]
    return json.dumps({"object": "list", "data": listed}).encode()


def in_header(coded: str) -> str:
    return coded.replace("\r", "").replace("\n", "").encode("ascii", "ignore").decode()


def saying(status: int, coded: str) -> Play:
    """An error whose body, headers and reason phrase say it."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps({"error": {"message": coded, "type": coded, "code": coded}}).encode()
        handler.send_response(status, in_header(coded))
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header(
            "Location", f"http://127.0.0.1:9/{in_header(coded)}?k={in_header(coded)}"
        )
        handler.send_header("X-Said", in_header(coded))
        handler.end_headers()
        handler.wfile.write(body)

    return play


def in_pieces(body: bytes) -> Play:
    """A reply in chunks of a few bytes, as a stream comes."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for place in range(0, len(body), 7):
            piece = body[place : place + 7]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")
        handler.close_connection = True

    return play


def with_model(coded: str) -> bytes:
    """A reply that has it as its model and text."""
    choice = {"index": 0, "finish_reason": "stop"}
    message = {"role": "assistant", "content": json.dumps({"word": f"it is {coded}"})}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": coded}
    return json.dumps({**body, "choices": [{**choice, "message": message}]}).encode()


def told_by(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    """All that an error and the log tell, with causes."""
    return f"{''.join(traceback.format_exception(error))}\n{error!r}\n{caplog.text}"


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_comes_back_encoded(form: str, caplog: pytest.LogCaptureFixture) -> None:
    """From the list of models, in errors and redirects, as refusal, and in replies."""
    caplog.set_level(logging.DEBUG)
    coded = FORMS[form](KEY)
    listed = [
        saying(400, coded),
        raw(200, listing(f"m-{coded}", f"n-{coded}")),
        raw(200, listing(f"m-{coded}")),
        raw(200, coded.encode(), Content_Type="text/html", X_Said=in_header(coded)),
    ]
    repaired = [completion(f"no object, but {coded}"), completion(json.dumps({"word": [coded]}))]
    acts = [saying(status, coded) for status in (400, 401, 404, 500, 307)]
    acts += [
        completion(None, refusal=coded),
        data({"error": coded}),
        data({"error": coded}),
        raw(200, json.dumps({"error": {"message": coded}}).encode()),
    ]
    with playing(*listed, *repaired, *acts) as server:
        llm = OpenAILLM(ModelEndpoint(server.base_url, "m"), api_key=KEY, max_retries=0)
        while len(server.requests) < len(listed + repaired + acts):
            with pytest.raises((EndpointError, UsageError)) as caught:
                if len(server.requests) < len(listed):
                    endpoint_model(ModelEndpoint(server.base_url), api_key=KEY)
                else:
                    llm.complete("q", SCHEMA, name="n", max_tokens=9)
            told = told_by(caught.value, caplog)
            assert is_gone(form, f"***{told}", KEY), told


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_holds_the_key(form: str) -> None:
    coded = FORMS[form](KEY)
    with playing(in_pieces(with_model(coded))) as server:
        llm = OpenAILLM(ModelEndpoint(server.base_url, "m"), api_key=KEY, max_retries=0)
        reply = llm.complete("q", SCHEMA, name="n", max_tokens=9)
    assert reply.data["word"].startswith("it is ")
    assert is_gone(form, reply.data["word"], KEY)


def test_a_reply_in_another_charset() -> None:
    """What is parsed is looked at again, however its bytes were written."""
    body = with_model(KEY).decode().encode("utf-16")
    with playing(raw(200, body), raw(200, listing(KEY).decode().encode("utf-16"))) as server:
        llm = OpenAILLM(ModelEndpoint(server.base_url, "m"), api_key=KEY, max_retries=0)
        assert llm.complete("q", SCHEMA, name="n", max_tokens=9).data == {"word": "it is ***"}
        with pytest.raises(EndpointError, match="repeats a key"):
            endpoint_model(ModelEndpoint(server.base_url), api_key=KEY)


def test_a_model_called_after_the_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("SARAG_API_KEY", raising=False)
    for make in (OpenAILLM, OpenAIEmbedder):
        with pytest.raises(UsageError, match="name of the model") as caught:
            make(ModelEndpoint("http://127.0.0.1:9/v1", f"m-{KEY}"))
        assert KEY not in str(caught.value)


def test_a_model_of_ones_own_called_after_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sarag_rdf.plugins.llm.extractor import LLMExtractor

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    entity = {"name": "Ada", "type": "person", "aliases": [], "information": "Ada knows Ulm."}
    llm = QueuedLLM([{"entities": [entity]}] * 3, model=f"m-{KEY}")
    make_graph(tmp_path / "kg", extractor=LLMExtractor(llm, 1))
    assert '"m-***"' in nquads(tmp_path / "kg")
    assert "quoted" not in nquads(tmp_path / "kg")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["TOKEN", "PASSWORD"])
def test_a_password_that_comes_back_encoded(
    form: str, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """From a SPARQL endpoint: in errors, redirects, results, and in what makes no sense."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(f"SARAG_SPARQL_{kind}", KEY)
    monkeypatch.setenv("SARAG_SPARQL_USER", "reader-17")
    coded = FORMS[form](KEY)
    row = {"s": {"type": "literal", "value": coded}}
    rows, probe = (
        json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": [row] * count}}).encode()
        for count in (1, 100)  # the store asks once whether it gets as many rows as it asks for
    )
    acts = [saying(status, coded) for status in (400, 403, 404, 413, 500, 504, 307)]
    acts += [
        raw(200, coded.encode(), Content_Type="text/html"),
        raw(200, coded.encode(), Content_Type="application/sparql-results+json"),
        raw(200, b"", Content_Type=f"text/{in_header(coded)}"),
        raw(401, b"", WWW_Authenticate=f"{in_header(coded)} realm=x"),
    ]
    good = [
        raw(200, each, Content_Type="application/sparql-results+json") for each in (rows, probe)
    ]
    with playing(*acts, *good) as server:
        store = SparqlStore(SparqlEndpoint(f"{server.root}/query"), backoff=0.001)
        for _ in acts:
            with pytest.raises(SaragError) as caught:
                store.query("SELECT ?s {}")
            told = told_by(caught.value, caplog)
            assert is_gone(form, f"***{told}", KEY), told
        assert len(server.requests) == len(acts)
        table = store.query("SELECT ?s {}")
        assert isinstance(table, Table)
        assert is_gone(form, str(table.rows), KEY)


def talkative(handler: BaseHTTPRequestHandler) -> None:
    """Answers in order, and repeats the key in all encodings in whatever there is room for."""
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    if handler.path.endswith("/embeddings"):
        embeddings(handler)
    elif "entities" in owner.bodies[-1]["response_format"]["json_schema"]["name"]:
        told = [
            {
                "name": f"Ada{number}",
                "type": "person",
                "aliases": [text for text in [encode(KEY)] if len(text) <= 200],
                "information": f"Ada{number} is {encode(KEY)}. Ada{number} knows Ulm.",
            }
            for number, encode in enumerate(FORMS.values())
        ]
        data({"entities": told})(handler)
    else:
        told = [
            {
                "subject": f"Ada{number}",
                "phrase": encode(KEY) if len(encode(KEY)) <= 120 else "knows",
                "object": f"Ada{number + 1}",
                "sentence": f"Ada{number} is {encode(KEY)}.",
            }
            for number, encode in enumerate(list(FORMS.values())[:-1])
        ]
        data({"relationships": told})(handler)


def test_no_encoding_is_kept_in_a_graph(tmp_path: Path) -> None:
    """Not in the store, the cache of replies, an export or a log, from a process of its own."""
    names = " ".join(f"Ada{number} knows Ulm and is a person of that town." for number in range(40))
    (tmp_path / "a.txt").write_text(names)
    with playing(talkative) as server:
        env = {"SARAG_API_KEY": KEY, "SARAG_BASE_URL": server.base_url, "SARAG_MODEL": "m"}
        env |= {"SARAG_EMBEDDER": "openai:m", "SARAG_DEBUG": "1"}
        commands = (
            ("index", "a.txt", "--extractor", "llm"),
            ("export",),
            ("describe",),
            ("stats",),
        )
        done = [run_sarag(*command, cwd=tmp_path, env=env) for command in commands]
    assert [result.code for result in done] == [0] * 4
    exported = nquads(tmp_path / "kg")
    assert exported.count("***") >= len(FORMS)
    texts = [exported, *(result.out + result.err for result in done)]
    files = [path for path in (tmp_path / "kg").rglob("*") if path.is_file()]
    assert any(path.name == "replies.sqlite" for path in files)
    texts += [path.read_bytes().decode("latin-1") for path in files]
    for form in FORMS:
        for text in texts:
            assert is_gone(form, f"***{text}", KEY), form


def test_a_traceback_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do the causes of an error, which are shown when SARAG_DEBUG is set."""
    from sarag_rdf.cli import main

    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(main, "_run", lambda arguments: 0)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(SystemExit):
        main.main([])
    shown: list[str] = []
    monkeypatch.setattr("click.echo", lambda text, **_: shown.append(text))
    error = ValueError("outer")
    error.__cause__ = RuntimeError(f"inner {KEY}")
    sys.excepthook(ValueError, error, None)
    assert "RuntimeError: inner ***" in shown[0]
    assert "ValueError: outer" in shown[0]


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
