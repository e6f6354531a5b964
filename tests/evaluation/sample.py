"""A corpus of nine passages and questions over it, in the formats of their data sets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PASSAGES = {
    "Ada Brandt": "Ada Brandt founded Orbis. Ada Brandt was born in Ulm.",
    "Orbis": "Orbis makes telescopes. Orbis has its seat in Linz.",
    "Ulm": "Ulm lies on the Danube. A minster stands in Ulm.",
    "Linz": "Linz lies in Austria. The mayor of Linz is Carla Mohr.",
    "Carla Mohr": "Carla Mohr studied law in Graz. Carla Mohr plays chess.",
    "Graz": "Graz lies on the Mur. Graz has a clock tower.",
    "Danube": "The Danube flows to the Black Sea. The Danube rises in the Black Forest.",
    "Mur": "The Mur flows into the Drava. The Mur rises in Salzburg.",
    "Chess": "Chess is a game for two. Chess has sixty-four squares.",
}
CORPUS = [{"title": title, "text": text} for title, text in PASSAGES.items()]
QUESTIONS = (
    ("q1", "On which river lies the birthplace of Ada Brandt?", "Danube", ["Ada Brandt", "Ulm"]),
    ("q2", "Who is the mayor of the seat of Orbis?", "Carla Mohr", ["Orbis", "Linz"]),
    (
        "q3",
        "Where did the mayor of the seat of Orbis study law?",
        "Graz",
        ["Orbis", "Linz", "Carla Mohr"],
    ),
)


def musique(
    questions: Any = QUESTIONS, *, shown: tuple[str, ...] = tuple(PASSAGES)
) -> list[dict[str, Any]]:
    """Questions as MuSiQue holds them; each shows all passages."""
    return [
        {
            "id": id_,
            "question": question,
            "answer": answer,
            "answer_aliases": [f"the {answer}"],
            "question_decomposition": [],
            "paragraphs": [
                {
                    "idx": place,
                    "title": title,
                    "paragraph_text": PASSAGES[title],
                    "is_supporting": title in support,
                }
                for place, title in enumerate(shown)
            ],
        }
        for id_, question, answer, support in questions
    ]


def sentences(title: str) -> list[str]:
    """As data sets cut them: all but the first begin with a blank."""
    first, second = PASSAGES[title].split(". ")
    return [f"{first}.", f" {second}"]


def hotpot() -> list[dict[str, Any]]:
    """Questions as HotpotQA and 2WikiMultiHopQA hold them."""
    return [
        {
            "_id": id_,
            "question": question,
            "answer": answer,
            "type": "bridge",
            "supporting_facts": [[title, 0] for title in support] + [[support[0], 1]],
            "context": [[title, sentences(title)] for title in PASSAGES],
        }
        for id_, question, answer, support in QUESTIONS
    ]


def columns(name: str) -> Iterator[dict[str, Any]]:
    """`hotpot` with objects of lists; sentences are called `name`."""
    for record in hotpot():
        titles, texts = zip(*record["context"], strict=True)
        marked, places = zip(*record["supporting_facts"], strict=True)
        facts = {"title": list(marked), "sent_id": list(places)}
        context = {"title": list(titles), name: list(texts)}
        yield {"id": record.pop("_id"), **record, "supporting_facts": facts, "context": context}


def is_sample(path: Path) -> bool:
    """Whether a file is still the corpus as `write` writes it."""
    return path.read_text("utf-8") == json.dumps(CORPUS, ensure_ascii=False) + "\n"


def write(path: Path, value: Any) -> Path:
    """Write JSON, or JSON Lines to a name that says so."""
    lines = value if path.suffix == ".jsonl" else [value]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path
