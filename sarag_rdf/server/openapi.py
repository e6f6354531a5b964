"""The OpenAPI 3.1 description of a server, which is made of its routes.

A handler declares its `operations`, and its docstring says what they do. Parameters are declared in
`sarag_rdf.server.requests`, from which requests are also read. Doors are paths for clients of
another protocol, such as MCP, OpenAI's API or the Graph Store Protocol. They are found by the entry
points of the group ``sarag_rdf.doors``: functions that take the settings and the workers of a
server, and return a `Door`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sarag_rdf import __version__
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.plugins import plugins
from sarag_rdf.server import requests as takes
from sarag_rdf.server.jobs import JSON, RequestError
from sarag_rdf.server.media import FORM, RDF_TYPES, RESULT_TYPES, UPDATE
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker_pool import Workers

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
IRIS: Final[Json] = {"type": "array", "items": IRI}
RDF, TABLES = list(RDF_TYPES)[:7], list(RESULT_TYPES)[:4]
"""Media types without their aliases."""
_NAMED: Final[Mapping[str, tuple[Json, str]]] = {
    "query": (TEXT, "A SPARQL 1.1 query."),
    "update": (TEXT, "A SPARQL 1.1 update."),
    "over": (
        {"type": "array", "items": TEXT},
        "Parts of the graph: documents, names of imported graphs, or all.",
    ),
    "at": (TEXT, "Year, month or date, such as 1925: without what did not hold then."),
    "default-graph-uri": (IRIS, "Graphs of which the default graph of the query consists."),
    "named-graph-uri": (IRIS, "Named graphs of the query."),
    "using-graph-uri": (IRIS, "Graphs of which the default graph of WHERE consists."),
    "using-named-graph-uri": (IRIS, "Named graphs of WHERE."),
    "graph": (IRI, "IRI of the graph."),
    "default": (TEXT, "The default graph, instead of an IRI."),
    "name": (TEXT, "Name of what is asked for."),
    "path": (TEXT, "Rest of the URL, which is the IRI or what follows the base in it."),
    "If-None-Match": (TEXT, "Entity tags of representations that the client has."),
}
"""Parameters that are not in `parameters`, with schema and description."""
Kind = type[takes.Declared]
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Door:
    """Routes at `path` and below it.

    Each request needs a token with `scope`. A door that `may_cost` calls a language model for some
    requests, so that ``--cors *`` does not open it to the pages of all origins. `error` gives the
    response for an error, by default a line of text. `schemas` are those of what its operations
    give; `lifespan` runs as long as the server.
    """

    path: str
    title: str
    routes: Sequence[BaseRoute]
    scope: Literal["read", "ask"] = "read"
    may_cost: bool = True
    error: Callable[[RequestError], Response] | None = None
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
    parameters of a JSON object, or a schema. `gives` are media types, the name of a schema, or
    nothing; `more` are further statuses of success.
    """

    query: str | Kind = ""
    body: Sequence[str] | Kind | Json = ()
    gives: Sequence[str] | str = ()
    more: str = ""
    writes: bool = False


_declared: dict[Handler, Mapping[str, Operation]] = {}


def operations(**by_method: Operation) -> Callable[[Handler], Handler]:
    """Declares what a handler of requests takes and gives, by method."""

    def declare(handler: Handler) -> Handler:
        _declared[handler] = by_method
        return handler

    return declare


def route(path: str, handler: Handler) -> Route:
    """The route to a handler, with the methods of its operations, by default GET."""
    return Route(
        path, handler, methods=[name.upper() for name in _declared.get(handler, ())] or None
    )


def closed(**properties: Json) -> Json:
    """The schema of an object that always has these properties."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _of(schema: Json, names: str) -> Json:
    return dict.fromkeys(names.split(), schema)


def _list_of(schema: str) -> Json:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{schema}"}}


_FOUND = closed(
    **_of(TEXT, "question retriever problem"),
    **_of(OBJECT, "settings calibration"),
    **_of(OBJECTS, "seeds entities evidence_chain relationships"),
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
        **_of(TEXT, "title text language entity entity_name why"),
        **_of(NUMBER, "score similarity activation"),
        **_of(OBJECT, "measures parts"),
        **_of(OBJECTS, "sentences arrivals chain"),
    ),
    "Path": closed(
        topic=IRI,
        **_of(TEXT, "topic_name text sparql"),
        **_of(NUMBER, "score probability"),
        **_of(OBJECTS, "hops answers"),
        is_cut={"type": "boolean"},
    ),
    "Answer": closed(
        outcome={"enum": ["answered", "insufficient", "evidence"]},
        **_of(TEXT, "answer reasoning model"),
        confidence={"type": ["number", "null"]},
        evidence={"$ref": "#/components/schemas/Found"},
        usage=OBJECT,
        **_of(OBJECTS, "facts citations contexts trace activations"),
    ),
    "Health": closed(**_of(TEXT, "status revision version")),
    "Error": closed(error=_FAILURE),
}


def openapi_document(url: str, routes: Sequence[BaseRoute], doors: Sequence[Door] = ()) -> Json:
    """The description of a server at a URL; `doors` have some of its routes."""
    paths: Json = {}
    for each in routes:
        if not isinstance(each, Route) or each.endpoint not in _declared:
            continue
        path = re.sub(r":\w+}", "}", each.path).rstrip("/")
        is_json = path in JSON_ERRORS or any(door.error for door in doors if door.has(path))
        paths[path] = {
            method: {
                "operationId": re.sub(r"\W+", "_", f"{method}{path}").rstrip("_"),
                "description": " ".join(str(each.endpoint.__doc__).split()),
                **_operation(path, operation, "Json" if is_json else "Line"),
            }
            for method, operation in _declared[each.endpoint].items()
        }
    line, json = content(["text/plain"]), content([JSON], {"$ref": "#/components/schemas/Error"})
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
                "Line": {"description": "An error, in a line of text.", "content": line},
                "Json": {"description": "An error, with its code.", "content": json},
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


def _operation(path: str, each: Operation, kind: str) -> Json:
    """An operation whose errors are of a kind: a line of text, or JSON."""
    responses: Json = {n: {"description": HTTPStatus(int(n)).phrase} for n in each.more.split()}
    if each.gives:
        schema = {"$ref": f"#/components/schemas/{each.gives}"}
        is_json = isinstance(each.gives, str)
        result = content([JSON], schema) if is_json else content(each.gives)
        responses["200"] = {"description": "The result.", "content": result}
    described: Json = {
        "parameters": list(_parameters(" ".join(re.findall(r"{(\w+)}", path)) or each.query)),
        "responses": {**responses, "default": {"$ref": f"#/components/responses/{kind}"}},
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
    if UPDATE in contents:  # the query or update may be in a form, with the other parameters
        names = [*(type_.rpartition("-")[2] for type_ in contents), *str(each.query).split()]
        properties = {name: _NAMED[name][0] | {"description": _NAMED[name][1]} for name in names}
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
