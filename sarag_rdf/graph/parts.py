"""The parts of a knowledge graph: its documents, the graphs that were imported, the links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.rows import DOCUMENTS, GraphReader, Part

LINKS = "links"
COMPLETE = "complete"
"""State of an imported graph that can be read."""


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported graph as the data set describes it; `state` is `COMPLETE` or how far it came."""

    iri: str
    name: str
    kind: str
    graph: str
    state: str
    paths: dict[str, list[str]] = field(default_factory=dict)


def imported_graphs(reader: GraphReader) -> list[Imported]:
    """All imported graphs, by name, complete or not."""
    found: dict[str, Imported] = {}
    paths: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for node, name, kind, graph, state, path, property_ in reader.kept("imports"):
        values = (node.value, name.value, kind.value, graph.value, state.value)
        found[name.value] = Imported(*values)
        if path is not None:
            paths[name.value].setdefault(path.value, []).append(property_.value)
    return [
        replace(found[name], paths={key: sorted(v) for key, v in sorted(paths[name].items())})
        for name in sorted(found)
    ]


def searched(reader: GraphReader, over: Sequence[str] = ()) -> GraphReader:
    """The reader of the parts named in `over`, or of all that there are.

    Several parts are read with the links between them. Raises `UsageError` for an unknown name.
    """
    imported = {i.name: i for i in imported_graphs(reader)}
    for name in over:
        if name != DOCUMENTS and (name not in imported or imported[name].state != COMPLETE):
            raise UsageError(_unknown(name, imported))
    complete = [name for name, i in imported.items() if i.state == COMPLETE]
    wanted = list(dict.fromkeys(over)) or [DOCUMENTS, *complete]
    if wanted == [DOCUMENTS]:
        return reader
    parts = [reader.own if name == DOCUMENTS else _part(reader, imported[name]) for name in wanted]
    if len(parts) > 1:
        graphs = {"links": reader.minter.links_graph}
        parts.append(Part(LINKS, LINKS, graphs, reader.store))
    return replace(reader, over=tuple(parts))


def _part(reader: GraphReader, imported: Imported) -> Part:
    graphs = {"kg": imported.graph}
    return Part(imported.name, imported.kind, graphs, reader.store, imported.paths)


def _unknown(name: str, imported: dict[str, Imported]) -> str:
    if name in imported:
        return f"the import of '{name}' is not complete: run the same  sarag import  again"
    names = [DOCUMENTS, *imported]
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no graph '{name}' here: choose of {', '.join(names)}{hint}"
