"""Documents in every format that is text, and file names that a file system takes."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.types import Source
from sarag_rdf.documents.format import Duplicate, InputProblem, clean
from sarag_rdf.documents.reading import suffixes
from tests.fuzz.cases import case
from tests.fuzz.hostile import assert_sound, encoded, evidence, graph, is_line, mutated
from tests.reading import read_paths
from tests.sample_graph import CapitalExtractor

SEEDS = {
    ".txt": b"Ada founded Orbis. Orbis has its seat in Ulm.\n\nUlm lies on the Danube.\n",
    ".md": b'---\ntitle: "Ada"\n---\n<!-- a -->\n# Ada #\n\nAda *founded* [Orbis](http://e.example/).'
    b"\n\n```\n# No title\n```\n\nUlm\n===\n",
    ".html": b"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>Ada</title></head>"
    b"<body><h1>Ada</h1><p>Ada founded <b>Orbis</b>.<br>Ulm.</p><script>x</script></body></html>",
    ".json": b'[{"id": "1", "title": "Ada", "text": "Ada founded."}, {"Ulm": ["It is.", "A"]}]',
    ".jsonl": b'{"id": 1, "title": "Ada", "text": "Ada founded Orbis."}\n'
    b'{"title": "Ulm", "text": ["Ulm", "lies"]}\n',
    ".csv": b'id,title,text\n1,Ada,"Ada founded ""Orbis"".\nUlm"\n2,Ulm,Ulm lies\n',
    ".tsv": b"id\ttitle\ttext\n1\tAda\tAda founded Orbis.\n2\tUlm\tUlm lies\n",
}
SUFFIXES = {**{suffix: suffix for suffix in SEEDS}, ".markdown": ".md", ".xhtml": ".html"}


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """A suffix and what a file of that kind may hold."""
    suffix = draw(st.sampled_from(sorted(SUFFIXES)))
    return suffix, draw(st.one_of(mutated(SEEDS[SUFFIXES[suffix]]), mutated(*SEEDS.values())))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(file=files(), piped=st.booleans(), most=st.sampled_from([10, 1000, 100_000]))
@case("read")
def test_reading_gives_texts_or_problems(
    folder: Path, file: tuple[str, bytes], piped: bool, most: int
) -> None:
    suffix, data = file
    if piped:
        options = {"stdin": io.BytesIO(data), "stdin_format": SUFFIXES[suffix]}
        path = Path("-")
    else:
        options, path = {}, folder / f"a{suffix}"
        path.write_bytes(data)
    outcomes = list(read_paths([path], max_chars=most, **options))
    assert outcomes
    for found in outcomes:
        if isinstance(found, Source):
            assert clean(found.text) == found.text.strip("\0")
            assert 0 < len(found.text) <= most
            assert found.title.splitlines() in ([], [found.title])
            found.key.encode()
        else:
            assert isinstance(found, InputProblem | Duplicate)
            assert is_line(str(found)), found


@given(file=files())
@case("index")
def test_documents_make_sound_graphs(folder: Path, file: tuple[str, bytes]) -> None:
    path = folder / f"b{file[0]}"
    path.write_bytes(file[1])
    with graph() as kg:
        before = evidence(kg)
        report = kg.index(path, extractor=CapitalExtractor(), words=20, overlap=5)
        assert report.added + len(report.problems) + report.duplicates > 0
        assert_sound(kg, before)
        again = kg.index(path, extractor=CapitalExtractor(), words=20, overlap=5)
        assert (again.added, again.updated) == (0, 0)


def _is_name(name: bytes) -> bool:
    return 0 < len(name) <= 255 and name not in (b".", b"..")


_RESERVED = (b"CON", b"nul", b"aux.txt", b"-", b"--help", b"-rf", b"a#b", b"%2e%2e", b"..%2f", b"~")
names = st.builds(
    lambda stem, suffix: (stem.replace(b"/", b"_").replace(b"\0", b"") + suffix)[-255:],
    st.one_of(encoded, st.sampled_from(_RESERVED)),
    st.sampled_from([b".txt", b".md", b".TXT", b".jsonl", b"", b"."]),
).filter(_is_name)


@given(found=st.lists(st.lists(names, min_size=1, max_size=3), min_size=1, max_size=4))
@case("names")
def test_names_of_files(folder: Path, found: list[list[bytes]]) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name, graph() as kg:
        before = evidence(kg)
        for number, parts in enumerate(found):
            place = os.path.join(os.fsencode(name), *parts)  # noqa: PTH118 - bytes
            try:
                os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
                with open(place, "xb") as stream:  # noqa: PTH123
                    stream.write(b'{"text": "Ada knows Ulm %d"}' % number)
            except OSError:  # the file system does not take it, or has it
                continue
        report = kg.index(Path(name), extractor=CapitalExtractor())
        assert all(is_line(str(problem)) for problem in report.problems)
        assert_sound(kg, before)


# -------------------------------------------------------------------- Optional formats


def _archive(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


OFFICE = {
    ".docx": _archive(word__document_xml="<w:document/>"),
    ".epub": _archive(META_INF__container_xml="<container/>").replace(b"META_INF", b"META-INF"),
    ".pdf": b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]"
    b"/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
    ".xlsx": _archive(xl__workbook_xml="<workbook/>"),
    ".pptx": gzip.compress(b"ppt/"),
}


@given(suffix=st.sampled_from(sorted(OFFICE)), data=mutated(*OFFICE.values()))
@case("office")
def test_office_files(folder: Path, suffix: str, data: bytes) -> None:
    """Without the optional packages this stops at the first look into the file."""
    assert suffix in suffixes()
    path = folder / f"c{suffix}"
    path.write_bytes(data)
    for found in read_paths([path]):
        if isinstance(found, Source):
            assert find_spec("markitdown") is not None
        else:
            assert isinstance(found, InputProblem)
            assert is_line(str(found))


def test_a_key_cannot_be_anything() -> None:
    """Sources that a program gives, with keys that no file name could have."""
    for key in ("\ud800", "\x00", "a\nb", "../..", "#", "a" * 10_000, "%", "\u202e"):
        with graph() as kg:
            before = evidence(kg)
            with contextlib.suppress(SaragError):
                kg.index(Source("Ada knows Ulm.", "\ud800", key), extractor=CapitalExtractor())
            assert_sound(kg, before)
