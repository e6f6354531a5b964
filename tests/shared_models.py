"""The default models, loaded once in each process that runs tests."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sarag_rdf.extract.spacy import pipeline
from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.ports import Matrix

if TYPE_CHECKING:
    from spacy.language import Language


class SharedModel:
    """A loaded sentence-transformers model that computes the embedding of a text once."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._vectors: dict[tuple[str, str], Matrix] = {}
        self._turn = threading.Lock()

    def get_embedding_dimension(self) -> int:
        return int(self._model.get_embedding_dimension())

    def encode(self, texts: Sequence[str], **options: Any) -> Matrix:
        prompt = options.get("prompt", "")
        with self._turn:
            new = [text for text in dict.fromkeys(texts) if (prompt, text) not in self._vectors]
            if new:
                vectors = self._model.encode(new, **options)
                keys = [(prompt, text) for text in new]
                self._vectors.update(zip(keys, vectors, strict=True))
            return np.stack([self._vectors[prompt, text] for text in texts])


@pytest.fixture(scope="session", autouse=True)
def shared_models() -> Iterator[None]:
    """Load the default spaCy pipeline and embedding model once; other models as ever."""
    load_pipeline, load_model = pipeline.load_pipeline, SentenceTransformerEmbedder._load

    @cache
    def pipeline_of(model: str | None, _defaults: tuple[str, ...]) -> Language:
        return load_pipeline(model)

    @cache
    def default_model() -> SharedModel:
        return SharedModel(load_model(SentenceTransformerEmbedder()))

    def model_of(embedder: SentenceTransformerEmbedder) -> Any:
        return default_model() if embedder.model == DEFAULT_MODEL else load_model(embedder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            pipeline, "load_pipeline", lambda model=None: pipeline_of(model, pipeline.MODELS)
        )
        patch.setattr(SentenceTransformerEmbedder, "_load", model_of)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT model of two layers with random weights, as sentence-transformers saves it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from torch import manual_seed
    from transformers import BertConfig, BertModel

    default = SentenceTransformerEmbedder().folder
    assert default is not None
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
