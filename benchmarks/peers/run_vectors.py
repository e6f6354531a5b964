"""Similarity alone: the passages whose vectors are nearest to that of the question, by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.peers.exchange import DEPTH, Ask, Question, Task, run


def build(task: Task) -> Ask:
    vectors = task.embed([passage.full for passage in task.passages])

    def ask(question: Question) -> Sequence[int]:
        similarities = vectors @ task.embed([question.text])[0]
        best: list[int] = np.argsort(-similarities, kind="stable")[:DEPTH].tolist()
        return best

    return ask


if __name__ == "__main__":
    run(build, "numpy")
