"""Pictures of one retrieval: an HTML page, an SVG and a PNG, from one drawing (`graph.svg.j2`)."""
