"""Processor time of stages: functions that are replaced by timed ones for a while."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

Place = tuple[Any, str, str]
"""An object, the name of a function of it, and the stage that its time counts for."""
Observer = Callable[[str, tuple[Any, ...], Any], None]
"""Called with the name, the arguments and the result of a function."""


class Stopwatch:
    """Seconds of processor time by stage, on the thread that made it.

    The time of a stage within another counts for itself alone.
    """

    def __init__(self, observe: Observer | None = None) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._observe = observe
        self._thread = threading.get_ident()
        self._inner = 0.0

    def timed(self, stage: str, function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
        """The function, timed."""

        def timed(*given: Any, **options: Any) -> Any:
            if threading.get_ident() != self._thread:
                return function(*given, **options)
            outer, self._inner = self._inner, 0.0
            begin = time.thread_time()
            try:
                result = function(*given, **options)
            finally:
                whole = time.thread_time() - begin
                self.seconds[stage] += whole - self._inner
                self._inner = outer + whole
            if self._observe is not None:
                self._observe(name, given, result)
            return result

        return timed

    @contextmanager
    def watching(self, places: Iterable[Place]) -> Iterator[None]:
        """While this lasts, the functions at these places are timed."""
        with ExitStack() as patches:
            for target, name, stage in places:
                timed = self.timed(stage, getattr(target, name), name)
                patches.enter_context(mock.patch.object(target, name, timed))
            yield
