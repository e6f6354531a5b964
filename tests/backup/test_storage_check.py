"""``sarag fsck --deep`` finds damaged files, and nothing else."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.errors import NotAGraphError
from sarag_rdf.plugins.backup import storage_check
from sarag_rdf.plugins.backup.storage_check import STORAGE, read_all
from sarag_rdf.plugins.fsck import fsck
from tests.command import Sarag
from tests.faults.damage import KINDS, make, quads, trials
from tests.faults.readers import opened

FLIPS = 24
"""Random bits of tables that are changed, one by one."""
CERTAIN = [kind for kind in KINDS if kind.startswith(("a ", "CURRENT", "one bit of CURRENT"))]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean") / "kg"
    make(folder, sources=40)
    return folder


def test_a_graph_in_order(clean: Path) -> None:
    with opened(clean) as kg:
        assert fsck(kg, deep=True).in_order
    assert {*read_all(clean / "store")} <= {""}


def test_each_changed_bit_of_a_table_is_found(clean: Path, tmp_path: Path) -> None:
    counts = trials(clean, tmp_path / "kg", ["one bit of a table"], FLIPS)["one bit of a table"]
    assert counts["damaged"] == FLIPS
    assert counts["found"] + counts["harmless"] == FLIPS
    assert counts["found"] >= FLIPS - 1


@pytest.mark.parametrize("kind", CERTAIN)
def test_damage_is_found(clean: Path, tmp_path: Path, kind: str) -> None:
    counts = trials(clean, tmp_path / "kg", [kind], 3)[kind]
    assert counts["found"] == 3


@pytest.mark.parametrize("kind", ["one bit of the manifest", "the manifest truncated"])
def test_damage_of_the_manifest_is_found_or_harmless(
    clean: Path, tmp_path: Path, kind: str
) -> None:
    counts = trials(clean, tmp_path / "kg", [kind], 4)[kind]
    assert counts["found"] + counts["harmless"] == 4


def test_what_is_damaged_is_named_with_a_remedy(clean: Path, tmp_path: Path, sarag: Sarag) -> None:
    shutil.copytree(clean, tmp_path / "kg")
    table = max((tmp_path / "kg" / "store").glob("*.sst"), key=lambda path: path.stat().st_size)
    data = bytearray(table.read_bytes())
    data[len(data) // 3] ^= 1
    table.write_bytes(data)
    done = sarag("fsck", "--deep", "--kg", "kg")
    assert done.code == 1
    assert f"kg/store/{table.name}" in done.out
    assert "(do: sarag restore BACKUP --replace)" in done.out
    assert "kg: inconsistent: " in done.out
    repaired = sarag("fsck", "--deep", "--repair", "--kg", "kg")
    assert repaired.code == 1
    assert table.read_bytes() == data, "nothing is repaired that is damaged below"


def test_no_graph_is_no_finding(tmp_path: Path) -> None:
    with opened(tmp_path / "none") as kg, pytest.raises(NotAGraphError):
        fsck(kg, deep=True)


def test_orders_with_other_quads_are_found(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful:
        """A store of which one order lacks a quad."""

        def __init__(self, quads: frozenset[Quad]) -> None:
            self.quads = quads

        def named_graphs(self) -> set[object]:
            return {quad.graph_name for quad in self.quads}

        def quads_for_pattern(self, *pattern: object) -> Iterator[Quad]:
            terms = zip(pattern, range(4), strict=True)
            chosen = [(term, place) for term, place in terms if term is not None]
            found = (q for q in self.quads if all(tuple(q)[p] == term for term, p in chosen))
            return iter([*found][pattern[2] is not None and pattern[3] is None :])

    name = NamedNode("a:a")
    store = Forgetful(
        frozenset({Quad(name, name, name, name), Quad(name, name, NamedNode("a:b"), name)})
    )
    problems = [*storage_check._Reading(store).problems()]  # type: ignore[arg-type]
    assert problems == ["the quads by object are not those by graph: 0, not 2"]


def _die(folder: Path) -> Iterator[str]:
    yield ""
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang(folder: Path) -> Iterator[str]:
    yield ""
    signal.pause()


@pytest.mark.parametrize(("reading", "words"), [(_die, "crashed"), (_hang, "took more than")])
def test_a_crash_is_a_finding(
    clean: Path, monkeypatch: pytest.MonkeyPatch, reading: object, words: str
) -> None:
    monkeypatch.setattr(storage_check, "read_all", reading)
    monkeypatch.setattr(storage_check, "SECONDS", 5.0)
    with opened(clean) as kg:
        report = fsck(kg, deep=True)
        assert fsck(kg).in_order
    (finding,) = report.findings
    assert finding.check == STORAGE
    assert words in finding.message


def test_damage_is_random_but_the_same_each_time(clean: Path, tmp_path: Path) -> None:
    for number in range(2):
        shutil.copytree(clean, tmp_path / f"{number}")
        path = next((tmp_path / f"{number}").glob("store/*.sst"))
        KINDS["one bit of a table"][1](path, random.Random(3))
    assert (tmp_path / "0" / "store" / path.name).read_bytes() == path.read_bytes()
    assert quads(clean)
