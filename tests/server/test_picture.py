"""Pictures of an activated subgraph: a page, opened in a real browser, and a PNG."""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest
import resvg_py

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.sentences import printable_line
from sarag_rdf.base.types import EntityType, Retrieved, Seed, Subgraph
from sarag_rdf.server.picture.drawing import (
    FONTS,
    activation_html,
    activation_svg,
    write_activation_png,
)
from sarag_rdf.server.picture.flow import STATES, Flow, Place, _apart, flow_of, text_width, wrap
from sarag_rdf.server.picture.trace import trace_of
from tests.server.chromium import DARK, Page, open_browser
from tests.server.picture_sample import (
    DOCUMENTS,
    HOSTILE,
    QUESTION,
    empty,
    hostile,
    iri,
    retrieval,
    step,
    through_documents,
)

SVG = "{http://www.w3.org/2000/svg}"

# What is drawn


def test_what_is_active_is_drawn_in_columns_from_the_seeds() -> None:
    flow = flow_of(retrieval())
    assert [flow.count(state) for state in STATES] == [2, 7, 0]
    assert flow.remark == ""
    titles = [title for _, title in flow.headings]
    assert titles[:3] == ["Seeds", "1 step from a seed", "2 steps from a seed"]
    columns = {x: [p.name for p in flow.places if abs(p.x - x) < 20] for x, _ in flow.headings}
    seeds, first, second, *_ = columns.values()
    assert set(seeds) == {"Marie Curie", "Polonium"}
    assert {"Warsaw", "Radium", "Pierre Curie"} <= set(first)
    assert "Vistula" in second


def test_entities_of_one_name_say_where_they_are_from() -> None:
    own, other = "https://example.org/kg/entity/bell", "https://bells.example/b1"
    found = replace(empty(), seeds=tuple(Seed(iri, "", 1.0, name="Bell") for iri in (own, other)))
    named = replace(found, names={own: "Bell", other: "Bell"})
    names = [node.name for node in trace_of(named).nodes.values()]
    assert names == ["Bell (example.org/kg/entity)", "Bell (bells.example)"]


def test_an_entity_and_its_page_are_drawn_once() -> None:
    found = retrieval()
    seed = next(e for e in found.entities if e.is_seed)
    first, *others = found.documents
    page = replace(first, document=replace(first.document, iri=seed.iri), entity="", chain=())
    flow = flow_of(replace(found, documents=(page, *others)))
    (place,) = [place for place in flow.places if place.node.iri == seed.iri]
    assert (place.node.kind, place.node.is_seed, place.mark) == ("document", True, "1")
    assert flow.remark == ""


def test_limits_keep_the_best_and_the_way_to_the_documents() -> None:
    flow = flow_of(retrieval(), max_rows=3, max_documents=2)
    drawn = {place.name for place in flow.entities}
    assert drawn >= {"Marie Curie", "Polonium", "Warsaw", "Vistula", "Gdańsk", "Poland", "Radium"}
    assert "Pierre Curie" not in drawn
    assert flow.left_out == {"entity": 1, "document": 5}
    assert flow.remark == "Not drawn: 1 activated entity and 5 documents."
    for limits in ((0, 12), (18, 0)):
        with pytest.raises(UsageError):
            flow_of(retrieval(), *limits)


def test_a_document_knows_the_path_that_led_to_it() -> None:
    flow = flow_of(retrieval())
    second = flow.documents[1]
    assert second.way == ("Marie Curie", "Warsaw", "Vistula", "Gdańsk")
    joins = [(a, b, role) for a, b, role in joined(flow) if {a, b} <= {*second.way, "2"}]
    assert sorted(joins) == [
        ("Gdańsk", "2", "path"),
        ("Marie Curie", "Warsaw", "path"),
        ("Vistula", "Gdańsk", "path"),
        ("Warsaw", "Vistula", "path"),
    ]
    assert len(second.parts) == 5 + 4
    ids = {place.id for place in flow.places} | {line.id for line in flow.lines}
    assert ids > set(second.parts) > {"d1"}


def joined(flow: Flow) -> list[tuple[str, str, str]]:
    """Names, or marks, of what each line joins, and its role."""
    called = {place.id: place.mark or place.name for place in flow.places}
    return [(called[x.origin], called[x.target], x.role) for x in flow.lines]


def test_a_path_leads_over_documents_and_seeds_are_marked() -> None:
    flow = flow_of(through_documents())
    assert [place.mark for place in flow.documents] == [*"1234567", "a", "b"]
    assert [place.name for place in flow.documents[7:]] == ["Unused", "Rivers"]
    assert [place.mark for place in flow.documents if place.node.is_seed] == ["3", "a"]
    assert flow.left_out["document"] == 0
    second = flow.documents[1]
    assert second.way == ("document 3", "Warsaw", "Vistula", "document b", "Gdańsk")
    assert len(second.parts) == 6 + 5
    found = joined(flow)
    for origin, target in pairwise(("3", "Warsaw", "Vistula", "b", "Gdańsk", "2")):
        assert (origin, target, "path") in found
    assert [(a, b) for a, b, role in found if "a" in (a, b) and role == "carried"] == [
        ("a", "Poland")
    ]
    assert not flow.documents[7].parts


def test_activation_that_came_back_has_arrows_both_ways() -> None:
    given = through_documents()
    first, second, *rest = given.documents
    back = (step(1, second.document.iri, iri("Gdańsk")), step(3, iri("Gdańsk"), first.document.iri))
    to_and_fro = replace(given, documents=(replace(first, chain=back), second, *rest))
    flow = flow_of(to_and_fro)
    both = [{line.origin, line.target} for line in flow.lines if line.both]
    (gdansk,) = [place.id for place in flow.entities if place.name == "Gdańsk"]
    assert both == [{"d1", gdansk}]


def test_names_cover_no_node_and_no_other_name() -> None:
    for given in (retrieval(), through_documents()):
        flow = flow_of(given)
        for place in flow.places:
            left, top, right, bottom = box_of(place)
            for other in flow.places:
                if other is place:
                    continue
                x, y, r = other.x, other.y, other.radius
                assert x + r <= left or right <= x - r or y + r <= top or bottom <= y - r
                a, b, c, d = box_of(other)
                assert c <= left or right <= a or d <= top or bottom <= b, place.name


def box_of(place: Place) -> tuple[float, float, float, float]:
    half = 7.0 * len(place.label)
    return place.label_x, place.y - half, place.end, place.y + half


def test_nodes_of_a_column_are_as_near_as_can_be_to_where_they_belong() -> None:
    assert _apart([2.0, 5.0], 9) == [2.0, 5.0]
    assert _apart([2.0, 2.0], 9) == [1.5, 2.5]
    assert _apart([0.0, 0.0, 4.0], 9) == [0.0, 1.0, 4.0]
    assert _apart([9.0, 9.0], 9) == [8.0, 9.0]
    # worked by hand: three at 3 are centred there, and the one at 3.5 is pushed on by a half
    assert _apart([3.0, 3.0, 3.0, 3.5], 9) == [1.625, 2.625, 3.625, 4.625]


def test_parallel_relationships_share_a_line_and_loops_are_not_drawn() -> None:
    flow = flow_of(retrieval())
    pairs = {frozenset(e[:2]): line for e, line in zip(joined(flow), flow.lines, strict=True)}
    assert len(pairs) == len(flow.lines)
    assert len(pairs[frozenset(("Marie Curie", "Pierre Curie"))].relations) == 2
    assert frozenset(("Vistula",)) not in pairs


def test_the_same_retrieval_gives_the_same_picture_inside_the_canvas() -> None:
    given = retrieval()
    shuffled = replace(given, entities=given.entities[::-1], documents=given.documents[::-1])
    flow = flow_of(given)
    assert flow == flow_of(shuffled)
    assert all(0 < p.x < flow.width and 0 < p.y < flow.height for p in flow.places)
    assert len({(p.x, p.y) for p in flow.places}) == len(flow.places)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_entities_without_links(count: int) -> None:
    given = retrieval()
    few = replace(
        given, entities=given.entities[:count], documents=(), seeds=given.seeds[:1],
        subgraph=Subgraph((), {}, ()),
    )  # fmt: skip
    assert len({(place.x, place.y) for place in flow_of(few).entities}) == max(count, 1)


def test_documents_without_entities_are_drawn_too() -> None:
    flow = flow_of(replace(empty(), documents=retrieval().documents[:3]))
    assert [place.mark for place in flow.documents] == ["1", "2", "3"]
    alike = [replace(d, entity="", chain=()) for d in retrieval().documents]
    flow = flow_of(replace(empty(), documents=tuple(alike)))
    assert len({(place.x, place.y) for place in flow.places}) == 7
    assert [title for _, title in flow.headings] == ["No activation"]
    assert flow.lines == ()


def test_text_is_cleaned_measured_and_wrapped() -> None:
    assert printable_line("a\x00\n b\ud800\u202e\uffff") == "a b\ufffd\ufffd"
    assert text_width("東京", 10) == 20
    assert wrap("Nobel Prize in Physics", 110, 11, 2) == ("Nobel Prize", "in Physics")
    lines = wrap("東京大学" * 20, 80, 10, 2)
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert all(text_width(line, 10) <= 80 for line in lines)


# The page


@pytest.mark.parametrize("type_", get_args(EntityType))
def test_every_type_of_entity_is_drawn(type_: EntityType) -> None:
    given = retrieval()
    typed = replace(given, entities=tuple(replace(e, type=type_) for e in given.entities))
    page, picture = activation_html(typed), activation_svg(typed)
    assert "Marie Curie" in page and "Marie Curie" in picture


def test_the_page_is_deterministic_and_needs_nothing_else() -> None:
    page = activation_html(retrieval())
    assert page == activation_html(retrieval())
    assert "Content-Security-Policy" in page
    assert not re.search(r'(src|href)="(?!#|data:,)', page)
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_page_escapes_all_that_is_not_its_own() -> None:
    page = activation_html(hostile())
    assert page.count("<script>") == page.count("</script>") == 1
    assert "<img" not in page
    page.encode()


def test_an_empty_retrieval_gives_a_page_that_says_so() -> None:
    page = activation_html(empty())
    assert "Nothing was found" in page
    assert "<figure" not in page


# The PNG


def png_size(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def test_the_png_is_deterministic_large_and_quiet(tmp_path: Path) -> None:
    first, second = tmp_path / "1.png", tmp_path / "2.png"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_activation_png(retrieval(), first)
        write_activation_png(retrieval(), second)
    assert first.read_bytes() == second.read_bytes()
    assert b"tEXt" not in first.read_bytes()[:200]
    width, height = png_size(first)
    assert width > 1800
    assert height > 800


@pytest.mark.parametrize("given", [empty(), empty(""), hostile()])
def test_the_png_of_an_empty_or_hostile_retrieval(given: Retrieved, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_activation_png(given, tmp_path / "a.png")
    png_size(tmp_path / "a.png")


def test_the_png_is_the_drawing_of_the_page() -> None:
    """The page and the SVG, which the PNG renders, have the same elements at the same places."""

    def drawing(text: str) -> list[str]:
        return re.findall(r'<g id="[nld]\d+".*?</g>', text, flags=re.DOTALL)

    svg = activation_svg(retrieval())
    assert svg == activation_svg(retrieval())
    assert drawing(svg) == drawing(activation_html(retrieval()))
    assert len(drawing(svg)) > 25


@pytest.mark.parametrize("given", [retrieval(), through_documents(), empty(), hostile()])
def test_the_svg_is_well_formed_and_needs_nothing_else(given: Retrieved) -> None:
    svg = activation_svg(given)
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        *("svg", "style", "rect", "g", "path", "circle", "text", "tspan", "title", "defs"),
        "marker",
    }
    assert "var(--" not in "".join(style.text or "" for style in root.iter(f"{SVG}style"))
    assert not re.search(r"@import|url\((?!#)|href", ElementTree.tostring(root[0], "unicode"))


def test_text_is_rendered_without_fonts_of_the_machine() -> None:
    def without_fonts(svg: str) -> bytes:
        return resvg_py.svg_to_bytes(
            svg_string=svg, font_files=[str(p) for p in FONTS], skip_system_fonts=True
        )

    svg = activation_svg(retrieval())
    assert [path.name for path in FONTS] == ["DejaVuSans-Bold.ttf", "DejaVuSans.ttf"]
    assert without_fonts(svg) != without_fonts(re.sub(r"<text.*?</text>", "", svg, flags=re.DOTALL))


# The page in a browser


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with open_browser(tmp_path) as opened:
        yield opened
        assert opened.complaints == []
        assert opened.requests == [opened.address]


@pytest.mark.browser
def test_the_page_shows_every_entity_and_asks_the_network_for_nothing(page: Page) -> None:
    page.show(activation_html(retrieval()))
    dom = page.run("document.documentElement.outerHTML")
    counts = [len(re.findall(rf'class="node {state}"', dom)) for state in STATES]
    assert counts == [2, 7, 0]
    assert len(re.findall(r'class="document" tabindex', dom)) == len(DOCUMENTS)
    assert page.run("document.querySelector('h1').textContent") == QUESTION
    assert page.run("document.getElementById('n0').getAttribute('aria-label')").splitlines() == [
        "Polonium", "Miscellaneous, seed", "Activation 1.00", iri("Polonium"),
    ]  # fmt: skip
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot("light")
    page.call("Emulation.setEmulatedMedia", features=[DARK])
    page.screenshot("dark")


@pytest.mark.browser
def test_a_click_shows_the_relationships_of_an_entity(page: Page) -> None:
    page.show(activation_html(retrieval()))
    page.click("#n0")
    texts = (
        "[...document.querySelectorAll('#selected article:not([hidden]) li')].map(e=>e.textContent)"
    )
    assert any("Marie Curie discovered polonium" in text for text in page.run(texts))
    lit = "[...document.querySelectorAll('.node.lit')].map(e=>e.id).length"
    assert page.run(lit) == 3
    assert page.run("document.querySelectorAll('.phrase.spoken').length") == 2
    page.screenshot("clicked")
    page.key("Escape")
    assert page.run(lit) == 0
    assert page.run("document.getElementById('selected').hidden")


@pytest.mark.browser
def test_a_document_lights_the_chain_that_led_to_it(page: Page) -> None:
    page.show(activation_html(retrieval()))
    page.move(".entry:nth-child(2)")
    names = "[...document.querySelectorAll('.name.lit')].map(e=>e.textContent.trim()).sort()"
    assert page.run(names) == ["Gdańsk", "Gdańsk", "Marie Curie", "Vistula", "Warsaw"]
    page.screenshot("chain")
    page.move("h1")
    assert page.run(names) == []


@pytest.mark.browser
def test_a_path_over_documents_is_drawn_and_lit(page: Page) -> None:
    page.show(activation_html(through_documents()))
    assert page.run("document.querySelectorAll('.document.first').length - 1") == 2
    page.move(".entry:nth-child(2)")
    lit = "[...document.querySelectorAll('.document.lit')].map(e=>e.id).sort()"
    assert page.run(lit) == ["d1", "d2", "d8"]
    assert page.run("document.querySelectorAll('.link.path.lit').length") == 5
    titles = "[...document.querySelectorAll('.link.lit')].map(e=>e.getAttribute('aria-label'))"
    assert "Activation from Vistula to document b" in page.run(titles)
    page.screenshot("documents")
    unused = "#documents + section .entry:nth-child(1)"
    page.run(f"document.querySelector('{unused}').scrollIntoView()")
    page.move(unused)
    assert page.run(lit) == ["d7"]
    assert page.run("[...document.querySelectorAll('.name.lit')].map(e=>e.textContent.trim())") == [
        "Poland",
        "Unused",
    ]


@pytest.mark.browser
def test_mouse_and_keyboard_zoom_pan_and_reach_the_entities(page: Page) -> None:
    page.show(activation_html(retrieval()))
    box = "document.querySelector('.stage svg').getAttribute('viewBox').split(' ').map(Number)"
    whole = page.run(box)
    page.run("document.querySelector('.stage svg').focus()")
    page.key("+")
    page.key("ArrowRight")
    closer = page.run(box)
    assert closer[2] < whole[2]
    assert closer[0] > (whole[2] - closer[2]) / 2
    page.key("0")
    assert page.run(box) == whole
    page.wheel("#n0", -240)
    assert page.run(box)[2] < whole[2]
    page.click("[data-key='0']")
    page.drag("#documents", ".stage svg")
    assert page.run(box) == whole
    page.drag(".stage svg", "#n0")
    assert page.run(box)[:2] != whole[:2]
    page.run("document.querySelector('.stage svg').focus()")
    page.key("Tab")
    assert page.run("document.activeElement.id") == "n0"
    assert page.run("document.getElementById('tip').textContent").startswith("Polonium")
    page.key("Enter")
    assert not page.run("document.getElementById('selected').hidden")


@pytest.mark.browser
def test_no_script_of_a_name_or_question_runs(page: Page) -> None:
    page.show(activation_html(hostile()))
    for selector in ("#n1", ".entry", "#d0"):
        page.move(selector)
        page.click(selector)
    assert page.run("document.title") == HOSTILE
    assert page.run("document.querySelector('h1').textContent") == HOSTILE
    assert page.run("document.images.length + document.scripts.length") == 1
    assert page.run("document.querySelectorAll('.node').length") == 9
    page.screenshot("hostile")


@pytest.mark.browser
@pytest.mark.parametrize("given", [empty(), replace(empty(), documents=retrieval().documents)])
def test_pages_without_entities_work(page: Page, given: Retrieved) -> None:
    page.show(activation_html(given))
    shown = page.run("document.querySelector('main').innerText")
    assert ("Nothing was found" in shown) != ("Retrieved documents" in shown)
