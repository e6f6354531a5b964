"""The language of a text as a BCP 47 tag, in lower case, as language tags of RDF are compared."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

from pyoxigraph import Literal

from sarag_rdf.base.errors import (
    DiskFullError,
    MissingDependencyError,
    ModelError,
    UsageError,
    lack_of_room,
)

AUTO = "auto"
DEFAULT = "en"
MIN_CHARS = 60
"""Shorter texts are too short to detect a language reliably."""
MIN_PROBABILITY = 0.8
"""Below this probability the default is used.

On 1,890 English encyclopaedia paragraphs the detector is wrong 12 times, never with a
probability above 0.66; among sentences in 50 other languages about one in ten falls below the
threshold.
"""
SAMPLE_CHARS = 2_000
"""Characters that the detector looks at: it is slow, and more text does not change the result."""

_TAG = re.compile(r"(?:[a-z]{2,8}|[ix](?=-))(?:-[a-z0-9]{1,8})*")
_NO_LINGUISTIC_CONTENT = "zxx"
_SHORTER_SUBTAG = {"kik": "ki"}
"""Labels of the detector for which BCP 47 has a shorter subtag."""


def is_tag(tag: str) -> bool:
    """Whether a string is a BCP 47 tag that is allowed in an RDF literal."""
    try:
        Literal("", language=tag.lower())
    except ValueError:  # also where the order or length of subtags is wrong
        return False
    return _TAG.fullmatch(tag.lower()) is not None


def parse_language(language: str) -> str:
    """Return "auto" or a tag in lower case; raise `UsageError` for anything else."""
    if not is_tag(language):
        raise UsageError(
            f"'{language}' is not a language: give a BCP 47 tag such as en, de or pt-BR, "
            f"or '{AUTO}' to detect it"
        )
    return language.lower()


def language_of(text: str, declared: str, language: str) -> str:
    """The language of a text: `language` unless it is "auto", else the declared or detected one."""
    if language != AUTO:
        return language
    declared = declared.strip().replace("_", "-").lower()
    if declared and is_tag(declared):
        return declared
    return detect(text)


def detect(text: str) -> str:
    """Detect the language of a text; "en" if it is short or the probability is low."""
    sample = text.strip()[:SAMPLE_CHARS]
    if len(sample) < MIN_CHARS:
        return DEFAULT
    label, probability = _identifier().classify(sample)
    if probability < MIN_PROBABILITY or label == _NO_LINGUISTIC_CONTENT:
        return DEFAULT
    return _SHORTER_SUBTAG.get(label, str(label))


@cache
def _identifier() -> Any:
    try:
        langid = importlib.import_module("py3langid.langid")
    except ImportError:
        raise MissingDependencyError(
            "language detection needs py3langid: pip install 'py3langid>=0.4', "
            "or set the language, for example --language en"
        ) from None
    try:
        return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    except OSError as error:  # its model is unpacked into a temporary file
        what, _ = lack_of_room(error)
        raise (DiskFullError if what else ModelError)(
            f"the language detection model cannot be unpacked ({what or error}): free space for "
            "temporary files, use another folder for them (TMPDIR), or set the language, for "
            "example --language en"
        ) from error
