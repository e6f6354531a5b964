"""Ontologies: reading, checking, and the schema that extraction follows."""
