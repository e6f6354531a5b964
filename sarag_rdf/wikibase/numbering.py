"""Gives every entity its number before an export, under the writing lock if some are new."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sarag_rdf.graph.meta import read_meta
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.wikibase.entities import Export, prepare
from sarag_rdf.wikibase.numbers import write_numbers
from sarag_rdf.wikibase.survey import survey

Reading = Callable[[], GraphReader]
Writing = Callable[[], AbstractContextManager[GraphReader]]


def numbered(read: Reading, write: Writing, *, typed: int = 0) -> Export:
    """A graph that is ready to be exported.

    `read` opens what is exported as it is now, `write` the graph for one writer; it is only called
    if numbers are missing. `typed` is the number of statements from which on a phrase gets a
    property of its own; 0 gives none to any. If others change the graph meanwhile, it is gone
    through again.
    """
    while True:
        reader = read()
        found, before = survey(reader, typed=typed), read_meta(reader.store)
        export = prepare(reader, found)
        if not export.added:
            return export
        with write() as writer:
            write_numbers(writer, prepare(writer, found).added)
        reader = read()
        if read_meta(reader.store) == before:
            return prepare(reader, found)
