"""What to import and how, and the triples of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Triple

from sarag_rdf.compression import MAX_EXPANSION
from sarag_rdf.errors import UsageError
from sarag_rdf.imports.files import InputFile, unpacked
from sarag_rdf.imports.rdf_files import Reading, read_triples
from sarag_rdf.iris import is_iri
from sarag_rdf.wikibase.dump import read_entities
from sarag_rdf.wikibase.model import Entity, grouped_snaks, statements
from sarag_rdf.wikibase.rdf import entity_triples, property_triples
from sarag_rdf.wikibase.vocabulary import WIKIDATA, Vocabulary

MAX_SECONDS = 120.0
"""That reading a file may take by default without coming to a further statement."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is to be imported, and how.

    format: of RDF, by name, where the suffix does not tell it. base_iri: of relative IRIs.
    languages: of texts that are kept, beside those without one; none means all. types, properties:
    of the entities and statements of a JSON dump that are kept, by their last part (Q5, P19).
    entity_base: what the IRIs of entities begin with, which a JSON dump does not say; Wikidata's if
    it is not given. label, alias, description: IRIs of the properties that say so in RDF of no
    known kind. max_expansion: times its own size that a packed file may hold. max_seconds: that
    reading may take without coming to a further triple.

    Raises `UsageError` for what should be an IRI and is none.
    """

    kind: str
    name: str | None = None
    replace: bool = False
    format: str | None = None
    base_iri: str | None = None
    languages: Sequence[str] = ()
    types: Sequence[str] = ()
    properties: Sequence[str] = ()
    entity_base: str | None = None
    label: Sequence[str] = ()
    alias: Sequence[str] = ()
    description: Sequence[str] = ()
    max_expansion: int = MAX_EXPANSION
    max_seconds: float = MAX_SECONDS

    def __post_init__(self) -> None:
        given = [self.base_iri, self.entity_base, *self.label, *self.alias, *self.description]
        for iri in given:
            if iri and not is_iri(iri):
                raise UsageError(f"{iri!r} is not an absolute IRI: give one, https://...")
        if not self.max_seconds > 0:
            raise UsageError(f"max_seconds is {self.max_seconds:g}: give a number above 0")

    @property
    def settings(self) -> str:
        """All that the imported graph depends on beside the file: its triples, how it is seen."""
        seen = "".join(f"; {role}={','.join(iris)}" for role, iris in self.paths.items() if iris)
        return (
            f"as={self.kind}; format={self.format or ''}; base={self.base_iri or ''}; "
            f"languages={','.join(sorted(self._languages))}; "
            f"types={','.join(sorted(self.types))}; "
            f"properties={','.join(sorted(self.properties))}; entities={self.entity_base or ''}"
            f"{seen}"
        )

    @property
    def _languages(self) -> tuple[str, ...]:
        """Tags of languages are the same in any case."""
        return tuple(language.lower() for language in self.languages)

    @property
    def is_filtered(self) -> bool:
        """Whether triples of the file may be left out."""
        return bool(self.languages or self.types or self.properties)

    @property
    def rdf(self) -> Reading:
        """How RDF is read."""
        return Reading(self.format, self.base_iri, self._languages)

    @property
    def dump(self) -> DumpReading:
        """How a JSON dump is read."""
        return DumpReading(
            self.entity_base or WIKIDATA,
            self._languages,
            tuple(self.types),
            tuple(self.properties),
        )

    @property
    def paths(self) -> dict[str, Sequence[str]]:
        """Properties by what they say."""
        return {"label": self.label, "alias": self.alias, "description": self.description}


def triples_of(
    file: InputFile, order: ImportOptions, genid: str, consumed: Callable[[int], None]
) -> Iterator[Triple]:
    """The triples of a file; blank nodes become IRIs below `genid`.

    `consumed` is told how many bytes of the file have been read. Raises `InputError`, `UsageError`.
    """
    if order.kind == "wikibase" and file.suffix == ".json" and order.format is None:
        yield from dump_triples(file, order.dump, consumed)
        return
    if order.types or order.properties or order.entity_base:
        raise UsageError("--type, --property and --entity-base are for JSON dumps of Wikibase")
    with unpacked(file) as (stream, raw):
        triples = read_triples(file, stream, order.rdf, genid)
        for number, triple in enumerate(triples):
            if number % 10_000 == 0:
                consumed(raw.tell())
            yield triple
        consumed(raw.tell())


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
