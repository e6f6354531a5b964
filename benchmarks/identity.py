"""Mix-ups and duplicates that are made on purpose: how many are found, and how often rightly.

    python -m benchmarks.identity mix-ups --corpus corpus.json --work FOLDER [--fit]
    python -m benchmarks.identity duplicates --corpus corpus.json --work FOLDER [--fit]

Passages are indexed, and entities drawn from the graph. For mix-ups, the name of one entity is
written in place of the name of another one of its type, everywhere in the passages; for duplicates,
another form of its name in half of the passages that name an entity. The passages are indexed
again, in FOLDER, and the rule `homonyms` or `duplicates` looks at the graph. Prints precision and
recall for several thresholds, and with `--fit` the weights that fit the passages best. Names that
were not changed count as right, so that precision is a lower bound: a corpus has homonyms and
duplicates of its own.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import sarag_rdf
from benchmarks.noise import misspell
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import RDF, SARAG, SKOS, TYPE_CLASSES, iri, text_of
from sarag_rdf.building.merge_rules import MergeContext, MergeRule, propose
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.records import Match
from sarag_rdf.kg.session import Snapshot
from sarag_rdf.plugins.duplicates import Evidence, confidence_in, pairs_of
from sarag_rdf.plugins.evaluation.datasets import read_corpus
from sarag_rdf.plugins.homonyms import (
    LEAST,
    Use,
    cut_features,
    first_cut,
    names_of_several_sources,
    split_uses,
)
from sarag_rdf.testing.fakes import HashEmbedder

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Named:
    """An entity of a graph with one name, its type and the keys of the sources that name it."""

    name: str
    type: str
    sources: frozenset[str]


def entities_of(reader: GraphReader) -> list[Named]:
    """The entities with a single name of two words or more, or of six letters."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    types: dict[str, str] = {}
    sources: defaultdict[str, set[str]] = defaultdict(set)
    documents: dict[str, str] = {}
    by_class = {node.value: name for name, node in TYPE_CLASSES.items()}
    entities: set[str] = set()
    for graph in reader.select_provenance("source-graphs"):
        for quad in reader.store.quads(graph[0].value):
            if quad.predicate == SARAG.source:
                documents[iri(quad.subject)] = reader.minter.key_of_source(iri(quad.object))
    for quad in reader.store.quads(reader.minter.kg_graph):
        subject = iri(quad.subject)
        if quad.predicate in (SKOS.prefLabel, SKOS.altLabel):
            names[subject].add(text_of(quad.object))
        elif quad.predicate == RDF.type and quad.object == SARAG.Entity:
            entities.add(subject)
        elif quad.predicate == RDF.type and text_of(quad.object) in by_class:
            types[subject] = by_class[text_of(quad.object)]
        elif quad.predicate == SARAG.describes and subject in documents:
            sources[text_of(quad.object)].add(documents[subject])
    return [
        Named(min(names[each]), types[each], frozenset(sources[each]))
        for each in sorted(entities)
        if len(names[each]) == 1 and sources[each]
    ]


def separable(entities: Sequence[Named], sources: Mapping[str, Source]) -> list[Named]:
    """Those whose name is no part of another name and is spelled so in all of their sources."""
    parts: defaultdict[str, int] = defaultdict(int)
    for each in entities:
        words = each.name.casefold().split()
        ends = range(len(words) + 1)
        for part in {" ".join(words[a:b]) for a in ends for b in ends if a < b}:
            parts[part] += 1
    return [
        each
        for each in entities
        if len(each.name) > 4
        and each.name[0].isupper()
        and parts[each.name.casefold()] == 1
        and all(whole(each.name).search(sources[key].text) for key in each.sources)
    ]


def whole(name: str) -> re.Pattern[str]:
    """A name that is no part of a longer word."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def drawn_pairs(entities: Iterable[Named], count: int, draw: Random) -> list[tuple[Named, Named]]:
    """Disjoint pairs of one type that no source names both.

    In turn, both have several sources, one of them has, or none.
    """
    pools: dict[bool, list[Named]] = {True: [], False: []}
    for each in entities:
        pools[len(each.sources) > 1].append(each)
    for pool in pools.values():
        draw.shuffle(pool)
    pairs: list[tuple[Named, Named]] = []
    for number in range(count):
        first, second = pools[number % 3 < 2], pools[number % 3 < 1]
        pair = _first_pair(first, second)
        if pair is not None:
            first.remove(pair[0])
            second.remove(pair[1])
            pairs.append(pair)
    return pairs


def _first_pair(first: Sequence[Named], second: Sequence[Named]) -> tuple[Named, Named] | None:
    return next(
        (
            (one, other)
            for one in first
            for other in second
            if one.type == other.type and not one.sources & other.sources
        ),
        None,
    )


def mixed_up(
    sources: Mapping[str, Source], pairs: Iterable[tuple[Named, Named]]
) -> dict[str, Source]:
    """The sources with the name of the first of each pair in place of that of the second."""
    result = dict(sources)
    for one, other in pairs:
        for key in other.sources:
            pattern, source = whole(other.name), result[key]
            text, title = (pattern.sub(one.name, each) for each in (source.text, source.title))
            result[key] = Source(text, title, key)
    return result


@dataclass(frozen=True, slots=True)
class MixUps:
    """Names that several sources use, with what is true of them.

    Name -> its uses, their features, and for each use which of the two entities it is of; all 0 for
    a name that was left as it is.
    """

    names: Sequence[tuple[Sequence[Use], NDArray[np.float64], Sequence[int]]]

    @classmethod
    def of(cls, snapshot: Snapshot, pairs: Iterable[tuple[Named, Named]]) -> MixUps:
        minter = snapshot.own.minter
        mixed = {minter.mention(normalize_name(one.name)): (one, other) for one, other in pairs}
        gone = {minter.mention(normalize_name(other.name)) for _, other in mixed.values()}
        names = []
        for name, uses, features in names_of_several_sources(snapshot):
            keys = [minter.key_of_source(use.source) for use in uses]
            truth = [0] * len(uses)
            if name in mixed:
                one, other = mixed[name]
                known = one.sources | other.sources
                rows = [row for row, key in enumerate(keys) if key in known]
                uses, features = [uses[row] for row in rows], features[np.ix_(rows, rows)]
                truth = [int(keys[row] in other.sources) for row in rows]
            if name not in gone and len(uses) > 1 and (len({*truth}) > 1) == (name in mixed):
                names.append((uses, features, truth))
        return cls(names)

    def confidences(self) -> list[tuple[float, bool, float]]:
        """(confidence, whether it was mixed up, share of its uses in the right part) of a name."""
        rows = []
        for _, features, truth in self.names:
            confidence, _ = split_uses(features, 1.0)
            _, groups = split_uses(features, confidence)
            right = sum(
                Counter(truth[row] for row in group).most_common(1)[0][1] for group in groups
            )
            rows.append((confidence, len({*truth}) > 1, right / len(truth)))
        return rows

    def fitted(self) -> tuple[list[float], list[float]]:
        """`SAME_THING` and `APART`, fitted: each name has the same weight, and each type of names
        as much among the mixed-up ones as among the others.
        """
        weights = self._weights()
        pairs, same, weight = [], [], []
        for own, (_, features, truth) in zip(weights, self.names, strict=True):
            rows, columns = np.triu_indices(len(truth), 1)
            pairs.append(features[rows, columns])
            same += [truth[int(a)] == truth[int(b)] for a, b in zip(rows, columns, strict=True)]
            weight += [own / len(rows)] * len(rows)
        first = _regression(np.concatenate(pairs), same, weight)
        cuts = []
        for _, features, _ in self.names:
            probabilities = first.predict_proba(features.reshape(-1, features.shape[-1]))[:, 1]
            square = probabilities.reshape(features.shape[:2])
            cuts.append(cut_features(square, first_cut(square)))
        mixed = [len({*truth}) > 1 for _, _, truth in self.names]
        return tuple(  # type: ignore[return-value]
            [round(float(x), 2) for x in (*model.intercept_, *model.coef_[0])]
            for model in (first, _regression(np.array(cuts), mixed, weights))
        )

    def _weights(self) -> list[float]:
        kinds = []
        for uses, _, truth in self.names:
            types = Counter(type_ for use in uses for type_ in use.types if type_ != "misc")
            kinds.append(
                (max(types, key=lambda t: (types[t], t), default="misc"), len({*truth}) > 1)
            )
        counts, of_type = Counter(kinds), Counter(type_ for type_, _ in kinds)
        return [of_type[kind[0]] / counts[kind] / 2 for kind in kinds]


def _regression(features: NDArray[np.float64], right: Sequence[bool], weights: Any) -> Any:
    return LogisticRegression(C=10, max_iter=2000).fit(features, right, sample_weight=weights)


KINDS = ("misspelt", "initial", "shorter")
"""Forms of a name: one wrong letter, an initial in place of its first word, or a word less."""


def variant_of(name: str, kind: str, draw: Random) -> str:
    """Another form of a name, misspelt if it has too few words for the kind."""
    words = name.split()
    if kind == "initial" and len(words) > 1 and words[0].isalpha():
        return " ".join([f"{words[0][0]}.", *words[1:]])
    if kind == "shorter" and len(words) > 2:
        return " ".join([words[0], *words[2:]])
    return misspell(name, draw)


def doubled(
    sources: Mapping[str, Source], entities: Sequence[Named], draw: Random
) -> tuple[dict[str, Source], dict[str, str]]:
    """The sources with another form of each name in every second of its sources; name -> form."""
    result, forms = dict(sources), {}
    for number, each in enumerate(entities):
        forms[each.name] = variant_of(each.name, KINDS[number % len(KINDS)], draw)
        for key in sorted(each.sources)[::2]:
            source, pattern = result[key], whole(each.name)
            form = forms[each.name]
            text, title = (pattern.sub(form, old) for old in (source.text, source.title))
            result[key] = Source(text, title, key)
    return result, forms


def print_curve(found: Sequence[tuple[float, bool]], total: int) -> None:
    """Precision and recall of (confidence, whether right) at each threshold, as Markdown."""
    print("| least confidence | proposed | right | precision | recall |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for least in THRESHOLDS:
        chosen = [right for confidence, right in found if confidence >= least]
        precision = sum(chosen) / (len(chosen) or 1)
        print(f"| {least} | {len(chosen)} | {sum(chosen)} "
              f"| {precision:.2f} | {sum(chosen) / (total or 1):.2f} |")  # fmt: skip


def plain_entities(sources: Mapping[str, Source], work: Path) -> list[Named]:
    """The entities of the passages as they are."""
    with sarag_rdf.open(work / "plain", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([*sources.values()])
        with kg.session.read() as snapshot:
            return entities_of(snapshot.own)


def measure_mix_ups(sources: Mapping[str, Source], arguments: argparse.Namespace) -> None:
    entities = plain_entities(sources, arguments.work)
    pairs = drawn_pairs(separable(entities, sources), arguments.count, Random(0))
    with sarag_rdf.open(arguments.work / "mixed", endpoint=None) as kg:
        kg.index([*mixed_up(sources, pairs).values()])
        started = time.perf_counter()
        with kg.session.read() as snapshot:
            mix_ups = MixUps.of(snapshot, pairs)
            rows = mix_ups.confidences()
    mixed = sum(is_mixed for _, is_mixed, _ in rows)
    seconds = time.perf_counter() - started
    print(f"{len(sources)} passages, {mixed} mixed-up names, {len(rows) - mixed} others, "
          f"{seconds:.1f} s\n")  # fmt: skip
    print_curve([(confidence, is_mixed) for confidence, is_mixed, _ in rows], mixed)
    right = [share for confidence, is_mixed, share in rows if is_mixed and confidence >= LEAST]
    print(f"\nuses in the right part, of mix-ups from {LEAST}: {np.mean(right or [0]):.2f}")
    if arguments.fit:
        print("\nSAME_THING {}, APART {}".format(*mix_ups.fitted()))


def measure_duplicates(sources: Mapping[str, Source], arguments: argparse.Namespace) -> None:
    entities = plain_entities(sources, arguments.work)
    several = [each for each in separable(entities, sources) if len(each.sources) > 1]
    changed, forms = doubled(sources, several[: arguments.count], Random(0))
    with sarag_rdf.open(arguments.work / "doubled", endpoint=None) as kg:
        kg.index([*changed.values()])
        started = time.perf_counter()
        with kg.session.read() as snapshot:
            minter = snapshot.own.minter
            gold = {
                frozenset(minter.entity(normalize_name(each)) for each in pair)
                for pair in forms.items()
            }
            known = {iri(q.subject) for q in snapshot.own.store.quads(minter.kg_graph)}
            gold = {pair for pair in gold if len(pair) > 1 and pair <= known}
            evidence: list[Evidence] = []
            rule = MergeRule(lambda context: noted(context, evidence), needs_review=True)
            propose(snapshot.own, rule, lambda *_: [], snapshot.view.vectors.index, 0.9)
    rows = [(confidence_in(each), frozenset(each.pair) in gold) for each in evidence]
    seconds = time.perf_counter() - started
    print(f"{len(sources)} passages, {len(gold)} names in two forms, {len(rows)} pairs compared, "
          f"{seconds:.1f} s\n")  # fmt: skip
    print_curve(rows, len(gold))
    if arguments.fit:
        features = np.array([each.features for each in evidence])
        model = _regression(features, [right for _, right in rows], None)
        print("\nWEIGHTS", [round(float(x), 2) for x in (*model.intercept_, *model.coef_[0])])


def noted(context: MergeContext, evidence: list[Evidence]) -> Iterator[Match]:
    """Note the evidence of all pairs, and propose none."""
    evidence += pairs_of(context)
    return iter(())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("mix-ups", "duplicates"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=700, help="Number of passages.")
    parser.add_argument("--count", type=int, default=300, help="Number of pairs, at most.")
    parser.add_argument("--fit", action="store_true")
    arguments = parser.parse_args()
    passages = read_corpus(arguments.corpus).passages[: arguments.limit]
    keys = {f"{number}.txt": passage for number, passage in enumerate(passages)}
    sources = {key: Source(passage.text, passage.title, key) for key, passage in keys.items()}
    measure = measure_mix_ups if arguments.what == "mix-ups" else measure_duplicates
    measure(sources, arguments)


if __name__ == "__main__":
    main()
