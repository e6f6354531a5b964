"""Imports of other people's graphs: files, Wikibase dumps, SPARQL results, and restored exports."""
