"""What ``--vectors`` may name: files of the graph's cache, or an engine with its address.

An entry point of the group ``sarag_rdf.vector_engines`` names a class of options whose instances
are what `sarag_rdf.open` takes as `vectors`. A subclass of `EngineChoice` has only to connect.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final
from uuid import uuid4

from sarag_rdf.base.endpoints import is_url
from sarag_rdf.base.errors import MissingDependencyError, UsageError, VectorStoreError
from sarag_rdf.base.files import replacing
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.redaction import holds_password
from sarag_rdf.graph.vectors.vector_store import VectorStore
from sarag_rdf.plugins.vector_engines.engine import EngineVectors, VectorEngine

KEY: Final = "SARAG_VECTORS_KEY"
"""The environment variable of what an engine demands: a password, a token or a key."""
_FILE: Final = "engine.json"


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """Files in the graph's own cache, which are searched exactly; the default."""

    name = "files"

    def __call__(self, scope: str, here: VectorStore) -> VectorStore:  # noqa: ARG002
        return here


@dataclass(frozen=True, kw_only=True)
class EngineChoice(Options, ABC):
    """An engine, connected to when vectors are first needed; equal choices share a connection.

    Creating one raises `MissingDependencyError` without the package, `UsageError` for an address
    that is of no use.
    """

    _temporary: ClassVar[dict[str, str]]
    """Scope -> id, for a graph whose id cannot be stored; each instance has its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _engine(self)
        object.__setattr__(self, "_temporary", {})
        atexit.register(_discard_temporary, weakref.ref(self))

    @property
    def engine(self) -> VectorEngine:
        """The engine that all equal choices of this process share."""
        return _engine(self)

    @abstractmethod
    def connect(self) -> VectorEngine:
        """The engine, which opens no connection yet; see above for errors."""

    def check(self, address: str, is_known: bool, forms: str) -> None:
        """Raise `UsageError` for an address that has a password, or is of no known form."""
        if holds_password(address):
            raise UsageError(
                f"the address of {self.name} must not contain a password or key: set {KEY} in the "
                "environment"
            )
        if not is_known:
            raise UsageError(
                f"not an address of {self.name}: '{address}': use --vectors {self.name}:{forms}"
            )

    def __call__(self, scope: str, here: VectorStore) -> VectorStore:
        graph = graph_id(here.folder)
        if not graph:  # nobody finds its collections again
            graph = self._temporary.setdefault(scope, _new_id())
        return EngineVectors(self.engine, f"sarag-{graph}-{scope}", here)

    def close(self) -> None:
        """Close the connection, and delete what is of no use later; the next use opens it again."""
        _discard_temporary(weakref.ref(self))
        self.engine.close()


@cache
def _engine(choice: EngineChoice) -> VectorEngine:
    return choice.connect()


def graph_id(folder: Path | None) -> str:
    """What the collections of the graph with this cache begin with; empty if it cannot be stored.

    It is drawn at random, and stored with the inode of the file that it is in. So a folder may be
    moved, but its copy gets another one, and never touches the collections of the original.
    """
    if folder is None:
        return ""
    path = folder / _FILE
    with suppress(OSError):
        if found := _stored_id(path):
            return found
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            inode = os.fstat(file.fileno()).st_ino
            file.write(json.dumps({"id": _new_id(), "inode": inode}).encode())
        return _stored_id(path)
    return ""


def _stored_id(path: Path) -> str:
    """The id in a file that is no copy, else an empty string; raises OSError."""
    try:
        with path.open("rb") as file:
            stored: Any = json.loads(file.read())
            found = stored["id"] if stored["inode"] == os.fstat(file.fileno()).st_ino else ""
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return ""
    return found if re.fullmatch("[0-9a-f]{16}", str(found)) else ""


def _new_id() -> str:
    return uuid4().hex[:16]


def _discard_temporary(reference: weakref.ref[EngineChoice]) -> None:
    """Delete the collections of graphs that are not stored."""
    choice = reference()
    if choice is None or not choice._temporary:
        return
    prefixes = tuple(f"sarag-{graph}-" for graph in choice._temporary.values())
    choice._temporary.clear()
    with suppress(VectorStoreError):
        for name in choice.engine.collections():
            if name.startswith(prefixes):
                choice.engine.drop(name)


def _module(engine: str) -> Any:
    """The module of an engine; raises `MissingDependencyError` without the package it imports."""
    try:
        return import_module(f"sarag_rdf.plugins.vector_engines.{engine}")
    except ImportError as error:
        raise MissingDependencyError(
            f"--vectors {engine} needs an optional package: pip install 'sarag-rdf[{engine}]'"
        ) from error


def secret() -> str:
    """The value of SARAG_VECTORS_KEY; empty if it is not set."""
    return os.environ.get(KEY, "")


@dataclass(frozen=True, kw_only=True)
class Milvus(EngineChoice):
    """Milvus: a server by its URL, or Milvus Lite in a file that ends in .db."""

    name = "milvus"
    argument = "uri"
    uri: str = option("", "URL of a server, http(s)://HOST:PORT, or the path of a file NAME.db.")

    def connect(self) -> VectorEngine:
        is_file = "://" not in self.uri and self.uri.endswith(".db")
        self.check(self.uri, is_url(self.uri) or is_file, "http://HOST:19530 or milvus:FILE.db")
        engine: VectorEngine = _module("milvus").MilvusEngine(self.uri, secret())
        return engine


@dataclass(frozen=True, kw_only=True)
class Qdrant(EngineChoice):
    """Qdrant: a server by its URL, or the local mode of its client in a folder."""

    name = "qdrant"
    argument = "location"
    location: str = option("", "URL of a server, http(s)://HOST:PORT, or the path of a folder.")

    def connect(self) -> VectorEngine:
        is_folder = self.location != "" and "://" not in self.location
        is_known = is_url(self.location) or is_folder
        self.check(self.location, is_known, "http://HOST:6333 or qdrant:FOLDER")
        engine: VectorEngine = _module("qdrant").QdrantEngine(self.location, secret())
        return engine


@dataclass(frozen=True, kw_only=True)
class Postgres(EngineChoice):
    """PostgreSQL with the extension pgvector, which is searched exactly."""

    name = "postgres"
    argument = "dsn"
    dsn: str = option("", "postgresql://USER@HOST:PORT/DATABASE, or host=HOST dbname=DATABASE.")

    def connect(self) -> VectorEngine:
        engine: VectorEngine = _module("postgres").PostgresEngine(self.dsn, secret())
        return engine
