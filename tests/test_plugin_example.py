"""The example of a plug-in is installed, conforms, and is used like what this package brings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base import plugins
from sarag_rdf.base.plugins import load
from sarag_rdf.testing.conformance import (
    check_exporter,
    check_extractor,
    check_format,
    check_retriever,
)
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag
from tests.sample_graph import CapitalExtractor, make_graph

EXAMPLE = Path(__file__).parent.parent / "examples" / "plugin"
SUBTITLES = b"""\
1
00:00:01,000 --> 00:00:04,000
<i>Ada</i> founded Orbis.

2
00:00:05,000 --> 00:00:07,500
Orbis has its seat in Ulm.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed the example."""
    folder = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", folder)
    subprocess.run([sys.executable, "-m", "pip", "install", *options, EXAMPLE], check=True)
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(site))
    plugins._others.cache_clear()
    yield site
    plugins._others.cache_clear()


def test_it_conforms(installed: Path, tmp_path: Path) -> None:
    make_graph(tmp_path / "kg")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        check_retriever(kg, "titles", "Did Ada know Boris?")
        assert check_exporter(kg, "dot").startswith(b"digraph kg {")
    check_format(load("formats", "srt"), SUBTITLES, tmp_path)


def test_what_this_package_brings_conforms(tmp_path: Path) -> None:
    make_graph(tmp_path / "kg")
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        for name in ("sarag", "bm25", "dense", "ppr"):
            check_retriever(kg, name, "Who founded Orbis?")
        check_exporter(kg, "turtle")
        with kg.session.read() as snapshot:
            view = snapshot.view
            documents = [*view.documents(view.iris.documents).values()]
    check_extractor(CapitalExtractor(), documents)


def test_commands_take_its_names(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sarag: Sarag
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talk.srt").write_bytes(SUBTITLES)
    indexed = sarag("index", "talk.srt", "--extractor", "spacy")
    assert indexed.code == 0, indexed.err
    found = sarag("search", "What is the talk about?", "--retriever", "titles:least=0.9")
    assert "Ada founded Orbis" in found.out
    export = (sys.executable, "-m", "sarag_rdf", "export", "--format", "dot", "--sentences")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    dot = subprocess.run(export, env=environment, check=True, capture_output=True, text=True)
    assert "Ulm" in dot.stdout
    listed = sarag("strategies", "titles").out
    assert "sarag-example-plugin" in listed
    assert "Smallest share of a title" in listed
