"""A LlamaIndex retriever over a knowledge graph: nodes with their sources and chains.

Run it with ``python examples/llamaindex_retriever.py`` after ``pip install
'sarag-rdf[llamaindex]'``. It needs no key and no network; with a model,
``RetrieverQueryEngine.from_args(retriever, llm=...)`` answers from the same nodes.
"""

from __future__ import annotations

from llama_index.core.schema import MetadataMode

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.plugins.agents.llamaindex import SaragRetriever

TEXTS = [
    Source("Marie Curie was born in Warsaw. She discovered polonium.", title="Marie Curie"),
    Source("Warsaw is the capital of Poland. It lies on the Vistula.", title="Warsaw"),
    Source("The Rhône rises in the Swiss Alps and passes Lyon.", title="Rhône"),
]
QUESTION = "On which river lies the birthplace of Marie Curie?"


def main() -> None:
    with sarag_rdf.open(None, endpoint=None) as kg:  # None: in memory; or a folder
        kg.index(TEXTS)
        for node in SaragRetriever(kg, k=2).retrieve(QUESTION):
            print(f"{node.metadata['rank']}. {node.metadata['title']} ({node.score:.2f})")
            print(f"   why: {node.metadata['why']}")
            print(f"   a model reads: {node.node.get_content(MetadataMode.LLM)!r}")


if __name__ == "__main__":
    main()
