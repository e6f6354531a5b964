"""SPARQL chain of thought that is run on the graph: the model's patterns are matched with it.

Extends "The Reasoning Bottleneck in Graph-RAG" (section 3.1), where the query only guides the
reasoning. Here it is parsed, its names are linked, its predicates matched and its variables bound;
the bindings are evidence, with provenance.

The form of a query is that of SPARQL with names in the place of IRIs: ``SELECT ?answer WHERE {
?lake name "Lake Orrin" . ?lake "located in" ?answer }``. Additions of models are accepted: prefixes
before colons, camel case, underscores, missing quotation marks, ``;`` between predicates of one
subject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from pyoxigraph import NamedNode

from sarag_rdf.answering.conversation import (
    IF_SUFFICIENT,
    Conversation,
    FromEvidence,
    final_properties,
)
from sarag_rdf.base.arrays import Rows, find, rows_of
from sarag_rdf.base.errors import StoreError
from sarag_rdf.base.iris import normalize_name, plain_words
from sarag_rdf.base.options import max_tokens_option
from sarag_rdf.base.ports import Table
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.resources import render_query
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.graph.texts import entity_labels, relationship_texts
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.papers.reasoning_bottleneck import MOST, query_and_bindings, sparql_cot_reply
from sarag_rdf.plugins.typed_queries.typed_patterns import (
    ANSWER,
    NamedPattern,
    is_variable,
    variables_of,
)
from sarag_rdf.retrieval.network import ABOUT, RELATED_TO
from sarag_rdf.retrieval.view import GraphView

NAMING = frozenset(
    {"name", "named", "label", "called", "is called", "is named", "has name", "title", "titled"}
)
"""Predicates whose object is the name of a variable."""
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<variable>[?$]\w+)
    | "(?P<double>(?:[^"\\]|\\.)*)"(?:@[\w-]+|\^\^\S+)?
    | '(?P<single>(?:[^'\\]|\\.)*?)'(?=[\s.;,})]|$)(?:@[\w-]+)?
    | <(?P<iri>[^<>\s]*)>
    | (?P<mark>[.;](?=[\s}?"<]|$))
    | (?P<word>[^\s{}"<>;]+?(?=\.(?:[\s}]|$)|[\s{};"<>]|$))
    )""",
    re.VERBOSE,
)
_BODY = re.compile(r"(?i)\bwhere\b")
_SELECT = re.compile(r"(?is)\bselect\b(.*?)(?:\bwhere\b|\{)")


class PatternError(ValueError):
    """The text is not a query of triple patterns; the message states the problem."""


class PatternQuery(NamedTuple):
    """The selected variable, and the triple patterns."""

    select: str
    patterns: tuple[NamedPattern, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables, in order of appearance."""
        return variables_of(self.patterns)


def parse_patterns(text: str) -> PatternQuery:
    """Parse a query, up to the first `MOST` distinct patterns; raises `PatternError`.

    A pattern that names a variable replaces it by the name in all patterns.

    >>> query = parse_patterns('SELECT ?b WHERE { ?a name "Lake Orrin" . ?a locatedIn ?b . }')
    >>> [str(pattern) for pattern in query.patterns], query.select
    (['Lake Orrin | located in | ?b'], '?b')
    """
    triples = _triples(_body(text))
    names = {
        triple.subject: triple.object
        for triple in triples
        if triple.predicate in NAMING
        if is_variable(triple.subject) and not is_variable(triple.object)
    }
    every = dict.fromkeys(
        replace(
            triple,
            subject=names.get(triple.subject, triple.subject),
            object=names.get(triple.object, triple.object),
        )
        for triple in triples
        if not (triple.predicate in NAMING and triple.subject in names)
    )
    patterns = tuple(every)[:MOST]
    if not patterns:
        raise PatternError("no pattern joins two things")
    variables = variables_of(patterns)
    if not variables:
        raise PatternError("there is no variable to bind")
    match = _SELECT.search(text)
    asked = [f"?{name}" for name in re.findall(r"[?$](\w+)", match[1])] if match else []
    known = [name for name in (*asked, ANSWER) if name in variables]
    return PatternQuery(known[0] if known else variables[-1], patterns)


def _body(text: str) -> str:
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0:
        return _BODY.split(text, maxsplit=1)[-1]
    return text[begin + 1 : end if end > begin else len(text)]


def _triples(body: str) -> list[NamedPattern]:
    triples: list[NamedPattern] = []
    terms: list[str] = []
    subject: list[str] = []
    for term, is_mark in [*_terms(body), (".", True)]:
        if not is_mark:
            terms.append(term)
            continue
        if terms:
            triples.append(_triple([*subject, *terms]))
        subject = [triples[-1].subject] if term == ";" and triples else []
        terms = []
    return triples


def _triple(terms: list[str]) -> NamedPattern:
    """The first and the last term are the ends; the words between them are the predicate."""
    if len(terms) < 3:
        raise PatternError(f"'{' '.join(terms)}' is not a triple")
    first, *middle, last = terms
    if not (first and last):
        raise PatternError(f"an end of '{' '.join(terms)}' is empty")
    if any(map(is_variable, middle)):
        raise PatternError(f"the predicate between '{first}' and '{last}' holds a variable")
    predicate = " ".join(" ".join(map(plain_words, middle)).casefold().split())
    if not predicate:
        raise PatternError(f"no predicate between '{first}' and '{last}'")
    return NamedPattern(first, predicate, last)


def _terms(body: str) -> Iterator[tuple[str, bool]]:
    """The variables and names, and the marks between triples, with true for a mark."""
    position = 0
    while (match := _TOKEN.match(body, position)) and match.end() > position:
        position = match.end()
        kind, value = match.lastgroup, match[match.lastgroup or 0]
        if kind == "variable":
            yield f"?{value[1:]}", False
        elif kind == "mark":
            yield value, True
        else:
            is_quoted = kind in ("double", "single")
            name = re.sub(r"\\(.)", r"\1", value) if is_quoted else plain_words(value)
            yield " ".join(name.split()).lstrip("?"), False
    if body[position:].strip():
        raise PatternError(f"it cannot be read from '{body[position:].strip()[:30]}' on")


NEAREST = 5
"""Maximum number of entities with similar names, beside those with exactly that name."""


def ground(view: GraphView, query: PatternQuery) -> Grounding:
    """Link, match and bind; raises the errors of the store and the embedder."""
    names = sorted({end for p in query.patterns for end in p.ends if not is_variable(end)})
    linked = {name: _linked(view, name) for name in names}
    every = tuple(link for links in linked.values() for link in links)
    missing = [name for name, links in linked.items() if not links]
    if missing:
        return Grounding(every, problem=f"no entity is called '{missing[0]}'")
    run = PatternMatch(view, query, linked)
    if problem := run.match():
        return Grounding(every, problem=problem, is_linked=True)
    sparql = run.sparql()
    bindings = run.bindings(sparql)
    problem = "" if bindings else "the patterns have no common solution"
    return Grounding(every, bindings, problem, sparql, True)


def _linked(view: GraphView, name: str) -> tuple[Linked, ...]:
    """Entities with this name or alias, and with similar names that share a word with it."""
    key = normalize_name(name)
    exact = view.names.entities([key]).get(key, {})
    closest = dict(view.vectors.index("entity").nearest(view.vectors.embed_query(name), NEAREST))
    labels = entity_labels(view.reader, {*exact, *closest})
    words = _words(name)
    similarities = {e: s for e, s in closest.items() if words & _words(labels[e][0])}
    similarities |= dict.fromkeys(exact, 1.0)
    ordered = sorted(similarities.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        Linked(name, entity, similarity)
        for entity, similarity in ordered
        if find(view.iris.entities, entity) >= 0
    )


def _words_of(pattern: NamedPattern) -> str:
    """What is compared with the texts of relationships: its terms without variables."""
    terms = (pattern.subject, pattern.predicate, pattern.object)
    return " ".join(term for term in terms if not is_variable(term))


def _words(name: str) -> set[str]:
    return {word for word in normalize_name(name).split() if len(word) > 2}


RELATIONSHIPS = 30
"""Maximum number of relationships that a pattern matches: those with the nearest texts."""
ROWS = 5000
"""Maximum number of rows of bindings."""
SHOWN = 10
"""Maximum number of bindings returned, one for each value of the selected variable."""


class PatternMatch:
    """One query: the entities of its terms by IRI, and the relationships of its patterns."""

    def __init__(
        self, view: GraphView, query: PatternQuery, linked: Mapping[str, Sequence[Linked]]
    ) -> None:
        self._view, self._query, self._linked = view, query, linked
        self._known: dict[str, set[str]] = {
            term: {link.entity for link in links} for term, links in linked.items()
        }
        self._matched: dict[int, dict[str, float]] = {}
        self._ends: dict[str, tuple[str, str]] = {}
        self._same: dict[str, set[tuple[str, str]]] = {}
        self._uses = Counter(end for pattern in query.patterns for end in pattern.ends)
        self._numbers = {term: number for number, term in enumerate(self._uses)}
        """Term -> number in the names of its columns: ``v1``, and ``e1_0`` in pattern 0."""

    def match(self) -> str:
        """Find relationships for each pattern, most constrained first, or return the problem."""
        patterns = self._query.patterns
        while len(self._matched) < len(patterns):
            number = max(
                (n for n in range(len(patterns)) if n not in self._matched),
                key=lambda n: (sum(e in self._known for e in patterns[n].ends), -n),
            )
            nearest = self._near(patterns[number])
            if not nearest:
                return f"nothing in the graph matches '{_words_of(patterns[number])}'"
            self._matched[number] = {iri: similarity for iri, (similarity, _) in nearest.items()}
            self._ends |= {iri: ends for iri, (_, ends) in nearest.items()}
            reached = {end for _, ends in nearest.values() for end in ends}
            for end in patterns[number].ends:
                if is_variable(end):
                    self._known.setdefault(end, set()).update(reached)
                    if self._uses[end] > 1:
                        same = self._standing_for(reached)
                        self._same.setdefault(end, set()).update(same)
                        self._known[end] |= {thing for pair in same for thing in pair}
        return ""

    def _near(self, pattern: NamedPattern) -> dict[str, tuple[float, tuple[str, str]]]:
        """The nearest relationships with a known end: their similarities and ends."""
        network, view = self._view.network, self._view
        known = [end for end in pattern.ends if end in self._known]
        names = [end for end in known if not is_variable(end)]
        touching = [self._touching(self._known[end]) for end in names or known]
        if touching:
            edges = network.stated(reduce(np.intersect1d, touching))
        else:
            edges = network.edges(RELATED_TO)
        vector = view.vectors.embed_query(_words_of(pattern))
        cosines = view.relationship_cosines(vector, edges.statement)
        best = np.lexsort((edges.statement, -cosines.round(5)))[:RELATIONSHIPS]
        iris, nearest = view.iris, edges.take(best)
        return {
            iris.relationships[row]: (float(cosine), (iris.entities[one], iris.entities[other]))
            for row, cosine, (one, other) in zip(
                nearest.statement.tolist(), cosines[best], nearest.pairs().tolist(), strict=True
            )
        }

    def _touching(self, entities: set[str]) -> Rows:
        """Relationships with one of these entities as an end, or as the topic of their document."""
        network, iris = self._view.network, self._view.iris
        rows = rows_of(iris.entities, sorted(entities))
        topics = np.unique(network.incoming(ABOUT, rows).source)
        about = [iris.documents[row] for row in topics.tolist()]
        stated = self._view.reader.rows_for("document-relationships", about)
        of_documents = rows_of(iris.relationships, [row[1].value for row in stated])
        return np.union1d(network.incident(RELATED_TO, rows).statement, of_documents)

    def _standing_for(self, entities: Iterable[str]) -> list[tuple[str, str]]:
        """(entity, related entity): each itself, and those named by parts of its name at commas."""
        requested = sorted(set(entities))
        labels = entity_labels(self._view.reader, requested)
        parts = {e: [p.strip() for p in labels[e][0].split(",")] for e in requested}
        several = {part for members in parts.values() if len(members) > 1 for part in members}
        named = self._view.names.entities(map(normalize_name, several))
        pairs = [(entity, entity) for entity in requested]
        pairs += [
            (thing, entity)
            for entity in requested
            if len(parts[entity]) > 1
            for part in parts[entity]
            for thing in named.get(normalize_name(part), ())
            if find(self._view.iris.entities, thing) >= 0
        ]
        return pairs

    def sparql(self) -> str:
        """The SPARQL query that joins the matched relationships."""

        def end(term: str, pattern: int) -> dict[str, Any]:
            given = sorted(link.entity for link in self._linked.get(term, ()))
            same = sorted(self._same.get(term, ()))
            return {
                "column": f"e{self._numbers[term]}_{pattern}",
                "variable": f"v{self._numbers[term]}",
                "terms": [str(NamedNode(iri)) for iri in given],
                "same": [[str(NamedNode(iri)) for iri in pair] for pair in same],
            }

        minter = self._view.reader.minter

        def relationships(pattern: int) -> dict[str, Any]:
            matched = self._matched[pattern]
            own = [iri for iri in matched if iri.startswith(f"{minter.base}relationship/")]
            imported = [(iri, *self._ends[iri]) for iri in matched if iri not in own]
            return {
                "relationships": [str(NamedNode(iri)) for iri in own],
                "imported": [[str(NamedNode(iri)) for iri in triple] for triple in imported],
            }

        return render_query(
            "patterns/bindings",
            graph=str(NamedNode(minter.kg_graph)),
            limit=ROWS,
            patterns=[
                {
                    "number": number,
                    "subject": end(pattern.subject, number),
                    "object": end(pattern.object, number),
                    **relationships(number),
                }
                for number, pattern in enumerate(self._query.patterns)
            ],
        )

    def bindings(self, sparql: str) -> tuple[Binding, ...]:
        """Run the query: the best solution for each value of the selected variable, best first."""
        result = self._view.reader.store.query(sparql)
        if not isinstance(result, Table):
            raise StoreError("a SELECT query was expected")
        nearness = {k.entity: k.similarity for links in self._linked.values() for k in links}
        asked = self._query.select
        first = next(n for n, p in enumerate(self._query.patterns) if asked in p.ends)
        own = {
            f"v{self._numbers[asked]}",
            *(f"e{self._numbers[asked]}_{n}" for n in range(len(self._query.patterns))),
        }
        best: dict[str, tuple[float, dict[str, str]]] = {}
        for row in result.rows:
            values = {n: t.value for n, t in zip(result.variables, row, strict=True) if t}
            used = [values[f"r{n}"] for n in range(len(self._query.patterns))]
            entity = values[f"e{self._numbers[asked]}_{first}"]
            others = [v for n, v in values.items() if n[0] in "ev" and n not in own]
            if len(set(used)) < len(used) or entity in nearness or entity in others:
                continue
            parts = [self._matched[n][iri] for n, iri in enumerate(used)]
            parts += [
                nearness[values[f"e{self._numbers[end]}_{n}"]]
                for n, pattern in enumerate(self._query.patterns)
                for end in pattern.ends
                if not is_variable(end)
            ]
            score = sum(parts) / len(parts)
            if entity not in best or score > best[entity][0]:
                best[entity] = score, values
        ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))[:SHOWN]
        return self._named(ordered)

    def _named(
        self, ordered: Sequence[tuple[str, tuple[float, dict[str, str]]]]
    ) -> tuple[Binding, ...]:
        reader, patterns = self._view.reader, self._query.patterns
        columns = {
            end: f"e{self._numbers[end]}_{n}"
            for n, pattern in reversed(list(enumerate(patterns)))
            for end in pattern.ends
            if is_variable(end)
        }
        rows = [values for _, (_, values) in ordered]
        labels = entity_labels(reader, {row[c] for row in rows for c in columns.values()})
        used = [[row[f"r{n}"] for n in range(len(patterns))] for row in rows]
        texts = relationship_texts(reader, {iri for row in used for iri in row})
        return tuple(
            Binding(
                labels[entity][0],
                entity,
                score,
                {name[1:]: labels[values[columns[name]]][0] for name in self._query.variables},
                tuple(Support(r, *texts[r], self._matched[n][r]) for n, r in enumerate(iris)),
            )
            for (entity, (score, values)), iris in zip(ordered, used, strict=True)
        )


class Linked(NamedTuple):
    """An entity that a name refers to; `similarity` is 1 for its exact name or alias."""

    name: str
    entity: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Support:
    """A relationship that a pattern matched, with the document that states it."""

    relationship: str
    text: str
    document: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Binding:
    """One solution: the entity and name of each variable, and the support of each pattern.

    `score` is the mean of the similarities of patterns with the texts of their relationships and
    of names with those of their entities.
    """

    value: str
    entity: str
    score: float
    variables: Mapping[str, str]
    support: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class Grounding:
    """The result of a query: linked if every name is an entity, bound if there are bindings.

    `problem` is the reason of a failure; `sparql` is the query that was run.
    """

    linked: tuple[Linked, ...] = ()
    bindings: tuple[Binding, ...] = ()
    problem: str = ""
    sparql: str = ""
    is_linked: bool = False


GIVEN = 5
"""Maximum number of bindings shown to the model."""


@dataclass(frozen=True, kw_only=True)
class SparqlGrounded(FromEvidence):
    """One call as in sparql-cot, and a second if the graph does not confirm its answer.

    The trace has a note ``grounding`` that says whether the query was parsed, linked and bound,
    what failed, and whether a binding agrees with the model's own answer. Where nothing is bound
    the answer is that of sparql-cot.
    """

    name = "sparql-grounded"
    prompts = PROMPTS
    max_tokens: int = max_tokens_option(1024)

    def step(self, talk: Conversation, context: Context) -> Answer:
        reply = sparql_cot_reply(talk, context, max_tokens=self.max_tokens)
        bindings, agrees = self._grounded(talk, reply)
        own = talk.answer_from(reply, context, query_and_bindings(reply))
        if not bindings or (own.outcome == "answered" and agrees):
            return own
        return self._decided(talk, context, reply, bindings[:GIVEN])

    def _grounded(
        self, talk: Conversation, reply: Mapping[str, Any]
    ) -> tuple[Sequence[Binding], bool]:
        """The bindings of the query, and whether one of the values is the model's answer."""
        parsed = True
        try:
            grounding = ground(talk.view, parse_patterns(reply["query"]))
        except PatternError as error:
            parsed, grounding = False, Grounding(problem=str(error))
        agrees = _holds([b.value for b in grounding.bindings], reply["final_answer"])
        note = {
            "parsed": parsed,
            "linked": grounding.is_linked,
            "bound": bool(grounding.bindings),
            "agrees": agrees,
            "problem": grounding.problem,
            "links": {link.name: link.entity for link in reversed(grounding.linked)},
            "bindings": [
                {
                    "value": binding.value,
                    "entity": binding.entity,
                    "score": binding.score,
                    "variables": dict(binding.variables),
                    "relationships": [support.relationship for support in binding.support],
                    "documents": [support.document for support in binding.support],
                }
                for binding in grounding.bindings
            ],
            "sparql": grounding.sparql,
        }
        talk.say("note", "grounding", note)
        return grounding.bindings, agrees

    def _decided(
        self,
        talk: Conversation,
        context: Context,
        reply: Mapping[str, Any],
        bindings: Sequence[Binding],
    ) -> Answer:
        """A second call with the bindings, each with the sentences that support it."""
        rows = [
            {"value": binding.value, "support": [support.text for support in binding.support]}
            for binding in bindings
        ]
        schema = object_of(reasoning=string(800), **final_properties(context))
        final = talk.call(
            "sparql_grounded",
            schema,
            context=context,
            max_tokens=self.max_tokens,
            final=IF_SUFFICIENT,
            query=reply["query"],
            own=reply["final_answer"],
            bindings=rows,
        )
        return talk.answer_from(
            final, context, f"{query_and_bindings(reply)}\n{final['reasoning']}"
        )


def _holds(values: Sequence[str], answer: str) -> bool:
    """Whether one of the values is the answer, or either contains the other as whole words."""
    requested = f" {normalize_name(answer)} "
    if not requested.strip():
        return False
    padded = [f" {normalize_name(value)} " for value in values]
    return any(requested in value or (value.strip() and value in requested) for value in padded)
