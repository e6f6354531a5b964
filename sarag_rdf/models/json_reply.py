"""Parses the text of a model's reply into an object that satisfies a JSON schema."""

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
    """The object in `text`, which satisfies `schema`.

    Prose or code fences around it, a ``<think>`` part before it, and errors such as trailing commas
    are tolerated; an object that is not closed is not, because a part of it is missing. Special
    tokens that were defused in the prompt are restored. Raises ValueError with one line of at most
    some 400 characters, from which a model can correct its reply.
    """
    text = json.dumps(_object(_THOUGHTS.sub("", text)), ensure_ascii=False)
    # UTF-8 cannot encode unpaired surrogates.
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    data: dict[str, Any] = restored(json.loads(clean))
    problem = schema_problem(data, schema)
    if problem:
        raise ValueError(problem)
    return data


def schema_problem(data: object, schema: Mapping[str, Any]) -> str:
    """The violation of `schema` by `data` in one line; empty if there is none."""
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
