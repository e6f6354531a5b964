"""Questions as SPARQL over typed graphs, with a small reader.

    sarag index examples/corpus --extractor spacy --kg WORK/demo
    python -m benchmarks.sparql_typed --kg WORK/demo --base-url URL --work WORK
    python -m benchmarks.steering --metaqa FOLDER --work WORK   # imports the graph of movies
    python -m benchmarks.sparql_typed --kg WORK/kg --over movies --metaqa FOLDER --count 20 \\
        --base-url URL --work WORK

Asks the questions of questions-typed.json, or MetaQA's dev questions of one to three hops, in the
order of a seeded shuffle: each of all systems before the next. Prints a table:

- right: a known answer is named (of a question without one: no answer is given); F1 is token F1, of
  MetaQA over all answers together;
- parsed: every reply for patterns fits its schema; accepted: the check finds nothing in the first
  reply; repaired: nothing in the second; graph: the bindings answered, and how often rightly;
- calls of the model, tokens and seconds per question; replies that are cached count as calls, and
  their seconds are those of the first time.

"passages" is the share of questions with an answer in the context of `single`, without a model.
Replies and rows are kept in WORK: a run that is interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import sarag_rdf
from sarag_rdf.endpoints import ModelEndpoint
from sarag_rdf.errors import EndpointError
from sarag_rdf.evaluation.scores import contains_answer, matches, token_f1
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.registry import make_llm
from sarag_rdf.ports import Reasoner
from sarag_rdf.types import Answer, Query

SYSTEMS = (
    "sparql-typed:properties=10:classes=6:brief=true",
    "single:brief=true",
    "sparql-grounded",
)
CONTEXT = "selected:budget=400"
SEED = 23


@dataclass(frozen=True)
class Question:
    """`known` are the answers that count as right, `gold` the texts that F1 compares with."""

    id: str
    text: str
    known: tuple[str, ...]
    gold: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.id.partition("-")[0]


def demo_questions(path: Path) -> list[Question]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [
        Question(row["id"], row["question"], tuple(row["answers"]), tuple(row["answers"]))
        for row in rows
    ]


def metaqa_questions(folder: Path) -> list[Question]:
    questions = []
    for hops in (1, 2, 3):
        path = folder / f"questions_dev300_{hops}hop.tsv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        for number, row in enumerate(rows, start=1):
            text = row["question"].replace("[", "").replace("]", "")
            answers = tuple(row["answers"].split("|"))
            name = f"{hops} hop-{number:03}"
            questions.append(Question(name, text, answers, (", ".join(answers),)))
    return questions


def notes(answer: Answer, name: str) -> list[Any]:
    return [stage.detail for stage in answer.trace if stage.kind == "note" and stage.name == name]


def row_of(question: Question, answer: Answer, seconds: float) -> dict[str, Any]:
    """What the table needs of one answer, and what a person needs to check it."""
    text = answer.text if answer.outcome == "answered" else ""
    right = matches(text, question.known) if question.known else not text
    row: dict[str, Any] = {
        "id": question.id,
        "question": question.text,
        "answer": text,
        "known": question.known,
        "right": right,
        "f1": token_f1(text, question.gold) if question.gold else float(right),
        "calls": answer.usage.calls + answer.usage.cached_calls,
        "tokens_in": answer.usage.tokens_in,
        "tokens_out": answer.usage.tokens_out,
        "seconds": seconds,
    }
    checks, answered = notes(answer, "check"), notes(answer, "answered")
    if answered:
        row |= {
            "parsed": all(check["parsed"] for check in checks),
            "accepted": bool(checks) and checks[0].get("accepted", False),
            "repaired": len(checks) > 1 and checks[1].get("accepted", False),
            "graph": answered[0]["from"] == "graph",
            "reason": answered[0]["reason"],
            "findings": [[f["message"] for f in check["findings"]] for check in checks],
            "replies": [dict(s.detail) for s in answer.trace if s.name == "sparql_typed"],
        }
    for note in notes(answer, "grounding"):
        row |= {"parsed": note["parsed"], "graph": note["bound"]}
    return row


def ask(reasoner: Reasoner, question: Question) -> dict[str, Any]:
    begin = time.perf_counter()
    try:
        answer = reasoner.answer(Query(question.text))
    except EndpointError as error:
        seconds = time.perf_counter() - begin
        failed = {"id": question.id, "question": question.text, "failed": str(error)}
        zeros = dict.fromkeys(("f1", "calls", "tokens_in", "tokens_out"), 0)
        return {**failed, **zeros, "right": False, "answer": "", "seconds": seconds}
    return row_of(question, answer, time.perf_counter() - begin)


class Rows:
    """The rows of a system: those in its file, and new ones."""

    def __init__(self, kg: KnowledgeGraph, system: str, options: argparse.Namespace) -> None:
        self.system = system
        name = system.replace(":", "+")
        self._path = options.work / f"rows-{options.name}-{name}.jsonl"
        self._rows: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            self._rows = {row["id"]: row for row in map(json.loads, lines)}
        endpoint = ModelEndpoint(options.base_url, timeout=options.timeout)
        llm = make_llm(endpoint, options.work / "replies.sqlite")
        self._reasoner = kg.reasoner(system, kg.gather(context=CONTEXT), llm)

    def add(self, question: Question) -> None:
        if question.id in self._rows:
            return
        row = self._rows[question.id] = ask(self._reasoner, question)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        mark = "right" if row["right"] else "wrong"
        print(f"{mark} {row['seconds']:.0f} s {self.system} {question.id}", flush=True)

    def of(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        return [self._rows[question.id] for question in questions]


def share(rows: Sequence[dict[str, Any]], key: str) -> str:
    having = [row for row in rows if key in row]
    return f"{sum(row[key] for row in having)}/{len(having)}" if having else ""


def line(system: str, rows: Sequence[dict[str, Any]]) -> str:
    by_graph = [row for row in rows if row.get("graph")]
    rights = f"{sum(r['right'] for r in by_graph)}/{len(by_graph)}" if by_graph else ""
    kinds = sorted({row["id"].partition("-")[0] for row in rows})
    groups = [
        f"{kind} {share([r for r in rows if r['id'].startswith(kind)], 'right')}" for kind in kinds
    ]
    figures = [mean(row[key] for row in rows) for key in ("f1", "calls", "tokens_in", "seconds")]
    cells = [
        f"`{system}`",
        str(len(rows)),
        *(share(rows, key) for key in ("parsed", "accepted", "repaired", "graph")),
        rights,
        f"**{share(rows, 'right')}** ({', '.join(groups)})",
        "{:.2f} | {:.1f} | {:.0f} | {:.0f}".format(*figures),
    ]
    return f"| {' | '.join(cells)} |"


def covered(kg: KnowledgeGraph, questions: Sequence[Question]) -> str:
    gather = kg.gather(context=CONTEXT)
    asked = [question for question in questions if question.known]
    hits = 0
    for question in asked:
        excerpts = gather(Query(question.text)).context.excerpts.values()
        hits += bool(contains_answer(question.known, [excerpt.titled_text for excerpt in excerpts]))
    return f"{hits}/{len(asked)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--over", default="documents")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--metaqa", type=Path)
    parser.add_argument("--count", type=int, default=100, help="Questions at most.")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--minutes", type=float, default=1e6, help="Ask no further after these.")
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    options.until = time.time() + 60 * options.minutes
    options.name = "metaqa" if options.metaqa else "demo"
    options.work.mkdir(parents=True, exist_ok=True)
    if options.metaqa:
        questions = metaqa_questions(options.metaqa)
    else:
        questions = demo_questions(Path(__file__).parent / "questions-typed.json")
    random.Random(SEED).shuffle(questions)
    over = [] if options.over == "documents" else [options.over]
    asked: list[Question] = []
    with sarag_rdf.open(options.kg, endpoint=None, over=over) as kg:
        systems = [Rows(kg, system, options) for system in options.systems.split(",")]
        for question in questions[: options.count]:
            if time.time() > options.until:
                break
            for rows in systems:
                rows.add(question)
            asked.append(question)
        print(f"\nfirst {len(asked)} of {len(questions)} questions, seed {SEED}, {CONTEXT}")
        print(f"passages: the answer is in the context of {covered(kg, asked)}\n")
    lines = [line(rows.system, rows.of(asked)) for rows in systems]
    print(
        "| system | questions | parsed | accepted | repaired | graph | right of these "
        "| right | F1 | calls | tokens read | seconds |"
    )
    print("| --- |" + " ---: |" * 11)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
