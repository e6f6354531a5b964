"""Makes decisions about names, and takes them back: with what follows, in one atomic step."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from pyoxigraph import NamedNode

from sarag_rdf.graph.record import now, run_quads
from sarag_rdf.graph.revision import revised
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.decisions import Decided, Decision, read_decisions
from sarag_rdf.index.refresh import refresh
from sarag_rdf.terms import iri
from sarag_rdf.vocab import PROV


def decide(
    reader: GraphReader, made: Iterable[Decision], undone: Collection[Decision] = ()
) -> None:
    """Keep decisions, and forget those undone; the graph becomes what follows then."""
    minter, started = reader.minter, now()
    there = read_decisions(reader)
    gone = {decision.iri(minter) for decision in undone}
    added = {decision.iri(minter): decision for decision in made}
    stay = [d for d in there if d.iri(minter) not in gone | added.keys()]
    wanted = {quad for d in (*stay, *added.values()) for quad in d.quads(minter)}
    old = set(reader.store.quads(minter.decisions_graph))
    if wanted == old:
        return
    decided = Decided.of((*stay, *added.values()), minter)
    change = refresh(reader, (), (), decided=decided)
    said = [(PROV.invalidated, NamedNode(node)) for node in sorted(gone - added.keys())]
    said += [(PROV.generated, NamedNode(node)) for node in sorted(added)]
    what = "names told to be of one thing, or of two" if added else "decisions about names undone"
    run = run_quads(reader, what, started, said)
    change = replace(
        change,
        delete=(*change.delete, *sorted(old - wanted, key=str)),
        insert=(*change.insert, *sorted(wanted - old, key=str), *run),
    )
    reader.store.apply(revised(reader, change))


def of_run(reader: GraphReader, run: str) -> set[str]:
    """The nodes of the decisions that a run made."""
    quads = reader.store.quads(reader.minter.runs_graph)
    return {iri(q.object) for q in quads if iri(q.subject) == run and q.predicate == PROV.generated}
