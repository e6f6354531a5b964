"""The default retriever with each of its ingredients removed: what is lost without it.

Takes indexed graphs of one corpus, such as one for each extractor, and the files that
``sarag evaluate retrieval`` takes::

    python -m benchmarks.ablation --corpus corpus.json --questions questions.json \\
        --kg kg-spacy --kg kg-openie

What is left is tuned anew, and so is the whole: `gain` and `c` are those of a small grid
(`GAINS`, `QUANTILES`) with the highest mean of R@5 and R@10 over all graphs given, one setting for
all of them; among equals the first, and the defaults stand first. So an ingredient counts for what
nothing else makes up for. The same questions serve to tune and to tell: the figures flatter every
row alike.

Prints Markdown: recall in percent, and the difference in R@5 to the whole with its 95% interval
(paired bootstrap). Then how far the ranking depends on taking the calibration's quantiles and
moments from a sample of vectors: a ranking by all of them is held against it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

import sarag_rdf
from sarag_rdf.base.arrays import Rows
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.ports import Matrix, Table
from sarag_rdf.base.vocab import PROV, SARAG
from sarag_rdf.graph.vectors.search_indexes import ExactIndex
from sarag_rdf.kg.registry import GraphRetriever
from sarag_rdf.plugins.evaluation.datasets import (
    Corpus,
    Question,
    read_corpus,
    read_questions,
)
from sarag_rdf.plugins.evaluation.measures import figures, mean, paired_interval
from sarag_rdf.retrieval import sarag
from sarag_rdf.retrieval.activation import NONE, Activation, Pass, Rates, Round, Spreading
from sarag_rdf.retrieval.network import (
    DESCRIBES,
    RELATED_TO,
    ArrayNetwork,
    EdgeKind,
    Edges,
    Network,
)
from sarag_rdf.retrieval.sarag import Sarag
from sarag_rdf.retrieval.view import GraphView

KS = (2, 5, 10)
SHOWN = ("R@2", "R@5", "R@10", "all@5")
GAINS = (0.4, 0.6, 0.3)
QUANTILES = (0.98, 0.99, 0.95)

Floats = NDArray[np.float64]
Options = Mapping[str, float]
Ranking = list[int | None]
"""The passage of each document that was returned."""
Patch = tuple[object, str, object]
"""Of what, which attribute, its value."""

_TITLES_APART = f"""
SELECT DISTINCT ?document ?entity WHERE {{
  ?document <{SARAG.titleMention.value}>/<{SARAG.refersTo.value}> ?entity
  FILTER NOT EXISTS {{
    ?document ^<{PROV.wasDerivedFrom.value}>/<{SARAG.useOf.value}>/<{SARAG.refersTo.value}> ?entity
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph by its name; `titled` are (document, entity) that only a title joins."""

    name: str
    view: GraphView
    titled: frozenset[tuple[str, str]]


# -------------------------------------------------------------------- What can be removed


def _undivided(_: Network, entities: Rows) -> Rows:
    """Every entity counts as described by one document."""
    return np.ones(len(entities), dtype=np.int64)


_rounds = Spreading.rounds
_to_documents = Spreading._to_documents


def _rounds_from_documents(
    self: Spreading, sources: Activation, _: Activation, count: int, beam: int
) -> list[Round]:
    """Does not start at the entities that the question names."""
    return _rounds(self, sources, NONE, count, beam)


def _to_documents_with_echo(self: Spreading, active: Activation, _: Activation) -> Pass:
    return _to_documents(self, active, NONE)


def _ungated(similarities: Floats, *_: float) -> Floats:
    return np.ones(len(similarities))


def _changed(network: Network, kind: EdgeKind, edges: Edges) -> Network:
    others = {each: network.edges(each) for each in network.kinds}
    return ArrayNetwork.of(network.iris, {**others, kind: edges})


def _unlinked(graph: Graph) -> Network:
    """No relationship joins two entities."""
    return _changed(graph.view.network, RELATED_TO, Edges.of([], []))


def _untitled(graph: Graph) -> Network:
    network = graph.view.network
    iris, edges = network.iris, network.edges(DESCRIBES)
    left = [
        (iris.documents[document], iris.entities[entity]) not in graph.titled
        for document, entity in edges.pairs().tolist()
    ]
    return _changed(network, DESCRIBES, edges.take(np.array(left, dtype=np.bool_)))


def _all_vectors(index: ExactIndex) -> Matrix:
    return index.vectors(np.arange(len(index)))


def _rates(**values: float) -> tuple[Patch, ...]:
    return ((sarag, "Rates", partial(Rates, **values)),)


@dataclass(frozen=True, slots=True)
class Ingredient:
    """What is removed, and how: options, another network, or values of modules."""

    name: str
    options: Options = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()
    network: Callable[[Graph], Network] | None = None

    @contextmanager
    def removed(self, graph: Graph) -> Iterator[None]:
        """While this lasts the graph and the library are without it."""
        with ExitStack() as stack:
            if self.network:
                network = self.network(graph)
                stack.enter_context(patch.object(graph.view, "network", network))
            for target, name, value in self.patches:
                stack.enter_context(patch.object(target, name, value))
            yield


WHOLE = Ingredient("nothing")
EXHAUSTIVE = Ingredient(
    "sampling of the calibration", patches=((ExactIndex, "_sample", property(_all_vectors)),)
)
INGREDIENTS = (
    Ingredient("activation", {"gain": 0.0}),
    Ingredient("second round", {"n": 1}),
    Ingredient("documents as seeds", {"k": 0}),
    Ingredient("named entities as seeds", patches=((Spreading, "rounds", _rounds_from_documents),)),
    Ingredient("relationships between entities", network=_unlinked),
    Ingredient("gate of relationships", patches=((sarag, "calibrated", _ungated),)),
    Ingredient("document frequency", patches=((ArrayNetwork, "frequencies", _undivided),)),
    Ingredient("titles' names", network=_untitled),
    Ingredient("topics", patches=_rates(topic_weight=Rates().mention_weight)),
    Ingredient("removal of echo", patches=((Spreading, "_to_documents", _to_documents_with_echo),)),
    Ingredient("masking of names", patches=((sarag, "MASK", 0.0),)),
    Ingredient("BM25", patches=((sarag, "WORDS", 0.0),)),
    EXHAUSTIVE,
)


def grid(ingredient: Ingredient) -> list[Options]:
    """The settings that are tried, the defaults first; without a gain `c` may still count."""
    gains = (0.0,) if ingredient.options.get("gain") == 0.0 else GAINS
    return [
        {**ingredient.options, "gain": gain, "c": c}
        for gain, c in itertools.product(gains, QUANTILES)
    ]


# ---------------------------------------------------------------------------- Measuring


@dataclass(frozen=True, slots=True)
class Run:
    """What one setting gave on one graph: rankings and figures by question."""

    rankings: list[Ranking]
    rows: list[dict[str, float]]

    def mean(self, name: str) -> float:
        return mean(self.rows, name) or 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """The best setting of an ingredient's grid, and its run on each graph."""

    ingredient: Ingredient
    options: Options
    runs: list[Run]
    defaults: list[Run]


def measure(
    ingredient: Ingredient,
    graphs: Sequence[Graph],
    corpus: Corpus,
    questions: Sequence[Question],
) -> Result:
    """Try the grid on all graphs."""
    settings = grid(ingredient)
    by_graph: list[list[Run]] = []
    for graph in graphs:
        with ingredient.removed(graph):
            by_graph.append([_run(graph.view, s, corpus, questions) for s in settings])
    runs = [list(column) for column in zip(*by_graph, strict=True)]
    best = best_of(runs)
    return Result(ingredient, settings[best], runs[best], runs[0])


def best_of(settings: Sequence[Sequence[Run]]) -> int:
    """The place of the setting with the highest mean of R@5 and R@10 over its graphs."""
    heights = [
        fmean(run.mean(name) for run in runs for name in ("R@5", "R@10")) for runs in settings
    ]
    return max(range(len(heights)), key=lambda place: round(heights[place], 9))


def _run(
    view: GraphView,
    options: Mapping[str, Any],
    corpus: Corpus,
    questions: Sequence[Question],
) -> Run:
    retriever = Sarag(limit=max(KS), explain=False, **options)
    rankings: list[Ranking] = []
    for question in questions:
        ranked = (d.document for d in retriever.retrieve(view, question.query).documents)
        rankings.append([corpus.index_of_part(d.title, d.text) for d in ranked])
    supporting = [corpus.support_of(question) for question in questions]
    return Run(rankings, figures(supporting, rankings, KS))


def agreement(ours: Sequence[Ranking], theirs: Sequence[Ranking]) -> tuple[float, float]:
    """Means over questions: the overlap of two rankings, and Kendall's tau of what both have."""
    overlaps, taus = [], []
    for a, b in zip(ours, theirs, strict=True):
        both = [passage for passage in a if passage in b]
        overlaps.append(len(both) / max(len(a), len(b), 1))
        if len(both) > 1:
            taus.append(kendalltau(range(len(both)), [b.index(p) for p in both]).statistic)
    return fmean(overlaps), fmean(taus) if taus else 1.0


# ------------------------------------------------------------------------------ Telling


def table(results: Sequence[Result], graphs: Sequence[Graph]) -> Iterator[str]:
    """Markdown; the first result is the whole."""
    heads = [f"{g.name} {name}" for g in graphs for name in (*SHOWN, "R@5 to the whole")]
    yield f"| removed | gain, c | {' | '.join(heads)} |"
    yield f"| --- | --- |{' ---: |' * len(heads)}"
    whole = results[0]
    for result in results:
        cells = [f"{result.options['gain']:g}, {result.options['c']:g}"]
        for run, base in zip(result.runs, whole.runs, strict=True):
            cells += [f"{100 * run.mean(name):.1f}" for name in SHOWN]
            cells.append("" if result is whole else difference(run, base))
        yield f"| {result.ingredient.name} | {' | '.join(cells)} |"


def difference(ours: Run, theirs: Run) -> str:
    """The mean difference in R@5 with its 95% interval, in percentage points."""
    pairs = [
        (a["R@5"], b["R@5"]) for a, b in zip(ours.rows, theirs.rows, strict=True) if "R@5" in a
    ]
    left, right = zip(*pairs, strict=True)
    middle, low, high = (100 * value for value in paired_interval(left, right, seed=0))
    return f"{middle:+.1f} [{low:+.1f}, {high:+.1f}]"


def remarks(results: Sequence[Result], graphs: Sequence[Graph]) -> Iterator[str]:
    """How sampling agrees with exhaustion; and what did nothing, lest a removal fail unseen."""
    whole = results[0]
    for result in results[1:]:
        for graph, ours, theirs in zip(graphs, result.defaults, whole.defaults, strict=True):
            if result.ingredient is EXHAUSTIVE:
                overlap, tau = agreement(ours.rankings, theirs.rankings)
                yield (
                    f"{graph.name}: sampled and exhaustive calibration share {100 * overlap:.1f}% "
                    f"of their first {max(KS)} documents; Kendall's tau of these {tau:.3f}"
                )
            elif ours.rankings == theirs.rankings:
                yield f"{graph.name}: without {result.ingredient.name} every ranking is the same"


def load(folder: Path, stack: ExitStack) -> Graph:
    """Open a graph for as long as the stack lasts."""
    kg = stack.enter_context(sarag_rdf.open(folder))
    retriever = kg.retriever("sarag")
    assert isinstance(retriever, GraphRetriever)
    titled = kg.query(_TITLES_APART)
    assert isinstance(titled, Table)
    pairs = frozenset((document.value, entity.value) for document, entity in titled.rows)
    return Graph(folder.name, retriever.view, pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--kg", type=Path, required=True, action="append", help="repeatable")
    options = parser.parse_args(arguments)
    try:
        with ExitStack() as stack:
            corpus = read_corpus(options.corpus)
            questions = read_questions(options.questions).questions
            graphs = [load(folder, stack) for folder in options.kg]
            results = []
            for ingredient in (WHOLE, *INGREDIENTS):
                print(f"without {ingredient.name}", file=sys.stderr, flush=True)
                results.append(measure(ingredient, graphs, corpus, questions))
    except SaragError as error:
        print(f"ablation: {error}", file=sys.stderr)
        return 1
    print(*table(results, graphs), "", *remarks(results, graphs), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
