"""Replies of a model kept in an SQLite file, so that the same call is paid for once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sarag_rdf.iris import sha256_hex
from sarag_rdf.models.sqlite_cache import SqliteCache
from sarag_rdf.ports import LLM, Reply
from sarag_rdf.redaction import redacted_data
from sarag_rdf.types import Usage


class CachedLLM:
    """An `sarag_rdf.ports.LLM` that asks another one only what it has not asked before.

    A reply is found again under the SHA-256 of endpoint, model, settings (temperature, seed),
    call name, prompt, schema and max_tokens; the file holds that hash and the reply, from which
    secrets that the model repeats are removed. Errors are not kept. A cached reply costs
    ``Usage(cached_calls=1)``.
    """

    def __init__(self, llm: LLM, path: Path | str) -> None:
        self._llm = llm
        self._cache = SqliteCache(path, what="reply cache")
        self._identity = (
            str(getattr(llm, "base_url", "")),
            llm.model,
            json.dumps(dict(self.settings), sort_keys=True),
        )

    @property
    def model(self) -> str:
        return self._llm.model

    @property
    def settings(self) -> Mapping[str, str]:
        """Those of the model that is asked, if it tells them."""
        settings: Mapping[str, str] = getattr(self._llm, "settings", {})
        return settings

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """Answer from the file, or ask and keep the answer; raises what the model raises."""
        shape = json.dumps(schema, ensure_ascii=False)
        key = sha256_hex(*self._identity, name, prompt, shape, str(max_tokens)).encode()
        data = self._look_up(key)
        if data is not None:
            return Reply(data, Usage(cached_calls=1))
        reply = self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)
        reply = replace(reply, data=redacted_data(reply.data))
        self._cache.put_many({key: json.dumps(reply.data).encode()})
        return reply

    def close(self) -> None:
        """Close the file; it is opened again if it is needed again."""
        self._cache.close()

    def _look_up(self, key: bytes) -> dict[str, Any] | None:
        found = self._cache.get_many([key]).get(key)
        try:
            data = json.loads(found) if found is not None else None
        except (ValueError, TypeError):
            return None
        return redacted_data(data) if isinstance(data, dict) else None
