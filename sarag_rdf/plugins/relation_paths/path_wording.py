"""A relation path as a person would say it; `PathModel` words it for comparison with questions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.plugins.relation_paths.path_model import THING, Hop, PathModel, PathSchema, plural

_PAST: Final = re.compile(
    r"\w+ed|began|bought|built|chose|drew|gave|held|led|left|lost|made|met|sold|taught|took|won|wrote"
)
_THIRD_PERSON: Final = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"))


def spoken(model: PathModel, schema: PathSchema, ontology: Schema, hops: Iterable[Hop]) -> str:
    """A path in words, from the kind of thing at its start.

    Labels that are verbs make clauses: "the languages that the software is written in".
    """
    first, *_ = path = [*hops]
    text = model.templates["start"].format(kind=schema.kinds.get(first.start, THING))
    for hop in path:
        clause = None if model.is_worded(schema, hop) else _clause(schema, ontology, hop, text)
        text = clause or model.composed(model.phrases(schema, hop)[:1], text)
    return text


def _clause(schema: PathSchema, ontology: Schema, hop: Hop, text: str) -> str | None:
    """What a hop leads to from what a text says; None if its label is no verb."""
    verb = _verb(schema.names[hop.predicate], is_paired=_is_paired(ontology, hop.predicate))
    if verb is None:
        return None
    kinds = plural(schema.kinds.get(hop.end, THING))
    if hop.is_inverse:
        return f"the {kinds} that {_of_several(verb)} {text}"
    return f"the {kinds} that {text} {verb}"


def _verb(label: str, *, is_paired: bool) -> str | None:
    """A label as the verb of one thing, if it is a verb.

    >>> [_verb(t, is_paired=False) for t in ("written in", "depends on", "received", "capital of")]
    ['is written in', 'depends on', 'received', None]
    """
    *before, last = label.removeprefix("is ").split()
    if before and last in ("by", "in", "at", "on", "to", "from", "with", "for", "under", "about"):
        return label if label.startswith("is ") or before[0].endswith("s") else f"is {label}"
    is_verb = not before and (_PAST.fullmatch(last) or (is_paired and last.endswith("s")))
    return label if is_verb else None


def _is_paired(ontology: Schema, property_: str) -> bool:
    """Whether its inverse is a passive: "uses" and "used by"."""
    others = (ontology.properties.get(iri) for iri in ontology.inverses.get(property_, ()))
    return any(other is not None and other.label.endswith(" by") for other in others)


def _of_several(verb: str) -> str:
    """The verb of several things.

    >>> [_of_several(verb) for verb in ("is written in", "depends on", "carries", "received")]
    ['are written in', 'depend on', 'carry', 'received']
    """
    first, *rest = verb.split()
    if first == "is":
        first = "are"
    for ending, stem in (*_THIRD_PERSON, ("s", "")):
        if first.endswith(ending):
            first = first.removesuffix(ending) + stem
            break
    return " ".join((first, *rest))
