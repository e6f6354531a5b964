"""The language of a text as a BCP 47 tag, in lower case as RDF literals are compared."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

from pyoxigraph import Literal

from sarag_rdf.cache_errors import lack_of_room
from sarag_rdf.errors import DiskFullError, MissingDependencyError, ModelError, UsageError

AUTO = "auto"
DEFAULT = "en"
MIN_CHARS = 60
"""Shorter texts give the detector too little to go by."""
MIN_PROBABILITY = 0.8
"""Below it the default is taken.

On 1,890 English encyclopaedia paragraphs the detector is wrong 12 times, never with a
probability above 0.66; of sentences in 50 other languages the threshold loses about one in ten.
"""
SAMPLE_CHARS = 2_000
"""The detector walks byte by byte in Python; more than this does not change its mind."""

_TAG = re.compile(r"(?:[a-z]{2,8}|[ix](?=-))(?:-[a-z0-9]{1,8})*")
_NO_LANGUAGE = "zxx"
_SHORTEST = {"kik": "ki"}
"""The detector's labels that BCP 47 writes with a shorter subtag."""


def is_tag(tag: str) -> bool:
    """Tell whether a string is a BCP 47 tag that a literal of RDF may bear."""
    if not _TAG.fullmatch(tag.lower()):
        return False
    try:
        Literal("", language=tag.lower())
    except ValueError:  # The shape is right, but not the order or length of subtags.
        return False
    return True


def checked_language(language: str) -> str:
    """Return "auto" or a tag in lower case; raise `UsageError` for anything else."""
    if not is_tag(language):
        raise UsageError(
            f"'{language}' is not a language: give a BCP 47 tag such as en, de or pt-BR, "
            f"or '{AUTO}' to detect it"
        )
    return language.lower()


def language_of(text: str, declared: str, language: str) -> str:
    """Choose a text's language: the one asked for, else the declared, else the detected one."""
    if language != AUTO:
        return language
    declared = declared.strip().replace("_", "-").lower()
    if declared and is_tag(declared):
        return declared
    return detect(text)


def detect(text: str) -> str:
    """Detect the language of a text; "en" if it is short or the detector is not sure."""
    sample = text.strip()[:SAMPLE_CHARS]
    if len(sample) < MIN_CHARS:
        return DEFAULT
    label, probability = _identifier().classify(sample)
    if probability < MIN_PROBABILITY or label == _NO_LANGUAGE:
        return DEFAULT
    return _SHORTEST.get(label, str(label))


@cache
def _identifier() -> Any:
    try:
        langid = importlib.import_module("py3langid.langid")
    except ImportError:
        raise MissingDependencyError(
            "detecting languages needs py3langid: pip install 'py3langid>=0.4', "
            "or give the language, for example --language en"
        ) from None
    try:
        return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    except OSError as error:  # its model is unpacked into a temporary file
        what, _ = lack_of_room(error)
        raise (DiskFullError if what else ModelError)(
            f"the model that detects languages cannot be unpacked ({what or error}): see that "
            "there is room for temporary files, name another folder for them (TMPDIR), or give "
            "the language, for example --language en"
        ) from error
