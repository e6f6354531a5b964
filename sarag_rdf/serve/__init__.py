"""``sarag serve``: a graph over HTTP, by the standards of SPARQL, with a page to query it."""
