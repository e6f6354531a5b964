"""The OpenAPI 3.1 description of all paths; parameters of strategies come from their options.

`openapi_document` is generated for each request. Strategies declare their options as data (see
`sarag_rdf.base.options`), and so a new option or strategy is described without a change here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sarag_rdf import __version__
from sarag_rdf.base.options import DEFAULT_LIMIT, MAX_TOKENS, Option, declared_options
from sarag_rdf.kg.registry import strategies
from sarag_rdf.server.graph_store import PATH
from sarag_rdf.server.openapi_parts import (
    DATASET,
    INTEGER,
    IRI,
    IRIS,
    NUMBER,
    OBJECT,
    OBJECTS,
    OPENAI_ERROR,
    RDF_MEDIA_TYPES,
    TABLE_MEDIA_TYPES,
    TEXT,
    TOKEN,
    Json,
    content,
    openai_paths,
    page_paths,
    parameter,
    responses,
)
from sarag_rdf.server.questions import (
    MAX_LIMIT,
    MAX_PARTS,
    MAX_TEXT,
    MAX_WEIGHTS,
    RETRIEVER_PARAMETERS,
    parameter_names,
)
from sarag_rdf.server.sparql import FORM, QUERY, UPDATE


def openapi_document(url: str) -> Json:
    """The description of the server at a URL."""
    document = _document(url)
    for item in document["paths"].values():
        for name, operation in item.items():
            if name != "parameters":
                limits = responses({}, "E401 E403 E429")
                operation["responses"] = limits | operation["responses"]
                operation.setdefault("security", [{}, {"token": []}, {"password": []}])
    return document


def _document(url: str) -> Json:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sarag",
            "version": __version__,
            "description": "A knowledge graph: SPARQL 1.1 Protocol, Graph Store Protocol, and "
            "search and answers by spreading activation.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url}],
        "paths": {
            "/sparql": {"get": _query_by_get(), "post": _query_by_post()},
            "/update": {"post": _update()},
            PATH: {
                "parameters": [
                    parameter("graph", "IRI of the graph.", IRI),
                    parameter("default", "The default graph, instead of an IRI.", TEXT)
                    | {"allowEmptyValue": True},
                ],
                **_graph_operations("graph"),
            },
            PATH + "/{path}": {
                "parameters": [
                    {
                        "name": "path",
                        "in": "path",
                        "required": True,
                        "description": "Rest of the URL, which is the IRI of the graph.",
                        "schema": TEXT,
                    }
                ],
                **_graph_operations("graphByPath"),
            },
            **page_paths(),
            "/search": _question_operations("search"),
            "/ask": _question_operations("ask"),
            **openai_paths(
                _strategy_schema("reasoner", "single"),
                {**question_parameters("ask"), "weights": _WEIGHTS_IN_BODY},
            ),
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "description": "Metrics in the format of Prometheus, for clients on the "
                    "server's machine, and for those with a token.",
                    "responses": responses(
                        {200: {"description": "The metrics.", "content": content(["text/plain"])}},
                        "E404",
                    ),
                }
            },
        },
        "components": {
            "schemas": _SCHEMAS,
            "responses": _error_responses(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the server's --tokens, or that in its environment "
                    "variable SARAG_SERVE_TOKEN.",
                },
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "A token as the password, with any user name, as browsers send "
                    "it.",
                },
            },
        },
    }


# ------------------------------------------------------------------ SPARQL 1.1 Protocol

_USING: dict[str, tuple[str, Json]] = {
    "using-graph-uri": ("Graphs of which the default graph of WHERE consists.", IRIS),
    "using-named-graph-uri": ("Named graphs of WHERE.", IRIS),
}
_QUERY_TEXT = {"query": ("A SPARQL 1.1 query.", TEXT)}
_UPDATE_TEXT = {"update": ("A SPARQL 1.1 update.", TEXT)}


def _parameters(declared: Mapping[str, tuple[str, Json]]) -> list[Json]:
    return [parameter(name, *declaration) for name, declaration in declared.items()]


def _form(declared: Mapping[str, tuple[str, Json]], **more: Any) -> Json:
    properties = {
        name: schema | {"description": description}
        for name, (description, schema) in declared.items()
    }
    return {FORM: {"schema": {"type": "object", "properties": properties, **more}}}


def _result() -> Json:
    return {
        "description": "The result: a table for SELECT and ASK, RDF for CONSTRUCT and DESCRIBE.",
        "headers": {
            "X-SPARQL-MaxRows": {
                "description": "Maximum number of rows or triples.",
                "schema": INTEGER,
            },
            "X-SPARQL-Truncated": {
                "description": "Whether the result was cut there.",
                "schema": {"type": "string", "enum": ["true", "false"]},
            },
        },
        "content": content((*TABLE_MEDIA_TYPES, *RDF_MEDIA_TYPES)),
    }


def _query_by_get() -> Json:
    return {
        "operationId": "query",
        "description": "Runs a query, or returns the service description if there is none.",
        "parameters": _parameters(_QUERY_TEXT | DATASET),
        "responses": responses({200: _result()}, "E400 E403 E405 E406 E413 E503 E504 E507"),
    }


def _query_by_post() -> Json:
    either = [{"required": ["query"]}, {"required": ["update"]}]
    return {
        "operationId": "queryPost",
        "description": "Runs a query; on a writable server also an update, as /update does.",
        "parameters": _parameters(DATASET | _USING),
        "requestBody": {
            "required": True,
            "content": _form(_QUERY_TEXT | DATASET | _UPDATE_TEXT | _USING, oneOf=either)
            | content((QUERY, UPDATE)),
        },
        "responses": responses(
            {200: _result(), 204: {"description": "The update was applied."}},
            "E400 E401 E403 E406 E408 E409 E413 E415 E503 E504 E507",
        ),
    }


def _update() -> Json:
    return {
        "operationId": "update",
        **TOKEN,
        "description": "Applies a SPARQL 1.1 update as one transaction.",
        "parameters": _parameters(_USING),
        "requestBody": {
            "required": True,
            "content": _form(_UPDATE_TEXT | _USING, required=["update"]) | content((UPDATE,)),
        },
        "responses": responses(
            {204: {"description": "The update was applied."}},
            "E400 E401 E403 E408 E409 E413 E415 E503 E504 E507",
        ),
    }


# ---------------------------------------------------------------- Graph Store Protocol


def _graph_operations(name: str) -> Json:
    body = {
        "required": True,
        "content": content(RDF_MEDIA_TYPES) | content(("multipart/form-data",), OBJECT),
    }
    writing = "E400 E401 E403 E408 E409 E413 E415 E503 E504 E507"
    new = "" if name == "graphByPath" else " Without a graph, creates one; Location is its IRI."
    created = {"description": "The graph was created."}
    return {
        "get": {
            "operationId": f"{name}Get",
            "description": "Returns all triples of a graph, without a limit.",
            "responses": responses(
                {200: {"description": "The graph.", "content": content(RDF_MEDIA_TYPES)}},
                "E400 E403 E404 E406 E503 E504 E507",
            ),
        },
        "put": {
            "operationId": f"{name}Put",
            **TOKEN,
            "description": "Creates or replaces a graph.",
            "requestBody": body,
            "responses": responses(
                {201: created, 204: {"description": "The graph was replaced."}}, writing
            ),
        },
        "post": {
            "operationId": f"{name}Post",
            **TOKEN,
            "description": f"Adds triples to a graph.{new}",
            "requestBody": body,
            "responses": responses(
                {201: created, 204: {"description": "The triples were added."}}, writing
            ),
        },
        "delete": {
            "operationId": f"{name}Delete",
            **TOKEN,
            "description": "Deletes a graph.",
            "responses": responses(
                {204: {"description": "The graph was deleted."}},
                "E400 E401 E403 E404 E409 E503 E504 E507",
            ),
        },
    }


# ---------------------------------------------------------------------------- Questions

_SUMMARIES = {
    "search": "Documents and relationships for a question, as sarag search --json prints them.",
    "ask": "An answer with its evidence, as sarag ask --json prints it; the evidence alone if the "
    "server was started without a model.",
}


def _question_operations(method: Literal["search", "ask"]) -> Json:
    schemas = question_parameters(method)
    summary = _SUMMARIES[method]
    result = {"$ref": f"#/components/schemas/{'Found' if method == 'search' else 'Answer'}"}
    common = {
        "summary": summary,
        "responses": responses(
            {
                200: {
                    "description": "The result.",
                    "content": content(["application/json"], result),
                }
            },
            "J400 E403 J408 J409 J413 J415 J500 J502 J503 J504 J507",
        ),
    }
    parameters = [
        parameter(
            name,
            schema["description"],
            {key: value for key, value in schema.items() if key != "description"},
            required=name == "q",
        )
        for name, schema in schemas.items()
    ]
    body = {
        "type": "object",
        "required": ["q"],
        "properties": {**schemas, "weights": _WEIGHTS_IN_BODY},
        "additionalProperties": False,
    }
    return {
        "get": {
            "operationId": method,
            "description": summary,
            "parameters": parameters,
            **common,
        },
        "post": {
            "operationId": f"{method}Post",
            "description": f"{summary} The question and its options are a JSON object.",
            "requestBody": {"required": True, "content": content(["application/json"], body)},
            **common,
        },
    }


def question_parameters(method: Literal["search", "ask"]) -> dict[str, Json]:
    """Parameter -> JSON Schema with a description."""
    presets = {
        name: class_.presets for name, class_ in strategies("retriever").items() if class_.presets
    }
    schemas: dict[str, Json] = {
        "q": {"type": "string", "description": "The question."},
        "retriever": _strategy_schema("retriever", "sarag"),
        "preset": {
            "type": "string",
            "enum": sorted({preset for named in presets.values() for preset in named}),
            "description": f"Named values of other options ({', '.join(presets)}).",
        },
        **{name: _merged(declared) for name, declared in RETRIEVER_PARAMETERS.items()},
        "weights": _WEIGHTS,
        "trace": {
            "type": "boolean",
            "default": False,
            "description": "Also return the activation after each round, as frames.",
        },
        "reasoner": _strategy_schema("reasoner", "single"),
        "context": _strategy_schema("context", "whole"),
        "budget": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_TOKENS,
            "description": "Maximum size of the context in tokens, unless context sets it.",
        },
    }
    schemas["over"] = {
        "type": "array",
        "items": {"type": "string", "maxLength": MAX_TEXT},
        "maxItems": MAX_PARTS,
        "description": "Parts to search: documents, names of imported graphs, or all; by default "
        "those of the server.",
    }
    schemas["stream"] = {
        "type": "boolean",
        "default": False,
        "description": "Answer as server-sent events: call, step, text, withdrawn, and at the end "
        "result (the JSON without a stream) or error.",
    }
    schemas["limit"] |= {"maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    return {name: schemas[name] for name in parameter_names(method)}


_WEIGHTS_TEXT: Json = {"type": "string", "maxLength": MAX_TEXT}
_WEIGHTS: Json = {
    "type": "array",
    "items": _WEIGHTS_TEXT,
    "maxItems": MAX_WEIGHTS,
    "description": "Activation weights of properties and classes as TERM=WEIGHT, from 0 to 4, "
    "where 0 cuts; repeated or with commas between them. A comma that follows no weight is part "
    "of a term.",
}
_WEIGHTS_IN_BODY: Json = {
    "anyOf": [
        {
            "type": "object",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": 4},
            "maxProperties": MAX_WEIGHTS,
        },
        {key: value for key, value in _WEIGHTS.items() if key != "description"},
        _WEIGHTS_TEXT,
    ],
    "description": f"{_WEIGHTS['description']} Also an object with the weight of each term.",
}


def _strategy_schema(kind: str, default: str) -> Json:
    """A name with options: ``NAME:KEY=VALUE:KEY=VALUE``."""
    table = strategies(kind)
    options = [
        f"{name} ({', '.join(each.name for each in declared_options(class_))})"
        for name, class_ in table.items()
    ]
    return {
        "type": "string",
        "maxLength": MAX_TEXT,
        "pattern": rf"^\s*({'|'.join(table)})(:[^:=]+=[^:]+)*\s*$",
        "default": default,
        "description": f"NAME or NAME:KEY=VALUE:KEY=VALUE. Names with their keys: "
        f"{'; '.join(options)}.",
    }


def _merged(declared: Mapping[str, Option]) -> Json:
    """One schema for an option that several strategies declare: all kinds, the widest range.

    The range of the strategy in question is checked with the request.
    """
    schemas = [option_schema(option) for option in declared.values()]
    kinds = {schema["type"] for schema in schemas}
    if "number" in kinds:
        kinds.discard("integer")
    merged: Json = {"type": kinds.pop() if len(kinds) == 1 else sorted(kinds)}
    if all("enum" in schema for schema in schemas):
        merged["enum"] = list(dict.fromkeys(one for schema in schemas for one in schema["enum"]))
    for bound, widest in (
        ("minimum", min),
        ("exclusiveMinimum", min),
        ("maximum", max),
        ("exclusiveMaximum", max),
    ):
        values = [schema[bound] for schema in schemas if bound in schema]
        if len(values) == len(schemas):
            merged[bound] = widest(values)
    by_meaning: dict[str, list[str]] = {}
    for name, option in declared.items():
        by_meaning.setdefault(option.meaning, []).append(name)
    if len(by_meaning) == 1 and len(declared) == len(strategies("retriever")):
        return merged | {"description": next(iter(by_meaning))}
    descriptions = [f"{', '.join(names)}: {meaning}" for meaning, names in by_meaning.items()]
    return merged | {"description": " ".join(descriptions)}


def option_schema(option: Option) -> Json:
    """The JSON Schema of an option."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    bounds = {
        "minimum": option.ge,
        "exclusiveMinimum": option.gt,
        "maximum": option.le,
        "exclusiveMaximum": option.lt,
    }
    schema: Json = {"type": kinds[option.kind]}
    schema |= {name: bound for name, bound in bounds.items() if bound is not None}
    return schema | ({"enum": list(option.choices)} if option.choices else {})


# --------------------------------------------------------------------------- Components


def _error_responses() -> Json:
    """Errors as one line of text (``E``), of questions as JSON (``J``), as OpenAI's (``O``)."""
    line = content(["text/plain"], {"type": "string", "description": "One line."})
    error = content(["application/json"], {"$ref": "#/components/schemas/Error"})
    openai = content(["application/json"], {"$ref": "#/components/schemas/OpenAIError"})
    texts = {
        400: "The request or a text in it is not valid.",
        401: "The token is missing or wrong.",
        403: "Not allowed on this server.",
        404: "Not found.",
        405: "Another method is needed.",
        406: "None of the offered formats is acceptable.",
        408: "The body did not arrive in time.",
        409: "The graph would violate its constraints.",
        413: "The body is too large.",
        415: "The media type of the body is not supported.",
        429: "More requests a minute than the token permits.",
        503: "Busy, or a writer is at work: try again.",
        504: "Stopped at the time limit.",
        507: "Stopped at the memory limit.",
    }
    of_questions = {
        400: texts[400],
        408: texts[408],
        409: "The graph is empty.",
        413: texts[413],
        415: texts[415],
        500: "The server failed.",
        502: "The endpoint of the model failed.",
        503: "Busy: try again.",
        504: texts[504],
        507: texts[507],
    }
    return (
        {f"E{status}": {"description": text, "content": line} for status, text in texts.items()}
        | {
            f"J{status}": {"description": text, "content": error}
            for status, text in of_questions.items()
        }
        | {
            f"O{status}": {"description": text, "content": openai}
            for status, text in {
                **texts,
                **of_questions,
                404: "No such model, or no model endpoint.",
            }.items()
        }
    )


def _object(required: str, properties: Mapping[str, Json]) -> Json:
    return {"type": "object", "required": required.split(), "properties": dict(properties)}


_CODES = (
    *("bad_request", "too_large", "wrong_media_type", "busy", "empty_graph", "model_endpoint"),
    *("model", "store", "timeout", "memory", "internal"),
)
_SCHEMAS: Json = {
    "Found": _object(
        "question retriever documents relationships",
        {
            "question": TEXT,
            "retriever": TEXT,
            "settings": OBJECT,
            "calibration": OBJECT,
            "seeds": OBJECTS,
            "entities": OBJECTS,
            "documents": {"type": "array", "items": {"$ref": "#/components/schemas/Document"}},
            "relationships": OBJECTS,
            "paths": {
                "type": "array",
                "items": _object(
                    "topic topic_name text score hops sparql answers is_cut",
                    {
                        "topic": IRI,
                        "topic_name": TEXT,
                        "text": TEXT,
                        "score": NUMBER,
                        "hops": OBJECTS,
                        "sparql": TEXT,
                        "answers": OBJECTS,
                        "is_cut": {"type": "boolean"},
                    },
                ),
            },
            "trace": _object(
                "nodes edges frames left_out",
                {
                    "nodes": OBJECTS,
                    "edges": OBJECTS,
                    "frames": OBJECTS,
                    "left_out": OBJECT,
                },
            ),
        },
    ),
    "Part": _object(
        "nodes edges left_out", {"nodes": OBJECTS, "edges": OBJECTS, "left_out": OBJECT}
    ),
    "Document": _object(
        "rank iri source title text score",
        {
            "rank": INTEGER,
            "iri": IRI,
            "source": IRI,
            "title": TEXT,
            "text": TEXT,
            "begin": INTEGER,
            "end": INTEGER,
            "language": TEXT,
            "score": NUMBER,
            "similarity": NUMBER,
            "activation": NUMBER,
            "entity": TEXT,
            "entity_name": TEXT,
            "measures": OBJECT,
            "parts": OBJECT,
            "arrivals": OBJECTS,
            "chain": OBJECTS,
        },
    ),
    "Answer": _object(
        "outcome answer evidence",
        {
            "outcome": {"type": "string", "enum": ["answered", "insufficient", "evidence"]},
            "answer": TEXT,
            "reasoning": TEXT,
            "citations": OBJECTS,
            "usage": OBJECT,
            "evidence": {"$ref": "#/components/schemas/Found"},
            "contexts": OBJECTS,
            "trace": OBJECTS,
            "activations": OBJECTS,
            "model": TEXT,
        },
    ),
    "Error": _object(
        "error",
        {
            "error": _object(
                "code message", {"code": {"type": "string", "enum": list(_CODES)}, "message": TEXT}
            )
        },
    ),
    "OpenAIError": OPENAI_ERROR,
}
