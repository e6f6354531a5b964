"""Evaluation of retrieval and answers with known evidence; see docs/reference/evaluation.md."""
