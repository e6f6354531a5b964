"""``sarag import``: knowledge graphs that others made, and graphs that were exported."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from sarag_rdf.cli.options import (
    Decorator,
    embedder_option,
    embedding_endpoint_options,
    expansion_option,
    json_option,
    kg_option,
    open_graph,
    seconds_option,
)
from sarag_rdf.errors import UsageError

_NOT_RESTORED = (
    *("--name", "--replace", "--base-iri", "--language", "--type", "--property"),
    *("--entity-base", "--label", "--alias", "--description"),
)


def _many(name: str, help_: str) -> Decorator:
    return click.option(name, multiple=True, help=f"{help_} May be given several times.")


@click.command(
    name="import",
    epilog="Example:  sarag import thesaurus.ttl --as skos --name subjects",
)
@click.argument("file", required=False, metavar="FILE|URL")
@click.option(
    "--as",
    "kind",
    type=click.Choice(["wikibase", "skos", "rdf", "sarag"]),
    help="What it is: Wikibase RDF or JSON dump, SKOS thesaurus, any RDF, or an export of sarag.",
)
@click.option("--name", help="What the graph is called here. Default: the file's name.")
@click.option("--replace", is_flag=True, help="Replace the graph that has this name.")
@click.option("--format", "format_", help="Format of RDF, where the suffix does not tell it.")
@click.option("--base-iri", help="What relative IRIs in the file are relative to.")
@_many("--language", "Keep texts of this language only (and those without any).")
@_many("--type", "JSON dumps: keep instances of this item only, such as Q5.")
@_many("--property", "JSON dumps: keep statements of this property only, such as P19.")
@click.option(
    "--entity-base", help="JSON dumps: what IRIs of entities begin with. Default: Wikidata's."
)
@_many("--label", "rdf: IRI of a property that holds names.")
@_many("--alias", "rdf: IRI of a property that holds further names.")
@_many("--description", "rdf: IRI of a property that holds descriptions.")
@click.option("--no-vectors", is_flag=True, help="Make the vectors with the first search.")
@expansion_option
@seconds_option
@click.option("--list", "list_", is_flag=True, help="List what has been imported.")
@click.option("--drop", metavar="NAME", help="Drop an imported graph.")
@kg_option
@embedder_option
@embedding_endpoint_options
@json_option
def command(file: str | None, **options: Any) -> int:
    """Bring in a knowledge graph, as a graph of its own that is only read.

    Files may be packed (.gz, .bz2, .xz). An import that is interrupted goes on with the same
    command. 'sarag search' and 'sarag ask' then search it together with the documents, or alone
    with --over NAME. With --as sarag a graph that was exported as TriG or N-Quads is restored, to
    be indexed further.
    """
    wanted = [file is not None, options["list_"], options["drop"] is not None]
    if sum(wanted) != 1:
        raise UsageError("give a FILE or URL to import, or --list, or --drop NAME")
    json_ = options["as_json"]
    with open_graph(options) as kg:
        if options["list_"]:
            return _list(kg, json_)
        if options["drop"] is not None:
            kg.forget_import(options["drop"])
            click.echo(
                _json({"dropped": options["drop"]}) if json_ else f"dropped {options['drop']}"
            )
            return 0
        if options["kind"] is None:
            raise UsageError("say with --as what the file is: wikibase, skos, rdf or sarag")
        if options["kind"] == "sarag":
            return _restore(kg, str(file), options)
        return _import(kg, str(file), options)


def _restore(kg: Any, file: str, options: dict[str, Any]) -> int:
    from sarag_rdf.cli.output import bars

    given = [name for name in _NOT_RESTORED if options[name.lstrip("-").replace("-", "_")]]
    if given:
        raise UsageError(f"{given[0]} is not for --as sarag: an export is restored as it was")
    progress, end = bars()
    try:
        quads = kg.restore(
            file,
            format=options["format_"],
            embed=not options["no_vectors"],
            progress=progress,
            max_expansion=options["max_expansion"],
            max_seconds=options["max_seconds"],
        )
    finally:
        end()
    text = f"{options['kg']}: {quads} quads restored"
    click.echo(_json({"quads": quads}) if options["as_json"] else text)
    return _checked(kg)


def _import(kg: Any, file: str, options: dict[str, Any]) -> int:
    from sarag_rdf.cli.output import bars

    progress, end = bars()
    try:
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
            types=options["type"],
            properties=options["property"],
            entity_base=options["entity_base"],
            max_expansion=options["max_expansion"],
            max_seconds=options["max_seconds"],
            **{role: options[role] for role in ("label", "alias", "description")},
        )
    finally:
        end()
    for warning in report.warnings:
        click.echo(f"sarag: {warning}", err=True)
    if options["as_json"]:
        click.echo(_json(asdict(report)))
        return 0
    done = "imported before" if report.already else "imported"
    click.echo(f"{report.name}: {report.triples} triples {done} as {report.kind}")
    click.echo(f"  <{report.graph}>; search it alone with --over {report.name}")
    return 0


def _checked(kg: Any) -> int:
    """Say whether a restored graph conforms to its shapes."""
    report = kg.validate()
    if report.conforms:
        return 0
    first = report.violations[0]
    click.echo(
        f"sarag: it does not conform to its shapes ({len(report.violations)} violations, see sarag "
        f"validate), first: {first}",
        err=True,
    )
    return 1


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _list(kg: Any, as_json: bool) -> int:
    found = kg.imports()
    if as_json:
        click.echo(_json([asdict(i) for i in found]))
        return 0
    for imported in found:
        state = imported.state
        if state != "complete":
            state = "not complete: import it again, or drop it"
        click.echo(f"{imported.name}  {imported.kind}  {state}  <{imported.graph}>")
    if not found:
        click.echo("nothing has been imported")
    return 0
