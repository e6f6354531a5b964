"""The ontology that extraction follows when it is given no other one (``ontology/common.ttl``)."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pyoxigraph as ox

from sarag_rdf.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.resources import ontology_path
from sarag_rdf.vocab import OWL, RDF, RDFS, SARAG, SKOS

COMMON = "https://w3id.org/sarag/common#"
_RANGE_INCLUDES = ox.NamedNode("https://schema.org/rangeIncludes")


@cache
def common_schema() -> Schema:
    """The classes and properties of the packaged ontology, without the foreign terms it uses."""
    triples: dict[str, dict[ox.NamedNode, list[str]]] = defaultdict(lambda: defaultdict(list))
    for quad in ox.parse(path=str(ontology_path("common.ttl")), format=ox.RdfFormat.TURTLE):
        if quad.subject.value.startswith(COMMON):
            triples[quad.subject.value][quad.predicate].append(quad.object.value)
    classes, properties = [], []
    for iri, values in triples.items():

        def get(*keys: ox.NamedNode, values=values) -> tuple[str, ...]:
            return tuple(v for key in keys for v in values[key])

        types = get(RDF.type)
        if OWL.Class.value in types:
            classes.append(
                OntologyClass(
                    iri,
                    get(RDFS.label)[0],
                    get(SKOS.altLabel),
                    get(SKOS.definition)[0],
                    (),
                    get(RDFS.subClassOf),
                )
            )
        else:
            properties.append(
                OntologyProperty(
                    iri,
                    get(RDFS.label)[0],
                    get(SKOS.altLabel),
                    get(SKOS.definition)[0],
                    get(SKOS.example),
                    get(SARAG.phrase),
                    get(SARAG.inversePhrase),
                    get(RDFS.domain),
                    get(RDFS.range, _RANGE_INCLUDES),
                    get(RDFS.subPropertyOf),
                    "",
                    OWL.DatatypeProperty.value in types,
                    OWL.FunctionalProperty.value in types,
                    OWL.SymmetricProperty.value in types,
                )
            )
    return Schema.of(classes, properties)
