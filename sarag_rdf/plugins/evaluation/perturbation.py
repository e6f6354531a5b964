"""Questions whose names are typed as people type them: misspelt, without capitals, in part.

The questions of any data set can be perturbed, with the same result for the same seed. The names
are those of the graph that a question contains, and beside them words with capitals; dates and
quantities are none.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from sarag_rdf.base.types import VALUE_TYPES
from sarag_rdf.plugins.evaluation.datasets import Question
from sarag_rdf.retrieval.retriever import question_of
from sarag_rdf.retrieval.seeds import ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

_LEAST: Final = 3
"""The fewest letters, besides the first of each word, of a name that gets a typing error."""
_INNER_LETTER = re.compile(r"(?<=\w)[^\W\d_]")
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
_CAPITALS = re.compile(r"(?<=\s)[^\W\d_a-z]\w+(?:\s+[^\W\d_a-z]\w+)*")
"""A run of words with capitals that is not the first word."""
_LAST_NAME = re.compile(r"(?<=\s)\S+(?:,?\s+(?:[JS]r\.?|[IVX]+))?$", re.IGNORECASE)
_OTHERWISE = re.compile(r"\b(?:of|the|prince|princess|king|queen)\b|^\S+\s+[IVX]+$", re.IGNORECASE)
"""What names have of which the last word is no last name: "Beatrice of Savoy", "Henry II"."""
_APPOSITION = re.compile(r"\s*\(.*|,(?!\s+[JS]r\b).*", re.IGNORECASE)
_END = re.compile(r"(?:['\u2019]s)?[^\w)]*$")
_STROKES = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "ß": "ss",
     "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th"}
)  # fmt: skip


def perturbed(
    questions: Sequence[Question], kind: str, view: GraphView, seed: int = 0
) -> list[Question]:
    """The questions after one of the `commands.PERTURBATIONS`; the same ones for the same seed."""
    return [_perturbed(question, kind, view, seed) for question in questions]


def _perturbed(question: Question, kind: str, view: GraphView, seed: int) -> Question:
    text = question.query.text
    if kind == "lower":
        text = text.lower()
    elif kind == "plain":
        text = without_diacritics(text)
    else:
        random = Random(f"{seed} {question.id}")  # noqa: S311 - not for cryptography
        for begin, end, is_person in sorted(_names(view, text), reverse=True):
            name = text[begin:end]
            if kind == "typo":
                name = with_typo(name, random)
            elif is_person:
                name = last_name(name)
            text = text[:begin] + name + text[end:]
    return replace(question, query=question_of(text), marked=text, topic="")


def _names(view: GraphView, text: str) -> Iterator[tuple[int, int, bool]]:
    """The names in a question, as offsets, and whether they are those of persons."""
    spans = named_spans(view.names, text, ProperNames(view))
    types = view.labels(entity for _, entities in spans for entity in entities)
    for (begin, end), entities in spans:
        kinds = {types[entity][1] for entity in entities if entity in types}
        if not kinds <= VALUE_TYPES:
            article = _ARTICLE.match(text, begin, end)
            yield article.end() if article else begin, end, kinds == {"person"}
    for run in _CAPITALS.finditer(text):
        if all(run.end() <= begin or end <= run.start() for (begin, end), _ in spans):
            yield run.start(), run.end(), False


def with_typo(name: str, random: Random) -> str:
    """The name with a letter left out, doubled or replaced, or two letters swapped.

    The first letter of a word remains. A name of very few letters remains as it is.
    """
    places = [match.start() for match in _INNER_LETTER.finditer(name)]
    if len(places) < _LEAST:
        return name
    at = random.choice(places)
    before, letter, after = name[:at], name[at], name[at + 1 :]
    others = [other for other in string.ascii_lowercase if other != letter.lower()]
    errors = [before + after, before + 2 * letter + after, before + random.choice(others) + after]
    if at - 1 in places and name[at - 1] != letter:
        errors.append(name[: at - 1] + letter + name[at - 1] + after)
    return random.choice(errors)


def last_name(name: str) -> str:
    """The last word of a person's name, with a suffix such as "Jr." or "III".

    What follows in parentheses or after a comma is left out. A name without a last name, such as
    "Beatrice of Savoy", stays.

    >>> last_name("Napier Sturt, 3rd Baron Alington's"), last_name("Beatrice of Savoy")
    ("Sturt's", 'Beatrice of Savoy')
    """
    end = _END.search(name)
    size = end.start() if end else len(name)
    bare = _APPOSITION.sub("", name[:size])
    match = None if _OTHERWISE.search(bare) else _LAST_NAME.search(bare)
    return match[0] + name[size:] if match else name


def without_diacritics(text: str) -> str:
    """The text without accents and other marks: Hernández, Møller and Łódź are plain."""
    parts = unicodedata.normalize("NFD", text.translate(_STROKES))
    return "".join(c for c in parts if unicodedata.category(c) != "Mn")
