"""Wikibase: import of dumps (RDF and JSON), and export of graphs as items and properties."""
