"""Links from entities to items of other graphs: candidates, accepted links, tables of mappings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sarag_rdf.endpoints import SparqlEndpoint
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.parts import COMPLETE, imported_graphs, select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.kg.session import Session
from sarag_rdf.link.accept import LinkReport, accept, check, undo
from sarag_rdf.link.candidates import CandidateOptions, candidates
from sarag_rdf.link.match import Match, identities, read_links
from sarag_rdf.link.sssom import UNKNOWN_LICENSE, read_table, write_table
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import DCTERMS


class Links:
    """Links between entities of documents and items of imported graphs."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def candidates(self, name: str, **settings: Any) -> list[Match]:
        """Candidates among the items of an imported graph, with settings of `CandidateOptions`.

        Entities that are linked as the same as one of its items are left out.
        """
        with self._session.read() as snapshot:
            chosen = CandidateOptions(**({"date": _today()} | settings))
            target = select_parts(snapshot.reader, [name])
            linked = _linked(snapshot.reader, target)
            return candidates(
                snapshot.reader, target, lambda: snapshot.view.vectors.embedder, chosen, linked
            )

    def remote_candidates(self, remote: SparqlEndpoint, **settings: Any) -> list[Match]:
        """Candidates among the items behind an endpoint, which is queried for equal names."""
        chosen = replace(CandidateOptions(**({"date": _today()} | settings)), by_name=True)
        with Session(remote).read() as target, self._session.read() as snapshot:
            return candidates(
                snapshot.reader, target.reader, lambda: snapshot.view.vectors.embedder, chosen
            )

    def accept(self, rows: Sequence[Match], *, same_as: bool = False) -> LinkReport:
        """Store candidates as links, except rows that say that there is no link."""
        with self._write() as reader:
            return accept(reader, rows, same_as=same_as)

    def accept_file(
        self, path: Path, *, same_as: bool = False, elsewhere: bool = False
    ) -> LinkReport:
        """Store the links of a reviewed table; raises `InputError` and changes nothing.

        With `elsewhere`, links may lead to items that no imported graph holds.
        """
        rows = read_table(path)
        with self._write() as reader:
            check(path, rows, reader, None if elsewhere else _all_imported(reader))
            return accept(reader, rows, same_as=same_as)

    def undo(self, what: Path | str | None) -> LinkReport:
        """Remove the links of a table or of an IRI; all links for None."""
        rows = read_table(what) if isinstance(what, Path) else what
        with self._write() as reader:
            return undo(reader, rows)

    def mappings(self) -> str:
        """All links as an SSSOM table."""
        with self._session.read() as snapshot:
            links = read_links(snapshot.reader)
            labels = _labels(snapshot.reader, links)
            labelled = [
                replace(
                    match,
                    subject_label=labels.get(match.subject, ""),
                    object_label=match.object_label or labels.get(match.object, ""),
                )
                for match in links
            ]
            return self.table(labelled, "mappings")

    def table(self, matches: Sequence[Match], what: str) -> str:
        """Matches as an SSSOM table; `what` ends the IRI of the mapping set."""
        with self._session.read() as snapshot:
            description = _description(snapshot.reader)
            minter = snapshot.reader.minter
        header = {
            "mapping_set_id": f"{minter.base}{what}",
            "mapping_set_title": description.get("title", ""),
            "license": description.get("license", UNKNOWN_LICENSE),
            "subject_source": minter.knowledge_graph,
        }
        prefixes = {"entity": f"{minter.base}entity/"}
        return write_table(matches, {k: v for k, v in header.items() if v}, prefixes)

    @contextmanager
    def _write(self) -> Iterator[GraphReader]:
        with self._session.write(create=False) as reader:
            yield reader
            self._session.vectors.carry_over(reader)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _all_imported(reader: GraphReader) -> GraphReader:
    names = [graph.name for graph in imported_graphs(reader) if graph.state == COMPLETE]
    if not names:
        raise UsageError(
            "no imported graph to link to: import one with  sarag import, or accept links to other "
            "items with --elsewhere"
        )
    return select_parts(reader, names)


def _linked(reader: GraphReader, target: GraphReader) -> frozenset[str]:
    """Entities that are linked as the same as an item of `target`."""
    pairs = identities(reader)
    known = {row[0].value for row in target.rows_for("entity-names", (b for _, b in pairs))}
    return frozenset(entity for entity, item in pairs if item in known)


def _labels(reader: GraphReader, matches: Sequence[Match]) -> dict[str, str]:
    """Preferred names of both ends of the matches, from all parts."""
    ends = {iri for match in matches for iri in match.pair}
    labels: dict[str, str] = {}
    for entity, name, *_ in select_parts(reader).rows_for("entity-labels", ends):
        labels[entity.value] = min(labels.get(entity.value, name.value), name.value)
    return labels


def _description(reader: GraphReader) -> dict[str, str]:
    """Title and licence of the data set, if it has any."""
    names = {DCTERMS.title: "title", DCTERMS.license: "license"}
    return {
        names[quad.predicate]: text_of(quad.object)
        for quad in reader.store.quads(reader.minter.meta_graph)
        if quad.predicate in names and text_of(quad.subject) == reader.minter.knowledge_graph
    }
