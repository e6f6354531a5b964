"""Adds reviewed links to a graph and removes them again, each in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pyoxigraph import NamedNode, Quad

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.metadata import now, run_quads, with_curated_revision
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.link.match import EXACT, SAME_AS, Match, quads_of, quads_of_links, read_links
from sarag_rdf.link.sssom import raise_for_lines
from sarag_rdf.ports import Change
from sarag_rdf.terms import iri
from sarag_rdf.vocab import OWL, PROV


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
    raise_for_lines(path, wrong)


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
    links = [match for match in read_links(reader) if what is None]
    if isinstance(what, str):
        mapping = reader.minter.mapping
        links = [
            match
            for match in read_links(reader)
            if what in (*match.pair, mapping(match.subject, match.predicate, match.object))
        ]
    elif what is not None:
        pairs = {match.pair for match in what if match.is_link}
        links = [match for match in read_links(reader) if match.pair in pairs]
    if not links:
        raise UsageError("no such link: list all links with  sarag mappings")
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
