"""What the query files return: nodes, names, texts, parts, metadata, and vectors of their texts."""
