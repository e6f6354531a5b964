"""Checks of a graph: consistency, SHACL validation, counts."""
