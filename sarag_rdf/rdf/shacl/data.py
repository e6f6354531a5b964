"""Triples in the order in which a validation asks for them: by subject, by class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from sarag_rdf.vocab import RDF, RDFS

Node = NamedNode | BlankNode | Literal | Triple
"""An RDF term; what is validated may hold what our own data never does."""

_TYPE, _SUBCLASS = RDF.type, RDFS.subClassOf


def lexical(node: Node) -> str | None:
    """The IRI or the text of a literal; None for a blank node, which has no form of its own."""
    return node.value if isinstance(node, NamedNode | Literal) else None


class Data:
    """A graph: `properties` maps each subject to its properties, and these to their values.

    Of the `ontology` only what it says of subclasses counts, together with what the graph says.
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
            of_subject = self.properties.get(subject)
            if of_subject is None:
                of_subject = self.properties[subject] = {}
            values = of_subject.get(predicate)
            if values is None:
                values = of_subject[predicate] = {}
            values[value] = None
            if predicate == _TYPE:
                self._instances[value][subject] = None
            elif predicate == _SUBCLASS:
                subclasses[value].append(subject)
        self._subclasses = subclasses
        self._below: dict[Node, frozenset[Node]] = {}

    def __len__(self) -> int:
        return sum(len(v) for of_one in self.properties.values() for v in of_one.values())

    def instances(self, class_: Node) -> dict[Node, None]:
        """The nodes of a class, or of a class that the data places below it."""
        found: dict[Node, None] = {}
        for one in self._classes_below(class_):
            found |= self._instances.get(one, {})
        return found

    def is_instance(self, node: Node, class_: Node) -> bool:
        """Whether the data says so, in one step or by way of subclasses."""
        instances = self._instances
        return any(node in instances.get(one, ()) for one in self._classes_below(class_))

    def subjects_of(self, predicates: frozenset[NamedNode]) -> list[Node]:
        """The subjects that have one of the properties."""
        return [node for node, found in self.properties.items() if not predicates.isdisjoint(found)]

    def _classes_below(self, class_: Node) -> frozenset[Node]:
        known = self._below.get(class_)
        if known is None:
            found, new = {class_}, [class_]
            while new:
                new = [c for one in new for c in self._subclasses.get(one, ()) if c not in found]
                found.update(new)
            known = self._below[class_] = frozenset(found)
        return known
