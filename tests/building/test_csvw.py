"""Metadata of CSV on the Web as mappings of tables, in the standard's minimal mode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.tables.csvw import read_csvw
from sarag_rdf.plugins.tables.mapping import MappingFile
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag

CSV = """\
code,Name of the place,opened,visitors,open,tags,city,web
p1,Salt mine,03.05.1290,"1.250.000,5",J,salt;mine; deep,Gdańsk/Wieliczka,https://salt.example/
p2,Tide mill,,NA,N,,,none
p3,Lamp house,31.02.1900,12,J,lamp,-,
"""
CONTEXT = ["http://www.w3.org/ns/csvw", {"@base": "https://data.example/"}]
METADATA: dict[str, Any] = {
    "@context": CONTEXT,
    "url": "places.csv",
    "dc:title": "Places",
    "tableSchema": {
        "aboutUrl": "place/{code}",
        "primaryKey": "code",
        "columns": [
            {"name": "code", "titles": "code", "propertyUrl": "dc:identifier"},
            {
                "name": "name",
                "titles": ["Name", "Name of the place"],
                "propertyUrl": "rdfs:label",
                "lang": "en",
            },
            {
                "name": "opened",
                "propertyUrl": "schema:dateCreated",
                "datatype": {"base": "date", "format": "dd.MM.yyyy"},
            },
            {
                "name": "visitors",
                "datatype": {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}},
                "null": ["NA", ""],
            },
            {"name": "open", "datatype": {"base": "boolean", "format": "J|N"}},
            {"name": "tags", "propertyUrl": "schema:keywords", "separator": ";"},
            {
                "name": "city",
                "propertyUrl": "schema:location",
                "valueUrl": "city/{city}#it",
                "null": "-",
                "default": "Nowhere",
            },
            {"name": "web", "propertyUrl": "schema:url", "valueUrl": "{+web}"},
            {
                "name": "type",
                "virtual": True,
                "propertyUrl": "rdf:type",
                "valueUrl": "schema:Place",
            },
            {
                "name": "row",
                "virtual": True,
                "propertyUrl": "schema:position",
                "valueUrl": "#row-{_row}-{_sourceRow}",
            },
            {
                "name": "kind",
                "virtual": True,
                "aboutUrl": "city/{city}#it",
                "propertyUrl": "ex#kind",
                "default": "town",
            },
        ],
    },
}
EXPECTED = """
@prefix dc: <http://purl.org/dc/terms/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
@prefix t: <https://data.example/places.csv#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://data.example/place/p1> a schema:Place ; dc:identifier "p1" ; rdfs:label "Salt mine"@en ;
  schema:dateCreated "1290-05-03"^^xsd:date ; t:visitors 1250000.5 ; t:open true ;
  schema:keywords "salt", "mine", "deep" ; schema:url <https://salt.example/> ;
  schema:position t:row-1-2 ;
  schema:location <https://data.example/city/Gda%C5%84sk%2FWieliczka#it> .
<https://data.example/city/Gda%C5%84sk%2FWieliczka#it> <https://data.example/ex#kind> "town" .
<https://data.example/place/p2> a schema:Place ; dc:identifier "p2" ; rdfs:label "Tide mill"@en ;
  t:open false ; schema:url "none" ; schema:position t:row-2-3 ;
  schema:location <https://data.example/city/Nowhere#it> .
<https://data.example/city/Nowhere#it> <https://data.example/ex#kind> "town" .
<https://data.example/place/p3> a schema:Place ; dc:identifier "p3" ; rdfs:label "Lamp house"@en ;
  schema:dateCreated "31.02.1900" ; t:visitors 12.0 ; t:open true ;
  schema:keywords "lamp" ; schema:position t:row-3-4 .
"""


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        yield kg


def files(folder: Path, metadata: Any = None, table: str = CSV) -> tuple[Path, Path]:
    (folder / "places.csv").write_text(table, encoding="utf-8")
    path = folder / "places.csv-metadata.json"
    path.write_text(json.dumps(METADATA if metadata is None else metadata), encoding="utf-8")
    return folder / "places.csv", path


def triples(kg: KnowledgeGraph, name: str = "places") -> set[ox.Triple]:
    with kg.session.read() as snapshot:
        graph = f"https://example.org/kg/graph/external/{name}"
        return {quad.triple for quad in snapshot.reader.store.quads(graph)}


def expected(text: str) -> set[ox.Triple]:
    store = ox.Store()
    store.load(text.encode(), ox.RdfFormat.TURTLE)
    return {quad.triple for quad in store}


def test_cells_become_what_the_standard_says(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table, metadata = files(tmp_path)
    report = kg.import_graph(table, "table", mapping=metadata)
    assert triples(kg) == expected(EXPECTED)
    assert report.warnings == (
        "column 'opened': 1 value is not of type xsd:date and imported as text "
        "(first in line 4: '31.02.1900')",
        "column 'web': 1 value is not of type IRI and imported as text (first in line 3: 'none')",
    )
    found = kg.search("Where is the Salt mine?").documents[0].document
    assert found.title == "Salt mine"


def test_without_an_about_url_rows_have_iris_of_their_own(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    """In place of blank nodes; columns without a property are named after the table."""
    schema = {"columns": [{"titles": "a b"}, {"name": "c", "suppressOutput": True}]}
    held = {"@context": CONTEXT, "url": "places.csv", "tableSchema": schema}
    table, metadata = files(tmp_path, held, "a b,c\nx,1\nx,2\n")
    label = "https://data.example/places.csv#a%20b"
    kg.import_graph(table, "table", mapping=metadata, label=[label])
    found = triples(kg)
    assert {(t.predicate.value, t.object) for t in found} == {(label, ox.Literal("x"))}
    assert len({str(t.subject) for t in found}) == 2
    assert all("https://example.org/kg/genid/" in str(t.subject) for t in found)


def test_properties_are_inherited_from_group_table_and_schema(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    group = {
        "@context": CONTEXT,
        "lang": "de",
        "null": "?",
        "aboutUrl": "thing/{id}",
        "tables": [
            {"url": "other.csv", "tableSchema": {"columns": [{"name": "x"}]}},
            {
                "url": "https://elsewhere.example/files/places.csv",
                "tableSchema": {
                    "propertyUrl": "schema:{_name}",
                    "columns": [{"name": "id"}, {"name": "name", "lang": "und"}, {"name": "note"}],
                },
            },
        ],
    }
    table, metadata = files(tmp_path, group, "id,name,note\n1,One,?\n2,?,Zwei\n")
    kg.import_graph(table, "table", mapping=metadata)
    thing = "https://elsewhere.example/files/thing/"
    assert triples(kg) == expected(
        f"""@prefix schema: <http://schema.org/> .
        <{thing}1> schema:id "1"@de ; schema:name "One" .
        <{thing}2> schema:id "2"@de ; schema:note "Zwei"@de ."""
    )


def changed(column: int, **properties: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = json.loads(json.dumps(METADATA))
    metadata["tableSchema"]["columns"][column] |= properties
    return metadata


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"url": "places.csv"}, 'not metadata of CSV on the Web: it lacks "@context"'),
        ([], "the document: is not an object of JSON"),
        ({**METADATA, "url": "other.csv"}, "url: describes 'other.csv', and not 'places.csv'"),
        ({**METADATA, "tableSchema": "schema.json"}, "'schema.json' is in another file"),
        ({**METADATA, "tableSchema": {}}, "no columns that state anything"),
        ({**METADATA, "suppressOutput": True}, "suppressOutput leaves nothing to import"),
        ({**METADATA, "dialect": {"header": False}}, "dialect: header False is not supported"),
        ({**METADATA, "@context": CONTEXT[0]}, "is relative: write the whole IRI, or add"),
        (changed(0, titles="id"), "column 1 of the table is 'code': describe the columns"),
        (changed(2, datatype="dates"), "column 'opened': unknown datatype 'dates'"),
        (changed(2, datatype={"base": "date", "format": "QQ"}), "'QQ' is not supported for date"),
        (changed(2, datatype={"base": "date", "format": "dd/dd"}), "'dd/dd' repeats a part"),
        (changed(2, datatype={"@id": "https://x.org/d"}), "with an @id are not supported"),
        (changed(3, datatype={"base": "decimal", "format": "0%"}), "in percent are not supported"),
        (changed(5, ordered=True), "ordered lists are not supported"),
        (changed(6, valueUrl="city/{town}"), "valueUrl: no column 'town' in tableSchema"),
        (changed(6, valueUrl="city/{+city}"), "{+city} is supported only as the whole template"),
        (changed(6, valueUrl="city/{tags}"), "'tags' has several values in a cell"),
        (changed(6, valueUrl="city/{city"), "'city/{city' is not a URI template"),
        (changed(1, lang="a b"), "'a b' is not a language tag"),
        (changed(1, null=3), "null must be a text or a list"),
        ({**METADATA, "dialect": "tabs.json"}, "dialect: 'tabs.json' is in another file"),
        ({**METADATA, "url": "//[a/places.csv"}, "is not a URL"),
        (changed(2, datatype=["date"]), "column 3: datatype must be a text or an object"),
        (changed(8, valueUrl=""), "a virtual column needs valueUrl or default"),
    ],
)
def test_metadata_that_is_refused(tmp_path: Path, metadata: Any, message: str) -> None:
    header = CSV.splitlines()[0].split(",")
    file = MappingFile("m.json", json.dumps(metadata).encode())
    with pytest.raises(InputError) as raised:
        read_csvw(file, "places.csv", header)
    assert str(raised.value).startswith("m.json")
    assert message in str(raised.value)


def everywhere(value: Any, replaced: Any) -> Iterator[Any]:
    """Copies of a JSON value in which one value at any depth is another one."""
    yield replaced
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        for changed_inner in everywhere(inner, replaced):
            copy = value.copy()
            copy[key] = changed_inner
            yield copy


def test_values_of_any_kind_anywhere_are_read_or_refused() -> None:
    dialect = {"delimiter": ",", "header": True, "encoding": "utf-8"}
    metadata = {"@context": CONTEXT, "tables": [{**METADATA, "dialect": dialect, "lang": "en"}]}
    header = CSV.splitlines()[0].split(",")
    deep: Any = "a"
    for _ in range(400):
        deep = {"en": deep}
    refused = 0
    values: list[Any] = [
        None,
        True,
        3,
        "",
        "x",
        "\ud800",
        "//[",
        "{",
        [],
        [[]],
        {},
        {"a": [1]},
        deep,
    ]
    for wrong in values:
        for document in everywhere(metadata, wrong):
            try:
                read_csvw(
                    MappingFile("m.json", json.dumps(document).encode()), "places.csv", header
                )
            except InputError as error:
                assert str(error).startswith("m.json")
                assert "\n" not in str(error)
                refused += 1
    assert refused > 500


def test_what_is_no_json_is_refused() -> None:
    for content in (b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(InputError, match=r"m\.json is not JSON"):
            read_csvw(MappingFile("m.json", content), "places.csv")


@pytest.mark.parametrize(
    ("datatype", "cell", "literal"),
    [
        ({"base": "date", "format": "d/M/yyyy"}, "3/5/1290", "1290-05-03"),
        ({"base": "date", "format": "yyyyMMdd"}, "12900503", "1290-05-03"),
        ({"base": "datetime", "format": "yyyy-MM-dd HH:mm"}, "1290-05-03 07:30",
         "1290-05-03T07:30:00"),
        ({"base": "time", "format": "HHmm"}, "0730", "07:30:00"),
        ({"base": "integer", "format": "#,##0"}, "1,250", "1250"),
        ("gYear", "1290", "1290"),
        ("number", "1e3", "1e3"),
    ],
)  # fmt: skip
def test_formats_of_datatypes(datatype: Any, cell: str, literal: str) -> None:
    column = {"name": "a", "datatype": datatype, "propertyUrl": "https://x.org/p"}
    held = {
        "@context": CONTEXT,
        "url": "t.csv",
        "tableSchema": {"aboutUrl": "#1", "columns": [column]},
    }
    file = MappingFile("m.json", json.dumps(held).encode())
    [triples_map] = read_csvw(file, "t.csv", ["a"])
    assert triples_map.cells["a"].value(cell) == literal


def test_the_command_takes_metadata(sarag: Sarag, tmp_path: Path) -> None:
    table, metadata = files(tmp_path)
    done = sarag("import", table, "--as", "table", "--mapping", metadata, "--no-vectors")
    assert (done.code, "triples imported as rdf" in done.out) == (0, True), done.err
