"""Retrievers: one published or own method a file, all with `retrieve(query) -> Retrieved`."""
