"""A sample of entities for judges: what it shows, how it is read, and shares worked by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base import tabular
from sarag_rdf.base.errors import InputError, TruncatedReplyError
from sarag_rdf.base.ports import silent
from sarag_rdf.base.types import Document
from sarag_rdf.kg import vectors
from sarag_rdf.plugins.evaluation.entities import (
    COLUMNS,
    EVIDENCE,
    Row,
    agreement,
    entity_prompt,
    judge_rows,
    measured,
    naming_sentences,
    read_judgments,
    similar_names,
)
from tests.command import Sarag
from tests.evaluation.scripted import Scripted
from tests.sample_graph import make_graph

GIVEN: Row = {
    "entity": "urn:ada",
    "name": "Ada Holt",
    "type": "person",
    "classes": "physicist",
    "sentence 1": "Ada Holt founded Orbis. [ada.txt]",
    "similar 1": "A. Holt <urn:a_holt>",
    "similar 2": "Ivo <Holt> <urn:ivo>",
}


def written(path: Path, *judgments: tuple[str, str, str, str]) -> Path:
    rows = [
        {"entity": f"urn:{number}"} | dict(zip(COLUMNS, cells, strict=True))
        for number, cells in enumerate(judgments)
    ]
    path.write_text(
        tabular.write_table((*EVIDENCE, *COLUMNS), rows, tabular.delimiter_for(path)), "utf-8"
    )
    return path


def test_a_table_is_written_filled_in_and_reported(sarag: Sarag, tmp_path: Path) -> None:
    kg = make_graph(tmp_path / "kg")
    table = tmp_path / "entities.tsv"
    written_ = ("evaluate", "entities", "--kg", kg, "--sample", "4", "--seed", "7")
    assert "4 entities" in sarag(*written_, "--review", table).out
    first = table.read_text("utf-8")
    assert "4 entities" in sarag(*written_, "--review", table).out
    assert table.read_text("utf-8") == first
    rows = tabular.read_table(table, (*EVIDENCE, *COLUMNS))
    assert len(rows) == 4
    by_name = {row["name"]: row for row in rows}
    assert all(row["sentence 1"].endswith(".txt]") for row in rows)
    assert all(row[column] == "" for row in rows for column in COLUMNS)
    empty = json.loads(sarag("evaluate", "entities", "--judged", table, "--json").out)
    [judge] = empty["judges"]
    assert (judge["entities"], judge["entities_not_judged"]) == (4, 4)
    assert judge["thing"]["share"] is None
    name = min(by_name)
    line = next(each for each in first.splitlines() if f"\t{name}\t" in each)
    filled = first.replace(line, line.removesuffix("\t\t\t") + "yes\twrong\t\tno")
    table.write_text(filled, "utf-8")
    done = sarag("evaluate", "entities", "--judged", table, "--output", tmp_path / "out.json")
    assert "4 entities; 3 not judged" in done.out
    [judge] = json.loads((tmp_path / "out.json").read_text())["judges"]
    for column, share in zip(COLUMNS, (1.0, 0.0, 0.0, 0.0), strict=True):
        assert (judge[column]["share"], judge[column]["judged"]) == (share, 1)


def test_all_entities_if_there_are_not_more(sarag: Sarag, tmp_path: Path) -> None:
    """Each name of the sample graph, which has no values; a .csv has commas."""
    table = tmp_path / "all.csv"
    sarag("evaluate", "entities", "--kg", make_graph(tmp_path / "kg"), "--review", table)
    names = {row["name"] for row in tabular.read_table(table, COLUMNS)}
    assert names == {"Ada", "Boris", "Danube", "Orbis", "Tulcea", "Ulm"}
    assert table.read_text("utf-8-sig").startswith("entity,name,")


def test_shares_worked_by_hand(tmp_path: Path) -> None:
    """Wilson: 3 of 4 is [0.301, 0.954], as by (p + z²/2n ± z√(pq/n + z²/4n²)) / (1 + z²/n)."""
    judged = read_judgments(
        written(
            tmp_path / "one.tsv",
            ("yes", "right", "", "no"),
            ("Y", "Wrong", "urn:0", ""),
            ("no", "", "none", "yes"),
            ("yes", "unsure", "", ""),
            ("", "", "unsure", "no"),
        )
    )
    shares = measured(judged)
    assert (shares["entities"], shares["entities_not_judged"]) == (5, 0)
    assert shares["thing"] == {
        "yes": 3, "judged": 4, "not_judged": 1, "share": 0.75, "low": 0.300642, "high": 0.954413,
    }  # fmt: skip
    assert (shares["class"]["yes"], shares["class"]["judged"]) == (1, 2)
    assert (shares["duplicate_of"]["yes"], shares["duplicate_of"]["judged"]) == (1, 3)
    assert (shares["wrong_merge"]["yes"], shares["wrong_merge"]["judged"]) == (1, 3)


def test_two_judges(sarag: Sarag, tmp_path: Path) -> None:
    """Things: 3 of 4 equal, 0.5 by chance, so that kappa is (0.75 - 0.5) / 0.5."""
    one = written(
        tmp_path / "one.tsv", *[(t, "right", "", "no") for t in ("yes", "yes", "no", "no")]
    )
    other = written(
        tmp_path / "other.tsv", *[(t, "right", "", "") for t in ("yes", "no", "no", "no")]
    )
    data = json.loads(
        sarag("evaluate", "entities", "--judged", one, "--judged", other, "--json").out
    )
    [pair] = data["agreement"]
    assert pair["thing"] == {"both_judged": 4, "agreement": 0.75, "kappa": 0.5}
    assert pair["class"] == {"both_judged": 4, "agreement": 1.0, "kappa": None}
    assert pair["wrong_merge"] == {"both_judged": 0, "agreement": None, "kappa": None}
    text = sarag("evaluate", "entities", "--judged", one, "--judged", other).out
    assert "0.50" in text
    assert agreement({}, read_judgments(one))["thing"]["both_judged"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name\tthing\nA\tyes\n", "it has no column 'entity', 'class'"),
        ("entity\tthing\tclass\tduplicate_of\twrong_merge\n", "has no rows"),
        ("entity\tthing\tclass\tduplicate_of\twrong_merge\na\tmaybe\n", "row 2, column thing"),
        ("entity\tthing\tclass\tduplicate_of\twrong_merge\na\tyes\tyes\n", "use right or wrong"),
        ("entity\tthing\tclass\tduplicate_of\twrong_merge\n\tyes\n", "the IRI of the entity"),
        ("entity\tthing\tclass\tduplicate_of\twrong_merge\na\tyes\na\tno\n", "row 3, .*earlier"),
        ("entity;thing;class;duplicate_of;wrong_merge\na;yes;;;;;x\n", "7 cells for 5 columns"),
    ],
)
def test_tables_of_another_form(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "judged.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_judgments(path)


def test_a_table_from_a_spreadsheet_with_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    path.write_text("﻿wrong_merge;duplicate_of;thing;class;entity\nNO;;YES;RIGHT;urn:a\n;;;;\n")
    assert read_judgments(path) == {
        "urn:a": {"thing": True, "class": True, "duplicate_of": False, "wrong_merge": False}
    }


def test_the_model_fills_in_what_it_knows() -> None:
    """A number becomes the IRI of that entity; an invalid reply leaves the row as it is."""
    said = {"thing": "yes", "class": "unsure", "duplicate_of": "2", "wrong_merge": "no"}

    def script(name: str, prompt: str) -> Mapping[str, Any] | BaseException:
        assert name == "judge_entity"
        return said if "Ada Holt" in prompt else TruncatedReplyError("cut")

    rows = [GIVEN, GIVEN | {"name": "Bo", "sentence 1": "", "similar 1": "", "similar 2": ""}]
    [ada, bo], failed = judge_rows(rows, Scripted(script), threads=2, progress=silent)
    assert {column: ada[column] for column in COLUMNS} == said | {"duplicate_of": "urn:ivo"}
    assert failed == 1
    assert not set(COLUMNS) & bo.keys()


def test_the_command_asks_the_model_of_the_endpoint(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"thing": "yes", "class": "right", "duplicate_of": "none", "wrong_merge": "unsure"}
    monkeypatch.setattr(vectors, "make_llm", lambda *_: Scripted(lambda *_: said))
    kg, table = make_graph(tmp_path / "kg"), tmp_path / "judged.tsv"
    command = ("evaluate", "entities", "--kg", kg, "--review", table, "--judge")
    assert "6 entities" in sarag(*command, "--base-url", "http://127.0.0.1:1/v1").out
    shares = measured(read_judgments(table))
    assert [shares[column]["judged"] for column in COLUMNS] == [6, 6, 6, 0]
    assert shares["duplicate_of"]["share"] == 0.0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "give --review FILE"),
        (("--review", "a.tsv", "--judged", "b.tsv"), "give --review FILE"),
        (("--judged", "b.tsv", "--judge"), "name its file with --review"),
        (("--review", "a.tsv", "--judge"), "--judge needs a model"),
        (("--review", "nowhere/a.tsv"), "cannot write nowhere/a.tsv"),
    ],
)
def test_options_that_do_not_fit(options: tuple[str, ...], word: str, sarag: Sarag) -> None:
    sarag("evaluate", "entities", *options).fails(2, word)


def test_sentences_come_from_several_documents() -> None:
    texts = ("Ada came. Ada saw. Ada won.", "Nobody came.", "It was ADA.", "Adam left.")
    documents = [
        Document(f"urn:d{n}", f"urn:source/{n}.txt", "", text, 0, len(text))
        for n, text in enumerate(texts)
    ]
    assert naming_sentences(["Ada"], documents, "urn:source/") == [
        "Ada came. [0.txt]",
        "It was ADA. [2.txt]",
        "Ada saw. [0.txt]",
    ]


def test_similar_names_never_include_the_entity_itself() -> None:
    labels = {"urn:1": "Marie Curie", "urn:2": "Marie Curie", "urn:3": "Curie", "urn:4": "Ulm"}
    similar = similar_names(["urn:1", "urn:4"], labels)
    assert similar == {"urn:1": ["Marie Curie <urn:2>", "Curie <urn:3>"], "urn:4": []}


def test_names_without_letters_are_like_no_other() -> None:
    assert similar_names(["urn:1"], {"urn:1": "!", "urn:2": "?"}) == {"urn:1": []}


def test_the_prompt_shows_names_without_iris() -> None:
    prompt = entity_prompt(GIVEN)
    assert "person, physicist" in prompt
    assert "2. Ivo <Holt>" in prompt
    assert "urn:" not in prompt
