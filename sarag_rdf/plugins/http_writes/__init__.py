"""Writing over HTTP: SPARQL updates and the graph store protocol, on a writable server."""
