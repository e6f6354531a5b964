"""What was decided about names: which are of one thing, and which are not.

A decision is one triple in a graph of its own, with a node that says how it came about, in the
terms of SSSOM. It speaks of names, so it holds whatever sources come and go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.iris import Minter
from sarag_rdf.ports import Term
from sarag_rdf.terms import iri, text_of
from sarag_rdf.vocab import OWL, RDF, RDFS, SARAG, SEMAPV, SSSOM, XSD

Kind = OneOf["merged", "apart", "variant"]
PROPERTIES: Mapping[Kind, NamedNode] = {
    "merged": SARAG.mergedInto,
    "apart": SARAG.keptApartFrom,
    "variant": SARAG.variantOf,
}
BY_HAND = SEMAPV.ManualMappingCuration.value


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision; names are normalised.

    ``merged``: `name` is a name of what `other` names. ``apart``: `name` and `other` are of two
    things. ``variant``: in `sources` (IRIs) `name` is of a thing of its own, told apart by
    `qualifier`. `justification` is an IRI of SEMAPV; `rule` is empty for what was decided by hand.
    """

    kind: Kind
    name: str
    other: str = ""
    qualifier: str = ""
    sources: tuple[str, ...] = ()
    justification: str = BY_HAND
    rule: str = ""
    date: str = ""
    note: str = ""

    def __str__(self) -> str:
        """What was decided, how and when."""
        told = {
            "merged": f"{self.name}  is  {self.other}",
            "apart": f"{self.name}  is not  {self.other}",
            "variant": f"{self.name} ({self.qualifier})  in  {', '.join(self.sources)}",
        }
        note = f"  {self.note}" if self.note else ""
        return f"{told[self.kind]}  [{self.rule or 'by hand'}, {self.date}]{note}"

    def triple(self, minter: Minter) -> tuple[str, str, str]:
        """Subject, property and object of the decision itself."""
        ends = minter.mention(self.name), minter.mention(self.other or self.name)
        if self.kind == "variant":
            ends = minter.variant(self.name, self.qualifier), ends[0]
        elif self.kind == "apart":
            ends = min(ends), max(ends)
        return ends[0], PROPERTIES[self.kind].value, ends[1]

    def iri(self, minter: Minter) -> str:
        """The node that says how the decision came about."""
        return minter.mapping(*self.triple(minter))

    def quads(self, minter: Minter) -> list[Quad]:
        """The decision, and how it came about."""
        graph = NamedNode(minter.decisions_graph)
        subject, property_, object_ = map(NamedNode, self.triple(minter))
        node = NamedNode(self.iri(minter))
        said: list[tuple[NamedNode, NamedNode, Term]] = [
            (subject, property_, object_),
            (node, RDF.type, OWL.Axiom),
            (node, OWL.annotatedSource, subject),
            (node, OWL.annotatedProperty, property_),
            (node, OWL.annotatedTarget, object_),
            (node, SSSOM.mapping_justification, NamedNode(self.justification)),
            (node, SSSOM.subject_label, Literal(self.name)),
            (node, SSSOM.object_label, Literal(self.other or self.name)),
        ]
        said += [(subject, SARAG.usedIn, NamedNode(source)) for source in self.sources]
        said += [(subject, SARAG.qualifier, Literal(self.qualifier))] if self.qualifier else []
        said += [(subject, RDF.type, SARAG.NameVariant)] if self.kind == "variant" else []
        said += [(node, SSSOM.mapping_tool, Literal(self.rule))] if self.rule else []
        said += [(node, RDFS.comment, Literal(self.note))] if self.note else []
        if self.date:
            said.append((node, SSSOM.mapping_date, Literal(self.date, datatype=XSD.date)))
        return [Quad(s, p, o, graph) for s, p, o in said]


def read_decisions(reader: GraphReader) -> list[Decision]:
    """All decisions of a graph, in a fixed order."""
    return decisions_of(reader.store.quads(reader.minter.decisions_graph))


def decisions_of(quads: Iterable[Quad]) -> list[Decision]:
    """The decisions that the quads of a decisions graph state, in a fixed order."""
    said: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for quad in quads:
        said[iri(quad.subject)][quad.predicate.value].append(text_of(quad.object))
    kinds = {node.value: kind for kind, node in PROPERTIES.items()}
    found = []
    for told in said.values():
        kind = kinds.get(_one(told, OWL.annotatedProperty))
        if kind is not None:
            subject = said.get(_one(told, OWL.annotatedSource))
            found.append(_decision(kind, told, subject or {}))
    return sorted(found, key=_order)


def _order(decision: Decision) -> tuple[str, ...]:
    return decision.kind, decision.name, decision.other, decision.qualifier


def _decision(
    kind: Kind, told: Mapping[str, list[str]], subject: Mapping[str, list[str]]
) -> Decision:
    is_variant = kind == "variant"
    return Decision(
        kind,
        _one(told, SSSOM.subject_label),
        "" if is_variant else _one(told, SSSOM.object_label),
        _one(subject, SARAG.qualifier) if is_variant else "",
        tuple(sorted(subject.get(SARAG.usedIn.value, ()))) if is_variant else (),
        _one(told, SSSOM.mapping_justification),
        _one(told, SSSOM.mapping_tool),
        _one(told, SSSOM.mapping_date),
        _one(told, RDFS.comment),
    )


def _one(told: Mapping[str, list[str]], property_: NamedNode) -> str:
    return min(told.get(property_.value, ()), default="")


@dataclass(frozen=True, slots=True)
class Decided:
    """What decisions mean for names; all are IRIs of mentions."""

    merges: frozenset[tuple[str, str]] = frozenset()
    """(name, the name of the thing that it is)"""
    apart: frozenset[tuple[str, str]] = frozenset()
    """Both ways round."""
    variants: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(name, source graph) -> the name's variant there"""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Variant -> name"""

    @classmethod
    def of(cls, decisions: Iterable[Decision], minter: Minter) -> Decided:
        """What these decisions mean; a name has one variant in a source, that which comes first."""
        merges: set[tuple[str, str]] = set()
        apart: set[tuple[str, str]] = set()
        variants: dict[tuple[str, str], str] = {}
        bases: dict[str, str] = {}
        for decision in sorted(decisions, key=_order):
            subject, _, object_ = decision.triple(minter)
            if decision.kind == "merged":
                merges.add((subject, object_))
            elif decision.kind == "apart":
                apart |= {(subject, object_), (object_, subject)}
            else:
                bases[subject] = object_
                for source in decision.sources:
                    variants.setdefault((object_, minter.source_graph(source)), subject)
        return cls(frozenset(merges), frozenset(apart), variants, bases)

    @property
    def families(self) -> set[str]:
        """Names that have variants, and the variants."""
        return {*self.bases, *self.bases.values()}

    @property
    def names(self) -> set[str]:
        """Names that are merged, or that others are merged into."""
        return {name for pair in self.merges for name in pair}

    def variant(self, name: str, graph: str) -> str:
        """What a name is called where it stands in a source graph."""
        return self.variants.get((name, graph), name)

    def owners(self, owners: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
        """Names and who claims them as aliases, without claims of names that are kept apart."""
        return {
            alias: frozenset(owner for owner in found if (alias, owner) not in self.apart)
            for alias, found in owners.items()
        }

    def merged(self, roots: Mapping[str, str]) -> dict[str, str]:
        """Which things, by the name that gives them their IRI, are others: in one step only.

        `roots` tells where the rules lead names. A decision holds where both names are
        mentioned. A thing that is said to be several others, or another that is itself merged, is
        left alone.
        """
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for name, other in self.merges:
            if name in roots and other in roots and roots[name] != roots[other]:
                wanted[roots[name]].add(roots[other])
        sole = {root: min(others) for root, others in wanted.items() if len(others) == 1}
        return {root: other for root, other in sole.items() if other not in wanted}

    def changed(self, other: Decided) -> Iterator[str]:
        """Names of which another set of decisions says something else."""
        for pair in (self.merges ^ other.merges) | (self.apart ^ other.apart):
            yield from pair
