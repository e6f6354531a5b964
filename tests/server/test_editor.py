"""The SPARQL editor in a real browser: by keyboard, light and dark, with nothing from outside."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from sarag_rdf.server.app import examples
from tests.sample_graph import make_graph
from tests.server.chromium import DARK, Page, open_browser
from tests.server.running import Running, serving

pytestmark = pytest.mark.browser
EDITOR = "document.getElementById('query').editor"
ROWS = "[...document.querySelectorAll('#table tbody tr')].map(r => r.innerText)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = make_graph(tmp_path_factory.mktemp("editor") / "kg")
    with serving(folder, "--max-rows", "50") as running:
        yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser: Page, server: Running) -> Iterator[Page]:
    """The editor, freshly loaded; complaints and requests elsewhere fail the test."""
    browser.requests.clear()
    browser.complaints.clear()
    browser.visit("about:blank")
    browser.visit(server.url + "/sparql-editor")
    browser.until("Boolean(document.getElementById('query').editor)")
    yield browser
    own = (server.url, "blob:", "about:", "data:")
    asked = [url for url in browser.requests if not url.startswith(own)]
    assert asked == []


def write(page: Page, text: str) -> None:
    page.run(f"document.getElementById('query').value = {json.dumps(text)}")
    page.run("document.getElementById('query').focus()")


def run(page: Page) -> None:
    """Press Ctrl+Enter in the text, and wait for the end."""
    page.run("document.getElementById('status').textContent = ''")
    page.key("Enter", control=True)
    page.until("/seconds|Failed/.test(document.getElementById('status').textContent)")


def shown(page: Page, selector: str) -> Any:
    visible = "(e => e && e.offsetParent !== null ? e.innerText : '')"
    return page.run(f"{visible}(document.querySelector('{selector}'))")


def test_an_example_is_chosen_and_run_by_keyboard(page: Page, server: Running) -> None:
    assert page.run("document.querySelectorAll('#examples option').length") == len(examples()) + 1
    assert shown(page, "#endpoint") == server.url + "/sparql"
    page.run("document.getElementById('query').focus()")
    run(page)
    rows = page.run(ROWS)
    assert len(rows) == 6
    assert rows[0].split("\t")[1:] == ["Ada @en", "2"]
    assert rows[0].startswith("entity:ada")
    link = "document.querySelector('#table tbody a')"
    iri = quote("https://example.org/kg/entity/ada", safe="")
    assert page.run(f"{link}.href").startswith(f"{server.url}/resource?iri={iri}")
    page.until("Boolean(document.querySelector('#table small.name'))")
    assert "6 rows" in shown(page, "#status")
    assert page.complaints == []
    page.screenshot("editor-rows")


def test_each_example_answers(page: Page) -> None:
    for number, example in enumerate(examples()):
        page.run(
            f"(s => {{ s.value = '{number}'; s.dispatchEvent(new Event('change')); }})"
            "(document.getElementById('examples'))"
        )
        assert page.run("document.getElementById('query').value") == example["text"]
        run(page)
        assert not shown(page, "#error"), example["title"]
    assert page.complaints == []


def test_a_graph_comes_as_turtle_and_can_be_kept(page: Page) -> None:
    write(page, "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    run(page)
    assert "@prefix skos:" in shown(page, "#text")
    assert page.run("document.getElementById('ttl').href").startswith("blob:")
    assert shown(page, "#csv") == ""
    assert "The server's limit of 50 was exceeded" in shown(page, "#notice")
    page.screenshot("editor-turtle")


def test_downloads_hold_the_result(page: Page) -> None:
    write(page, "SELECT (1 AS ?one) ('a,b' AS ?two) {}")
    run(page)
    page.until("!document.getElementById('csv').hidden")
    page.run("fetch(document.getElementById('csv').href).catch(e => 0);window.kept = null; 0")
    assert page.run("document.getElementById('json').href").startswith("blob:")
    assert page.run("document.getElementById('csv').download") == "result.csv"


def test_an_error_is_told_where_it_is(page: Page) -> None:
    write(page, "SELECT * {\n  ?s ?p\n}")
    run(page)
    assert "Line 3, column 2" in shown(page, "#error")
    assert shown(page, "#status") == "Failed"
    underlined = "document.getElementById('query').shadowRoot.querySelector('.cm-lintRange-error')"
    assert page.run(f"{underlined}.closest('.cm-line').textContent") == "}"
    page.screenshot("editor-error")


def test_a_prefix_that_is_not_declared_is_named_with_its_line(page: Page) -> None:
    write(page, "SELECT * {\n  ?s ex:p ?o\n}")
    run(page)
    assert "prefix ex: is not declared (line 2)" in shown(page, "#error")


def test_terms_of_the_graph_are_completed_with_their_prefix(page: Page) -> None:
    write(page, "SELECT ?x { ?x a sarag:Mentio")
    page.run(f"void {EDITOR}.dispatch({{selection: {{anchor: {EDITOR}.state.doc.length}}}})")
    page.call(
        "Input.dispatchKeyEvent",
        type="keyDown", key=" ", code="Space", windowsVirtualKeyCode=32, modifiers=2,
    )  # fmt: skip
    listed = "[...document.getElementById('query').shadowRoot.querySelectorAll('li[role=option]')]"
    page.until(f"{listed}.length")
    assert "sarag:Mention" in page.run(f"{listed}[0].innerText")
    page.screenshot("editor-completion")
    time.sleep(0.1)  # a list that has just opened takes no Enter
    page.key("Enter")
    text = page.run("document.getElementById('query').value")
    assert text.splitlines() == [
        "PREFIX sarag: <https://w3id.org/sarag/ontology#>",
        "SELECT ?x { ?x a sarag:Mention",
    ]
    write(page, text + " } LIMIT 2")
    run(page)
    assert "2 rows" in shown(page, "#status")
    assert page.complaints == []


def test_a_graph_is_drawn_with_the_names_of_its_nodes(page: Page) -> None:
    write(
        page,
        "PREFIX sarag: <https://w3id.org/sarag/ontology#>\n"
        "CONSTRUCT { ?s sarag:relatedTo ?o } WHERE { ?s sarag:relatedTo ?o }",
    )
    run(page)
    page.until("window.explorer && window.explorer.graph.order > 2")
    names = page.run("window.explorer.graph.mapNodes((node, { label }) => label)")
    assert {"Ada", "Orbis"} <= set(names)


def test_queries_are_remembered_and_parts_are_chosen(page: Page, server: Running) -> None:
    write(page, "ASK { ?remembered ?p ?o }")
    page.run("document.getElementById('over').value = 'documents'")
    run(page)
    assert "over=documents&query=" in page.run("location.hash")
    page.visit("about:blank")
    page.visit(server.url + "/sparql-editor")
    page.until("document.querySelectorAll('#history option').length > 1")
    assert "?remembered" in page.run("document.querySelectorAll('#history option')[1].innerText")


def test_a_query_goes_into_the_link_and_comes_back(page: Page, server: Running) -> None:
    text = 'SELECT ("ä&#%" AS ?x) {}\n'
    write(page, text)
    run(page)
    address = page.run("location.href")
    page.visit("about:blank")
    page.visit(address)
    assert page.run("document.getElementById('query').value") == text


def test_prefixes_that_are_used_are_declared_once(page: Page) -> None:
    write(page, "SELECT * { ?s a sarag:Entity ; skos:prefLabel 'foaf:x' }")
    page.run("document.getElementById('prefixes').click()")
    page.run("document.getElementById('prefixes').click()")
    lines = page.run("document.getElementById('query').value").splitlines()
    assert lines[:2] == [
        "PREFIX sarag: <https://w3id.org/sarag/ontology#>",
        "PREFIX skos: <http://www.w3.org/2004/02/skos/core#>",
    ]
    assert len(lines) == 3
    page.run("document.getElementById('query').focus()")
    run(page)
    assert not shown(page, "#error")


def test_tab_indents_and_escape_lets_it_leave(page: Page) -> None:
    write(page, "")
    page.key("Tab")
    assert page.run("document.getElementById('query').value") == "  "
    page.key("Escape")
    page.key("Tab")
    assert page.run("document.activeElement.id") == "run"


def test_what_a_literal_says_is_text(page: Page) -> None:
    write(page, "SELECT ('<img src=x onerror=alert(1)>' AS ?x) (<javascript:alert(1)> AS ?y) {}")
    run(page)
    assert page.run("document.querySelectorAll('#table img, #table a').length") == 0
    assert page.run(ROWS) == ["<img src=x onerror=alert(1)>\tjavascript:alert(1)"]
    assert page.complaints == []


def test_the_page_reads_in_the_dark(page: Page) -> None:
    page.call("Emulation.setEmulatedMedia", features=[DARK])
    try:
        page.run("document.getElementById('query').focus()")
        run(page)
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
        page.screenshot("editor-dark")
    finally:
        page.call("Emulation.setEmulatedMedia", features=[])


def test_the_page_of_paths_shows_all(page: Page, server: Running) -> None:
    page.visit(server.url + "/docs")
    page.until("document.querySelectorAll('#paths h3').length >= 15")
    text = page.run("document.body.innerText")
    for path in ("GET /sparql", "POST /update", "PUT /rdf-graph-store/{path}", "POST /ask"):
        assert path in text
    page.screenshot("docs")
    assert page.complaints == []
