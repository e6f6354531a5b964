"""Links from entities to items of other graphs: candidates, accepted links, tables of mappings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyoxigraph import Quad

from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import Change
from sarag_rdf.base.tabular import raise_for_rows
from sarag_rdf.base.vocab import DCTERMS, OWL, iri, text_of
from sarag_rdf.building.link_records import (
    EXACT,
    SAME_AS,
    UNKNOWN_LICENSE,
    Linker,
    identities,
    quads_of,
    quads_of_links,
    read_links,
    read_table,
    write_table,
)
from sarag_rdf.building.link_records import CandidateOptions as CandidateOptions
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now, run_quads, today, with_curated_revision
from sarag_rdf.graph.parts import COMPLETE, imported_graphs, select_parts
from sarag_rdf.graph.records import Match
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.kg.location import endpoint_beside
from sarag_rdf.kg.session import Session


@dataclass(frozen=True, slots=True)
class LinkReport:
    """Numbers of links added, removed and already present, and of rows left out."""

    added: int = 0
    removed: int = 0
    unchanged: int = 0
    left_out: int = 0


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
        with ExitStack() as blocks:
            if isinstance(target, SparqlEndpoint):
                remote = Session(endpoint_beside(target, self._session.location))
                items = blocks.enter_context(remote.read()).reader
                options = replace(options, by_name=True)
            snapshot = blocks.enter_context(self._session.read())
            linked = frozenset[str]()
            if isinstance(target, str):
                items = select_parts(snapshot.reader, [target])
                linked = _linked(snapshot.reader, items)
            find: Linker = load("linkers", "names")
            return find(
                snapshot.reader, items, lambda: snapshot.view.vectors.embedder, options, linked
            )

    def accept(
        self, rows: Path | Sequence[Match], *, same_as: bool = False, elsewhere: bool = False
    ) -> LinkReport:
        """Store candidates, or the links of a reviewed table, in place of those of the same pairs.

        Rows that say that there is no link are left out. With `elsewhere`, the links of a table may
        lead to items that no imported graph has. Raises `InputError` with the errors of a table,
        and changes nothing.
        """
        listed = read_table(rows) if isinstance(rows, Path) else rows
        links = [match for match in listed if match.is_link]
        with self._session.write(create=False) as reader:
            if isinstance(rows, Path):
                _check(rows, links, reader, None if elsewhere else _all_imported(reader))
            if same_as:
                links = [
                    replace(m, predicate=SAME_AS) if m.predicate == EXACT else m for m in links
                ]
            pairs = {match.pair for match in links}
            previous = [match for match in read_links(reader) if match.pair in pairs]
            new = {quad for match in links for quad in quads_of(reader.minter, match)}
            old = set(quads_of_links(reader, previous))
            self._apply(reader, "links accepted", old - new, new - old)
            added = len(pairs - {match.pair for match in previous})
            return LinkReport(added, 0, len(pairs) - added, len(listed) - len(links))

    def undo(self, what: Path | str | None) -> LinkReport:
        """Remove the links of a table, those of an entity, item or mapping IRI, or all for None.

        Raises `UsageError` if there is no such link.
        """
        rows = read_table(what) if isinstance(what, Path) else []
        pairs = {match.pair for match in rows if match.is_link}
        with self._session.write(create=False) as reader:
            links = [
                match
                for match in read_links(reader)
                if what is None
                or match.pair in pairs
                or what in (*match.pair, reader.minter.mapping(*match.triple))
            ]
            if not links:
                raise UsageError("no such link: list all links with sarag mappings")
            self._apply(reader, "links removed", set(quads_of_links(reader, links)), set())
            return LinkReport(removed=len(links))

    def _apply(self, reader: GraphReader, what: str, old: set[Quad], new: set[Quad]) -> None:
        if old or new:
            change = Change((), tuple(sorted(old, key=str)), tuple(sorted(new, key=str)))
            change = with_curated_revision(reader, change)
            before, after = _mapping_nodes(old), _mapping_nodes(new)
            run = run_quads(reader, what, now(), removed=before - after, added=after - before)
            reader.store.apply(replace(change, insert=(*change.insert, *run)))
        self._session.vectors.carry_over(reader)

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
            minter = snapshot.reader.minter
            described = {
                quad.predicate: text_of(quad.object)
                for quad in snapshot.reader.store.quads(minter.meta_graph)
                if text_of(quad.subject) == minter.knowledge_graph
            }
        header = {
            "mapping_set_id": f"{minter.base}{what}",
            "mapping_set_title": described.get(DCTERMS.title, ""),
            "license": described.get(DCTERMS.license, UNKNOWN_LICENSE),
            "subject_source": minter.knowledge_graph,
        }
        prefixes = {"entity": f"{minter.base}entity/"}
        return write_table(matches, {k: v for k, v in header.items() if v}, prefixes)


def _check(
    path: Path, links: Sequence[Match], own: GraphReader, target: GraphReader | None
) -> None:
    """Raise `InputError` for links whose subject or object is not an entity of its graph.

    Objects are not checked without a `target`.
    """
    subjects = _known(own, (match.subject for match in links))
    objects = _known(target, (match.object for match in links)) if target else None
    seen: dict[tuple[str, str], int] = {}
    wrong = []
    for match in links:
        if match.subject not in subjects:
            wrong.append(f"row {match.row}, <{match.subject}> is not an entity of this graph")
        if objects is not None and match.object not in objects:
            wrong.append(
                f"row {match.row}, <{match.object}> is not an entity of an imported graph "
                "(allow it with --elsewhere)"
            )
        if match.pair in seen:
            wrong.append(f"row {match.row}, the same link as in row {seen[match.pair]}")
        seen.setdefault(match.pair, match.row)
    raise_for_rows(path, wrong)


def _known(reader: GraphReader, iris: Iterable[str]) -> set[str]:
    return {row[0].value for row in reader.rows_for("entity-names", iris)}


def _mapping_nodes(quads: Iterable[Quad]) -> set[str]:
    """The nodes with the provenance of links among these quads."""
    return {iri(quad.subject) for quad in quads if quad.predicate == OWL.annotatedSource}


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
    known = _known(target, (item for _, item in pairs))
    return frozenset(entity for entity, item in pairs if item in known)
