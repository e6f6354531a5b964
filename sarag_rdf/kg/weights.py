"""Activation weights of one question, by the names of properties and classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import Options
from sarag_rdf.base.types import Query
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, TermNames, check_weight
from sarag_rdf.graph.schema_use import labelled_terms
from sarag_rdf.kg.entities import literals_of
from sarag_rdf.kg.ontologies import phrase_schema, schema_in_force
from sarag_rdf.kg.registry import options_of, strategies
from sarag_rdf.kg.session import Session


def with_weights(
    query: Query,
    weights: Mapping[str, float] | None,
    retriever: str | Options,
    session: Session,
) -> Query:
    """The question with activation weights, whose terms are IRIs, prefixed names or labels.

    Labels are those of the ontologies, or else those that the searched graphs give to classes and
    properties. Raises `UsageError` for an unknown term, a weight outside [0, 4], and a retriever
    without activation.
    """
    if not weights:
        return query
    options = options_of("retriever", retriever)
    if not options.is_steered:
        known = strategies("retriever").items()
        steered = [name for name, class_ in known if getattr(class_, "is_steered", False)]
        raise UsageError(
            f"{options.name} does not spread activation: weights need {' or '.join(steered)}"
        )
    with session.read() as snapshot:
        reader = snapshot.searched
        own = snapshot.reader.over is None
        names = TermNames(_KIND, _ontology_terms(snapshot.reader) if own else {})
        by_iri = {
            names.find(name) or _labelled_term(reader, name): check_weight(name, weight)
            for name, weight in weights.items()
        }
    return replace(query, weights=tuple(sorted(by_iri.items())))


_KIND = "property or class"


def _ontology_terms(reader: GraphReader) -> dict[str, OntologyClass | OntologyProperty]:
    """Classes and properties of the schema in force."""
    return {**schema_in_force(reader).classes, **phrase_schema(reader).properties}


def _labelled_term(reader: GraphReader, name: str) -> str:
    """The class or property with a label in the graphs themselves; raises `UsageError`."""
    text = name.strip()
    literals = [one for each in {text, text.lower(), text.title()} for one in literals_of(each)]
    terms = labelled_terms(reader, literals)
    iri = TermNames(_KIND, {i: OntologyClass(i, label) for i, label in terms.items()}).find(text)
    if iri is None:
        raise UsageError(
            f"no such {_KIND}: '{text}': give its IRI, or a label that  sarag ontology show  lists "
            "or that the graph has"
        )
    return iri


_AFTER_WEIGHT = re.compile(r"=\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*(,)")


def split_weights(text: str) -> list[str]:
    """The parts of ``TERM=WEIGHT,TERM=WEIGHT``: a comma ends a part if a weight stands before it.

    >>> split_weights("foaf:knows=2,http://example.org/a,b=0.5")
    ['foaf:knows=2', 'http://example.org/a,b=0.5']
    """
    ends = [match.start(1) for match in _AFTER_WEIGHT.finditer(text)]
    starts = [0, *(end + 1 for end in ends)]
    return [text[begin:end] for begin, end in zip(starts, [*ends, len(text)], strict=True)]


def parse_weights(texts: Iterable[str]) -> dict[str, float]:
    """Weights written as ``TERM=WEIGHT``; raises `UsageError` for other texts."""
    weights = {}
    for text in texts:
        term, equals, number = text.rpartition("=")
        try:
            weights[term.strip()] = float(number)
        except ValueError:
            equals = ""
        if not (equals and term.strip()):
            raise UsageError(
                f"'{text}' is not an activation weight: write TERM=WEIGHT, such as foaf:knows=2"
            )
    return weights
