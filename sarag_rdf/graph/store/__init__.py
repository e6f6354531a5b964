"""RDF infrastructure: stores, SPARQL clients and guards, results, SHACL."""
