"""A cross-encoder reads the best documents together with the question.

Nogueira and Cho, "Passage Re-ranking with BERT", arXiv 1901.04085. What it finds is one more
summand of a document's score: alone it would rank the documents on the way to an answer low, since
it compares each document with the whole question.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from sarag_rdf.base.arrays import Floats, Scale
from sarag_rdf.base.errors import ModelError, UsageError
from sarag_rdf.base.options import MAX_COUNT, option
from sarag_rdf.base.types import Document, Query, RankedDocument
from sarag_rdf.models.bert import Bert, json_of, readable
from sarag_rdf.retrieval.activation import Round
from sarag_rdf.retrieval.sarag import Relevance, Sarag
from sarag_rdf.retrieval.view import GraphView

DEFAULT_MODEL: Final = "cross-encoder/ms-marco-MiniLM-L12-v2"
"""It is used if this machine has it; only a model that the user names is downloaded."""
_FILES: Final = ("*.json", "*.txt", "*.model", "*.safetensors")
"""The files of a model on a hub."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Rerank(Sarag):
    """As sarag, whose best documents a cross-encoder reads together with the question."""

    name = "rerank"
    model: str = option(
        "",
        "Cross-encoder: a folder, or a name on a hub. Without one it is "
        f"{DEFAULT_MODEL}, which this machine must have.",
    )
    depth: int = option(
        20, "Number of the best documents that the cross-encoder reads.", ge=1, le=MAX_COUNT
    )
    reading_gain: float = option(
        0.3,
        "Weight of the cross-encoder's score, as a z-score over the documents that it reads.",
        ge=0.0,
        le=MAX_COUNT,
    )

    def ordered(
        self,
        view: GraphView,
        query: Query,
        relevance: Relevance,
        rounds: Sequence[Round],
        classes: frozenset[str],
    ) -> tuple[list[RankedDocument], dict[str, float]]:
        """Those of `sarag` in a new order; what is not read counts as the worst that is.

        With r the score of the cross-encoder, and z over the documents that it reads, a document
        gets reading_gain * z(r) more.
        """
        limit = None if self.limit is None else max(self.limit, self.depth)
        more: Sarag = replace(self, limit=limit)
        documents, calibration = Sarag.ordered(more, view, query, relevance, rounds, classes)
        texts = view.documents(ranked.document.iri for ranked in documents[: self.depth])
        read = [ranked for ranked in documents[: self.depth] if ranked.document.iri in texts]
        passages = [_passage(texts[ranked.document.iri]) for ranked in read]
        scores = cross_encoder(self.model).scores(query.text, passages)
        scale = Scale.of(scores)
        gains = self.reading_gain * scale.z(scores)
        reordered = [
            _with_reading(ranked, gain, score)
            for ranked, gain, score in zip(read, gains.tolist(), scores.tolist(), strict=True)
        ]
        lowest = float(gains.min(initial=0.0))
        reordered += [_with_reading(ranked, lowest) for ranked in documents[self.depth :]]
        reordered.sort(key=lambda ranked: -ranked.score)
        calibration |= {"reading_mean": scale.mean, "reading_deviation": scale.deviation}
        return reordered[: self.limit], calibration


def _passage(document: Document) -> str:
    return f"{document.title}. {document.text}" if document.title else document.text


def _with_reading(
    ranked: RankedDocument, gain: float, score: float | None = None
) -> RankedDocument:
    measures = ranked.measures if score is None else {**ranked.measures, "reading": score}
    parts = {**ranked.parts, "reading": gain}
    return replace(ranked, score=ranked.score + gain, parts=parts, measures=measures)


class CrossEncoder:
    """Scores texts for a question; BERT models are computed in NumPy, others by PyTorch."""

    def __init__(self, folder: Path) -> None:
        """Raises `ModelError` for files that cannot be read."""
        self._folder = folder
        try:
            with readable(folder):
                self._bert: Bert | None = Bert(folder, _longest(folder))
                self.scores("a", ["a"])
        except ModelError as error:
            if find_spec("sentence_transformers") is None:
                install = "such models need PyTorch: pip install 'sarag-rdf[torch]'"
                raise ModelError(f"{error}: {install}") from error
            _LOG.info("documents are read with sentence-transformers: %s", error)
            self._bert = None
            self.scores("a", ["a"])

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """How well each text answers the question, on the model's own scale: shape (len(texts),).

        It is the logit, before any sigmoid, so that z-scores do not saturate. A pair is cut to
        what the model reads.
        """
        if not texts:
            return np.zeros(0)
        if self._bert is None:
            return self._scores_of_torch(question, texts)
        pairs = [self._bert.tokenizer.encode(question, text) for text in texts]
        first = np.concatenate([states[:1] for states in self._bert.states(pairs)])
        logits = self._bert.linear(np.tanh(self._bert.linear(first, "pooler.dense")), "classifier")
        return logits.reshape(len(texts)).astype(np.float64)

    def _scores_of_torch(self, question: str, texts: Sequence[str]) -> Floats:
        pairs = [(question, text) for text in texts]
        try:
            logits = self._torch.predict(pairs, show_progress_bar=False)
            return np.asarray(logits, dtype=np.float64).reshape(len(texts))
        except Exception as error:
            raise ModelError(
                f"{self._folder} cannot be used as a cross-encoder with one score: {error!r}"
            ) from error

    @cached_property
    def _torch(self) -> Any:
        from sentence_transformers import CrossEncoder as TorchModel
        from torch.nn import Identity

        return TorchModel(str(self._folder), activation_fn=Identity(), local_files_only=True)


def _longest(folder: Path) -> int:
    """The maximum number of tokens of a question and a text together."""
    most = int(json_of(folder / "config.json")["max_position_embeddings"])
    longest = json_of(folder / "tokenizer_config.json").get("model_max_length")
    return min(most, longest) if isinstance(longest, int) else most


@cache
def cross_encoder(model: str) -> CrossEncoder:
    """The model in a folder or by its name, loaded once in a process.

    Raises `UsageError` if none is named and the default is not here, `ModelError` if the one that
    is named cannot be loaded.
    """
    path = Path(model).expanduser()
    return CrossEncoder(path if model and path.is_dir() else _of_hub(model))


def _of_hub(model: str) -> Path:
    from huggingface_hub import snapshot_download

    name = model or DEFAULT_MODEL
    try:
        return Path(snapshot_download(name, allow_patterns=[*_FILES], local_files_only=not model))
    except Exception as error:
        if not model:
            raise UsageError(
                f"the cross-encoder {name} is not on this machine: name a folder, or a model to "
                f"download, for example --retriever rerank:model={name}"
            ) from error
        raise ModelError(
            f"the cross-encoder '{model}' cannot be loaded: give a folder, or the name of a model "
            "on a hub that this machine reaches"
        ) from error
