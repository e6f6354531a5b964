"""Adapters of the GraphStore and VectorIndex ports. Only `assemble` and tests import them."""
