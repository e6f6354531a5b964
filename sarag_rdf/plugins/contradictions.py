"""Contradictions: statements of one thing that cannot hold together, with the sentences of both.

The constraints are those of the ontologies of the graph, or of the packaged one: properties with at
most one value (``owl:FunctionalProperty``, ``sh:maxCount 1``), values in order
(``sh:lessThanOrEquals``, such as birth before death) and disjoint classes (``owl:disjointWith``,
``owl:AllDisjointClasses``). Statements that hold at different times do not contradict each other,
nor do dates of which one contains the other, nor a preferred statement and others. Statements of
documents are also compared with those of imported graphs on what is linked as the same. Nothing is
removed: a reviewer decides in a table which of two statements holds or is preferred, and ranks are
set accordingly (`sarag_rdf.building.derive`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import pyoxigraph as ox

from sarag_rdf.base.iris import local_name
from sarag_rdf.base.tabular import TableRow, delimiter_for, parse_rows, read_table, write_table
from sarag_rdf.base.vocab import RDF, iri, text_of
from sarag_rdf.building.decision_records import RANKS, Decision, Decisions
from sarag_rdf.building.link_records import identities
from sarag_rdf.cli import flags
from sarag_rdf.cli.entity_commands import list_or_undo, undo_options
from sarag_rdf.cli.output import counted, emit, write_output
from sarag_rdf.graph.graph_reader import GraphReader, term_reader
from sarag_rdf.graph.metadata import today
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.graph.valid_time import (
    NO_TIMES,
    Span,
    Times,
    days_of,
    overlap,
    span_of,
    stated_times,
)
from sarag_rdf.kg.deciding import record_decisions
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.schemas import schema_in_force
from sarag_rdf.plugins.constraints import Constraints
from sarag_rdf.plugins.statements import said_in, stating_rows

RULE = "contradiction"
"""The rule of decisions about contradictions."""
_IMPORTED = "imported graph "
"""Before the name of the graph, in place of a source."""
_COLUMNS = (
    *("decision", "kind", "entity", "name", "property", "first", "first_text", "first_sources"),
    *("other_property", "second", "second_text", "second_sources"),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of two statements: its property and object (in N-Triples), with who says so."""

    property: str
    object: str
    texts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements of an entity that cannot both hold; `kind` is value, order or class."""

    kind: str
    entity: str
    name: str
    first: Side
    second: Side

    @property
    def line(self) -> str:
        """The contradiction on two lines, each with a sentence."""
        sides = []
        for side in (self.first, self.second):
            text = f": {side.texts[0]}" if side.texts else ""
            where = f" ({', '.join(side.sources)})" if side.sources else ""
            sides.append(f"  {local_name(side.property)} {_shown(side.object)}{text}{where}")
        return "\n".join([f"{self.name}  [{self.kind}]", *sides])


def find_contradictions(
    reader: GraphReader, imported: GraphReader | None = None
) -> list[Contradiction]:
    """All contradictions among the statements and classes of things, in a fixed order.

    `reader` reads the documents, and `imported` the graphs that they are compared with.
    """
    schema = schema_in_force(reader)
    constraints, ranks = Constraints.read(reader, schema), Decisions.read(reader).ranks
    first = {p: min(p, *others) for p, others in schema.equivalents.items()}  # of equivalents
    every = _of_values(reader, constraints, first, imported)
    found = [each for each in every if not _is_decided(each, ranks)]
    found += _of_classes(reader, constraints)
    names = entity_labels(reader, {each.entity for each in found})
    labelled = (
        Contradiction(c.kind, c.entity, names.get(c.entity, ("", "misc"))[0], c.first, c.second)
        for c in found
    )
    return sorted(labelled, key=lambda c: (c.kind, c.name, c.first.property, c.first.object))


def _is_decided(found: Contradiction, ranks: Mapping[tuple[str, str, str], str]) -> bool:
    """Whether one of the two is preferred, and the other is not."""
    sides = (found.first, found.second)
    return len({ranks.get((found.entity, s.property, s.object)) for s in sides}) > 1


@dataclass(slots=True)
class _Stated:
    """A statement with its sentences, sources, and the times at which it holds."""

    side: Side
    value: Any
    times: list[Times]
    is_imported: bool = False


def _of_values(
    reader: GraphReader,
    constraints: Constraints,
    first: Mapping[str, str],
    imported: GraphReader | None,
) -> Iterator[Contradiction]:
    single = {first.get(p, p) for p in constraints.single}
    ordered = {(first.get(p, p), first.get(q, q)) for p, q in constraints.ordered}
    properties = single | {p for pair in ordered for p in pair}
    properties |= {p for p, same in first.items() if same in properties}
    stated = _stated(reader, properties)
    others = _stated_elsewhere(imported, stated, properties) if imported else {}
    for entity, statements in stated.items():
        by_property: defaultdict[str, list[_Stated]] = defaultdict(list)
        for each in (*statements, *others.get(entity, ())):
            by_property[first.get(each.side.property, each.side.property)].append(each)
        of = {property_: _most_precise(several) for property_, several in by_property.items()}
        for property_ in sorted(single & of.keys()):
            for one, other in combinations(of[property_], 2):
                if _differ(one, other):
                    yield Contradiction("value", entity, "", one.side, other.side)
        for before, after in sorted(ordered):
            for one in of.get(before, ()):
                for other in of.get(after, ()):
                    if _is_after(one.value, other.value) and not (
                        one.is_imported and other.is_imported
                    ):
                        yield Contradiction("order", entity, "", one.side, other.side)


def _stated(reader: GraphReader, properties: Set[str]) -> Mapping[str, Sequence[_Stated]]:
    """Entity -> its statements with the given properties, by property and object."""
    grouped, times = stating_rows(reader, properties), stated_times(reader)
    said = said_in(reader, grouped)
    result: defaultdict[str, list[_Stated]] = defaultdict(list)
    for (entity, property_, value), group in sorted(grouped.items(), key=str):
        ways = [said[iri(row[-1]), text_of(row[5])] for row in sorted(group, key=str)]
        texts, where = (dict.fromkeys(each) for each in zip(*ways, strict=True))
        side = Side(property_, str(value), tuple(texts), tuple(sorted(where)))
        held = [times.get(iri(row[0]), NO_TIMES) for row in group]
        result[entity].append(_Stated(side, value, held))
    return result


def _stated_elsewhere(
    imported: GraphReader, entities: Container[str], properties: Set[str]
) -> Mapping[str, Sequence[_Stated]]:
    """Entity -> what imported graphs state of the items that it is linked with as the same."""
    pairs = identities(imported)
    own = {item: ox.NamedNode(entity) for entity, item in pairs}
    entity_of = {item: entity for entity, item in pairs if entity in entities}
    result: defaultdict[str, list[_Stated]] = defaultdict(list)
    for part in SchemaInUse(imported).parts:
        rows = term_reader(imported, part).rows_for("statements-about", entity_of)
        for item, side, property_, value in rows:
            if side.value == "+" and property_.value in properties:
                value = own.get(text_of(value), value) if isinstance(value, ox.NamedNode) else value
                stated = Side(property_.value, str(value), (), (f"{_IMPORTED}{part.name}",))
                result[entity_of[item.value]].append(
                    _Stated(stated, value, [NO_TIMES], is_imported=True)
                )
    return result


def _most_precise(statements: Sequence[_Stated]) -> list[_Stated]:
    """The statements without those of a date that contains the date of another one."""
    spans = {id(each): _span(each.value) for each in statements}
    return [
        each
        for each in statements
        if (own := spans[id(each)]) is None
        or not any(
            span and span != own and own[0] <= span[0] and span[1] <= own[1]
            for span in spans.values()
        )
    ]


def _differ(one: _Stated, other: _Stated) -> bool:
    """Whether two values cannot both be right at one time, of which a document states one."""
    if text_of(one.value) == text_of(other.value) or (one.is_imported and other.is_imported):
        return False
    first, second = _span(one.value), _span(other.value)
    if first and second:
        return not overlap(first, second)
    return any(overlap(days_of(a), days_of(b)) for a in one.times for b in other.times)


def _is_after(one: Any, other: Any) -> bool:
    first, second = _span(one), _span(other)
    if first and second:
        return first[0] > second[1]
    try:
        return float(text_of(one)) > float(text_of(other))
    except ValueError:
        return False


def _span(value: Any) -> Span | None:
    return span_of(value.value) if isinstance(value, ox.Literal) else None


def _of_classes(reader: GraphReader, constraints: Constraints) -> Iterator[Contradiction]:
    if not constraints.disjoint:
        return
    above = constraints.superclasses
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for quad in reader.store.quads(reader.minter.kg_graph):
        if quad.predicate == RDF.type and text_of(quad.object) in above:
            classes[iri(quad.subject)].add(text_of(quad.object))
    for entity, own in sorted(classes.items()):
        for one, other in combinations(sorted(own), 2):
            pairs = {frozenset((a, b)) for a in above[one] for b in above[other] if a != b}
            if constraints.disjoint & pairs:
                sides = (Side(RDF.type.value, f"<{class_}>") for class_ in (one, other))
                yield Contradiction("class", entity, "", *sides)


# Decisions


def table(found: Iterable[Contradiction], delimiter: str = "\t") -> str:
    """Contradictions as a table for review: write first, second or both in column `decision`."""
    rows = (
        {
            "kind": each.kind, "entity": each.entity, "name": each.name,
            "property": each.first.property, "first": each.first.object,
            "first_text": " / ".join(each.first.texts),
            "first_sources": ", ".join(each.first.sources),
            "other_property": each.second.property, "second": each.second.object,
            "second_text": " / ".join(each.second.texts),
            "second_sources": ", ".join(each.second.sources),
        }
        for each in found
    )  # fmt: skip
    return write_table(_COLUMNS, rows, delimiter)


_SIDES = {"first": ("property", "first"), "second": ("other_property", "second")}
_OTHER = {"first": "second", "second": "first"}


def decision_of(row: TableRow) -> Decision | None:
    """The rank of a statement: that of the other one, or of a preferred one; None if both stand.

    Raises `ValueError` for a word that is no decision.
    """
    word = row["decision"].casefold()
    side = word.removeprefix("prefer ")
    if word in ("", "both"):
        return None
    if side not in _SIDES:
        raise ValueError(
            f"column decision: '{row['decision']}' is no decision: write first or second for the "
            "statement that holds, prefer first or prefer second, both, or nothing"
        )
    if row["kind"] == "class":
        raise ValueError("the classes of a thing are decided by sarag retype")
    ranked = side if side != word else _OTHER[side]
    if row[f"{ranked}_sources"].startswith(_IMPORTED):
        raise ValueError(
            f"the {ranked} statement is one of the {row[f'{ranked}_sources']}: correct it where it "
            "comes from, and import the graph again"
        )
    property_, object_ = (row[column] for column in _SIDES[ranked])
    return Decision(
        "preferred" if side != word else "deprecated", row["entity"], property_, object_,
        rule=RULE, date=today(), note=f"contradicts {row[_OTHER[ranked]]}",
    )  # fmt: skip


@click.command(epilog="Example:  sarag contradictions --review contradictions.tsv --kg kg")
@flags.write_options
@flags.path_option("--review", "Write the contradictions to this table.")
@flags.path_option("--accept", "Decide the rows of this table.")
@undo_options("decisions about contradictions")
def command(**options: Any) -> int:
    """List statements of one thing that cannot hold together, with the sentences of both.

    Found are two values of a property that has one at a time, values in the wrong order such as a
    death before a birth, and disjoint classes, as the ontologies and shapes of the graph say: among
    documents, and between these and imported graphs that are linked with them. Write first or
    second in the column decision of the --review table for the statement that holds, or prefer
    first or prefer second, and --accept it: the other statement is deprecated, or the one
    preferred. Exit code 1 if there are contradictions.
    """
    with flags.open_graph(options) as kg:
        if options["listing"] or options["undo"] is not None or options["undo_all"]:
            return list_or_undo(kg, "ranks", "--list" if options["listing"] else "--undo", options)
        if options["accept"] is not None:
            return _accept(kg, options["accept"], options)
        with kg.session.read() as snapshot:
            found = find_contradictions(snapshot.own, select_parts(snapshot.own).imported)
    if options["review"] is not None:
        write_output(options["review"], table(found, delimiter_for(options["review"])))
    lines = () if options["review"] is not None else (each.line for each in found)
    summary = counted(len(found), "contradiction")
    return emit(options, found, *lines, summary, failed=bool(found) and not options["review"])


def _accept(kg: KnowledgeGraph, path: Path, options: Mapping[str, Any]) -> int:
    rows = read_table(path, ("decision", "entity", "property", "first", "second"))
    parsed = [each for each in parse_rows(path, rows, decision_of) if each is not None]
    decisions = {each.statement: each for each in parsed}.values()  # of several rows about one
    with kg.session.write(create=False) as reader:
        record_decisions(reader, decisions)
    hint = "" if decisions else ": write first or second in the column decision"
    ranked = {kind: [d.statement for d in decisions if d.kind == kind] for kind in RANKS}
    counts = (f"{counted(len(ranked[kind]), 'statement')} {kind}" for kind in ranked)
    return emit(options, ranked, f"{', '.join(counts)}{hint}")


def _shown(object_: str) -> str:
    """An object in N-Triples for a reader: the text of a literal, or the end of an IRI."""
    if object_.startswith("<"):
        return local_name(object_[1:-1])
    return object_.rpartition('"')[0].lstrip('"')
