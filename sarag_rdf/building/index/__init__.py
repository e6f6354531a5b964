"""Indexing: inputs are planned, extracted, validated and committed as evidence."""
