"""What a reviewed table of phrases adds, with a simulated reviewer, on Text2KGBench.

    python -m benchmarks.review_table --data text2kgbench --work FOLDER [--rows 100]

Relationships are extracted without examples. The reviewer sees the most frequent phrases of the
training sentences with their types of arguments, and states a property if at least half of the uses
of the phrase state it in the gold statements. The decisions then apply to the test sentences, whose
statements are counted and scored before and after, as `sarag ontology accept` would add them.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

from spacy.tokens import Doc, DocBin

from benchmarks.text2kgbench.data import (
    SUITES,
    BenchmarkOntology,
    LiteralStyle,
    Sentence,
    read_benchmark,
)
from benchmarks.text2kgbench.score import (
    Scores,
    example_of,
    mean_of,
    score_ontology,
    triple_of,
)
from sarag_rdf.base.iris import phrase_key
from sarag_rdf.base.types import Relation
from sarag_rdf.building.decision_records import PhraseSignature
from sarag_rdf.extraction.phrases import PhraseMatcher
from sarag_rdf.extraction.spacy_extractor import load_pipeline, parse_document
from sarag_rdf.extraction.text_values import parse_value
from sarag_rdf.extraction.typed_statements import range_kind
from sarag_rdf.plugins.statement_models import soft_text


def parsed(folder: Path, suite: str, ontologies: Iterable[BenchmarkOntology]) -> dict[str, Doc]:
    """All sentences of a suite, parsed once."""
    pipeline, path = load_pipeline(), folder / f"{suite}.spacy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        texts = sorted({s.text for o in ontologies for s in (*o.train, *o.test)})
        DocBin(docs=pipeline.pipe(texts, batch_size=128)).to_disk(path)
    return {doc.text: doc for doc in DocBin().from_disk(path).get_docs(pipeline.vocab)}


Stated = tuple[str, bool]
"""A property and whether it is stated from the object to the subject."""


def relations_of(doc: Doc, matcher: PhraseMatcher) -> Iterator[tuple[PhraseSignature, Relation]]:
    extraction = parse_document(doc, "", matcher).extraction
    types = {mention.name: mention.type for mention in extraction.mentions}
    for relation in extraction.relations:
        ends = types.get(relation.subject, "misc"), types.get(relation.object, "misc")
        yield PhraseSignature(phrase_key(relation.phrase), *ends), relation


def reviewed(
    ontology: BenchmarkOntology, docs: Mapping[str, Doc], matcher: PhraseMatcher, rows: int
) -> tuple[dict[PhraseSignature, Stated], int]:
    """The decisions of the reviewer, and the number of phrases in the table."""
    uses: Counter[PhraseSignature] = Counter()
    votes: defaultdict[PhraseSignature, Counter[Stated]] = defaultdict(Counter)
    for sentence in ontology.train:
        gold = {
            (soft_text(s.subject), soft_text(s.object)): s.property
            for s in example_of(ontology, sentence).statements
        }
        for signature, relation in relations_of(docs[sentence.text], matcher):
            if relation.predicate:
                continue
            uses[signature] += 1
            names = soft_text(relation.subject), soft_text(relation.object)
            for pair, is_inverse in ((names, False), (names[::-1], True)):
                if pair in gold:
                    votes[signature][gold[pair], is_inverse] += 1
    decisions = {}
    table = uses.most_common(rows)
    for signature, count in table:
        for stated, number in votes[signature].most_common(1):
            if 2 * number >= count:
                decisions[signature] = stated
    return decisions, len(table)


def decided(ontology: BenchmarkOntology, relation: Relation, stated: Stated) -> Relation:
    """A relation with the property that was decided for its phrase."""
    kind = range_kind(ontology.schema.properties[stated[0]])
    value = parse_value(relation.object, kind) if kind in ("date", "number") else None
    return replace(relation, predicate=stated[0], inverse=stated[1], value=value)


def scored(
    ontology: BenchmarkOntology, statements: Mapping[str, Iterable[Relation]]
) -> tuple[Scores, int]:
    style = LiteralStyle()
    triples = {
        key: list(dict.fromkeys(triple_of(ontology, relation, style) for relation in own))
        for key, own in statements.items()
    }
    scores = score_ontology(ontology.test, triples, ontology.relations.values(), ontology.concepts)
    return scores, sum(map(len, triples.values()))


def measure(
    ontology: BenchmarkOntology, docs: Mapping[str, Doc], rows: int
) -> tuple[tuple[Scores, int], tuple[Scores, int], int, int]:
    matcher = PhraseMatcher(ontology.schema)
    decisions, size = reviewed(ontology, docs, matcher, rows)
    before: dict[str, list[Relation]] = {}
    after: dict[str, list[Relation]] = {}
    sentences: tuple[Sentence, ...] = ontology.test
    for sentence in sentences:
        for signature, relation in relations_of(docs[sentence.text], matcher):
            if relation.predicate:
                before.setdefault(sentence.id, []).append(relation)
                after.setdefault(sentence.id, []).append(relation)
            elif signature in decisions:
                own = decided(ontology, relation, decisions[signature])
                after.setdefault(sentence.id, []).append(own)
    return scored(ontology, before), scored(ontology, after), size, len(decisions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100)
    arguments = parser.parse_args()
    for suite in SUITES:
        ontologies = read_benchmark(arguments.data, suite)
        docs = parsed(arguments.work, suite, ontologies)
        results = [measure(ontology, docs, arguments.rows) for ontology in ontologies]
        for ontology, (before, after, size, accepted) in zip(ontologies, results, strict=True):
            print(f"  {ontology.name}: {accepted} of {size} phrases accepted, "
                  f"{before[1]} -> {after[1]} statements", flush=True)  # fmt: skip
        before_all, after_all = [r[0] for r in results], [r[1] for r in results]
        for name, chosen in (("before", before_all), ("after", after_all)):
            means = mean_of(scores for scores, _ in chosen)
            kinds = product(("official", "strict"), ("precision", "recall", "f1"))
            figures = ", ".join(f"{k} {m} {means[f'{k}_{m}']:.3f}" for k, m in kinds)
            print(f"{suite} {name}: {sum(count for _, count in chosen)} statements, {figures}")


if __name__ == "__main__":
    main()
