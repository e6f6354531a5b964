"""Information extraction: mentions and relations of documents; one extractor per module."""
