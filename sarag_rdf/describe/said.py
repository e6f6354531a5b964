"""What a user says of a data set: title, licence and the like, kept in the graph's metadata."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.revision import revised_by_hand
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.ports import Change, Term
from sarag_rdf.vocab import DCTERMS, FOAF, RDF


@dataclass(frozen=True, slots=True)
class Said:
    """`license` and `homepage` are IRIs, `publisher` an IRI or a name; None is not said."""

    title: str | None = None
    description: str | None = None
    license: str | None = None
    publisher: str | None = None
    homepage: str | None = None


def say(reader: GraphReader, said: Said) -> None:
    """Put what is said in the place of what was said before; an empty text takes it away."""
    graph = NamedNode(reader.minter.meta_graph)
    node = NamedNode(reader.minter.knowledge_graph)
    there = set(reader.store.quads(reader.minter.meta_graph))
    old: set[Quad] = set()
    new: set[Quad] = set()
    for predicate, value in _values(said):
        before = {q for q in there if q.subject == node and q.predicate == predicate}
        old |= before | {q for q in there for b in before if q.subject == b.object}
        if not value:
            continue
        term = _term(predicate, value, reader)
        new.add(Quad(node, predicate, term, graph))
        if predicate == DCTERMS.publisher and ":" not in value:
            assert isinstance(term, NamedNode)  # noqa: S101 - a publisher is a node
            new.add(Quad(term, RDF.type, FOAF.Agent, graph))
            new.add(Quad(term, FOAF.name, Literal(value), graph))
    change = Change((), _sorted(old - new), _sorted(new - old))
    if change.delete or change.insert:
        reader.store.apply(revised_by_hand(reader, change))


def _sorted(quads: Iterable[Quad]) -> tuple[Quad, ...]:
    return tuple(sorted(quads, key=str))


def _values(said: Said) -> list[tuple[NamedNode, str]]:
    pairs = (
        (DCTERMS.title, said.title),
        (DCTERMS.description, said.description),
        (DCTERMS.license, said.license),
        (DCTERMS.publisher, said.publisher),
        (FOAF.homepage, said.homepage),
    )
    return [(predicate, value) for predicate, value in pairs if value is not None]


def _term(predicate: NamedNode, value: str, reader: GraphReader) -> Term:
    if predicate in (DCTERMS.title, DCTERMS.description):
        return Literal(value)
    if predicate == DCTERMS.publisher and ":" not in value:
        return NamedNode(f"{reader.minter.knowledge_graph}/publisher")
    return checked_iri(value)


def checked_iri(text: str) -> NamedNode:
    """An absolute IRI; raises `UsageError` for another text."""
    if "://" in text:
        with suppress(ValueError):
            return NamedNode(text)
    raise UsageError(
        f"'{text}' is no IRI: write it in full, for example "
        "https://creativecommons.org/licenses/by/4.0/"
    )
