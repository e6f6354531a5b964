"""Decisions: which names refer to the same entity, its classes, and what phrases state.

A rule proposes, a person reviews the proposals as a table, and what was accepted is decided. A
decision also holds for documents that are indexed later, and can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyoxigraph import NamedNode

from sarag_rdf.base import tabular
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import normalize_name, phrase_key
from sarag_rdf.base.ports import Progress, silent
from sarag_rdf.base.tabular import TableRow
from sarag_rdf.base.vocab import PROV, SARAG, TYPE_CLASSES, iri
from sarag_rdf.building import decision_records as stored
from sarag_rdf.building.decision_records import SUBJECTS, read_decisions
from sarag_rdf.building.decision_records import Decision as Decision
from sarag_rdf.building.decision_records import Subject as Subject
from sarag_rdf.building.incremental import refresh
from sarag_rdf.building.link_records import EXACT, Match, following_links, read_table, review_table
from sarag_rdf.building.merge_rules import NEAR
from sarag_rdf.building.plan import IndexedSources
from sarag_rdf.extraction.phrases import PhraseMatcher
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.metadata import now, run_quads, today, with_revision
from sarag_rdf.graph.texts import entity_labels
from sarag_rdf.kg import proposals as proposing
from sarag_rdf.kg.entity_lookup import decided_entity, entities_of_name
from sarag_rdf.kg.proposals import BY_MODEL, CLASS_IN_NAME, ClassProposal, PhraseProposal
from sarag_rdf.kg.schemas import phrase_schema, schema_in_force
from sarag_rdf.kg.session import Session
from sarag_rdf.kg.vectors import recorded_model

STATING = (SARAG.property, SARAG.inverseProperty)
"""The properties by which a relationship is stated in terms of an ontology."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The decisions of a table, and the number of rows that it skipped.

    For phrases, also the number of relationships with a property, before and after.
    """

    decisions: tuple[Decision, ...]
    skipped: int = 0
    stated_before: int = 0
    stated: int = 0


class Decisions:
    """Decisions about entities and phrases: proposed, accepted, listed and undone."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self, about: Subject = "identity") -> Sequence[Decision]:
        """The decisions about identity (merges and splits), classes, phrases or statements.

        Those about statements put them into quarantine: they are not derived.
        """
        with self._session.read() as snapshot:
            return [d for d in read_decisions(snapshot.own) if d.kind in SUBJECTS[about]]

    def lines(self, decisions: Sequence[Decision]) -> Sequence[tuple[str, str]]:
        """Each decision in one line, with names as they are spelled in the graph, and its IRI."""
        with self._session.read() as snapshot:
            reader = snapshot.own
            about = [d for d in decisions if d.kind in SUBJECTS["identity"] | SUBJECTS["classes"]]
            spelled = _spellings(reader, {name for d in about for name in (d.name, d.other)})
            shown = {
                d: replace(d, name=spelled.get(d.name, d.name), other=spelled.get(d.other, d.other))
                for d in about
            }
            return [(str(shown.get(d, d)), d.iri(reader.minter)) for d in decisions]

    # By hand

    def merge(self, entity: str, other: str, *, note: str = "") -> Decision:
        """Merge the entity `other` into `entity`, each named by its IRI or a name.

        Raises `UsageError` for an unknown entity, and for a merge that contradicts a decision.
        """
        with self._session.write(create=False) as reader:
            [decision] = _merges(reader, [(entity, other, Decision("merged", "", note=note))])
            record_decisions(reader, [decision])
            return decision

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
            merges = stored.Decisions.of(read_decisions(reader), minter).merges
            pair = minter.mention(names[0]), minter.mention(names[1])
            if pair in merges or pair[::-1] in merges:
                raise UsageError(
                    f"'{name}' and '{other}' were merged: undo that with sarag merge --undo "
                    f"{decision.other!r}"
                )
            record_decisions(reader, [decision])
        return decision

    def split(
        self, name: str, sources: str | Sequence[str], qualifier: str, *, note: str = ""
    ) -> Decision:
        """Decide that a name refers to another entity in some sources, named with `qualifier`.

        Raises `UsageError` for a name that no document mentions, and for sources in which it has
        another qualifier.
        """
        with self._session.write(create=False) as reader:
            several = [sources] if isinstance(sources, str) else sources
            decision = variant_decision(reader, name, several, qualifier, note=note)
            record_decisions(reader, [decision])
        return decision

    def retype(self, name: str, *classes: str, note: str = "") -> Sequence[Decision]:
        """Decide the classes of an entity, instead of those that follow from the documents.

        The entity is given by its IRI or a name, each class as one of `ENTITY_TYPES`, or by the
        IRI, prefixed name or label in the ontologies. They replace those decided earlier, and
        decide the entity type as well where they say it. Raises `UsageError` for an unknown entity
        or class, and for several entity types.
        """
        if not classes:
            raise UsageError("give the class of the entity: see sarag ontology show")
        with self._session.write(create=False) as reader:
            iris = proposing.classes_named(schema_in_force(reader), classes)
            entity = decided_entity(reader, name)
            normalized = normalize_name(name)
            if name == entity:
                normalized = _normalized(reader, reader.minter.mention_of_entity(entity))
            decisions = [
                Decision("class", normalized, iri, date=today(), note=note) for iri in iris
            ]
            return _replace_decisions(reader, decisions, "classes")

    # By review

    def propose_merges(
        self, rule: str, *, least: float = NEAR, curate: bool = False, progress: Progress = silent
    ) -> Sequence[Match]:
        """Merges that a rule proposes: a row's subject would be merged into its object.

        `rule` is a plug-in of the group ``merge_rules``; `least` is the cosine for ``near`` and
        ``cluster``, in [-1, 1]. Earlier merges do not count. With `curate`, a language model
        remarks on each row. Raises `UsageError` for an unknown rule.
        """
        llm = self._session.models.llm() if curate else None
        with self._session.read() as snapshot:
            rows = proposing.propose_merges(snapshot, rule, least)
            return proposing.with_remarks(snapshot.own, rows, llm, progress) if llm else rows

    def propose_classes(
        self, rule: str = CLASS_IN_NAME, progress: Progress = silent
    ) -> Sequence[ClassProposal]:
        """Classes that a rule proposes for entities.

        By ``class-in-name`` it is the class whose label is the head of a name ("Lund University");
        with ``by-model`` a language model chooses one of the ontologies. Raises `UsageError` for an
        unknown rule, and the errors of the endpoint.
        """
        if rule not in (CLASS_IN_NAME, BY_MODEL):
            raise UsageError(f"unknown rule '{rule}': choose from {CLASS_IN_NAME}, {BY_MODEL}")
        llm = self._session.models.llm() if rule == BY_MODEL else None
        with self._session.read() as snapshot:
            own = snapshot.own
            return proposing.propose_classes(own, schema_in_force(own), llm, progress)

    def propose_phrases(
        self, *, most: int = proposing.MOST, all_: bool = False
    ) -> Sequence[PhraseProposal]:
        """The `most` important phrases, each with up to three suggested properties.

        With `all_`, also those that were decided or state a property already.
        """
        with self._session.read() as snapshot:
            own = snapshot.own
            embedder = self._session.models.embedders(recorded_model(own)).texts
            return proposing.propose_phrases(
                own, phrase_schema(own), embedder, most=most, all_=all_
            )

    def table(
        self,
        proposals: Sequence[Match | ClassProposal | PhraseProposal],
        about: Subject = "identity",
        delimiter: str = "\t",
    ) -> str:
        """Proposals as a table for review, which `accept` reads.

        It has a column `decision` for ``accept``; that of merges is always tab-separated.
        """
        rows: Any = proposals
        with self._session.read() as snapshot:
            reader = snapshot.own
            if about == "classes":
                return proposing.class_table(rows, schema_in_force(reader), delimiter)
            if about == "phrases":
                return proposing.phrase_table(rows, phrase_schema(reader), delimiter)
            return review_table(reader, rows)

    def accept(self, table: Path | Sequence[Match], about: Subject = "identity") -> Accepted:
        """Decide the accepted rows of a reviewed table, or merge pairs.

        A merge takes the subject of a row into its object, unless they were merged before. Of
        phrases all rows with a property count but rejected ones; one with the property ``none``
        states nothing. Earlier decisions about the same names or phrases are replaced. Raises
        `InputError` with the row and column of each error, and what `merge` raises, and then
        decides nothing.
        """
        if about == "identity":
            return self._accept_merges(read_table(table) if isinstance(table, Path) else table)
        if not isinstance(table, Path):
            raise UsageError(f"decisions about {about} are accepted in a table: give its path")
        with self._session.write(create=False) as reader:
            decide: Callable[[TableRow], Decision | None]
            if about == "classes":
                decide = partial(proposing.class_decision, reader, schema_in_force(reader))
            else:
                decide = partial(proposing.phrase_decision, {}, phrase_schema(reader))
            rows = tabular.read_table(table, proposing.REQUIRED[about])
            parsed = tabular.parse_rows(table, rows, decide)
            decisions = dict.fromkeys(decision for decision in parsed if decision is not None)
            before = _stating(reader)
            _replace_decisions(reader, list(decisions), about)
            skipped = len(rows) - len(decisions)
            return Accepted(tuple(decisions), skipped, before, _stating(reader))

    def _accept_merges(self, rows: Sequence[Match]) -> Accepted:
        with self._session.write(create=False) as reader:
            merged = stored.Decisions.of(read_decisions(reader), reader.minter).merges
            mention = reader.minter.mention_of_entity
            new = {
                pair: row
                for row in rows
                if row.is_link and row.predicate == EXACT
                if (pair := (mention(row.subject), mention(row.object))) not in merged
            }
            merges = []
            for row in new.values():
                decision = Decision(
                    "merged", "", justification=row.justification, rule=row.tool, date=row.date,
                    note=row.comment,
                )  # fmt: skip
                merges.append((row.object, row.subject, decision))
            decisions = _merges(reader, merges)
            record_decisions(reader, decisions)
        return Accepted(tuple(decisions), sum(not row.is_link for row in rows))

    def undo(self, what: str | None, about: Subject = "identity") -> Sequence[Decision]:
        """Undo decisions: one by its IRI, those of a run or a rule, or about a name; None for all.

        Raises `UsageError` if there are none about `about`, by default merges and splits.
        """
        with self._session.write(create=False) as reader:
            return undo_decisions(reader, what, about)


_COMMANDS: Mapping[Subject, str] = {
    "identity": "merge --list",
    "classes": "retype --list",
    "phrases": "ontology accept --list",
    "statements": "quarantine statements",
    "ranks": "contradictions --list",
}


def variant_decision(
    reader: GraphReader,
    name: str,
    sources: Sequence[str],
    qualifier: str,
    *,
    note: str = "",
    rule: str = "",
) -> Decision:
    """The decision that a name refers to another entity in these sources and in those decided so.

    Raises `UsageError`, as `Decisions.split` says.
    """
    normalized, qualifier = normalize_name(name), qualifier.strip()
    if not normalized or not qualifier or not sources:
        raise UsageError("a name, the sources and a qualifier are needed to split a name")
    if not entities_of_name(reader, name):
        raise UsageError(f"no document mentions '{name}': see sarag stats")
    iris = {*IndexedSources(reader).resolve(sources)}
    for earlier in read_decisions(reader):
        if earlier.kind != "variant" or earlier.name != normalized:
            continue
        if earlier.qualifier == qualifier:
            iris |= {*earlier.sources}
            note = note or earlier.note
        elif not iris.isdisjoint(earlier.sources):
            raise UsageError(
                f"'{name}' is already '{earlier.qualifier}' in one of these sources: undo that "
                "split first"
            )
    return Decision(
        "variant", normalized, qualifier=qualifier, sources=tuple(sorted(iris)), rule=rule,
        date=today(), note=note,
    )  # fmt: skip


def _stating(reader: GraphReader) -> int:
    """The number of relationships that state a property."""
    quads = reader.store.quads(reader.minter.kg_graph)
    return sum(quad.predicate in STATING for quad in quads)


def _replace_decisions(
    reader: GraphReader, decisions: Sequence[Decision], about: Subject
) -> Sequence[Decision]:
    """Record decisions about classes or phrases, instead of earlier ones about the same.

    Returns them with the types that follow.
    """
    if about == "classes":
        decisions = [*decisions, *_types(reader, decisions)]
    decided = {(decision.name, decision.ends) for decision in decisions}
    earlier = (d for d in read_decisions(reader) if d.kind in SUBJECTS[about])
    record_decisions(reader, decisions, [d for d in earlier if (d.name, d.ends) in decided])
    return decisions


def _types(reader: GraphReader, decisions: Iterable[Decision]) -> Iterator[Decision]:
    """The entity types of names whose decided classes are those of an ontology, if it is known.

    A university is an organization, whatever the documents seemed to say.
    """
    matcher, types = PhraseMatcher(schema_in_force(reader)), set(TYPE_CLASSES.values())
    of_name: dict[str, list[Decision]] = {}
    for decision in decisions:
        of_name.setdefault(decision.name, []).append(decision)
    for first, *others in of_name.values():
        classes = [NamedNode(decision.other) for decision in (first, *others)]
        implied = {type_ for class_ in classes for type_ in matcher.known_types(class_.value)}
        if types.isdisjoint(classes) and len(implied) == 1:
            yield replace(first, other=TYPE_CLASSES[implied.pop()].value)


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
    change = refresh(reader, (), (), decisions=stored.Decisions.of(decisions, minter))
    what = "decisions added" if new else "decisions undone"
    run = run_quads(reader, what, started, removed=removed - new.keys(), added=new)
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
    runs = reader.store.quads(reader.minter.runs_graph)
    of_run = (q for q in runs if iri(q.subject) == what and q.predicate == PROV.generated)
    iris = {what, *(iri(quad.object) for quad in of_run)}
    names = {normalize_name(what or ""), phrase_key(what or ""), what}
    undone = [
        decision
        for decision in read_decisions(reader)
        if decision.kind in SUBJECTS[about]
        and (
            what is None
            or decision.iri(reader.minter) in iris
            or decision.rule == what
            or not names.isdisjoint((decision.name, decision.other))
        )
    ]
    if not undone:
        named = "" if what is None else f" about '{what}'"
        raise UsageError(f"no decision{named}: see sarag {_COMMANDS[about]}")
    record_decisions(reader, [], undone)
    return undone


def _merges(reader: GraphReader, merges: Iterable[tuple[str, str, Decision]]) -> list[Decision]:
    """The decisions to merge the second of two entities into the first, each an IRI or a name.

    Raises `UsageError` if one contradicts another decision.
    """
    decided = stored.Decisions.of(read_decisions(reader), reader.minter)
    merged_into = dict(decided.merges)
    decisions = []
    for first, second, decision in merges:
        entity, other = (
            reader.minter.mention_of_entity(decided_entity(reader, named))
            for named in (first, second)
        )
        if entity == other or stored.last_target(entity, merged_into) == other:
            raise UsageError(f"'{first}' and '{second}' are already the same entity")
        if (entity, other) in decided.different:
            raise UsageError(f"'{first}' and '{second}' are kept apart: undo that first")
        if other in merged_into:
            raise UsageError(
                f"'{second}' is already merged with another entity: merge that one with '{first}' "
                "instead, or undo it (sarag merge --list)"
            )
        merged_into[other] = entity
        name, target = (_normalized(reader, mention) for mention in (other, entity))
        date = decision.date or today()
        decisions.append(replace(decision, name=name, other=target, date=date))
    return decisions


def _spellings(reader: GraphReader, names: Iterable[str]) -> dict[str, str]:
    """Normalised name -> how the entities that it refers to are named, preferably as their label.

    Names that no document mentions are left out.
    """
    mentions = map(reader.minter.mention, filter(None, names))
    rows = reader.select_provenance_for("mention-targets", mentions)
    entities = sorted({entity.value for _, entity in rows})
    spelled = sorted(
        (row[1].value for row in reader.rows_for("entity-names", entities)), reverse=True
    )
    labels = (label for label, _ in entity_labels(reader, entities).values())
    return {normalize_name(name): name for name in (*spelled, *labels)}


def _normalized(reader: GraphReader, mention: str) -> str:
    names = [name.value for _, name in reader.select_provenance_for("normalized-names", [mention])]
    if not names:
        raise UsageError(
            "an entity that was split off by a qualifier cannot be merged: undo the split instead"
        )
    return str(min(names))
