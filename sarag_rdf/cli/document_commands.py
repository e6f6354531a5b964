"""``sarag index``, ``update``, ``sync`` and ``delete``: the documents of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import EmptyGraphError, NotAGraphError, UsageError, one_line
from sarag_rdf.base.options import declared_options
from sarag_rdf.base.plugins import workers_of
from sarag_rdf.base.ports import CountsUsage, Estimates
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, note, problem, progress_bars, text_lines
from sarag_rdf.documents.reading import ReadOptions

if TYPE_CHECKING:
    from sarag_rdf.base.ports import Extractor
    from sarag_rdf.graph.ontology.schema import Schema
    from sarag_rdf.kg.graph import KnowledgeGraph, Mode
    from sarag_rdf.kg.schemas import OntologyReport

_READING = [option.name for option in declared_options(ReadOptions)]

_document_options = flags.together(
    flags.write_options,
    flags.of(flags.CommandOptions, "extractor", "examples"),
    flags.of(ReadOptions, without=("stdin_format",)),
    flags.model_options,
    flags.switch("--strict", "Exit with 1 if any document could not be indexed."),
    flags.json_option,
)
_dry_run_option = flags.switch(
    "--dry-run", "List the changes, estimate model calls or time, and write nothing."
)
_yes_option = flags.switch("--yes", "Confirm the deletion of more than a third of the sources.")


@click.command(epilog="Example:  sarag index docs/ notes.md --kg kg")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_document_options
@flags.base_option
@flags.of(flags.CommandOptions, "ontology")
@flags.shapes_options
@flags.of(ReadOptions, "stdin_format")
@_dry_run_option
def index(paths: tuple[Path, ...], **options: Any) -> int:
    """Index files, folders, or standard input (-) into a knowledge graph.

    Reads .txt, .md, .html, .json, .jsonl, .csv and .tsv; PDF, DOCX and the like with
    pip install 'sarag-rdf[documents]'. Unchanged sources are skipped; a source whose text changed
    is replaced. A file that cannot be read is reported, and the others are indexed.
    """
    if options["on_violation"] and not options["shapes"]:
        raise UsageError("--on-violation requires --shapes")
    missing = [str(path) for path in paths if str(path) != "-" and not path.exists()]
    if missing:
        raise UsageError(f"no such file or folder: {', '.join(missing)}")
    return _run("index", paths, options)


@click.command(epilog="Example:  sarag update notes/vistula.md --kg kg")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_document_options
@_yes_option
@_dry_run_option
def update(paths: tuple[Path, ...], **options: Any) -> int:
    """Re-index files of the graph that have changed.

    A source has changed if its text, title, language or extraction method differs. In a file of
    records, new records are added, changed ones replaced and missing ones deleted. Files that are
    not in the graph are skipped. Deleting more than a third of the files' sources requires --yes.
    """
    return _run("update", paths, options, yes=options["yes"])


@click.command(epilog="Example:  sarag sync docs/ --kg kg --dry-run")
@click.argument("folder", type=click.Path(path_type=Path))
@_document_options
@flags.base_option
@_yes_option
@_dry_run_option
def sync(folder: Path, **options: Any) -> int:
    """Make the sources in the graph match a folder: add, update and delete them.

    This affects all sources that have a path; with --root, those whose paths lie below the folder.
    A file that exists but cannot be read keeps its previous version. Deleting more than a third of
    the sources requires --yes.
    """
    return _run("sync", folder, options, yes=options["yes"])


@click.command(epilog="Example:  sarag delete polish/vistula.md notes/ --kg kg")
@click.argument("sources", nargs=-1, required=True)
@flags.write_options
@flags.embedding_options
@flags.json_option
@flags.switch("--dry-run", "List the sources without deleting them.")
def delete(sources: tuple[str, ...], **options: Any) -> int:
    """Delete sources from the graph, and everything that no other source supports.

    A SOURCE is an IRI, or a path below the indexed folder. The path of a file of records selects
    all of its records, and a path that ends in / everything below it. The files are not touched.
    """
    with flags.open_graph(options) as kg:
        if options["dry_run"]:
            names = kg.plan_delete(sources)
            lines = [f"delete  {one_line(name)}" for name in names]
            return emit(options, {"delete": names}, *lines, f"would be {len(names)} deleted")
        with progress_bars() as progress:
            names = kg.delete(sources, progress=progress)
        counts = _counts(kg)
    data = {"deleted": names, "graph": counts}
    graph = text_lines("graph.j2", kg=options["kg"], counts=counts)
    return emit(options, data, f"{len(names)} deleted", *graph)


def add_ontologies(
    kg: KnowledgeGraph, files: Sequence[str], *, is_silent: bool, **arguments: Any
) -> list[OntologyReport]:
    """Add ontologies, and print a line for each unless `is_silent`; problems are always printed."""
    reports = [kg.ontologies.add(file, **arguments) for file in files]
    for report, file in zip(reports, files, strict=True):
        state = "already in the graph" if report.already else "added"
        counts = f"{counted(report.classes, 'class')}, {counted(report.properties, 'property')}"
        if not is_silent:
            click.echo(f"{report.name}: {state}, {counts}, {report.triples} triples")
        errors = [finding for finding in report.findings if finding.severity == "error"]
        for finding in errors:
            problem(one_line(str(finding)))
        if warnings := len(report.findings) - len(errors):
            problem(f"{counted(warnings, 'warning')}: sarag ontology check {file} lists them")
    if any(report.sources and not report.already for report in reports):
        note(
            f"{counted(reports[0].sources, 'source')} indexed with another schema: sarag update "
            "or sarag index extracts them again"
        )
    return reports


def _run(how: Mode, inputs: Any, options: dict[str, Any], **more: Any) -> int:
    """Index, update or sync, or with --dry-run print the plan; returns the exit code."""
    arguments = {**{name: options[name] for name in _READING if name in options}, **more}
    ontologies = options.get("ontology", ())
    nothing = ""
    if how == "index":
        nothing = f"no documents in {', '.join(map(str, inputs))}: name a folder that contains some"
    with flags.open_graph(options, base=options.get("base")) as kg:
        if nothing and not options["as_json"] and not any(map(_has_files, inputs)):
            problem(nothing)
            return 1
        if options["dry_run"]:
            schema = kg.ontologies.schema(more=ontologies) if ontologies else None
            extractor = _extractor(kg, how, options, schema)
            _ = extractor.method  # loads a model, which is no part of reading
            begin = monotonic()
            plan = kg.plan(inputs, how=how, extractor=extractor, **arguments)
            return _show_plan(kg, how, plan, extractor, options, monotonic() - begin)
        if ontologies:
            limits = {name: options[name] for name in ("max_expansion", "max_seconds")}
            add_ontologies(kg, ontologies, is_silent=options["as_json"], **limits)
        extractor = _extractor(kg, how, options)
        method = extractor.method
        digest = method.settings.get("ontology", "")
        schema_part = f", ontology {digest[:8]}" if digest else ""
        note(f"indexing with {method.extractor} ({method.model}{schema_part})")
        with progress_bars() as progress:
            change = getattr(kg, how)
            report = change(inputs, extractor=extractor, progress=progress, **arguments)
        for each in report.problems:
            problem(each)
        is_empty = how == "index" and not (report.added or report.updated or report.unchanged)
        if is_empty and not report.problems:
            problem(nothing)
        _show_report(kg, how, report, extractor, options)
        if options.get("shapes") and not is_empty:
            _check_shapes(kg, options)
    processed = report.added + report.updated + report.deleted + report.unchanged
    failed = bool(report.problems) and (options["strict"] or not processed)
    return int(is_empty or failed)


def _has_files(path: Path) -> bool:
    return not path.is_dir() or any(inner.is_file() for inner in path.rglob("*"))


def _extractor(
    kg: KnowledgeGraph, how: Mode, options: dict[str, Any], schema: Schema | None = None
) -> Extractor:
    """That of --extractor, else the graph's own, else `llm` with an endpoint, else `spacy`.

    The graph's own takes precedence over `llm`, so that an endpoint that is set for `ask` does not
    cause everything to be extracted again. It follows `schema`, by default that of the ontologies.

    Raises `UsageError` without --extractor, if the graph's extractor has options or a file that
    are not known: with another one, documents would be extracted again.
    """
    name = options["extractor"]
    if not name:
        known = kg.extractors()
        if known and known not in ({"spacy"}, {"llm"}):
            raise UsageError(
                f"the graph was extracted with {' and '.join(sorted(known))}: pass the same "
                "--extractor again, with its options or its file; with another one, "
                f"{'documents that it has' if how == 'index' else 'everything'} would be "
                "extracted again"
            )
        name = next(iter(known), "llm" if flags.endpoint_of(options) else "spacy")
    if not options["examples"]:
        return kg.extractor(name, schema=schema)
    extractor, colon, rest = name.partition(":")
    if extractor not in ("spacy", "learned", "llm"):
        raise UsageError(f"--examples is for spacy and llm; {name} learns from no examples")
    if extractor == "spacy":
        name = f"learned{colon}{rest}"
    return kg.extractor(name, schema=schema, examples=options["examples"])


def _check_shapes(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    """Validate the statements of the graph; problems go to standard error."""
    files = options["shapes"]
    if options["on_violation"] == "quarantine":
        gate = kg.quarantine.apply_shapes(*files)
        violations, count = gate.remaining, len(gate.quarantined)
        if count:
            note(f"{counted(count, 'statement')} put into quarantine: sarag quarantine statements")
    else:
        violations = kg.validate(shapes=files).violations
    if violations:
        note(
            f"{counted(len(violations), 'violation')} of the shapes, such as {violations[0]}: "
            f"sarag validate --shapes {files[0]} lists them"
        )


def _show_plan(
    kg: KnowledgeGraph, how: Mode, plan: Any, extractor: Any, options: dict[str, Any], spent: float
) -> int:
    """Print what would be done, planned in `spent` seconds; returns 1 if --yes would be needed."""
    from sarag_rdf.kg.estimating import estimated_seconds

    for each in (*plan.problems, *plan.quarantined):
        problem(each)
    usage = None
    if isinstance(extractor, Estimates):
        prices = {name: options[name] for name in ("price_in", "price_out")}
        usage = extractor.estimate(plan.documents, **prices)
    reading = {name: options[name] for name in ("words", "overlap", "max_chars")}
    workers = workers_of(options["workers"])
    seconds = estimated_seconds(kg, plan.todo, extractor, workers, **reading)
    seconds = seconds and seconds + spent
    size = workers.size if workers and seconds else None
    changes = {
        "add": [planned.name for planned in plan.todo if not planned.known],
        "update": [planned.name for planned in plan.todo if planned.known],
        "delete": [*plan.deletions.values()],
    }
    data = changes | {
        "documents": len(plan.documents),
        "unchanged": plan.unchanged,
        "duplicates": plan.duplicates,
        "new_files_skipped": plan.left_out,
        "problems": plan.problems,
        "quarantined": plan.quarantined,
        "estimate": usage,
        "seconds": seconds,
        "workers": size,
    }
    shown: dict[str, Any] = {name: data[name] for name in ("estimate", "seconds", "workers")}
    shown["changes"] = changes
    emit(options, data, *text_lines("plan.j2", how=how, plan=plan, **shown))
    if plan.refused:
        problem(plan.refused)
    return int(bool(plan.refused))


def _show_report(
    kg: KnowledgeGraph, how: Mode, report: Any, extractor: Any, options: dict[str, Any]
) -> None:
    """Print the counts of a run, those of the graph, and the model calls."""
    usage = extractor.usage if isinstance(extractor, CountsUsage) else None
    counts = _counts(kg)
    data = {field.name: getattr(report, field.name) for field in fields(report)}
    shown: dict[str, Any] = {"kg": options["kg"], "counts": counts, "calls": usage}
    lines = text_lines("report.j2", how=how, run=report, **shown)
    emit(options, data | {"usage": usage, "graph": counts}, *lines)


def _counts(kg: KnowledgeGraph) -> dict[str, int] | None:
    """Counts of the graph's contents, or None if there is no graph."""
    try:
        return kg.stats()
    except (EmptyGraphError, NotAGraphError):
        return None
