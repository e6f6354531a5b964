"""Links of one knowledge graph, as a caller holds them: candidates, what was accepted, tables."""

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
from sarag_rdf.kg.embedding import Embeddings
from sarag_rdf.kg.location import GraphLocation
from sarag_rdf.link.accept import LinkReport, accept, check, undo
from sarag_rdf.link.candidates import CandidateOptions, candidates
from sarag_rdf.link.match import Match, identities, read_links
from sarag_rdf.link.sssom import UNKNOWN_LICENSE, read_table, write_table
from sarag_rdf.ports import Embedder
from sarag_rdf.terms import text_of
from sarag_rdf.vocab import DCTERMS


class Linking:
    """Links between entities of documents and items of imported graphs."""

    def __init__(self, location: GraphLocation, embeddings: Embeddings) -> None:
        self._location = location
        self._embeddings = embeddings

    def candidates(self, name: str, **settings: Any) -> list[Match]:
        """Candidates among the items of an imported graph, with settings of `CandidateOptions`.

        Entities that are linked as the same as one of its items are left out.
        """
        reader = self._location.reader()
        chosen = CandidateOptions(**({"date": _today()} | settings))
        target = select_parts(reader, [name])
        return candidates(reader, target, self._embedder, chosen, _linked(reader, target))

    def remote_candidates(self, remote: SparqlEndpoint, **settings: Any) -> list[Match]:
        """Candidates among the items behind an endpoint, which is asked for equal names."""
        target = GraphLocation(remote, None).reader()
        chosen = replace(CandidateOptions(**({"date": _today()} | settings)), by_name=True)
        return candidates(self._location.reader(), target, self._embedder, chosen)

    def accept(self, rows: Sequence[Match], *, same_as: bool = False) -> LinkReport:
        """Store candidates as links; what does not say that there is a link is left out."""
        with self._changing() as reader:
            return accept(reader, rows, same_as=same_as)

    def accept_file(
        self, path: Path, *, same_as: bool = False, elsewhere: bool = False
    ) -> LinkReport:
        """Store the links of a reviewed table; raises `InputError` and changes nothing.

        With `elsewhere` they may lead to items that no imported graph holds.
        """
        rows = read_table(path)
        with self._changing() as reader:
            check(path, rows, reader, None if elsewhere else _all_imported(reader))
            return accept(reader, rows, same_as=same_as)

    def undo(self, what: Path | str | None) -> LinkReport:
        """Remove the links of a table, of an IRI, or all."""
        chosen = read_table(what) if isinstance(what, Path) else what
        with self._changing() as reader:
            return undo(reader, chosen)

    def mappings(self) -> str:
        """All links as an SSSOM table."""
        reader = self._location.reader()
        listed = read_links(reader)
        labels = _labels(reader, listed)
        told = [
            replace(
                match,
                subject_label=labels.get(match.subject, ""),
                object_label=match.object_label or labels.get(match.object, ""),
            )
            for match in listed
        ]
        return self.table(told, "mappings")

    def table(self, matches: Sequence[Match], what: str) -> str:
        """An SSSOM table; `what` ends the IRI of the set of mappings."""
        reader = self._location.reader()
        said = _said(reader)
        header = {
            "mapping_set_id": f"{reader.minter.base}{what}",
            "mapping_set_title": said.get("title", ""),
            "license": said.get("license", UNKNOWN_LICENSE),
            "subject_source": reader.minter.knowledge_graph,
        }
        prefixes = {"entity": f"{reader.minter.base}entity/"}
        return write_table(matches, {k: v for k, v in header.items() if v}, prefixes)

    def _embedder(self) -> Embedder:
        return self._embeddings.view(self._location.reading()).vectors.embedder

    @contextmanager
    def _changing(self) -> Iterator[GraphReader]:
        self._embeddings.forget()
        with self._location.changing() as reader:
            yield reader
            self._embeddings.follow(reader)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _all_imported(reader: GraphReader) -> GraphReader:
    names = [found.name for found in imported_graphs(reader) if found.state == COMPLETE]
    if not names:
        raise UsageError(
            "no graph has been imported that links could lead to: see sarag import; --elsewhere "
            "accepts links to other items"
        )
    return select_parts(reader, names)


def _linked(reader: GraphReader, target: GraphReader) -> frozenset[str]:
    """Entities that are linked as the same as an item of `target`."""
    pairs = identities(reader)
    known = {row[0].value for row in target.rows_for("entity-names", (b for _, b in pairs))}
    return frozenset(entity for entity, item in pairs if item in known)


def _labels(reader: GraphReader, matches: Sequence[Match]) -> dict[str, str]:
    """Preferred names of both ends, in whatever part they stand."""
    ends = {iri for match in matches for iri in match.pair}
    found: dict[str, str] = {}
    for entity, name, *_ in select_parts(reader).rows_for("entity-labels", ends):
        found[entity.value] = min(found.get(entity.value, name.value), name.value)
    return found


def _said(reader: GraphReader) -> dict[str, str]:
    """Title and licence of the data set, if they have been given."""
    names = {DCTERMS.title: "title", DCTERMS.license: "license"}
    return {
        names[quad.predicate]: text_of(quad.object)
        for quad in reader.store.quads(reader.minter.meta_graph)
        if quad.predicate in names and text_of(quad.subject) == reader.minter.knowledge_graph
    }
