"""``sarag evaluate competency``: queries with expected answers, which test a graph.

After Grüninger and Fox (1995), the questions that an ontology must be able to answer specify it. A
question is a file ``NAME.rq`` beside its expected answers in a standard format of SPARQL results:
``NAME.csv``, ``NAME.tsv`` or ``NAME.srj``. Rows are compared as sets.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, get_args

import click
import pyoxigraph as ox

from sarag_rdf.base.errors import InputError, QueryError, one_line, shown_path
from sarag_rdf.base.files import read_text
from sarag_rdf.base.ports import Table, Triples
from sarag_rdf.base.resources import query_header
from sarag_rdf.base.vocab import XSD
from sarag_rdf.cli.flags import kg_option, open_graph, query_over_option, sparql_options
from sarag_rdf.cli.output import counted, progress_bars
from sarag_rdf.graph.ontology.schema import NUMBERS
from sarag_rdf.graph.store import query_outline
from sarag_rdf.graph.store.query_outline import QueryOutline, TriplePattern, UnusedTerm, Vocabulary
from sarag_rdf.graph.store.results import parse_json_results, plain_text
from sarag_rdf.graph.store.sparql_syntax import check_query
from sarag_rdf.plugins.evaluation.commands import result_options, show_results

RunQuery = Callable[[str], Table | Triples | bool]
State = Literal["passes", "partly", "fails", "error"]
ANSWER_SUFFIXES: Final = (".csv", ".tsv", ".srj")
_TRACED: Final = 3
"""Missing rows for which the pattern without a solution is determined."""
_BOOLEANS: Final = {"true": True, "false": False}
_MALFORMED = (SyntaxError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
Row = tuple[str, ...]
"""The cells of a row as text, in the order of the variables."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where answers end: no solution has `pattern` together with the patterns before it.

    With a `row`, for that missing row. Without a pattern, another clause excludes all solutions.
    """

    pattern: str
    row: Row = ()

    @property
    def reason(self) -> str:
        if self.pattern:
            return f"no solution has: {self.pattern}"
        return "all triple patterns have a solution, which another clause excludes"


@dataclass(frozen=True, slots=True)
class CompetencyResult:
    """The result of one question.

    `expected` is the number of expected rows, and `found` that of those that were found; `missing`
    and `unexpected` are rows. `unused` are the terms of the query that do not occur in the graph.
    `message` says what went wrong, in state error, or why a failure has no diagnosis.
    """

    name: str
    question: str
    state: State
    expected: int = 0
    found: int = 0
    variables: tuple[str, ...] = ()
    missing: tuple[Row, ...] = ()
    unexpected: tuple[Row, ...] = ()
    unused: tuple[UnusedTerm, ...] = ()
    stops: tuple[Stop, ...] = ()
    message: str = ""


def question_files(folder: Path) -> tuple[Path, ...]:
    """The queries in a folder, by name.

    Raises `InputError` if there are none, or if a query or a file of answers is a symbolic link to
    a path outside the folder.
    """
    if not folder.is_dir():
        raise InputError(f"no such folder: {shown_path(folder)}")
    files = tuple(sorted(folder.glob("*.rq")))
    if not files:
        raise InputError(
            f"{shown_path(folder)} has no competency questions: put NAME.rq there, and its "
            "expected answers as NAME.csv, NAME.tsv or NAME.srj"
        )
    top = os.path.realpath(folder)
    for file in (path for query in files for path in (query, *_answer_files(query))):
        if not Path(os.path.realpath(file)).is_relative_to(top):
            raise InputError(
                f"{shown_path(file)} is a symbolic link to a path outside the folder: copy its "
                "target into the folder"
            )
    return files


def evaluate_question(
    file: Path, run_query: RunQuery, known: Vocabulary, prologue: str = ""
) -> CompetencyResult:
    """Run a query and compare its result with the expected answers; never raises for its files.

    `known` has the declared classes and properties, `prologue` prefixes that need no declaration.
    A file that cannot be read, or a query that does not run, gives a result in state error.
    """
    name, question = file.stem, ""
    try:
        text = read_text(file)
        question = query_header(text).get("summary", "")
        expected = read_answers(file)
        answer = _answer(prologue + text, run_query, expected)
        result = _compare(CompetencyResult(name, question, "fails"), expected, answer)
        if result.state == "passes":
            return result
        try:
            outline = query_outline.outline_of(prologue + text)
        except QueryError as error:  # syntax that the engine knows and rdflib does not
            return replace(result, message=str(error))
        unused = query_outline.unused_terms(outline, run_query, known)
        stops = tuple(_stops(result, outline, run_query, answer))
        return replace(result, unused=unused, stops=stops)
    except (InputError, QueryError) as error:
        return CompetencyResult(name, question, "error", message=str(error))


def _answer(text: str, run_query: RunQuery, expected: Table | bool) -> Table | bool:
    if check_query(text).reaches_network:
        raise InputError("the query uses SERVICE, which competency questions may not")
    result = run_query(text)
    if isinstance(result, Triples):
        raise InputError("a competency question is a SELECT or ASK query")
    if isinstance(result, bool) != isinstance(expected, bool):
        wanted = "true or false" if isinstance(result, bool) else "rows"
        raise InputError(f"the query returns {wanted}, unlike its expected answers")
    return result


# ------------------------------------------------------------------------------- Expected answers


def read_answers(query: Path) -> Table | bool:
    """The expected answers beside a query; raises `InputError`.

    Cells are terms, or texts if the file is CSV, which has no datatypes.
    """
    files = _answer_files(query)
    if not files:
        names = f"{query.stem}.csv, {query.stem}.tsv or {query.stem}.srj"
        raise InputError(f"no expected answers: write them to {names}")
    if len(files) > 1:
        raise InputError(f"expected answers in {files[0].name} and {files[1].name}: keep one")
    (file,) = files
    text = read_text(file)
    word = text.strip().casefold()
    if word in _BOOLEANS and file.suffix != ".srj":
        return _BOOLEANS[word]
    return _read_csv(file, text) if file.suffix == ".csv" else _read_terms(file, text)


def _answer_files(query: Path) -> list[Path]:
    return [file for s in ANSWER_SUFFIXES if (file := query.with_suffix(s)).is_file()]


def _read_csv(file: Path, text: str) -> Table:
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"{file.name} is not CSV ({error}): repair it") from error
    except ValueError as error:
        raise InputError(f"{file.name} is empty: its first line names the variables") from error
    variables = tuple(name.strip().removeprefix("?") for name in header)
    width = len(variables)
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            cells = f"row {number} has {len(row)} cells, but there are {width} variables"
            raise InputError(f"{file.name}: {cells}")
    return Table(variables, [tuple(row) for row in rows])


def _read_terms(file: Path, text: str) -> Table | bool:
    try:
        if file.suffix == ".srj":
            return parse_json_results(json.loads(text))
        if "<<" in text:
            raise InputError(f"{file.name} has triple terms, which are not compared")
        parsed: Any = ox.parse_query_results(text.encode(), format=ox.QueryResultsFormat.TSV)
        if isinstance(parsed, ox.QueryBoolean):
            return bool(parsed)
        names = tuple(variable.value for variable in parsed.variables)
        return Table(names, [tuple(row) for row in parsed])
    except _MALFORMED as error:
        kind = "JSON" if file.suffix == ".srj" else "TSV"
        reason = f"{file.name} is not a SPARQL result in {kind} ({error})"
        raise InputError(f"{reason}: repair it") from error


# ------------------------------------------------------------------------------------- Comparison


def _compare(
    failed: CompetencyResult, expected: Table | bool, result: Table | bool
) -> CompetencyResult:
    if isinstance(result, bool) or isinstance(expected, bool):
        if result == expected:
            return replace(failed, state="passes", expected=1, found=1)
        lacking, other = (((str(value).lower(),),) for value in (expected, result))
        return replace(failed, expected=1, missing=lacking, unexpected=other)
    if sorted(expected.variables) != sorted(result.variables):
        raise InputError(
            f"the expected answers have the variables {' '.join(expected.variables)}, the query "
            f"has {' '.join(result.variables)}"
        )
    order = [result.variables.index(variable) for variable in expected.variables]
    # Terms are compared with texts if the expected answers are texts.
    is_text = all(isinstance(cell, str) for row in expected.rows for cell in row)
    terms = [[row[column] for column in order] for row in result.rows]
    found = {
        tuple(_key(term, is_text=is_text) for term in row): tuple(map(plain_text, row))
        for row in terms
    }
    unexpected = dict(found)
    missing: dict[Row, None] = {}
    matched: dict[Row, None] = {}
    for row in expected.rows:
        keys = [key for key in product(*map(_keys, row)) if key in found]
        for key in keys:
            unexpected.pop(key, None)
        shown = tuple(cell if isinstance(cell, str) else plain_text(cell) for cell in row)
        (matched if keys else missing)[shown] = None
    state: State = "partly" if matched else "fails"
    return replace(
        failed,
        state=state if missing or unexpected else "passes",
        expected=len(missing) + len(matched),
        found=len(matched),
        variables=expected.variables,
        missing=tuple(missing),
        unexpected=tuple(sorted(unexpected.values())),
    )


def _key(term: Any, *, is_text: bool) -> str:
    """Equal for terms that are compared as equal: numbers by value, others as terms or texts."""
    is_number = isinstance(term, ox.Literal) and term.datatype.value in NUMBERS
    if is_number and (number := _number(term.value)):
        return number
    if term is None or isinstance(term, ox.BlankNode):
        return "" if term is None else "_:"
    return plain_text(term) if is_text else str(term)


def _keys(cell: Any) -> tuple[str, ...]:
    """The keys of the terms that an expected cell matches; a text may be a number or a string."""
    if not isinstance(cell, str):
        return (_key(cell, is_text=False),)
    if cell.startswith("_:"):
        return ("_:",)
    return tuple(filter(None, (cell, _number(cell)))) or ("",)


def _number(text: str) -> str:
    """A key for the value of a number; empty for another text."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return ""
    return f"\0{value.normalize() + 0}" if value.is_finite() else ""


# -------------------------------------------------------------------------------------- Diagnosis


def _stops(
    result: CompetencyResult, outline: QueryOutline, run_query: RunQuery, answer: Table | bool
) -> Iterable[Stop]:
    if not result.missing or answer is True:
        return
    if answer is False or not answer.rows:
        pattern = first_without_solutions(outline, run_query, {})
        if pattern is not None or answer is False:
            yield Stop(query_outline.compact(pattern.text, outline.prefixes) if pattern else "")
            return
    for row in result.missing[:_TRACED]:
        values = {
            variable: _is_value(variable, cell)
            for variable, cell in zip(result.variables, row, strict=True)
            if cell and not cell.startswith("_:")
        }
        pattern = first_without_solutions(outline, run_query, values)
        yield Stop(query_outline.compact(pattern.text, outline.prefixes) if pattern else "", row)


def first_without_solutions(
    outline: QueryOutline, run_query: Callable[[str], Any], values: Mapping[str, str]
) -> TriplePattern | None:
    """The first required pattern that has no solution together with those before it, or None.

    `values` maps variables to expressions that hold for them; patterns with these variables come
    first, so that the pattern is one that lacks them.
    """
    patterns = sorted(outline.required, key=lambda p: p.variables.isdisjoint(values))
    bound: set[str] = set()
    for number, pattern in enumerate(patterns, start=1):
        bound |= pattern.variables
        filters = " ".join(f"FILTER({values[name]})" for name in values if name in bound)
        prefix = [_joined(one, patterns[:number]) for one in patterns[:number]]
        if not run_query(f"ASK {outline.dataset} {query_outline.group_of(prefix, filters)}"):
            return pattern
    return None


def _joined(pattern: TriplePattern, others: Sequence[TriplePattern]) -> TriplePattern:
    """A path of any length; one step of it if no other pattern and no term restricts its ends."""
    ends = {pattern.subject, pattern.object}
    is_free = all(end.startswith("?") for end in ends)
    joined = any(not ends.isdisjoint((o.subject, o.object)) for o in others if o is not pattern)
    return pattern.single if is_free and not joined else pattern


def _is_value(variable: str, text: str) -> str:
    """An expression: the variable has this text, or is this number."""
    expression = f"STR(?{variable}) = {ox.Literal(text)}"
    if not _number(text):
        return expression
    datatype = XSD.double if "e" in text.lower() else XSD.decimal
    return f"{expression} || ?{variable} = {ox.Literal(text.strip(), datatype=datatype)}"


def prologue_of(prefixes: Mapping[str, str]) -> str:
    """Declarations of prefixes, to be prepended to a query."""
    return "".join(f"PREFIX {name}: <{iri}> " for name, iri in prefixes.items())


# ---------------------------------------------------------------------------------------- Command


_SHOWN = 3
"""Missing and unexpected rows that are printed."""


@click.command(
    name="competency", epilog="Example:  sarag evaluate competency examples/competency --kg kg"
)
@click.argument("folder", type=click.Path(path_type=Path))
@kg_option
@query_over_option
@sparql_options
@result_options
def command(folder: Path, **options: Any) -> int:
    """Run competency questions, and report which the graph answers and what is missing.

    FOLDER has queries NAME.rq (SELECT or ASK) and their expected answers in the formats of SPARQL
    results: NAME.csv, NAME.tsv or NAME.srj; for ASK also a file with the word true or false. The
    comment '#+ summary:' of a query is the question in words. The prefixes of 'sarag query' are
    predeclared.

    A question passes if the query returns the expected rows and no others, in any order. For others
    the terms that do not occur in the graph are listed, and the first triple pattern after which
    there is no solution. Exit code 1 if a question does not pass.
    """
    files = question_files(folder)
    with open_graph(options) as kg, progress_bars() as progress:
        known, prologue = kg.ontologies.vocabulary(), prologue_of(kg.prefixes())
        advance = progress("questions", len(files))
        results = []
        for file in files:
            results.append(evaluate_question(file, kg.query, known, prologue))
            advance(1)
    counts = Counter[str](result.state for result in results)
    report: dict[str, Any] = {state: counts[state] for state in get_args(State)}
    report["questions"] = [asdict(result) for result in results]
    show_results(options, report, _lines(results, counts))
    return int(counts["passes"] < len(results))


def _lines(results: Sequence[CompetencyResult], counts: Mapping[str, int]) -> Iterator[str]:
    for result in results:
        rows = "" if result.state == "error" else f" ({result.found} of {result.expected})"
        words = f": {result.question}" if result.question else ""
        yield f"{result.state:8}{one_line(f'{result.name}{words}{rows}')}"
        if result.state != "passes":
            yield from (f"        {one_line(problem)}" for problem in _problems(result))
    yield (
        f"{counted(len(results), 'question')}: {counts['passes']} passed, {counts['partly']} "
        f"partly, {counts['fails']} failed, {counts['error']} with an error"
    )


def _problems(result: CompetencyResult) -> Iterator[str]:
    if result.message:
        yield result.message
    reasons = {stop.row: stop.reason for stop in result.stops}
    for word, rows in (("missing", result.missing), ("unexpected", result.unexpected)):
        for row in rows[:_SHOWN]:
            reason = f" ({reasons[row]})" if row in reasons else ""
            yield f"{word}: {' | '.join(row)}{reason}"
        if len(rows) > _SHOWN:
            yield f"... {len(rows) - _SHOWN} more {word}"
    for term in result.unused:
        hint = f"; did you mean {term.suggestion}?" if term.suggestion else ""
        yield f"{term.kind} {term.term} {term.problem}{hint}"
    if () in reasons:
        yield reasons[()]
