"""What the tests of endpoints load into them, and ask them for."""

from __future__ import annotations

from pyoxigraph import RdfFormat, serialize

from sarag_rdf.base.ports import GraphStore
from sarag_rdf.base.vocab import PREFIXES
from tests.command import ROOT

CORPUS = [
    ROOT / "examples" / "corpus" / f"{name}.md"
    for name in ("cern", "geneva", "marie-curie", "pierre-curie", "vistula", "warsaw")
]
"""Few documents: each of them takes a server seconds."""

_NODES = {
    "item": (
        "?x a ?class VALUES ?class { sarag:Entity sarag:NameUse sarag:Relationship sarag:Document }"
    ),
    "source": "?x a sarag:Source",
    "entity": "?x a sarag:Entity",
    "document": "?x a sarag:Document",
    "text": "?x sarag:describes ?entity",
    "relationship": "?x a sarag:Relationship",
    "mention": "?x a sarag:Mention",
    "use": "?x a sarag:NameUse",
    "description": "?x a sarag:NameUse",
    "property": "?relationship sarag:property ?x",
    "subject": "?relationship sarag:subject ?x",
    "alias": "?mention sarag:aliasMention ?x",
    "class": "?entity a ?x",
}


def seeds(store: GraphStore, parameter: str) -> list[str]:
    """IRIs that a query with this parameter takes; none for other parameters."""
    if parameter not in _NODES:
        return []
    pattern = f"SELECT DISTINCT ?x WHERE {{ GRAPH ?g {{ {_NODES[parameter]} }} }}"
    text = f"PREFIX sarag: <{PREFIXES['sarag']}> {pattern}"
    return sorted(row[0].value for row in store.select(text, "x").rows)


def export_nquads(store: GraphStore) -> bytes:
    """All that a store holds."""
    data = serialize(store.quads(), format=RdfFormat.N_QUADS)
    assert data
    return data
