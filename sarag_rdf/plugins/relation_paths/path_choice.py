"""A model picks among the best relation paths of a question; their ends are the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sarag_rdf.answering.conversation import Conversation, ReasonerStrategy
from sarag_rdf.answering.single import Single
from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.options import MAX_COUNT, max_tokens_option, option
from sarag_rdf.base.prompts import Prompts, object_of, one_of
from sarag_rdf.base.types import Answer, RelationPath
from sarag_rdf.plugins.relation_paths.exclusive_values import holding
from sarag_rdf.plugins.relation_paths.path_answers import looked_up
from sarag_rdf.plugins.relation_paths.paths import LEAST, Paths, PathSearch
from sarag_rdf.plugins.relation_paths.tense import (
    is_present_tense,
)

PROMPTS: Final = Prompts(Path(__file__).with_name("prompts"))
_SHOWN: Final = 4
"""Answers of a path that the model is shown."""


@dataclass(frozen=True, kw_only=True)
class PathChoice(ReasonerStrategy):
    """One call; none if no other path is within the margin. Without a path, passages answer.

    The trace has a note ``paths`` with the paths and the one that was chosen, and why: where the
    reply cannot be used, it is the first.
    """

    name = "path-choice"
    prompts = PROMPTS
    paths: int = option(
        5, "Number of paths to choose from, the best ones that lead anywhere.", ge=1, le=20
    )
    margin: float = option(
        3.0,
        "Largest distance in score from the best path; paths beyond it are not offered. If only "
        "the best is left, the model is not called.",
        ge=0.0,
        le=MAX_COUNT,
    )
    hops: int = option(3, "Maximum number of properties in a path.", ge=1, le=3)
    least: float = option(
        LEAST,
        "Least probability that a path says what is asked: less probable ones are not offered.",
        ge=0.0,
        le=1.0,
    )
    documents: int = option(
        10, "Maximum number of documents that are cited with the answer.", ge=1, le=100
    )
    model: str = option("", "A file by 'evaluate fit-paths', in place of the packaged model.")
    max_tokens: int = max_tokens_option(512)

    def answer(self, talk: Conversation) -> Answer:
        most, limit = self.paths, self.documents
        retriever = PathSearch(
            talk.view,
            Paths(
                hops=self.hops,
                followed=most,
                ranked=most,
                least=self.least,
                limit=limit,
                model=self.model,
            ),
        )
        topics, relation_paths = retriever.find(talk.query.text)
        followed = [path for path in relation_paths if path.answers]
        masked = topics[0].question if topics else ""
        paths, stated = holding(retriever, talk.query, followed, is_now=is_present_tense(masked))
        if not paths:
            problem = retriever.problem(topics, relation_paths)
            talk.say("note", "paths", {"paths": [], "chosen": 0, "problem": problem})
            return Single(max_tokens=self.max_tokens).answer(talk)
        paths = [path for path in paths if path.score >= paths[0].score - self.margin]
        number, problem = self._chosen(talk, paths)
        records = [
            {"text": p.text, "score": p.score, "sparql": p.sparql, "answers": len(p.answers)}
            for p in paths
        ]
        talk.say("note", "paths", {"paths": records, "chosen": number, "problem": problem})
        chosen = paths[number - 1]
        others = [path for path in paths if path is not chosen]
        found = looked_up(retriever, talk.query, topics, [chosen], stated, others, self.name)
        talk.add(found.evidence)
        return found.answer(talk)

    def _chosen(self, talk: Conversation, paths: Sequence[RelationPath]) -> tuple[int, str]:
        """The number of a path, from 1, and what was wrong with the reply."""
        if len(paths) == 1:
            return 1, ""
        topics = list(dict.fromkeys(path.topic_name for path in paths))
        shown = []
        for number, path in enumerate(paths, start=1):
            names = "; ".join(answer.name for answer in path.answers[:_SHOWN])
            more = len(path.answers) - _SHOWN
            answers = f"{names}; and {more} more" if more > 0 else names
            text = path.text if len(topics) == 1 else f"{path.text} ({path.topic_name})"
            shown.append({"number": str(number), "text": text, "answers": answers})
        schema = object_of(path=one_of([path["number"] for path in shown]))
        try:
            reply = talk.call(
                "choose_path",
                schema,
                max_tokens=self.max_tokens,
                topic=" or ".join(topics),
                paths=shown,
            )
            return int(reply["path"]), ""
        except (TruncatedReplyError, UnparsableReplyError) as error:
            return 1, str(error)
