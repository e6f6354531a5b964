"""Wikibase: entity documents (JSON) to RDF as its dumps have it, dumps in, our graph out."""
