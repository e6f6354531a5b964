"""The triple patterns of a SPARQL query in the order of its text, and queries made from them.

rdflib parses the query; its algebra would reorder the patterns. Blank nodes become variables, which
they are in a query, and terms are written with full IRIs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

import pyoxigraph as ox
from rdflib import BNode, Literal, URIRef, Variable
from rdflib.paths import (
    AlternativePath,
    InvPath,
    MulPath,
    NegatedPath,
    Path,
    SequencePath,
)
from rdflib.plugins.sparql.algebra import (
    translatePath,
    translatePName,
    traverse,
)
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Prologue

from sarag_rdf.base.errors import QueryError
from sarag_rdf.base.iris import plain_words, prefixed_name
from sarag_rdf.base.ports import Table
from sarag_rdf.base.sandbox import EndedError, run
from sarag_rdf.base.vocab import COMMON, PREFIXES, RDF
from sarag_rdf.graph.store.sparql_syntax import (
    SAFE_LENGTH,
    TRIAL_LIMITS,
    check_query,
    split_prologue,
    syntax_reason,
    undeclared_prefixes,
)

TYPE: Final = f"<{RDF.type.value}>"
BLANK: Final = "?__blank"
"""The beginning of variables that stand for blank nodes."""
UNDECLARED: Final = "urn:sarag:undeclared:"
"""The beginning of namespaces of prefixes that a query does not declare."""
_OPTIONAL: Final = frozenset(
    {"OptionalGraphPattern", "MinusGraphPattern", "Filter", "Bind", "SubSelect"}
)
"""Elements whose patterns a solution need not match, beside unions of several groups."""
_ONE_STEP: Final = {"*": "?", "+": ""}
"""Modifier of a path -> what one step of the path has instead."""
_UNION: Final = "GroupOrUnionGraphPattern"
_IRI: Final = re.compile(r"<([^<>\s]*)>")
_VARIABLE: Final = re.compile(r"\?\w+")
_STANDARD: Final = tuple(base for base in PREFIXES.values() if base != COMMON.base)


MOST_SUGGESTED: Final = 2
"""Terms that are suggested at most, if they have the same name."""

Vocabulary = Mapping[str, tuple[str, tuple[str, ...]]]
"""IRI -> kind (class or property) and names of terms that ontologies declare."""


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple pattern, or a property path pattern, in SPARQL syntax with full IRIs.

    `graph` is the term of the GRAPH around it, `service` that of a SERVICE; both may be empty.
    `is_required` unless it is in an OPTIONAL, UNION, MINUS, FILTER or subquery. `properties` are
    the IRIs in its predicate or path. `step` is the predicate with one step in the place of paths
    of any length (``p+`` is ``p``, ``p*`` is ``p?``), or empty if it has none.
    """

    subject: str
    predicate: str
    object: str
    graph: str = ""
    service: str = ""
    is_required: bool = True
    properties: tuple[str, ...] = ()
    step: str = ""

    @property
    def single(self) -> TriplePattern:
        """The pattern with one step: engines enumerate whole paths before the first solution."""
        return replace(self, predicate=self.step, step="") if self.step else self

    @property
    def text(self) -> str:
        """Subject, predicate and object."""
        return f"{self.subject} {self.predicate} {self.object}"

    @property
    def variables(self) -> frozenset[str]:
        """The names of its variables, without those of blank nodes."""
        terms = (self.subject, self.predicate, self.object, self.graph)
        names = {term for term in terms if _VARIABLE.fullmatch(term)}
        return frozenset(name[1:] for name in names if not name.startswith(BLANK))


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query in SPARQL syntax; `kind` is class, property, entity or literal."""

    kind: str
    text: str

    @property
    def iri(self) -> str:
        """The IRI; empty for a literal."""
        return "" if self.kind == "literal" else self.text[1:-1]


@dataclass(frozen=True, slots=True)
class QueryOutline:
    """What a query consists of.

    `form` is SELECT, ASK, CONSTRUCT or DESCRIBE; `default_graphs` are the IRIs of FROM,
    `named_graphs` those of FROM NAMED, `graphs` the terms of GRAPH and `services` those of SERVICE.
    `values` are the IRIs of VALUES and DESCRIBE, `prefixes` the declared ones.
    """

    form: str
    patterns: tuple[TriplePattern, ...]
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        """The FROM and FROM NAMED clauses."""
        clauses = [f"FROM <{iri}>" for iri in self.default_graphs]
        return " ".join([*clauses, *(f"FROM NAMED <{iri}>" for iri in self.named_graphs)])

    @property
    def required(self) -> tuple[TriplePattern, ...]:
        """The patterns of this data set that every solution matches."""
        return tuple(p for p in self.patterns if p.is_required and not p.service)

    @property
    def terms(self) -> tuple[QueryTerm, ...]:
        """Classes, properties, entities and literals of patterns and VALUES, in their order."""
        own = (pattern for pattern in self.patterns if not pattern.service)
        terms = [term for pattern in own for term in _terms_of(pattern)]
        terms += [QueryTerm("entity", f"<{iri}>") for iri in self.values]
        by_text: dict[str, QueryTerm] = {}
        return tuple(dict.fromkeys(by_text.setdefault(term.text, term) for term in terms))


def _terms_of(pattern: TriplePattern) -> Iterator[QueryTerm]:
    if pattern.subject.startswith("<"):
        yield QueryTerm("entity", pattern.subject)
    for iri in pattern.properties:
        if iri != RDF.type.value:
            yield QueryTerm("property", f"<{iri}>")
    if pattern.object.startswith("<"):
        is_class = RDF.type.value in pattern.properties
        yield QueryTerm("class" if is_class else "entity", pattern.object)
    elif not pattern.object.startswith("?"):
        yield QueryTerm("literal", pattern.object)


# ---------------------------------------------------------------------------------- Parsing


def outline_of(text: str) -> QueryOutline:
    """The outline of a query; raises `QueryError`, also for syntax newer than SPARQL 1.1."""
    check_query(text)
    try:
        return _read(text) if len(text) <= SAFE_LENGTH else run(_read, TRIAL_LIMITS, text)
    except EndedError as error:
        raise QueryError(f"the SPARQL {error}: simplify it") from error


def _read(text: str) -> QueryOutline:
    try:
        # On the line of a declaration such as ``<a#>``, rdflib does not parse SERVICE.
        declarations, tree = parseQuery("\n".join(split_prologue(text)))
        prologue = _Prologue(declarations)
        tree = traverse(tree, visitPost=functools.partial(translatePName, prologue=prologue))
        tree = traverse(tree, visitPost=translatePath)
        return _outline(tree, prologue.declared)
    except QueryError:
        raise
    except RecursionError as error:
        raise QueryError(
            "the SPARQL has too many triple patterns in one group to be analysed: split it"
        ) from error
    except Exception as error:  # pyparsing and rdflib raise many types
        raise QueryError(_syntax_message(text, error)) from error


class _Prologue(Prologue):
    """The declarations of a query alone: rdflib knows further prefixes, and rebinds some."""

    def __init__(self, declarations: Iterable[CompValue]) -> None:
        super().__init__()
        self.declared = {
            str(item.prefix or ""): str(item.iri)
            for item in declarations
            if item.name == "PrefixDecl"
        }

    def resolvePName(self, prefix: str | None, localname: str | None) -> URIRef:  # noqa: N802
        return URIRef(self.declared[prefix or ""] + (localname or ""))


def _syntax_message(text: str, error: Exception) -> str:
    """The message of the engine, which is clearer, unless it would have to run the query."""
    if "SERVICE" in text.upper() and not undeclared_prefixes(text):
        return f"the SPARQL query cannot be analysed, check its syntax: {error}"
    try:
        ox.Store().query(text)
    except SyntaxError as engine_error:
        return f"the SPARQL query does not parse: {syntax_reason(text, engine_error)}"
    return "only SPARQL 1.1 can be analysed: rewrite the query without newer syntax"


def _outline(tree: CompValue, prefixes: Mapping[str, str]) -> QueryOutline:
    walk = _Walk()
    walk.visit([tree.where, tree.valuesClause], TriplePattern("", "", ""))
    if tree.name == "DescribeQuery":
        walk.add_values(tree.var or ())
    clauses = tree.datasetClause or ()
    return QueryOutline(
        tree.name.removesuffix("Query").upper(),
        tuple(walk.patterns),
        tuple(str(clause.default) for clause in clauses if clause.default),
        tuple(str(clause.named) for clause in clauses if clause.named),
        tuple(walk.graphs),
        tuple(walk.services),
        tuple(walk.values),
        prefixes,
    )


class _Walk:
    """Collects the patterns of a parse tree, in the order of the text."""

    def __init__(self) -> None:
        self.patterns: list[TriplePattern] = []
        self.graphs: dict[str, None] = {}
        self.services: dict[str, None] = {}
        self.values: dict[str, None] = {}
        self._blank: dict[BNode, str] = {}

    def visit(self, node: Any, context: TriplePattern) -> None:
        """`context` is a pattern without terms, which says where the node is."""
        if not isinstance(node, CompValue):
            for part in node if isinstance(node, Iterable) and not isinstance(node, str) else ():
                self.visit(part, context)
            return
        if node.name == "TriplesBlock":
            self._add(node.triples, context)
            return
        if node.name in ("InlineData", "ValuesClause"):
            self.add_values(node.value)
            return
        if node.name == "GraphGraphPattern":
            context = replace(context, graph=self._text(node.term))
            self.graphs[context.graph] = None
        elif node.name == "ServiceGraphPattern":
            context = replace(context, service=self._text(node.term))
            self.services[context.service] = None
        elif node.name in _OPTIONAL or (node.name == _UNION and len(node.graph) > 1):
            context = replace(context, is_required=False)
        for part in node.values():
            self.visit(part, context)

    def _add(self, blocks: Iterable[Any], context: TriplePattern) -> None:
        for block in blocks:
            terms = list(block)
            for subject, predicate, object_ in zip(*[iter(terms)] * 3, strict=True):
                text = self._text(predicate)
                step = _path_text(predicate, _ONE_STEP) if isinstance(predicate, Path) else text
                self.patterns.append(
                    replace(
                        context,
                        subject=self._text(subject),
                        predicate=text,
                        object=self._text(object_),
                        properties=tuple(dict.fromkeys(_properties(predicate))),
                        step="" if step == text else step,
                    )
                )

    def add_values(self, rows: Iterable[Any]) -> None:
        """The IRIs of VALUES, whose rows are terms or lists of terms."""
        for row in rows:
            cells = row if isinstance(row, Iterable) and not isinstance(row, str) else (row,)
            for cell in cells:
                if isinstance(cell, URIRef):
                    self.values[str(cell)] = None

    def _text(self, term: Any) -> str:
        if isinstance(term, BNode):
            return self._blank.setdefault(term, f"{BLANK}{len(self._blank) + 1}")
        if isinstance(term, Path):
            return _path_text(term)
        if not isinstance(term, URIRef | Literal | Variable):
            raise QueryError(f"unsupported term {term}")
        return str(term.n3())


def _path_text(path: Any, steps: Mapping[str, str] = MappingProxyType({})) -> str:
    """A path with parentheses where its operators bind less closely; `steps` replaces modifiers."""
    if isinstance(path, SequencePath):
        return "/".join(_operand(part, steps, AlternativePath) for part in path.args)
    if isinstance(path, AlternativePath):
        return "|".join(_path_text(part, steps) for part in path.args)
    if isinstance(path, InvPath):
        return f"^{_operand(path.arg, steps, SequencePath, AlternativePath, InvPath)}"
    if isinstance(path, MulPath):
        return f"{_operand(path.path, steps, Path)}{steps.get(str(path.mod), path.mod)}"
    if isinstance(path, NegatedPath):
        return f"!({'|'.join(_path_text(part, steps) for part in path.args)})"
    if isinstance(path, CompValue):  # rdflib loses an inverse property in a negated set
        raise QueryError("inverse properties in a negated property set cannot be analysed")
    return str(path.n3())


def _operand(path: Any, steps: Mapping[str, str], *looser: type) -> str:
    text = _path_text(path, steps)
    return f"({text})" if isinstance(path, looser) else text


def _properties(predicate: Any) -> Iterator[str]:
    """The IRIs in a predicate or path, in order; those of a negated set are not among them."""
    if isinstance(predicate, URIRef):
        yield str(predicate)
    elif isinstance(predicate, SequencePath | AlternativePath):
        for part in predicate.args:
            yield from _properties(part)
    elif isinstance(predicate, InvPath):
        yield from _properties(predicate.arg)
    elif isinstance(predicate, MulPath):
        yield from _properties(predicate.path)


# ---------------------------------------------------------------------- Queries from patterns


def group_of(patterns: Iterable[TriplePattern], filters: str = "") -> str:
    """A group graph pattern of these patterns, followed by filters."""
    parts = []
    for graph, block in groupby(patterns, key=lambda pattern: pattern.graph):
        triples = " . ".join(pattern.text for pattern in block)
        parts.append(f"GRAPH {graph} {{ {triples} }}" if graph else f"{triples} .")
    return f"{{ {' '.join([*parts, filters])} }}"


def count(outline: QueryOutline, pattern: TriplePattern, most: int) -> str:
    """A query for the number of solutions of a pattern, at most `most`, with one step of paths."""
    inner = f"SELECT (1 AS ?one) WHERE {group_of([pattern.single])} LIMIT {most}"
    return f"SELECT (COUNT(*) AS ?n) {outline.dataset} WHERE {{ {{ {inner} }} }}"


def occurrence(outline: QueryOutline, term: QueryTerm) -> str:
    """Whether a term occurs in the data set of a query in its role: a class has an instance."""
    places = {
        "property": [f"?s {term.text} ?o"],
        "class": [f"?s {TYPE} {term.text}"],
        "literal": [f"?s ?p {term.text}"],
        "entity": [f"{term.text} ?p ?o", f"?s ?p {term.text}"],
    }[term.kind]
    alternatives = [f"{{ {place} }} UNION {{ GRAPH ?g {{ {place} }} }}" for place in places]
    if not outline.named_graphs and not outline.graphs:
        alternatives = [f"{{ {place} }}" for place in places]
    return f"ASK {outline.dataset} {{ {' UNION '.join(alternatives)} }}"


# ------------------------------------------------------------------------------- Unused terms


@dataclass(frozen=True, slots=True)
class UnusedTerm:
    """A term that does not occur in the graph, why, and the nearest known one or nothing."""

    kind: str
    term: str
    problem: str
    suggestion: str = ""

    def __str__(self) -> str:
        hint = f": did you mean {self.suggestion}?" if self.suggestion else ""
        return f"{self.kind} {self.term} {self.problem}{hint}"


def unused_terms(
    outline: QueryOutline, run_query: Callable[[str], Any], known: Vocabulary
) -> tuple[UnusedTerm, ...]:
    """The terms that do not occur in a query's data set; `known` has those that are declared."""
    unused = []
    for term in outline.terms:
        if term.iri.startswith(UNDECLARED) or run_query(occurrence(outline, term)):
            continue
        problem, suggestion = "is not in the graph", ""
        if term.kind == "literal":
            suggestion = _other_language(outline, run_query, term)
        elif term.kind != "entity" and term.iri in known:
            problem = "is declared, but never used"
        elif term.kind != "entity" and term.iri.startswith(_STANDARD):
            problem = "is never used"
        elif term.kind != "entity":
            problem = "is not declared in any ontology of the graph"
            near = " or ".join(f"<{iri}>" for iri in nearest(term.iri, term.kind, known))
            suggestion = compact(near, outline.prefixes)
        shown = compact(term.text, outline.prefixes)
        unused.append(UnusedTerm(term.kind, shown, problem, suggestion))
    return tuple(unused)


def _other_language(outline: QueryOutline, run_query: Callable[[str], Any], term: QueryTerm) -> str:
    """The same string in English or without a language, if that occurs instead."""
    match = re.fullmatch(r"(\".*\")(@[\w-]+)?", term.text, re.DOTALL)
    if match is None:
        return ""
    for other in (f"{match[1]}@en", match[1]):
        if other != term.text and run_query(occurrence(outline, QueryTerm("literal", other))):
            return other
    return ""


def nearest(iri: str, kind: str, known: Vocabulary) -> list[str]:
    """The known IRIs of this kind with a name that is most like the local name of an IRI.

    >>> known = {"http://b#birthPlace": ("property", ("place of birth", "was born in"))}
    >>> nearest("http://a#bornIn", "property", known)
    ['http://b#birthPlace']
    """
    names: dict[str, list[str]] = {}
    for other, (other_kind, labels) in sorted(known.items()):
        if other_kind == kind:
            for name in {word.casefold() for word in (plain_words(other), *labels)}:
                names.setdefault(name, []).append(other)
    closest = get_close_matches(plain_words(iri).casefold(), sorted(names), 1)
    return names[closest[0]][:MOST_SUGGESTED] if closest else []


def compact(text: str, prefixes: Mapping[str, str]) -> str:
    """SPARQL text with prefixed names where they are possible, and ``[]`` for blank nodes.

    >>> compact("?c <http://a/p>|^<http://a/x.>/<http://b/> ?__blank1", {"a": "http://a/"})
    '?c a:p|^<http://a/x.>/<http://b/> []'
    """

    def short(match: re.Match[str]) -> str:
        return prefixed_name(match[1], prefixes) or match[0]

    shown = _IRI.sub(short, text.replace(TYPE, "a"))
    return re.sub(rf"{re.escape(BLANK)}\d+", "[]", shown)


def as_number(table: Any) -> int:
    """The single number of a table."""
    return int(table.rows[0][0].value) if isinstance(table, Table) else 0
