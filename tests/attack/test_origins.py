"""Pages of other origins, in a real browser and as a browser would say where it comes from."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.command import environment
from tests.fault_server import playing, send
from tests.sample_graph import make_graph
from tests.server.chromium import open_browser
from tests.server.running import Got, Running, serving

PATHS = ("/search?q=Ada", "/ask?q=Ada", "/sparql?query=ASK%7B%7D", "/rdf-graph-store?default")
CROSS, SAME = {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}
LINK = {**CROSS, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
FRAME = {**CROSS, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("origins") / "kg")


@pytest.fixture(scope="module")
def server(kg: Path) -> Iterator[Running]:
    with serving(kg) as running:
        yield running


def is_refused(path: str, got: Got, *words: str) -> None:
    """In the form of the path."""
    if path.startswith(("/search", "/ask")):
        got.is_json_error(403, "forbidden", *words)
    else:
        got.is_line(403, *words)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        CROSS,
        SAME,
        LINK,
        FRAME,
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:1"},
        {**SAME, "Origin": "http://127.0.0.1:1"},
    ],
)
def test_no_page_of_another_origin_has_anything_run(
    server: Running, path: str, headers: dict[str, str]
) -> None:
    is_refused(path, server.ask("GET", path, token=False, **headers), "--cors")
    kind, place = "application/x-www-form-urlencoded", path.partition("?")[0]
    posted = server.ask("POST", place, "query=ASK{}", token=False, Content_Type=kind, **headers)
    is_refused(path, posted)


def test_own_pages_and_programs_may(server: Running) -> None:
    path = "/sparql?query=ASK%7B%7D"
    own = f"http://127.0.0.1:{server.port}"
    said: list[dict[str, str]] = [
        {},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "same-origin", "Origin": own},
        {"Origin": own},
    ]
    for headers in said:
        assert server.ask("GET", path, token=False, **headers).status == 200, headers


def test_links_lead_to_pages_and_to_no_work(server: Running) -> None:
    for path in ("/", "/docs", "/openapi.json"):
        assert server.ask("GET", path, token=False, **LINK).status == 200
    got = server.ask("GET", "/sparql", token=False, Accept="text/html", **LINK)
    assert (got.status, got.headers["location"]) == (303, "/sparql-editor")


def test_who_may_ask_can_be_set(kg: Path) -> None:
    app, other = "https://app.example", "https://other.example"
    with serving(kg, "--cors", app) as server:
        for path in ("/sparql?query=ASK%7B%7D", "/ask?q=Ada&retriever=bm25&context=whole"):
            assert server.ask("GET", path, token=False, **CROSS, Origin=app).status == 200
            is_refused(path, server.ask("GET", path, token=False, **CROSS, Origin=other))
            is_refused(path, server.ask("GET", path, token=False, **FRAME))
    with serving(kg, "--cors", "*") as server:
        path = "/sparql?query=ASK%7B%7D"
        assert server.ask("GET", path, token=False, **CROSS, Origin=other).status == 200
        assert server.ask("GET", path, token=False, **LINK).status == 200
        is_refused("/ask", server.ask("GET", "/ask?q=Ada", token=False, **CROSS, Origin=other))


def test_behind_a_proxy_the_public_origin_is_its_own(kg: Path) -> None:
    with serving(kg, "--public-url", "https://data.example.org/kg") as server:
        path = "/sparql?query=ASK%7B%7D"
        own = {"Origin": "https://data.example.org"}
        assert server.ask("GET", path, token=False, **own).status == 200
        server.ask("GET", path, token=False, Origin="https://evil.example").is_line(403)


@contextmanager
def mcp_server(kg: Path, host: str) -> Iterator[Running]:
    """``sarag mcp --http`` on a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sarag_rdf", "mcp", "--http", "--host", host]
    command += ["--port", str(port), "--kg", str(kg)]
    process = subprocess.Popen(
        command, env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    )
    try:
        for _ in range(600):
            with socket.socket(family) as probe:
                if probe.connect_ex((host, port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.1)
        yield Running(process, host, port, kg)
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "localhost"])
@pytest.mark.parametrize("start", [mcp_server, lambda kg, host: serving(kg, "--host", host)])
def test_every_name_of_this_machine_and_no_other_is_answered(
    kg: Path, start: Any, host: str
) -> None:
    with start(kg, host) as server:
        authority = f"[{host}]" if ":" in host else host
        # Without the media type that is expected, the answer of an admitted request is 400 or 406.
        query = "/sparql?query=ASK%20%7B%7D"
        path, admitted = ("/mcp", {400, 406}) if start is mcp_server else (query, {200})
        own = (authority, "127.0.0.1", "127.0.0.2:80", "LOCALHOST", "[::1]:1")
        for name in own:
            assert server.ask("GET", path, Host=name).status in admitted, name
            got = server.ask("GET", path, Host=name, Origin=f"http://{name}")
            assert got.status in admitted, name
            server.ask("GET", path, Host=name, Origin="http://evil.example").is_line(403)
            server.ask("GET", path, Host=name, Sec_Fetch_Site="cross-site").is_line(403)
        for name in ("evil.example", "127.0.0.2.evil.example", "203.0.113.7", "0.0.0.0"):
            for more in ({}, {"Origin": f"http://{name}"}):
                server.ask("GET", path, Host=name, **more).is_line(421, "--host")


PAGE = """<!doctype html><title>other</title><body><script>
const server = "{url}", paths = {paths};
for (const path of paths) {{
  fetch(server + path, {{mode: "no-cors"}}).catch(() => 0);
  const frame = document.createElement("iframe");
  frame.src = server + path;
  document.body.append(frame);
  new Image().src = server + path + "&image";
}}
const target = document.createElement("iframe");
target.name = "target";
document.body.append(target);
const form = document.createElement("form");
form.method = "post";
form.target = "target";
form.action = server + "/sparql";
form.innerHTML = "<input name=query value='ASK {{}}'>";
document.body.append(form);
form.submit();
</script>"""


@pytest.mark.browser
def test_in_a_browser_no_other_page_has_anything_run(server: Running, tmp_path: Path) -> None:
    """A page on another local port is same-site; one from a file is cross-site."""
    page = PAGE.format(url=server.url, paths=list(PATHS)).encode()

    def show(handler: BaseHTTPRequestHandler) -> None:
        send(handler, 200, page, **{"Content-Type": "text/html; charset=utf-8"})

    def asked() -> list[str]:
        lines = server.log.read_text().splitlines()[before:]
        return [line for line in lines if any(f" {p.partition('?')[0]} " in line for p in PATHS)]

    for _ in range(100):  # the log has what was asked before, at the start of the server
        before = len(server.log.read_text().splitlines())
        time.sleep(0.05)
        if before and before == len(server.log.read_text().splitlines()):
            break
    each = 3 * len(PATHS) + 1
    with playing(show) as other, open_browser(tmp_path) as tab:
        (tmp_path / "page.html").write_bytes(page)
        for url in (other.root, (tmp_path / "page.html").as_uri()):
            least = len(asked()) + each
            for _ in range(3):  # a browser that is short of time may run no script
                tab.visit(url)
                deadline = time.monotonic() + 20
                while len(asked()) < least and time.monotonic() < deadline:
                    tab.run("1")
                    time.sleep(0.05)
                if len(asked()) >= least:
                    break
            assert len(asked()) >= least, asked()
        refused = asked()
        tab.visit(server.url + "/")  # its own page still asks
        tab.run("fetch('/sparql?query=ASK%7B%7D').then(r => document.title = r.status); 1")
        assert tab.until("document.title === '200'")
    assert all(" 403 " in line for line in refused), refused
