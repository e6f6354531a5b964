"""The importer of tables."""

from __future__ import annotations

from collections.abc import Mapping

from sarag_rdf.building.imports.importer import Importer
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.store.input_files import InputFile
from sarag_rdf.plugins.tables.suggest import column_profiles, suggested_mapping
from sarag_rdf.plugins.tables.table import TableOptions, blocks


def _suggest(file: InputFile, schema: Schema, base: str, prefixes: Mapping[str, str]) -> str:
    return suggested_mapping(file.name, column_profiles(file), schema, base, prefixes)


IMPORTER = Importer(
    "a table (CSV or TSV) with a mapping", blocks, options=TableOptions, suggest=_suggest
)
