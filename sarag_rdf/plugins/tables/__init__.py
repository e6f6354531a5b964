"""Tables (CSV, TSV) as RDF, by mappings in RML, YARRRML or CSV on the Web."""
