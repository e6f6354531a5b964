"""The OpenAPI description of ``/v1``, the interface of OpenAI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sarag_rdf.kg.registry import REASONERS
from sarag_rdf.serve.openai_door import FIXED

Json = dict[str, Any]

_TEXT: Final[Json] = {"type": "string"}
_OBJECT: Final[Json] = {"type": "object"}
OPENAI_ERROR: Final[Json] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": _TEXT,
                "type": _TEXT,
                "param": {"type": "null"},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
"""The schema of an error."""


def openai_paths(model: Json, parameters: Mapping[str, Json]) -> Json:
    """The paths; `model` is the schema of a reasoner, `parameters` are those of ``/ask``."""
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "Name of a reasoner.",
        "schema": {"type": "string", "enum": list(REASONERS)},
    }
    listed = "The reasoners as models of OpenAI's API; 404 without a model endpoint."
    return {
        "/v1/models": {"get": _models("models", listed, [])},
        "/v1/models/{name}": {"get": _models("model", "One reasoner as a model.", [name])},
        "/v1/chat/completions": {"post": _chat_completions(model, parameters)},
    }


def _models(operation: str, description: str, parameters: list[Json]) -> Json:
    return {
        "operationId": operation,
        "description": description,
        "parameters": parameters,
        "responses": _responses({"application/json": {"schema": _OBJECT}}, "401 403 404"),
    }


def _chat_completions(model: Json, parameters: Mapping[str, Json]) -> Json:
    options = {key: each for key, each in parameters.items() if key not in FIXED}
    message = {"type": "object", "properties": {"role": _TEXT, "content": {}}}
    properties = {
        "model": model,
        "messages": {"type": "array", "items": message, "minItems": 1},
        "stream": {"type": "boolean", "default": False},
        "stream_options": {
            "type": "object",
            "properties": {"include_usage": {"type": "boolean"}},
        },
        "sarag": {
            "type": "object",
            "description": "Further parameters of /ask.",
            "properties": options,
            "additionalProperties": False,
        },
    }
    schema = {"type": "object", "required": ["model", "messages"], "properties": properties}
    answer = {"application/json": {"schema": _OBJECT}, "text/event-stream": {"schema": _TEXT}}
    return {
        "operationId": "chatCompletions",
        "description": "Answers the last message of the user as OpenAI's chat completions do, "
        "with the citations as annotations; other parameters of OpenAI are ignored.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": _responses(answer, "400 401 403 404 408 409 413 429 500 502 503 504"),
    }


def _responses(content: Json, errors: str) -> Json:
    references = {each: {"$ref": f"#/components/responses/O{each}"} for each in errors.split()}
    return {"200": {"description": "The result.", "content": content}, **references}
