"""Many clients of a server at the same time, and the memory of its processes.

Clients speak HTTP/1.1 over connections that they keep. A client whose request is refused waits as
long as ``Retry-After`` says, and sends it again.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_REFUSED = (429, 503)
_PATIENCE = 240.0
"""Seconds until an answer must be there."""
_TRIES = 200


@dataclass(frozen=True)
class Call:
    """A request by GET; `kind` is what it counts as."""

    kind: str
    path: str
    accept: str = "*/*"


@dataclass(frozen=True)
class Served:
    """The answer to a call.

    `seconds` is the time from the first attempt to the whole answer, with the waits between
    attempts, and `began` that of the first attempt on the clock of `time.monotonic`. `refusals` are
    the values of ``Retry-After`` of the refused attempts.
    """

    call: Call
    status: int
    headers: dict[str, str]
    body: bytes
    began: float
    seconds: float
    refusals: tuple[str, ...] = ()


@dataclass
class Client:
    """One client, which connects from an address of its own if `address` is given."""

    host: str
    port: int
    address: str = ""
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(
        init=False, default=None
    )

    async def get(self, call: Call) -> Served:
        """The answer to a call, which is repeated while the server refuses it."""
        began, refusals = time.monotonic(), list[str]()
        while True:
            async with asyncio.timeout(_PATIENCE):
                status, headers, body = await self._attempt(call)
            if status not in _REFUSED or len(refusals) == _TRIES:
                seconds = time.monotonic() - began
                return Served(call, status, headers, body, began, seconds, tuple(refusals))
            refusals.append(headers.get("retry-after", ""))
            await asyncio.sleep(float(refusals[-1] or 1))

    async def _attempt(self, call: Call) -> tuple[int, dict[str, str], bytes]:
        """One attempt; a connection that the server has closed meanwhile is opened again."""
        is_new = self._streams is None
        try:
            return await self._exchange(call)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            if is_new:
                raise
        return await self._exchange(call)

    async def _exchange(self, call: Call) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            own = (self.address, 0) if self.address else None
            self._streams = await asyncio.open_connection(self.host, self.port, local_addr=own)
        reader, writer = self._streams
        writer.write(
            f"GET {call.path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Accept: {call.accept}\r\n\r\n".encode()
        )
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await _body(reader, headers)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return int(first.split()[1]), headers, body

    def close(self) -> None:
        if self._streams is not None:
            with suppress(RuntimeError):
                self._streams[1].close()
            self._streams = None


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers["content-length"]))
    chunks = []
    while size := int(await reader.readline(), 16):
        chunks.append((await reader.readexactly(size + 2))[:-2])
    await reader.readline()
    return b"".join(chunks)


async def crowd(
    host: str,
    port: int,
    calls: Iterable[Call],
    clients: int,
    addresses: int = 1,
    on_served: Callable[[Served], None] = lambda _: None,
) -> list[Served]:
    """The answers to all calls, of which each client takes the next one when it has an answer.

    The clients connect from so many addresses of this machine in turn.
    """
    todo, done = iter(calls), list[Served]()
    own = itertools.cycle(f"127.0.0.{n + 1}" for n in range(addresses))

    async def work(client: Client) -> None:
        for call in todo:
            served = await client.get(call)
            done.append(served)
            on_served(served)
        client.close()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(clients):
            tasks.create_task(work(Client(host, port, next(own))))
    return done


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed.

    >>> [percentile([4, 1, 3, 2], share) for share in (0.5, 0.75, 0.99)]
    [2, 3, 4]
    """
    return sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]


def memory(processes: Iterable[int]) -> int:
    """Bytes of memory of processes, of which those that they share count once in all."""
    return sum(_memory(process) for process in processes)


def _memory(process: int) -> int:
    """The proportional set size."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return 0
