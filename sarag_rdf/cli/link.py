"""``sarag link``: propose, accept and remove links to other graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import UsageError
from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    endpoint_only,
    json_option,
    kg_option,
    open_graph,
    sparql_options,
)
from sarag_rdf.cli.output import counted, echo_json, open_output

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph

_Outcome = tuple[dict[str, int], list[str]]
"""The counts of a run for JSON, and lines of text."""


@click.command(
    name="link",
    epilog="Example:  sarag link --to subjects --review review.sssom.tsv  and then  "
    "sarag link --accept review.sssom.tsv",
)
@kg_option
@embedder_option
@click.option("--to", metavar="NAME", help="Find candidates in this imported graph.")
@sparql_options
@click.option(
    "--review", type=click.Path(path_type=Path), help="Write candidates to this SSSOM file."
)
@click.option(
    "--per-entity", default=3, type=click.IntRange(1), help="Maximum number of candidates."
)
@click.option(
    "--min-confidence",
    default=0.5,
    type=click.FloatRange(0, 1),
    help="Minimum confidence of a candidate.",
)
@click.option(
    "--near",
    default="characters",
    type=click.Choice(["characters", "embedding", "none"]),
    help="How to compare names if none are equal.",
)
@click.option(
    "--auto",
    type=click.FloatRange(0, 1),
    help="Accept unambiguous candidates with at least this confidence.",
)
@click.option("--accept", type=click.Path(path_type=Path), help="Store the links of this table.")
@click.option(
    "--elsewhere",
    is_flag=True,
    help="With --accept: permit items that are not in an imported graph.",
)
@click.option("--same-as", is_flag=True, help="Store owl:sameAs instead of skos:exactMatch.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value="",
    metavar="FILE|IRI",
    help="Remove the links of a table, or of an entity, an item or a mapping.",
)
@click.option("--all", "every", is_flag=True, help="With --undo: remove all links.")
@embedding_endpoint_options
@json_option
def command(**options: Any) -> int:
    """Link entities of the documents to items of an imported graph, or of an endpoint.

    --to NAME writes candidates to a --review file. --endpoint URL does the same for the items of a
    SPARQL endpoint, which is queried for the names of the entities. Review the file: delete rows,
    write Not under predicate_modifier, or change predicate_id; rows with sssom:NoMapping are
    skipped. Then --accept stores the links, as skos:exactMatch unless the file gives another
    predicate. --undo removes links.
    """
    names = ("to", "endpoint", "accept", "undo")
    actions = [name for name in names if options[name] is not None]
    if len(actions) != 1:
        raise UsageError(
            "give one of --to NAME, --endpoint URL, --accept FILE, --undo FILE|IRI, --undo --all"
        )
    if options["every"] and options["undo"] != "":
        raise UsageError("--all requires --undo without a value:  sarag link --undo --all")
    run = {"to": _propose, "endpoint": _propose, "accept": _accept, "undo": _undo}[actions[0]]
    linked = ("endpoint", "graph_kind", "default_graph") if options["endpoint"] else ()
    with open_graph({**options, **dict.fromkeys(linked)}) as kg:
        result, lines = run(kg, options)
    if options["as_json"]:
        echo_json(result)
    else:
        for line in lines:
            click.echo(line)
    return 0


def _propose(kg: KnowledgeGraph, options: dict[str, Any]) -> _Outcome:
    review, auto, name = options["review"], options["auto"], options["to"]
    if review is None and auto is None:
        raise UsageError("choose an output: --review FILE, --auto CONFIDENCE, or both")
    settings = {key: options[key] for key in ("per_entity", "min_confidence", "near")}
    if name is None:
        candidates = kg.links.remote_candidates(endpoint_only(options), **settings)
        name = "endpoint"
    else:
        candidates = kg.links.candidates(name, **settings)
    proposed = [match for match in candidates if match.is_link]
    entities = len({match.subject for match in candidates})
    result = {"candidates": len(candidates), "entities": entities, "proposed": len(proposed)}
    lines = [
        f"{len(candidates)} candidates for {entities} entities, {len(proposed)} of them proposed"
    ]
    if auto is not None:
        confident = [match for match in proposed if (match.confidence or 0) >= auto]
        report = kg.links.accept(confident, same_as=options["same_as"])
        result["accepted"] = report.added
        lines.append(
            f"{counted(report.added, 'link')} accepted, with a confidence of at least {auto:g}"
        )
        linked = {match.subject for match in confident}
        candidates = [match for match in candidates if match.subject not in linked]
    if review is not None:
        with open_output(review) as stream:
            stream.write(kg.links.table(candidates, f"candidates/{name}").encode())
    return result, lines


def _accept(kg: KnowledgeGraph, options: dict[str, Any]) -> _Outcome:
    report = kg.links.accept_file(
        options["accept"], same_as=options["same_as"], elsewhere=options["elsewhere"]
    )
    result = {
        "accepted": report.added,
        "already_stored": report.unchanged,
        "rows_skipped": report.left_out,
    }
    return result, [
        f"{counted(report.added, 'link')} accepted, {report.unchanged} already stored, "
        f"{counted(report.left_out, 'row')} skipped"
    ]


def _undo(kg: KnowledgeGraph, options: dict[str, Any]) -> _Outcome:
    target: Any = options["undo"] or None
    if target is None and not options["every"]:
        raise UsageError("name the links to remove: --undo FILE, --undo IRI, or --undo --all")
    if target is not None and (Path(target).exists() or ":" not in target):
        target = Path(target)
    removed = kg.links.undo(target).removed
    return {"removed": removed}, [f"{removed} links removed"]
