"""Decisions about identity: which names refer to the same entity, and which do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyoxigraph import NamedNode

from sarag_rdf.arrays import find, rows_of
from sarag_rdf.derive.decisions import Decision, NameDecisions, read_decisions
from sarag_rdf.derive.incremental import refresh
from sarag_rdf.derive.merge_rules import NEAR, RULES, propose
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.metadata import now, run_quads, with_revision
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.sync import IndexedSources
from sarag_rdf.iris import normalize_name
from sarag_rdf.kg.embedding import Embeddings
from sarag_rdf.kg.location import GraphLocation
from sarag_rdf.link.match import EXACT, Match
from sarag_rdf.link.sssom import read_table, review_table
from sarag_rdf.terms import iri
from sarag_rdf.vocab import PROV

_NEAREST = 50
"""Entities whose names are looked at for each at first, by the rule ``near``."""


class Identity:
    """Merges and splits of entities: decisions about names, which can be undone."""

    def __init__(self, location: GraphLocation, embeddings: Embeddings) -> None:
        self._location = location
        self._embeddings = embeddings

    def decisions(self) -> list[Decision]:
        """All decisions."""
        return read_decisions(self._location.own())

    def iris(self, decisions: Sequence[Decision]) -> list[str]:
        """What decisions are named by."""
        minter = self._location.own().minter
        return [decision.iri(minter) for decision in decisions]

    def merge(self, kept: str, other: str, *, note: str = "") -> Decision:
        """Make the entity `other` one with the entity `kept`; each by its IRI or a name.

        Raises `UsageError` for what is no entity, or is one already, or was merged before.
        """
        with self._changing() as reader:
            [made] = _merges(reader, [(kept, other, Decision("merged", "", note=note))])
            decide(reader, [made])
            return made

    def proposals(self, rule: str, *, least: float = NEAR) -> list[Match]:
        """What a rule would merge, as rows that can be reviewed: subjects would become objects.

        `rule` is ``same-words``, ``initials`` or ``near``; `least` is the cosine for ``near``. Two
        things fulfil a rule by themselves: what was merged with one of them before does not count.
        """
        if rule not in RULES:
            raise UsageError(f"there is no rule '{rule}': the rules are {', '.join(RULES)}")
        reader = self._location.own()
        rows = [
            Match(
                found.duplicate,
                EXACT,
                found.target,
                found.justification,
                found.confidence,
                tool=rule,
                date=_today(),
            )
            for found in propose(reader, rule, self._nearest, least)
        ]
        labels = _labels(reader, [iri for row in rows for iri in row.pair])
        return [
            replace(row, subject_label=labels[row.subject], object_label=labels[row.object])
            for row in rows
        ]

    def review(self, rows: Sequence[Match]) -> str:
        """Proposals as tab-separated values, with a column `decision` for ``accept``."""
        return review_table(self._location.own(), rows)

    def reviewed(self, path: Path) -> list[Match]:
        """The rows of a table; raises `InputError`. Those not accepted are no links."""
        return read_table(path)

    def merge_rows(self, rows: Sequence[Match] | Path) -> list[Decision]:
        """Merge what rows, or a reviewed table, say to be the same: subjects become objects.

        Rows that were merged before are passed over, and so are those of a review table that say
        nothing or ``reject`` under `decision`. Raises what `merge` raises, and merges none.
        """
        chosen = read_table(rows) if isinstance(rows, Path) else rows
        told = [
            (row.object, row.subject, _from_row(row))
            for row in chosen
            if row.is_link and row.predicate == EXACT
        ]
        with self._changing() as reader:
            there = NameDecisions.of(read_decisions(reader), reader.minter).merges
            name = reader.minter.mention_of_entity
            new = {
                (name(other), name(kept)): (kept, other, decision)
                for kept, other, decision in told
                if (name(other), name(kept)) not in there
            }
            made = _merges(reader, list(new.values()))
            decide(reader, made)
            return made

    def keep_apart(self, name: str, other: str, *, note: str = "") -> Decision:
        """Tell that two names, which the rules may put together, are of two things."""
        names = sorted(map(normalize_name, (name, other)))
        if names[0] == names[1] or not all(names):
            raise UsageError(
                f"'{name}' and '{other}' are the same name: say in which sources it is of another "
                "thing, with --in SOURCE --as QUALIFIER"
            )
        made = Decision("different", names[0], names[1], note=note, date=_today())
        with self._changing() as reader:
            minter = reader.minter
            merges = NameDecisions.of(read_decisions(reader), minter).merges
            pair = minter.mention(names[0]), minter.mention(names[1])
            if pair in merges or pair[::-1] in merges:
                raise UsageError(
                    f"'{name}' and '{other}' were merged: undo that with  sarag merge --undo "
                    f"{made.other!r}"
                )
            decide(reader, [made])
        return made

    def split(
        self, name: str, sources: str | Sequence[str], qualifier: str, *, note: str = ""
    ) -> Decision:
        """Tell that in some sources a name is of another thing, told apart by `qualifier`.

        Sources that were told so before, with the same qualifier, stay.
        """
        normalized = normalize_name(name)
        if not normalized or not qualifier.strip() or not sources:
            raise UsageError("a name, the sources and a qualifier are needed to split a name")
        with self._changing() as reader:
            if not _targets(reader, [reader.minter.mention(normalized)]):
                raise UsageError(f"no document mentions '{name}': see sarag stats")
            iris = {
                *IndexedSources(reader).resolve([sources] if isinstance(sources, str) else sources)
            }
            qualifier = qualifier.strip()
            for there in read_decisions(reader):
                if there.kind != "variant" or there.name != normalized:
                    continue
                if there.qualifier == qualifier:
                    iris |= {*there.sources}
                    note = note or there.note
                elif not iris.isdisjoint(there.sources):
                    raise UsageError(
                        f"in one of these sources '{name}' is '{there.qualifier}' already: undo "
                        "that first"
                    )
            made = Decision(
                "variant", normalized, qualifier=qualifier, sources=tuple(sorted(iris)),
                date=_today(), note=note,
            )  # fmt: skip
            decide(reader, [made])
        return made

    def undo(self, what: str | None) -> list[Decision]:
        """Undo decisions: one by its IRI, those of a run or a rule, those about a name, or all.

        Raises `UsageError` if there is none.
        """
        if what is not None and not what.strip():
            raise UsageError("tell what to undo: a name, a rule or an IRI; --undo-all undoes all")
        with self._changing() as reader:
            there = read_decisions(reader)
            of = of_run(reader, what or "")
            name = normalize_name(what or "")
            gone = [
                decision
                for decision in there
                if what is None
                or decision.iri(reader.minter) in {what, *of}
                or decision.rule == what
                or name in (decision.name, decision.other)
            ]
            if not gone:
                about = "" if what is None else f" about '{what}'"
                raise UsageError(f"there is no decision{about}: see sarag merge --list")
            decide(reader, [], gone)
            return gone

    def _nearest(self, entity: str, least: float) -> list[tuple[str, float]]:
        index = self._embeddings.view(self._location.reading()).vectors.index("entity")
        if find(index.iris, entity) < 0:  # it was merged with another one
            return []
        [vector] = index.vectors(rows_of(index.iris, [entity]))
        k = _NEAREST
        while len(found := index.nearest(vector, k)) == k and found[-1][1] >= least:
            k *= 4
        return [(other, cosine) for other, cosine in found if other != entity and cosine >= least]

    @contextmanager
    def _changing(self) -> Iterator[GraphReader]:
        self._location.own()
        self._embeddings.forget()
        with self._location.changing() as reader:
            yield reader


def _merges(reader: GraphReader, told: Sequence[tuple[str, str, Decision]]) -> list[Decision]:
    """Decisions that merge (kept, other); raises `UsageError` for those that cannot be."""
    decisions = NameDecisions.of(read_decisions(reader), reader.minter)
    into = dict(decisions.merges)
    made = []
    for kept, other, decision in told:
        ends = [_entity(reader, end) for end in (kept, other)]
        first, second = (reader.minter.mention_of_entity(end) for end in ends)
        if first == second:
            raise UsageError(f"'{kept}' and '{other}' are one already")
        if (first, second) in decisions.different:
            raise UsageError(f"'{kept}' and '{other}' are kept apart: undo that first")
        if second in into.values() or second in into or first in into:
            raise UsageError(
                f"'{kept}' or '{other}' was merged with a third: merge that with '{kept}' instead, "
                "or undo it (sarag merge --list)"
            )
        into[second] = first
        names = [_normalized(reader, mention) for mention in (second, first)]
        made.append(
            replace(decision, name=names[0], other=names[1], date=decision.date or _today())
        )
    return made


def _from_row(row: Match) -> Decision:
    return Decision(
        "merged", "", justification=row.justification, rule=row.tool, date=row.date,
        note=row.comment,
    )  # fmt: skip


def _entity(reader: GraphReader, named: str) -> str:
    """An entity by its IRI or one of its names."""
    if named.startswith(f"{reader.minter.base}entity/"):
        if next(reader.select_provenance_for("entity-mentions", [named]), None) is not None:
            return named
    else:
        found = _targets(reader, [reader.minter.mention(normalize_name(named))])
        if found:
            return found[0]
    raise UsageError(f"'{named}' is no entity of this graph: give its IRI, or a name in a document")


def _targets(reader: GraphReader, mentions: Sequence[str]) -> list[str]:
    return [entity.value for _, entity in reader.select_provenance_for("mention-targets", mentions)]


def _normalized(reader: GraphReader, mention: str) -> str:
    names = [name.value for _, name in reader.select_provenance_for("normalized-names", [mention])]
    if not names:
        raise UsageError(
            "a thing that was told apart by a qualifier is not merged: undo the split instead"
        )
    return str(min(names))


def _labels(reader: GraphReader, entities: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entity, name, *_ in select_parts(reader).rows_for("entity-labels", entities):
        found[entity.value] = min(found.get(entity.value, name.value), name.value)
    return found


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def decide(
    reader: GraphReader, made: Iterable[Decision], undone: Collection[Decision] = ()
) -> None:
    """Keep decisions, and forget those undone; the graph becomes what follows then."""
    minter, started = reader.minter, now()
    there = read_decisions(reader)
    gone = {decision.iri(minter) for decision in undone}
    added = {decision.iri(minter): decision for decision in made}
    stay = [d for d in there if d.iri(minter) not in gone | added.keys()]
    wanted = {quad for d in (*stay, *added.values()) for quad in d.quads(minter)}
    old = set(reader.store.quads(minter.decisions_graph))
    if wanted == old:
        return
    decisions = NameDecisions.of((*stay, *added.values()), minter)
    change = refresh(reader, (), (), decisions=decisions)
    said = [(PROV.invalidated, NamedNode(node)) for node in sorted(gone - added.keys())]
    said += [(PROV.generated, NamedNode(node)) for node in sorted(added)]
    what = "names told to be of one thing, or of two" if added else "decisions about names undone"
    run = run_quads(reader, what, started, said)
    change = replace(
        change,
        delete=(*change.delete, *sorted(old - wanted, key=str)),
        insert=(*change.insert, *sorted(wanted - old, key=str), *run),
    )
    reader.store.apply(with_revision(reader, change))


def of_run(reader: GraphReader, run: str) -> set[str]:
    """The nodes of the decisions that a run made."""
    quads = reader.store.quads(reader.minter.runs_graph)
    return {iri(q.object) for q in quads if iri(q.subject) == run and q.predicate == PROV.generated}
