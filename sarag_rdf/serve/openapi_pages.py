"""The OpenAPI description of pages of resources, and of the data of the explorer."""

from __future__ import annotations

from sarag_rdf.serve import explore
from sarag_rdf.serve.openapi_parts import (
    DATASET,
    IRI,
    IRIS,
    OBJECT,
    OBJECTS,
    RDF_MEDIA_TYPES,
    TEXT,
    Json,
    content,
    parameter,
    responses,
)
from sarag_rdf.serve.resource import FORMATS as RESOURCE_FORMATS
from sarag_rdf.serve.resource import HTML, MAX_PAGE
from sarag_rdf.serve.resource import PATH as RESOURCE_PATH


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
            "E400 E403 E404 E406 E503 E504",
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
            "E403 E404 E503 E504",
        ),
    }


# ---------------------------------------------------------------------------- Explorer

_OVER: Json = parameter("over", *DATASET["over"])
_PART: Json = {"$ref": "#/components/schemas/Part"}


def _read_graph(name: str, description: str, parameters: list[Json], schema: Json) -> Json:
    found = content(["application/json"], schema)
    return {
        "operationId": name,
        "description": description,
        "parameters": [*parameters, _OVER],
        "responses": responses(
            {200: {"description": "The result.", "content": found}}, "E400 E503 E504"
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
