"""Extraction with a spaCy pipeline and rules: offline, deterministic, without a language model."""
