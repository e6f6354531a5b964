"""Things that a question describes by one that it names: "the age of the house built by X".

What is described is found first, and then what is asked about it. Paths are compared with a whole
question at once, and say nothing of the classes of what they lead over: "the department headed by".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.types import Query
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_answers import joined
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
_MOST: Final = 5
"""Things that are asked about, at most."""
Answer = Callable[[Query], Found | None]
"""What answers a question with one name."""


class _Description(NamedTuple):
    """Questions that ask which thing is described, and the text around it."""

    said: str
    inner: tuple[str, ...]
    lead: str
    rest: str
    is_one: bool


def of_described(view: GraphView, query: Query, answer: Answer) -> Found | None:
    """What answers a question about the thing that it describes, if that is one.

    Or about all of them if it describes several: "the employers of the children of X".
    """
    for described in _descriptions(view, query.text):
        several = (answer(replace(query, text=text)) for text in described.inner)
        inner = next(filter(None, several), None)
        things = _things(view, inner) if inner else {}
        if inner is None or not 0 < len(things) <= (1 if described.is_one else _MOST):
            continue
        texts = (f"{described.lead} [{name}]{described.rest}" for name in things.values())
        found = [answer(replace(query, text=text)) for text in texts]
        known = [each for each in found if each]
        if len(known) == len(found):
            names = dict.fromkeys(name for each in known for name in each.names)
            lead = f"{described.said}: {'; '.join(things.values())}"
            return joined(query, [inner, *known], tuple(names), lead)
    return None


def _descriptions(view: GraphView, question: str) -> Iterator[_Description]:
    """How the one name of a question describes a thing, if what is asked about it has words."""
    spans = named_spans(view.names, question, ProperNames(view))
    if len(spans) != 1 or MARKED.search(question):
        return
    [((begin, end), _)] = spans
    match = _DESCRIPTION.fullmatch(question[:begin])
    if match is None:
        return
    noun, rest = match["noun"].strip(), question[end:]
    name = question[begin:end].rstrip("?.! ")
    inner: tuple[str, ...]
    if not _NO_NOUN.isdisjoint(noun.split()) or not _asks(match["lead"], rest):
        return
    # who asks for what goes on describes it as it is
    verbs = ("is",) if is_present_tense(f"{match['lead']} {rest}") else ("is", "was")
    if match["clause"]:
        inner = (f"which {noun} {match['clause']}{name}?",)
    elif match["participle"]:
        if not is_participle(match["participle"]):
            return
        said = f"{match['participle']} {match['by']}{name}?"
        inner = tuple(f"which {noun} {verb} {said}" for verb in verbs)
    else:
        inner = tuple(f"what {verb} the {noun} of {name}?" for verb in verbs)
    said = question[match.end("lead") : begin + len(name)].strip()
    yield _Description(said, inner, match["lead"], rest, not noun.endswith("s"))


def _asks(lead: str, rest: str) -> bool:
    """Whether the text around a description asks something of it: not "what is" alone."""
    return bool(packaged_model().content(f"{lead} {rest}"))


def _things(view: GraphView, found: Found) -> dict[str, str]:
    """The things that were found, each once, with a name; none if a value is among them."""
    one = view.derived(Identities).one
    answers = [answer for path in found.evidence.retrieved.paths for answer in path.answers]
    named = [answer for answer in answers if answer.name in found.names]
    if not named or not all(answer.iri for answer in named):
        return {}
    return {one(answer.iri): answer.name for answer in named}
