"""Ways out of the graph: RDF serialisations, pictures."""
