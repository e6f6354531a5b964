"""Parts of the OpenAPI description: schemas, responses, the paths of pages and of ``/v1``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sarag_rdf.kg.registry import strategies
from sarag_rdf.server import explore
from sarag_rdf.server.http import RDF_TYPES, RESULT_TYPES
from sarag_rdf.server.openai_door import FIXED
from sarag_rdf.server.resource import FORMATS as RESOURCE_FORMATS
from sarag_rdf.server.resource import HTML, MAX_PAGE
from sarag_rdf.server.resource import PATH as RESOURCE_PATH

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
IRIS: Json = {"type": "array", "items": {"type": "string", "format": "uri"}}
NAMES: Json = {"type": "array", "items": TEXT}
OBJECT: Json = {"type": "object"}
OBJECTS: Json = {"type": "array", "items": OBJECT}
NUMBER: Json = {"type": "number"}
INTEGER: Json = {"type": "integer"}
IRI: Json = {"type": "string", "format": "uri"}
TOKEN: Json = {"security": [{"token": []}, {"password": []}]}
RDF_MEDIA_TYPES = tuple(RDF_TYPES)[:7]
"""Media types of RDF without their aliases."""
TABLE_MEDIA_TYPES = tuple(RESULT_TYPES)[:4]
"""Media types of query results without their aliases."""


def parameter(name: str, description: str, schema: Json, *, required: bool = False) -> Json:
    """A parameter in the query string; an array is given by repeating the parameter."""
    declared = {
        "name": name,
        "in": "query",
        "description": description,
        "required": required,
        "schema": schema,
    }
    return declared | ({"style": "form", "explode": True} if "items" in schema else {})


def content(media_types: Iterable[str], schema: Json = TEXT) -> Json:
    """A schema by media type."""
    return {media_type: {"schema": schema} for media_type in media_types}


def responses(successes: Mapping[int, Json], errors: str) -> Json:
    """Responses by status; `errors` are names of components such as ``E400``."""
    references = {name[1:]: {"$ref": f"#/components/responses/{name}"} for name in errors.split()}
    return {str(status): response for status, response in successes.items()} | references


DATASET: dict[str, tuple[str, Json]] = {
    "over": ("Parts of the graph to query: documents, names of imported graphs, or all.", NAMES),
    "default-graph-uri": ("Graphs of which the default graph of the query consists.", IRIS),
    "named-graph-uri": ("Named graphs of the query.", IRIS),
}


OPENAI_ERROR: Final[Json] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": TEXT,
                "type": TEXT,
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
        "schema": {"type": "string", "enum": list(strategies("reasoner"))},
    }
    listed = "The reasoners as models of OpenAI's API; 404 without a model endpoint."
    every = {"object": TEXT, "data": {"type": "array", "items": _MODEL}}
    return {
        "/v1/models": {"get": _models("models", listed, [], _closed(every))},
        "/v1/models/{name}": {"get": _models("model", "One reasoner as a model.", [name], _MODEL)},
        "/v1/chat/completions": {"post": _chat_completions(model, parameters)},
    }


def _closed(properties: Mapping[str, Json]) -> Json:
    """An object that always has these properties."""
    return {"type": "object", "required": list(properties), "properties": dict(properties)}


_MODEL: Final = _closed({"id": TEXT, "object": TEXT, "created": INTEGER, "owned_by": TEXT})
_COMPLETION: Final = _closed(
    {
        "id": TEXT,
        "object": TEXT,
        "created": INTEGER,
        "model": TEXT,
        "choices": OBJECTS,
        "usage": OBJECT,
        "sarag": _closed({"outcome": TEXT, "citations": OBJECTS}),
    }
)


def _models(operation: str, description: str, parameters: list[Json], schema: Json) -> Json:
    return {
        "operationId": operation,
        "description": description,
        "parameters": parameters,
        "responses": _responses({"application/json": {"schema": schema}}, "401 403 404"),
    }


def _chat_completions(model: Json, parameters: Mapping[str, Json]) -> Json:
    options = {key: each for key, each in parameters.items() if key not in FIXED}
    message = {"type": "object", "properties": {"role": TEXT, "content": {}}}
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
    answer = {"application/json": {"schema": _COMPLETION}, "text/event-stream": {"schema": TEXT}}
    return {
        "operationId": "chatCompletions",
        "description": "Answers the last message of the user as OpenAI's chat completions do, "
        "with the citations as annotations; other parameters of OpenAI are ignored.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": _responses(answer, "400 401 403 404 408 409 413 429 500 502 503 504 507"),
    }


def _responses(content: Json, errors: str) -> Json:
    references = {each: {"$ref": f"#/components/responses/O{each}"} for each in errors.split()}
    return {"200": {"description": "The result.", "content": content}, **references}


def page_paths() -> Json:
    """The paths ``/resource``, those of IRIs, and ``/graph/...``."""
    return {
        RESOURCE_PATH: {"get": _resource()},
        "/{path}": {"get": _resource_by_path()},
        "/graph/neighbours": {"get": _neighbours()},
        "/graph/complete": {"get": _complete()},
        "/graph/names": {"post": _names()},
        "/graph/prefixes": {
            "get": _read_graph(
                "prefixes",
                "Prefixes of common vocabularies, of the graph, and of its ontologies.",
                [],
                {"type": "object", "properties": {"prefixes": OBJECT}},
            )
        },
    }


_LINK: Json = {
    "Link": {
        "description": "What is described (describes), where (describedby), and the formats "
        "(alternate).",
        "schema": TEXT,
    }
}


def _resource() -> Json:
    pages = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
    return {
        "operationId": "resource",
        "description": "The description of a resource: the statements about it and those that lead "
        "to it, or a page that shows them.",
        "parameters": [
            parameter("iri", "IRI of the resource.", IRI, required=True),
            parameter(
                "format", "The format, instead of Accept.", TEXT | {"enum": list(RESOURCE_FORMATS)}
            ),
            {
                "name": "If-None-Match",
                "in": "header",
                "description": "Entity tags of representations that the client has.",
                "schema": TEXT,
            },
            parameter("page", "Page of the instances of a class or property.", pages),
        ],
        "responses": responses(
            {
                200: {
                    "description": "The description.",
                    "headers": {"ETag": {"schema": TEXT}, **_LINK},
                    "content": content((*RDF_MEDIA_TYPES, HTML)),
                },
                304: {"description": "The client has this representation already."},
                303: {"description": "The resource was merged into another: see Location."},
            },
            "E400 E403 E404 E406 E503 E504 E507",
        ),
    }


def _resource_by_path() -> Json:
    return {
        "operationId": "resourceByPath",
        "description": "A resource of the graph, such as /entity/NAME: its IRI, or what follows "
        "the base in its IRI.",
        "parameters": [
            {
                "name": "path",
                "in": "path",
                "required": True,
                "description": "Rest of the IRI.",
                "schema": TEXT,
            }
        ],
        "responses": responses(
            {
                303: {
                    "description": "Its description, as Location.",
                    "headers": {"Location": {"schema": IRI}, **_LINK},
                }
            },
            "E403 E404 E503 E504 E507",
        ),
    }


# ---------------------------------------------------------------------------- Explorer

_OVER: Json = parameter("over", *DATASET["over"])
_PART: Json = {"$ref": "#/components/schemas/Part"}


def _read_graph(name: str, description: str, parameters: list[Json], schema: Json) -> Json:
    media_types = content(["application/json"], schema)
    return {
        "operationId": name,
        "description": description,
        "parameters": [*parameters, _OVER],
        "responses": responses(
            {200: {"description": "The result.", "content": media_types}}, "E400 E503 E504 E507"
        ),
    }


def _whole(most: int, default: int) -> Json:
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


def _neighbours() -> Json:
    return _read_graph(
        "neighbours",
        "The statements around a node, with the sentences that state them, or the instances of a "
        "class; and how many neighbours are left out.",
        [
            parameter("iri", "IRI of the node.", IRI, required=True),
            parameter(
                "limit",
                "Neighbours at most.",
                _whole(explore.MAX_NODES, explore.DEFAULT_NEIGHBOURS),
            ),
        ],
        _PART,
    )


def _complete() -> Json:
    kinds = {"type": "string", "enum": list(explore.KINDS), "default": "entity"}
    return _read_graph(
        "complete",
        "Classes, properties or entities of the graph whose names begin with a text.",
        [
            parameter("prefix", "The text.", {"type": "string", "maxLength": explore.MAX_PREFIX}),
            parameter("kind", "What is looked up.", kinds),
            parameter("limit", "Terms at most.", _whole(explore.MAX_TERMS, explore.MAX_TERMS)),
        ],
        {"type": "object", "properties": {"terms": OBJECTS}},
    )


def _names() -> Json:
    operation = _read_graph(
        "names",
        "Names and classes of nodes; the body is a list of IRIs.",
        [],
        {"type": "object", "properties": {"nodes": OBJECTS}},
    )
    schema = IRIS | {"maxItems": explore.MAX_NODES}
    operation["requestBody"] = {
        "required": True,
        "content": content(["application/json"], schema),
    }
    operation["responses"] |= responses({}, "E408 E413 E415")
    return operation
