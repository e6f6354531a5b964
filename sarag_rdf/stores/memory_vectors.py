"""Vector indexes that are held in memory and kept nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sarag_rdf.algo.iri_list import IriList
from sarag_rdf.algo.packed import packed
from sarag_rdf.ports import Arrays, Matrix, Progress, VectorIndex
from sarag_rdf.stores.exact_index import ExactIndex
from sarag_rdf.stores.matrix_file import MatrixFile


class MemoryVectors:
    """A VectorStore that keeps nothing."""

    def names(self) -> Sequence[str]:
        return ()

    def key_of(self, name: str) -> str:  # noqa: ARG002
        return ""

    def discard(self, name: str) -> None:
        pass

    def load_arrays(self, name: str, key: str) -> Arrays | None:  # noqa: ARG002
        return None

    def save_arrays(self, name: str, key: str, arrays: Arrays) -> None:
        pass

    def load(self, kind: str, key: str) -> VectorIndex | None:  # noqa: ARG002
        return None

    def save(
        self,
        kind: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        iris: Sequence[str],
        blocks: Iterable[Matrix],
    ) -> ExactIndex:
        held = MatrixFile(None)
        held.extend(blocks)
        return ExactIndex(iri_list(iris), held.matrix())

    def update(
        self,
        kind: str,  # noqa: ARG002
        before: str,  # noqa: ARG002
        after: str,  # noqa: ARG002
        gone: Sequence[str],  # noqa: ARG002
        come: Sequence[str],  # noqa: ARG002
        blocks: Iterable[Matrix],  # noqa: ARG002
    ) -> ExactIndex | None:
        return None

    def rekey(self, name: str, before: str, after: str) -> None:
        pass

    def prepare(self, kind: str, key: str, progress: Progress) -> None:
        pass


def iri_list(iris: Sequence[str]) -> IriList:
    """IRIs in ascending order, as bytes."""
    return iris if isinstance(iris, IriList) else IriList(*packed(iris))
