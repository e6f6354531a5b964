"""RDF 1.2: a relationship as a reifier of the triple that joins its two entities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.vocab import RDF, SARAG

RDF12_FORMATS = ("turtle", "trig", "ntriples", "nquads")


def check_rdf12(format_: str, *, traversed: bool) -> None:
    """Raise `UsageError` for a format without triple terms, or parts without the `traversed` graph.

    The triples that are reified stand there.
    """
    if format_ not in RDF12_FORMATS:
        raise UsageError(
            f"{format_} cannot carry RDF 1.2: choose one of {', '.join(RDF12_FORMATS)}, or leave "
            "--rdf12 out"
        )
    if not traversed:
        raise UsageError(
            "RDF 1.2 adds reifiers of links between entities, which are not among the parts "
            "chosen: add --entities, or leave --rdf12 out"
        )


def reifiers(triples: Iterable[ox.Triple]) -> list[ox.Triple]:
    """``<relationship> rdf:reifies <<( subject sarag:relatedTo object )>>`` for each relationship.

    `triples` are all that is said of some subjects.
    """
    subjects: dict[Any, Any] = {}
    objects: dict[Any, Any] = {}
    for triple in triples:
        if triple.predicate == SARAG.subject:
            subjects[triple.subject] = triple.object
        elif triple.predicate == SARAG.object:
            objects[triple.subject] = triple.object
    return [
        ox.Triple(node, RDF.reifies, ox.Triple(subject, SARAG.relatedTo, objects[node]))
        for node, subject in subjects.items()
        if node in objects
    ]
