"""The BERT encoder in NumPy, and its tokenizer: embeds texts without PyTorch.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", NAACL 2019; sentence embeddings as in Reimers and Gurevych, "Sentence-BERT",
EMNLP 2019. It reads the files of sentence-transformers, and its vectors are the same to within
the rounding of 32-bit floating point. On processors it is as fast, and it loads at once.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from threadpoolctl import ThreadpoolController
from tokenizers import Encoding, Tokenizer

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import ModelError
from sarag_rdf.base.ports import CountTokens, Matrix, Vector
from sarag_rdf.models.embedding_names import Prompts

_LOG = logging.getLogger(__name__)


def token_counter(name: str) -> CountTokens:
    """The tokenizer in a folder, or of a model by name; raises `ModelError`."""
    file = Path(name).expanduser() / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file)) if file.is_file() else _tokenizer_of_hub(name)
    except Exception as error:
        _LOG.debug("no tokenizer", exc_info=True)
        raise ModelError(
            f"no tokenizer can be loaded from '{name}': give --tokenizer a folder with "
            "tokenizer.json, or the name of a model that this machine can reach"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _tokenizer_of_hub(name: str) -> Tokenizer:
    from huggingface_hub import hf_hub_download

    return Tokenizer.from_file(hf_hub_download(name, "tokenizer.json"))


Floats = NDArray[np.float32]

_BERT: Final = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}
"""Required settings; a model must have the first two, and no other values of the rest."""
_MODULES: Final = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_BATCH: Final = 1024
"""Tokens that are encoded at once, or those of one text; more do not fit into a core's cache."""
_FILLINGS: Final = ((32, 1), (48, 12), (96, 96))
"""Multiples to which the tokens of a batch and those of each text in it are filled up, so that sums
of a product of matrices have the same order whatever the number of texts, and a vector does not
depend on the other texts. Which of them it takes depends on the processor."""
_PLACES: Final = 13
"""Places in a product at which it is tried whether they make no difference."""
_BLOCK: Final = 64
"""Tokens whose activations are computed at once, for the same reason."""
_SQRT_HALF: Final = np.float32(np.sqrt(0.5))


class Bert:
    """A BERT model without its head, and its tokenizer: from texts to states of their tokens.

    Texts are not padded, and a batch of them is encoded on one core. There are as many batches at
    a time as NumPy has threads (``OMP_NUM_THREADS``), and other texts, such as a question, need not
    wait for more of them.
    """

    def __init__(self, folder: Path, longest: int) -> None:
        """Raises `ModelError` for another architecture, OSError and others for damaged files.

        `longest` is the number of tokens to which a text is cut.
        """
        config = json_of(folder / "config.json")
        if {"model_type", "hidden_act"} - config.keys() or any(
            config.get(name, requested) != requested for name, requested in _BERT.items()
        ):
            raise ModelError(f"{folder} holds no BERT encoder with absolute positions and GELU")
        most = config["max_position_embeddings"]
        if not isinstance(longest, int) or not 2 < longest <= most:
            raise ModelError(
                f"{folder} takes texts of {longest} tokens at most, and has {most} places"
            )
        self._epsilon = np.float32(config["layer_norm_eps"])
        self._heads = int(config["num_attention_heads"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(longest)
        weights: Any = safe_open(folder / "model.safetensors", framework="numpy")
        # A model with a head has the encoder under this name.
        stored = {name.removeprefix("bert."): name for name in weights.keys()}  # noqa: SIM118
        self._words = weights.get_slice(stored.pop("embeddings.word_embeddings.weight"))
        self.weights: Mapping[str, Floats] = {
            name: weights.get_tensor(key).astype(np.float32, copy=False)
            for name, key in stored.items()
            if name.startswith(("embeddings.", "encoder.", "pooler.", "classifier."))
        }
        self._layers = 1 + max(
            int(name.split(".")[2]) for name in stored if name.startswith("encoder.layer.")
        )
        self._turn = threading.Lock()
        self._pools = ThreadpoolController()
        self._cores = max([pool["num_threads"] for pool in self._pools.info()], default=1)

    def states(self, texts: Sequence[Encoding]) -> Iterator[Floats]:
        """The last hidden states of each text: shape (tokens, hidden size), float32."""
        with ThreadPoolExecutor(self._cores) as threads:
            for several in batches(_batches(texts), self._cores):
                # On products this small several threads are slower than one.
                with self._turn, self._pools.limit(limits=1, user_api="blas"):
                    _ = self._filling
                    done = list(threads.map(self._states, several))
                yield from chain.from_iterable(done)

    @cached_property
    def _filling(self) -> tuple[int, int]:
        """The first of `_FILLINGS` with which a row of a product does not depend on its place."""
        weight = self.weights["encoder.layer.0.attention.self.query.weight"].T
        some = np.random.default_rng(0).standard_normal((3 * 96, len(weight)), dtype=np.float32)
        for rows, of_text in _FILLINGS:
            whole = some[: 3 * rows] @ weight
            slices = (slice(n, n + rows) for n in range(0, min(rows, _PLACES), of_text))
            if all(np.array_equal(some[each] @ weight, whole[each]) for each in slices):
                return rows, of_text
        return _FILLINGS[-1]

    def _states(self, texts: Sequence[Encoding]) -> list[Floats]:
        """The states of the texts of one batch."""
        rows, of_text = self._filling
        sizes = [len(text.ids) for text in texts]
        begins = [0, *accumulate(size + -size % of_text for size in sizes)]
        spans = [slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=False)]
        filled = begins[-1] + -begins[-1] % rows
        places, kinds, tokens = np.zeros((3, filled), dtype=np.int64)
        for text, span in zip(texts, spans, strict=True):
            places[span] = np.arange(len(text.ids))
            kinds[span], tokens[span] = text.type_ids, text.ids
        words = np.concatenate([self._words[token : token + 1] for token in tokens.tolist()])
        states = (
            words.astype(np.float32, copy=False)
            + self.weights["embeddings.position_embeddings.weight"][places]
            + self.weights["embeddings.token_type_embeddings.weight"][kinds]
        )
        states = self._norm(states, "embeddings")
        for number in range(self._layers):
            layer = f"encoder.layer.{number}"
            attended = self._attention(states, spans, layer)
            attended = self.linear(attended, f"{layer}.attention.output.dense")
            states = self._norm(states + attended, f"{layer}.attention.output")
            inner = self.linear(states, f"{layer}.intermediate.dense")
            for begin in range(0, len(inner), _BLOCK):
                inner[begin : begin + _BLOCK] = _gelu(inner[begin : begin + _BLOCK])
            states = self._norm(
                states + self.linear(inner, f"{layer}.output.dense"), f"{layer}.output"
            )
        return [states[span] for span in spans]

    def _attention(self, states: Floats, spans: Sequence[slice], layer: str) -> Floats:
        """softmax(Q K^T / sqrt(d)) V in each text for each head of d dimensions, side by side."""
        parts = [
            self.linear(states, f"{layer}.attention.self.{part}")
            for part in ("query", "key", "value")
        ]
        attended = np.zeros_like(parts[0])
        for span in spans:
            query, key, value = (
                part[span].reshape(span.stop - span.start, self._heads, -1).transpose(1, 0, 2)
                for part in parts
            )
            scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            attended[span] = (weights @ value).transpose(1, 0, 2).reshape(query.shape[1], -1)
        return attended

    def linear(self, states: Floats, name: str) -> Floats:
        """A fully connected layer, by the name of its weights."""
        weight, bias = (self.weights[f"{name}.{kind}"] for kind in ("weight", "bias"))
        product: Floats = states @ weight.T
        product += bias
        return product

    def _norm(self, states: Floats, name: str) -> Floats:
        """Layer normalisation."""
        weight, bias = (self.weights[f"{name}.LayerNorm.{kind}"] for kind in ("weight", "bias"))
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        normed: Floats = centred / np.sqrt(variance + self._epsilon) * weight + bias
        return normed


class BertEncoder:
    """An embedding model: BERT with mean or [CLS] pooling."""

    def __init__(self, folder: Path, prompts: Prompts = Prompts()) -> None:  # noqa: B008 - frozen
        """Raises `ModelError` for another architecture, and for files that cannot be read.

        `prompts` are those that it is to be used with.
        """
        with readable(folder):
            self._pooling = _pooling_of(folder, prompts)
            self._bert = Bert(folder, _longest(folder))
            # This uses every weight, so that a missing one is an error here.
            self.embed(["a"])

    def embed(self, texts: Sequence[str], prompt: str = "") -> Matrix:
        """Embed texts behind a prompt: shape (len(texts), hidden size), float32, unit rows."""
        encodings = [self._bert.tokenizer.encode(prompt + text) for text in texts]
        rows = [self._pooled(states) for states in self._bert.states(encodings)]
        width = self._bert.weights["embeddings.LayerNorm.bias"].shape[0]
        return np.asarray(rows, dtype=np.float32).reshape(len(rows), width)

    def _pooled(self, states: Floats) -> Vector:
        pooled = states[0] if self._pooling == "cls" else states.mean(axis=0)
        return np.asarray(pooled / max(float(np.linalg.norm(pooled)), 1e-12), dtype=np.float32)


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Raise `ModelError` for whatever goes wrong with the files of a model within."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{folder} cannot be read as a BERT model: {error!r}") from error


def _batches(texts: Iterable[Encoding]) -> Iterator[list[Encoding]]:
    """Texts in batches of at most `_BATCH` tokens; a text is in one batch."""
    batch: list[Encoding] = []
    for text in texts:
        if batch and sum(map(len, batch)) + len(text) > _BATCH:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _gelu(x: Floats) -> Floats:
    """GELU, x Phi(x), with erf as in Abramowitz and Stegun, 7.1.26: its error is below 1.5e-7."""
    z: Any = np.abs(x)
    z *= _SQRT_HALF
    t = 1 / (1 + np.float32(0.3275911) * z)
    gelu: Floats = np.float32(1.061405429) * t
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        gelu += np.float32(coefficient)
        gelu *= t
    z *= z
    gelu *= np.exp(np.negative(z, out=z), out=z)
    np.copysign(np.subtract(1, gelu, out=gelu), x, out=gelu)  # erf(x / sqrt 2)
    gelu += 1
    gelu *= x
    gelu *= np.float32(0.5)
    return gelu


def _pooling_of(folder: Path, prompts: Prompts) -> str:
    """How states are pooled, "mean" or "cls"; raises `ModelError` for what is not done here."""
    modules = json_of(folder / "modules.json")
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if kinds not in _MODULES or modules[0]["path"]:
        raise ModelError(f"{folder} has modules {', '.join(kinds)}")
    transformer = json_of(folder / "sentence_bert_config.json")
    task = transformer.get("transformer_task", "feature-extraction")
    if transformer.get("do_lower_case") or task != "feature-extraction":
        raise ModelError(f"{folder} lower-cases texts itself, or is made for {task}")
    own = folder / "config_sentence_transformers.json"
    is_open = None in (prompts.query, prompts.passage) and own.is_file()
    if is_open and json_of(own).get("default_prompt_name"):
        raise ModelError(f"{folder} puts a prompt before each text")
    pooling_config = json_of(folder / str(modules[1]["path"]) / "config.json")
    if prompts.are_given and not pooling_config.get("include_prompt", True):
        raise ModelError(f"{folder} does not pool the words of a prompt")
    pooling = _pooling(pooling_config)
    if pooling not in ("mean", "cls"):
        raise ModelError(f"{folder} pools by {pooling}")
    return pooling


def _pooling(config: Mapping[str, Any]) -> str:
    """The mode of pooling, in the words of sentence-transformers 5 and 6."""
    if "pooling_mode" in config:
        return str(config["pooling_mode"])
    modes = [name for name, chosen in config.items() if name.startswith("pooling_") and chosen]
    names = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    return names.get(modes[0], modes[0]) if len(modes) == 1 else ", ".join(modes)


def _longest(folder: Path) -> Any:
    """The maximum number of tokens of a text, including [CLS] and [SEP]."""
    config = json_of(folder / "sentence_bert_config.json")
    longest = config.get("max_seq_length")
    if longest is None:
        longest = json_of(folder / "tokenizer_config.json")["model_max_length"]
    return longest


def json_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
