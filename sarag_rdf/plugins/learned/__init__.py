"""Extraction that learns from the user's examples, beside names and phrases by spaCy."""
