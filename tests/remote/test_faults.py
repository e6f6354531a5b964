"""What an endpoint can do wrong: each is a typed error with one line, or is put right."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import (
    QueryError,
    RemoteAuthError,
    RemoteDownError,
    RemoteRateLimitError,
    RemoteRequestSizeError,
    RemoteStoreError,
    RemoteTimeoutError,
    RemoteTruncatedError,
    StoreError,
    UsageError,
)
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Change, Table, Triples
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.graph_reader import GraphReader, Part
from sarag_rdf.graph.store import sparql_client
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from tests.command import Sarag
from tests.fault_server import Answer, FaultServer, Play, hang, playing, raw, relay, reset, send
from tests.servers import Server

JSON = "application/sparql-results+json"
SELECT = "SELECT ?s WHERE { GRAPH ?g { ?s ?p ?o } }"
ASK = "ASK { GRAPH ?g { ?s ?p ?o } }"
NTRIPLES = "application/n-triples"


def rows(*values: str) -> bytes:
    bindings = [{"s": {"type": "uri", "value": value}} for value in values]
    return json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": bindings}}).encode()


WHOLE = rows("urn:a", "urn:b")
TRUE = b'{"head": {}, "boolean": true}'
MANY = rows(*map("urn:{}".format, range(125)))
MANY_TRIPLES = b"".join(b"<urn:%d> <urn:p> <urn:o> .\n" % number for number in range(125))


def ok(body: bytes = WHOLE, type_: str = JSON, **headers: str) -> Play:
    return raw(200, body, Content_Type=type_, **headers)


def store(server: FaultServer, *, timeout: float = 5.0, writable: bool = False) -> SparqlStore:
    remote = SparqlEndpoint(f"{server.root}/query", timeout=timeout)
    return SparqlStore(remote, writable=writable, backoff=0.001)


def unframed(body: bytes, type_: str) -> Play:
    """An answer that ends when the connection does, wherever that may be."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", type_)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return play


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Send a byte now and then, so that no single wait is long."""
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.end_headers()
    owner: FaultServer = handler.server.owner  # type: ignore[attr-defined]
    for _ in range(200):
        if owner.releases.wait(0.05):
            return
        handler.wfile.write(b" ")
        handler.wfile.flush()


CANCELLED = WHOLE[:60] + b"\nThe query was cancelled because it took too long"

FAULTS: list[tuple[str, Play, type[StoreError], str]] = [
    ("half a body", ok(WHOLE[:50]), RemoteTruncatedError, "incomplete or damaged"),
    (
        "half a body, unframed",
        unframed(WHOLE[:50], JSON),
        RemoteTruncatedError,
        "incomplete or damaged",
    ),
    ("a broken connection", reset, RemoteStoreError, "/query"),
    ("a cancelled query", ok(CANCELLED), RemoteTimeoutError, "was cancelled"),
    ("a web page", ok(b"<html>Hi</html>", "text/html"), RemoteStoreError, "a web page"),
    ("other types", ok(b"s\n1\n", "text/csv"), RemoteStoreError, "text/csv"),
    ("other JSON", ok(b'{"a": 1}'), RemoteStoreError, "not a SPARQL result"),
    ("no UTF-8", ok(WHOLE.replace(b"urn:a", b"urn:\xff")), RemoteTruncatedError, "damaged"),
    ("a part", ok(X_SQL_State="S1TAT"), RemoteTruncatedError, "partial result"),
    ("a bad query", raw(400, b"Parse error at 1:1"), QueryError, "Parse error at 1:1"),
    ("401", raw(401, b"no"), RemoteAuthError, "SARAG_SPARQL_TOKEN"),
    ("403", raw(403, b"no"), RemoteAuthError, "403"),
    ("404", raw(404, b"<html><body>None</body></html>"), RemoteStoreError, "(404): None:"),
    ("413", raw(413, b""), RemoteRequestSizeError, "too large"),
    ("too many values", raw(500, b"Too many values"), RemoteRequestSizeError, "Too many"),
    ("429", raw(429, b""), RemoteRateLimitError, "429"),
    ("429 for long", raw(429, b"", Retry_After="7200"), RemoteRateLimitError, "for 7200 s"),
    ("503", raw(503, b"busy"), RemoteRateLimitError, "busy"),
    ("500", raw(500, b"out of disk"), RemoteDownError, "out of disk"),
    ("504", raw(504, b""), RemoteTimeoutError, "504"),
    ("500 for time", raw(500, b"S1T00 Error"), RemoteTimeoutError, "S1T00"),
    ("redirect", raw(302, b"", Location="http://127.0.0.1:9/x"), RemoteStoreError, "127.0.0.1:9"),
]


@pytest.mark.parametrize(
    ("act", "kind", "told"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_each_fault_is_a_typed_error(act: Play, kind: type[StoreError], told: str) -> None:
    with playing(act) as server:
        for ask in (store(server).query, lambda text: store(server).select(text, "s")):
            with pytest.raises(kind) as caught:
                ask(SELECT)
            assert told in str(caught.value)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("act", [hang, drip], ids=["hangs", "drips"])
def test_an_answer_that_takes_too_long(act: Play) -> None:
    with playing(act) as server, pytest.raises(RemoteTimeoutError, match=r"within 0\.3 s"):
        store(server, timeout=0.3).query(SELECT)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/query", "http://nowhere.invalid/sparql", "https://127.0.0.1:9/x"]
)
def test_nobody_answers(url: str) -> None:
    with pytest.raises(RemoteDownError, match="cannot connect to"):
        SparqlStore(SparqlEndpoint(url)).query(SELECT)


def test_what_is_no_tls() -> None:
    with playing(ok()) as server, pytest.raises(RemoteDownError, match="cannot connect to"):
        SparqlStore(SparqlEndpoint(server.root.replace("http:", "https:") + "/query")).query(SELECT)


# ------------------------------------------------------------------------------ Patience


def test_a_request_is_sent_again_when_the_endpoint_says_so() -> None:
    with playing(raw(429, b"", Retry_After="1"), raw(503, b""), reset, ok(TRUE)) as server:
        assert store(server).query(ASK) is True
    times = [moment for moment, _ in server.requests]
    assert len(times) == 4
    assert times[1] - times[0] >= 1.0


def test_a_date_says_when_to_come_back() -> None:
    moment = format_datetime(datetime.now(UTC) - timedelta(minutes=5), usegmt=True)
    with playing(raw(503, b"", Retry_After=moment), ok(TRUE)) as server:
        store(server).query(ASK)
    assert len(server.requests) == 2


def test_patience_ends() -> None:
    with playing(raw(429, b"")) as server, pytest.raises(RemoteRateLimitError):
        store(server).query(SELECT)
    assert len(server.requests) == 1 + sparql_client.RETRIES


def test_a_wait_that_is_too_long_is_told_at_once() -> None:
    with playing(raw(429, b"", Retry_After="3600")) as server, pytest.raises(RemoteRateLimitError):
        store(server).query(SELECT)
    assert len(server.requests) == 1


def test_a_retry_names_the_url_that_it_is_sent_to(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "sarag_rdf")
    with playing(raw(503, b""), ok()) as server:
        remote = SparqlEndpoint(f"{server.root}/query", f"{server.root}/update")
        change = Change(drop=("urn:g",))
        SparqlStore(remote, writable=True, backoff=0.001).apply(change)
    assert "/update is not available" in caplog.text
    assert "/query" not in caplog.text


def test_an_update_that_broke_off_is_not_sent_again() -> None:
    with playing(reset) as server, pytest.raises(StoreError):
        store(server, writable=True).apply(Change(drop=("urn:g",)))
    assert len(server.requests) == 1


# ------------------------------------------------------------------------- What is sent


def test_requests_are_forms_with_a_name() -> None:
    with playing(ok(TRUE)) as server:
        store(server).query(ASK)
    method, path, headers = server.seen[0]
    assert (method, path) == ("POST", "/query")
    assert headers["User-Agent"].startswith("sarag_rdf/")
    assert headers.get_content_type() == "application/x-www-form-urlencoded"
    assert headers["Accept"].startswith(JSON)
    assert headers["Authorization"] is None
    assert server.bodies == [{"query": ASK}]


def test_credentials_go_to_the_endpoint_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A token at once, a password when it is asked for; neither to where a redirect leads."""
    caplog.set_level(0)
    wanting = raw(401, b"", WWW_Authenticate='Basic realm="x"')
    with playing(ok()) as other, playing(raw(307, b"", Location=f"{other.root}/query")) as first:
        monkeypatch.setenv("SARAG_SPARQL_TOKEN", "open-sesame")
        with pytest.raises(RemoteStoreError, match="give its URL") as caught:
            store(first).query(ASK)
        assert first.seen[0][2]["Authorization"] == "Bearer open-sesame"
        monkeypatch.delenv("SARAG_SPARQL_TOKEN")
        monkeypatch.setenv("SARAG_SPARQL_USER", "ali")
        monkeypatch.setenv("SARAG_SPARQL_PASSWORD", "open-sesame")
        with playing(wanting, ok(TRUE), wanting) as server:
            store(server).query(ASK)
            assert [headers["Authorization"] for *_, headers in server.seen] == [
                None,
                "Basic YWxpOm9wZW4tc2VzYW1l",
            ]
            with pytest.raises(RemoteAuthError) as refused:
                store(server).query(ASK)
        assert other.requests == []
    said = caplog.text + str(caught.value) + str(refused.value)
    assert "sesame" not in said
    assert "YWxpO" not in said


@pytest.mark.parametrize(
    "url", ["http://user:sesame@host/sparql", "http:///x", "http://h:99999/x", "http://h/a b"]
)
def test_urls_that_cannot_serve(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        SparqlEndpoint(url)
    assert "sesame" not in str(caught.value)


# --------------------------------------------------------------------- What comes back


def test_terms_of_every_kind() -> None:
    cells = [
        {"type": "uri", "value": "urn:a"},
        {"type": "literal", "value": "x"},
        {"type": "literal", "value": "x", "xml:lang": "de-AT"},
        {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
        {"type": "typed-literal", "value": "1.5", "datatype": "urn:d"},
        {"type": "bnode", "value": "nodeID://b10001"},
        None,
    ]
    names = [f"v{number}" for number in range(len(cells))]
    binding = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    body = json.dumps({"head": {"vars": names}, "results": {"bindings": [binding]}}).encode()
    with playing(ok(body), ok(MANY)) as server:
        found = store(server).query(SELECT)
    assert isinstance(found, Table)
    integer = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
    assert found.rows == [
        (
            NamedNode("urn:a"),
            Literal("x"),
            Literal("x", language="de-AT"),
            Literal("1", datatype=integer),
            Literal("1.5", datatype=NamedNode("urn:d")),
            BlankNode("nodeID---b10001"),
            None,
        )
    ]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"head": {}, "boolean": true}', True),
        (b'{"head": {}, "boolean": false}', False),
        (rows().replace(b'"s"', b'"__ASK_RETVAL"'), False),
    ],
)
def test_an_ask(body: bytes, wanted: bool) -> None:
    with playing(ok(body)) as server:
        assert store(server).query("ASK { ?s ?p ?o }") is wanted


def test_triples_whose_end_cannot_be_known_are_refused() -> None:
    data = b"<urn:s> <urn:p> <urn:o> .\n"
    text = "CONSTRUCT WHERE { ?s ?p ?o }"
    checks = ok(WHOLE), ok(MANY), ok(MANY_TRIPLES, NTRIPLES)
    with playing(ok(data, NTRIPLES), *checks, unframed(data, NTRIPLES)) as s:
        found = store(s).query(text)
        assert isinstance(found, Triples)
        assert len(found.triples) == 1
        with pytest.raises(RemoteTruncatedError, match="length of its responses"):
            store(s).query(text)
    with (
        playing(ok(data + b"<urn:s> <urn:p> cancelled", "application/n-triples")) as s,
        pytest.raises(RemoteTimeoutError, match="cancelled"),
    ):
        store(s).query(text)


# ---------------------------------------------------------------------------- Silent cuts


def cutting(limit: int, root: str) -> Play:
    """Hands a request on, and so many rows or lines of N-Triples back, and says nothing."""

    def cut(answer: Answer) -> Answer:
        if answer[1].startswith(JSON):
            data = json.loads(answer[2])
            del data["results"]["bindings"][limit:]
            return *answer[:2], json.dumps(data).encode()
        return *answer[:2], b"".join(answer[2].splitlines(keepends=True)[:limit])

    return relay(root, cut)


@pytest.fixture
def numbers(oxigraph: Server) -> str:
    """The root of a server of 1,000 subjects with 1 to 3 values, and one with 700."""
    lines = [f'<urn:s{s}> <urn:p> "{v}" <urn:g> .' for s in range(1000) for v in range(1 + s % 3)]
    lines += [f'<urn:s500> <urn:q> "{v}" <urn:g> .' for v in range(700)]
    oxigraph.clear()
    oxigraph.load("\n".join(lines).encode())
    return oxigraph.query_url.removesuffix("/query")


ALL = "SELECT ?s ?p ?o WHERE { GRAPH <urn:g> { ?s ?p ?o } }"


@pytest.mark.parametrize("limit", [137, 400, 1000])
def test_a_silent_cut_is_seen_and_paged_over(numbers: str, limit: int) -> None:
    wanted = SparqlStore(SparqlEndpoint(f"{numbers}/query")).select(ALL, "s")
    with playing(cutting(limit, numbers)) as server:
        found = store(server, timeout=60).select(ALL, "s")
        assert sorted(map(str, found.rows)) == sorted(map(str, wanted.rows))
        assert len(found.rows) == len(set(map(str, found.rows))) == 2699
        with pytest.raises(RemoteTruncatedError, match=f"{limit} rows and has more"):
            store(server, timeout=60).query(ALL)


def test_a_small_limit_is_seen(numbers: str) -> None:
    with playing(cutting(40, numbers)) as server:
        cut = store(server, timeout=60)
        assert len(cut.select(f"{ALL[:-1]} FILTER(?o = '2') }}", "s").rows) == 333 + 1
        for text in (
            f"{ALL} LIMIT 60",
            f"CONSTRUCT {{ ?s ?p ?o }} {ALL[16:]}",
            "DESCRIBE <urn:s500> FROM <urn:g>",
        ):
            with pytest.raises(RemoteTruncatedError, match=r"40 .* has more"):
                cut.query(text)
        for text in (f"{ALL} LIMIT 20", "DESCRIBE <urn:s5> FROM <urn:g>"):
            assert cut.query(text)


def test_a_complete_result_of_a_round_number_is_no_error(numbers: str) -> None:
    store = SparqlStore(SparqlEndpoint(f"{numbers}/query"))
    text = "SELECT ?s FROM <urn:g> FROM NAMED <urn:h> WHERE { ?s <urn:p> '0' }"
    found = store.query(text)
    assert isinstance(found, Table)
    assert len(found.rows) == 1000
    single = " ".join(f"<urn:s{3 * number}>" for number in range(100))
    described = store.query(f"DESCRIBE {single} FROM <urn:g>")
    assert isinstance(described, Triples)
    assert len(described.triples) == 100


def test_a_server_that_does_not_sort_is_found_out(numbers: str) -> None:
    def shuffled(answer: Answer) -> Answer:
        status, type_, body = answer
        data = json.loads(body)
        rows = data["results"]["bindings"]
        rows.reverse()
        del rows[200:]
        return status, type_, json.dumps(data).encode()

    with (
        playing(relay(numbers, shuffled)) as server,
        pytest.raises(RemoteStoreError, match="does not sort"),
    ):
        store(server, timeout=60).select(ALL, "s")


def test_a_batch_that_is_too_large_is_halved(oxigraph: Server) -> None:
    """Of 300 values in a request; this server takes no more than 2 kB."""
    numbers = range(300)
    related = SARAG.relatedTo
    lines = [f"<urn:s{number}> {related} <urn:s{number + 1}> <urn:g> ." for number in numbers]
    oxigraph.clear()
    oxigraph.load("\n".join(lines).encode())
    root = oxigraph.query_url.removesuffix("/query")

    def small(handler: BaseHTTPRequestHandler) -> None:
        if len(handler.raw) > 2000:  # type: ignore[attr-defined]
            send(handler, 413, b"too large")
        else:
            relay(root)(handler)

    def neighbours(server: SparqlStore) -> list[str]:
        reader = GraphReader(server, Minter(), (Part("x", "sarag", {"kg": "urn:g"}, server),))
        rows = reader.rows_for("neighbours", (f"urn:s{number}" for number in numbers))
        return sorted(map(str, rows))

    with playing(small) as server:
        found = neighbours(store(server))
    assert len(server.requests) >= 8
    assert len(found) == 599
    assert found == neighbours(SparqlStore(SparqlEndpoint(oxigraph.query_url)))


def test_one_line_on_the_command_line(sarag: Sarag) -> None:
    with playing(ok(WHOLE[:40])) as server:
        sarag("query", SELECT, "--endpoint", server.root).fails(1, "incomplete or damaged")
        sarag("search", "Who?", "--endpoint", server.root).fails(1, "incomplete or damaged")
        sarag("stats", "--endpoint", server.root).fails(1, "incomplete or damaged")
