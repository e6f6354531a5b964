"""``sarag evaluate questions``, ``paths`` and ``fit-paths``: questions about relation paths.

What is counted as retrieved differs between publications, and figures of different accountings
cannot be compared: **terminals** are the entities at the end of the path against the answers;
**path nodes** are all entities of its walks, and **chunk-resolved** those and all their
neighbours, as if each entity's article had been retrieved, against the topic and the answers.

Questions that are written name the start of a path and ask for its end. Walks of a given length are
drawn from the graph; each gives a relation path, whose answers one SPARQL query computes. Questions
from sampled walks whose intermediate entities are hidden are those of DotRAG, section A.5, where a
language model writes them. Here they are composed of the phrases of relation paths, and a model may
rewrite them.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, Final

import click
import numpy as np
from pyoxigraph import NamedNode

from sarag_rdf.base.arrays import find
from sarag_rdf.base.errors import InputError, TruncatedReplyError, UnparsableReplyError, UsageError
from sarag_rdf.base.iris import normalize_name, sha256_hex
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import LLM, Progress, Retriever
from sarag_rdf.base.prompts import object_of, string
from sarag_rdf.base.types import RelationPath
from sarag_rdf.base.vocab import SARAG
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, note, progress_bars, write_output
from sarag_rdf.graph.graph_reader import BATCH, DOCUMENTS, GraphReader, term_reader
from sarag_rdf.graph.texts import entity_labels, full_documents
from sarag_rdf.kg.registry import GraphRetriever
from sarag_rdf.plugins.evaluation.commands import output_option
from sarag_rdf.plugins.evaluation.datasets import DataFile, Question, read_questions
from sarag_rdf.plugins.evaluation.grading import fenced_prompt
from sarag_rdf.plugins.evaluation.measures import PRF
from sarag_rdf.plugins.relation_paths.fitting import Example, fit_model
from sarag_rdf.plugins.relation_paths.path_model import FEATURES, GAPS, Hop, HopSequence
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch
from sarag_rdf.retrieval.network import RELATED_TO
from sarag_rdf.retrieval.view import GraphView

ACCOUNTINGS: Final = ("terminals", "path nodes", "chunk-resolved")
COMPARED: Final = 20
"""Paths of a question among which the best of five that lead anywhere are looked for."""


@dataclass(frozen=True, slots=True)
class PathResult:
    """Scores of a question by accounting, and the time of the search in seconds.

    `best_of_five` is the F1 in [0, 1] of the best of the first five paths.
    """

    scores: Mapping[str, PRF]
    seconds: float
    best_of_five: float


def relation_paths(retriever: Retriever) -> PathSearch:
    """The search of a retriever; raises `UsageError` for one that has no relation paths."""
    if not (isinstance(retriever, GraphRetriever) and isinstance(retriever.strategy, Paths)):
        raise UsageError("--retriever must be paths, or paths:KEY=VALUE")
    return PathSearch(retriever.view, retriever.strategy)


def evaluate_paths(
    paths: PathSearch, questions: Sequence[Question], *, plain: bool
) -> list[PathResult]:
    """Ask all questions, if `plain` without the brackets around their topics."""
    results = []
    for question in questions:
        text = question.query.text if plain else question.marked
        begin = perf_counter()
        _, followed = paths.find(text)
        seconds = perf_counter() - begin
        scores = dict.fromkeys(ACCOUNTINGS, PRF(0.0, 0.0))
        if followed and followed[0].answers:
            scores = _scores(paths.view, question, followed[0])
        results.append(PathResult(scores, seconds, _best_of_five(paths, text, question)))
    return results


def _scores(view: GraphView, question: Question, path: RelationPath) -> dict[str, PRF]:
    between = {iri for answer in path.answers for iri in answer.nodes}
    nodes = between | {answer.iri for answer in path.answers} | {path.topic}
    topic = {path.topic_name}
    ends, expected = {answer.name for answer in path.answers}, {*question.answers} | topic
    found = (
        (ends - topic, expected - topic),
        (names_of(view, nodes), expected),
        (names_of(view, nodes | neighbours(view, nodes)), expected),
    )
    return {name: PRF.of(*sets) for name, sets in zip(ACCOUNTINGS, found, strict=True)}


def names_of(view: GraphView, iris: Iterable[str]) -> set[str]:
    return {name for name, _ in entity_labels(view.reader, iris).values()}


def neighbours(view: GraphView, iris: Iterable[str]) -> set[str]:
    """What relationships join with these entities, and they themselves if there are any."""
    entities = view.iris.entities
    rows = np.array(sorted(find(entities, iri) for iri in iris), dtype=np.int64)
    edges = view.network.incident(RELATED_TO, rows[rows >= 0])
    ends = np.unique(np.concatenate((edges.source, edges.target)))
    return {entities[row] for row in ends.tolist()}


def _best_of_five(paths: PathSearch, text: str, question: Question) -> float:
    """The F1 of the best of the first five paths that lead anywhere."""
    every = map(paths.follow, paths.ranked(paths.topics(text))[:COMPARED])
    scores = (_answer_f1(followed, question) for followed in every if followed.answers)
    return max(islice(scores, 5), default=0.0)


def _answer_f1(path: RelationPath, question: Question) -> float:
    return PRF.of({answer.name for answer in path.answers}, set(question.answers)).f1


def examples(paths: PathSearch, questions: Sequence[Question]) -> list[Example]:
    """What weights are fitted on: the first paths of each question by the present weights."""
    every = []
    for question in questions:
        rows, values, properties, gaps = [], [], [], []
        for topic in paths.topics(question.marked):
            for hops, row, own in zip(*paths.compared(topic), strict=True):
                followed = paths.follow_hops(topic, hops)
                if followed.answers:
                    rows.append(row)
                    values.append(_answer_f1(followed, question))
                    properties.append(frozenset(hop.predicate for hop in hops))
                    gaps.append(own)
        matrix, open_ = (
            np.array(some).reshape(len(rows), len(names))
            for some, names in ((rows, FEATURES), (gaps, GAPS))
        )
        every.append(Example(matrix, np.array(values), tuple(properties), open_))
    return every


# ---------------------------------------------------------------------------------------- Command

_inputs = flags.together(
    flags.kg_option,
    flags.over_option,
    flags.path_option(
        "--questions",
        "Questions with answers, as for evaluate qa; in a table, the topic may be in square "
        "brackets. May be repeated.",
        multiple=True, required=True,
    ),
    click.option(
        "--retriever", default="paths:least=0", show_default=True,
        help="The retriever paths with its options: paths:KEY=VALUE. With least=0, all paths are "
        "followed, however improbable.",
    ),
)  # fmt: skip
_embedding_and_json = flags.together(flags.embedding_options, flags.json_option)


@click.command(
    name="paths",
    epilog="Example:  sarag evaluate paths --kg kg --over movies --questions questions.tsv",
)
@_inputs
@flags.switch("--plain", "Ask without the brackets around topics.")
@_embedding_and_json
def paths_command(**options: Any) -> None:
    """Follow the relation path of each question, and compare its end with the known answers.

    Terminals are the entities at the end of the path, against the answers. Path nodes are all
    entities of its walks, and chunk-resolved are those with all their neighbours, against the
    topic and the answers. Figures of different accountings cannot be compared.
    """
    files, plain = read_files(options["questions"]), options["plain"]
    with flags.open_graph(options) as kg:
        paths = relation_paths(kg.retriever(options["retriever"]))
        for question in chain(*files.values()):  # reads what later questions find in memory
            paths.find(question.query.text if plain else question.marked)
        results = {path: evaluate_paths(paths, own, plain=plain) for path, own in files.items()}
    rows = [row_of(path, own) for path, own in results.items()]
    data = {"retriever": options["retriever"], "plain": plain, "files": rows}
    emit(options, data, *chain(*map(_lines, rows)))


def read_files(paths: Iterable[Path]) -> dict[Path, tuple[Question, ...]]:
    """Files of questions; raises `InputError`, also for a question without an answer."""
    files = {path: read_questions(path).questions for path in paths}
    for path, questions in files.items():
        for question in questions:
            if not question.answers:
                raise InputError(f"{path}: {question.id} has no answer: add one, or remove it")
    return files


def row_of(path: Path, results: Sequence[PathResult]) -> dict[str, Any]:
    """The means over the questions of a file, in percent, and times in milliseconds."""
    median, p95 = np.percentile([1000 * result.seconds for result in results], (50, 95)).tolist()
    accountings = {}
    for name in results[0].scores:
        rows = [result.scores[name].values() for result in results]
        accountings[name] = {k: round(100 * fmean(row[k] for row in rows), 1) for k in rows[0]}
    return {
        "file": path.name,
        "questions": len(results),
        "accountings": accountings,
        "best_of_five": round(100 * fmean(result.best_of_five for result in results), 1),
        "milliseconds": {"median": round(median, 1), "p95": round(p95, 1)},
    }


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{row['file']}: {row['questions']} questions"
    for name, scores in row["accountings"].items():
        figures = "precision {precision:5.1f}  recall {recall:5.1f}  F1 {f1:5.1f}"
        yield f"  {name:<15} {figures.format(**scores)}"
    yield f"  best of five    F1 {row['best_of_five']:.1f} (terminals)"
    times = row["milliseconds"]
    yield f"  milliseconds    median {times['median']:.0f}, p95 {times['p95']:.0f}"


@click.command(
    name="fit-paths",
    epilog="Example:  sarag evaluate fit-paths --kg kg --over movies --questions questions.tsv "
    "--output paths.json",
)
@_inputs
@output_option("--output", "Model file.", required=True)
@click.option("--version", "version", default="own", show_default=True, help="Name of the model.")
@_embedding_and_json
def fit_command(**options: Any) -> None:
    """Fit the weights of relation paths on questions with known answers.

    The file is used with --retriever paths:model=FILE. Weights are first fitted on every other
    question, and the F1 of the questions that were left out is printed; then on all. The
    probabilities of paths are calibrated on these questions, and on what remains without each
    property of a right path.
    """
    files = read_files(options["questions"])
    data = f"{sum(map(len, files.values()))} questions of {', '.join(map(str, files))}"
    with flags.open_graph(options) as kg:
        paths = relation_paths(kg.retriever(options["retriever"], explain=False))
        every = [examples(paths, questions) for questions in files.values()]
        fit = fit_model(paths.model, every, options["version"], data)
    options["output"].write_text(fit.model.to_json() + "\n", encoding="utf-8")
    names = [*map(str, files)]
    followed = dict(zip(names, (shares._asdict() for shares in fit.offered), strict=False))
    figures = {
        "left_out": dict(zip(names, fit.left_out, strict=True)),
        "all": dict(zip(names, fit.all, strict=True)),
        "followed": followed,
        "weights": dict(fit.model.weights),
        "calibration": dict(fit.model.calibration),
    }
    text = [
        f"{name}: F1 {100 * left_out:.1f} of the questions left out, {100 * every:.1f} of all"
        for name, left_out, every in zip(names, fit.left_out, fit.all, strict=True)
    ]
    of_paths = "{}: {right:.0%} of right paths and {wrong:.0%} of wrong ones are followed"
    text += [of_paths.format(name, **shares) for name, shares in followed.items()]
    emit(options, figures, *text)
    note(f"written to {options['output']}")


# ----------------------------------------------------------------------- Questions that are written

TRIES: Final = 50
"""Maximum number of walks that are drawn per requested question."""
CACHED: Final = 5000
"""Entities whose statements stay in memory."""
REASONS: Final = {
    "ends": "too few statements to go on",
    "ambiguous": "the name of the start is ambiguous",
    "many": "more answers than --answers",
    "near": "an answer is next to the start",
    "named": "the question gives a hidden name away",
    "repeated": "drawn before",
    "unsupported": "a statement without a document",
}
"""Why a walk gives no question."""
_MAX_TOKENS: Final = 200
_CHARACTERS: Final = 500


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(Options):
    """What questions are written."""

    name = "evaluate questions"
    count: int = option(50, "Number of questions.", ge=1)
    hops: int = option(
        3, "Number of statements from the start of a question to its answers.", ge=1, le=4
    )
    answers: int = option(5, "Reject questions with more answers than this.", ge=1, le=1000)
    seed: int = option(0, "Random seed.", ge=0)


Statement = tuple[str, str, str]
"""Subject, property and object of a statement of a walk, in the direction of its property."""


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A question with its gold path.

    `walk` are the statements of the walk that it was drawn from, which leads to one of the answers,
    and `supporting` their documents as (title, text). `text` is `composed`, or a model's.
    """

    text: str
    composed: str
    path: RelationPath
    walk: tuple[Statement, ...]
    supporting: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        """An identifier that the start and the properties determine."""
        parts = [self.path.topic, *(f"{'^' * inverse}{iri}" for iri, inverse in self.path.hops)]
        return f"path-{sha256_hex(*parts)[:12]}"

    def record(self) -> dict[str, Any]:
        """The question as a JSON object that ``sarag evaluate`` reads."""
        path = self.path
        return {
            "id": self.id,
            "question": self.text,
            "answer": [answer.name for answer in path.answers],
            "type": "bridge",
            "question_decomposition": [
                {"property": iri, "inverse": inverse} for iri, inverse in path.hops
            ],
            "paragraphs": [
                {"title": title, "paragraph_text": text, "is_supporting": True}
                for title, text in self.supporting
            ],
            "path": {
                "topic": path.topic,
                "topic_name": path.topic_name,
                "text": self.composed,
                "statements": list(map(list, self.walk)),
                "answers": [answer.iri for answer in path.answers],
                "sparql": path.sparql,
            },
        }


class _RejectionError(Exception):
    """A walk that gives no question, with a key of `REASONS`."""


class QuestionWriter:
    """Draws walks from the graph of a retriever of relation paths, and writes questions.

    `rejected` counts walks without a question by the keys of `REASONS`, and `refused` the replies
    of the model that could not be used.
    """

    def __init__(
        self,
        paths: PathSearch,
        options: QuestionOptions,
        articles: Mapping[str, tuple[str, str]] | None = None,
        llm: LLM | None = None,
    ) -> None:
        """`articles` are titles and texts by topic, which stand for the documents of the graph."""
        self._paths, self._options, self._articles, self._llm = paths, options, articles, llm
        self._reader = paths.view.reader
        self._schema = paths.index.schema
        self._tried: set[tuple[str, HopSequence]] = set()
        self.questions: list[WrittenQuestion] = []
        self.rejected: Counter[str] = Counter()
        self.refused = 0
        self._ways = lru_cache(maxsize=CACHED)(self._read_ways)

    def write(self, progress: Progress) -> None:
        """Write the questions, or fewer from `TRIES` walks for each; `InputError` for none."""
        count = self._options.count
        rng = random.Random(self._options.seed)  # noqa: S311 - not for cryptography
        advance = progress("writing questions", count)
        texts: set[str] = set()
        for start in islice(self._starts(rng), TRIES * count):
            try:
                question = self._question(start, rng, texts)
            except _RejectionError as rejection:
                self.rejected[str(rejection)] += 1
                continue
            texts |= {_plain(question.text), _plain(question.composed)}
            self.questions.append(question)
            advance(1)
            if len(self.questions) == count:
                return
        if not self.questions:
            reason = f"all walks were rejected: {self.reasons}"
            raise InputError(
                f"no question was written; {reason if self.rejected else 'no entity has a path'}. "
                "Choose another length with --hops, allow more answers with --answers, or name "
                "another graph with --over"
            )

    @property
    def reasons(self) -> str:
        """Why walks were rejected, with their numbers."""
        counts = sorted(self.rejected.items())
        return "; ".join(f"{count} ({REASONS[key]})" for key, count in counts)

    def _starts(self, rng: random.Random) -> Iterator[str]:
        """Entities at which a path can start, in random order, again and again."""
        entities = list(self._paths.view.iris.entities)
        readers = [term_reader(self._reader, part) for part in self._paths.in_use.parts]
        starts = [""]
        while starts:
            starts = []
            rng.shuffle(entities)
            for begin in range(0, len(entities), BATCH):
                some = entities[begin : begin + BATCH]
                known = {
                    entity.value
                    for reader in readers
                    for entity, end in reader.rows_for("entity-ends", some)
                    if end.value in self._schema.joins
                }
                starts = [entity for entity in some if entity in known] or starts
                yield from (entity for entity in some if entity in known)

    def _question(self, start: str, rng: random.Random, texts: set[str]) -> WrittenQuestion:
        """The question of a random walk from an entity; raises `_RejectionError`."""
        hops, walk, nodes = self._walk(start, rng)
        self._refuse("repeated", (start, hops) in self._tried)
        self._tried.add((start, hops))
        name = entity_labels(self._reader, [start])[start][0]
        key = normalize_name(name)
        owners = self._paths.view.names.entities({key}).get(key, ())
        self._refuse("ambiguous", len(owners) != 1)
        path = self._paths.follow_hops(self._paths.topic(start), hops)
        self._refuse("many", path.is_cut or len(path.answers) > self._options.answers)
        closest = {end for ends in self._ways(start).values() for end in ends}
        self._refuse("near", len(hops) > 1 and any(a.iri in closest for a in path.answers))
        self._refuse("ends", not path.answers)
        composed = self._composed(hops, name)
        hidden = self._hidden(path, nodes)
        self._refuse("named", _names_any(composed, hidden, name))
        self._refuse("repeated", _plain(composed) in texts)
        supporting = self._supporting(walk)
        self._refuse("unsupported", not supporting)
        text = self._rewritten(composed, name, hidden)
        return WrittenQuestion(text, composed, path, walk, supporting)

    @staticmethod
    def _refuse(reason: str, is_refused: bool) -> None:
        if is_refused:
            raise _RejectionError(reason)

    # Walks

    def _walk(
        self, start: str, rng: random.Random
    ) -> tuple[HopSequence, tuple[Statement, ...], list[str]]:
        """A random walk over statements that comes to no entity twice: a property, then an end."""
        nodes = [start]
        hops: list[Hop] = []
        walk: list[Statement] = []
        for _ in range(self._options.hops):
            ways = {hop: ends - {*nodes} for hop, ends in self._ways(nodes[-1]).items()}
            possible = sorted(hop for hop, ends in ways.items() if ends)
            self._refuse("ends", not possible)
            hop = rng.choice(possible)
            nodes.append(rng.choice(sorted(ways[hop])))
            subject, object_ = reversed(nodes[-2:]) if hop.is_inverse else nodes[-2:]
            walk.append((subject, hop.predicate, object_))
            hops.append(hop)
        return tuple(hops), tuple(walk), nodes

    def _read_ways(self, node: str) -> dict[Hop, set[str]]:
        """Hop -> the named entities that it leads to from an entity."""
        known = set(self._schema.hops)
        ways: defaultdict[Hop, set[str]] = defaultdict(set)
        for part in self._paths.in_use.parts:
            rows = term_reader(self._reader, part).rows_for("statements-about", [node])
            for _, side, property_, other in rows:
                hop = Hop(property_.value, side.value == "-")
                if hop in known and isinstance(other, NamedNode):
                    ways[hop].add(other.value)
        named = entity_labels(self._reader, set().union(*ways.values())) if ways else {}
        return {hop: ends & named.keys() for hop, ends in ways.items()}

    # Questions

    def _composed(self, hops: HopSequence, name: str) -> str:
        schema, model = self._schema, self._paths.model
        asked = schema.kinds.get(hops[-1].end, "")
        word = "Who" if asked and model.question_words.get("who") == asked else "What"
        verb = "are" if model.is_plural(schema, hops[-1]) else "is"
        return f"{word} {verb} {model.text_from(schema, hops, name)}?"

    def _hidden(self, path: RelationPath, nodes: Sequence[str]) -> set[str]:
        """The names of answers, and of what is between on every walk to one that was read."""
        between = {iri for answer in path.answers for iri in answer.nodes} | set(nodes[1:])
        named = entity_labels(self._reader, between - {path.topic})
        return {answer.name for answer in path.answers} | {name for name, _ in named.values()}

    def _rewritten(self, composed: str, name: str, hidden: set[str]) -> str:
        """The question by a model; the composed one without it, or if it names what it must not."""
        if self._llm is None:
            return composed
        texts = {"question": composed, "topic": name}
        prompt = fenced_prompt("write_question", *texts.values(), **texts)
        schema, kind = object_of(question=string(_CHARACTERS)), "write_question"
        try:
            reply = self._llm.complete(prompt, schema, name=kind, max_tokens=_MAX_TOKENS)
            text = " ".join(str(reply.data["question"]).split())
        except (TruncatedReplyError, UnparsableReplyError):
            text = ""
        if not text or not _names(text, name) or _names_any(text, hidden, name):
            self.refused += 1
            return composed
        return text

    # Documents

    def _supporting(self, walk: Sequence[Statement]) -> tuple[tuple[str, str], ...]:
        """A document for each statement, as few as suffice; empty if one has none."""
        if self._articles is not None:
            some = [self._articles.get(subject) for subject, *_ in walk]
            return tuple(dict.fromkeys(a for a in some if a)) if all(some) else ()
        chosen: dict[str, None] = {}
        for documents in map(self._documents, walk):
            if not documents:
                return ()
            if not documents & chosen.keys():
                chosen[min(documents)] = None
        by_iri = full_documents(self._reader, chosen)
        return tuple((by_iri[iri].title, by_iri[iri].text) for iri in chosen)

    def _documents(self, statement: Statement) -> set[str]:
        (subject, property_, object_), iris = statement, set()
        for part in self._paths.in_use.parts:
            only = GraphReader(self._reader.store, self._reader.minter, (part,))
            if part.name == DOCUMENTS and property_ == SARAG.relatedTo.value:
                rows = only.rows_for("statements", [subject])
                iris |= {row[7].value for row in rows if row[2].value == object_}
            elif part.name == DOCUMENTS:
                rows = self._reader.select_provenance_for("typed-statements", [subject])
                stated = ((row[2].value, row[3].value, row[7].value) for row in rows)
                iris |= {document for *what, document in stated if what == [property_, object_]}
            else:
                ends = only.rows_for("entity-documents", [subject])
                iris |= {subject for _, document in ends if document.value == subject}
        return iris


def read_articles(path: Path) -> dict[str, tuple[str, str]]:
    """Topic -> title and text of its article, from a file by ``export --format articles``."""
    records = DataFile(path).records("text")
    return {str(r.get("id", "")): (str(r.get("title", "")), str(r["text"])) for r in records}


def write_questions(questions: Iterable[WrittenQuestion]) -> str:
    records = [question.record() for question in questions]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def _names_any(text: str, hidden: Iterable[str], topic: str) -> bool:
    """Whether a text names one of the hidden entities, other than in the name of the topic."""
    rest = _plain(text).replace(_plain(topic), " ")
    return any(_names(rest, name) for name in hidden) or any(_names(topic, name) for name in hidden)


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(_plain(name))}(?!\w)", _plain(text)) is not None


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


# ---------------------------------------------------------------------------------------- Command


@click.command(
    name="questions",
    epilog="Example:  sarag evaluate questions --output questions.json --corpus corpus.json",
)
@flags.kg_option
@flags.over_option
@output_option("--output", "-o", "File of questions.", required=True)
@flags.of(QuestionOptions, once=True)
@output_option(
    "--corpus", "Write the documents of the graph to this file, for sarag evaluate retrieval."
)
@flags.path_option(
    "--articles", "Articles of the graph by sarag export, which are the supporting passages."
)
@flags.switch("--rewrite", "Let the language model of --base-url rewrite them.")
@flags.model_options
def command(**options: Any) -> None:
    """Write multi-hop questions about the graph, each with its answers, path and documents.

    Walks of --hops statements are drawn at random. A question names the entity at the start and
    asks for what is at the end of the same properties; a SPARQL query computes all answers. The
    same graph and --seed give the same questions. sarag evaluate retrieval, qa and paths read them.
    """
    if options["corpus"] and options["articles"]:
        raise UsageError("--articles is the corpus: omit --corpus")
    articles = read_articles(options["articles"]) if options["articles"] else None
    own = flags.chosen(QuestionOptions, options)
    with flags.open_graph(options) as kg, progress_bars() as progress:
        paths = relation_paths(kg.retriever("paths", answers=own.answers))
        llm = kg.llm() if options["rewrite"] else None
        writer = QuestionWriter(paths, own, articles, llm)
        writer.write(progress)
        if options["corpus"]:
            passages = [{"title": title, "text": text} for title, text in kg.documents()]
            text = json.dumps(passages, ensure_ascii=False, indent=1)
            write_output(options["corpus"], f"{text}\n")
    write_output(options["output"], write_questions(writer.questions))
    click.echo(f"{counted(len(writer.questions), 'question')} of {own.count}")
    if writer.rejected:
        click.echo(f"{counted(writer.rejected.total(), 'walk')} rejected: {writer.reasons}")
    if llm:
        rewritten = sum(question.text != question.composed for question in writer.questions)
        click.echo(f"{rewritten} rewritten by the model; {writer.refused} replies not used")
