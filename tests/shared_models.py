"""The default models: loaded once in each process of a test run, and only if needed."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pytest

from sarag_rdf.base.arrays import Floats
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.extraction import spacy_extractor as pipeline
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.local_embedder import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.plugins import rerank

if TYPE_CHECKING:
    from spacy.language import Language


class SharedEncoder:
    """An encoder that embeds a text once in a test run, and is loaded only if one is new.

    Embeddings are files in a folder that the processes of the run share.
    """

    def __init__(self, load: Callable[[], BertEncoder], folder: Path) -> None:
        self._load, self._folder = load, folder
        self._vectors: dict[tuple[str, str], Vector] = {}
        self._read = set[str]()
        self._turn = threading.Lock()

    @cached_property
    def _encoder(self) -> BertEncoder:
        return self._load()

    def embed(self, texts: Sequence[str], prompt: str = "") -> Matrix:
        keys = [(prompt, text) for text in texts]
        with self._turn:
            if any(key not in self._vectors for key in keys):
                self._read_files()
            new = [key for key in dict.fromkeys(keys) if key not in self._vectors]
            if new or not keys:
                vectors = self._encoder.embed([text for _, text in new], prompt)
                if not keys:
                    return vectors
                self._vectors.update(zip(new, vectors, strict=True))
                self._write_file(new, vectors)
            return np.stack([self._vectors[key] for key in keys])

    def _read_files(self) -> None:
        for path in sorted(self._folder.glob("*.npz")):
            if path.name not in self._read:
                self._read.add(path.name)
                with np.load(path) as file:
                    keys = [(prompt, text) for prompt, text in json.loads(str(file["keys"]))]
                    self._vectors.update(zip(keys, file["vectors"], strict=True))

    def _write_file(self, keys: list[tuple[str, str]], vectors: Matrix) -> None:
        name = uuid4().hex
        self._read.add(f"{name}.npz")
        with (self._folder / name).open("wb") as file:
            np.savez(file, keys=np.array(json.dumps(keys)), vectors=vectors)
        (self._folder / name).rename(self._folder / f"{name}.npz")


class WordsInCommon:
    """Stands for the default cross-encoder, which no package has."""

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        asked = set(question.split())
        return np.array([len(asked.intersection(text.split())) for text in texts], dtype=float)


@pytest.fixture(scope="session", autouse=True)
def shared_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Load the default spaCy pipeline and embedding model once; other models as ever."""
    run = tmp_path_factory.getbasetemp()
    folder = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / "embeddings"
    folder.mkdir(exist_ok=True)
    load_pipeline = pipeline.load_pipeline
    load_encoder: Callable[..., BertEncoder | None] = vars(SentenceTransformerEmbedder)[
        "_encoder"
    ].func

    @cache
    def pipeline_of(model: str | None, _defaults: tuple[str, ...]) -> Language:
        return load_pipeline(model)

    shared = SharedEncoder(lambda: BertEncoder(SentenceTransformerEmbedder().folder), folder)

    def encoder_of(embedder: SentenceTransformerEmbedder) -> SharedEncoder | BertEncoder | None:
        return shared if embedder.model == DEFAULT_MODEL else load_encoder(embedder)

    read = rerank.cross_encoder
    encoder = cached_property(encoder_of)
    encoder.__set_name__(SentenceTransformerEmbedder, "_encoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rerank, "cross_encoder", lambda name: read(name) if name else WordsInCommon())
        patch.setattr(
            pipeline, "load_pipeline", lambda model=None: pipeline_of(model, pipeline.MODELS)
        )
        patch.setattr(SentenceTransformerEmbedder, "_encoder", encoder)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT model of two layers with random weights, as sentence-transformers saves it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from torch import manual_seed
    from transformers import BertConfig, BertModel

    default = SentenceTransformerEmbedder().folder
    folder = tmp_path_factory.mktemp("models")
    (folder / "bert").mkdir()
    config = BertConfig(
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        initializer_range=0.2,
    )
    manual_seed(7)
    BertModel(config).save_pretrained(folder / "bert")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(default / name, folder / "bert" / name)
    transformer = Transformer(str(folder / "bert"), max_seq_length=32)
    pooling = Pooling(48, pooling_mode="cls")
    SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder / "saved"))
    return folder / "saved"
