"""Wikibase: conversion of entity documents (JSON) to RDF, import of dumps, export of graphs."""

from sarag_rdf.plugins.wikibase.quickstatements import read_targets
from sarag_rdf.plugins.wikibase.write import WikibaseOptions, open_export, write_wikibase

__all__ = ["WikibaseOptions", "open_export", "read_targets", "write_wikibase"]
