"""What a person meets in a day's use: refusals that say what to do, and reports that are true."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag, interruptible
from tests.fault_server import FaultServer
from tests.sample_graph import CapitalExtractor

MET = "Ada met Bea."
TERMS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix t: <https://terms.example.org/> .
t:one a skos:Concept ; skos:prefLabel "one"@en .
t:two a skos:Concept ; skos:prefLabel "two"@en ; skos:broader t:one .
"""
ITEM, DIRECT = "http://www.wikidata.org/entity/Q", "http://www.wikidata.org/prop/direct/P"
NAMELESS = f"<{ITEM}42> <{DIRECT}31> <{ITEM}5> .\n"
JSON_LD = {
    "@context": {"name": "https://schema.org/name"},
    "@id": "https://a.example/",
    "name": "A",
}


@pytest.fixture
def offline(
    monkeypatch: pytest.MonkeyPatch, sarag: Sarag, embedding_server: FaultServer, tmp_path: Path
) -> Sarag:
    """The command, with an extractor and an embedder that need no model."""
    titled = [("Ada", MET), ("A", MET), ("Copy", MET), ("B", "Bea met Cid.")]
    docs = [
        {
            "passage": f"{title}\n{text}",
            "extracted_entities": re.findall("[A-Z][a-z]+", text),
            "extracted_triples": [],
        }
        for title, text in titled
    ]
    (tmp_path / "openie.json").write_text(json.dumps({"docs": docs}))
    monkeypatch.setenv("SARAG_EXTRACTOR", "openie:openie.json")
    monkeypatch.setenv("SARAG_EMBEDDER", "openai:hash")
    monkeypatch.setenv("SARAG_BASE_URL", embedding_server.base_url)
    return sarag


# ----------------------------------------------------------------------- Files that are refused


def test_a_table_without_texts_says_which_column_to_rename(offline: Sarag, tmp_path: Path) -> None:
    (tmp_path / "mines.csv").write_text("name,place\nQuartz,Ulm\n")
    done = offline("index", "mines.csv")
    done.fails(1, "mines.csv", "'name', 'place'", "rename", "'text'", "'title'")


def test_columns_that_are_not_read_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mines.csv").write_text("id,text,depth,place\n1,Quartz is hard.,9,Ulm\n")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.index(tmp_path / "mines.csv", extractor=CapitalExtractor()).added == 1
    [line] = [record.message for record in caplog.records if "columns" in record.message]
    assert "2 columns are not indexed" in line
    assert "('depth', 'place')" in line


@pytest.mark.parametrize("name", ["a.jsonld", "a.json", "a b.ttl", "a.nq"])
def test_a_graph_is_sent_to_import(offline: Sarag, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps(JSON_LD))
    done = offline("index", name)
    done.fails(1, name, "sarag import", "--as rdf")
    assert not (tmp_path / "kg").exists()


def test_what_looks_like_json_ld_and_holds_a_text_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**JSON_LD, "text": "Ada met Bea."}))
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        assert kg.index(tmp_path / "a.json", extractor=CapitalExtractor()).added == 1


# --------------------------------------------------------------------------------- No names


@pytest.mark.parametrize("replace", [False, True])
def test_a_dump_without_labels_is_asked_by_sparql(
    offline: Sarag, tmp_path: Path, replace: bool
) -> None:
    (tmp_path / "dump.nt.gz").write_bytes(gzip.compress(NAMELESS.encode()))
    (tmp_path / "ada.txt").write_text("Ada met Bea.")
    assert offline("index", "ada.txt").code == 0
    call = ("import", "dump.nt.gz", "--as", "wikibase", "--name", "q")
    for options in ((), ("--replace", "--language", "en"))[: 1 + replace]:
        done = offline(*call, *options)
        assert done.code == 0, done
        assert "no labels found" in done.err + done.out
    text = "SELECT ?o { <http://www.wikidata.org/entity/Q42> ?p ?o }"
    assert "Q5" in offline("query", text, "--over", "q").out
    assert offline("search", "Who met Bea?").code == 0
    assert offline("fsck").code == 0


# ---------------------------------------------------------------------------------- Reports


@pytest.mark.parametrize(
    ("command", "said"), [("index", "no documents in empty"), ("sync", "no graph was created")]
)
def test_an_empty_folder_leaves_no_graph_behind(
    offline: Sarag, tmp_path: Path, command: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = offline(command, "empty")
    assert said in done.out + done.err
    assert not (tmp_path / "kg").exists()
    offline("index", "nowhere").fails(2, "no such file or folder: nowhere")
    assert not (tmp_path / "kg").exists()


def test_in_python_neither(tmp_path: Path) -> None:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        report = kg.index(tmp_path / "nowhere", extractor=CapitalExtractor())
        assert (report.added, len(report.problems)) == (0, 1)
        assert not (tmp_path / "kg").exists()
        assert kg.index(sarag_rdf.Source("Ada met Bea."), extractor=CapitalExtractor()).added == 1
        assert kg.stats()["sources"] == 1


def test_an_identical_copy_counts_as_a_duplicate(
    offline: Sarag, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.txt", "b.txt", "copy.txt"):
        path = tmp_path / "docs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("Bea met Cid." if name == "b.txt" else MET)
    done = offline("index", "docs")
    assert "3 added, 0 updated, 0 unchanged, 1 duplicate" in done.out
    assert "copy.txt has the text of a.txt" in caplog.text
    assert "3 unchanged, 1 duplicate" in offline("index", "docs").out


def test_fsck_has_nothing_to_say_of_a_graph_in_order(offline: Sarag, tmp_path: Path) -> None:
    (tmp_path / "ada.txt").write_text("Ada met Bea.")
    (tmp_path / "terms.ttl").write_text(TERMS)
    assert offline("index", "ada.txt").code == 0
    assert offline("import", "terms.ttl", "--as", "skos").code == 0
    done = offline("fsck")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("kg: consistent: ")


# ---------------------------------------------------------------------------------- Settings


@pytest.mark.parametrize("key", ["words", "model-seed", "model_seed"])
def test_a_bad_setting_is_blamed_on_the_line_of_its_file(
    sarag: Sarag, tmp_path: Path, key: str
) -> None:
    (tmp_path / "sarag.toml").write_text(f'# mine\nkg = "kg"\n{key} = "many"\n')
    done = sarag("index", "docs", "--kg", "kg")
    done.fails(2, f"sarag.toml, line 3: {key}: 'many' is not a valid integer")
    assert "env" not in done.err
    (tmp_path / "sarag.toml").rename(tmp_path / "other.toml")
    sarag("--config", "other.toml", "index", "docs").fails(2, "other.toml, line 3")


def test_a_bad_variable_is_still_blamed_on_the_environment(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sarag.toml").write_text("words = 100\n")
    monkeypatch.setenv("SARAG_WORDS", "many")
    sarag("index", "docs").fails(2, "SARAG_WORDS", "'many'")


# ---------------------------------------------------------------------------------- Interrupts


def test_children_can_be_interrupted_though_this_process_ignores_it() -> None:
    """As the tests are run by ``nohup make test &``."""
    asked = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        found = [
            subprocess.run(
                [sys.executable, "-c", asked],
                check=True,
                capture_output=True,
                text=True,
                preexec_fn=prepare,
            ).stdout.strip()
            for prepare in (None, interruptible)
        ]
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == ["False", "True"]
