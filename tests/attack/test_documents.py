"""Documents on which parsers take quadratic time: read in time, or one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from sarag_rdf.base.types import Source
from sarag_rdf.documents.format import InputProblem
from tests.reading import read_paths

PIECES = ["<a ", "<!--", "</a", "<![CDATA[", "<?x ", "<!x ", "<a b='", "&", "<b>", "<p><!-- "]


@pytest.mark.parametrize("suffix", [".html", ".md"])
@pytest.mark.parametrize("piece", PIECES)
def test_marks_that_do_not_end(tmp_path: Path, piece: str, suffix: str) -> None:
    """`<a ` 20,000 times took four minutes."""
    (tmp_path / f"a{suffix}").write_text(f"Ada was born in Ulm.\n{piece * 20_000}\nThe end.")
    (tmp_path / "b.txt").write_text("Ada was born.")
    first, second = read_paths([tmp_path], language="en", max_seconds=90)
    assert isinstance(second, Source)
    assert isinstance(first, Source | InputProblem)
    assert "seconds" not in str(first)[:200]


def test_a_page_that_takes_too_long_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<b>" * 1_000_000)
    (tmp_path / "b.html").write_text("<p>Ada was born. " + "She lived. " * 1_000)
    first, second = read_paths([tmp_path], language="en", max_seconds=0.5)
    assert str(first).endswith(
        "a.html: took more than 0.5 seconds to read: leave it out, or raise --max-seconds"
    )
    (again,) = read_paths([tmp_path / "b.html"], language="en")
    assert isinstance(again, Source)
    assert isinstance(second, Source | InputProblem)


@pytest.mark.parametrize(
    "text", ["1 < 2", "<p>a <b", "<p>a <!-- b", "a &lt; <p", "<p>x</p> y <", "", "<p>1 < 2 &amp; 3"]
)
def test_what_does_not_end_is_text_as_before(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.html").write_text(f"Ada. {text}")
    (found,) = read_paths([tmp_path / "a.html"], language="en")
    assert isinstance(found, Source)
    expected = BeautifulSoup(f"Ada. {text}", "html.parser").get_text(" ").split()
    assert found.text.split() == expected
