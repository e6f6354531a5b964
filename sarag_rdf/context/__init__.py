"""Rendering of what was retrieved for a reader: a model or a person."""
