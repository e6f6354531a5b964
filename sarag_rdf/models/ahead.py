"""Embeds texts beside other work, so that they are in the cache when they are needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from queue import Empty, Full, Queue
from threading import Event, Thread

log = logging.getLogger(__name__)
WAITING = 32
"""Lots of texts that wait at most; further ones are left for later."""
_AT_ONCE = 128
"""Texts that are embedded before it is asked whether to stop."""


class Ahead:
    """One thread that calls `embed` for its effect: what it has embedded is kept in a cache.

    Nothing depends on it. It takes what it is given if it has time for it; what is left when it is
    closed, or what cannot be embedded, is for those who need it to embed.
    """

    def __init__(self, embed: Callable[[Sequence[str]], object]) -> None:
        self._embed = embed
        self._lots: Queue[list[str]] = Queue(WAITING)
        self._closed = Event()
        self._thread: Thread | None = None

    def take(self, texts: Iterable[str]) -> None:
        """Take a lot of texts, unless too many wait."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="embedding ahead", daemon=True)
            self._thread.start()
        try:
            self._lots.put_nowait(list(dict.fromkeys(texts)))
        except Full:
            log.debug("texts are left for later: too many wait to be embedded")

    def close(self) -> None:
        """Drop what waits; return when nothing is embedded any more."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._closed.is_set():
            try:
                lot = self._lots.get(timeout=0.1)
            except Empty:
                continue
            # Texts of like length together: less padding.
            pending = iter(sorted(lot, key=lambda text: (-len(text), text)))
            while not self._closed.is_set() and (batch := list(islice(pending, _AT_ONCE))):
                try:
                    self._embed(batch)
                except Exception as error:  # noqa: BLE001 - those who need the texts will see it
                    log.debug("texts are left for later: %s", error)
                    return
