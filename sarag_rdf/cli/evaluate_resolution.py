"""``sarag evaluate resolution``: entity resolution on mentions whose entities are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.plugins import plugins
from sarag_rdf.base.terms import text_of
from sarag_rdf.cli.options import embedder_option, embedding_endpoint_options, json_option
from sarag_rdf.cli.output import echo_json

if TYPE_CHECKING:
    from sarag_rdf.base.ports import Table
    from sarag_rdf.kg.graph import KnowledgeGraph

DEFAULT = "default"
"""Names and unambiguous aliases, which are followed without a rule."""
_ENTITIES = """
PREFIX sarag: <https://w3id.org/sarag/ontology#>
SELECT ?name ?entity WHERE { ?mention sarag:normalizedName ?name ; sarag:refersTo ?entity }
"""


@click.command(name="resolution", epilog="Example:  sarag evaluate resolution mentions.tsv")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rules", help="Comma-separated merge rules. Default: all.")
@click.option(
    "--least", default=0.9, show_default=True, type=click.FloatRange(0, 1),
    help="Minimum cosine, for the rule near.",
)  # fmt: skip
@embedder_option
@embedding_endpoint_options
@json_option
def command(**options: Any) -> None:
    """Merge the mentions of a table by each merge rule, and compare with their known entities.

    The tab-separated table has the columns entity and name, and optionally type, aliases and
    related (names separated by |). Each rule is applied without review, after the merges that are
    made by default. Figures are in percent: of pairs of mentions, and B-cubed.
    """
    import sarag_rdf
    from sarag_rdf.cli.options import endpoint_of
    from sarag_rdf.plugins.evaluation.resolution import (
        GoldExtractor,
        b_cubed,
        groups,
        pairwise,
        read_gold,
    )

    mentions = read_gold(options["file"])
    if not mentions:
        raise InputError(f"{options['file']} has no mentions")
    chosen = [rule.strip() for rule in options["rules"].split(",")] if options["rules"] else None
    gold = [mention.entity for mention in mentions]
    rows = []
    with sarag_rdf.open(None, embedder=options["embedder"], endpoint=endpoint_of(options)) as kg:
        sources = [mention.source(number) for number, mention in enumerate(mentions)]
        kg.index(sources, extractor=GoldExtractor(mentions))
        for rule in (DEFAULT, *(chosen or plugins("merge_rules"))):
            merged = 0
            if rule != DEFAULT:
                proposals = kg.decisions.propose_merges(rule, least=options["least"])
                merged = len(kg.decisions.accept(proposals).decisions) if proposals else 0
            predicted = groups(mentions, _entities(kg))
            scores = {"pairs": pairwise(gold, predicted), "b_cubed": b_cubed(gold, predicted)}
            if merged:
                kg.decisions.undo(rule)
            figures = {
                measure: {
                    name: round(100 * getattr(score, name), 1)
                    for name in ("precision", "recall", "f1")
                }
                for measure, score in scores.items()
            }
            rows.append({"rule": rule, "merges": merged, **figures})
    if options["as_json"]:
        counts = {"mentions": len(mentions), "entities": len(set(gold))}
        echo_json({**counts, "least": options["least"], "rules": rows})
        return
    click.echo(f"{len(mentions)} mentions of {len(set(gold))} entities; figures in percent\n")
    click.echo(f"{'':14}{'':>7}{'pairs':>20}{'B-cubed':>20}")
    names = "".join(f"{name:>{width}}" for name, width in (("P", 8), ("R", 6), ("F1", 6)))
    click.echo(f"{'rule':14}{'merges':>7}{names}{names}")
    for row in rows:
        cells = "".join(
            f"{row[measure]['precision']:8.1f}{row[measure]['recall']:6.1f}"
            f"{row[measure]['f1']:6.1f}"
            for measure in ("pairs", "b_cubed")
        )
        click.echo(f"{row['rule']:14}{row['merges']:7}{cells}")


def _entities(kg: KnowledgeGraph) -> dict[str, str]:
    """Normalised name -> entity."""
    table = cast("Table", kg.query(_ENTITIES))
    return {text_of(name): text_of(entity) for name, entity in table.rows}
