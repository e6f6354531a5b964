"""Importers: which files become the triples of an imported graph, and how such a graph is read.

An importer is an `Importer` value that an entry point of the group ``sarag_rdf.importers`` names.
Its files are parsed in a child process, which streams N-Triples back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.options import declared_options, option
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import Progress
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.store.input_files import (
    BLOCK,
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


@dataclass(frozen=True, kw_only=True)
class ImportOptions(RdfReadOptions):
    """How files are read; an importer may add options of its own in a subclass.

    `kind` is the name of the importer. Raises `UsageError` for a text that should be an IRI.
    """

    name = "an import"
    kind: str = ""
    label: tuple[str, ...] = option((), "rdf: IRI of a property for names.")
    alias: tuple[str, ...] = option((), "rdf: IRI of a property for alternative names.")
    description: tuple[str, ...] = option((), "rdf: IRI of a property for descriptions.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for iri in [self.base_iri, *self.label, *self.alias, *self.description]:
            check_iri(iri)

    @property
    def importer(self) -> Importer:
        """The importer of this kind."""
        return importer_of(self.kind)

    def own(self) -> dict[str, Any]:
        """Flag -> value, for the options of the importer that are not at their defaults.

        The ``str`` of a value identifies it, that of a file by its content.
        """
        common = {declared.name for declared in declared_options(ImportOptions)}
        return {
            str(declared.flag): getattr(self, declared.name)
            for declared in declared_options(type(self))
            if declared.name not in common and getattr(self, declared.name) != declared.default
        }

    @property
    def given(self) -> dict[str, Any]:
        """Flag -> value, for those options that select or map triples."""
        languages = {"--language": self.languages} if self.languages else {}
        return {**languages, **self.own()}

    @property
    def identity(self) -> str:
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
    def paths(self) -> dict[str, Sequence[str]]:
        """Properties by role: label, alias, description."""
        return {"label": self.label, "alias": self.alias, "description": self.description}


@dataclass(frozen=True, slots=True)
class Importer:
    """A kind of files that can be imported.

    `summary` is a noun phrase for the help. `blocks` reads a file into blocks of about so many
    triples, without blank nodes, which become IRIs below `genid`; it is a function of a module, as
    it runs in a child process. `vocabulary` says how the imported graph is read: ``rdf``, ``skos``
    or ``wikibase``. `options` are its options. `converted` makes one file of a folder, and yields
    its path. `suggest` writes a mapping for a file from a schema, the base IRI of the graph and
    prefixes.
    """

    summary: str
    blocks: Callable[[InputFile, Any, str, int], Iterator[StatementBlock]]
    vocabulary: str = "rdf"
    options: type[ImportOptions] = ImportOptions
    converted: Callable[[Path, int, Progress], AbstractContextManager[Path]] | None = None
    suggest: SuggestMapping | None = None


def importer_of(kind: str) -> Importer:
    """The importer of a kind; raises `UsageError` for an unknown one, `PluginError`."""
    importer: Importer = load("importers", kind)
    return importer


def check_iri(iri: str | None) -> None:
    """Raise `UsageError` for a text that is not an absolute IRI."""
    if iri and not is_iri(iri):
        raise UsageError(f"{iri!r} is not an absolute IRI: give one such as https://...")


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
        yield from triple_blocks(read_triples(file, stream, options, genid), size, raw.tell)


RDF = Importer("any RDF", rdf_blocks)
SKOS = Importer("a SKOS thesaurus", rdf_blocks, vocabulary="skos")
