"""Documents in, a linked-data knowledge graph and grounded answers out.

>>> import sarag_rdf
>>> with sarag_rdf.open("kg") as kg:                                    # doctest: +SKIP
...     kg.index("docs/")
...     found = kg.search("Which river flows through the birthplace of Marie Curie?")
...     answer = kg.ask("Which river flows through the birthplace of Marie Curie?")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sarag_rdf.base import errors, types
from sarag_rdf.base.endpoints import SparqlEndpoint
from sarag_rdf.base.errors import SaragError
from sarag_rdf.base.types import Answer, Document, Query, Retrieved, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sarag_rdf.base.endpoints import ModelEndpoint
    from sarag_rdf.base.ports import LLM, Embedder, Progress
    from sarag_rdf.kg.graph import KnowledgeGraph as KnowledgeGraph  # a name of the package
    from sarag_rdf.kg.vectors import ChooseVectors
    from sarag_rdf.retrieval.view import Engine

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Document",
    "Query",
    "Retrieved",
    "SaragError",
    "Source",
    "SparqlEndpoint",
    "__version__",
    "errors",
    "open",
    "types",
]


def open(  # noqa: A001 - reads as sarag_rdf.open(...)
    kg: str | Path | SparqlEndpoint | None = "kg",
    *,
    base: str | None = None,
    over: Sequence[str] = (),
    embedder: str | Embedder | None = None,
    endpoint: ModelEndpoint | Literal["environment"] | None = "environment",
    llm: LLM | None = None,
    engine: Engine = "auto",
    vectors: str | ChooseVectors | None = None,
    keep_vectors: bool = True,
    facts: str | SparqlEndpoint | None = None,
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """Open the knowledge graph in a folder (made when something is indexed), or another one.

    kg: the folder; None for a graph in memory; the URL of a SPARQL endpoint, or a `SparqlEndpoint`
    with its details. base: what the IRIs of a new graph begin with, http(s), default
    ``https://example.org/kg/``. over: the parts that are searched, ``documents`` or names of
    imported graphs; none means all that there are, with the links between them. embedder: a
    model's name or path (sentence-transformers) or ``openai:MODEL``, either with prompts as
    ``MODEL?query=TEXT&passage=TEXT``, or an object; default all-MiniLM-L6-v2, or what the graph was
    embedded with. endpoint: where a language model answers, for `ask` and for the ``llm``
    extractor; by default what OPENAI_BASE_URL names, None for none. llm: an object instead of an
    endpoint. engine: what takes the steps of activation, ``memory`` (arrays, kept between runs) or
    ``sparql`` (queries for each step); ``auto`` is memory for a folder, SPARQL behind an endpoint.
    vectors: where vectors are kept, by default ``files`` of the graph's own cache; an engine as
    ``milvus:FILE.db``, ``milvus:URL``, ``qdrant:FOLDER``, ``qdrant:URL`` or ``postgres:DSN``, or
    one of a plug-in; or a callable that is given a name of the parts that are searched
    (``documents``, or 16 digits of a digest; the same for all graphs) and the `VectorStore`
    (`sarag_rdf.graph.vectors.vector_store`) that would be used, and returns the one to be used; its
    ``close``, if it has one, is called when the graph is closed. keep_vectors: whether vectors of
    questions are cached; if not, the latest are held in memory. facts: the graph whose statements
    ``kg-infused`` selects: a part (``documents``, the name of an imported graph), the URL of a
    SPARQL endpoint, or a `SparqlEndpoint`; default what is searched. An imported graph that is
    named here is searched only if `over` names it. progress: shows how far searches are that have
    to embed texts of the graph first; what is embedded is kept when it raises an exception.
    """
    from sarag_rdf.base.endpoints import ModelEndpoint
    from sarag_rdf.base.ports import silent
    from sarag_rdf.kg.graph import KnowledgeGraph as KnowledgeGraph  # a name of the package
    from sarag_rdf.kg.session import Session

    if endpoint == "environment":
        endpoint = ModelEndpoint.from_environment()
    session = Session(
        kg,
        base=base,
        over=over,
        embedder=embedder,
        endpoint=endpoint,
        llm=llm,
        engine=engine,
        vectors=vectors,
        keep_vectors=keep_vectors,
        facts=facts,
        progress=progress or silent,
    )
    return KnowledgeGraph(session)
