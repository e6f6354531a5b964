"""Vectors in Qdrant: in a server, or in a folder by the local mode of its client."""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

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
    VectorParams,
)

from sarag_rdf.base.endpoints import is_url
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.plugins.vector_engines.engine import TIMEOUT, failing_as, key_of

_FAILURES = (
    *(ApiException, QdrantException),
    *(sqlite3.Error, OSError, RuntimeError, ValueError),  # of the local mode
)


class QdrantEngine:
    """A `VectorEngine`; the mark of a collection is an alias."""

    def __init__(self, location: str, key: str = "") -> None:
        """`location` is a URL, the path of a folder, or ``:memory:``."""
        self._location, self._key = location, key
        self._connected: QdrantClient | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            if self._connected is not None and self._location != ":memory:":
                self._connected.close()
                self._connected = None

    @property
    def _client(self) -> QdrantClient:
        with self._lock:
            if self._connected is None:
                self._connected = self._open()
            return self._connected

    def _open(self) -> QdrantClient:
        if is_url(self._location):
            return QdrantClient(
                url=self._location,
                api_key=self._key or None,
                timeout=TIMEOUT,
                check_compatibility=False,
            )
        if self._location == ":memory:":
            return QdrantClient(":memory:")
        return QdrantClient(path=str(Path(self._location).expanduser()))

    def collections(self) -> list[str]:
        with _asking():
            return [found.name for found in self._client.get_collections().collections]

    def create(self, name: str, width: int) -> None:
        with _asking():  # the product of unit vectors is their cosine
            self._client.create_collection(name, VectorParams(size=width, distance=Distance.DOT))

    def drop(self, name: str) -> None:
        with _asking():
            self._client.delete_collection(name)

    def mark(self, name: str, key: str) -> None:
        actions: list[DeleteAliasOperation | CreateAliasOperation] = [
            DeleteAliasOperation(delete_alias=DeleteAlias(alias_name=alias))
            for alias in self._aliases(name)
        ]
        if key:
            alias = CreateAlias(collection_name=name, alias_name=f"{name}-{key}")
            actions.append(CreateAliasOperation(create_alias=alias))
        with _asking():
            self._client.update_collection_aliases(actions)

    def marked(self, name: str) -> str:
        return "".join(alias.removeprefix(f"{name}-") for alias in self._aliases(name))

    def _aliases(self, name: str) -> list[str]:
        with _asking():
            every = self._client.get_aliases().aliases
        names = [alias.alias_name for alias in every if alias.collection_name == name]
        return [alias for alias in names if alias.startswith(f"{name}-")]

    def count(self, name: str) -> int:
        with _asking():
            return self._client.count(name, exact=True).count

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        points = Batch(
            ids=[str(key_of(iri)) for iri in iris],
            vectors=vectors.tolist(),
            payloads=[{"iri": iri} for iri in iris],
        )
        with _asking(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Local mode is not recommended")  # the page says so
            self._client.upsert(name, points, wait=True)

    def delete(self, name: str, iris: Sequence[str]) -> None:
        with _asking():
            self._client.delete(
                name, PointIdsList(points=[str(key_of(i)) for i in iris]), wait=True
            )

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        names = {str(key_of(iri)): iri for iri in iris}
        with _asking():
            found = self._client.retrieve(name, list(names), with_payload=False, with_vectors=True)
        return {names[str(one.id)]: cast("list[float]", one.vector) for one in found}

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        with _asking():
            found = self._client.query_points(name, query=vector.tolist(), limit=k).points
        return [(str((one.payload or {}).get("iri")), one.score) for one in found]


def _asking() -> AbstractContextManager[None]:
    return failing_as("Qdrant", _FAILURES)
