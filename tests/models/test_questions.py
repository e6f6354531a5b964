"""Questions are embedded without sentence-transformers only where that is known to be equal."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.base.ports import Matrix
from sarag_rdf.models import local_embedder
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.models.local_embedder import (
    MOST,
    TOLERANCE,
    WITNESS,
    QuestionEmbedder,
    SentenceTransformerEmbedder,
)
from tests.command import environment

QUESTION = "Which river flows through the birthplace of Marie Curie?"


class Counting(SentenceTransformerEmbedder):
    """Remembers the texts that sentence-transformers embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return super().embed(texts)


class WithoutFolder(Counting):
    """Like a model of a hub."""

    @property
    def folder(self) -> None:
        return None

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return SentenceTransformerEmbedder().embed(texts)


class Changed(Counting):
    """Like a model whose files were replaced after the graph was embedded."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        return np.roll(super().embed(texts), 1, axis=1)


def question_embedder(
    path: Path, model: Counting | None = None, *, keep: bool = True
) -> tuple[QuestionEmbedder, Counting]:
    model = model or Counting()
    return QuestionEmbedder(model, CachedEmbedder(model, path, keep=keep)), model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.sqlite"


@pytest.fixture
def prepared(path: Path) -> Path:
    question_embedder(path)[0].prepare()
    return path


def test_the_engines_are_compared_once_for_a_cache(path: Path) -> None:
    first, model = question_embedder(path)
    vector = first.embed([QUESTION])[0]
    assert WITNESS in model.texts
    assert QUESTION not in model.texts
    second, model = question_embedder(path)
    np.testing.assert_array_equal(second.embed([QUESTION])[0], vector)
    assert model.texts == []
    assert np.abs(vector - model.embed([QUESTION])[0]).max() < TOLERANCE / 50


def test_many_texts_are_embedded_by_sentence_transformers(prepared: Path) -> None:
    embedder, model = question_embedder(prepared)
    texts = [f"{number}?" for number in range(MOST + 1)]
    embedder.embed(texts)
    assert model.texts == texts
    embedder.embed(texts[:MOST])
    assert model.texts == texts


@pytest.mark.parametrize("damage", ["deleted", "overwritten", "truncated"])
def test_a_cache_that_was_deleted_or_damaged(damage: str, prepared: Path) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{prepared}{suffix}").unlink(missing_ok=True)
    if damage == "deleted":
        prepared.unlink()
    elif damage == "overwritten":
        prepared.write_bytes(b"x" * 4096)
    else:
        prepared.write_bytes(prepared.read_bytes()[:3000])
    embedder, model = question_embedder(prepared)
    embedder.embed([QUESTION])
    assert WITNESS in model.texts
    embedder, model = question_embedder(prepared)
    embedder.embed([QUESTION])
    assert model.texts == []


def test_a_cache_that_is_only_read(tmp_path: Path, prepared: Path) -> None:
    embedder, model = question_embedder(prepared, keep=False)
    embedder.embed([QUESTION])
    assert model.texts == []
    absent = tmp_path / "absent.sqlite"
    embedder, model = question_embedder(absent, keep=False)
    embedder.embed([QUESTION])
    assert QUESTION not in model.texts
    assert not absent.exists()


def test_vectors_of_other_files_of_the_model_are_noticed(
    path: Path, prepared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    CachedEmbedder(Changed(), path.with_name("other.sqlite")).embed([WITNESS])
    embedder, model = question_embedder(path.with_name("other.sqlite"))
    embedder.embed([QUESTION])
    assert model.texts == [QUESTION]
    assert "sentence-transformers" in caplog.records[-1].getMessage()


def test_an_encoder_that_disagrees_is_not_used(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder, model = question_embedder(path, Changed())
    for _ in range(2):
        embedder.embed([QUESTION])
    assert model.texts[-2:] == [QUESTION] * 2
    assert len(caplog.records) == 1


def test_a_model_without_a_folder_or_of_another_architecture(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sarag_rdf")
    embedder, model = question_embedder(path, WithoutFolder())
    embedder.embed([QUESTION])
    assert model.texts == [QUESTION]
    assert not caplog.records
    monkeypatch.setattr(local_embedder, "BertEncoder", lambda *_: _refused(tmp_path))
    embedder, model = question_embedder(path)
    embedder.embed([QUESTION])
    assert model.texts == [QUESTION]
    assert "cannot be read as a BERT model" in caplog.records[-1].getMessage()


def _refused(folder: Path) -> None:
    from sarag_rdf.models.bert import BertEncoder

    BertEncoder(folder)


HEAVY = {
    *("torch", "transformers", "sentence_transformers", "sklearn", "scipy", "spacy", "networkx"),
    *(
        "rdflib",
        "pyshacl",
        "bs4",
        "openai",
        "matplotlib",
        "ir_measures",
        "markitdown",
        "jsonschema",
    ),
    *("yaml", "tqdm", "starlette", "uvicorn", "anyio", "SPARQLWrapper", "huggingface_hub"),
}
SEARCH = """
import sys
from sarag_rdf.cli import main
code = main._run(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""


def test_a_search_imports_no_large_package(tmp_path: Path) -> None:
    """Seconds go by while PyTorch is imported; the ranking is the same without it."""
    (tmp_path / "a.txt").write_text("Marie Curie was born in Warsaw. She studied in Paris.")
    (tmp_path / "b.txt").write_text("Warsaw is a city in Poland. The Vistula flows through Warsaw.")
    with sarag_rdf.open(tmp_path / "kg") as kg:
        kg.index([tmp_path])
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, "search", QUESTION, "--json"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=300,
    )
    packages = set(done.stderr.splitlines()[-1].split())
    assert "numpy" in packages
    assert packages & HEAVY == set()
    ranking = [one["iri"] for one in json.loads(done.stdout)["documents"]]
    model = SentenceTransformerEmbedder()
    with sarag_rdf.open(tmp_path / "kg", embedder=_Plain(model)) as kg:
        assert [one.document.iri for one in kg.search(QUESTION).documents] == ranking


class _Plain:
    """A model that is not known to be one of sentence-transformers."""

    def __init__(self, model: SentenceTransformerEmbedder) -> None:
        self.name, self.embed = model.name, model.embed
