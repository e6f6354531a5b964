"""What RDF/XML cannot express: some predicates, and control characters in literals.

RDF/XML writes a predicate as the name of an element, which is what its IRI ends with. ``urn:1`` and
``http://e.example/`` do not end with a name, and ``rdf:li`` means something else there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar
from xml.parsers import expat

import pyoxigraph as ox

from sarag_rdf.errors import UsageError
from sarag_rdf.vocab import RDF

_Statement = TypeVar("_Statement", ox.Triple, ox.Quad)
_NODE: Final = ox.NamedNode("urn:x")
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SYNTAX: Final = frozenset(
    RDF.base + name
    for name in (
        *("RDF", "ID", "Description", "about", "parseType", "resource", "nodeID", "datatype"),
        *("li", "aboutEach", "aboutEachPrefix", "bagID"),
    )
)
"""Names that are no predicates in RDF/XML (RDF 1.1 XML Syntax, section 5.1)."""


def expressible(
    statements: Iterable[_Statement], prefixes: Mapping[str, str]
) -> Iterator[_Statement]:
    """The same statements; raises `UsageError` for one that cannot be written with these prefixes.

    Predicates of triple terms count, too. Each predicate is checked once, by parsing what the
    engine writes for it.
    """
    known: set[str] = set()
    for statement in statements:
        inner: object = statement
        while isinstance(inner, ox.Triple | ox.Quad):
            predicate, inner = inner.predicate, inner.object
            if predicate.value not in known:
                if predicate.value in _SYNTAX or not _is_name(predicate, dict(prefixes)):
                    raise UsageError(
                        f"RDF/XML cannot express the predicate <{predicate.value}>: choose "
                        "another format, such as Turtle (text/turtle)"
                    )
                known.add(predicate.value)
        if isinstance(inner, ox.Literal) and _NOT_IN_XML.search(inner.value):
            raise UsageError(
                "RDF/XML cannot express a literal with control characters: choose another "
                "format, such as Turtle (text/turtle)"
            )
        yield statement


def _is_name(predicate: ox.NamedNode, prefixes: dict[str, str]) -> bool:
    triple = ox.Triple(_NODE, predicate, _NODE)
    written = ox.serialize([triple], format=ox.RdfFormat.RDF_XML, prefixes=prefixes)
    try:
        expat.ParserCreate(namespace_separator=" ").Parse(written or b"", True)
    except expat.ExpatError:
        return False
    return True
