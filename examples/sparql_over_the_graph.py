"""SPARQL over a graph in memory: rows, a truth value, triples, and the graph as Turtle.

Run it with ``python examples/sparql_over_the_graph.py``. It needs no key and no network.
"""

from __future__ import annotations

import io
from pathlib import Path

import sarag_rdf
from sarag_rdf.base.ports import Table, Triples

CORPUS = Path(__file__).parent / "corpus"
FILES = [CORPUS / f"{name}.md" for name in ("daniel-gabriel-fahrenheit", "gdansk", "vistula")]
PREFIXES = """
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX sarag: <https://w3id.org/sarag/ontology#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
"""
STATED = """
SELECT DISTINCT ?text ?title WHERE {
  ?gdansk skos:prefLabel "Gdańsk"@en .
  ?relationship sarag:object ?gdansk ; sarag:text ?text ; prov:wasDerivedFrom ?document .
  ?document dcterms:title ?title .
} ORDER BY ?title ?text"""
JOINED = """
ASK {
  ?one skos:prefLabel "Daniel Gabriel Fahrenheit"@en .
  ?other skos:prefLabel "Baltic Sea"@en .
  ?one (sarag:relatedTo|^sarag:relatedTo)+ ?other .
}"""
DERIVED = """
CONSTRUCT { ?person sarag:outgoing ?place } WHERE {
  ?relationship sarag:subject ?person ; sarag:object ?place .
  ?person a sarag:Person . ?place a sarag:GeoPoliticalEntity .
}"""


def main() -> None:
    with sarag_rdf.open(None, endpoint=None) as kg:
        kg.index(FILES)

        rows = kg.query(PREFIXES + STATED)
        assert isinstance(rows, Table)
        print("Stated of Gdańsk:")
        for text, title in rows.rows:
            print(f"  {text.value}  ({title.value})")

        print(f"\nIs Fahrenheit linked to the Baltic Sea? {kg.query(PREFIXES + JOINED)}")

        triples = kg.query(PREFIXES + DERIVED)
        assert isinstance(triples, Triples)
        print(f"{len(set(triples.triples))} links lead from a person to a place")

        turtle = io.BytesIO()
        kg.export("turtle", turtle)
        print(f"the whole graph is {len(turtle.getvalue().splitlines())} lines of Turtle")


if __name__ == "__main__":
    main()
