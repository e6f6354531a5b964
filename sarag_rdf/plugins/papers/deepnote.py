"""DeepNote: a note that further searches improve, as long as they do.

Wang et al., DeepNote: Note-Centric Deep Retrieval-Augmented Generation (arXiv 2410.08821). With
`facts` it is the plug-in of KG-Infused RAG (its appendix G): statements of a graph are selected and
summarised once, and worked into the note in each turn; queries are refined as without.
"""

from __future__ import annotations

from dataclasses import dataclass

from sarag_rdf.answering.conversation import NO_EVIDENCE, Conversation, citations_of
from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.options import MAX_COUNT, MAX_HOPS, max_tokens_option, option
from sarag_rdf.base.prompts import boolean, object_of
from sarag_rdf.base.types import Answer, Context
from sarag_rdf.plugins.papers.decompose import joined
from sarag_rdf.plugins.papers.kg_infused import WithFacts, text_reply


@dataclass(frozen=True, kw_only=True)
class DeepNote(WithFacts):
    """3 `steps` + 2 calls at most; with `facts` 4 `steps` + `rounds` + 4.

    Ends early with an empty or repeated query, and after `failures` notes that were no better.
    """

    name = "deepnote"
    steps: int = option(
        3, "Maximum number of further searches, each with three calls.", ge=1, le=MAX_HOPS
    )
    failures: int = option(
        2, "Number of searches that may leave the note as it is.", ge=1, le=MAX_HOPS
    )
    passages: int = option(6, "Maximum number of documents that a search adds.", ge=1, le=MAX_COUNT)
    max_tokens: int = max_tokens_option(1024)

    def answer(self, talk: Conversation) -> Answer:
        """The answer cites the documents that contain it; without documents there is no note."""
        context = talk.gather(limit=self.passages).context
        if context.is_empty:
            return talk.answer("", reasoning=NO_EVIDENCE)
        summary = self.infusion.summary(talk) if self.facts else ""
        note = self._with_facts(talk, self.infusion.passage_note(talk, context), summary)
        queries, failures = [talk.question], 0
        for _ in range(self.steps):
            refined = self._refined(talk, note, queries)
            if not refined:
                break
            queries.append(refined)
            further = talk.gather(refined, limit=self.passages).context
            updated = self._with_facts(talk, self._updated(talk, note, further), summary)
            if self._is_better(talk, note, updated):
                note, context = updated, joined(context, further)
                continue
            failures += 1
            if failures == self.failures:
                break
        text = self.infusion.bare_answer(talk, note)
        return talk.answer(text, reasoning=note, citations=citations_of(text, context))

    def _with_facts(self, talk: Conversation, note: str, summary: str) -> str:
        return self.infusion.augmented(talk, None, note, summary) if summary else note

    def _refined(self, talk: Conversation, note: str, queries: list[str]) -> str:
        """A query for what the note lacks; empty if it is one of the `queries`."""
        values = {"max_tokens": 200, "note": note, "queries": queries}
        query = text_reply(talk, "refine_query", "query", 300, **values)
        known = {normalize_name(text) for text in queries}
        return "" if normalize_name(query) in known else query

    def _updated(self, talk: Conversation, note: str, context: Context) -> str:
        if context.is_empty:
            return note
        values = {"context": context, "max_tokens": self.max_tokens, "note": note}
        return text_reply(talk, "update_note", "note", **values) or note

    def _is_better(self, talk: Conversation, note: str, updated: str) -> bool:
        if updated == note:
            return False
        schema = object_of(second_is_better=boolean())
        reply = talk.call("compare_notes", schema, max_tokens=50, first=note, second=updated)
        return bool(reply["second_is_better"])
