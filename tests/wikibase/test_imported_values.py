"""Values of imported graphs in Wikibase formats: datatypes, labels of ontologies, references."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.vocab import OWL
from sarag_rdf.plugins.wikibase.vocabulary import WIKIDATA
from sarag_rdf.testing.fakes import HashEmbedder
from tests.sample_graph import BASE
from tests.wikibase.imported import ID, NAME, imported_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imported_graph(tmp_path_factory.mktemp("imported") / "kg")


def exported(folder: Path, format_: str, over: tuple[str, ...] = (NAME,)) -> bytes:
    output = io.BytesIO()
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.export(format_, output, over=over)
    return output.getvalue()


class Statements:
    """The statements of an export, by the labels of the item and of the property."""

    def __init__(self, folder: Path, over: tuple[str, ...] = (NAME,)) -> None:
        self.entities: dict[str, Any] = {
            e["id"]: e for e in json.loads(exported(folder, "wikibase-json", over))
        }

    def label(self, id_: str) -> str:
        labels = self.entities[id_]["labels"]
        return str((labels.get("en") or labels["mul"])["value"])

    def entity(self, label: str) -> Any:
        [found] = (e for id_, e in self.entities.items() if self.label(id_) == label)
        return found

    def claims(self, item: str, property_: str) -> list[Any]:
        id_ = self.entity(property_)["id"]
        return list(self.entity(item)["claims"].get(id_, ()))

    def value(self, item: str, property_: str) -> Any:
        [claim] = self.claims(item, property_)
        return claim["mainsnak"]["datavalue"]["value"]


@pytest.fixture(scope="module")
def statements(folder: Path) -> Statements:
    return Statements(folder)


def test_properties_have_the_datatypes_and_labels_of_the_ontology(statements: Statements) -> None:
    datatypes = {
        statements.label(id_): e["datatype"]
        for id_, e in statements.entities.items()
        if e["type"] == "property"
    }
    assert {
        "operated by": "wikibase-item",
        "opening date": "time",
        "opening date (string)": "string",
        "year of introduction": "time",
        "length (km)": "quantity",
        "station code": "external-id",
        "as WKT": "globe-coordinate",
        "motto": "monolingualtext",
        "platform count": "quantity",
        "homepage": "url",
        "website": "url",
        "journey time": "string",
    }.items() <= datatypes.items()
    assert statements.entity("operated by")["labels"]["de"]["value"] == "betrieben von"
    motto = statements.entity("motto")
    assert motto["descriptions"]["en"]["value"] == "What a station says of itself."
    station = statements.entity("station")
    assert station["labels"]["de"]["value"] == "Bahnhof"
    parent = statements.value("station", "subclass of")["id"]
    assert statements.label(parent) == "infrastructure"
    assert statements.value("opening date", "equivalent property") == f"{WIKIDATA}P1619"


def test_values_are_those_of_the_graph(statements: Statements) -> None:
    def value(property_: str) -> Any:
        return statements.value("Marnau Central", property_)

    assert (value("opening date")["time"], value("opening date")["precision"]) == (
        "+1887-05-14T00:00:00Z",
        11,
    )
    year = value("year of introduction")  # an integer, where the ontology expects a year
    assert (year["time"], year["precision"]) == ("+1998-00-00T00:00:00Z", 9)
    assert value("length (km)") == {"amount": "+0.31", "unit": "1"}  # a string in the graph
    assert value("platform count")["amount"] == "+8"
    assert value("station code") == "MH"
    assert value("opening date (string)") == "in summer"
    assert (value("as WKT")["latitude"], value("as WKT")["longitude"]) == (48.14, 11.58)
    assert value("motto") == {"text": "Zug um Zug", "language": "de"}
    assert value("homepage") == "https://marnau.example/"
    assert value("exact match") == f"{WIKIDATA}Q1"
    assert value("original IRI") == f"{ID}marnau"
    assert statements.label(value("operated by")["id"]) == "Alm Valley Railway"
    marnau = statements.entity("Marnau Central")
    assert marnau["aliases"]["en"] == [{"language": "en", "value": "Central"}]
    assert marnau["descriptions"]["en"]["value"] == "station: The main station."


@pytest.mark.parametrize("property_", ["opening date", "operated by"])
def test_the_imported_graph_is_the_reference(statements: Statements, property_: str) -> None:
    [claim] = statements.claims("Marnau Central", property_)
    [reference] = claim["references"]
    snaks = {
        statements.label(id_): snaks[0]["datavalue"]["value"]
        for id_, snaks in reference["snaks"].items()
    }
    assert statements.label(snaks["stated in"]["id"]) == NAME
    assert snaks["document"] == f"{BASE}graph/external/{NAME}"
    assert len(statements.value(NAME, "SHA-256")) == 64
    assert "confidence" not in {statements.label(id_) for id_ in claim.get("qualifiers", {})}


def test_rdf_and_commands_have_the_same_values(folder: Path, statements: Statements) -> None:
    triples = ox.parse(exported(folder, "wikibase"), ox.RdfFormat.N_TRIPLES)
    opened, item = (statements.entity(label)["id"] for label in ("opening date", "Marnau Central"))
    predicate = f"{BASE}wikibase/prop/direct/{opened}"
    store = ox.Store()
    store.extend(ox.Quad(*quad.triple) for quad in triples)
    [date] = store.quads_for_pattern(None, ox.NamedNode(predicate), None)
    assert str(date.object).startswith('"1887-05-14T00:00:00Z"')
    equal = store.quads_for_pattern(ox.NamedNode(predicate), OWL.equivalentProperty, None)
    assert "http://www.wikidata.org/prop/direct/P1619" in {str(q.object)[1:-1] for q in equal}
    lines = [line.split("\t") for line in exported(folder, "quickstatements").decode().splitlines()]
    [line] = (line for line in lines if line[:2] == [item, opened])
    assert line[2] == "+1887-05-14T00:00:00Z/11"


def test_the_same_value_in_two_graphs_is_one_statement(folder: Path, tmp_path: Path) -> None:
    copy, file = tmp_path / "kg", tmp_path / "other.ttl"
    shutil.copytree(folder, copy)
    file.write_text(
        f'<{ID}marnau> <http://www.w3.org/2000/01/rdf-schema#label> "Marnau Central"@en ; '
        '<https://rail.example/terms#openedOn> "1887-05-14" .'
    )
    with sarag_rdf.open(copy, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(file, "rdf", name="other")
    both = Statements(copy, (NAME, "other"))
    [claim] = both.claims("Marnau Central", "opening date")
    assert len(claim["references"]) == 2


def test_notations_of_thesauri_are_identifiers(tmp_path: Path) -> None:
    file = tmp_path / "thesaurus.ttl"
    file.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . "
        '<https://x.example/1> a skos:Concept ; skos:prefLabel "river"@en ; skos:notation "R1" .'
    )
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(file, "skos", name=NAME)
    statements = Statements(tmp_path / "kg")
    assert statements.value("river", "notation") == "R1"
    assert statements.entity("notation")["datatype"] == "external-id"
