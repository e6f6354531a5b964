"""Extractors: documents in, mentions and relations out; one extractor per module or package."""
