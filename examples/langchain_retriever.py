"""A LangChain retriever over a knowledge graph: documents with their sources and chains.

Run it with ``python examples/langchain_retriever.py`` after ``pip install 'sarag-rdf[langchain]'``.
It needs no key and no network: a chain that calls a model goes on after the retriever.
"""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.plugins.agents.langchain import SaragRetriever

TEXTS = [
    Source("Marie Curie was born in Warsaw. She discovered polonium.", title="Marie Curie"),
    Source("Warsaw is the capital of Poland. It lies on the Vistula.", title="Warsaw"),
    Source("The Rhône rises in the Swiss Alps and passes Lyon.", title="Rhône"),
]
QUESTION = "On which river lies the birthplace of Marie Curie?"


def cited(documents: list[Document]) -> str:
    """The passages as a prompt would have them, each with its title and offsets."""
    return "\n".join(
        "[{title}, {begin}-{end}] ".format(**each.metadata) + each.page_content
        for each in documents
    )


def main() -> None:
    with sarag_rdf.open(None, endpoint=None) as kg:  # None: in memory; or a folder
        kg.index(TEXTS)
        retriever = SaragRetriever(kg=kg, k=2)
        for document in retriever.invoke(QUESTION):
            print(f"{document.metadata['rank']}. {document.metadata['title']}")
            print(f"   why: {document.metadata['why']}")
        chain = retriever | RunnableLambda(cited)  # | prompt | model
        print(chain.invoke(QUESTION))


if __name__ == "__main__":
    main()
