"""How relation paths are put into words, and how they are scored: templates, words and weights.

They are data, with a version (``relation-paths.json``); ``sarag evaluate fit-paths`` writes other
weights into a file of the same form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.files import read_text
from sarag_rdf.retrieval.path_schema import THING, Hop, HopSequence, PathSchema, packaged_phrases

FEATURES: Final = (
    "nearest",
    "mean",
    "two_hops",
    "three_hops",
    "asked",
    "fan_out",
    "aligned",
    "weakest",
    "covered",
    "least_covered",
    "turns",
)
"""What a path is scored by, in the order of a row of features.

nearest, mean: the cosine of the question with the path's nearest phrase, and with all, on average.
two_hops, three_hops: 1 for a path of that length (the prior of lengths). asked: the cosine of the
kind of thing that is asked for with that at the end of the path. fan_out: the logarithm of the
number of entities that the path leads to. aligned, weakest: the cosines of the hops with one word
of the question each, their mean and the least. covered, least_covered: the cosines of the words of
the question with the nearest hop, their mean and the least. turns: how often a hop is followed by
its reverse.
"""
PHRASES: Final = 3
"""Phrases of a hop that are used, the first of them."""
_PACKAGED: Final = Path(__file__).with_name("relation-paths.json")
_WORD: Final = re.compile(r"[\w'-]+")
_IRREGULAR: Final = frozenset({"people", "children", "men", "women"})
_PLURALS: Final = (("y", "ies"), ("s", "ses"), ("x", "xes"), ("ch", "ches"), ("sh", "shes"))
_TEMPLATES: Final = {
    "start": {"kind"},
    "hop": {"phrase", "rest"},
    "question": {"phrase", "rest"},
    "forward": {"label"},
    "inverse": {"kinds", "label"},
    "inverse_verb": {"kinds", "label"},
    "forward_verb": {"kinds", "label"},
    "forward_role": {"kinds", "role"},
    "inverse_role": {"label"},
    "stated": {"kinds", "phrase"},
}


@dataclass(frozen=True)
class PathModel:
    """The templates of phrases, the words of questions, and the weights of `FEATURES`.

    `question_words` stand for a kind of thing (``who``: ``person``), `asking_words` stand before
    one (``which``).
    """

    version: str
    fitted: str
    question_words: Mapping[str, str]
    asking_words: frozenset[str]
    not_asked: frozenset[str]
    stop_words: frozenset[str]
    prepositions: frozenset[str]
    templates: Mapping[str, str]
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def vector(self) -> NDArray[np.float64]:
        """The weights in the order of `FEATURES`."""
        return np.array([self.weights[name] for name in FEATURES])

    def with_weights(self, weights: Sequence[float], version: str, fitted: str) -> PathModel:
        """The same model with other weights."""
        values = {name: round(float(w), 4) for name, w in zip(FEATURES, weights, strict=True)}
        return replace(self, weights=values, version=version, fitted=fitted)

    def to_json(self) -> str:
        """The text of a file that `read_model` reads."""
        return json.dumps(
            {
                "version": self.version,
                "fitted": self.fitted,
                "question_words": dict(self.question_words),
                "asking_words": sorted(self.asking_words),
                "not_asked": sorted(self.not_asked),
                "stop_words": sorted(self.stop_words),
                "prepositions": sorted(self.prepositions),
                "templates": dict(self.templates),
                "weights": dict(self.weights),
            },
            indent=2,
        )

    # Phrases

    def words(self, text: str) -> tuple[str, ...]:
        """The words of a text that matter, each once."""
        words = _WORD.findall(text.lower())
        return tuple(dict.fromkeys(word for word in words if word not in self.stop_words))

    def asked(self, question: str) -> str:
        """The kind of thing that a question asks for, in a word; nothing if it does not say so."""
        words = _WORD.findall(question.lower())
        for word, following in pairwise([*words, ""]):
            if word in self.question_words:
                return self.question_words[word]
            if word in self.asking_words:
                return "" if following in self.not_asked else following
        return ""

    def phrases(self, schema: PathSchema, hop: Hop) -> tuple[str, ...]:
        """Phrases of a hop: annotated or packaged ones, or else one of the label; then of texts."""
        kinds = _plural(schema.kinds.get(hop.end, THING))
        annotated = schema.phrases.get(hop) or packaged_phrases().get(hop, ())
        stated = [
            self.templates["stated"].format(kinds=kinds, phrase=phrase)
            for phrase in schema.stated.get(hop, ())
        ]
        label = schema.names[hop.predicate]
        first = annotated or (self._of_label(label, kinds, is_inverse=hop.is_inverse),)
        return tuple(dict.fromkeys([*first, *stated]))[:PHRASES]

    def noun_phrase(self, schema: PathSchema, hop: Hop) -> str:
        """The first phrase of a hop that asks nothing: ``directors of``, not ``who directed``."""
        phrases = self.phrases(schema, hop)
        return next((phrase for phrase in phrases if not self._asks(phrase)), phrases[0])

    def is_plural(self, schema: PathSchema, hop: Hop) -> bool:
        """Whether the noun phrase of a hop names several things: ``directors of``."""
        words = self.noun_phrase(schema, hop).split()
        role = words[:-1] if words[-1] in self.prepositions and len(words) > 1 else words
        kinds = _plural(schema.kinds.get(hop.end, THING)).split()
        is_several = (
            word in _IRREGULAR or (word.endswith("s") and not word.endswith("ss"))
            for word in (role[0], role[-1])
        )
        return role[: len(kinds)] == kinds or any(is_several)

    def _asks(self, phrase: str) -> bool:
        first = phrase.split(maxsplit=1)[0].lower()
        return first in self.question_words or first in self.asking_words

    def _of_label(self, label: str, kinds: str, *, is_inverse: bool) -> str:
        bare = label.removeprefix("has ").removeprefix("is ") or label
        *role, last = bare.split()
        if last == "of" and role:
            name = "inverse_role" if is_inverse else "forward_role"
            values = {"label": bare, "kinds": kinds, "role": " ".join(role)}
        elif is_inverse:
            name = "inverse_verb" if last in self.prepositions else "inverse"
            values = {"label": bare, "kinds": kinds}
        else:
            name = "forward_verb" if last in self.prepositions else "forward"
            values = {"label": bare, "kinds": kinds}
        return self.templates[name].format(**values)

    def texts(self, schema: PathSchema, path: HopSequence) -> tuple[str, ...]:
        """A path in words: with the first phrases, then with another phrase for one of the hops."""
        known = [self.phrases(schema, hop) for hop in path]
        chosen = [[0] * len(path)]
        for position, phrases in enumerate(known):
            chosen += [
                [other if at == position else 0 for at in range(len(path))]
                for other in range(1, len(phrases))
            ]
        start = self.templates["start"].format(kind=schema.kinds.get(path[0].start, THING))
        return tuple(
            dict.fromkeys(
                self._composed([phrases[at] for phrases, at in zip(known, row, strict=True)], start)
                for row in chosen
            )
        )

    def text_from(self, schema: PathSchema, path: HopSequence, name: str) -> str:
        """A path in words, from an entity with that name."""
        return self._composed([self.noun_phrase(schema, hop) for hop in path], name)

    def _composed(self, phrases: Sequence[str], text: str) -> str:
        for phrase in phrases:
            template = self.templates["question" if self._asks(phrase) else "hop"]
            text = template.format(phrase=phrase, rest=text)
        return text


def _plural(noun: str) -> str:
    for ending, plural in _PLURALS:
        if noun.endswith(ending) and not noun.endswith(("ay", "ey", "oy")):
            return noun.removesuffix(ending) + plural
    return noun + "s"


@cache
def packaged_model() -> PathModel:
    """The model of the package."""
    return read_model(_PACKAGED)


def read_model(path: Path) -> PathModel:
    """The model in a file; raises `InputError` for a file of another form."""
    try:
        return _model(json.loads(read_text(path)))
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: not a model of relation paths ({error}): write one with  sarag evaluate "
            "fit-paths --output FILE"
        ) from error


def _model(data: Mapping[str, Any]) -> PathModel:
    weights = {name: float(data["weights"][name]) for name in FEATURES}
    if not np.isfinite(list(weights.values())).all():
        raise ValueError("a weight is not a finite number")
    templates = {}
    for name, fields in _TEMPLATES.items():
        templates[name] = str(data["templates"][name])
        templates[name].format(**dict.fromkeys(fields, ""))
    return PathModel(
        version=str(data["version"]),
        fitted=str(data["fitted"]),
        question_words={str(word): str(kind) for word, kind in data["question_words"].items()},
        asking_words=frozenset(map(str, data["asking_words"])),
        not_asked=frozenset(map(str, data["not_asked"])),
        stop_words=frozenset(map(str, data["stop_words"])),
        prepositions=frozenset(map(str, data["prepositions"])),
        templates=templates,
        weights=weights,
    )
