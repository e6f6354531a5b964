"""KG-Infused RAG with its baselines, numbers of rounds and ablations, on the same questions.

Takes an indexed graph of the corpus, whose own statements are the facts unless ``--facts`` names an
imported graph, and the files that ``sarag evaluate qa`` takes::

    python -m benchmarks.kg_infused --questions questions.json --kg kg --limit 25 \\
        --rows rows.jsonl --replies replies.sqlite --base-url http://127.0.0.1:8080/v1

Answers go to ``--rows`` and replies to ``--replies`` as they come: an interrupted run goes on where
it stopped, and another number of questions or of systems asks only what is new. Passages are
searched with ``--retriever``, by default by similarity alone, as in the paper.

Prints Markdown: accuracy (a known answer is in the reply, both in lower case), exact match and
token F1 in percent, and their mean; R@6, the share of questions of which an answer stands in the
passages that were read (at most six); calls and tokens per question; seconds as if nothing was
cached.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg import registry
from sarag_rdf.plugins.evaluation.judge import run_configuration
from sarag_rdf.plugins.evaluation.qa import Meter, System, SystemResult, ask_all
from sarag_rdf.plugins.evaluation.questions import Question, read_questions
from sarag_rdf.plugins.evaluation.runner import RowFile
from sarag_rdf.plugins.evaluation.scores import exact_match, token_f1

SYSTEMS = {
    "no retrieval": "kg-infused:baseline=no-retrieval",
    "RAG": "kg-infused:baseline=rag",
    "RAG with query expansion": "kg-infused:baseline=expansion",
    "KG-Infused RAG, 1 round": "kg-infused:rounds=1",
    "KG-Infused RAG, 2 rounds": "kg-infused",
    "KG-Infused RAG, 3 rounds": "kg-infused:rounds=3",
    "2 rounds without expansion": "kg-infused:expansion=false",
    "2 rounds without augmentation": "kg-infused:augmentation=false",
}
"""Row -> reasoner. Without both, KG-Infused RAG is the second row."""


def main() -> None:
    """Answer, and print the table."""
    options = _options()
    endpoint = ModelEndpoint(options.base_url, options.model, timeout=options.timeout)
    llm = registry.make_llm(endpoint, options.replies)
    questions = [q for q in read_questions(options.questions).questions if q.has_answer]
    questions = questions[: options.limit]
    names = options.systems or list(SYSTEMS)
    with (
        RowFile(options.rows) as rows,
        sarag_rdf.open(options.kg, facts=options.facts, endpoint=None) as kg,
        progress_bars() as progress,
    ):
        meter = Meter(llm)
        gather = meter.gathering(kg.gather(options.retriever))
        systems = [
            System(SYSTEMS[name], kg.reasoner(SYSTEMS[name], gather, meter)) for name in names
        ]
        configuration = run_configuration(
            llm,
            graph={
                "revision": kg.meta().revision,
                "facts": options.facts,
                "retriever": options.retriever,
            },
            budget=None,
            tokenizer=None,
            version=sarag_rdf.__version__,
        )
        found = ask_all(
            systems, questions, meter, rows, configuration, threads=1, progress=progress
        )
    print("| | Acc | EM | F1 | mean | R@6 | calls | tokens in | tokens out | seconds | failed |")
    print("| --- |" + " ---: |" * 10)
    for name in names:
        print(_row(name, questions, found[SYSTEMS[name]]))


def _row(name: str, questions: Sequence[Question], results: Sequence[SystemResult]) -> str:
    pairs = list(zip(questions, results, strict=True))
    accuracy, exact, f1 = (
        100 * fmean(values)
        for values in (
            [_contains(r.answer, q.answers) for q, r in pairs],
            [exact_match(r.answer, q.answers) for q, r in pairs],
            [token_f1(r.answer, q.answers) for q, r in pairs],
        )
    )
    covered = 100 * fmean(r.context_covered for r in results)
    costs = [fmean(getattr(r, n) for r in results) for n in ("calls", "tokens_in", "tokens_out")]
    figures = [accuracy, exact, f1, (accuracy + exact + f1) / 3]
    recall = f"{covered:.1f}" if any(r.retrievals for r in results) else ""
    cells = [*(f"{value:.1f}" for value in figures), recall, f"{costs[0]:.1f}"]
    cells += [f"{value:,.0f}" for value in costs[1:]]
    cells += [f"{fmean(r.seconds for r in results):.0f}"]
    cells += [str(sum(r.outcome == "failed" for r in results))]
    return f"| {name} | {' | '.join(cells)} |"


def _contains(answer: str, known: Sequence[str]) -> float:
    """Accuracy as in the paper: whether a known answer is in the reply, in lower case."""
    return float(any(text.lower() in answer.lower() for text in known if text))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--facts", help="imported graph, or the URL of a SPARQL endpoint")
    parser.add_argument("--retriever", default="dense")
    parser.add_argument("--limit", type=int, default=25)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, metavar="ROW", help="some rows")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", default="")
    parser.add_argument("--timeout", type=float, default=600.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
