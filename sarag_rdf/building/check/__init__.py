"""Inspection of a graph: consistency checks, SHACL validation, counts."""
