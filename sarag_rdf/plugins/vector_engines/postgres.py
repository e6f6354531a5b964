"""Vectors in PostgreSQL with the extension pgvector: a table for each collection."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from sarag_rdf.base.errors import UsageError, VectorStoreError
from sarag_rdf.base.ports import Matrix, Vector
from sarag_rdf.plugins.vector_engines.engine import TIMEOUT, failing_as, key_of

_SECRET = ("password", "sslpassword")
_CATALOGUE = """
CREATE TABLE IF NOT EXISTS sarag_collections (
  number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text UNIQUE NOT NULL,
  mark text NOT NULL DEFAULT '')
"""


class PostgresEngine:
    """A `VectorEngine`; ``sarag_collections`` has the names, marks and numbers of collections.

    The vectors of a collection are in the table ``sarag_vectors_NUMBER``.
    """

    def __init__(self, dsn: str, password: str = "") -> None:
        """Raises `UsageError` for a connection string that is invalid or has a password."""
        try:
            parts = conninfo_to_dict(dsn)
        except psycopg.Error as error:
            raise UsageError(
                "not a connection string of PostgreSQL: use postgresql://USER@HOST/DATABASE"
            ) from error
        if any(parts.get(name) for name in _SECRET):
            raise UsageError(
                "the address of postgres must not contain a password: set SARAG_VECTORS_KEY or "
                "PGPASSWORD in the environment"
            )
        self._dsn = dsn
        self._parameters: dict[str, Any] = {"connect_timeout": TIMEOUT, "autocommit": True}
        if password:
            self._parameters["password"] = password
        self._connected: psycopg.Connection[Any] | None = None
        self._lock = threading.RLock()

    def close(self) -> None:
        with self._lock:
            if self._connected is not None:
                self._connected.close()
                self._connected = None

    @contextmanager
    def _asking(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, for one thread at a time; opened anew where the last one is broken."""
        with self._lock, failing_as("PostgreSQL", (psycopg.Error,)):
            if self._connected is None or self._connected.closed:
                self._connected = self._open()
            with self._connected.transaction():
                yield self._connected

    def _open(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._dsn, **self._parameters)
        try:
            connection.execute(f"SET statement_timeout = '{TIMEOUT}s'")
            [(known,)] = connection.execute("SELECT to_regtype('vector')")
            if not known:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(_CATALOGUE)
        except psycopg.errors.FeatureNotSupported as error:
            raise VectorStoreError(
                "PostgreSQL has no extension pgvector: install it on the server"
            ) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def collections(self) -> list[str]:
        with self._asking() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM sarag_collections")]

    def create(self, name: str, width: int) -> None:
        with self._asking() as connection:
            connection.execute("INSERT INTO sarag_collections (name) VALUES (%s)", (name,))
            connection.execute(
                sql.SQL(
                    "CREATE TABLE {} (id uuid PRIMARY KEY, iri text NOT NULL, "
                    "vector vector({}) NOT NULL)"
                ).format(self._table(connection, name), sql.Literal(width))
            )

    def drop(self, name: str) -> None:
        with self._asking() as connection:
            connection.execute(sql.SQL("DROP TABLE {}").format(self._table(connection, name)))
            connection.execute("DELETE FROM sarag_collections WHERE name = %s", (name,))

    def mark(self, name: str, key: str) -> None:
        with self._asking() as connection:
            connection.execute(
                "UPDATE sarag_collections SET mark = %s WHERE name = %s", (key, name)
            )

    def marked(self, name: str) -> str:
        with self._asking() as connection:
            query = "SELECT mark FROM sarag_collections WHERE name = %s"
            row = connection.execute(query, (name,)).fetchone()
        return str(row[0]) if row else ""

    def count(self, name: str) -> int:
        with self._asking() as connection:
            query = sql.SQL("SELECT count(*) FROM {}").format(self._table(connection, name))
            [(count,)] = connection.execute(query)
        return int(count)

    def put(self, name: str, iris: Sequence[str], vectors: Matrix) -> None:
        with self._asking() as connection:
            table = self._table(connection, name)
            _delete(connection, table, iris)
            copy_in = sql.SQL("COPY {} (id, iri, vector) FROM STDIN").format(table)
            with connection.cursor() as cursor, cursor.copy(copy_in) as copy:
                for iri, vector in zip(iris, vectors, strict=True):
                    copy.write_row((key_of(iri), iri, _text(vector)))

    def delete(self, name: str, iris: Sequence[str]) -> None:
        with self._asking() as connection:
            _delete(connection, self._table(connection, name), iris)

    def fetch(self, name: str, iris: Sequence[str]) -> dict[str, Sequence[float]]:
        with self._asking() as connection:
            query = sql.SQL("SELECT iri, vector::real[] FROM {} WHERE id = ANY(%s)").format(
                self._table(connection, name)
            )
            found = connection.execute(query, ([key_of(iri) for iri in iris],), binary=True)
            return dict(found.fetchall())

    def nearest(self, name: str, vector: Vector, k: int) -> list[tuple[str, float]]:
        with self._asking() as connection:  # <#> is the negative product
            query = sql.SQL(
                "SELECT iri, -(vector <#> %(vector)s) FROM {} ORDER BY vector <#> %(vector)s "
                "LIMIT %(k)s"
            ).format(self._table(connection, name))
            return connection.execute(query, {"vector": _text(vector), "k": k}).fetchall()

    def _table(self, connection: psycopg.Connection[Any], name: str) -> sql.Identifier:
        query = "SELECT number FROM sarag_collections WHERE name = %s"
        row = connection.execute(query, (name,)).fetchone()
        if row is None:
            raise VectorStoreError(f"PostgreSQL has no collection {name}: open the graph again")
        return sql.Identifier(f"sarag_vectors_{row[0]}")


def _delete(
    connection: psycopg.Connection[Any], table: sql.Identifier, iris: Sequence[str]
) -> None:
    query = sql.SQL("DELETE FROM {} WHERE id = ANY(%s)").format(table)
    connection.execute(query, ([key_of(iri) for iri in iris],))


def _text(vector: Vector) -> str:
    """A vector as pgvector reads it, exact in single precision."""
    return f"[{','.join(map(str, vector.tolist()))}]"
