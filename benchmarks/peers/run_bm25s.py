"""BM25 by bm25s, with its stop words and the English stemmer that its documentation uses."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import Stemmer

from benchmarks.peers.exchange import DEPTH, Ask, Question, Task, run


def build(task: Task) -> Ask:
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    texts = [passage.full for passage in task.passages]
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
    index.index(tokens, show_progress=False)
    count = min(DEPTH, len(texts))

    def ask(question: Question) -> Sequence[int]:
        words = bm25s.tokenize(question.text, stopwords="en", stemmer=stemmer, show_progress=False)
        best, _ = index.retrieve(words, k=count, show_progress=False)
        numbers: list[int] = best[0].tolist()
        return numbers

    return ask


if __name__ == "__main__":
    run(build, "bm25s")
