"""Workers as actors of a Ray cluster, reached as a Ray client (``ray://HOST:PORT``).

Every node needs this package, in the same version, and the models. Nothing but the address of the
cluster is contacted, and no key is sent to it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

from sarag_rdf.base.errors import MissingDependencyError, ModelError, UsageError, one_line
from sarag_rdf.base.ports import Extractor
from sarag_rdf.documents.format import InputProblem, Record
from sarag_rdf.documents.reading import InputFile
from sarag_rdf.models.caches import CachedEmbedder
from sarag_rdf.plugins.threads import map_in_order
from sarag_rdf.plugins.workers.pool import MOST, NoRoomError, Pool, WorkerDiedError
from sarag_rdf.plugins.workers.spread import ATTEMPTS, Timed, seconds, spread
from sarag_rdf.plugins.workers.work import Converted, Models, Recipe

log = logging.getLogger(__name__)
_ATTEMPTS: Final = 3
"""How often the connection is tried where a cluster answers, but does not accept it."""
_START: Final = 120.0
"""Seconds until a worker must have started."""
_LARGEST: Final = 32 << 20
"""Bytes of the largest file that is sent, because one for each actor is held in memory."""


def ray(address: str) -> RayWorkers:
    """Workers are actors, one for each processor of the cluster, or ``?workers=N``.

    Raises `UsageError` for a bad address, and `MissingDependencyError` without Ray.
    """
    parts = urlsplit(address)
    name, _, number = parts.query.partition("=")
    is_number = number.isascii() and number.isdigit() and 1 <= int(number) <= MOST
    try:
        is_valid = bool(parts.hostname and parts.port) and parts.username is None
    except ValueError:
        is_valid = False
    if not is_valid or parts.path or (parts.query and not (name == "workers" and is_number)):
        raise UsageError(
            "--workers is not the address of a Ray cluster: give ray://HOST:PORT of its client "
            "server, with ?workers=N for fewer workers than processors"
        )
    try:
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # children of this process may abort
        import ray
    except ImportError as error:
        raise MissingDependencyError(
            "Ray is not installed: pip install 'sarag-rdf[cluster]'"
        ) from error
    return RayWorkers(partial(_open, ray, f"ray://{parts.netloc}", int(number or 0)))


@dataclass(frozen=True)
class RayWorkers:
    """Actors of a cluster, to which the contents of files are sent."""

    open_pool: Callable[[bytes], Pool]
    timed = Timed

    @cached_property
    def size(self) -> int:
        """How many actors the cluster has room for."""
        with closing(self.open_pool(b"")) as pool:
            return pool.size

    def read(self, files: Iterable[InputFile]) -> Iterator[list[Record | InputProblem]]:
        """The records of files, one of which is sent to each actor at a time."""
        pending = iter(files)
        for first in pending:  # without one, the cluster is not needed
            with closing(self.open_pool(Recipe(None, None).pickled())) as pool:
                several = chain((first,), pending)
                for records, warnings in map_in_order(
                    partial(_converted, pool), several, pool.size
                ):
                    for warning in warnings:
                        log.warning("%s", warning)
                    yield records

    def spread(
        self, extractor: Extractor, texts: CachedEmbedder, cache: Callable[[str], Path | None]
    ) -> AbstractContextManager[Extractor]:
        """The block `spread`, on the cluster."""
        return spread(self.open_pool, extractor, texts, cache)

    def seconds(self, moved: float, rest: float, documents: int) -> float:
        """As `seconds`, with a core for each actor, and one for the writer."""
        return seconds(self.size, moved, rest, documents)


def _converted(pool: Pool, file: InputFile, _: Event) -> Converted:
    """The records of a file; a file of which actors die has a problem instead."""
    data = b""
    with suppress(OSError):
        data = file.path.read_bytes() if (file.size or 0) <= _LARGEST else data
    if not data:  # too large, or it cannot be read, which is reported here
        return [*file.records()], ()
    sent = replace(file, options=replace(file.options, stdin=None))
    for _attempt in range(ATTEMPTS):
        try:
            converted: Converted = pool.call("convert", sent, data)
        except WorkerDiedError as error:
            died = error
        else:
            return converted
    return [InputProblem(file.name, f"{died}: leave it out")], ()


def _open(ray: Any, address: str, size: int, recipe: bytes) -> Pool:
    """Connect to the cluster; raises `ModelError` if it does not answer."""
    _connect(ray, address)
    size = size or max(1, int(ray.cluster_resources().get("CPU", 1)))
    actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Models)
    return RayPool(ray, lambda: RayWorker(ray, actor, recipe), min(size, MOST))


def _connect(ray: Any, address: str) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            is_late = isinstance(error, ConnectionAbortedError)  # the head is busy, or starts
            if is_late and attempt < _ATTEMPTS:
                continue
            reason = str(error).partition("\n")[0].rstrip(":")
            raise ModelError(
                f"no Ray cluster answers at {address} ({type(error).__name__}: {reason}): start "
                "one with ray start --head, and name the port of its client server"
            ) from error
        else:
            return


class RayPool(Pool):
    """A pool that disconnects from the cluster when it is closed."""

    def __init__(self, ray: Any, start: Callable[[], RayWorker], size: int) -> None:
        super().__init__(start, size)
        self._ray = ray

    def close(self) -> None:
        super().close()
        with suppress(Exception):  # the cluster may be gone
            self._ray.shutdown()


class RayWorker:
    """An actor of the cluster."""

    def __init__(self, ray: Any, actor: Any, recipe: bytes) -> None:
        """Start it; raises `NoRoomError` if no processor becomes free, and what `call` raises."""
        self._ray, self._actor = ray, actor.remote(recipe)
        try:
            self._result(self._actor.check.remote(), _START)
        except self._ray.exceptions.GetTimeoutError as error:
            self.end()
            raise NoRoomError(
                "no processor of the Ray cluster is free: stop other jobs, or add nodes"
            ) from error
        except BaseException:
            self.end()
            raise

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        return self._result(getattr(self._actor, method).remote(*arguments, **options))

    def _result(self, reference: Any, seconds: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=seconds)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError) as error:
            raise WorkerDiedError(f"the worker has ended: {one_line(str(error))}") from error
        except errors.GetTimeoutError:
            raise
        except (ConnectionError, errors.RayError, RuntimeError) as error:
            raise ModelError(
                f"the Ray cluster does not answer ({type(error).__name__}: {error}): run the "
                "command again to continue"
            ) from error

    def end(self) -> None:
        with suppress(Exception):  # it has died already, or the cluster is gone
            self._ray.kill(self._actor)
