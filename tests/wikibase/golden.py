"""Wikibase's own pairs of entity documents and expected N-Triples, where a folder holds them.

SARAG_TEST_DATA names a folder with ``wikibase-golden`` and ``wikidata`` in it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from sarag_rdf.plugins.wikibase.vocabulary import PREDICATES, Site, Vocabulary

_FOLDER = os.environ.get("SARAG_TEST_DATA", "")
GOLDEN = Path(_FOLDER, "wikibase-golden")
WIKIDATA = Path(_FOLDER, "wikidata")

needs_golden = pytest.mark.skipif(
    not (_FOLDER and GOLDEN.is_dir()), reason="optional: SARAG_TEST_DATA has no wikibase-golden"
)
needs_wikidata = pytest.mark.skipif(
    not (_FOLDER and WIKIDATA.is_dir()), reason="optional: SARAG_TEST_DATA has no wikidata"
)

_SITES = {
    "enwiki": Site("http://enwiki.acme.test/", "en", "wikipedia", ""),
    "ruwiki": Site("http://ruwiki.acme.test/", "ru", "none", ""),
    "test": Site("http://test.acme.test/", "en-x-test", "acmetest", ""),
}


class _GoldenVocabulary(Vocabulary):
    def document(self, id_: str) -> ox.NamedNode:
        return ox.NamedNode(f"http://data.acme.test/{id_}")

    def site(self, name: str) -> Site | None:
        return _SITES.get(name)


class _ForeignVocabulary(_GoldenVocabulary):
    def thing(self, id_: str) -> ox.NamedNode:
        return self._foreign(id_) if id_.startswith("P") else super().thing(id_)

    def predicate(self, prefix: str, property_id: str) -> ox.NamedNode:
        return self._foreign(PREDICATES[prefix] + property_id)

    def _foreign(self, name: str) -> ox.NamedNode:
        return ox.NamedNode(f"http://foreign.test/{name}")


def vocabulary(*, foreign: bool = False) -> Vocabulary:
    """That of the pairs; with `foreign` the properties are another Wikibase's."""
    return (_ForeignVocabulary if foreign else _GoldenVocabulary)("http://acme.test/")


def document(name: str) -> dict[str, Any]:
    """An entity document, with the revision and date that the pairs take for granted."""
    data: dict[str, Any] = json.loads((GOLDEN / "entities" / f"{name}.json").read_text("utf-8"))
    return {**data, "lastrevid": 42, "modified": "2013-10-04T03:31:05Z"}


def expected(*names: str) -> set[ox.Triple]:
    """Triples of the files of these names, without ``.nt``."""
    return {
        quad.triple
        for name in names
        for quad in ox.parse((GOLDEN / f"{name}.nt").read_bytes(), ox.RdfFormat.N_TRIPLES)
    }


_OWN_NAME = re.compile(r"<[^>]*/(?:value/[0-9a-f]{32}|\.well-known/genid/[0-9a-f]{32})>|_:\w+")


def named_by_content(triples: Iterable[ox.Triple], *, references: bool = True) -> set[str]:
    """Triples as text, in which what an implementation names as it likes goes by its content.

    These are blank nodes, the IRIs in their place, nodes of values, and (with `references`) those
    of references, whose hashes come from PHP's serialisation.
    """
    lines = {str(triple) for triple in triples}
    pattern = _OWN_NAME
    if references:
        pattern = re.compile(_OWN_NAME.pattern + r"|<[^>]*/reference/[0-9a-f]{40}>")
    contents: dict[str, set[str]] = {}
    for line in lines:
        match = pattern.match(line)
        if match:
            contents.setdefault(match[0], set()).add(line.removeprefix(match[0]))

    def name(match: re.Match[str]) -> str:
        held = contents.get(match[0], set())
        inner = sorted(pattern.sub(_leaf, line) for line in held)
        return "<" + " ".join(inner) + ">"

    def _leaf(match: re.Match[str]) -> str:
        return "<" + " ".join(sorted(contents.get(match[0], set()))) + ">"

    return {pattern.sub(name, line) for line in lines}
