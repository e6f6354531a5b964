"""The W3C's manifests of HTTP tests, as values; they are read from ``SARAG_TEST_DATA``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from rdflib.namespace import RDF, RDFS

from tests.server.running import Got, Running

MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
HT = rdflib.Namespace("http://www.w3.org/2011/http#")
CNT = rdflib.Namespace("http://www.w3.org/2011/content#")
QT = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
UT = rdflib.Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
_NAMES = {"Created": 201, "OK": 200, "NoContent": 204, "NotFound": 404, "BadRequest": 400}


def suite() -> Path | None:
    """The folder of the W3C's SPARQL 1.1 tests, if it is there."""
    folder = os.environ.get("SARAG_TEST_DATA")
    path = Path(folder, "w3c", "sparql11") if folder else None
    return path if path and path.is_dir() else None


@dataclass(frozen=True)
class Step:
    """One request of a test, and what is expected of its answer."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None
    statuses: frozenset[str]
    boolean: bool | None
    format: str
    location: str
    answer: str | None
    answer_type: str


@dataclass(frozen=True)
class Case:
    """One test: graphs to load before (IRI and file), then requests in order."""

    name: str
    graphs: tuple[tuple[str, Path], ...]
    steps: tuple[Step, ...]


def cases(name: str, count: int) -> list[Any]:
    """Parameters of all tests of a manifest, or one that is skipped where there is none."""
    folder = suite()
    return _parameters([] if folder is None else list(read(folder / name)), count)


def path_cases(count: int) -> list[Any]:
    """Parameters of all tests of property paths."""
    folder = suite()
    found = [] if folder is None else list(read_paths(folder / "property-path" / "manifest.ttl"))
    return _parameters(found, count)


def _parameters(found: Sequence[Case | PathCase], count: int) -> list[Any]:
    if suite() is None:
        reason = "optional: SARAG_TEST_DATA names no folder with the W3C's tests (w3c/sparql11)"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="w3c")]
    assert len(found) == count
    return [pytest.param(case, id=case.name) for case in found]


@dataclass(frozen=True)
class PathCase:
    """A query with the data of the default graph and of named graphs, and its result."""

    name: str
    query: Path
    data: tuple[Path, ...]
    graphs: tuple[Path, ...]
    result: Path


def read_paths(manifest: Path) -> Iterator[PathCase]:
    """The entries of a manifest of queries, in its order."""
    graph = rdflib.Graph().parse(manifest, format="turtle", publicID=manifest.as_uri())
    root = graph.value(None, RDF.type, MF.Manifest)

    def files(node: Any, property_: Any) -> tuple[Path, ...]:
        return tuple(manifest.parent / _local(o) for o in graph.objects(node, property_))

    for entry in Collection(graph, graph.value(root, MF.entries)):  # type: ignore[arg-type]
        action = graph.value(entry, MF.action)
        (query,), (result,) = files(action, QT.query), files(entry, MF.result)
        data = files(action, QT.data)
        yield PathCase(_local(entry), query, data, files(action, QT.graphData), result)


def read(manifest: Path) -> Iterator[Case]:
    """The entries of a manifest, in its order."""
    graph = rdflib.Graph().parse(manifest, format="turtle", publicID=manifest.as_uri())
    root = graph.value(None, RDF.type, MF.Manifest)
    for entry in Collection(graph, graph.value(root, MF.entries)):  # type: ignore[arg-type]
        action = graph.value(entry, MF.action)
        found = graph.value(action, HT.requests) if action else None
        requests = Collection(graph, found) if found else ()
        data = tuple(
            (
                str(graph.value(node, RDFS.label)),
                manifest.parent / Path(str(graph.value(node, UT.graph))).name,
            )
            for node in graph.objects(entry, UT.graphData)
        )
        yield Case(_local(entry), data, tuple(_step(graph, node) for node in requests))


def _step(graph: rdflib.Graph, node: Any) -> Step:
    response = graph.value(node, HT.resp)
    body = _chars(graph, node)
    boolean = graph.value(response, MF.expectedBoolean)
    return Step(
        method=str(graph.value(node, HT.methodName)),
        path=str(graph.value(node, HT.absolutePath)),
        headers=_headers(graph, node),
        body=None if body is None else body[0].encode(body[1]),
        statuses=frozenset(map(_local, graph.objects(response, MF.expectedStatus))),
        boolean=None if boolean is None else bool(boolean.toPython()),
        format=str(graph.value(response, MF.expectedFormat) or ""),
        location=str(graph.value(response, MF.expectedLocation) or ""),
        answer=(_chars(graph, response) or (None, ""))[0],
        answer_type=_headers(graph, response).get("content-type", ""),
    )


def _headers(graph: rdflib.Graph, node: Any) -> dict[str, str]:
    found = graph.value(node, HT.headers)
    return {
        str(graph.value(header, HT.fieldName)).lower(): str(graph.value(header, HT.fieldValue))
        for header in (Collection(graph, found) if found else ())
    }


def _chars(graph: rdflib.Graph, node: Any) -> tuple[str, str] | None:
    body = graph.value(node, HT.body)
    if body is None:
        return None
    encoding = graph.value(body, CNT.characterEncoding) or "UTF-8"
    return str(graph.value(body, CNT.chars)), str(encoding)


def _local(iri: Any) -> str:
    return re.split(r"[/#]", str(iri))[-1]


def play(server: Running, case: Case, prefix: str, path: str) -> None:
    """Run the requests of a test, with `path` for the `prefix` of the manifest's paths."""
    server.update("DROP ALL")
    for iri, file in case.graphs:
        got = server.ask(
            "PUT",
            f"/rdf-graph-store?graph={iri}",
            file.read_bytes(),
            token=True,
            Content_Type="application/n-triples",
        )
        assert got.status == 201
    variables: dict[str, str] = {}
    for step in case.steps:
        target = step.path
        body = step.body
        for name, value in variables.items():
            target = target.replace(name, value)
            body = body.replace(name.encode(), value.encode()) if body else body
        if target.startswith(server.url):
            target = target.removeprefix(server.url)
        else:
            assert target.startswith(prefix), target
            target = path + target.removeprefix(prefix)
        got = server.ask(step.method, target, body, token=True, **step.headers)
        _judge(server, step, got, target)
        if step.location:
            assert got.headers["location"], got
            variables[step.location] = got.headers["location"]


def _judge(server: Running, step: Step, got: Got, target: str) -> None:
    shown = (step.method, target, got.status, got.text[:500])
    expected = {_status(name) for name in step.statuses}
    assert any(str(got.status).startswith(str(code)) for code in expected), (expected, shown)
    if step.boolean is not None:
        assert got.json()["boolean"] is step.boolean, shown
    if step.format == "tabular":
        assert got.media_type in (
            "application/sparql-results+xml",
            "application/sparql-results+json",
        )
    if step.format == "RDF":
        assert rdflib.Graph().parse(data=got.text, format=got.media_type) is not None
    if step.answer is not None and step.method != "HEAD":
        assert got.headers["content-type"] == step.answer_type or not step.answer_type
        format_ = got.media_type
        wanted = rdflib.Graph().parse(
            data=step.answer, format=format_, publicID=server.url + target
        )
        found = rdflib.Graph().parse(data=got.text, format=format_, publicID=server.url + target)
        assert isomorphic(wanted, found), shown


def _status(name: str) -> int:
    match = re.fullmatch(r"StatusCode(\d)xx", name)
    return int(match.group(1)) if match else _NAMES[name]
