"""Relation paths in words: the hops of a graph, how they are put into words, and how they score.

A hop is a property in one direction. Two hops can follow each other if some entity stands both at
the end of the one and at the start of the other. Templates, words and weights are data, with a
version (``relation-paths.json``); ``sarag evaluate fit-paths`` writes other weights into a file of
the same form.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from sarag_rdf.base.arrays import logistic
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.files import read_text
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import PropertyUse
from sarag_rdf.base.vocab import RDF, SARAG, XSD, text_of
from sarag_rdf.base.vocab import iri as iri_of
from sarag_rdf.base.words import stems_of
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader, Part, term_reader
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.graph.ontology.schema_reader import common_property, common_schema
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.texts import by_language
from sarag_rdf.plugins.relation_paths.path_words import phrase_words, said_words

MOST_HOPS: Final = 3
"""Hops of the longest paths."""
MOST_PROPERTIES: Final = 300
"""Properties that paths consist of, those with the most statements."""
_WORDING: Final = frozenset((SARAG.forwardPhrase.value, SARAG.inversePhrase.value))
THING: Final = "thing"
"""What stands at an end of which no class is known."""
_VALUES: Final = {
    **{XSD[name].value: "year" for name in ("date", "dateTime", "gYear", "gYearMonth")},
    **{XSD[name].value: "number" for name in ("integer", "decimal", "double")},
    **{text.value: "text" for text in (XSD.string, RDF.langString)},
}
"""The datatypes of values at which paths may end, and what questions call these values."""
VALUE_KINDS: Final = frozenset(_VALUES.values())


@dataclass(frozen=True, slots=True, order=True)
class Hop:
    """A property, from its subject to its object, or the other way if it is inverse.

    The ends of a property are strings: + (its subject) or - (its object), and its IRI.
    """

    predicate: str
    is_inverse: bool = False

    @property
    def start(self) -> str:
        """The end of the property where the hop starts, which names the hop."""
        return ("-" if self.is_inverse else "+") + self.predicate

    @property
    def end(self) -> str:
        """The end of the property where the hop ends."""
        return self.reverse.start

    @property
    def reverse(self) -> Hop:
        """The same property in the other direction."""
        return Hop(self.predicate, not self.is_inverse)


HopSequence = tuple[Hop, ...]
FORM: Final = "14"
"""The version of what `read_schema` makes: what another one has made is not read from a cache."""


@dataclass(frozen=True)
class PathSchema:
    """The hops of a graph, by the ends where they start.

    names: a property -> its label. kinds: an end -> what stands there, in a word (``movie``).
    fan_out: a hop -> how many things it leads to from one, on average. phrases: a hop -> its
    annotated phrases. stated: a hop -> how texts state it. joins: an end -> the ends at which the
    same entities stand, ascending; none at an end where only values stand: dates, numbers, texts.
    packaged: a hop -> the phrases of the property of the packaged ontology that has its name.
    said: a hop -> the forms of words in which questions may say it (`path_words`), ascending.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    fan_out: Mapping[str, float] = field(default_factory=dict)
    phrases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    joins: Mapping[str, Sequence[str]] = field(default_factory=dict)
    packaged: Mapping[str, Sequence[str]] = field(default_factory=dict)
    said: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def hops(self) -> tuple[Hop, ...]:
        """All hops, in order."""
        return tuple(sorted(Hop(start[1:], start[0] == "-") for start in self.fan_out))

    def kind(self, ends: Iterable[str]) -> str:
        """What stands at these ends, in a word: that of most ends, subjects first; or nothing."""
        known = sorted(end for end in set(ends) if end in self.kinds)
        subject = [self.kinds[end] for end in known if end[0] == "+"]
        either = subject or [self.kinds[end] for end in known]
        return max(either, key=either.count) if either else ""

    def starting(self, ends: Iterable[str]) -> tuple[Hop, ...]:
        """The hops that start at one of these ends."""
        requested = frozenset(ends)
        return tuple(hop for hop in self.hops if hop.start in requested)

    def after(self, hop: Hop) -> tuple[Hop, ...]:
        """The hops that can follow a hop."""
        return self._after[hop]

    @cached_property
    def _after(self) -> dict[Hop, tuple[Hop, ...]]:
        return {hop: self.starting(self.joins.get(hop.end, ())) for hop in self.hops}

    def to_json(self) -> str:
        """The schema as text, of which `json.loads` makes the fields again."""
        return json.dumps(asdict(self))


def read_schema(reader: GraphReader, linked: Iterable[Collection[str]] = ()) -> PathSchema:
    """The schema of the parts of a graph; raises a `StoreError`.

    Each of `linked` are nodes of one thing, perhaps of several graphs, over which paths go on.
    """
    in_use = SchemaInUse(reader)
    uses: defaultdict[str, list[PropertyUse]] = defaultdict(list)
    joins: defaultdict[str, set[str]] = defaultdict(set)
    for part in in_use.parts:
        for use in in_use.with_ends(part, _followed(in_use, part)):
            uses[use.iri].append(use)
        for ends, _ in term_reader(reader, part).rows_for("shared-ends", uses):
            together = ends.value.split()
            for end in together:
                joins[end] |= set(together)
    for together in _ends_of_linked(in_use, [*linked]):
        for end in together & joins.keys():
            joins[end] |= together & joins.keys()
    for end in [*joins]:
        joins[end] |= alike_ends(in_use.ontology, joins[end]) & joins.keys()
    fan_out: dict[str, float] = {}
    for iri, several in uses.items():
        if "+" + iri in joins:
            statements = sum(use.statements for use in several)
            fan_out["+" + iri] = statements / max(1, sum(use.subjects for use in several))
            if "-" + iri in joins:
                fan_out["-" + iri] = statements / max(1, sum(use.objects for use in several))
    properties = {start[1:] for start in fan_out}
    kinds = {end: kind for end, kind in _kinds(in_use, uses).items() if end[1:] in properties}
    names = in_use.names(properties | set(kinds.values())) | _VALUES
    known = _known({iri: names[iri] for iri in properties}, joins)
    alike = {start: start[0] + known[start[1:]] for start in fan_out if start[1:] in known}
    every = common_schema().properties
    own_phrases = annotated(reader)
    worded = {start[1:] for start in (*own_phrases, *packaged_phrases())}
    described = {
        **{iri: OntologyProperty(iri, names[iri]) for iri in properties - worded},
        **{iri: every[other] for iri, other in known.items()},
        **in_use.ontology.properties,
    }
    stated = {
        start: phrases
        for iri, own in described.items()
        for start, phrases in (("+" + iri, own.inverse_phrases), ("-" + iri, own.phrases))
    }
    called = {end: _in_small_letters(names[class_]) for end, class_ in kinds.items()}
    said = said_words(described, every, packaged_model().content, called)
    return PathSchema(
        {iri: names[iri] for iri in sorted(properties)},
        called,
        fan_out,
        {start: list(texts) for start, texts in own_phrases.items() if start in fan_out},
        {start: list(texts) for start, texts in stated.items() if texts and start in fan_out},
        {end: sorted(others) for end, others in joins.items()},
        {start: list(packaged_phrases().get(name, ())) for start, name in alike.items()},
        {start: sorted(said[start]) for start in fan_out if start in said},
    )


def _in_small_letters(label: str) -> str:
    """The label of a class within a sentence: "IT System" is an "IT system"."""
    words = label.split()
    return " ".join(w if len(w) > 1 and w.isupper() else w.lower() for w in words)


def alike_ends(ontology: Schema, ends: Iterable[str]) -> set[str]:
    """Ends of properties, and those at which the same statements could be made.

    They are the ends of equivalent properties, and the other ends of inverse ones.
    """
    turned = {"+": "-", "-": "+"}
    alike = {*ends}
    for end in tuple(alike):
        alike |= {end[0] + iri for iri in ontology.equivalents.get(end[1:], ())}
        alike |= {turned[end[0]] + iri for iri in ontology.inverses.get(end[1:], ())}
    return alike


def _ends_of_linked(in_use: SchemaInUse, linked: Sequence[Collection[str]]) -> set[frozenset[str]]:
    """The ends of properties at which the nodes of one thing stand, together."""
    ends: defaultdict[str, set[str]] = defaultdict(set)
    for node, end in in_use.rows_for("entity-ends", sorted(chain.from_iterable(linked))):
        ends[node.value].add(end.value)
    return {frozenset().union(*(ends[node] for node in nodes)) for nodes in linked}


def _known(names: Mapping[str, str], joins: Container[str]) -> dict[str, str]:
    """Property -> that of the packaged ontology with its name, if both have things, or values."""
    named = {
        iri: common_property(name, is_literal="-" + iri not in joins) for iri, name in names.items()
    }
    return {iri: known.iri for iri, known in named.items() if known}


def said_properties(in_use: SchemaInUse, part: Part) -> list[PropertyUse]:
    """The properties of the statements of a part, the most frequent ones first."""
    used = (use for use in in_use.used(part).properties if use.iri not in _WORDING)
    return sorted(used, key=lambda use: (-use.statements, use.iri))


def _followed(in_use: SchemaInUse, part: Part) -> list[str]:
    """The properties of a part that paths consist of."""
    iris = [use.iri for use in said_properties(in_use, part)[:MOST_PROPERTIES]]
    return [SARAG.relatedTo.value] if not iris and part.name == DOCUMENTS else iris


def _kinds(in_use: SchemaInUse, uses: Mapping[str, Sequence[PropertyUse]]) -> dict[str, str]:
    """The class at each end of a property: the declared one, or else the most frequent one."""
    kinds: dict[str, str] = {}
    for iri, several in uses.items():
        declared = in_use.ontology.properties.get(iri)
        for sign in "+-":
            known = (declared.domains if sign == "+" else declared.ranges) if declared else ()
            counts: Counter[str] = Counter()
            for use in several:
                for term in use.domains if sign == "+" else use.ranges:
                    counts[term.iri] += term.count
            if known:
                kinds[sign + iri] = known[0]
            elif counts:
                kinds[sign + iri] = min(counts, key=lambda class_: (-counts[class_], class_))
    return kinds


def annotated(reader: GraphReader) -> dict[str, list[str]]:
    """The phrases that ontologies and graphs bring along, English ones if there are any."""
    phrases_of: defaultdict[str, set[Any]] = defaultdict(set)
    for property_, annotation, phrase, _ in reader.select_provenance("path-phrases"):
        phrases_of[Hop(property_.value, annotation == SARAG.inversePhrase).start].add(phrase)
    return {
        start: [" ".join(p.value.split()) for p in sorted(phrases, key=by_language)]
        for start, phrases in phrases_of.items()
    }


@cache
def packaged_phrases() -> dict[str, tuple[str, ...]]:
    """The phrases of SKOS and of the packaged ontology, for graphs that bring none."""
    path = ontology_path("phrases.ttl")
    phrases: defaultdict[str, list[str]] = defaultdict(list)
    for quad in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE):
        hop = Hop(iri_of(quad.subject), quad.predicate == SARAG.inversePhrase)
        phrases[hop.start].append(text_of(quad.object))
    return {start: tuple(texts) for start, texts in phrases.items()}


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
GAPS: Final = ("unsaid", "open")
"""What a path leaves open. unsaid: of the words of the question and the hops of the path, the share
of words that say no hop and of hops that no word says. open: 1 if there are any, if the hops are
not said in words of their own, each farther from the topic than those before it, or if the kind of
thing that is asked for is not the one at the end.
"""
CALIBRATION: Final = ("score", *GAPS, "intercept")
_EVEN: Final = dict.fromkeys(CALIBRATION, 0.0)
"""The calibration of a file without one, by which every path is as probable as not."""
_WORD: Final = re.compile(r"[\w'-]+")
_MEASURE: Final = re.compile(r"\bhow (?:long|far|large|tall|big|high|deep|wide)\b", re.IGNORECASE)
"""Questions for a number that is stated; "how many" may ask to count."""
_TIME: Final = re.compile(r"\b(?:what|which) (?:date|day|month|decade|century)\b", re.IGNORECASE)
_IRREGULAR: Final = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "mouse": "mice",
    "life": "lives",
    "wife": "wives",
    "knife": "knives",
    "leaf": "leaves",
    "half": "halves",
    "shelf": "shelves",
    "wolf": "wolves",
    "thief": "thieves",
    "hero": "heroes",
    "quiz": "quizzes",
    "analysis": "analyses",
    "basis": "bases",
    "crisis": "crises",
    "thesis": "theses",
    "hypothesis": "hypotheses",
    "synthesis": "syntheses",
    "criterion": "criteria",
    "phenomenon": "phenomena",
    "monarch": "monarchs",
    "epoch": "epochs",
}
_SEVERAL: Final = frozenset(_IRREGULAR.values())
_UNCOUNTABLE: Final = frozenset(
    "software hardware equipment staff music information research series species aircraft "
    "spacecraft sheep fish police personnel data media headquarters news furniture clothing "
    "legislation knowledge evidence".split()
)
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
    """Templates of phrases, words of questions (``who``: ``person``), weights of `FEATURES`.

    `calibration` has the weights of `probability`.
    """

    version: str
    fitted: str
    question_words: Mapping[str, str]
    asking_words: tuple[str, ...]
    not_asked: tuple[str, ...]
    stop_words: tuple[str, ...]
    prepositions: tuple[str, ...]
    fillers: tuple[str, ...]
    templates: Mapping[str, str]
    weights: Mapping[str, float]
    calibration: Mapping[str, float]

    @property
    def vector(self) -> NDArray[np.float64]:
        """The weights in the order of `FEATURES`."""
        return np.array([self.weights[name] for name in FEATURES])

    def probability(self, score: float, gaps: Sequence[float]) -> float:
        """That a path with this score and these `GAPS` says what is asked, in [0, 1].

        A logistic function of a weighted sum; Platt (1999), "Probabilistic Outputs for Support
        Vector Machines".
        """
        values = (score, *gaps, 1.0)
        weights = (self.calibration[name] for name in CALIBRATION)
        return logistic(sum(w * value for w, value in zip(weights, values, strict=True)))

    def with_weights(self, weights: Sequence[float], version: str, fitted: str) -> PathModel:
        """The same model with other weights."""
        values = {name: round(float(w), 4) for name, w in zip(FEATURES, weights, strict=True)}
        return replace(self, weights=values, version=version, fitted=fitted)

    def calibrated(self, weights: Sequence[float]) -> PathModel:
        """The same model with other weights of `CALIBRATION`."""
        pairs = zip(CALIBRATION, weights, strict=True)
        return replace(self, calibration={name: round(float(w), 4) for name, w in pairs})

    def to_json(self) -> str:
        """The text of a file that `read_model` reads."""
        return json.dumps(asdict(self), indent=2)

    # Phrases

    def words(self, text: str) -> tuple[str, ...]:
        """The words of a text that matter, each once."""
        words = _WORD.findall(text.lower())
        return tuple(dict.fromkeys(word for word in words if word not in self.stop_words))

    def content(self, text: str) -> list[str]:
        """The stems of the words of a text that matter, in order."""
        return stems_of(text, "en", self._passed)

    @cached_property
    def _passed(self) -> frozenset[str]:
        return frozenset(
            (
                *self.stop_words,
                *self.question_words,
                *self.asking_words,
                *self.prepositions,
                *self.fillers,
            )
        ) - {"about", "after", "into", "near"}  # which change what is asked

    def asked(self, question: str) -> str:
        """The kind of thing that a question asks for, in a word; nothing if it does not say so."""
        if _MEASURE.search(question):
            return "number"
        if _TIME.search(question):
            return "year"
        words = _WORD.findall(question.lower())
        for word, following in pairwise([*words, ""]):
            if word in self.question_words:
                return self.question_words[word]
            if word in self.asking_words:
                return "" if following in self.not_asked else following
        return ""

    def phrases(self, schema: PathSchema, hop: Hop) -> tuple[str, ...]:
        """Phrases of a hop: its `names`, and then how texts state it."""
        kinds = plural(schema.kinds.get(hop.end, THING))
        stated = [
            self.templates["stated"].format(kinds=kinds, phrase=phrase)
            for phrase in schema.stated.get(hop.start, ())
        ]
        return tuple(dict.fromkeys([*self.names(schema, hop), *stated]))[:PHRASES]

    def is_worded(self, schema: PathSchema, hop: Hop) -> bool:
        """Whether a hop has a phrase of its own, so that its label needs none."""
        return bool(_annotated_or_packaged(schema, hop))

    def names(self, schema: PathSchema, hop: Hop) -> tuple[str, ...]:
        """Phrases for what a hop leads to: annotated or packaged ones, or else one of the label."""
        if own := _annotated_or_packaged(schema, hop):
            return tuple(own)
        kinds, label = plural(schema.kinds.get(hop.end, THING)), schema.names[hop.predicate]
        name = self._of_label(label, kinds, is_inverse=hop.is_inverse)
        return name, *schema.packaged.get(hop.start, ())

    def words_for(self, schema: PathSchema, hop: Hop) -> frozenset[str]:
        """The forms of words in which a question may say a hop, without the kind at its end."""
        words = set(schema.said.get(hop.start, ()))
        for place, one in enumerate((hop, hop.reverse)):
            for phrase in _annotated_or_packaged(schema, one) or schema.packaged.get(one.start, ()):
                words |= phrase_words(phrase, self.content)[place]
        return frozenset(words)

    def noun_phrase(self, schema: PathSchema, hop: Hop) -> str:
        """The first phrase of a hop that asks nothing: ``directors of``, not ``who directed``."""
        phrases = self.phrases(schema, hop)
        return next((phrase for phrase in phrases if not self._asks(phrase)), phrases[0])

    def is_plural(self, schema: PathSchema, hop: Hop) -> bool:
        """Whether the noun phrase of a hop names several things: ``directors of``."""
        words = self.noun_phrase(schema, hop).split()
        role = words[:-1] if words[-1] in self.prepositions and len(words) > 1 else words
        kinds = plural(schema.kinds.get(hop.end, THING)).split()
        is_several = (
            word in _SEVERAL or (word.endswith("s") and not word.endswith("ss"))
            for word in (role[0], role[-1])
        )
        return role[: len(kinds)] == kinds or any(is_several)

    def _asks(self, phrase: str) -> bool:
        first = phrase.split(maxsplit=1)[0].lower()
        return first in self.question_words or first in (*self.asking_words, "how")

    def _of_label(self, label: str, kinds: str, *, is_inverse: bool) -> str:
        bare = label.removeprefix("has ").removeprefix("is ") or label
        *role, last = bare.split() or [""]
        suffix = "_verb" if last in self.prepositions else ""
        suffix = "_role" if last == "of" and role else suffix
        template = self.templates[("inverse" if is_inverse else "forward") + suffix]
        return template.format(label=bare, kinds=kinds, role=" ".join(role))

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
                self.composed([phrases[at] for phrases, at in zip(known, row, strict=True)], start)
                for row in chosen
            )
        )

    def text_from(self, schema: PathSchema, path: HopSequence, name: str) -> str:
        """A path in words, from an entity with that name."""
        return self.composed([self.noun_phrase(schema, hop) for hop in path], name)

    def composed(self, phrases: Sequence[str], text: str) -> str:
        """The phrases of hops, one after the other, around a text."""
        for phrase in phrases:
            template = self.templates["question" if self._asks(phrase) else "hop"]
            text = template.format(phrase=phrase, rest=text)
        return text


def _annotated_or_packaged(schema: PathSchema, hop: Hop) -> Sequence[str]:
    return tuple(schema.phrases.get(hop.start) or packaged_phrases().get(hop.start, ()))


def plural(noun: str) -> str:
    """The words for several of a kind.

    >>> [plural(noun) for noun in ("city", "grandchild", "step child", "work of art", "software")]
    ['cities', 'grandchildren', 'step children', 'works of art', 'software']
    """
    head, of, rest = noun.partition(" of ")
    *before, last = head.split(" ")
    return " ".join((*before, _plural_of_word(last))) + of + rest


def _plural_of_word(noun: str) -> str:
    if not noun or noun in _UNCOUNTABLE or noun in _SEVERAL:
        return noun
    if several := _IRREGULAR.get(noun):
        return several
    for ending in ("child", "woman"):
        if noun.endswith(ending):
            return noun.removesuffix(ending) + _IRREGULAR[ending]
    for ending, several in _PLURALS:
        if noun.endswith(ending) and not noun.endswith(("ay", "ey", "oy")):
            return noun.removesuffix(ending) + several
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
            f"{path}: not a model of relation paths ({error}): write one with "
            "'sarag evaluate fit-paths --output FILE'"
        ) from error


def _model(data: Mapping[str, Any]) -> PathModel:
    weights = {name: float(data["weights"][name]) for name in FEATURES}
    calibration = {key: float(value) for key, value in data.get("calibration", _EVEN).items()}
    if calibration.keys() != _EVEN.keys():
        raise ValueError(f"the calibration needs {', '.join(CALIBRATION)}")
    if not np.isfinite([*weights.values(), *calibration.values()]).all():
        raise ValueError("a weight is not a finite number")
    templates = {name: str(data["templates"][name]) for name in _TEMPLATES}
    for name, fields in _TEMPLATES.items():
        templates[name].format(**dict.fromkeys(fields, ""))
    lists = ("asking_words", "not_asked", "stop_words", "prepositions", "fillers")
    return PathModel(
        version=str(data["version"]),
        fitted=str(data["fitted"]),
        question_words={str(word): str(kind) for word, kind in data["question_words"].items()},
        templates=templates,
        weights=weights,
        calibration=calibration,
        **{name: tuple(map(str, data[name])) for name in lists},
    )
