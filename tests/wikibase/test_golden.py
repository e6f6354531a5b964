"""Entity documents as RDF against Wikibase's own expectations, file by file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox
import pytest

from sarag_rdf.base.vocab import RDF, RDFS, SCHEMA, SKOS, WIKIBASE_SCHEMA
from sarag_rdf.plugins.wikibase.dump import DumpOptions
from sarag_rdf.plugins.wikibase.model import Entity
from sarag_rdf.plugins.wikibase.rdf import (
    FORMAT_VERSION,
    Flavor,
    document_triples,
    dump_header,
    dump_triples,
    entity_triples,
    page_triples,
    text_triples,
)
from sarag_rdf.plugins.wikibase.vocabulary import CC, WIKIBASE
from tests.wikibase.golden import (
    GOLDEN,
    document,
    expected,
    named_by_content,
    needs_golden,
    vocabulary,
)

NOT_COMPARED = {
    "RdfBuilder/prop1": "page properties that the file's own test makes up",
    "RdfBuilder/prop2": "page properties that the file's own test makes up",
    "RdfBuilder/prop3": "page properties that the file's own test makes up",
    "RdfBuilder/prop4": "page properties that the file's own test makes up",
    "TermsRdfBuilder/predicate.Q2_terms_labels": "a predicate that the file's own test makes up",
    "TermsRdfBuilder/predicate.Q2_terms_labels_ru": "a predicate that the file's own test makes up",
    "RdfDumpGenerator/refs": "references to a third Wikibase, which no document of the folder has",
}
CC0 = "http://creativecommons.org/publicdomain/zero/1.0/"
COMPARED: set[str] = set()
COUNTS = {WIKIBASE.statements, WIKIBASE.identifiers, WIKIBASE.sitelinks}
FOREIGN = "_foreignsource_properties"
DATATYPES = {
    "P2": "wikibase-item",
    "P3": "commonsMedia",
    "P4": "globe-coordinate",
    "P5": "monolingualtext",
    "P6": "quantity",
    "P7": "string",
    "P8": "time",
    "P9": "url",
    "P10": "geo-shape",
    "P11": "external-id",
}


def files() -> list[str]:
    found = sorted(p.relative_to(GOLDEN).with_suffix("") for p in GOLDEN.glob("*/*.nt"))
    return [str(name) for name in found]


def files_of(name: str, *, foreign: bool) -> list[str]:
    """Expectations for one item in RdfBuilder: of one kind of properties, or common to both."""
    found = [f for f in files() if f.startswith(f"RdfBuilder/{name}_") and "dedup" not in f]
    other = [f for f in found if f.endswith(FOREIGN)]
    if not foreign:
        return [f for f in found if f not in other]
    twice = {f.removesuffix(FOREIGN) for f in other}
    return other + [f for f in found if f not in other and f not in twice]


def labelled(id_: str, label: str, **more: Any) -> dict[str, Any]:
    kind = "property" if id_.startswith("P") else "item"
    return {
        "id": id_,
        "type": kind,
        "labels": {"en": {"language": "en", "value": label}},
        **more,
    }


def stub(id_: str, label: str, *, foreign: bool = False, **more: Any) -> set[ox.Triple]:
    """An entity that another one names: no document of its own."""
    made = entity_triples(Entity(labelled(id_, label, **more)), vocabulary(foreign=foreign))
    return {t for t in made if not str(t.subject).startswith("<http://data.")}


def item(name: str, *, foreign: bool) -> set[ox.Triple]:
    """All that is written for one document, with the licence that a document alone has."""
    own, data = vocabulary(foreign=foreign), document(name)
    if name == "Q10":
        moved = entity_triples(Entity({"entity": "Q4242", "redirect": "Q42"}), own)
        return {*entity_triples(Entity(data), own, "truthy"), *moved, *stub("Q42", "Item42")}
    found = {*entity_triples(Entity(data), own)}
    found |= {*document_triples(own, name, data)}
    page = own.document(name)
    found.add(ox.Triple(page, CC.license, ox.NamedNode(CC0)))
    found.add(ox.Triple(page, WIKIBASE_SCHEMA.softwareVersion, ox.Literal(FORMAT_VERSION)))
    if name == "Q4":
        found |= stub("Q42", "Item42")
        for id_, datatype in DATATYPES.items():
            found |= stub(id_, f"Property{id_[1:]}", foreign=foreign, datatype=datatype)
    return found


def check(made: Iterable[ox.Triple], *names: str) -> None:
    """The files of these names hold what was made, and nothing else."""
    own = named_by_content(t for t in made if t.predicate not in COUNTS)
    told = named_by_content(expected(*names))
    assert len(told) > 0
    assert own == told
    COMPARED.update(names)


ITEMS = ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q10"]


@needs_golden
@pytest.mark.parametrize("foreign", [False, True], ids=["own", "foreign"])
@pytest.mark.parametrize("name", ITEMS)
def test_an_item_is_what_its_files_say_together(name: str, foreign: bool) -> None:
    """Each file holds one part of an item; together they hold all that is written."""
    check(item(name, foreign=foreign), *files_of(name, foreign=foreign))


@needs_golden
@pytest.mark.parametrize("foreign", ["", FOREIGN], ids=["own", "foreign"])
def test_references_and_values_that_two_items_share(foreign: str) -> None:
    both = [Entity(document(name)) for name in ("Q7", "Q9")]
    made = [
        triple
        for triple in dump_triples(both, vocabulary(foreign=bool(foreign)))
        if not str(triple.subject).startswith("<http://data.")
    ]
    assert len(made) == len(set(made))
    check(made, f"RdfBuilder/Q7_Q9_dedup{foreign}")


@needs_golden
@pytest.mark.parametrize("foreign", [False, True], ids=["own", "foreign"])
def test_properties(foreign: bool) -> None:
    own, suffix = vocabulary(foreign=foreign), "_foreignsource" if foreign else ""
    data = document("P2")
    made = {t for t in entity_triples(Entity(data), own) if "data.acme" not in str(t.subject)}
    check(declared(made), f"PropertyRdfBuilder/P2_all{suffix}")
    kind = ox.Triple(own.thing("P2"), RDF.type, WIKIBASE.Property)
    without_aliases = {t for t in made if t.predicate != SKOS.altLabel}
    check(without_aliases - {kind}, f"PropertyRdfBuilder/P2_terms{suffix}")


def declared(made: Iterable[ox.Triple]) -> set[ox.Triple]:
    texts = {RDFS.label, SKOS.prefLabel, SKOS.altLabel, SCHEMA.name, SCHEMA.description}
    return {t for t in made if t.predicate not in texts and t.object != WIKIBASE.Property}


@needs_golden
@pytest.mark.parametrize("language", ["", "ru"])
def test_texts(language: str) -> None:
    data = DumpOptions(languages=(language,) if language else ()).selected(document("Q2"))
    assert data is not None
    suffix = f"_{language}" if language else ""
    made = list(text_triples(vocabulary().thing("Q2"), data))
    folder = "TermsRdfBuilder/Q2_terms"
    check(made, folder + suffix)
    for part in ("labels", "descriptions", "aliases"):
        alone = text_triples(vocabulary().thing("Q2"), {part: data[part]})
        check(alone, f"{folder}_{part}{suffix}")
    check((t for t in made if t.predicate != SKOS.altLabel), f"{folder}_stubs{suffix}")


@needs_golden
def test_pages() -> None:
    own, data = vocabulary(), document("Q3")
    check(page_triples(own, own.thing("Q3"), data), "SiteLinksRdfBuilder/Q3_sitelinks")
    data["sitelinks"] = {"ruwiki": data["sitelinks"]["ruwiki"]}
    check(page_triples(own, own.thing("Q3"), data), "SiteLinksRdfBuilder/Q3_sitelinks_ruwiki")


def dumped(id_: str, **more: Any) -> Entity:
    data = labelled(id_, f"label:{id_}", lastrevid=12, modified="1970-01-12T13:46:40Z", **more)
    if id_.startswith("Q"):
        data["sitelinks"] = {"test": {"site": "test", "title": f"Foo{id_}", "badges": []}}
    return Entity(data)


@needs_golden
@pytest.mark.parametrize("flavor", ["full", "truthy"])
def test_dumps(flavor: Flavor) -> None:
    folder, header = (
        f"RdfDumpGenerator/{flavor}-dump",
        list(dump_header("1970-01-12T13:46:40Z", CC0)),
    )
    check(header, f"{folder}-empty")
    made = [dumped("P10", datatype="wibblywobbly"), dumped("Q30"), dumped("Q40")]
    check([*header, *dump_triples(made, vocabulary(), flavor)], f"{folder}-entities")
    moved = [made[0], Entity({"entity": "Q4242", "redirect": "Q42"})]
    check([*header, *dump_triples(moved, vocabulary(), flavor)], f"{folder}-redirect")


@needs_golden
def test_a_dump_with_references() -> None:
    revision = {"lastrevid": 12, "modified": "1970-01-12T13:46:40Z"}
    both = [Entity({**document(name), **revision}) for name in ("Q7", "Q9")]
    made = [*dump_header("1970-01-12T13:46:40Z", CC0), *dump_triples(both, vocabulary())]
    check(made, "RdfDumpGenerator/refs_no_prefixed_ids")


@needs_golden
def test_expectations_of_dump_header_alone() -> None:
    check(dump_header("2015-03-11T21:51:35Z", CC0), "RdfBuilder/dumpheader")


@needs_golden
def test_every_file_is_compared_or_left_out_for_a_reason() -> None:
    """Runs last: 71 of 78 files are compared, the other seven are named with their reasons."""
    assert set(files()) == COMPARED | NOT_COMPARED.keys()
    assert not COMPARED & NOT_COMPARED.keys()
    assert len(COMPARED) == 71
