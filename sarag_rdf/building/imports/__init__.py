"""Import of RDF files and Wikibase dumps as named graphs, and restore of exported graphs."""
