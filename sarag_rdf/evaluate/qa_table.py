"""Answers of systems as lines for a person, at most `WIDTH` characters wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sarag_rdf.evaluate.qa_report import MEASURES, TROUBLE
from sarag_rdf.evaluate.table import interval, percent, table
from sarag_rdf.evaluate.trouble import trouble_lines

HEADS = {
    "accuracy": "acc",
    "exact_match": "EM",
    "f1": "F1",
    "coverage": "cov",
    "abstention": "abst",
    "failed": "fail",
    "errors_of_retrieval": "e-retr",
    "errors_of_reasoning": "e-reas",
}
_SCORES = ("accuracy", "exact_match", "f1")


def lines(report: Mapping[str, Any], times: Mapping[str, Any]) -> Iterator[str]:
    """Scores, costs, differences to the baseline, scores by group, the judge, troubles."""
    setting, results = report["setting"], report["results"]
    count = setting["questions"]["count"]
    yield f"Questions: {count}; model: {setting['model']}; figures in percent"
    yield ""
    yield from _scores(results, tuple(HEADS))
    yield ""
    yield (
        "What a question takes, on average: calls, tokens read and written, dollars, searches, "
        "tokens of\ncontext, seconds"
    )
    yield from _costs(results, times)
    if times["questions_at_a_time"] > 1:
        yield (
            f"seconds while {times['questions_at_a_time']} questions are asked at a time; "
            "--concurrency 1 tells what one takes"
        )
    noted = [result for result in results if result["notes"]]
    if noted:
        yield ""
        yield "What reasoners note of their own way, in percent of the questions"
        for result in noted:
            shown = ", ".join(f"{k} {percent(v)}" for k, v in result["notes"].items())
            yield f"{result['system']}: {shown}"
    others = [result for result in results if result["difference"]]
    if others:
        yield ""
        yield f"Difference to {setting['baseline']} with its 95% interval"
        rows = [
            [r["system"], *(interval(r["difference"][name]) for name in MEASURES)] for r in others
        ]
        yield from table(["system", *(HEADS[name] for name in MEASURES)], rows)
    yield ""
    yield "Questions whose answer was in what the model was given"
    covered = [{"system": r["system"], **r["on_covered"]} for r in results]
    yield from _scores(covered, _SCORES, counted=True)
    for kind, said in (("by_type", "of type {}"), ("by_hops", "of {} hops")):
        for group in results[0][kind]:
            yield ""
            found = [{"system": r["system"], **r[kind][group]} for r in results]
            yield f"Questions {said.format(group)}: {found[0]['questions']}"
            yield from _scores(found, (*_SCORES, "coverage", "abstention"))
    yield from _judge(report["judge"])
    yield from trouble_lines(setting["trouble"], TROUBLE)


def _scores(
    groups: Sequence[Mapping[str, Any]], names: Sequence[str], *, counted: bool = False
) -> Iterator[str]:
    heads = ["system", *(["questions"] if counted else []), *(HEADS[name] for name in names)]
    rows = [
        [
            group["system"],
            *([str(group["questions"])] if counted else []),
            *(percent(group[name]) for name in names),
        ]
        for group in groups
    ]
    return table(heads, rows)


def _costs(results: Sequence[Mapping[str, Any]], times: Mapping[str, Any]) -> Iterator[str]:
    heads = ["system", "calls", "in", "out", "US$", "searches", "context", "s"]
    rows = [
        [
            result["system"],
            f"{result['calls']:.2f}",
            f"{result['tokens_in']:.0f}",
            f"{result['tokens_out']:.0f}",
            f"{result['dollars']:.6f}",
            f"{result['retrievals']:.2f}",
            f"{result['context_tokens']:.0f}",
            f"{times['seconds'][result['system']]['mean']:.2f}",
        ]
        for result in results
    ]
    return table(heads, rows)


def _judge(found: Mapping[str, Any] | None) -> Iterator[str]:
    yield ""
    if found is None:
        yield "no judge was asked: what matches no known answer word for word counts as wrong"
        return
    yield (
        f"the judge accepted {found['unmatched_accepted']} of {found['unmatched']} answers that "
        f"match no known one, and {found['matched_accepted']} of {found['matched']} that do"
    )
    if found["without_verdict"]:
        yield f"answers of which the judge said nothing valid: {found['without_verdict']}"
