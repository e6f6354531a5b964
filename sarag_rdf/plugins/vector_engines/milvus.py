"""Vectors in Milvus: in a server, or in a file by Milvus Lite, which is searched exactly."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # else it writes of its pings to standard error
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # else one child in a hundred aborts

import grpc
from pymilvus import DataType, MilvusClient
from pymilvus.exceptions import MilvusException

from sarag_rdf.base.endpoints import is_url
from sarag_rdf.base.errors import VectorStoreError, one_line
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.plugins.vector_engines.engine import TIMEOUT, failing_as, key_of

_FAILURES = (
    *(MilvusException, grpc.RpcError),
    *(OSError, RuntimeError, ValueError),  # of Milvus Lite
)
_MOST: Final = 16_384
"""Vectors that a server returns at most."""
_LITE_LOG: Final = "milvus_lite.server_manager"
_NOISE: Final = ("RPC error", "Exception calling application: Method not implemented")
"""What pymilvus logs of errors that it raises, and Milvus Lite of each request for a timestamp."""


def _is_no_noise(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_NOISE)


for _log in ("pymilvus.decorators", "grpc._server"):
    logging.getLogger(_log).addFilter(_is_no_noise)


class MilvusEngine:
    """A `VectorEngine`; the mark of a collection is an alias.

    Names are those of the port with underscores for hyphens, which Milvus does not allow.
    """

    def __init__(self, uri: str, token: str = "") -> None:
        """`uri` is a URL, whose path may name a database, or a file that ends in ``.db``."""
        self._is_server = is_url(uri)
        self._uri = uri if self._is_server else str(Path(uri).expanduser().absolute())
        self._token = token
        self._connected: MilvusClient | None = None
        self._loaded: set[str] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            if self._connected is None:
                return
            self._connected.close()
            self._connected = None
            self._loaded.clear()
            if not self._is_server:
                from milvus_lite.server_manager import server_manager_instance

                server_manager_instance.release_server(self._uri)

    @contextmanager
    def _asking(self, name: str = "") -> Iterator[tuple[MilvusClient, str]]:
        """The client, and Milvus's name of a collection, which is loaded first."""
        collection = _name(name)
        with failing_as("Milvus", _FAILURES):
            with self._lock:
                if self._connected is None:
                    self._connected = self._open()
                client = self._connected
            if name and collection not in self._loaded:
                client.load_collection(collection, timeout=TIMEOUT)
                self._loaded.add(collection)
            yield client, collection

    def _open(self) -> MilvusClient:
        if self._is_server:
            return MilvusClient(self._uri, token=self._token, timeout=TIMEOUT)
        reasons = _Reasons()
        log = logging.getLogger(_LITE_LOG)
        log.addFilter(reasons)
        try:
            Path(self._uri).parent.mkdir(parents=True, exist_ok=True)
            return MilvusClient(self._uri, timeout=TIMEOUT)
        except MilvusException as error:
            reason = one_line(reasons.last or error.message)
            raise VectorStoreError(
                f"Milvus Lite cannot open {self._uri}: {reason}: one process at a time uses the "
                "file: end the other one, or use a server"
            ) from error
        finally:
            log.removeFilter(reasons)

    def collections(self) -> list[str]:
        with self._asking() as (client, _):
            names: list[str] = client.list_collections(timeout=TIMEOUT)
        return [name.replace("_", "-") for name in names]

    def create(self, name: str, width: int) -> None:
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=36)
        schema.add_field("iri", DataType.VARCHAR, max_length=65_535)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=width)
        index = MilvusClient.prepare_index_params()
        kind = "AUTOINDEX" if self._is_server else "FLAT"
        index.add_index("vector", index_type=kind, metric_type="IP")  # the cosine of unit vectors
        with self._asking() as (client, _):
            client.create_collection(
                _name(name),
                schema=schema,
                index_params=index,
                consistency_level="Strong",
                timeout=TIMEOUT,
            )

    def drop(self, name: str) -> None:
        self.mark(name, "")  # a collection with an alias is not deleted
        with self._asking() as (client, _):
            client.drop_collection(_name(name), timeout=TIMEOUT)
            self._loaded.discard(_name(name))

    def mark(self, name: str, key: str) -> None:
        before = self._aliases(name)
        with self._asking() as (client, _):
            for alias in before:
                client.drop_alias(alias, timeout=TIMEOUT)
            if not key:
                return
            if not self._is_server:
                client.flush(_name(name))  # what is not yet in a segment is searched slowly
            client.create_alias(_name(name), f"{_name(name)}_{key}", timeout=TIMEOUT)

    def marked(self, name: str) -> str:
        return "".join(alias.removeprefix(f"{_name(name)}_") for alias in self._aliases(name))

    def _aliases(self, name: str) -> list[str]:
        with self._asking() as (client, _):
            if not client.has_collection(_name(name), timeout=TIMEOUT):
                return []
            found = client.list_aliases(_name(name), timeout=TIMEOUT)
        return [alias for alias in found["aliases"] if alias.startswith(f"{_name(name)}_")]

    def count(self, name: str) -> int:
        with self._asking(name) as (client, collection):
            [row] = client.query(collection, output_fields=["count(*)"], timeout=TIMEOUT)
        return int(row["count(*)"])

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        rows = [
            {"id": str(key_of(iri)), "iri": iri, "vector": vector}
            for iri, vector in zip(iris, vectors, strict=True)
        ]
        with self._asking(name) as (client, collection):
            client.upsert(collection, rows, timeout=TIMEOUT)

    def delete(self, name: str, iris: Sequence[str]) -> None:
        with self._asking(name) as (client, collection):
            client.delete(collection, ids=[str(key_of(iri)) for iri in iris], timeout=TIMEOUT)

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        with self._asking(name) as (client, collection):
            found = client.get(
                collection,
                ids=[str(key_of(iri)) for iri in iris],
                output_fields=["iri", "vector"],
                timeout=TIMEOUT,
            )
            return {row["iri"]: row["vector"] for row in found}

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        with self._asking(name) as (client, collection):
            [found] = client.search(
                collection,
                data=[vector],
                anns_field="vector",
                limit=min(k, _MOST),
                output_fields=["iri"],
                timeout=TIMEOUT,
            )
            return [(hit["entity"]["iri"], hit["distance"]) for hit in found]


class _Reasons(logging.Filter):
    """Keeps the exceptions that Milvus Lite logs with a traceback instead of raising them."""

    last = ""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info:
            self.last = str(record.exc_info[1])
        return record.exc_info is None


def _name(name: str) -> str:
    return name.replace("-", "_")
