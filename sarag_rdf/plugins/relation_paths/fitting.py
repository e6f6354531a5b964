"""The weights and the calibration of relation paths, fitted on questions with known answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.base.arrays import Floats
from sarag_rdf.base.errors import InputError
from sarag_rdf.plugins.relation_paths.path_model import CALIBRATION, FEATURES, GAPS, PathModel
from sarag_rdf.plugins.relation_paths.paths import Paths

_RIDGE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Example:
    """The features of the paths of one question that lead anywhere, the F1 and properties of each.

    In order of the scores by the weights with which the paths were found; `gaps` has the shape
    (paths, 2).
    """

    features: Floats
    f1: Floats
    properties: tuple[frozenset[str], ...]
    gaps: Floats

    @property
    def is_answered(self) -> bool:
        return bool((self.f1 > 0).any())


def fitted(some: Sequence[Example]) -> Floats:
    """Weights of `FEATURES` that give the best path of each question the highest probability.

    The softmax over the paths of a question is a conditional logit model (McFadden 1974), fitted
    with a small ridge on standardized features.
    """
    from scipy.optimize import minimize

    used = [example for example in some if example.is_answered]
    if not used:
        raise InputError(
            "no question has a path to one of its answers: check that --kg and --over name the "
            "graph of the questions"
        )
    rows = np.concatenate([e.features for e in used])
    is_best = np.concatenate([e.f1 >= e.f1.max() - 1e-9 for e in used])
    sizes = [len(e.f1) for e in used]
    starts = np.cumsum([0, *sizes[:-1]])
    scale = rows.std(axis=0)
    scale[scale == 0] = 1.0
    rows = rows / scale

    def loss(weights: Floats) -> tuple[float, Floats]:
        """The negative mean log-likelihood with its gradient."""
        scores = rows @ weights
        best = np.where(is_best, scores, -np.inf)
        every, right = (np.logaddexp.reduceat(each, starts) for each in (scores, best))
        surplus = np.exp(scores - np.repeat(every, sizes)) - np.exp(best - np.repeat(right, sizes))
        value = (every - right).mean() + _RIDGE / 2 * weights @ weights
        return float(value), surplus @ rows / len(used) + _RIDGE * weights

    optimum = minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B")
    return np.asarray(optimum.x / scale)


class Shares(NamedTuple):
    """The shares of right and of wrong paths that are followed, in [0, 1]; 0 of none."""

    right: float
    wrong: float


class Offers(NamedTuple):
    """Paths that would be answered with: the score and `GAPS` of each, and whether it is right."""

    rows: Floats
    is_right: NDArray[np.bool_]

    def shares(self, model: PathModel, least: float) -> Shares:
        """Of the paths that are at least that probable."""
        rows = self.rows.tolist()
        probable = np.array([model.probability(row[0], row[1:]) >= least for row in rows], bool)
        both = (probable[some] for some in (self.is_right, ~self.is_right))
        return Shares(*(float(some.mean()) if len(some) else 0.0 for some in both))


def offers(some: Iterable[Example], weights: Floats) -> Offers:
    """The best path of each question; and the best without each property of the right path.

    The latter stand for the questions that a graph has no path for: they are wrong. A path is right
    if its F1 is more than 1/2.
    """
    rows, right = [], []
    for example in (example for example in some if len(example.f1)):
        own = example.features @ weights
        offered = np.column_stack((own, example.gaps))
        rows.append(offered[own.argmax()])
        right.append(example.f1[own.argmax()] > 1 / 2)
        best = int(example.f1.argmax())
        for property_ in example.properties[best] if example.f1[best] > 1 / 2 else ():
            others = [at for at, used in enumerate(example.properties) if property_ not in used]
            if others:
                rows.append(offered[others[own[others].argmax()]])
                right.append(False)
    return Offers(np.array(rows).reshape(len(rows), 1 + len(GAPS)), np.array(right, bool))


def calibrated(model: PathModel, offered: Sequence[Offers]) -> PathModel:
    """The model with the probability of paths, if right and wrong ones were equally many.

    All sets of paths have the same weight. Logistic regression with Platt's targets, which keep it
    finite where the score separates right from wrong, and a small ridge on standardized variables.
    """
    from scipy.optimize import minimize

    rows = np.concatenate([own.rows for own in offered])
    is_right = np.concatenate([own.is_right for own in offered])
    if len(np.unique(is_right)) < 2:
        return model.calibrated([0.0] * len(CALIBRATION))
    sizes = np.array([(~is_right).sum(), is_right.sum()])
    target = np.where(is_right, (sizes[1] + 1) / (sizes[1] + 2), 1 / (sizes[0] + 2))
    share = np.concatenate([_shares(own.is_right) for own in offered])
    share /= share.sum()
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    rows = np.column_stack(((rows - centre) / scale, np.ones(len(rows))))
    ridge = np.array([_RIDGE] * len(scale) + [0.0])

    def loss(weights: Floats) -> tuple[float, Floats]:
        """The cross entropy with its gradient."""
        logits = rows @ weights
        surplus = share * (1 / (1 + np.exp(-logits)) - target)
        value = share @ (np.logaddexp(0.0, logits) - target * logits) + ridge @ weights**2 / 2
        return float(value), surplus @ rows + ridge * weights

    *slopes, intercept = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    slopes = np.array(slopes) / scale
    return model.calibrated([*slopes, intercept - slopes @ centre])


def _shares(is_right: NDArray[np.bool_]) -> Floats:
    """The weights of the paths of one set: right and wrong ones have the same together."""
    sizes = np.array([(~is_right).sum(), is_right.sum()])
    shares: Floats = 1 / (2 * np.maximum(1, sizes)[is_right.astype(int)])
    return shares


def mean_f1(some: Sequence[Example], weights: Floats) -> float:
    """The mean F1 of the path that the weights choose; 0 for a question without one."""
    return fmean(
        float(e.f1[int(np.argmax(e.features @ weights))]) if len(e.f1) else 0.0 for e in some
    )


class Fit(NamedTuple):
    """A fitted model, and the mean F1 of each file of questions.

    `left_out` are by weights fitted on the other half of the questions, `all` by the model.
    `offered` are the shares of right and wrong paths of each file that are followed, which are at
    least as probable as the option says, by a calibration on the other files.
    """

    model: PathModel
    left_out: tuple[float, ...]
    all: tuple[float, ...]
    offered: tuple[Shares, ...]


def fit_model(model: PathModel, files: Sequence[Sequence[Example]], version: str, data: str) -> Fit:
    """Fit weights on all questions, and on each half, to report the F1 of the other half.

    Raises `InputError` if no question of a half has a path to one of its answers.
    """
    weights = fitted([*chain(*files)])
    halves = [[e for some in files for e in some[own::2]] for own in (0, 1)]
    if not all(any(e.is_answered for e in half) for half in halves):
        raise InputError(
            "too few questions have a path to one of their answers: every other question is left "
            "out in turn, and those that remain have none; give more questions"
        )
    weights_of_other = [fitted(half) for half in reversed(halves)]
    left_out = []
    for some in files:
        own = [(some[at::2], weights_of_other[at]) for at in (1, 0)]
        left_out.append(sum(mean_f1(e, w) * len(e) for e, w in own if e) / len(some))
    model = model.with_weights(weights.tolist(), version, data)
    model = calibrated(model, [offers(some, model.vector) for some in files])
    return Fit(
        model,
        tuple(left_out),
        tuple(mean_f1(some, weights) for some in files),
        tuple(offered_of(model, files, Paths().least)) if len(files) > 1 else (),
    )


def offered_of(
    model: PathModel, files: Sequence[Sequence[Example]], least: float
) -> Iterator[Shares]:
    """The shares of each file by a calibration on the others."""
    offered = [offers(own, model.vector) for own in files]
    for at, own in enumerate(offered):
        yield own.shares(calibrated(model, [*offered[:at], *offered[at + 1 :]]), least)
