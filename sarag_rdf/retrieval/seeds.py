"""Entities that a question names."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

import numpy as np

from sarag_rdf.base.arrays import find
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES
from sarag_rdf.retrieval.view import GraphView, Names

MARKED: Final = re.compile(r"\[([^\[\]]+)\]")
"""The topic of a question, in brackets."""


class ProperNames:
    """The entities that a name without capitals stands for, each looked up when it is tested.

    Such a name is rarely a common word: documents write it as several words with capitals, or those
    that describe the entity are not few among all that contain the rarest word of its name.
    """

    def __init__(self, view: GraphView) -> None:
        self._view = view

    def __contains__(self, entity: object) -> bool:
        row = np.array([find(self._view.iris.entities, str(entity))])
        label, _ = self._view.labels([str(entity)]).get(str(entity), ("", ""))
        if row[0] < 0 or not label:
            return False
        words = label.split()
        if len(words) > 1 and all(word[0].isupper() or len(word) <= _SHORT for word in words):
            return True
        described = len(self._view.network.incoming(DESCRIBES, row))
        is_topic = len(self._view.network.incoming(ABOUT, row)) > 0
        rarest = min(
            map(self._view.words.frequency, re.findall(r"\w+", label.casefold())), default=0
        )
        return described >= rarest * (_OF_TOPIC if is_topic else _OF_OTHER) > 0.0


_OF_TOPIC, _OF_OTHER = 0.05, 0.5
"""The least share of the documents with a word that describe what the word is a name of."""
_SHORT = 3
"""The letters of the longest words without a capital within a name, such as "of"."""
_WORD = re.compile(r"\S+")
LONGEST = 12
"""The number of words of the longest name."""
NO_NAMES = frozenset(
    "who whom whose what which when where why how is are was were do does did has have had can "
    "could in on at of to for from by with the a an".split()
)
"""Words at the beginning of questions, which are not names by themselves."""


Span = tuple[int, int]
"""The offsets of the begin and end of words in a question."""
NamedSpan = tuple[Span, dict[str, float]]
"""A name in a question, and its entities with their shares in (0, 1]."""


def named_spans(
    names: Names, question: str, topics: Container[str] = frozenset()
) -> list[NamedSpan]:
    """Where the question names entities, as offsets, the names of most words first.

    The longest names count, not those within another name ('York' in 'New York'). A name needs a
    capital letter or a digit in the question, so that common words do not count; in a question
    without capitals, it must be that of one of the `topics` instead ('coffee', if a document is
    about it). Several entities of one name share its activation.
    """
    words = [match.span() for match in _WORD.finditer(question)]
    spans: dict[tuple[int, int], str] = {}
    is_plain = not any(c.isupper() for c in question[1:])
    marked = [any(c.isupper() or c.isdigit() for c in question[b:e]) for b, e in words]
    common: set[str] = set()
    for length in range(min(LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            is_common = not any(marked[first : first + length])
            if is_common and not is_plain:
                continue
            name = normalize_name(question[words[first][0] : words[first + length - 1][1]])
            if name and name not in NO_NAMES:
                spans[first, first + length] = name
                if is_common:
                    common.add(name)
    entities = names.entities(common, topics) | names.entities(set(spans.values()) - common)
    matches: list[NamedSpan] = []
    covered: set[int] = set()
    for (begin, end), name in spans.items():
        if name in entities and covered.isdisjoint(range(begin, end)):
            covered |= set(range(begin, end))
            matches.append(((words[begin][0], words[end - 1][1]), entities[name]))
    return matches
