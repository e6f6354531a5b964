"""Puts reviewed links into a graph, and takes them out again; each in one atomic step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pyoxigraph import NamedNode, Quad

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.metadata import now, run_quads, with_curated_revision
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.link.match import EXACT, SAME_AS, Match, quads_of, quads_of_links, stored
from sarag_rdf.link.sssom import complain
from sarag_rdf.ports import Change
from sarag_rdf.terms import iri
from sarag_rdf.vocab import OWL, PROV


@dataclass(frozen=True, slots=True)
class LinkReport:
    """How many links came, went, and were there already; how many rows were left out."""

    added: int = 0
    removed: int = 0
    unchanged: int = 0
    left_out: int = 0


def check(path: Path, rows: Iterable[Match], own: GraphReader, target: GraphReader | None) -> None:
    """Raise `InputError` for links from what is no entity, or to what `target` does not hold.

    Without a target the objects are not looked for.
    """
    wanted = [match for match in rows if match.is_link]
    subjects = _known(own, (match.subject for match in wanted))
    objects = _known(target, (match.object for match in wanted)) if target else None
    seen: dict[tuple[str, str], int] = {}
    wrong = []
    for match in wanted:
        if match.subject not in subjects:
            wrong.append(f"line {match.line}: <{match.subject}> is no entity of this graph")
        if objects is not None and match.object not in objects:
            wrong.append(
                f"line {match.line}: <{match.object}> is no entity of an imported graph "
                "(--elsewhere allows it)"
            )
        if match.pair in seen:
            wrong.append(f"line {match.line}: line {seen[match.pair]} links the same two")
        seen.setdefault(match.pair, match.line)
    complain(path, wrong)


def _known(reader: GraphReader, iris: Iterable[str]) -> set[str]:
    return {row[0].value for row in reader.rows_for("entity-names", iris)}


def accept(reader: GraphReader, rows: Iterable[Match], *, same_as: bool = False) -> LinkReport:
    """Store the links among reviewed rows; what is said of a pair anew replaces what was said."""
    listed = list(rows)
    links = [match for match in listed if match.is_link]
    if same_as:
        links = [replace(m, predicate=SAME_AS) if m.predicate == EXACT else m for m in links]
    pairs = {match.pair for match in links}
    there = [match for match in stored(reader) if match.pair in pairs]
    wanted = {quad for match in links for quad in quads_of(reader.minter, match)}
    before = {match.pair for match in there}
    old = set(quads_of_links(reader, there))
    _apply(reader, "links accepted", old - wanted, wanted - old)
    added = len(pairs - before)
    return LinkReport(added, 0, len(pairs) - added, len(listed) - len(links))


def undo(reader: GraphReader, what: Iterable[Match] | str | None) -> LinkReport:
    """Remove links: of the pairs in rows, of an entity, item or mapping by its IRI, or all.

    Raises `UsageError` if there is no such link.
    """
    found = [match for match in stored(reader) if what is None]
    if isinstance(what, str):
        mapping = reader.minter.mapping
        found = [
            match
            for match in stored(reader)
            if what in (*match.pair, mapping(match.subject, match.predicate, match.object))
        ]
    elif what is not None:
        pairs = {match.pair for match in what if match.is_link}
        found = [match for match in stored(reader) if match.pair in pairs]
    if not found:
        raise UsageError("there is no such link: sarag mappings lists those that there are")
    _apply(reader, "links removed", set(quads_of_links(reader, found)), set())
    return LinkReport(removed=len(found))


def _apply(reader: GraphReader, what: str, old: set[Quad], new: set[Quad]) -> None:
    if not old and not new:
        return
    started = now()
    change = Change((), tuple(sorted(old, key=str)), tuple(sorted(new, key=str)))
    gone, made = _nodes(old), _nodes(new)
    said = [(PROV.invalidated, node) for node in sorted(gone - made, key=str)]
    said += [(PROV.generated, node) for node in sorted(made - gone, key=str)]
    change = with_curated_revision(reader, change)
    run = run_quads(reader, what, started, said)
    reader.store.apply(replace(change, insert=(*change.insert, *run)))


def _nodes(quads: Iterable[Quad]) -> set[NamedNode]:
    """Nodes at which links are told of, as far as they are among these quads."""
    return {NamedNode(iri(q.subject)) for q in quads if q.predicate == OWL.annotatedSource}
