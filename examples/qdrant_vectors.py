"""Vectors in Qdrant, where one machine does not hold them: an engine of vectors of one's own.

Run it with ``python examples/qdrant_vectors.py``, after ``pip install qdrant-client``. It needs no
server, for the client has a local mode. With a server, or a cluster of them::

    client = QdrantClient("http://localhost:6333")
    kg = sarag_rdf.open("kg", vectors=in_qdrant(client, "name-of-this-graph"))
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast
from uuid import NAMESPACE_URL, uuid5

from grpc import RpcError
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException
from qdrant_client.models import (
    Batch,
    CreateAlias,
    CreateAliasOperation,
    DeleteAlias,
    DeleteAliasOperation,
    Distance,
    PointIdsList,
    SearchParams,
    VectorParams,
)

import sarag_rdf
from sarag_rdf.base.errors import VectorStoreError, one_line
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.base.types import Source
from sarag_rdf.kg.vectors import ChooseVectors
from sarag_rdf.plugins.vector_engine import EngineVectors

TEXTS = [
    Source("Marie Curie was born in Warsaw. She discovered polonium.", title="Marie Curie"),
    Source("Otto Hahn was a chemist in Berlin.", title="Otto Hahn"),
]
MORE = [Source("Warsaw lies on the Vistula, the capital of Poland.", title="Warsaw")]
QUESTION = "Which river flows through the birthplace of Marie Curie?"

FAILURES = (
    *(ApiException, QdrantException, RpcError),
    *(sqlite3.Error, OSError, RuntimeError, ValueError),
)


def in_qdrant(
    client: QdrantClient, graph: str, search: SearchParams | None = None
) -> ChooseVectors:
    """For `sarag_rdf.open`: `graph` begins the names of all its collections, and of no others."""
    engine = Qdrant(client, search)
    return lambda scope, here: EngineVectors(engine, f"{graph}-{scope}", here)


class Qdrant:
    """A `VectorEngine` of `sarag_rdf.plugins.vector_engine`; a collection's mark is an alias."""

    def __init__(self, client: QdrantClient, search: SearchParams | None = None) -> None:
        self._client, self._search = client, search

    def collections(self) -> list[str]:
        with asking():
            return [found.name for found in self._client.get_collections().collections]

    def create(self, name: str, width: int) -> None:
        with asking():  # the product of unit vectors is their cosine
            self._client.create_collection(name, VectorParams(size=width, distance=Distance.DOT))

    def drop(self, name: str) -> None:
        with asking():
            self._client.delete_collection(name)

    def mark(self, name: str, key: str) -> None:
        actions: list[DeleteAliasOperation | CreateAliasOperation] = [
            DeleteAliasOperation(delete_alias=DeleteAlias(alias_name=alias))
            for alias in self._aliases(name)
        ]
        if key:
            alias = CreateAlias(collection_name=name, alias_name=f"{name}-{key}")
            actions.append(CreateAliasOperation(create_alias=alias))
        with asking():
            self._client.update_collection_aliases(actions)

    def marked(self, name: str) -> str:
        return "".join(alias.removeprefix(f"{name}-") for alias in self._aliases(name))

    def _aliases(self, name: str) -> list[str]:
        with asking():
            every = self._client.get_aliases().aliases
        names = [alias.alias_name for alias in every if alias.collection_name == name]
        return [alias for alias in names if alias.startswith(f"{name}-")]

    def count(self, name: str) -> int:
        with asking():
            return self._client.count(name, exact=True).count

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        points = Batch(
            ids=[point(iri) for iri in iris],
            vectors=vectors.tolist(),
            payloads=[{"iri": iri} for iri in iris],
        )
        with asking():
            self._client.upsert(name, points, wait=True)

    def delete(self, name: str, iris: Sequence[str]) -> None:
        with asking():
            self._client.delete(name, PointIdsList(points=[point(i) for i in iris]), wait=True)

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        names = {point(iri): iri for iri in iris}
        with asking():
            found = self._client.retrieve(name, list(names), with_payload=False, with_vectors=True)
        return {names[str(one.id)]: cast("list[float]", one.vector) for one in found}

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        with asking():
            found = self._client.query_points(
                name, query=vector.tolist(), limit=k, search_params=self._search
            ).points
        return [(str((one.payload or {}).get("iri")), one.score) for one in found]


def point(iri: str) -> str:
    """The id of an IRI's point."""
    return str(uuid5(NAMESPACE_URL, iri))


@contextmanager
def asking() -> Iterator[None]:
    """Errors of the client, also of its local mode, as one that the library knows."""
    try:
        yield
    except FAILURES as error:
        reason = one_line(str(error))
        raise VectorStoreError(f"Qdrant: {reason}: see that it runs, and try again") from error


def main() -> None:
    with TemporaryDirectory() as folder:
        client = QdrantClient(path=str(Path(folder) / "qdrant"))
        vectors = in_qdrant(client, "example")
        with sarag_rdf.open(Path(folder) / "kg", endpoint=None, vectors=vectors) as kg:
            kg.index(TEXTS)
            kg.index(MORE)  # the collections are brought up to date
            for name in sorted(Qdrant(client).collections()):
                print(f"{name.rpartition('-')[0]}: {client.count(name).count} vectors")
            for number, document in enumerate(kg.search(QUESTION).documents, 1):
                print(f"{number}. {document.document.title}")
        client.close()


if __name__ == "__main__":
    main()
