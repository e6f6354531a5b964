"""The graph as arrays, and spreading activation over it."""
