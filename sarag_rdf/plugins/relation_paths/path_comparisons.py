"""Comparisons of two things by what relation paths lead to from each, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple

from sarag_rdf.answering.comparison import decided
from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import Query
from sarag_rdf.graph.valid_time import span_of
from sarag_rdf.plugins.relation_paths.asked_answers import kinds_of
from sarag_rdf.plugins.relation_paths.asked_kinds import is_no_agent
from sarag_rdf.plugins.relation_paths.compared_attributes import Criterion, criterion
from sarag_rdf.plugins.relation_paths.exclusive_values import single_properties
from sarag_rdf.plugins.relation_paths.factoid import factoid
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_answers import joined, stated_units, with_units
from sarag_rdf.plugins.relation_paths.path_index import all_in_use
from sarag_rdf.plugins.relation_paths.paths import PathSearch
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_TWO: Final = 2
_ENDING: Final = re.compile(r"[\s,;:.?!]*$|(?<=\w)['\u2019]s?$")
"""What the words of a name end with in a question."""
_MARKS: Final = re.compile(r"(?<=#[12])[.!?]+")
"""Ends a name that has such a mark."""
_KINDS: Final = r"(?: the)?(?: (?!(?:of|or|and|both|the|is|was)\b)[a-z]+){1,2}"
_KIND: Final = re.compile(
    rf"(?:\b(?P<verb>both|do|did|are|were){_KINDS}[,:]?"
    rf"|\b(?P<joint>of|or|and|between|than|before|after){_KINDS}|(?<=[,:]) the [a-z]+)(?= #)"
)
"""What two things are, before their names: "or the film #2"."""
_WHICH: Final = "(?:who|whom|which|what)"
_ALTERNATIVES: Final = (
    re.compile(rf"(?P<ask>{_WHICH}\b.*?),?(?: -| –|:)?(?: (?:out )?of| between)? #1,? or #2"),
    re.compile(rf"(?P<ask>{_WHICH}\b.*?)(?:,|:| -| –|,? (?:out )?of|,? between) #1,? and #2"),
    re.compile(rf"(?:between|out of|of) #1 and #2,? (?P<ask>{_WHICH}\b.*)"),
    re.compile(rf"(?P<ask>{_WHICH}(?: one)?) of #1,? (?:and|or) #2 (?P<rest>.*)"),
    re.compile(r"(?P<ask>is|was|were|did|does|has) #1 or #2 (?P<rest>.*)"),
)
"""Questions for one of two things: what is said of it is in `ask` and `rest`."""
_TRUTHS: Final = (
    re.compile(
        r"(?P<ask>is|was|were|did|does|has) #1 (?P<rest>.*) than #2(?: is| was| does| did)?"
    ),
    re.compile(
        r"(?P<ask>is|was|were|did|does|has) #1 (?P<rest>.* (?:before|after)) #2(?: was| did)?"
    ),
)
"""Questions whether it is the first of two things."""
_WHAT_ELSE: Final = re.compile(r"\b(?:before|after)\b")
"""In a question for something else than the two things: "which was founded before #1 or #2"."""
_VERB: Final = (
    "is|are|was|were|has|had|have|did|do|does|with|whose|that|came|come|born|died|dies|opened|"
    "closed|began|started|ended|first|last|lived"
)
_ASKING: Final = re.compile(
    rf"(?:{_WHICH}(?: of (?:the two|them))?(?: (?!(?:{_VERB})\b)[a-z]+){{0,3}} )?"
    rf"(?P<predicate>(?:{_VERB})\b.*)"
)
_OWNED: Final = re.compile(
    r"(?:(?:has|had|with) (?:the |an? )|(?:has |with )?whose )"
    rf"(?P<role>[a-z]+(?: (?!(?:who|which|{_VERB})\b)[a-z]+)?) (?:who |that |which )?"
    r"(?P<predicate>(?:is|was|were|has|had|born|died|came|opened)\b.*)"
)
"""What is said of something else: "has the director who was born first"."""
_PASSIVE: Final = re.compile(r"born\b")
_SAME: Final = re.compile(
    r"(?P<be>do|did|are|were|is|was|have|had)(?: both)?(?: of)?(?: the)? "
    r"(?:(?:both )?(?P<role>[a-z]+?)s? of )?#1,? and (?:(?:the )?(?P<other>[a-z]+?)s? of )?#2,? "
    r"(?:both )?(?:(?:have|has|had) (?:the )?(?P<owned>[a-z]+?)s? (?:who |that )?"
    r"(?=from |of |share |have |born |with ))?(?P<verb>[a-z ]*?) ?(?:the )?same (?P<noun>[a-z ]+)"
)
_SHARES: Final = re.compile(r"have|share|shared|had")
_FROM: Final = re.compile(r"|(?:come |came |originate |originated )?from|of|with|share|have")
_NATIONS: Final = re.compile(r"country|nation|nationality|citizenship")
_NATIONALITIES: Final = tuple(
    f"what is the {noun} of #"
    for noun in ("nationality", "country of citizenship", "country of origin", "country")
)
_BY: Final = re.compile(r"(?P<event>[a-z ]+) (?P<preposition>in|on|at|by|from|to|for|under|of)")
_PLACES: Final = re.compile(r"place|location")
_OF_KIND: Final = re.compile(r"[a-z]+ which ([a-z ]+?) (?:is|was) #")
"""A question for things of a class: "in which town was # born"."""
_YEAR: Final = re.compile(r"-?\d{4,}")


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Two things, what they are compared by, and whether it is asked if it is the first."""

    things: tuple[str, str]
    of: tuple[str, str]
    by: Criterion
    is_truth: bool = False


class _Sides(NamedTuple):
    """What was found for each of two things."""

    one: Found
    other: Found


def compared(view: GraphView, query: Query) -> Found | None:
    """One of two things that a question names, or yes or no; None where that is not sure.

    Both have to be known by the same property, and no pair of their values may leave it open.
    """
    if (masked := _masked(view, query.text)) is None:
        return None
    text, things = masked
    if normalize_name(things[0]) == normalize_name(things[1]):
        return None
    for comparison in filter(None, (_choice(text, things), _same(text, things))):
        if found := _answer(view, query, comparison):
            return found
    return None


def _masked(view: GraphView, question: str) -> tuple[str, tuple[str, str]] | None:
    """The question in small letters with ``#1`` and ``#2`` for the two things it names."""
    text = MARKED.sub(r"\1", question)
    spans = sorted(span for span, _ in named_spans(view.names, text, ProperNames(view)))
    if len(spans) > _TWO and spans[0][0] == 0:
        spans = spans[1:]  # the first word has a capital
    if len(spans) != _TWO:
        return None
    masked, names, last = "", [], 0
    for number, (begin, end) in enumerate(spans, start=1):
        name = _ENDING.sub("", text[begin:end])
        names.append(name)
        masked += f"{text[last:begin].lower()}#{number}"
        last = begin + len(name)
    masked = " ".join(f"{masked}{text[last:].lower()}".replace("#", " #").split())
    masked = _MARKS.sub("", masked)
    plain = _KIND.sub(lambda match: match["verb"] or match["joint"] or "", masked.rstrip(" ?.!"))
    return plain, (names[0], names[1])


def _choice(text: str, things: tuple[str, str]) -> _Comparison | None:
    """A question for one of two things, or whether the first of them is it."""
    for forms, is_truth in ((_ALTERNATIVES, False), (_TRUTHS, True)):
        for form in forms:
            if match := form.fullmatch(text):
                said = " ".join(filter(None, match.groupdict().values()))
                if not is_truth and _WHAT_ELSE.search(said):
                    continue
                if found := _judged(said, things):
                    return replace(found, is_truth=is_truth)
    return None


def _judged(said: str, things: tuple[str, str]) -> _Comparison | None:
    asking = _ASKING.fullmatch(said.strip(" ,"))
    if asking is None:
        return None
    predicate, of = asking["predicate"], "#"
    if owned := _OWNED.fullmatch(predicate):
        predicate, of = owned["predicate"], f"the {owned['role']} of #"
    by = criterion(f"was {predicate}" if _PASSIVE.match(predicate) else predicate)
    return _Comparison(things, (of, of), by) if by else None


def _same(text: str, things: tuple[str, str]) -> _Comparison | None:
    """A question whether two things have something in common."""
    match = _SAME.fullmatch(text)
    if match is None or (match["owned"] and match["role"]):
        return None
    roles = match["role"], match["other"] or match["role"]
    one, other = (f"the {role} of #" if role else "#" for role in roles)
    if match["owned"]:
        one = other = f"the {match['owned']} of #"
    questions = _shared(match["be"], match["verb"].strip(), match["noun"])
    return _Comparison(things, (one, other), Criterion("same", questions)) if questions else None


def _shared(be: str, verb: str, noun: str) -> tuple[str, ...]:
    """The questions for what two things may have in common."""
    if _NATIONS.fullmatch(noun) and _FROM.fullmatch(verb):
        return _NATIONALITIES
    is_was = "is" if be in ("is", "are", "do", "have") else "was"
    if _SHARES.fullmatch(verb):
        return f"what {is_was} the {noun} of #", f"who {is_was} the {noun} of #"
    match = _BY.fullmatch(verb)
    if match is None:
        return ()
    if noun == "year":
        return (f"when was # {match['event']}",)
    if _PLACES.fullmatch(noun):
        return (f"where {is_was} # {match['event']}",)
    return (f"{match['preposition']} which {noun} {is_was} # {match['event']}",)


def _answer(view: GraphView, query: Query, comparison: _Comparison) -> Found | None:
    """What all attributes that are known of both things decide alike."""
    verdicts: dict[str, _Sides] = {}
    for question in comparison.by.questions:
        if sides := _sides(view, query, comparison, question):
            verdict = _verdict(view, comparison, sides, question)
            verdicts.setdefault(verdict, sides)
            if "born" in question:  # whoever is born has no other beginning
                break
    if len(verdicts) != 1 or "" in verdicts:
        return None
    [(verdict, sides)] = verdicts.items()
    if comparison.is_truth:
        verdict = "yes" if verdict == comparison.things[0] else "no"
    values = (with_units(view, side).text for side in sides)
    lead = "; ".join(map("{}: {}".format, comparison.things, values))
    return joined(query, sides, (verdict,), lead)


def _sides(view: GraphView, query: Query, comparison: _Comparison, question: str) -> _Sides | None:
    """What is found for both things by the same property of each; None if there is none."""
    equivalents = view.derived(all_in_use).ontology.equivalents
    found, last = [], set[tuple[str, bool]]()
    for thing, of in zip(comparison.things, comparison.of, strict=True):
        text = question.replace("#", of.replace("#", thing))
        own = factoid(view, replace(query, text=f"{text[0].upper()}{text[1:]}?"))
        hops = own.evidence.retrieved.paths[0].hops if own else ()
        if own is None or len(hops) > (1 if of == "#" else _TWO):  # which may be in the same town
            return None
        property_, is_inverse = hops[-1]
        last.add((min({property_, *equivalents.get(property_, ())}), is_inverse))
        found.append(own)
    one, other = found
    return _Sides(one, other) if len(last) == 1 else None


def _verdict(view: GraphView, comparison: _Comparison, sides: _Sides, question: str) -> str:
    """One of the things, yes or no; empty if the values leave it open."""
    kind = comparison.by.kind
    if kind == "same" and question.startswith("when"):
        return _in_common(*map(_years, sides))
    if kind not in ("earliest", "latest") and len({_units(view, found) for found in sides}) > 1:
        return ""
    if kind == "same":
        return _shares(view, sides, question)
    pairs = product(sides.one.names, sides.other.names)
    verdicts = {decided(kind, comparison.things, pair) for pair in pairs}
    return verdicts.pop() if len(verdicts) == 1 else ""


def _units(view: GraphView, found: Found) -> frozenset[str]:
    units = stated_units(view, found.evidence.retrieved.paths)
    return frozenset[str]().union(*units.values())


def _years(found: Found) -> set[str]:
    return {match[0] for name in found.names if span_of(name) and (match := _YEAR.match(name))}


def _in_common(some: set[str], others: set[str]) -> str:
    """Whether two things that have one year each have the same."""
    return ("yes" if some == others else "no") if len(some) == len(others) == 1 else ""


def _shares(view: GraphView, sides: _Sides, question: str) -> str:
    """Yes if both have a thing in common; no if each has another of what it has one of.

    Different places may lie in each other, different names may be those of one thing, and to be of
    the same country is not to be of the same place.
    """
    one, other = (_ends(view, found) for found in sides)
    kinds = kinds_of(PathSearch(view), {end for end in (*one, *other) if end in view.iris.entities})
    is_place, asked = question.startswith("where"), _OF_KIND.match(question)
    if asked:
        one, other = (
            {end: name for end, name in own.items() if asked[1] in kinds.get(end, ())}
            for own in (one, other)
        )
    if shared := {end for end in one.keys() & other.keys() if not _is_vague(end)}:
        is_wide = any("country" in kinds.get(end, ()) for end in shared)
        return "" if is_place and (is_wide or one.keys() != other.keys()) else "yes"
    property_, is_inverse = sides.one.evidence.retrieved.paths[0].hops[-1]
    is_single = property_ in view.derived(single_properties) and not is_inverse
    are_agents = all(kinds.get(end) and not is_no_agent(kinds[end]) for end in (*one, *other))
    words = [{*normalize_name(" ".join(own.values())).split()} for own in (one, other)]
    is_one = len(one) == len(other) == 1 and words[0].isdisjoint(words[1])
    return "no" if is_single and is_one and are_agents else ""


def _is_vague(value: str) -> bool:
    """Whether it is a time of more than a day, which two things may have in common or not."""
    span = span_of(value)
    return span is not None and span[0] != span[1]


def _ends(view: GraphView, found: Found) -> dict[str, str]:
    """The things, or dates and numbers, that were found, and what they are called."""
    one = view.derived(Identities).one
    answers = [answer for path in found.evidence.retrieved.paths for answer in path.answers]
    return {one(answer.iri) if answer.iri else answer.name: answer.name for answer in answers}
