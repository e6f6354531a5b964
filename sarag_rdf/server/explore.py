"""``/graph``: bounded parts of a graph as JSON, for the explorer and the SPARQL editor.

Every answer has at most `MAX_NODES` nodes and says how many it left out.
"""

from __future__ import annotations

import json
import mmap
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Literal, Self

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from sarag_rdf.base.files import replacing
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.vocab import OWL, RDFS, SARAG, Term
from sarag_rdf.server.graphs import Fingerprint
from sarag_rdf.server.http import check_iri, run
from sarag_rdf.server.jobs import JSON, JobReply, RequestError
from sarag_rdf.server.parameters import MAX_NODES, Complete, Neighbours, Parameters, json_body
from sarag_rdf.server.read import QueryJob, evaluate, known_prefixes
from sarag_rdf.server.worker import Worker

CompletionKind = Literal["class", "property", "entity"]
"""What is completed."""
_LEAST_ROWS = 500
"""Statements that are read around a node, or three for each neighbour that is asked for, if those
are more. Further ones are left out, and their number is a lower bound: a node with tens of
thousands would else take seconds."""
_NAME_LENGTH = 120
_LOCAL = re.compile(r"[^/#]+(?=[/#]?$)")
_CACHED = 16
_MOST_NAMES = 2000
"""Names that are compared for a completion."""
_MOST_LABELS = 1 << 24
_Json = dict[str, Any]
_terms_cache: dict[tuple[Any, ...], list[tuple[str, int]]] = {}
"""Classes and properties in use, for a state of the store."""


async def neighbours(request: Request) -> Response:
    """``/graph/neighbours?iri=...``: the statements around a node, or the instances of a class."""
    asked = await Neighbours.of(request)
    return await run(request, ExploreJob("neighbours", (asked.iri,), asked.limit, over=asked.over))


async def complete(request: Request) -> Response:
    """``/graph/complete?prefix=...&kind=...``: classes, properties or entities by their names."""
    asked = await Complete.of(request)
    job = ExploreJob("complete", (), asked.limit, asked.kind, asked.prefix, asked.over)
    return await run(request, job)


async def names(request: Request) -> Response:
    """``POST /graph/names`` with a list of IRIs: their names and classes."""
    iris = await json_body(request)
    if not isinstance(iris, list) or not all(isinstance(iri, str) for iri in iris):
        raise RequestError(400, "the body must be a list of IRIs")
    if len(iris) > MAX_NODES:
        raise RequestError(400, f"the body has more than {MAX_NODES} IRIs")
    checked = tuple(check_iri(iri, "iris") for iri in dict.fromkeys(iris))
    asked = await Parameters.of(request, has_body=False)
    return await run(request, ExploreJob("names", checked, over=asked.over))


async def prefixes(request: Request) -> Response:
    """``/graph/prefixes``: prefixes of common vocabularies, of the graph, and of its ontologies."""
    await Parameters.of(request)
    return await run(request, ExploreJob("prefixes"))


# ------------------------------------------------------------------------------ In a worker


@dataclass(frozen=True, slots=True)
class ExploreJob:
    """Read neighbours of a node, names of nodes, terms that begin with a prefix, or prefixes.

    `over` names the parts of the graph; empty for those of the server.
    """

    action: Literal["neighbours", "complete", "names", "prefixes"]
    iris: tuple[str, ...] = ()
    limit: int = 0
    kind: CompletionKind = "entity"
    prefix: str = ""
    over: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it is about, for the audit log."""
        return self.prefix or (self.iris[0] if self.iris else "")

    def run(self, worker: Worker) -> JobReply:
        """The result as JSON; raises `RequestError`."""
        view = GraphPart(worker, self.over)
        if self.action == "neighbours":
            result = view.neighbours(self.iris[0], self.limit)
            rows = len(result["edges"])
        elif self.action == "prefixes":
            result = {"prefixes": known_prefixes(worker.snapshot, worker.readable)}
            rows = len(result["prefixes"])
        elif self.action == "names":
            result = {"nodes": view.nodes(self.iris)}
            rows = len(result["nodes"])
        else:
            result = {"terms": view.complete(self.kind, self.prefix, self.limit)}
            rows = len(result["terms"])
        data = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
        return worker.reply(JSON, data, rows)


class GraphPart:
    """The graphs that a client asks, and may read."""

    def __init__(self, worker: Worker, over: tuple[str, ...]) -> None:
        self._snapshot, self._over = worker.snapshot, over
        self._settings, self._readable = worker.settings, worker.readable

    def neighbours(self, iri: str, limit: int) -> _Json:
        """Up to `limit` neighbours: those of sentences first, documents last."""
        node = ox.NamedNode(iri)
        most = max(_LEAST_ROWS, 3 * limit)
        edges = self._spoken(node, most)
        spoken = {(edge["source"], edge["target"]) for edge in edges}
        plain: list[_Json] = []
        linked = self._rows("linked-nodes", [node], most)
        for _, property_, other, outgoing in linked:
            source, target = (iri, other.value) if _is_true(outgoing) else (other.value, iri)
            ends = source, target
            related = SARAG.relatedTo.value
            if ends in spoken and property_.value == related:
                continue
            if any(e["property"] == property_.value for e in edges if _ends(e) == ends):
                continue
            plain.append(_edge(source, target, property_.value))
        described = {SARAG.describes.value, SARAG.about.value}
        edges += sorted(plain, key=lambda edge: edge["property"] in described)
        instances = self._rows("instances-of", [node], most) if not edges else []
        edges += [_edge(one.value, iri, RDF_TYPE) for _, one in instances]
        others = list(dict.fromkeys(end for e in edges for end in _ends(e) if end != iri))
        shown = {iri, *others[:limit]}
        inner = [edge for edge in edges if shown.issuperset(_ends(edge))]
        is_cut = max(len(edges), len(linked), len(instances)) >= most
        return {
            "nodes": self.nodes([iri, *others[:limit]]),
            "edges": inner,
            "left_out": {"nodes": max(0, len(others) - limit), "at_least": is_cut},
        }

    def _spoken(self, node: ox.NamedNode, most: int) -> list[_Json]:
        """Relationships as edges, with their sentences."""
        edges = []
        for _, iri, other, outgoing, phrase, text, property_ in self._rows(
            "sentences-of", [node], most
        ):
            ends = (node, other) if _is_true(outgoing) else (other, node)
            edge = _edge(ends[0].value, ends[1].value, property_.value if property_ else "")
            edge |= {"relationship": iri.value, "phrase": phrase.value, "text": text.value}
            edges.append(edge)
        return sorted(edges, key=lambda e: (not e["property"], *_ends(e), e["text"]))

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

    def complete(self, kind: CompletionKind, prefix: str, limit: int) -> list[_Json]:
        """Terms whose name or local name begins with `prefix`; the most used come first."""
        if kind == "entity":
            return self._named(prefix, limit)
        name = "classes-used" if kind == "class" else "predicates-used"
        requested = prefix.casefold()
        matching = [
            (iri, uses)
            for iri, uses in self.used(name)
            if local_name(iri).casefold().startswith(requested)
        ]
        return [
            {"iri": iri, "name": local_name(iri), "uses": uses} for iri, uses in matching[:limit]
        ]

    def _named(self, prefix: str, limit: int) -> list[_Json]:
        """The shortest of the first `_MOST_NAMES` names, in their order, that begin so."""
        if not prefix.strip():
            return []
        named: dict[str, str] = {}
        for name, iri in islice(self._names().starting_with(prefix), _MOST_NAMES):
            named.setdefault(iri, name)
        ordered = sorted(named.items(), key=lambda item: (len(item[1]), item[1], item[0]))
        return [{"iri": iri, "name": name} for iri, name in ordered[:limit]]

    def _names(self) -> NameIndex:
        """The names in the graphs that are asked, from the file for the state of the store."""
        state = sha256_hex(repr(sorted(self._snapshot.fingerprint or ())))[:32]
        view = sha256_hex(repr((sorted({*self._over}), sorted(self._readable or "*"))))[:32]
        path = Path(tempfile.gettempdir()) / f"{_NAMES}{state}-{view}"
        if path not in _name_indexes:
            for other in _outdated(list(_name_indexes), state):
                del _name_indexes[other]
            try:
                _name_indexes[path] = NameIndex.read(path)
            except FileNotFoundError:
                rows = self._rows("nodes-named", None, _MOST_LABELS)
                names = ((name.value, node.value) for node, name in rows if _is_iri(node))
                _name_indexes[path] = NameIndex.write(path, names)
                files = sorted(path.parent.glob(f"{_NAMES}*"), key=_age)
                for other in _outdated(files, state):
                    other.unlink(missing_ok=True)  # stays readable where it is mapped
        return _name_indexes[path]

    def used(self, name: str) -> list[tuple[str, int]]:
        """Terms with the number of their uses, the most used first; `name` is that of a query."""
        current: Fingerprint | None = self._snapshot.fingerprint
        key = (current, name, self._over, self._readable)
        if key not in _terms_cache:
            if len(_terms_cache) >= _CACHED:
                _terms_cache.clear()
            counts = [(t.value, int(n.value)) for t, n in self._rows(name, None) if _is_iri(t)]
            _terms_cache[key] = sorted(counts, key=lambda item: (-item[1], item[0]))
        return _terms_cache[key]

    def _rows(
        self, name: str, values: Sequence[Term] | None, limit: int = _MOST_LABELS
    ) -> list[tuple[Any, ...]]:
        """Rows of a query over the default graph that was asked for."""
        text = query_file("explorer", name).fill(values, {"all": ""})
        job = QueryJob(f"{text}\nLIMIT {limit}", "", "urn:sarag:", over=self._over)
        result = evaluate(self._snapshot, job, self._settings, self._readable)
        return list(map(tuple, result))


class NameIndex:
    """Names in alphabetical order in a file, which all workers of a server map into memory.

    A line has the name in lower case, the name, and the IRI.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The index in a file; raises `FileNotFoundError`."""
        with path.open("rb") as file:
            return cls(file)

    @classmethod
    def write(cls, path: Path, names: Iterable[tuple[str, str]]) -> Self:
        """Write the index, and return it; other readers see all of it or nothing."""
        lines = set()
        for name, iri in names:
            words = " ".join(name.split())
            lines.add(f"{words.casefold()}\t{words}\t{iri}\n".encode())
        with replacing(path) as file:
            file.write(b"\n")  # an empty file cannot be mapped
            file.writelines(sorted(lines))
            file.flush()
            return cls(file)  # before another worker may delete it

    def starting_with(self, prefix: str) -> Iterator[tuple[str, str]]:
        """(name, IRI) of names that begin so, in alphabetical order."""
        requested = " ".join(prefix.casefold().split()).encode()
        low, high = 0, len(self._lines)
        while low < high:  # a line begins before `high`, and none that is sought before `low`
            middle = self._lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = self._lines.find(b"\n", middle) + 1
            if self._lines[middle:end] < requested:
                low = end
            else:
                high = middle
        while self._lines[low : low + len(requested)] == requested and low < len(self._lines):
            end = self._lines.find(b"\n", low) + 1
            _, name, iri = self._lines[low : end - 1].decode().split("\t")
            yield name, iri
            low = end


_NAMES: Final = "names-"
_name_indexes: dict[Path, NameIndex] = {}
"""By their files, which are named by the state of the store and by what a client reads."""


def _outdated(files: Sequence[Path], state: str) -> Iterator[Path]:
    """The files for other states of the store, and the first of those beyond `_CACHED`."""
    current = [path for path in files if path.name.startswith(f"{_NAMES}{state}")]
    yield from (path for path in files if path not in current)
    yield from current[:-_CACHED]


def _age(path: Path) -> int:
    """When a file was written; 0 if it was removed in the meantime."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_CLASSES = {OWL.Class.value, RDFS.Class.value}


def local_name(iri: str) -> str:
    """The last part of an IRI."""
    match = _LOCAL.search(iri)
    return match.group() if match else iri


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


def _is_iri(term: Any) -> bool:
    return isinstance(term, ox.NamedNode)


def _node(iri: str, names: Iterable[ox.Literal], classes: Sequence[str]) -> _Json:
    """A node with its best name: one in English or without a language, then the shortest."""
    ranked = sorted(names, key=lambda n: (n.language not in (None, "en"), len(n.value), n.value))
    name = ranked[0].value if ranked else local_name(iri)
    kind = "entity"
    if SARAG.Document.value in classes:
        kind = "document"
    elif _CLASSES.intersection(classes):
        kind = "class"
    own = [c for c in sorted(classes) if not c.startswith(SARAG.base)]
    types = own or [c for c in sorted(classes) if c != SARAG.Entity.value] or list(classes)
    return {
        "iri": iri,
        "name": " ".join(name.split())[:_NAME_LENGTH],
        "kind": kind,
        "classes": sorted(classes),
        "type": local_name(types[0]) if types else "",
    }
