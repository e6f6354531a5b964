"""Evaluation of retrieval and answers against known evidence; see docs/evaluation.md."""
