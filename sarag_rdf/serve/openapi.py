"""The OpenAPI 3.1 description of all paths; parameters of strategies come from their options.

`openapi_document` is generated for each request. Strategies declare their options as data (see
`sarag_rdf.options`), and so a new option or strategy is described without a change here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from sarag_rdf import __version__
from sarag_rdf.kg.registry import CONTEXTS, REASONERS, RETRIEVERS
from sarag_rdf.options import MAX_TOKENS, Option, declared_options
from sarag_rdf.serve import explore
from sarag_rdf.serve.graph_store import PATH
from sarag_rdf.serve.http import RDF_TYPES, RESULT_TYPES
from sarag_rdf.serve.openapi_v1 import OPENAI_ERROR, openai_paths
from sarag_rdf.serve.questions import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    MAX_TEXT,
    MAX_WEIGHTS,
    RETRIEVER_PARAMETERS,
    parameter_names,
)
from sarag_rdf.serve.resource import FORMATS as RESOURCE_FORMATS
from sarag_rdf.serve.resource import HTML, MAX_PAGE
from sarag_rdf.serve.resource import PATH as RESOURCE_PATH
from sarag_rdf.serve.sparql import FORM, QUERY, UPDATE

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_IRIS: Json = {"type": "array", "items": {"type": "string", "format": "uri"}}
_NAMES: Json = {"type": "array", "items": _TEXT}
_OBJECT: Json = {"type": "object"}
_OBJECTS: Json = {"type": "array", "items": _OBJECT}
_NUMBER: Json = {"type": "number"}
_INTEGER: Json = {"type": "integer"}
_IRI: Json = {"type": "string", "format": "uri"}
_TOKEN: Json = {"security": [{"token": []}, {"password": []}]}
_RDF_TYPES = tuple(RDF_TYPES)[:7]
"""Media types of RDF without their aliases."""
_TABLE_TYPES = tuple(RESULT_TYPES)[:4]
"""Media types of query results without their aliases."""


def openapi_document(url: str) -> Json:
    """The description of the server at a URL."""
    document = _document(url)
    for item in document["paths"].values():
        for name, operation in item.items():
            if name != "parameters":
                limits = _responses({}, "E401 E403 E429")
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
                    _parameter("graph", "IRI of the graph.", _IRI),
                    _parameter("default", "The default graph, instead of an IRI.", _TEXT)
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
                        "schema": _TEXT,
                    }
                ],
                **_graph_operations("graphByPath"),
            },
            RESOURCE_PATH: {"get": _resource()},
            "/{path}": {"get": _resource_by_path()},
            "/search": _question_operations("search"),
            "/ask": _question_operations("ask"),
            **openai_paths(
                _strategy_schema(REASONERS, "single"),
                {**question_parameters("ask"), "weights": _WEIGHTS_IN_BODY},
            ),
            "/graph/neighbours": {"get": _neighbours()},
            "/graph/complete": {"get": _complete()},
            "/graph/names": {"post": _names()},
            "/graph/prefixes": {
                "get": _read_graph(
                    "prefixes",
                    "Prefixes of common vocabularies, of the graph, and of its ontologies.",
                    [],
                    {"type": "object", "properties": {"prefixes": _OBJECT}},
                )
            },
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "description": "Metrics in the format of Prometheus, for clients on the "
                    "server's machine, and for those with a token.",
                    "responses": _responses(
                        {200: {"description": "The metrics.", "content": _content(["text/plain"])}},
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


def _parameter(name: str, description: str, schema: Json, *, required: bool = False) -> Json:
    """A parameter in the query string; an array is given by repeating the parameter."""
    parameter = {
        "name": name,
        "in": "query",
        "description": description,
        "required": required,
        "schema": schema,
    }
    return parameter | ({"style": "form", "explode": True} if "items" in schema else {})


def _content(media_types: Iterable[str], schema: Json = _TEXT) -> Json:
    return {media_type: {"schema": schema} for media_type in media_types}


def _responses(successes: Mapping[int, Json], errors: str) -> Json:
    """Responses by status; `errors` are names of components such as ``E400``."""
    references = {name[1:]: {"$ref": f"#/components/responses/{name}"} for name in errors.split()}
    return {str(status): response for status, response in successes.items()} | references


# ------------------------------------------------------------------ SPARQL 1.1 Protocol

_DATASET: dict[str, tuple[str, Json]] = {
    "over": ("Parts of the graph to query: documents, names of imported graphs, or all.", _NAMES),
    "default-graph-uri": ("Graphs of which the default graph of the query consists.", _IRIS),
    "named-graph-uri": ("Named graphs of the query.", _IRIS),
}
_USING: dict[str, tuple[str, Json]] = {
    "using-graph-uri": ("Graphs of which the default graph of WHERE consists.", _IRIS),
    "using-named-graph-uri": ("Named graphs of WHERE.", _IRIS),
}
_QUERY_TEXT = {"query": ("A SPARQL 1.1 query.", _TEXT)}
_UPDATE_TEXT = {"update": ("A SPARQL 1.1 update.", _TEXT)}


def _parameters(declared: Mapping[str, tuple[str, Json]]) -> list[Json]:
    return [_parameter(name, *declaration) for name, declaration in declared.items()]


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
                "schema": _INTEGER,
            },
            "X-SPARQL-Truncated": {
                "description": "Whether the result was cut there.",
                "schema": {"type": "string", "enum": ["true", "false"]},
            },
        },
        "content": _content((*_TABLE_TYPES, *_RDF_TYPES)),
    }


def _query_by_get() -> Json:
    return {
        "operationId": "query",
        "description": "Runs a query, or returns the service description if there is none.",
        "parameters": _parameters(_QUERY_TEXT | _DATASET),
        "responses": _responses({200: _result()}, "E400 E403 E405 E406 E413 E503 E504"),
    }


def _query_by_post() -> Json:
    either = [{"required": ["query"]}, {"required": ["update"]}]
    return {
        "operationId": "queryPost",
        "description": "Runs a query; on a writable server also an update, as /update does.",
        "parameters": _parameters(_DATASET | _USING),
        "requestBody": {
            "required": True,
            "content": _form(_QUERY_TEXT | _DATASET | _UPDATE_TEXT | _USING, oneOf=either)
            | _content((QUERY, UPDATE)),
        },
        "responses": _responses(
            {200: _result(), 204: {"description": "The update was applied."}},
            "E400 E401 E403 E406 E408 E409 E413 E415 E503 E504",
        ),
    }


def _update() -> Json:
    return {
        "operationId": "update",
        **_TOKEN,
        "description": "Applies a SPARQL 1.1 update as one transaction.",
        "parameters": _parameters(_USING),
        "requestBody": {
            "required": True,
            "content": _form(_UPDATE_TEXT | _USING, required=["update"]) | _content((UPDATE,)),
        },
        "responses": _responses(
            {204: {"description": "The update was applied."}},
            "E400 E401 E403 E408 E409 E413 E415 E503 E504",
        ),
    }


# ---------------------------------------------------------------- Graph Store Protocol


def _graph_operations(name: str) -> Json:
    body = {
        "required": True,
        "content": _content(_RDF_TYPES) | _content(("multipart/form-data",), _OBJECT),
    }
    writing = "E400 E401 E403 E408 E409 E413 E415 E503 E504"
    new = "" if name == "graphByPath" else " Without a graph, creates one; Location is its IRI."
    created = {"description": "The graph was created."}
    return {
        "get": {
            "operationId": f"{name}Get",
            "description": "Returns all triples of a graph, without a limit.",
            "responses": _responses(
                {200: {"description": "The graph.", "content": _content(_RDF_TYPES)}},
                "E400 E403 E404 E406 E503 E504",
            ),
        },
        "put": {
            "operationId": f"{name}Put",
            **_TOKEN,
            "description": "Creates or replaces a graph.",
            "requestBody": body,
            "responses": _responses(
                {201: created, 204: {"description": "The graph was replaced."}}, writing
            ),
        },
        "post": {
            "operationId": f"{name}Post",
            **_TOKEN,
            "description": f"Adds triples to a graph.{new}",
            "requestBody": body,
            "responses": _responses(
                {201: created, 204: {"description": "The triples were added."}}, writing
            ),
        },
        "delete": {
            "operationId": f"{name}Delete",
            **_TOKEN,
            "description": "Deletes a graph.",
            "responses": _responses(
                {204: {"description": "The graph was deleted."}},
                "E400 E401 E403 E404 E409 E503 E504",
            ),
        },
    }


# --------------------------------------------------------------------------- Linked data

_LINK: Json = {
    "Link": {
        "description": "What is described (describes), where (describedby), and the formats "
        "(alternate).",
        "schema": _TEXT,
    }
}


def _resource() -> Json:
    pages = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
    return {
        "operationId": "resource",
        "description": "The description of a resource: the statements about it and those that lead "
        "to it, or a page that shows them.",
        "parameters": [
            _parameter("iri", "IRI of the resource.", _IRI, required=True),
            _parameter(
                "format", "The format, instead of Accept.", _TEXT | {"enum": list(RESOURCE_FORMATS)}
            ),
            _parameter("page", "Page of the instances of a class or property.", pages),
        ],
        "responses": _responses(
            {
                200: {
                    "description": "The description.",
                    "headers": _LINK,
                    "content": _content((*_RDF_TYPES, HTML)),
                },
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
                "schema": _TEXT,
            }
        ],
        "responses": _responses(
            {
                303: {
                    "description": "Its description, as Location.",
                    "headers": {"Location": {"schema": _IRI}, **_LINK},
                }
            },
            "E403 E404 E503 E504",
        ),
    }


# ---------------------------------------------------------------------------- Explorer

_OVER: Json = _parameter("over", *_DATASET["over"])
_PART: Json = {"$ref": "#/components/schemas/Part"}


def _read_graph(name: str, description: str, parameters: list[Json], schema: Json) -> Json:
    content = _content(["application/json"], schema)
    return {
        "operationId": name,
        "description": description,
        "parameters": [*parameters, _OVER],
        "responses": _responses(
            {200: {"description": "The result.", "content": content}}, "E400 E503 E504"
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
            _parameter("iri", "IRI of the node.", _IRI, required=True),
            _parameter(
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
            _parameter("prefix", "The text.", {"type": "string", "maxLength": explore.MAX_PREFIX}),
            _parameter("kind", "What is looked up.", kinds),
            _parameter("limit", "Terms at most.", _whole(explore.MAX_TERMS, explore.MAX_TERMS)),
        ],
        {"type": "object", "properties": {"terms": _OBJECTS}},
    )


def _names() -> Json:
    operation = _read_graph(
        "names",
        "Names and classes of nodes; the body is a list of IRIs.",
        [],
        {"type": "object", "properties": {"nodes": _OBJECTS}},
    )
    schema = _IRIS | {"maxItems": explore.MAX_NODES}
    operation["requestBody"] = {
        "required": True,
        "content": _content(["application/json"], schema),
    }
    operation["responses"] |= _responses({}, "E408 E413 E415")
    return operation


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
        "responses": _responses(
            {
                200: {
                    "description": "The result.",
                    "content": _content(["application/json"], result),
                }
            },
            "J400 E403 J408 J409 J413 J415 J500 J502 J503 J504",
        ),
    }
    parameters = [
        _parameter(
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
            "requestBody": {"required": True, "content": _content(["application/json"], body)},
            **common,
        },
    }


def question_parameters(method: Literal["search", "ask"]) -> dict[str, Json]:
    """Parameter -> JSON Schema with a description."""
    presets = {
        name: class_.options.presets
        for name, class_ in RETRIEVERS.items()
        if class_.options.presets
    }
    schemas: dict[str, Json] = {
        "q": {"type": "string", "description": "The question."},
        "retriever": _strategy_schema(RETRIEVERS, "sarag"),
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
        "reasoner": _strategy_schema(REASONERS, "single"),
        "context": _strategy_schema(CONTEXTS, "whole"),
        "budget": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_TOKENS,
            "description": "Maximum size of the context in tokens, unless context sets it.",
        },
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


def _strategy_schema(table: Mapping[str, Any], default: str) -> Json:
    """A name with options: ``NAME:KEY=VALUE:KEY=VALUE``."""
    options = [
        f"{name} ({', '.join(each.name for each in declared_options(class_.options))})"
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
    """One schema for an option that several strategies declare: the widest range.

    The range of the strategy in question is checked with the request.
    """
    schemas = [option_schema(option) for option in declared.values()]
    kinds = {schema["type"] for schema in schemas}
    [kind] = {"number"} if kinds == {"integer", "number"} else kinds
    merged: Json = {"type": kind}
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
    if len(by_meaning) == 1 and len(declared) == len(RETRIEVERS):
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
    line = _content(["text/plain"], {"type": "string", "description": "One line."})
    error = _content(["application/json"], {"$ref": "#/components/schemas/Error"})
    openai = _content(["application/json"], {"$ref": "#/components/schemas/OpenAIError"})
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
    *("model", "store", "timeout", "internal"),
)
_SCHEMAS: Json = {
    "Found": _object(
        "question retriever documents relationships",
        {
            "question": _TEXT,
            "retriever": _TEXT,
            "settings": _OBJECT,
            "calibration": _OBJECT,
            "seeds": _OBJECTS,
            "entities": _OBJECTS,
            "documents": {"type": "array", "items": {"$ref": "#/components/schemas/Document"}},
            "relationships": _OBJECTS,
            "trace": _object(
                "nodes edges frames left_out",
                {
                    "nodes": _OBJECTS,
                    "edges": _OBJECTS,
                    "frames": _OBJECTS,
                    "left_out": _OBJECT,
                },
            ),
        },
    ),
    "Part": _object(
        "nodes edges left_out", {"nodes": _OBJECTS, "edges": _OBJECTS, "left_out": _OBJECT}
    ),
    "Document": _object(
        "rank iri source title text score",
        {
            "rank": _INTEGER,
            "iri": _IRI,
            "source": _IRI,
            "title": _TEXT,
            "text": _TEXT,
            "begin": _INTEGER,
            "end": _INTEGER,
            "language": _TEXT,
            "score": _NUMBER,
            "similarity": _NUMBER,
            "activation": _NUMBER,
            "entity": _TEXT,
            "entity_name": _TEXT,
            "measures": _OBJECT,
            "parts": _OBJECT,
            "arrivals": _OBJECTS,
            "chain": _OBJECTS,
        },
    ),
    "Answer": _object(
        "outcome answer evidence",
        {
            "outcome": {"type": "string", "enum": ["answered", "insufficient", "evidence"]},
            "answer": _TEXT,
            "reasoning": _TEXT,
            "citations": _OBJECTS,
            "usage": _OBJECT,
            "evidence": {"$ref": "#/components/schemas/Found"},
            "contexts": _OBJECTS,
            "trace": _OBJECTS,
        },
    ),
    "Error": _object(
        "error",
        {
            "error": _object(
                "code message", {"code": {"type": "string", "enum": list(_CODES)}, "message": _TEXT}
            )
        },
    ),
    "OpenAIError": OPENAI_ERROR,
}
