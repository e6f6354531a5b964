"""Adapters of the Embedder and LLM ports. Only `assemble` and tests import them."""
