"""The command ``sarag``: what it prints, where, and the code that it ends with."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import stat
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any

import click
import pyoxigraph as ox
import pytest
import rdflib
from rdflib.namespace import RDF, SH

import sarag_rdf
from sarag_rdf.base.vocab import SARAG, SKOS
from sarag_rdf.cli import document_commands
from sarag_rdf.cli.main import command_names, summary
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg import estimating, registry, vectors
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.rdf_export import FORMATS
from sarag_rdf.plugins.workers.spread import Processes
from tests.command import ROOT, Sarag, environment, run_sarag
from tests.fault_server import FaultServer, data, playing, send
from tests.reference import commands
from tests.sample_graph import (
    BASE,
    CapitalExtractor,
    also_embeds,
    crooked_graph,
    insert,
    make_graph,
    nquads,
    quads_of,
    rdf_bytes,
    remote_embedder,
)

NAMES = "SELECT ?name { ?e a sarag:Entity ; skos:prefLabel ?name } ORDER BY ?name"
HEAVY = ("torch", "spacy", "sentence_transformers", "transformers", "openai", "pyshacl", "rdflib")


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    """A graph in ./kg."""
    return make_graph(tmp_path / "kg")


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a graph of more bytes than a pipe takes."""
    folder = tmp_path_factory.mktemp("big")
    crooked_graph(folder / "kg")
    return folder


# -------------------------------------------------------------------------------- Help


def test_json_is_printed_by_all_commands_that_have_it() -> None:
    """A file is named by --output, or by the shell."""
    flags = [
        (name, option)
        for name, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and "--json" in option.opts
    ]
    assert len(flags) > 30
    assert [name for name, option in flags if not option.is_flag] == []


def test_commands_of_plugins_follow_those_of_the_core() -> None:
    names = command_names()
    assert len(set(names)) == len(names)
    assert set(names) >= {"index", "search", "ask", "query", "export", "serve"}
    assert names[-3:] == ("retype", "split", "statements")


@pytest.mark.parametrize("command", command_names())
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(sarag: Sarag, command: str, flag: str) -> None:
    done = sarag(command, flag)
    assert (done.code, done.err) == (0, "")
    assert f"Usage: sarag {command}" in done.out
    assert "Example:  " in done.out
    assert f"sarag {command} " in done.out.split("Example:  ")[1]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_without_a_command(sarag: Sarag, arguments: list[str]) -> None:
    done = sarag(*arguments)
    assert (done.code, done.err) == (0, "")
    assert "Example:" in done.out
    words = " ".join(done.out.split())
    for command in command_names():
        assert f"{command} {summary(command)}" in words


def test_version(sarag: Sarag) -> None:
    assert sarag("--version").out == f"sarag, version {sarag_rdf.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["query", "--help"], ["stats"], ["query", "--format", "csv", "ASK {}"]],
)
def test_no_model_is_loaded_that_is_not_needed(tmp_path: Path, arguments: list[str]) -> None:
    """Also with a settings file, for which the options of all commands are looked up."""
    (tmp_path / "sarag.toml").write_text('kg = "kg"')
    code = (
        "import sys\nfrom sarag_rdf.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY[:4]} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_loads_little(tmp_path: Path) -> None:
    for arguments in (["--help"], ["query", "--help"]):
        code = (
            "import sys\nfrom sarag_rdf.cli.main import _run\n"
            f"_run({arguments})\nprint([name for name in {HEAVY} if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(),
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "[]"


def test_entry_points_are_one_command(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"sarag": "sarag_rdf.cli.main:main"}
    code = "from sarag_rdf.cli.main import main; main()"
    for arguments in (["--help"], ["stats"], ["nonsense"], []):
        script = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(),
            check=False,
        )
        module = run_sarag(*arguments, cwd=tmp_path)
        assert (script.returncode, script.stdout, script.stderr) == (
            module.code,
            module.out,
            module.err,
        )


# --------------------------------------------------------------------------- Exit codes


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nonsense"], "No such command"),
        (["stats", "--nonsense"], "--nonsense"),
        (["index"], "PATHS"),
        (["search"], "QUESTION"),
        (["search", "Who?", "--limit", "0"], "--limit"),
        (["search", "Who?", "--limit", "many"], "'many'"),
        (["export", "--format", "n3"], "'n3'"),
        (["index", "nowhere"], "nowhere"),
        (["--config", "nowhere.toml", "stats"], "nowhere.toml"),
    ],
)
def test_wrong_usage(sarag: Sarag, arguments: list[str], word: str) -> None:
    sarag(*arguments).fails(2, word)


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "Who?", "--retriever", "other"],
        ["search", "Who?", "--retriever", "sarag:preset=musique"],
        ["index", ".", "--extractor", "other"],
        ["index", ".", "--extractor", "llm"],
        ["index", ".", "--extractor", "spacy", "--words", "0"],
        ["index", ".", "--extractor", "spacy", "--language", "?"],
        ["index", ".", "--base", "no IRI"],
    ],
)
def test_option_that_cannot_work(sarag: Sarag, kg: Path, arguments: list[str]) -> None:
    before = nquads(kg)
    (kg.parent / "a.txt").write_text("Ada.")
    sarag(*arguments).fails(2)
    assert nquads(kg) == before


def test_unexpected_error_is_one_line(
    sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: KnowledgeGraph) -> None:
        raise ZeroDivisionError("of\nsomething")

    monkeypatch.setattr(KnowledgeGraph, "stats", broken)
    monkeypatch.delenv("SARAG_DEBUG")
    done = sarag("stats")
    assert done.code == 1
    assert done.err.startswith("sarag: unexpected ZeroDivisionError: of something (set SARAG_DEBUG")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [(KeyboardInterrupt(), 130, "interrupted"), (MemoryError(), 1, "out of memory")],
)
def test_interruption(
    sarag: Sarag,
    kg: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    word: str,
) -> None:
    def broken(self: KnowledgeGraph) -> None:
        raise error

    monkeypatch.setattr(KnowledgeGraph, "stats", broken)
    sarag("stats").fails(code, word)


# ---------------------------------------------------------------------------- Settings


def test_precedence(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag counts before the environment, that before the settings file, that before ./kg."""
    sarag("stats").fails(1, "no graph at kg:")
    (tmp_path / "sarag.toml").write_text('kg = "from-file"')
    sarag("stats").fails(1, "no graph at from-file:")
    monkeypatch.setenv("SARAG_KG", "from-environment")
    sarag("stats").fails(1, "no graph at from-environment:")
    sarag("stats", "--kg", "from-flag").fails(1, "no graph at from-flag:")


def test_kg_is_found_without_being_named(
    sarag: Sarag, tmp_path: Path, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = sarag("stats", "--kg", kg).out
    assert sarag("stats").out == wanted
    monkeypatch.chdir("/")
    monkeypatch.setenv("SARAG_KG", str(kg))
    assert sarag("stats").out == wanted


def test_named_settings_file(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sarag.toml").write_text('kg = "default"')
    (tmp_path / "one.toml").write_text('kg = "one"')
    (tmp_path / "two.toml").write_text('kg = "two"')
    sarag("--config", "one.toml", "stats").fails(1, "at one:")
    monkeypatch.setenv("SARAG_CONFIG", "two.toml")
    sarag("stats").fails(1, "at two:")
    sarag("--config", "one.toml", "stats").fails(1, "at one:")


def test_settings_of_several_commands(sarag: Sarag, tmp_path: Path, kg: Path) -> None:
    (tmp_path / "sarag.toml").write_text(
        'kg = "kg"\nlimit = 3\nbase-url = ""\nprice_in = 0.5\nwords = 100\n'
    )
    assert json.loads(sarag("stats", "--json").out)["documents"] == 3
    assert json.loads(sarag("validate", "--json").out)["conforms"] is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kgg = 'kg'", ["kgg", "sarag.toml"]),
        ("[index]\nwords = 3", ["index"]),
        ("kg = ", ["sarag.toml", "TOML"]),
        ("limit = 'many'", ["many"]),
        ("\ud800", ["sarag.toml"]),
        ('kg = ["a"]', ["sarag.toml", "kg must be a single value"]),
        ("sparql-timeout = 2026-01-01", ["sarag.toml", "sparql-timeout", "must be a string"]),
    ],
)
def test_settings_that_cannot_work(
    sarag: Sarag, tmp_path: Path, text: str, words: list[str]
) -> None:
    (tmp_path / "sarag.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    sarag("search", "Who?").fails(2, *words)


def test_a_setting_is_read_as_an_option_is(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "sarag.toml").write_text("kg = 1")
    sarag("search", "Who?").fails(1, "no graph at 1")
    (tmp_path / "sarag.toml").write_text('over = "documents"')
    sarag("search", "Who?").fails(1, "no graph at kg")


# ------------------------------------------------------------------------------- Query


def test_query_from_argument_file_and_standard_input(
    sarag: Sarag, tmp_path: Path, kg: Path
) -> None:
    (tmp_path / "names.rq").write_text(NAMES)
    wanted = ["name", "Ada", "Boris", "Danube", "Orbis", "Tulcea", "Ulm"]
    text = NAMES.encode()
    for arguments, stdin in (
        ([NAMES], b""),
        (["--file", "names.rq"], b""),
        (["-f", "names.rq"], b""),
        (["-"], text),
        (["--file", "-"], text),
    ):
        done = sarag("query", *arguments, "--format", "csv", stdin=stdin)
        assert (done.code, done.err) == (0, "")
        assert [row[0] for row in csv.reader(io.StringIO(done.out))] == wanted


@pytest.mark.parametrize("arguments", [[], ["ASK {}", "--file", "names.rq"]])
def test_query_is_given_once(sarag: Sarag, kg: Path, arguments: list[str]) -> None:
    sarag("query", *arguments).fails(2, "give one query")


def test_query_file_that_cannot_be_read(sarag: Sarag, tmp_path: Path, kg: Path) -> None:
    sarag("query", "--file", "nowhere.rq").fails(1, "nowhere.rq")
    (tmp_path / "latin.rq").write_bytes(b"ASK { ?s ?p '\xe9' }")
    sarag("query", "--file", "latin.rq").fails(2, "not UTF-8")


def count(sarag: Sarag, query: str) -> int:
    return int(sarag("query", query, "--format", "csv").out.split()[1])


def test_query_runs_over_the_union_or_the_data_set_that_it_names(sarag: Sarag, kg: Path) -> None:
    quads = quads_of(kg)
    derived = f"{BASE}graph/kg"
    inside = [quad for quad in quads if str(quad.graph_name) == f"<{derived}>"]
    total = "(COUNT(*) AS ?n)"
    triples = f"SELECT {total} {{ {{ SELECT DISTINCT ?s ?p ?o {{ ?s ?p ?o }} }} }}"
    assert count(sarag, triples) == len({quad.triple for quad in quads})
    assert count(sarag, f"SELECT {total} {{ GRAPH ?g {{ ?s ?p ?o }} }}") == len(quads)
    named = f"SELECT {total} FROM <{derived}> {{ ?s ?p ?o }}"
    assert 0 < count(sarag, named) == len(inside) < len(quads)
    apart = f"SELECT {total} FROM NAMED <{derived}> "
    assert count(sarag, apart + "{ ?s ?p ?o }") == 0
    assert count(sarag, apart + "{ GRAPH ?g { ?s ?p ?o } }") == len(inside)


def test_query_formats(sarag: Sarag, kg: Path) -> None:
    table = sarag("query", NAMES)
    assert table.out.rstrip().endswith("6 rows")
    assert "Danube" in table.out
    data = json.loads(sarag("query", NAMES, "--format", "json").out)
    assert [b["name"]["value"] for b in data["results"]["bindings"]][:2] == ["Ada", "Boris"]
    assert sarag("query", NAMES, "--format", "tsv").out.startswith('?name\n"Ada"@')
    assert sarag("query", "ASK { ?s ?p ?o }").out == "true\n"
    assert json.loads(sarag("query", "ASK { <a:b> ?p ?o }", "--format", "json").out) == {
        "head": {},
        "boolean": False,
    }
    construct = "CONSTRUCT { ?e skos:prefLabel ?n } { ?e skos:prefLabel ?n }"
    for format_, name in ((None, "turtle"), ("turtle", "turtle"), ("ntriples", "nt")):
        chosen = ["--format", format_] if format_ else []
        text = sarag("query", construct, *chosen).out
        assert len(rdflib.Graph().parse(data=text, format=name)) == 6
    sarag("query", NAMES, "--format", "turtle").fails(2, "csv")
    sarag("query", construct, "--format", "csv").fails(2, "turtle")


def test_query_prefixes(sarag: Sarag, kg: Path) -> None:
    own = "PREFIX skos: <http://example.org/> ASK { ?s skos:prefLabel ?o }"
    assert sarag("query", own).out == "false\n"
    assert sarag("query", f"BASE <{SARAG.base}> ASK {{ ?s a <#MiscEntity> }}").out == "true\n"
    sarag("query", "ASK { ?s skos:prefLabel ?o }", "--no-prefixes").fails(1, "does not parse")


def test_query_prints_prefixed_names(sarag: Sarag, tmp_path: Path, kg: Path) -> None:
    ontology = """@prefix ex: <https://sea.example/ns#> .
    @prefix vann: <http://purl.org/vocab/vann/> .
    ex: vann:preferredNamespacePrefix "sea" ; vann:preferredNamespaceUri "https://sea.example/ns#" .
    ex:Ship a <http://www.w3.org/2002/07/owl#Class> ."""
    (tmp_path / "sea.ttl").write_text(ontology)
    sarag("ontology", "add", "sea.ttl")
    rows = "SELECT ?c ?t { ?c a ?t FILTER(STRSTARTS(STR(?c), 'https://sea.')) }"
    assert " sea:Ship   owl:Class" in sarag("query", rows).out
    assert " https://sea.example/ns#Ship " in sarag("query", rows, "--no-prefixes").out
    assert "https://sea.example/ns#Ship," in sarag("query", rows, "--format", "csv").out
    made = sarag("query", "CONSTRUCT { sea:Ship ?p ?o } { sea:Ship ?p ?o }").out
    declared = {line for line in made.splitlines() if line.startswith("@prefix")}
    assert {line.split()[1] for line in declared} == {"owl:", "rdf:", "sea:"}
    assert "\nsea:Ship a owl:Class ." in made


@pytest.mark.parametrize(
    "text",
    ["INSERT DATA { <a:b> <a:c> 1 }", "prefix x: <a:> BASE <a:> # a\n delete where { ?s ?p ?o }"],
)
def test_query_refuses_updates(sarag: Sarag, kg: Path, text: str) -> None:
    sarag("query", text).fails(1, "is an update, and queries only read", "serve --writable")


@pytest.mark.parametrize(
    ("text", "line"), [("SELECT nonsense", 1), ("SELECT *\n{ ?s ?p }", 2), ("?", 1), ("", 1)]
)
def test_query_that_does_not_parse(sarag: Sarag, kg: Path, text: str, line: int) -> None:
    """Places count in what the user wrote, not in the prefixes before it."""
    done = sarag("query", text)
    done.fails(1, "does not parse", f" {line}:")
    column = int(done.err.split(f" {line}:")[1].split(":")[0])
    assert 1 <= column <= len(text.splitlines()[-1] if text else "") + 1


@pytest.fixture
def remote() -> Iterator[tuple[str, list[str]]]:
    """The address of a SPARQL endpoint that knows one answer, and the requests that it got."""
    requests: list[str] = []
    rows = [{"s": {"type": "uri", "value": "a:b"}}]
    body = json.dumps({"head": {"vars": ["s"]}, "results": {"bindings": rows}}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(self.path)
            send(self, 200, body, Content_Type="application/sparql-results+json")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/sparql", requests
        server.shutdown()


def test_query_does_not_reach_the_network(
    sarag: Sarag, kg: Path, remote: tuple[str, list[str]]
) -> None:
    address, requests = remote
    for text in (
        f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}",
        f"SELECT * {{ {{ SELECT * {{ SERVICE SILENT <{address}> {{ }} }} }} }}",
        f"ASK {{ FILTER EXISTS {{ service <{address}> {{ ?s ?p ?o }} }} }}",
        f"ASK {{ FILTER EXISTS {{ \\u0053ERVICE <{address}> {{ ?s ?p ?o }} }} }}",
    ):
        sarag("query", text).fails(1, "--allow-service")
    assert requests == []
    allowed = f"SELECT ?s {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"
    done = sarag("query", allowed, "--allow-service", "--format", "csv")
    assert (done.code, done.out.split()) == (0, ["s", "a:b"])
    assert requests == ["/sparql"]
    assert sarag("query", "ASK { ?s ?p 'SERVICE <http://a>' } # SERVICE").code == 0


# ------------------------------------------------------------------------------ Export


@pytest.mark.parametrize("format_", FORMATS)
def test_export(sarag: Sarag, tmp_path: Path, kg: Path, format_: str) -> None:
    wanted = rdf_bytes(OxigraphStore.open(kg / "store"), format_, base=BASE)
    printed = sarag("export", "--format", format_)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.encode() == wanted
    written = sarag("export", "--format", format_, "--output", "graph.out")
    assert (written.code, written.out, written.err) == (0, "", "sarag: written to graph.out\n")
    assert (tmp_path / "graph.out").read_bytes() == wanted


def test_export_is_turtle_unless_told(sarag: Sarag, kg: Path) -> None:
    assert sarag("export").out == sarag("export", "--format", "turtle").out


def test_export_replaces_a_file_wholly(sarag: Sarag, tmp_path: Path, kg: Path) -> None:
    file, link = tmp_path / "real" / "graph.ttl", tmp_path / "link.ttl"
    file.parent.mkdir()
    file.write_text("old" * 100_000)
    link.symlink_to(file)
    assert sarag("export", "--output", link).code == 0
    assert link.is_symlink()
    assert file.read_text() == sarag("export").out
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("name", ["nowhere/graph.ttl", "folder", "file/graph.ttl", "."])
def test_export_to_where_nothing_can_be_written(
    sarag: Sarag, tmp_path: Path, kg: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    before = sorted(tmp_path.iterdir())
    sarag("export", "--output", name).fails(1, f"cannot write {name}: ", "that you may write to")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "old"


def test_export_that_fails_leaves_the_old_file(sarag: Sarag, tmp_path: Path, big: Path) -> None:
    file = tmp_path / "graph.ttl"
    file.write_text("old")
    sarag("export", "--output", file, "--kg", "nowhere").fails(1, "nowhere")
    limit = (10_000, 10_000)
    done = run_sarag(
        "export",
        "--output",
        file,
        cwd=big,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    done.fails(1, "the file size limit is exceeded", f"({file})")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("optional: only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_export_to_a_full_disk(sarag: Sarag, full_disk: Path, big: Path) -> None:
    file = full_disk / "graph.ttl"
    file.write_text("old")
    sarag("export", "--kg", big / "kg", "--output", file).fails(1, "the disk is full", str(file))
    assert file.read_text() == "old"
    assert list(full_disk.iterdir()) == [file]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="optional: there is no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [["export"], ["stats"], ["query", NAMES], ["query", NAMES, "--format", "csv"], ["--help"]],
)
def test_standard_output_that_is_full(big: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        run_sarag(*arguments, cwd=big, stdout=full).fails(1, "the disk is full")


def test_export_to_a_named_pipe(sarag: Sarag, tmp_path: Path, kg: Path) -> None:
    """What is no regular file is written to, never replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert sarag("export", "--output", pipe).code == 0
    reader.join(timeout=30)
    assert found == [sarag("export").out.encode()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "--format", "nquads"],
        ["export", "--format", "turtle"],
        ["query", "SELECT * { ?s ?p ?o }", "--format", "csv"],
        ["query", "SELECT * { ?s ?p ?o }"],
    ],
)
def test_closed_pipe_is_no_error(big: Path, arguments: list[str]) -> None:
    """``sarag export | head -1``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sarag_rdf", *arguments],
        cwd=big,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=120) == 0


# ------------------------------------------------------------------- Stats and validate


def test_stats(sarag: Sarag, kg: Path) -> None:
    data = json.loads(sarag("stats", "--json").out)
    assert (data["base"], data["embedding_model"]) == (BASE, "hash-64")
    assert (data["sources"], data["documents"], data["entities"]) == (3, 3, 6)
    assert data["quads"] == len(quads_of(kg))
    lines = sarag("stats").out.splitlines()
    assert lines[:2] == [f"{'base':24}{BASE}", f"{'embedding model':24}hash-64"]
    printed = {line[:24].strip(): line[24:].strip().replace(",", "") for line in lines[2:]}
    counts = {key: str(value) for key, value in data.items() if key in printed}
    assert printed == counts
    assert len(counts) == 16


def test_validate_conforming(sarag: Sarag, kg: Path) -> None:
    triples = len({quad.triple for quad in quads_of(kg)})
    done = sarag("validate")
    assert (done.code, done.out) == (0, f"conforms: {triples} triples, no violations\n")
    data = json.loads(sarag("validate", "--json").out)
    assert data == {"conforms": True, "triples": triples, "violations": []}


def test_validate_not_conforming(sarag: Sarag, kg: Path) -> None:
    graph, node = (ox.NamedNode(BASE + name) for name in ("graph/kg", "entity/E-bad"))
    kind = ox.NamedNode(str(RDF.type))
    insert(kg, ox.Quad(node, kind, SARAG.Person, graph))
    insert(kg, ox.Quad(node, SKOS.altLabel, ox.Literal(""), graph))
    before = nquads(kg)
    done = sarag("validate")
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert all(line.startswith(f"{node.value}: ") for line in lines[:-1])
    assert lines[-1] == f"does not conform: {len(lines) - 1} violations"
    data = json.loads(sarag("validate", "--json").out)
    assert data["conforms"] is False
    assert len(data["violations"]) == len(lines) - 1 >= 3
    assert {violation["focus"] for violation in data["violations"]} == {node.value}
    assert str(SKOS.altLabel.value) in {violation["path"] for violation in data["violations"]}
    turtle = sarag("validate", "--turtle")
    assert turtle.code == 1
    report = rdflib.Graph().parse(data=turtle.out, format="turtle")
    assert len(set(report.subjects(RDF.type, SH.ValidationResult))) == len(lines) - 1
    assert nquads(kg) == before


def test_blank_node(sarag: Sarag, kg: Path) -> None:
    kind = ox.NamedNode(str(RDF.type))
    graph = ox.NamedNode(BASE + "graph/kg")
    insert(kg, ox.Quad(ox.BlankNode(), kind, SARAG.Person, graph))
    sarag("export").fails(1, "invalid term in the graph: _:", "not an IRI")
    for engine in ("shacl", "pyshacl"):
        done = sarag("validate", "--engine", engine)
        assert (done.code, done.err) == (1, "")
        assert "it may not be a blank node" in done.out
    assert sarag("stats").code == 0


# ---------------------------------------------------------------- Index, search and ask


@also_embeds
def endpoint(handler: BaseHTTPRequestHandler, asked: Any) -> None:
    """Embeds, and finds that no evidence suffices."""
    known = "Ada founded Orbis" in json.dumps(asked["messages"])
    found = "Who founded Orbis?" in json.dumps(asked["messages"])
    data(
        {
            "reasoning": "D1 says so.",
            "sufficient": found and known,
            "final_answer": "Ada" if found else "",
            "citations": ["D1"] if found else [],
        }
    )(handler)


@pytest.fixture
def model(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """An endpoint, and a graph in ./kg that it embedded."""
    with playing(endpoint) as server:
        make_graph(tmp_path / "kg", embedder=remote_embedder(server.base_url))
        monkeypatch.setenv("SARAG_BASE_URL", server.base_url)
        yield server


ONE_CALL = ("--model", "m", "--reasoner", "single")


def test_ask_answers(sarag: Sarag, model: FaultServer) -> None:
    done = sarag("ask", "Who founded Orbis?", *ONE_CALL)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Ada\n")
    assert "Sources" in done.out
    data = json.loads(sarag("ask", "Who founded Orbis?", *ONE_CALL, "--json").out)
    assert (data["outcome"], data["answer"]) == ("answered", "Ada")


def test_ask_finds_no_answer(sarag: Sarag, model: FaultServer) -> None:
    done = sarag("ask", "Where is Ulm?", *ONE_CALL)
    assert (done.code, done.err) == (3, "")
    assert done.out.startswith("The evidence does not answer the question.")
    data = sarag("ask", "Where is Ulm?", *ONE_CALL, "--json")
    assert data.code == 3
    assert json.loads(data.out)["outcome"] == "insufficient"


def test_search(sarag: Sarag, model: FaultServer, tmp_path: Path) -> None:
    question = "Which river flows through the seat of Orbis?"
    done = sarag("search", question, "--explain")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(question)
    assert "seed" in done.out
    data = json.loads(sarag("search", question, "--json", "--limit", "1").out)
    assert len(data["documents"]) == 1
    assert sarag("search", question, "--picture", "a.html").err == (
        "sarag: picture written to a.html\n"
    )
    assert "<svg" in (tmp_path / "a.html").read_text(encoding="utf-8")
    for name, reason in (("a.txt", ".html or .png"), ("nowhere/a.html", "cannot write")):
        refused = sarag("search", question, "--picture", name, "--activation", "a.trig")
        refused.fails(2, name, reason)
    assert not (tmp_path / "a.trig").exists(), "it is refused before the search"
    quiet = sarag("search", question, "-q", "--picture", "b.html", "--activation", "b.trig")
    assert (quiet.code, quiet.err) == (0, "")
    assert (tmp_path / "b.html").exists() and (tmp_path / "b.trig").exists()


def test_search_finds_nothing(
    sarag: Sarag, model: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3, as for a question that the evidence does not answer."""
    nothing = ("quartz", "--retriever", "bm25")
    done = sarag("search", *nothing)
    assert (done.code, done.err) == (3, "")
    assert "none: no document matches the question" in done.out
    assert json.loads(sarag("search", *nothing, "--json").out)["documents"] == []
    monkeypatch.delenv("SARAG_BASE_URL")
    monkeypatch.setattr(vectors, "make_embedder", lambda *_: remote_embedder(model.base_url))
    assert sarag("ask", *nothing).code == 3
    evidence = sarag("ask", "Where is Ulm?")
    assert (evidence.code, evidence.err) == (0, "")
    assert evidence.out.startswith("This is evidence, not an answer")


def test_index(
    sarag: Sarag, model: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "make_extractor", lambda *_, **__: CapitalExtractor())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Ada met Boris.")
    before = nquads(tmp_path / "kg")
    dry = sarag("index", "docs", "--extractor", "spacy", "--dry-run")
    assert dry.code == 0
    assert "would be 1 added, 0 updated, 0 deleted, 0 unchanged" in dry.out
    assert "1 document to extract" in dry.out
    assert nquads(tmp_path / "kg") == before
    done = sarag("index", "docs", "--extractor", "spacy")
    assert (done.code, done.complaints) == (0, [])
    assert done.out.startswith("1 added, 0 updated, 0 unchanged, 0 duplicates, 0 not indexed\n")
    assert "sarag: indexing with capitals (none)" in done.err
    again = sarag("index", "docs", "--extractor", "spacy")
    assert again.out.startswith("0 added, 0 updated, 1 unchanged")
    other = "the graph was extracted with capitals: pass the same --extractor again"
    sarag("index", "docs").fails(2, other)
    piped = sarag("index", "-", "--extractor", "spacy", stdin=b"Boris met Ada in Ulm.")
    assert (piped.code, piped.complaints) == (0, [])
    assert piped.out.startswith("1 added")


def test_an_empty_folder_is_said_before_models_are_loaded(sarag: Sarag, tmp_path: Path) -> None:
    (tmp_path / "none" / "inner").mkdir(parents=True)
    done = sarag("index", "none", "--kg", "new")
    assert (done.code, done.out) == (1, "")
    assert done.err == "sarag: no documents in none: name a folder that contains some\n"
    assert not (tmp_path / "new").exists()


def test_a_dry_run_of_many_documents_says_how_long_they_take(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of the characters takes a second of this clock, and so all take ten."""
    clock = iter(range(1000))
    monkeypatch.setattr(registry, "make_extractor", lambda *_, **__: CapitalExtractor())
    monkeypatch.setattr(estimating, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(document_commands, "monotonic", lambda: 0.0)
    (tmp_path / "docs").mkdir()
    for number in range(230):
        (tmp_path / "docs" / f"{number}.txt").write_text(f"Ada {number:03} met Boris in Ulm.")
    arguments = ("index", "docs", "--extractor", "spacy", "--dry-run")
    assert "about 10 seconds in one process, by a sample" in sarag(*arguments).out
    assert json.loads(sarag(*arguments, "--json").out)["seconds"] == pytest.approx(10.0)
    reads = cycle((0.0, 90.0))
    monkeypatch.setattr(document_commands, "monotonic", lambda: next(reads))
    assert "about 2 minutes in one process, by a sample" in sarag(*arguments).out
    assert not (tmp_path / "kg").exists()
    for number in range(99, 230):
        (tmp_path / "docs" / f"{number}.txt").unlink()
    assert json.loads(sarag(*arguments, "--json").out)["seconds"] is None


def test_a_dry_run_with_workers_says_how_long_they_take(
    sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten seconds in one process, nearly all are the writer's: `CapitalExtractor` is quick."""
    clock = iter(range(1000))
    monkeypatch.setattr(registry, "make_extractor", lambda *_, **__: CapitalExtractor())
    monkeypatch.setattr(estimating, "monotonic", lambda: float(next(clock)))
    (tmp_path / "docs").mkdir()
    for number in range(230):
        (tmp_path / "docs" / f"{number}.txt").write_text(f"Ada {number:03} met Boris in Ulm.")
    arguments = ("index", "docs", "--extractor", "spacy", "--dry-run", "--workers", "2")
    found = json.loads(sarag(*arguments, "--json").out)
    assert found["workers"] == 2
    assert 0 < found["seconds"] < 12
    monkeypatch.setattr(Processes, "seconds", lambda *_: 600.0)
    assert "about 10 minutes with 2 workers, by a sample" in sarag(*arguments).out
    assert not (tmp_path / "kg").exists()


@pytest.mark.parametrize(
    ("command", "is_saved"),
    [("search kg", False), ("index kg", True), ("index kg --dry-run", False)],
)
def test_an_interrupt_says_whether_work_is_saved(
    sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch, command: str, is_saved: bool
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sarag_rdf.open", broken)
    (done := sarag(*command.split())).fails(130, "interrupted")
    assert ("completed work is saved" in done.err) is is_saved


def test_the_exit_code_of_a_plug_in_is_its_own(
    sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exits(*_: object, **__: object) -> None:
        raise SystemExit(7)

    monkeypatch.setattr("sarag_rdf.open", exits)
    assert sarag("stats").code == 7


def test_a_variable_does_not_write(sarag: Sarag, kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARAG_TITLE", "Rivers")
    assert "Rivers" not in sarag("describe").out


def test_a_settings_file_imports_no_other_command(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; pathlib.Path('sarag.toml').write_text('words = 5')\n"
        "from sarag_rdf.cli.main import _run; _run(['sync', '--help'])\n"
        "print([m for m in sys.modules if m.startswith('sarag_rdf.cli.')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
        cwd=tmp_path,
    )
    assert "cli.document_commands" in done.stderr
    assert "cli.question_commands" not in done.stderr
