"""Clusters of similar entities: around centres, one list of neighbours at a time, for review."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import UnparsableReplyError, UsageError
from sarag_rdf.base.types import Source
from sarag_rdf.kg.proposals import SHOWN, Member, remarks
from sarag_rdf.plugins.papers.clusters import clusters
from sarag_rdf.testing.fakes import HashEmbedder, QueuedLLM
from tests.command import Sarag
from tests.evaluation.fixed import without_models
from tests.sample_graph import CapitalExtractor

PLACES = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 0.75, "e": 0.8, "f": 2.0}
"""Entities on a line: the nearer, the more alike."""


def nearest(entity: str, least: float) -> list[tuple[str, float]]:
    found = [(e, round(1 - abs(x - PLACES[entity]), 3)) for e, x in PLACES.items() if e != entity]
    return [(other, cosine) for other, cosine in found if cosine >= least]


def test_members_are_near_to_the_centre_and_in_one_cluster() -> None:
    found = dict(clusters("cadbef", nearest, 0.85))
    # a is too far from d; b is near to a, too, but c came first.
    assert found == {"c": [("b", 0.9)], "d": [("e", 0.95)]}
    assert dict(clusters("bcadef", nearest, 0.85)) == {
        "b": [("a", 0.9), ("c", 0.9)],
        "d": [("e", 0.95)],
    }
    assert list(clusters("", nearest, 0.0)) == []


def test_unknown_neighbours_are_left_out() -> None:
    assert dict(clusters("ac", nearest, 0.5)) == {"a": [("c", 0.8)]}


def test_a_model_says_which_members_are_the_same() -> None:
    members = [Member(f"urn:{number}", f"Name {number}") for number in range(SHOWN + 2)]
    llm = QueuedLLM([{"same": ["1", "3"]}, UnparsableReplyError("no JSON")], model="m")
    found = remarks(Member("urn:c", "Centre", "person", "A person."), members, llm)
    assert [iri for iri, verdict in found.items() if "same" in verdict] == ["urn:0", "urn:2"]
    assert {found[f"urn:{SHOWN + n}"] for n in range(2)} == {"m: no usable reply"}
    assert found["urn:1"] == "m: something else"
    assert "First: Centre (person): A person.\n1. Name 0\n2. Name 1\n" in llm.prompts[0]


def test_proposals_are_reviewed_and_undone(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_models(monkeypatch)
    llm = QueuedLLM([{"same": ["1"]}] * 9, model="m")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), llm=llm) as kg:
        kg.index([Source("Smith met Jones. Smiths met Ada.", key="a.txt"),
                  Source("Jones knew Orbis2 and Orbis3.", key="b.txt")],
                 extractor=CapitalExtractor())  # fmt: skip
        rows = kg.decisions.propose_merges("cluster", least=-1.0)
        names = {row.subject_label for row in rows} | {rows[0].object_label}
        assert len({row.object for row in rows if "Orbis" not in row.object_label}) == 1
        # Names with other numbers are never one thing.
        assert not {"Orbis2", "Orbis3"} & names
        assert {row.tool for row in rows} == {"cluster"}
        assert kg.decisions.propose_merges("cluster", least=1.0) == []
        remarked = kg.decisions.propose_merges("cluster", least=-1.0, curate=True)
        assert [row.comment for row in remarked][:2] == ["m: the same", "m: something else"]
        assert len(kg.decisions.list()) == 0
        (tmp_path / "pairs.tsv").write_text(kg.decisions.table(remarked), "utf-8")
        with pytest.raises(UsageError, match="cluster"):
            kg.decisions.propose_merges("clusters")
    where = ("--kg", str(tmp_path / "kg"))
    assert sarag("merge", "--accept", "pairs.tsv", *where).out.startswith("0 merged")
    done = sarag("merge", "--rule", "cluster", "--least", "0", "--dry-run", *where)
    assert "proposed by cluster" in done.out
    sarag("merge", "--curate", "--list", *where).fails(2, "--curate requires --rule")
    unread = ("merge", "--rule", "initials", "--unreviewed", "--curate")
    sarag(*unread, *where).fails(2, "--curate", "--review")
    table = (tmp_path / "pairs.tsv").read_text("utf-8-sig").splitlines()
    place = table[0].split("\t").index("decision")
    cells = table[1].split("\t")
    cells[place] = "accept"
    (tmp_path / "pairs.tsv").write_text("\n".join([table[0], "\t".join(cells)]) + "\n", "utf-8")
    assert sarag("merge", "--accept", "pairs.tsv", *where).out == "1 merged, 0 rows skipped\n"
    listed = sarag("merge", "--list", *where).out
    assert "[cluster, " in listed
    assert "m: the same" in listed
    assert sarag("merge", "--undo", "cluster", *where).out == "1 undone\n"
