"""Checks of everything that is cached of a graph: databases, vector indexes, arrays."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from sarag_rdf.errors import ModelError, StoreError, place
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.inspect import fsck
from sarag_rdf.inspect.fsck import InvalidCache, check_arrays
from sarag_rdf.kg.models import DATABASES
from sarag_rdf.kg.session import Session
from sarag_rdf.models.caches import SqliteCache, fault_of
from sarag_rdf.vectors.store import RecordingVectorStore

log = logging.getLogger(__name__)


def check_caches(session: Session, reader: GraphReader, *, deep: bool) -> list[InvalidCache]:
    """Everything cached that is broken.

    With `deep`, arrays are also compared with arrays that are rebuilt from the graph, which must be
    consistent then.
    """
    meta = read_meta(reader.store) or Meta("")
    broken = [InvalidCache(path.name, fault) for path, fault in _broken_databases(session).items()]
    for scope in session.vectors.scopes(reader) if meta.revision else ():
        broken += _broken_vectors(session, scope, meta, deep=deep)
    return broken


def discard_caches(session: Session, reader: GraphReader, *, only_broken: bool) -> list[str]:
    """Delete indexes and arrays, all or only broken ones; returns their names.

    InvalidCache databases are renamed instead: the replies in them were paid for.
    """
    meta = read_meta(reader.store) or Meta("")
    discarded = []
    for path in _broken_databases(session):
        session.models.close()
        try:
            SqliteCache(path, what="cache").set_aside()
        except OSError as error:
            log.warning("%s cannot be renamed: %s", place(path), error.strerror)
        else:
            discarded.append(path.name)
    for scope in session.vectors.scopes(reader) if meta.revision else ():
        store = session.vectors.store(scope)
        broken = _broken_vectors(session, scope, meta, deep=True)
        names = [one.name for one in broken] if only_broken else store.names()
        for name in dict.fromkeys(names):
            store.discard(name)
            discarded.append(name)
    return discarded


def _broken_vectors(
    session: Session, reader: GraphReader, meta: Meta, *, deep: bool
) -> list[InvalidCache]:
    """Indexes and arrays of some parts that are broken; the content of sound ones with `deep`."""
    store = session.vectors.store(reader)
    broken = fsck.check_caches(reader, store, meta.revision, meta.embedding_model)
    return _outdated_arrays(session, reader, meta) if deep and not broken else broken


def _outdated_arrays(session: Session, reader: GraphReader, meta: Meta) -> list[InvalidCache]:
    """Arrays that differ from those built from the graph; none where these cannot be built."""
    store = session.vectors.store(reader)
    rebuilt = RecordingVectorStore(store)
    try:
        session.vectors.rebuild_arrays(reader, meta, rebuilt)
    except (ModelError, StoreError, KeyError, ValueError):
        return []
    return list(check_arrays(store, rebuilt.arrays, meta.revision, meta.embedding_model))


def _broken_databases(session: Session) -> dict[Path, str]:
    """Cache databases that cannot be used, and why; a folder that is a file stands for all."""
    for name in ("", "vectors"):
        folder = session.location.cache(name)
        if folder is None or not os.path.lexists(folder):
            continue
        if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir may raise
            return {folder: "is not a folder"}
    paths = filter(None, map(session.location.cache, DATABASES))
    return {path: fault for path in paths if (fault := fault_of(path))}
