"""What one question costs: replies, tokens, time, and what was gathered on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from sarag_rdf.answers import Evidence
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import LLM, Gather, Reply
from sarag_rdf.types import Query, Usage


class Prices:
    """What each reply cost when it was first given: a later one from a cache costs the same.

    So the figures of a system do not depend on which other systems are asked beside it.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Usage, float]] = {}
        self._lock = threading.Lock()

    def of(self, key: str, usage: Usage, seconds: float) -> tuple[Usage, float]:
        """Usage and seconds of this reply, or those of the same reply when it was asked for."""
        with self._lock:
            if usage.calls:
                self._known[key] = usage, seconds
            return self._known.get(key, (usage, seconds))


class Account:
    """An `LLM` and a `Gather` for one question, by one thread, that remember.

    `usage` counts every reply that came, also if a later call fails; `saved` are the seconds
    that replies from a cache would have taken.
    """

    def __init__(self, llm: LLM, gather: Gather, prices: Prices) -> None:
        self._llm, self._gather, self._prices = llm, gather, prices
        self.usage = Usage()
        self.saved = 0.0
        self.evidence: list[Evidence] = []

    @property
    def model(self) -> str:
        return self._llm.model

    def gather(self, query: Query) -> Evidence:
        """Retrieve, and remember what was found."""
        self.evidence.append(self._gather(query))
        return self.evidence[-1]

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        begin = perf_counter()
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)
        seconds = perf_counter() - begin
        key = sha256_hex(name, prompt, json.dumps(schema), str(max_tokens))
        usage, took = self._prices.of(key, reply.usage, seconds)
        self.usage += usage
        self.saved += took - seconds
        return Reply(reply.data, usage)
