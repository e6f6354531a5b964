"""Tables as data: mappings, what rows become, what is refused, and mappings that are suggested."""

from __future__ import annotations

import gzip
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

import sarag_rdf
from sarag_rdf.base.errors import InputError, SaragError, UsageError
from sarag_rdf.base.vocab import XSD
from sarag_rdf.building import graph_import
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.plugins.tables.mapping import MappingFile, TermMap, TriplesMap
from sarag_rdf.plugins.tables.table_import import content_words
from sarag_rdf.retrieval.view import Engine
from sarag_rdf.testing.fakes import HashEmbedder
from tests.command import Sarag


def read_mapping(mapping: MappingFile, table: str) -> tuple[TriplesMap, ...]:
    return mapping.language.read(mapping, table, ())


TABLES = Path(__file__).parent / "tables"
EX = "https://museum.example.org/"
GRAPH = "https://example.org/kg/graph/external/"
CSV = """\
id,title,maker,made,height,on display,notes,web
o1,Brass astrolabe,Ida Storm,1612,23.5,yes,"With a ""chest"", \\ and
a case",https://museum.example.org/page/1
o2,Pocket globe,Per Lind,c. 1750,7,no,,none
o3,Tide table,Ida Storm,1615,,,,
"""
YARRRML = """
prefixes: {ex: "https://museum.example.org/"}
mappings:
  object:
    sources: [[objects.csv~csv]]
    s: ex:object/$(id)
    po:
      - [a, ex:MuseumObject]
      - [rdfs:label, $(title), en~lang]
      - p: ex:maker
        o: {mapping: agent}
      - [ex:made, $(made), xsd:gYear]
      - [ex:height, $(height), xsd:decimal]
      - [ex:onDisplay, $(on display), xsd:boolean]
      - [rdfs:comment, $(notes)]
      - [ex:web, $(web)~iri]
  agent:
    sources: [[objects.csv~csv]]
    s: ex:agent/$(maker)
    po:
      - [rdfs:label, $(maker)]
"""
RML = """
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <https://museum.example.org/> .

<#source> rml:source "objects.csv" ; rml:referenceFormulation ql:CSV .
<#object> rml:logicalSource <#source> ;
  rr:subjectMap [ rr:template "https://museum.example.org/object/{id}" ;
    rr:class ex:MuseumObject ] ;
  rr:predicateObjectMap
    [ rr:predicate rdfs:label ; rr:objectMap [ rml:reference "title" ; rr:language "en" ] ] ,
    [ rr:predicate ex:maker ; rr:objectMap [ rr:parentTriplesMap <#agent> ] ] ,
    [ rr:predicate ex:made ; rr:objectMap [ rml:reference "made" ; rr:datatype xsd:gYear ] ] ,
    [ rr:predicate ex:height ; rr:objectMap [ rml:reference "height" ; rr:datatype xsd:decimal ] ] ,
    [ rr:predicate ex:onDisplay ;
      rr:objectMap [ rml:reference "on display" ; rr:datatype xsd:boolean ] ] ,
    [ rr:predicate rdfs:comment ; rr:objectMap [ rml:reference "notes" ] ] ,
    [ rr:predicate ex:web ; rr:objectMap [ rml:reference "web" ; rr:termType rr:IRI ] ] .
<#agent> rml:logicalSource <#source> ;
  rr:subjectMap [ rr:template "https://museum.example.org/agent/{maker}" ] ;
  rr:predicateObjectMap [ rr:predicate rdfs:label ; rr:objectMap [ rml:reference "maker" ] ] .
"""
EXPECTED = """
@prefix ex: <https://museum.example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://museum.example.org/object/o1> a ex:MuseumObject ; rdfs:label "Brass astrolabe"@en ;
  ex:maker <https://museum.example.org/agent/Ida%20Storm> ; ex:made "1612"^^xsd:gYear ;
  ex:height 23.5 ; ex:onDisplay true ; ex:web <https://museum.example.org/page/1> ;
  rdfs:comment "With a \\"chest\\", \\\\ and\\na case" .
<https://museum.example.org/object/o2> a ex:MuseumObject ; rdfs:label "Pocket globe"@en ;
  ex:maker <https://museum.example.org/agent/Per%20Lind> ; ex:made "c. 1750" ;
  ex:height "7"^^xsd:decimal ; ex:onDisplay false ; ex:web "none" .
<https://museum.example.org/object/o3> a ex:MuseumObject ; rdfs:label "Tide table"@en ;
  ex:maker <https://museum.example.org/agent/Ida%20Storm> ; ex:made "1615"^^xsd:gYear .
<https://museum.example.org/agent/Ida%20Storm> rdfs:label "Ida Storm" .
<https://museum.example.org/agent/Per%20Lind> rdfs:label "Per Lind" .
"""


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        yield kg


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "objects.csv", CSV)


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    return written(tmp_path / "m.yml", YARRRML)


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def small(subject: str, statements: str) -> str:
    """A mapping of ``t.csv``."""
    source = "sources: [[t.csv~csv]]"
    return f"mappings: {{t: {{{source}, s: {subject}, po: [{statements}]}}}}"


def triples(kg: KnowledgeGraph, name: str) -> set[ox.Triple]:
    with kg.session.read() as snapshot:
        return {quad.triple for quad in snapshot.reader.store.quads(GRAPH + name)}


def expected(text: str = EXPECTED) -> set[ox.Triple]:
    """As the store keeps them: it writes numbers in their canonical form."""
    store = ox.Store()
    store.load(text.encode(), ox.RdfFormat.TURTLE)
    return {quad.triple for quad in store}


# ---------------------------------------------------------------------------- What rows become


@pytest.mark.parametrize(("suffix", "text"), [("yml", YARRRML), ("ttl", RML)])
def test_rows_become_things(
    kg: KnowledgeGraph, tmp_path: Path, table: Path, suffix: str, text: str
) -> None:
    mapping = written(tmp_path / f"m.{suffix}", text)
    report = kg.import_graph(table, "table", mapping=mapping)
    assert triples(kg, "objects") == expected()
    assert (report.name, report.kind, report.triples) == ("objects", "rdf", len(expected()))
    assert report.warnings == (
        "column 'made': 1 value is not of type xsd:gYear and imported as text "
        "(first in line 4: 'c. 1750')",
        "column 'web': 1 value is not of type IRI and imported as text (first in line 4: 'none')",
    )


def test_rows_are_found(kg: KnowledgeGraph, table: Path, mapping: Path) -> None:
    kg.import_graph(table, "table", mapping=mapping)
    found = kg.search("Which pocket globe did Per Lind make?")
    assert found.documents[0].document.title in ("Pocket globe", "Per Lind")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("objects.tsv", CSV.replace(",", "\t").replace('chest""\t', 'chest"",').encode()),
        ("objects.csv", b"\xef\xbb\xbf" + CSV.encode()),
        ("objects.csv", CSV.replace("\n", "\r\n").replace("and\r\n", "and\n").encode()),
        ("objects.csv.gz", gzip.compress(CSV.encode())),
    ],
    ids=["tabs", "byte-order-mark", "windows", "gzip"],
)
def test_formats_of_tables(kg: KnowledgeGraph, tmp_path: Path, name: str, content: bytes) -> None:
    text = YARRRML.replace("objects.csv", name)
    mapping = written(tmp_path / "m.yml", text)
    kg.import_graph(written(tmp_path / name, content), "table", mapping=mapping)
    assert triples(kg, "objects") == expected()


def test_semicolons_and_short_rows(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "id;name;note\n1;Å b\n\n2;C;d\n")
    text = small("'https://x.org/$(name)'", "[rdfs:label, $(name)], [rdfs:comment, $(note)]")
    kg.import_graph(table, "table", mapping=written(tmp_path / "m.yml", text))
    label = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
    assert ox.Triple(ox.NamedNode("https://x.org/Å%20b"), label, ox.Literal("Å b")) in triples(
        kg, "t"
    )
    assert len(triples(kg, "t")) == 3


def test_blank_nodes_become_the_same_iris_each_time(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "id,name\n1,a\n2,b\n")
    text = (
        "mappings: {t: {sources: [[t.csv~csv]], s: $(id)~blanknode, po: [[rdfs:label, $(name)]]}}"
    )
    mapping = written(tmp_path / "m.yml", text)
    kg.import_graph(table, "table", mapping=mapping, name="once")
    kg.import_graph(table, "table", mapping=mapping, name="twice")
    assert triples(kg, "once") == triples(kg, "twice")
    subjects = {str(triple.subject) for triple in triples(kg, "once")}
    assert len(subjects) == 2
    assert all(subject.startswith("<https://example.org/kg/genid/") for subject in subjects)


def test_the_same_as_morph_kgc(kg: KnowledgeGraph, tmp_path: Path) -> None:
    """Except cells that do not fit their type, and letters that IRIs may have."""
    python = os.environ.get("SARAG_MORPH_KGC")
    if python is None:
        pytest.skip("optional: SARAG_MORPH_KGC names no Python with morph-kgc")
    kg.ontologies.add(TABLES / "things.ttl")
    code = (
        "import morph_kgc, sys; print('\\n'.join(t + ' .' for t in morph_kgc.materialize_set("
        "'[CONFIGURATION]\\nnumber_of_processes: 1\\nlogging_level: ERROR\\n"
        "[D]\\nmappings: ' + sys.argv[1])))"
    )
    for table in sorted(TABLES.glob("*.[ct]sv")):
        if table.name == "films.csv":  # with semicolons, which morph-kgc guesses
            continue
        mapping = table.with_suffix(".yml")
        done = subprocess.run(
            [python, "-c", code, str(mapping)],
            cwd=TABLES,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout.replace('"yes"', '"true"').replace('"no"', '"false"')
        kg.import_graph(table, "table", mapping=mapping)
        assert triples(kg, table.stem) == expected(text), table.name


# ---------------------------------------------------------------------------- What is refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("$(title)", "$(tittle)", r"m.yml, object: no column 'tittle' in objects.csv; it has id, "),
        ("mappings:", "mappings: [", r"m.yml, line \d+, column \d+: not valid YAML: "),
        ("objects.csv~csv", "other.csv~csv", "the source is 'other.csv', but the table is"),
        ("objects.csv~csv", "https://x.org/objects.csv~csv", "reads the imported table only"),
        ("objects.csv~csv", "objects.csv~jsonpath", "sources of type jsonpath are not supported"),
        (
            "[objects.csv~csv]",
            "{access: a, query: SELECT 1}",
            "queries as sources are not supported",
        ),
        (
            "o: {mapping: agent}",
            "o: {function: ex:run}",
            "functions and conditions are not supported",
        ),
        ("{mapping: agent}", "{mapping: agent, condition: {}}", "joins are not supported"),
        ("{mapping: agent}", "{mapping: maker}", "no such mapping: 'maker'"),
        ("xsd:gYear", "xds:gYear", "'xds:gYear' is not an IRI: declare its prefix"),
        ("s: ex:agent/", "s: exx:agent/", "is not an IRI: declare its prefix"),
        ("    s: ex:agent/$(maker)\n", "", "mapping 'agent': has no subject"),
        ("s: ex:object/$(id)", "s: ex:object/$(id", "is not closed with"),
        ("    po:", "    pos:", "unknown key 'pos'"),
        ("  agent:", "  object:", "not valid YAML: 'object' occurs twice"),
        ("  agent:", "  x: &x {}\n  y: *x\n  agent:", "aliases are not supported"),
    ],
)
def test_mappings_that_are_refused(
    kg: KnowledgeGraph, tmp_path: Path, table: Path, old: str, new: str, message: str
) -> None:
    assert old in YARRRML
    mapping = written(tmp_path / "m.yml", YARRRML.replace(old, new, 1))
    with pytest.raises(InputError, match=message) as raised:
        kg.import_graph(table, "table", mapping=mapping)
    assert "\n" not in str(raised.value)
    assert kg.imports() == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('rml:source "objects.csv"', 'rml:source "o.csv"', "the source is 'o.csv'"),
        ("ql:CSV", "ql:JSONPath", "sources other than CSV are not supported"),
        ("<#source> rml", "<#source> rml:query 'SELECT 1' ; rml", "queries as sources"),
        ("rr:parentTriplesMap <#agent>", "rr:parentTriplesMap <#a>", "#a: is not a triples map"),
        ("rr:class", "rr:class rr:class", "m.ttl, line 12: not valid Turtle"),
        ("<#agent> ]", "<#agent> ; rr:joinCondition [] ]", "joins are not supported"),
    ],
)
def test_rml_that_is_refused(
    kg: KnowledgeGraph, tmp_path: Path, table: Path, old: str, new: str, message: str
) -> None:
    assert old in RML
    mapping = written(tmp_path / "m.ttl", RML.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        kg.import_graph(table, "table", mapping=mapping)
    assert kg.imports() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "objects.csv is empty"),
        (b"id,title,maker,made,height,on display,notes,web\n", "no triples in objects.csv"),
        (CSV.encode() + b"\xff,b\n", "after line .*: not UTF-8 text: save the table as UTF-8"),
        (CSV.encode() + b"a,b,c,d,e,f,g,h,i\n", "line 6: 9 cells for 8 columns"),
        (CSV.encode() + b'a,"b\n', "line 6: not a table"),
        (CSV.encode().replace(b"notes", b"id"), "two columns 'id'"),
        (b"PK\0\0", "is not text"),
    ],
)
def test_tables_that_are_refused(
    kg: KnowledgeGraph, tmp_path: Path, mapping: Path, content: bytes, message: str
) -> None:
    table = written(tmp_path / "objects.csv", content)
    with pytest.raises(InputError, match=message):
        kg.import_graph(table, "table", mapping=mapping)
    assert kg.imports() == []


def test_options_that_do_not_fit(kg: KnowledgeGraph, table: Path, mapping: Path) -> None:
    with pytest.raises(UsageError, match="a table needs --mapping FILE"):
        kg.import_graph(table, "table")
    with pytest.raises(UsageError, match="unknown option 'mapping' of an import"):
        kg.import_graph(table, "rdf", mapping=mapping)
    with pytest.raises(UsageError, match="do not apply to tables"):
        kg.import_graph(table, "table", mapping=mapping, languages=["en"])
    with pytest.raises(UsageError, match=r"objects\.csv is not a mapping"):
        kg.import_graph(table, "table", mapping=table)
    with pytest.raises(UsageError, match="no such file"):
        kg.import_graph(table, "table", mapping=mapping.with_name("n.yml"))


# ---------------------------------------------------------------------------- Again, and half-way


def test_a_broken_table_does_not_replace_a_graph(
    kg: KnowledgeGraph, table: Path, mapping: Path
) -> None:
    kg.import_graph(table, "table", mapping=mapping)
    assert kg.import_graph(table, "table", mapping=mapping).already
    written(mapping, YARRRML.replace("ex:height", "ex:size"))
    with pytest.raises(UsageError, match="this file with other options"):
        kg.import_graph(table, "table", mapping=mapping)
    written(table, CSV + "a,b,c,d,e,f,g,h,i\n")
    with pytest.raises(InputError, match="9 cells"):
        kg.import_graph(table, "table", mapping=mapping, replace=True)
    assert triples(kg, "objects") == expected()
    written(table, CSV)
    kg.import_graph(table, "table", mapping=mapping, replace=True)
    sizes = {t.predicate.value for t in triples(kg, "objects")}
    assert f"{EX}size" in sizes
    assert f"{EX}height" not in sizes


def test_an_interrupted_import_resumes(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_import, "BATCH", 200)
    rows = "".join(f"{n},name {n}\n" for n in range(500))
    table = written(tmp_path / "t.csv", f"id,name\n{rows}")
    text = small("'https://x.org/$(id)'", "[rdfs:label, $(name)]")
    mapping = written(tmp_path / "m.yml", text)
    real, calls = graph_import._write, []

    def interrupted(*arguments: object, **named: object) -> None:
        real(*arguments, **named)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(graph_import, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kg.import_graph(table, "table", mapping=mapping)
    monkeypatch.setattr(graph_import, "_write", real)
    (half,) = kg.imports()
    assert 0 < int(half.state) < 500
    assert kg.import_graph(table, "table", mapping=mapping).triples == 500


# ---------------------------------------------------------------------------- Suggested mappings


def corrections(suggested: tuple[TriplesMap, ...], wanted: tuple[TriplesMap, ...]) -> int:
    """Lines of a mapping to change, add or delete: subjects, and statements of subjects.

    Names that the tool makes up are as good as others: those of mappings, IRIs below that of the
    table, and ``xsd:string``. The first mapping is that of the rows; the others are known by the
    column that they are about.
    """

    def term(term: TermMap) -> object:
        if term.parts[0].startswith("https://example.org/kg/table/"):
            return term.columns
        return replace(term, datatype=term.datatype.replace(XSD.string.value, ""))

    def lines(maps: tuple[TriplesMap, ...]) -> set[object]:
        names = {id(m): m.subject.columns if number else "rows" for number, m in enumerate(maps)}
        statements = {(names[id(m)], term(p), term(o)) for m in maps for p, o in m.statements}
        return statements | {(names[id(m)], term(m.subject)) for m in maps}

    left, right = lines(suggested), lines(wanted)
    return max(len(left - right), len(right - left))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("museum-objects.csv", 0),
        ("persons.csv", 1),  # a home page, of which the packaged ontology knows nothing
        ("minerals.tsv", 0),
        ("films.csv", 0),
        ("river-gauges.csv", 0),
        ("registers/library-books.csv", 1),  # the ISBN is both an identifier and a property
        ("registers/bridges.csv", 0),
        ("registers/hospitals.csv", 1),  # "zip"
        ("registers/earthquakes.tsv", 4),  # the nearest place is a thing, with a name and a class
        ("registers/city-trees.csv", 2),  # the label of trees; "street" is no postal address
    ],
)
def test_a_suggested_mapping_needs_few_corrections(
    kg: KnowledgeGraph, name: str, expected: int
) -> None:
    table = TABLES / name
    if name != "persons.csv":  # that follows the packaged ontology
        kg.ontologies.add(table.parent / ("registers.ttl" if "/" in name else "things.ttl"))
    suggested = kg.suggest_mapping(table)
    assert suggested == kg.suggest_mapping(table)
    wanted = MappingFile.read(table.with_suffix(".yml"))
    maps = [
        read_mapping(MappingFile("m.yml", content), table.name)
        for content in (suggested.encode(), wanted.content)
    ]
    assert corrections(*maps) == expected


def test_the_label_is_a_full_column_of_names_or_the_identifier(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    ontology = """PREFIX : <https://sea.example/#> PREFIX owl: <http://www.w3.org/2002/07/owl#>
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    :Cruise a owl:Class ; rdfs:label "cruise" . :Sample a owl:Class ; rdfs:label "sample" .
    :Site a owl:Class ; rdfs:label "sampling station" .
    :visited a owl:ObjectProperty ; rdfs:label "visited station" ;
      rdfs:domain :Cruise ; rdfs:range :Site .
    :takenAt a owl:ObjectProperty ; rdfs:label "taken at" ;
      rdfs:domain :Sample ; rdfs:range :Site ."""
    kg.ontologies.add(written(tmp_path / "sea.ttl", ontology))
    rows = "no,station,title,wikidata,keeper\n1,C1,,Q1,Ada Sund\n2,C4,,Q2,Bo Lie\n"
    rows += "3,C4,A rock,,Eva Lie\n"

    def suggested(name: str, content: str) -> str:
        return kg.suggest_mapping(written(tmp_path / name, content))

    samples = suggested("samples.csv", rows)
    assert "[rdfs:label, $(keeper)]" in samples, "not the mostly empty columns"
    assert "ex:sampling-station/$(station)~iri]  # taken at? similarity 0.65" in samples
    unknown = suggested("finds.csv", rows.replace("Eva Lie", "Bo Lie"))
    assert "[rdfs:label, $(no)]" in unknown, "no column of names identifies a row"
    assert "[ex:station, $(station)]" in unknown, "not what only a cruise has"


@pytest.mark.parametrize("name", ["museum-objects.csv", "minerals.tsv", "films.csv"])
def test_a_suggested_mapping_can_be_imported(kg: KnowledgeGraph, tmp_path: Path, name: str) -> None:
    mapping = written(tmp_path / "m.yml", kg.suggest_mapping(TABLES / name))
    report = kg.import_graph(TABLES / name, "table", mapping=mapping)
    assert report.triples > 20
    assert report.warnings == ()


def test_awkward_names_of_columns(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", '"a (b): #1","$(x)",name\\,\nu,1,N\nv,2,M\n')
    mapping = written(tmp_path / "m.yml", kg.suggest_mapping(table))
    assert kg.import_graph(table, "table", mapping=mapping).triples == 8


def test_words_of_names() -> None:
    assert content_words("dateOfBirth") == content_words("birth_date") == {"date", "birth"}
    assert content_words("catchment_area_km2") == {"catchment", "area"}


def test_the_command(sarag: Sarag, tmp_path: Path, table: Path, mapping: Path) -> None:
    ask = ("import", table, "--as", "table", "--no-vectors")
    sarag(*ask).fails(2, "a table needs --mapping FILE")
    sarag(*ask, "--mapping", mapping, "--suggest-mapping", "s.yml").fails(
        2, "either --suggest-mapping or --mapping"
    )
    sarag("import", table, "--as", "rdf", "--suggest-mapping", "s.yml").fails(2, "needs --as table")
    result = sarag(*ask, "--suggest-mapping", "s.yml")
    assert result.code == 0
    assert not (tmp_path / "kg").exists()
    sarag(*ask, "--suggest-mapping", "s.yml").fails(2, "s.yml exists already")
    assert sarag(*ask, "--mapping", "s.yml", "--name", "a").code == 0
    result = sarag(*ask, "--mapping", mapping)
    assert result.code == 0
    assert "column 'made': 1 value is not of type xsd:gYear" in result.err
    assert "objects: 21 triples imported as rdf" in result.out


def test_errors_are_of_the_library() -> None:
    with pytest.raises(SaragError):
        read_mapping(MappingFile("m.yml", b"a: b"), "t.csv")


# ---------------------------------------------------------------------------- Literals


def test_literals_are_part_of_what_is_searched_and_shown(kg: KnowledgeGraph) -> None:
    kg.import_graph(TABLES / "persons.csv", "table", mapping=TABLES / "persons.yml")
    found = kg.search("Who died on 1770-01-09?", retriever="bm25")
    page = found.documents[0].document
    assert page.title == "Per Lind"
    assert page.text.splitlines() == [
        "Per Lind, birth date 1702-11-30.",
        "Per Lind, death date 1770-01-09.",
        "Per Lind, identifier p2.",
        "Per Lind, nationality Sweden.",
        "Per Lind, occupation instrument maker.",
        "Per Lind birth place Uppsala.",
    ]


def test_literals_have_the_label_of_their_property(kg: KnowledgeGraph, tmp_path: Path) -> None:
    text = """
    @prefix : <https://x.org/> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :b rdfs:label "born"@en, "geboren"@de .
    :a rdfs:label "Anna Sand" ; rdfs:comment "A pilot." ; :b 1984 ;
      :motto "Vorwärts"@de, "Onward"@en ; :nur "etwas"@de .
    """
    kg.import_graph(written(tmp_path / "a.ttl", text), "rdf")
    page = kg.search("Who is Anna Sand?").documents[0].document
    assert page.text.splitlines() == [
        "A pilot.",
        "Anna Sand, born 1984.",
        "Anna Sand, motto Onward.",
        "Anna Sand, nur etwas.",
    ]


def test_json_ld_is_imported(kg: KnowledgeGraph, tmp_path: Path) -> None:
    text = """{"@context": {"name": "https://schema.org/name", "born": "https://schema.org/birthDate",
      "xsd": "http://www.w3.org/2001/XMLSchema#", "knows": {"@id": "https://schema.org/knows"}},
      "@id": "https://x.org/anna", "name": "Anna Sand",
      "born": {"@value": "1984", "@type": "xsd:gYear"}, "knows": {"name": "Per Lind"}}"""
    for name in ("a.jsonld", "b.json"):
        assert kg.import_graph(written(tmp_path / name, text), "rdf").triples == 4
    remote = '{"@context": "https://schema.org/", "name": "Anna"}'
    with pytest.raises(InputError, match=r"c.jsonld.*"):
        kg.import_graph(written(tmp_path / "c.jsonld", remote), "rdf")


# ---------------------------------------------------------------------------- Texts


NOTES = """\
id,title,maker,notes
o1,Brass astrolabe,Ida Storm,"Engraved for a navigator who sailed to Madeira."
o2,Pocket globe,Per Lind,"A sphere of papier-mâché; its fish-skin case shows the southern sky."
o3,Tide table,Ida Storm,
"""
TEXTS = """
prefixes: {ex: "https://museum.example.org/"}
mappings:
  object:
    sources: [[notes.csv~csv]]
    s: ex:object/$(id)
    po:
      - [rdfs:label, $(title), en~lang]
      - [ex:maker, ex:agent/$(maker)~iri]
      - [sarag:text, $(notes), en~lang]
  agent:
    sources: [[notes.csv~csv]]
    s: ex:agent/$(maker)
    po:
      - [rdfs:label, $(maker)]
"""


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path / "notes.csv", NOTES), written(tmp_path / "texts.yml", TEXTS)


@pytest.mark.parametrize("retriever", ["sarag", "bm25", "dense"])
def test_a_text_is_a_document_about_the_thing_of_its_row(
    kg: KnowledgeGraph, texts: tuple[Path, Path], retriever: str
) -> None:
    table, mapping = texts
    kg.import_graph(table, "table", mapping=mapping)
    found = kg.search("What does the fish-skin case of the sphere show?", retriever=retriever)
    first = found.documents[0].document
    assert first.text.startswith("A sphere of papier-mâché; its fish-skin")
    assert (first.title, first.source_iri) == ("Pocket globe", f"{EX}object/o2")
    assert (first.begin, first.end, first.language) == (0, len(first.text), "en")
    assert first.iri.startswith("https://example.org/kg/doc/")
    titles = [item.document.title for item in found.documents]
    assert len(titles) == len({item.document.iri for item in found.documents})
    table_ = kg.query(
        "PREFIX sarag: <https://w3id.org/sarag/ontology#> "
        "SELECT ?thing { ?d a sarag:Document ; sarag:about ?thing ; sarag:describes ?thing }",
        over=["notes"],
    )
    assert {row[0].value for row in table_.rows} == {  # type: ignore[union-attr]
        f"{EX}object/o1",
        f"{EX}object/o2",
    }


@pytest.mark.parametrize("engine", ["memory", "sparql"])
def test_activation_reaches_the_text_over_the_thing(
    tmp_path: Path, texts: tuple[Path, Path], engine: Engine
) -> None:
    """The text about the astrolabe is reached from its maker, whom only the question names."""
    table, mapping = texts
    folder = tmp_path / "kg"
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None, engine=engine) as kg:
        kg.import_graph(table, "table", mapping=mapping)
        found = kg.search("Ida Storm", c=0.0, k=0, n=2)
    text = next(d for d in found.documents if d.document.text.startswith("Engraved"))
    assert text.activation > 0
    assert [step.target for step in text.chain][-2:] == [f"{EX}object/o1", text.document.iri]


def test_passages_have_the_size_that_is_asked_for(
    kg: KnowledgeGraph, texts: tuple[Path, Path]
) -> None:
    table, mapping = texts
    kg.import_graph(table, "table", mapping=mapping, words=6, overlap=2)
    table_ = kg.query(
        "PREFIX sarag: <https://w3id.org/sarag/ontology#> SELECT ?text { ?d sarag:text ?text }",
        over=["notes"],
    )
    lengths = [len(row[0].value.split()) for row in table_.rows]  # type: ignore[union-attr]
    assert max(lengths) == 6
    assert len(lengths) > 2
    with pytest.raises(UsageError, match="cannot share 6"):
        kg.import_graph(table, "table", mapping=mapping, words=6, overlap=6)


def test_warnings_about_many_columns_are_cut(kg: KnowledgeGraph, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(25)]
    table = written(tmp_path / "wide.csv", f"id,{','.join(names)}\na{',x' * 25}\n")
    columns = ", ".join(f"[rdfs:comment, $({name}), xsd:integer]" for name in names)
    mapping = written(
        tmp_path / "wide.yml",
        "mappings: {a: {sources: [[wide.csv~csv]], s: https://x.org/$(id), "
        f"po: [[rdfs:label, $(id)], {columns}]}}}}",
    )
    warnings = kg.import_graph(table, "table", mapping=mapping).warnings
    assert warnings[-1] == "and 5 more columns"
    assert len(warnings) == 21


def test_a_long_text_has_several_documents(kg: KnowledgeGraph, tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(1100))
    table = written(tmp_path / "t.csv", f"id,name,text\n1,One,{words}\n2,,{words}\n")
    text = small("'https://x.org/$(id)'", "[rdfs:label, $(name)], [sarag:text, $(text)]")
    kg.import_graph(table, "table", mapping=written(tmp_path / "m.yml", text))
    found = kg.search("word1099", retriever="bm25", limit=100)
    documents = [item.document for item in found.documents if item.document.end]
    last = max(documents, key=lambda document: document.end)
    assert (last.end, last.text) == (len(words), words[last.begin :])
    assert "word1099" in documents[0].text
    assert {document.title for document in documents} == {"One"}  # the other row has no name
    assert len(last.text.split()) == 500


def test_texts_follow_the_table(kg: KnowledgeGraph, texts: tuple[Path, Path]) -> None:
    table, mapping = texts
    kg.import_graph(table, "table", mapping=mapping)
    written(table, NOTES.replace("Madeira", "Tobago").replace(",A sphere", ',"').split("o2")[0])
    kg.import_graph(table, "table", mapping=mapping, replace=True)
    shown = [item.document.text for item in kg.search("navigator to Madeira").documents]
    assert any("Tobago" in text for text in shown)
    assert not any("Madeira" in text or "sphere" in text for text in shown)
    kg.forget_import("notes")
    assert kg.imports() == []
    with pytest.raises(SaragError, match="the graph is empty"):
        kg.search("navigator")


@pytest.mark.parametrize("term", ["[sarag:text, $(notes), xsd:string]", "[sarag:text, $(id)~iri]"])
def test_a_text_has_no_datatype(
    kg: KnowledgeGraph, tmp_path: Path, texts: tuple[Path, Path], term: str
) -> None:
    wrong = written(tmp_path / "m.yml", TEXTS.replace("[sarag:text, $(notes), en~lang]", term))
    with pytest.raises(InputError, match=r"m.yml, object: the value of sarag:text is a text"):
        kg.import_graph(texts[0], "table", mapping=wrong)


def test_long_columns_are_suggested_as_texts(kg: KnowledgeGraph, tmp_path: Path) -> None:
    rows = "".join(f"{n},name {n},{'word ' * (90 + n)}\n" for n in range(5))
    table = written(tmp_path / "t.csv", f"id,name,about it\n{rows}")
    mapping = kg.suggest_mapping(table)
    assert '[sarag:text, "$(about it)"]' in mapping
    kg.import_graph(table, "table", mapping=written(tmp_path / "m.yml", mapping))
    assert kg.search("word", retriever="bm25").documents[0].document.text.startswith("word word")
