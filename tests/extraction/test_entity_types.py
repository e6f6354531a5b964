"""Types that extractors call by other names are taken for the nearest one, and counted."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

import sarag_rdf
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import ENTITY_TYPES, Document, Extraction, Mention, Method, Source
from sarag_rdf.extraction.names import nearest_type
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.fault_server import completion, playing

LABELS = {
    "person": (
        *("person", "PERSON", "Persons", "PER", "B-PER", "people", "schema:Person", "humans"),
        *("https://schema.org/Person", "historical figure", "women"),
    ),
    "organization": ("ORG", "Company", "companies", "political_party", "NewsAgency", "group"),
    "geopolitical": ("GPE", "LOC", "Location", "cities", "I-LOC", "Country", "sovereign state"),
    "time": ("DATE", "date", "TIME", "years", "founding date", "HistoricalPeriod"),
    "misc": ("Mineral", "MISC", "event", "", "?", "work of art", "组织"),
}
MINERAL = "https://example.org/minerals#Mineral"
TEXT = "Quartz is found near Ulm. Ada Byron described Quartz."


class Minerals:
    """A caller's own extractor with types of its own."""

    method = Method("minerals", "none")

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        for _ in documents:
            types = {"Quartz": "Mineral", "Ulm": "City", "Ada Byron": "person"}
            mentions = [Mention(n, t) for n, t in types.items()]  # type: ignore[arg-type]
            yield Extraction((replace(mentions[0], classes=(MINERAL,)), *mentions[1:]))


@pytest.mark.parametrize(
    ("label", "type_"), [(label, type_) for type_, labels in LABELS.items() for label in labels]
)
def test_the_nearest_type(label: str, type_: str) -> None:
    assert nearest_type(label) == type_


def test_a_type_that_is_known_stays() -> None:
    assert [nearest_type(type_) for type_ in ENTITY_TYPES] == list(ENTITY_TYPES)


def types(kg: KnowledgeGraph) -> dict[str, str]:
    text = """PREFIX sarag: <https://w3id.org/sarag/ontology#>
        SELECT ?name ?type { ?use sarag:name ?name ; sarag:entityType ?type }"""
    return {name.value: type_.value for name, type_ in kg.query(text).rows}  # type: ignore[union-attr]


WANTED = {"Quartz": "misc", "Ulm": "geopolitical", "Ada Byron": "person"}


def test_of_an_extractor_of_ones_own(caplog: pytest.LogCaptureFixture) -> None:
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        with caplog.at_level(logging.WARNING, "sarag_rdf"):
            report = kg.index(Source(TEXT), extractor=Minerals())
        assert (report.added, report.quarantined, report.problems) == (1, 0, [])
        assert report.unknown_types == Counter({"City": 1, "Mineral": 1})
        [line] = [record.message for record in caplog.records if "types" in record.message]
        assert "'City' as geopolitical (1), 'Mineral' as misc (1)" in line
        assert types(kg) == WANTED
        assert kg.query(f"ASK {{ <{Minter().entity('quartz')}> a <{MINERAL}> }}") is True
        assert kg.validate().conforms


def reply() -> str:
    given = {"Quartz": "MINERAL", "Ulm": "CITY", "Ada Byron": "PER"}
    return json.dumps(
        {
            "entities": [
                {"name": name, "type": type_, "aliases": [], "information": ""}
                for name, type_ in given.items()
            ]
        }
    )


def test_of_a_model_that_no_schema_binds() -> None:
    """A server that ignores the schema: one reply to each question, and none has to be repaired."""
    answers = [completion(reply()), completion('{"relationships": []}')]
    with (
        playing(*answers) as server,
        sarag_rdf.open(
            None, embedder=HashEmbedder(), endpoint=ModelEndpoint(server.base_url, "small")
        ) as kg,
    ):
        report = kg.index(Source(TEXT), extractor="llm")
        assert (report.added, report.quarantined, report.problems) == (1, 0, [])
        assert report.unknown_types == Counter({"MINERAL": 1, "CITY": 1, "PER": 1})
        assert len(server.requests) == 2
        assert types(kg) == WANTED
