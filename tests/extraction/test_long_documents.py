"""The work of extraction grows with the length of a text, not with its square.

Work is the number of calls, of Python and of spaCy, so that no machine is too slow. Whoever joins
or searches the whole text for every name makes the calls of a text of twice the length four times
as many.
"""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile

import pytest

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor

FIRST = ("Ada", "Karl", "Mara", "Otto", "Ida", "Jonas", "Pia", "Hugo")
LAST = ("Lind", "Holm", "Brook", "Larch", "Merrow", "Kern", "Vale", "Heron", "Alder")
LINES: dict[str, Callable[[str, int], str]] = {
    "list": lambda name, year: f"- {name}, born 4 May {year} in Riga",
    "nested list": lambda name, year: f"- {name} Station\n  - founded in {year} by Ada Fell",
    "years": lambda name, year: f"1. {name} ({year}\u2013{year + 60}), engineer from Ulm.",
    "entries": lambda name, year: f"## {name}\n\nBirth place: Riga\nBirth date: 4 May {year}\n",
    "table": lambda name, year: f"| {name} | {year} | Riga | Larch Works | 4 |",
    "prose": lambda name, year: f"{name} was born in Riga in {year}. He worked for Larch Works.\n",
    "code": lambda name, year: f"Run {name} with:\n\n```sh\nrun --year {year}\n```\n",
}
HEADS = {"table": "| Name | Born | Birth place | Employer | Depth (m) |\n|---|---|---|---|---|\n"}


def text_of(kind: str, size: int) -> str:
    """A text of so many lines, each about another name."""
    names = (f"{FIRST[n % 8]} {LAST[n // 8 % 9]}{'abcdefgh'[n // 72]}" for n in range(size))
    lines = (LINES[kind](name, 1700 + n % 200) for n, name in enumerate(names))
    return HEADS.get(kind, "") + "\n".join(lines)


def calls(extractor: SpacyExtractor, text: str) -> int:
    """The number of calls that the extraction of a text takes."""
    profile = Profile()
    with profile:
        [extraction] = extractor.extract([Document("urn:a", "urn:s", "", text, 0, len(text))])
    assert isinstance(extraction, Extraction)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    extractor = SpacyExtractor()
    try:
        [*extractor.extract([Document("urn:a", "urn:s", "", "Ada Lind met Karl Holm.", 0, 23)])]
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return extractor


@pytest.mark.parametrize("kind", LINES)
def test_work_grows_with_the_length(extractor: SpacyExtractor, kind: str) -> None:
    once, twice = (calls(extractor, text_of(kind, size)) for size in (100, 200))
    assert twice < 2.5 * once
