"""The steps shared by all reasoners: gather evidence, call the model, record usage, answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sarag_rdf.fence import fence_for, restored
from sarag_rdf.iris import normalize_name
from sarag_rdf.json_schema import array_of, one_of, string
from sarag_rdf.ports import LLM, Gather
from sarag_rdf.resources import render_prompt
from sarag_rdf.types import (
    Activation,
    Answer,
    Citation,
    Context,
    Evidence,
    Query,
    Retrieved,
    Stage,
    Subgraph,
    Usage,
)

INSUFFICIENT: Final = "insufficient information"
"""The text of an `Answer` if the evidence is not sufficient."""
NO_DOCUMENT: Final = "No document was found, or none fits the budget."
NOTHING: Final = Context(())
_FENCE = 8
_ABSTENTIONS = {
    normalize_name(text)
    for text in (
        *("", INSUFFICIENT, "insufficient", "unknown", "not known", "n/a", "none"),
        *("I do not know", "I don't know", "not enough information"),
        *("not mentioned", "not specified"),
    )
}


def final_properties(context: Context) -> dict[str, Any]:
    """The last properties of a reply: sufficiency, answer, and citations of the context."""
    labels = list(context.excerpts)
    cited = {"citations": array_of(one_of(labels), 2 * len(labels))}
    return {
        "sufficient": {"type": "boolean"},
        "final_answer": string(300),
        **(cited if labels else {}),
    }


def abstains(text: str) -> bool:
    """Whether the text of an answer states that there is no answer."""
    return normalize_name(text.strip(" .!\"'")) in _ABSTENTIONS


class Conversation:
    """The evidence, calls and costs of one question."""

    def __init__(self, query: Query, gather: Gather, llm: LLM) -> None:
        self.query = query
        self._gather = gather
        self._llm = llm
        self._evidence: list[Evidence] = []
        self._trace: list[Stage] = []
        self._usage = Usage()
        self._activations: list[Activation] = []

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
        **values: Any,
    ) -> dict[str, Any]:
        """Ask the model with ``prompts/<prompt>.j2``; raises an `EndpointError`.

        The template is given the question or a sub-question, the context's sections, a fence
        that occurs in none of the texts, and `values`.
        """
        text = prompt_text(prompt, question or self.question, context, **values)
        reply = self._llm.complete(text, schema, name=prompt, max_tokens=max_tokens)
        self._usage += reply.usage
        data: dict[str, Any] = restored(reply.data)
        self._trace.append(Stage("call", prompt, data, text))
        return data

    def say(self, kind: Any, name: str, detail: Mapping[str, Any]) -> None:
        """Add a retrieval or a note to the trace."""
        self._trace.append(Stage(kind, name, detail))

    def answer(
        self,
        text: str,
        *,
        reasoning: str = "",
        citations: Sequence[Citation] = (),
        sufficient: bool = True,
    ) -> Answer:
        """The answer, with its evidence, usage and trace."""
        bare = " ".join(text.split())
        answered = sufficient and not abstains(bare)
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
        )

    def answer_from(self, reply: Mapping[str, Any], context: Context, reasoning: str) -> Answer:
        """The answer of a reply with `final_properties`."""
        excerpts = context.excerpts
        return self.answer(
            reply["final_answer"],
            reasoning=reasoning,
            citations=[excerpts[label].citation for label in reply.get("citations", ())],
            sufficient=reply["sufficient"],
        )

    def _retrieved(self) -> Retrieved:
        for evidence in self._evidence:
            if evidence.retrieved.query.text == self.query.text:
                return evidence.retrieved
        return Retrieved(self.query, "none", {}, (), (), (), (), Subgraph((), {}, ()))


def from_evidence(
    query: Query, gather: Gather, llm: LLM, step: Callable[[Conversation, Context], Answer]
) -> Answer:
    """Retrieve once, and answer by `step`; no call is made without documents."""
    talk = Conversation(query, gather, llm)
    context = talk.gather().context
    if not context.excerpts:
        return talk.answer("", reasoning=NO_DOCUMENT)
    return step(talk, context)


def format_facts(facts: Sequence[Mapping[str, str]]) -> str:
    """Questions with their answers, one line each."""
    return "\n".join(f"{fact['question']} {fact['answer']}" for fact in facts)


def prompt_text(prompt: str, question: str, context: Context, **values: Any) -> str:
    """Render ``prompts/<prompt>.j2`` with all data inside a fence."""
    given = [text for value in values.values() for text in _strings(value)]
    return render_prompt(
        prompt,
        question=question,
        sections=context.sections,
        fence=fence_for(question, *context.texts, *given, length=_FENCE),
        **values,
    )


def citations_of(answer: str, context: Context) -> list[Citation]:
    """Citations of the excerpts that contain an answer word for word."""
    wanted = f" {normalize_name(answer)} "
    return [
        excerpt.citation
        for excerpt in context.excerpts.values()
        if wanted.strip() and wanted in f" {normalize_name(excerpt.titled_text)} "
    ]


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, Sequence):
        return [text for item in value for text in _strings(item)]
    return []
