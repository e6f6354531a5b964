"""Retrievers, one method per file: `retrieve(query) -> Retrieved`; and the steps they share."""
