"""Wikibase: entity documents (JSON) to RDF as its dumps have it, dumps in, our graph out."""

from sarag_rdf.wikibase.quickstatements import read_targets
from sarag_rdf.wikibase.write import Settings, numbered, write_wikibase

__all__ = ["Settings", "numbered", "read_targets", "write_wikibase"]
