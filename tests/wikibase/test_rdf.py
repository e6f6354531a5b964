"""What no expectation of Wikibase's covers: skolem IRIs, normalised values, sites, bad values."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from sarag_rdf.base.errors import InputError
from sarag_rdf.plugins.wikibase.model import Entity
from sarag_rdf.plugins.wikibase.rdf import entity_triples
from sarag_rdf.plugins.wikibase.snak_values import date_time
from sarag_rdf.plugins.wikibase.vocabulary import GREGORIAN, JULIAN, Vocabulary

WD = "http://www.wikidata.org/"


def snak(property_id: str, kind: str = "", value: Any = None, **more: Any) -> dict[str, Any]:
    if kind in ("somevalue", "novalue"):
        return {"snaktype": kind, "property": property_id}
    held = {"type": kind, "value": value}
    return {"snaktype": "value", "property": property_id, "datavalue": held, **more}


def item(*snaks: dict[str, Any], **more: Any) -> Entity:
    claims: dict[str, list[Any]] = {}
    for place, main in enumerate(snaks):
        statement = {"id": f"Q1$s{place}", "mainsnak": main, "rank": "normal", **more}
        claims.setdefault(main["property"], []).append(statement)
    return Entity({"id": "Q1", "type": "item", "claims": claims})


def lines(entity: Entity, vocabulary: Vocabulary | None = None) -> set[str]:
    return {str(triple) for triple in entity_triples(entity, vocabulary or Vocabulary())}


def objects(entity: Entity, predicate: str, vocabulary: Vocabulary | None = None) -> set[str]:
    made = entity_triples(entity, vocabulary or Vocabulary())
    return {str(t.object) for t in made if t.predicate.value.endswith(predicate)}


def test_an_unknown_value_is_one_iri_wherever_it_stands() -> None:
    unknown = item(snak("P1", "somevalue"), qualifiers={"P2": [snak("P2", "somevalue")]})
    made = list(entity_triples(unknown, Vocabulary()))
    assert not any(isinstance(part, ox.BlankNode) for t in made for part in (t.subject, t.object))
    (direct,) = objects(unknown, "prop/direct/P1")
    assert objects(unknown, "prop/statement/P1") == {direct}
    assert objects(unknown, "prop/qualifier/P2") != {direct}
    assert direct.startswith(f"<{WD}.well-known/genid/")


def test_no_value_is_a_class_of_the_statement_and_of_the_item() -> None:
    none = {line for line in lines(item(snak("P1", "novalue"))) if "novalue/P1>" in line}
    assert {line.split()[0] for line in none} == {
        f"<{WD}entity/Q1>",
        f"<{WD}entity/statement/Q1-s0>",
    }


@pytest.mark.parametrize(
    ("text", "calendar", "precision", "expected"),
    [
        ("-0001-01-01T00:00:00Z", GREGORIAN, 11, "0000-01-01T00:00:00Z"),
        ("+1582-10-05T00:00:00Z", JULIAN, 11, "1582-10-15T00:00:00Z"),
        ("+1900-02-29T00:00:00Z", JULIAN, 11, "1900-03-13T00:00:00Z"),
        ("+1900-02-29T00:00:00Z", GREGORIAN, 11, "1900-02-28T00:00:00Z"),
        ("-0044-03-15T00:00:00Z", JULIAN, 11, "-0043-03-13T00:00:00Z"),
        ("+12026-05-06T00:00:00Z", GREGORIAN, 10, "12026-05-01T00:00:00Z"),
        ("yesterday", GREGORIAN, 11, None),
        ("+2000-13-01T00:00:00Z", GREGORIAN, 11, None),
    ],
)
def test_dates(text: str, calendar: str, precision: int, expected: str | None) -> None:
    assert date_time(text, calendar, precision) == expected


def test_points_elsewhere_and_urls_that_are_no_iris() -> None:
    moon = {"latitude": 0.5, "longitude": -7.0, "precision": None, "globe": f"{WD}entity/Q405"}
    (point,) = objects(item(snak("P1", "globecoordinate", moon)), "direct/P1")
    assert point.startswith(f'"<{WD}entity/Q405> Point(-7 0.5)"')
    bad = item(snak("P1", "string", "http://[half", datatype="url"))
    (url,) = objects(bad, "direct/P1")
    assert url == '"http://[half"^^<http://www.w3.org/2001/XMLSchema#anyURI>'


def test_pages_of_wikimedia() -> None:
    links = {
        name: {"site": name, "title": "Straße 1/2's"}
        for name in ("simplewiki", "de_formalwiki", "commonswiki", "dewiktionary", "ourwiki2")
    }
    made = lines(Entity({"id": "Q1", "type": "item", "sitelinks": links}))
    pages = {line.split()[0] for line in made if "schema.org/Article" in line}
    assert pages == {
        f"<https://{host}/wiki/Stra%C3%9Fe_1/2%27s>"
        for host in (
            "simple.wikipedia.org",
            "de-formal.wikipedia.org",
            "commons.wikimedia.org",
            "de.wiktionary.org",
        )
    }
    assert (
        '<https://simple.wikipedia.org/> <http://wikiba.se/ontology#wikiGroup> "wikipedia"' in made
    )
    assert any(line.endswith('"en-simple"') for line in made)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"id": "L1", "type": "lexeme"}, "only items and properties"),
        ({"id": "P1", "type": "property"}, "P1 is not a valid Wikibase document"),
        (
            {"id": "Q1", "type": "item", "labels": {"x": {"language": "?", "value": "x"}}},
            "not a language code",
        ),
        ({"type": "item"}, "no id"),
    ],
)
def test_documents_that_cannot_be_written(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lines(Entity(data))


def test_an_unknown_rank_is_an_error() -> None:
    with pytest.raises(InputError, match="unknown rank 'best'"):
        lines(item(snak("P1", "string", "x"), rank="best"))
