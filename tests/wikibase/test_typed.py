"""Typed statements in Wikibase formats: datatypes, terms, references, and the way back."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.types import Source
from sarag_rdf.base.vocab import OWL, PREFIXES, XSD
from sarag_rdf.plugins.wikibase.model import Entity, content_hash
from sarag_rdf.plugins.wikibase.rdf import entity_triples
from sarag_rdf.plugins.wikibase.snak_values import literal_datatype, literal_snak
from sarag_rdf.plugins.wikibase.vocabulary import WIKIDATA, Vocabulary
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import BASE
from tests.timed_graph import timed_graph
from tests.wikibase.typed import CM, EUR, EX, GEO, StatementExtractor, typed_values_graph

WKT = ox.NamedNode(f"{GEO}wktLiteral")
VOCABULARY = Vocabulary(f"{BASE}wikibase/entity/")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return typed_values_graph(tmp_path_factory.mktemp("typed") / "kg")


def exported(folder: Path, format_: str, **options: Any) -> bytes:
    output = io.BytesIO()
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.export(format_, output, **options)
    return output.getvalue()


class Documents:
    """The entity documents of an export, by label."""

    def __init__(self, folder: Path) -> None:
        self.entities = {e["id"]: e for e in json.loads(exported(folder, "wikibase-json"))}
        self.properties = {
            e["labels"]["en"]["value"]: e for e in self.entities.values() if e["type"] == "property"
        }

    def item(self, label: str, description: str = "") -> dict[str, Any]:
        [item] = (
            e
            for e in self.entities.values()
            if e["type"] == "item"
            and e["labels"].get("en", {}).get("value") == label
            and description in e["descriptions"].get("en", {}).get("value", "")
        )
        return dict(item)

    def claims(self, item: dict[str, Any], property_: str) -> list[dict[str, Any]]:
        return list(item["claims"].get(self.properties[property_]["id"], []))

    def values(self, item: dict[str, Any], property_: str) -> list[Any]:
        return [c["mainsnak"]["datavalue"]["value"] for c in self.claims(item, property_)]


@pytest.fixture(scope="module")
def documents(folder: Path) -> Documents:
    return Documents(folder)


def test_each_property_has_the_datatype_of_its_values(documents: Documents) -> None:
    datatypes = {label: held["datatype"] for label, held in documents.properties.items()}
    assert {
        "place of birth": "wikibase-item",
        "date of birth": "time",
        "date of birth (string)": "string",
        "height": "quantity",
        "price": "quantity",
        "position": "globe-coordinate",
        "ORCID": "external-id",
        "website": "url",
        "nationality": "string",
    }.items() <= datatypes.items()
    for held in documents.entities.values():
        for group in held["claims"].values():
            for claim in group:
                for snak in (
                    claim["mainsnak"],
                    *(s for snaks in claim.get("qualifiers", {}).values() for s in snaks),
                ):
                    assert documents.entities[snak["property"]]["datatype"] == snak["datatype"]


def test_values_keep_precision_unit_and_place(documents: Documents) -> None:
    ilse, cato, linz = (documents.item(label) for label in ("Ilse", "Cato", "Linz"))
    dates = {(v["time"], v["precision"]) for v in documents.values(ilse, "date of birth")}
    assert dates == {("+1901-05-07T00:00:00Z", 11), ("+1901-00-00T00:00:00Z", 9)}
    dates = {(v["time"], v["precision"]) for v in documents.values(cato, "date of birth")}
    assert dates == {("-0044-00-00T00:00:00Z", 9), ("-0045-05-00T00:00:00Z", 10)}
    assert documents.values(ilse, "date of birth (string)") == ["early"]
    unit = documents.item("centimetre", "unit of measurement")["id"]
    assert documents.values(ilse, "height") == [
        {"amount": "+169", "unit": f"{BASE}wikibase/entity/{unit}"}
    ]
    [price] = documents.values(ilse, "price")
    currency = documents.item("EUR", "currency")
    assert (price["amount"], price["unit"].rpartition("/")[2]) == ("+2.5", currency["id"])
    assert documents.values(currency, "original IRI") == [EUR]
    assert documents.values(linz, "position") == [
        {
            "latitude": 48.3,
            "longitude": 14.2833,
            "altitude": None,
            "precision": 0.0001,
            "globe": f"{WIKIDATA}Q2",
        }
    ]
    assert documents.values(linz, "website") == ["https://linz.example/a"]
    assert documents.values(ilse, "ORCID") == ["0000-0002-1825-0097"]


def test_a_statement_has_every_sentence_and_document(documents: Documents) -> None:
    """Two sentences in two sources, one of them in both, state one birthplace."""
    ilse = documents.item("Ilse")
    [claim] = documents.claims(ilse, "place of birth")
    assert claim["mainsnak"]["datavalue"]["value"]["id"] == documents.item("Linz")["id"]
    text, confidence = (documents.properties[name]["id"] for name in ("text", "confidence"))
    texts = [snak["datavalue"]["value"]["text"] for snak in claim["qualifiers"][text]]
    assert texts == ["Ilse was born in Linz.", "The birthplace of Ilse is Linz."]
    [sure] = claim["qualifiers"][confidence]
    assert sure["datavalue"]["value"]["amount"] == "+0.9"
    stated_in = documents.properties["stated in"]["id"]
    sources = {
        snak["datavalue"]["value"]["id"]
        for reference in claim["references"]
        for snak in reference["snaks"][stated_in]
    }
    titles = {documents.entities[id_]["labels"]["en"]["value"] for id_ in sources}
    assert (titles, len(claim["references"])) == ({"Even", "Odd"}, 2)


def test_properties_and_classes_are_described_by_the_ontology(documents: Documents) -> None:
    born = documents.properties["place of birth"]
    assert born["labels"]["de"]["value"] == "Geburtsort"
    assert born["descriptions"]["en"]["value"] == "Where a person was born."
    assert [alias["value"] for alias in born["aliases"]["en"]] == ["birthplace"]
    person, agent = documents.item("person", "A human being."), documents.item("agent", "kind")
    assert documents.values(born, "exact match") == [f"{EX}bornIn"]
    assert documents.values(born, "equivalent property") == [f"{WIKIDATA}P19"]
    assert [v["id"] for v in documents.values(born, "domain")] == [person["id"]]
    assert [v["id"] for v in documents.values(born, "range")] == [
        documents.item("place", "kind")["id"]
    ]
    assert documents.values(documents.properties["nationality"], "close match") == [
        f"{WIKIDATA}P27"
    ]
    assert documents.values(person, "equivalent class") == [f"{WIKIDATA}Q5"]
    assert [v["id"] for v in documents.values(person, "subclass of")] == [agent["id"]]
    classes = {v["id"] for v in documents.values(documents.item("Ilse"), "instance of")}
    assert person["id"] in classes


def test_only_what_the_ontology_declares_is_equal(folder: Path, documents: Documents) -> None:
    triples = ox.parse(exported(folder, "wikibase"), ox.RdfFormat.N_TRIPLES)
    equal = {
        (q.subject.value.removeprefix(f"{BASE}wikibase/"), q.object.value)
        for q in triples
        if q.predicate == OWL.equivalentProperty and "wikidata.org" in str(q.object)
    }
    born, date = (documents.properties[n]["id"] for n in ("place of birth", "date of birth"))
    assert equal == {
        (f"entity/{born}", f"{WIKIDATA}P19"),
        (f"prop/direct/{born}", "http://www.wikidata.org/prop/direct/P19"),
        (f"entity/{date}", f"{WIKIDATA}P569"),
        (f"prop/direct/{date}", "http://www.wikidata.org/prop/direct/P569"),
    }
    text = documents.properties["date of birth (string)"]
    assert documents.values(text, "equivalent property") == []


def prefixed(query: str, documents: Documents) -> str:
    """A query in which ``{date of birth}`` stands for the number of the property."""
    names = {**PREFIXES, **VOCABULARY.prefixes()}
    for label, held in documents.properties.items():
        query = query.replace("{" + label + "}", held["id"])
    return "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in names.items()) + query


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT ?date ?precision { ?p wdt:{place of birth}/rdfs:label 'Linz'@en ; "
            "p:{date of birth}/psv:{date of birth} ?v . "
            "?v wikibase:timeValue ?date ; wikibase:timePrecision ?precision ; "
            "wikibase:timeCalendarModel <http://www.wikidata.org/entity/Q1985727> }",
            {("1901-05-07T00:00:00Z", "11"), ("1901-01-01T00:00:00Z", "9")},
        ),
        (
            "SELECT ?amount ?unit { ?p p:{height}/psv:{height} ?v . "
            "?v wikibase:quantityAmount ?amount ; wikibase:quantityUnit/rdfs:label ?unit }",
            {("169", "centimetre")},
        ),
        (
            "SELECT ?point ?latitude { ?s ps:{position} ?point ; "
            "psv:{position}/wikibase:geoLatitude ?latitude }",
            {("Point(14.2833 48.3)", "48.3")},
        ),
        (
            "SELECT ?name ?title { ?i wdt:{instance of}/wdt:{subclass of}* ?class . "
            "?i rdfs:label ?name . ?class rdfs:label 'agent'@en . ?i p:{nationality} ?s . "
            "?s pq:{text} ?text ; prov:wasDerivedFrom/pr:{stated in}/rdfs:label ?title }",
            {("Ilse", "Even")},
        ),
        (
            "SELECT ?label { ?p wikibase:propertyType wikibase:Time ; rdfs:label ?label ; "
            "owl:equivalentProperty <http://www.wikidata.org/entity/P569> }",
            {("date of birth",)},
        ),
    ],
)
def test_queries_in_the_idiom_of_wikidata(
    folder: Path, documents: Documents, query: str, expected: set[tuple[str, ...]]
) -> None:
    store = ox.Store()
    store.load(exported(folder, "wikibase"), ox.RdfFormat.N_TRIPLES)
    solutions = store.query(prefixed(query, documents))
    assert isinstance(solutions, ox.QuerySolutions)
    assert {tuple(term.value for term in row) for row in solutions} == expected


def test_quickstatements_have_the_same_values(folder: Path, documents: Documents) -> None:
    lines = [line.split("\t") for line in exported(folder, "quickstatements").decode().splitlines()]
    ids = {label: held["id"] for label, held in documents.properties.items()}
    values = {(line[1], line[2]) for line in lines if len(line) > 2}
    unit = documents.item("centimetre", "unit")["id"][1:]
    assert {
        (ids["date of birth"], "+1901-05-07T00:00:00Z/11"),
        (ids["date of birth"], "-0044-00-00T00:00:00Z/9"),
        (ids["date of birth (string)"], '"early"'),
        (ids["height"], f"169U{unit}"),
        (ids["position"], "@48.3/14.2833"),
        (ids["website"], '"https://linz.example/a"'),
        (ids["place of birth"], documents.item("Linz")["id"]),
    } <= values


def test_units_of_quickstatements_are_those_of_the_target(
    folder: Path, documents: Documents, tmp_path: Path
) -> None:
    table = tmp_path / "ids.tsv"
    items = [id_ for id_ in documents.entities if id_.startswith("Q")]
    table.write_text("".join(f"{id_}\tQ{int(id_[1:]) + 500}\n" for id_ in items))
    unit = int(documents.item("centimetre", "unit")["id"][1:]) + 500
    assert f"\t169U{unit}\t" in exported(folder, "quickstatements", table=table).decode()


@pytest.mark.parametrize("flavor", ["full", "truthy"])
def test_the_typed_statements_come_back(
    folder: Path, documents: Documents, tmp_path: Path, flavor: str
) -> None:
    """The export is imported; its direct properties are those of the ontology."""
    file = tmp_path / "own.nt"
    file.write_bytes(exported(folder, "wikibase", flavor=flavor))
    with sarag_rdf.open(tmp_path / "back", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(file, "wikibase", name="own")
        table = kg.query(
            f"""
            SELECT ?subject ?property ?value {{
              ?p <http://www.w3.org/2002/07/owl#equivalentProperty> ?property .
              ?p <http://wikiba.se/ontology#directClaim> ?direct .
              ?s ?direct ?o ; <http://www.w3.org/2000/01/rdf-schema#label> ?subject .
              OPTIONAL {{ ?o <http://www.w3.org/2000/01/rdf-schema#label> ?label }}
              BIND(COALESCE(?label, ?o) AS ?value)
              FILTER(STRSTARTS(STR(?property), "{EX}"))
            }}""",
            over=["own"],
        )
    back = {
        (s.value, p.value.removeprefix(EX), o.value)
        for s, p, o in table.rows  # type: ignore[union-attr]
    }
    assert back == {
        ("Ilse", "bornIn", "Linz"),
        ("Ilse", "dateOfBirth", "1901-05-07T00:00:00Z"),
        ("Ilse", "dateOfBirth", "1901-01-01T00:00:00Z"),
        ("Ilse", "dateOfBirth", "early"),
        ("Cato", "dateOfBirth", "-0043-01-01T00:00:00Z"),
        ("Cato", "dateOfBirth", "-0044-05-01T00:00:00Z"),
        ("Ilse", "height", "169"),
        ("Ilse", "price", "2.5"),
        ("Linz", "position", "Point(14.2833 48.3)"),
        ("Ilse", "orcid", "0000-0002-1825-0097"),
        ("Linz", "website", "https://linz.example/a"),
        ("Ilse", "nationality", "Austrian"),
    }


def test_numbers_and_ids_stay_when_the_graph_changes(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "kg"
    shutil.copytree(folder, copy)
    before = Documents(copy)
    assert exported(copy, "wikibase") == exported(copy, "wikibase")
    with sarag_rdf.open(copy, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.delete(["odd.txt"])
        kg.index([Source("Cato was Austrian.", "More", "more.txt")], extractor=StatementExtractor())
    after = Documents(copy)
    for label, held in after.properties.items():
        assert before.properties[label]["id"] == held["id"]
    [claim] = after.claims(after.item("Ilse"), "place of birth")
    assert [claim["id"]] == [c["id"] for c in before.claims(before.item("Ilse"), "place of birth")]
    assert len(claim["references"]) < 3


def test_statements_in_quarantine_are_not_exported(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "kg"
    shutil.copytree(folder, copy)
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(
        f"@prefix sh: <http://www.w3.org/ns/shacl#> . <{EX}s> a sh:NodeShape ; "
        f"sh:targetSubjectsOf <{EX}bornIn> ; sh:property [ sh:path <{EX}bornIn> ; "
        f"sh:in ( <{BASE}entity/ulm> ) ] ."
    )
    with sarag_rdf.open(copy, embedder=HashEmbedder(), endpoint=None) as kg:
        assert len(kg.quarantine.apply_shapes(shapes).quarantined) == 1
    documents = Documents(copy)
    assert "place of birth" not in documents.properties
    related = documents.values(documents.item("Ilse"), "related to")
    assert {v["id"] for v in related} == {documents.item("Linz")["id"]}


@pytest.mark.parametrize(
    ("text", "datatype", "expected"),
    [
        ("2001-05-07T23:59:59-05:00", XSD.dateTime, "time"),
        ("2001-02-30", XSD.date, "string"),
        ("12001-02-03Z", XSD.date, "time"),
        ("--05-07", XSD.gMonthDay, "string"),
        ("1e300", XSD.double, "string"),
        ("1.5E2", XSD.double, "quantity"),
        ("INF", XSD.double, "string"),
        ("-0", XSD.integer, "quantity"),
        ("true", XSD.boolean, "string"),
        ("/relative", XSD.anyURI, "string"),
        ("urn:isbn:1", XSD.anyURI, "string"),
        ("POINT(14 91)", WKT, "string"),
        ("<http://www.wikidata.org/entity/Q405> Point(3 4)", WKT, "globe-coordinate"),
        ("LINESTRING(1 2, 3 4)", WKT, "string"),
    ],
)  # fmt: skip
def test_a_value_that_its_datatype_does_not_have_is_a_string(
    text: str, datatype: ox.NamedNode, expected: str
) -> None:
    literal = ox.Literal(text, datatype=datatype)
    found = literal_datatype(literal)
    assert found == expected
    snak = literal_snak("P1", literal, found)
    assert snak["datatype"] == expected
    if expected == "string":
        assert snak["datavalue"]["value"] == text


def test_years_before_christ_come_back_from_rdf() -> None:
    for lexical in ("0000", "-0043", "0007", "12001"):
        snak = literal_snak("P1", ox.Literal(lexical, datatype=XSD.gYear), "time")
        claim = {"mainsnak": snak, "id": "Q1$1", "rank": "normal", "type": "statement"}
        entity = Entity({"id": "Q1", "type": "item", "claims": {"P1": [claim]}})
        [time] = (
            t.object.value
            for t in entity_triples(entity, VOCABULARY, "truthy")
            if t.predicate == VOCABULARY.predicate("wdt", "P1") and isinstance(t.object, ox.Literal)
        )
        assert time == f"{lexical}-01-01T00:00:00Z"


def test_texts_are_on_one_line() -> None:
    snak = literal_snak("P1", ox.Literal(" one\n two\t", language="en"), "monolingualtext")
    assert snak["datavalue"]["value"] == {"text": "one two", "language": "en"}
    assert snak["hash"] == content_hash({k: v for k, v in snak.items() if k != "hash"})
    assert CM.endswith("CentiM")


def test_times_are_qualifiers(tmp_path: Path) -> None:
    """Two directors are two statements of the museum; what has no times has no such property."""
    documents = Documents(timed_graph(tmp_path / "kg"))

    def qualifiers(claim: dict[str, Any]) -> dict[str, tuple[str, int]]:
        return {
            label: (snak["datavalue"]["value"]["time"], snak["datavalue"]["value"]["precision"])
            for label in ("start time", "end time", "point in time")
            for snak in claim["qualifiers"].get(documents.properties[label]["id"], ())
        }

    claims = documents.claims(documents.item("Thule Museum", "organization"), "head")
    assert [qualifiers(claim) for claim in claims] == [
        {"start time": ("+1919-00-00T00:00:00Z", 9), "end time": ("+1937-05-00T00:00:00Z", 10)},
        {"start time": ("+1938-00-00T00:00:00Z", 9)},
    ]
    [claim] = documents.claims(documents.item("Karl Holm"), "award received")
    assert qualifiers(claim) == {"point in time": ("+1940-00-00T00:00:00Z", 9)}


def test_only_an_export_with_times_declares_their_properties(documents: Documents) -> None:
    assert documents.properties.keys().isdisjoint(("start time", "end time", "point in time"))
