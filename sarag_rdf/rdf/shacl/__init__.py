"""Validation of RDF data against SHACL shapes (https://www.w3.org/TR/shacl/).

``shapes files -read_shapes-> Shapes``, then ``triples -validate-> ValidationReport``. `engines`
calls the validator, `report` reads and writes reports.
"""
