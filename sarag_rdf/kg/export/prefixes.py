"""Prefixes for exports: those of common vocabularies, of the graph's own IRIs and of ontologies."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from sarag_rdf.base.iris import Minter, is_iri
from sarag_rdf.base.ports import GraphStore
from sarag_rdf.base.vocab import COMMON, PREFIXES, RDF, SH, XSD, text_of

_FIRST_SEGMENTS = (
    *("dataset", "doc", "description", "entity", "extraction", "graph", "mapping", "mention"),
    *("phrase", "relationship", "run", "source"),
)
"""The first path segments of IRIs below the base; each is also the name of a prefix."""
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_UNWRITTEN = frozenset(
    iri.value
    for iri in (RDF.type, RDF.langString, XSD.string, XSD.integer, XSD.decimal, XSD.boolean)
)
"""IRIs for which Turtle has shorter forms than prefixed names."""

_IRIS = """SELECT ?g ?x WHERE {
  { GRAPH ?g { ?x ?p ?o } } UNION { GRAPH ?g { ?s ?x ?o } } UNION { GRAPH ?g { ?s ?p ?x } }
  UNION { GRAPH ?g { ?s ?p ?o } BIND(DATATYPE(?o) AS ?x) }
  FILTER(isIRI(?x))
} GROUP BY ?g ?x"""
_DECLARED = f"""PREFIX vann: <http://purl.org/vocab/vann/>
SELECT DISTINCT ?prefix ?namespace WHERE {{
  GRAPH ?g {{
    {{ ?ontology vann:preferredNamespacePrefix ?prefix ; vann:preferredNamespaceUri ?namespace }}
    UNION {{ ?declaration <{SH.base}prefix> ?prefix ; <{SH.base}namespace> ?namespace }}
  }}
  FILTER(STRSTARTS(STR(?g), "%s"))
}}"""


def prefixes_under(base: str) -> dict[str, str]:
    """Prefixes of common vocabularies, and of IRIs below this base."""
    return PREFIXES | {name: f"{base}{name}/" for name in _FIRST_SEGMENTS}


def ontology_prefixes(store: GraphStore, base: str) -> dict[str, str]:
    """The prefixes that stored ontologies declare, with VANN or ``sh:declare``, and ``common``.

    If there are several namespaces for a prefix, the first in the order of IRIs counts. Namespaces
    that have a prefix anyway are omitted.
    """
    rows = store.select(_DECLARED % Minter(base).graph("ontologies"), "prefix").rows
    declared = sorted((text_of(prefix), text_of(namespace)) for prefix, namespace in rows)
    known = set(prefixes_under(base).values())
    return {"common": COMMON.base} | {
        prefix: namespace
        for prefix, namespace in reversed(declared)
        if _PREFIX.fullmatch(prefix) and is_iri(namespace) and namespace not in known
    }


def used_prefixes(
    store: GraphStore,
    prefixes: Mapping[str, str],
    graphs: Collection[str] | None = None,
    *,
    with_names: bool = False,
) -> dict[str, str]:
    """Those of the prefixes that abbreviate IRIs in the graphs (by default all).

    With `with_names`, the names of the graphs count, too.
    """
    unused, used = dict(prefixes), set[str]()
    for graph, term in store.select(_IRIS, "x").rows:
        if graphs is not None and graph.value not in graphs:
            continue
        for iri in (term.value, graph.value) if with_names else (term.value,):
            if iri.startswith(tuple(unused.values())) and iri not in _UNWRITTEN:
                matching = {name for name, space in unused.items() if iri.startswith(space)}
                used |= matching
                unused = {name: space for name, space in unused.items() if name not in matching}
    return {name: space for name, space in prefixes.items() if name in used}
