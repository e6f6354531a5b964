"""Terms of a schema by the names that people write: IRIs, prefixed names, labels, local names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri, namespace
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty


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
