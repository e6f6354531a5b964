"""What is to be imported and how, and the triples that a file then gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import Triple

from sarag_rdf.errors import UsageError
from sarag_rdf.ingest.dump import DumpReading, dump_triples
from sarag_rdf.ingest.files import InputFile, unpacked
from sarag_rdf.ingest.triples import Reading, read_triples
from sarag_rdf.iris import is_iri
from sarag_rdf.packed import MAX_EXPANSION
from sarag_rdf.wikibase.vocabulary import WIKIDATA

MAX_SECONDS = 120.0
"""That reading a file may take by default without coming to a further statement."""


@dataclass(frozen=True, slots=True)
class Order:
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
    file: InputFile, order: Order, genid: str, consumed: Callable[[int], None]
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
