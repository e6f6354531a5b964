"""The schema of ontologies in several vocabularies and formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import RDFS, XSD
from sarag_rdf.graph.ontology.schema import Schema, split_words, value_datatype
from sarag_rdf.graph.ontology.schema_reader import header_of, read_ontology, schema_of
from sarag_rdf.graph.store.input_files import RdfReadOptions
from tests.data_folder import data_folder
from tests.graph.museum import EX, MUSEUM

PREFIXES = """
@prefix ex: <https://museum.example/ontology#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
SUFFIXES = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".trig": ox.RdfFormat.TRIG,
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Schema]:
    """Reads a schema from Turtle."""

    def schema(turtle: str) -> Schema:
        path = tmp_path / "ontology.ttl"
        path.write_text(PREFIXES + turtle, encoding="utf-8")
        return schema_of(read_ontology(str(path)).triples)

    return schema


def test_an_owl_ontology(read: Callable[[str], Schema]) -> None:
    schema = read(MUSEUM)
    assert [iri.removeprefix(EX) for iri in schema.classes] == [
        *("Agent", "Group", "Mineral", "Person"),
    ]
    person, mineral = schema.classes[f"{EX}Person"], schema.classes[f"{EX}Mineral"]
    assert (person.label, person.alternatives, person.parents) == (
        *("person", ("human",)),
        (f"{EX}Agent",),
    )
    assert (mineral.definition, mineral.examples, mineral.parents) == (
        *("A solid with a crystal structure.", ("quartz",)),
        (),
    )
    assert [iri.removeprefix(EX) for iri in schema.properties] == [
        *("collected", "collector", "dateOfBirth", "firstCollected", "hardness", "married"),
    ]
    collected, married = schema.properties[f"{EX}collected"], schema.properties[f"{EX}married"]
    assert collected.domains == (f"{EX}Group", f"{EX}Person")
    assert collected.ranges == (f"{EX}Mineral",)
    assert collected.phrases == ("brought home", "collected")
    assert collected.inverse_phrases == ("was collected by",)
    assert (collected.is_literal, collected.is_functional) == (False, False)
    assert (married.is_symmetric, collected.is_symmetric) == (True, False)
    hardness = schema.properties[f"{EX}hardness"]
    assert (hardness.is_literal, hardness.is_functional) == (True, True)
    assert hardness.ranges == (XSD.decimal.value,)
    assert schema.properties[f"{EX}dateOfBirth"].label == "date of birth"


def test_other_properties_entail_domains_and_ranges(read: Callable[[str], Schema]) -> None:
    schema = read(MUSEUM)
    collected, collector = schema.properties[f"{EX}collected"], schema.properties[f"{EX}collector"]
    first = schema.properties[f"{EX}firstCollected"]
    assert (collected.inverse, collector.inverse) == (collector.iri, collected.iri)
    assert (collector.domains, collector.ranges) == (collected.ranges, collected.domains)
    assert (first.domains, first.ranges) == (collected.domains, collected.ranges)
    assert first.parents == (collected.iri,)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_has_the_same_schema(tmp_path: Path, suffix: str) -> None:
    triples = [quad.triple for quad in ox.parse(MUSEUM, format=ox.RdfFormat.TURTLE)]
    (tmp_path / "museum.ttl").write_text(MUSEUM, encoding="utf-8")
    data = ox.serialize(triples, format=SUFFIXES[suffix])
    (tmp_path / f"museum{suffix}").write_bytes(data or b"")
    turtle, other = (
        read_ontology(str(tmp_path / f"museum{end}"), genid=genid)
        for end, genid in ((".ttl", "urn:a/genid/"), (suffix, "https://b.example/genid/"))
    )
    assert len(turtle.triples) == len(other.triples) == len(triples)
    again = read_ontology(str(tmp_path / f"museum{suffix}"), genid="https://b.example/genid/")
    assert again == other
    assert schema_of(turtle.triples).digest == schema_of(reversed(other.triples)).digest
    assert header_of(other.triples).title == "Museum ontology"
    assert header_of(other.triples).version == "1.2"


def test_a_concept_scheme(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        ex:scheme a skos:ConceptScheme ; skos:prefLabel "Rocks"@en .
        ex:rock a skos:Concept ; skos:prefLabel "roche"@fr , "rock"@en ; skos:narrower ex:lava .
        ex:basalt a skos:Concept ; skos:prefLabel "basalt"@en ; skos:altLabel "trap rock"@en ;
            skos:broader ex:rock ; skos:definition "A dark volcanic rock."@en .
        ex:lava a skos:Concept ; skos:prefLabel "lave"@fr .
        """
    )
    assert {c.label: [p.removeprefix(EX) for p in c.parents] for c in schema.classes.values()} == {
        "basalt": ["rock"],
        "lave": ["rock"],
        "rock": [],
    }
    assert schema.classes[f"{EX}basalt"].alternatives == ("trap rock",)
    assert schema.classes[f"{EX}basalt"].definition == "A dark volcanic rock."
    assert schema.superclasses(f"{EX}lava") == {f"{EX}lava", f"{EX}rock"}
    assert not schema.properties


def test_the_vocabulary_of_schema_org(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        schema:Text a rdfs:Class , schema:DataType . schema:URL rdfs:subClassOf schema:Text .
        schema:Duration a rdfs:Class , schema:DataType .
        schema:Person a rdfs:Class ; rdfs:label "Person" . schema:CreativeWork a rdfs:Class .
        schema:Role a rdfs:Class .
        schema:creator a rdf:Property ; rdfs:label "creator" ; schema:inverseOf schema:creatorOf ;
            schema:domainIncludes schema:CreativeWork ; schema:rangeIncludes schema:Person .
        schema:creatorOf a rdf:Property ; rdfs:label "creatorOf" .
        schema:author a rdf:Property ; schema:supersededBy schema:creator .
        schema:image a rdf:Property ; schema:rangeIncludes schema:URL , schema:Text .
        schema:length a rdf:Property ; schema:rangeIncludes schema:Duration .
        schema:job a rdf:Property ; schema:rangeIncludes schema:Role , schema:Text .
        schema:born a rdf:Property ; rdfs:range rdfs:Literal ; schema:rangeIncludes xsd:date .
        schema:motto a rdf:Property ; rdfs:range rdfs:Literal .
        """
    )
    properties = {p.label: p for p in schema.properties.values()}
    literal = [properties.pop("born"), properties.pop("motto")]
    assert [p.ranges for p in literal] == [(XSD.date.value,), (RDFS.Literal.value,)]
    assert list(properties) == ["creator", "creator of", "image", "job", "length"]
    assert [c.label for c in schema.classes.values()] == ["creative work", "Person", "role"]
    assert properties["creator of"].alternatives == ("creatorOf",)
    assert properties["creator of"].domains == ("https://schema.org/Person",)
    assert [p.is_literal for p in properties.values()] == [False, False, True, False, True]


def test_shacl_shapes_as_a_schema(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        ex:PersonShape a sh:NodeShape ; sh:targetClass ex:Person ; sh:name "person" ;
            sh:description "A human being." ; sh:property ex:bornShape ,
            [ sh:path ex:worksFor ; sh:or ( [ sh:class ex:Firm ] [ sh:node ex:SchoolShape ] ) ] ,
            [ sh:path ex:wrote ; sh:nodeKind sh:IRI ; sh:maxCount 1 ] ,
            [ sh:path [ sh:inversePath ex:parent ] ; sh:class ex:Person ] ,
            [ sh:path ex:motto ; sh:nodeKind sh:Literal ] .
        ex:bornShape sh:path ex:born ; sh:maxCount 1 ; sh:name "date of birth" ;
            sh:description "When it was born." ;
            sh:or ( [ sh:datatype xsd:date ] [ sh:datatype xsd:gYear ] ) .
        ex:SchoolShape a sh:NodeShape ; sh:targetClass ex:School ;
            sh:property [ sh:path ex:wrote ; sh:class ex:Book ] .
        ex:Firm a rdfs:Class , sh:NodeShape ; sh:property [ sh:path ex:seat ; sh:class ex:Place ] .
        """
    )
    properties = {iri.removeprefix(EX): p for iri, p in schema.properties.items()}
    assert list(properties) == ["born", "motto", "seat", "worksFor", "wrote"]
    assert [iri.removeprefix(EX) for iri in schema.classes] == [
        *("Book", "Firm", "Person", "Place", "School"),
    ]
    assert schema.classes[f"{EX}Person"].definition == "A human being."
    born, works, wrote = properties["born"], properties["worksFor"], properties["wrote"]
    assert (born.label, born.definition) == ("date of birth", "When it was born.")
    assert born.ranges == (XSD.date.value, XSD.gYear.value)
    assert (born.is_literal, born.is_functional) == (True, True)
    assert works.ranges == (f"{EX}Firm", f"{EX}School")
    assert wrote.domains == (f"{EX}Person", f"{EX}School")
    assert not wrote.is_functional  # a school may have written several books
    assert properties["seat"].domains == (f"{EX}Firm",)
    assert properties["motto"].is_literal


@pytest.mark.parametrize(
    ("label", "ranges", "datatype"),
    [
        ("born", [XSD.gYear.value], "gYear"),
        ("born", ["https://x.example/concepts#Date"], "date"),
        ("built", ["https://x.example/concepts#Year"], "gYear"),
        ("floors", ["https://x.example/concepts#number"], "decimal"),
        ("motto", ["https://x.example/concepts#string"], "string"),
        (
            "length",
            ["https://schema.org/Distance", "https://schema.org/QuantitativeValue"],
            "decimal",
        ),
        ("publication date", [], "date"),
        ("inception", [], "date"),
        ("Cost", [], "decimal"),
        ("year of the last flood", [], "gYear"),
        ("call sign", [], "string"),
    ],
)
def test_the_datatype_of_values(label: str, ranges: list[str], datatype: str) -> None:
    assert value_datatype(label, ranges) == XSD[datatype].value


def test_dates_and_numbers_that_are_declared_as_objects(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        ex:born a owl:ObjectProperty ; rdfs:range ex:Date . ex:Date a owl:Class .
        ex:floors a owl:ObjectProperty ; rdfs:range ex:number .
        ex:inception a owl:ObjectProperty .
        ex:dated a owl:ObjectProperty ; rdfs:label "date" ; rdfs:range ex:Fruit .
        ex:birthday a owl:ObjectProperty ; rdfs:label "birthday" ; owl:inverseOf ex:birthdayOf .
        ex:birthdayOf a owl:ObjectProperty .
        """
    )
    literal = {iri.removeprefix(EX) for iri, p in schema.properties.items() if p.is_literal}
    assert literal == {"born", "floors", "inception"}
    assert f"{EX}number" not in schema.classes


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("birthDate", "birth date"),
        ("BirthDate", "birth date"),
        ("birth_date", "birth date"),
        ("birth-date", "birth date"),
        ("hasISBNNumber", "has ISBN number"),
        ("HTTPServer", "HTTP server"),
        ("born", "born"),
        ("P19", "P19"),
        ("BFO_0000050", "BFO_0000050"),
        ("geburtsJahrÄra", "geburts jahrära"),
        ("line2Text", "line2 text"),
    ],
)
def test_names_are_split_into_words(name: str, words: str) -> None:
    assert split_words(name) == words


def test_english_names_come_first(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        ex:a a owl:Class ; rdfs:label "ville"@fr , "town" , "city"@en-GB .
        ex:b a owl:Class ; rdfs:label "ville"@fr , "town" .
        ex:c a owl:Class ; rdfs:label "ville"@fr , "Stadt"@de ; skos:altLabel "Ort"@de , "lieu"@fr .
        ex:town%20hall a owl:Class .
        """
    )
    names = {c.label: c.alternatives for c in schema.classes.values()}
    assert names == {"city": ("town",), "town": (), "Stadt": ("Ort",), "town hall": ()}


def test_terms_of_other_vocabularies_are_only_parents(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        ex:Person a owl:Class ; rdfs:subClassOf schema:Person , owl:Thing , ex:Agent .
        ex:born a owl:ObjectProperty ; rdfs:subPropertyOf schema:birthPlace ; rdfs:range owl:Thing .
        """
    )
    assert list(schema.classes) == [f"{EX}Agent", f"{EX}Person"]
    assert schema.classes[f"{EX}Person"].parents == (f"{EX}Agent", "https://schema.org/Person")
    assert list(schema.properties) == [f"{EX}born"]
    assert schema.properties[f"{EX}born"].parents == ("https://schema.org/birthPlace",)
    assert schema.properties[f"{EX}born"].ranges == ()


def test_namespaces_without_their_hash_are_corrected(tmp_path: Path) -> None:
    path = tmp_path / "careless.ttl"
    path.write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema> .\n"
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema> .\n"
        "@prefix ex: <https://museum.example/ontology#> .\n"
        'ex:A a rdfs:Class ; rdfs:label "a thing" .\n'
        'ex:p rdfs:domain ex:A ; rdfs:range xsd:date ; ex:since "2001-02-03"^^xsd:date .\n'
    )
    file = read_ontology(str(path))
    assert file.repaired == (
        "http://www.w3.org/2000/01/rdf-schema",
        "http://www.w3.org/2001/XMLSchema",
    )
    schema = schema_of(file.triples)
    assert schema.classes[f"{EX}A"].label == "a thing"
    assert schema.properties[f"{EX}p"].ranges == (XSD.date.value,)
    assert ox.Literal("2001-02-03", datatype=XSD.date) in {t.object for t in file.triples}


def test_circles_of_axioms_end(read: Callable[[str], Schema]) -> None:
    schema = read(
        """
        ex:A a owl:Class ; rdfs:subClassOf ex:B . ex:B a owl:Class ; rdfs:subClassOf ex:A .
        ex:p rdfs:subPropertyOf ex:q ; rdfs:domain _:u . ex:q rdfs:subPropertyOf ex:p .
        _:u owl:unionOf _:l . _:l rdf:first _:u ; rdf:rest _:l .
        ex:S a sh:NodeShape ; sh:targetClass ex:A ; sh:property _:s .
        _:s sh:path ex:r ; sh:or _:m . _:m rdf:first _:s ; rdf:rest _:m .
        """
    )
    assert schema.properties[f"{EX}p"].domains == ()
    assert schema.properties[f"{EX}r"].domains == (f"{EX}A",)


def test_unions_may_be_nested_deeply(read: Callable[[str], Schema]) -> None:
    depth = 3_000
    text = "".join(
        f"_:u{i} owl:unionOf _:l{i} . _:l{i} rdf:first _:u{i + 1} ; rdf:rest rdf:nil .\n"
        for i in range(depth)
    )
    end = f"_:u{depth} owl:unionOf ( ex:A ) . ex:p rdfs:domain _:u0 ; a owl:ObjectProperty .\n"
    assert read(text + end).properties[f"{EX}p"].domains == (f"{EX}A",)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "broken.ttl"
    path.write_text("<https://x.example/a> a")
    with pytest.raises(InputError, match=r"broken\.ttl, line 1"):
        read_ontology(str(path))
    path.write_text("# nothing\n")
    with pytest.raises(InputError, match=r"no triples in broken\.ttl"):
        read_ontology(str(path))
    with pytest.raises(UsageError, match="no such file"):
        read_ontology(str(tmp_path / "none.ttl"))
    remote = tmp_path / "remote.jsonld"
    remote.write_text(
        '{"@context": "https://nowhere.invalid/c.jsonld", "@id": "https://x.example"}'
    )
    with pytest.raises(InputError, match=r"remote\.jsonld"):
        read_ontology(str(remote))


def test_relative_iris_need_a_base(tmp_path: Path) -> None:
    path = tmp_path / "relative.ttl"
    path.write_text("<#A> a <http://www.w3.org/2002/07/owl#Class> .")
    with pytest.raises(InputError, match="--base-iri"):
        read_ontology(str(path))
    options = RdfReadOptions(base_iri="https://museum.example/ontology")
    assert list(schema_of(read_ontology(str(path), options).triples).classes) == [f"{EX}A"]


# --------------------------------------------------------------------------- Real ontologies


def test_the_vocabulary_and_the_shapes_of_this_project() -> None:
    vocabulary = schema_of(read_ontology(str(ontology_path("sarag.ttl"))).triples)
    base = "https://w3id.org/sarag/ontology#"
    describes = vocabulary.properties[f"{base}describes"]
    assert describes.inverse == f"{base}describedBy"
    assert vocabulary.properties[f"{base}relatedTo"].is_symmetric
    assert f"{base}Entity" in vocabulary.superclasses(f"{base}Person")
    shapes = schema_of(read_ontology(str(ontology_path("shapes.ttl"))).triples)
    assert f"{base}Document" in shapes.classes
    assert shapes.properties[f"{base}baseIRI"].domains == (f"{base}KnowledgeGraph",)


def test_schema_org_as_it_is() -> None:
    file = read_ontology(str(data_folder("vocab") / "schemaorg-30.nt"))
    schema, base = schema_of(file.triples), "http://schema.org/"
    assert (len(file.triples), len(schema.classes), len(schema.properties)) == (17949, 930, 1477)
    assert all(p.domains and p.ranges for p in schema.properties.values() if p.iri.startswith(base))
    birth = schema.properties[f"{base}birthDate"]
    assert (birth.label, birth.domains, birth.is_literal) == (
        "birth date",
        (f"{base}Person",),
        True,
    )
    assert not schema.properties[f"{base}birthPlace"].is_literal
    assert schema.properties[f"{base}height"].is_literal
    assert schema.properties[f"{base}alumni"].inverse == f"{base}alumniOf"
    assert f"{base}Thing" in schema.superclasses(f"{base}Physician")
    assert not {f"{base}Text", f"{base}URL", f"{base}Integer"} & schema.classes.keys()


def test_shapes_of_yago() -> None:
    file = read_ontology(str(data_folder("vocab") / "yago-schema.ttl"))
    schema, base = schema_of(file.triples), "http://schema.org/"
    assert "http://www.w3.org/ns/shacl" in file.repaired
    assert (len(schema.classes), len(schema.properties)) == (41, 108)
    birth = schema.properties[f"{base}birthDate"]
    assert (birth.domains, birth.is_literal, birth.is_functional) == (
        (f"{base}Person",),
        *(True, True),
    )
    assert f"{base}Thing" in schema.superclasses(f"{base}Book")


def test_the_ontologies_of_a_benchmark() -> None:
    folder = data_folder("text2kgbench")
    files = sorted(folder.glob("*/ontologies/owl/*.ttl"))
    schemas = {path.stem: schema_of(read_ontology(str(path)).triples) for path in files}
    assert len(schemas) == 15
    properties = [p for schema in schemas.values() for p in schema.properties.values()]
    assert len(properties) == 440
    assert all(p.domains and p.label for p in properties)
    dates = [p for p in properties if p.label in ("publication date", "birth date", "inception")]
    places = [p for p in properties if p.label in ("birth place", "country", "location")]
    assert len(dates) > 3
    assert all(p.is_literal for p in dates)
    assert len(places) > 3
    assert not any(p.is_literal for p in places)
