"""Exports: RDF serialisations, and the description of the data set."""
