"""Names of strategies and models, and the objects that they stand for.

A strategy is added by a class with `options` in a file of its own, and one line in a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sarag_rdf.answering.closed_book import ClosedBook
from sarag_rdf.answering.cot import Cot
from sarag_rdf.answering.decompose import Decompose
from sarag_rdf.answering.path_choice import PathChoice
from sarag_rdf.answering.single import Single
from sarag_rdf.answering.sparql_typed import SparqlTyped
from sarag_rdf.answering.typed_graph import TypedGraph
from sarag_rdf.base.endpoints import ModelEndpoint
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import Options, RetrieverOptions, Spec, declared_options
from sarag_rdf.base.ports import (
    LLM,
    ContextBuilder,
    CountTokens,
    Embedder,
    Extractor,
    Gather,
    Reasoner,
    Retriever,
)
from sarag_rdf.base.types import Evidence, Query
from sarag_rdf.extraction.llm import LLMExtractor
from sarag_rdf.extraction.openie import OpenIEExtractor
from sarag_rdf.extraction.spacy.pipeline import SpacyExtractor
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.vectors.graph_vectors import GraphVectors
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.models.names import ModelName, effective_prompts
from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.plugins.learned.extractor import LearnedExtractor
from sarag_rdf.plugins.papers.budgeted import BudgetedExtractor
from sarag_rdf.plugins.papers.deepnote import DeepNote
from sarag_rdf.plugins.papers.dotrag import DotRagSearch
from sarag_rdf.plugins.papers.dotrag_reasoner import DotRag
from sarag_rdf.plugins.papers.generic_cot import GenericCot
from sarag_rdf.plugins.papers.graph_walk import GraphWalk
from sarag_rdf.plugins.papers.grounding import Grounder
from sarag_rdf.plugins.papers.ket import Ket
from sarag_rdf.plugins.papers.kg_infused import KgInfusedSearch
from sarag_rdf.plugins.papers.kg_infused_reasoner import KgInfused
from sarag_rdf.plugins.papers.route import Route
from sarag_rdf.plugins.papers.sarag_paper import SaragPaper
from sarag_rdf.plugins.papers.self_ask import SelfAsk
from sarag_rdf.plugins.papers.self_rag import SelfRag
from sarag_rdf.plugins.papers.sparql_cot import SparqlCot
from sarag_rdf.plugins.papers.sparql_grounded import SparqlGrounded
from sarag_rdf.retrieval.bm25 import Bm25
from sarag_rdf.retrieval.context.budget import approximate_tokens
from sarag_rdf.retrieval.context.selected import Selected
from sarag_rdf.retrieval.context.whole import Whole
from sarag_rdf.retrieval.dense import Dense
from sarag_rdf.retrieval.khop import Khop
from sarag_rdf.retrieval.paths import Paths
from sarag_rdf.retrieval.ppr import Ppr
from sarag_rdf.retrieval.rrf import Rrf
from sarag_rdf.retrieval.sarag import Sarag
from sarag_rdf.retrieval.view import Engine, GraphView

RETRIEVERS: dict[str, Any] = {
    "sarag": Sarag,
    "sarag-paper": SaragPaper,
    "bm25": Bm25,
    "dense": Dense,
    "rrf": Rrf,
    "khop": Khop,
    "ppr": Ppr,
    "dotrag": DotRagSearch,
    "kg-infused": KgInfusedSearch,
    "ket": Ket,
    "paths": Paths,
}
CONTEXTS: dict[str, Any] = {"whole": Whole, "selected": Selected, "graph-walk": GraphWalk}
REASONERS: dict[str, Any] = {
    "single": Single,
    "cot": Cot,
    "decompose": Decompose,
    "sparql-cot": SparqlCot,
    "generic-cot": GenericCot,
    "self-ask": SelfAsk,
    "closed-book": ClosedBook,
    "route": Route,
    "sparql-grounded": SparqlGrounded,
    "kg-infused": KgInfused,
    "deepnote": DeepNote,
    "sparql-typed": SparqlTyped,
    "self-rag": SelfRag,
    "path-choice": PathChoice,
    "dotrag": DotRag,
}
EXTRACTORS: dict[str, Any] = {
    "spacy": SpacyExtractor,
    "llm": LLMExtractor,
    "openie": OpenIEExtractor,
    "budgeted": BudgetedExtractor,
    "learned": LearnedExtractor,
}
STRATEGIES = {
    "retriever": RETRIEVERS,
    "context": CONTEXTS,
    "reasoner": REASONERS,
    "extractor": EXTRACTORS,
}
"""Kind of strategy -> name -> class; each class has its `Options` as `options`."""
_FROM_VIEW: dict[Any, Callable[[GraphView], tuple[Any, ...]]] = {
    Selected: lambda view: (view.vectors.embedder, view.word_index),
    GraphWalk: lambda view: (view.reader,),
    SparqlGrounded: lambda view: (Grounder(view),),
    KgInfused: lambda view: (view.facts,),
    SelfAsk: lambda view: (view.facts,),
    DeepNote: lambda view: (view.facts,),
    SelfRag: lambda view: (view.facts,),
    SparqlTyped: lambda view: (view.derived(TypedGraph),),
    PathChoice: lambda view: (view,),
    DotRag: lambda view: (view,),
}
"""Constructor arguments that a class takes from the graph, before its options."""


def strategy(kind: str, name: str) -> Any:
    """The class of a strategy; raises `UsageError` for an unknown name."""
    table = STRATEGIES[kind]
    if name not in table:
        raise UsageError(f"unknown {kind} '{name}': choose from {', '.join(table)}")
    return table[name]


def options_of(
    kind: str, chosen: str | Spec | Options, values: Mapping[str, Any] | None = None
) -> Any:
    """The options of a strategy that is chosen by a specification or by its options.

    `values` take precedence. Raises `UsageError` for an unknown name or option, or a bad value.
    """
    if isinstance(chosen, Options):
        if not isinstance(chosen, strategy(kind, chosen.name).options):
            raise UsageError(f"{type(chosen).__name__} are not the options of a {kind}")
        return chosen.replaced(values) if values else chosen
    if isinstance(chosen, str):
        name, _, argument = chosen.partition(":")
        options = strategy(kind, name).options
        if argument and options.argument:
            return options.of({options.argument: argument, **(values or {})})
    spec = chosen if isinstance(chosen, Spec) else Spec.parse(chosen)
    return spec.read(strategy(kind, spec.name).options, values)


def make_llm(endpoint: ModelEndpoint | None, cache: Path | None) -> LLM:
    """A client of the endpoint with a cache of replies (in memory without a path)."""
    if endpoint is None:
        raise UsageError(
            "no model endpoint is named: give --base-url, or set OPENAI_BASE_URL "
            "(and OPENAI_API_KEY if it asks for a key)"
        )
    from sarag_rdf.models.client import endpoint_model
    from sarag_rdf.models.openai_llm import OpenAILLM

    model = endpoint.model or endpoint_model(endpoint.base_url, loading_wait=endpoint.loading_wait)
    llm = OpenAILLM(
        base_url=endpoint.base_url,
        model=model,
        timeout=endpoint.timeout,
        price_in=endpoint.price_in,
        price_out=endpoint.price_out,
        temperature=endpoint.temperature,
        top_p=endpoint.top_p,
        seed=endpoint.seed,
        max_reply=endpoint.max_reply << 20,
        loading_wait=endpoint.loading_wait,
    )
    return CachedLLM(llm, cache or ":memory:")


def make_embedder(
    name: str | None, endpoint: ModelEndpoint | None, is_recorded: bool = False
) -> Embedder:
    """An embedder by name: a path or model of sentence-transformers, or ``openai:MODEL``.

    Behind the name may be its prompts (`ModelName`). If it `is_recorded` in a graph these are all
    that there are, else those that a model brings along are used too. Raises `UsageError`.
    """
    given = ModelName.parse(name or DEFAULT_MODEL)
    if given.model.startswith("openai:"):
        from sarag_rdf.models.openai_embedder import OpenAIEmbedder

        if endpoint is None:
            raise UsageError(f"--embedder {given.model} needs an endpoint: set OPENAI_BASE_URL")
        return OpenAIEmbedder(
            endpoint.base_url,
            given.model.removeprefix("openai:"),
            endpoint.timeout,
            max_reply=endpoint.max_reply << 20,
            loading_wait=endpoint.loading_wait,
            prompts=effective_prompts(given.prompts, {}),
        )
    return SentenceTransformerEmbedder(
        given.model,
        # The default may be installed as a package; a name that was given may be downloaded.
        may_download=bool(name) and not (is_recorded and given.model == DEFAULT_MODEL),
        prompts=given.prompts,
        own_prompts=not is_recorded,
    )


@dataclass(frozen=True)
class ExtractionServices:
    """`sarag_rdf.base.ports.Services` of one graph."""

    llm: Callable[[], LLM]
    concurrency: int
    schema: Schema | None
    embedder: Callable[[], Embedder | None]

    def extractor(self, chosen: str | Options) -> Extractor:
        """An extractor with these services."""
        options = options_of("extractor", chosen)
        extractor: Extractor = strategy("extractor", options.name).build(options, self)
        return extractor


def make_extractor(
    chosen: str | Options,
    llm: Callable[[], LLM],
    *,
    concurrency: int = 4,
    schema: Schema | None = None,
    embedder: Callable[[], Embedder] | None = None,
) -> Extractor:
    """An extractor by ``name:key=value`` or its options; openie as ``openie:FILE``.

    It follows a `schema` that has classes or properties. Raises `UsageError` for an unknown name
    or option, a bad value, or options that do not fit the graph.
    """
    schema = schema if schema and (schema.classes or schema.properties) else None
    services = ExtractionServices(llm, concurrency, schema, embedder or (lambda: None))
    return services.extractor(chosen)


def make_view(
    reader: GraphReader,
    vectors: GraphVectors,
    engine: Engine = "auto",
    facts: GraphView | None = None,
) -> GraphView:
    """What retrievers read; see `GraphView`."""
    from sarag_rdf.graph.vectors.word_index import Bm25Index

    return GraphView(reader, vectors, Bm25Index, engine=engine, facts=facts)


def make_retriever(
    chosen: str | Options, view: GraphView, values: Mapping[str, Any] | None = None
) -> Retriever:
    """A retriever by ``name:key=value`` or its options; `values` take precedence.

    Raises `UsageError` for an unknown name or option, or a bad value.
    """
    options = options_of("retriever", chosen, values)
    retriever: Retriever = RETRIEVERS[options.name](view, options)
    return retriever


def ranking_options(chosen: str) -> RetrieverOptions:
    """Options of a retriever that ranks documents and explains nothing unless asked to."""
    spec = Spec.parse(chosen)
    options = strategy("retriever", spec.name).options
    if any(declared.name == "explain" for declared in declared_options(options)):
        spec = Spec(spec.label, spec.name, {"explain": "false", **spec.options})
    ranking: RetrieverOptions = spec.read(options)
    return ranking


def make_counter(tokenizer: str | None) -> CountTokens:
    """Counts tokens as the named tokenizer does, or approximately."""
    if tokenizer is None:
        return approximate_tokens
    from sarag_rdf.models.bert import token_counter

    return token_counter(tokenizer)


def context_options(chosen: str | Options, budget: int | None = None) -> Any:
    """Options of a context builder; `budget` in tokens replaces the default of its option."""
    if budget is None or isinstance(chosen, Options):
        return options_of("context", chosen)
    spec = Spec.parse(chosen)
    return options_of("context", spec, {} if "budget" in spec.options else {"budget": budget})


def make_context(
    chosen: str | Options, view: GraphView, count: CountTokens, budget: int | None = None
) -> ContextBuilder:
    """A context builder by ``name:key=value`` or its options; see `context_options`."""
    options = context_options(chosen, budget)
    builder: ContextBuilder = _constructed(CONTEXTS[options.name], view, options, count)
    return builder


def make_gather(retriever: Retriever, builder: ContextBuilder) -> Gather:
    """Retrieval and context as one step."""

    def gather(query: Query) -> Evidence:
        retrieved = retriever.retrieve(query)
        if query.limit is not None:
            retrieved = replace(retrieved, documents=retrieved.documents[: query.limit])
        return Evidence(retrieved, builder.build(retrieved))

    return gather


def make_reasoner(chosen: str | Options, gather: Gather, llm: LLM, view: GraphView) -> Reasoner:
    """A reasoner by ``name:key=value`` or its options; one that runs queries reads the view."""
    options = options_of("reasoner", chosen)
    reasoner: Reasoner = _constructed(REASONERS[options.name], view, options, gather, llm)
    return reasoner


def _constructed(class_: Any, view: GraphView, options: Options, *arguments: Any) -> Any:
    from_view = _FROM_VIEW[class_](view) if class_ in _FROM_VIEW else ()
    return class_(*arguments, *from_view, options)
