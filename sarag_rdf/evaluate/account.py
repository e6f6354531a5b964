"""What one question costs: replies, tokens, time, and what was gathered on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from sarag_rdf.answers import Evidence
from sarag_rdf.iris import sha256_hex
from sarag_rdf.ports import LLM, Gather, Reply
from sarag_rdf.types import Query, Usage


@dataclass(slots=True)
class Account:
    """Of one question: replies that came, also if a later call fails, and all that was gathered.

    `saved` are the seconds that replies from a cache would have taken.
    """

    usage: Usage = field(default_factory=Usage)
    saved: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)


class Meter:
    """An `LLM` that puts replies, and what `gathering` gathers, to the account of its thread.

    A reply that comes from a cache counts as the same reply did when it was asked for, so that
    the figures of a system do not depend on which others are asked beside it.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._own = threading.local()
        self._known: dict[str, tuple[Usage, float]] = {}
        self._lock, self._gathering = threading.Lock(), threading.Lock()

    @property
    def model(self) -> str:
        return self._llm.model

    def open(self) -> Account:
        """A new account, for all that this thread does from now on."""
        account = Account()
        self._own.account = account
        return account

    def gathering(self, gather: Gather) -> Gather:
        """The same `Gather`, for one thread at a time, as graphs and their caches are read."""

        def gathered(query: Query) -> Evidence:
            with self._gathering:
                evidence = gather(query)
            self._own.account.evidence.append(evidence)
            return evidence

        return gathered

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        begin = perf_counter()
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)
        seconds = perf_counter() - begin
        key = sha256_hex(name, prompt, json.dumps(schema), str(max_tokens))
        with self._lock:
            if reply.usage.calls:
                self._known[key] = reply.usage, seconds
            usage, took = self._known.get(key, (reply.usage, seconds))
        account: Account = self._own.account
        account.usage += usage
        account.saved += took - seconds
        return Reply(reply.data, usage)
