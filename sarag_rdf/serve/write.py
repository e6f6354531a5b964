"""Updates: tried on a copy, compared, checked, and applied as one transaction."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, TypeVar, cast

import pyoxigraph as ox

from sarag_rdf.derive.decisions import NameDecisions, decisions_of
from sarag_rdf.derive.incremental import recompute, refresh
from sarag_rdf.errors import InputError, QueryError, SaragError
from sarag_rdf.graph.metadata import read_meta, with_revision
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.skolem import Skolemizer, has_blank_node
from sarag_rdf.index.quarantine import validate_evidence
from sarag_rdf.iris import Minter
from sarag_rdf.kg.session import Session
from sarag_rdf.ports import Change
from sarag_rdf.rdf.oxigraph import OxigraphStore, open_store
from sarag_rdf.rdf.shacl.data import Data
from sarag_rdf.rdf.shacl.shapes import read_shapes, validate
from sarag_rdf.rdf.update_guard import UpdateTraits, inspect_update, is_plain, with_dataset
from sarag_rdf.rdf.writer_lock import COPY
from sarag_rdf.safe_xml import PlainXml
from sarag_rdf.serve.http import GRAPHS
from sarag_rdf.serve.jobs import Payload, Reply, RequestError, UpdateJob, WriteGraphJob
from sarag_rdf.serve.read import evaluate_errors, graph_exists
from sarag_rdf.serve.settings import ServeSettings
from sarag_rdf.terms import DEEPEST_TERM, is_deep, text_of
from sarag_rdf.vocab import RDF, SARAG

_NO_DEFAULT = (
    "the default graph is the union of all graphs here and cannot be written or read alone: name "
    "graphs with GRAPH, WITH or USING, or start the server with --default-graph empty"
)
_TOO_DEEP = f"nests triple terms more than {DEEPEST_TERM} deep"


def update(job: UpdateJob, settings: ServeSettings) -> Reply:
    """Run an update; raises `RequestError`, `StoreError`.

    It runs on a copy of the store, and what it changed there decides, so that nothing depends on
    how its text is read here.
    """
    text, traits = _screened(job, settings)
    with _writing(settings) as (store, settler):
        settler.refuse_own(traits.graphs or ())
        graphs = traits.graphs if is_plain(text) else None

        def changed(copy: ox.Store) -> Difference | RequestError:
            try:
                copy.update(text, base_iri=job.base)
            except (SyntaxError, RuntimeError, ValueError, OSError) as error:
                return evaluate_errors(error)
            return compare(store.engine, copy, graphs)

        difference = on_copy(store, settings.folder, changed)
        if isinstance(difference, RequestError):
            raise difference
        if any(is_deep(quad) for quads in difference.come.values() for quad in quads):
            raise RequestError(400, f"the update {_TOO_DEEP}")
        if settings.union and None in difference.come:
            raise RequestError(400, _NO_DEFAULT)
        settler.write(difference)
    return Reply(204)


def write_graph(job: WriteGraphJob, settings: ServeSettings) -> Reply:
    """Replace, extend or drop one graph; raises `RequestError`, `StoreError`."""
    if job.graph is None and settings.union:
        raise RequestError(409, _NO_DEFAULT)
    parsed = {quad for payload in job.payloads for quad in _parsed(payload, job)}
    with _writing(settings) as (store, settler):
        settler.refuse_own(() if job.graph is None else (job.graph,))
        existed = graph_exists(store.engine, job.graph)
        if job.action == "drop" and not existed:
            raise RequestError(404, f"there is no graph {job.graph}")
        old = set(quads_in(store.engine, job.graph))
        new = {"replace": parsed, "merge": old | parsed, "drop": set[ox.Quad]()}[job.action]
        settler.write(_difference(job, existed, old, new))
    return Reply(204 if existed else 201)


def _difference(
    job: WriteGraphJob, existed: bool, old: set[ox.Quad], new: set[ox.Quad]
) -> Difference:
    difference = Difference()
    if job.graph is not None:
        difference.removed |= {job.graph} if job.action == "drop" else set()
        difference.created |= set() if existed else {job.graph}
        difference.emptied |= {job.graph} if old and not new else set()
    if job.graph not in difference.emptied:
        difference.add(job.graph, old - new, new - old)
    return difference


@contextmanager
def _writing(settings: ServeSettings) -> Iterator[tuple[OxigraphStore, InvariantRepair]]:
    """The store, open for writing and in order."""
    with Session(settings.folder).write() as reader:
        store = reader.store
        assert isinstance(store, OxigraphStore)  # noqa: S101 - that of a folder is one
        yield store, InvariantRepair(reader, store)


def _screened(job: UpdateJob, settings: ServeSettings) -> tuple[str, UpdateTraits]:
    """The text that runs, and its traits; raises `RequestError` for one that may not run."""
    try:
        traits = inspect_update(job.text, job.base)
    except QueryError as error:
        raise RequestError(400, str(error)) from error
    if traits.uses_service and not settings.allow_service:
        raise RequestError(403, "SERVICE reaches the network: it needs --allow-service")
    if traits.loads and not settings.allow_load:
        raise RequestError(403, "LOAD reaches the network: it needs --allow-load")
    clause = _using(job)
    if clause and traits.names_dataset:
        raise RequestError(
            400, "the data set is named twice: by USING or WITH, and by the request's parameters"
        )
    text = with_dataset(job.text, clause) if clause else job.text
    if settings.union and (inspect_update(text, job.base) if clause else traits).uses_default:
        raise RequestError(400, _NO_DEFAULT)
    return text, traits


def _using(job: UpdateJob) -> str:
    parts = [f"USING {ox.NamedNode(iri)}" for iri in job.using]
    parts += [f"USING NAMED {ox.NamedNode(iri)}" for iri in job.using_named]
    return " ".join(parts)


def _parsed(payload: Payload, job: WriteGraphJob) -> list[ox.Quad]:
    """The triples of a payload, all in the graph of the job; blank nodes are told apart."""
    name = ox.DefaultGraph() if job.graph is None else ox.NamedNode(job.graph)
    format_ = GRAPHS[payload.media_type]
    try:
        with Path(payload.path).open("rb") as body:
            is_xml = format_ == ox.RdfFormat.RDF_XML
            stream = cast("IO[bytes]", PlainXml(body, "the body")) if is_xml else body
            quads = ox.parse(
                input=stream,
                format=format_,
                base_iri=job.base,
                without_named_graphs=True,
                rename_blank_nodes=True,
            )
            found = [ox.Quad(q.subject, q.predicate, q.object, name) for q in quads]
    except InputError as error:
        raise RequestError(400, str(error)) from error
    except MemoryError as error:
        raise RequestError(400, "the body holds a term of more than 16 MiB") from error
    except (SyntaxError, ValueError) as error:
        said = " ".join(str(error).split())
        raise RequestError(400, f"the {payload.media_type} does not parse: {said}") from error
    if any(map(is_deep, found)):
        raise RequestError(400, f"the body {_TOO_DEEP}")
    return found


class InvariantRepair:
    """Decides on writes to one graph, and makes them."""

    def __init__(self, reader: GraphReader, store: OxigraphStore) -> None:
        """`reader` reads `store`, which is open for writing."""
        self._reader = reader
        self._store = store
        meta = read_meta(store)
        self._minter = Minter(meta.base) if meta else None
        self._skolemizer = Skolemizer(reader.minter.base)

    def refuse_own(self, graphs: Iterable[str]) -> None:
        """Raise `RequestError` (403) if one of the graphs is the library's to write."""
        for graph in graphs:
            if self._is_own(graph):
                raise RequestError(
                    403,
                    f"{graph} is derived, described or imported by sarag: write to the graph of a "
                    "source or to a graph of your own, or import it again",
                )

    def write(self, difference: Difference) -> None:
        """Change what differs, and all that follows from it, in one step of the store.

        Raises `RequestError` for a change after which sarag could not read the graph, and
        `StoreError`; nothing was written then.
        """
        own = {graph for graph in difference.graphs if graph and self._is_own(graph)}
        is_reset = bool(own) and self._is_reset(difference)
        if not is_reset:
            self.refuse_own(sorted(own))
        self._refuse_other_base(difference)
        lasting = {self._reader.minter.kg_graph, self._reader.minter.meta_graph} & own
        drop = (difference.removed | own) - lasting
        delete: list[ox.Quad] = []
        insert: list[ox.Quad] = []
        sources: dict[str, Sequence[ox.Quad]] = {}
        for graph in difference.graphs:
            if graph in own:
                continue
            gone = difference.gone.get(graph, set())
            is_blank = any(map(has_blank_node, gone))
            if graph is not None and self._is_source(graph):
                sources[graph] = self._checked_source(graph, self._content(difference, graph))
                continue
            if graph is None and is_blank:
                raise RequestError(
                    409, "the default graph holds blank nodes, which cannot be deleted one by one"
                )
            if graph is not None:
                self._check_shapes(graph, difference)
            if graph in difference.emptied:
                drop.add(graph)
            elif graph is not None and is_blank:
                drop.add(graph)
                insert += self._content(difference, graph)
            else:
                delete += gone
                insert += self._come(difference, graph)
        change = Change(tuple(sorted(drop)), tuple(delete), tuple(insert))
        if self._minter is not None:
            change = self._with_derived(change, sources, difference, is_reset=is_reset)
        create = (difference.created | difference.emptied) - difference.removed - own
        self._store.apply(change, create=sorted(create))

    def _with_derived(
        self,
        change: Change,
        sources: Mapping[str, Sequence[ox.Quad]],
        difference: Difference,
        *,
        is_reset: bool,
    ) -> Change:
        """The change with what it means for the traversed graph, and with a new revision."""
        minter = self._reader.minter
        evidence = [quad for content in sources.values() for quad in content]
        delete = (*change.delete, *self._of_lost_imports()) if is_reset else change.delete
        try:
            if is_reset or minter.decisions_graph in difference.graphs:
                decisions = decisions_of(self._content(difference, minter.decisions_graph))
                decided = NameDecisions.of(decisions, minter)
                derived = recompute(self._reader, tuple(sources), evidence, decided)
            elif sources:
                derived = self._refreshed(tuple(sources), evidence)
            else:
                derived = Change()
        except SaragError as error:
            raise RequestError(
                409, f"nothing was written: the traversed graph cannot be derived then: {error}"
            ) from error
        change = Change(
            (*dict.fromkeys((*change.drop, *derived.drop)),),
            (*delete, *derived.delete),
            (*change.insert, *derived.insert),
        )
        return with_revision(self._reader, change)

    def _refreshed(self, drop: Sequence[str], evidence: Sequence[ox.Quad]) -> Change:
        """By what differs; by all evidence where what was there before cannot be read."""
        try:
            return refresh(self._reader, drop, evidence)
        except SaragError:
            return recompute(self._reader, drop, evidence)

    def _come(self, difference: Difference, graph: str | None) -> list[ox.Quad]:
        """What comes into a graph; blank nodes have IRIs."""
        return list(self._skolemizer.quads(difference.come.get(graph, set())))

    def _content(self, difference: Difference, graph: str) -> list[ox.Quad]:
        """All that a graph will hold; blank nodes have IRIs."""
        if graph in difference.emptied:
            return []
        stay = set(quads_in(self._store.engine, graph)) - difference.gone.get(graph, set())
        return [*self._skolemizer.quads(stay), *self._come(difference, graph)]

    def _is_own(self, graph: str) -> bool:
        """Whether a graph is the library's to write: derived, its description, or imported."""
        minter = self._minter
        return minter is not None and (
            graph in (minter.kg_graph, minter.meta_graph)
            or graph.startswith(minter.imported_graphs)
        )

    def _is_source(self, graph: str) -> bool:
        return self._minter is not None and graph.startswith(self._minter.source_graphs)

    def _is_reset(self, difference: Difference) -> bool:
        """Whether a write clears all that is the library's at once, as ``CLEAR ALL`` does.

        Then the description stays, without what it says of imported graphs, and the traversed
        graph is what follows from the evidence that is left.
        """
        there = {g.value for g in self._store.engine.named_graphs() if isinstance(g, ox.NamedNode)}
        own = (graph for graph in there if self._is_own(graph))
        return all(g in difference.emptied or not self._holds(g) for g in own)

    def _holds(self, graph: str) -> bool:
        return next(quads_in(self._store.engine, graph), None) is not None

    def _of_lost_imports(self) -> list[ox.Quad]:
        """What the description says of imported graphs."""
        described = list(quads_in(self._store.engine, self._reader.minter.meta_graph))
        lost = {quad.subject for quad in described if quad.predicate == SARAG.graph}
        return [quad for quad in described if quad.subject in lost]

    def _checked_source(self, graph: str, content: Sequence[ox.Quad]) -> Sequence[ox.Quad]:
        """The content of a source graph; raises `RequestError` (409) for what is not evidence."""
        report = validate_evidence(content)
        if not report.conforms:
            raise _not_conforming(graph, str(report.violations[0]))
        described = {
            q.subject for q in content if (q.predicate, q.object) == (RDF.type, SARAG.Source)
        }
        named = [self._reader.minter.source_graph(str(getattr(s, "value", ""))) for s in described]
        if content and named != [graph]:
            raise _not_conforming(graph, "it has to describe one source, that of its name")
        return content

    def _check_shapes(self, graph: str, difference: Difference) -> None:
        """Raise `RequestError` (409) for what may not stand beside the traversed graph."""
        if self._minter is None or not graph.startswith(self._minter.graphs):
            return
        report = validate(read_shapes("shapes.ttl"), Data(self._content(difference, graph)))
        if not report.conforms:
            raise _not_conforming(graph, str(report.violations[0]))

    def _refuse_other_base(self, difference: Difference) -> None:
        """Raise `RequestError` (409) for the description of another graph of documents."""
        bases = {self._minter.base} if self._minter else set()
        for graph, quads in difference.come.items():
            said = (
                q.object.value
                for q in quads
                if q.predicate == SARAG.baseIRI and isinstance(q.object, ox.Literal)
            )
            bases.update(base for base in said if graph == Minter(base).meta_graph)
        if len(bases) > 1:
            raise RequestError(
                409,
                f"nothing was written: a store holds one graph of documents, and not those of "
                f"{' and '.join(sorted(bases))}",
            )


def _not_conforming(graph: str, what: str) -> RequestError:
    return RequestError(409, f"nothing was written: {graph} does not conform then: {what}")


Graph = str | None
"""The IRI of a graph; None is the default graph."""


@dataclass(slots=True)
class Difference:
    """The quads by which two states differ.

    `gone` and `come` have them by graph, without graphs of which nothing is left: those are in
    `emptied`. `removed` are named graphs that exist no more, `created` those that did not exist; a
    graph may exist without quads.
    """

    gone: dict[Graph, set[ox.Quad]] = field(default_factory=dict)
    come: dict[Graph, set[ox.Quad]] = field(default_factory=dict)
    emptied: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs whose quads differ, the default graph first."""
        return sorted({*self.gone, *self.come, *self.emptied}, key=lambda graph: graph or "")

    def add(self, graph: Graph, gone: set[ox.Quad], come: set[ox.Quad]) -> None:
        """Note what differs in a graph, be it nothing."""
        self.gone.update({graph: gone} if gone else {})
        self.come.update({graph: come} if come else {})


def compare(old: ox.Store, new: ox.Store, graphs: Iterable[str] | None = None) -> Difference:
    """How the default graph and these named graphs differ; None stands for all named graphs.

    Reads what the graphs hold in both states, but of a graph that is empty in one of them only what
    it needs. Memory grows with what differs, not with what is read.
    """
    before, after = _named(old), _named(new)
    if graphs is not None:
        wanted = frozenset(graphs)
        before, after = before & wanted, after & wanted
    difference = Difference(removed=before - after, created=after - before)
    for graph in sorted(before | after):
        if next(quads_in(new, graph), None) is None:
            if next(quads_in(old, graph), None) is not None:
                difference.emptied.add(graph)
        else:
            difference.add(graph, *_differing(quads_in(old, graph), quads_in(new, graph)))
    difference.add(None, *_differing(quads_in(old, None), quads_in(new, None)))
    return difference


def quads_in(store: ox.Store, graph: Graph) -> Iterator[ox.Quad]:
    """The quads of one graph."""
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    return store.quads_for_pattern(None, None, None, name)


def _named(store: ox.Store) -> set[str]:
    return {text_of(graph) for graph in store.named_graphs() if isinstance(graph, ox.NamedNode)}


def _differing(old: Iterator[ox.Quad], new: Iterator[ox.Quad]) -> tuple[set[ox.Quad], set[ox.Quad]]:
    """What only the first has, and what only the second has.

    Both come in the order of the same index, so a quad that both have is soon met on both sides.
    """
    gone: set[ox.Quad] = set()
    come: set[ox.Quad] = set()
    for left, right in zip_longest(old, new):
        if left == right:
            continue
        for quad, mine, others in ((left, gone, come), (right, come, gone)):
            if quad is None:
                continue
            if quad in others:
                others.remove(quad)
            else:
                mine.add(quad)
    return gone, come


_T = TypeVar("_T")


def on_copy(store: OxigraphStore, folder: Path, work: Callable[[ox.Store], _T]) -> _T:
    """What `work` returns for a copy of the store as it is now, which is deleted afterwards.

    The copy lies in the graph's `folder`; one that a killed process leaves behind is removed by the
    next writer. `work` may neither keep the copy nor raise: a traceback would hold it open while it
    is deleted. Raises `StoreError`.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix=COPY, dir=folder))
    except OSError as error:
        raise store.not_written("nothing changed", error) from error
    try:
        store.backup(path / "store")
        return work(open_store(path / "store", writable=True))
    finally:
        shutil.rmtree(path, ignore_errors=True)
