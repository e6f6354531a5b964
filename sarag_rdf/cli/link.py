"""``sarag link``: candidates for links to other graphs; links accepted, links undone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.cli.options import (
    embedder_option,
    embedding_endpoint_options,
    endpoint_only,
    kg_option,
    open_graph,
    sparql_options,
)
from sarag_rdf.cli.output import written_to
from sarag_rdf.errors import UsageError

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph


@click.command(
    name="link",
    epilog="Example:  sarag link --to subjects --review review.sssom.tsv  and then  "
    "sarag link --accept review.sssom.tsv",
)
@kg_option
@embedder_option
@click.option("--to", metavar="NAME", help="Look for candidates in this imported graph.")
@sparql_options
@click.option("--review", type=click.Path(path_type=Path), help="Write candidates here, as SSSOM.")
@click.option("--per-entity", default=3, type=click.IntRange(1), help="Candidates at most.")
@click.option("--min-confidence", default=0.5, type=click.FloatRange(0, 1), help="Of a candidate.")
@click.option(
    "--near",
    default="characters",
    type=click.Choice(["characters", "embedding", "none"]),
    help="How names are compared where none are equal.",
)
@click.option(
    "--auto",
    type=click.FloatRange(0, 1),
    help="Accept what is proposed with this confidence at least, and is not ambiguous.",
)
@click.option("--accept", type=click.Path(path_type=Path), help="Store the links of this table.")
@click.option(
    "--elsewhere", is_flag=True, help="With --accept: items need not stand in an imported graph."
)
@click.option("--same-as", is_flag=True, help="Store owl:sameAs for skos:exactMatch.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value="",
    metavar="FILE|IRI",
    help="Remove the links of a table, or of an entity, an item or a mapping; or, with --all, all.",
)
@click.option("--all", "every", is_flag=True, help="With --undo: remove all links.")
@embedding_endpoint_options
def command(**options: Any) -> int:
    """Link entities of the documents to items of an imported graph, or of an endpoint.

    First --to NAME writes candidates to a --review file. With --endpoint URL instead, the items are
    those of a live endpoint, which is asked for the names of the entities. Whoever reviews it
    deletes rows, or writes Not under predicate_modifier, or changes predicate_id; rows with
    sssom:NoMapping are left out. Then --accept stores the links, as skos:exactMatch unless the
    file says otherwise. --undo removes them again.
    """
    done = [name for name in ("to", "endpoint", "accept", "undo") if options[name] is not None]
    if len(done) != 1:
        raise UsageError(
            "give one of --to NAME, --endpoint URL, --accept FILE, --undo FILE|IRI, --undo --all"
        )
    if options["every"] and options["undo"] != "":
        raise UsageError("--all belongs to --undo alone:  sarag link --undo --all")
    act = {"to": _candidates, "endpoint": _candidates, "accept": _accept, "undo": _undo}[done[0]]
    with open_graph({**options, "endpoint": None}) as kg:
        act(kg, options)
    return 0


def _candidates(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    review, auto, name = options["review"], options["auto"], options["to"]
    if review is None and auto is None:
        raise UsageError("say where candidates go: --review FILE, --auto CONFIDENCE, or both")
    settings = {key: options[key] for key in ("per_entity", "min_confidence", "near")}
    if name is None:
        found = kg.links.remote_candidates(endpoint_only(options), **settings)
        name = "endpoint"
    else:
        found = kg.links.candidates(name, **settings)
    proposed = [match for match in found if match.is_link]
    entities = len({match.subject for match in found})
    click.echo(f"{len(found)} candidates for {entities} entities, {len(proposed)} of them proposed")
    if auto is not None:
        sure = [match for match in proposed if (match.confidence or 0) >= auto]
        report = kg.links.accept(sure, same_as=options["same_as"])
        click.echo(f"{report.added} links accepted, with a confidence of {auto:g} at least")
        settled = {match.subject for match in sure}
        found = [match for match in found if match.subject not in settled]
    if review is not None:
        with written_to(review) as stream:
            stream.write(kg.links.table(found, f"candidates/{name}").encode())


def _accept(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    report = kg.links.accept_file(
        options["accept"], same_as=options["same_as"], elsewhere=options["elsewhere"]
    )
    click.echo(
        f"{report.added} links accepted, {report.unchanged} were there, "
        f"{report.left_out} rows left out"
    )


def _undo(kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    what: Any = options["undo"] or None
    if what is None and not options["every"]:
        raise UsageError("say which links to undo: --undo FILE, --undo IRI, or --undo --all")
    if what is not None and (Path(what).exists() or ":" not in what):
        what = Path(what)
    click.echo(f"{kg.links.undo(what).removed} links removed")
