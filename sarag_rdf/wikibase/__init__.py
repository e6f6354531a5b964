"""Wikibase: entity documents (JSON) to RDF as its dumps have it, dumps in, our graph out."""

from sarag_rdf.wikibase.entities import Export, prepare
from sarag_rdf.wikibase.numbers import write_numbers
from sarag_rdf.wikibase.quickstatements import read_targets
from sarag_rdf.wikibase.write import Settings, write_wikibase

__all__ = ["Export", "Settings", "prepare", "read_targets", "write_numbers", "write_wikibase"]
