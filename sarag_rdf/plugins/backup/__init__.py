"""Copies of a graph's folder: ``sarag backup`` and ``restore``, and checks of all its files."""
