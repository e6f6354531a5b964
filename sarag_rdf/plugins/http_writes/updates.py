"""Updates: run on a copy of the store, compared, validated, and applied in one transaction."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

import pyoxigraph as ox

from sarag_rdf.base.errors import EntailmentError, SaragError
from sarag_rdf.base.iris import MANAGED_GRAPHS, Minter
from sarag_rdf.base.ports import Change
from sarag_rdf.base.vocab import DEEPEST_TERM, RDF, SARAG, is_deep, text_of
from sarag_rdf.building.decision_records import Decisions, decisions_of
from sarag_rdf.building.entailed_graph import EntailingStore
from sarag_rdf.building.evidence_quarantine import validate_evidence
from sarag_rdf.building.incremental import recompute, refresh
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import read_meta, with_revision
from sarag_rdf.graph.store.oxigraph import COPY, OxigraphStore, open_store
from sarag_rdf.graph.store.shacl import read_shapes, validate
from sarag_rdf.kg.session import Session
from sarag_rdf.plugins.http_writes.blank_nodes import Skolemizer, has_blank_node
from sarag_rdf.plugins.http_writes.update_guard import (
    UpdateTraits,
    inspect_update,
    is_plain,
    with_dataset,
)
from sarag_rdf.server.jobs import JobReply, RequestError
from sarag_rdf.server.serve_settings import ServeSettings
from sarag_rdf.server.worker import Worker, evaluation_error

DEFAULT_IS_UNION = (
    "the default graph is the union of all graphs here and cannot be written or read by itself: "
    "name graphs with GRAPH, WITH or USING, or start the server with --default-graph empty"
)
TOO_DEEP = f"nests triple terms more than {DEEPEST_TERM} deep"
GraphName = str | None
"""The IRI of a graph; None for the default graph."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """An update; `using` and `using_named` are the dataset of the request."""

    text: str
    base: str
    using: tuple[str, ...] = ()
    using_named: tuple[str, ...] = ()

    def run(self, worker: Worker) -> JobReply:
        """Apply the update; raises `RequestError`, `StoreError`."""
        if worker.client.is_limited:
            raise RequestError(
                403,
                "this token is for some graphs only, and an update can read all: write by the "
                "graph store protocol",
            )
        worker.has_written = True
        return update(self, worker.settings)


def update(job: UpdateJob, settings: ServeSettings) -> JobReply:
    """Run an update; raises `RequestError`, `QueryError`, `StoreError`.

    The update runs on a copy of the store, and its effects there are validated, so that security
    does not depend on an analysis of its text.
    """
    text, traits = _check_update(job, settings)
    with open_for_writing(settings) as repair:
        repair.reject_managed(traits.graphs or ())
        graphs = traits.graphs if is_plain(text) else None

        def run(copy: ox.Store) -> Difference | RequestError:
            try:
                copy.update(text, base_iri=job.base)
            except (SyntaxError, RuntimeError, ValueError, OSError) as error:
                return evaluation_error(error, job.text)
            return compare(repair.store.inner, copy, graphs)

        difference = on_copy(repair.store, settings.folder, run)
        if isinstance(difference, RequestError):
            raise difference
        if any(is_deep(quad) for quads in difference.inserted.values() for quad in quads):
            raise RequestError(400, f"the update {TOO_DEEP}")
        if settings.union and None in difference.inserted:
            raise RequestError(400, DEFAULT_IS_UNION)
        repair.write(difference)
    return JobReply(204)


def _check_update(job: UpdateJob, settings: ServeSettings) -> tuple[str, UpdateTraits]:
    """The update with the dataset of the request, and the traits of its own text.

    Raises `QueryError` for one that does not parse, `RequestError` for one that is not permitted.
    """
    traits = inspect_update(job.text, job.base)
    if traits.uses_service and not settings.allow_service:
        raise RequestError(403, "SERVICE is disabled: start the server with --allow-service")
    if traits.loads and not settings.allow_load:
        raise RequestError(403, "LOAD is disabled: start the server with --allow-load")
    using = [f"USING {ox.NamedNode(iri)}" for iri in job.using]
    using += [f"USING NAMED {ox.NamedNode(iri)}" for iri in job.using_named]
    if using and traits.names_dataset:
        raise RequestError(
            400, "the dataset is named twice: by USING or WITH, and by the request's parameters"
        )
    text = with_dataset(job.text, " ".join(using)) if using else job.text
    if settings.union and (inspect_update(text, job.base) if using else traits).uses_default:
        raise RequestError(400, DEFAULT_IS_UNION)
    return text, traits


@contextmanager
def open_for_writing(settings: ServeSettings) -> Iterator[InvariantRepair]:
    """The locked graph, repaired if the last write was interrupted."""
    with Session(settings.folder).write() as reader:
        store = reader.store
        assert isinstance(store, EntailingStore)  # noqa: S101 - as in every such block
        assert isinstance(store.inner, OxigraphStore)  # noqa: S101 - as in every folder
        yield InvariantRepair(reader, store.inner)


class InvariantRepair:
    """Restores the invariants of a graph after an update.

    Source graphs conform to the evidence shapes, derived data matches the evidence, stored data
    contains no blank nodes, and graphs managed by the library are not written.
    """

    def __init__(self, reader: GraphReader, store: OxigraphStore) -> None:
        """`reader` reads `store`, which is open for writing."""
        self._reader, self.store = reader, store
        meta = read_meta(store)
        self._minter = Minter(meta.base) if meta else None
        self._skolemizer = Skolemizer(reader.minter.base)

    def reject_managed(self, graphs: Iterable[str]) -> None:
        """Raise `RequestError` (403) if one of the graphs is managed by the library."""
        for graph in graphs:
            if self._is_managed(graph):
                raise RequestError(
                    403,
                    f"{graph} is managed by sarag (derived data, metadata, an import or an "
                    "ontology): write to the graph of a source or to a graph of your own, or "
                    "import it again",
                )

    def write(self, difference: Difference) -> None:
        """Apply a difference and the resulting changes of derived data in one transaction.

        Raises `StoreError`, or `RequestError` for a difference that would make the graph
        unreadable; nothing is written in that case.
        """
        managed = {graph for graph in difference.graphs if graph and self._is_managed(graph)}
        is_reset = bool(managed) and self._is_reset(difference)
        if not is_reset:
            self.reject_managed(sorted(managed))
        self._reject_other_base(difference)
        preserved = {self._reader.minter.kg_graph, self._reader.minter.meta_graph} & managed
        drop = (difference.dropped | managed) - preserved
        delete: list[ox.Quad] = []
        insert: list[ox.Quad] = []
        sources: list[str] = []
        evidence: list[ox.Quad] = []
        for graph in difference.graphs:
            if graph in managed:
                continue
            deleted = difference.deleted.get(graph, set())
            has_blank = any(map(has_blank_node, deleted))
            if graph is None:
                if has_blank:
                    raise RequestError(
                        409, "cannot delete single triples with blank nodes from the default graph"
                    )
            elif self._minter and graph.startswith(self._minter.graphs):
                content = self._content(difference, graph)
                if self._check(graph, content):
                    sources.append(graph)
                    evidence += content
                    continue
            if graph in difference.cleared:
                drop.add(graph)
            elif graph is not None and has_blank:
                drop.add(graph)
                insert += self._content(difference, graph)
            else:
                delete += deleted
                insert += self._inserted(difference, graph)
        create = (difference.created | difference.cleared) - difference.dropped - managed
        if is_reset:
            delete += self._import_metadata()
        change = Change(tuple(sorted(drop)), tuple(delete), tuple(insert), tuple(sorted(create)))
        if self._minter is not None:
            graph, decisions = self._minter.decisions_graph, None
            if is_reset or graph in difference.graphs:
                decisions = self._content(difference, graph)
            change = self._with_derived(change, sources, evidence, decisions)
        try:
            self._reader.store.apply(change)
        except EntailmentError as error:
            raise RequestError(409, str(error)) from error

    def _with_derived(
        self,
        change: Change,
        sources: Sequence[str],
        evidence: Sequence[ox.Quad],
        decisions: Sequence[ox.Quad] | None,
    ) -> Change:
        """The change, extended by that of the traversed graph and by a new revision.

        `sources` are graphs whose `evidence` is new; `decisions` are all decisions if some are.
        """
        derived = Change()
        try:
            if decisions is not None:
                decided = Decisions.of(decisions_of(decisions), self._reader.minter)
                derived = recompute(self._reader, sources, evidence, decided)
            elif sources:
                try:
                    derived = refresh(self._reader, sources, evidence)
                except SaragError:  # the previous evidence is unreadable
                    derived = recompute(self._reader, sources, evidence)
        except SaragError as error:
            raise RequestError(
                409, f"nothing was written: the traversed graph could not be derived: {error}"
            ) from error
        extended = replace(
            change,
            drop=tuple(dict.fromkeys((*change.drop, *derived.drop))),
            delete=(*change.delete, *derived.delete),
            insert=(*change.insert, *derived.insert),
        )
        return with_revision(self._reader, extended)

    def _inserted(self, difference: Difference, graph: GraphName) -> list[ox.Quad]:
        """The quads inserted into a graph, with blank nodes skolemized."""
        return list(self._skolemizer.quads(difference.inserted.get(graph, set())))

    def _content(self, difference: Difference, graph: str) -> list[ox.Quad]:
        """The content of a graph after the change, with blank nodes skolemized."""
        if graph in difference.cleared:
            return []
        unchanged = set(quads_in(self.store.inner, graph)) - difference.deleted.get(graph, set())
        return [*self._skolemizer.quads(unchanged), *self._inserted(difference, graph)]

    def _is_managed(self, graph: str) -> bool:
        """Whether only the library may write a graph."""
        return self._minter is not None and self._minter.kind_of(graph) in MANAGED_GRAPHS

    def _is_reset(self, difference: Difference) -> bool:
        """Whether a write clears all managed graphs at once, as ``CLEAR ALL`` does.

        In that case the metadata stays, except that of imported graphs and ontologies, and the
        traversed graph is derived from the remaining evidence.
        """
        store = self.store.inner
        managed = filter(self._is_managed, _graph_names(store))
        return all(name in difference.cleared or is_empty(store, name) for name in managed)

    def _import_metadata(self) -> list[ox.Quad]:
        """The metadata of imported graphs and of ontologies."""
        minter = self._reader.minter
        metadata = list(quads_in(self.store.inner, minter.meta_graph))
        imports = {quad.subject for quad in metadata if quad.predicate == SARAG.graph}
        return [
            quad
            for quad in metadata
            if quad.subject in imports or minter.kind_of(text_of(quad.subject)) == "ontologies"
        ]

    def _check(self, graph: str, content: Sequence[ox.Quad]) -> bool:
        """Whether a graph of the knowledge graph is that of a source.

        Raises `RequestError` (409) if its content violates its shapes.
        """
        minter = self._reader.minter
        is_source = minter.kind_of(graph) == "sources"
        shapes = read_shapes("shapes.ttl")
        report = validate_evidence(content) if is_source else validate(shapes, content)
        violation = "" if report.conforms else str(report.violations[0])
        if is_source and content and not violation:
            type_ = RDF.type, SARAG.Source
            sources = {q.subject for q in content if (q.predicate, q.object) == type_}
            names = [minter.source_graph(str(getattr(s, "value", ""))) for s in sources]
            if names != [graph]:
                violation = "it must describe exactly the source it is named after"
        if violation:
            raise RequestError(409, f"nothing was written: {graph} would not conform: {violation}")
        return is_source

    def _reject_other_base(self, difference: Difference) -> None:
        """Raise `RequestError` (409) for the metadata of a knowledge graph with another base."""
        bases = {self._minter.base} if self._minter else set()
        for graph, quads in difference.inserted.items():
            inserted = (q.object for q in quads if q.predicate == SARAG.baseIRI)
            names = (term.value for term in inserted if isinstance(term, ox.Literal))
            bases.update(base for base in names if graph == Minter(base).meta_graph)
        if len(bases) > 1:
            raise RequestError(
                409,
                "nothing was written: a store contains one knowledge graph, not those of "
                f"{' and '.join(sorted(bases))}",
            )


@dataclass(slots=True)
class Difference:
    """The quads by which two states of a store differ.

    `deleted` and `inserted` contain quads by graph, except for graphs without quads in the new
    state: these are in `cleared`. `dropped` are named graphs that no longer exist, `created` those
    that are new; a graph may exist without quads.
    """

    deleted: dict[GraphName, set[ox.Quad]] = field(default_factory=dict)
    inserted: dict[GraphName, set[ox.Quad]] = field(default_factory=dict)
    cleared: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)

    @property
    def graphs(self) -> list[GraphName]:
        """The graphs whose quads differ, the default graph first."""
        names = {*self.deleted, *self.inserted, *self.cleared}
        return sorted(names, key=lambda graph: graph or "")

    def add(self, graph: GraphName, deleted: set[ox.Quad], inserted: set[ox.Quad]) -> None:
        """Add the difference of a graph, which may be empty."""
        self.deleted.update({graph: deleted} if deleted else {})
        self.inserted.update({graph: inserted} if inserted else {})


def compare(old: ox.Store, new: ox.Store, graphs: Iterable[str] | None = None) -> Difference:
    """The difference of the default graph and of the given named graphs; None for all of these.

    Reads the graphs in both states, except for graphs that are empty in one of them. Memory grows
    with the size of the difference, not with that of the graphs.
    """
    before, after = _graph_names(old), _graph_names(new)
    if graphs is not None:
        names = frozenset(graphs)
        before, after = before & names, after & names
    difference = Difference(dropped=before - after, created=after - before)
    for graph in sorted(before | after):
        if is_empty(new, graph):
            if not is_empty(old, graph):
                difference.cleared.add(graph)
        else:
            difference.add(graph, *_diff(quads_in(old, graph), quads_in(new, graph)))
    difference.add(None, *_diff(quads_in(old, None), quads_in(new, None)))
    return difference


def quads_in(store: ox.Store, graph: GraphName) -> Iterator[ox.Quad]:
    """The quads of one graph."""
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    return store.quads_for_pattern(None, None, None, name)


def is_empty(store: ox.Store, graph: str) -> bool:
    """Whether a graph has no quads."""
    return next(quads_in(store, graph), None) is None


def _graph_names(store: ox.Store) -> set[str]:
    return {text_of(graph) for graph in store.named_graphs() if isinstance(graph, ox.NamedNode)}


def _diff(old: Iterator[ox.Quad], new: Iterator[ox.Quad]) -> tuple[set[ox.Quad], set[ox.Quad]]:
    """The quads in the first iterator only, and those in the second only.

    Both are in the order of the same index, so common quads are met at about the same time, and the
    sets stay small.
    """
    deleted: set[ox.Quad] = set()
    inserted: set[ox.Quad] = set()
    for left, right in zip_longest(old, new):
        if left == right:
            continue
        for quad, same_side, other_side in (
            (left, deleted, inserted),
            (right, inserted, deleted),
        ):
            if quad is None:
                continue
            if quad in other_side:
                other_side.remove(quad)
            else:
                same_side.add(quad)
    return deleted, inserted


def on_copy(store: OxigraphStore, folder: Path, function: Callable[[ox.Store], _T]) -> _T:
    """Call a function with a temporary copy of the store, and return its result.

    The copy is created in the graph's `folder`; the copy of a killed process is deleted by the next
    writer. The function must neither keep a reference to the copy nor raise, because a traceback
    would keep the copy open while it is deleted. Raises `StoreError`.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix=COPY, dir=folder))
    except OSError as error:
        raise store.write_error("nothing changed", error) from error
    try:
        store.backup(path / "store")
        return function(open_store(path / "store"))
    finally:
        shutil.rmtree(path, ignore_errors=True)
