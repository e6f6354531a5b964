"""Activation rules: annotations of properties and classes that steer spreading activation.

``sarag:activationWeight`` (0 to 4; 1 changes nothing, 0 cuts), ``sarag:activationDirection``
("both", "forward" from subject to object, or "backward"), and ``sarag:activationDecay`` (0 to 1, in
place of the retriever's). In Collins and Loftus (1975), too, activation depends on the kind of an
association.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from pyoxigraph import Triple

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.vocab import SARAG

MAX_WEIGHT = 4.0
Direction = Literal["both", "forward", "backward"]


@dataclass(frozen=True, slots=True)
class ActivationRule:
    """The annotations of one property or class.

    weight: in [0, 4]. direction: in which activation passes between subject and object of a
    property; meaningless for a class. decay: in [0, 1]; None is the retriever's.
    """

    weight: float = 1.0
    direction: Direction = "both"
    decay: float | None = None

    @property
    def factors(self) -> tuple[float, float]:
        """The factors from subject to object, and from object to subject."""
        forward = self.weight if self.direction != "backward" else 0.0
        backward = self.weight if self.direction != "forward" else 0.0
        return forward, backward


Rules = Mapping[str, ActivationRule]
"""IRI of a property or class -> its rule."""


ANNOTATIONS = (SARAG.activationWeight, SARAG.activationDirection, SARAG.activationDecay)


def has_rules(triples: Iterable[Triple]) -> bool:
    """Whether there is an annotation of this kind; an ontology may consist of nothing else."""
    return any(triple.predicate in ANNOTATIONS for triple in triples)


def rules_of(annotations: Iterable[tuple[Any, ...]]) -> Rules:
    """The rules of (term, annotation, value); raises `UsageError` for a value that is not allowed.

    Of several values of one annotation, the last in ascending order counts.
    """
    rules: defaultdict[str, ActivationRule] = defaultdict(ActivationRule)
    for term, annotation, value in sorted(annotations, key=lambda row: [str(cell) for cell in row]):
        rules[term.value] = _with_annotation(rules[term.value], term.value, annotation, value.value)
    return dict(rules)


def _with_annotation(
    rule: ActivationRule, term: str, annotation: Any, value: str
) -> ActivationRule:
    if annotation == SARAG.activationDirection:
        if value not in get_args(Direction):
            raise UsageError(
                f"the activation direction of <{term}> must be both, forward or backward, "
                f"not '{value}': correct the ontology"
            )
        direction: Any = value
        return replace(rule, direction=direction)
    is_weight = annotation == SARAG.activationWeight
    name, highest = ("weight", MAX_WEIGHT) if is_weight else ("decay", 1.0)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= highest:
        raise UsageError(
            f"the activation {name} of <{term}> must be a number between 0 and {highest:g}, not "
            f"'{value}': correct the ontology"
        )
    return replace(rule, weight=number) if is_weight else replace(rule, decay=number)


def check_weight(term: str, weight: float) -> float:
    """The weight; raises `UsageError` unless it lies in [0, 4]."""
    if not (math.isfinite(weight) and 0.0 <= weight <= MAX_WEIGHT):
        raise UsageError(
            f"the activation weight of {term} must be a number between 0 and 4, not {weight:g}"
        )
    return weight


def with_weights(rules: Rules, weights: Iterable[tuple[str, float]]) -> Rules:
    """The rules with other weights of some terms, for one search."""
    changed = dict(rules)
    for term, weight in weights:
        rule = changed.get(term, ActivationRule())
        changed[term] = replace(rule, weight=check_weight(f"<{term}>", weight))
    return changed


def weights_text(rules: Rules) -> str:
    """The rules as one line, as they are recorded with a result."""
    parts = []
    for term, rule in sorted(rules.items()):
        direction = f" {rule.direction}" if rule.direction != "both" else ""
        decay = f" decay {rule.decay:g}" if rule.decay is not None else ""
        parts.append(f"<{term}>={rule.weight:g}{direction}{decay}")
    return ", ".join(parts)
