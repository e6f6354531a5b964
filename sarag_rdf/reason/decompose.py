"""Query decomposition (SA-RAG, arXiv 2512.15922, section 4 and appendix A, Listing 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sarag_rdf.errors import UsageError
from sarag_rdf.iris import normalize_name
from sarag_rdf.json_schema import array_of, object_of, string
from sarag_rdf.options import MAX_HOPS, Options, max_tokens_option, option
from sarag_rdf.ports import LLM, Gather
from sarag_rdf.reason.conversation import NO_DOCUMENT, NOTHING, Conversation, abstains, format_facts
from sarag_rdf.reason.single import brief_answer, looked_up, reasoned_answer
from sarag_rdf.types import Answer, Citation, Context, Excerpt, Query, Section

_REFERENCE = re.compile(r"#(\d+)")


@dataclass(frozen=True, kw_only=True)
class DecomposeOptions(Options):
    """Options of `Decompose`."""

    name = "decompose"
    most: int = option(4, "Maximum number of sub-questions.", ge=1, le=MAX_HOPS)
    merge: bool = option(
        False,
        "Do not answer the last sub-question by itself: its evidence joins that of the question.",
    )
    chain: bool = option(
        False, "Return the answer of the last sub-question; the whole question is not searched for."
    )
    brief: bool = option(False, "Ask for the bare answer, without reasoning; suits small models.")
    max_tokens: int = max_tokens_option(1024)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.merge and self.chain:
            raise UsageError(
                "decompose: merge and chain exclude each other: merged, the last sub-question has "
                "no answer of its own"
            )


class Decompose:
    """Splits the question, answers the sub-questions in order, then the whole question.

    Each sub-question, with the answers that it refers to in the place of its references, is
    retrieved for and answered briefly. The whole is answered from evidence for the question and
    from what was found. At most `most` sub-questions, so `most` + 2 calls; with `merge` the last
    sub-question is not answered by itself: its evidence joins that of the question, which saves
    a call. With `chain` the answer of the last sub-question is that of the whole, so `most` + 1
    calls: a small model reads one fact from little context better than it joins several.
    """

    options = DecomposeOptions

    def __init__(self, gather: Gather, llm: LLM, options: DecomposeOptions | None = None) -> None:
        self._gather, self._llm = gather, llm
        self._options = options or DecomposeOptions()

    def answer(self, query: Query) -> Answer:
        talk = Conversation(query, self._gather, self._llm)
        questions = self._split(talk)
        facts: list[dict[str, str]] = []
        answers: list[str] = []
        citations: list[Citation] = []
        kept = questions[:-1] if self._options.merge else questions
        for question in kept if len(questions) > 1 else ():
            asked = substituted(question, answers)
            answer, cited = looked_up(talk, asked)
            facts.append({"question": asked, "answer": answer})
            answers.append("" if abstains(answer) else answer)
            citations += cited
        if self._options.chain and answers:
            return talk.answer(answers[-1], reasoning=format_facts(facts), citations=citations)
        context = talk.gather().context
        if self._options.merge and len(questions) > 1:
            asked = substituted(questions[-1], answers)
            context = joined(talk.gather(asked).context if asked else NOTHING, context)
        known = [fact for fact in facts if not abstains(fact["answer"])]
        if not context.excerpts:
            return talk.answer("", reasoning=NO_DOCUMENT)
        if self._options.brief:
            return brief_answer(talk, context, known)
        return reasoned_answer(talk, context, known, max_tokens=self._options.max_tokens)

    def _split(self, talk: Conversation) -> list[str]:
        most = self._options.most
        schema = object_of(questions=array_of(string(200), most, min_items=1))
        reply = talk.call("decompose", schema, max_tokens=60 * most, most=most)
        return chain_of(reply["questions"], talk.question)


def chain_of(questions: Sequence[str], whole: str) -> list[str]:
    """The valid sub-questions: no duplicates, none empty, and the whole question only at the end.

    References are renumbered to the remaining questions.

    >>> chain_of(["Who is it?", "Who is it?", "Where was #1 born?"], "Where was it born?")
    ['Who is it?', 'Where was #1 born?']
    >>> chain_of(["Who?", "Who?", "Where was #2?", "Was it #3?"], "Where was it born?")
    ['Who?', 'Where was #1?', 'Was it #2?']
    >>> chain_of(["Where was it born?", "Who is it?"], "Where was it born?")
    ['Who is it?', 'Where was it born?']
    """
    bare = [" ".join(question.split()) for question in questions]
    places: dict[str, int] = {}
    for question in filter(None, bare):
        if normalize_name(question) != normalize_name(whole):
            places.setdefault(question, len(places) + 1)
    if not places.keys() >= set(filter(None, bare)):
        return [*(question for question in places if not _REFERENCE.search(question)), whole]

    def place(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"#{places.get(bare[number - 1], 0) if 0 < number <= len(bare) else 0}"

    return [_REFERENCE.sub(place, question) for question in places] or [whole]


def substituted(question: str, answers: Sequence[str]) -> str:
    """A question with ``#1`` replaced by the first answer, or by nothing if there is none.

    >>> substituted("When did #2 join #1?", ["Ulm", "Ada"])
    'When did Ada join Ulm?'
    """

    def answer(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        return answers[place] if 0 <= place < len(answers) else ""

    return " ".join(_REFERENCE.sub(answer, question).split())


def joined(first: Context, second: Context) -> Context:
    """Both contexts merged and relabelled; a document in both appears once, with all its spans."""
    shown: dict[str, set[tuple[int, int]]] = {}
    for excerpt in (*first.excerpts.values(), *second.excerpts.values()):
        shown.setdefault(excerpt.document.iri, set()).update(excerpt.spans)
    sections: list[Section] = []
    number = 0
    for section in (*first.sections, *second.sections):
        excerpts = {}
        for excerpt in section.excerpts.values():
            spans = shown.pop(excerpt.document.iri, None)
            if spans is not None:
                number += 1
                excerpts[f"D{number}"] = Excerpt(excerpt.document, tuple(sorted(spans)))
        if excerpts or section.relationships:
            sections.append(Section(section.heading, excerpts, section.relationships))
    return Context(tuple(sections), first.tokens + second.tokens, second.builder)
