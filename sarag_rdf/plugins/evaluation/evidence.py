"""``sarag evaluate evidence``: whether the sentences that a search shows are the right ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import click

from sarag_rdf.base.options import DEFAULT_LIMIT
from sarag_rdf.base.types import Excerpt, Retrieved
from sarag_rdf.cli.flags import endpoint_options
from sarag_rdf.cli.output import progress_bars
from sarag_rdf.kg.evidence import RetrievedEvidence
from sarag_rdf.plugins.evaluation import commands, reporting
from sarag_rdf.plugins.evaluation.datasets import Corpus, Question, problem_lines
from sarag_rdf.plugins.evaluation.measures import matches, normalize_answer
from sarag_rdf.plugins.evaluation.retrieval import methods_of, methods_option
from sarag_rdf.retrieval.context import approximate_tokens

SHARES: Final = {"facts": "facts", "answer": "answer", "chain": "in chain"}
SIZES: Final = {"text": "text|.0f", "evidence": "evidence|.0f", "chain_tokens": "chain|.0f"}


def row_of(
    corpus: Corpus, question: Question, retrieved: Retrieved, k: int = 5
) -> dict[str, float]:
    """The measures of the evidence of the first k documents; undefined ones are absent.

    facts: of the supporting passages that were found, the share whose evidence holds a supporting
    sentence, or the answer of its sub-question. answer: whether the evidence holds an answer that
    the texts hold, unless it is yes or no. chain: the same for the chain of evidence. text,
    evidence, chain_tokens: approximate sizes in tokens.
    """
    evidence = RetrievedEvidence(retrieved)
    chain = [excerpt for _, excerpt in evidence.chain]
    return measures_of(corpus, question, evidence.excerpts[:k], chain)


def measures_of(
    corpus: Corpus, question: Question, evidence: Sequence[Excerpt], chain: Sequence[Excerpt]
) -> dict[str, float]:
    """The measures of `row_of` for an excerpt of each document, by rank, and a chain of some."""
    texts = [Excerpt.whole(excerpt.document) for excerpt in evidence]
    row = {
        name: float(sum(approximate_tokens(excerpt.text) for excerpt in excerpts))
        for name, excerpts in (("text", texts), ("evidence", evidence), ("chain_tokens", chain))
    }
    shown = {
        corpus.index_of_part(excerpt.document.title, excerpt.document.text): excerpt
        for excerpt in reversed(evidence)
    }
    pairs = [
        (shown[passage], fact)
        for fact in question.facts
        if (passage := corpus.index_of(fact.title, fact.text)) in shown and passage is not None
    ]
    if pairs:
        row["facts"] = sum(_holds(excerpt, fact.texts) for excerpt, fact in pairs) / len(pairs)
    answers = [a for a in question.answers if normalize_answer(a) not in ("", "yes", "no")]
    if any(_holds(text, answers) for text in texts):
        row["answer"] = float(any(_holds(excerpt, answers) for excerpt in evidence))
        row["chain"] = float(any(_holds(excerpt, answers) for excerpt in chain))
    return row


def _holds(excerpt: Excerpt, texts: Sequence[str]) -> bool:
    """Whether an excerpt, or a sentence of it, matches one of the texts."""
    parts = [excerpt.document.text[slice(*span)] for span in excerpt.spans]
    return any(matches(part, texts) for part in (*parts, " ".join(parts)))


@click.command(
    name="evidence",
    epilog="Example:  sarag evaluate evidence --corpus corpus.json --questions questions.json "
    "--kg kg-of-corpus",
)
@commands.data_options()
@methods_option
@click.option(
    "--k", default=5, show_default=True, type=click.IntRange(1),
    help="Number of documents whose evidence is measured.",
)  # fmt: skip
@commands.selection_options
@click.option("--baseline", help="Method to compare with. Default: the first one.")
@commands.result_options
@endpoint_options
def command(**options: Any) -> None:
    """Report how often the sentences shown of each document hold the facts and the answer.

    The questions are those of MuSiQue, whose sub-questions have answers, or of HotpotQA, which
    marks supporting sentences. The measures are defined in docs/reference/evaluation.md.
    """
    k, limit = options["k"], max(options["k"], DEFAULT_LIMIT)  # evidence depends on all documents
    methods = methods_of(options["methods"])
    default = options["methods"][0]
    baseline = commands.check_baseline(options["baseline"] or default, [*methods], "--methods")
    measured: dict[str, list[dict[str, float]]] = {label: [] for label in methods}
    with commands.open_inputs(options) as inputs, progress_bars() as progress:
        corpus, questions = cast("Corpus", inputs.corpus), inputs.questions
        for label, own in methods.items():
            retriever = inputs.kg.retriever(own if own.limit else replace(own, limit=limit))
            advance = progress(f"retrieving with {label}", len(questions))
            for question in questions:
                found = retriever.retrieve(question.query)
                measured[label].append(row_of(corpus, question, found, k))
                advance(1)
        setting = inputs.setting(options, k=k, methods=[*methods], baseline=baseline)
    groups = {"hops": [question.hops for question in questions]}
    names = [*SHARES, *SIZES]
    data = {
        "setting": setting,
        "results": reporting.results("method", measured, names, [*SHARES], groups, setting),
        "questions": reporting.by_question("method", questions, measured),
    }
    commands.show_results(options, data, lines(data))


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report as text: the main table, differences, measures by hops, problems."""
    setting, results = report["setting"], report["results"]
    yield (
        f"Questions: {setting['questions']['count']}; of the first {setting['k']} documents; "
        "figures in percent, sizes in tokens"
    )
    yield ""
    yield from reporting.block("", "method", results, {**SHARES, **SIZES})
    yield from reporting.differences("difference", "method", results, SHARES)
    yield from reporting.groups("method", results, SHARES)
    yield from problem_lines(setting["problems"])
