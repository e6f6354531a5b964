"""Entity linking: candidate items in other graphs, review tables, accepted links."""
