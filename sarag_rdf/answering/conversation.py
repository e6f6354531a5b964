"""The evidence, calls and costs of one question, and what all reasoners share."""

from __future__ import annotations

import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Final

import jiter

from sarag_rdf.answering.confidence import Calibration, packaged, read_calibration, support
from sarag_rdf.base import plugins
from sarag_rdf.base.errors import PluginError, UsageError
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import LLM, Gather, Reply, StreamingLLM
from sarag_rdf.base.prompts import (
    CORE_PROMPTS,
    Prompts,
    array_of,
    fence_for,
    one_of,
    restored,
    string,
)
from sarag_rdf.base.redaction import redacted_data
from sarag_rdf.base.types import (
    Activation,
    Answer,
    AnswerEvent,
    Citation,
    Context,
    Evidence,
    Fact,
    OnEvent,
    Query,
    Retrieved,
    Stage,
    Subgraph,
    Usage,
)
from sarag_rdf.retrieval.view import GraphView

log = logging.getLogger(__name__)

INSUFFICIENT: Final = "insufficient information"
"""The text of an `Answer` if the evidence is not sufficient."""
NO_EVIDENCE: Final = "Nothing was found, or nothing that was found fits the budget."
NOTHING: Final = Context(())
IF_SUFFICIENT: Final[Mapping[str, bool]] = {"sufficient": True}
"""The condition under which ``final_answer`` of `final_properties` is the answer."""
_FENCE = 8
_WORDS = set(map(normalize_name, ("unknown", "none", "n/a")))
"""Abstentions that may be names, such as that of a film, in an answer with citations."""
_ABSTENTIONS = _WORDS.union(
    map(
        normalize_name,
        (
            *("", INSUFFICIENT, "insufficient", "not enough information", "not known"),
            *("I do not know", "I don't know", "not mentioned", "not specified"),
        ),
    )
)


def final_properties(context: Context, condition: str = "sufficient") -> dict[str, Any]:
    """The last properties of a reply: a condition, answer, and citations of the context."""
    labels = list(context.excerpts)
    cited = {"citations": array_of(one_of(labels), 2 * len(labels))} if labels else {}
    return {condition: {"type": "boolean"}, "final_answer": string(300), **cited}


def answer_so_far(text: str, conditions: Mapping[str, bool]) -> str:
    """The answer in a reply that is still being written, in whole words; empty if there is none.

    There is none before its `conditions` are met, and while it may become an abstention.
    """
    members, pending = partial_object(text)
    if any(members.get(name) is not value for name, value in conditions.items()):
        return ""
    is_open = pending is not None and pending[0] == "final_answer"
    final = pending[1] if pending and is_open else members.get("final_answer")
    if not isinstance(final, str):
        return ""
    words = restored(final).split()
    if not is_open:
        return "" if abstains(" ".join(words)) else " ".join(words)
    answer = " ".join(words if final[-1:].isspace() else words[:-1])
    begun = _normalized(answer)
    return "" if any(text.startswith(begun) for text in _ABSTENTIONS) else answer


def abstains(text: str) -> bool:
    """Whether the text of an answer states that there is no answer."""
    return _normalized(text) in _ABSTENTIONS


def _normalized(answer: str) -> str:
    return normalize_name(answer.strip(" .!\"'"))


class Conversation:
    """The evidence, calls and costs of one question, and the graph that it is about."""

    def __init__(
        self,
        query: Query,
        gather: Gather,
        llm: LLM,
        view: GraphView | None = None,
        prompts: Prompts = CORE_PROMPTS,
    ) -> None:
        """`prompts` are those of the reasoner; the core's are among them."""
        self.query = query
        self._prompts = prompts
        self._view = view
        self._gather = gather
        self._llm = llm
        self._evidence: list[Evidence] = []
        self._trace: list[Stage] = []
        self._usage = Usage()
        self._activations: list[Activation] = []
        self._facts: list[Fact] = []
        self._followed = llm if isinstance(llm, FollowedLLM) else None

    @property
    def view(self) -> GraphView:
        """The graph, for a reasoner that reads more of it than what `gather` returns."""
        if self._view is None:
            raise UsageError("this reasoner reads the graph: give the conversation its view")
        return self._view

    @property
    def question(self) -> str:
        """The question on one line."""
        return " ".join(self.query.text.split())

    @property
    def last_step(self) -> int:
        """The place of the last step in the trace."""
        return len(self._trace) - 1

    def remember(self, activation: Activation) -> None:
        """Add the activation memory of the question, or of a sub-question."""
        self._activations.append(activation)

    def gather(self, text: str | None = None, *, limit: int | None = None) -> Evidence:
        """Retrieve for the question, or for another text, at most `limit` documents."""
        query = self.query if text is None else replace(self.query, text=" ".join(text.split()))
        query = query if limit is None else replace(query, limit=limit)
        evidence = self._gather(query)
        self.add(evidence)
        return evidence

    def look_up(self, name: str, text: str) -> Found | None:
        """What a lookup finds for the question or a part of it; who answers with it adds it.

        The name ``any`` is the first that finds something; without a graph nothing is found.
        Raises `UsageError` for an unknown name.
        """
        if self._view is None:
            return None
        query = replace(self.query, text=text)
        results = (lookup(self._view, query) for lookup in _lookups(name))
        return next(filter(None, results), None)

    def add_found(self, found: Found) -> None:
        """Add the evidence of what a lookup found, and a note to the trace."""
        self.add(found.evidence)
        text = found.evidence.retrieved.query.text
        self._facts.append(Fact(text, found.text, found.probability, is_looked_up=True))
        detail = {
            "question": text,
            "answers": [*found.names],
            "meaning": found.meaning,
            "probability": found.probability,
        }
        self.say("note", "lookup", detail)

    def add(self, evidence: Evidence) -> None:
        """Add evidence, and its retrieval to the trace."""
        self._evidence.append(evidence)
        detail = {
            "question": evidence.retrieved.query.text,
            "documents": [e.document.iri for e in evidence.context.excerpts.values()],
            "titles": [e.document.title for e in evidence.context.excerpts.values()],
            "tokens": evidence.context.tokens,
        }
        self.say("retrieval", evidence.retrieved.retriever, detail)

    def call(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        *,
        question: str | None = None,
        context: Context = NOTHING,
        max_tokens: int = 1024,
        final: Mapping[str, bool] | None = None,
        **values: Any,
    ) -> dict[str, Any]:
        """Ask the model with ``<prompt>.j2``; raises an `EndpointError`.

        The template is given the question or a sub-question, the context's sections, a fence
        that occurs in none of the texts, and `values`. `final` says that the ``final_answer`` of
        the reply is the answer to the question if these properties have these values: who follows
        the answer then reads it while it is written.
        """
        asked = question or self.question
        text = prompt_text(prompt, asked, context, prompts=self._prompts, **values)
        words = None if final is None else partial(answer_so_far, conditions=final)
        followed: dict[str, Any] = {"words": words} if self._followed else {}
        reply = self._llm.complete(text, schema, name=prompt, max_tokens=max_tokens, **followed)
        self._usage += reply.usage
        data: dict[str, Any] = restored(reply.data)
        if (answer := " ".join(str(data.get("final_answer", "")).split())) and not context.is_empty:
            self._facts.append(Fact(asked, answer, support(asked, answer, context)))
        self._record(Stage("call", prompt, data, text))
        return data

    def say(self, kind: Any, name: str, detail: Mapping[str, Any]) -> None:
        """Add a retrieval or a note to the trace."""
        self._record(Stage(kind, name, detail))

    def _record(self, stage: Stage) -> None:
        self._trace.append(stage)
        if self._followed is not None:
            self._followed.tell(AnswerEvent("step", stage.name, stage=stage))

    def answer(
        self,
        text: str,
        *,
        reasoning: str = "",
        citations: Sequence[Citation] = (),
        sufficient: bool = True,
        is_cited: bool = False,
    ) -> Answer:
        """The answer, with its evidence, usage and trace.

        With `is_cited`, the model itself cites documents with it: "None" and "Unknown" are then
        names of things.
        """
        bare = " ".join(text.split())
        is_name = is_cited and _normalized(bare) in _WORDS
        answered = sufficient and (is_name or not abstains(bare))
        return Answer(
            outcome="answered" if answered else "insufficient",
            text=bare if answered else INSUFFICIENT,
            reasoning=reasoning.strip(),
            citations=tuple(dict.fromkeys(citations)),
            retrieved=self._retrieved(),
            usage=self._usage,
            evidence=tuple(self._evidence),
            trace=tuple(self._trace),
            activations=tuple(self._activations),
            model=self._llm.model,
            facts=tuple(self._facts),
        )

    def answer_from(self, reply: Mapping[str, Any], context: Context, reasoning: str) -> Answer:
        """The answer of a reply with `final_properties`."""
        return self.answer(
            reply["final_answer"],
            reasoning=reasoning,
            citations=cited_in(reply, context),
            sufficient=reply["sufficient"],
            is_cited=bool(reply.get("citations")),
        )

    def _retrieved(self) -> Retrieved:
        for evidence in self._evidence:
            if evidence.retrieved.query.text == self.query.text:
                return evidence.retrieved
        return Retrieved(self.query, "none", {}, (), (), (), (), Subgraph((), {}, ()))


@dataclass(frozen=True, slots=True)
class Found:
    """What was found without a model: names of the answers, what they are, and the evidence.

    `probability` is that of being what is asked for.
    """

    names: Sequence[str]
    meaning: str
    probability: float
    evidence: Evidence

    @property
    def text(self) -> str:
        """All names as one answer."""
        return "; ".join(self.names)

    @property
    def citations(self) -> list[Citation]:
        """The excerpts of the evidence."""
        return [excerpt.citation for excerpt in self.evidence.context.excerpts.values()]

    def answer(self, talk: Conversation) -> Answer:
        """The answer to the question of a conversation, which has the evidence already."""
        return talk.answer(self.text, reasoning=self.meaning, citations=self.citations)


Lookup = Callable[[GraphView, Query], Found | None]
"""Answers a question from statements, without a model; an entry point of ``sarag_rdf.lookups``.

None where it is not sure. Raises `StoreError`, and `ModelError` from an embedding model.
"""


def _lookups(name: str) -> Iterator[Lookup]:
    """The named lookup, or any that can be loaded."""
    if name != "any":
        yield plugins.load("lookups", name)
        return
    for _, loaded in plugins.loadable("lookups"):
        if isinstance(loaded, PluginError):
            log.warning("%s", loaded)
        else:
            yield loaded


@dataclass(frozen=True, kw_only=True)
class ReasonerStrategy(Options, ABC):
    """Answers a question by a conversation with a model; its fields are its options.

    Subclasses are found by the entry points ``sarag_rdf.reasoners``. `prompts` is the folder of
    its templates.
    """

    prompts: ClassVar[Prompts] = CORE_PROMPTS
    least: float = option(
        0.0, "Least confidence of an answer; one that has less is withheld.", ge=0, le=1
    )
    calibration: str = option(
        "", "A file by 'evaluate confidence --calibration', in place of the packaged calibration."
    )

    @abstractmethod
    def answer(self, talk: Conversation) -> Answer:
        """Answer the question of `talk`. Raises `EndpointError`, or what retrieval raises."""

    def answer_without_model(self, talk: Conversation) -> Answer | None:  # noqa: ARG002 - a hook
        """The answer to a question that needs no model, where there is one."""
        return None

    @cached_property
    def calibrated(self) -> Calibration:
        """The calibration of its answers; raises `InputError` for a file of another form."""
        return read_calibration(Path(self.calibration)) if self.calibration else packaged()

    def rated(self, answer: Answer) -> Answer:
        """The answer with its confidence; insufficient if that is less than `least`."""
        if answer.outcome != "answered":
            return answer
        answer = replace(answer, confidence=self.calibrated.confidence(answer))
        if answer.confidence is None or answer.confidence >= self.least:
            return answer
        less = f"confidence {answer.confidence:.0%}, less than {self.least:.0%}"
        return replace(
            answer,
            outcome="insufficient",
            text=INSUFFICIENT,
            reasoning=f"withheld: {answer.text} ({less})\n{answer.reasoning}".strip(),
            citations=(),
        )


@dataclass(frozen=True, kw_only=True)
class FromEvidence(ReasonerStrategy):
    """Retrieves once, and answers by `step`; no call is made if nothing was found."""

    def answer(self, talk: Conversation) -> Answer:
        context = talk.gather().context
        if context.is_empty:
            return talk.answer("", reasoning=NO_EVIDENCE)
        return self.step(talk, context)

    @abstractmethod
    def step(self, talk: Conversation, context: Context) -> Answer:
        """The answer from a context that is not empty."""


def format_facts(facts: Sequence[Mapping[str, str]]) -> str:
    """Questions with their answers, one line each."""
    return "\n".join(f"{fact['question']} {fact['answer']}" for fact in facts)


def prompt_text(
    prompt: str,
    question: str,
    context: Context,
    *,
    prompts: Prompts = CORE_PROMPTS,
    **values: Any,
) -> str:
    """Render ``<prompt>.j2`` with all data inside a fence."""
    given = [text for value in values.values() for text in _strings(value)]
    return prompts.render(
        prompt,
        question=question,
        sections=context.sections,
        fence=fence_for(question, *context.texts, *given, length=_FENCE),
        **values,
    )


def citations_of(answer: str, context: Context) -> list[Citation]:
    """Citations of the excerpts that contain an answer word for word.

    Where none does, they are the sources of the descriptions and relationships that contain it.
    """
    requested = f" {normalize_name(answer)} "
    if not requested.strip():
        return []
    excerpts = [(excerpt.titled_text, excerpt.citation) for excerpt in context.excerpts.values()]
    facts = [pair for section in context.sections for pair in section.sources.items()]
    for texts in (excerpts, facts):
        if cited := [c for text, c in texts if requested in f" {normalize_name(text)} "]:
            return cited
    return []


def cited_in(reply: Mapping[str, Any], context: Context) -> list[Citation]:
    """The citations of a reply with `final_properties`; without labels those of its answer."""
    excerpts = context.excerpts
    if not excerpts:
        return citations_of(reply["final_answer"], context)
    return [excerpts[label].citation for label in reply.get("citations", ())]


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value
    is_several = isinstance(items, Iterable)
    return [text for item in items for text in _strings(item)] if is_several else []


Words = Callable[[str], str]
"""Takes the text of a reply so far, and returns the words of the answer in it."""
_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class NoModel:
    """An `sarag_rdf.base.ports.LLM` for what is answered without a model."""

    model = ""

    def complete(self, *_: Any, **__: Any) -> Reply:
        """Raises `UsageError`."""
        raise UsageError("no model endpoint is set: name one with --base-url")


class FollowedLLM:
    """An `sarag_rdf.base.ports.LLM` that reports its calls to a listener."""

    def __init__(self, llm: LLM, tell: OnEvent) -> None:
        self._llm, self.tell = llm, tell
        self._sent = ""

    @property
    def model(self) -> str:
        return self._llm.model

    def complete(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        *,
        name: str,
        max_tokens: int,
        words: Words | None = None,
    ) -> Reply:
        """Call the model; `words` of the answer are reported as they come, if it streams."""
        self.tell(AnswerEvent("call", name))
        if words is None or not isinstance(self._llm, StreamingLLM):
            return self._llm.complete(prompt, schema, name=name, max_tokens=max_tokens)

        def seen(text: str) -> None:
            self.show(words(text))

        return self._llm.stream(prompt, schema, name=name, max_tokens=max_tokens, seen=seen)

    def show(self, answer: str) -> None:
        """Report what is new in an answer, or withdraw what was reported before."""
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
    unfinished = ((k, v) for k, v in shown.items() if isinstance(v, str) and k not in complete)
    return complete, next(unfinished, None)
