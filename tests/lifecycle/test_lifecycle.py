"""Documents are updated, deleted and made to match a folder, and nothing of others is lost."""

from __future__ import annotations

import json
import os
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Quad

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import InputError, NotAGraphError, UsageError
from sarag_rdf.base.iris import Minter, normalize_name
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import PROV, SARAG, SKOS, text_of
from sarag_rdf.building.link_records import EXACT
from sarag_rdf.graph.records import Match
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.building.test_quarantine import BAD, too_sure
from tests.command import Sarag
from tests.fault_server import FaultServer
from tests.lifecycle.pool import POOL, write_openie
from tests.sample_graph import CapitalExtractor, files_of, graph_of
from tests.servers import Server

MINTER = Minter()
DOCS = {
    "ulm.txt": "Ada visited Ulm.",
    "polish/vistula.txt": "Vistula is in Poland.",
    "polish/gdansk.txt": "Gdansk is in Poland.",
    "notes.jsonl": '{"id": 1, "text": "Ada met Boris."}\n{"id": 2, "text": "Boris met Cleo."}\n',
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of documents below the working folder."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "docs", DOCS)


def opened(where: Any = None) -> KnowledgeGraph:
    return sarag_rdf.open(where, embedder=HashEmbedder(), endpoint=None)


@pytest.fixture
def kg(docs: Path) -> KnowledgeGraph:
    """A graph of the folder, and of a text that has no path."""
    kg = opened()
    kg.index([docs, Source("Zoe met Ada.")], extractor=CapitalExtractor())
    return kg


def reader(kg: KnowledgeGraph) -> Any:
    with kg.session.read() as snapshot:
        return snapshot.own


def keys(kg: KnowledgeGraph) -> list[str]:
    found = [
        MINTER.key_of_source(row[0].value) for row in reader(kg).select_provenance("source-states")
    ]
    return sorted(key for key in found if key)


def quads(kg: KnowledgeGraph, graph: str) -> list[Quad]:
    return list(reader(kg).store.quads(graph))


def entity(name: str) -> str:
    return MINTER.entity(normalize_name(name))


def names(kg: KnowledgeGraph) -> set[str]:
    rows = quads(kg, MINTER.kg_graph)
    return {text_of(quad.object) for quad in rows if quad.predicate == SKOS.prefLabel}


def call(kg: KnowledgeGraph, method: str, *arguments: Any, **options: Any) -> Any:
    return getattr(kg, method)(*arguments, extractor=CapitalExtractor(), **options)


ALL = ["notes.jsonl#1", "notes.jsonl#2", "polish/gdansk.txt", "polish/vistula.txt", "ulm.txt"]


# ------------------------------------------------------------------------------ Update


def test_update_brings_in_what_changed_and_nothing_new(kg: KnowledgeGraph, docs: Path) -> None:
    write(docs, {"ulm.txt": "Boris visited Ulm.", "new.txt": "Eva is new.", "other.txt": "Eva."})
    report = call(kg, "update", docs)
    assert (report.added, report.updated, report.deleted, report.unchanged) == (0, 1, 0, 4)
    assert (report.left_out, report.problems) == (2, [])
    assert keys(kg) == ALL
    assert "Eva" not in names(kg)


def test_update_of_a_file_of_records(kg: KnowledgeGraph, docs: Path) -> None:
    write(docs, {"notes.jsonl": DOCS["notes.jsonl"].split("\n")[1] + '\n{"id": 3, "text": "Eva."}'})
    plan = call(kg, "plan", [docs / "notes.jsonl"], how="update")
    assert ([p.name for p in plan.todo], [*plan.deletions.values()]) == (
        ["notes.jsonl#3"],
        ["notes.jsonl#1"],
    )
    report = call(kg, "update", docs / "notes.jsonl", yes=True)
    assert (report.added, report.updated, report.deleted, report.unchanged) == (1, 0, 1, 1)
    assert keys(kg) == ["notes.jsonl#2", "notes.jsonl#3", *ALL[2:]]


def test_records_of_a_file_with_a_fault_stay(kg: KnowledgeGraph, docs: Path) -> None:
    write(docs, {"notes.jsonl": '{"id": 1, "text": "Ada met Eva."}\n{"id": 2, "text": '})
    report = call(kg, "update", docs)
    assert (report.updated, report.deleted, len(report.problems)) == (1, 0, 1)
    assert "its older version stays in the graph" in str(report.problems[0])
    assert keys(kg) == ALL


def test_what_is_named_and_cannot_be_updated_is_told(kg: KnowledgeGraph, docs: Path) -> None:
    write(docs, {"new.txt": "Eva."})
    (docs / "ulm.txt").unlink()
    paths = [docs / name for name in ("new.txt", "ulm.txt", "none.txt")]
    report = call(kg, "update", [*paths, Source("Eva.", "", "eva.txt")])
    told = sorted(str(problem).removeprefix(f"{docs}/") for problem in report.problems)
    assert [line.partition(":")[0] for line in told] == [
        "eva.txt",
        "new.txt",
        "none.txt",
        "ulm.txt",
    ]
    assert f"add it with sarag index {docs}/new.txt" in told[1]
    assert "does not exist, and is not in the graph" in told[2]
    assert "delete it from the graph with sarag delete ulm.txt" in told[3]
    assert keys(kg) == ALL


def test_update_of_a_folder_that_is_gone_names_the_folder(kg: KnowledgeGraph, docs: Path) -> None:
    (docs / "polish").rename(docs.parent / "elsewhere")
    report = call(kg, "update", docs / "polish", root=docs)
    assert "sarag delete polish/" in str(report.problems[0])


def test_update_by_another_method_and_of_python_texts(kg: KnowledgeGraph) -> None:
    report = call(kg, "update", Source("Ada left Ulm.", "Ulm", "ulm.txt"), words=100, overlap=10)
    assert (report.updated, report.problems) == (1, [])
    with pytest.raises(UsageError, match="standard input"):
        call(kg, "update", "-")


def test_update_and_delete_need_a_graph(docs: Path) -> None:
    with opened(docs.parent / "none") as kg:
        for work in (lambda: call(kg, "update", docs), lambda: kg.delete("ulm.txt")):
            with pytest.raises(NotAGraphError):
                work()
    assert not (docs.parent / "none").exists()


# ------------------------------------------------------------------------------ Delete


@pytest.mark.parametrize(
    ("named", "gone"),
    [
        ("ulm.txt", ["ulm.txt"]),
        (MINTER.source("ulm.txt", "", ""), ["ulm.txt"]),
        ("notes.jsonl", ["notes.jsonl#1", "notes.jsonl#2"]),
        ("notes.jsonl#2", ["notes.jsonl#2"]),
        (MINTER.source("notes.jsonl#2", "", ""), ["notes.jsonl#2"]),
        ("polish/", ["polish/gdansk.txt", "polish/vistula.txt"]),
        (f"{MINTER.base}source/polish/", ["polish/gdansk.txt", "polish/vistula.txt"]),
    ],
)
def test_delete_by_name(kg: KnowledgeGraph, named: str, gone: list[str]) -> None:
    assert kg.plan_delete(named) == tuple(gone)
    assert keys(kg) == ALL
    assert kg.delete(named) == tuple(gone)
    assert keys(kg) == [key for key in ALL if key not in gone]
    assert kg.validate().conforms


def test_a_source_without_a_path_is_deleted_by_its_iri(kg: KnowledgeGraph) -> None:
    iri = MINTER.source("", "", "Zoe met Ada.")
    assert kg.delete(iri) == (iri,)
    assert "Zoe" not in names(kg)


def test_names_that_iris_cannot_hold(docs: Path) -> None:
    odd = "a b/100 %/é #1.txt"
    kg = opened()
    kg.index(write(docs.parent / "odd", {odd: "Ada is odd."}), extractor=CapitalExtractor())
    assert kg.delete("a b/") == ("a b/100 %/é %231.txt",)


@pytest.mark.parametrize(
    ("named", "near"),
    [
        ("polish/vistla.txt", "polish/vistula.txt"),
        ("docs/ulm.txt", "ulm.txt"),
        ("polish", "polish/"),
    ],
)
def test_an_unknown_name_deletes_nothing(kg: KnowledgeGraph, named: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"no such source in the graph: '{named}'.*{near}"):
        kg.delete(["ulm.txt", named])
    assert keys(kg) == ALL


def test_what_others_support_stays_and_the_rest_goes(kg: KnowledgeGraph) -> None:
    assert {"Gdansk", "Poland"} <= names(kg)
    before = kg.meta().revision
    kg.delete("polish/gdansk.txt")
    assert names(kg) & {"Gdansk", "Poland"} == {"Poland"}
    text = "\n".join(map(str, reader(kg).store.quads()))
    assert "Gdansk" not in text
    assert kg.meta().revision != before
    found = kg.search("Gdansk", retriever="dense")
    assert "Gdansk" not in str(found.documents)


def test_links_of_what_is_gone_go_and_others_stay(kg: KnowledgeGraph) -> None:
    item = "https://example.org/item/"
    kg.links.accept([Match(entity(name), EXACT, item + name) for name in ("Gdansk", "Poland")])
    node = MINTER.mapping(entity("Gdansk"), EXACT, f"{item}Gdansk")
    kg.delete("polish/gdansk.txt")
    left = "\n".join(map(str, quads(kg, MINTER.links_graph)))
    assert "Gdansk" not in left
    assert node not in left
    assert f"{item}Poland" in left
    runs = quads(kg, MINTER.runs_graph)
    gone = {text_of(quad.object) for quad in runs if quad.predicate == PROV.invalidated}
    assert gone == {MINTER.source("polish/gdansk.txt", "", ""), node}


def test_the_run_tells_of_it_and_the_description_holds(kg: KnowledgeGraph) -> None:
    kg.delete("ulm.txt")
    runs = quads(kg, MINTER.runs_graph)
    [told] = [quad for quad in runs if quad.predicate == PROV.invalidated]
    assert text_of(told.object) == MINTER.source("ulm.txt", "", "")
    ended = {quad.subject for quad in runs if quad.predicate == PROV.endedAtTime}
    assert told.subject in ended
    assert b"void:Dataset" in kg.describe()
    assert kg.validate().conforms


def test_quarantine_goes_with_its_source() -> None:
    kg = opened()
    kg.index(BAD, extractor=too_sure())
    assert kg.quarantine.sources()
    assert kg.delete(BAD.key) == (BAD.key,)
    assert kg.quarantine.sources() == ()
    assert quads(kg, MINTER.quarantine_graph(MINTER.source(BAD.key, "", ""))) == []


def test_numbers_are_never_given_twice(kg: KnowledgeGraph) -> None:
    kg.export("wikibase-json", BytesIO())
    before = set(quads(kg, MINTER.numbers_graph))
    kg.delete("polish/gdansk.txt")
    kg.export("wikibase-json", BytesIO())
    assert before <= set(quads(kg, MINTER.numbers_graph))
    assert len({quad.object for quad in before if quad.predicate == SARAG.wikibaseId}) > 1


def test_a_key_comes_before_what_it_may_encode(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs, {"a%20b.txt": "Ada met Bea.", "a b.txt": "Cleo met Dan."})
    with opened(tmp_path / "kg") as kg:
        kg.index(str(docs), extractor=CapitalExtractor(), root=str(docs))
        assert kg.delete("a%20b.txt") == ("a%20b.txt",)
        assert names(kg) == {"Cleo", "Dan"}
        again = kg.update(str(docs / "a b.txt"), extractor=CapitalExtractor(), root=str(docs))
        assert again.unchanged == 1


@pytest.mark.parametrize("cached", [True, False])
def test_deleting_needs_no_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cached: bool
) -> None:
    with opened(tmp_path / "kg") as kg:
        texts = (Source("Ada met Bea.", "", "a.txt"), Source("Cleo met Dan.", "", "c.txt"))
        kg.index(texts, extractor=CapitalExtractor())
    if not cached:
        shutil.rmtree(tmp_path / "kg" / "cache")
    with sarag_rdf.open(tmp_path / "kg", endpoint=None) as kg:
        assert kg.delete("a.txt") == ("a.txt",)
        assert names(kg) == {"Cleo", "Dan"}
    assert ("the next search updates them" in caplog.text) is not cached


# -------------------------------------------------------------------------------- Sync


def test_sync_adds_updates_and_deletes(kg: KnowledgeGraph, docs: Path) -> None:
    write(docs, {"ulm.txt": "Boris visited Ulm.", "new.txt": "Eva is new."})
    (docs / "polish/gdansk.txt").unlink()
    plan = call(kg, "plan", docs, how="sync")
    assert [(p.name, p.known) for p in plan.todo] == [("new.txt", False), ("ulm.txt", True)]
    assert [*plan.deletions.values()] == ["polish/gdansk.txt"]
    report = call(kg, "sync", docs)
    assert (report.added, report.updated, report.deleted, report.unchanged) == (1, 1, 1, 3)
    assert keys(kg) == ["new.txt", *ALL[:2], "polish/vistula.txt", "ulm.txt"]
    assert "Zoe" in names(kg), "what has no path is never touched"
    again = call(kg, "sync", docs)
    assert (again.added, again.updated, again.deleted, again.unchanged) == (0, 0, 0, 5)


def test_what_moved_keeps_its_links(kg: KnowledgeGraph, docs: Path) -> None:
    match = Match(entity("Gdansk"), EXACT, "https://example.org/item/Gdansk")
    kg.links.accept([match])
    (docs / "polish/gdansk.txt").rename(docs / "moved.txt")
    report = call(kg, "sync", docs)
    assert (report.added, report.deleted) == (1, 1)
    assert match.object in "\n".join(map(str, quads(kg, MINTER.links_graph)))


def test_what_cannot_be_read_is_not_taken_for_gone(
    kg: KnowledgeGraph, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "ulm.txt").write_bytes(b"\xff\xfe\xfd")
    listed = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("polish"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr("os.scandir", scandir)
    report = call(kg, "sync", docs)
    assert (report.deleted, report.unchanged, len(report.problems)) == (0, 2, 2)
    assert all("its older version stays in the graph" in str(p) for p in report.problems)
    assert keys(kg) == ALL


def test_an_empty_folder_is_refused(kg: KnowledgeGraph, docs: Path) -> None:
    empty = docs.parent / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="contains no documents, and all 5 sources"):
        call(kg, "sync", empty)
    assert "contains no documents, and all 5 sources" in call(kg, "plan", empty, how="sync").refused
    (empty / "other.txt").write_text("Zoe met Ada.")
    with pytest.raises(InputError, match="all 5 sources indexed from"):
        call(kg, "sync", empty)
    (empty / "other.txt").unlink()
    assert keys(kg) == ALL
    assert call(kg, "sync", empty, yes=True).deleted == 5
    assert call(kg, "sync", empty).deleted == 0
    assert names(kg) == {"Zoe", "Ada"}
    with pytest.raises(UsageError, match="no such folder"):
        call(kg, "sync", docs / "none")


def test_with_a_root_only_what_is_below_is_touched(kg: KnowledgeGraph, docs: Path) -> None:
    (docs / "polish/gdansk.txt").unlink()
    (docs / "ulm.txt").unlink()
    report = call(kg, "sync", docs / "polish", root=docs, yes=True)
    assert (report.deleted, report.unchanged) == (1, 1)
    assert keys(kg) == [key for key in ALL if key != "polish/gdansk.txt"]


def test_more_than_a_third_goes_only_when_confirmed(kg: KnowledgeGraph, docs: Path) -> None:
    """One file that matches does not make another folder the right one."""
    other = write(docs.parent / "other", {"ulm.txt": DOCS["ulm.txt"], "new.txt": "Eva."})
    before = set(reader(kg).store.quads())
    with pytest.raises(InputError, match=r"^4 of the 5 sources indexed from .*--root.*--yes"):
        call(kg, "sync", other)
    assert set(reader(kg).store.quads()) == before
    plan = call(kg, "plan", other, how="sync")
    assert (len(plan.deletions), len(plan.todo)) == (4, 1)
    assert "4 of the 5 sources" in plan.refused
    assert not call(kg, "plan", other, yes=True, how="sync").refused
    report = call(kg, "sync", other, yes=True)
    assert (report.added, report.deleted) == (1, 4)


@pytest.mark.parametrize(("gone", "refused"), [(1, False), (2, False), (3, True)])
def test_a_third_goes_unasked(docs: Path, gone: int, refused: bool) -> None:
    kg = opened()
    folder = write(docs.parent / "six", {f"{n}.txt": f"Ada met number {n}." for n in range(6)})
    call(kg, "index", folder)
    for number in range(gone):
        (folder / f"{number}.txt").unlink()
    assert bool(call(kg, "plan", folder, how="sync").refused) is refused


def test_an_update_that_empties_a_file_is_confirmed(kg: KnowledgeGraph, docs: Path) -> None:
    (docs / "notes.jsonl").write_text('{"id": 1, "text": "Ada met Boris."}\n')
    with pytest.raises(InputError, match=r"^1 of these 2 sources would be deleted.*--yes"):
        call(kg, "update", docs / "notes.jsonl")
    assert keys(kg) == ALL
    assert call(kg, "update", docs / "notes.jsonl", yes=True).deleted == 1


def test_a_commit_that_fails_deletes_nothing(kg: KnowledgeGraph, docs: Path) -> None:
    class Broken(CapitalExtractor):
        def extract(self, documents: Any) -> Any:
            yield from ()
            raise InputError("no more")

    write(docs, {"new.txt": "Eva."})
    (docs / "ulm.txt").unlink()
    with pytest.raises(InputError, match="no more"):
        kg.sync(docs, extractor=Broken())
    assert keys(kg) == ALL


# ------------------------------------------------------------------------ Command line


@pytest.fixture
def settings(
    sarag: Sarag, embedding_server: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Everything set in the environment; the documents of the pool are in ``docs``."""
    texts = {key: versions[0] for key, versions in POOL.items()}
    write(tmp_path / "docs", texts)
    monkeypatch.setenv("SARAG_EXTRACTOR", f"openie:{write_openie(tmp_path / 'pool.json')}")
    monkeypatch.setenv("SARAG_EMBEDDER", "openai:hash")
    monkeypatch.setenv("SARAG_BASE_URL", embedding_server.base_url)


@pytest.mark.usefixtures("settings")
def test_commands_list_what_they_will_do_and_do_it(sarag: Sarag, tmp_path: Path) -> None:
    listed = sarag("sync", "docs", "--dry-run")
    assert listed.out.splitlines() == [
        *(f"add     {key}" for key in sorted(POOL)),
        "would be 8 added, 0 updated, 0 deleted, 0 unchanged, 2 duplicates, 0 not readable",
    ]
    assert not (tmp_path / "kg").exists()
    done = sarag("sync", "docs")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "8 added, 0 updated, 0 deleted, 0 unchanged, 2 duplicates, 0 not indexed",
    )
    write(tmp_path / "docs", {"london.txt": POOL["london.txt"][1], "new.txt": POOL["nyc.txt"][2]})
    (tmp_path / "docs" / "babbage.txt").unlink()
    before = files_of(tmp_path / "kg" / "store")
    assert sarag("update", "docs", "--dry-run").out.splitlines() == [
        "update  london.txt",
        "would be 0 added, 1 updated, 0 deleted, 6 unchanged, 2 duplicates, 0 not readable",
        "1 new file skipped: sarag index or sarag sync adds it",
    ]
    assert sarag("sync", "docs", "--dry-run").out.splitlines()[:3] == [
        "add     new.txt",
        "update  london.txt",
        "delete  babbage.txt",
    ]
    planned = json.loads(sarag("sync", "docs", "--dry-run", "--json").out)
    assert [planned[key] for key in ("update", "add", "delete")] == [
        ["london.txt"],
        ["new.txt"],
        ["babbage.txt"],
    ]
    assert sarag("delete", "un/", "--dry-run").out.splitlines() == [
        "delete  un/copy.txt",
        "delete  un/united-nations.txt",
        "would be 2 deleted",
    ]
    assert files_of(tmp_path / "kg" / "store") == before
    updated = sarag("update", "docs", "docs/new.txt")
    assert updated.code == 0
    assert updated.complaints == [
        "sarag: docs/new.txt: is not in the graph: add it with sarag index docs/new.txt"
    ]
    assert sarag("update", "docs", "docs/new.txt", "--strict").code == 1
    assert sarag("update", "docs/new.txt").code == 1
    assert sarag("sync", "docs").out.splitlines()[0] == (
        "1 added, 0 updated, 1 deleted, 7 unchanged, 2 duplicates, 0 not indexed"
    )
    assert sarag("delete", "un/", "nyc.txt").out.splitlines()[0] == "3 deleted"
    assert json.loads(sarag("stats", "--json").out)["sources"] == 5


@pytest.mark.usefixtures("settings")
def test_another_extractor_is_not_taken_unasked(
    sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sarag("sync", "docs").code == 0
    monkeypatch.delenv("SARAG_EXTRACTOR")
    for command in ("update", "sync", "index"):
        sarag(command, "docs").fails(2, "the graph was extracted with openie", "--extractor")
        sarag(command, "docs", "--dry-run").fails(2, "the graph was extracted with openie")


@pytest.mark.usefixtures("settings")
def test_commands_fail_in_one_line(sarag: Sarag, tmp_path: Path) -> None:
    sarag("update", "docs").fails(1, "no graph at kg")
    sarag("delete", "nyc.txt").fails(1, "no graph at kg")
    assert sarag("sync", "docs").code == 0
    sarag("delete", "nic.txt", "london.txt").fails(2, "nothing was deleted", "mean nyc.txt?")
    sarag("sync", "nowhere").fails(2, "no such folder: nowhere")
    (tmp_path / "empty").mkdir()
    sarag("sync", "empty").fails(1, "empty contains no documents", "--yes")
    planned = sarag("sync", "empty", "--dry-run")
    planned.fails(1, "empty contains no documents", "--yes")
    assert planned.out.count("delete  ") == 8
    assert json.loads(sarag("stats", "--json").out)["sources"] == 8
    emptied = sarag("sync", "empty", "--yes")
    assert (emptied.code, emptied.out.splitlines()[0]) == (
        0,
        "0 added, 0 updated, 8 deleted, 0 unchanged, 0 duplicates, 0 not indexed",
    )


# ---------------------------------------------------------------------- Behind an endpoint


def test_the_same_behind_an_endpoint(
    server: Server, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARAG_CACHE_DIR", str(docs.parent / "cache"))
    remote = SparqlEndpoint(server.query_url, server.update_url, server.store_url)
    written = []
    for where in (remote, docs.parent / "kg"):
        write(docs, DOCS)
        with opened(where) as kg:
            call(kg, "sync", docs)
            write(docs, {"ulm.txt": "Boris visited Ulm."})
            (docs / "polish/gdansk.txt").unlink()
            assert call(kg, "update", docs).updated == 1
            assert call(kg, "sync", docs).deleted == 1
            assert kg.delete("notes.jsonl") == ("notes.jsonl#1", "notes.jsonl#2")
            assert kg.validate().conforms
            graphs = {MINTER.meta_graph, MINTER.runs_graph}
            found = [q for q in reader(kg).store.quads() if graph_of(q) not in graphs]
            ours = [q for q in found if graph_of(q).startswith(MINTER.graphs)]
            written.append(sorted(map(str, ours)))
    assert set(written[0]) ^ set(written[1]) == set()
    assert written[0] == written[1] != []
