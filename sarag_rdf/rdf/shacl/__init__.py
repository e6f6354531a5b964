"""SHACL Core, as far as the shapes of `ontology/` use it, fast enough to ask of every source.

``shapes files -read_shapes-> Shape``, then ``triples -Data-> validate -> ValidationReport``

What a shapes file says beyond that raises: no constraint is passed over in silence.
"""
