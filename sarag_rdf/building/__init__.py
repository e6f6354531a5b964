"""Evidence into the graph, and life with it: commits, decisions, links, imports, checks."""
