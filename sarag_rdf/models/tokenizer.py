"""Counts tokens as a model does, with a tokenizer of the Hugging Face format."""

from __future__ import annotations

import logging

from sarag_rdf.errors import ModelError
from sarag_rdf.ports import CountTokens

_LOG = logging.getLogger(__name__)


def token_counter(name: str) -> CountTokens:
    """The tokenizer in a folder, or of a model by name, which may be downloaded.

    Raises `ModelError` if it cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        _LOG.debug("no tokenizer", exc_info=True)
        raise ModelError(
            f"no tokenizer can be loaded from '{name}': give --tokenizer a folder with "
            "tokenizer.json, or the name of a model that this machine can reach"
        ) from error

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False, verbose=False))

    return count
