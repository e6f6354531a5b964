"""Where a graph lives: a folder (``store/`` the truth, ``cache/`` rebuildable) or memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sarag_rdf.errors import NotAGraphError, UsageError
from sarag_rdf.graph.meta import read_meta
from sarag_rdf.graph.parts import searched
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.iris import DEFAULT_BASE, Minter
from sarag_rdf.ports import GraphStore
from sarag_rdf.stores.oxigraph import OxigraphStore


class GraphLocation:
    """Opens the graph: a snapshot for reading, kept until `forget`; a lock only for writing."""

    def __init__(
        self, location: str | Path | None, base: str | None, over: Sequence[str] = ()
    ) -> None:
        """`location` None is a graph in memory; `base` is for a graph that does not exist yet.

        `over` names the parts that are searched: none for all that there are.
        """
        self._over = over
        self._folder = None if location is None else Path(location).expanduser()
        self._wanted = Minter.for_base(base) if base else None
        self._memory = OxigraphStore.in_memory() if location is None else None
        self._snapshot: GraphStore | None = None

    def reader(self, *, or_empty: bool = False) -> GraphReader:
        """The graph as it was when first read; `or_empty` gives an empty one if there is none.

        Raises `NotAGraphError`, `StoreError`.
        """
        if self._snapshot is None:
            self._snapshot = self._memory or self._open(or_empty=or_empty)
        return GraphReader(self._snapshot, self._minter(self._snapshot))

    def reading(self) -> GraphReader:
        """The parts that are searched, as they were when first read.

        Raises `NotAGraphError`, `StoreError`, `UsageError` for a part that there is not.
        """
        return searched(self.reader(), self._over)

    @contextmanager
    def writing(self) -> Iterator[GraphReader]:
        """The graph for one writer, made if there is none; raises `StoreLockedError`."""
        self.forget()
        if self._folder is None:
            assert self._memory is not None  # noqa: S101 - without a folder it is in memory
            yield GraphReader(self._memory, self._minter(self._memory))
            return
        self._refuse_other_folder()
        store = OxigraphStore.create(self._folder / "store")
        try:
            yield GraphReader(store, self._minter(store))
        finally:
            store.close()

    def cache(self, name: str) -> Path | None:
        """Where a cache is kept; None in memory. A folder that is no graph is never written to."""
        if self._folder is None:
            return None
        self._refuse_other_folder()
        return self._folder / "cache" / name

    def forget(self) -> None:
        """Drop the snapshot: what is read next is what is there then."""
        if self._snapshot is not None and self._snapshot is not self._memory:
            self._snapshot.close()
        self._snapshot = None

    def _open(self, *, or_empty: bool) -> GraphStore:
        assert self._folder is not None  # noqa: S101 - what is in memory is not opened
        if _holds_graph(self._folder):
            return OxigraphStore.open(self._folder / "store")
        if or_empty and not _holds_other_things(self._folder):
            return OxigraphStore.in_memory()
        if self._folder.exists():
            raise NotAGraphError(
                f"{self._folder} holds no graph: name the graph's folder with --kg"
            )
        raise NotAGraphError(
            f"there is no graph at {self._folder}: make one with  sarag index PATH --kg "
            f"{self._folder}"
        )

    def _refuse_other_folder(self) -> None:
        if self._folder is not None and _holds_other_things(self._folder):
            raise NotAGraphError(
                f"{self._folder} holds other things and no graph: name a new or empty folder "
                "with --kg"
            )

    def _minter(self, store: GraphStore) -> Minter:
        meta = read_meta(store)
        if meta is None:
            return self._wanted or Minter(DEFAULT_BASE)
        if self._wanted is not None and self._wanted.base != meta.base:
            raise UsageError(
                f"the graph's base is {meta.base}, not {self._wanted.base}: leave --base out, or "
                "make another graph"
            )
        return Minter(meta.base)


def _holds_graph(folder: Path) -> bool:
    return (folder / "store" / "CURRENT").is_file()


def _holds_other_things(folder: Path) -> bool:
    """Whether a folder, or a file in its place, holds something but no graph."""
    if _holds_graph(folder) or not folder.exists():
        return False
    if not folder.is_dir():
        return True
    return any(entry.name not in ("store", "cache") for entry in folder.iterdir())
