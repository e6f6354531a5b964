"""Triples indexed for validation, by subject and by class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from sarag_rdf.vocab import RDF, RDFS

Node = NamedNode | BlankNode | Literal | Triple
"""An RDF term; validated data may contain blank nodes and triple terms, unlike stored data."""

_TYPE, _SUBCLASS = RDF.type, RDFS.subClassOf


def lexical(node: Node) -> str | None:
    """The text of an IRI or a literal; None for a blank node or triple term."""
    return node.value if isinstance(node, NamedNode | Literal) else None


class Data:
    """An indexed graph: `properties` maps each subject to its properties, and these to values.

    Only the subclass axioms of `ontology` are used, together with those of the graph.
    """

    def __init__(
        self, triples: Iterable[Triple | Quad], ontology: Iterable[Triple | Quad] = ()
    ) -> None:
        self.properties: dict[Node, dict[NamedNode, dict[Node, None]]] = {}
        self._instances: defaultdict[Node, dict[Node, None]] = defaultdict(dict)
        subclasses: defaultdict[Node, list[Node]] = defaultdict(list)
        for triple in ontology:
            if triple.predicate == _SUBCLASS:
                subclasses[triple.object].append(triple.subject)
        for triple in triples:
            subject, predicate, value = triple.subject, triple.predicate, triple.object
            properties = self.properties.get(subject)
            if properties is None:
                properties = self.properties[subject] = {}
            values = properties.get(predicate)
            if values is None:
                values = properties[predicate] = {}
            values[value] = None
            if predicate == _TYPE:
                self._instances[value][subject] = None
            elif predicate == _SUBCLASS:
                subclasses[value].append(subject)
        self._subclasses = subclasses
        self._closures: dict[Node, frozenset[Node]] = {}

    def __len__(self) -> int:
        return sum(len(v) for properties in self.properties.values() for v in properties.values())

    def instances(self, class_: Node) -> dict[Node, None]:
        """The instances of a class and its subclasses."""
        instances: dict[Node, None] = {}
        for subclass in self._subclass_closure(class_):
            instances |= self._instances.get(subclass, {})
        return instances

    def is_instance(self, node: Node, class_: Node) -> bool:
        """Whether a node is an instance of a class or of one of its subclasses."""
        instances = self._instances
        return any(node in instances.get(c, ()) for c in self._subclass_closure(class_))

    def subjects_of(self, predicates: frozenset[NamedNode]) -> list[Node]:
        """The subjects that have at least one of the properties."""
        items = self.properties.items()
        return [node for node, properties in items if not predicates.isdisjoint(properties)]

    def _subclass_closure(self, class_: Node) -> frozenset[Node]:
        """A class and its transitive subclasses."""
        closure = self._closures.get(class_)
        if closure is None:
            seen, new = {class_}, [class_]
            while new:
                new = [c for node in new for c in self._subclasses.get(node, ()) if c not in seen]
                seen.update(new)
            closure = self._closures[class_] = frozenset(seen)
        return closure
