"""Parses queries of a few triple patterns in plain words, as language models write them.

The form is that of SPARQL with names in the place of IRIs: ``SELECT ?answer WHERE { ?lake name
"Lake Orrin" . ?lake "located in" ?answer }``. Additions of models are accepted: prefixes before
colons, camel case, underscores, missing quotation marks, ``;`` between predicates of one subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sarag_rdf.graph.schema_use import plain_words

MOST = 4
"""Maximum number of patterns; further ones are ignored, as small models may repeat themselves."""
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


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """A variable, or a name in plain words."""

    text: str
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """Subject, predicate in plain words, object."""

    subject: PatternTerm
    predicate: str
    object: PatternTerm


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """The selected variable, the triple patterns, and the names of variables."""

    select: str
    patterns: tuple[Pattern, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables, in order of appearance."""
        ends = (end for p in self.patterns for end in (p.subject, p.object))
        return tuple(dict.fromkeys(end.text for end in ends if end.is_variable))


def parse_patterns(text: str) -> PatternQuery:
    """Parse a query, up to the first `MOST` distinct patterns; raises `PatternError`.

    A pattern that names a variable replaces it by the name in all patterns.

    >>> query = parse_patterns('SELECT ?b WHERE { ?a name "Lake Orrin" . ?a locatedIn ?b . }')
    >>> [(p.subject.text, p.predicate, p.object.text) for p in query.patterns], query.select
    ([('Lake Orrin', 'located in', 'b')], 'b')
    """
    body = _body(text)
    triples = _triples(body)
    names = {
        triple.subject.text: triple.object
        for triple in triples
        if triple.predicate in NAMING and triple.subject.is_variable
        if not triple.object.is_variable
    }

    def named(term: PatternTerm) -> PatternTerm:
        return names.get(term.text, term) if term.is_variable else term

    every = dict.fromkeys(
        Pattern(named(triple.subject), triple.predicate, named(triple.object))
        for triple in triples
        if not (triple.predicate in NAMING and triple.subject.text in names)
    )
    patterns = tuple(every)[:MOST]
    if not patterns:
        raise PatternError("no pattern joins two things")
    query = PatternQuery("", patterns)
    return PatternQuery(_selected(text, query), patterns)


def _body(text: str) -> str:
    begin = text.find("{")
    if begin >= 0:
        end = text.rfind("}")
        return text[begin + 1 : end if end > begin else len(text)]
    return _BODY.split(text, maxsplit=1)[-1]


def _triples(body: str) -> list[Pattern]:
    triples: list[Pattern] = []
    terms: list[PatternTerm] = []
    subject: PatternTerm | None = None
    for term in [*_terms(body), "."]:
        if isinstance(term, PatternTerm):
            terms.append(term)
            continue
        if terms:
            whole = terms if subject is None else [subject, *terms]
            triples.append(_triple(whole))
        subject = triples[-1].subject if term == ";" and triples else None
        terms = []
    return triples


def _triple(terms: list[PatternTerm]) -> Pattern:
    """The first and the last term are the ends; the words between them are the predicate."""
    if len(terms) < 3:
        raise PatternError(f"'{' '.join(term.text for term in terms)}' is not a triple")
    first, *middle, last = terms
    if any(term.is_variable for term in middle):
        raise PatternError(
            f"the predicate between '{first.text}' and '{last.text}' holds a variable"
        )
    predicate = " ".join(plain_words(term.text) for term in middle).strip().casefold()
    if not predicate:
        raise PatternError(f"no predicate between '{first.text}' and '{last.text}'")
    return Pattern(first, " ".join(predicate.split()), last)


def _terms(body: str) -> list[PatternTerm | str]:
    terms: list[PatternTerm | str] = []
    position = 0
    while match := _TOKEN.match(body, position):
        if match.end() == position:
            break
        position = match.end()
        kind, value = match.lastgroup, match[match.lastgroup or 0]
        if kind == "mark":
            terms.append(value)
        elif kind == "variable":
            terms.append(PatternTerm(value[1:], is_variable=True))
        elif kind in ("double", "single"):
            terms.append(PatternTerm(" ".join(re.sub(r"\\(.)", r"\1", value).split())))
        else:
            terms.append(PatternTerm(plain_words(value)))
    if body[position:].strip():
        raise PatternError(f"it cannot be read from '{body[position:].strip()[:30]}' on")
    return terms


def _selected(text: str, query: PatternQuery) -> str:
    variables = query.variables
    if not variables:
        raise PatternError("there is no variable to bind")
    match = _SELECT.search(text)
    asked = re.findall(r"[?$](\w+)", match[1]) if match else []
    known = [name for name in (*map(str, asked), "answer") if name in variables]
    return known[0] if known else variables[-1]
