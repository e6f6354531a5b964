"""Technical documentation: code, markup, tables and addresses are no prose, and name nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.extraction.prose import prose_of
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from sarag_rdf.plugins.markdown import split_title

CORPORA = Path(__file__).parent / "documentation"
FENCE = "`" * 3


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    extractor = SpacyExtractor()
    try:
        assert extractor.method.extractor == "spacy"
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return extractor


def documents(corpus: str) -> list[Document]:
    paths = sorted((CORPORA / corpus).glob("*.md"))
    split = [split_title(path.read_text(encoding="utf-8")) for path in paths]
    return [
        Document(f"urn:{path.stem}", "urn:source", title, text, 0, len(text))
        for path, (title, text) in zip(paths, split, strict=True)
    ]


MUST = {
    "pipeline": ("Nextflow", "Mara Lindqvist", "Simon Andrews", "Babraham Institute", "Slurm"),
    "server": ("Brigg", "Oskar Halvorsen", "Trondheim", "Petra Novak", "Elasticsearch"),
    "library": ("Skerry", "Linnea Farrow", "University of Leeds", "OpenStreetMap", "Cairo"),
}
MUST_NOT = {
    "pipeline": "File False True Default Column base64 L18 Marker G]AG Mean Samples.csv Highmem",
    "server": "Server Value None Default Html Upstream INFO WARN END AmazingFeature MIID Release",
    "library": "Layer None Zoom Tuple Latitude Optional Heat.Layer ISSUE_TEMPLATE Raises Company",
}


@pytest.mark.parametrize("corpus", MUST)
def test_entities_of_documentation_are_things(extractor: SpacyExtractor, corpus: str) -> None:
    """The things among all names were marked by hand; titles of pages are not counted."""
    names, titles = set(), set()
    pages = documents(corpus)
    for document, found in zip(pages, extractor.extract(pages), strict=True):
        assert isinstance(found, Extraction)
        names |= {mention.name for mention in found.mentions}
        titles.add(document.title)
        words = " ".join(document.text.split())
        assert all(text in words for m in found.mentions for d in m.descriptions
                   for text in [re.split(r"[.?:] ", d.removeprefix(f"{m.name}: "))[0]])  # fmt: skip
    things = set((CORPORA / corpus / "things.txt").read_text(encoding="utf-8").splitlines())
    assert set(MUST[corpus]) <= names
    assert len(pages) >= 8
    assert not names & set(MUST_NOT[corpus].split())
    assert not [n for n in names for word in ("base64", "#L", "](", "G]AG") if word in n]
    counted = names - (titles - things)
    assert len(counted & things) / len(counted) >= 0.9, sorted(counted - things)


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("Use `Foo Bar` of Baz.", "Use of Baz."),
        ("[Foo](https://example.org/Foo_(bar)) and [Baz][1]", "Foo and Baz"),
        ("[![Build](a.svg)](b) Foo", "Foo"),
        ("![Foo](foo.png) Baz", "Baz"),
        ("## Foo Bar ##", "Foo Bar"),
        ("**Foo** and *Bar* by __Baz__", "Foo and Bar by Baz"),
        ("Foo <https://example.org> foo@example.org Bar", "Foo Bar"),
        ("<!-- Foo\n\nBar -->Baz<br/>", "Baz"),
        (f"{FENCE}python\nFoo()\n{FENCE}\nBar", "Bar"),
        (f"Foo = Bar()\n{FENCE}\nBaz is here.", "Baz is here."),
        (f"Foo(Bar)\n{FENCE}\nBaz.\n{FENCE}sh\nQux\n{FENCE}\n", "Baz."),
        ("| Foo | Bar |\n|---|---|\n| Baz | Qux |\n\nEnd.", "End."),
        ("Foo:\n\n    Bar = Baz\n\nQux", "Foo: Qux"),
        ("key: Foo\nother: Bar\n\nBaz", "Baz"),
        ("data:image/png;base64,iVBORw0KGgo= Foo", "Foo"),
        ("Mean\\t of base.config#L18 and 3,})Marker", "Mean of and"),
        ("Set --foo=Bar or $FOO_BAR, {{ Foo }} and {Bar: 1}", "Set or , and"),
        (".. code-block:: python\n\n   Foo()\n", ""),
        ("`Foo <https://example.org>`_ and :class:`Bar`", "Foo and"),
    ],
)
def test_prose(text: str, prose: str) -> None:
    assert " ".join(prose_of(text).split()) == prose


@pytest.mark.parametrize(
    "text",
    [
        "C++, C# and F# run on .NET; A* is a search. AC/DC, his/her, and/or.",
        "``Foo'' and `bar' are quoted, and $5 (or 5%) is paid to U.S. firms at 3 p.m.",
        "Node.js was written by Ryan Dahl [sic]. Smith(s) -- and others -- said: yes.",
        "He was born in 1901 - in Ulm - and died in 1980 [Ada].",
        "one line\n    and an indented line of prose that goes on.",
    ],
)
def test_plain_text_is_prose(text: str) -> None:
    assert prose_of(text) == text


@given(st.text(st.sampled_from("aB `*_[](){}<>|-=#:./\\\n~$&;!")))
def test_offsets_stay(text: str) -> None:
    prose = prose_of(text)
    assert len(prose) == len(text)
    assert all(p in (t, " ") for p, t in zip(prose, text, strict=True))
    assert [i for i, c in enumerate(text) if c == "\n"] == [
        i for i, c in enumerate(prose) if c == "\n"
    ]
