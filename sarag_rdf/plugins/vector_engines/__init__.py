"""Vectors in Milvus, Qdrant or PostgreSQL: ``--vectors ENGINE:ADDRESS``; each engine an extra."""
