"""``--vectors``: one option of every command that embeds, of the environment and settings files."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.errors import MissingDependencyError, UsageError
from sarag_rdf.kg.registry import options_of
from sarag_rdf.plugins.vector_engines import choices
from sarag_rdf.plugins.vector_engines.choices import EngineChoice
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Result, Sarag
from tests.fault_server import FaultServer
from tests.server.running import serving
from tests.vector_engines import address

pytestmark = pytest.mark.interop
QUESTION = "Which river flows through the birthplace of Marie Curie?"
PASSWORD = "geheim-7f3a"


@pytest.fixture(autouse=True)
def home(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedding_server: FaultServer
) -> Path:
    """The user's folders; three documents in ``docs``; a model in the environment."""
    del sarag  # goes to tmp_path first
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SARAG_EMBEDDER", "openai:small")
    monkeypatch.setenv("SARAG_BASE_URL", embedding_server.base_url)
    monkeypatch.setenv("SARAG_EXTRACTOR", "spacy")
    Path("docs").mkdir()
    Path("docs/curie.md").write_text("# Marie Curie\n\nMarie Curie was born in Warsaw.\n")
    Path("docs/hahn.md").write_text("# Otto Hahn\n\nOtto Hahn was a chemist in Berlin.\n")
    return tmp_path / "home" / "sarag"


def found(result: Result) -> list[tuple[str, float]]:
    assert result.code == 0, result
    documents = json.loads(result.out)["documents"]
    return [(one["iri"], round(one["score"], 5)) for one in documents]


def test_flag_environment_and_settings_file_choose_the_same(
    choice: EngineChoice, sarag: Sarag, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, engine = address(choice), choice.engine
    search = ("search", QUESTION, "--json")
    for kg in ("plain", "kg"):
        flags = ["--vectors", vectors] if kg == "kg" else []
        assert sarag("index", "docs", "--kg", kg, *flags).code == 0
    names = set(engine.collections())
    assert len(names) == 2
    assert not list(Path("kg/cache").rglob("*.f32")), "no vectors are kept here"
    Path("docs/warsaw.md").write_text("# Warsaw\n\nWarsaw lies on the Vistula.\n")

    monkeypatch.setenv("SARAG_VECTORS", vectors)
    assert sarag("index", "docs", "--kg", "kg").code == 0
    monkeypatch.delenv("SARAG_VECTORS")
    assert sarag("index", "docs", "--kg", "plain").code == 0
    expected = found(sarag(*search, "--kg", "plain"))
    assert len(expected) == 3
    Path("own.toml").write_text(f'kg = "kg"\nvectors = "{vectors}"\n')
    assert found(sarag("--config", "own.toml", *search)) == expected

    for kg in ("own.toml", "plain.toml"):
        Path("plain.toml").write_text('kg = "plain"\n')
        assert sarag("--config", kg, "delete", "hahn.md").code == 0
    assert found(sarag("--config", "own.toml", *search)) == found(
        sarag("--config", "plain.toml", *search)
    )
    assert set(engine.collections()) == names, "all commands changed the same collections"
    assert sarag("--config", "own.toml", "fsck").code == 0


def test_a_server_searches_an_engine(
    sarag: Sarag,
    tmp_path: Path,
    embedding_server: FaultServer,
) -> None:
    from tests.vector_engines import empty_engine

    with empty_engine("postgres", tmp_path) as choice:
        vectors = address(choice)
        assert sarag("index", "docs", "--kg", "kg", "--vectors", vectors).code == 0
        expected = found(sarag("search", QUESTION, "--json", "--kg", "kg", "--vectors", vectors))
        names = set(choice.engine.collections())
        options = (
            "--vectors",
            vectors,
            "--embedder",
            "openai:small",
            "--base-url",
            embedding_server.base_url,
        )
        with serving(tmp_path / "kg", *options) as server:
            reply = server.ask("GET", "/search?q=" + QUESTION.replace(" ", "%20"), token=True)
        assert reply.status == 200
        documents = json.loads(reply.body)["documents"]
        assert [(d["iri"], round(d["score"], 5)) for d in documents] == expected
        assert set(choice.engine.collections()) == names, "nothing was sent again"


@pytest.mark.parametrize(
    "vectors",
    [
        "postgres:host=127.0.0.1 dbname=x",
        "postgres:postgresql://127.0.0.1/x",
        "milvus:http://127.0.0.1:1",
        "qdrant:http://127.0.0.1:1",
        "milvus:vectors.db",
    ],
)
def test_the_file_of_a_folder_that_is_not_trusted_names_no_engine(
    vectors: str, sarag: Sarag
) -> None:
    Path("sarag.toml").write_text(f'vectors = "{vectors}"\n')
    for command in (("index", "docs"), ("search", QUESTION), ("fsck",), ("delete", "docs/hahn.md")):
        sarag(*command).fails(2, "sarag.toml, line 1: vectors", "counts only if you trust")
    assert not Path("vectors.db").exists()


@pytest.mark.parametrize(
    "vectors",
    [
        f"postgres:postgresql://user:{PASSWORD}@127.0.0.1/x",
        f"postgres:host=127.0.0.1 user=user password={PASSWORD} dbname=x",
        f"postgres:postgresql://127.0.0.1/x?password={PASSWORD}",
        f"milvus:http://user:{PASSWORD}@127.0.0.1:1",
        f"qdrant:http://user:{PASSWORD}@127.0.0.1:1",
    ],
)
def test_a_password_comes_from_the_environment_alone(
    vectors: str, sarag: Sarag, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "sarag_rdf")
    results = [sarag("index", "docs", "--vectors", vectors)]
    results[0].fails(2, "must not contain a password", "SARAG_VECTORS_KEY")
    Path("sarag.toml").write_text(f'vectors = "{vectors}"\n')
    results += [sarag("search", QUESTION, "-v"), sarag("trust"), sarag("search", QUESTION, "-v")]
    results[-1].fails(2, "must not contain a password", "SARAG_VECTORS_KEY")
    assert all(PASSWORD not in result.out + result.err for result in results)
    assert PASSWORD not in caplog.text
    with pytest.raises(UsageError) as told:
        sarag_rdf.open("kg", vectors=vectors, endpoint=None)
    assert PASSWORD not in str(told.value)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize("kind", ["postgres", "milvus", "qdrant"])
def test_the_secret_of_the_environment_is_in_no_message(
    kind: str, sarag: Sarag, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SARAG_VECTORS_KEY", PASSWORD)
    caplog.set_level(logging.DEBUG)
    where = "postgresql://127.0.0.1:1/x" if kind == "postgres" else "http://127.0.0.1:1"
    result = sarag("index", "docs", "--kg", "kg", "--vectors", f"{kind}:{where}", "-v")
    result.fails(1, "see that it runs")
    assert PASSWORD not in result.out + result.err + caplog.text
    stored = b"".join(path.read_bytes() for path in Path("kg").rglob("*") if path.is_file())
    assert PASSWORD.encode() not in stored


@pytest.mark.parametrize("kind", ["postgres", "milvus", "qdrant"])
def test_a_package_that_is_missing_is_named_with_its_extra(
    kind: str, monkeypatch: pytest.MonkeyPatch, sarag: Sarag
) -> None:
    package = {"postgres": "psycopg", "milvus": "pymilvus", "qdrant": "qdrant_client"}[kind]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"sarag_rdf.plugins.vector_engines.{kind}", raising=False)
    vectors = f"{kind}:missing.db"
    sarag("search", QUESTION, "--vectors", vectors).fails(1, f"pip install 'sarag-rdf[{kind}]'")
    with pytest.raises(MissingDependencyError):
        options_of("vectors", vectors)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ("nix:x", "unknown vector engine 'nix': choose from files, milvus, postgres, qdrant"),
        ("milvus", "use --vectors milvus:http://HOST:19530 or milvus:FILE.db"),
        ("milvus:vectors", "use --vectors milvus:http://HOST:19530 or milvus:FILE.db"),
        ("milvus:ftp://host/x.db", "not an address of milvus"),
        ("qdrant", "use --vectors qdrant:http://HOST:6333 or qdrant:FOLDER"),
        ("qdrant:grpc://host", "not an address of qdrant"),
        ("postgres:://", "not a connection string of PostgreSQL"),
    ],
)
def test_what_names_no_engine_is_refused_at_once(vectors: str, words: str, sarag: Sarag) -> None:
    sarag("index", "docs", "--vectors", vectors).fails(2, words)
    assert not Path("kg").exists()


def test_engines_are_listed_with_the_strategies(sarag: Sarag) -> None:
    listed = sarag("strategies").out
    for name in ("files", "milvus:URI", "qdrant:LOCATION", "postgres:DSN"):
        assert f"--vectors {name}:" in listed


def test_the_id_of_a_graph_is_not_that_of_its_copy(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    mine = choices.graph_id(folder)
    assert mine == choices.graph_id(folder)
    assert len(mine) == 16
    folder.rename(tmp_path / "moved")
    assert choices.graph_id(tmp_path / "moved") == mine
    folder.mkdir()
    (folder / "engine.json").write_bytes((tmp_path / "moved" / "engine.json").read_bytes())
    assert choices.graph_id(folder) not in (mine, "")
    (folder / "engine.json").write_text('{"id": "../../x"}')
    assert len(choices.graph_id(folder)) == 16
    assert choices.graph_id(None) == ""


def test_a_file_that_another_graph_of_the_process_has_open_is_shared(tmp_path: Path) -> None:
    vectors = f"qdrant:{tmp_path / 'shared'}"
    texts = [sarag_rdf.Source("Warsaw lies on the Vistula.", "Warsaw")]
    opened = [
        sarag_rdf.open(name, embedder=HashEmbedder(), endpoint=None, vectors=vectors)
        for name in ("a", "b")
    ]
    for kg in opened:
        kg.index(texts)
    opened[0].close()
    assert len(opened[1].search("Where is the Vistula?").documents) == 1
    assert len(options_of("vectors", vectors).engine.collections()) == 4
    opened[1].close()


FORKS = """
import subprocess, sys
from sarag_rdf.plugins.vector_engines.choices import Milvus
Milvus(uri=sys.argv[1]).engine.create("sarag-a-1", 8)
codes = [subprocess.run(["true"], preexec_fn=int).returncode for _ in range(400)]
print(sorted(set(codes)))
"""


def test_children_of_a_process_with_milvus_are_not_aborted(tmp_path: Path) -> None:
    """Its connection has threads, which gRPC would try to stop in a child."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(tmp_path / "vectors.db")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "[0]\n", done.stderr
