"""``sarag import`` and ``sarag export``, with the options that importers and exporters declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import PluginError, UsageError
from sarag_rdf.base.options import Option, declared_options
from sarag_rdf.base.plugins import load, loadable, plugins
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import (
    counted,
    emit,
    note,
    open_output,
    problem,
    progress_bars,
    write_output,
)
from sarag_rdf.graph.parts import COMPLETE
from sarag_rdf.graph.store.input_files import RdfReadOptions

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

RESTORED = "sarag"
"""The kind of a file that is restored rather than imported."""
_RESTORING = ("format", "max_expansion", "max_seconds")
"""Options of a restoration."""


def _declared(group: str) -> dict[str, dict[str, Option]]:
    """Plug-in -> its options by name, those with flags; none if it cannot be loaded."""
    return {
        plugin.name: {}
        if isinstance(loaded, PluginError)
        else {option.name: option for option in declared_options(loaded.options) if option.flag}
        for plugin, loaded in loadable(group)
    }


def _options_of(group: str) -> flags.Decorator:
    """The options of all plug-ins of a group, each once, with all its meanings."""
    merged: dict[str, Option] = {}
    for declared in _declared(group).values():
        for name, option in declared.items():
            first = merged.setdefault(name, option)
            if option.meaning not in first.meaning:
                merged[name] = replace(first, meaning=f"{first.meaning} {option.meaning}")
    return flags.together(*(flags.flag(option, once=True) for option in merged.values()))


def _given(group: str, options: Mapping[str, Any]) -> dict[str, Option]:
    """Name -> option, for those of all plug-ins of a group that have a value in this call."""
    return {
        name: option
        for declared in _declared(group).values()
        for name, option in declared.items()
        if options[name] not in (option.default, None)
    }


def _values(group: str, selector: str, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The values given for the options of a plug-in, which the flag `selector` names.

    Raises `UsageError` for a value of an option that only other plug-ins have.
    """
    declared, given = _declared(group), _given(group, options)
    for key, option in given.items():
        if key not in declared[name]:
            users = " or ".join(user for user, own in declared.items() if key in own)
            raise UsageError(f"{option.flag} requires {selector} {users}, not {name}")
    return {key: options[key] for key in given}


@click.command(
    name="import", epilog="Example:  sarag import thesaurus.ttl --as skos --name subjects"
)
@click.argument("file", required=False, metavar="FILE|URL")
@click.option(
    "--as",
    "kind",
    type=click.Choice([*plugins("importers"), RESTORED]),
    help="Kind of graph: "
    + "".join(f"{each.summary}, " for _, each in loadable("importers") if hasattr(each, "summary"))
    + "or an export of sarag.",
)
@click.option("--name", help="Name of the imported graph. Default: the name of the file.")
@flags.switch("--replace", "Replace an imported graph of the same name.")
@_options_of("importers")
@flags.path_option(
    "--suggest-mapping",
    "table: do not import, but write a YARRRML mapping from the columns and the ontologies of the "
    "graph.",
)
@flags.switch("--no-vectors", "Do not embed now, but at the first search.")
@flags.of(RdfReadOptions, *_RESTORING[1:])
@flags.switch("--list", "listing", "List the imported graphs.")
@click.option("--drop", metavar="NAME", help="Drop an imported graph.")
@flags.write_options
@flags.embedder_option
@flags.embedding_endpoint_options
@flags.json_option
def import_(file: str | None, **options: Any) -> int:
    """Import a knowledge graph as a read-only graph beside the documents.

    Files may be compressed (.gz, .bz2, .xz). To resume an interrupted import, run the same command
    again. 'sarag search' and 'sarag ask' search the documents and all imported graphs; --over NAME
    restricts them to one. --as sarag restores a graph that was exported as TriG or N-Quads.
    """
    if (file is not None) + options["listing"] + (options["drop"] is not None) != 1:
        raise UsageError("give a FILE or URL to import, or --list, or --drop NAME")
    with flags.open_graph(options) as kg:
        if options["listing"]:
            return _list(kg, options)
        if options["drop"] is not None:
            kg.forget_import(options["drop"])
            return emit(options, {"dropped": options["drop"]}, f"dropped {options['drop']}")
        if options["kind"] is None:
            kinds = ", ".join([*plugins("importers"), RESTORED])
            command = f"sarag import {file} --as {_usual_kind(str(file))}"
            raise UsageError(f"give the kind of graph: {command}; the kinds are {kinds}")
        if options["suggest_mapping"] is not None:
            return _suggest(kg, str(file), options)
        return (_restore if options["kind"] == RESTORED else _import)(kg, str(file), options)


_USUAL = {".json": "wikibase", ".nq": RESTORED, ".trig": RESTORED}
_USUAL |= dict.fromkeys((".csv", ".tsv", ".tab"), "table --suggest-mapping MAPPING.yml")


def _usual_kind(file: str) -> str:
    """What most files with such a name are imported as."""
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    return next((_USUAL[s] for s in suffixes if s in _USUAL), "rdf (or skos, for a thesaurus)")


def _list(kg: KnowledgeGraph, options: dict[str, Any]) -> int:
    graphs = kg.imports()
    lines = [
        f"{graph.name}  {graph.kind}  "
        f"{'complete' if graph.state == COMPLETE else 'incomplete: import it again, or drop it'}  "
        f"<{graph.graph}>"
        for graph in graphs
    ]
    return emit(options, graphs, *lines or ["no imported graphs"])


def _import(kg: KnowledgeGraph, file: str, options: dict[str, Any]) -> int:
    with progress_bars() as progress:
        report = kg.import_graph(
            file,
            options["kind"],
            name=options["name"],
            replace=options["replace"],
            embed=not options["no_vectors"],
            progress=progress,
            **_values("importers", "--as", options["kind"], options),
        )
    for warning in report.warnings:
        problem(warning)
    state = "already imported" if report.already else "imported"
    return emit(
        options,
        report,
        f"{report.name}: {report.triples} triples {state} as {report.kind}",
        f"  <{report.graph}>; to search only this graph, use --over {report.name}",
    )


def _restore(kg: KnowledgeGraph, file: str, options: dict[str, Any]) -> int:
    """Restore an export, and validate it; returns 1 if it does not conform."""
    given = [f"--{name}" for name in ("name", "replace") if options[name]]
    given += [
        str(o.flag) for o in _given("importers", options).values() if o.name not in _RESTORING
    ]
    if given:
        raise UsageError(f"{given[0]} cannot be combined with --as sarag: omit it")
    limits = {name: options[name] for name in _RESTORING}
    with progress_bars() as progress:
        quads = kg.restore(file, embed=not options["no_vectors"], progress=progress, **limits)
    emit(options, {"quads": quads}, f"{options['kg']}: {quads} quads restored")
    report = kg.validate()
    if not report.conforms:
        problem(
            "the restored graph does not conform to its shapes "
            f"({counted(len(report.violations), 'violation')}, see sarag validate), first: "
            f"{report.violations[0]}"
        )
    return int(not report.conforms)


def _suggest(kg: KnowledgeGraph, file: str, options: dict[str, Any]) -> int:
    """Write a suggested mapping; an existing file is left as it is."""
    kind, target = options["kind"], options["suggest_mapping"]
    if kind == RESTORED:
        raise UsageError("--suggest-mapping cannot be combined with --as sarag: omit it")
    for option in _given("importers", options).values():
        if option.name not in _RESTORING:
            raise UsageError(f"give either --suggest-mapping or {option.flag}")
    if target.exists():
        raise UsageError(f"{target} exists already: give another file")
    write_output(target, kg.suggest_mapping(file, kind))
    click.echo(f"{target}: check it, and then sarag import {file} --as table --mapping {target}")
    return 0


@click.command(epilog="Example:  sarag export --format turtle --output graph.ttl")
@flags.kg_option
@flags.sparql_options
@click.option(
    "--format",
    "format_",
    default="turtle",
    type=click.Choice(list(plugins("exporters"))),
    help="Output format.",
)
@flags.output_option()
@_options_of("exporters")
@flags.endpoint_options
def export(output: Path | None, format_: str, **options: Any) -> int:
    """Write the graph or parts of it; the same graph always gives the same bytes.

    turtle, ntriples, rdfxml and jsonld contain the union of all graphs; trig and nquads preserve
    named graphs. --documents, --entities, --ontologies and --graph select parts; without them
    everything is written except imported graphs. wikibase, wikibase-json and quickstatements
    contain items and properties, whose numbers are stored in the graph. articles contains a text
    about each entity in JSON Lines, which sarag index reads. An existing output file is replaced
    only after everything has been written.
    """
    suffix = output.suffix.lower() if output else ""
    given = {
        **load("exporters", format_).suffixes.get(suffix, {}),
        **_values("exporters", "--format", format_, options),
    }
    with (
        flags.open_graph(options) as kg,
        open_output(output) as stream,
        progress_bars() as progress,
    ):
        report = kg.export(format_, stream, progress=progress, **given)
        if report is None:
            return 0
        for line in report.notes:
            note(line)
        for line in report.problems:
            problem(line)
    return int(bool(report.problems))
