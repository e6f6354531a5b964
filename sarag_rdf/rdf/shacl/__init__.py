"""A SHACL Core engine for the shapes in `ontology/`, fast enough to validate every source.

``shapes files -read_shapes-> Shape``, then ``triples -Data-> validate -> ValidationReport``

Constraints that are not supported raise an error instead of being ignored.
"""
