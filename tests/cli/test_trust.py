"""What the settings file of a folder may set before its user trusts it, and where keys go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import RemoteDownError
from sarag_rdf.base.options import Harmless
from sarag_rdf.cli.main import _load, command_names
from sarag_rdf.cli.settings_files import Setting, SettingsFile, settings_of
from sarag_rdf.graph.store.sparql_endpoint import SparqlStore
from sarag_rdf.kg.location import endpoint_beside, location_of
from tests import reference
from tests.command import Sarag
from tests.fault_server import playing, raw
from tests.sample_graph import make_graph

HARMLESS = """at base budget concurrency default-graph engine graph-kind language limit loading-wait
    model-seed model-timeout on-violation over overlap price-in price-out sparql-endpoint
    sparql-timeout stdin-format temperature timeout top-p weight words""".split()
INSIDE = "context endpoint extractor facts kg reasoner retriever".split()
TRUSTED = """activation base-url embedder examples max-chars max-expansion max-file
    max-reply max-seconds model ontology picture root shapes store-url tokenizer
    update-url vectors workers""".split()
EVIL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def home(sarag: Sarag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folders, beside the working folder."""
    del sarag  # goes to tmp_path first
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return tmp_path / "home" / "sarag"


def write(text: str) -> None:
    Path("sarag.toml").write_text(text)


def test_every_setting_is_classified() -> None:
    """A setting that is not here must be judged first; an option that says nothing is TRUSTED."""
    keys: dict[str, Harmless] = dict.fromkeys(HARMLESS, True)
    keys.update(dict.fromkeys(INSIDE, "inside"))
    keys.update(dict.fromkeys(TRUSTED, False))
    commands = [*map(_load, command_names())]
    files = (SettingsFile(Path("x"), {key: ""}, "") for key in keys)
    found = {
        (key, option.harmless) for file in files for key, option in settings_of(file, commands)
    }
    assert found == set(keys.items())
    settings = {
        name.removeprefix("--")
        for _, command in reference.commands()
        for option in command.params
        if isinstance(option, Setting)
        for name in option.opts
        if name.startswith("--")
    }
    assert settings == set(keys)
    assert Setting(["--new"]).harmless is False


@pytest.mark.parametrize("key", TRUSTED)
def test_what_is_not_harmless_is_one_line(sarag: Sarag, key: str) -> None:
    values = {key: "1"}
    file = SettingsFile(Path("x"), values, "")
    assert all(
        not option.permits("1", Path())
        for _, option in settings_of(file, map(_load, command_names()))
    )
    write(f"# mine\n{key} = 1\n")
    command = {
        "activation": "search", "picture": "search", "tokenizer": "ask", "model": "ask",
        "embedder": "search", "base-url": "ask", "endpoint": "stats", "max-reply": "stats",
    }.get(key, "index")  # fmt: skip
    arguments = ("stats",) if command == "stats" else (command, "x")
    sarag(*arguments).fails(2, f"sarag.toml, line 2: {key} = ", "run sarag trust")


@pytest.mark.parametrize(
    ("setting", "is_harmless"),
    [
        ('kg = "graphs/rivers"', True),
        ('kg = "../kg"', False),
        ('kg = "/tmp/kg"', False),
        ('kg = "~/kg"', False),
        ('kg = "link"', False),
        ('kg = "link/../kg"', False),
        (f'kg = "{EVIL}"', False),
        ('facts = "wikidata"', True),
        (f'facts = "{EVIL}"', False),
        ('retriever = "khop:n=2"', True),
        ('retriever = "paths:model=../x.json"', False),
        ('retriever = "paths:model=/x.json"', False),
        ('retriever = "paths:model=~/x.json"', False),
    ],
)
def test_values_that_lead_out_of_the_folder(sarag: Sarag, setting: str, is_harmless: bool) -> None:
    Path("link").symlink_to("/tmp")
    write(setting)
    done = sarag("search", "x")
    if is_harmless:
        done.fails(1, "no graph at")
    else:
        done.fails(2, "run sarag trust")


def test_a_key_is_not_sent_to_the_host_of_a_stranger(
    sarag: Sarag, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_graph(Path("kg"))
    monkeypatch.setenv("SARAG_API_KEY", "sk-open-sesame-1")
    monkeypatch.setenv("SARAG_SPARQL_TOKEN", "open-sesame-2")
    with playing(raw(401, b"")) as server:
        commands = (("stats",), ("search", "x"), ("ask", "x"), ("index", "."), ("update",))
        for key in ("base-url", "kg", "endpoint", "facts", "update-url", "store-url"):
            write(f'{key} = "{server.root}/v1"')
            for command in commands:
                sarag(*command)
        assert server.requests == []
        named = ("--base-url", server.root, "--model", "m")
        sarag("ask", "x", *named, "--retriever", "bm25", "--reasoner", "closed-book")
        assert server.seen[0][2]["Authorization"] == "Bearer sk-open-sesame-1"


def test_what_counts_in_place_of_the_setting_needs_no_trust(
    sarag: Sarag, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(f'kg = "{EVIL}"\nbase-url = "{EVIL}"\n')
    sarag("stats", "--kg", "mine").fails(1, "no graph at mine")
    sarag("token", "me")
    sarag("--config", "sarag.toml", "stats").fails(1, "cannot connect")
    monkeypatch.setenv("SARAG_KG", "mine")
    sarag("stats").fails(1, "no graph at mine")


def test_a_folder_is_trusted_until_its_file_changes(sarag: Sarag, home: Path) -> None:
    write('kg = "../mine"\nlimit = 3\npicture = "x.png"\n')
    sarag("stats").fails(2, "run sarag trust")
    path = Path("sarag.toml").resolve()
    done = sarag("trust")
    assert done.out == f'trusted: {path}\n  kg = "../mine"\n  picture = "x.png"\n'
    assert sarag("trust", ".").out == done.out
    assert sarag("trust", "--list").out == f"{path}\n"
    sarag("stats").fails(1, "no graph at ../mine")
    assert json.loads((home / "trusted.json").read_text()).keys() == {str(path)}
    write('kg = "../other"\n')
    sarag("stats").fails(2, "run sarag trust")
    assert sarag("trust", "--list").out == f"{path}  (changed or missing)\n"
    sarag("trust", "--remove")
    assert sarag("trust", "--list").out == ""
    sarag("trust", "--list", "--remove").fails(2, "not both")
    sarag("trust", "..").fails(2, "no such file")


def test_a_trusted_file_elsewhere_says_nothing(sarag: Sarag, home: Path) -> None:
    write('kg = "../mine"')
    sarag("trust")
    Path("other").mkdir()
    Path("other/sarag.toml").write_text(Path("sarag.toml").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("other")
        sarag("stats").fails(2, "run sarag trust")
    (home / "trusted.json").write_text("[1")
    sarag("stats").fails(2, "run sarag trust")


def test_the_settings_of_the_user_count(sarag: Sarag, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "sarag.toml").write_text(f'kg = "{EVIL}"\nlimit = 3\n')
    sarag("stats").fails(1, "cannot connect")
    write('kg = "nearer"')
    sarag("stats").fails(1, "no graph at nearer")
    (home / "sarag.toml").write_text("kgg = 1")
    sarag("stats").fails(2, f"{home / 'sarag.toml'}: unknown setting: kgg")


def test_verbose_names_the_file_of_a_setting(
    sarag: Sarag, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.mkdir(parents=True)
    (home / "sarag.toml").write_text('sparql-timeout = "7"')
    write('kg = "mine"')
    caplog.set_level("DEBUG", "sarag_rdf")
    sarag("stats", "-v")
    assert "setting kg = mine from sarag.toml, which is not trusted" in caplog.messages
    assert f"setting sparql-timeout = 7 from {home / 'sarag.toml'}" in caplog.messages


def test_credentials_are_for_the_endpoint_of_the_graph(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SARAG_SPARQL_TOKEN", "open-sesame-2")
    body = b'{"head": {}, "boolean": true}'
    with playing(raw(200, body, Content_Type="application/sparql-results+json")) as server:
        remote = SparqlEndpoint(f"{server.root}/query")
        for graph, expected in (
            ("http://graph.example/query", None),
            (f"{server.root}/graph", "Bearer open-sesame-2"),
            (tmp_path, "Bearer open-sesame-2"),
        ):
            location = endpoint_beside(remote, location_of(graph))
            assert SparqlStore(location).query("ASK {}") is True
            assert server.seen[-1][2]["Authorization"] == expected


def test_facts_and_items_elsewhere_get_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    beside: list[str] = []

    def recorded(remote: SparqlEndpoint, graph: object) -> SparqlEndpoint:
        beside.append(f"{remote.query_url} beside {graph}")
        return remote

    for module in ("session", "linking"):
        monkeypatch.setattr(f"sarag_rdf.kg.{module}.endpoint_beside", recorded)
    here, there = "http://127.0.0.1:9/q", "http://127.0.0.2:9/q"
    with sarag_rdf.open(here, facts=there) as kg, pytest.raises(RemoteDownError):
        kg.links.candidates(SparqlEndpoint(there))
    assert beside == [f"{there} beside at {here}"] * 2


def test_settings_that_a_search_does_not_need(sarag: Sarag, home: Path) -> None:
    write(f'base-url = "{EVIL}"\n')
    make_graph(Path("kg"))
    assert sarag("stats").code == 0
    assert sarag("search", "Who founded Orbis?", "--retriever", "bm25").code == 0
    sarag("ask", "Who founded Orbis?").fails(2, "base-url", "only if you trust this file")


def test_trust_with_other_problems(
    sarag: Sarag, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("words = 300\n")
    assert sarag("trust").code == 0
    write("wrods = 300\n")
    assert "(changed or missing)" in sarag("trust", "--list").out
    sarag("stats").fails(2, "unknown setting: wrods")
    Path("sarag.toml").write_bytes(b'kg = "\xff"\n')
    sarag("stats").fails(2, "sarag.toml: it is not UTF-8 text: save it as UTF-8")
    write("words = 300\n")
    Path("file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("file").resolve()))
    sarag("trust").fails(1, "cannot write ", "XDG_STATE_HOME")
