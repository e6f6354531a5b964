"""An extractor of one's own: any object with `method` and `extract`.

Run it with ``python examples/bring_your_own_extractor.py``. It needs no spaCy, and no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import sarag_rdf
from sarag_rdf.base.types import Document, Extraction, Mention, Method, Relation, Source

CAPITAL = re.compile(r"(\w+) is the capital of (\w+)")
TEXTS = [
    Source("Warsaw is the capital of Poland. It lies on the Vistula.", title="Warsaw"),
    Source("Vienna is the capital of Austria. It lies on the Danube.", title="Vienna"),
]


class Capitals:
    """Finds sentences such as "Warsaw is the capital of Poland", and nothing else."""

    method = Method("capitals", "regular expression", settings={"version": "1"})

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One result a document, in order; both ends of a relation are among the mentions."""
        for document in documents:
            mentions, relations = [], []
            for found in CAPITAL.finditer(document.text):
                city, country = found.groups()
                mentions += [
                    Mention(city, "geopolitical", descriptions=(f"{city}: {found[0]}.",)),
                    Mention(country, "geopolitical", descriptions=(f"{country}: {found[0]}.",)),
                ]
                relations.append(Relation(city, "is the capital of", country))
            yield Extraction(tuple(mentions), tuple(relations))


def main() -> None:
    with sarag_rdf.open(None, endpoint=None) as kg:
        report = kg.index(TEXTS, extractor=Capitals())
        print(f"{report.mentions} mentions, {report.relationships} relationships")
        found = kg.search("What is the capital of Austria?", limit=1)
        for link in found.relationships:
            print(f"{link.similarity:.2f}  {link.text}")
        print(f"conforms to the shapes: {kg.validate().conforms}")


if __name__ == "__main__":
    main()
