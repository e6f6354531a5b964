"""The probability that a relation path says what is asked: fits it, and measures it elsewhere.

Example:
  python -m benchmarks.path_calibration --kg WORK/kg --over movies --questions A.tsv \\
      --questions B.tsv --examples KG

Right paths are the best ones of questions; wrong ones are the best ones where they are wrong, and
the best that remain without each property of the right path. Each file is measured with a
calibration on the others, and the typed questions about the documents of examples/corpus, indexed
in the graph KG, with one on all files. The last line belongs into relation-paths.json.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

import sarag_rdf
from sarag_rdf.plugins.evaluation.path_questions import examples, read_files, relation_paths
from sarag_rdf.plugins.relation_paths.fitting import Offers, calibrated, offered_of, offers
from sarag_rdf.plugins.relation_paths.paths import TRIED, Paths

TYPED = Path(__file__).with_name("questions-typed.json")
DOUBTFUL = "Where was the doctoral supervisor of Ludwig Boltzmann born?"


@click.command()
@click.option("--kg", required=True)
@click.option("--over", required=True)
@click.option("--questions", multiple=True, required=True, type=click.Path(path_type=Path))
@click.option("--examples", "example_graph", required=True)
@click.option("--least", "limits", multiple=True, type=float, default=[Paths().least])
def main(
    kg: str,
    over: str,
    questions: tuple[Path, ...],
    example_graph: str,
    limits: tuple[float, ...],
) -> None:
    """Print the shares of right and wrong paths that are followed, and the calibration."""
    files = read_files(questions)
    with sarag_rdf.open(kg, over=[over]) as graph:
        paths = relation_paths(graph.retriever("paths", explain=False))
        every = [examples(paths, own) for own in files.values()]
    model = paths.model
    for least in limits:
        for path, shares in zip(files, offered_of(model, every, least), strict=True):
            text = f"{path.name} at {least:g}: {_text(shares)}"
            click.echo(f"{text} (calibrated on the other files)")
    model = calibrated(model, [offers(own, model.vector) for own in every])
    typed = [(each["question"], each["answers"]) for each in json.loads(TYPED.read_text())]
    rows, right = [], []
    with sarag_rdf.open(example_graph) as graph:
        paths = relation_paths(graph.retriever("paths", explain=False, least=0.0))
        for question, answers in [*typed, (DOUBTFUL, [])]:
            ranked = paths.ranked(paths.topics(question))[:TRIED]
            for each, found in ((each, paths.follow(each)) for each in ranked):
                if found.answers:
                    rows.append((each.score, *each.gaps))
                    right.append(bool({answer.name for answer in found.answers} & {*answers}))
                    break
    offered = Offers(np.array(rows), np.array(right))
    of = f"{sum(right)} right and {len(right) - sum(right)} wrong paths"
    for least in limits:
        click.echo(f"{TYPED.name} at {least:g}: {_text(offered.shares(model, least))} ({of})")
    click.echo(f"{DOUBTFUL} {model.probability(rows[-1][0], rows[-1][1:]):.2f}")
    click.echo(json.dumps({"calibration": dict(model.calibration)}))


def _text(shares: tuple[float, float]) -> str:
    return f"{shares[0]:.1%} of right paths and {shares[1]:.1%} of wrong ones are followed"


if __name__ == "__main__":
    main()
