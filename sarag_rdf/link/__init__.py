"""Links from entities to items of other graphs: candidates, review tables, accepted links."""
