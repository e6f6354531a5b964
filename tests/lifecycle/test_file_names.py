"""Files whose names look like those of records, of folders, or of a graph's own files."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Source
from sarag_rdf.documents.walk import file_of_key, key_of_path, path_of_key
from sarag_rdf.kg.graph import KnowledgeGraph
from tests.lifecycle.test_lifecycle import call, keys, opened, write
from tests.sample_graph import CapitalExtractor

RECORDS = "".join(json.dumps({"id": i, "text": f"Ada met Boris {i}."}) + "\n" for i in (1, 2))


def indexed(folder: Path, files: dict[str, str]) -> KnowledgeGraph:
    kg = opened()
    kg.index(write(folder, files), extractor=CapitalExtractor())
    return kg


@given(st.text("%#235/ab", max_size=8))
def test_a_key_tells_its_path_and_no_other(path: str) -> None:
    key = key_of_path(path)
    assert path_of_key(key) == path
    assert file_of_key(f"{key}#1") == key
    minter = Minter()
    if key:
        assert minter.key_of_source(minter.source(f"{key}#1", "", "")) == f"{key}#1"


def test_a_file_of_records_with_a_number_sign(tmp_path: Path) -> None:
    kg = indexed(tmp_path, {"notes #1.jsonl": RECORDS, "C#.txt": "Cleo met Ada."})
    assert keys(kg) == ["C%23.txt", "notes %231.jsonl#1", "notes %231.jsonl#2"]
    title = kg.search("Cleo", retriever="bm25").documents[0].document.title
    assert title == "C#"
    write(tmp_path, {"notes #1.jsonl": RECORDS.replace("Boris 2", "Eva")})
    report = call(kg, "update", tmp_path / "notes #1.jsonl")
    assert (report.updated, report.unchanged, report.problems) == (1, 1, [])
    write(tmp_path, {"notes #1.jsonl": RECORDS.splitlines()[0]})
    assert call(kg, "sync", tmp_path).deleted == 1
    assert kg.delete("notes #1.jsonl") == ("notes %231.jsonl#1",)
    assert keys(kg) == ["C%23.txt"]


def test_a_file_that_is_named_like_a_record_of_another(tmp_path: Path) -> None:
    kg = indexed(tmp_path, {"r/r.jsonl": RECORDS, "r/r.jsonl#7.md": "Cleo is another."})
    want = ["r/r.jsonl#1", "r/r.jsonl#2", "r/r.jsonl%237.md"]
    assert keys(kg) == want
    assert call(kg, "update", tmp_path / "r" / "r.jsonl", root=tmp_path).unchanged == 2
    assert keys(kg) == want
    assert kg.delete("r/r.jsonl") == ("r/r.jsonl#1", "r/r.jsonl#2")


def test_a_key_is_deleted_as_it_was_given(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "é.txt")
    kg = opened()
    kg.index(Source("Ada is here.", "", name), extractor=CapitalExtractor())
    assert kg.delete(name) == (name,)
    with pytest.raises(UsageError, match="no such source in the graph: ''"):
        kg.delete("")


def test_a_file_that_is_named_like_a_folder(tmp_path: Path) -> None:
    kg = indexed(tmp_path / "one", {"a.md/b.md": "Ada is below."})
    other = write(tmp_path / "two", {"a.md": "Boris is new."}) / "a.md"
    report = call(kg, "update", other)
    assert (report.added, [p.message.partition(":")[0] for p in report.problems]) == (
        0,
        ["is not in the graph"],
    )
    assert keys(kg) == ["a.md/b.md"]


def test_the_files_of_a_graph_are_no_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path, {"ulm.txt": "Ada visited Ulm."}))
    with opened("kg") as kg:
        for _ in range(2):
            report = kg.index(".", extractor=CapitalExtractor())
            kg.search("Ada")
            assert report.problems == []
        assert keys(kg) == ["ulm.txt"]
        report = call(kg, "sync", ".")
        assert (report.unchanged, report.added, report.problems) == (1, 0, [])
        write(tmp_path / "kg", {"notes.txt": "Boris is among the files of the graph."})
        assert kg.index(["kg", "ulm.txt"], extractor=CapitalExtractor()).problems == []
        assert keys(kg) == ["notes.txt", "ulm.txt"]


def test_one_object_in_a_file_is_that_file(tmp_path: Path) -> None:
    kg = indexed(tmp_path, {"a.json": json.dumps({"text": "Ada met Boris."})})
    assert keys(kg) == ["a.json"]
    write(tmp_path, {"a.json": json.dumps({"text": "Ada met Cleo."})})
    report = kg.index(tmp_path, extractor=CapitalExtractor())
    assert (report.added, report.updated) == (0, 1)
    assert keys(kg) == ["a.json"]
    assert kg.search("Cleo", retriever="bm25").documents[0].document.title == ""


@pytest.mark.parametrize("before", ['[{"id": 1, "text": "One."}]', '{"id": "x", "text": "One."}'])
def test_records_that_became_one_object(tmp_path: Path, before: str) -> None:
    kg = indexed(tmp_path, {"a.json": before, "b.json": '{"text": "Ada."}'})
    write(tmp_path, {"a.json": '{"text": "Ada met Boris."}', "b.json": before})
    for name, deleted in (("a.json", 1), ("b.json", 1)):
        report = call(kg, "update", tmp_path / name, yes=True)
        assert (report.added, report.deleted) == (1, deleted)
    key = "b.json#1" if "[" in before else "b.json#x"
    assert keys(kg) == ["a.json", key]


def test_a_path_is_not_taken_for_an_iri(tmp_path: Path) -> None:
    files = {"100%.txt": "Ada.", "100%25.txt": "Boris.", "C#/a.md": "Cleo."}
    kg = indexed(tmp_path, files)
    with pytest.raises(UsageError, match="did you mean C%23/"):
        kg.delete("C#")
    assert kg.delete("100%25.txt") == ("100%2525.txt",)
    assert kg.delete("C#/") == ("C%23/a.md",)
    assert keys(kg) == ["100%.txt"]


def test_a_graph_that_cannot_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="cannot be found"):
        opened("~nobody-of-this-name/kg")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="cannot be found"):
        opened("kg")
    monkeypatch.chdir(tmp_path)


def test_a_graph_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    with opened("kg") as kg:
        monkeypatch.chdir(tmp_path / "two")
        kg.index(Source("Ada is here.", "", "a.txt"), extractor=CapitalExtractor())
    assert (tmp_path / "one" / "kg" / "store").is_dir()
    assert list((tmp_path / "two").iterdir()) == []
