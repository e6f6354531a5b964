"""What typed queries need of a graph: its schema in use, entities by name, checks, solutions.

The graph is that of the documents, with its ontologies and entailments, imported graphs, or both:
queries read the union of the parts that are selected.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from pyoxigraph import Literal, NamedNode

from sarag_rdf.answering.typed_patterns import (
    ANSWER,
    COMPARISONS,
    End,
    Finding,
    Statement,
    TypedBinding,
    TypedPattern,
    TypedQuery,
    UsedClass,
    UsedProperty,
    UsedSchema,
    joins,
)
from sarag_rdf.base.errors import RemoteTimeoutError, StoreError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.ports import Table
from sarag_rdf.base.resources import render_query
from sarag_rdf.base.types import Document, TermCount
from sarag_rdf.base.vocab import RDF, XSD, Term
from sarag_rdf.graph.graph_reader import DOCUMENTS, Part
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import common_schema, schema_of
from sarag_rdf.graph.parts import LINKS
from sarag_rdf.graph.schema_use import local_words, schema_use, term_reader, used_terms
from sarag_rdf.graph.stored_ontologies import ontology_triples, stored_ontologies
from sarag_rdf.graph.texts import by_language, entity_labels
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

    # The schema in use

    @cached_property
    def schema(self) -> UsedSchema:
        """All classes and properties that the selected parts use."""
        classes: Counter[str] = Counter()
        statements: Counter[str] = Counter()
        own = self._ontology
        for part in self._parts:
            for class_use, property_use in used_terms(
                self._view.reader, part, own.classes, own.properties
            ):
                if class_use:
                    classes[class_use.iri] += class_use.instances
                if property_use:
                    statements[property_use.iri] += property_use.statements
        return UsedSchema(self._classes(classes), self._properties(statements))

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        reader = self._view.reader
        return tuple(p for p in reader.parts if p.name != LINKS and p.store is reader.store)

    @cached_property
    def _ontology(self) -> Schema:
        """The stored ontologies, or the packaged one: their labels hold for imported graphs too."""
        reader = self._view.reader
        stored = stored_ontologies(reader)
        return schema_of(ontology_triples(reader)) if stored else common_schema()

    def _classes(self, used: Mapping[str, int]) -> tuple[UsedClass, ...]:
        """The used classes and their superclasses, most instances first."""
        members: defaultdict[str, set[str]] = defaultdict(set)
        for iri in used:
            for wider in self._ontology.superclasses(iri):
                if wider == iri or wider in self._ontology.classes:
                    members[wider].add(iri)
        names = self._names(members)
        classes = [
            UsedClass(iri, names[iri], sum(used[m] for m in own), tuple(sorted(own)))
            for iri, own in members.items()
        ]
        return tuple(sorted(classes, key=lambda own: (-own.instances, own.name)))

    def _properties(self, used: Mapping[str, int]) -> tuple[UsedProperty, ...]:
        names = self._names(used)
        below: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
        for iri in sorted(used):
            for wider in self._ontology.superproperties(iri):
                below[wider].append((iri, False))
        properties = []
        for iri, count in used.items():
            own = self._ontology.properties.get(iri)
            arcs = [(iri, False), *below[iri]]
            if own and own.is_symmetric:
                arcs.append((iri, True))
            if own and own.inverse in used:
                arcs.append((own.inverse, True))
            phrases = (*own.alternatives, *own.phrases) if own else ()
            properties.append(UsedProperty(iri, names[iri], count, tuple(arcs), phrases=phrases))
        return tuple(sorted(properties, key=lambda own: (-own.statements, own.name)))

    def _names(self, iris: Iterable[str]) -> dict[str, str]:
        """IRI -> label, or else the words of its local name; each name once."""
        requested = sorted(iris)
        known = self._ontology
        labels: defaultdict[str, list[Any]] = defaultdict(list)
        for part in self._parts:
            for term, label in term_reader(self._view.reader, part).rows_for(
                "term-labels", requested
            ):
                labels[term.value].append(label)
        names: dict[str, str] = {}
        taken: Counter[str] = Counter()
        for iri in requested:
            declared = known.properties.get(iri) or known.classes.get(iri)
            label = declared.label if declared else ""
            if not label and labels[iri]:
                label = min(labels[iri], key=by_language).value
            name = " ".join((label or local_words(iri)).split())
            taken[name.casefold()] += 1
            number = taken[name.casefold()]
            names[iri] = name if number == 1 else f"{name} ({number})"
        return names

    def schema_for(self, question: str, *, classes: int, properties: int) -> UsedSchema:
        """The classes and properties nearest to a question, with their ends and examples."""
        whole = self.schema
        some_classes = self._nearest(question, whole.classes, classes)
        some = self._nearest(question, whole.properties, properties)
        return UsedSchema(
            tuple(map(self._counted, some_classes)), tuple(map(self._with_ends, some))
        )

    def _counted(self, class_: UsedClass) -> UsedClass:
        """The class with the number of its instances, each once."""
        if len(class_.members) == 1:
            return class_
        query = TypedQuery((), ((End(ANSWER), class_.name),))
        result = self._view.reader.store.query(self._sparql(query, {}, "count"))
        return replace(class_, instances=as_number(result))

    def schema_of(self, query: TypedQuery) -> UsedSchema:
        """The schema in use, in which the properties of a query are described."""
        requested = {
            own.iri for p in query.patterns if (own := self.schema.property_named(p.predicate))
        }
        described = [
            self._with_ends(p) if p.iri in requested else p for p in self.schema.properties
        ]
        return UsedSchema(self.schema.classes, tuple(described))

    def _nearest(self, question: str, terms: Sequence[Any], most: int) -> tuple[Any, ...]:
        """The terms with a name most similar to the question, in their order."""
        if len(terms) <= most:
            return tuple(terms)
        names = [(row, name) for row, t in enumerate(terms) for name in _names_of(t)]
        vectors = self._view.vectors.embedder.embed([name for _, name in names])
        cosines = vectors @ self._view.vectors.embed_query(question)
        best = np.full(len(terms), -1.0)
        np.maximum.at(best, [row for row, _ in names], cosines)
        rows = sorted(range(len(terms)), key=lambda row: (-round(float(best[row]), 5), row))[:most]
        return tuple(terms[row] for row in sorted(rows))

    def _with_ends(self, own: UsedProperty) -> UsedProperty:
        if own.iri not in self._ends:
            self._ends[own.iri] = self._read_ends(own)
        return self._ends[own.iri]

    @cached_property
    def _ends(self) -> dict[str, UsedProperty]:
        return {}

    def _read_ends(self, own: UsedProperty) -> UsedProperty:
        reader = self._view.reader
        domains: Counter[str] = Counter()
        ranges: Counter[str] = Counter()
        samples: list[tuple[Term, Term]] = []
        for part in self._parts:
            [use] = schema_use(reader, part.graphs["kg"], (), [own.iri]).properties
            _add(domains, use.domains)
            _add(ranges, use.ranges)
            rows = term_reader(reader, part).rows_for("statement-samples", [own.iri])
            samples += [(subject, object_) for _, subject, object_ in rows]
        labels = self._labels({term for pair in samples for term in pair})
        pairs = sorted({(labels[s], labels[o]) for s, o in samples}, key=lambda p: (_length(p), p))
        declared = self._ontology.properties.get(own.iri)
        domain, range_ = (declared.domains, declared.ranges) if declared else ((), ())
        return replace(
            own,
            is_literal=bool(samples) and all(isinstance(o, Literal) for _, o in samples),
            domains=self._kinds(domains) or self._declared(domain),
            ranges=self._kinds(ranges) or self._declared(range_),
            examples=tuple(pairs[:EXAMPLES]),
        )

    def _kinds(self, counts: Counter[str]) -> tuple[str, ...]:
        """The names of classes and the kinds of datatypes, the most frequent first."""
        known = {own.iri: own.name for own in self.schema.classes}
        ordered = sorted(counts, key=lambda iri: (-counts[iri], iri))
        kinds = [known.get(iri) or _DATATYPES.get(iri, "") for iri in ordered]
        return tuple(dict.fromkeys(filter(None, kinds)))[:2]

    def _declared(self, iris: Sequence[str]) -> tuple[str, ...]:
        known = self._ontology.classes
        return tuple(known[iri].label for iri in iris if iri in known)[:2]

    def _labels(self, terms: Iterable[Term]) -> dict[Term, str]:
        """Names of entities, and values as they are."""
        requested = set(terms)
        nodes = {term.value for term in requested if isinstance(term, NamedNode)}
        names = {iri: name for iri, (name, _) in entity_labels(self._view.reader, nodes).items()}
        return {
            term: " ".join(
                (names.get(term.value) or local_words(term.value)).split()
                if isinstance(term, NamedNode)
                else term.value.split()
            )
            for term in requested
        }

    # Checks

    def entities(self, query: TypedQuery) -> dict[str, tuple[str, ...]]:
        """Name -> the entities that are called so, for the names that need to be entities."""
        keys = {name: normalize_name(name) for name in self._entity_names(query)}
        known = self._view.names.entities(set(keys.values()))
        return {name: tuple(sorted(known.get(key, ()))) for name, key in keys.items()}

    def _entity_names(self, query: TypedQuery) -> list[str]:
        names = [p.subject.text for p in query.patterns if not p.subject.is_variable]
        names += [
            p.object.text
            for p in query.patterns
            if not p.object.is_variable and not self._property(p).is_literal
        ]
        return list(dict.fromkeys(names))

    def _property(self, pattern: TypedPattern) -> UsedProperty:
        own = self.schema.property_named(pattern.predicate)
        if own is None:
            raise ValueError(f"unknown property '{pattern.predicate}': check the query before")
        return self._with_ends(own)

    def findings(self, query: TypedQuery, seconds: float) -> list[Finding]:
        """What is wrong with a query whose terms are known: names, directions, joins.

        Raises `TooLongError` if the checks take too long.
        """
        entities = self.entities(query)
        missing = [name for name, iris in entities.items() if not iris]
        findings = [Finding("unresolved", self._unresolved(name)) for name in missing]
        for pattern in query.patterns:
            value = pattern.object
            if self._property(pattern).is_literal and not value.is_variable:
                alone = TypedQuery((replace(pattern, subject=End("?s")),))
                if not self._holds(alone, {}, seconds):
                    findings.append(Finding("unresolved", self._no_value(pattern)))
        if findings:
            return findings
        findings += [
            Finding("direction", message)
            for pattern in query.patterns
            if (message := self._reversed(pattern, entities, seconds))
        ]
        return [*findings, *self._clashes(query, seconds)]

    def _unresolved(self, name: str) -> str:
        vector = self._view.vectors.embed_query(name)
        closest = dict(self._view.vectors.index("entity").nearest(vector, SUGGESTED))
        labels = entity_labels(self._view.reader, closest)
        words = set(normalize_name(name).split())
        names = [labels[iri][0] for iri in closest if iri in labels]
        shared = [label for label in names if words & set(normalize_name(label).split())]
        hint = f"; did you mean {' or '.join(shared)}?" if shared else ""
        return f"nothing in the graph is called '{name}'{hint}"

    def _no_value(self, pattern: TypedPattern) -> str:
        own = self._property(pattern)
        rows = [
            row[2].value
            for part in self._parts
            for row in term_reader(self._view.reader, part).rows_for("statement-samples", [own.iri])
        ]
        values = sorted(set(rows))
        closest = get_close_matches(pattern.object.text, values, SUGGESTED) or values[:SUGGESTED]
        shown = ", ".join(closest)
        return f"'{own.name}' never has the value '{pattern.object.text}'; values are {shown}"

    def _reversed(
        self, pattern: TypedPattern, entities: Mapping[str, Sequence[str]], seconds: float
    ) -> str:
        """What to say if a named entity is at the wrong end of a property; else nothing.

        Where things of one kind are at both ends, as teachers and pupils, a statement may just be
        missing: there the other direction would answer another question.
        """
        subject, object_ = pattern.ends
        own = self._property(pattern)
        if subject.is_variable == object_.is_variable or own.is_literal:
            return ""
        if _share_kinds(own.domains, own.ranges):
            return ""
        alone = TypedQuery((pattern,))
        turned = TypedQuery((TypedPattern(object_, own.name, subject),))
        if self._holds(alone, entities, seconds) or not self._holds(turned, entities, seconds):
            return ""
        name, role = (object_, "object") if subject.is_variable else (subject, "subject")
        return (
            f"'{name.text}' is never the {role} of '{own.name}': exchange subject and object of "
            f"'{pattern}'"
        )

    def _clashes(self, query: TypedQuery, seconds: float) -> list[Finding]:
        """Variables that nothing can stand for: classes and ends of properties that never meet.

        Ends of one kind of thing may not meet because statements are missing: that is no mistake.
        """
        clashes = []
        for one, other, end in joins(query):
            if _share_kinds(self._kinds_at(one, end), self._kinds_at(other, end)):
                continue
            pair = TypedQuery(tuple(_renamed(p, end, n) for n, p in enumerate((one, other))))
            if not self._holds(pair, {}, seconds):
                message = f"nothing is both {self._role(one, end)} and {self._role(other, end)}"
                clashes.append(Finding("clash", message))
        for end, name in query.classes:
            for pattern in query.patterns:
                if end in pattern.ends:
                    alone = TypedQuery((_renamed(pattern, end, 0),), ((End("?m"), name),))
                    if not self._holds(alone, {}, seconds):
                        message = f"no '{name}' is {self._role(pattern, end)}: leave the class out"
                        clashes.append(Finding("clash", message))
        return list(dict.fromkeys(clashes))

    def _kinds_at(self, pattern: TypedPattern, end: End) -> tuple[str, ...]:
        own = self._property(pattern)
        return own.domains if pattern.subject == end else own.ranges

    def _role(self, pattern: TypedPattern, end: End) -> str:
        own, classes = self._property(pattern), self._kinds_at(pattern, end)
        role = "subject" if pattern.subject == end else "object"
        kind = f" ({', '.join(classes)})" if classes else ""
        return f"the {role} of '{own.name}'{kind}"

    def _holds(
        self, query: TypedQuery, entities: Mapping[str, Sequence[str]], seconds: float
    ) -> bool:
        text = self._sparql(query, entities, "ask")
        return bool(within(seconds, lambda: self._view.reader.store.query(text)))

    # Solutions

    def solve(self, query: TypedQuery, *, rows: int, seconds: float) -> Solutions:
        """Run an accepted query; raises `TooLongError`, and the errors of the store."""
        entities = self.entities(query)
        text = self._sparql(query, entities, "select", rows + 1)
        table = self._table(text, seconds)
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
            count = as_number(self._table(count_text, seconds))
            text = f"{text}\n{count_text}"
        return Solutions(text, bindings, len(table.rows) > rows, count)

    def _table(self, text: str, seconds: float) -> Table:
        result = within(seconds, lambda: self._view.reader.store.query(text))
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        return result

    def _sparql(
        self,
        query: TypedQuery,
        entities: Mapping[str, Sequence[str]],
        form: str,
        limit: int = 0,
    ) -> str:
        values: dict[str, list[str]] = {}
        equal: list[tuple[str, str]] = []
        patterns: list[tuple[str, list[tuple[str, bool]], str]] = []
        for pattern in query.patterns:
            own = self._property(pattern)
            ends = []
            for end in pattern.ends:
                if end.is_variable:
                    ends.append(end.text)
                elif own.is_literal and end is pattern.object:
                    ends.append(f"?_value{len(equal)}")
                    equal.append((ends[-1], str(Literal(end.text))))
                else:
                    ends.append(_term(end.text, entities, values))
            patterns.append((ends[0], [(str(NamedNode(i)), inv) for i, inv in own.arcs], ends[1]))
        for number, (end, name) in enumerate(query.classes):
            class_ = self.schema.class_named(name)
            members = class_.members if class_ else ()
            values[f"?_class{number}"] = [str(NamedNode(iri)) for iri in members]
            patterns.append((end.text, [(str(RDF.type), False)], f"?_class{number}"))
        named = sorted({iri for iris in entities.values() for iri in iris})
        return render_query(
            "patterns/typed",
            form=form,
            graphs=self._graphs,
            values=list(values.items()),
            patterns=patterns,
            equal=equal,
            compared=[_condition(c.variable.text, c.relation, c.value) for c in query.comparisons],
            excluded=[str(NamedNode(iri)) for iri in named] if ANSWER in query.variables else [],
            limit=limit,
        ).strip()

    @cached_property
    def _graphs(self) -> list[str]:
        """The graphs whose union is queried; none for the default graph."""
        minter = self._view.reader.minter
        graphs = [part.graphs["kg"] for part in self._parts]
        if any(part.name == DOCUMENTS for part in self._parts):
            graphs.append(minter.entailed_graph)
        return [str(NamedNode(graph)) for graph in graphs] if all(graphs) else []

    def documents(self, iris: Sequence[str]) -> dict[str, Document]:
        """Documents, and pages of imported entities, by IRI."""
        return self._view.documents(iris)

    def _bindings(
        self,
        query: TypedQuery,
        entities: Mapping[str, Sequence[str]],
        rows: Sequence[Mapping[str, Any]],
    ) -> tuple[TypedBinding, ...]:
        used: dict[str, list[str]] = {}
        stated: list[list[tuple[UsedProperty, Any, Any]]] = []
        for row in rows:
            triples = []
            literals = 0
            for pattern in query.patterns:
                own = self._property(pattern)
                ends: list[Any] = []
                for end in pattern.ends:
                    if end.is_variable:
                        ends.append(row[end.text])
                    elif own.is_literal and end is pattern.object:
                        ends.append(row[f"?_value{literals}"])
                        literals += 1
                    else:
                        term = _term(end.text, entities, used)
                        ends.append(row[term] if term in row else NamedNode(term[1:-1]))
                triples.append((own, ends[0], ends[1]))
            stated.append(triples)
        terms = {term for triples in stated for _, *ends in triples for term in ends}
        labels = self._labels(terms | {row[ANSWER] for row in rows})
        texts = self._texts(stated)
        bound = [
            TypedBinding(
                labels[row[ANSWER]],
                row[ANSWER].value if isinstance(row[ANSWER], NamedNode) else "",
                {name: labels[row[name]] for name in query.variables if name in row},
                tuple(
                    texts.get((own.iri, subject, object_))
                    or Statement(
                        f"{labels[subject]} {own.name} {labels[object_]}", self._page(subject)
                    )
                    for own, subject, object_ in triples
                ),
            )
            for row, triples in zip(rows, stated, strict=True)
        ]
        return tuple(sorted(bound, key=lambda binding: (binding.value, binding.iri)))

    def _page(self, subject: Any) -> str:
        """The page of an imported statement; one of documents without a relationship has none."""
        is_imported = all(part.name != DOCUMENTS for part in self._parts)
        return subject.value if is_imported or self._is_foreign_entity(subject.value) else ""

    def _is_foreign_entity(self, iri: str) -> bool:
        return not iri.startswith(self._view.reader.minter.base)

    def _texts(
        self, stated: Sequence[Sequence[tuple[UsedProperty, Any, Any]]]
    ) -> dict[tuple[str, Any, Any], Statement]:
        """Statement -> the text of a relationship that states it, with its document."""
        if all(part.name != DOCUMENTS for part in self._parts):
            return {}

        def stating(own: UsedProperty, subject: Any, object_: Any) -> list[tuple[Any, ...]]:
            return [
                (object_, NamedNode(iri), subject)
                if inverse
                else (subject, NamedNode(iri), object_)
                for iri, inverse in own.arcs
            ]

        rows = {row for triples in stated for triple in triples for row in stating(*triple)}
        requested = sorted((row for row in rows if isinstance(row[0], NamedNode)), key=str)
        texts: defaultdict[tuple[Any, ...], list[tuple[str, str]]] = defaultdict(list)
        reader = self._view.reader
        for *triple, text, document in reader.select_provenance_for_terms(
            "stating-relationships", requested
        ):
            texts[tuple(triple)].append((text.value, document.value))
        by_triple = {}
        for own, subject, object_ in {triple for triples in stated for triple in triples}:
            pairs = [pair for row in stating(own, subject, object_) for pair in texts[row]]
            if pairs:
                by_triple[own.iri, subject, object_] = Statement(*min(pairs))
        return by_triple


def as_number(result: object) -> int:
    """The number in the one cell of a table."""
    if not isinstance(result, Table):
        raise StoreError("a SELECT query was expected")
    return int(result.rows[0][0].value)


def within(seconds: float, work: Callable[[], _Result]) -> _Result:
    """The result of `work` in a thread of its own; raises what it raises, or `TooLongError`.

    Oxigraph cannot be interrupted: a query that takes too long ends later, without effect.
    """
    done: list[_Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised and isinstance(raised[0], RemoteTimeoutError):
        raise TooLongError(str(raised[0])) from raised[0]
    if raised:
        raise raised[0]
    if not done:
        raise TooLongError(
            f"the query took more than {seconds:g} seconds: allow more with sparql-typed:seconds=N"
        )
    return done[0]


def _names_of(term: UsedClass | UsedProperty) -> tuple[str, ...]:
    return (term.name, *term.phrases) if isinstance(term, UsedProperty) else (term.name,)


def _add(counts: Counter[str], terms: Iterable[TermCount]) -> None:
    for term in terms:
        counts[term.iri] += term.count


def _length(pair: tuple[str, str]) -> int:
    return len(pair[0]) + len(pair[1])


def _renamed(pattern: TypedPattern, end: End, number: int) -> TypedPattern:
    """The pattern with ``?m`` for one end, and a variable of its own for the other."""
    free = End(f"?o{number}")
    return replace(
        pattern,
        subject=End("?m") if pattern.subject == end else free,
        object=End("?m") if pattern.object == end else free,
    )


def _term(name: str, entities: Mapping[str, Sequence[str]], values: dict[str, list[str]]) -> str:
    """The IRI of a name in SPARQL, or a variable with values for several."""
    terms = [str(NamedNode(iri)) for iri in entities[name]]
    if len(terms) == 1:
        return terms[0]
    variable = f"?_name{list(entities).index(name)}"
    values[variable] = terms
    return variable


def _condition(variable: str, relation: str, value: str) -> tuple[str, str, str, bool]:
    is_date = value.count("-") > value.startswith("-")
    return variable, COMPARISONS[relation], str(Literal(value)) if is_date else value, is_date


def _share_kinds(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether there is a kind of thing in both; nothing is known of an end without kinds."""
    return not some or not others or not set(some).isdisjoint(others)
