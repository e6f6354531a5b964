"""Adapters of the GraphStore and VectorIndex ports: Oxigraph, SPARQL endpoints, vectors, words."""
