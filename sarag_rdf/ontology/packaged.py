"""The ontology that extraction follows when it is given no other one (``ontology/common.ttl``)."""

from __future__ import annotations

from functools import cache

import pyoxigraph as ox

from sarag_rdf import vocab
from sarag_rdf.ontology.read import schema_of
from sarag_rdf.ontology.schema import Schema
from sarag_rdf.resources import ontology_path

COMMON = vocab.COMMON.base
"""The namespace of the packaged ontology."""


@cache
def common_schema() -> Schema:
    """The classes and properties of the packaged ontology, without the foreign terms it uses."""
    quads = ox.parse(path=str(ontology_path("common.ttl")), format=ox.RdfFormat.TURTLE)
    schema = schema_of(quad.triple for quad in quads)
    return Schema.of(
        (class_ for class_ in schema.classes.values() if class_.iri.startswith(COMMON)),
        (own for own in schema.properties.values() if own.iri.startswith(COMMON)),
    )
