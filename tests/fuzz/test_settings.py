"""Settings files, variables and options; base IRIs, URLs and CURIEs."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint
from sarag_rdf.base.errors import SaragError, UsageError
from sarag_rdf.base.iris import Minter, namespace, normalize_name, statement_iri, statement_of
from sarag_rdf.building.link_records import Curies
from sarag_rdf.cli import main
from sarag_rdf.cli.settings_files import read_settings
from sarag_rdf.models.client import endpoint_client, public_url
from sarag_rdf.server.serve_settings import checked_public_url
from tests.fuzz.cases import case
from tests.fuzz.hostile import assert_sound, evidence, graph, is_line, mutated, texts
from tests.sample_graph import files_of, make_graph

KEYS = (
    *("kg", "k", "n", "c", "limit", "words", "overlap", "base", "root", "language", "max-chars"),
    *(
        "max_chars",
        "stdin-format",
        "embedder",
        "over",
        "retriever",
        "preset",
        "reasoner",
        "context",
    ),
    *(
        "budget",
        "tokenizer",
        "base-url",
        "model",
        "timeout",
        "concurrency",
        "temperature",
        "price-in",
    ),
    *("model-seed", "endpoint", "graph-kind", "default-graph", "sparql-timeout", "update-url"),
)
GOOD = (
    b'kg = "kg"\nk = 3\nlimit = 2\nretriever = "bm25"\n',
    b'words = 10\noverlap = 2\nlanguage = "en"\nover = ["documents"]\n',
    b"[search]\nk = 1\n",
)
_values = st.one_of(
    texts.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'),
    st.sampled_from(
        ["1", "-1", "0", "1e400", "nan", "-inf", "true", "[]", "[[]]", "{}", "{a=1}", '["a", 1]'],
    ),
    st.sampled_from(["1979-05-27", "07:32:00", "0x7fffffffffffffffffff", "''", "'bm25'", "[1]"]),
    st.integers().map(str),
)
_lines = st.lists(st.tuples(st.sampled_from(KEYS), _values), max_size=3)
tables = st.one_of(
    _lines.map(lambda lines: "\n".join(f"{k} = {v}" for k, v in lines).encode(errors="replace")),
    mutated(*GOOD),
)
_plain = texts.map(lambda text: text.replace("\0", ""))
_variables = st.dictionaries(
    st.sampled_from([f"SARAG_{key.upper().replace('-', '_')}" for key in KEYS]), _plain, max_size=2
)
COMMANDS = (
    ("stats",),
    ("query", "ASK {}"),
    ("search", "Ada", "--retriever", "bm25"),
    ("index", "a.txt", "--dry-run", "--extractor", "openie:none.json"),
    ("export",),
    ("describe",),
)
_options = st.lists(
    st.builds(lambda key, value: f"--{key}={value}", st.sampled_from(KEYS), _plain), max_size=2
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A working folder with a graph in ./kg."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        make_graph(Path(name) / "kg")
        (Path(name) / "a.txt").write_text("Ada knows Ulm.")
        os.chdir(name)
        yield Path(name)
        os.chdir(before)


def _settings() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SARAG_", "OPENAI_"))}
    return {**kept, "SARAG_DEBUG": "1", "HF_HUB_OFFLINE": "1"}


@given(
    table=tables,
    variables=_variables,
    command=st.sampled_from(COMMANDS),
    options=_options,
)
@case("settings")
def test_settings(
    folder: Path,
    table: bytes,
    variables: dict[str, str],
    command: tuple[str, ...],
    options: list[str],
) -> None:
    (folder / "sarag.toml").write_bytes(table)
    before = files_of(folder / "kg" / "store")
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    environment = {**_settings(), **_encodable(variables)}
    with (
        patch.dict(os.environ, environment, clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main._run([*command, *options])
    told = _written(err)
    assert code in (0, 1, 2), told
    assert all(map(is_line, told.split("\n"))), told
    assert code == 0 or told.startswith("sarag: "), told
    _written(out)
    assert files_of(folder / "kg" / "store") == before
    for path in folder.iterdir():
        if path.name not in ("kg", "a.txt", "sarag.toml"):
            raise AssertionError(f"{path} was made by a command that reads")


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    data: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return data.decode()


def _encodable(variables: dict[str, str]) -> dict[str, str]:
    """What an environment can hold."""
    return {
        name: os.fsdecode(value.encode("utf-8", "replace")) for name, value in variables.items()
    }


# -------------------------------------------------------------------------------- IRIs

_urls = st.one_of(
    texts,
    texts.map(lambda text: f"http://e.example/{text}"),
    texts.map(lambda text: f"http://{text}/kg/"),
    texts.map(lambda text: f"https://user:pass@{text}"),
    mutated(
        b"https://data.example.org/kg/",
        b"http://[::1]:8080/v1",
        b"http://127.0.0.1:9/sparql?x=1#y",
        b"urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
        b"skos:exactMatch",
    ).map(lambda data: data.decode("utf-8", "surrogateescape")),
)


@given(text=_urls, other=texts)
@case("iris")
def test_iris(text: str, other: str) -> None:
    for make in (Minter.for_base, SparqlEndpoint, checked_public_url):
        try:
            make(text)
        except UsageError as error:
            assert str(error)
    with suppress(ValueError):
        Curies({"a": "http://a.example/", "": "http://b.example/"}).expand(text)
    assert text.startswith(namespace(text))
    assert normalize_name(normalize_name(text)) == normalize_name(text) or text
    if _is_text(text) and _is_text(other):
        made = statement_iri(text, other, text)
        ox.NamedNode(made)
        assert statement_of(made) == (text, other, text)


def _client(url: str) -> object:
    return endpoint_client(ModelEndpoint(url, timeout=1.0), "none")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@given(base=_urls)
@case("bases")
def test_graphs_below_any_base(base: str) -> None:
    try:
        _client(base)
    except UsageError as error:
        assert "endpoint" in str(error)
    else:
        assert public_url(base).startswith("http")
    try:
        kg = graph(base=base)
    except UsageError as error:
        assert "base of IRIs" in str(error)
        return
    with kg:
        assert_sound(kg, evidence(kg))
        for format_ in ("turtle", "rdfxml", "jsonld"):
            buffer = io.BytesIO()
            kg.export(format_, buffer)
            assert list(ox.parse(buffer.getvalue(), _FORMATS[format_]))


_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}


def test_deep_settings_are_one_line(folder: Path) -> None:
    (folder / "sarag.toml").write_bytes(b"k = " + b"[" * 10_000 + b"]" * 10_000)
    with pytest.raises(SaragError, match="TOML"):
        read_settings(folder / "sarag.toml")
    shutil.rmtree(folder / "kg")
