"""Reasoners: one strategy per file, from evidence to an answer."""
