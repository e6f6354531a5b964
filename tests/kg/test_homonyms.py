"""Names of different things: found by what surrounds them, decided in a table, and taken back."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Source
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.homonyms import (
    accept,
    find_homonyms,
    first_cut,
    review_rows,
    split_uses,
    table,
)
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.kg.test_identity import stored
from tests.sample_graph import CapitalExtractor

MINTER = Minter()
SOURCES = (
    Source("Mercury orbits Sol nearer than Venus.", "", "orbit.txt"),
    Source("Mercury passes Sol faster than Venus.", "", "transit.txt"),
    Source("Mercury circles Sol closer than Venus.", "", "crater.txt"),
    Source("Mercury brought Jove letters from Rome.", "", "letters.txt"),
    Source("Mercury sold Jove wings from Rome.", "", "wings.txt"),
    Source("Venus circles Sol closer than Mars.", "", "venus.txt"),
)
GOD = MINTER.entity_of_mention(MINTER.variant("mercury", "jove"))


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as graph:
        graph.index(SOURCES, extractor=CapitalExtractor())
        yield graph


def reviewed(kg: KnowledgeGraph, path: Path, word: str = "accept") -> Path:
    """The table of proposals, with a word in the rows that have a qualifier."""
    with kg.session.read() as snapshot:
        text = table(review_rows(snapshot.own, find_homonyms(snapshot, 0.5))).removeprefix("\ufeff")
    rows = [*csv.reader(text.splitlines(), delimiter="\t")]
    for row in rows[1:]:
        row[0] = word if row[2] else ""
    path.write_text("\n".join("\t".join(row) for row in rows) + "\n", "utf-8")
    return path


def sources_of(kg: KnowledgeGraph, entity: str) -> set[str]:
    of = f"<{entity}> ^sarag:describes ?document . ?document sarag:source ?source"
    found = kg.query(f"SELECT ?source {{ {of} }}")
    assert isinstance(found, Table)
    return {row[0].value.rpartition("/")[2] for row in found.rows}


def test_groups_of_sources_that_are_apart_are_proposed_with_their_sentences(
    kg: KnowledgeGraph,
) -> None:
    with kg.session.read() as snapshot:
        [homonym] = find_homonyms(snapshot, 0.5)
        text = table(review_rows(snapshot.own, [homonym]))
    assert homonym.label == "Mercury"
    assert 0.5 <= homonym.confidence <= 1
    first, second = homonym.parts
    assert (len(first.uses), first.qualifier) == (3, "")
    assert (len(second.uses), second.qualifier) == (2, "jove")
    rows = [*csv.DictReader(text.removeprefix("\ufeff").splitlines(), delimiter="\t")]
    assert {row["source"] for row in rows if row["qualifier"]} == {"wings.txt", "letters.txt"}
    assert "Mercury sold Jove wings from Rome" in text


def test_an_accepted_split_holds_for_sources_that_change_and_is_undone(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    before = stored(kg)
    decisions, skipped = accept(kg, reviewed(kg, tmp_path / "splits.tsv"))
    assert [(d.name, d.qualifier, d.rule) for d in decisions] == [("mercury", "jove", "homonyms")]
    assert skipped == 3
    assert sources_of(kg, GOD) == {"wings.txt", "letters.txt"}
    stored(kg)
    with kg.session.read() as snapshot:
        assert find_homonyms(snapshot, 0.5) == []
    changed = Source("Mercury sold Jove more wings from Rome.", "", "wings.txt")
    kg.index([changed], extractor=CapitalExtractor())
    assert sources_of(kg, GOD) == {"wings.txt", "letters.txt"}
    assert "wings.txt" not in sources_of(kg, MINTER.entity("mercury"))
    kg.index([SOURCES[4]], extractor=CapitalExtractor())
    assert kg.decisions.undo("homonyms") == decisions
    assert stored(kg) == before


def test_a_row_needs_one_qualifier(kg: KnowledgeGraph, tmp_path: Path) -> None:
    path = reviewed(kg, tmp_path / "splits.tsv")
    good = path.read_text("utf-8")
    path.write_text(good.replace("\tjove\t", "\t\t"), "utf-8")
    with pytest.raises(InputError, match="write what the name means"):
        accept(kg, path)
    *_, last = good.splitlines()
    path.write_text(good + last.replace("\tjove\t", "\tmetal\t") + "\n", "utf-8")
    with pytest.raises(InputError, match="earlier row has another one"):
        accept(kg, path)
    assert kg.decisions.list() == []
    assert accept(kg, reviewed(kg, path, word="reject")) == ([], 5)


def test_on_the_command_line(kg: KnowledgeGraph, tmp_path: Path, sarag: Sarag) -> None:
    kg.close()
    where = ("--kg", tmp_path / "kg")
    listed = sarag("split", "--rule", "homonyms", "--least", "0.5", "--dry-run", *where).out
    assert "Mercury  [jove]  wings.txt: Mercury sold Jove wings" in listed
    assert listed.endswith("1 name would be split by homonyms\n")
    sarag("split", "--rule", "homonyms", *where).fails(2, "--review FILE")
    sarag("split", "--rule", "near", "--dry-run", *where).fails(2, "choose from homonyms")
    table_ = tmp_path / "splits.tsv"
    sarag("split", "--rule", "homonyms", "--least", "0.5", "--review", table_, *where)
    assert sarag("split", "--accept", table_, *where).out == (
        "0 split, 5 rows skipped: write accept in the column decision to split a row off\n"
    )
    lines = table_.read_text("utf-8").splitlines()
    accepted = [f"accept{line}" if "\tjove\t" in line else line for line in lines]
    table_.write_text("\n".join(accepted), "utf-8")
    assert sarag("split", "--accept", table_, *where).out == "1 split, 3 rows skipped\n"
    assert "Mercury (jove)  in" in sarag("split", "--list", *where).out
    assert sarag("split", "--undo", "homonyms", *where).out == "1 undone\n"


def test_cuts_by_hand() -> None:
    same = np.array([[1, 0.9, 0.2], [0.9, 1, 0.1], [0.2, 0.1, 1]])
    assert {tuple(first_cut(same)), tuple(~first_cut(same))} == {
        (True, True, False),
        (False, False, True),
    }
    alike = np.zeros((3, 3, 4))
    alike[..., 0] = 1.0
    assert split_uses(alike, 0.5)[1] == [[0, 1, 2]]
    apart = np.zeros((3, 3, 4))
    apart[0, 1, 0] = apart[1, 0, 0] = 1.0
    confidence, groups = split_uses(apart, 0.5)
    assert confidence > 0.5
    assert groups == [[0, 1], [2]]
