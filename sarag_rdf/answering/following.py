"""Answers that are followed while they are made: the words of a reply that is still being written.

Replies are JSON, so that an answer is read out of an object that has no end yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import jiter

from sarag_rdf.base.ports import LLM, Reply, StreamingLLM
from sarag_rdf.base.redaction import redacted_data
from sarag_rdf.base.types import AnswerEvent, OnEvent

Words = Callable[[str], str]
"""Takes the text of a reply so far, and returns the words of the answer in it."""
_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


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
    begin = text.find("{")
    if begin < 0:
        return {}, None
    try:
        members: dict[str, Any] = json.JSONDecoder().raw_decode(text, begin)[0]
    except (ValueError, RecursionError):
        pass
    else:
        return members, None
    data = text[begin:].encode("utf-8", "surrogatepass")
    try:
        complete = jiter.from_json(data, partial_mode="on")
        shown = jiter.from_json(data, partial_mode="trailing-strings")
    except ValueError:
        return {}, None
    unfinished = [
        (name, value)
        for name, value in shown.items()
        if isinstance(value, str) and name not in complete
    ]
    return complete, unfinished[0] if unfinished else None
