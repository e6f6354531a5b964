"""Things that a question describes by one that it names: "the age of the house built by X".

What is described is found first, and then what is asked about it. Paths are compared with a whole
question at once, and say nothing of the classes of what they lead over: "the department headed by".
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.memberships import Answer
from sarag_rdf.plugins.relation_paths.path_answers import hops_of, joined
from sarag_rdf.plugins.relation_paths.path_model import packaged_model
from sarag_rdf.plugins.relation_paths.path_wording import is_participle
from sarag_rdf.plugins.relation_paths.tense import is_present_tense
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_DESCRIPTION: Final = re.compile(
    r"(?P<lead>.*\S) (?:the|an?) (?P<noun>(?:[a-z][a-z-]* ){1,3}?)"
    r"(?:(?:that|which|who) (?P<clause>[a-z][a-z -]* )|(?P<participle>[a-z]+) (?P<by>[a-z]+ )|of )"
    r"(?:[Tt]he |an? )?"
)
"""Ends the text before a name: "where is the house that was built by", "the builder of the"."""
_NO_NOUN: Final = frozenset("of by in at on to from with for that which who is was and or".split())
_OF_NAME: Final = re.compile(r"['\u2019]s?\b| \w+(?:er|or)s?\b")
"""After a name that is not what describes a thing: "directed by the X director"."""
_MOST: Final = 5
"""Things that are asked about, at most."""


class _Description(NamedTuple):
    """Questions that ask which thing is described, and the text around it."""

    said: str
    inner: tuple[str, ...]
    lead: str
    rest: str
    is_one: bool
    has_verb: bool


def of_described(view: GraphView, query: Query, answer: Answer) -> Found | None:
    """What answers a question, about the thing that it describes if it does.

    Or about all of them if it describes several: "the employers of the children of X". A relation
    path that says all at once is preferred where the description is but a word ("the head of X"):
    that of a clause has a verb and a class of its own.
    """
    described = _described(view, query.text)
    if described is None or not described.has_verb:
        found = answer(query)
        if found or described is None:
            return found
    several = (answer(replace(query, text=text)) for text in described.inner)
    inner = next(filter(None, several), None)
    things = _things(view, inner) if inner else {}
    if inner is None or not things or (described.is_one and len(things) > 1):
        return None  # a path that says all at once may lead over something else
    if len(things) > _MOST:
        found = answer(query)
        return found if found and hops_of(found)[:1] == hops_of(inner) else None
    texts = (f"{described.lead} [{name}]{described.rest}" for name in things.values())
    found_of = [answer(replace(query, text=text)) for text in texts]
    known = [each for each in found_of if each]
    if len(known) < len(found_of):
        return None
    names = dict.fromkeys(name for each in known for name in each.names)
    lead = f"{described.said}: {'; '.join(things.values())}"
    return joined(query, [inner, *known], tuple(names), lead)


def _described(view: GraphView, question: str) -> _Description | None:
    """How the one name of a question describes a thing, if what is asked about it has words."""
    spans = named_spans(view.names, question, ProperNames(view))
    if len(spans) != 1 or MARKED.search(question):
        return None
    [((begin, end), _)] = spans
    match = _DESCRIPTION.fullmatch(question[:begin])
    if match is None or _OF_NAME.match(question, end):
        return None
    noun, rest = match["noun"].strip(), question[end:]
    name = question[begin:end].rstrip("?.! ")
    inner: tuple[str, ...]
    if not _NO_NOUN.isdisjoint(noun.split()) or not _asks(match["lead"], rest):
        return None
    # who asks for what goes on describes it as it is
    verbs = ("is",) if is_present_tense(f"{match['lead']} {rest}") else ("is", "was")
    if match["clause"]:
        inner = (f"which {noun} {match['clause']}{name}?",)
    elif match["participle"]:
        if not is_participle(match["participle"]):
            return None
        said = f"{match['participle']} {match['by']}{name}?"
        inner = tuple(f"which {noun} {verb} {said}" for verb in verbs)
    else:
        inner = tuple(f"what {verb} the {noun} of {name}?" for verb in verbs)
    said = question[match.end("lead") : begin + len(name)].strip()
    has_verb = bool(match["clause"] or match["participle"])
    return _Description(said, inner, match["lead"], rest, not noun.endswith("s"), has_verb)


def _asks(lead: str, rest: str) -> bool:
    """Whether the text around a description asks something of it: not "what is" alone."""
    return bool(packaged_model().content(f"{lead} {rest}"))


def _things(view: GraphView, found: Found) -> dict[str, str]:
    """The things that one property leads to, each once, with a name; none beside values."""
    one, paths = view.derived(Identities).one, found.evidence.retrieved.paths
    if not paths or len(paths[0].hops) > 1:
        return {}
    answers = [answer for path in paths for answer in path.answers]
    named = [answer for answer in answers if answer.name in found.names]
    if not named or not all(answer.iri for answer in named):
        return {}
    return {one(answer.iri): answer.name for answer in named}
