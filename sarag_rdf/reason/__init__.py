"""Reasoners: one strategy a file, from evidence to an answer."""
