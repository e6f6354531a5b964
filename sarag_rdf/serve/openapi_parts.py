"""Parts of OpenAPI descriptions: schemas, parameters, contents, responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sarag_rdf.serve.http import RDF_TYPES, RESULT_TYPES

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
