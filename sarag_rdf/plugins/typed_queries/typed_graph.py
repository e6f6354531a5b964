"""What typed queries need of a graph: its schema in use, entities by name, checks, solutions.

The graph is that of the documents, with its ontologies and entailments, imported graphs, or both:
queries read the union of the parts that are selected.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from pyoxigraph import Literal, NamedNode

from sarag_rdf.base.errors import RemoteTimeoutError, StoreError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Table
from sarag_rdf.base.resources import render_query
from sarag_rdf.base.vocab import RDF, XSD, Term
from sarag_rdf.graph.graph_reader import DOCUMENTS
from sarag_rdf.graph.schema_use import SchemaInUse, local_words
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.plugins.typed_queries.typed_patterns import (
    ANSWER,
    COMPARISONS,
    Finding,
    NamedPattern,
    Statement,
    TypedBinding,
    TypedQuery,
    UsedClass,
    UsedProperty,
    UsedSchema,
    findings_of,
    is_variable,
    joins,
)
from sarag_rdf.retrieval.view import GraphView

EXAMPLES: Final = 2
"""Statements shown of a property."""
SUGGESTED: Final = 3
"""Names or values suggested for one that is not known."""
_DATATYPES: Final = {
    **{XSD[name].value: "date" for name in ("date", "dateTime", "gYear", "gYearMonth")},
    **{XSD[name].value: "number" for name in ("integer", "decimal", "double", "float", "int")},
    **dict.fromkeys((XSD.string.value, RDF.langString.value), "text"),
}
_Result = TypeVar("_Result")
Entities = Mapping[str, Sequence[str]]
"""Name -> the entities that are called so."""
_Triple = tuple[UsedProperty, Any, Any]
"""A property with a subject and an object: terms, or their SPARQL."""


class TooLongError(StoreError):
    """A query exceeded its time limit."""


@dataclass(frozen=True, slots=True)
class Solutions:
    """What a query found: its SPARQL, answers, and whether there are more rows than the limit.

    `count` is the number of answers if the query asked for it.
    """

    sparql: str
    bindings: tuple[TypedBinding, ...] = ()
    is_cut: bool = False
    count: int | None = None


class TypedGraph:
    """One revision of a graph, as its classes and properties describe it."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._in_use = SchemaInUse(view.reader)
        self._known_ends: dict[str, UsedProperty] = {}

    # The schema in use

    @cached_property
    def schema(self) -> UsedSchema:
        """All classes and properties that the selected parts use."""
        classes: Counter[str] = Counter()
        statements: Counter[str] = Counter()
        for use in map(self._in_use.used, self._in_use.parts):
            classes.update({each.iri: each.instances for each in use.classes})
            statements.update({each.iri: each.statements for each in use.properties})
        return UsedSchema.of(self._classes(classes), self._properties(statements))

    def _classes(self, used: Mapping[str, int]) -> tuple[UsedClass, ...]:
        """The used classes and their superclasses, most instances first."""
        ontology = self._in_use.ontology
        members: defaultdict[str, set[str]] = defaultdict(set)
        for iri in used:
            for wider in ontology.superclasses(iri):
                if wider == iri or wider in ontology.classes:
                    members[wider].add(iri)
        names = self._names(members)
        classes = (
            UsedClass(iri, names[iri], sum(used[m] for m in own), tuple(sorted(own)))
            for iri, own in members.items()
        )
        return tuple(sorted(classes, key=lambda own: (-own.instances, own.name)))

    def _properties(self, used: Mapping[str, int]) -> tuple[UsedProperty, ...]:
        ontology, names = self._in_use.ontology, self._names(used)
        below: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
        for iri in sorted(used):
            for wider in ontology.superproperties(iri):
                below[wider].append((iri, False))
        properties = []
        for iri, count in used.items():
            arcs, own = [(iri, False), *below[iri]], ontology.properties.get(iri)
            if own and own.is_symmetric:
                arcs.append((iri, True))
            if own and own.inverse in used:
                arcs.append((own.inverse, True))
            phrases = (*own.alternatives, *own.phrases) if own else ()
            properties.append(UsedProperty(iri, names[iri], count, tuple(arcs), phrases=phrases))
        return tuple(sorted(properties, key=lambda own: (-own.statements, own.name)))

    def _names(self, iris: Iterable[str]) -> dict[str, str]:
        """IRI -> its name, which no other has: further ones are numbered."""
        names = self._in_use.names(iris)
        taken: Counter[str] = Counter()
        for iri, name in names.items():
            taken[name.casefold()] += 1
            if (number := taken[name.casefold()]) > 1:
                names[iri] = f"{name} ({number})"
        return names

    def schema_for(self, question: str, *, classes: int, properties: int) -> UsedSchema:
        """The classes and properties nearest to a question, with their ends and examples."""
        some_classes = self._nearest(question, [*self.schema.classes.values()], classes)
        some = self._nearest(question, [*self.schema.properties.values()], properties)
        return UsedSchema.of(map(self._counted, some_classes), map(self._with_ends, some))

    def _counted(self, class_: UsedClass) -> UsedClass:
        """The class with the number of its instances, each once."""
        if len(class_.members) == 1:
            return class_
        query = TypedQuery((), ((ANSWER, class_.name),))
        result: Any = self._view.reader.store.query(self._sparql(query, {}, "count"))
        return replace(class_, instances=int(result.rows[0][0].value))

    def _nearest(self, question: str, terms: Sequence[Any], most: int) -> tuple[Any, ...]:
        """The terms with a name most similar to the question, in their order."""
        if len(terms) <= most:
            return tuple(terms)
        texts = [(term.name, *getattr(term, "phrases", ())) for term in terms]
        names = [(row, name) for row, several in enumerate(texts) for name in several]
        vectors = self._view.vectors.embedder.embed([name for _, name in names])
        cosines = vectors @ self._view.vectors.embed_query(question)
        best = np.full(len(terms), -1.0)
        np.maximum.at(best, [row for row, _ in names], cosines)
        rows = sorted(range(len(terms)), key=lambda row: (-round(float(best[row]), 5), row))[:most]
        return tuple(terms[row] for row in sorted(rows))

    def _with_ends(self, own: UsedProperty) -> UsedProperty:
        """The property with its ends and examples, which are read once."""
        if own.iri in self._known_ends:
            return self._known_ends[own.iri]
        domains: Counter[str] = Counter()
        ranges: Counter[str] = Counter()
        for part in self._in_use.parts:
            [use] = self._in_use.with_ends(part, [own.iri])
            domains.update({term.iri: term.count for term in use.domains})
            ranges.update({term.iri: term.count for term in use.ranges})
        samples = self._samples(own)
        labels = self._labels({term for pair in samples for term in pair})
        pairs = {(labels[subject], labels[object_]) for subject, object_ in samples}
        declared = self._in_use.ontology.properties.get(own.iri)
        self._known_ends[own.iri] = replace(
            own,
            is_literal=bool(samples) and all(isinstance(o, Literal) for _, o in samples),
            domains=self._kinds(domains, declared.domains if declared else ()),
            ranges=self._kinds(ranges, declared.ranges if declared else ()),
            examples=tuple(sorted(pairs, key=lambda p: (len(p[0]) + len(p[1]), p))[:EXAMPLES]),
        )
        return self._known_ends[own.iri]

    def _samples(self, own: UsedProperty) -> list[tuple[Term, Term]]:
        """Subject and object of some statements of a property."""
        return [(row[1], row[2]) for row in self._in_use.rows_for("statement-samples", [own.iri])]

    def _kinds(self, counts: Counter[str], declared: Sequence[str]) -> tuple[str, ...]:
        """Names of classes and kinds of datatypes, the most frequent first; else as declared."""
        names = {own.iri: own.name for own in self.schema.classes.values()}
        ordered = sorted(counts, key=lambda iri: (-counts[iri], iri))
        kinds = [names.get(iri) or _DATATYPES.get(iri, "") for iri in ordered]
        known = self._in_use.ontology.classes
        kinds = [*filter(None, kinds)] or [known[iri].label for iri in declared if iri in known]
        return tuple(dict.fromkeys(kinds))[:2]

    def _labels(self, terms: Iterable[Term]) -> dict[Term, str]:
        """Names of entities, and values as they are."""
        requested = set(terms)
        nodes = {term.value for term in requested if isinstance(term, NamedNode)}
        labels = entity_labels(self._view.reader, nodes)
        names = {iri: labels.get(iri, ("",))[0] or local_words(iri) for iri in nodes}
        texts = {t: names[t.value] if isinstance(t, NamedNode) else t.value for t in requested}
        return {term: " ".join(text.split()) for term, text in texts.items()}

    # Checks

    def entities(self, query: TypedQuery) -> dict[str, tuple[str, ...]]:
        """Name -> the entities that are called so, for the names that need to be entities."""
        names = [p.subject for p in query.patterns if not is_variable(p.subject)]
        names += [
            p.object
            for p in query.patterns
            if not is_variable(p.object) and not self._property(p).is_literal
        ]
        keys = {name: normalize_name(name) for name in names}
        known = self._view.names.entities(set(keys.values()))
        return {name: tuple(sorted(known.get(key, ()))) for name, key in keys.items()}

    def _property(self, pattern: NamedPattern) -> UsedProperty:
        """The property of a pattern, described; raises KeyError for one out of the schema."""
        return self._with_ends(self.schema.properties[pattern.predicate])

    def findings(self, query: TypedQuery, seconds: float) -> list[Finding]:
        """What is wrong with a query: its form, or else names, directions and joins.

        Raises `TooLongError` if all checks together take more than `seconds`.
        """
        if findings := findings_of(query, lambda pattern: self._property(pattern).is_literal):
            return findings
        deadline = time.monotonic() + seconds

        def holds(entities: Entities, *patterns: NamedPattern, **of: Any) -> bool:
            text = self._sparql(TypedQuery(patterns, **of), entities, "ask")
            return bool(self._query(text, deadline - time.monotonic(), seconds))

        entities = self.entities(query)
        missing = [name for name, iris in entities.items() if not iris]
        findings = [Finding("unresolved", self._unresolved(name)) for name in missing]
        for pattern in query.patterns:
            is_value = self._property(pattern).is_literal and not is_variable(pattern.object)
            if is_value and not holds({}, replace(pattern, subject="?s")):
                findings.append(Finding("unresolved", self._no_value(pattern)))
        if findings:
            return findings
        for pattern in filter(self._may_be_reversed, query.patterns):
            turned = replace(pattern, subject=pattern.object, object=pattern.subject)
            if not holds(entities, pattern) and holds(entities, turned):
                is_object = is_variable(pattern.subject)
                role = "object" if is_object else "subject"
                message = (
                    f"'{pattern.ends[is_object]}' is never the {role} of "
                    f"'{pattern.predicate}': exchange subject and object of '{pattern}'"
                )
                findings.append(Finding("direction", message))
        # Variables that nothing can stand for. Ends of one kind of thing may not meet because
        # statements are missing, which is not a mistake.
        for one, other, end in joins(query):
            is_same = _share_kinds(self._kinds_at(one, end), self._kinds_at(other, end))
            if not is_same and not holds({}, _renamed(one, end, 0), _renamed(other, end, 1)):
                message = f"nothing is both {self._role(one, end)} and {self._role(other, end)}"
                findings.append(Finding("clash", message))
        for end, name in query.classes:
            for pattern in (pattern for pattern in query.patterns if end in pattern.ends):
                if not holds({}, _renamed(pattern, end, 0), classes=(("?m", name),)):
                    message = f"no '{name}' is {self._role(pattern, end)}: leave the class out"
                    findings.append(Finding("clash", message))
        return list(dict.fromkeys(findings))

    def _unresolved(self, name: str) -> str:
        vector = self._view.vectors.embed_query(name)
        closest = dict(self._view.vectors.index("entity").nearest(vector, SUGGESTED))
        labels = entity_labels(self._view.reader, closest)
        words = set(normalize_name(name).split())
        names = [labels[iri][0] for iri in closest if iri in labels]
        shared = [label for label in names if words & set(normalize_name(label).split())]
        hint = f"; did you mean {' or '.join(shared)}?" if shared else ""
        return f"nothing in the graph is called '{name}'{hint}"

    def _no_value(self, pattern: NamedPattern) -> str:
        own = self._property(pattern)
        values = sorted({object_.value for _, object_ in self._samples(own)})
        closest = get_close_matches(pattern.object, values, SUGGESTED) or values[:SUGGESTED]
        shown = ", ".join(closest)
        return f"'{own.name}' never has the value '{pattern.object}'; values are {shown}"

    def _may_be_reversed(self, pattern: NamedPattern) -> bool:
        """Whether an entity that is named may stand at the wrong end of a property.

        Where things of one kind are at both ends, as teachers and pupils, a statement may just be
        missing: there the other direction would answer another question.
        """
        own = self._property(pattern)
        is_named = is_variable(pattern.subject) != is_variable(pattern.object)
        return is_named and not own.is_literal and not _share_kinds(own.domains, own.ranges)

    def _kinds_at(self, pattern: NamedPattern, end: str) -> tuple[str, ...]:
        own = self._property(pattern)
        return own.domains if pattern.subject == end else own.ranges

    def _role(self, pattern: NamedPattern, end: str) -> str:
        classes = self._kinds_at(pattern, end)
        role = "subject" if pattern.subject == end else "object"
        kind = f" ({', '.join(classes)})" if classes else ""
        return f"the {role} of '{pattern.predicate}'{kind}"

    # Solutions

    def solve(self, query: TypedQuery, *, rows: int, seconds: float) -> Solutions:
        """Run an accepted query; raises `TooLongError`, and the errors of the store."""
        entities = self.entities(query)
        text = self._sparql(query, entities, "select", rows + 1)
        table: Table = self._query(text, seconds)
        solutions = [
            {f"?{n}": t for n, t in zip(table.variables, row, strict=True) if t is not None}
            for row in table.rows[:rows]
        ]
        first: dict[Any, dict[str, Any]] = {}
        for row in sorted(solutions, key=lambda row: sorted((k, str(v)) for k, v in row.items())):
            first.setdefault(row[ANSWER], row)
        bindings = self._bindings(query, entities, list(first.values()))
        count = None
        if query.counts:
            count_text = self._sparql(query, entities, "count")
            count = int(self._query(count_text, seconds).rows[0][0].value)
            text = f"{text}\n{count_text}"
        return Solutions(text, bindings, len(table.rows) > rows, count)

    def _query(self, text: str, seconds: float, limit: float | None = None) -> Any:
        """The result of a query: a truth value for ASK, and a `Table` for SELECT."""
        return within(seconds, lambda: self._view.reader.store.query(text), limit)

    def _terms(
        self, query: TypedQuery, entities: Entities
    ) -> tuple[list[_Triple], dict[str, list[str]], dict[str, str]]:
        """The patterns in SPARQL, and its further variables: of names, and of literals.

        A name of one entity is its IRI, one of several a variable with these values; a literal is a
        variable that is compared with it.
        """
        patterns: list[_Triple] = []
        values: dict[str, list[str]] = {}
        equal: dict[str, str] = {}
        for pattern in query.patterns:
            own = self._property(pattern)
            ends: list[str] = []
            for end in pattern.ends:
                term = end
                if not is_variable(end) and own.is_literal and len(ends) == 1:
                    term = f"?_value{len(equal)}"
                    equal[term] = str(Literal(end))
                elif not is_variable(end):
                    term, *more = iris = [str(NamedNode(iri)) for iri in entities[end]]
                    if more:
                        term = f"?_name{list(entities).index(end)}"
                        values[term] = iris
                ends.append(term)
            patterns.append((own, ends[0], ends[1]))
        return patterns, values, equal

    def _sparql(self, query: TypedQuery, entities: Entities, form: str, limit: int = 0) -> str:
        triples, values, equal = self._terms(query, entities)
        patterns = [
            (subject, [(str(NamedNode(i)), inverse) for i, inverse in own.arcs], object_)
            for own, subject, object_ in triples
        ]
        for number, (end, name) in enumerate(query.classes):
            members = self.schema.classes[name].members
            values[f"?_class{number}"] = [str(NamedNode(iri)) for iri in members]
            patterns.append((end, [(str(RDF.type), False)], f"?_class{number}"))
        named = sorted({iri for iris in entities.values() for iri in iris})
        return render_query(
            "patterns/typed",
            form=form,
            graphs=[str(NamedNode(graph)) for graph in self._graphs],
            values=list(values.items()),
            patterns=patterns,
            equal=list(equal.items()),
            compared=[
                (variable, COMPARISONS[relation], value, "-" in value[1:])
                for variable, relation, value in query.comparisons
            ],
            excluded=[str(NamedNode(iri)) for iri in named] if ANSWER in query.variables else [],
            limit=limit,
        ).strip()

    @property
    def _is_of_documents(self) -> bool:
        return any(part.name == DOCUMENTS for part in self._in_use.parts)

    @property
    def _graphs(self) -> list[str]:
        """The graphs whose union is queried; none for the default graph."""
        graphs, minter = self._in_use.graphs, self._view.reader.minter
        return [*graphs, minter.entailed_graph] if graphs and self._is_of_documents else graphs

    def _bindings(
        self, query: TypedQuery, entities: Entities, rows: Sequence[Mapping[str, Any]]
    ) -> tuple[TypedBinding, ...]:
        patterns, _, _ = self._terms(query, entities)

        def bound(row: Mapping[str, Any], term: str) -> Any:
            return row[term] if term in row else NamedNode(term[1:-1])

        stated = [[(own, bound(row, s), bound(row, o)) for own, s, o in patterns] for row in rows]
        terms = {term for triples in stated for _, *ends in triples for term in ends}
        labels = self._labels(terms | {row[ANSWER] for row in rows})
        texts = self._texts({triple for triples in stated for triple in triples})

        def statement(own: UsedProperty, subject: Any, object_: Any) -> Statement:
            text = f"{labels[subject]} {own.name} {labels[object_]}"
            known = texts.get((own, subject, object_))
            return known or Statement(text, self._page(subject.value))

        bindings = [
            TypedBinding(
                labels[row[ANSWER]],
                row[ANSWER].value if isinstance(row[ANSWER], NamedNode) else "",
                {name: labels[row[name]] for name in query.variables if name in row},
                tuple(statement(*triple) for triple in triples),
            )
            for row, triples in zip(rows, stated, strict=True)
        ]
        return tuple(sorted(bindings, key=lambda binding: (binding.value, binding.iri)))

    def _page(self, subject: str) -> str:
        """The page of an imported statement; one of documents without a relationship has none."""
        is_own = self._is_of_documents and subject.startswith(self._view.reader.minter.base)
        return "" if is_own else subject

    def _texts(self, triples: Iterable[_Triple]) -> dict[_Triple, Statement]:
        """Statement -> the text of a relationship that states it, with its document."""
        if not self._is_of_documents:
            return {}
        stating = {
            (own, *ends): [
                (ends[inverse], NamedNode(iri), ends[not inverse]) for iri, inverse in own.arcs
            ]
            for own, *ends in triples
        }
        rows = {row for several in stating.values() for row in several}
        requested = sorted((row for row in rows if isinstance(row[0], NamedNode)), key=str)
        texts: defaultdict[tuple[Any, ...], list[tuple[str, str]]] = defaultdict(list)
        select = self._view.reader.select_provenance_for_terms
        for *triple, text, document in select("stating-relationships", requested):
            texts[tuple(triple)].append((text.value, document.value))
        pairs = {
            key: [p for row in several for p in texts[row]] for key, several in stating.items()
        }
        return {key: Statement(*min(own)) for key, own in pairs.items() if own}


def within(seconds: float, work: Callable[[], _Result], limit: float | None = None) -> _Result:
    """The result of `work` in a thread of its own; raises what it raises, or `TooLongError`.

    `seconds` may be what is left of the time `limit`. Oxigraph cannot be interrupted: a query that
    takes too long ends later, without effect.
    """
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the future
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return future.result(max(0.0, seconds))
    except RemoteTimeoutError as error:
        raise TooLongError(str(error)) from error
    except TimeoutError as error:
        raise TooLongError(
            f"the query took more than {limit or seconds:g} seconds: allow more with "
            "sparql-typed:seconds=N"
        ) from error


def _renamed(pattern: NamedPattern, end: str, number: int) -> NamedPattern:
    """The pattern with ``?m`` for one end, and a variable of its own for the other."""
    free = f"?o{number}"
    return replace(
        pattern,
        subject="?m" if pattern.subject == end else free,
        object="?m" if pattern.object == end else free,
    )


def _share_kinds(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether there is a kind of thing in both; nothing is known of an end without kinds."""
    return not some or not others or not set(some).isdisjoint(others)
