"""Importers: which files become the triples of an imported graph, and how such a graph is read.

An importer is an `Importer` value that an entry point of the group ``sarag_rdf.importers`` names.
Its files are parsed in a child process, which streams N-Triples back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.exchange import Setting, values_of
from sarag_rdf.base.files import MAX_EXPANSION
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import Progress
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.store.input_files import (
    BLOCK,
    MAX_SECONDS,
    InputFile,
    RdfReadOptions,
    StatementBlock,
    read_triples,
    run_in_child,
    triple_blocks,
    unpacked,
)

SuggestMapping = Callable[[InputFile, Schema, str, Mapping[str, str]], str]
"""(file, schema, base IRI of the graph, prefixes) -> a mapping for the file."""


@dataclass(frozen=True, slots=True)
class Importer:
    """A kind of files that can be imported.

    `summary` is a noun phrase for the help. `blocks` reads a file into blocks of about so many
    triples, without blank nodes, which become IRIs below `genid`; it is a function of a module, as
    it runs in a child process. `vocabulary` says how the imported graph is read: ``rdf``, ``skos``
    or ``wikibase``. `settings` are options of its own. `check` raises `UsageError` for options that
    do not go together. `converted` makes one file of a folder, and yields its path. `suggest`
    writes a mapping for a file from a schema, the base IRI of the graph and prefixes.
    """

    summary: str
    blocks: Callable[[InputFile, ImportOptions, str, int], Iterator[StatementBlock]]
    vocabulary: str = "rdf"
    settings: tuple[Setting, ...] = ()
    check: Callable[[ImportOptions], None] | None = None
    converted: Callable[[Path, int, Progress], AbstractContextManager[Path]] | None = None
    suggest: SuggestMapping | None = None


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import.

    kind: the name of an importer. name: of the graph, by default from the file name. replace:
    whether to replace a graph of the same name. format: the RDF format, if the suffix is ambiguous.
    base_iri: base of relative IRIs. languages: import only literals in these languages, or without
    one; none means all. label, alias, description: properties for names and descriptions in RDF of
    kind ``rdf``. max_expansion: limit of the decompressed size, as a multiple of the size.
    max_seconds: time limit until the next statement. own: the options that the importer declares.

    Raises `UsageError` for an unknown kind or option, and for one that should be an IRI and is not.
    """

    kind: str
    name: str | None = None
    replace: bool = False
    format: str | None = None
    base_iri: str | None = None
    languages: Sequence[str] = ()
    label: Sequence[str] = ()
    alias: Sequence[str] = ()
    description: Sequence[str] = ()
    max_expansion: int = MAX_EXPANSION
    max_seconds: float = MAX_SECONDS
    own: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: str, given: Mapping[str, Any]) -> ImportOptions:
        """The options for keywords, those of the importer among them."""
        common = {name: value for name, value in given.items() if name in cls.__slots__}
        own = {name: value for name, value in given.items() if name not in common}
        return cls(kind, own=own, **common)

    def __post_init__(self) -> None:
        own = values_of(f"--as {self.kind}", self.importer.settings, self.own)
        object.__setattr__(self, "own", own)
        for iri in [self.base_iri, *self.label, *self.alias, *self.description]:
            if iri and not is_iri(iri):
                raise UsageError(f"{iri!r} is not an absolute IRI: give one such as https://...")
        if not self.max_seconds > 0:
            raise UsageError(f"max_seconds is {self.max_seconds:g}: give a number above 0")
        if self.importer.check is not None:
            self.importer.check(self)

    @property
    def importer(self) -> Importer:
        """The importer of this kind."""
        found: Importer = load("importers", self.kind)
        return found

    @property
    def given(self) -> dict[str, Any]:
        """Option as messages name it -> value, for those that select or map triples."""
        own = {
            setting.option: self.own[setting.name]
            for setting in self.importer.settings
            if self.own[setting.name] != setting.default
        }
        languages = self.rdf.languages
        return {"--language": languages, **own} if languages else own

    @property
    def settings(self) -> str:
        """All options on which the imported graph depends, as a text for comparison."""
        paths = {role: ",".join(iris) for role, iris in self.paths.items() if iris}
        own = {name: _text(value) for name, value in sorted(self.given.items())}
        values = {
            "as": self.kind,
            "format": self.format or "",
            "base": self.base_iri or "",
            **paths,
            **own,
        }
        return "; ".join(f"{name}={value}" for name, value in values.items())

    @property
    def rdf(self) -> RdfReadOptions:
        """The options for RDF files."""
        languages = tuple(language.lower() for language in self.languages)
        return RdfReadOptions(self.format, self.base_iri, languages)

    @property
    def paths(self) -> dict[str, Sequence[str]]:
        """Properties by role: label, alias, description."""
        return {"label": self.label, "alias": self.alias, "description": self.description}


def _text(value: Any) -> str:
    return ",".join(sorted(value)) if isinstance(value, tuple) else str(value)


def parse_triples(
    file: InputFile, options: ImportOptions, genid: str, size: int = BLOCK
) -> Iterator[StatementBlock]:
    """The triples of a file in blocks of `size`; blank nodes become IRIs below `genid`.

    Raises `InputError`, also for a file on which the child process ends, and `UsageError`.
    """
    blocks = options.importer.blocks
    yield from run_in_child(file, options.max_seconds, blocks, file, options, genid, size)


def rdf_blocks(
    file: InputFile, options: ImportOptions, genid: str, size: int
) -> Iterator[StatementBlock]:
    """The triples of an RDF file."""
    with unpacked(file) as (stream, raw):
        yield from triple_blocks(read_triples(file, stream, options.rdf, genid), size, raw.tell)


RDF = Importer("any RDF", rdf_blocks)
SKOS = Importer("a SKOS thesaurus", rdf_blocks, vocabulary="skos")
