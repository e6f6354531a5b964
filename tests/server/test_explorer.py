"""The explorer in a real browser: from a question to the sentence and the document behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import sarag_rdf
from tests.fault_server import data, playing, streamed
from tests.sample_graph import also_embeds, make_graph, remote_embedder
from tests.server.chromium import DARK, Page, open_browser
from tests.server.running import Running, serving

pytestmark = pytest.mark.browser
ADA = "https://example.org/kg/entity/ada"
ORBIS = "https://example.org/kg/entity/orbis"
FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
BOATS = """
@prefix b: <https://b.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
b:heron a b:Boat ; rdfs:label "Heron" ; b:near b:otter .
b:otter a b:Boat ; rdfs:label "Otter" .
"""
REPLY = {"final_answer": "Ada founded Orbis"}
CALM = {"name": "prefers-reduced-motion", "value": "reduce"}
SIZES = "Object.fromEntries(window.explorer.graph.mapNodes((n, a) => [n, a.size]))"
AXE = Path(__file__).parents[2] / "tools/explorer/node_modules/axe-core/axe.min.js"


@also_embeds
def endpoint(handler: BaseHTTPRequestHandler, asked: Any) -> None:
    """Embeds, and writes an answer word by word, as far as the question says."""
    prompt = asked["messages"][-1]["content"]
    if prompt.startswith("You split questions"):
        data({"questions": ["Who founded Orbis?"]})(handler)
    elif "What breaks" in prompt:
        streamed(json.dumps(REPLY), pieces=3, error="out of memory")(handler)
    elif "Who waits" in prompt:
        streamed(json.dumps(REPLY), held=3)(handler)
    else:
        streamed(json.dumps(REPLY))(handler)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("explorer") / "kg"
    with playing(endpoint) as model:
        embedder = remote_embedder(model.base_url)
        make_graph(folder, embedder=embedder)
        (folder.parent / "boats.ttl").write_text(BOATS)
        with sarag_rdf.open(folder, embedder=embedder, endpoint=None) as kg:
            kg.import_graph(folder.parent / "boats.ttl", "rdf", name="boats")
        with serving(folder, "--question-workers", "1", env=model.settings) as running:
            yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser: Page, server: Running) -> Iterator[Page]:
    """A tab without motion; complaints and requests elsewhere fail the test."""
    browser.visit("about:blank")
    browser.requests.clear()
    browser.complaints.clear()
    browser.call("Emulation.setEmulatedMedia", features=[CALM])
    yield browser
    own = (server.url, "about:", "data:")
    assert [url for url in browser.requests if not url.startswith(own)] == []
    assert browser.complaints == []


def press(page: Page, selector: str) -> None:
    page.run(f"document.querySelector({selector!r}).click()")


def text(page: Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({selector!r}).innerText"))


def search(page: Page, server: Running, question: str) -> None:
    page.visit(f"{server.url}/?q={quote(question)}")
    page.until("document.querySelectorAll('#passages li').length")


def test_a_question_leads_to_an_entity_a_sentence_and_a_document(
    page: Page, server: Running
) -> None:
    page.visit(server.url + "/")
    page.run("document.getElementById('q').focus()")
    page.call("Input.insertText", text="Who founded Orbis?")
    page.call(
        "Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13
    )
    page.until("document.querySelectorAll('#passages li').length === 5")
    assert page.run("location.search") == "?q=Who+founded+Orbis%3F"
    assert text(page, "#passages h3")
    assert text(page, "#passages .evidence")
    assert page.run("document.querySelectorAll('#passages mark').length") > 0
    press(page, "#passages .why button.step:not(.document)")
    page.until("!document.getElementById('inspector').hidden")
    entity = text(page, "#inspector h2")
    press(page, "#expand")
    page.until("document.getElementById('status').textContent.includes('new node')")
    line = "[...document.querySelectorAll('#inspector .lines button')]"
    page.run(f"{line}.find((b) => b.innerText.includes(' – with → ')).click()")
    sentence = text(page, "#inspector blockquote")
    assert entity in sentence
    assert sentence.endswith(".")
    assert page.run("document.querySelector('#inspector a.source').href").startswith(
        f"{server.url}/resource?iri=https%3A%2F%2Fexample.org%2Fkg%2Frelationship%2F"
    )
    address = page.run("document.querySelector('#passages h3 a').href")
    assert address.startswith(f"{server.url}/resource?iri=https%3A%2F%2Fexample.org%2Fkg%2Fdoc%2F")
    page.screenshot("explorer-sentence")


def test_from_a_search_to_the_pages_of_a_relationship_an_entity_and_a_document(
    page: Page, server: Running
) -> None:
    """By links and buttons alone, as a reader goes."""
    search(page, server, "Who founded Orbis?")
    press(page, "#passages .why button.step:not(.document)")
    page.until("!document.getElementById('inspector').hidden")
    entity = text(page, "#inspector h2")
    press(page, "#inspector .lines li:last-child button")
    page.until("Boolean(document.querySelector('#inspector blockquote'))")
    sentence = text(page, "#inspector blockquote")
    press(page, "#inspector a.source")
    page.until("document.querySelector('h1')?.innerText && location.pathname === '/resource'")
    assert sentence.rstrip(".") in text(page, "main")
    page.run(
        f"[...document.querySelectorAll('main a')].find(a => a.innerText === '{entity}').click()"
    )
    page.until(f"document.querySelector('h1')?.innerText === '{entity}'")
    press(page, "main a[href*='%2Fdoc%2F']")
    page.until("location.search.includes('%2Fdoc%2F') && Boolean(document.querySelector('h1'))")
    assert sentence.rstrip(".") in " ".join(text(page, "main").split())


def test_the_result_of_a_query_is_walked_on_from(page: Page, server: Running) -> None:
    query = f"CONSTRUCT {{ ?s ?p <{ORBIS}> }} WHERE {{ ?s ?p <{ORBIS}> FILTER(isIRI(?s)) }}"
    page.visit(f"{server.url}/sparql-editor#query={quote(query)}")
    page.until("Boolean(document.getElementById('query').editor)")
    press(page, "#run")
    page.until("Boolean(document.getElementById('open-explorer'))")
    press(page, "#open-explorer")
    page.until("window.explorer?.graph.order > 1 && location.search.startsWith('?query=CONSTRUCT')")
    assert text(page, "#graph-title") == "Result of a query"
    before = page.run("window.explorer.graph.order")
    assert before <= page.run("document.querySelectorAll('#rows tr').length")
    page.run(
        "[...document.querySelectorAll('#rows button')].find(b => b.textContent === 'Ada').click()"
    )
    press(page, "#expand")
    page.until("document.getElementById('status').textContent.includes('new node')")
    assert page.run("window.explorer.graph.order") > before


def test_an_imported_graph_is_explored_alone(page: Page, server: Running) -> None:
    page.visit(server.url + "/")
    page.until("[...document.getElementById('over').options].some(o => o.value === 'boats')")
    page.run(
        "(l => { l.value = 'boats'; l.dispatchEvent(new Event('change')); })"
        "(document.getElementById('over'))"
    )
    page.until(
        "[...document.querySelectorAll('#classes li')].some(c => c.innerText.includes('Boat'))"
    )
    press(page, "#classes button")
    page.until("window.explorer?.graph.order === 3")
    assert page.run("location.search").endswith("over=boats")
    page.visit(f"{server.url}/?q=Heron&over=boats")
    page.until("document.getElementById('status').textContent.includes('passage')")
    assert "Ada" not in text(page, "main")


def test_activation_is_shown_round_by_round(page: Page, server: Running) -> None:
    search(page, server, "Who founded Orbis?")
    last = page.run("Number(document.getElementById('round').max)")
    assert last >= 2
    sizes = []
    for number in range(last + 1):
        page.run(
            f"(r => {{ r.value = {number}; r.dispatchEvent(new Event('input')); }})"
            "(document.getElementById('round'))"
        )
        sizes.append(page.run(SIZES))
    assert text(page, "#round-label").startswith("Round ")
    grown = [sum(two[n] > one[n] for n in one) for one, two in pairwise(sizes)]
    assert grown[0]
    assert sum(map(bool, grown)) >= 2
    seeds = page.run("window.explorer.graph.filterNodes((n, a) => a.seed)")
    assert seeds
    assert all(sizes[0][seed] > 4 for seed in seeds)
    named = page.run("window.explorer.named")
    assert {place["key"] for place in named} >= {*seeds}
    for one, other in combinations(named, 2):
        is_beside = one["right"] <= other["left"] or other["right"] <= one["left"]
        assert is_beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
    page.run("document.getElementById('nodes').open = true")
    values = page.run(
        "[...document.querySelectorAll('#rows td.number')].map(c => Number(c.innerText))"
    )
    assert values == sorted(values, reverse=True)
    assert values[0] > 0


def test_another_c_searches_again_and_is_in_the_link(page: Page, server: Running) -> None:
    search(page, server, "Who founded Orbis?")
    page.run(
        "(r => { r.value = '0.2'; r.dispatchEvent(new Event('change')); })"
        "(document.getElementById('c'))"
    )
    page.until("location.search.endsWith('c=0.2')")
    page.until("document.getElementById('c-label').textContent === '0.20'")


def test_a_name_is_suggested_and_its_neighbours_are_shown(page: Page, server: Running) -> None:
    page.visit(server.url + "/")
    page.run("document.getElementById('q').focus()")
    page.call("Input.insertText", text="Ad")
    page.until("!document.getElementById('suggestions').hidden")
    page.key("ArrowDown")
    page.key("Enter")
    page.until("location.search.startsWith('?entity=')")
    page.until("window.explorer.graph.order > 1")
    assert text(page, "#graph-title") == "Ada"
    assert page.run(f"window.explorer.graph.degree('{ADA}')") >= 2


def test_an_error_of_the_server_is_told_in_words(page: Page, server: Running) -> None:
    page.visit(f"{server.url}/?q=Orbis&c=7")
    page.until("!document.getElementById('error').hidden")
    assert text(page, "#error") == "c of sarag must be a number in [0, 1), not 7.0"
    assert "{" not in text(page, "#error")
    page.complaints.clear()  # the browser notes the status


def test_an_answer_cites_passages_that_open(page: Page, server: Running) -> None:
    search(page, server, "Who founded Orbis?")
    press(page, "#answer")
    page.until("Boolean(document.querySelector('#answer-text a.chip'))")
    assert text(page, "#answer-text .answer") == "Ada founded Orbis"
    assert text(page, "#status") == "Answer: Ada founded Orbis"
    press(page, "#answer-text summary")
    steps = text(page, "#answer-text .steps")
    assert "Searched: Who founded Orbis?" in steps
    assert "The model wrote: answer brief" in steps
    address = page.run("document.querySelector('#answer-text a.chip').href")
    assert address.startswith(f"{server.url}/resource?iri=https%3A%2F%2Fexample.org%2Fkg%2Fdoc%2F")


def test_an_answer_appears_as_it_is_written_and_can_be_stopped(page: Page, server: Running) -> None:
    search(page, server, "Who waits at Orbis?")
    press(page, "#answer")
    page.until("document.querySelector('#answer-text .answer')?.textContent === 'Ada founded'")
    assert text(page, "#answer-text .steps .running") == "The model writes: answer brief"
    press(page, "#stop")
    page.until("document.getElementById('answer-text').textContent.includes('Stopped.')")
    assert page.run("document.getElementById('error').hidden")
    assert page.run("document.querySelectorAll('#answer-text .running').length") == 0


def test_a_broken_answer_says_so(page: Page, server: Running) -> None:
    search(page, server, "What breaks at Orbis?")
    press(page, "#answer")
    page.until("!document.getElementById('error').hidden")
    assert "broke its reply off (out of memory)" in text(page, "#error")


def test_a_server_without_a_model_answers_what_imported_graphs_state(
    page: Page, tmp_path: Path
) -> None:
    with sarag_rdf.open(tmp_path / "kg", endpoint=None) as kg:
        kg.import_graph(FILMS, "rdf", name="films")
    with serving(tmp_path / "kg") as bare:
        search(page, bare, "Who directed Winter Harbour?")
        press(page, "#answer")
        page.until("document.querySelector('#answer-text .answer')?.textContent === 'Ines Falcato'")
        page.until("!!document.querySelector('#answer-text > p.quiet')")
        shown = text(page, "#answer-text > p.quiet")
        assert re.fullmatch(
            r"Confidence \d\d% · the directors of the film \(Winter Harbour\)", shown
        )
        search(page, bare, "Who composed the music of Winter Harbour?")
        press(page, "#answer")
        page.until("!!document.getElementById('no-model')")
        assert text(page, "#no-model").startswith("This server has no language model")
        page.requests[:] = [url for url in page.requests if not url.startswith(bare.url)]


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("is_dark", [False, True])
def test_pages_fit_and_axe_finds_nothing_serious(
    page: Page, server: Running, width: int, is_dark: bool
) -> None:
    if not AXE.exists():
        pytest.skip("no axe-core, which  npm ci  in tools/explorer installs")
    page.call("Emulation.setEmulatedMedia", features=[CALM, *([DARK] if is_dark else [])])
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    found = {}
    try:
        for name, path, ready in (
            ("start", "/", "document.querySelectorAll('#classes li').length >= 0"),
            ("search", "/?q=Who+founded+Orbis%3F", "document.querySelectorAll('#rows tr').length"),
            ("entity", f"/?entity={quote(ADA)}", "!document.getElementById('inspector').hidden"),
            ("entity page", resource(ADA), PAGE),
            ("document page", resource(some(server, "?x sarag:source ?y")), PAGE),
            ("relationship page", resource(some(server, "?x a sarag:Relationship")), PAGE),
            ("class page", resource("https://w3id.org/sarag/ontology#Entity"), PAGE),
            ("property page", resource("https://w3id.org/sarag/ontology#relatedTo"), PAGE),
            ("source page", resource(some(server, "?x a sarag:Source")), PAGE),
            ("editor", "/sparql-editor", "Boolean(document.getElementById('query').editor)"),
        ):
            page.visit(server.url + path)
            page.until(ready)
            if name == "editor":
                press(page, "#run")
                page.until("document.querySelectorAll('#table tr').length")
            page.screenshot(
                f"explorer-{name.replace(' ', '-')}-{width}{'-dark' if is_dark else ''}"
            )
            found[name] = serious(page)
            assert page.run("document.documentElement.scrollWidth") <= width, name
    finally:
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=1440, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
    assert found == {name: [] for name in found}


PAGE = "Boolean(document.querySelector('main h1, h1'))"


def resource(iri: str) -> str:
    return f"/resource?iri={quote(iri, safe='')}&format=html"


def some(server: Running, pattern: str) -> str:
    prefix = "PREFIX sarag: <https://w3id.org/sarag/ontology#> "
    [[found]] = server.values(f"{prefix}SELECT ?x {{ {pattern} }} ORDER BY ?x LIMIT 1")
    return found


def serious(page: Page) -> list[str]:
    """What axe-core finds serious or critical in the page."""
    page.run(AXE.read_text(encoding="utf-8") + ";0")
    page.run("window.found = null; axe.run().then((r) => { window.found = r.violations; }); 0")
    page.until("Boolean(window.found)")
    found: list[str] = page.run(
        "window.found.filter(v => ['serious', 'critical'].includes(v.impact))"
        ".flatMap(v => v.nodes.map(n => `${v.id}: ${n.html.slice(0, 120)} ${n.failureSummary}`))"
    )
    return found
