"""Files that are too much, and places that are no files: one line, little memory, and no hang."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.redaction import public_origin
from sarag_rdf.base.types import Source
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import environment
from tests.fault_server import playing, raw
from tests.fuzz.hostile import assert_sound, evidence, graph
from tests.reading import read_paths
from tests.sample_graph import CapitalExtractor

GIB = 1 << 30
MEMORY = 300 << 20
"""Bytes above what the interpreter takes anyway that refusing a file may take at most."""


def messages(path: Path, **options: int) -> list[str]:
    return [str(found) for found in read_paths([path], **options)]


# ---------------------------------------------------------------------- Places that are no files


def test_what_stands_in_a_folder_and_is_no_file(tmp_path: Path) -> None:
    folder, other = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    other.mkdir()
    (other / "secret.txt").write_text("Ada knows the secret.")
    (folder / "a.txt").write_text("Ada knows Ulm.")
    os.mkfifo(folder / "fifo.txt")
    (folder / "out.txt").symlink_to(other / "secret.txt")
    (folder / "relative.txt").symlink_to("../out/secret.txt")
    (folder / "chain.txt").symlink_to(folder / "out.txt")
    (folder / "loop.txt").symlink_to(folder / "loop.txt")
    (folder / "up").symlink_to("..")
    (folder / "self").symlink_to(".")
    (folder / "null.txt").symlink_to("/dev/null")
    (folder / "zero.txt").symlink_to("/dev/zero")
    (folder / "environ.txt").symlink_to("/proc/self/environ")
    (folder / "proc").symlink_to("/proc")
    found = list(read_paths([folder]))
    sources = [item for item in found if isinstance(item, Source)]
    assert [source.key for source in sources] == ["a.txt"]
    told = {Path(item.name).name: str(item) for item in found if not isinstance(item, Source)}
    assert set(told) >= {
        *("fifo.txt", "out.txt", "relative.txt", "chain.txt", "loop.txt", "up"),
        *("null.txt", "zero.txt", "environ.txt", "proc"),
    }
    assert "to a path outside the folder" in told["chain.txt"]
    assert "not a regular file" in told["fifo.txt"]


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/stdin", "/proc/self/environ"])
def test_devices_that_are_named(path: str) -> None:
    (told,) = messages(Path(path))
    assert "unknown file type" in told


def test_a_hard_link_is_a_file_like_any_other(tmp_path: Path) -> None:
    """Nothing tells it from the file itself: who may make one may read it."""
    (tmp_path / "a.txt").write_text("Ada knows Ulm.")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    assert all(isinstance(item, Source) for item in read_paths([tmp_path]))


def test_a_deep_folder(tmp_path: Path) -> None:
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        for _ in range(300):
            Path("a" * 200).mkdir()
            os.chdir("a" * 200)
        Path("a.txt").write_text("Ada knows Ulm.")
    finally:
        os.chdir(here)
    found = list(read_paths([tmp_path]))
    assert found
    assert not any(isinstance(item, Source) for item in found)
    subprocess.run(["rm", "-rf", str(tmp_path / ("a" * 200))], check=True)


def test_very_many_files(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"{number}.txt").write_text("Ada knows Ulm.")
    assert len(list(read_paths([tmp_path]))) == 2_000


# --------------------------------------------------------------------------- Files of a gigabyte

_PEAK = """
import resource, sys
from pathlib import Path
from tests.reading import read_paths
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for found in read_paths([Path(sys.argv[1])]):
    print(found)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        *[(f"a{suffix}", "--max-chars") for suffix in (".txt", ".md", ".html", ".json")],
        *[(f"a{suffix}", "--max-file") for suffix in (".jsonl", ".csv", ".tsv")],
        *[(f"a{suffix}", "--max-chars") for suffix in (".pdf", ".docx", ".epub")],
    ],
)
def test_a_gigabyte_is_refused_unread(tmp_path: Path, name: str, told: str) -> None:
    with (tmp_path / name).open("wb") as stream:
        stream.truncate(GIB)
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, tmp_path / name],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    message, taken = done.stdout.splitlines()
    assert told in message
    assert int(taken) < MEMORY


def test_a_limit_of_files_can_be_set(tmp_path: Path) -> None:
    row = json.dumps({"text": "Ada knows Ulm. " * 1000}) + "\n"
    (tmp_path / "a.jsonl").write_text(row * 100)
    assert "--max-file" in messages(tmp_path / "a.jsonl", max_file=1)[0]
    assert isinstance(next(read_paths([tmp_path / "a.jsonl"], max_file=2)), Source)


# --------------------------------------------------------------------------- Archives that expand

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": partial(lzma.compress, preset=0),
}
LINE = b'<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "Ada" .\n'


@cache
def packed(suffix: str, kind: str) -> bytes:
    """80 MiB of the same lines, packed a thousand times, or more."""
    line = LINE.replace(b" .", b" <urn:g> .") if kind == "sarag" else LINE
    content = (line + (b"#" * 999 + b"\n") * 4096) * 20
    if kind == "wikibase":
        content = b"[\n" + (b" " * 999 + b"\n") * (80 << 10)
    return PACKERS[suffix](content)


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    ("name", "kind"), [("a.ttl", "rdf"), ("a.nt", "rdf"), ("a.json", "wikibase"), ("a.nq", "sarag")]
)
def test_imports_that_expand(tmp_path: Path, suffix: str, name: str, kind: str) -> None:
    path = tmp_path / (name + suffix)
    path.write_bytes(packed(suffix, kind))
    with graph() as kg:
        before = evidence(kg)
        with pytest.raises(InputError, match="--max-expansion"):
            if kind == "sarag":
                kg.restore(path)
            else:
                kg.import_graph(path, kind, embed=False)
        assert not kg.imports()
        assert_sound(kg, before)


def test_a_term_of_many_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_bytes(b'<urn:a> <urn:b> "' + b"a" * (20 << 20) + b'" .')
    with graph() as kg, pytest.raises(InputError, match="16 MiB"):
        kg.import_graph(path, "rdf", embed=False)


def test_a_limit_of_expansion_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "a.nt.gz"
    path.write_bytes(gzip.compress((LINE + (b"#" * 999 + b"\n") * 4096) * 20))
    with graph() as kg:
        assert kg.import_graph(path, "rdf", embed=False, max_expansion=2_000).triples == 1


def test_entities_of_xml_that_expand(tmp_path: Path) -> None:
    def laughs(definition: str) -> str:
        return (
            f'<?xml version="1.0"?><!DOCTYPE r [{definition}]><rdf:RDF xmlns:e="urn:e:" xmlns:rdf='
            '"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs='
            '"http://www.w3.org/2000/01/rdf-schema#"><e:A rdf:about="urn:a"><rdfs:label>&z;'
            "</rdfs:label></e:A></rdf:RDF>"
        )

    nested = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "laugh"}">' for n in range(9))
    backwards = '<!ENTITY z "&y;&y;"><!ENTITY y "laugh">'
    long = f'<!ENTITY z "{"a" * 5_000}">'
    endless = '<!ENTITY z "' + "a" * 70_000
    path = tmp_path / "a.rdf"
    for definition in (nested + '<!ENTITY z "&a8;">', backwards, endless):
        path.write_text(laughs(definition))
        with graph() as kg, pytest.raises(InputError, match=r"invalid XML|unrecognized entity"):
            kg.import_graph(path, "rdf", embed=False)
    for definition in ('<!ENTITY y "Ad"><!ENTITY z "&y;a">', long):
        path.write_text(laughs(definition))
        with graph() as kg:
            assert kg.import_graph(path, "rdf", embed=False).triples == 2


@pytest.mark.parametrize(
    ("suffix", "member"),
    [
        (".docx", "word/a.xml"),
        (".epub", "META-INF/x"),
        (".xlsx", "xl/a"),
        (".pptx", "ppt/a"),
    ],
)
def test_documents_that_expand(tmp_path: Path, suffix: str, member: str) -> None:
    path = tmp_path / f"a{suffix}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, b" " * (80 << 20))
    (told,) = messages(path)
    assert "80 MiB" in told
    assert "--max-expansion" in told


# ------------------------------------------------------------------------------------ Other sizes


def test_a_document_of_very_many_names() -> None:
    names = " ".join(f"Name{n} knows Other{n}." for n in range(600))
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(Source(names, "Names", "a.txt"), extractor=CapitalExtractor())
        assert report.mentions > 1_200
        assert kg.validate().conforms


def test_a_download_that_breaks_or_lies(tmp_path: Path) -> None:
    acts = {
        "broke off": raw(200, LINE, Content_Type="text/plain", Content_Length="9999"),
        "could not be read": raw(200, b"5\r\nabc", Transfer_Encoding="chunked"),
    }
    for told, act in acts.items():
        with playing(act) as server, graph() as kg, pytest.raises(InputError) as caught:
            kg.import_graph(f"{server.root}/a.nt?access_token=secret", "rdf", embed=False)
        assert "secret" not in str(caught.value), told


def test_what_is_kept_of_the_url_of_a_download() -> None:
    assert public_origin("http://e.org/a?format=nt") == "http://e.org/a?format=nt"
    told = public_origin("http://e.org/a?X-Amz-Signature=abc&format=nt&api_key=k#x")
    assert told == "http://e.org/a?X-Amz-Signature=***&format=nt&api_key=***#x"
    with graph() as kg, pytest.raises(UsageError, match="must not contain a password"):
        kg.import_graph("http://user:secret@127.0.0.1:9/a.nt", "rdf")


def test_memory_is_counted() -> None:
    """The measure of this page is there."""
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
