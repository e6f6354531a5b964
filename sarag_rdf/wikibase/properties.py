"""Properties as Wikibase declares them: datatype, and every predicate that is made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pyoxigraph import NamedNode, Triple

from sarag_rdf.vocab import OWL, RDF
from sarag_rdf.wikibase.vocabulary import WIKIBASE, Vocabulary

_ROLES: Final = {
    "directClaim": "wdt",
    "claim": "p",
    "statementProperty": "ps",
    "statementValue": "psv",
    "qualifier": "pq",
    "qualifierValue": "pqv",
    "reference": "pr",
    "referenceValue": "prv",
    "novalue": "wdno",
}
_NORMALIZED_ROLES: Final = {
    "directClaimNormalized": "wdtn",
    "statementValueNormalized": "psn",
    "qualifierValueNormalized": "pqn",
    "referenceValueNormalized": "prn",
}
_WITH_NORMALIZED: Final = frozenset({"external-id", "quantity"})
_OF_IRIS: Final = frozenset({"url", "commonsMedia", "geo-shape", "tabular-data", "entity-schema"})


def type_node(datatype: str) -> NamedNode:
    """The class of a datatype: ``wikibase-item`` is ``wikibase:WikibaseItem``."""
    name = "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_ ]", datatype))
    return WIKIBASE[name]


def property_triples(vocabulary: Vocabulary, id_: str, datatype: str) -> Iterator[Triple]:
    """Everything that a property is declared with but for its texts and statements."""
    node = vocabulary.thing(id_)
    yield Triple(node, WIKIBASE.propertyType, type_node(datatype))
    normalized = datatype in _WITH_NORMALIZED
    for role, prefix in (_ROLES | (_NORMALIZED_ROLES if normalized else {})).items():
        yield Triple(node, WIKIBASE[role], vocabulary.predicate(prefix, id_))
    of_iris = datatype in _OF_IRIS or datatype.startswith("wikibase-")
    yield from _typed(vocabulary, id_, ("p", "psv", "pqv", "prv"), OWL.ObjectProperty)
    simple = OWL.ObjectProperty if of_iris else OWL.DatatypeProperty
    yield from _typed(vocabulary, id_, ("wdt", "ps", "pq", "pr"), simple)
    if normalized:
        yield from _typed(vocabulary, id_, ("psn", "pqn", "prn"), OWL.ObjectProperty)
        direct = OWL.ObjectProperty if datatype == "external-id" else OWL.DatatypeProperty
        yield from _typed(vocabulary, id_, ("wdtn",), direct)
    yield from _without_value(vocabulary, id_)


def _typed(
    vocabulary: Vocabulary, id_: str, prefixes: tuple[str, ...], kind: NamedNode
) -> Iterator[Triple]:
    for prefix in prefixes:
        yield Triple(vocabulary.predicate(prefix, id_), RDF.type, kind)


def _without_value(vocabulary: Vocabulary, id_: str) -> Iterator[Triple]:
    """The class of what has no value: all that has some value is outside it."""
    none, direct = vocabulary.predicate("wdno", id_), vocabulary.predicate("wdt", id_)
    some = vocabulary.nameless(none.value)
    yield Triple(none, RDF.type, OWL.Class)
    yield Triple(none, OWL.complementOf, some)
    yield Triple(some, RDF.type, OWL.Restriction)
    yield Triple(some, OWL.onProperty, direct)
    yield Triple(some, OWL.someValuesFrom, OWL.Thing)
