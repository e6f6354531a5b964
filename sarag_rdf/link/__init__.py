"""Links from entities to items of other graphs: candidates, review files, what was accepted."""
