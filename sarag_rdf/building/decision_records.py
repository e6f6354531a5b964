"""Decisions about names (which entities, of which classes) and phrases (which properties).

A decision is one triple in the decisions graph, with a node that has its provenance in the terms of
SSSOM. It is about names or phrases, so it remains valid when sources are added and deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import NamedTuple

from pyoxigraph import NamedNode, Quad

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.vocab import OWL, RDF, RDFS, SARAG, SEMAPV, SSSOM, TYPE_CLASSES, WIKIBASE
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import Match, by_subject, record_of, record_quads, stored

Kind = OneOf[
    "merged", "different", "variant", "class", "property", "inverse property", "quarantined",
    "preferred", "deprecated",
]  # fmt: skip
PROPERTIES: Mapping[Kind, NamedNode] = {
    "merged": SARAG.mergedInto,
    "different": SARAG.keptApartFrom,
    "variant": SARAG.variantOf,
    "class": SARAG.decidedClass,
    "property": SARAG.impliesProperty,
    "inverse property": SARAG.impliesInverseProperty,
}
RANKS: Mapping[Kind, NamedNode] = {
    "preferred": WIKIBASE.PreferredRank,
    "deprecated": WIKIBASE.DeprecatedRank,
}
Subject = OneOf["identity", "classes", "phrases", "statements", "ranks"]
SUBJECTS: Mapping[Subject, frozenset[Kind]] = {
    "identity": frozenset(("merged", "different", "variant")),
    "classes": frozenset(("class",)),
    "phrases": frozenset(("property", "inverse property")),
    "statements": frozenset(("quarantined",)),
    "ranks": frozenset(RANKS),
}
"""What decisions are about (which entity, its classes, what phrases state, single statements, their
ranks) -> their kinds."""
_OF_STATEMENTS = SUBJECTS["statements"] | SUBJECTS["ranks"]
NO_PROPERTY = OWL.bottomObjectProperty.value
"""The property of phrases that state nothing: it holds between no two things."""
ANY_TYPE = "any"
"""Entity type in a decision about a phrase: every type, and also no type."""
VALUE_TYPE = "value"
"""Entity type in a decision about a phrase: a date or another object with a value, or a literal."""
_OWN_CLASSES = {node.value: name for name, node in TYPE_CLASSES.items()}
MANUAL = SEMAPV.ManualMappingCuration.value


class PhraseSignature(NamedTuple):
    """A phrase (as by `phrase_key`) with the entity types of its subject and object."""

    phrase: str
    subject_type: str
    object_type: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision; names are normalised.

    ``merged`` and ``different``: `name` and `other` refer to one entity, or to two. ``variant``: in
    `sources` (IRIs) `name` refers to an entity of its own, identified by `qualifier`. ``class``:
    the entity of `name` belongs to the class `other` (an IRI). ``property`` and ``inverse
    property``: the phrase `name` between names of the types `ends` (or `ANY_TYPE`, `VALUE_TYPE`)
    states the property `other` (an IRI, or `NO_PROPERTY`). ``quarantined``: the statement with
    subject `name`, property `other` (IRIs) and object `qualifier` (in N-Triples) is not derived.
    ``preferred`` and ``deprecated``: it has this rank (`sarag_rdf.building.derive`).
    `justification` is an IRI of SEMAPV; `rule` is empty for manual decisions.
    """

    kind: Kind
    name: str
    other: str = ""
    qualifier: str = ""
    sources: tuple[str, ...] = ()
    ends: tuple[str, str] = ("", "")
    justification: str = MANUAL
    rule: str = ""
    date: str = ""
    note: str = ""

    def __str__(self) -> str:
        """The decision, its rule and its date on one line."""
        verb = "has the entity type" if self.other in _OWN_CLASSES else "belongs to"
        lines = {
            "merged": f"{self.name}  is  {self.other}",
            "different": f"{self.name}  is not  {self.other}",
            "variant": f"{self.name} ({self.qualifier})  in  {', '.join(self.sources)}",
            "class": f"{self.name}  {verb}  {self.other}",
            "property": f"{self._phrase}  states  {self.other}",
            "inverse property": f"{self._phrase}  states the inverse of  {self.other}",
        }
        if self.kind in _OF_STATEMENTS:
            rank = f"  {self.kind}" if self.kind in RANKS else ""
            lines[self.kind] = f"<{self.name}>  <{self.other}>  {self.qualifier}{rank}"
        if self.other == NO_PROPERTY:
            lines["property"] = f"{self._phrase}  states nothing"
        note = f"  {self.note}" if self.note else ""
        return f"{lines[self.kind]}  [{self.rule or 'by hand'}, {self.date}]{note}"

    @property
    def is_typing(self) -> bool:
        """Whether the decision is about classes or properties, not about which entity."""
        return self.kind not in SUBJECTS["identity"]

    @property
    def statement(self) -> tuple[str, str, str]:
        """Subject, property and object (in N-Triples) of a ranked or quarantined statement."""
        return self.name, self.other, self.qualifier

    @property
    def _phrase(self) -> str:
        return f"{self.ends[0]} '{self.name}' {self.ends[1]}"

    def triple(self, minter: Minter) -> tuple[str, str, str]:
        """Subject, property and object of the decision itself, or of its statement."""
        if self.kind in _OF_STATEMENTS:
            return self.statement
        if self.kind == "class":
            return minter.mention(self.name), PROPERTIES[self.kind].value, self.other
        if self.is_typing:
            return minter.phrase(self.name, *self.ends), PROPERTIES[self.kind].value, self.other
        ends = minter.mention(self.name), minter.mention(self.other or self.name)
        if self.kind == "variant":
            ends = minter.variant(self.name, self.qualifier), ends[0]
        elif self.kind == "different":
            ends = min(ends), max(ends)
        return ends[0], PROPERTIES[self.kind].value, ends[1]

    def iri(self, minter: Minter) -> str:
        """IRI of the node with the provenance of the decision."""
        return minter.mapping(*self.triple(minter))

    def quads(self, minter: Minter) -> list[Quad]:
        """The quads of the decision and its provenance.

        A statement in quarantine or with a rank is described (by RDF reification), but not stated.
        """
        graph = minter.decisions_graph
        if self.kind in _OF_STATEMENTS:
            rank = RANKS[self.kind].value if self.kind in RANKS else ""
            reified = _Reified(*self.statement, self.rule, self.date, self.note, rank)
            return record_quads(reified, NamedNode(self.iri(minter)), graph, RDF.Statement)
        match = Match(
            *self.triple(minter), self.justification, subject_label=self.name,
            object_label=self.other or self.name, tool=self.rule, date=self.date, comment=self.note,
        )  # fmt: skip
        is_phrase = self.kind in SUBJECTS["phrases"]
        ends = self.ends if is_phrase else ("", "")
        classes = [SARAG.Phrase] if is_phrase else []
        classes += [SARAG.NameVariant] if self.kind == "variant" else []
        scope = _Scope(self.qualifier, self.sources, *ends)
        subject = NamedNode(match.subject)
        return [*match.quads(minter, graph), *record_quads(scope, subject, graph, *classes)]


@dataclass(frozen=True, slots=True)
class _Reified:
    """A statement with its rank, or in quarantine without one, and its provenance."""

    subject: str = stored(RDF.subject, "iri")
    property: str = stored(RDF.predicate, "iri")
    object: str = stored(RDF.object, "term")
    rule: str = stored(SSSOM.mapping_tool, default="")
    date: str = stored(SSSOM.mapping_date, "date", "")
    note: str = stored(RDFS.comment, default="")
    rank: str = stored(WIKIBASE.rank, "iri", "")


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a variant of a name is used, or between which types a phrase is."""

    qualifier: str = stored(SARAG.qualifier, default="")
    sources: tuple[str, ...] = stored(SARAG.usedIn, "iri", many=True)
    subject_type: str = stored(SARAG.subjectType, default="")
    object_type: str = stored(SARAG.objectType, default="")


def read_decisions(reader: GraphReader) -> list[Decision]:
    """All decisions of a graph, in a fixed order."""
    return decisions_of(reader.store.quads(reader.minter.decisions_graph))


def decisions_of(quads: Iterable[Quad]) -> list[Decision]:
    """The decisions in the quads of a decisions graph, in a fixed order."""
    nodes = by_subject(quads)
    kinds = {node.value: kind for kind, node in PROPERTIES.items()}
    ranks = {node.value: kind for kind, node in RANKS.items()}
    decisions = []
    for node in nodes.values():
        if any(quad.predicate == RDF.object for quad in node):
            of = record_of(_Reified, node)
            statement = (of.subject, of.property, of.object)
            of_kind = ranks.get(of.rank, "quarantined")
            decisions.append(
                Decision(of_kind, *statement, rule=of.rule, date=of.date, note=of.note)
            )
            continue
        match = record_of(Match, node)
        kind = kinds.get(match.predicate)
        if kind is not None:
            is_variant, is_identity = kind == "variant", kind in SUBJECTS["identity"]
            scope = record_of(_Scope, nodes.get(match.subject, ()))
            other = match.object_label if is_identity else match.object
            decision = Decision(
                kind,
                match.subject_label,
                "" if is_variant else other,
                scope.qualifier if is_variant else "",
                scope.sources if is_variant else (),
                (scope.subject_type, scope.object_type),
                match.justification,
                match.tool,
                match.date,
                match.comment,
            )
            decisions.append(decision)
    return sorted(decisions, key=_order)


def _order(decision: Decision) -> tuple[str, ...]:
    return decision.kind, decision.name, decision.other, decision.qualifier, *decision.ends


def last_target(name: str, merged: Mapping[str, str]) -> str:
    """What a name is merged into at last; in a cycle, any name of the cycle."""
    passed = set[str]()
    while name in merged and name not in passed:
        passed.add(name)
        name = merged[name]
    return name


@dataclass(frozen=True, slots=True)
class Decisions:
    """The effect of decisions on name resolution and typing; all names are IRIs of mentions."""

    merges: frozenset[tuple[str, str]] = frozenset()
    """(name, the name that it is merged into)"""
    different: frozenset[tuple[str, str]] = frozenset()
    """Pairs of names of different entities, in both orders."""
    variants: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(name, source graph) -> variant of the name in that graph"""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Variant -> name"""
    classes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Name -> the classes of its entity, except those of entity types"""
    types: Mapping[str, str] = field(default_factory=dict)
    """Name -> the entity type of its entity"""
    phrases: Mapping[PhraseSignature, tuple[str, bool]] = field(default_factory=dict)
    """Phrase -> (property that it states, whether the other way round)"""
    quarantined: frozenset[tuple[str, str, str]] = frozenset()
    """Statements that are not derived: subject, property, and object in N-Triples."""
    ranks: Mapping[tuple[str, str, str], Kind] = field(default_factory=dict)
    """Statement -> its rank, preferred or deprecated"""

    @classmethod
    def of(cls, decisions: Iterable[Decision], minter: Minter) -> Decisions:
        """Combine decisions; if a name has several variants in a source, the first one counts.

        The same holds for a phrase with several properties and a name with several entity types.
        """
        merges, different, quarantined = set(), set(), set()
        classes: defaultdict[str, set[str]] = defaultdict(set)
        variants: dict[tuple[str, str], str] = {}
        bases: dict[str, str] = {}
        types: dict[str, str] = {}
        phrases: dict[PhraseSignature, tuple[str, bool]] = {}
        ranks: dict[tuple[str, str, str], Kind] = {}
        for decision in sorted(decisions, key=_order):
            subject, property_, object_ = decision.triple(minter)
            if decision.kind in RANKS:
                ranks[subject, property_, object_] = decision.kind
            elif decision.kind == "quarantined":
                quarantined.add((subject, property_, object_))
            elif decision.kind == "merged":
                merges.add((subject, object_))
            elif decision.kind == "different":
                different |= {(subject, object_), (object_, subject)}
            elif decision.kind == "class" and object_ in _OWN_CLASSES:
                types.setdefault(subject, _OWN_CLASSES[object_])
            elif decision.kind == "class":
                classes[subject].add(object_)
            elif decision.is_typing:
                signature = PhraseSignature(decision.name, *decision.ends)
                phrases.setdefault(signature, (object_, decision.kind == "inverse property"))
            else:
                bases[subject] = object_
                for source in decision.sources:
                    variants.setdefault((object_, minter.source_graph(source)), subject)
        return cls(
            merges=frozenset(merges),
            different=frozenset(different),
            variants=variants,
            bases=bases,
            classes={name: frozenset(iris) for name, iris in classes.items()},
            types=types,
            phrases=phrases,
            quarantined=frozenset(quarantined | {s for s in ranks if ranks[s] == "deprecated"}),
            ranks=ranks,
        )

    @classmethod
    def read(cls, reader: GraphReader) -> Decisions:
        """The effect of all decisions of a graph."""
        return cls.of(read_decisions(reader), reader.minter)

    @property
    def typing(self) -> tuple[object, ...]:
        """The effect on classes and statements."""
        return self.classes, self.types, self.phrases, self.quarantined, self.ranks

    def property_of(
        self, phrase: str, subject_type: str, object_types: Sequence[str]
    ) -> tuple[str, bool, str] | None:
        """The decision about a phrase: (property, whether inverse, type of the object), or None.

        `object_types` are in the order of precedence; `ANY_TYPE` comes after them.
        """
        for subject in (subject_type, ANY_TYPE):
            for object_ in (*object_types, ANY_TYPE):
                decided = self.phrases.get(PhraseSignature(phrase, subject, object_))
                if decided is not None:
                    return *decided, object_
        return None

    @property
    def variant_names(self) -> set[str]:
        """Names that have variants, and their variants."""
        return {*self.bases, *self.bases.values()}

    @property
    def names(self) -> set[str]:
        """Names in merges."""
        return {name for pair in self.merges for name in pair}

    def variant(self, name: str, graph: str) -> str:
        """The variant of a name in a source graph, or the name itself."""
        return self.variants.get((name, graph), name)

    def owners(self, owners: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
        """Alias -> mentions that have it as an alias, without names of different entities."""
        return {
            alias: frozenset(owner for owner in mentions if (alias, owner) not in self.different)
            for alias, mentions in owners.items()
        }

    def merge_targets(self, roots: Mapping[str, str]) -> dict[str, str]:
        """Root -> the root that it is merged into; `roots` maps mentions to roots.

        A merge applies if both names are mentioned, and leads on to what its target is merged into.
        A root with several merge targets is not merged, nor is one that is merged into itself.
        """
        requested: defaultdict[str, set[str]] = defaultdict(set)
        for name, other in self.merges:
            if name in roots and other in roots and roots[name] != roots[other]:
                requested[roots[name]].add(roots[other])
        sole = {root: min(others) for root, others in requested.items() if len(others) == 1}
        last = {root: last_target(root, sole) for root in sole}
        return {root: other for root, other in last.items() if other not in sole}

    def changed_mentions(self, other: Decisions) -> Iterator[str]:
        """Names in merges and differences that are only in one of the two sets of decisions."""
        for pair in (self.merges ^ other.merges) | (self.different ^ other.different):
            yield from pair
