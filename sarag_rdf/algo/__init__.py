"""Published algorithms over plain values: one a file, with its source; nothing of RDF here."""
