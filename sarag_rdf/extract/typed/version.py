"""The version of typed extraction without a language model."""

SCORER = "3"
"""Version of rules and trained scorer: part of the method, so that sources are extracted again."""
