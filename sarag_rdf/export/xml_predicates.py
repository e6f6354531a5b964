"""Predicates that RDF/XML cannot express: it writes them as names of elements.

Such a name is what a predicate's IRI ends with; ``urn:1`` and ``http://e.example/`` end with none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar
from xml.parsers import expat

import pyoxigraph as ox

from sarag_rdf.errors import UsageError

_Statement = TypeVar("_Statement", ox.Triple, ox.Quad)
_NODE: Final = ox.NamedNode("urn:x")


def expressible(
    statements: Iterable[_Statement], prefixes: Mapping[str, str]
) -> Iterator[_Statement]:
    """The same statements; raises `UsageError` for one that cannot be written with these prefixes.

    Whether what the engine writes for a predicate is well-formed is asked once of each.
    """
    known: set[str] = set()
    for statement in statements:
        predicate = statement.predicate
        if predicate.value not in known:
            if not _is_name(predicate, dict(prefixes)):
                raise UsageError(
                    f"RDF/XML cannot express the predicate <{predicate.value}>, which does not end "
                    "with an XML name: take another format, such as Turtle"
                )
            known.add(predicate.value)
        yield statement


def _is_name(predicate: ox.NamedNode, prefixes: dict[str, str]) -> bool:
    triple = ox.Triple(_NODE, predicate, _NODE)
    written = ox.serialize([triple], format=ox.RdfFormat.RDF_XML, prefixes=prefixes)
    try:
        expat.ParserCreate(namespace_separator=" ").Parse(written or b"", True)
    except expat.ExpatError:
        return False
    return True
