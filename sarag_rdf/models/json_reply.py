"""From the text of a model's reply to an object that satisfies a JSON schema; nothing is run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import json_repair
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from sarag_rdf.base.prompts import restored

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MESSAGE = 300


def parse_reply(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in `text` that satisfies `schema`.

    Tolerated: prose or code fences around it, a ``<think>`` part before it, and slips such as
    trailing commas. Not tolerated: an object that is never closed, since what is missing would be
    lost unseen. Special tokens that were defused in the prompt are restored. Raises ValueError with
    one line, at most some 400 characters, that a model can use to do better.
    """
    data: dict[str, Any] = restored(_without_surrogates(_object(_THOUGHTS.sub("", text))))
    problem = schema_problem(data, schema)
    if problem:
        raise ValueError(problem)
    return data


def schema_problem(data: object, schema: Mapping[str, Any]) -> str:
    """Say in one line what in `data` violates `schema`, or return an empty string."""
    error = best_match(Draft202012Validator(schema).iter_errors(data))
    if error is None:
        return ""
    message = " ".join(str(error.message).split())
    if len(message) > _MESSAGE:
        message = f"{message[: _MESSAGE // 2]} ... {message[-_MESSAGE // 2 :]}"
    return f"at {error.json_path}: {message}"


def _object(text: str) -> dict[str, Any]:
    begin = text.find("{")
    if begin < 0:
        raise ValueError("there is no JSON object in it")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError):
        value = _repaired(text[begin : text.rfind("}") + 1])
    if not isinstance(value, dict):
        raise ValueError("there is no single JSON object in it")  # noqa: TRY004 - bad reply
    return value


def _repaired(text: str) -> object:
    bare = _STRING.sub("", text)
    is_open = any(bare.count(left) > bare.count(right) for left, right in ("{}", "[]"))
    if not text or is_open or '"' in bare:
        raise ValueError("the JSON object ends before it is closed")
    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    return value


def _without_surrogates(data: dict[str, Any]) -> dict[str, Any]:
    """Replace halves of surrogate pairs, which no UTF-8 text can hold, by U+FFFD."""
    text = json.dumps(data, ensure_ascii=False)
    if not re.search("[\ud800-\udfff]", text):
        return data
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    result: dict[str, Any] = json.loads(clean)
    return result
