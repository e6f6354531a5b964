"""Graphs out: RDF, Wikibase, and the description of the data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from sarag_rdf.export import description as void
from sarag_rdf.export.articles import ArticleReport, Wording, write_articles
from sarag_rdf.export.rdf import ExportParts, write_parts
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.kg.session import Session
from sarag_rdf.ports import LLM, Progress
from sarag_rdf.retrieve.path_model import packaged_model
from sarag_rdf.retrieve.path_schema import (
    Hop,
    followed_ontology,
    path_parts,
    read_schema,
    term_names,
    used_properties,
)


def export(
    session: Session, format_: str, output: IO[bytes], *, rdf12: bool = False, **parts: Any
) -> None:
    """Write the graph in an RDF format; see `KnowledgeGraph.export`."""
    with session.read() as snapshot:
        write_parts(snapshot.own, format_, output, ExportParts(**parts), rdf12=rdf12)


def export_wikibase(
    session: Session,
    format_: str,
    output: IO[bytes],
    *,
    over: Sequence[str],
    typed: int = 0,
    table: Path | None = None,
    **settings: Any,
) -> None:
    """Write the parts in `over` in a format of Wikibase; see `KnowledgeGraph.export_wikibase`."""
    from sarag_rdf import wikibase  # a search does not need it

    def read() -> GraphReader:
        with session.read() as snapshot:
            return select_parts(snapshot.own, over)

    targets = wikibase.read_targets(table) if table else {}
    chosen = wikibase.WikibaseOptions(targets=targets, **settings)
    export = wikibase.open_export(read, session.write, typed=typed)
    wikibase.write_wikibase(export, format_, output, chosen)


def export_articles(
    session: Session, output: IO[bytes], over: Sequence[str], llm: LLM | None, progress: Progress
) -> ArticleReport:
    """Write an article for each entity; see `KnowledgeGraph.export_articles`."""
    with session.read() as snapshot:
        reader = snapshot.own if snapshot.reader.over is None else snapshot.reader
        reader = select_parts(reader, over) if reader.over is None else reader
        return write_articles(reader, output, _wording(reader), llm, progress)


def _wording(reader: GraphReader) -> Wording:
    """The phrases and kinds of relation paths, for values too."""
    ontology, schema, model = followed_ontology(reader), read_schema(reader), packaged_model()
    parts = path_parts(reader)
    used = {
        part.name: frozenset(use.iri for use in used_properties(reader, part, ontology))
        for part in parts
    }
    names = term_names(reader, parts, ontology, frozenset().union(*used.values()))
    schema = replace(schema, names=names)
    return Wording(
        used,
        lambda iri, is_inverse: model.noun_phrase(schema, Hop(iri, is_inverse)),
        schema.kind,
        lambda classes: term_names(reader, parts, ontology, classes),
    )


def describe(
    session: Session, dumps: Sequence[str], endpoint: str, **description: str | None
) -> bytes:
    """VoID, DCAT and PROV of the data set as Turtle; see `KnowledgeGraph.describe`."""
    files = list(map(void.dump_of, dumps))
    if description:
        set_description(session, **description)
    with session.read() as snapshot:
        return void.describe(snapshot.reader, files, endpoint)


def set_description(session: Session, **description: str | None) -> None:
    """Store properties of the data set, such as its title, in the graph."""
    with session.write(create=False) as reader:
        void.write_dataset_metadata(reader, void.DatasetMetadata(**description))
        session.vectors.carry_over(reader)
