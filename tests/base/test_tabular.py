"""Review tables: written for spreadsheets and read back."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.tabular import delimiter_for, read_table, write_table
from sarag_rdf.building import link_records
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.kg.gate import read_shapes_files
from sarag_rdf.plugins.evaluation.competency import read_answers
from sarag_rdf.plugins.evaluation.gold import read_gold
from sarag_rdf.plugins.openie import OpenIEExtractor
from sarag_rdf.plugins.relation_paths.path_model import read_model
from sarag_rdf.plugins.statement_models import read_examples
from sarag_rdf.plugins.tables.mapping import MappingFile

texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=9)


@given(st.lists(st.tuples(texts, texts, texts), max_size=4), st.sampled_from("\t,;"))
def test_cells_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], delimiter: str
) -> None:
    path = tmp_path_factory.mktemp("tables") / "t"
    names = ("one", "two", "three")
    table = write_table(names, (dict(zip(names, row, strict=True)) for row in rows), delimiter)
    path.write_bytes(table.encode())
    expected = [[" ".join(cell.split()) for cell in row] for row in rows]
    read = [[row[name] for name in names] for row in read_table(path, names)]
    assert read == [row for row in expected if any(row)]


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "\t=1", "\uff0b1"])
def test_no_cell_is_a_formula(cell: str) -> None:
    [_, [written]] = csv.reader(write_table(("a",), [{"a": cell}]).splitlines(), delimiter="\t")
    assert written.startswith("'")


def test_rows_have_the_numbers_of_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a;b\n\n"x\ny";1\n;\nz\n', encoding="utf-8")
    assert [(row.number, row["a"], row["b"], row["c"]) for row in read_table(path, ["b"])] == [
        (3, "x\ny", "1", ""),
        (5, "z", "", ""),
    ]
    assert (delimiter_for(path), delimiter_for(tmp_path / "t.tsv")) == (",", "\t")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "has no column 'a'"),
        (b"b,c\n", "has no column 'a'"),
        (b"a\n\xff\n", "is not UTF-8 text"),
        (b"a,b\n1,2,3\n", "row 2, 3 cells for 2 columns"),
        (b'a,b\n"1" x,2\n', "cannot be read as a table"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        read_table(path, ["a"])
    with pytest.raises(InputError, match="cannot read"):
        read_table(tmp_path, ["a"])


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "table": ("a.csv", lambda path: read_table(path, ["a"])),
    "SSSOM": ("a.tsv", link_records.read_table),
    "answers": ("a.csv", lambda path: read_answers(path.with_suffix(".rq"))),
    "gold": ("a.tsv", read_gold),
    "examples": ("a.jsonl", lambda path: read_examples(path, Schema())),
    "openie": ("a.json", OpenIEExtractor),
    "paths:model": ("a.json", read_model),
    "shapes": ("a.ttl", lambda path: read_shapes_files([path])),
    "mapping": ("a.yml", MappingFile.read),
}


@pytest.mark.parametrize("kind", READERS)
def test_no_file_is_read_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module in ("base.files", "plugins.openie", "plugins.tables.mapping"):
        monkeypatch.setattr(f"sarag_rdf.{module}.MAX_BYTES", 1 << 20)
    name, read = READERS[kind]
    path = tmp_path / name
    path.write_bytes(b" " * (1 << 20) + b" ")
    with pytest.raises(InputError, match=f"{name} has more than 1 MiB: give a smaller file"):
        read(path)


@pytest.mark.parametrize("kind", ["examples", "openie", "paths:model"])
def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path, kind: str) -> None:
    name, read = READERS[kind]
    path = tmp_path / name
    path.write_text("[" * 100_000)
    with pytest.raises(InputError, match=name):
        read(path)
