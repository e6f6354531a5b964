"""Extraction of statements in the terms of an ontology, without a language model."""
