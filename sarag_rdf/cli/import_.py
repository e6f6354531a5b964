"""``sarag import``: import foreign knowledge graphs, and restore exported ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.plugins import loadable, plugins
from sarag_rdf.cli.exchange import declared, given_settings, options_of
from sarag_rdf.cli.options import (
    Decorator,
    embedder_option,
    embedding_endpoint_options,
    flags,
    json_option,
    kg_option,
    open_graph,
)
from sarag_rdf.cli.output import counted, echo_json, open_output, progress_bars
from sarag_rdf.documents.reading import ReadOptions

RESTORED = "sarag"
"""The kind of a file that is restored rather than imported."""
_COMMON = ("name", "replace", "base_iri", "language", "label", "alias", "description")


def _described() -> str:
    """The kinds of graphs in words."""
    importers = (found for _, found in loadable("importers") if not isinstance(found, Exception))
    return f"{', '.join(each.summary for each in importers)}, or an export of sarag"


def _repeatable(name: str, help_: str) -> Decorator:
    return click.option(name, multiple=True, help=f"{help_} May be repeated.")


@click.command(
    name="import",
    epilog="Example:  sarag import thesaurus.ttl --as skos --name subjects",
)
@click.argument("file", required=False, metavar="FILE|URL")
@click.option(
    "--as",
    "kind",
    type=click.Choice([*plugins("importers"), RESTORED]),
    help=f"Kind of graph: {_described()}.",
)
@click.option("--name", help="Name of the imported graph. Default: the name of the file.")
@click.option("--replace", is_flag=True, help="Replace an imported graph of the same name.")
@click.option("--format", "format_", help="RDF format. Default: by the suffix of the file.")
@click.option("--base-iri", help="Base IRI for relative IRIs in the file.")
@_repeatable("--language", "Import only texts in this language, and those without a language.")
@_repeatable("--label", "rdf: IRI of a property for names.")
@_repeatable("--alias", "rdf: IRI of a property for alternative names.")
@_repeatable("--description", "rdf: IRI of a property for descriptions.")
@options_of("importers")
@click.option(
    "--suggest-mapping",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="table: do not import, but write a YARRRML mapping from the columns and the ontologies of "
    "the graph.",
)
@click.option("--no-vectors", is_flag=True, help="Do not embed now, but at the first search.")
@flags(ReadOptions, "max_expansion", "max_seconds")
@click.option("--list", "list_", is_flag=True, help="List the imported graphs.")
@click.option("--drop", metavar="NAME", help="Drop an imported graph.")
@kg_option
@embedder_option
@embedding_endpoint_options
@json_option
def command(file: str | None, **options: Any) -> int:
    """Import a knowledge graph as a read-only graph beside the documents.

    Files may be compressed (.gz, .bz2, .xz). To resume an interrupted import, run the same command
    again. 'sarag search' and 'sarag ask' search the documents and all imported graphs; --over NAME
    restricts them to one. --as sarag restores a graph that was exported as TriG or N-Quads.
    """
    actions = [file is not None, options["list_"], options["drop"] is not None]
    if sum(actions) != 1:
        raise UsageError("give a FILE or URL to import, or --list, or --drop NAME")
    as_json = options["as_json"]
    with open_graph(options) as kg:
        if options["list_"]:
            return _list(kg, as_json=as_json)
        if options["drop"] is not None:
            return _drop(kg, options["drop"], as_json=as_json)
        if options["kind"] is None:
            kinds = ", ".join(plugins("importers"))
            raise UsageError(f"give the kind of graph: --as {kinds} or {RESTORED}")
        if options["suggest_mapping"] is not None:
            return _suggest(kg, str(file), options)
        if options["kind"] == RESTORED:
            return _restore(kg, str(file), options)
        return _import(kg, str(file), options)


def _restore(kg: Any, file: str, options: dict[str, Any]) -> int:
    own = (setting for settings in declared("importers").values() for setting in settings)
    given = [f"--{name.replace('_', '-')}" for name in _COMMON if options[name]]
    given += [s.option for s in own if options[s.name] != s.default]
    if given:
        raise UsageError(f"{given[0]} cannot be combined with --as sarag: omit it")
    with progress_bars() as progress:
        quads = kg.restore(
            file,
            format=options["format_"],
            embed=not options["no_vectors"],
            progress=progress,
            max_expansion=options["max_expansion"],
            max_seconds=options["max_seconds"],
        )
    if options["as_json"]:
        echo_json({"quads": quads})
    else:
        click.echo(f"{options['kg']}: {quads} quads restored")
    return _validate(kg)


def _suggest(kg: Any, file: str, options: dict[str, Any]) -> int:
    """Write a suggested mapping; an existing file is left as it is."""
    kind = options["kind"]
    if kind == RESTORED:
        raise UsageError("--suggest-mapping cannot be combined with --as sarag: omit it")
    for setting in declared("importers")[kind]:
        if options[setting.name] != setting.default:
            raise UsageError(f"give either --suggest-mapping or {setting.option}")
    target: Path = options["suggest_mapping"]
    if target.exists():
        raise UsageError(f"{target} exists already: give another file")
    text = kg.suggest_mapping(file, kind)
    with open_output(target) as output:
        output.write(text.encode())
    click.echo(f"{target}: check it, and then  sarag import {file} --as table --mapping {target}")
    return 0


def _import(kg: Any, file: str, options: dict[str, Any]) -> int:
    with progress_bars() as progress:
        report = kg.import_graph(
            file,
            options["kind"],
            embed=not options["no_vectors"],
            progress=progress,
            name=options["name"],
            replace=options["replace"],
            format=options["format_"],
            base_iri=options["base_iri"],
            languages=options["language"],
            max_expansion=options["max_expansion"],
            max_seconds=options["max_seconds"],
            **{role: options[role] for role in ("label", "alias", "description")},
            **given_settings("importers", "--as", options["kind"], options),
        )
    for warning in report.warnings:
        click.echo(f"sarag: {warning}", err=True)
    if options["as_json"]:
        echo_json(asdict(report))
        return 0
    state = "already imported" if report.already else "imported"
    click.echo(f"{report.name}: {report.triples} triples {state} as {report.kind}")
    click.echo(f"  <{report.graph}>; to search only this graph, use --over {report.name}")
    return 0


def _validate(kg: Any) -> int:
    """Validate a restored graph against its shapes; the exit code."""
    report = kg.validate()
    if report.conforms:
        return 0
    first = report.violations[0]
    click.echo(
        "sarag: the restored graph does not conform to its shapes "
        f"({counted(len(report.violations), 'violation')}, see sarag validate), first: {first}",
        err=True,
    )
    return 1


def _list(kg: Any, *, as_json: bool) -> int:
    graphs = kg.imports()
    if as_json:
        echo_json([asdict(graph) for graph in graphs])
        return 0
    for graph in graphs:
        state = graph.state
        if state != "complete":
            state = "incomplete: import it again, or drop it"
        click.echo(f"{graph.name}  {graph.kind}  {state}  <{graph.graph}>")
    if not graphs:
        click.echo("no imported graphs")
    return 0


def _drop(kg: Any, name: str, *, as_json: bool) -> int:
    kg.forget_import(name)
    if as_json:
        echo_json({"dropped": name})
    else:
        click.echo(f"dropped {name}")
    return 0
