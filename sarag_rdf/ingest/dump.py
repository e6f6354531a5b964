"""Wikibase JSON dumps as triples: what their entities would be in a dump of RDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyoxigraph import Triple

from sarag_rdf.ingest.files import InputFile
from sarag_rdf.wikibase.dump import read_entities
from sarag_rdf.wikibase.model import Entity, grouped_snaks, statements
from sarag_rdf.wikibase.properties import property_triples
from sarag_rdf.wikibase.rdf import entity_triples
from sarag_rdf.wikibase.vocabulary import WIKIDATA, Vocabulary

_READ = ("item", "property")


@dataclass(frozen=True, slots=True)
class DumpReading:
    """Which entities, statements and languages are kept; none named means all.

    `entity_base` is what the IRIs of the entities begin with, which a dump does not say.
    """

    entity_base: str = WIKIDATA
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


def dump_triples(
    file: InputFile, reading: DumpReading, consumed: Callable[[int], None]
) -> Iterator[Triple]:
    """Triples of a dump; `consumed` is told how many bytes of the file have been read.

    Properties that the dump uses and does not describe are declared all the same: else nothing
    would join their statements to their values. Lexemes and other kinds of entity are left out.
    """
    vocabulary = Vocabulary(entity=reading.entity_base)
    datatypes: dict[str, str] = {}
    described: set[str] = set()
    entities = read_entities(
        file.path,
        languages=reading.languages,
        types=reading.types,
        properties=reading.properties,
        max_expansion=file.max_expansion,
    )
    for entity in entities:
        consumed(entity.consumed)
        if "redirect" not in entity.data and entity.data.get("type") not in _READ:
            continue
        if entity.data.get("type") == "property":
            described.add(entity.id)
        datatypes |= _datatypes(entity)
        yield from entity_triples(entity, vocabulary)
    for id_ in sorted(datatypes.keys() - described):
        yield from property_triples(vocabulary, id_, datatypes[id_])


def _datatypes(entity: Entity) -> dict[str, str]:
    """Property -> datatype, of all snaks of an entity that tell it."""
    snaks = []
    for _, group in statements(entity.data):
        for statement in group:
            snaks.append(statement["mainsnak"])
            snaks += grouped_snaks(statement, "qualifiers")
            for reference in statement.get("references", ()):
                snaks += grouped_snaks(reference, "snaks")
    return {s["property"]: s["datatype"] for s in snaks if "datatype" in s and "property" in s}
