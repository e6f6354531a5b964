"""What the data set says of an imported graph, in the graph of its own description."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.parts import ALL, COMPLETE, LINKS
from sarag_rdf.graph.rows import DOCUMENTS, GraphReader
from sarag_rdf.ports import Term
from sarag_rdf.vocab import DCTERMS, RDF, SARAG, VOID, XSD

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_ROLES = {
    "label": SARAG.labelProperty,
    "alias": SARAG.aliasProperty,
    "description": SARAG.descriptionProperty,
}


def import_name(wanted: str | None, file_name: str) -> str:
    """The name that was given, or one made of the file's; raises `UsageError`."""
    name = wanted or re.sub(r"[^a-z0-9]+", "-", file_name.partition(".")[0].lower()).strip("-")
    if not _NAME.fullmatch(name) or name in (ALL, DOCUMENTS, LINKS):
        raise UsageError(
            f"'{name}' cannot be the name of a graph: give --name with lower case letters, "
            "digits, '-', '_' and '.'; 'all', 'documents' and 'links' are taken"
        )
    return name


@dataclass(frozen=True, slots=True)
class Entry:
    """An imported graph: what it was made of and how far it came.

    `settings` tell with the digest of the file whether an import is the same as another.
    """

    name: str
    kind: str
    origin: str
    sha256: str
    settings: str
    state: str = "0"
    triples: int = 0
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def same_as(self, other: Entry) -> bool:
        """Whether another import gives the same graph, seen in the same way."""
        return (self.sha256, self.settings) == (other.sha256, other.settings)

    def quads(self, reader: GraphReader) -> list[Quad]:
        """The description, with the number of triples once it is complete."""
        node = node_of(reader, self.name)
        pairs: list[tuple[NamedNode, Term]] = [
            (RDF.type, SARAG.ImportedGraph),
            (RDF.type, VOID.Dataset),
            (DCTERMS.identifier, Literal(self.name)),
            (DCTERMS.source, Literal(self.origin)),
            (SARAG.kind, Literal(self.kind)),
            (SARAG.sha256, Literal(self.sha256)),
            (SARAG.settings, Literal(self.settings)),
            (SARAG.graph, NamedNode(reader.minter.imported_graph(self.name))),
            (SARAG.importState, Literal(self.state)),
        ]
        if self.state == COMPLETE:
            pairs.append((VOID.triples, Literal(str(self.triples), datatype=XSD.integer)))
        pairs += [
            (_ROLES[role], NamedNode(iri)) for role, iris in self.paths.items() for iri in iris
        ]
        graph = NamedNode(reader.minter.meta_graph)
        return [Quad(node, predicate, value, graph) for predicate, value in pairs]


def node_of(reader: GraphReader, name: str) -> NamedNode:
    """The node that describes an imported graph."""
    return NamedNode(f"{reader.minter.base}import/{name}")


def stored(reader: GraphReader, name: str) -> list[Quad]:
    """What the data set says now of an imported graph."""
    node = node_of(reader, name)
    return [q for q in reader.store.quads(reader.minter.meta_graph) if q.subject == node]


def entry_of(quads: Iterable[Quad], name: str) -> Entry | None:
    """The entry that `Entry.quads` made, or None where there is nothing."""
    values = {q.predicate.value: str(getattr(q.object, "value", "")) for q in quads}
    if not values:
        return None
    return Entry(
        name,
        values[SARAG.kind.value],
        values[DCTERMS.source.value],
        values[SARAG.sha256.value],
        values[SARAG.settings.value],
        values[SARAG.importState.value],
        int(values.get(VOID.triples.value, 0)),
    )
