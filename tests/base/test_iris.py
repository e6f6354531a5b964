"""Names, and the IRIs that are made of them and of contents."""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import (
    DEFAULT_BASE,
    Minter,
    NamedGraph,
    normalize_name,
    sha256_hex,
    statement_iri,
    statement_of,
)

# --------------------------------------------------------------------------------- Names


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("Ada Lovelace", "ada lovelace"),
        ("  ADA \t\n Lovelace ", "ada lovelace"),
        ("U.S.", "us"),
        ("U.S", "us"),
        ("u.s.a.", "usa"),
        ("US", "us"),
        ("J.R.R. Tolkien", "jrr tolkien"),
        ("St. Louis", "st louis"),
        ("the Beatles", "beatles"),
        ("The Beatles", "beatles"),
        ("Beatles", "beatles"),
        ("The", "the"),
        ("The The", "the"),
        ("Theodore", "theodore"),
        ("Ada's", "ada"),
        ("Ada\u2019s", "ada"),
        ("James'", "james"),
        ("Ada's engine", "ada engine"),
        ("O'Brien", "o brien"),
        ("Jean-Luc", "jean luc"),
        ("AT&T", "at t"),
        ("snake_case", "snake case"),
        ("Apollo 11", "apollo 11"),
        ("(Rome)", "rome"),
        # Letters that look different and are the same.
        ("Stra\u00dfe", "strasse"),
        ("STRASSE", "strasse"),
        ("\uff21\uff22\uff23", "abc"),
        ("Caf\u00e9", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("J. R. R. Tolkien", "jrr tolkien"),
        ("J.R.R. Tolkien", "jrr tolkien"),
        ("\u0439", "\u0439"),
        ("\ufb01sh", "fish"),
        # Initials without dots, but not the article before a letter.
        ("J R R Tolkien", "jrr tolkien"),
        ("J R Smith", "jr smith"),
        ("a C program", "a c program"),
        ("Vitamin B C", "vitamin b c"),
        ("R&B music", "r b music"),
        # Names without letters keep their characters.
        ("???", "???"),
        ("\U0001f980", "\U0001f980"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        ("\U0001f980 crab", "crab"),
        ("! !", "! !"),
        ("'s", "'s"),
        # Scripts that write vowels as marks, from right to left, or without spaces.
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        (
            "\u0928\u0908 \u0926\u093f\u0932\u094d\u0932\u0940!",
            "\u0928\u0908 \u0926\u093f\u0932\u094d\u0932\u0940",
        ),
        (
            "\u0627\u0644\u0642\u0627\u0647\u0631\u0629",
            "\u0627\u0644\u0642\u0627\u0647\u0631\u0629",
        ),
        (
            "\u0645\u064f\u062d\u064e\u0645\u0651\u062f",
            "\u0645\u064f\u062d\u064e\u0645\u0651\u062f",
        ),
        ("(\u0645\u0635\u0631)", "\u0645\u0635\u0631"),
        ("\u6771\u4eac\u90fd", "\u6771\u4eac\u90fd"),
        (
            "\u0e01\u0e23\u0e38\u0e07\u0e40\u0e17\u0e1e",
            "\u0e01\u0e23\u0e38\u0e07\u0e40\u0e17\u0e1e",
        ),
        ("", ""),
        (" \u00a0\n", ""),
        # Signs that belong to a word.
        ("C", "c"),
        ("C++", "c++"),
        ("(C++).", "c++"),
        ("C#", "c#"),
        ("C#'s", "c#"),
        ("C#?", "c#"),
        ("C\u266f", "c#"),
        ("A*", "a*"),
        ("A* and D* Lite", "a* and d* lite"),
        (".NET", ".net"),
        ("the \u201c.NET\u201d", ".net"),
        (".38 Special", ".38 special"),
        ("Disney+", "disney+"),
        ("1+1", "1+1"),
        ("+44", "+44"),
        ("A$AP Rocky", "a$ap rocky"),
        ("US$", "us$"),
        ("\u20ac5", "\u20ac5"),
        ("5%", "5%"),
        ("90\u00b0", "90\u00b0"),
        ("Rh\u2212", "rh\u2212"),
        ("Na\u207a", "na+"),
        ("B\u266d major", "b\u266d major"),
        # The same signs between words, before them and in pairs.
        ("AC/DC", "ac dc"),
        ("ASP.NET", "asp net"),
        ("...And Justice", "and justice"),
        ("#MeToo", "metoo"),
        ("*NSYNC", "nsync"),
        ("M*A*S*H", "m a s h"),
        ("*A*", "a"),
        ("**Ada Lovelace**", "ada lovelace"),
        ("$n$-gram", "n gram"),
        ("$PATH", "path"),
        ("Romeo + Juliet", "romeo juliet"),
        ("1914\u22121918", "1914 1918"),
        ("Yahoo!", "yahoo"),
    ],
)
def test_normalized_names(name: str, normalized: str) -> None:
    assert normalize_name(name) == normalized


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_only_white_space_is_no_name(name: str) -> None:
    found = normalize_name(name)
    assert bool(found) == bool(unicodedata.normalize("NFKC", name.casefold()).split())
    assert found == " ".join(found.split())


@given(st.text(string.printable))
def test_plain_names_are_their_letters_and_digits(name: str) -> None:
    """A second way to say it, for names without signs, apostrophes and initials."""
    assume(not set(".'+#*%$") & set(name))
    assume(not re.search(r"(?i)\b[b-z]\s+[a-z]\b", name))
    words = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    if words[:1] == ["the"] and len(words) > 1:
        words = words[1:]
    assert normalize_name(name) == (" ".join(words) or " ".join(name.split()))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_case_space_and_a_leading_the_make_no_other_name(name: str) -> None:
    found = normalize_name(name)
    assume(any(c.isalnum() for c in found) and not found.startswith("the"))
    assert normalize_name(f" {name}\n") == found
    assert normalize_name(name.casefold()) == found
    assert normalize_name(f"the {name}") == found


# -------------------------------------------------------------------------------- Hashes


def test_parts_are_framed_by_their_length() -> None:
    assert sha256_hex("ab", "c") == hashlib.sha256(b"2:ab1:c").hexdigest()
    assert sha256_hex("\u00e9") == hashlib.sha256(b"2:\xc3\xa9").hexdigest()
    assert sha256_hex("\ud800") == hashlib.sha256(b"3:\xed\xa0\x80").hexdigest()
    assert sha256_hex() == hashlib.sha256(b"").hexdigest()


parts = st.lists(st.text("a1:", max_size=4), max_size=4)


@given(parts, parts)
def test_no_part_can_imitate_two(one: list[str], other: list[str]) -> None:
    assert (sha256_hex(*one) == sha256_hex(*other)) == (one == other)


# ---------------------------------------------------------------------------------- Bases


@pytest.mark.parametrize(
    ("given_", "base"),
    [
        ("https://example.org/kg/", "https://example.org/kg/"),
        ("https://example.org/kg", "https://example.org/kg/"),
        ("http://example.org", "http://example.org/"),
        ("http://localhost:8080/a/b", "http://localhost:8080/a/b/"),
        ("https://m\u00fcnchen.example/graf/", "https://m\u00fcnchen.example/graf/"),
        (DEFAULT_BASE, DEFAULT_BASE),
    ],
)
def test_bases(given_: str, base: str) -> None:
    minter = Minter.for_base(given_)
    assert minter.base == base
    assert NamedNode(minter.entity("ada")).value.startswith(base + "entity/ada")


@pytest.mark.parametrize(
    "base",
    [
        "",
        "example.org/kg/",
        "urn:kg:",
        "ftp://example.org/",
        "https://",
        "https:///kg/",
        "https://example.org/kg#",
        "https://example.org/kg?x=1",
        "https://example.org/k g/",
        "https://example.org/k\ng/",
        "https://example.org/kg/\n",
        "https://example.org/<kg>/",
        'https://example.org/"kg"/',
        "https://example.org/{kg}/",
        "https://example.org/k\\g/",
        "https://example.org/k|g/",
        "https://example.org/k^g/",
        "https://example.org/k`g/",
        "https://example.org/[kg]/",
        "https://example.org/%kg/",
        "https://example.org/k\x01g/",
        "https://example.org/k\ud800g/",
        "https://example.org:port/",
        "https://[kg]/",
    ],
)
def test_what_cannot_be_a_base(base: str) -> None:
    with pytest.raises(UsageError, match=r"(?s)invalid base of IRIs .*: give an http or https IRI"):
        Minter.for_base(base)


# ----------------------------------------------------------------------------------- IRIs

MINTER = Minter()


@pytest.mark.parametrize(
    ("key", "tail"),
    [
        ("a.txt", "a.txt"),
        ("sub/a b.txt", "sub/a%20b.txt"),
        ("a.jsonl#7", "a.jsonl#7"),
        ("a.jsonl#x#y", "a.jsonl#x%23y"),
        ("100%.txt", "100%25.txt"),
        ("what?.txt", "what%3F.txt"),
        ("\u00e9.txt", "%C3%A9.txt"),
        ("<a>.txt", "%3Ca%3E.txt"),
        ("a.csv#", "a.csv#"),
    ],
)
def test_sources_are_named_by_their_path(key: str, tail: str) -> None:
    assert MINTER.source(key, "any title", "any text") == f"{MINTER.base}source/{tail}"


keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(keys, keys)
def test_two_paths_are_two_sources_and_each_is_an_iri(one: str, other: str) -> None:
    iris = [MINTER.source(key, "", "") for key in (one, other)]
    assert (iris[0] == iris[1]) == (one == other)
    assert all(NamedNode(iri).value == iri for iri in iris)
    assert re.fullmatch(r"[!-~]+", iris[0])


def test_a_text_from_nowhere_is_named_by_its_content() -> None:
    iri = MINTER.source("", "title", "text")
    assert re.fullmatch(re.escape(MINTER.base) + r"source/sha256-[0-9a-f]{32}", iri)
    assert iri == MINTER.source("", "title", "text")
    assert len({iri, MINTER.source("", "titl", "etext"), MINTER.source("", "", "titletext")}) == 3


@given(st.text(max_size=9), st.text(max_size=9))
def test_mentions_and_entities_are_named_by_the_name_alone(one: str, other: str) -> None:
    assert (MINTER.mention(one) == MINTER.mention(other)) == (one == other)
    assert (MINTER.entity(one) == MINTER.entity(other)) == (one == other)
    assert MINTER.entity_of_mention(MINTER.mention(one)) == MINTER.entity(one)
    assert NamedNode(MINTER.mention(one)).value.startswith(MINTER.base + "mention/")


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("Marie Curie", "marie_curie"),
        ("Apollo 11", "apollo_11"),
        ("Łódź", "łodz"),
        ("नई दिल्ली", "नई_दिल्ली"),
        ("القاهرة", "القاهرة"),
        ("東京", "東京"),
        ("C++", "c++"),
        ("C#", "c%23"),
        (".NET", ".net"),
        ("Sgr A*", "sgr_a*"),
        ("US$", "us$"),
        ("5%", "5%25"),
        ("Rh−", "rh−"),
        (".", ".-"),
        ("..", "..-"),
        ("#", "%23-"),
        ("???", "-"),
        ("x " * 60, "x_" * 40 + "-"),
    ],
)
def test_iris_of_names_can_be_read(name: str, segment: str) -> None:
    iri = MINTER.entity(normalize_name(name))
    assert iri.startswith(MINTER.base + "entity/" + segment)
    assert len(iri) <= len(MINTER.base + "entity/") + max(len(segment), 100)


def test_a_variant_shows_its_qualifier() -> None:
    iri = MINTER.variant("warsaw", "in Indiana")
    assert iri == MINTER.base + "mention/warsaw~in%20Indiana"
    assert MINTER.variant("warsaw", "In Indiana") != iri
    assert len({MINTER.variant("warsaw", "x" * n) for n in (79, 80, 81, 82)}) == 4


def test_each_kind_has_its_own_place_under_the_base() -> None:
    iris = [
        MINTER.mention("a"),
        MINTER.entity("a"),
        MINTER.source("a", "a", "a"),
        MINTER.document("a", 0, 1, "a"),
        MINTER.relationship("a", "a", "a", "a", "a"),
        MINTER.extraction("a"),
        MINTER.run("a"),
        MINTER.kg_graph,
        MINTER.source_graph("a"),
    ]
    assert len({iri.removeprefix(MINTER.base).partition("/")[0] for iri in iris}) == 8
    assert all(iri.startswith(MINTER.base) for iri in iris)
    assert MINTER.source_graph("a").startswith(MINTER.graph("sources"))
    graphs = {MINTER.kg_graph, MINTER.meta_graph, MINTER.runs_graph, MINTER.knowledge_graph}
    assert len(graphs) == 4
    assert not any(graph.startswith(MINTER.graph("sources")) for graph in graphs)


def test_every_part_of_a_content_counts() -> None:
    assert (
        len({MINTER.document(*p) for p in [("s", 1, 2, "t"), ("s", 12, 2, "t"), ("s", 1, 2, "u")]})
        == 3
    )
    assert MINTER.document("s", 1, 23, "t") != MINTER.document("s", 12, 3, "t")
    parts = ["a", "p", "b", "t", "d"]
    changed = [[*parts[:i], "x", *parts[i + 1 :]] for i in range(len(parts))]
    swapped = ["b", "p", "a", "t", "d"]
    assert len({MINTER.relationship(*each) for each in (parts, swapped, *changed)}) == 7
    assert Minter("https://other.example/").entity("a") != MINTER.entity("a")


# -------------------------------------------------------------------------- Statement IRIs


@pytest.mark.parametrize(
    "triple",
    [
        ("https://a.example/s", "https://a.example/p", "https://a.example/o"),
        ("urn:a:b", "https://a.example/p?x=1&y=%20#z", "https://a.example/größe/日本"),
    ],
)
def test_a_statement_is_read_from_its_iri(triple: tuple[str, str, str]) -> None:
    made = statement_iri(*triple)
    NamedNode(made)
    assert statement_of(made) == triple


@pytest.mark.parametrize("other", ["https://a.example/s", "urn:sarag:statement:a:b", ""])
def test_another_iri_stands_for_no_statement(other: str) -> None:
    assert statement_of(other) is None


def test_each_graph_is_of_one_kind() -> None:
    for kind in get_args(NamedGraph):
        iri = MINTER.graph(kind)
        several = iri.endswith("/")
        assert MINTER.kind_of(f"{iri}name" if several else iri) == kind
        assert (MINTER.kind_of(f"{iri}name") == kind) == several
    for graph in (MINTER.graphs, f"{MINTER.graphs}other", "urn:graph/kg", "", "kg"):
        assert MINTER.kind_of(graph) is None
