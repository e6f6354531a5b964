"""A relation path as a person would say it; `PathModel` words it for comparison with questions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.plugins.relation_paths.path_model import (
    THING,
    VALUE_KINDS,
    Hop,
    PathModel,
    PathSchema,
    plural,
)

_PREPOSITIONS: Final = frozenset("by in at on to from with for under about".split())
_REGULAR: Final = (
    r"(?!(?:hundred|infrared|moped|biped|(?:sea|river|test)bed|watershed)$)\w+[^\We]ed"
)
"""A past tense or participle; "speed", "breed" and "seed" are nouns."""
_PAST: Final = re.compile(
    rf"{_REGULAR}|began|bought|built|chose|drew|gave|held|led|left|lost|made|met|sold|taught|took"
    "|won|wrote"
)
_PARTICIPLE: Final = re.compile(
    rf"{_REGULAR}|born|bought|built|caught|chosen|drawn|driven|flown|found|given|grown|held|kept"
    "|known|led|left|lost|made|paid|run|seen|sent|shown|sold|spoken|sung|taken|taught|thrown|told"
    "|won|worn|written"
)
_NEVER_PASSIVE: Final = frozenset(
    "appeared arrived belonged collaborated competed contributed debuted departed depended "
    "died emigrated existed graduated happened immigrated lived migrated occurred originated "
    "participated resided retired served studied worked".split()
)
"""Past tenses of what is not done to anything: "worked for", and not "is worked for"."""
_NOT_ACTIVE: Final = _NEVER_PASSIVE | frozenset(
    "associated based called connected dated headquartered located named related situated".split()
)
"""Past tenses without an object, and participles of what nobody does: "located"."""
_THIRD_PERSON: Final = re.compile(r"(?!(?:\w+ics|series|species|news|lens)$)\w+[^\Wsui]s")
_AUXILIARIES: Final = {"is": "are", "are": "are", "was": "were", "were": "were", "has": "have"}
_IRREGULAR: Final = _AUXILIARIES | {
    "dies": "die",
    "does": "do",
    "focuses": "focus",
    "goes": "go",
    "lies": "lie",
    "ties": "tie",
    "undergoes": "undergo",
}
_ENDINGS: Final = (
    *(("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("zzes", "zz")),
    *(("ss", "ss"), ("s", "")),
)
"""Ends of verbs of one thing, and of several."""


def spoken(
    model: PathModel, schema: PathSchema, ontology: Schema, hops: Iterable[Hop], kind: str = ""
) -> str:
    """A path in words, from the kind of thing at its start: one that is given, or else the usual.

    Labels that are verbs make clauses: "the languages that the software is written in".
    """
    first, *_ = path = [*hops]
    text = model.templates["start"].format(kind=kind or schema.kinds.get(first.start, THING))
    for hop in path:
        clause = None if model.is_worded(schema, hop) else _clause(schema, ontology, hop, text)
        text = clause or model.composed(model.phrases(schema, hop)[:1], text)
    return text


def _clause(schema: PathSchema, ontology: Schema, hop: Hop, text: str) -> str | None:
    """What a hop leads to from what a text says; None if its label is no verb."""
    is_literal = schema.kinds.get(Hop(hop.predicate).end) in VALUE_KINDS
    is_paired = _is_paired(ontology, hop.predicate)
    verb = verb_of(schema.names[hop.predicate], is_paired=is_paired, is_literal=is_literal)
    if verb is None:
        return None
    kinds = plural(schema.kinds.get(hop.end, THING))
    if hop.is_inverse:
        return f"the {kinds} that {_of_several(verb)} {text}"
    return f"the {kinds} that {text} {verb}"


def verb_of(label: str, *, is_paired: bool = False, is_literal: bool = False) -> str | None:
    """A label as the verb of one thing, if it surely is a verb.

    With `is_paired` its inverse is a passive, and with `is_literal` it leads to values.

    >>> [verb_of(text) for text in ("written in", "depends on", "received", "capital of")]
    ['is written in', 'depends on', 'received', None]
    """
    *before, last = label.split() or [""]
    if not before:
        is_active = _PAST.fullmatch(last) and last not in _NOT_ACTIVE and not is_literal
        is_paired_verb = is_paired and _is_third_person(last)
        return label if is_active or is_paired_verb else None
    return _before_preposition(before, last) if last in _PREPOSITIONS else None


def is_participle(label: str) -> bool:
    """Whether a label is a participle only, as "founded" may be."""
    return _PARTICIPLE.fullmatch(label) is not None


def _before_preposition(words: list[str], preposition: str) -> str | None:
    """Words with the preposition behind them as the verb of one thing, if they surely are one."""
    label = " ".join((*words, preposition))
    first, *others = words
    if first in _AUXILIARIES:
        return label if others else None
    *adverbs, last = words
    if not all(word.endswith("ly") for word in adverbs):
        return None
    if last in _NEVER_PASSIVE and preposition != "by":
        return label
    if _PARTICIPLE.fullmatch(last):
        return f"is {label}"
    return label if preposition != "by" and _is_third_person(last) else None


def _is_third_person(word: str) -> bool:
    return _THIRD_PERSON.fullmatch(word) is not None


def _is_paired(ontology: Schema, property_: str) -> bool:
    """Whether its inverse is a passive: "uses" and "used by"."""
    others = (ontology.properties.get(iri) for iri in ontology.inverses.get(property_, ()))
    return any(other is not None and other.label.endswith(" by") for other in others)


def _of_several(verb: str) -> str:
    """The verb of several things.

    >>> [_of_several(verb) for verb in ("is written in", "lies on", "carries", "received")]
    ['are written in', 'lie on', 'carry', 'received']
    """
    first, *rest = verb.split()
    if several := _IRREGULAR.get(first):
        return " ".join((several, *rest))
    for ending, stem in _ENDINGS:
        if first.endswith(ending):
            return " ".join((first.removesuffix(ending) + stem, *rest))
    return verb
