"""Decisions about entities: which names refer to the same entity, and its classes.

Rules propose both by the names of entities, for review.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyoxigraph import NamedNode

from sarag_rdf.base.arrays import find, rows_of
from sarag_rdf.base.errors import UnparsableReplyError, UsageError
from sarag_rdf.base.iris import normalize_name, phrase_key
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import LLM, Progress, silent
from sarag_rdf.base.tables import DECISION, TableRow, raise_for_rows, write_table
from sarag_rdf.base.tables import read_table as read_review_table
from sarag_rdf.base.terms import iri, text_of
from sarag_rdf.base.vocab import PROV, RDF, SARAG, SEMAPV, TYPE_CLASSES
from sarag_rdf.building.derive.curation import Member, curated, relabelled, remarks
from sarag_rdf.building.derive.decisions import (
    SUBJECTS,
    Decision,
    Decisions,
    Subject,
    read_decisions,
)
from sarag_rdf.building.derive.incremental import refresh
from sarag_rdf.building.derive.merge_rules import NEAR, MergeRule, propose
from sarag_rdf.building.index.sources import IndexedSources
from sarag_rdf.building.link.match import EXACT, Match
from sarag_rdf.building.link.sssom import read_table, review_table
from sarag_rdf.extraction.typed.phrases import PhraseMatcher
from sarag_rdf.graph.links import following_links
from sarag_rdf.graph.metadata import now, run_quads, with_revision
from sarag_rdf.graph.ontologies import ontology_triples
from sarag_rdf.graph.ontology.read import schema_of
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.terms import TermNames
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import documents_of, entity_labels
from sarag_rdf.kg.entities import entities_of_name
from sarag_rdf.kg.session import Session, Snapshot

log = logging.getLogger(__name__)

CLASS_IN_NAME = "class-in-name"
"""The rule by which "Lund University" is a university."""
BY_MODEL = "by-model"
"""The rule by which a language model says what an entity is."""
COLUMNS = (DECISION, "name", "class", "type", "documents", "rule", "note", "entity")


@dataclass(frozen=True, slots=True)
class ClassProposal:
    """An entity with the IRI of the class that `rule` proposes for it.

    `type` is the entity type; `documents` the number of documents that describe the entity.
    """

    entity: str
    name: str
    class_iri: str
    type: str
    documents: int
    rule: str = CLASS_IN_NAME


def propose_classes(reader: GraphReader, schema: Schema) -> list[ClassProposal]:
    """The classes whose labels are the head of the name of an entity ("University of Lund").

    Those of entities in most documents come first. Omitted are entities that belong to the class,
    and those whose classes were decided. Classes of persons are not proposed.
    """
    entities, classes = _undecided(reader)
    matcher = PhraseMatcher(schema)
    labels = entity_labels(reader, entities)
    documents = documents_of(reader, entities)
    proposals = [
        ClassProposal(entity, name, class_, type_, len(documents.get(entity, ())))
        for entity, (name, type_) in labels.items()
        if (class_ := matcher.class_of_name(name)) and not schema.belongs(classes[entity], [class_])
    ]
    return sorted(proposals, key=lambda p: (-p.documents, p.entity))


def relabel_classes(
    reader: GraphReader, schema: Schema, llm: LLM, progress: Progress
) -> list[ClassProposal]:
    """The classes that a model gives entities, those in most documents first.

    Omitted are entities that belong to the class, those whose classes were decided, those of which
    the model says that no class fits, and those without a valid reply, whose number is logged.
    Raises `UnparsableReplyError` if no entity has a valid reply.
    """
    entities, classes = _undecided(reader)
    names = TermNames("class", schema.classes)
    by_label = {names.name(class_): class_ for class_ in schema.classes}
    if not by_label:
        raise UsageError("the graph has no ontology with classes: see  sarag ontology add")
    documents = documents_of(reader, entities)
    members = _members(reader, entities)
    order = sorted(members, key=lambda entity: (-len(documents.get(entity, ())), entity))
    advance = progress("relabelling entities", len(order))
    proposals = []
    unanswered = 0
    for member, label in relabelled([members[entity] for entity in order], sorted(by_label), llm):
        unanswered += label is None
        class_ = by_label.get(label or "")
        if class_ and not schema.belongs(classes[member.iri], [class_]):
            count = len(documents.get(member.iri, ()))
            proposals.append(
                ClassProposal(member.iri, member.name, class_, member.type, count, BY_MODEL)
            )
        advance(1)
    if unanswered and unanswered == len(order):
        raise UnparsableReplyError(
            f"no reply of {llm.model} about the classes of {unanswered} entities could be used: "
            "try another model"
        )
    if unanswered:
        log.warning(
            "no usable reply of %s about %d of %d entities: they are left out",
            llm.model, unanswered, len(order),
        )  # fmt: skip
    return proposals


def _undecided(reader: GraphReader) -> tuple[set[str], defaultdict[str, set[str]]]:
    """The entities whose classes were not decided, and the classes of all entities."""
    classes: defaultdict[str, set[str]] = defaultdict(set)
    entities: set[str] = set()
    referents: dict[str, str] = {}
    for quad in reader.store.quads(reader.minter.kg_graph):
        if quad.predicate == RDF.type and quad.object == SARAG.Entity:
            entities.add(iri(quad.subject))
        elif quad.predicate == RDF.type:
            classes[iri(quad.subject)].add(text_of(quad.object))
        elif quad.predicate == SARAG.refersTo:
            referents[iri(quad.subject)] = text_of(quad.object)
    decided = Decisions.of(read_decisions(reader), reader.minter).classes
    return entities - {referents[name] for name in decided if name in referents}, classes


def class_table(proposals: Sequence[ClassProposal], schema: Schema, delimiter: str = "\t") -> str:
    """Proposals as a table for review, with a column `decision` for ``accept``."""
    names = TermNames("class", schema.classes)
    rows = (
        {
            "name": proposal.name,
            "class": names.name(proposal.class_iri),
            "type": proposal.type,
            "documents": proposal.documents,
            "rule": proposal.rule,
            "entity": proposal.entity,
        }
        for proposal in proposals
    )
    return write_table(COLUMNS, rows, delimiter)


_NEAREST = 50
"""Nearest entities that the rules ``near`` and ``cluster`` look at first."""
_TEXT = 300
"""Characters of the description of an entity that a model is shown."""


class Identity:
    """Decisions about entities: merges, splits and classes, which can be undone."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def decisions(self, about: Subject = "identity") -> list[Decision]:
        """The decisions about identity (merges and splits), classes or phrases."""
        with self._session.read() as snapshot:
            return [d for d in read_decisions(snapshot.own) if d.kind in SUBJECTS[about]]

    def iris(self, decisions: Sequence[Decision]) -> list[str]:
        """IRIs of decisions, in their order."""
        with self._session.read() as snapshot:
            minter = snapshot.own.minter
        return [decision.iri(minter) for decision in decisions]

    def merge(self, entity: str, other: str, *, note: str = "") -> Decision:
        """Merge the entity `other` into `entity`, each named by its IRI or a name.

        Raises `UsageError` for an unknown entity, and for a merge that contradicts a decision.
        """
        with self._session.write(create=False) as reader:
            [decision] = _merges(reader, [_Merge(entity, other, Decision("merged", "", note=note))])
            record_decisions(reader, [decision])
            return decision

    def proposals(self, rule: str, *, least: float = NEAR) -> list[Match]:
        """Merges that a rule proposes, for review: a row's subject would be merged into its object.

        `rule` is ``same-words``, ``initials``, ``near``, ``cluster``, ``shared-alias`` or that of
        a plug-in; `least` is the cosine for ``near`` and ``cluster``, in [-1, 1]. A rule compares
        entities by their own names, not by those of entities that were merged into them. Raises
        `UsageError` for an unknown rule.
        """
        chosen: MergeRule = load("merge_rules", rule)
        with self._session.read() as snapshot:
            nearest = partial(_nearest, snapshot)
            rows = [
                Match(
                    proposal.duplicate,
                    EXACT,
                    proposal.target,
                    proposal.justification,
                    proposal.confidence,
                    tool=rule,
                    date=today(),
                )
                for proposal in propose(snapshot.own, chosen, nearest, least)
            ]
            ends = {iri for row in rows for iri in row.pair}
            labels = entity_labels(select_parts(snapshot.own), ends)
        return [
            replace(row, subject_label=labels[row.subject][0], object_label=labels[row.object][0])
            for row in rows
        ]

    def curated(self, rows: Sequence[Match], progress: Progress = silent) -> list[Match]:
        """Proposals with a remark by the language model: whether it finds the two the same.

        Rows with one object are put to it together. Nothing is decided: the remark is for review.
        """
        llm = self._session.models.llm()
        with self._session.read() as snapshot:
            reader = snapshot.own
        members = _members(reader, {iri for row in rows for iri in row.pair})
        by_centre: defaultdict[str, list[Match]] = defaultdict(list)
        for row in rows:
            by_centre[row.object].append(row)
        advance = progress("curating clusters", len(by_centre))
        comments: dict[tuple[str, str], str] = {}
        for centre, several in by_centre.items():
            verdicts = curated(members[centre], [members[row.subject] for row in several], llm)
            for member, remark in remarks(verdicts, llm.model).items():
                comments[member, centre] = remark
            advance(1)
        return [replace(row, comment=comments[row.pair]) for row in rows]

    def review(self, rows: Sequence[Match]) -> str:
        """Proposals as tab-separated values, with a column `decision` for ``accept``."""
        with self._session.read() as snapshot:
            return review_table(snapshot.own, rows)

    def reviewed(self, path: Path) -> list[Match]:
        """The rows of a table; rows that were not accepted are no links. Raises `InputError`."""
        return read_table(path)

    def merge_rows(self, rows: Sequence[Match] | Path) -> list[Decision]:
        """Merge the subject of each row, or of each row of a reviewed table, into its object.

        Skips rows that were merged before, and rows of a review table without ``accept`` under
        `decision`. Raises what `merge` raises, and then merges none.
        """
        table = read_table(rows) if isinstance(rows, Path) else rows
        accepted = [
            _Merge(row.object, row.subject, _from_row(row))
            for row in table
            if row.is_link and row.predicate == EXACT
        ]
        with self._session.write(create=False) as reader:
            merged = Decisions.of(read_decisions(reader), reader.minter).merges
            mention = reader.minter.mention_of_entity
            new = {
                pair: merge
                for merge in accepted
                if (pair := (mention(merge.other), mention(merge.entity))) not in merged
            }
            decisions = _merges(reader, list(new.values()))
            record_decisions(reader, decisions)
            return decisions

    def keep_apart(self, name: str, other: str, *, note: str = "") -> Decision:
        """Decide that two names, which the rules might merge, refer to different entities."""
        names = sorted(map(normalize_name, (name, other)))
        if names[0] == names[1] or not all(names):
            raise UsageError(
                f"'{name}' and '{other}' are the same name: give the sources in which it names "
                "another entity, with --in SOURCE --as QUALIFIER"
            )
        decision = Decision("different", names[0], names[1], note=note, date=today())
        with self._session.write(create=False) as reader:
            minter = reader.minter
            merges = Decisions.of(read_decisions(reader), minter).merges
            pair = minter.mention(names[0]), minter.mention(names[1])
            if pair in merges or pair[::-1] in merges:
                raise UsageError(
                    f"'{name}' and '{other}' were merged: undo that with  sarag merge --undo "
                    f"{decision.other!r}"
                )
            record_decisions(reader, [decision])
        return decision

    def split(
        self, name: str, sources: str | Sequence[str], qualifier: str, *, note: str = ""
    ) -> Decision:
        """Decide that a name refers to another entity in some sources, named with `qualifier`.

        Adds to the sources of an earlier split with the same qualifier. Raises `UsageError` for a
        name that no document mentions, and for sources with another qualifier.
        """
        normalized = normalize_name(name)
        if not normalized or not qualifier.strip() or not sources:
            raise UsageError("a name, the sources and a qualifier are needed to split a name")
        with self._session.write(create=False) as reader:
            if not entities_of_name(reader, name):
                raise UsageError(f"no document mentions '{name}': see sarag stats")
            iris = {
                *IndexedSources(reader).resolve([sources] if isinstance(sources, str) else sources)
            }
            qualifier = qualifier.strip()
            for earlier in read_decisions(reader):
                if earlier.kind != "variant" or earlier.name != normalized:
                    continue
                if earlier.qualifier == qualifier:
                    iris |= {*earlier.sources}
                    note = note or earlier.note
                elif not iris.isdisjoint(earlier.sources):
                    raise UsageError(
                        f"'{name}' is already '{earlier.qualifier}' in one of these sources: undo "
                        "that split first"
                    )
            decision = Decision(
                "variant", normalized, qualifier=qualifier, sources=tuple(sorted(iris)),
                date=today(), note=note,
            )  # fmt: skip
            record_decisions(reader, [decision])
        return decision

    def retype(self, name: str, *classes: str, note: str = "") -> list[Decision]:
        """Decide the classes of an entity, instead of those that follow from the documents.

        The entity is named by its IRI or a name. Each class is one of `ENTITY_TYPES`, or the IRI,
        prefixed name or label of a class of the stored ontologies. Earlier decisions about the
        classes of the same name are replaced. Raises `UsageError` for an unknown entity or class,
        and for several entity types.
        """
        if not classes:
            raise UsageError("give the class of the entity: see  sarag ontology show")
        with self._session.write(create=False) as reader:
            iris = _classes_named(_schema(reader), classes)
            entity = _entity(reader, name)
            normalized = normalize_name(name)
            if name == entity:
                normalized = _normalized(reader, reader.minter.mention_of_entity(entity))
            decisions = [
                Decision("class", normalized, iri, date=today(), note=note) for iri in iris
            ]
            _record_classes(reader, decisions)
            return decisions

    def class_proposals(
        self, rule: str = CLASS_IN_NAME, progress: Progress = silent
    ) -> list[ClassProposal]:
        """Classes that a rule proposes for entities, for review.

        The rule ``class-in-name`` proposes the class whose label is the head of the name of an
        entity ("Lund University"); with ``by-model`` a language model chooses among the classes of
        the ontologies. Raises `UsageError` for an unknown rule, and the errors of the endpoint.
        """
        if rule not in (CLASS_IN_NAME, BY_MODEL):
            raise UsageError(f"unknown rule '{rule}': choose from {CLASS_IN_NAME}, {BY_MODEL}")
        llm = self._session.models.llm() if rule == BY_MODEL else None
        with self._session.read() as snapshot:
            if llm is not None:
                return relabel_classes(snapshot.own, _schema(snapshot.own), llm, progress)
            return propose_classes(snapshot.own, _schema(snapshot.own))

    def class_review(self, proposals: Sequence[ClassProposal], delimiter: str = "\t") -> str:
        """Proposals as a table for `retype_rows`, with a column `decision` for ``accept``."""
        with self._session.read() as snapshot:
            return class_table(proposals, _schema(snapshot.own), delimiter)

    def retype_rows(self, path: Path) -> list[Decision]:
        """Decide the classes in the accepted rows of a table for review.

        Raises `InputError` with the row and column of an unknown name or class, and then decides
        nothing.
        """
        rows = read_review_table(path, (DECISION, "name", "class"))
        with self._session.write(create=False) as reader:
            schema = _schema(reader)
            decisions: list[Decision] = []
            errors: list[str] = []
            for row in rows:
                try:
                    if row.decision():
                        decisions.append(_class_decision(reader, schema, row))
                except ValueError as error:
                    errors.append(f"row {row.number}, {error}")
            raise_for_rows(path, errors)
            _record_classes(reader, decisions)
            return decisions

    def undo(self, what: str | None, about: Subject = "identity") -> list[Decision]:
        """Undo decisions: one by its IRI, those of a run or a rule, or about a name; None for all.

        Only decisions about `about` are undone, by default merges and splits. Raises `UsageError`
        if there are none.
        """
        with self._session.write(create=False) as reader:
            return undo_decisions(reader, what, about)


_COMMANDS: Mapping[Subject, str] = {
    "identity": "merge",
    "classes": "retype",
    "phrases": "ontology accept",
    "statements": "quarantine statements",
}


def _schema(reader: GraphReader) -> Schema:
    return schema_of(ontology_triples(reader))


def _classes_named(schema: Schema, classes: Sequence[str]) -> list[str]:
    """IRIs of classes, each once; raises `UsageError` for unknown ones and for several types."""
    names = TermNames("class", schema.classes)
    own = {TYPE_CLASSES[name].value for name in classes if name in TYPE_CLASSES}
    if len(own) > 1:
        raise UsageError("an entity has one entity type: give one of " + ", ".join(TYPE_CLASSES))
    others = (names.resolve(name) for name in classes if name not in TYPE_CLASSES)
    return list(dict.fromkeys([*own, *others]))


def _class_decision(reader: GraphReader, schema: Schema, row: TableRow) -> Decision:
    """The decision in a row; raises `ValueError` with the column of an unknown name or class."""
    column = "name"
    try:
        _entity(reader, row["name"])
        column = "class"
        [class_] = _classes_named(schema, [row["class"]])
    except UsageError as error:
        raise ValueError(f"column {column}: {error}") from error
    return Decision(
        "class", normalize_name(row["name"]), class_, justification=SEMAPV.LexicalMatching.value,
        rule=row["rule"], date=today(), note=row["note"],
    )  # fmt: skip


def _record_classes(reader: GraphReader, decisions: Sequence[Decision]) -> None:
    """Record decisions about classes, instead of earlier ones about the same names."""
    names = {decision.name for decision in decisions}
    replaced = [d for d in read_decisions(reader) if d.kind == "class" and d.name in names]
    record_decisions(reader, decisions, replaced)


@dataclass(frozen=True, slots=True)
class _Merge:
    """A request to merge `other` into `entity`, each an IRI or a name."""

    entity: str
    other: str
    decision: Decision


def record_decisions(
    reader: GraphReader, added: Iterable[Decision], undone: Collection[Decision] = ()
) -> None:
    """Add decisions to the graph and remove those undone, and update the traversed graph."""
    minter, started = reader.minter, now()
    removed = {decision.iri(minter) for decision in undone}
    new = {decision.iri(minter): decision for decision in added}
    unchanged = [
        decision
        for decision in read_decisions(reader)
        if decision.iri(minter) not in removed | new.keys()
    ]
    decisions = (*unchanged, *new.values())
    quads = {quad for decision in decisions for quad in decision.quads(minter)}
    old = set(reader.store.quads(minter.decisions_graph))
    if quads == old:
        return
    change = refresh(reader, (), (), decisions=Decisions.of(decisions, minter))
    provenance = [(PROV.invalidated, NamedNode(node)) for node in sorted(removed - new.keys())]
    provenance += [(PROV.generated, NamedNode(node)) for node in sorted(new)]
    what = "decisions added" if new else "decisions undone"
    run = run_quads(reader, what, started, provenance)
    unlinked, linked = following_links(reader, change)
    change = replace(
        change,
        delete=(*change.delete, *sorted((old - quads) | unlinked, key=str)),
        insert=(*change.insert, *sorted((quads - old) | linked, key=str), *run),
    )
    reader.store.apply(with_revision(reader, change))


def undo_decisions(reader: GraphReader, what: str | None, about: Subject) -> list[Decision]:
    """Undo decisions by a name, phrase, rule, run or IRI; None for all about this subject.

    Raises `UsageError` if there are none.
    """
    if what is not None and not what.strip():
        raise UsageError("give a name, a rule or an IRI to undo, or --undo-all for all decisions")
    iris = {what, *decisions_of_run(reader, what or "")}
    names = {normalize_name(what or ""), phrase_key(what or "")}
    undone = [
        decision
        for decision in read_decisions(reader)
        if decision.kind in SUBJECTS[about]
        and (
            what is None
            or decision.iri(reader.minter) in iris
            or decision.rule == what
            or what in (decision.name, decision.other)
            or not names.isdisjoint((decision.name, decision.other))
        )
    ]
    if not undone:
        named = "" if what is None else f" about '{what}'"
        raise UsageError(f"no decision{named}: see  sarag {_COMMANDS[about]} --list")
    record_decisions(reader, [], undone)
    return undone


def decisions_of_run(reader: GraphReader, run: str) -> set[str]:
    """IRIs of the decisions that a run made."""
    quads = reader.store.quads(reader.minter.runs_graph)
    return {iri(q.object) for q in quads if iri(q.subject) == run and q.predicate == PROV.generated}


def _merges(reader: GraphReader, merges: Sequence[_Merge]) -> list[Decision]:
    """The decisions for merges; raises `UsageError` if one contradicts another decision."""
    decided = Decisions.of(read_decisions(reader), reader.minter)
    merged_into = dict(decided.merges)
    decisions = []
    for merge in merges:
        entities = [_entity(reader, named) for named in (merge.entity, merge.other)]
        entity, other = map(reader.minter.mention_of_entity, entities)
        if entity == other:
            raise UsageError(f"'{merge.entity}' and '{merge.other}' are already the same entity")
        if (entity, other) in decided.different:
            raise UsageError(
                f"'{merge.entity}' and '{merge.other}' are kept apart: undo that first"
            )
        if other in merged_into.values() or other in merged_into or entity in merged_into:
            raise UsageError(
                f"'{merge.entity}' or '{merge.other}' is already merged with another entity: "
                f"merge that one with '{merge.entity}' instead, or undo it (sarag merge --list)"
            )
        merged_into[other] = entity
        name, target = (_normalized(reader, mention) for mention in (other, entity))
        date = merge.decision.date or today()
        decisions.append(replace(merge.decision, name=name, other=target, date=date))
    return decisions


def _from_row(row: Match) -> Decision:
    return Decision(
        "merged", "", justification=row.justification, rule=row.tool, date=row.date,
        note=row.comment,
    )  # fmt: skip


def _nearest(snapshot: Snapshot, entity: str, least: float) -> list[tuple[str, float]]:
    """Entities whose names have a cosine of at least `least` with the entity's, with the cosine."""
    index = snapshot.view.vectors.index("entity")
    if find(index.iris, entity) < 0:  # merged into another entity
        return []
    [vector] = index.vectors(rows_of(index.iris, [entity]))
    k = _NEAREST
    while len(nearest := index.nearest(vector, k)) == k and nearest[-1][1] >= least:
        k *= 4
    return [(other, cosine) for other, cosine in nearest if other != entity and cosine >= least]


def _members(reader: GraphReader, entities: Collection[str]) -> dict[str, Member]:
    """Entities with names, types, and the longest of their descriptions that are short."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for entity, text in select_parts(reader).rows_for("entity-descriptions", entities):
        texts[entity.value].add(" ".join(text.value.split()))
    return {
        iri: Member(
            iri, name, type_, max(texts[iri], key=lambda t: (len(t), t), default="")[:_TEXT]
        )
        for iri, (name, type_) in entity_labels(reader, entities).items()
    }


def _entity(reader: GraphReader, named: str) -> str:
    """IRI of the entity that is named by its IRI or one of its names."""
    if named.startswith(f"{reader.minter.base}entity/"):
        if next(reader.select_provenance_for("entity-mentions", [named]), None) is not None:
            return named
    elif entities := entities_of_name(reader, named):
        return entities[0]
    raise UsageError(f"no entity '{named}' in this graph: give its IRI, or a name in a document")


def _normalized(reader: GraphReader, mention: str) -> str:
    names = [name.value for _, name in reader.select_provenance_for("normalized-names", [mention])]
    if not names:
        raise UsageError(
            "an entity that was split off by a qualifier cannot be merged: undo the split instead"
        )
    return str(min(names))


def today() -> str:
    """The date in UTC, as in decisions."""
    return datetime.now(UTC).date().isoformat()
