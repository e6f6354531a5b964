"""A knowledge graph as callers use it: the facade, and everything it is composed of."""
