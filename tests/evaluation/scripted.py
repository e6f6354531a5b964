"""A model that says what a test wrote down, and keeps account of what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from sarag_rdf.base.ports import Reply
from sarag_rdf.base.types import Usage
from sarag_rdf.models.json_reply import schema_problem

Script = Callable[[str, str], Mapping[str, Any] | BaseException]
"""From the name of a call and its prompt to a reply, or to an error that is raised."""


class Scripted:
    """An `sarag_rdf.base.ports.LLM`: each reply costs 100 tokens in and 10 out."""

    model = "scripted"

    def __init__(self, script: Script) -> None:
        self.script = script
        self.settings = {"temperature": "0.0", "seed": "0"}
        self.calls: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The names of the calls so far, in order."""
        return [name for name, _ in self.calls]

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        with self._lock:
            self.calls.append((name, prompt))
        said = self.script(name, prompt)
        if isinstance(said, BaseException):
            raise said
        assert not schema_problem(dict(said), schema), said
        return Reply(dict(said), Usage(1, 0, 100, 10))
