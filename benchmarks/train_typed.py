"""Train the scorers of typed extraction on the development ontologies of Text2KGBench.

    python -m benchmarks.train_typed --data text2kgbench --work FOLDER [--package]

Two pairs of scorers (objects, subjects): with ten examples a property, and with labels only. For
figures, each ontology gets scorers that were trained on the other folds (``--folds`` groups of
ontologies); they are written to ``FOLDER/scorers`` for ``sarag evaluate extraction --scorers``.
With ``--package`` the scorers of all ontologies are written into the library. scikit-learn (of
the extra ``dev``) is needed here and not in the library. Parsed sentences and vectors are cached
in the folder.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from spacy.tokens import Doc, DocBin

import sarag_rdf.plugins.learned
from sarag_rdf.extraction.examples import Example
from sarag_rdf.extraction.names import exact_text, soft_text
from sarag_rdf.extraction.spacy.pipeline import load_pipeline
from sarag_rdf.kg.registry import make_embedder
from sarag_rdf.plugins.evaluation.extraction import example_of
from sarag_rdf.plugins.evaluation.text2kgbench import (
    SUITES,
    BenchmarkOntology,
    Sentence,
    read_benchmark,
    sample_examples,
)
from sarag_rdf.plugins.learned.contexts import sentences_of
from sarag_rdf.plugins.learned.extractor import Scorer, Vectors, topic_of
from sarag_rdf.plugins.learned.features import (
    ExampleVectors,
    SchemaVectors,
    Subjects,
    admitted,
    align,
    object_features,
    subject_features,
)
from sarag_rdf.plugins.learned.sentence_vectors import SentenceVectors
from sarag_rdf.plugins.learned.trees import FIELDS, BoostedTrees

EXAMPLES = 10
LIMIT = {"dbpedia_webnlg": 1000, "wikidata_tekgen": 120}
"""Most test sentences of an ontology that are used for training."""
NEGATIVES = 0.15
"""Share of the pairs without a statement that are used; the others are weighted for them."""


@dataclass
class Row:
    """One sentence: its vectors, features of objects, and gold statements."""

    vectors: SentenceVectors
    mask: np.ndarray
    features: np.ndarray
    gold: np.ndarray
    example: Example
    title: str
    topic: str


@dataclass
class Data:
    """The training data of one ontology, with or without examples."""

    ontology: BenchmarkOntology
    schema: SchemaVectors
    examples: ExampleVectors | None
    rows: list[Row]
    embed: Vectors


class CachedVectors(Vectors):
    """Vectors in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(make_embedder(None, None), 10**7)
        self._path = path
        if path.exists():
            with np.load(path, allow_pickle=False) as arrays:
                texts = json.loads(str(arrays["texts"]))
                self._vectors.update(zip(texts, arrays["vectors"].astype(np.float32), strict=True))

    def save(self) -> None:
        vectors = np.array(list(self._vectors.values()), np.float16)
        np.savez(self._path, texts=np.array(json.dumps(list(self._vectors))), vectors=vectors)


def parsed(folder: Path, suite: str, ontologies: Sequence[BenchmarkOntology]) -> dict[str, Doc]:
    """All sentences of a suite, parsed once."""
    pipeline, path = load_pipeline(), folder / f"{suite}.spacy"
    if not path.exists():
        texts = sorted({s.text for o in ontologies for s in (*o.train, *o.test)})
        DocBin(docs=pipeline.pipe(texts, batch_size=128)).to_disk(path)
    return {doc.text: doc for doc in DocBin().from_disk(path).get_docs(pipeline.vocab)}


def main_subject(sentence: Sentence) -> str:
    subjects = Counter(t.subject.replace("_", " ") for t in sentence.triples)
    return subjects.most_common(1)[0][0] if subjects else ""


def build(
    ontology: BenchmarkOntology, docs: dict[str, Doc], embed: Vectors, per_property: int
) -> Data:
    """Features of the test sentences, with examples of the training sentences."""
    schema = SchemaVectors.of(ontology.schema, embed)
    examples = [example_of(ontology, s) for s in sample_examples(ontology, per_property)]
    vectors = (
        ExampleVectors.of(
            schema,
            examples,
            [[SentenceVectors.of(s, embed) for s in sentences_of(docs[e.text])] for e in examples],
            embed,
        )
        if examples
        else None
    )
    places = {p.iri: row for row, p in enumerate(schema.properties)}
    rows = []
    for sentence in ontology.test[: LIMIT[ontology.suite]]:
        example, topic = example_of(ontology, sentence), ""
        for span in sentences_of(docs[sentence.text]):
            own = SentenceVectors.of(span, embed)
            if not own.candidates:
                continue
            mask = admitted(own, schema)
            features = object_features(own, schema, vectors, embed)[mask].astype(np.float16)
            gold = np.zeros(mask.shape, bool)
            for index, statements in align(own.candidates, example).items():
                for statement in statements:
                    gold[index, places[statement.property]] = True
            rows.append(Row(own, mask, features, gold, example, main_subject(sentence), topic))
            topic = topic or topic_of(own)
    return Data(ontology, schema, vectors, rows, embed)


def fit(features: np.ndarray, gold: np.ndarray, weights: np.ndarray | None) -> BoostedTrees:
    """Gradient boosting as arrays; features that are missing in all rows are not used."""
    features = np.where(np.isnan(features).all(axis=0), 0, features)
    model = HistGradientBoostingClassifier(
        max_iter=100, max_leaf_nodes=15, learning_rate=0.1, min_samples_leaf=50,
        l2_regularization=1.0, max_features=0.3, early_stopping=False, random_state=0,
    )  # fmt: skip
    model.fit(features, gold, sample_weight=weights)
    return arrays_of(model)


def arrays_of(model: HistGradientBoostingClassifier) -> BoostedTrees:
    """The trees of a fitted model; children of leaves are the root, and never visited."""
    trees = [stage[0].nodes for stage in model._predictors]
    size = max(len(nodes) for nodes in trees)

    def padded(name: str, dtype: type) -> np.ndarray:
        result: np.ndarray = np.zeros((len(trees), size), dtype)
        for index, nodes in enumerate(trees):
            result[index, : len(nodes)] = nodes[name]
        return result

    return BoostedTrees(
        float(model._baseline_prediction.ravel()[0]),
        padded("feature_idx", np.int64), padded("num_threshold", np.float64),
        padded("left", np.int64), padded("right", np.int64), padded("value", np.float64),
        padded("missing_go_to_left", bool), padded("is_leaf", bool),
    )  # fmt: skip


def mean(first: BoostedTrees, second: BoostedTrees) -> BoostedTrees:
    """The classifier with the mean of the two log-odds."""
    size = max(first.feature.shape[1], second.feature.shape[1])

    def joined(name: str) -> np.ndarray:
        both = [getattr(trees, name) for trees in (first, second)]
        padded = [np.pad(array, ((0, 0), (0, size - array.shape[1]))) for array in both]
        return np.concatenate(padded)

    columns = {name: joined(name) for name in FIELDS}
    columns["value"] = columns["value"] / 2
    return BoostedTrees((first.baseline + second.baseline) / 2, **columns)


def mean_scorer(first: Path, second: Path) -> Scorer:
    """The means of two saved scorers."""
    one, two = Scorer.load(first), Scorer.load(second)
    return Scorer(mean(one.objects, two.objects), mean(one.subjects, two.subjects))


def fit_objects(data: Iterable[Data], seed: int = 0) -> BoostedTrees:
    random = np.random.default_rng(seed)
    features, gold, weights = [], [], []
    for row in (row for d in data for row in d.rows):
        own = row.gold[row.mask]
        used = own | (random.random(len(own)) < NEGATIVES)
        features.append(row.features[used])
        gold.append(own[used])
        weights.append(np.where(own[used], 1, 1 / NEGATIVES))
    return fit(
        np.concatenate(features).astype(np.float32), np.concatenate(gold), np.concatenate(weights)
    )


def scores_of(row: Row, objects: BoostedTrees) -> np.ndarray:
    scores = np.zeros(row.mask.shape)
    if len(row.features):
        scores[row.mask] = objects.predict(row.features.astype(np.float32))
    return scores


def equal_names(
    names: Sequence[str], right: Iterable[str], normalize: Callable[[str], str]
) -> list[bool]:
    keys = {normalize(name) for name in right}
    return [normalize(name) in keys for name in names]


def subject_rows(data: Data, scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of the subjects of gold pairs, each without and with the title."""
    features, gold = [], []
    for row, own in zip(data.rows, scores, strict=True):
        for index, place in zip(*np.nonzero(row.gold), strict=True):
            candidate, iri = row.vectors.candidates[index], data.schema.properties[place].iri
            keys = {soft_text(candidate.text)}
            if candidate.value:
                keys.add(soft_text(candidate.value.lexical))
            right = {
                s.subject
                for s in row.example.statements
                if s.property == iri and soft_text(s.object) in keys
            }
            for title in dict.fromkeys((row.topic, row.title)):
                subjects = Subjects.of(row.vectors, title, data.embed)
                if not subjects.candidates:
                    continue
                best = dict(zip(row.vectors.candidates, own.max(axis=1), strict=True))
                as_object = np.array([best.get(c, 0.0) for c in subjects.candidates], np.float32)
                features.append(
                    subject_features(
                        subjects, candidate, int(place), data.schema, data.examples, as_object
                    )
                )  # fmt: skip
                names = [c.text for c in subjects.candidates]
                own_gold = equal_names(names, right, exact_text)
                gold.append(own_gold if any(own_gold) else equal_names(names, right, soft_text))
    return np.concatenate(features), np.concatenate(gold)


def fit_subjects(tables: Iterable[tuple[np.ndarray, np.ndarray]]) -> BoostedTrees:
    features, gold = zip(*tables, strict=True)
    return fit(np.concatenate(features), np.concatenate(gold), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--kinds", default="examples,labels")
    parser.add_argument("--package", action="store_true")
    arguments = parser.parse_args()
    started = time.time()
    embed = CachedVectors(arguments.work / "vectors.npz")
    (arguments.work / "scorers").mkdir(parents=True, exist_ok=True)
    suites = [(suite, read_benchmark(arguments.data, suite)) for suite in SUITES]
    docs = {suite: parsed(arguments.work, suite, ontologies) for suite, ontologies in suites}
    for kind in arguments.kinds.split(","):
        per_property = EXAMPLES if kind == "examples" else 0
        data = [build(o, docs[s], embed, per_property) for s, group in suites for o in group]
        embed.save()
        print(f"{kind}: features {time.time() - started:.0f} s", flush=True)
        folds = [data[place :: arguments.folds] for place in range(arguments.folds)]
        objects, scores = [], {}
        for fold in folds:
            trees = fit_objects(d for other in folds if other is not fold for d in other)
            objects.append(trees)
            for d in fold:
                own = [scores_of(row, trees) for row in d.rows]
                scores[d.ontology.name] = own
                gold = np.concatenate([row.gold[row.mask] for row in d.rows])
                predicted = np.concatenate([s[r.mask] for s, r in zip(own, d.rows, strict=True)])
                print(f"  {d.ontology.name}: average precision of objects "
                      f"{average_precision_score(gold, predicted):.3f}", flush=True)  # fmt: skip
        tables = {d.ontology.name: subject_rows(d, scores[d.ontology.name]) for d in data}
        for fold, trees in zip(folds, objects, strict=True):
            others = [tables[d.ontology.name] for f in folds if f is not fold for d in f]
            subjects = fit_subjects(others)
            for d in fold:
                name = f"{d.ontology.suite}_{d.ontology.name}_{kind}.npz"
                Scorer(trees, subjects).save(arguments.work / "scorers" / name)
        print(f"{kind}: folds {time.time() - started:.0f} s", flush=True)
        if arguments.package:
            subjects = fit_subjects(tables.values())
            folder = Path(sarag_rdf.plugins.learned.__file__).parent
            Scorer(fit_objects(data), subjects).save(folder / f"scorer_{kind}.npz")
            print(f"{kind}: packaged {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
