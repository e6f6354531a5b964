"""A comparison of two systems as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sarag_rdf.evaluate.table import interval, percent, table

SAYING = {
    "the_same": "pairs that are the same word for word, ties without being asked about",
    "without_verdict": "pairs of which the judge said nothing valid, left out",
    "failed": "questions at which one of the two failed, left out",
    "answered_by_one_alone": "answers of one system alone, left out",
    "of_different_runs": "pairs whose answers were given under different settings",
}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Rates by criterion in percent, what the order decided, what was left out."""
    ours, theirs = report["setting"]["systems"]
    pairs = report["pairs"]
    yield f"{ours} against {theirs}"
    yield f"Pairs: {pairs['count']}; judge: {report['setting']['model']}; figures in percent"
    yield ""
    rows = [
        [
            name,
            *(percent(found[what]) for what in ("win", "tie", "loss", "order")),
            interval(found["difference"]),
        ]
        for name, found in report["results"].items()
    ]
    yield from table(["criterion", "win", "tie", "loss", "order", "win less loss"], rows)
    yield ""
    yield "order: ties in which the answer shown in the same place won both times"
    yield from (f"{said}: {pairs[what]}" for what, said in SAYING.items() if pairs[what])
