"""Questions as SPARQL over typed graphs, with a small reader.

    sarag index examples/corpus --extractor spacy --kg WORK/demo
    python -m benchmarks.sparql_typed --kg WORK/demo --work WORK --by-hand
    python -m benchmarks.sparql_typed --kg WORK/demo --base-url URL --work WORK
    python -m benchmarks.sparql_typed --kg WORK/movies --over movies --metaqa FOLDER --work WORK \\
        --by-hand
    python -m benchmarks.steering --metaqa FOLDER --work WORK   # imports the graph with vectors
    python -m benchmarks.sparql_typed --kg WORK/kg --over movies --metaqa FOLDER --count 20 \\
        --base-url URL --work WORK
    python -m benchmarks.sparql_typed --kg WORK/articles --retriever dense:limit=5 --name dense \\
        --context whole --systems single --metaqa FOLDER --count 20 --base-url URL --work WORK

Asks the questions of questions-typed.json, or MetaQA's dev questions of one to three hops, in the
order of a seeded shuffle: each of all systems before the next. Prints a table:

- right: a known answer is named (of a question without one: no answer is given); F1 is token F1, of
  MetaQA over all answers together;
- parsed: every reply for patterns fits its schema; accepted: the check finds nothing in the first
  reply; repaired: nothing in the second; graph: the bindings answered, and how often rightly;
- calls of the model, tokens and seconds per question; replies that are cached count as calls, and
  their seconds are those of the first time.

With --by-hand no model is asked: the patterns are those that a person wrote beside the questions,
or that MetaQA's paths mean. What is then wrong is so in the graph, or in how queries are run.

Of the systems, `paths` asks no model: it answers with the ends of the path that ranks first.

"passages" is the share of questions with an answer in the context of `single`, without a model.
Replies and rows are kept in WORK: a run that is interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import sarag_rdf
from benchmarks.linked_data import ntriples
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EndpointError
from sarag_rdf.base.ports import Gather, Reasoner, Reply
from sarag_rdf.base.types import Answer, Context, Evidence, Query, Retrieved, Subgraph, Usage
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.registry import make_llm
from sarag_rdf.plugins.evaluation.measures import contains_answer, matches, token_f1
from sarag_rdf.testing.fakes import HashEmbedder

SYSTEMS = (
    "sparql-typed:properties=10:classes=6:brief=true",
    "single:brief=true",
    "sparql-grounded",
)
PATHS = "paths"
SEED = 23
BY_HAND = "sparql-typed:properties=200:classes=200:shown=1000"
RELATIONS = {
    "actor": "starred actors",
    "director": "directed by",
    "writer": "written by",
    "genre": "has genre",
    "year": "release year",
    "language": "in language",
    "tags": "has tags",
    "tag": "has tags",
}
"""Kind of thing in MetaQA's paths -> the property of movies that leads to it."""


@dataclass(frozen=True)
class Question:
    """`known` are the answers that count as right, `gold` the texts that F1 compares with.

    `reply` has the patterns that a person would write.
    """

    id: str
    text: str
    known: tuple[str, ...]
    gold: tuple[str, ...]
    reply: dict[str, Any]

    @property
    def kind(self) -> str:
        return self.id.partition("-")[0]


def reply_of(
    patterns: Sequence[Sequence[str]], comparisons: Sequence[Any] = (), *, count: bool = False
) -> dict[str, Any]:
    keys = ("subject", "property", "object")
    found = [dict(zip(keys, pattern, strict=True)) for pattern in patterns]
    return {"patterns": found, "classes": [], "comparisons": list(comparisons), "count": count}


def demo_questions(path: Path) -> list[Question]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [
        Question(
            row["id"],
            row["question"],
            tuple(row["answers"]),
            tuple(row["answers"]),
            reply_of(row["patterns"], row.get("comparisons", []), count=row.get("count", False)),
        )
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
            topic = row["question"].partition("[")[2].partition("]")[0]
            reply = reply_of(path_patterns(topic, row["path_type"].split("_to_")))
            questions.append(Question(name, text, answers, (", ".join(answers),), reply))
    return questions


def path_patterns(topic: str, path: Sequence[str]) -> list[tuple[str, str, str]]:
    """The patterns of a path such as actor, movie, year, which starts at the topic."""
    ends = [topic, *(f"?x{number}" for number in range(1, len(path) - 1)), "?answer"]
    patterns = []
    for (one, kind), (other, next_kind) in pairwise(zip(ends, path, strict=True)):
        if kind == "movie":
            patterns.append((one, RELATIONS[next_kind], other))
        else:
            patterns.append((other, RELATIONS[kind], one))
    return patterns


class ByHand:
    """A model that replies with the patterns of a question, and answers nothing else."""

    model = "by hand"

    def __init__(self, questions: Sequence[Question]) -> None:
        self._replies = {question.text: question.reply for question in questions}

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        del name, max_tokens
        text = prompt.rpartition("Question: ")[2].partition("\n")[0]
        return Reply({key: self._replies[text][key] for key in schema["properties"]}, Usage(1))


def nothing(query: Query) -> Evidence:
    retrieved = Retrieved(query, "none", {}, (), (), (), (), Subgraph((), {}, ()))
    return Evidence(retrieved, Context(()))


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


class FirstPath:
    """Answers with the ends of the relation path that ranks first, without a model."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._retriever = kg.retriever(PATHS, limit=10)

    def answer(self, query: Query) -> Answer:
        retrieved = self._retriever.retrieve(query)
        ends = [answer.name for path in retrieved.paths[:1] for answer in path.answers]
        if not ends:
            return Answer("insufficient", "", "", (), retrieved)
        return Answer("answered", "; ".join(ends), "", (), retrieved)


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

    def __init__(
        self,
        kg: KnowledgeGraph,
        system: str,
        options: argparse.Namespace,
        questions: Sequence[Question],
    ) -> None:
        self.system = f"{system}, by hand" if options.by_hand else system
        self._is_by_hand = options.by_hand
        name = system.replace(":", "+")
        self._path = options.work / f"rows-{options.name}-{name}.jsonl"
        self._rows: dict[str, dict[str, Any]] = {}
        self._reasoner: Reasoner
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            self._rows = {row["id"]: row for row in map(json.loads, lines)}
        if options.by_hand:
            self._rows = {}
            self._reasoner = kg.reasoner(system, nothing, ByHand(questions))
            return
        if system == PATHS:
            self._reasoner = FirstPath(kg)
            return
        endpoint = ModelEndpoint(options.base_url, timeout=options.timeout)
        llm = make_llm(endpoint, options.work / "replies.sqlite")
        self._reasoner = kg.reasoner(system, gather_of(kg, options), llm)

    def add(self, question: Question) -> None:
        if question.id in self._rows:
            return
        row = self._rows[question.id] = ask(self._reasoner, question)
        if self._is_by_hand:
            if not row["right"]:
                print(row["id"], row["question"], row["answer"], row["known"], row["reason"])
            return
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
    of_kind = {kind: [row for row in rows if row["id"].startswith(kind)] for kind in kinds}
    groups = [f"{kind} {share(some, 'right')}" for kind, some in of_kind.items()]
    means = [f"{mean(row['f1'] for row in some):.2f}" for some in of_kind.values()]
    figures = [mean(row[key] for row in rows) for key in ("calls", "tokens_in", "seconds")]
    cells = [
        f"`{system}`",
        str(len(rows)),
        *(share(rows, key) for key in ("parsed", "accepted", "repaired", "graph")),
        rights,
        f"**{share(rows, 'right')}** ({', '.join(groups)})",
        f"{mean(row['f1'] for row in rows):.2f} ({', '.join(means)})",
        "{:.1f} | {:.0f} | {:.1f}".format(*figures),
    ]
    return f"| {' | '.join(cells)} |"


def gather_of(kg: KnowledgeGraph, options: argparse.Namespace) -> Gather:
    return kg.gather(options.retriever, context=options.context)


def covered(gather: Gather, questions: Sequence[Question]) -> str:
    asked = [question for question in questions if question.known]
    hits = 0
    for question in asked:
        excerpts = gather(Query(question.text)).context.excerpts.values()
        hits += bool(contains_answer(question.known, [excerpt.titled_text for excerpt in excerpts]))
    return f"{hits}/{len(asked)}"


def import_movies(folder: Path, metaqa: Path, embedder: HashEmbedder) -> None:
    """Import MetaQA's graph, unless it is there."""
    if folder.exists():
        return
    triples = folder.with_suffix(".nt")
    ntriples(metaqa / "kb.tsv", triples, 1)
    with sarag_rdf.open(folder, embedder=embedder, endpoint=None) as kg:
        kg.import_graph(triples, "rdf", name="movies")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--over", default="documents")
    parser.add_argument("--base-url", default="http://localhost:8080/v1")
    parser.add_argument("--by-hand", action="store_true", help="Ask no model.")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--metaqa", type=Path)
    parser.add_argument("--count", type=int, default=100, help="Questions at most.")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--retriever", default="sarag")
    parser.add_argument("--context", default="selected:budget=400")
    parser.add_argument("--name", help="Of the files of rows; by default that of the questions.")
    parser.add_argument("--minutes", type=float, default=1e6, help="Ask no further after these.")
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    options.until = time.time() + 60 * options.minutes
    options.name = options.name or ("metaqa" if options.metaqa else "demo")
    options.work.mkdir(parents=True, exist_ok=True)
    if options.metaqa:
        questions = metaqa_questions(options.metaqa)
    else:
        questions = demo_questions(Path(__file__).parent / "questions-typed.json")
    random.Random(SEED).shuffle(questions)
    over = [] if options.over == "documents" else [options.over]
    asked: list[Question] = []
    embedder = None
    if options.metaqa and options.by_hand:
        embedder = HashEmbedder()
        import_movies(options.kg, options.metaqa, embedder)
    with sarag_rdf.open(options.kg, embedder=embedder, endpoint=None, over=over) as kg:
        names = [BY_HAND] if options.by_hand else options.systems.split(",")
        systems = [Rows(kg, name, options, questions) for name in names]
        for question in questions[: options.count]:
            if time.time() > options.until:
                break
            for rows in systems:
                rows.add(question)
            asked.append(question)
        print(f"\nfirst {len(asked)} of {len(questions)} questions, seed {SEED}, {options.context}")
        if not options.by_hand:
            passages = covered(gather_of(kg, options), asked)
            print(f"passages: the answer is in the context of {passages}\n")
    lines = [line(rows.system, rows.of(asked)) for rows in systems]
    print(
        "| system | questions | parsed | accepted | repaired | graph | right of these "
        "| right | F1 | calls | tokens read | seconds |"
    )
    print("| --- |" + " ---: |" * 11)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
