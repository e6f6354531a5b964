"""Queries written as for Wikidata answer on an export, in several engines."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.models.fakes import HashEmbedder
from tests.sample_graph import make_graph
from tests.wikibase.engines import ENGINES
from tests.wikibase.idioms import IDIOMS, prefixed


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("idioms")
    with sarag_rdf.open(make_graph(folder / "kg"), embedder=HashEmbedder(), endpoint=None) as kg:
        output = io.BytesIO()
        kg.export_wikibase("wikibase", output)
    (folder / "dump.nt").write_bytes(output.getvalue())
    return folder / "dump.nt"


@pytest.mark.interop
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms(dump: Path, engine: str, name: str) -> None:
    query, expected = IDIOMS[name]
    names = re.findall(r"\?(\w+)", query.partition("{")[0])
    rows = ENGINES[engine](dump, prefixed(query))
    assert {tuple(row[name] for name in names) for row in rows} == expected
