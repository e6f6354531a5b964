"""Other packages on the passages, questions and embedding model of this one, as one table."""
