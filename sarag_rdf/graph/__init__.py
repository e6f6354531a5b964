"""Steps that retrievers share, each a query file: rows in batches, seeds, subgraph, texts."""
