"""Answers that are followed while they are made: the words of a reply that is still being written.

Replies are JSON, so that an answer is read out of an object that has no end yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sarag_rdf.base.ports import LLM, Reply, StreamingLLM
from sarag_rdf.base.redaction import redacted_data
from sarag_rdf.base.types import AnswerEvent, OnEvent

Words = Callable[[str], str]
"""Takes the text of a reply so far, and returns the words of the answer in it."""
_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_KEY: Final = re.compile(r'\s*,?\s*"((?:[^"\\]|\\.)*)"\s*:\s*', re.DOTALL)
_STRING: Final = re.compile(r'"((?:[^"\\]|\\(?:[^u]|u[0-9A-Fa-f]{4}))*)("?)', re.DOTALL)
_END: Final = re.compile(r"\s*[,}]")


class FollowedLLM:
    """An `sarag_rdf.base.ports.LLM` whose calls are told to a listener."""

    def __init__(self, llm: LLM, tell: OnEvent) -> None:
        self._llm, self.tell = llm, tell
        self._sent = ""

    @property
    def model(self) -> str:
        return self._llm.model

    def complete(
        self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int
    ) -> Reply:
        """Tell that a call begins, and make it."""
        return self.followed(prompt, schema, name=name, max_tokens=max_tokens)

    def followed(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        *,
        name: str,
        max_tokens: int,
        words: Words | None = None,
    ) -> Reply:
        """The same; `words` of the answer are told while they are written, if the model can."""
        self.tell(AnswerEvent("call", name))
        if words is None or not isinstance(self._llm, StreamingLLM):
            return self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)

        def seen(text: str) -> None:
            self.show(words(text))

        return self._llm.stream(prompt, schema, name=name, max_tokens=max_tokens, seen=seen)

    def show(self, answer: str) -> None:
        """Tell what is new in an answer, or that what was told before does not count."""
        answer = redacted_data(answer)
        if not answer.startswith(self._sent):
            self._sent = ""
            self.tell(AnswerEvent("withdrawn"))
        new, self._sent = answer[len(self._sent) :], answer
        if new:
            self.tell(AnswerEvent("text", text=new))


def partial_object(text: str) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The complete members of a JSON object that may end anywhere, and a string that is open.

    >>> partial_object('{"sufficient": true, "final_answer": "The Dan')
    ({'sufficient': True}, ('final_answer', 'The Dan'))
    """
    text = _THOUGHTS.sub("", text)
    members: dict[str, Any] = {}
    position = text.find("{") + 1
    while position and (key := _KEY.match(text, position)):
        name, position = str(_decoded(key[1])), key.end()
        if text[position : position + 1] == '"':
            string = _STRING.match(text, position)
            if string is None or not string[2]:
                return members, (name, _decoded(string[1]) if string else "")
            members[name], position = _decoded(string[1]), string.end()
            continue
        try:
            value, position = json.JSONDecoder().raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        if not _END.match(text, position):
            break  # the number may go on
        members[name] = value
    return members, None


def _decoded(escaped: str) -> str:
    """The text of a JSON string, without halves of surrogate pairs."""
    try:
        text = json.loads(f'"{escaped}"', strict=False)
    except ValueError:
        return ""
    return str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
