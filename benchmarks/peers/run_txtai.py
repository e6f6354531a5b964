"""txtai's semantic graph: the passages most similar to the question, ranked by their centrality.

Its search returns the graph that joins these passages where they are similar to each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from txtai import Embeddings

from benchmarks.peers.exchange import DEPTH, Ask, Question, Task, Vectors, run

GRAPH = {"approximate": True}
"""Its default; without any setting there is no graph."""


def build(task: Task) -> Ask:
    def transform(texts: Sequence[str]) -> Vectors:
        return task.embed(list(texts))

    index = Embeddings(method="external", transform=transform, content=True, graph=GRAPH)
    index.index((p.number, p.full, None) for p in task.passages)

    def ask(question: Question) -> Sequence[int]:
        graph = index.search(question.text, DEPTH, graph=True)
        ranked = sorted(graph.centrality().items(), key=lambda item: -item[1])
        return [int(graph.attribute(node, "id")) for node, _ in ranked]

    return ask


if __name__ == "__main__":
    run(build, "txtai")
