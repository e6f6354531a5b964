"""Real vector engines: Milvus Lite, Qdrant's local mode, and PostgreSQL with pgvector."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from sarag_rdf.kg.registry import options_of
from sarag_rdf.plugins.vector_engines.choices import EngineChoice

ENGINES = ("milvus", "qdrant", "postgres")


@cache
def _postgres() -> str:
    """The URL of a server that this process starts once, and that ends with it.

    Its folder is none of pytest's: those are private, and the server may run as another user.
    """
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    atexit.register(shutil.rmtree, folder)  # after the server has ended, which registers later
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # read at import
    try:
        pgserver = pytest.importorskip("pgserver", reason="optional: pip install pgserver")
    finally:
        os.environ.pop("XDG_RUNTIME_DIR")
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before
    return str(pgserver.get_server(folder / "data", cleanup_mode="delete").get_uri())


@contextmanager
def empty_engine(kind: str, folder: Path) -> Iterator[EngineChoice]:
    """An engine without collections: a new file, folder or database."""
    if kind != "postgres":
        name = {"milvus": "vectors.db", "qdrant": "vectors"}[kind]
        with _closing(f"{kind}:{folder / name}") as choice:
            yield choice
        return
    psycopg = pytest.importorskip("psycopg")
    uri, name = _postgres(), f"t_{uuid.uuid4().hex}"
    with psycopg.connect(uri, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        with _closing(f"postgres:{uri.replace('/postgres?', f'/{name}?')}") as choice:
            yield choice
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _closing(vectors: str) -> Iterator[EngineChoice]:
    choice = options_of("vectors", vectors)
    assert isinstance(choice, EngineChoice)
    try:
        yield choice
    finally:
        choice.close()


def address(choice: EngineChoice) -> str:
    """What ``--vectors`` takes."""
    return f"{choice.name}:{getattr(choice, choice.argument)}"


@pytest.fixture(params=ENGINES)
def choice(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineChoice]:
    """Each engine, without collections."""
    with empty_engine(request.param, tmp_path) as engine:
        yield engine
