"""Brings knowledge graphs in that others made: file -> triples -> a named graph of its own."""
