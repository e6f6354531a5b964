"""Vector and word indexes, and where they are stored."""
