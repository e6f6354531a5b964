"""Embeds questions with the model of a graph's texts, and where possible without PyTorch.

Importing PyTorch and sentence-transformers takes seconds, encoding a question some milliseconds.
`BertEncoder` does the latter alone. It is used for a graph only after its vectors have been
compared with those of sentence-transformers: then the vector of one text, `WITNESS`, as passage
(and as query, where queries have a prompt) is in the graph's cache, as sentence-transformers
computed it, and each process compares it before it relies on the encoder. A cache that was deleted,
was damaged or belongs to other model files is thereby noticed, and sentence-transformers is used
instead.

The vectors of the two engines agree to within `TOLERANCE` (by measurement, 3e-7), and the first
one of a question is cached. So the scores of a question stay the same to the last digit as long as
its cache is kept; without it they may differ from the seventh digit on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from sarag_rdf.base.errors import ModelError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.models.names import Prompts
from sarag_rdf.models.sentence_transformer import SentenceTransformerEmbedder

TOLERANCE: Final = 1e-4
"""Greatest difference between the components of two vectors of a text."""
MOST: Final = 256
"""Texts at a time that are encoded without sentence-transformers, which is faster for many."""
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
"""Texts on which the engines must agree; the last one is longer than a model takes."""

Embed = Callable[[Sequence[str]], Matrix]

log = logging.getLogger(__name__)


class QuestionEmbedder:
    """Embeds with `BertEncoder` where its vectors are those of the model, else with the model."""

    def __init__(self, model: SentenceTransformerEmbedder, texts: CachedEmbedder) -> None:
        """`texts` embeds with the model, in front of which it has the graph's cache."""
        self._model = model
        self._texts = texts
        self._turn = threading.Lock()
        self._encoder: BertEncoder | None = None
        self._is_checked = False

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def model(self) -> str:
        """The model's name without prompts."""
        return self._model.model

    @property
    def prompts(self) -> Prompts:
        """What is put before queries and passages."""
        return self._model.prompts

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Raises `ModelError` if the model is needed and cannot be loaded."""
        encoder = self.prepare() if len(texts) <= MOST else None
        return (encoder or self._model).embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same for queries."""
        encoder = self.prepare() if len(texts) <= MOST else None
        return (encoder or self._model).embed_queries(texts)

    def prepare(self) -> BertEncoder | None:
        """The encoder, if it may be used; compares it with the model where this was not done.

        Raises `ModelError` if the model is needed for that and cannot be loaded.
        """
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
            log.info("questions are embedded with sentence-transformers: %s", error)
            return None
        if not self._agrees(encoder):
            log.warning(
                "the vectors of %s differ between NumPy and sentence-transformers: questions are "
                "embedded with the latter, which takes longer to load",
                self.name,
            )
            return None
        return encoder

    def _agrees(self, encoder: BertEncoder) -> bool:
        """Whether the encoder agrees on passages, and on queries if they have their own prompt."""
        prompts = self.prompts
        roles: list[tuple[str | None, Embed, Embed, Embed]] = [
            (prompts.passage, encoder.embed, self._model.embed, self._texts.embed)
        ]
        if prompts.query is not None:
            queries = (encoder.embed_queries, self._model.embed_queries)
            roles.append((prompts.query, *queries, self._texts.embed_queries))
        for prompt, embed, expected, cached in roles:
            witness = self._texts.cached(WITNESS, prompt)
            if witness is None and _agree(embed(PROBES), expected(PROBES)):
                witness = cached([WITNESS])[0]
            if witness is None or not _agree(embed([WITNESS])[0], witness):
                return False
        return True


def _agree(left: Matrix, right: Matrix) -> bool:
    return left.shape == right.shape and bool(np.abs(left - right).max() <= TOLERANCE)
