"""Small corpora that are the same every time, with what an extractor finds in them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

NAMES = (
    *("Ada", "Boris", "Clara", "Dora", "Emil", "Frida", "Georg", "Hanna", "Ivo", "Jana", "Karl"),
    *("Lena", "Max", "Nora", "Otto", "Paula", "Ravi", "Sofia", "Tom", "Uma", "Vera", "Willi"),
)
PLACES = ("Ulm", "Oslo", "Rome", "Tulcea", "Vienna", "Graz", "Basel", "Lyon", "Porto", "Riga")
_DEEDS = ("founded", "wrote to", "taught", "met", "visited")


def openie_corpus(folder: Path, *, count: int, changed: int = 0, old: int = 0) -> None:
    """`count` documents in ``docs/``, and what they say in ``openie.json``, in both versions.

    The first `changed` documents say something else than they do with 0, the first `old` lie in
    ``docs/old/``.
    """
    docs = folder / "docs"
    (docs / "old").mkdir(parents=True, exist_ok=True)
    entries = []
    for number in range(count):
        for version in (0, 1):
            entry = _entry(number, version)
            entries.append(entry)
            if version == (number < changed):
                place = docs / "old" if number < old else docs
                (place / f"{number:04}.txt").write_text(entry["text"], encoding="utf-8")
    text = json.dumps({"docs": entries}, indent=1)
    (folder / "openie.json").write_text(text, encoding="utf-8")


def _entry(number: int, version: int) -> dict[str, Any]:
    chance = random.Random(f"{number} {version}")
    one, other = chance.sample(NAMES, 2)
    person = f"{one} Number{number % 97}"
    place = chance.choice(PLACES)
    deed = chance.choice(_DEEDS)
    return {
        "text": f"{person} {deed} {other} in {place}. Paper {number} of version {version}.",
        "extracted_entities": [person, other, place],
        "extracted_triples": [[person, deed, other], [person, "was in", place]],
    }


def triples(path: Path, count: int) -> None:
    """A file of `count` items with names and links as N-Triples: about four lines an item."""
    chance = random.Random(0)
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    comment = "<http://www.w3.org/2000/01/rdf-schema#comment>"
    lines = []
    for number in range(count):
        item = f"<https://example.org/item/{number}>"
        other = f"<https://example.org/item/{chance.randrange(count)}>"
        name = f"{chance.choice(NAMES)} {number}"
        lines += [
            f'{item} {label} "{name}"@en .',
            f'{item} {comment} "{name} comes from {chance.choice(PLACES)}."@en .',
            f"{item} <https://example.org/knows> {other} .",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
