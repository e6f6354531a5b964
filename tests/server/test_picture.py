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

import numpy as np
import pytest
import resvg_py

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.resources import font_files
from sarag_rdf.base.types import EntityType, Retrieved, Subgraph
from sarag_rdf.server.picture.drawing import activation_html, activation_svg, write_activation_png
from sarag_rdf.server.picture.geometry import (
    Label,
    Wish,
    clean,
    fit,
    place_labels,
    text_width,
    wrap,
)
from sarag_rdf.server.picture.layout import SQUARE, Picture, lay_out
from sarag_rdf.server.picture.selection import KINDS
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


def test_neighbours_of_what_is_active_are_drawn_and_the_rest_is_counted() -> None:
    picture = lay_out(retrieval())
    assert [picture.count(kind) for kind in KINDS] == [2, 7, 12]
    assert picture.left_out == {"seed": 0, "activated": 0, "dormant": 4, "document": 0}
    assert picture.remark == "Not drawn: 4 entities not activated."
    assert [node.name for node in picture.nodes[:2]] == ["Marie Curie", "Polonium"]


def test_entities_that_are_drawn_as_their_pages_are_not_left_out() -> None:
    found = retrieval()
    seed = next(e for e in found.entities if e.is_seed)
    first, *others = found.documents
    page = replace(first, document=replace(first.document, iri=seed.iri), entity="", chain=())
    picture = lay_out(replace(found, documents=(page, *others)))
    assert seed.name not in {node.name for node in picture.nodes}
    assert picture.left_out["seed"] == 0


def test_limits_keep_the_best_and_the_way_to_the_documents() -> None:
    picture = lay_out(retrieval(), max_nodes=6, max_documents=2)
    drawn = {node.name for node in picture.nodes}
    assert drawn >= {"Marie Curie", "Polonium", "Warsaw", "Vistula", "Gdańsk"}
    assert picture.count("dormant") == 0
    assert picture.left_out == {"seed": 0, "activated": 3, "dormant": 16, "document": 5}
    with pytest.raises(UsageError):
        lay_out(retrieval(), max_nodes=-1)


def test_a_document_knows_the_path_that_led_to_it() -> None:
    picture = lay_out(retrieval())
    square = picture.squares[1]
    assert square.way == ("Marie Curie", "Warsaw", "Vistula", "Gdańsk")
    joins = [(a, b, role) for a, b, role in joined(picture) if {a, b} <= {*square.way, "2"}]
    assert sorted(joins) == [
        ("Gdańsk", "2", "path"),
        ("Marie Curie", "Warsaw", "path"),
        ("Vistula", "Gdańsk", "path"),
        ("Warsaw", "Vistula", "path"),
    ]
    assert len(square.parts) == 5 + 4
    ids = {node.id for node in picture.nodes} | {line.id for line in picture.lines}
    assert ids | {"d1"} > set(square.parts)


def joined(picture: Picture) -> list[tuple[str, str, str]]:
    """Names, or marks, of what each line joins, and its role."""
    called = {node.id: node.name for node in picture.nodes}
    called |= {square.id: square.mark for square in picture.squares}
    return [(called[x.origin], called[x.target], x.role) for x in picture.lines]


def test_a_path_leads_over_documents_and_seeds_are_marked() -> None:
    picture = lay_out(through_documents())
    assert [square.mark for square in picture.squares] == [*"1234567", "a", "b"]
    assert [square.title for square in picture.squares[7:]] == ["Rivers", "Unused"]
    assert [square.mark for square in picture.squares if square.is_seed] == ["3", "b"]
    assert picture.left_out["document"] == 0
    second = picture.squares[1]
    assert second.way == ("document 3", "Warsaw", "Vistula", "document a", "Gdańsk")
    assert len(second.parts) == 6 + 5
    found = joined(picture)
    for origin, target in pairwise(("3", "Warsaw", "Vistula", "a", "Gdańsk", "2")):
        assert (origin, target, "path") in found
    # What no path leads over is joined to what it activated, nothing else to seeds.
    assert [(a, b) for a, b, role in found if "b" in (a, b) and role == "carried"] == [
        ("b", "Poland")
    ]
    assert not picture.squares[8].parts


def test_activation_that_came_back_has_arrows_both_ways() -> None:
    given = through_documents()
    first, second, *rest = given.documents
    back = (step(1, second.document.iri, iri("Gdańsk")), step(3, iri("Gdańsk"), first.document.iri))
    picture = lay_out(replace(given, documents=(replace(first, chain=back), second, *rest)))
    both = [(line.origin, line.target) for line in picture.lines if line.both]
    (gdansk,) = [node.id for node in picture.nodes if node.name == "Gdańsk"]
    assert both in ([("d1", gdansk)], [(gdansk, "d1")])


def test_documents_beside_the_results_need_a_result() -> None:
    picture = lay_out(replace(through_documents(), documents=()))
    assert picture.squares == ()


def test_labels_cover_no_node() -> None:
    for given in (retrieval(), through_documents()):
        picture = lay_out(given)
        squares = [(square.x, square.y, SQUARE) for square in picture.squares]
        for node in picture.nodes:
            others = [(n.x, n.y, n.radius) for n in picture.nodes if n is not node]
            for x, y, radius in [*others, *squares] if node.label.shown else []:
                left, top, right, bottom = box_of(node.label)
                apart = x + radius <= left or right <= x - radius
                assert apart or y + radius <= top or bottom <= y - radius, node.name


def box_of(label: Label) -> tuple[float, float, float, float]:
    width = max(text_width(line, label.size) for line in label.lines)
    left = label.x - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
    top = label.y - 0.95 * label.size + 0.1
    bottom = top + label.line_height * len(label.lines) - 0.2
    return left + 0.1, top, left + width - 0.1, bottom


def test_a_label_rather_covers_lines_than_a_bit_of_a_node() -> None:
    wish = Wish(200.0, 200.0, 6.0, ("November 1878",), 13.0, True)
    clear = place_labels([wish], np.zeros((0, 4)), np.zeros((0, 2)), 400, 400)[0]
    left, _, right, _ = box_of(clear)
    blocks = np.array([[right - 1, 190.0, right + 11, 202.0]])
    across = np.array([(x, y) for x in range(20, int(left), 2) for y in range(150, 250, 4)])
    above = np.array([(x, y) for x in range(20, 360, 2) for y in (*range(150, 193), 207, 214)])
    (placed,) = place_labels([wish], blocks, np.concatenate((across, above)), 400, 400)
    left, top, right, bottom = box_of(placed)
    assert right <= blocks[0, 0] or bottom <= blocks[0, 1] or top >= blocks[0, 3]


def test_nodes_keep_off_the_lines_between_others() -> None:
    points = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.001), (1.0, 2.0)])
    radii = np.array([8.0, 8.0, 8.0, 8.0])
    found = fit(points, radii, [(0, 2)], 1000, 700, 40)
    along = (found[2] - found[0]) / np.linalg.norm(found[2] - found[0])
    gap = found[1] - found[0]
    assert abs(along[0] * gap[1] - along[1] * gap[0]) > 12


def test_parallel_relationships_share_a_line_and_loops_are_not_drawn() -> None:
    picture = lay_out(retrieval())
    names = joined(picture)
    pairs = {frozenset(e[:2]): line for e, line in zip(names, picture.lines, strict=True)}
    assert len(pairs) == len(picture.lines)
    assert len(pairs[frozenset(("Marie Curie", "Pierre Curie"))].relations) == 2
    assert frozenset(("Vistula",)) not in pairs


def test_the_same_retrieval_gives_the_same_picture_inside_the_canvas() -> None:
    given = retrieval()
    shuffled = replace(given, entities=given.entities[::-1], documents=given.documents[::-1])
    picture = lay_out(given)
    assert picture == lay_out(shuffled)
    assert all(0 < n.x < picture.width and 0 < n.y < picture.height for n in picture.nodes)
    centres = {(n.x, n.y) for n in picture.nodes} | {(s.x, s.y) for s in picture.squares}
    assert len(centres) == len(picture.nodes) + len(picture.squares)
    assert all(n.label.shown for n in picture.nodes if n.kind != "dormant")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_entities_without_links(count: int) -> None:
    given = retrieval()
    few = replace(
        given, entities=given.entities[:count], documents=(), subgraph=Subgraph((), {}, ())
    )
    assert len({(node.x, node.y) for node in lay_out(few).nodes}) == count


def test_documents_without_entities_are_drawn_too() -> None:
    picture = lay_out(replace(empty(), documents=retrieval().documents))
    assert len({(s.x, s.y) for s in picture.squares}) == 7
    assert not any(square.way for square in picture.squares)
    assert all(square.parts == (square.id,) for square in picture.squares)
    assert picture.lines == ()


def test_text_is_cleaned_measured_and_wrapped() -> None:
    assert clean("a\x00\n b\ud800\u202e\uffff") == "a b\ufffd\ufffd"
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
    assert height > 1000


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
    assert len(drawing(svg)) > 40


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
            svg_string=svg, font_files=[str(p) for p in font_files()], skip_system_fonts=True
        )

    svg = activation_svg(retrieval())
    assert [path.name for path in font_files()] == ["DejaVuSans-Bold.ttf", "DejaVuSans.ttf"]
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
    counts = [len(re.findall(rf'class="node {kind}"', dom)) for kind in KINDS]
    assert counts == [2, 7, 12]
    assert len(re.findall(r'class="document" tabindex', dom)) == len(DOCUMENTS)
    assert page.run("document.querySelector('h1').textContent") == QUESTION
    assert page.run("document.getElementById('n0').getAttribute('aria-label')").splitlines() == [
        "Marie Curie", "Person, seed", "Activation 1.00", iri("Marie Curie"),
    ]  # fmt: skip
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot("light")
    page.call("Emulation.setEmulatedMedia", features=[DARK])
    page.screenshot("dark")


@pytest.mark.browser
def test_a_click_shows_the_relationships_of_an_entity(page: Page) -> None:
    page.show(activation_html(retrieval()))
    page.click("#n1")
    texts = (
        "[...document.querySelectorAll('#selected article:not([hidden]) li')].map(e=>e.textContent)"
    )
    assert any("Marie Curie discovered polonium" in text for text in page.run(texts))
    lit = "[...document.querySelectorAll('.node.lit')].map(e=>e.id).length"
    assert page.run(lit) == 3
    assert page.run("document.querySelectorAll('.phrase.told').length") == 2
    page.screenshot("clicked")
    page.key("Escape")
    assert page.run(lit) == 0
    assert page.run("document.getElementById('selected').hidden")


@pytest.mark.browser
def test_a_document_lights_the_chain_that_led_to_it(page: Page) -> None:
    page.show(activation_html(retrieval()))
    page.move(".entry:nth-child(2)")
    names = "[...document.querySelectorAll('.name.lit')].map(e=>e.textContent.trim()).sort()"
    assert page.run(names) == ["Gdańsk", "Marie Curie", "Vistula", "Warsaw"]
    page.screenshot("chain")
    page.move("h1")
    assert page.run(names) == []


@pytest.mark.browser
def test_a_path_over_documents_is_drawn_and_lit(page: Page) -> None:
    page.show(activation_html(through_documents()))
    assert page.run("document.querySelectorAll('.document.first').length - 1") == 2
    page.move(".entry:nth-child(2)")
    lit = "[...document.querySelectorAll('.document.lit')].map(e=>e.id).sort()"
    assert page.run(lit) == ["d1", "d2", "d7"]
    assert page.run("document.querySelectorAll('.link.path.lit').length") == 5
    titles = "[...document.querySelectorAll('.link.lit')].map(e=>e.getAttribute('aria-label'))"
    assert "Activation from Vistula to document a" in page.run(titles)
    page.screenshot("documents")
    unused = "#documents + section .entry:nth-child(2)"
    page.run(f"document.querySelector('{unused}').scrollIntoView()")
    page.move(unused)
    assert page.run(lit) == ["d8"]
    assert page.run("[...document.querySelectorAll('.name.lit')].map(e=>e.textContent.trim())") == [
        "Poland"
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
    assert page.run("document.getElementById('tip').textContent").startswith("Marie Curie")
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
    assert page.run("document.querySelectorAll('.node').length") == 21
    page.screenshot("hostile")


@pytest.mark.browser
@pytest.mark.parametrize("given", [empty(), replace(empty(), documents=retrieval().documents)])
def test_pages_without_entities_work(page: Page, given: Retrieved) -> None:
    page.show(activation_html(given))
    shown = page.run("document.querySelector('main').innerText")
    assert ("Nothing was found" in shown) != ("No activation is told" in shown)
