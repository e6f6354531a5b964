"""Pictures of one retrieval: an HTML page and a PNG."""
