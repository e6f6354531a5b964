"""Names and options become objects here, and only here do adapters meet strategies."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sarag_rdf.context.budget import approximate_tokens
from sarag_rdf.context.graph_walk import GraphWalk
from sarag_rdf.context.selected import Selected
from sarag_rdf.context.whole import Whole
from sarag_rdf.endpoints import ModelEndpoint
from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.vectors import GraphVectors
from sarag_rdf.models.caches import CachedLLM
from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL, SentenceTransformerEmbedder
from sarag_rdf.options import Spec, greatest_values
from sarag_rdf.ports import (
    LLM,
    ContextBuilder,
    CountTokens,
    Embedder,
    Extractor,
    Gather,
    Reasoner,
    Retriever,
)
from sarag_rdf.reason.closed_book import ClosedBook
from sarag_rdf.reason.cot import Cot
from sarag_rdf.reason.decompose import Decompose
from sarag_rdf.reason.generic_cot import GenericCot
from sarag_rdf.reason.grounding import Grounder
from sarag_rdf.reason.route import Route
from sarag_rdf.reason.self_ask import SelfAsk
from sarag_rdf.reason.single import Single
from sarag_rdf.reason.sparql_cot import SparqlCot
from sarag_rdf.reason.sparql_grounded import SparqlGrounded
from sarag_rdf.retrieve.bm25 import Bm25
from sarag_rdf.retrieve.dense import Dense
from sarag_rdf.retrieve.khop import Khop
from sarag_rdf.retrieve.ppr import Ppr
from sarag_rdf.retrieve.rrf import Rrf
from sarag_rdf.retrieve.sarag import Sarag
from sarag_rdf.retrieve.sarag_paper import PRESETS, SaragPaper
from sarag_rdf.retrieve.view import Engine, GraphView
from sarag_rdf.types import Evidence, Query

RETRIEVERS: dict[str, Callable[..., Retriever]] = {
    "sarag": Sarag,
    "sarag-paper": SaragPaper,
    "bm25": Bm25,
    "dense": Dense,
    "rrf": Rrf,
    "khop": Khop,
    "ppr": Ppr,
}
CONTEXTS: dict[str, tuple[Callable[..., ContextBuilder], Callable[[GraphView], tuple[Any, ...]]]]
CONTEXTS = {
    "whole": (Whole, lambda _: ()),
    "selected": (Selected, lambda view: (view.vectors.embedder, view.word_index)),
    "graph-walk": (GraphWalk, lambda view: (view.reader,)),
}
"""Class, and what it takes of a graph behind the counter of tokens."""
REASONERS: dict[str, Callable[..., Reasoner]] = {
    "single": Single,
    "cot": Cot,
    "decompose": Decompose,
    "sparql-cot": SparqlCot,
    "generic-cot": GenericCot,
    "self-ask": SelfAsk,
    "closed-book": ClosedBook,
    "route": Route,
    "sparql-grounded": SparqlGrounded,
}
EXTRACTORS = ("spacy", "llm", "openie:FILE")


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
        seed=endpoint.seed,
        max_reply=endpoint.max_reply,
        loading_wait=endpoint.loading_wait,
    )
    return CachedLLM(llm, cache or ":memory:")


def make_embedder(name: str | None, endpoint: ModelEndpoint | None) -> Embedder:
    """An embedder by name: a path or model of sentence-transformers, or ``openai:MODEL``."""
    if name and name.startswith("openai:"):
        from sarag_rdf.models.openai_embedder import OpenAIEmbedder

        if endpoint is None:
            raise UsageError(f"--embedder {name} needs an endpoint: set OPENAI_BASE_URL")
        return OpenAIEmbedder(
            endpoint.base_url,
            name.removeprefix("openai:"),
            endpoint.timeout,
            max_reply=endpoint.max_reply,
            loading_wait=endpoint.loading_wait,
        )
    return SentenceTransformerEmbedder(name or DEFAULT_MODEL, may_download=bool(name))


def make_extractor(
    name: str, llm: Callable[[], LLM], *, concurrency: int = 4, spacy_model: str | None = None
) -> Extractor:
    """An extractor by name: ``spacy``, ``llm`` or ``openie:FILE``."""
    kind, _, argument = name.partition(":")
    if kind == "openie" and argument:
        from sarag_rdf.extract.openie import OpenIEExtractor

        return OpenIEExtractor(Path(argument))
    if name == "spacy":
        from sarag_rdf.extract.spacy.pipeline import SpacyExtractor

        return SpacyExtractor(spacy_model)
    if name == "llm":
        from sarag_rdf.extract.llm import LLMExtractor

        return LLMExtractor(llm(), concurrency=concurrency)
    raise UsageError(f"unknown extractor '{name}': choose {', '.join(EXTRACTORS)}")


def make_view(reader: GraphReader, vectors: GraphVectors, engine: Engine = "auto") -> GraphView:
    """What retrievers read."""
    from sarag_rdf.vectors.bm25 import Bm25Index

    return GraphView(reader, vectors, Bm25Index, engine=engine)


def make_retriever(name: str, view: GraphView, options: Mapping[str, Any]) -> Retriever:
    """A retriever by name; ``sarag-paper`` takes a `preset` beside its own options.

    Raises `UsageError` for an option that the retriever does not take, or a value of another kind.
    """
    if name not in RETRIEVERS:
        raise UsageError(f"unknown retriever '{name}': choose one of {', '.join(RETRIEVERS)}")
    values = dict(options)
    preset = values.pop("preset", None)
    if preset is not None:
        if name != "sarag-paper" or preset not in PRESETS:
            raise UsageError(
                f"unknown preset '{preset}' for {name}: sarag-paper has {', '.join(PRESETS)}"
            )
        values = {**PRESETS[preset], **values}
    _check(name, RETRIEVERS[name], values)
    return RETRIEVERS[name](view, **values)


def _check(name: str, made: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option that does not exist, or a value that it does not take."""
    takes, most = _options(made), greatest_values(made)
    for option, value in options.items():
        if option not in takes:
            raise UsageError(f"{name} does not take {option}: it takes {', '.join(takes)}")
        default = takes[option]
        if isinstance(default, bool):
            fits, kind = value in (True, False), "true or false"
        elif isinstance(default, str):
            fits, kind = isinstance(value, str), "a text"
        else:
            whole = default is None or isinstance(default, int)
            fits = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
            kind = "a whole number" if whole else "a number"
        if not fits and value is not default:
            raise UsageError(f"{name} takes {kind} as {option}, not '{value}'")
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name} takes a finite number as {option}, not '{value}'")
        if value is not None and option in most and value > most[option]:
            raise UsageError(f"{name} takes {option} of at most {most[option]:,}")


def _options(made: Callable[..., Any]) -> dict[str, Any]:
    """Own options of a retriever, context or reasoner with their defaults."""
    parameters = inspect.signature(made).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def ranking_options(name: str) -> dict[str, Any]:
    """Options that leave out what a retriever does beside ranking documents."""
    return {"explain": False} if "explain" in _options(RETRIEVERS[name]) else {}


def make_counter(tokenizer: str | None) -> CountTokens:
    """Counts tokens as the named tokenizer does, or approximately."""
    if tokenizer is None:
        return approximate_tokens
    from sarag_rdf.models.tokenizer import token_counter

    return token_counter(tokenizer)


def make_context(
    spec: str, view: GraphView, count: CountTokens, budget: int | None = None
) -> ContextBuilder:
    """A context builder by ``name:key=value``; a budget in tokens counts before its default."""
    made = Spec.parse(spec)
    if made.name not in CONTEXTS:
        raise UsageError(f"unknown context '{made.name}': choose one of {', '.join(CONTEXTS)}")
    build, taken = CONTEXTS[made.name]
    options = {**({} if budget is None else {"budget": budget}), **made.options}
    _check(made.name, build, options)
    return build(count, *taken(view), **options)


def make_gather(retriever: Retriever, builder: ContextBuilder) -> Gather:
    """Retrieval and context as one step."""

    def gather(query: Query) -> Evidence:
        retrieved = retriever.retrieve(query)
        return Evidence(retrieved, builder.build(retrieved))

    return gather


def make_reasoner(spec: str, gather: Gather, llm: LLM, view: GraphView) -> Reasoner:
    """A reasoner by ``name:key=value``; one that runs queries runs them on the view's graph."""
    made = reasoner_spec(spec)
    if made.name == "sparql-grounded":
        return SparqlGrounded(gather, llm, Grounder(view), **made.options)
    return REASONERS[made.name](gather, llm, **made.options)


def reasoner_spec(spec: str) -> Spec:
    """A reasoner's name and options, if there is such a reasoner and it takes them."""
    made = Spec.parse(spec)
    if made.name not in REASONERS:
        raise UsageError(f"unknown reasoner '{made.name}': choose one of {', '.join(REASONERS)}")
    _check(made.name, REASONERS[made.name], made.options)
    return made
