"""Reading: every format, and one outcome, never an exception, for every bad input."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import socket
import sys
import unicodedata
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse, serialize

from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.base.types import Source
from sarag_rdf.documents import language
from sarag_rdf.documents.format import Duplicate, InputProblem, clean
from sarag_rdf.documents.language import detect
from sarag_rdf.documents.reading import ReadOutcome, suffixes
from sarag_rdf.plugins.markdown import split_title
from tests.reading import read_paths

GERMAN = (
    "Die Stadt liegt am Rhein und wurde im Jahre 1288 gegr\u00fcndet; heute leben dort etwa "
    "sechzigtausend Menschen, die meisten davon arbeiten in der Chemie."
)
ENGLISH = (
    "The Journal of Mathematical Physics is a peer-reviewed journal published monthly by the "
    "American Institute of Physics devoted to mathematical physics."
)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def outcomes(*paths: Path, **options: Any) -> list[ReadOutcome]:
    return list(read_paths(paths, **options))


def sources(*paths: Path, **options: Any) -> list[Source]:
    found = outcomes(*paths, **options)
    assert all(isinstance(item, Source) for item in found), found
    return [item for item in found if isinstance(item, Source)]


def problem(*paths: Path, **options: Any) -> str:
    (found,) = outcomes(*paths, **options)
    assert isinstance(found, InputProblem), found
    assert "\n" not in str(found)
    return found.message


# Plain text, titles, keys


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("alan-turing.txt", "Alan Turing"),
        ("Alan_Turing-1912.txt", "Alan Turing 1912"),
        ("don't_panic.TXT", "Don't Panic"),
        ("C++ notes (v2).txt", "C++ notes (v2)"),
        ("C# and F#.txt", "C# and F#"),
    ],
)
def test_plain_text_is_titled_by_its_name(tmp_path: Path, name: str, title: str) -> None:
    (source,) = sources(write(tmp_path, name, "  A text.\n"))
    assert source == Source("  A text.\n", title, name.replace("#", "%23"), is_titled=False)


def test_line_ends_are_normalised_before_offsets_count(tmp_path: Path) -> None:
    (source,) = sources(write(tmp_path, "a.txt", "one\r\ntwo\rthree\n"))
    assert source.text == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.txt", "{}"),
        ("a.html", "<p>{}</p>"),
        ("a.json", '{{"text": "{}"}}'),
        ("a.jsonl", '{{"text": "{}"}}\n'),
        ("a.csv", "text\n{}\n"),
    ],
)
def test_byte_order_marks(tmp_path: Path, mark: bytes, encoding: str, name: str, form: str) -> None:
    text = "Caf\u00e9 \U0001f600"
    (source,) = sources(write(tmp_path, name, mark + form.format(text).encode(encoding)))
    assert source.text == text


def test_scripts_are_kept_as_they_are_and_keys_composed(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Caf\u00e9")
    hebrew, arabic = "\u05e9\u05dc\u05d5\u05dd", "\u202b\u0645\u0631\u062d\u0628\u0627\u202c"
    text = f"{decomposed} {hebrew} {arabic} \U0001f469\u200d\U0001f680"
    (source,) = sources(write(tmp_path, f"{decomposed}.txt", text))
    assert source.text == text
    assert (source.key, source.title) == ("Caf\u00e9.txt", "Caf\u00e9")


@given(st.text(st.characters(), max_size=50))
def test_clean_text_survives_rdf_xml(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    node = NamedNode("http://example.org/p")
    quad = Quad(node, node, Literal(cleaned))
    data = serialize([quad.triple], format=RdfFormat.RDF_XML)
    assert data is not None
    assert [item.object for item in parse(data, format=RdfFormat.RDF_XML)] == [Literal(cleaned)]


# Folders, order, roots


def test_a_folder_is_read_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a.txt", ".hidden.txt", ".git/c.txt", "a/.d/e.txt"):
        write(tmp_path, name, name)
    keys = [source.key for source in sources(tmp_path)]
    assert keys == ["a.txt", "a/z.txt", "b.txt"]


def test_an_empty_folder_yields_nothing(tmp_path: Path) -> None:
    assert outcomes(tmp_path) == []
    assert outcomes() == []


def test_reading_is_lazy_and_a_vanished_file_costs_one_line(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "first")
    second = write(tmp_path, "b.txt", "second")
    write(tmp_path, "c.txt", "third")
    found = read_paths([tmp_path])
    first = next(found)
    second.unlink()
    gone, third = found
    assert isinstance(first, Source)
    assert isinstance(third, Source)
    assert isinstance(gone, InputProblem)
    assert "does not exist" in gone.message


def test_roots(tmp_path: Path) -> None:
    file = write(tmp_path, "docs/sub/a.txt", "text")
    (alone,) = sources(file)
    (folder,) = sources(tmp_path / "docs")
    (rooted,) = sources(file, root=tmp_path)
    (rooted_folder,) = sources(tmp_path / "docs" / "sub", root=tmp_path / "docs")
    (same,) = sources(tmp_path / "docs", root=tmp_path / "docs")
    keys = [source.key for source in (alone, folder, rooted, rooted_folder, same)]
    assert keys == ["a.txt", "sub/a.txt", "docs/sub/a.txt", "sub/a.txt", "sub/a.txt"]


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/a.txt", "text")
    monkeypatch.chdir(tmp_path / "docs")
    for path in (Path("a.txt"), Path(), Path("../docs"), Path("../docs/a.txt")):
        assert [source.key for source in sources(path)] == ["a.txt"]
    assert [source.key for source in sources(Path(), root=Path(".."))] == ["docs/a.txt"]


def test_impossible_options_are_refused_at_once(tmp_path: Path) -> None:
    file = write(tmp_path, "a/a.txt", "text")
    (tmp_path / "b").mkdir()
    refused: list[tuple[list[Path], dict[str, Any], str]] = [
        ([file], {"root": tmp_path / "b"}, "not in the root"),
        ([file], {"root": file}, "not a folder"),
        ([file], {"max_chars": 0}, "max_chars"),
        ([file], {"language": "German!"}, "BCP 47"),
        ([file], {"stdin_format": "pdf"}, "csv, htm"),
        ([Path("-"), Path("-")], {}, "only once"),
    ]
    for paths, options, message in refused:
        with pytest.raises(UsageError, match=message):
            read_paths(paths, **options)


def test_same_key_of_two_files(tmp_path: Path) -> None:
    first, second = write(tmp_path, "a/x.txt", "one"), write(tmp_path, "b/x.txt", "two")
    source, clash = outcomes(first, second)
    assert isinstance(source, Source)
    assert isinstance(clash, InputProblem)
    assert "--root" in clash.message
    assert [item.key for item in sources(first, second, root=tmp_path)] == ["a/x.txt", "b/x.txt"]


def test_names_that_differ_only_in_composition(tmp_path: Path) -> None:
    write(tmp_path, "e\u0301.txt", "one")
    write(tmp_path, "\u00e9.txt", "two")
    found = outcomes(tmp_path)
    if len(found) == 2:  # some file systems hold only one of them
        assert isinstance(found[1], InputProblem)
        assert "rename" in found[1].message


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path, "docs/a.txt", "text")
    found = outcomes(tmp_path, file)
    assert [type(item) for item in found] == [Source, Duplicate]


def test_the_same_text_under_two_names_is_two_sources(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "text")
    write(tmp_path, "b.txt", "text")
    assert len(sources(tmp_path)) == 2


# Links


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.txt", "secret")
    write(tmp_path, "docs/a.txt", "text")
    (tmp_path / "docs/link.txt").symlink_to(tmp_path / "outside/secret.txt")
    (tmp_path / "docs/up").symlink_to(tmp_path)
    source, link, up = outcomes(tmp_path / "docs")
    assert isinstance(source, Source)
    for refused in (link, up):
        assert isinstance(refused, InputProblem)
        assert "outside the folder" in refused.message


def test_loops_and_links_inside(tmp_path: Path) -> None:
    write(tmp_path, "a/real.txt", "text")
    write(tmp_path, ".store/kept.txt", "kept")
    (tmp_path / "a/loop").symlink_to(tmp_path / "a")
    (tmp_path / "top").symlink_to(tmp_path)
    (tmp_path / "linked.txt").symlink_to(tmp_path / "a/real.txt")
    (tmp_path / "store").symlink_to(tmp_path / ".store")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nothing.txt")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    found = outcomes(tmp_path)
    assert [item.key for item in found if isinstance(item, Source)] == [
        "a/real.txt",
        "store/kept.txt",
    ]
    assert [Path(item.name).name for item in found if isinstance(item, Duplicate)] == ["linked.txt"]
    broken = [item for item in found if isinstance(item, InputProblem)]
    assert [Path(item.name).name for item in broken] == ["gone.txt", "self.txt"]


def test_a_link_that_is_named_is_followed(tmp_path: Path) -> None:
    write(tmp_path, "real/a.txt", "text")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [source.key for source in sources(tmp_path / "link")] == ["a.txt"]


# Bad files: one line each


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xyz", b"text", "unknown file type (.xyz)"),
        *((f"a.{suffix}", b"text", "is a graph rather") for suffix in ("turtle", "n3", "xml")),
        ("README", b"text", "no suffix"),
        ("a.txt", b"", "is empty"),
        ("a.txt", b" \n\t ", "only white space"),
        ("a.txt", codecs.BOM_UTF8, "only white space"),
        ("a.txt", b"ab\0c", "byte 2 is zero"),
        ("a.txt", "caf\u00e9".encode("latin-1"), "byte 3 is 0xe9"),
        ("a.txt", codecs.BOM_UTF8 + b"ab\xff", "byte 5 is 0xff"),
        ("a.txt", codecs.BOM_UTF16_LE + b"a\0b", "not UTF-16-LE text (byte 4"),
        ("a.txt", codecs.BOM_UTF16_LE + b"a\0\0\0", "binary"),
        ("a.txt", b"x " + b"Zm9v" * 2501, "10,004 characters at character 2"),
        ("a.md", b"# Only a heading\n", "only white space"),
        ("a.html", b"<html><script>x</script></html>", "only white space"),
        ("a.json", b"", "is empty"),
        ("a.json", b'{"text": "a"', "is not JSON"),
        ("a.json", b'"text"', "contains a string: expected"),
        ("a.json", b"3", "contains a number: expected"),
        ("a.json", b"null", "contains null: expected"),
        ("a.json", b"[]", "no records"),
        ("a.json", b"[1]", "record 1 is a number: expected"),
        ("a.json", b"{}", "keys found: none"),
        ("a.json", b'{"data": [{"text": "a"}]}', 'keys found: "data"'),
        ("a.json", b'{"text": 5}', "a number as text"),
        ("a.json", b'{"text": ["a", 5]}', "a list as text"),
        ("a.json", b'{"text": "a", "title": ["t"]}', "a list as title"),
        ("a.json", b'{"text": "a", "id": true}', "a truth value as id"),
        ("a.json", b'{"text": "a", "text": "b"}', '"text" occurs twice'),
        ("a.json", b'{"text": " "}', "the object: contains only white space"),
        ("a.json", b'{"text": ' + b"1" * 5000 + b"}", "not usable JSON"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"\n\n", "no records"),
        ("a.jsonl", b"\0\x01\x02", "binary"),
        ("a.jsonl", b"[" * 100_000, "line 1 is nested too deeply"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n \n", "no header row"),
        ("a.csv", b"\0\x01\x02", "binary"),
        ("a.csv", b"name,words\n1,2\n", "columns found: 'name', 'words'"),
        ("a.csv", b"title,text\n", "no records"),
        ("a.csv", b'title,te"xt\n', "no text column"),
        ("a.csv", b'"title"x,text\n', "not CSV"),
        ("a.csv", b"text\xff,title\na,b\n", "header that is not UTF-8"),
        ("a.csv", codecs.BOM_UTF16_LE + b"t\0e\0x\0t\0\n\0a", "not UTF-16"),
        ("a.pdf", b"", "is empty"),
        ("a.pdf", b"text", "is not a .pdf file"),
        ("a.docx", b"PK\x03\x04 text", "is not a .docx file"),
        ("a.epub", b"text", "is not a .epub file"),
    ],
)
def test_bad_file(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    assert message in problem(write(tmp_path, name, content))


def test_one_bad_file_costs_one_line_and_never_the_rest(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "first")
    write(tmp_path, "b.txt", b"\xff")
    write(tmp_path, "c.bin", b"\0")
    write(tmp_path, "d.txt", "last")
    kinds = [type(item) for item in outcomes(tmp_path)]
    assert kinds == [Source, InputProblem, InputProblem, Source]


def test_a_missing_path(tmp_path: Path) -> None:
    assert "does not exist" in problem(tmp_path / "nothing.txt")
    assert "is not a valid path" in problem(Path("a\0.txt"))
    assert "cannot be read" in problem(Path("x" * 5000))


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.json"])
def test_a_file_above_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = write(tmp_path, name, "")
    os.truncate(path, 1 << 40)  # a sparse terabyte: reading it would end the test
    assert "--max-chars" in problem(path)


def test_the_limit_counts_characters(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "\U0001f600" * 9)
    assert len(sources(path, max_chars=9)) == 1
    assert "the limit is 8 characters" in problem(path, max_chars=8)
    assert "the limit is 7 characters" in problem(path, max_chars=7)


def test_an_endless_input_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = b"a" * len(buffer)
            return len(buffer)

    endless = io.BufferedReader(Endless())
    assert "--max-chars" in problem(Path("-"), stdin=endless, max_chars=100)


def test_text_without_blanks_between_words_is_prose(tmp_path: Path) -> None:
    text = "\u65e5\u672c\u8a9e\u306e\u6587\u3067\u3059\u3002" * 2000
    assert len(sources(write(tmp_path, "a.txt", text))) == 1


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: object, **options: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    path = write(tmp_path, "a.txt", "text")
    monkeypatch.setattr(Path, "open", refuse)
    assert "change its permissions" in problem(path)


def test_an_unreadable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt", "text")
    write(tmp_path, "closed/b.txt", "text")
    scandir = os.scandir

    def refuse(path: Path) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    source, closed = outcomes(tmp_path)
    assert isinstance(source, Source)
    assert isinstance(closed, InputProblem)
    assert "change its permissions" in closed.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_what_is_not_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert "not a regular file" in problem(tmp_path)
    (tmp_path / "pipe.txt").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        place = Path("/tmp") / f"sarag-{os.getpid()}.txt"
        server.bind(str(place))
        try:
            assert "not a regular file" in problem(place)
        finally:
            place.unlink()


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="file names are Unicode there")
def test_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    assert "rename it" in problem(tmp_path)


# Markdown


@pytest.mark.parametrize(
    ("source", "title", "text"),
    [
        ("# Turing\n\nHe was born.\n", "Turing", "He was born.\n"),
        ("\n\nTuring\n======\nBorn.", "Turing", "Born."),
        ("<!-- a note -->\n# Turing\nBorn.", "Turing", "Born."),
        ("Preface.\n\n# Turing\nBorn.", "Turing", "Preface.\n\n# Turing\nBorn."),
        ("## Section\nText.", "", "## Section\nText."),
        ("#hashtag\ntext", "", "#hashtag\ntext"),
        ("```\n# comment\n```\n~~~ sh\n# no\n```\n# no\n~~~\n", "", None),
        ("# About C#\nText.", "About C#", "Text."),
        ("# Turing ##\nText.", "Turing", "Text."),
        ("# **The** [Bombe](http://x.org/a) `v2`\nText.", "The Bombe v2", "Text."),
        ("---\ntitle: A Life\n---\n# Turing\nBorn.", "A Life", "# Turing\nBorn."),
        ("---\nauthor: me\n---\n\n# Turing\nBorn.", "Turing", "Born."),
        ('---\ntitle: "A \\"Life\\": 1"\n...\nBorn.', 'A "Life": 1', "Born."),
        ("---\ntitle: 'It''s'   # so\n---\nBorn.", "It's", "Born."),
        ("---\ntitle: Life # a comment\n---\nBorn.", "Life", "Born."),
        ("---\ntitle: >-\n  A long\n  life\ntags: [a]\n---\nBorn.", "A long life", "Born."),
        ("---\ntitle: A long\n  life\n---\nBorn.", "A long life", "Born."),
        ("---\ntitle:\n---\nBorn.", "", "Born."),
        ("---\nNot: yaml\n\nno end", "", None),
        ("---\n\nA rule, then text.\n\n---\nMore.", "", None),
        ("----\ntitle: x\n---\n", "", None),
    ],
)
def test_markdown(source: str, title: str, text: str | None) -> None:
    assert split_title(source) == (title, source if text is None else text)


def test_markdown_file(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# Turing\r\n\r\n*Born* in 1912.\r\n")
    write(tmp_path, "no-heading.markdown", "Text.")
    first, second = sources(tmp_path)
    assert first == Source("*Born* in 1912.\n", "Turing", "a.md", "en", "text/markdown")
    assert (second.title, second.text) == ("No Heading", "Text.")


@given(st.text(st.sampled_from("#=-`~ \n\ta:'\"<!>[]()*"), max_size=60))
def test_any_markdown_is_split(source: str) -> None:
    title, text = split_title(source)
    assert text in source
    assert "\n" not in title


# HTML


def test_the_headers_of_a_table_have_a_rule_below_them(tmp_path: Path) -> None:
    rows = "<tr><th>Site</th><th>Power</th></tr><tr><th>Tarn</th><td>5 kW</td></tr>"
    page = f"<table>{rows}</table>"
    (source,) = sources(write(tmp_path, "a.html", page))
    assert source.text == "Site | Power\n--- | ---\nTarn | 5 kW"


def test_html(tmp_path: Path) -> None:
    page = """<!DOCTYPE html><html lang="de-CH"><head><title> Der
      Rhein </title><style>p {}</style><script>var a = "<p>no</p>";</script></head>
      <body><nav>Menu</nav><h1>Rhein</h1><p>Ein <b>gro\u00df</b>er&nbsp;Fluss &amp; mehr.</p>
      <template>no</template><!-- no --><ul><li>eins<li>zwei</ul>
      <table><tr><td>a</td><td>b</td></tr></table>x<br>y</body></html>"""
    (source,) = sources(write(tmp_path, "a.html", page))
    assert source.title == "Der Rhein"
    assert source.text == "# Rhein\nEin gro\u00dfer Fluss & mehr.\n- eins\n- zwei\na | b\nx\ny"
    assert (source.language, source.media_type) == ("de-ch", "text/html")


def test_html_titles(tmp_path: Path) -> None:
    write(tmp_path, "a.htm", "<svg><title>no</title></svg><h1>The <i>Rhine</i></h1><p>A")
    write(tmp_path, "the-rhine.html", "A river.")
    write(tmp_path, "z.xhtml", "<?xml version='1.0'?><html xml:lang='fr'><p>Un fleuve.</p></html>")
    assert [(source.title, source.language) for source in sources(tmp_path)] == [
        ("The Rhine", "en"),
        ("The Rhine", "en"),
        ("Z", "fr"),
    ]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("iso-8859-1", "cp1252"), ("shift_jis", "shift_jis"), ("nonsense", "utf-8")],
)
def test_html_declares_its_encoding(tmp_path: Path, declared: str, encoding: str) -> None:
    text = "\u65e5\u672c" if encoding == "shift_jis" else "caf\u00e9"
    page = f'<meta charset="{declared}"><p>{text}</p>'.encode(encoding)
    (source,) = sources(write(tmp_path, "a.html", page))
    assert source.text == text


@pytest.mark.parametrize("declared", ["ascii", "utf-8", "rot13", "idna"])
def test_html_that_is_not_what_it_declares(tmp_path: Path, declared: str) -> None:
    page = f'<meta charset="{declared}"><p>caf'.encode() + b"\xe9</p>"
    assert "0xe9" in problem(write(tmp_path, "a.html", page))


def test_html_that_declares_a_zero_byte(tmp_path: Path) -> None:
    assert "is zero" in problem(write(tmp_path, "a.html", b'<meta charset="ut\0f-8"><p>Ada</p>'))


def test_deep_and_broken_html(tmp_path: Path) -> None:
    write(tmp_path, "a.html", "<div>" * 20_000 + "deep")
    write(tmp_path, "b.html", "<p>text<![broken")
    write(tmp_path, "c.html", "<p>one</b></i><p>two <a href=")
    deep, broken, sloppy = outcomes(tmp_path)
    assert isinstance(deep, Source)
    assert deep.text == "deep"
    assert isinstance(broken, Source | InputProblem)  # Python versions differ
    assert isinstance(sloppy, Source)
    assert sloppy.text.startswith("one\ntwo")


# JSON and JSON Lines


def test_json_records(tmp_path: Path) -> None:
    records = [
        {"title": "A", "text": "one"},
        {"title": "A", "text": "another with the same title"},
        {"_id": 7, "title": None, "text": ["Two.", "Three."]},
        {"id": "p/1 #x", "text": None, "paragraph_text": "four"},
        {"content": "five"},
        {"passage": "six"},
        {"body": "seven"},
        {"B": ["Eight.", "Nine."], "C": ["Ten."]},
    ]
    found = sources(write(tmp_path, "corpus.json", json.dumps(records)))
    assert [(item.title, item.text) for item in found] == [
        ("A", "one"),
        ("A", "another with the same title"),
        ("", "Two. Three."),
        ("", "four"),
        ("", "five"),
        ("", "six"),
        ("", "seven"),
        ("B", "Eight. Nine."),
        ("C", "Ten."),
    ]
    assert found[2].key == "corpus.json#7"
    assert found[3].key == "corpus.json#p/1 #x"
    assert len({item.key for item in found}) == len(found)
    assert all(len(item.key) == len("corpus.json#") + 16 for item in found[4:])


@pytest.mark.parametrize("value", [{"title": "A", "text": "one"}, {"A": ["one"]}, [{"A": ["one"]}]])
def test_json_shapes(tmp_path: Path, value: object) -> None:
    for name in ("a.json", "a.jsonl"):
        if name == "a.json" or isinstance(value, dict):
            (source,) = sources(write(tmp_path, name, json.dumps(value)))
            assert (source.title, source.text) == ("A", "one")


def test_a_record_keeps_its_key_when_others_change(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", json.dumps([{"text": "one"}, {"text": "two"}]))
    before = {source.key for source in sources(path)}
    write(tmp_path, "a.json", json.dumps([{"text": "two"}, {"text": "three"}]))
    assert len(before & {source.key for source in sources(path)}) == 1


def test_json_escapes_that_are_no_characters(tmp_path: Path) -> None:
    (source,) = sources(
        write(tmp_path, "a.json", r'{"text": "a\ud800b\u0000c\ud83d\ude00\uffff", "id": "\udfff"}')
    )
    assert source.text == "a\ufffdb c\U0001f600 "
    assert source.key == "a.json#\ufffd"


def test_a_broken_line_costs_one_line(tmp_path: Path) -> None:
    lines = [
        b'{"text": "one"}',
        b'{"text": "two"',
        b"",
        b'{"text": "caf\xe9"}',
        b'[{"text": "x"}]',
        b'{"words": "x"}',
        b'{"text": " "}',
        b'{"text": "' + b"x " * 200 + b'"}',
        b'{"text": "' + b"x" * 100_000 + b'"}',
        '{"text": "line\u2028separator"}'.encode(),
    ]
    found = outcomes(write(tmp_path, "a.ndjson", b"\r\n".join(lines)), max_chars=200)
    problems = [item.message for item in found if isinstance(item, InputProblem)]
    assert [message.split(":")[0].split(" is ")[0].split(" has ")[0] for message in problems] == [
        f"line {number}" for number in (2, 4, 5, 6, 7, 8, 9)
    ]
    assert [item.text for item in found if isinstance(item, Source)] == [
        "one",
        "line\u2028separator",
    ]


def test_json_lines_are_streamed(tmp_path: Path) -> None:
    line = json.dumps({"text": "word " * 20})
    path = write(tmp_path, "a.jsonl", "".join(f'{line[:-1]}, "id": {n}}}\n' for n in range(500)))
    assert path.stat().st_size > 4 * 200
    assert len(sources(path, max_chars=200)) == 500


def test_duplicate_records_are_counted(tmp_path: Path) -> None:
    lines = ['{"text": "a"}', '{"text": "a"}', '{"id": 1, "text": "b"}', '{"id": 1, "text": "b"}']
    found = outcomes(write(tmp_path, "a.jsonl", "\n".join(lines)))
    assert [type(item) for item in found] == [Source, Duplicate, Source, Duplicate]
    assert isinstance(found[3], Duplicate)
    assert found[3].name.endswith("a.jsonl#1")


def test_two_records_of_one_id(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}')
    _, clash = outcomes(path)
    assert isinstance(clash, InputProblem)
    assert (
        clash.message == "line 2: the id of 'a.jsonl#1' is used twice: give each record its own id"
    )


# Tables


def test_csv(tmp_path: Path) -> None:
    table = (
        'ID, Title ,Text,extra\r\n1,A,"one, ""two""\r\nthree",\r\n\r\n2,,short\r\n'
        "3,B,x,y,z\r\n4,C\r\n"
    )
    first, second, long, empty = outcomes(write(tmp_path, "a.csv", table))
    assert first == Source('one, "two"\nthree', "A", "a.csv#1", "en", "text/csv")
    assert isinstance(second, Source)
    assert (second.title, second.text) == ("", "short")
    assert isinstance(long, InputProblem)
    assert "line 6: 5 fields where the header has 4" in long.message
    assert isinstance(empty, InputProblem)
    assert "line 7: contains only white space" in empty.message


def test_tsv(tmp_path: Path) -> None:
    (source,) = sources(write(tmp_path, "a.tsv", "title\tpassage\nA\tone, two\n"))
    assert (source.title, source.text) == ("A", "one, two")
    assert source.media_type == "text/tab-separated-values"


def test_bad_rows_cost_one_line_each(tmp_path: Path) -> None:
    long = b"word " * 2000
    rows = [b"id,text", b'1,"a"b', b"2,caf\xe9", b"3," + long, b"4,a\0b", b'5,"open', b"6,lost"]
    found = outcomes(write(tmp_path, "a.csv", b"\n".join(rows)))
    assert [item.key for item in found if isinstance(item, Source)] == ["a.csv#3"]
    messages = [item.message for item in found if isinstance(item, InputProblem)]
    assert [message[:20] for message in messages] == [
        "line 2 is not CSV ('",
        "line 3 is not UTF-8 ",
        "line 5 contains bina",
        "line 7 is not CSV (u",
    ]


def test_large_fields_and_lines(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = write(tmp_path, "a.csv", "text\n" + "word " * 60_000 + "\nshort\n")
    assert len(sources(path)) == 2
    long, short = outcomes(path, max_chars=150_000)
    assert isinstance(long, InputProblem)
    assert "line 2: is too long (300,000 characters" in long.message
    assert isinstance(short, Source)
    assert "a line that is too long" in problem(path, max_chars=10)
    write(tmp_path, "a.csv", 'text\n"' + "open\n" * 20_000)
    assert "up to line" in problem(path, max_chars=10)
    assert csv.field_size_limit() == before


# Office documents


def docx(folder: Path) -> Path:
    path = folder / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    return path


def test_documents_need_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_markitdown(monkeypatch, tmp_path / "none", "raise ImportError")
    install = "pip install 'sarag-rdf[documents]'"
    assert install in problem(write(tmp_path, "a.pdf", b"%PDF-1.7"))
    missing = converting("raise RuntimeError('MissingDependencyException: pdfminer')")
    fake_markitdown(monkeypatch, tmp_path / "half", missing)
    assert install in problem(docx(tmp_path))


def test_ligatures_of_printed_pages_are_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = "The \ufb01rst \ufb02oor, 5 m\u00b2."
    fake_markitdown(monkeypatch, tmp_path / "pdf", converting_to(printed))
    (source,) = sources(write(tmp_path, "a.pdf", b"%PDF-1.7"))
    assert source.text == "The first floor, 5 m\u00b2."


def fake_markitdown(monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> None:
    """A converter that the process which reads documents finds before any other."""
    folder.mkdir()
    write(folder, "markitdown.py", source)
    monkeypatch.syspath_prepend(folder)


def converting(body: str) -> str:
    return f"""
import time
from types import SimpleNamespace

class MarkItDown:
    def convert_local(self, path):
        {body}
"""


def converting_to(markdown: str, title: str | None = None) -> str:
    return converting(f"return SimpleNamespace(markdown={markdown!r}, title={title!r})")


def test_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = docx(tmp_path)
    fake_markitdown(monkeypatch, tmp_path / "1", converting_to("# Head\r\n\r\nText.\x0c"))
    (source,) = sources(path)
    assert (source.title, source.text) == ("Head", "Text. ")
    fake_markitdown(monkeypatch, tmp_path / "2", converting_to("Text.", " The\nTitle "))
    (source,) = sources(path)
    assert (source.title, source.text) == ("The Title", "Text.")


def test_bad_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = docx(tmp_path)
    fake_markitdown(monkeypatch, tmp_path / "1", converting("raise ValueError('broken\\nzip')"))
    assert "cannot be converted (ValueError: broken zip)" in problem(path)
    fake_markitdown(monkeypatch, tmp_path / "2", converting_to(""))
    assert "only white space" in problem(path)
    fake_markitdown(monkeypatch, tmp_path / "3", converting_to("word " * 10))
    assert "--max-chars" in problem(path, max_chars=20)
    os.truncate(path, 1 << 40)
    assert "--max-chars" in problem(path)


@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        (
            "time.sleep(600)",
            1.0,
            "took more than 1 seconds to read: leave it out, or raise --max-seconds",
        ),
        ("import os; os.abort()", 120.0, "crashed its parser (SIGABRT): leave it out"),
        ("bytes(1 << 50)", 120.0, "of memory to read: leave it out"),
    ],
)
def test_a_converter_that_does_not_end_or_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, seconds: float, message: str
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    docx(folder)
    write(folder, "b.txt", "Ada was born.")
    fake_markitdown(monkeypatch, tmp_path / "fake", converting(body))
    bad, good = outcomes(folder, max_seconds=seconds)
    assert message in str(bad)
    assert isinstance(good, Source)


# Standard input


@pytest.mark.parametrize(
    ("form", "data", "expected"),
    [
        ("txt", b"Some text.", ("", "Some text.")),
        ("txt", b'{"text": "a"}', ("", '{"text": "a"}')),
        ("md", b"# A\n\nb", ("A", "b")),
        ("html", b"<title>A</title><p>b", ("A", "b")),
        ("json", b'{"title": "A", "text": "b", "id": 1}', ("A", "b")),
        ("jsonl", b'{"title": "A", "text": "b"}\n', ("A", "b")),
        ("csv", b"title,text\nA,b\n", ("A", "b")),
        ("tsv", b"title\ttext\nA\tb\n", ("A", "b")),
    ],
)
def test_standard_input(form: str, data: bytes, expected: tuple[str, str]) -> None:
    (source,) = sources(Path("-"), stdin=io.BytesIO(data), stdin_format=form)
    assert ((source.title, source.text), source.key) == (expected, "")


def test_standard_input_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"text": "a"}\n{"text": "a"}')))
    monkeypatch.setattr(sys, "stdin", given)
    found = outcomes(Path("-"), stdin_format="jsonl")
    assert [type(item) for item in found] == [Source, Duplicate]
    assert not given.buffer.closed


def test_bad_standard_input() -> None:
    assert "is empty" in problem(Path("-"), stdin=io.BytesIO())
    assert "byte 0 is 0xff" in problem(Path("-"), stdin=io.BytesIO(b"\xff"))


# Language


def test_language_is_detected_where_there_is_enough_text(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", GERMAN)
    write(tmp_path, "b.txt", ENGLISH)
    write(tmp_path, "c.txt", "Die Stadt liegt am Rhein.")
    write(tmp_path, "d.txt", "12 345 678 " * 20)
    assert [source.language for source in sources(tmp_path)] == ["de", "en", "en", "en"]
    assert {source.language for source in sources(tmp_path, language="pt-BR")} == {"pt-br"}


def test_html_language_comes_before_detection_and_after_the_option(tmp_path: Path) -> None:
    path = write(tmp_path, "a.html", f"<html lang='nl_BE'><p>{GERMAN}")
    assert sources(path)[0].language == "nl-be"
    assert sources(path, language="de")[0].language == "de"
    write(tmp_path, "a.html", f"<html lang='Deutsch, bitte'><p>{GERMAN}")
    assert sources(path)[0].language == "de"


def test_a_missing_detector_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    language._identifier.cache_clear()
    with pytest.raises(MissingDependencyError, match="py3langid"):
        detect(GERMAN)


@given(st.text(max_size=300))
def test_detection_is_a_function_that_gives_valid_tags(text: str) -> None:
    tag = detect(text)
    assert tag == detect(text)
    assert Literal("x", language=tag).language == tag


def test_every_format_is_named_by_a_lower_case_suffix() -> None:
    assert len(suffixes()) == 16
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes())
