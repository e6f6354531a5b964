"""``sarag ontology``: the ontologies that extraction follows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError, one_line
from sarag_rdf.base.tables import delimiter_for
from sarag_rdf.base.types import SchemaUse, TermCount
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.cli.indexing import base_option
from sarag_rdf.cli.merge import show_decisions, undo
from sarag_rdf.cli.options import (
    Decorator,
    embedder_option,
    expansion_option,
    json_option,
    kg_option,
    open_graph,
    seconds_option,
    sparql_write_options,
)
from sarag_rdf.cli.output import counted, echo_json, open_output
from sarag_rdf.graph.ontology.schema import Schema

if TYPE_CHECKING:
    from sarag_rdf.graph.ontology.check import OntologyFinding
    from sarag_rdf.graph.ontology.schema import OntologyProperty
    from sarag_rdf.kg.ontology import OntologyReport, StoredOntology
    from sarag_rdf.kg.phrases import AcceptReport

_MOST_EXAMPLES = 3
"""Terms that are printed for a kind of warning."""
_MOST_FOUND = 3
"""Classes of subjects and of objects that are printed."""


def _parsing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--format, --base-iri, and the limits of parsing."""
    decorators: list[Decorator] = [
        click.option("--format", "format_", help="RDF format. Default: by the suffix of the file."),
        click.option("--base-iri", help="Base IRI for relative IRIs in the file."),
        expansion_option,
        seconds_option,
    ]
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def _parsing_arguments(options: dict[str, Any]) -> dict[str, Any]:
    names = ("base_iri", "max_expansion", "max_seconds")
    return {"format": options["format_"], **{name: options[name] for name in names}}


@click.group(
    name="ontology",
    short_help="manage the ontologies that extraction follows",
    epilog="Example:  sarag ontology add museum.ttl --kg kg",
)
def command() -> None:
    """Manage the ontologies of a graph, whose classes and properties extraction uses.

    An ontology is a file in OWL, RDFS, SKOS, the vocabulary of schema.org, or SHACL shapes, as
    Turtle, N-Triples, RDF/XML, JSON-LD or TriG. It is stored in a named graph of its own.
    """


@command.command(name="add", epilog="Example:  sarag ontology add museum.ttl --kg kg")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL...")
@click.option("--name", help="Name of the ontology. Default: the name of the file.")
@click.option("--yes", is_flag=True, help="Replace an ontology of the same name.")
@_parsing_options
@kg_option
@base_option
@sparql_write_options
@json_option
def add(files: tuple[str, ...], *, name: str | None, yes: bool, **options: Any) -> int:
    """Add ontologies to a graph, which is created if it does not exist.

    Problems of an ontology are reported, as 'sarag ontology check' does, and do not prevent adding
    it. Sources already in the graph are extracted again the next time they are indexed.
    """
    if name is not None and len(files) > 1:
        raise UsageError("--name requires a single file")
    with open_graph(options, base=options["base"]) as kg:
        arguments = {"name": name, "replace": yes, **_parsing_arguments(options)}
        reports = [kg.ontologies.add(file, **arguments) for file in files]
    if options["as_json"]:
        echo_json([asdict(report) for report in reports])
        return 0
    for report, file in zip(reports, files, strict=True):
        echo_added(report, file)
    if any(report.sources and not report.already for report in reports):
        click.echo(
            f"{counted(reports[0].sources, 'source')} indexed with another schema: sarag update "
            "or sarag index extracts them again"
        )
    return 0


def echo_added(report: OntologyReport, file: object, *, only_problems: bool = False) -> None:
    """Print a line about an ontology that was added; its errors go to standard error."""
    state = "already in the graph" if report.already else "added"
    classes, properties = counted(report.classes, "class"), counted(report.properties, "property")
    if not only_problems:
        click.echo(f"{report.name}: {state}, {classes}, {properties}, {report.triples} triples")
    errors = [finding for finding in report.findings if finding.severity == "error"]
    for finding in errors:
        click.echo(f"sarag: {one_line(str(finding))}", err=True)
    warnings = len(report.findings) - len(errors)
    if warnings:
        click.echo(
            f"sarag: {counted(warnings, 'warning')}: sarag ontology check {file}  lists them",
            err=True,
        )


@command.command(name="list", epilog="Example:  sarag ontology list --kg kg")
@kg_option
@json_option
def list_(*, as_json: bool, **options: Any) -> int:
    """List the ontologies of a graph, or the packaged one, which is in force without them."""
    with open_graph(options) as kg:
        ontologies = kg.ontologies.in_force()
    if as_json:
        echo_json([asdict(ontology) for ontology in ontologies])
        return 0
    for ontology in ontologies:
        click.echo(_line(ontology))
    return 0


@command.command(name="show", epilog="Example:  sarag ontology show museum --kg kg")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@kg_option
@click.option(
    "--over",
    metavar="NAME",
    help="Show the classes and properties of this imported graph, as found.",
)
@json_option
def show(names: tuple[str, ...], *, over: str | None, as_json: bool, **options: Any) -> int:
    """Show the classes and properties of ontologies (default: all), and how they are used.

    Undeclared terms, inherited domains and ranges, and inverse properties are included. Below them
    are the instances of each class, the statements of each property with their distinct subjects
    and objects, the most frequent classes of these, and the terms that are never used. Without
    a stored ontology, the packaged one is shown, which extraction follows then.
    """
    with open_graph(options) as kg:
        if over not in (None, "documents"):
            use = kg.ontologies.use(*names, over=over)
            if as_json:
                echo_json(asdict(use))
            else:
                _show_use(use, Schema(), kg.ontologies.prefixes() | PREFIXES)
            return 0
        ontologies = [o for o in kg.ontologies.in_force() if not names or o.name in names]
        schema = kg.ontologies.used_schema(*names)
        use = kg.ontologies.use(*names)
    if as_json:
        echo_json(
            {
                "ontologies": [asdict(ontology) for ontology in ontologies],
                "classes": [asdict(class_) for class_ in schema.classes.values()],
                "properties": [asdict(property_) for property_ in schema.properties.values()],
                "use": asdict(use),
            }
        )
        return 0
    for ontology in ontologies:
        click.echo(_line(ontology))
    _show_schema(schema)
    _show_use(use, schema, PREFIXES)
    return 0


def _line(ontology: StoredOntology) -> str:
    if not ontology.graph:
        return f"{ontology.name}: the packaged ontology, as no other is stored"
    title = " ".join(filter(None, (ontology.title, ontology.version)))
    added = f"added {ontology.added}" if ontology.added else ""
    parts = (title, counted(ontology.triples, "triple"), added, f"<{ontology.graph}>")
    return one_line(f"{ontology.name}: {', '.join(filter(None, parts))}")


def _show_schema(schema: Schema) -> None:
    click.echo(f"\n{counted(len(schema.classes), 'class')}")
    labels = {iri: class_.label for iri, class_ in schema.classes.items()}
    rows = [
        (class_.label, _shown(class_.parents, labels, "subclass of "), f"<{class_.iri}>")
        for class_ in schema.classes.values()
    ]
    _table(rows)
    click.echo(f"\n{counted(len(schema.properties), 'property')}")
    _table(
        [
            (
                property_.label,
                f"{_shown(property_.domains, labels) or '*'} -> {_range(property_, labels)}",
                _axioms(property_, schema),
                f"<{property_.iri}>",
            )
            for property_ in schema.properties.values()
        ]
    )


def _show_use(use: SchemaUse, schema: Schema, prefixes: Mapping[str, str]) -> None:
    """Print the terms that are used, most frequent first, and the names of the others."""

    def name(iri: str) -> str:
        term = schema.classes.get(iri) or schema.properties.get(iri)
        return term.label if term else _compact(iri, prefixes)

    classes = [class_ for class_ in use.classes if class_.instances]
    properties = [property_ for property_ in use.properties if property_.statements]
    click.echo(f"\nin the graph: {counted(len(classes), 'class')}")
    _columns([(name(class_.iri), f"{class_.instances:,}") for class_ in classes])
    click.echo(f"\nin the graph: {counted(len(properties), 'property')}")
    heading = ("", "statements", "subjects", "objects", "")
    rows = [
        (
            name(property_.iri),
            f"{property_.statements:,}",
            f"{property_.subjects:,}",
            f"{property_.objects:,}",
            f"{_top_terms(property_.domains, name)} -> {_top_terms(property_.ranges, name)}",
        )
        for property_ in properties
    ]
    _columns([heading, *rows] if rows else [])
    implied = frozenset[str]().union(*(schema.superclasses(class_.iri) for class_ in classes))
    unused = [name(c.iri) for c in use.classes if c.iri not in implied]
    unused += [name(p.iri) for p in use.properties if not p.statements]
    if unused:
        click.echo(f"\nnever used: {one_line(', '.join(unused))}")


def _top_terms(terms: Sequence[TermCount], name: Callable[[str], str]) -> str:
    """The most frequent classes or datatypes with their counts."""
    shown = [f"{name(term.iri)} {term.count:,}" for term in terms[:_MOST_FOUND]]
    return ", ".join([*shown, "..."] if len(terms) > _MOST_FOUND else shown) or "?"


def _columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in their order, aligned: numbers to the right, others to the left."""
    if not rows:
        return
    listed = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    for first, *numbers in listed:
        last = numbers.pop() if len(widths) > 2 else ""
        cells = [first.ljust(widths[0])]
        cells += [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=False)]
        click.echo(f"  {'  '.join([*cells, last])}".rstrip())


def _shown(iris: Sequence[str], labels: dict[str, str], before: str = "") -> str:
    """Classes by their labels, datatypes by their prefixed names."""
    names = [labels.get(iri) or _compact(iri) for iri in iris]
    return before + " | ".join(names) if names else ""


def _range(property_: OntologyProperty, labels: dict[str, str]) -> str:
    return _shown(property_.ranges, labels) or ("literal" if property_.is_literal else "*")


def _compact(iri: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    for prefix, base in prefixes.items():
        if iri.startswith(base):
            return f"{prefix}:{iri.removeprefix(base)}"
    return f"<{iri}>"


def _axioms(property_: OntologyProperty, schema: Schema) -> str:
    axioms = ["functional"] * property_.is_functional + ["symmetric"] * property_.is_symmetric
    if property_.inverse:
        inverse = schema.properties.get(property_.inverse)
        axioms.append(f"inverse of {inverse.label if inverse else _compact(property_.inverse)}")
    return ", ".join(axioms)


def _table(rows: Iterable[Sequence[str]]) -> None:
    """Print rows in aligned columns; all but the last are padded."""
    listed = sorted([one_line(cell) for cell in row] for row in rows)
    widths = [min(48, max(map(len, column))) for column in zip(*listed, strict=True)]
    for row in listed:
        cells = (cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True))
        click.echo(f"  {'  '.join([*cells, row[-1]])}")


@command.command(name="remove", epilog="Example:  sarag ontology remove museum --kg kg")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@kg_option
@sparql_write_options
@json_option
def remove(names: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Remove ontologies from a graph."""
    with open_graph(options) as kg:
        kg.ontologies.remove(*names)
    if as_json:
        echo_json({"removed": list(dict.fromkeys(names))})
    else:
        click.echo(f"{counted(len(set(names)), 'ontology')} removed")
    return 0


@command.command(name="check", epilog="Example:  sarag ontology check museum.ttl")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL...")
@_parsing_options
@json_option
def check(files: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Check ontologies in files; exit code 1 if there are errors.

    Errors are cycles of subclasses or subproperties, terms that RDF, RDFS, OWL and SKOS do not
    define, and an ontology without a class or property. Warnings are undeclared terms, missing
    labels, domains and ranges, equal labels, and owl:imports, which is not followed. They are
    printed by kind; --json prints all.
    """
    from sarag_rdf.kg.ontology import check_file

    findings = {file: check_file(file, **_parsing_arguments(options)) for file in files}
    if as_json:
        echo_json({file: [asdict(finding) for finding in findings[file]] for file in files})
    else:
        for file in files:
            _show_findings(file, findings[file])
    return int(any(f.severity == "error" for of_file in findings.values() for f in of_file))


def _show_findings(file: str, findings: Sequence[OntologyFinding]) -> None:
    """Print all errors, a line for each kind of warning, the most frequent first, and counts."""
    counts = Counter(finding.severity for finding in findings)
    warnings: defaultdict[str, list[OntologyFinding]] = defaultdict(list)
    for finding in findings:
        if finding.severity == "error":
            click.echo(one_line(str(finding)))
        else:
            warnings[finding.kind].append(finding)
    for kind, alike in sorted(warnings.items(), key=lambda item: -len(item[1])):
        terms = [f"<{finding.term}>" for finding in alike[:_MOST_EXAMPLES]]
        terms += ["..."] * (len(alike) > _MOST_EXAMPLES)
        several = f"warning: {kind} ({len(alike):,}): {', '.join(terms)}"
        click.echo(one_line(several if len(alike) > 1 else str(alike[0])))
    click.echo(
        f"{file}: {counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}"
        + " (--json lists all)" * (len(warnings) < counts["warning"])
    )


@command.command(name="entail", epilog="Example:  sarag ontology entail --kg kg")
@click.option(
    "--over",
    multiple=True,
    metavar="NAME",
    help="Parts to derive entailments from: documents (default), imported graphs. May be repeated.",
)
@click.option(
    "--off", is_flag=True, help="Delete the entailed triples, and stop materialising them."
)
@kg_option
@sparql_write_options
@json_option
def entail(*, over: tuple[str, ...], off: bool, as_json: bool, **options: Any) -> int:
    """Materialise the entailments of typed statements and ontologies, now and after each write.

    Entailed triples are in a named graph of their own, which queries of the documents include:
    classes by subclasses, domains and ranges; statements by subproperties, inverse, symmetric and
    transitive properties; equivalent classes and properties. Needs sarag-rdf[entailment].
    """
    with open_graph(options) as kg:
        if off:
            kg.entailment.disable()
        status = kg.entailment.status() if off else kg.entailment.enable(over)
    if as_json:
        echo_json({"over": status.over, "triples": status.triples})
    elif off:
        click.echo("entailment is off")
    else:
        click.echo(f"{counted(status.triples, 'entailed triple')}; they follow each write")
    return 0


@command.command(name="suggest", epilog="Example:  sarag ontology suggest -o phrases.tsv --kg kg")
@kg_option
@embedder_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the table to this file, tab-separated or .csv. Default: standard output.",
)
@click.option(
    "--most", default=100, show_default=True, type=click.IntRange(1), help="Number of phrases."
)
@click.option("--all", "all_", is_flag=True, help="Include phrases that state a property already.")
@json_option
def suggest(*, output: Path | None, most: int, all_: bool, as_json: bool, **options: Any) -> int:
    """Suggest properties for the phrases of relationships, as a table for review.

    The phrases that matter most come first: those of many relationships between many names. The
    properties are those of the stored ontologies, or of the packaged one if there are none. Edit
    the columns property and direction, or write no in the column decision; the property none means
    that a phrase states nothing. Then apply the table with 'sarag ontology accept'.
    """
    with open_graph(options) as kg:
        proposals = kg.phrases.suggest(most=most, all_=all_)
        if as_json:
            echo_json([asdict(proposal) for proposal in proposals])
            return 0
        table = kg.phrases.review(proposals, delimiter_for(output or Path()))
    with open_output(output) as stream:
        stream.write(table.encode())
    return 0


@command.command(name="accept", epilog="Example:  sarag ontology accept phrases.tsv --kg kg")
@click.argument("table", required=False, type=click.Path(dir_okay=False, path_type=Path))
@kg_option
@click.option("--list", "listing", is_flag=True, help="List the decisions about phrases.")
@click.option("--undo", metavar="WHAT", help="Undo by a phrase, or the IRI of a decision or run.")
@click.option("--undo-all", is_flag=True, help="Undo all decisions about phrases.")
@json_option
def accept(table: Path | None, **options: Any) -> int:
    """Decide that phrases state properties, by the TABLE of 'sarag ontology suggest'.

    Rows without a property are skipped, and rows with no in the column decision. The statements of
    all relationships with these phrases are derived; no document is extracted again. Decisions
    also hold for documents that are indexed later, and can be undone.
    """
    is_undo = options["undo"] is not None or options["undo_all"]
    if (table is not None) + options["listing"] + is_undo != 1:
        raise UsageError("give a TABLE, or one of --list, --undo, --undo-all")
    with open_graph(options) as kg:
        if options["listing"]:
            show_decisions(kg, kg.phrases.decisions(), options)
        elif is_undo:
            undo(kg, options, "phrases")
        else:
            assert table is not None  # noqa: S101 - checked above
            _echo_accepted(kg.phrases.accept(table), as_json=options["as_json"])
    return 0


def _echo_accepted(report: AcceptReport, *, as_json: bool) -> None:
    if as_json:
        counts = ("skipped", "stated_before", "stated")
        numbers = {name: getattr(report, name) for name in counts}
        echo_json({"accepted": len(report.decisions), **numbers})
        return
    click.echo(
        f"{counted(len(report.decisions), 'phrase')} accepted, "
        f"{counted(report.skipped, 'row')} skipped; "
        f"{counted(report.stated, 'relationship')} with a property, {report.stated_before} before"
    )


@command.command(name="induce", epilog="Example:  sarag ontology induce -o corpus.ttl --kg kg")
@kg_option
@embedder_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the ontology to this file. Default: standard output.",
)
@click.option("--namespace", metavar="IRI", help="Namespace of the terms. Default: BASE/ontology/.")
@click.option(
    "--least",
    default=2,
    show_default=True,
    type=click.IntRange(1),
    help="Minimum number of relationships of a property.",
)
def induce(*, output: Path | None, namespace: str | None, least: int, **options: Any) -> int:
    """Propose an ontology from the phrases of the documents, as Turtle to be edited.

    Phrases with similar meaning between arguments of the same types become one property, named
    after the most frequent one, with example sentences. Edit the file, then add it with 'sarag
    ontology add'.
    """
    with open_graph(options) as kg:
        turtle = kg.phrases.induce(namespace=namespace or "", least=least)
    with open_output(output) as stream:
        stream.write(turtle.encode())
    return 0
