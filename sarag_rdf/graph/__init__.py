"""The store, the queries that read it, vectors, ontologies."""
