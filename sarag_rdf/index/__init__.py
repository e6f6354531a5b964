"""Documents in, evidence out: read, chunk, extract, write, and derive the traversed graph."""
