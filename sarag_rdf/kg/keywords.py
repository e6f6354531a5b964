"""The keyword options of `KnowledgeGraph`, typed for editors and type checkers.

Each class lists the options of the dataclasses that its docstring names, where their meanings and
ranges are; `tests/kg/test_keywords.py` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TypedDict

from sarag_rdf.base.options import DEFAULT_LIMIT, Options, Spec


class RetrieverKeywords(TypedDict, total=False):
    """Options of retrievers: ``sarag strategies`` says which has which, with ranges and defaults.

    `limit` is the maximum number of documents, or None for all; `preset` names a set of values.
    """

    limit: int | None
    preset: str
    k: int
    n: int
    c: float
    decay: float
    gain: float
    explain: bool
    tau_a: float
    tau_d: float
    tau_r: float
    spreading: str
    damping: float
    weight: float
    synonyms: float
    entities: int
    texts: int
    inverse: bool
    entity_share: float
    keyword_share: float
    hops: int
    followed: int
    ranked: int
    candidates: int
    beam: int
    answers: int
    walks: int
    t: int
    h: int
    nodes: int
    paths: int
    statements: int
    model: str


def with_default_limit(retriever: str | Options, options: RetrieverKeywords) -> RetrieverKeywords:
    """The options of a question; 10 documents unless they or the retriever name a limit."""
    if isinstance(retriever, Options):
        has_limit = getattr(retriever, "limit", None) is not None
    else:
        has_limit = "limit" in Spec.parse(retriever).options
    return options if has_limit else {"limit": DEFAULT_LIMIT, **options}


class ReadingKeywords(TypedDict, total=False):
    """Options of `sarag_rdf.documents.reader.ReadOptions`: how files are read."""

    root: str | Path | None
    max_chars: int
    max_file: int
    max_expansion: int
    max_seconds: float
    language: str
    stdin_format: str
    stdin: BinaryIO | None


class UpdateKeywords(ReadingKeywords, total=False):
    """Options of `KnowledgeGraph.index` for changes; `yes` confirms that many are deleted."""

    words: int
    overlap: int
    yes: bool


class ImportKeywords(TypedDict, total=False):
    """Options of `ImportOptions` in `sarag_rdf.building.imports.importer`, and of the importers."""

    name: str | None
    replace: bool
    format: str | None
    base_iri: str | None
    languages: Sequence[str]
    types: Sequence[str]
    properties: Sequence[str]
    entity_base: str | None
    label: Sequence[str]
    alias: Sequence[str]
    description: Sequence[str]
    mapping: str | Path | None
    words: int
    overlap: int
    max_expansion: int
    max_seconds: float


class ExportKeywords(TypedDict, total=False):
    """The parts to export, those of `sarag_rdf.kg.export.rdf.ExportParts`, and ``rdf12``."""

    documents: bool
    entities: bool
    graphs: Sequence[str]
    imported: bool
    ontologies: bool
    rdf12: bool


class WikibaseKeywords(TypedDict, total=False):
    """Options of the exporters ``wikibase``, ``wikibase-json`` and ``quickstatements``."""

    typed: int
    namespace: str
    flavor: str
    syntax: str
    table: str | Path | Mapping[str, str] | None


class DescriptionKeywords(TypedDict, total=False):
    """Options of `sarag_rdf.kg.export.description.DatasetMetadata`."""

    title: str | None
    description: str | None
    license: str | None
    publisher: str | None
    homepage: str | None
