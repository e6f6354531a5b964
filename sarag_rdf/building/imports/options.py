"""Options of an import, and the triples that they select from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Triple

from sarag_rdf.base.compression import MAX_EXPANSION
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.graph.store.child_parser import MAX_SECONDS
from sarag_rdf.graph.store.files import InputFile, unpacked
from sarag_rdf.graph.store.parse import RdfReadOptions, read_triples
from sarag_rdf.plugins.tables.mapping import MappingFile
from sarag_rdf.plugins.wikibase.dump import read_entities
from sarag_rdf.plugins.wikibase.model import Entity, grouped_snaks, statements
from sarag_rdf.plugins.wikibase.rdf import entity_triples, property_triples
from sarag_rdf.plugins.wikibase.vocabulary import WIKIDATA, Vocabulary


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """Selects entities by `types`, statements by `properties`, and `languages`; empty means all.

    `entity_base` is the start of the IRIs of entities, which a dump does not contain.
    """

    entity_base: str = WIKIDATA
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import.

    kind: one of `KINDS` in `sarag_rdf.building.imports.profile`. name: of the graph, by default
    from the file name. replace: whether to replace a graph of the same name. format: the RDF
    format, if the suffix is ambiguous. base_iri: base of relative IRIs. languages: import only
    literals in these languages, or without one; none means all. types, properties: import only
    these entities and statements of a JSON dump, by local name (Q5, P19). entity_base: start of the
    IRIs of entities, which a JSON dump does not contain; by default that of Wikidata. label, alias,
    description: properties for names and descriptions in RDF of kind ``rdf``. mapping: of a table
    to RDF, needed for kind ``table``. max_expansion: limit of the decompressed size, as a multiple
    of the size. max_seconds: time limit until the next statement.

    Raises `UsageError` for an option that should be an IRI and is not.
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
    mapping: MappingFile | None = None
    max_expansion: int = MAX_EXPANSION
    max_seconds: float = MAX_SECONDS

    def __post_init__(self) -> None:
        iris = [self.base_iri, self.entity_base, *self.label, *self.alias, *self.description]
        for iri in iris:
            if iri and not is_iri(iri):
                raise UsageError(f"{iri!r} is not an absolute IRI: give one such as https://...")
        if not self.max_seconds > 0:
            raise UsageError(f"max_seconds is {self.max_seconds:g}: give a number above 0")
        if self.kind == "table" and self.mapping is None:
            raise UsageError(
                "a table needs --mapping FILE: RML (.ttl), YARRRML (.yml) or CSVW metadata "
                "(.json); --suggest-mapping FILE writes one"
            )
        if self.mapping is not None and self.kind != "table":
            raise UsageError("--mapping applies only to tables: use --as table, or omit it")
        if self.kind == "table":
            other = (self.format, self.base_iri, self.entity_base, *self.types, *self.properties)
            if any(other) or self.languages:
                raise UsageError(
                    "--format, --base-iri, --entity-base, --language, --type and --property do not "
                    "apply to tables: omit them, and say it in the mapping"
                )

    @property
    def settings(self) -> str:
        """All options on which the imported graph depends, as a text for comparison."""
        paths = "".join(f"; {role}={','.join(iris)}" for role, iris in self.paths.items() if iris)
        if self.mapping is not None:
            paths += f"; mapping={self.mapping.sha256}"
        return (
            f"as={self.kind}; format={self.format or ''}; base={self.base_iri or ''}; "
            f"languages={','.join(sorted(self._languages))}; "
            f"types={','.join(sorted(self.types))}; "
            f"properties={','.join(sorted(self.properties))}; entities={self.entity_base or ''}"
            f"{paths}"
        )

    @property
    def vocabulary(self) -> str:
        """The kind of the graph that is imported: a table becomes RDF."""
        return "rdf" if self.kind == "table" else self.kind

    @property
    def _languages(self) -> tuple[str, ...]:
        """Language tags in lower case."""
        return tuple(language.lower() for language in self.languages)

    @property
    def is_filtered(self) -> bool:
        """Whether only some triples of the file are imported."""
        return bool(self.languages or self.types or self.properties)

    @property
    def rdf(self) -> RdfReadOptions:
        """The options for RDF files."""
        return RdfReadOptions(self.format, self.base_iri, self._languages)

    @property
    def dump(self) -> DumpOptions:
        """The options for JSON dumps."""
        return DumpOptions(
            self.entity_base or WIKIDATA,
            self._languages,
            tuple(self.types),
            tuple(self.properties),
        )

    @property
    def paths(self) -> dict[str, Sequence[str]]:
        """Properties by role: label, alias, description."""
        return {"label": self.label, "alias": self.alias, "description": self.description}


def triples_of(
    file: InputFile, options: ImportOptions, genid: str, consumed: Callable[[int], None]
) -> Iterator[Triple]:
    """The triples of a file; blank nodes become IRIs below `genid`.

    `consumed` is called with the number of bytes read so far. Raises `InputError`, `UsageError`.
    """
    if options.kind == "wikibase" and file.suffix == ".json" and options.format is None:
        yield from json_dump_triples(file, options.dump, consumed)
        return
    if options.types or options.properties or options.entity_base:
        raise UsageError(
            "--type, --property and --entity-base apply only to Wikibase JSON dumps: omit them"
        )
    with unpacked(file) as (stream, raw):
        triples = read_triples(file, stream, options.rdf, genid)
        for number, triple in enumerate(triples):
            if number % 10_000 == 0:
                consumed(raw.tell())
            yield triple
        consumed(raw.tell())


_ENTITY_TYPES = ("item", "property")


def json_dump_triples(
    file: InputFile, options: DumpOptions, consumed: Callable[[int], None]
) -> Iterator[Triple]:
    """The triples of a JSON dump; `consumed` is called with the number of bytes read so far.

    Properties that the dump uses but does not describe are declared too, as nothing else connects
    their statements with their values. Lexemes and other types of entities are skipped.
    """
    vocabulary = Vocabulary(entity=options.entity_base)
    datatypes: dict[str, str] = {}
    described: set[str] = set()
    entities = read_entities(
        file.path,
        languages=options.languages,
        types=options.types,
        properties=options.properties,
        max_expansion=file.max_expansion,
    )
    for entity in entities:
        consumed(entity.consumed)
        if "redirect" not in entity.data and entity.data.get("type") not in _ENTITY_TYPES:
            continue
        if entity.data.get("type") == "property":
            described.add(entity.id)
        datatypes |= _datatypes(entity)
        yield from entity_triples(entity, vocabulary)
    for id_ in sorted(datatypes.keys() - described):
        yield from property_triples(vocabulary, id_, datatypes[id_])


def _datatypes(entity: Entity) -> dict[str, str]:
    """Property -> datatype, from all snaks of an entity that have one."""
    snaks = []
    for _, group in statements(entity.data):
        for statement in group:
            snaks.append(statement["mainsnak"])
            snaks += grouped_snaks(statement, "qualifiers")
            for reference in statement.get("references", ()):
                snaks += grouped_snaks(reference, "snaks")
    return {s["property"]: s["datatype"] for s in snaks if "datatype" in s and "property" in s}
