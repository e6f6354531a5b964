"""The importer of tables."""

from __future__ import annotations

from collections.abc import Mapping

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.exchange import Setting
from sarag_rdf.building.imports.importer import Importer, ImportOptions
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.store.input_files import InputFile
from sarag_rdf.plugins.tables.mapping import MappingFile, described_languages
from sarag_rdf.plugins.tables.suggest import column_profiles, suggested_mapping
from sarag_rdf.plugins.tables.table import OVERLAP, WORDS, blocks


def _check(options: ImportOptions) -> None:
    if options.own["mapping"] is None:
        raise UsageError(
            f"a table needs --mapping FILE: {described_languages()}; --suggest-mapping FILE writes "
            "one"
        )
    words, overlap = options.own["words"], options.own["overlap"]
    if not 0 <= overlap < words:
        raise UsageError(f"passages of {words} words cannot share {overlap}: give other numbers")
    if options.format or options.base_iri or options.languages:
        raise UsageError(
            "--format, --base-iri and --language do not apply to tables: omit them, and write them "
            "in the mapping"
        )


def _suggest(file: InputFile, schema: Schema, base: str, prefixes: Mapping[str, str]) -> str:
    return suggested_mapping(file.name, column_profiles(file), schema, base, prefixes)


IMPORTER = Importer(
    "a table (CSV or TSV) with a mapping",
    blocks,
    settings=(
        Setting(
            "mapping",
            "table: the mapping, in RML (.ttl), YARRRML (.yml) or CSVW metadata (.json).",
            metavar="FILE",
            read=MappingFile.read,
        ),
        Setting("words", "table: words of a passage of a text about a thing. Default: 500.", WORDS),
        Setting("overlap", "table: words that such passages share. Default: 200.", OVERLAP),
    ),
    check=_check,
    suggest=_suggest,
)
