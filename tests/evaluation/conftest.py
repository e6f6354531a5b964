"""A graph of the sample corpus, which tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.testing.fakes import HashEmbedder
from tests.evaluation.sample import CORPUS
from tests.sample_graph import CapitalExtractor


@pytest.fixture(scope="session")
def sample_kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of `CORPUS`, as the commands of `without_models` index it; it is only asked."""
    folder = tmp_path_factory.mktemp("sample") / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index(
            [Source(record["text"], record["title"]) for record in CORPUS],
            extractor=CapitalExtractor(),
        )
    return folder
