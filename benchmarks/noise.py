"""Retrieval from a graph with errors in it: recall against the share of what is wrong.

Takes a corpus, questions and an extraction in HippoRAG's format, as ``sarag evaluate retrieval``
does, and spoils the extraction in one of three ways before it indexes it::

    python -m benchmarks.noise --corpus corpus.json --questions questions.json \\
        --openie openie.json --results noise.jsonl --plot noise.png

- ``wrong``: beside the triples of a passage, SHARE times as many that are false: a name of the
  passage, a phrase and an object of two other passages.
- ``dropped``: SHARE of the triples are removed. Their names stay, as mentions.
- ``misspelt``: SHARE of the names of a passage get one letter more or less, another one, or two
  exchanged, the same one wherever the passage has the name; in titles they stay right.

What is spoiled is drawn by a seed, and a smaller share is part of a greater one. The texts of the
passages stay as they are. `dense`, which reads no triples, shows what the texts alone give. Each
graph is held in memory; ``--cache`` keeps the vectors of texts. Graphs whose figures are in
``--results`` are not made again, so a run can be interrupted. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

import sarag_rdf
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.ports import Advance
from sarag_rdf.kg.vectors import make_embedder
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.plugins.evaluation.datasets import (
    Corpus,
    Question,
    read_corpus,
    read_questions,
)
from sarag_rdf.plugins.evaluation.measures import mean
from sarag_rdf.plugins.evaluation.rankings import Cutoffs, Evaluation, ranking_options

SHARES = (0.1, 0.2, 0.4)
METHODS = ("sarag", "sarag-paper", "ppr", "dense")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Passage = dict[str, Any]
Triple = list[str]


def drawn(share: float, *what: object) -> bool:
    """Whether something is among the `share` of all that is spoiled; of `what` alone it depends."""
    return int(sha256_hex(*map(str, what))[:13], 16) < share * 16**13


def triples_of(passage: Passage) -> list[Triple]:
    """The triples of a passage that are three names or phrases."""
    found = passage["extracted_triples"]
    return [t for t in found if len(t) == 3 and all(isinstance(x, str) and x.strip() for x in t)]


def wrong(passages: Sequence[Passage], share: float, seed: int) -> Iterator[Passage]:
    """Add false triples."""
    everything = [triple for passage in passages for triple in triples_of(passage)]
    for number, passage in enumerate(passages):
        own = triples_of(passage)
        added = []
        for place, (subject, _, _) in enumerate(own):
            draw = Random(f"{seed} wrong {number} {place}")
            phrase, object_ = draw.choice(everything)[1], draw.choice(everything)[2]
            if drawn(share, seed, "wrong", number, place) and object_ != subject:
                added.append([subject, phrase, object_])
        yield {**passage, "extracted_triples": own + added}


def dropped(passages: Sequence[Passage], share: float, seed: int) -> Iterator[Passage]:
    """Remove triples; what they name stays an entity."""
    for number, passage in enumerate(passages):
        own = triples_of(passage)
        remaining = [t for at, t in enumerate(own) if not drawn(share, seed, "dropped", number, at)]
        names = [*passage["extracted_entities"], *(name for t in own for name in (t[0], t[2]))]
        yield {
            **passage,
            "extracted_entities": list(dict.fromkeys(map(str, names))),
            "extracted_triples": remaining,
        }


def misspelt(passages: Sequence[Passage], share: float, seed: int) -> Iterator[Passage]:
    """Misspell names, each in one way within a passage."""
    for number, passage in enumerate(passages):

        def spelt(name: str, number: int = number) -> str:
            if not drawn(share, seed, "misspelt", number, name.casefold()):
                return name
            return misspell(name, Random(f"{seed} misspelt {number} {name.casefold()}"))

        yield {
            **passage,
            "extracted_entities": [spelt(str(name)) for name in passage["extracted_entities"]],
            "extracted_triples": [
                [spelt(subject), phrase, spelt(object_)]
                for subject, phrase, object_ in triples_of(passage)
            ],
        }


def misspell(name: str, draw: Random) -> str:
    """The name with one error in its letters; as it is if it has fewer than three."""
    places = [at for at in range(1, len(name)) if name[at].isalpha()]
    if len(places) < 2:
        return name
    at = draw.choice(places)
    letter = draw.choice([x for x in _LETTERS if x != name[at].lower()])
    turned = name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :]
    ways = [name[:at] + name[at + 1 :], name[:at] + letter + name[at:]]
    ways += [name[:at] + letter + name[at + 1 :], turned]
    return draw.choice([way for way in ways if way.casefold() != name.casefold()])


KINDS: Mapping[str, Callable[[Sequence[Passage], float, int], Iterator[Passage]]] = {
    "wrong": wrong,
    "dropped": dropped,
    "misspelt": misspelt,
}
TITLES = {"wrong": "wrong triples", "dropped": "triples dropped", "misspelt": "names misspelt"}


def recall(
    corpus: Corpus,
    questions: Sequence[Question],
    passages: Sequence[Passage],
    embedder: CachedEmbedder,
    k: int,
    methods: Sequence[str],
) -> dict[str, float]:
    """R@k of each method on a graph of an extraction."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "openie.json"
        path.write_text(json.dumps({"docs": passages}))
        with sarag_rdf.open(None, embedder=embedder, endpoint=None) as kg:
            report = kg.index([p.source for p in corpus.passages], extractor=f"openie:{path}")
            if report.problems:
                raise SystemExit(f"noise.py: {report.problems[0]}")
            chosen = {name: ranking_options(name) for name in methods}
            evaluation = Evaluation(kg, corpus, questions, Cutoffs((k,)), _quietly)
            _, outcomes = evaluation.run(chosen)
    return {
        method: mean([row.figures for row in rows], f"R@{k}") or 0.0
        for method, rows in outcomes.items()
    }


def _quietly(_what: str, _total: int | None = None) -> Advance:
    return lambda _count: None


def part_of(corpus: Corpus, questions: Sequence[Question], size: int) -> Corpus:
    """The supporting passages of the questions, and the first others up to a size."""
    needed = {number for question in questions for number in corpus.support_of(question)}
    others = [number for number in range(len(corpus.passages)) if number not in needed]
    chosen = sorted(needed | set(others[: max(0, size - len(needed))]))
    return Corpus([corpus.passages[number] for number in chosen], corpus.file)


def known_results(path: Path) -> dict[str, dict[str, float]]:
    """Recall by the key of its run, from a file that earlier runs have written."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {row["key"]: row["recall"] for row in map(json.loads, lines)}


def measured(arguments: argparse.Namespace) -> dict[tuple[str, float], dict[str, float]]:
    """(kind, share) -> R@k by method, mean over the seeds; the share 0 is of every kind."""
    corpus = read_corpus(arguments.corpus)
    asked = read_questions(arguments.questions).questions
    if arguments.passages:
        corpus = part_of(corpus, asked, arguments.passages)
    questions = [question for question in asked if corpus.support_of(question)]
    content = arguments.openie.read_bytes()
    passages = json.loads(content)["docs"]
    embedder = CachedEmbedder(make_embedder(arguments.embedder, None), arguments.cache)
    identity = [
        len(corpus.passages),
        corpus.file["sha256"],
        sha256_hex(content.decode()),
        arguments.k,
    ]
    runs = [("none", 0.0, 0)]
    for seed in range(arguments.seeds):
        runs += [(kind, share, seed) for share in arguments.shares for kind in KINDS]
    found: dict[tuple[str, float], list[dict[str, float]]] = {}
    for kind, share, seed in runs:
        methods = arguments.methods
        key = json.dumps([kind, share, seed, methods, identity, embedder.name])
        figures = known_results(arguments.results).get(key)
        if figures is None:
            print(f"noise.py: {kind} {share:g}, seed {seed}", file=sys.stderr, flush=True)
            spoiled = list(KINDS[kind](passages, share, seed)) if kind in KINDS else passages
            figures = recall(corpus, questions, spoiled, embedder, arguments.k, methods)
            with arguments.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "recall": figures}) + "\n")
        found.setdefault((kind, share), []).append(figures)
    print(f"{len(questions)} questions, {len(corpus.passages)} passages, {embedder.name}\n")
    return {
        run: {method: fmean(row[method] for row in several) for method in arguments.methods}
        for run, several in found.items()
    }


def draw(
    recalls: Mapping[tuple[str, float], Mapping[str, float]], arguments: argparse.Namespace
) -> None:
    """A line for each method, a panel for each kind of error."""
    figure = Figure(figsize=(9.6, 4.8), dpi=150, layout="constrained")
    figure.suptitle(f"R@{arguments.k} with errors in the graph")
    panels = figure.subplots(1, len(TITLES), sharey=True)
    for axes, (kind, words) in zip(panels, TITLES.items(), strict=True):
        axes.set_title(words)
        axes.set_xlabel("share")
        axes.grid(visible=True, axis="y")
        shares = sorted({share for _, share in recalls})
        runs = [recalls[kind if share else "none", share] for share in shares]
        for method, mark in zip(arguments.methods, cycle("osD^vPX"), strict=False):
            axes.plot(shares, [run[method] for run in runs], marker=mark, label=method)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    figure.savefig(arguments.plot, metadata={"Software": None})


def table(found: Mapping[tuple[str, float], Mapping[str, float]], methods: Sequence[str]) -> None:
    """Print recall in percent, and what is left of that without errors."""
    print("| errors | share | " + " | ".join(f"`{method}`" for method in methods) + " |")
    print("| --- | ---: |" + " ---: |" * len(methods))
    whole = found["none", 0.0]
    order = ["none", *KINDS]
    for kind, share in sorted(found, key=lambda run: (order.index(run[0]), run[1])):
        cells = [f"{100 * found[kind, share][method]:.1f}" for method in methods]
        if kind != "none":
            changes = [found[kind, share][method] - whole[method] for method in methods]
            cells = [f"{cell} ({100 * x:+.1f})" for cell, x in zip(cells, changes, strict=True)]
        print(f"| {TITLES.get(kind, 'none')} | {share:g} | " + " | ".join(cells) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in ("--corpus", "--questions", "--openie"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True, help="JSON Lines, appended to")
    parser.add_argument("--plot", type=Path, help="PNG file")
    parser.add_argument("--cache", type=Path, help="SQLite file of embeddings")
    parser.add_argument("--embedder")
    parser.add_argument("--passages", type=int, default=0, help="size of a part of the corpus")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--shares", type=_shares, default=SHARES, help="such as 0.1,0.2")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS))
    arguments = parser.parse_args()
    try:
        found = measured(arguments)
    except SaragError as error:
        print(f"noise.py: {error}", file=sys.stderr)
        return 1
    table(found, arguments.methods)
    if arguments.plot:
        draw(found, arguments)
    return 0


def _shares(text: str) -> tuple[float, ...]:
    return tuple(sorted(float(part) for part in text.split(",")))


if __name__ == "__main__":
    raise SystemExit(main())
