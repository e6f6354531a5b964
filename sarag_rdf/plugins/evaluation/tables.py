"""``sarag evaluate table``: the systems of a paper's table, with any model, beside its figures.

A table is a TOML file such as ``published/sa-rag.toml``. It has ``rows``: a name, a system of
``sarag evaluate qa`` with the most ``calls`` for a question (or the ``problem`` why there is none),
and for each of the ``datasets`` the published figures by language model, in percent.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.files import read_text
from sarag_rdf.cli.flags import endpoint_options
from sarag_rdf.plugins.evaluation.commands import (
    data_options,
    output_options,
    parse_names,
    replies_option,
    selection_options,
    show_results,
)
from sarag_rdf.plugins.evaluation.qa import answer_questions, judge_options, parse_system
from sarag_rdf.plugins.evaluation.report import cells, markdown, table

FOLDER: Final = Path(__file__).parent / "published"


@dataclass(frozen=True, slots=True)
class Row:
    """A system of the table, "" if this library does not have it, as `problem` says.

    `published` are figures in percent by language model, in the order of the table's measures.
    """

    name: str
    system: str
    calls: str
    problem: str
    published: tuple[tuple[float, ...], ...]

    def __str__(self) -> str:
        if not self.system:
            return f"{self.name}: {self.problem}"
        return f"{self.name}: {self.system}; at most {self.calls}"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """The table of a paper for one data set; `columns` are those of `sarag_rdf…report.block`."""

    title: str
    full_context: str
    models: tuple[str, ...]
    measures: tuple[str, ...]
    columns: Mapping[str, str]
    rows: tuple[Row, ...]

    def only(self, names: Sequence[str]) -> PublishedTable:
        """The table with the rows of these names; raises `UsageError` for an unknown one."""
        known = {row.name.lower(): row for row in self.rows}
        unknown = [name for name in names if name.lower() not in known]
        if unknown:
            choice = ", ".join(row.name for row in self.rows)
            raise UsageError(f"--only: unknown row {', '.join(unknown)}: choose from {choice}")
        chosen = {name.lower() for name in names} or known.keys()
        rows = tuple(row for row in self.rows if row.name.lower() in chosen)
        return PublishedTable(
            self.title, self.full_context, self.models, self.measures, self.columns, rows
        )

    def published(self) -> list[dict[str, Any]]:
        """For a JSON report: name, system or null, and fractions in [0, 1] by model and measure."""
        return [
            {
                "name": row.name,
                "system": row.system or None,
                "published": {
                    model: {
                        measure: round(figure / 100, 6)
                        for measure, figure in zip(self.measures, figures, strict=False)
                    }
                    for model, figures in zip(self.models, row.published, strict=False)
                },
            }
            for row in self.rows
        ]


def read_table(name: str, dataset: str | None, further: str = "") -> PublishedTable:
    """A packaged table by its name, or one in a file; by default for its first data set.

    `further` are options of the table's own retriever. Raises `UsageError` for an unknown table or
    data set, and `InputError` for a file of another form.
    """
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.toml")))
        raise UsageError(f"no such table: {name}: choose from {known}, or name a .toml file")
    try:
        content = tomllib.loads(read_text(path))
        datasets = content["datasets"]
        chosen = dataset or next(iter(datasets))
        if chosen not in datasets:
            raise UsageError(f"no such --dataset: {chosen}: choose from {', '.join(datasets)}")
        options = ":".join(filter(None, (datasets[chosen], further.strip(":"))))
        return PublishedTable(
            content["title"],
            content["full_context"],
            tuple(content["models"]),
            tuple(content["published"]),
            content["columns"],
            tuple(_row(row, chosen, content["retriever"], options) for row in content["rows"]),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, StopIteration) as error:
        example = f"{FOLDER / 'sa-rag.toml'} is an example"
        raise InputError(f"{path} is not a table of a paper ({error}): {example}") from error


def _row(row: Mapping[str, Any], dataset: str, retriever: str, options: str) -> Row:
    system = str(row.get("system", ""))
    name, plus, rest = system.partition("+")
    if options and name == retriever:
        system = f"{name}:{options}{plus}{rest}"
    figures = tuple(tuple(map(float, values)) for values in row.get(dataset, ()))
    return Row(row["name"], system, row.get("calls", ""), row.get("problem", ""), figures)


def table_lines(
    found: PublishedTable, report: Mapping[str, Any], *, as_markdown: bool
) -> Iterator[str]:
    """The table as text or Markdown: figures measured, then those published, in percent."""
    results = {result["system"]: result for result in report["results"]}
    heads = ["row", *(head.partition("|")[0] for head in found.columns.values()), *found.models]
    missing = [()] * len(found.models)
    rows = [
        [
            row.name,
            *cells(results.get(row.system, {}), found.columns),
            *(" ".join(f"{f:g}" for f in figures) or "-" for figures in row.published or missing),
        ]
        for row in found.rows
    ]
    setting = report["setting"]
    yield (
        f"{found.title}: {setting['questions']['count']} questions; model: {setting['model']}; "
        f"embedder: {setting['embedder']}; in percent"
    )
    yield ""
    yield from markdown(heads, rows) if as_markdown else table(heads, rows)
    yield ""
    measures = ", ".join(found.columns[name] for name in found.measures)
    yield f"{' and '.join(found.models)}: {measures} as published, on other questions"
    if report["judge"] is None:
        yield f"{found.columns['accuracy']}: the answer matches a known one word for word"
    yield from (str(row) for row in found.rows if not row.system)


@click.command(
    name="table",
    epilog="Example:  sarag evaluate table sa-rag --corpus corpus.json --questions questions.json "
    "--kg kg-of-corpus --limit 25 --replies replies.sqlite --base-url http://127.0.0.1:8080/v1",
)
@click.argument("name", metavar="TABLE")
@data_options(is_corpus_required=False)
@click.option(
    "--dataset",
    help="The data set, for presets and published figures. Default: the first of the table.",
)
@click.option(
    "--only", metavar="ROW,...", callback=parse_names,
    help="Rows to run, by name, such as 'Naive RAG,SA-RAG'.",
)  # fmt: skip
@click.option(
    "--thresholds", metavar="KEY=VALUE:...", default="",
    help="Further options of the table's own retriever, such as c=0.2:tau_d=0.25 for an embedder "
    "whose cosines are low.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="List the systems; do not ask the model.")
@selection_options
@judge_options
@replies_option
@output_options
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@endpoint_options
def command(name: str, **options: Any) -> None:
    """Answer questions with each system of a paper's table.

    TABLE is sa-rag, kg-infused, or a .toml file. The rows are systems of 'evaluate qa' with the
    options of the paper; its figures are printed beside those measured.
    """
    found = read_table(name, options["dataset"], options["thresholds"]).only(options["only"])
    systems = [parse_system(row.system) for row in found.rows if row.system]
    if options["dry_run"]:
        for row in found.rows:
            click.echo(str(row))
        return
    if not systems:
        raise UsageError("none of these rows can be run: name others with --only")
    fixed = {"budget": None, "tokenizer": None, "plot": None, "full_context": found.full_context}
    report, _ = answer_questions(systems, systems[0].label, {**options, **fixed})
    lines = table_lines(found, report, as_markdown=options["markdown"])
    show_results(options, {**report, "table": found.published()}, lines)
