"""``sarag link`` and ``mappings``: links between entities and items of other graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, write_output
from sarag_rdf.kg.linking import CandidateOptions

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

Options = dict[str, Any]


@click.command(
    epilog="Example:  sarag link --to subjects --review review.sssom.tsv  and then  "
    "sarag link --accept review.sssom.tsv"
)
@flags.write_options
@flags.sparql_options
@flags.embedding_options
@click.option(
    "--to", metavar="NAME|URL", help="Find candidates in this imported graph or SPARQL endpoint."
)
@flags.path_option("--review", "Write candidates to this SSSOM file.")
@flags.of(CandidateOptions, "per_entity", "min_confidence", "near", once=True)
@click.option(
    "--auto",
    type=click.FloatRange(0, 1),
    help="Accept unambiguous candidates with at least this confidence.",
)
@flags.path_option("--accept", "Store the links of this table.")
@flags.switch("--elsewhere", "With --accept: permit items that are not in an imported graph.")
@flags.switch("--same-as", "Store owl:sameAs instead of skos:exactMatch.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value="",
    metavar="FILE|IRI",
    help="Remove the links of a table, or of an entity, an item or a mapping.",
)
@flags.switch("--all", "every", "With --undo: remove all links.")
@flags.json_option
def link(**options: Any) -> int:
    """Link entities of the documents to items of an imported graph, or of an endpoint.

    --to NAME writes candidates to a --review file. --to URL does the same for the items of a
    SPARQL endpoint, which is queried for the names of the entities. Review the file: delete rows,
    write Not under predicate_modifier, or change predicate_id; rows with sssom:NoMapping are
    skipped. Then --accept stores the links, as skos:exactMatch unless the file gives another
    predicate. --undo removes links.
    """
    ways = {"to": _find_links, "accept": _accept_links, "undo": _undo_links}
    actions = [name for name in ways if options[name] is not None]
    if len(actions) != 1:
        raise UsageError("give one of --to NAME|URL, --accept FILE, --undo FILE|IRI, --undo --all")
    if options["every"] and options["undo"] != "":
        raise UsageError("--all requires --undo without a value: sarag link --undo --all")
    other = flags.place_of(options["to"], options)
    if other is not options["to"]:  # the kind of graph is that of the other endpoint
        options |= {"graph_kind": None, "default_graph": None}
    with flags.open_graph(options) as kg:
        return ways[actions[0]](kg, options | {"to": other})


def _find_links(kg: KnowledgeGraph, options: Options) -> int:
    review, auto, to = options["review"], options["auto"], options["to"]
    if review is None and auto is None:
        raise UsageError("choose an output: --review FILE, --auto CONFIDENCE, or both")
    settings = {key: options[key] for key in ("per_entity", "min_confidence", "near")}
    matches = kg.links.candidates(to, **settings)
    proposed = [match for match in matches if match.is_link]
    entities = len({match.subject for match in matches})
    result = {"candidates": len(matches), "entities": entities, "proposed": len(proposed)}
    lines = [f"{len(matches)} candidates for {entities} entities, {len(proposed)} of them proposed"]
    if auto is not None:
        confident = [match for match in proposed if (match.confidence or 0) >= auto]
        added = kg.links.accept(confident, same_as=options["same_as"]).added
        result["accepted"] = added
        lines.append(f"{counted(added, 'link')} accepted, with a confidence of at least {auto:g}")
        linked = {match.subject for match in confident}
        matches = [match for match in matches if match.subject not in linked]
    if review is not None:
        name = to if isinstance(to, str) else "endpoint"
        write_output(review, kg.links.table(matches, f"candidates/{name}"))
    return emit(options, result, *lines)


def _accept_links(kg: KnowledgeGraph, options: Options) -> int:
    report = kg.links.accept(
        options["accept"], same_as=options["same_as"], elsewhere=options["elsewhere"]
    )
    result = {
        "accepted": report.added,
        "already_stored": report.unchanged,
        "rows_skipped": report.left_out,
    }
    return emit(
        options,
        result,
        f"{counted(report.added, 'link')} accepted, {report.unchanged} already stored, "
        f"{counted(report.left_out, 'row')} skipped",
    )


def _undo_links(kg: KnowledgeGraph, options: Options) -> int:
    target: Any = options["undo"] or None
    if target is None and not options["every"]:
        raise UsageError("name the links to remove: --undo FILE, --undo IRI, or --undo --all")
    if target is not None and (Path(target).exists() or ":" not in target):
        target = Path(target)
    removed = kg.links.undo(target).removed
    return emit(options, {"removed": removed}, f"{counted(removed, 'link')} removed")


@click.command(epilog="Example:  sarag mappings --output links.sssom.tsv")
@flags.read_options
@flags.output_option()
def mappings(output: Path | None, **options: Any) -> int:
    """Write all links as an SSSOM table: tab-separated values with a YAML header.

    Each row has the subject and object with their labels, the predicate, the justification
    (mapping_justification) and the confidence. 'sarag link --accept' reads the table.
    """
    with flags.open_graph(options) as kg:
        write_output(output, kg.links.mappings())
    return 0
