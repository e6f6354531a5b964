"""Models on this machine: in NumPy where they are BERT models, else with sentence-transformers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sarag_rdf
from sarag_rdf.base.errors import ModelError
from sarag_rdf.models import local_embedder
from sarag_rdf.models.local_embedder import MANY, SentenceTransformerEmbedder
from tests.command import environment

QUESTION = "Which river flows through the birthplace of Marie Curie?"
TEXTS = ["The Vistula flows through Warsaw.", "", "Otto Hahn was a chemist in Berlin."]


def test_a_bert_model_is_not_loaded_by_sentence_transformers(tiny_model: Path) -> None:
    model = SentenceTransformerEmbedder(str(tiny_model))
    assert model.embed(TEXTS * MANY).shape == (3 * MANY, 48)
    assert model._loaded is None


def test_many_texts_are_embedded_on_a_graphics_card(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = SentenceTransformerEmbedder(str(tiny_model)).embed(TEXTS)
    monkeypatch.setattr(local_embedder, "_has_gpu", lambda: True)
    model = SentenceTransformerEmbedder(str(tiny_model))
    np.testing.assert_array_equal(model.embed(TEXTS), expected)
    assert model._loaded is None
    vectors = model.embed(TEXTS * MANY)
    assert model._loaded is not None
    assert np.abs(vectors - np.tile(expected, (MANY, 1))).max() < 2e-6


def of_another_kind(tiny_model: Path, folder: Path) -> Path:
    """A model that sentence-transformers can load and the encoder in NumPy cannot."""
    shutil.copytree(tiny_model, folder)
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_act": "relu"}))
    return folder


def test_a_model_of_another_kind(tiny_model: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    folder = of_another_kind(tiny_model, tmp_path / "relu")
    judge = SentenceTransformer(str(folder), device="cpu")
    vectors = SentenceTransformerEmbedder(str(folder)).embed(TEXTS)
    expected = judge.encode(TEXTS, normalize_embeddings=True, convert_to_numpy=True)
    np.testing.assert_allclose(vectors, expected, atol=2e-6)
    assert np.abs(vectors - SentenceTransformerEmbedder(str(tiny_model)).embed(TEXTS)).max() > 1e-3
    assert SentenceTransformerEmbedder(str(folder)).embed([]).shape == (0, 48)


@pytest.fixture
def hub(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a model that was downloaded from a hub, which cannot be reached."""
    folder, revision = tmp_path / "hub" / "models--some--tiny", "0" * 40
    shutil.copytree(tiny_model, folder / "snapshots" / revision)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(revision)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return "some/tiny"


def test_a_model_of_a_hub(hub: str, tiny_model: Path) -> None:
    model = SentenceTransformerEmbedder(hub)
    assert model.name == hub
    expected = SentenceTransformerEmbedder(str(tiny_model)).embed(TEXTS)
    np.testing.assert_array_equal(model.embed(TEXTS), expected)
    assert model._loaded is None
    with pytest.raises(ModelError, match="'some/other' cannot be loaded"):
        SentenceTransformerEmbedder("some/other", may_download=True).embed(TEXTS)


WITHOUT = """
import sys
sys.modules |= dict.fromkeys(["torch", "transformers", "sentence_transformers"])
from sarag_rdf.cli.main import main
main()
"""


def without_torch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def test_nothing_needs_torch_but_models_of_other_kinds(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Marie Curie was born in Warsaw.")
    folder = of_another_kind(tiny_model, tmp_path / "relu")
    for command in (["index", "a.txt"], ["search", "Who was born in Warsaw?"]):
        done = without_torch(tmp_path, *command)
        assert done.returncode == 0, done.stderr
    assert "Marie Curie" in done.stdout
    done = without_torch(tmp_path, "index", "a.txt", "--kg", "other", "--embedder", str(folder))
    assert done.returncode not in (0, 70)
    assert "pip install 'sarag-rdf[torch]'" in done.stderr
    assert "Traceback" not in done.stderr


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
