"""Links from entities to items of other graphs: candidates, accepted links, tables of mappings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.ports import Change, Embedder
from sarag_rdf.base.tabular import raise_for_rows
from sarag_rdf.base.vocab import DCTERMS, OWL, PROV, iri, text_of
from sarag_rdf.building.link_candidates import CandidateOptions as CandidateOptions
from sarag_rdf.building.link_candidates import candidates
from sarag_rdf.building.link_records import (
    EXACT,
    SAME_AS,
    UNKNOWN_LICENSE,
    identities,
    quads_of,
    quads_of_links,
    read_links,
    read_table,
    write_table,
)
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now, run_quads, today, with_curated_revision
from sarag_rdf.graph.parts import COMPLETE, imported_graphs, select_parts
from sarag_rdf.graph.records import Match
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.kg.location import endpoint_beside
from sarag_rdf.kg.session import Session, Snapshot


@dataclass(frozen=True, slots=True)
class LinkReport:
    """Numbers of links added, removed and already present, and of rows left out."""

    added: int = 0
    removed: int = 0
    unchanged: int = 0
    left_out: int = 0


def check(path: Path, rows: Iterable[Match], own: GraphReader, target: GraphReader | None) -> None:
    """Raise `InputError` for links whose subject or object is not an entity of its graph.

    Objects are not checked without a `target`.
    """
    requested = [match for match in rows if match.is_link]
    subjects = _known(own, (match.subject for match in requested))
    objects = _known(target, (match.object for match in requested)) if target else None
    seen: dict[tuple[str, str], int] = {}
    wrong = []
    for match in requested:
        if match.subject not in subjects:
            wrong.append(f"line {match.line}: <{match.subject}> is not an entity of this graph")
        if objects is not None and match.object not in objects:
            wrong.append(
                f"line {match.line}: <{match.object}> is not an entity of an imported graph "
                "(allow it with --elsewhere)"
            )
        if match.pair in seen:
            wrong.append(f"line {match.line}: the same link as in line {seen[match.pair]}")
        seen.setdefault(match.pair, match.line)
    raise_for_rows(path, wrong)


def _known(reader: GraphReader, iris: Iterable[str]) -> set[str]:
    return {row[0].value for row in reader.rows_for("entity-names", iris)}


def accept(reader: GraphReader, rows: Iterable[Match], *, same_as: bool = False) -> LinkReport:
    """Store the links among reviewed rows; they replace previous links of the same pairs."""
    listed = list(rows)
    links = [match for match in listed if match.is_link]
    if same_as:
        links = [replace(m, predicate=SAME_AS) if m.predicate == EXACT else m for m in links]
    pairs = {match.pair for match in links}
    previous = [match for match in read_links(reader) if match.pair in pairs]
    new = {quad for match in links for quad in quads_of(reader.minter, match)}
    before = {match.pair for match in previous}
    old = set(quads_of_links(reader, previous))
    _apply(reader, "links accepted", old - new, new - old)
    added = len(pairs - before)
    return LinkReport(added, 0, len(pairs) - added, len(listed) - len(links))


def undo(reader: GraphReader, what: Iterable[Match] | str | None) -> LinkReport:
    """Remove the links of the pairs in rows, or those of an entity, item or mapping IRI, or all.

    Raises `UsageError` if there is no such link.
    """
    links = read_links(reader)
    if isinstance(what, str):
        mapping = reader.minter.mapping
        links = [m for m in links if what in (*m.pair, mapping(m.subject, m.predicate, m.object))]
    elif what is not None:
        pairs = {match.pair for match in what if match.is_link}
        links = [match for match in links if match.pair in pairs]
    if not links:
        raise UsageError("no such link: list all links with sarag mappings")
    _apply(reader, "links removed", set(quads_of_links(reader, links)), set())
    return LinkReport(removed=len(links))


def _apply(reader: GraphReader, what: str, old: set[Quad], new: set[Quad]) -> None:
    if not old and not new:
        return
    started = now()
    change = Change((), tuple(sorted(old, key=str)), tuple(sorted(new, key=str)))
    old_nodes, new_nodes = _mapping_nodes(old), _mapping_nodes(new)
    statements = [(PROV.invalidated, n) for n in sorted(old_nodes - new_nodes, key=str)]
    statements += [(PROV.generated, n) for n in sorted(new_nodes - old_nodes, key=str)]
    change = with_curated_revision(reader, change)
    run = run_quads(reader, what, started, statements)
    reader.store.apply(replace(change, insert=(*change.insert, *run)))


def _mapping_nodes(quads: Iterable[Quad]) -> set[NamedNode]:
    """The nodes with the provenance of links among these quads."""
    return {NamedNode(iri(q.subject)) for q in quads if q.predicate == OWL.annotatedSource}


class Links:
    """Links between entities of documents and items of imported graphs."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def candidates(self, target: str | SparqlEndpoint, **settings: Any) -> list[Match]:
        """Candidates among the items of an imported graph, or behind an endpoint.

        `settings` are those of `CandidateOptions`. Entities that are linked as the same as an item
        of the imported graph are left out. An endpoint is queried for equal names.
        """
        options = CandidateOptions(**({"date": today()} | settings))
        if isinstance(target, SparqlEndpoint):
            remote = Session(endpoint_beside(target, self._session.location))
            with remote.read() as behind, self._session.read() as snapshot:
                options = replace(options, by_name=True)
                return _candidates(snapshot, behind.reader, options)
        with self._session.read() as snapshot:
            items = select_parts(snapshot.reader, [target])
            return _candidates(snapshot, items, options, _linked(snapshot.reader, items))

    def accept(
        self, rows: Path | Sequence[Match], *, same_as: bool = False, elsewhere: bool = False
    ) -> LinkReport:
        """Store candidates as links, or the links of a reviewed table.

        Rows that say that there is no link are left out. With `elsewhere`, the links of a table may
        lead to items that no imported graph has. Raises `InputError` with the errors of a table,
        and changes nothing.
        """
        listed = read_table(rows) if isinstance(rows, Path) else rows
        with self._write() as reader:
            if isinstance(rows, Path):
                check(rows, listed, reader, None if elsewhere else _all_imported(reader))
            return accept(reader, listed, same_as=same_as)

    def undo(self, what: Path | str | None) -> LinkReport:
        """Remove the links of a table or of an IRI; all links for None."""
        rows = read_table(what) if isinstance(what, Path) else what
        with self._write() as reader:
            return undo(reader, rows)

    def mappings(self) -> str:
        """All links as an SSSOM table."""
        with self._session.read() as snapshot:
            links = read_links(snapshot.reader)
            ends = {iri for match in links for iri in match.pair}
            named = entity_labels(select_parts(snapshot.reader), ends)
        labels = defaultdict(str, {iri: name for iri, (name, _) in named.items()})
        labelled = [
            replace(
                match,
                subject_label=labels[match.subject],
                object_label=match.object_label or labels[match.object],
            )
            for match in links
        ]
        return self.table(labelled, "mappings")

    def table(self, matches: Sequence[Match], what: str) -> str:
        """Matches as an SSSOM table; `what` ends the IRI of the mapping set."""
        with self._session.read() as snapshot:
            description = _description(snapshot.reader)
            minter = snapshot.reader.minter
        header = {
            "mapping_set_id": f"{minter.base}{what}",
            "mapping_set_title": description.get("title", ""),
            "license": description.get("license", UNKNOWN_LICENSE),
            "subject_source": minter.knowledge_graph,
        }
        prefixes = {"entity": f"{minter.base}entity/"}
        return write_table(matches, {k: v for k, v in header.items() if v}, prefixes)

    @contextmanager
    def _write(self) -> Iterator[GraphReader]:
        with self._session.write(create=False) as reader:
            yield reader
            self._session.vectors.carry_over(reader)


def _candidates(
    snapshot: Snapshot,
    target: GraphReader,
    options: CandidateOptions,
    linked: frozenset[str] = frozenset(),
) -> list[Match]:
    def embedder() -> Embedder:
        return snapshot.view.vectors.embedder

    return candidates(snapshot.reader, target, embedder, options, linked)


def _all_imported(reader: GraphReader) -> GraphReader:
    names = [graph.name for graph in imported_graphs(reader) if graph.state == COMPLETE]
    if not names:
        raise UsageError(
            "no imported graph to link to: import one with sarag import, or accept links to other "
            "items with --elsewhere"
        )
    return select_parts(reader, names)


def _linked(reader: GraphReader, target: GraphReader) -> frozenset[str]:
    """Entities that are linked as the same as an item of `target`."""
    pairs = identities(reader)
    known = {row[0].value for row in target.rows_for("entity-names", (b for _, b in pairs))}
    return frozenset(entity for entity, item in pairs if item in known)


def _description(reader: GraphReader) -> dict[str, str]:
    """Title and licence of the data set, if it has any."""
    names = {DCTERMS.title: "title", DCTERMS.license: "license"}
    return {
        names[quad.predicate]: text_of(quad.object)
        for quad in reader.store.quads(reader.minter.meta_graph)
        if quad.predicate in names and text_of(quad.subject) == reader.minter.knowledge_graph
    }
