"""Entity resolution against known entities: measures worked by hand, and a small table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sarag_rdf.base.errors import InputError
from sarag_rdf.kg import vectors
from sarag_rdf.plugins.evaluation.gold import (
    GoldMention,
    b_cubed,
    pairwise,
    read_gold,
)
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag

TABLE = (
    "entity\tname\ttype\taliases\trelated\n"
    "elm\tBank of Elm\torganization\tBoE|Elm Bank\tAda Holt\n"
    "elm\tElm Bank\torganization\t\t\n"
    "elm\tElm's Bank of\t\t\t\n"
    "oak\tBank of Oak\torganization\tBoE\tIvo Holt\n"
)


def test_measures_worked_by_hand() -> None:
    """Of a a a b b in groups x x y y y: 4 pairs are said, 4 are true, 2 are both."""
    gold, found = "aaabb", "xxyyy"
    assert pairwise(gold, found) == PRF(2 / 4, 2 / 4)
    precision = (1 + 1 + 1 / 3 + 2 / 3 + 2 / 3) / 5
    recall = (2 / 3 + 2 / 3 + 1 / 3 + 1 + 1) / 5
    assert b_cubed(gold, found).precision == pytest.approx(precision)
    assert b_cubed(gold, found).recall == pytest.approx(recall)


def test_what_is_undefined_or_nothing() -> None:
    assert pairwise("ab", "xy") == PRF(1.0, 1.0)
    assert pairwise("aa", "xy") == PRF(1.0, 0.0)
    assert pairwise("aa", "xy").f1 == 0.0
    assert b_cubed("", "") == PRF(1.0, 1.0)


def test_each_rule_is_measured_on_top_of_the_default(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elm Bank is an unambiguous alias; same-words adds the third, shared-alias the fourth."""
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    path = tmp_path / "gold.tsv"
    path.write_text(TABLE)
    report = json.loads(
        sarag("evaluate", "resolution", path, "--rules", "same-words,shared-alias", "--json").out
    )
    assert (report["mentions"], report["entities"]) == (4, 2)
    rows = {row["rule"]: row for row in report["rules"]}
    assert rows["default"]["pairs"] == {"precision": 100.0, "recall": 33.3, "f1": 50.0}
    assert rows["same-words"]["pairs"]["recall"] == 100.0
    assert rows["same-words"]["pairs"]["precision"] == 100.0
    assert rows["shared-alias"]["pairs"] == {"precision": 33.3, "recall": 33.3, "f1": 33.3}
    assert "same-words" in sarag("evaluate", "resolution", path, "--rules", "same-words").out


def test_mentions_of_equal_text_keep_their_own_aliases(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two Holts with the same relations, the first of whom is Bo Holt, too.

    All three are one entity by default, so that one of the three pairs is true; with the aliases
    of the last Holt for both nothing would join Bo Holt.
    """
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: HashEmbedder())
    path = tmp_path / "gold.tsv"
    path.write_text(
        "entity\tname\taliases\trelated\n"
        "bo\tHolt\tBo Holt\tElm\n"
        "bo\tBo Holt\t\tElm\n"
        "other\tHolt\t\tElm\n"
    )
    done = sarag("evaluate", "resolution", path, "--rules", "near", "--json")
    row = json.loads(done.out)["rules"][0]
    assert row["pairs"] == {"precision": 33.3, "recall": 100.0, "f1": 50.0}


def test_a_gold_file(tmp_path: Path) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text(TABLE)
    first = GoldMention("elm", "Bank of Elm", "organization", ("BoE", "Elm Bank"), ("Ada Holt",))
    assert read_gold(path)[0] == first
    own = read_gold(Path(__file__).parents[2] / "benchmarks" / "resolution.tsv")
    assert (len(own), len({mention.entity for mention in own})) == (133, 58)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name\nA\n", "is not a table of mentions: it has no column 'entity'"),
        ("entity\tname\tcolour\n", "has no mentions"),
        ("entity\tname\na\t\n", "row 2, a mention needs"),
        ("entity\tname\ttype\na\tA\tcity\n", "row 2, no such type: 'city'"),
    ],
)
def test_a_file_of_another_form(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_gold(path)
