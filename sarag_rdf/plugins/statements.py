"""``sarag statements``: what documents state, for review, statement by statement.

A statement that a reviewer calls wrong is put into quarantine, like one that violates shapes: it is
not derived any more, whichever document makes it, and its sentences stay where they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any
from urllib.parse import unquote

import click
import pyoxigraph as ox

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.tabular import TableRow, delimiter_for, parse_rows, read_table, write_table
from sarag_rdf.base.vocab import iri, text_of
from sarag_rdf.base.words import saying
from sarag_rdf.building.decision_records import Decision
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import counted, emit, write_output
from sarag_rdf.extraction.text_values import measure
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import today
from sarag_rdf.graph.ontology.schema import Schema, TermNames
from sarag_rdf.graph.texts import entity_labels, full_documents
from sarag_rdf.kg.deciding import record_decisions
from sarag_rdf.kg.entity_lookup import find_entity
from sarag_rdf.kg.schemas import schema_in_force

RULE = "review"
"""The rule of decisions about statements that a reviewer calls wrong."""
_COLUMNS = (
    *("decision", "entity", "name", "property", "label", "object", "object_name"),
    *("confidence", "text", "sources"),
)
_LENGTH = 400
"""Characters of a sentence that are shown, at most."""
_NEEDED = ("decision", "entity", "property", "object")
StatingRows = dict[tuple[str, str, Any], list[Any]]
"""(entity, property, value) -> rows of the query ``typed-statements``."""


@dataclass(frozen=True, slots=True)
class MadeStatement:
    """A statement with its sentences and sources; `confidence` is that of the surest sentence.

    `object` is in N-Triples, and `name`, `label` and `object_name` are for a reader.
    """

    entity: str
    name: str
    property: str
    label: str
    object: str
    object_name: str
    confidence: float
    texts: tuple[str, ...]
    sources: tuple[str, ...]


def stating_rows(
    reader: GraphReader, properties: Iterable[str], entities: Iterable[str] = ()
) -> StatingRows:
    """What documents state with some properties, by default of all entities."""
    chosen = {*properties}
    subjects = {*entities} or {
        iri(subject)
        for _, subject, _, graph in reader.select_provenance_for("property-statements", chosen)
        if graph.value == reader.minter.kg_graph
    }
    grouped: defaultdict[tuple[str, str, Any], list[Any]] = defaultdict(list)
    for row in reader.select_provenance_for("typed-statements", subjects):
        if iri(row[2]) in chosen:
            grouped[iri(row[1]), iri(row[2]), row[3]].append(row)
    return dict(grouped)


def said_in(reader: GraphReader, stated: StatingRows) -> dict[tuple[str, str], tuple[str, str]]:
    """(document, text of a relationship) -> its sentence there, and the source as users name it.

    The sentence is the one with the most of its ends and its phrase.
    """
    base = f"{reader.minter.base}source/"
    pairs = {(iri(r[-1]), text_of(r[5])): iri(r[0]) for rows in stated.values() for r in rows}
    documents = full_documents(reader, {document for document, _ in pairs})
    phrases = dict(reader.select_provenance_for("relationship-phrases", pairs.values()))
    said = {}
    for (known, text), relationship in pairs.items():
        own = documents[known]
        phrase = text_of(phrases[ox.NamedNode(relationship)])
        begin, end = saying(own.text, text, phrase, own.language)
        sentence = shorten(own.text[begin:end], _LENGTH, placeholder=" ...")
        said[known, text] = sentence, unquote(own.source_iri.removeprefix(base))
    return said


def made_statements(
    reader: GraphReader,
    schema: Schema,
    entities: Iterable[str] = (),
    properties: Iterable[str] = (),
) -> list[MadeStatement]:
    """The statements of documents about entities, by default all, the least certain first.

    With `properties` those with one of these alone.
    """
    grouped = stating_rows(reader, [*properties] or schema.properties, entities)
    said = said_in(reader, grouped)
    objects = {text_of(term) for _, _, term in grouped if isinstance(term, ox.NamedNode)}
    labels = entity_labels(reader, objects | {entity for entity, _, _ in grouped})

    made = [
        MadeStatement(
            entity,
            labels[entity][0],
            property_,
            schema.properties[property_].label if property_ in schema.properties else property_,
            str(value),
            labels.get(text_of(value), (_with_unit(value, rows),))[0],
            max(float(row[6].value) for row in rows),
            *(
                tuple(sorted({*each}))
                for each in zip(*(said[iri(r[-1]), text_of(r[5])] for r in rows), strict=True)
            ),
        )
        for (entity, property_, value), rows in grouped.items()
    ]
    return sorted(made, key=lambda s: (s.confidence, s.name, s.label, s.object))


def _with_unit(value: Any, rows: Sequence[Any]) -> str:
    """A literal with its unit, if all its sentences say the same."""
    units = {iri(row[4]) if row[4] else "" for row in rows}
    unit = units.pop() if len(units) == 1 else ""
    return measure(text_of(value), unit) if unit else text_of(value)


def _line(made: MadeStatement) -> str:
    """The statement on one line, and a sentence on the next."""
    stated = f"{made.name} | {made.label} | {made.object_name}  {made.confidence:.2f}"
    return f"{stated}\n  {made.texts[0]} ({', '.join(made.sources)})"


def table(statements: Iterable[MadeStatement], delimiter: str = "\t") -> str:
    """Statements as a table for review: write wrong in the column `decision`."""
    rows = (
        {
            "entity": each.entity, "name": each.name, "property": each.property,
            "label": each.label, "object": each.object, "object_name": each.object_name,
            "confidence": f"{each.confidence:.2f}", "text": " / ".join(each.texts),
            "sources": ", ".join(each.sources),
        }
        for each in statements
    )  # fmt: skip
    return write_table(_COLUMNS, rows, delimiter)


def _with_inverses(
    reader: GraphReader, schema: Schema, decisions: Sequence[Decision]
) -> list[Decision]:
    """The decisions, and the same about the statements of inverse properties.

    Raises `UsageError` for a statement that no document makes.
    """
    objects = {d.qualifier[1:-1] for d in decisions if d.qualifier.startswith("<")}
    made = made_statements(reader, schema, objects | {d.name for d in decisions})
    known = {(each.entity, each.property, each.object) for each in made}
    rejected = []
    for decision in decisions:
        subject, property_, object_ = decision.name, decision.other, decision.qualifier
        if (subject, property_, object_) not in known:
            raise UsageError(f"no document states {' '.join((subject, property_, object_))}")
        turned = (
            (object_[1:-1], inverse, f"<{subject}>")
            for inverse in schema.inverses.get(property_, ())
        )
        rejected.append(decision)
        rejected += [
            replace(decision, name=s, other=p, qualifier=o)
            for s, p, o in turned
            if (s, p, o) in known
        ]
    return rejected


def decision_of(row: TableRow) -> Decision | None:
    """The statement of a row in quarantine; None if it is right, or not decided.

    Raises `ValueError` for a word that is no decision.
    """
    word = row["decision"].casefold()
    if word in ("", "right"):
        return None
    if word != "wrong":
        raise ValueError(
            f"column decision: '{row['decision']}' is not a decision: write wrong, right or nothing"
        )
    if not (is_iri(row["entity"]) and is_iri(row["property"])):
        raise ValueError(
            "columns entity and property: give their IRIs, as in the table of --review"
        )
    return Decision(
        "quarantined", row["entity"], row["property"], row["object"],
        rule=RULE, date=today(), note=row["text"],
    )  # fmt: skip


@click.command(epilog='Example:  sarag statements "Marie Curie" --review statements.tsv --kg kg')
@click.argument("names", nargs=-1, metavar="[NAME]...")
@flags.write_options
@click.option("--property", "properties", multiple=True, help="Those with this property alone.")
@click.option(
    "--below", type=click.FloatRange(0, 1), help="Those with a lower confidence than this alone."
)
@flags.path_option("--review", "Write the statements to this table.")
@flags.path_option("--accept", "Put the statements that this table calls wrong into quarantine.")
@flags.json_option
def command(names: Sequence[str], properties: Sequence[str], **options: Any) -> int:
    """List what documents state of the entities NAME, by default of all, and reject what is wrong.

    The least certain statements come first, each with its sentence and source. Write wrong in the
    column decision of the --review table, and --accept it: such a statement is not derived any
    more, whichever document makes it. 'sarag quarantine statements' lists and releases them.
    """
    with flags.open_graph(options) as kg:
        if options["accept"] is not None:
            path: Path = options["accept"]
            rows = read_table(path, _NEEDED)
            decisions = [each for each in parse_rows(path, rows, decision_of) if each is not None]
            with kg.session.write(create=False) as reader:
                if decisions:
                    decisions = _with_inverses(reader, schema_in_force(reader), decisions)
                    record_decisions(reader, decisions)
            hint = "" if decisions else ": write wrong in the column decision"
            line = f"{counted(len(decisions), 'statement')} put into quarantine{hint}"
            return emit(options, {"quarantined": [d.statement for d in decisions]}, line)
        with kg.session.read() as snapshot:
            reader = snapshot.own
            schema = schema_in_force(reader)
            of = TermNames("property", schema.properties)
            entities = {find_entity(reader, name) for name in names}
            statements = made_statements(reader, schema, properties=map(of.resolve, properties))
    if names:
        things = {f"<{entity}>" for entity in entities}
        statements = [s for s in statements if s.entity in entities or s.object in things]
    if options["below"] is not None:
        statements = [each for each in statements if each.confidence < options["below"]]
    if options["review"] is not None:
        write_output(options["review"], table(statements, delimiter_for(options["review"])))
    lines = () if options["review"] is not None else map(_line, statements)
    return emit(options, statements, *lines, counted(len(statements), "statement"))
