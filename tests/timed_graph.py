"""A graph of statements that hold at times, read without a parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source, Value
from sarag_rdf.base.vocab import COMMON, XSD
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import BASE

MUSEUM, IDA, KARL, PRIZE = (
    f"{BASE}entity/{name}" for name in ("thule_museum", "ida_brandt", "karl_holm", "arctic_prize")
)
SOURCES = (
    Source(
        "Ida Brandt was director of the Thule Museum from 1919 to May 1937. Karl Holm has been "
        "director of the Thule Museum since 1938. Karl Holm received the Arctic Prize in 1940.",
        "Thule Museum",
        "museum.txt",
    ),
)


class TimedExtractor:
    """Three statements with times: two directors of a museum, and a prize."""

    method = Method("timed", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        people = tuple(Mention(name, "person") for name in ("Ida Brandt", "Karl Holm"))
        others = Mention("Thule Museum", "organization"), Mention("Arctic Prize")
        head = COMMON.head.value
        relations = (
            Relation(
                *("Ida Brandt", "was director of", "Thule Museum", "Ida Brandt was director"),
                predicate=head, inverse=True, start=year("1919"), end=year("1937-05"),
            ),
            Relation(
                *("Karl Holm", "was director of", "Thule Museum", "Karl Holm was director"),
                predicate=head, inverse=True, start=year("1938"),
            ),
            Relation(
                *("Karl Holm", "received", "Arctic Prize", "Karl Holm received the Arctic Prize"),
                predicate=COMMON.awardReceived.value, at=year("1940"),
            ),
        )  # fmt: skip
        for _ in documents:
            yield Extraction((*people, *others), relations)


def year(text: str) -> Value:
    """A year or a month."""
    return Value(text, text, (XSD.gYearMonth if "-" in text else XSD.gYear).value)


def timed_graph(folder: Path, embedder: Embedder | None = None) -> Path:
    """The graph in a folder."""
    with sarag_rdf.open(folder, embedder=embedder or HashEmbedder(), endpoint=None) as kg:
        kg.index(SOURCES, extractor=TimedExtractor())
    return folder
