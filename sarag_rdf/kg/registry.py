"""Names of strategies, and the objects that they stand for.

Strategies are found by entry points (`sarag_rdf.base.plugins`); this module knows only their names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sarag_rdf.base import plugins
from sarag_rdf.base.errors import PluginError, UsageError
from sarag_rdf.base.options import Options, Spec
from sarag_rdf.base.ports import (
    LLM,
    CountTokens,
    Embedder,
    Extractor,
    Gather,
    Retriever,
)
from sarag_rdf.base.types import Answer, Query, Retrieved
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.valid_time import moment_of

if TYPE_CHECKING:
    from sarag_rdf.answering.conversation import Conversation, ReasonerStrategy
    from sarag_rdf.retrieval.retriever import RetrieverStrategy
    from sarag_rdf.retrieval.view import GraphView

GROUPS: Final = {
    **{kind: f"{kind}s" for kind in ("retriever", "context", "reasoner", "extractor")},
    "vectors": "vector_engines",
}
"""Kind of strategy -> group of entry points."""
_METHODS: Final = {"retriever": "retrieve", "context": "build", "reasoner": "answer"}
"""Kind of strategy -> its method, where a strategy is its options."""
log = logging.getLogger(__name__)


def strategies(kind: str) -> dict[str, type[Options]]:
    """The options of all strategies of a kind by name; those that cannot be loaded are logged."""
    table = {}
    for plugin, loaded in plugins.loadable(GROUPS[kind]):
        if isinstance(loaded, PluginError):
            log.warning("%s", loaded)
        else:
            table[plugin.name] = _options_class(loaded)
    return table


def strategy(kind: str, name: str) -> type[Options]:
    """The options of a strategy; raises `UsageError` for an unknown name."""
    return _options_class(plugins.load(GROUPS[kind], name))


def _options_class(loaded: Any) -> type[Options]:
    """A strategy is its options, but for an extractor, which has them as ``options``."""
    options: type[Options] = getattr(loaded, "options", loaded)
    return options


def options_of(
    kind: str, chosen: str | Spec | Options, values: Mapping[str, Any] | None = None
) -> Any:
    """The options of a strategy that is chosen by a specification or by its options.

    `values` take precedence. Raises `UsageError` for an unknown name or option, or a bad value.
    """
    if isinstance(chosen, Options):
        is_own = hasattr(chosen, _METHODS.get(kind, ""))  # also without an entry point
        if not is_own and not isinstance(chosen, strategy(kind, chosen.name)):
            raise UsageError(f"{type(chosen).__name__} is not a {kind}")
        return chosen.replaced(values) if values else chosen
    if isinstance(chosen, str):
        name, _, argument = chosen.partition(":")
        options = strategy(kind, name)
        if argument and options.argument:
            return options.of({options.argument: argument, **(values or {})})
    spec = chosen if isinstance(chosen, Spec) else Spec.parse(chosen)
    return spec.read(strategy(kind, spec.name), values)


@dataclass(frozen=True)
class ExtractionServices:
    """`sarag_rdf.base.ports.Services` of one graph."""

    llm: Callable[[], LLM]
    concurrency: int
    schema: Schema | None
    embedder: Callable[[], Embedder | None]

    def extractor(self, chosen: str | Options) -> Extractor:
        """An extractor with these services; see `make_extractor`."""
        options = options_of("extractor", chosen)
        extractor: Extractor = plugins.load("extractors", options.name).build(options, self)
        return extractor


def make_extractor(
    chosen: str | Options,
    llm: Callable[[], LLM],
    *,
    concurrency: int = 4,
    schema: Schema | None = None,
    embedder: Callable[[], Embedder | None] = lambda: None,
) -> Extractor:
    """An extractor by ``name:key=value`` or its options.

    It follows a `schema` that has classes or properties. Raises `UsageError` for an unknown name
    or option, a bad value, or options that do not fit the graph.
    """
    schema = schema if schema and (schema.classes or schema.properties) else None
    return ExtractionServices(llm, concurrency, schema, embedder).extractor(chosen)


@dataclass(frozen=True, slots=True)
class GraphRetriever:
    """A retriever for the questions to one revision of a graph."""

    strategy: RetrieverStrategy
    view: GraphView

    def retrieve(self, query: Query) -> Retrieved:
        return self.strategy.retrieve(self.view, query)


def make_retriever(
    chosen: str | Options, view: GraphView, values: Mapping[str, Any] | None = None
) -> Retriever:
    """A retriever by ``name:key=value`` or its options; `values` take precedence.

    Raises `UsageError` for an unknown name or option, or a bad value.
    """
    return GraphRetriever(options_of("retriever", chosen, values), view)


def require_activation(chosen: str | Options, what: str) -> None:
    """Raise `UsageError` for a retriever without activation, which `what` needs."""
    options = options_of("retriever", chosen)
    if not options.is_steered:
        known = strategies("retriever").items()
        steered = [name for name, class_ in known if getattr(class_, "is_steered", False)]
        raise UsageError(
            f"{options.name} does not spread activation: {what} {' or '.join(steered)}"
        )


def at_time(query: Query, at: str, chosen: str | Options) -> Query:
    """The question at a year, month or date; raises `UsageError` for what is none.

    Also for a retriever without activation.
    """
    moment_of(at)
    require_activation(chosen, "a time needs")
    return replace(query, at=at)


def make_counter(tokenizer: str | None) -> CountTokens:
    """Counts tokens as the named tokenizer does, or approximately."""
    if tokenizer is None:
        from sarag_rdf.retrieval.context import approximate_tokens

        return approximate_tokens
    from sarag_rdf.models.bert import token_counter

    return token_counter(tokenizer)


def context_options(chosen: str | Options, budget: int | None = None) -> Any:
    """Options of a context builder; `budget` in tokens replaces the default of its option."""
    if budget is None or isinstance(chosen, Options):
        return options_of("context", chosen)
    spec = Spec.parse(chosen)
    return options_of("context", spec, {} if "budget" in spec.options else {"budget": budget})


@dataclass(frozen=True, slots=True)
class GraphReasoner:
    """A reasoner with a model, for the questions to one revision of a graph."""

    strategy: ReasonerStrategy
    gather: Gather
    llm: LLM
    view: GraphView

    def answer(self, query: Query) -> Answer:
        _ = self.strategy.calibrated  # a file that cannot be used is reported before any call
        return self.strategy.rated(self.strategy.answer(self._conversation(query)))

    def answer_without_model(self, query: Query) -> Answer:
        """The answer to a question that needs no model, or else only the evidence for it."""
        if answer := self.strategy.answer_without_model(self._conversation(query)):
            answer = self.strategy.rated(answer)
            if answer.outcome == "answered":
                return answer
        evidence = self.gather(query)
        return Answer("evidence", "", "", (), evidence.retrieved, evidence=(evidence,))

    def _conversation(self, query: Query) -> Conversation:
        from sarag_rdf.answering.conversation import Conversation

        return Conversation(query, self.gather, self.llm, self.view, self.strategy.prompts)
