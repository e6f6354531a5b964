"""Tokens as a model counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sarag_rdf.base.errors import ModelError
from sarag_rdf.models.bert import token_counter
from sarag_rdf.models.local_embedder import DEFAULT_MODEL, _packaged_path


@pytest.fixture
def packaged() -> str:
    path = _packaged_path(DEFAULT_MODEL)
    if path is None:
        pytest.skip("the default embedding model's package is not installed")
    return str(path)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("the river", 2),
        ("The River?", 3),
        ("[CLS]", 1),
        ("electroencephalography", 5),
        ("the river " * 1000, 2000),
    ],
)
def test_word_pieces_without_the_marks_around_them(packaged: str, text: str, tokens: int) -> None:
    """The long word is electro, ence, pha, log, raphy. The last text is longer than the model's."""
    assert token_counter(packaged)(text) == tokens


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no tokenizer can be loaded from .*: give --tokenizer"):
        token_counter(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{}", "no JSON", '{"model": {"type": "odd"}}'])
def test_a_tokenizer_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    (tmp_path / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast"}'
    )
    with pytest.raises(ModelError, match="no tokenizer can be loaded"):
        token_counter(str(tmp_path))


def test_a_name_that_is_nowhere() -> None:
    with pytest.raises(ModelError, match="no tokenizer can be loaded from 'no/such-model'"):
        token_counter("no/such-model")
