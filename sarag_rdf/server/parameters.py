"""The parameters of requests, each declared once: read, checked and described from here."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from starlette.requests import Request

from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.options import DEFAULT_LIMIT, MAX_COUNT, MAX_TOKENS
from sarag_rdf.server.http import base_type, query_string, read_body
from sarag_rdf.server.jobs import JSON, RequestError

MAX_NODES: Final = 500
"""Nodes of a part of a graph at most."""
MAX_TERMS: Final = 30
"""Completions at most."""
MAX_WEIGHTS: Final = 100
"""Activation weights of one question that are given one by one."""
RESOURCE_FORMATS = Literal["turtle", "ntriples", "jsonld", "rdfxml", "html"]
_MAX_BODY: Final = 1 << 20
_TOKENS: Final[dict[str, Any]] = {"type": "integer", "minimum": 1, "maximum": MAX_TOKENS}
_REPEATED: Final = frozenset({"over", "weights"})
"""Parameters that may be given more than once."""


def _check_iri(value: str) -> str:
    if not is_iri(value):
        raise ValueError("not an absolute IRI")
    return value


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Iri = Annotated[
    str,
    StringConstraints(max_length=8192),
    AfterValidator(_check_iri),
    Field(json_schema_extra={"format": "uri"}),
]
Text = Annotated[str, StringConstraints(max_length=1000)]


class Declared(BaseModel):
    """The parameters of a request; the docstrings of fields are their descriptions."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, frozen=True)

    @classmethod
    async def of(cls, request: Request, *, has_body: bool = True) -> Self:
        """The parameters in the URL of a request, and in the JSON body of a POST if it has one.

        Raises `RequestError` (400, 408, 413, 415).
        """
        values: dict[str, Any] = {}
        if has_body and request.method == "POST":
            values = await json_body(request)
            if not isinstance(values, dict):
                raise RequestError(400, "the body must be a JSON object")
        in_body = frozenset(values)
        for name, value in await query_string(request):
            if name in _REPEATED and name not in in_body:
                values[name] = [*values.get(name, ()), value]
            elif name in values:
                raise RequestError(400, f"'{name}' is given more than once")
            else:
                values[name] = value
        return cls.checked(values)

    @classmethod
    def checked(cls, values: dict[str, Any]) -> Self:
        """The parameters with these values; raises `RequestError` (400)."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise RequestError(400, cls._in_words(error)) from None

    @classmethod
    def schema_of(cls) -> dict[str, Any]:
        """The JSON Schema of an object with these parameters."""
        schema = cls.model_json_schema()
        schema.pop("description", None)
        schema.pop("title")
        for each in schema["properties"].values():
            each.pop("title", None)
            each["description"] = " ".join(each["description"].split())
        return schema

    @classmethod
    def _in_words(cls, error: ValidationError) -> str:
        """The first problem in one line."""
        first = error.errors(include_url=False)[0]
        name, bounds = str(next(iter(first["loc"]), "a name")), first.get("ctx", {})
        match first["type"]:
            case "missing" | "string_pattern_mismatch" if name == "q":
                return "no question: put it into the parameter 'q'"
            case "missing":
                return f"the parameter '{name}' is missing"
            case "extra_forbidden":
                return f"unknown: {name}; the parameters are {', '.join(cls.model_fields)}"
            case "string_too_long":
                return f"'{name}' is longer than {bounds['max_length']} characters"
            case "literal_error":
                return f"'{name}' must be {bounds['expected']}"
            case "value_error":
                return f"'{name}' is {bounds['error']}"
        field = cls.model_fields.get(name)
        least, most = (
            next(
                (getattr(m, bound) for m in (field.metadata if field else ()) if hasattr(m, bound)),
                None,
            )
            for bound in ("ge", "le")
        )
        if least is not None and most is not None:
            return f"'{name}' must be a number from {least} to {most}"
        return f"'{name}': {first['msg'][0].lower()}{first['msg'][1:]}"


class Parameters(Declared):
    """The parameters of requests that read a graph."""

    over: Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(max_length=50)] = ()
    """Parts of the graph: documents, names of imported graphs, or all. Default: those served."""


class Neighbours(Parameters):
    """Of ``/graph/neighbours``."""

    iri: Iri
    """IRI of the node."""
    limit: Annotated[int, Field(ge=1, le=MAX_NODES)] = 40
    """Neighbours at most."""


class Complete(Parameters):
    """Of ``/graph/complete``."""

    prefix: Annotated[str, StringConstraints(max_length=200)] = ""
    """The text."""
    kind: Literal["class", "property", "entity"] = "entity"
    """What is looked up."""
    limit: Annotated[int, Field(ge=1, le=MAX_TERMS)] = MAX_TERMS
    """Terms at most."""


class Resource(Declared):
    """Of ``/resource``; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    iri: Iri
    """IRI of the resource."""
    format: RESOURCE_FORMATS | None = None
    """The format, instead of Accept."""
    page: Annotated[int, Field(ge=1, le=1000)] = 1
    """Page of the instances of a class or property."""


Weight = Annotated[float, Field(strict=True, ge=0, le=4)]


class Search(Parameters):
    """Of ``/search``; other parameters are options of the retriever."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[Text, Text | int | float | bool] = Field(init=False)

    q: Annotated[
        str, StringConstraints(pattern=r"\S"), Field(validation_alias=AliasChoices("q", "question"))
    ]
    """The question."""
    retriever: Text = "sarag"
    """NAME or NAME:KEY=VALUE:KEY=VALUE, as sarag strategies lists them. Each option of the
    retriever is a parameter, too."""
    limit: int | float | Text | None = Field(
        None,
        json_schema_extra={
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_COUNT}],
            "default": DEFAULT_LIMIT,
        },
    )
    """Documents at most."""
    weights: (
        Annotated[list[Text], Field(max_length=MAX_WEIGHTS)]
        | Annotated[dict[Text, Weight], Field(max_length=MAX_WEIGHTS)]
        | Text
    ) = Field(default_factory=list)
    """Activation weights of properties and classes as TERM=WEIGHT, from 0 to 4, where 0 cuts."""
    trace: bool = False
    """Also return the activation after each round, as frames."""


class Ask(Search):
    """Of ``/ask``; other parameters are options of the retriever."""

    reasoner: Text = "single"
    """How to answer: NAME or NAME:KEY=VALUE, as sarag strategies lists them."""
    context: Text = "whole"
    """What the model is given: NAME or NAME:KEY=VALUE, as sarag strategies lists them."""
    budget: Text | int | None = Field(
        None,
        json_schema_extra={"anyOf": [_TOKENS, {"type": "null"}]},
    )
    """Maximum size of the context in tokens, unless context sets it."""
    stream: bool = False
    """Answer as server-sent events: call, step, text, withdrawn, and at the end result or error."""


async def json_body(request: Request) -> Any:
    """The JSON of a body; raises `RequestError` (400, 408, 413, 415)."""
    if base_type(request.headers.get("content-type", "")) != JSON:
        raise RequestError(415, f"send the body as {JSON}")
    try:
        return json.loads(await read_body(request, _MAX_BODY))
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
