"""The schema of an ontology: its classes and properties, and the statements that they admit."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri, local_name, namespace
from sarag_rdf.base.vocab import PREFIXES


@dataclass(frozen=True, slots=True)
class OntologyClass:
    """A class: its names, and its direct superclasses."""

    iri: str
    label: str
    alternatives: tuple[str, ...] = ()
    """Further names, as in ``skos:altLabel``."""
    definition: str = ""
    examples: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OntologyProperty:
    """A property: its names and phrases, its domain and range, and its axioms.

    A subject fits if it belongs to one of the `domains`; without domains every subject fits. The
    same holds for objects and `ranges`. A range is a class or a datatype.
    """

    iri: str
    label: str
    alternatives: tuple[str, ...] = ()
    definition: str = ""
    examples: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    """How texts state it between subject and object: "was born in"."""
    inverse_phrases: tuple[str, ...] = ()
    """How texts state it between object and subject: "is the birthplace of"."""
    domains: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    inverse: str = ""
    is_literal: bool = False
    """Whether the objects are literals (``owl:DatatypeProperty``, or a datatype as range)."""
    is_functional: bool = False
    is_symmetric: bool = False


@dataclass(frozen=True)
class Schema:
    """Classes and properties by IRI, in the order of their IRIs."""

    classes: Mapping[str, OntologyClass] = field(default_factory=lambda: MappingProxyType({}))
    properties: Mapping[str, OntologyProperty] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, classes: Iterable[OntologyClass], properties: Iterable[OntologyProperty]) -> Schema:
        """A schema of these classes and properties, which have distinct IRIs."""
        return cls(
            MappingProxyType({c.iri: c for c in sorted(classes, key=lambda c: c.iri)}),
            MappingProxyType({p.iri: p for p in sorted(properties, key=lambda p: p.iri)}),
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content in hexadecimal; part of the method of extractions."""
        content = repr((tuple(self.classes.values()), tuple(self.properties.values())))
        return hashlib.sha256(content.encode()).hexdigest()

    def label_of(self, iris: Sequence[str]) -> str:
        """The labels of classes, or the local names of datatypes: "city or country"."""
        labels = {iri: self.classes[iri].label for iri in iris if iri in self.classes}
        return " or ".join(labels.get(iri) or local_name(iri) for iri in iris)

    @cached_property
    def _superclasses(self) -> dict[str, frozenset[str]]:
        return {}

    def superclasses(self, class_: str) -> frozenset[str]:
        """A class with all its direct and indirect superclasses; cycles are tolerated."""
        if class_ not in self._superclasses:
            seen, todo = {class_}, [class_]
            while todo:
                known = self.classes.get(todo.pop())
                new = [parent for parent in known.parents if parent not in seen] if known else []
                seen.update(new)
                todo.extend(new)
            self._superclasses[class_] = frozenset(seen)
        return self._superclasses[class_]

    @cached_property
    def subclasses(self) -> Mapping[str, tuple[str, ...]]:
        """Class -> its direct subclasses, in the order of their IRIs."""
        children: dict[str, list[str]] = {}
        for child, class_ in self.classes.items():
            for parent in class_.parents:
                children.setdefault(parent, []).append(child)
        return {parent: tuple(own) for parent, own in children.items()}

    def superproperties(self, property_: str) -> Iterator[str]:
        """The direct and indirect superproperties of a property, nearest first."""
        seen, todo = {property_}, [property_]
        while todo:
            known = self.properties.get(todo.pop(0))
            for parent in known.parents if known else ():
                if parent not in seen:
                    seen.add(parent)
                    todo.append(parent)
                    yield parent

    def belongs(self, classes: Iterable[str], admitted: Iterable[str]) -> bool:
        """Whether one of the classes is one of the admitted classes or a subclass of one."""
        allowed = frozenset(admitted)
        return any(not allowed.isdisjoint(self.superclasses(c)) for c in classes)

    def may_belong(self, classes: Iterable[str], admitted: Iterable[str]) -> bool:
        """Whether a thing of these classes may be in an admitted one, above or below its own.

        A person may turn out to be a scientist. Without classes or without admitted classes
        nothing is known, and everything may be.
        """
        known, allowed = tuple(classes), tuple(admitted)
        if not known or not allowed:
            return True
        return self.belongs(known, allowed) or self.belongs(allowed, known)


class TermNames:
    """Finds the terms of one kind, such as the classes, by a name."""

    def __init__(self, kind: str, terms: Mapping[str, OntologyClass | OntologyProperty]) -> None:
        """`kind` is the word for such a term in messages."""
        self._kind = kind
        self._terms = terms
        self._by_label = _grouped((term.label, iri) for iri, term in terms.items())
        self._by_alternative = _grouped(
            (label, iri) for iri, term in terms.items() for label in term.alternatives
        )
        self._by_local_name = _grouped((iri.removeprefix(namespace(iri)), iri) for iri in terms)

    def resolve(self, name: str) -> str:
        """The IRI of a term; raises `UsageError` for an unknown name, and as `find` does."""
        iri = self.find(name)
        if iri is None:
            raise UsageError(f"no such {self._kind}: '{name}': sarag ontology show  lists them")
        return iri

    def find(self, name: str) -> str | None:
        """The IRI of a term, by its IRI, prefixed name, label, or local name; None if unknown.

        An IRI with a scheme such as ``https:`` need not be in the schema. A prefix other than
        `PREFIXES` stands for the namespace of the terms with the local name that follows it.
        Raises `UsageError` for the name of several terms.
        """
        text = name.strip()
        bare = text.removeprefix("<").removesuffix(">")
        if bare in self._terms or (is_iri(bare) and ("://" in bare or bare.startswith("urn:"))):
            return bare
        prefix, colon, local = text.partition(":")
        if colon and prefix in PREFIXES and is_iri(PREFIXES[prefix] + local):
            return PREFIXES[prefix] + local
        groups = (self._by_label, self._by_alternative, self._by_local_name)
        for group in (self._by_local_name,) if colon else groups:
            iris = group.get((local if colon else text).casefold(), [])
            if len(iris) > 1:
                raise UsageError(_ambiguous(name, iris))
            if iris:
                return iris[0]
        return None

    def name(self, iri: str) -> str:
        """The label of a term if no other term has it, or else the IRI."""
        term = self._terms.get(iri)
        is_unique = term is not None and self._by_label.get(term.label.casefold()) == [iri]
        return term.label if term is not None and is_unique and ":" not in term.label else iri


def _ambiguous(name: str, iris: Iterable[str]) -> str:
    listed = ", ".join(f"<{iri}>" for iri in iris)
    return f"'{name}' names several terms: use one of {listed}"


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, iri in pairs:
        groups[name.casefold()].append(iri)
    return dict(groups)
