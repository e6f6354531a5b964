"""The paths of the server as data, and their OpenAPI 3.1 description, which is generated from it.

Parameters are declared in `sarag_rdf.server.requests`, from which requests are also read. Doors are
paths for clients of another protocol, such as MCP or OpenAI's API, and declare their own. They are
found by the entry points of the group ``sarag_rdf.doors``: functions that take the settings and the
workers of a server, and return a `Door`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from starlette.responses import Response
from starlette.routing import BaseRoute

from sarag_rdf import __version__
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.plugins import plugins
from sarag_rdf.server import requests as takes
from sarag_rdf.server.jobs import JSON, RequestError
from sarag_rdf.server.media import FORM, HTML, MULTIPART, QUERY, RDF_TYPES, RESULT_TYPES, UPDATE
from sarag_rdf.server.pool import Workers
from sarag_rdf.server.serve_settings import ServeSettings

log = logging.getLogger(__name__)
JSON_ERRORS: Final = ("/search", "/ask")
"""Paths whose errors are JSON."""
Json = dict[str, Any]
TEXT: Final[Json] = {"type": "string"}
IRI: Final[Json] = {"type": "string", "format": "uri"}
INTEGER: Final[Json] = {"type": "integer"}
NUMBER: Final[Json] = {"type": "number"}
OBJECT: Final[Json] = {"type": "object"}
OBJECTS: Final[Json] = {"type": "array", "items": OBJECT}
_IRIS: Final[Json] = {"type": "array", "items": IRI}
_RDF, _TABLE = list(RDF_TYPES)[:7], list(RESULT_TYPES)[:4]
"""Media types without their aliases."""
_NAMED: Final[Mapping[str, tuple[Json, str]]] = {
    "query": (TEXT, "A SPARQL 1.1 query."),
    "update": (TEXT, "A SPARQL 1.1 update."),
    "over": (
        {"type": "array", "items": TEXT},
        "Parts of the graph: documents, names of imported graphs, or all.",
    ),
    "default-graph-uri": (_IRIS, "Graphs of which the default graph of the query consists."),
    "named-graph-uri": (_IRIS, "Named graphs of the query."),
    "using-graph-uri": (_IRIS, "Graphs of which the default graph of WHERE consists."),
    "using-named-graph-uri": (_IRIS, "Named graphs of WHERE."),
    "graph": (IRI, "IRI of the graph."),
    "default": (TEXT, "The default graph, instead of an IRI."),
    "name": (TEXT, "Name of what is asked for."),
    "path": (TEXT, "Rest of the URL, which is the IRI or what follows the base in it."),
    "If-None-Match": (TEXT, "Entity tags of representations that the client has."),
}
"""Parameters that are not in `parameters`, with schema and description."""
_STATUSES: Final[Mapping[str, str]] = {
    "200": "The result.",
    "201": "The graph was created.",
    "204": "The change was made.",
    "303": "See Location.",
    "304": "The client has this representation already.",
    "400": "The request or a text in it is not valid.",
    "401": "The token is missing or wrong.",
    "403": "Not allowed on this server.",
    "404": "Not found.",
    "405": "Another method is needed.",
    "406": "None of the offered formats is acceptable.",
    "408": "The body did not arrive in time.",
    "409": "The graph is empty, or would violate its constraints.",
    "413": "The body is too large.",
    "415": "The media type of the body is not supported.",
    "429": "More requests a minute than the token permits.",
    "500": "The server failed.",
    "502": "The endpoint of the model failed.",
    "503": "Busy, or a writer is at work: try again.",
    "504": "Stopped at the time limit.",
    "507": "Stopped at the memory limit.",
}
_LIMITS: Final = {
    "X-SPARQL-MaxRows": (INTEGER, "Maximum number of rows or triples."),
    "X-SPARQL-Truncated": ({"enum": ["true", "false"]}, "Whether the result was cut there."),
}
_LINKS: Final = {
    "Link": (TEXT, "What is described (describes), where (describedby), and formats (alternate).")
}
_TAGGED: Final = {"ETag": (TEXT, "Another for each state of the graph."), **_LINKS}
_MOVED: Final = {"Location": (IRI, "Where the description is."), **_LINKS}
Kind = type[takes.Declared]


@dataclass(frozen=True, slots=True)
class Door:
    """Routes at `path` and below it.

    Each request needs a token with `scope`. A door that `may_cost` calls a language model for some
    requests, so that ``--cors *`` does not open it to the pages of all origins. `error` gives the
    response for an error, by default a line of text. `operations` by path and method describe the
    door in OpenAPI, with the `schemas` of what they give; `lifespan` runs as long as the server.
    """

    path: str
    title: str
    routes: Sequence[BaseRoute]
    scope: Literal["read", "ask"] = "read"
    may_cost: bool = True
    error: Callable[[RequestError], Response] | None = None
    operations: Mapping[str, Mapping[str, Operation]] = field(default_factory=dict)
    schemas: Mapping[str, Json] = field(default_factory=dict)
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext

    def has(self, path: str) -> bool:
        """Whether a path is one of this door, known or not."""
        return path == self.path or path.startswith(self.path + "/")


def open_doors(settings: ServeSettings, workers: Workers) -> list[Door]:
    """All doors whose dependencies are installed; raises `PluginError` for a broken one."""
    doors: list[Door] = []
    for plugin in plugins("doors").values():
        try:
            doors.append(plugin.load()(settings, workers))
        except MissingDependencyError as error:
            log.debug("the door %s is closed: %s", plugin.name, error)
    return doors


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of a path.

    `query` has parameters, or names some of `_NAMED`. `body` has the media types of a body, the
    parameters of a JSON object, or a schema; `form` names the parameters of a form. `gives` are
    media types, the name of a schema of `_RESULTS`, or nothing; `headers` are of the result.
    `more` are further statuses of success, and `fails` those of errors beside the usual ones.
    """

    name: str
    text: str
    query: str | Kind = ""
    body: Sequence[str] | Kind | Json = ()
    form: str = ""
    gives: Sequence[str] | str = ()
    headers: Mapping[str, tuple[Json, str]] = field(default_factory=dict)
    more: str = ""
    fails: str = ""
    writes: bool = False


_LIMITED, _READ, _BODY = ("401", "403", "429"), ("400", "503", "504", "507"), ("408", "413", "415")
"""Errors of all operations, those of workers, and those of operations with a body."""
_DATASET = "over default-graph-uri named-graph-uri"
_USING = "using-graph-uri using-named-graph-uri"
_SEARCH = "Documents and relationships for a question, as sarag search --json prints them."
_ASK = (
    "An answer with its evidence, as sarag ask --json prints it; the evidence alone if the server "
    "was started without a model."
)
_AS_BODY = " The question and its options are a JSON object."
_QUESTION = "409 500 502"


def _graph(name: str, by: str, new: str) -> dict[str, Operation]:
    body = [*_RDF, MULTIPART]
    written: Json = {"more": "201 204", "fails": "409", "writes": True}
    return {
        "get": Operation(
            f"{name}Get",
            "Returns all triples of a graph, without a limit.",
            by,
            gives=_RDF,
            fails="404 406",
        ),
        "put": Operation(f"{name}Put", "Creates or replaces a graph.", by, body, **written),
        "post": Operation(f"{name}Post", f"Adds triples to a graph.{new}", by, body, **written),
        "delete": Operation(
            f"{name}Delete", "Deletes a graph.", by, more="204", fails="404 409", writes=True
        ),
    }


_OPERATIONS: Final[Mapping[str, Mapping[str, Operation]]] = {
    "/sparql": {
        "get": Operation(
            "query",
            "Runs a query, or returns the service description if there is none.",
            f"query {_DATASET}",
            gives=[*_TABLE, *_RDF],
            headers=_LIMITS,
            fails="405 406 413",
        ),
        "post": Operation(
            "queryPost",
            "Runs a query; on a writable server also an update, as /update does.",
            f"{_DATASET} {_USING}",
            [QUERY, UPDATE],
            f"query update {_DATASET} {_USING}",
            [*_TABLE, *_RDF],
            _LIMITS,
            "204",
            "406 409",
        ),
    },
    "/update": {
        "post": Operation(
            "update",
            "Applies a SPARQL 1.1 update as one transaction.",
            _USING,
            [UPDATE],
            f"update {_USING}",
            more="204",
            fails="409",
            writes=True,
        )
    },
    takes.STORE_PATH: _graph(
        "graph", "graph default", " Without a graph, creates one; Location is its IRI."
    ),
    takes.STORE_PATH + "/{path}": _graph("graphByPath", "path", ""),
    "/resource": {
        "get": Operation(
            "resource",
            "The description of a resource: the statements about it and those that lead to it, or "
            "a page that shows them. Location is that of the resource into which it was merged.",
            takes.Resource,
            gives=[*_RDF, HTML],
            headers=_TAGGED,
            more="303 304",
            fails="404 406",
        )
    },
    "/{path}": {
        "get": Operation(
            "resourceByPath",
            "A resource of the graph, such as /entity/NAME: its IRI, or what follows the base in "
            "its IRI. Location is that of its description.",
            "path",
            headers=_MOVED,
            more="303",
            fails="404",
        )
    },
    "/graph/neighbours": {
        "get": Operation(
            "neighbours",
            "The statements around a node, with the sentences that state them, or the instances of "
            "a class; and how many neighbours are left out.",
            takes.Neighbours,
            gives="Part",
        )
    },
    "/graph/complete": {
        "get": Operation(
            "complete",
            "Classes, properties or entities of the graph whose names begin with a text.",
            takes.Complete,
            gives="Terms",
        )
    },
    "/graph/names": {
        "post": Operation(
            "names",
            "Names and classes of nodes; the body is a list of IRIs.",
            takes.Parameters,
            {**_IRIS, "maxItems": takes.MAX_NODES},
            gives="Nodes",
        )
    },
    "/graph/prefixes": {
        "get": Operation(
            "prefixes",
            "Prefixes of common vocabularies, of the graph, and of its ontologies.",
            takes.Parameters,
            gives="Prefixes",
        )
    },
    "/search": {
        "get": Operation("search", _SEARCH, takes.Search, gives="Found", fails=_QUESTION),
        "post": Operation(
            "searchPost", _SEARCH + _AS_BODY, body=takes.Search, gives="Found", fails=_QUESTION
        ),
    },
    "/ask": {
        "get": Operation("ask", _ASK, takes.Ask, gives="Answer", fails=_QUESTION),
        "post": Operation(
            "askPost", _ASK + _AS_BODY, body=takes.Ask, gives="Answer", fails=_QUESTION
        ),
    },
    "/metrics": {
        "get": Operation(
            "metrics",
            "Metrics in the format of Prometheus, for clients on the server's machine, and for "
            "those with a token.",
            gives=["text/plain"],
            fails="404",
        )
    },
}


def closed(**properties: Json) -> Json:
    """The schema of an object that always has these properties."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _of(schema: Json, names: str) -> Json:
    return dict.fromkeys(names.split(), schema)


def _list_of(schema: str) -> Json:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{schema}"}}


_FOUND = closed(
    **_of(TEXT, "question retriever"),
    **_of(OBJECT, "settings calibration"),
    **_of(OBJECTS, "seeds entities relationships"),
    documents=_list_of("Document"),
    paths=_list_of("Path"),
)
_FOUND["properties"] |= {"trace": closed(**_of(OBJECTS, "nodes edges frames"), left_out=OBJECT)}
_FAILURE = closed(code=TEXT, message=TEXT)
_FAILURE["properties"] |= {"type": TEXT, "param": {"type": "null"}}  # as OpenAI has them
_RESULTS: Final[Mapping[str, Json]] = {
    "Found": _FOUND,
    "Document": closed(
        **_of(INTEGER, "rank begin end"),
        **_of(IRI, "iri source"),
        **_of(TEXT, "title text language entity entity_name sentence why"),
        **_of(NUMBER, "score similarity activation"),
        **_of(OBJECT, "measures parts"),
        **_of(OBJECTS, "arrivals chain"),
    ),
    "Path": closed(
        topic=IRI,
        **_of(TEXT, "topic_name text sparql"),
        score=NUMBER,
        **_of(OBJECTS, "hops answers"),
        is_cut={"type": "boolean"},
    ),
    "Answer": closed(
        outcome={"enum": ["answered", "insufficient", "evidence"]},
        **_of(TEXT, "answer reasoning model"),
        evidence={"$ref": "#/components/schemas/Found"},
        usage=OBJECT,
        **_of(OBJECTS, "citations contexts trace activations"),
    ),
    "Part": closed(nodes=OBJECTS, edges=OBJECTS, left_out=OBJECT),
    "Terms": closed(terms=OBJECTS),
    "Nodes": closed(nodes=OBJECTS),
    "Prefixes": closed(prefixes=OBJECT),
    "Error": closed(error=_FAILURE),
}


def openapi_document(url: str, doors: Sequence[Door] = ()) -> Json:
    """The description of the server with these doors at a URL."""
    operations = dict(_OPERATIONS)
    with_json_errors = set(JSON_ERRORS)
    for door in doors:
        operations |= door.operations
        with_json_errors |= door.operations.keys() if door.error else set()
    paths = {
        path: {
            method: _operation(each, "Json" if path in with_json_errors else "Line")
            for method, each in methods.items()
        }
        for path, methods in operations.items()
    }
    bodies = {"Line": ("text/plain", TEXT), "Json": (JSON, {"$ref": "#/components/schemas/Error"})}
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
        "paths": paths,
        "components": {
            "schemas": {**_RESULTS, **{k: v for door in doors for k, v in door.schemas.items()}},
            "responses": {
                f"{kind}{status}": {"description": text, "content": content([type_], schema)}
                for kind, (type_, schema) in bodies.items()
                for status, text in _STATUSES.items()
                if status >= "400"
            },
            "securitySchemes": {
                name: {"type": "http", "scheme": scheme, "description": text}
                for name, scheme, text in (
                    ("token", "bearer", "A token of --tokens, or that of SARAG_SERVE_TOKEN."),
                    ("password", "basic", "A token as the password, as browsers send it."),
                )
            },
        },
    }


def content(media_types: Iterable[str], schema: Json = TEXT) -> Json:
    """A schema by media type."""
    return {media_type: {"schema": schema} for media_type in media_types}


def _operation(each: Operation, kind: str) -> Json:
    """An operation whose errors are of a kind: a line of text, or JSON."""
    headers = {n: {"schema": schema, "description": t} for n, (schema, t) in each.headers.items()}
    given: dict[str, Json] = {n: {"description": _STATUSES[n]} for n in each.more.split()}
    if each.gives:
        schema = {"$ref": f"#/components/schemas/{each.gives}"}
        is_json = isinstance(each.gives, str)
        result = content([JSON], schema) if is_json else content(each.gives)
        given["200"] = {"description": _STATUSES["200"], "content": result}
    for response in given.values():
        response |= {"headers": headers} if headers else {}
    fails = {*_LIMITED, *_READ, *(_BODY if each.body else ()), *each.fails.split()}
    errors = {each: {"$ref": f"#/components/responses/{kind}{each}"} for each in sorted(fails)}
    described: Json = {
        "operationId": each.name,
        "description": each.text,
        "parameters": list(_parameters(each.query)),
        "responses": given | errors,
        "security": [{}, {"token": []}, {"password": []}][each.writes :],
    }
    if each.body:
        described["requestBody"] = {"required": True, "content": _body(each)}
    return described


def _body(each: Operation) -> Json:
    if isinstance(each.body, dict):
        return content([JSON], each.body)
    if isinstance(each.body, type):
        return content([JSON], each.body.schema_of())
    contents = content(each.body)
    if each.form:
        properties = {n: {**_NAMED[n][0], "description": _NAMED[n][1]} for n in each.form.split()}
        contents[FORM] = {"schema": {"type": "object", "properties": properties}}
    return contents


def _parameters(query: str | Kind) -> Iterable[Json]:
    """Parameters of a URL: an array is given by repeating its parameter."""
    if isinstance(query, str):
        places = {"path": "path", "name": "path", "If-None-Match": "header"}
        for name in query.split():
            schema, text = _NAMED[name]
            place = places.get(name, "query")
            required = place == "path"
            yield {
                "name": name, "in": place, "required": required, "description": text,
                "schema": schema,
            }  # fmt: skip
        return
    if query is takes.Resource:
        yield from _parameters("If-None-Match")
    declared = query.schema_of()
    for name, property_ in declared["properties"].items():
        schema = {key: value for key, value in property_.items() if key != "description"}
        lists = [form for form in schema.get("anyOf", ()) if "items" in form]
        yield {
            "name": name,
            "in": "query",
            "required": name in declared.get("required", ()),
            "description": property_["description"],
            "schema": lists[0] if lists else schema,
        }
