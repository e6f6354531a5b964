"""``sarag serve``: the graph over HTTP, with a SPARQL editor."""
