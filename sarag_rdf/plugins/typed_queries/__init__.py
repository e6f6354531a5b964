"""The reasoner ``sparql-typed``: a model writes the question as patterns in terms of a schema."""
