"""Linked data: the IRIs of a graph, and ``/resource``, where each has its description."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from urllib.parse import quote, unquote_to_bytes

import pyoxigraph as ox
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf import __version__
from sarag_rdf.base.iris import DEFAULT_BASE, Minter, is_iri, sha256_hex
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.graph.metadata import Meta
from sarag_rdf.server.jobs import JobReply, RequestError
from sarag_rdf.server.media import HTML, RDF_TYPES, content_type, negotiate
from sarag_rdf.server.openapi import RDF, Operation, operations
from sarag_rdf.server.pages import resource_page
from sarag_rdf.server.query_evaluation import known_prefixes, write_triples
from sarag_rdf.server.requests import STORE_PATH, Resource, public_url, run, settings_of
from sarag_rdf.server.resource_reader import Description, Resources, describe_resource
from sarag_rdf.server.worker import Worker

PATH = "/resource"
MEDIA_TYPES: Mapping[str, ox.RdfFormat | None] = {
    "text/turtle": RDF_TYPES["text/turtle"],
    HTML: None,
    **RDF_TYPES,
}
"""Media type -> format of a description; None for the page. The first is the default."""
FORMATS: Mapping[str, str] = {
    "turtle": "text/turtle",
    "ntriples": "application/n-triples",
    "jsonld": "application/ld+json",
    "rdfxml": "application/rdf+xml",
    "html": HTML,
}
"""Value of the parameter `format` -> media type."""
_KINDS = (
    "description", "doc", "entity", "extraction", "mapping", "mention", "phrase", "quarantine",
    "relationship", "run", "source", "graph/activation", "graph/external", "graph/ontology",
    "graph/quarantine", "graph/source",
)  # fmt: skip
"""First segments of the IRIs below the base of a graph, before another segment."""
_SINGLE = (
    "dataset",
    *(f"graph/{n}" for n in ("decisions", "entailed", "kg", "links", "meta", "runs")),
)
"""The other IRIs below the base."""
_MAX_IRI = 8192
_ESCAPED = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
_TAG = re.compile(r'"[^"]*"|\*')
"""Entity tags of If-None-Match, which are compared without their mark of weakness."""
_URI = "%:/?#[]@!$&'()*+,;=-._~"
"""Characters of URIs that are not percent-encoded again."""


class ResourcePath(StringConvertor):
    """Paths of IRIs: `_KINDS` or `_SINGLE`, after any further segments of the base."""

    regex = rf"(?:[^?]*/)?(?:(?:{'|'.join(_KINDS)})/[^?]+|{'|'.join(_SINGLE)})"


register_url_convertor("resource", ResourcePath())


@operations(get=Operation(Resource, gives=[*RDF, HTML], more="303 304"))
async def resource(request: Request) -> Response:
    """The description of a resource: the statements about it and those that lead to it, or a page.

    Location is that of the resource into which it was merged.
    """
    parameters = await Resource.of(request)
    accept = ", ".join(request.headers.getlist("accept"))
    media_type = FORMATS[parameters.format] if parameters.format else negotiate(accept, MEDIA_TYPES)
    url, store_url = (public_url(request, path) for path in (PATH, STORE_PATH))
    known = frozenset(_TAG.findall(", ".join(request.headers.getlist("if-none-match"))))
    job = ResourceJob((parameters.iri,), media_type, url, store_url, parameters.page, known=known)
    response = await run(request, job, parameters.iri, "pages")
    if "etag" in response.headers:
        has_tokens = bool(settings_of(request).access.tokens)
        response.headers["Cache-Control"] = "private, no-cache" if has_tokens else "no-cache"
        response.headers["Vary"] = "Accept, Authorization" if has_tokens else "Accept"
    return response


@operations(get=Operation(more="303"))
async def resource_by_path(request: Request) -> Response:
    """A resource of the graph, such as /entity/NAME: its IRI, or what follows the base in its IRI.

    Location is that of its description.
    """
    path = request.scope.get("raw_path", b"").decode("latin-1").partition("?")[0]
    iris = iris_of(path, request.app.state.base, public_url(request, "/"))
    if not iris:
        raise RequestError(404, "not found: see /docs for the paths of this server")
    server = settings_of(request).public_url  # no host, as the client controls it
    job = ResourceJob(iris, "", server + PATH, server + STORE_PATH, redirect=True)
    return await run(request, job, iris[0], "pages")


def is_resource_path(path: str) -> bool:
    """Whether a path is that of a description or of a resource."""
    return path == PATH or re.fullmatch(ResourcePath.regex, path.removeprefix("/")) is not None


def iris_of(path: str, base: str, url: str) -> tuple[str, ...]:
    """The IRIs that a path may stand for, as its escaped characters may be part of the IRI or not.

    `base` is that of the graph. If it is below the URL of the server, the path is that of the IRI;
    else it is what follows the base. The server does not see the path of its own URL.

    >>> iris_of("/entity/t%C5%8Dky%C5%8D", "http://a/kg/", "http://a/")
    ()
    >>> iris_of("/kg/entity/t%C5%8Dky%C5%8D", "http://a/kg/", "http://a/")
    ('http://a/kg/entity/tōkyō', 'http://a/kg/entity/t%C5%8Dky%C5%8D')
    >>> iris_of("/entity/ada", "http://a/kg/", "http://b/")
    ('http://a/kg/entity/ada',)
    >>> iris_of("/entity/ada", "http://a/kg/", "http://a/kg/")
    ('http://a/kg/entity/ada',)
    """
    prefix = "/" + base.removeprefix(url) if base.startswith(url) else "/"
    if not base or not path.startswith(prefix) or len(path) > _MAX_IRI:
        return ()
    name = path.removeprefix(prefix)
    spellings = dict.fromkeys((base + _ESCAPED.sub(_unescaped, name), base + name))
    return tuple(filter(is_iri, spellings))


def _unescaped(match: re.Match[str]) -> str:
    try:
        return unquote_to_bytes(match.group()).decode("utf-8")
    except UnicodeDecodeError:
        return match.group()


@dataclass(frozen=True, slots=True)
class ResourceJob:
    """Describe a resource as `media_type`, or with `redirect` lead to its description.

    `iris` are spellings of its IRI, of which the first that exists counts; `url` is that of the
    descriptions, `store_url` that of the graph store; `page` counts instances from 1. `known` are
    entity tags of representations that the client has.
    """

    iris: tuple[str, ...]
    media_type: str
    url: str
    store_url: str
    page: int = 1
    redirect: bool = False
    known: frozenset[str] = frozenset()

    def run(self, worker: Worker) -> JobReply:
        """The reply for a resource; raises `RequestError` (404, 406)."""
        snapshot, readable = worker.snapshot, worker.readable
        resources = Resources(snapshot.store, readable)
        meta = snapshot.meta
        iri = next(filter(resources.exists, self.iris), "")
        if not iri and (url := self._elsewhere(resources, meta)):
            return JobReply(303, headers={"Location": url})
        if not iri and not any(map(resources.below, self.iris)):
            named = next(iter(self.iris), "this path")
            raise RequestError(404, f"not found: no statement of this graph is about {named}")
        iri = iri or self.iris[0]
        if self.redirect:
            headers = {"Location": _description_url(iri, self.url)}
            return JobReply(303, headers=headers | _links(iri, self.url, described=True))
        tag = _entity_tag(worker, self, iri)
        if self.known & {tag, "*"}:
            return JobReply(304, headers={"ETag": tag})
        description = describe_resource(resources, iri, self.page)
        text = "\n".join(map(str, description.triples))
        known = known_prefixes(worker)
        prefixes = {name: space for name, space in known.items() if f"<{space}" in text}
        headers = _links(iri, self.url) | {"ETag": tag}
        headers["Content-Location"] = _description_url(iri, self.url) + self._format
        if self.media_type == HTML:
            page = resource_page(resources, description, jsonld(description, prefixes), meta)
            return JobReply(200, content_type(HTML), page.encode(), headers=headers)
        data = serialize(description, self.media_type, prefixes)
        return JobReply(200, content_type(self.media_type), data, headers=headers)

    @property
    def _format(self) -> str:
        """The parameter of a URL for the media type; empty for one without."""
        names = (name for name, type_ in FORMATS.items() if type_ == self.media_type)
        return next((f"&format={name}" for name in names), "")

    def _elsewhere(self, resources: Resources, meta: Meta | None) -> str:
        """The URL of the entity that the resource was merged into, or of the triples of a graph."""
        if merged := _merged_into(resources, self.iris, meta):
            return _description_url(merged, self.url) + self._format
        graph = next(filter(resources.has_graph, self.iris), "")
        return f"{self.store_url}?graph={quote(graph, safe='')}" if graph else ""


def _entity_tag(worker: Worker, job: ResourceJob, iri: str) -> str:
    """The tag of a representation: another for each state of the graph that a client reads."""
    readable = worker.readable
    state = worker.snapshot.state, readable if readable is None else sorted(readable)
    representation = iri, job.media_type, job.url, job.store_url, job.page, __version__
    return f'"{sha256_hex(repr((state, representation)))[:32]}"'


def _merged_into(resources: Resources, iris: Sequence[str], meta: Meta | None) -> str:
    """The entity to which a name refers now that gave an entity its IRI before, or nothing.

    A name that was split into several entities leads to itself: its page names them.
    """
    minter = Minter(meta.base if meta else DEFAULT_BASE)
    names = [
        minter.mention_of_entity(iri) for iri in iris if iri.startswith(minter.base + "entity/")
    ]
    targets = (
        name if resources.is_split(name) else resources.iri(name, SARAG.refersTo) for name in names
    )
    return next(filter(None, targets), "")


def _description_url(iri: str, url: str) -> str:
    return f"{url}?iri={quote(iri, safe='')}"


def _links(iri: str, url: str, *, described: bool = False) -> dict[str, str]:
    """Where the description is (`described`), or what it describes, and its formats."""
    about = _description_url(iri, url)
    first = f'<{about}>; rel="describedby"'
    if not described:
        first = f'<{quote(iri, safe=_URI)}>; rel="describes"'
    alternates = (
        f'<{about}&format={name}>; rel="alternate"; type="{media_type}"'
        for name, media_type in FORMATS.items()
    )
    return {"Link": ", ".join((first, *alternates))}


def serialize(description: Description, media_type: str, prefixes: Mapping[str, str]) -> bytes:
    """The triples of a description; raises `RequestError` (406) for ones that a format lacks."""
    file = BytesIO()
    write_triples(description.triples, media_type, file, prefixes)
    return file.getvalue()


def jsonld(description: Description, prefixes: Mapping[str, str]) -> str:
    """The description as a JSON-LD data block of a page; empty if it cannot be expressed."""
    try:
        data = serialize(description, "application/ld+json", prefixes).decode()
    except RequestError:
        return ""
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
