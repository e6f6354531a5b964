"""Reading a knowledge graph through its query files: names, texts, parts, metadata, vectors."""
