"""The NumPy encoder gives the vectors of sentence-transformers, or refuses a model."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sarag_rdf.base.errors import ModelError
from sarag_rdf.models.bert import BertEncoder
from sarag_rdf.models.local_embedder import SentenceTransformerEmbedder

TOLERANCE = 2e-6
"""The greatest difference between components of two vectors of a text."""
PROBES = (
    "Which river flows through Łódź, São Paulo or 東京?",
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
SENTENCE = "How many of the towns on the river have a bridge built before 1850? "
RANGES = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x600), (0x900, 0x980), (0x4E00, 0x4F00))


def strange_texts(count: int) -> list[str]:
    """Reproducible texts of up to 80 characters from several scripts."""
    draw = random.Random(7)
    return [
        "".join(chr(draw.randrange(*draw.choice(RANGES))) for _ in range(draw.randrange(80)))
        for _ in range(count)
    ]


TEXTS = [*PROBES, *(SENTENCE * n for n in (1, 2, 8, 16, 32, 200)), *strange_texts(100)]


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the small model, to be changed."""
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def change(path: Path, **settings: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def greatest_difference(folder: Path) -> float:
    from sentence_transformers import SentenceTransformer

    judge = SentenceTransformer(str(folder), device="cpu")
    expected = judge.encode(TEXTS, normalize_embeddings=True, convert_to_numpy=True)
    vectors = BertEncoder(folder).embed(TEXTS)
    assert vectors.shape == expected.shape
    assert vectors.dtype == np.float32
    return float(np.abs(vectors - expected).max())


def test_the_default_model() -> None:
    folder = SentenceTransformerEmbedder().folder
    assert greatest_difference(folder) < TOLERANCE


def test_pooling_by_cls_and_a_short_limit(model: Path) -> None:
    assert greatest_difference(model) < TOLERANCE


def test_pooling_by_mean(model: Path) -> None:
    change(model / "1_Pooling" / "config.json", pooling_mode="mean")
    assert greatest_difference(model) < TOLERANCE


def test_settings_of_former_versions(model: Path) -> None:
    """The names that sentence-transformers 2 to 4 wrote."""
    pooling = model / "1_Pooling" / "config.json"
    modes = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    pooling.write_text(json.dumps({"word_embedding_dimension": 48, **modes}))
    limits = {"max_seq_length": 16, "do_lower_case": False}
    (model / "sentence_bert_config.json").write_text(json.dumps(limits))
    modules = json.loads((model / "modules.json").read_text())
    for module, name in zip(modules, ("Transformer", "Pooling"), strict=True):
        module["type"] = f"sentence_transformers.models.{name}"
    (model / "modules.json").write_text(json.dumps(modules))
    assert greatest_difference(model) < TOLERANCE


def test_a_vector_does_not_depend_on_other_texts(model: Path) -> None:
    encoder = BertEncoder(model)
    together = encoder.embed(TEXTS)
    for row, text in zip(together, TEXTS, strict=True):
        np.testing.assert_array_equal(encoder.embed([text])[0], row)
    backwards = encoder.embed(TEXTS[::-1])[::-1]
    np.testing.assert_array_equal(backwards, together)


ALONE = """
import json, sys
from pathlib import Path
from sarag_rdf.models.bert import BertEncoder
encoder, texts = BertEncoder(Path(sys.argv[1])), json.loads(sys.argv[2])
together = encoder.embed(texts)
assert all((encoder.embed([t])[0] == row).all() for t, row in zip(texts, together, strict=True))
"""


@pytest.mark.parametrize("processor", ["Haswell", "Prescott", "SkylakeX"])
def test_nor_does_it_on_other_processors(model: Path, processor: str) -> None:
    """OpenBLAS has a product of matrices for each, whose sums have another order."""
    flags = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    needed = {"Haswell": " avx2", "Prescott": " pni", "SkylakeX": " avx512vl"}[processor]
    if needed not in flags:
        pytest.skip(f"optional: no processor with{needed}")
    command = [sys.executable, "-c", ALONE, str(model), json.dumps(TEXTS)]
    subprocess.run(command, check=True, env={**os.environ, "OPENBLAS_CORETYPE": processor})


def test_no_text(model: Path) -> None:
    assert BertEncoder(model).embed([]).shape == (0, 48)


def modules_with(kind: str) -> Callable[[Path], object]:
    def add(model: Path) -> None:
        modules = json.loads((model / "modules.json").read_text())
        modules.append(
            {"idx": 2, "name": "2", "path": "2", "type": f"sentence_transformers.{kind}"}
        )
        (model / "modules.json").write_text(json.dumps(modules))

    return add


def setting(file: str, **settings: Any) -> Callable[[Path], object]:
    return lambda model: change(model / file, **settings)


def without(file: str) -> Callable[[Path], object]:
    return lambda model: (model / file).unlink()


def truncated(file: str) -> Callable[[Path], object]:
    return lambda model: (model / file).write_bytes((model / file).read_bytes()[:-1000])


def other_weights(model: Path) -> None:
    from safetensors.numpy import load_file, save_file

    weights = load_file(model / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, model / "model.safetensors")


REFUSED: dict[str, Callable[[Path], object]] = {
    "another architecture": setting("config.json", model_type="mpnet"),
    "another activation": setting("config.json", hidden_act="relu"),
    "relative positions": setting("config.json", position_embedding_type="relative_key"),
    "a decoder": setting("config.json", is_decoder=True),
    "more places than there are": setting("tokenizer_config.json", model_max_length=1024),
    "no limit": setting("tokenizer_config.json", model_max_length=None),
    "a dense layer": modules_with("models.Dense"),
    "another pooling": setting("1_Pooling/config.json", pooling_mode="max"),
    "two poolings": setting("1_Pooling/config.json", pooling_mode=["cls", "mean"]),
    "lower case": setting("sentence_bert_config.json", do_lower_case=True),
    "a prompt": setting(
        "config_sentence_transformers.json", default_prompt_name="q", prompts={"q": "query: "}
    ),
    "no modules": without("modules.json"),
    "no tokenizer": without("tokenizer.json"),
    "no weights": without("model.safetensors"),
    "a truncated tokenizer": truncated("tokenizer.json"),
    "truncated weights": truncated("model.safetensors"),
    "truncated settings": lambda model: (model / "config.json").write_text("{"),
    "settings of another kind": lambda model: (model / "config.json").write_text("[]"),
    "a missing weight": other_weights,
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_give_other_vectors_is_refused(case: str, model: Path) -> None:
    BertEncoder(model)
    REFUSED[case](model)
    with pytest.raises(ModelError):
        BertEncoder(model)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        BertEncoder(tmp_path)
