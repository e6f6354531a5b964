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
from sarag_rdf.plugins.relation_paths.path_words import verb_before_kind

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
    rf"{_REGULAR}|born|bought|brought|built|caught|chosen|cut|drawn|driven|eaten|fed|flown|found"
    "|given|grown|held|hung|kept|known|led|left|lent|lost|made|meant|paid|run|seen|sent|set|shot"
    "|shown|sold|spent|spoken|stolen|struck|sung|taken|taught|thrown|told|woven|won|worn|written"
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
_AFTER_PARTICIPLES: Final = _PREPOSITIONS | frozenset("of as into after near against".split())
_TIMES: Final = frozenset("year date day month time".split())
_ACTIVE: Final = frozenset(
    "acquires activates affects attends belongs carries causes collects composes connects "
    "contains controls covers creates crosses defines depicts describes develops directs "
    "discovers edits employs encodes exhibits follows governs hosts includes inhabits inherits "
    "inhibits knows leads lists loves maintains makes manages manufactures marries mentions "
    "operates owns performs portrays possesses precedes prevents produces proves provides "
    "publishes receives regulates replaces represents requires runs sells speaks succeeds "
    "supervises teaches translates treats uses wears writes".split()
)
"""Verbs of one thing that are no nouns of several."""
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
    model: PathModel,
    schema: PathSchema,
    ontology: Schema,
    hops: Iterable[Hop],
    kind: str = "",
    end: str = "",
) -> str:
    """A path in words, from the kind of thing at its start: one that is given, or else the usual.

    `end` is the kind of thing at its end, if that is not the usual one. Labels that are verbs make
    clauses: "the languages that the software is written in". A clause is not put into another one:
    "the studios that the film is made by, and the people that they are founded by".
    """
    path = [*hops]
    texts = [model.templates["start"].format(kind=kind or schema.kinds.get(path[0].start, THING))]
    for place, hop in enumerate(path):
        name, of = schema.names[hop.predicate], schema.kinds.get(Hop(hop.predicate).end, THING)
        label = verb_before_kind(name, of)
        usual = schema.kinds.get(hop.end, THING)
        kinds = plural(end if end and place == len(path) - 1 else usual)
        is_paired = label != name or _is_paired(ontology, hop.predicate)
        verb = verb_of(label, is_paired=is_paired, is_literal=of in VALUE_KINDS)
        done = _done(label, of)
        if model.is_worded(schema, hop):
            texts[-1] = model.composed(model.phrases(schema, hop)[:1], texts[-1])
        elif hop.is_inverse:
            verb = f"was {done[1]} in" if done else verb
            texts[-1] = _turned(label, verb, kinds, texts[-1])
        elif clause := _clause(label, verb, done, kinds):
            if _is_several(texts[-1]):
                lead, of_one = clause
                texts.append(f"{lead} that they {_of_several(of_one)}")
            else:
                texts[-1] = " that ".join((clause[0], f"{texts[-1]} {clause[1]}"))
        else:
            texts[-1] = _noun(label, texts[-1], is_value=of in VALUE_KINDS)
    *before, last = texts
    return f"{', '.join(before)}, and {last}" if before else last


def _clause(
    label: str, verb: str | None, done: tuple[str, str] | None, kinds: str
) -> tuple[str, str] | None:
    """What a property leads to, and the verb of one thing; None if its label is a noun."""
    if verb:
        return f"the {kinds}", verb
    if done:
        return f"the {done[0]}", f"was {done[1]}"
    if role := _role(label):
        article = "" if role == "part" else "an " if role[0] in "aeiou" else "a "
        return f"the {kinds}", f"is {article}{role} of"
    return None


def _turned(label: str, verb: str | None, kinds: str, text: str) -> str:
    """The things of a kind of which a property leads to what a text says."""
    if verb:
        return f"the {kinds} that {_of_several(verb)} {text}"
    if role := _role(label):
        return f"the {plural(role) if role == 'part' or _is_several(text) else role} of {text}"
    if _is_several(text):
        return f"the {kinds} with a {_bare(label)} among {text}"
    if label.rpartition(" ")[2] in _PREPOSITIONS:
        return f"the {kinds} with {label} {text}"
    return f"the {kinds} with {text} as {_bare(label)}"


def _noun(label: str, text: str, *, is_value: bool) -> str:
    """What a property leads to from what a text says, if its label is no verb."""
    if label.rpartition(" ")[2] in _PREPOSITIONS:
        return f'what is given as "{label}" for {text}'
    noun = _bare(label)
    return f"the {plural(noun) if _is_several(text) and not is_value else noun} of {text}"


def _done(label: str, kind: str) -> tuple[str, str] | None:
    """What is done at a time, and the word for that: "year made", or "founded" of a year."""
    noun, _, participle = label.rpartition(" ")
    is_time = noun in _TIMES or (not noun and kind in _TIMES)
    return (noun or kind, participle) if is_time and is_participle(participle) else None


def _bare(label: str) -> str:
    """A label as a noun: "has genre" is a genre."""
    return label.removeprefix("has ").removeprefix("is ") or label


def _role(label: str) -> str:
    """What a thing is of another: "pupil of"; empty if a label does not say that."""
    return _bare(label).removesuffix(" of") if label.endswith(" of") else ""


def _is_several(text: str) -> bool:
    """Whether a text has a clause or another addition, so that it names several things."""
    return text.startswith("the parts ") or any(f" {word} " in text for word in ("that", "with"))


def verb_of(label: str, *, is_paired: bool = False, is_literal: bool = False) -> str | None:
    """A label as the verb of one thing, if it surely is a verb.

    With `is_paired` its inverse is a passive, and with `is_literal` it leads to values.

    >>> [verb_of(text) for text in ("written in", "depends on", "received", "capital of")]
    ['is written in', 'depends on', 'received', None]
    """
    *before, last = label.split() or [""]
    if not before:
        is_active = _PAST.fullmatch(last) and last not in _NOT_ACTIVE and not is_literal
        is_present = last in _ACTIVE or (is_paired and _is_third_person(last))
        return label if is_active or is_present else None
    return _before_preposition(before, last) if last in _AFTER_PARTICIPLES else None


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
    is_active = preposition in _PREPOSITIONS - {"by"} and _is_third_person(last)
    return label if is_active else None


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
    if rest[:1] in (["a"], ["an"]):  # "is a pupil of"
        return " ".join((_IRREGULAR[first], plural(" ".join(rest[1:-1])), rest[-1]))
    if several := _IRREGULAR.get(first):
        return " ".join((several, *rest))
    for ending, stem in _ENDINGS:
        if first.endswith(ending):
            return " ".join((first.removesuffix(ending) + stem, *rest))
    return verb
