"""Static checks of SPARQL updates: target graphs, use of the default graph, network access."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sarag_rdf.base.errors import QueryError
from sarag_rdf.graph.store.sparql_syntax import Token, check_size, syntax_reason, tokens

_ESCAPE = re.compile(r"\\u[0-9a-f]{4}(?:[0-9a-f]{4})?", re.IGNORECASE)
"""Codepoint escapes, which rdflib replaces before it parses, Oxigraph within strings and IRIs."""

if TYPE_CHECKING:
    from rdflib.plugins.sparql.parserutils import CompValue


@dataclass(frozen=True, slots=True)
class UpdateTraits:
    """The possible effects of an update.

    `graphs` are the named graphs that it writes to, None if they depend on the data.
    `uses_default`: it reads or writes the default graph. `names_dataset`: it has USING or WITH.
    `uses_service`, `loads`: it has SERVICE or LOAD, which access the network.
    """

    graphs: frozenset[str] | None
    uses_default: bool
    names_dataset: bool
    uses_service: bool
    loads: bool


def inspect_update(text: str, base: str) -> UpdateTraits:
    """Determine the traits of an update from rdflib's algebra, as it reads it and as Oxigraph does.

    Raises `QueryError` for an update that rdflib cannot parse, because it cannot be checked, or
    that is nested too deeply or too long.
    """
    from rdflib.plugins.sparql.algebra import translateUpdate  # a server need not wait for it
    from rdflib.plugins.sparql.parser import parseUpdate

    check_size(text)
    operations: list[Any] = []
    lines = text.replace("\r", "\n")  # a carriage return ends a comment for Oxigraph only
    for interpretation in {lines, _ESCAPE.sub("x", lines)}:
        try:
            parsed = _sample_data(parseUpdate(interpretation))
            operations += getattr(translateUpdate(parsed, base=base), "algebra", [])
        except Exception as error:
            reason = syntax_reason(interpretation, error)
            raise QueryError(f"the update does not parse as SPARQL 1.1: {reason}") from error
    names = _names(operations)
    targets = [target for operation in operations for target in _targets(operation)]
    return UpdateTraits(
        graphs=None if None in targets else frozenset(t for t in targets if t is not None),
        uses_default=any(_uses_default(operation) for operation in operations),
        names_dataset=any(_get(o, "withClause") or _get(o, "using") for o in operations),
        uses_service="ServiceGraphPattern" in names,
        loads="Load" in names,
    )


def _names(node: Any) -> set[str]:
    """The names of all nodes of an algebra."""
    names: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, OrderedDict):
            names.add(cast("CompValue", part).name)
            pending.extend(part.values())
        elif _is_list(part):
            pending.extend(part)
    return names


def _sample_data(parsed: Any) -> Any:
    """Keep one triple of each data block, because rdflib takes quadratic time to translate more."""
    for operation in dict.get(parsed, "request") or ():
        if operation.name in ("InsertData", "DeleteData"):
            blocks = [operation.quads, *(_get(operation.quads, "quadsNotTriples") or ())]
            for block in blocks:
                if _get(block, "triples"):
                    block["triples"] = block.triples[:1]
    return parsed


def _get(node: CompValue, name: str) -> Any:
    """A part of a node, or None; rdflib's own method would return the name."""
    return dict.get(node, name)


def _targets(operation: CompValue) -> Iterator[str | None]:
    """Graphs that an operation writes to; None for one that depends on the data."""
    from rdflib.term import URIRef

    if operation.name in ("Clear", "Drop", "Create", "Load"):
        graph = _get(operation, "graphiri")
        if graph in ("ALL", "NAMED"):
            yield None
        elif isinstance(graph, URIRef):
            yield str(graph)
    elif operation.name in ("Add", "Move", "Copy"):
        yield from (str(graph) for graph in operation.graph if isinstance(graph, URIRef))
    else:
        if _get(operation, "withClause"):
            yield str(operation.withClause)
        for part in _templates(operation):
            graphs = _get(part, "quads") or ()
            yield from (str(graph) if isinstance(graph, URIRef) else None for graph in graphs)


def _templates(operation: CompValue) -> list[CompValue]:
    if operation.name != "Modify":
        return [operation]
    return [part for part in (_get(operation, "delete"), _get(operation, "insert")) if part]


def _uses_default(operation: CompValue) -> bool:
    if operation.name == "Load":
        return not _get(operation, "graphiri")
    if operation.name in ("Add", "Move", "Copy"):
        return "DEFAULT" in operation.graph
    if operation.name in ("Clear", "Drop", "Create") or _get(operation, "withClause"):
        return False
    if any(_get(part, "triples") for part in _templates(operation)):
        return True
    is_read = operation.name == "Modify" and not _get(operation, "using")
    return is_read and _reads_default(_get(operation, "where"))


def _reads_default(node: Any) -> bool:
    """Whether there is a pattern outside of GRAPH."""
    if isinstance(node, OrderedDict):
        node = cast("CompValue", node)
        if node.name in ("Graph", "GraphGraphPattern", "ServiceGraphPattern"):
            return False
        if node.name in ("BGP", "TriplesBlock") and _get(node, "triples"):
            return True
        node = [*node.values()]
    return _is_list(node) and any(map(_reads_default, node))


def _is_list(node: object) -> bool:
    """Whether it is a list, tuple or the like of pyparsing; a term is a string."""
    return isinstance(node, Iterable) and not isinstance(node, str)


_ABSOLUTE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:(?!.*/\.)[^\s]*>")


def is_plain(text: str) -> bool:
    """Whether the IRIs of an update are unambiguous.

    This holds for an update without BASE, relative IRIs, dot segments, and escapes outside of
    literals. For such an update every engine writes to exactly `UpdateTraits.graphs`.
    """
    if re.search(r"\\[uU]", text):
        return False
    return not any(_is_ambiguous(token, text) for token in tokens(text))


def _is_ambiguous(token: Token, text: str) -> bool:
    if token.kind == "iri":
        return _ABSOLUTE.fullmatch(token.text) is None
    if token.text == "<":
        return text[token.offset + 1 : token.offset + 2] not in " \t\r\n"
    is_base = token.kind == "word" and token.text.upper() == "BASE"
    has_escape = token.kind == "name" and "\\" in token.text
    return is_base or has_escape or token.kind == "unended" or token.text == "\\"


def with_dataset(text: str, clause: str) -> str:
    """The update with `clause` (USING …) before every WHERE; ``DELETE WHERE`` is expanded."""
    parts: list[str] = []
    end, depth, block, last_word, is_shorthand = 0, 0, 0, "", False
    for token in tokens(text):
        parts.append(text[end : token.offset])
        part, end = token.text, token.offset + len(token.text)
        word = part.upper() if token.kind == "word" and depth == 0 else ""
        if part == "{" and depth == 0:
            block = len(parts)
        depth += (part in ("{", "{|")) - (part in ("}", "|}"))
        if word == "WHERE":
            is_shorthand = last_word == "DELETE"
            part = "" if is_shorthand else f"{clause} {part}"
        parts.append(part)
        if part == "}" and depth == 0 and is_shorthand:
            parts.append(f" {clause} WHERE {''.join(parts[block:])}")
            is_shorthand = False
        last_word = word
    return "".join((*parts, text[end:]))
