"""The life of documents in a graph: what changed is brought in anew, what is gone is deleted."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sarag_rdf.errors import EndpointError, ModelError, UsageError, VectorStoreError
from sarag_rdf.graph.parts import select_parts
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.commit import remove
from sarag_rdf.index.plan import Inputs, Plan, locate_folder, locate_inputs
from sarag_rdf.index.run import IndexReport
from sarag_rdf.index.sync import IndexedSources, plan_sync, plan_update
from sarag_rdf.kg.changes import Changes
from sarag_rdf.ports import Extractor, Progress, silent
from sarag_rdf.types import Method

log = logging.getLogger(__name__)


class LifeCycle(Changes):
    """The methods of `KnowledgeGraph` that follow documents as they change; see `Changes.index`.

    Each has a plan beside it, which tells what would be done: nothing is written, and no model is
    asked; `refused` says why it would not be carried out without `yes`. `options` are those of
    `index` (words, overlap, and what reading takes) and `yes`.
    """

    def update(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **options: Any,
    ) -> IndexReport:
        """Bring in anew what the graph holds and what has changed; nothing else is added.

        The unit is the file: its new records are added, changed ones replaced, and those that are
        gone from it deleted. Raises `NotAGraphError` without a graph, and `InputError` if more than
        a third of the files' sources would be deleted, unless `yes` confirms it.
        """
        made = self.extractor(extractor)
        self._there()
        return self._carry_out(
            lambda reader: _update(reader, inputs, made.method, **options), made, progress
        )

    def plan_update(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        **options: Any,
    ) -> Plan:
        """What `update` would do."""
        return _update(self._there(), inputs, self.extractor(extractor).method, **options)

    def sync(
        self,
        folder: str | Path,
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **options: Any,
    ) -> IndexReport:
        """Make the sources that come from a folder match it: add, update, and last delete.

        These are all sources that were made of a path; with `root` those below the folder's place
        in it. What is there and cannot be read keeps its older version. Raises `InputError`,
        before anything is written, if more than a third of these sources would be deleted, unless
        `yes` confirms it.
        """
        made = self.extractor(extractor)
        return self._carry_out(
            lambda reader: _sync(reader, folder, made.method, **options), made, progress
        )

    def plan_sync(
        self, folder: str | Path, *, extractor: str | Extractor = "spacy", **options: Any
    ) -> Plan:
        """What `sync` would do."""
        reader = self._location.reader(or_empty=True)
        return _sync(reader, folder, self.extractor(extractor).method, **options)

    def delete(
        self, sources: str | Iterable[str], *, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Delete sources with all that nothing else supports; their keys, or else IRIs.

        A source is named by its IRI or its key; the key of a file stands for all its records, and
        ``folder/`` for all below. Raises `UsageError`, before anything is deleted, for a name that
        nothing has.
        """
        self._there()
        self._embeddings.forget()
        with self._writing() as reader:
            indexed = IndexedSources(reader)
            try:
                named = indexed.resolve(_names(sources))
            except UsageError as error:
                raise UsageError(f"nothing was deleted: {error}") from error
            remove(reader, named, progress)
            try:
                self._embeddings.build(select_parts(reader), progress)
            except (EndpointError, ModelError, UsageError, VectorStoreError) as error:
                log.warning("vectors are left to the next search: %s", error)
            return tuple(indexed.display_names(named).values())

    def plan_delete(self, sources: str | Iterable[str]) -> tuple[str, ...]:
        """What `delete` would delete."""
        indexed = IndexedSources(self._there())
        return tuple(indexed.display_names(indexed.resolve(_names(sources))).values())

    def _there(self) -> GraphReader:
        """The graph that there must be, as it is now; raises `NotAGraphError` without one."""
        self._location.forget()
        return self._location.own()


def _update(
    reader: GraphReader,
    inputs: Inputs | Iterable[Inputs],
    method: Method,
    *,
    yes: bool = False,
    words: int = 500,
    overlap: int = 200,
    **reading: Any,
) -> Plan:
    placed = locate_inputs(inputs, **reading)
    return plan_update(reader, placed, method, yes=yes, words=words, overlap=overlap)


def _sync(
    reader: GraphReader,
    folder: str | Path,
    method: Method,
    *,
    words: int = 500,
    overlap: int = 200,
    yes: bool = False,
    **reading: Any,
) -> Plan:
    prefix, placed = locate_folder(folder, **reading)
    return plan_sync(
        reader,
        placed,
        method,
        prefix=prefix,
        folder=str(folder),
        yes=yes,
        words=words,
        overlap=overlap,
    )


def _names(sources: str | Iterable[str]) -> list[str]:
    return [sources] if isinstance(sources, str) else list(sources)
