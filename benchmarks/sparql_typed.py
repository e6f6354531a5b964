"""Questions as SPARQL over typed graphs, with a small reader.

    sarag index examples/corpus --extractor spacy --kg WORK/demo
    python -m benchmarks.sparql_typed --kg WORK/demo --work WORK --by-hand
    python -m benchmarks.sparql_typed --kg WORK/demo --base-url URL --work WORK
    python -m benchmarks.sparql_typed --kg WORK/movies --over movies --metaqa FOLDER --work WORK \\
        --by-hand
    python -m benchmarks.steering --metaqa FOLDER --work WORK   # imports the graph with vectors
    python -m benchmarks.sparql_typed --kg WORK/kg --over movies --metaqa FOLDER --count 20 \\
        --base-url URL --work WORK
    python -m benchmarks.sparql_typed --kg WORK/articles --retriever dense:limit=5 \\
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
Replies are kept in WORK: a run that is interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import sarag_rdf
from benchmarks.linked_data import ntriples
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import EndpointError, UnparsableReplyError
from sarag_rdf.base.ports import LLM, Gather, Reasoner, Reply
from sarag_rdf.base.types import Answer, Context, Evidence, Query, Retrieved, Subgraph, Usage
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.vectors import make_llm
from sarag_rdf.models.json_reply import parse_reply
from sarag_rdf.plugins.evaluation.datasets import Question, read_questions
from sarag_rdf.plugins.evaluation.measures import contains_answer, matches, token_f1
from sarag_rdf.plugins.evaluation.qa import Account
from sarag_rdf.retrieval.retriever import question_of
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


Patterns = dict[str, dict[str, Any]]
"""Question -> the reply that a person would write."""


def reply_of(
    patterns: Sequence[Sequence[str]], comparisons: Sequence[Any] = (), *, count: bool = False
) -> dict[str, Any]:
    keys = ("subject", "property", "object")
    found = [dict(zip(keys, pattern, strict=True)) for pattern in patterns]
    return {"patterns": found, "classes": [], "comparisons": list(comparisons), "count": count}


def demo_questions(path: Path) -> tuple[list[Question], Patterns]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    questions = [
        Question(row["id"], question_of(row["question"]), tuple(row["answers"])) for row in rows
    ]
    replies = (
        reply_of(row["patterns"], row.get("comparisons", []), count=row.get("count", False))
        for row in rows
    )
    return questions, {q.query.text: reply for q, reply in zip(questions, replies, strict=True)}


def metaqa_questions(folder: Path) -> tuple[list[Question], Patterns]:
    questions: list[Question] = []
    patterns: Patterns = {}
    for hops in (1, 2, 3):
        file = read_questions(folder / f"questions_dev300_{hops}hop.tsv")
        for number, question in enumerate(file.questions, start=1):
            path = path_patterns(question.topic, question.type.split("_to_"))
            questions.append(replace(question, id=f"{hops} hop-{number:03}"))
            patterns[question.query.text] = reply_of(path)
    return questions, patterns


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

    def __init__(self, replies: Patterns) -> None:
        self._replies = replies

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """The patterns; as of a model, they are an error where the graph lacks their properties."""
        del name, max_tokens
        text = prompt.rpartition("Question: ")[2].partition("\n")[0]
        reply = json.dumps({key: self._replies[text][key] for key in schema["properties"]})
        try:
            return Reply(parse_reply(reply, schema), Usage(1))
        except ValueError as error:
            raise UnparsableReplyError(str(error)) from error


def nothing(query: Query) -> Evidence:
    retrieved = Retrieved(query, "none", {}, (), (), (), (), Subgraph((), {}, ()))
    return Evidence(retrieved, Context(()))


def notes(answer: Answer, name: str) -> list[Any]:
    return [stage.detail for stage in answer.trace if stage.kind == "note" and stage.name == name]


def row_of(question: Question, answer: Answer, account: Account, seconds: float) -> dict[str, Any]:
    """What the table needs of one answer, and what a person needs to check it.

    F1 of a question of MetaQA is over all its answers together.
    """
    text = answer.text if answer.outcome == "answered" else ""
    right = matches(text, question.answers) if question.answers else not text
    gold = [", ".join(question.answers)] if question.topic else question.answers
    row: dict[str, Any] = {
        "id": question.id,
        "right": right,
        "f1": token_f1(text, gold) if gold else float(right),
        "calls": account.usage.calls + account.usage.cached_calls,
        "tokens_in": account.usage.tokens_in,
        "seconds": seconds + account.saved,
        "answer": text,
        "reason": "",
    }
    checks, answered = notes(answer, "check"), notes(answer, "answered")
    if answered:
        row |= {
            "parsed": all(check["parsed"] for check in checks),
            "accepted": bool(checks) and checks[0].get("accepted", False),
            "repaired": len(checks) > 1 and checks[1].get("accepted", False),
            "graph": answered[0]["from"] == "graph",
            "reason": answered[0]["reason"],
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


def ask(
    system: str, kg: KnowledgeGraph, llm: LLM, gather: Gather, question: Question
) -> dict[str, Any]:
    """The row of a system for a question; a call that fails gives no answer."""
    account, begin = Account(llm, gather), time.perf_counter()
    reasoner: Reasoner = FirstPath(kg)
    if system != PATHS:
        reasoner = kg.reasoner(system, account.gather, account)
    try:
        answer = reasoner.answer(question.query)
    except EndpointError as error:
        print(f"{system}: {question.id}: {error}", flush=True)
        answer = Answer("insufficient", "", "", (), nothing(question.query).retrieved)
    row = row_of(question, answer, account, time.perf_counter() - begin)
    mark = "right" if row["right"] else "wrong"
    cells = (f"{row['seconds']:.0f} s", system, question.id, row["answer"], row["reason"])
    print(mark, *cells, sep="; ", flush=True)
    return row


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


def covered(gather: Gather, questions: Sequence[Question]) -> str:
    asked = [question for question in questions if question.answers]
    hits = 0
    for question in asked:
        excerpts = gather(question.query).context.excerpts.values()
        texts = [excerpt.titled_text for excerpt in excerpts]
        hits += bool(contains_answer(question.answers, texts))
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
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.metaqa:
        questions, patterns = metaqa_questions(options.metaqa)
    else:
        questions, patterns = demo_questions(Path(__file__).parent / "questions-typed.json")
    random.Random(SEED).shuffle(questions)
    asked = questions[: options.count]
    over = [] if options.over == "documents" else [options.over]
    embedder = None
    if options.metaqa and options.by_hand:
        embedder = HashEmbedder()
        import_movies(options.kg, options.metaqa, embedder)
    with sarag_rdf.open(options.kg, embedder=embedder, endpoint=None, over=over) as kg:
        gather: Gather
        llm: LLM
        if options.by_hand:
            names, gather, llm = [BY_HAND], nothing, ByHand(patterns)
        else:
            endpoint = ModelEndpoint(options.base_url, timeout=options.timeout)
            llm = make_llm(endpoint, options.work / "replies.sqlite")
            names = options.systems.split(",")
            gather = kg.gather(options.retriever, context=options.context)
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for question in asked:
            for name in names:
                rows[name].append(ask(name, kg, llm, gather, question))
        print(f"\nfirst {len(asked)} of {len(questions)} questions, seed {SEED}, {options.context}")
        if not options.by_hand:
            print(f"passages: the answer is in the context of {covered(gather, asked)}\n")
    lines = [line(name, own) for name, own in rows.items()]
    print(
        "| system | questions | parsed | accepted | repaired | graph | right of these "
        "| right | F1 | calls | tokens read | seconds |"
    )
    print("| --- |" + " ---: |" * 11)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
