"""The extractor `llm`: a language model reads entities, relationships and typed statements."""
