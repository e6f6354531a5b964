"""Index three texts, ask a question of two hops, and see where the search began and ended.

Run it with ``python examples/python_api.py``. It needs no key and no network, and writes nothing.
"""

from __future__ import annotations

import sarag_rdf
from sarag_rdf import Source

TEXTS = [
    Source("Marie Curie was born in Warsaw. She discovered polonium.", title="Marie Curie"),
    Source("Warsaw is the capital of Poland. It lies on the Vistula.", title="Warsaw"),
    Source("The Rhône rises in the Swiss Alps and passes Lyon.", title="Rhône"),
]
QUESTION = "On which river lies the birthplace of Marie Curie?"


def main() -> None:
    with sarag_rdf.open(None, endpoint=None) as kg:  # None: in memory; or a folder
        report = kg.index(TEXTS)
        counts = kg.stats()
        print(f"{report.added} sources, {counts['entities']} entities, {counts['quads']} quads")

        found = kg.search(QUESTION, limit=2)
        print(f"\n{QUESTION}")
        for seed in found.seeds:
            print(f"   starts at {seed.name} ({seed.activation:.2f}): {seed.reason}")
        names = {entity.iri: entity.name for entity in found.entities}
        for ranked in found.documents:
            document, via = ranked.document, names.get(ranked.entity, "similarity and words")
            print(f"{ranked.rank}. {document.title} [{document.begin}-{document.end}], by {via}")
            print(f"   {document.text}")

        answer = kg.ask(QUESTION, limit=2)  # with an endpoint a model would answer
        print(f"\noutcome: {answer.outcome}")


if __name__ == "__main__":
    main()
