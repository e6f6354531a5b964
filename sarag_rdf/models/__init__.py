"""Adapters for embedding models and language models, with their caches."""
