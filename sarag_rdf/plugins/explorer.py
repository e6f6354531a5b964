"""``/graph``: bounded parts of a graph as JSON, for the explorer and the SPARQL editor.

Every answer has at most `MAX_NODES` nodes and says how many it left out.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

import pyoxigraph as ox
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf.base.files import replacing
from sarag_rdf.base.iris import local_name, sha256_hex
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import OWL, RDF, RDFS, SARAG, Term
from sarag_rdf.graph.valid_time import TIMES
from sarag_rdf.server.jobs import JSON, JobReply, RequestError
from sarag_rdf.server.openapi import (
    IRIS,
    OBJECT,
    OBJECTS,
    Door,
    Operation,
    closed,
    operations,
    route,
)
from sarag_rdf.server.query_evaluation import QueryJob, Rows, evaluate, known_prefixes
from sarag_rdf.server.requests import Iri, Parameters, check_iri, json_body, run
from sarag_rdf.server.resource_reader import is_iri_term
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import Worker
from sarag_rdf.server.worker_pool import Workers

CompletionKind = Literal["class", "property", "entity"]
"""What is completed."""
_LEAST_ROWS = 500
"""Statements that are read around a node, or three for each neighbour that is asked for, if those
are more. Further ones are left out, and their number is a lower bound: a node with tens of
thousands would else take seconds."""
_NAME_LENGTH = 120
_CACHED = 16
_MOST_LABELS = 1 << 24
_Json = dict[str, Any]
MAX_NODES: Final = 500
"""Nodes of a part of a graph at most."""
MAX_TERMS: Final = 30
"""Completions at most."""


class Neighbours(Parameters):
    """Of ``/graph/neighbours``."""

    iri: Iri
    """IRI of the node."""
    limit: Annotated[int, Field(ge=1, le=MAX_NODES)] = 40
    """Neighbours at most."""


class Complete(Parameters):
    """Of ``/graph/complete``."""

    prefix: Annotated[str, Field(max_length=200)] = ""
    """The text."""
    kind: Literal["class", "property", "entity"] = "entity"
    """What is looked up."""
    limit: Annotated[int, Field(ge=1, le=MAX_TERMS)] = MAX_TERMS
    """Terms at most."""


@operations(get=Operation(Neighbours, gives="Part"))
async def neighbours(request: Request) -> Response:
    """The statements around a node, with their sentences, or the instances of a class.

    Also how many neighbours are left out.
    """
    parameters = await Neighbours.of(request)
    job = ExploreJob("neighbours", (parameters.iri, parameters.limit), parameters.over)
    return await run(request, job, parameters.iri, "pages")


@operations(get=Operation(Complete, gives="Terms"))
async def complete(request: Request) -> Response:
    """Classes, properties or entities of the graph whose names begin with a text."""
    parameters = await Complete.of(request)
    arguments = parameters.kind, parameters.prefix, parameters.limit
    job = ExploreJob("complete", arguments, parameters.over)
    return await run(request, job, parameters.prefix, "pages")


@operations(post=Operation(Parameters, {**IRIS, "maxItems": MAX_NODES}, "Nodes"))
async def names(request: Request) -> Response:
    """Names and classes of nodes; the body is a list of IRIs."""
    iris = await json_body(request)
    if not isinstance(iris, list) or not all(isinstance(iri, str) for iri in iris):
        raise RequestError(400, "the body must be a list of IRIs")
    if len(iris) > MAX_NODES:
        raise RequestError(400, f"the body has more than {MAX_NODES} IRIs")
    checked = [check_iri(iri, "iris") for iri in dict.fromkeys(iris)]
    parameters = await Parameters.of(request, has_body=False)
    job = ExploreJob("names", (checked,), parameters.over)
    return await run(request, job, "".join(checked[:1]), "pages")


@operations(get=Operation(Parameters, gives="Prefixes"))
async def prefixes(request: Request) -> Response:
    """Prefixes of common vocabularies, of the graph, and of its ontologies."""
    parameters = await Parameters.of(request)
    return await run(request, ExploreJob("prefixes", (), parameters.over), "", "pages")


def door(settings: ServeSettings, workers: Workers) -> Door:  # noqa: ARG001 - as all doors
    """What the explorer and the editor read of a server."""
    handlers = (neighbours, complete, names, prefixes)
    routes = [route(f"/graph/{handler.__name__}", handler) for handler in handlers]
    schemas = {
        "Part": closed(nodes=OBJECTS, edges=OBJECTS, left_out=OBJECT),
        "Terms": closed(terms=OBJECTS),
        "Nodes": closed(nodes=OBJECTS),
        "Prefixes": closed(prefixes=OBJECT),
    }
    return Door("/graph", "Parts of the graph", routes, may_cost=False, schemas=schemas)


# ------------------------------------------------------------------------------ In a worker


@dataclass(frozen=True, slots=True)
class ExploreJob:
    """Call a method of `GraphPart`.

    `over` names the parts of the graph; empty for those of the server.
    """

    method: Literal["neighbours", "complete", "names", "prefixes"]
    arguments: tuple[Any, ...]
    over: tuple[str, ...]

    def run(self, worker: Worker) -> JobReply:
        """The result as JSON; raises `RequestError`."""
        result: _Json = getattr(GraphPart(worker, self.over), self.method)(*self.arguments)
        rows = len(result.get("edges", next(iter(result.values()))))
        data = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
        return JobReply(200, JSON, data, rows=rows)


class GraphPart:
    """The graphs that a client asks, and may read."""

    def __init__(self, worker: Worker, over: tuple[str, ...]) -> None:
        self._worker, self._over = worker, over

    def neighbours(self, iri: str, limit: int) -> _Json:
        """Up to `limit` neighbours: those of sentences first, documents last."""
        node = ox.NamedNode(iri)
        most = max(_LEAST_ROWS, 3 * limit)
        edges = self._spoken(node, most)
        spoken = {_ends(edge) for edge in edges}
        stated = {(*_ends(edge), edge["property"]) for edge in edges}
        plain: list[_Json] = []
        linked = self._rows("linked-nodes", [node], most)
        for _, property_, other, outgoing in linked:
            edge = _edge(iri, other.value, property_.value)
            if not _is_true(outgoing):
                edge = _edge(other.value, iri, property_.value)
            is_spoken = property_ == SARAG.relatedTo and _ends(edge) in spoken
            if not is_spoken and (*_ends(edge), edge["property"]) not in stated:
                plain.append(edge)
        described = {SARAG.describes.value, SARAG.about.value}
        edges += sorted(plain, key=lambda edge: edge["property"] in described)
        instances = self._rows("instances-of", [node], most) if not edges else []
        edges += [_edge(one.value, iri, RDF.type.value) for _, one in instances]
        others = list(dict.fromkeys(end for e in edges for end in _ends(e) if end != iri))
        shown = [iri, *others[:limit]]
        is_cut = max(len(edges), len(linked), len(instances)) >= most
        return {
            "nodes": self.nodes(shown),
            "edges": [edge for edge in edges if set(shown).issuperset(_ends(edge))],
            "left_out": {"nodes": max(0, len(others) - limit), "at_least": is_cut},
        }

    def _spoken(self, node: ox.NamedNode, most: int) -> list[_Json]:
        """Relationships as edges, with their sentences."""
        edges = []
        for _, iri, other, outgoing, phrase, text, property_, *times in self._rows(
            "sentences-of", [node], most
        ):
            ends = (node, other) if _is_true(outgoing) else (other, node)
            edge = _edge(ends[0].value, ends[1].value, property_.value if property_ else "")
            edge |= {"relationship": iri.value, "phrase": phrase.value, "text": text.value}
            edge |= {name: time.value for (name, _), time in zip(TIMES, times, strict=True) if time}
            edges.append(edge)
        return sorted(edges, key=lambda e: (not e["property"], *_ends(e), e["text"]))

    def prefixes(self) -> _Json:
        """Prefixes with their namespaces."""
        return {"prefixes": known_prefixes(self._worker)}

    def names(self, iris: Sequence[str]) -> _Json:
        """The `nodes` as an object."""
        return {"nodes": self.nodes(iris)}

    def nodes(self, iris: Sequence[str]) -> list[_Json]:
        """Names and classes of nodes, in their order."""
        labels: dict[str, list[ox.Literal]] = defaultdict(list)
        classes: dict[str, list[str]] = defaultdict(list)
        rows = self._rows("labels-of", [ox.NamedNode(iri) for iri in iris], 100 * MAX_NODES)
        for node, name, class_ in rows:
            if isinstance(name, ox.Literal):
                labels[node.value].append(name)
            elif class_ is not None:
                classes[node.value].append(class_.value)
        return [_node(iri, labels[iri], classes[iri]) for iri in iris]

    def complete(self, kind: CompletionKind, prefix: str, limit: int) -> _Json:
        """Classes and properties whose local names begin with `prefix`, the most used first.

        Of entities, those with a word in a name that begins so, the shortest names first.
        """
        if kind == "entity":
            names_ = self._names().find(prefix, limit)
            return {"terms": [{"iri": iri, "name": name} for name, iri in names_]}
        used = self.used("classes-used" if kind == "class" else "predicates-used")
        terms = [
            {"iri": iri, "name": local_name(iri), "uses": uses}
            for iri, uses in used
            if local_name(iri).casefold().startswith(prefix.casefold())
        ]
        return {"terms": terms[:limit]}

    def _names(self) -> NameIndex:
        """The names in the graphs that are asked, from the file for the state of the store."""
        state = sha256_hex(self._worker.snapshot.state)[:32]
        view = sha256_hex(repr((sorted({*self._over}), sorted(self._worker.readable or "*"))))[:32]
        path = Path(tempfile.gettempdir()) / f"{_NAMES}{state}-{view}"
        if path not in _name_indexes:
            if len(_name_indexes) >= _CACHED or any(state not in p.name for p in _name_indexes):
                _name_indexes.clear()
            try:
                _name_indexes[path] = NameIndex(path)
            except FileNotFoundError:
                rows = self._rows("nodes-named", None, _MOST_LABELS)
                write_names(
                    path, ((name.value, node.value) for node, name in rows if is_iri_term(node))
                )
                _name_indexes[path] = NameIndex(path)
                with suppress(FileNotFoundError):  # other workers delete files as well
                    files = path.parent.glob(f"{_NAMES}*")
                    ordered = sorted(files, key=lambda file: file.stat().st_mtime_ns)
                    current = [file for file in ordered if state in file.name]
                    for other in {*ordered}.difference(current[-_CACHED:]):
                        other.unlink()  # stays readable where it is open
        return _name_indexes[path]

    def used(self, name: str) -> list[tuple[str, int]]:
        """Terms with the number of their uses, the most used first; `name` is that of a query."""

        def read() -> list[tuple[str, int]]:
            counts = [(t.value, int(n.value)) for t, n in self._rows(name, None) if is_iri_term(t)]
            return sorted(counts, key=lambda item: (-item[1], item[0]))

        return self._worker.snapshot.cached((name, self._over, self._worker.readable), read)

    def _rows(
        self, name: str, values: Sequence[Term] | None, limit: int = _MOST_LABELS
    ) -> list[tuple[Any, ...]]:
        """Rows of a query over the default graph that was asked for."""
        text = query_file("explorer", name).fill(values, {"all": ""})
        job = QueryJob(text, "", "urn:sarag:", over=self._over, max_rows=limit)
        result = evaluate(self._worker, job)
        assert isinstance(result, Rows)  # noqa: S101 - result of SELECT
        return list(islice(result.items, limit))


class NameIndex:
    """Names in a file, which all workers of a server read."""

    def __init__(self, path: Path) -> None:
        """Raises `FileNotFoundError`."""
        try:
            uri = f"file:{quote(str(path))}?mode=ro&immutable=1"
            self._database = sqlite3.connect(uri, uri=True)
        except sqlite3.OperationalError as error:
            raise FileNotFoundError(path) from error

    def find(self, prefix: str, limit: int) -> list[tuple[str, str]]:
        """The shortest (name, IRI) with a word that begins so, whatever its case and accents."""
        phrase = prefix.replace('"', " ").replace("\0", " ")
        rows = self._database.execute(
            "SELECT name, iri, min(length(name)) AS size FROM names WHERE names MATCH ? "
            "GROUP BY iri ORDER BY size, name, iri LIMIT ?",
            (f'"{phrase}" *', limit),
        )
        return [(name, iri) for name, iri, _ in rows]


def write_names(path: Path, names: Iterable[tuple[str, str]]) -> None:
    """Write the file of an index of (name, IRI); others see all of it or nothing."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE names USING fts5(name, iri UNINDEXED, prefix='2 3')")
    rows = {(" ".join(name.split()), iri) for name, iri in names}
    database.executemany("INSERT INTO names VALUES (?, ?)", sorted(rows))
    database.commit()
    with replacing(path) as file:
        file.write(database.serialize())


_NAMES: Final = "names-"
_name_indexes: dict[Path, NameIndex] = {}
"""By their files, which are named by the state of the store and by what a client reads."""


_CLASSES = {OWL.Class.value, RDFS.Class.value}


def _edge(source: str, target: str, property_: str) -> _Json:
    return {
        "source": source,
        "target": target,
        "property": property_,
        "name": local_name(property_) if property_ else "",
    }


def _ends(edge: _Json) -> tuple[str, str]:
    return edge["source"], edge["target"]


def _is_true(term: Any) -> bool:
    return bool(term.value in ("true", "1"))


def _node(iri: str, names: Iterable[ox.Literal], classes: Sequence[str]) -> _Json:
    """A node with its best name: one in English or without a language, then the shortest."""
    ranked = sorted(names, key=lambda n: (n.language not in (None, "en"), len(n.value), n.value))
    name = ranked[0].value if ranked else local_name(iri)
    kind = "entity"
    if SARAG.Document.value in classes:
        kind = "document"
    elif SARAG.Value.value in classes:
        kind = "value"
    elif _CLASSES.intersection(classes):
        kind = "class"
    own = [c for c in sorted(classes) if not c.startswith(SARAG.base)]
    types = (
        own
        or [c for c in sorted(classes) if c not in (SARAG.Entity.value, SARAG.Value.value)]
        or list(classes)
    )
    return {
        "iri": iri,
        "name": " ".join(name.split())[:_NAME_LENGTH],
        "kind": kind,
        "classes": sorted(classes),
        "type": local_name(types[0]) if types else "",
    }
