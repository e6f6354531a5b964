"""Options shared by commands; each can come from a flag, a SARAG_… variable or sarag.toml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sarag_rdf.base.endpoints import LOADING_WAIT, MAX_REPLY, TIMEOUT, SparqlEndpoint, is_url
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import DEFAULT_LIMIT, Spec
from sarag_rdf.cli.settings import Harmless, Setting

if TYPE_CHECKING:
    from sarag_rdf.base.endpoints import ModelEndpoint
    from sarag_rdf.kg.graph import KnowledgeGraph

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def setting(*names: str, harmless: Harmless = False, **attributes: Any) -> Decorator:
    """A click option that the environment, as SARAG_NAME, and settings files can set.

    `harmless`: whether the file of a folder that is not trusted may set it; see `Setting`.
    """
    name = next(n for n in names if n.startswith("--")).split("/")[0]
    variable = "SARAG_" + name.lstrip("-").upper().replace("-", "_")
    envvar = [variable, *attributes.pop("also", [])]
    attributes.setdefault("show_default", True)
    attributes.setdefault("show_envvar", True)
    return click.option(*names, cls=Setting, harmless=harmless, envvar=envvar, **attributes)


def _location(value: str | Path) -> str | Path:
    """A folder, or an endpoint's URL as it is."""
    return value if is_url(value) else Path(value)


kg_option = setting(
    "--kg",
    harmless="inside",
    default="kg",
    type=_location,
    metavar="FOLDER|URL",
    help="The graph's folder, or a SPARQL endpoint's URL.",
)
embedder_option = setting(
    "--embedder",
    help="Embedding model: a name or path (sentence-transformers), or openai:MODEL at the "
    "endpoint; with prompts as MODEL?query=TEXT&passage=TEXT. Default: what the graph was embedded "
    "with, else all-MiniLM-L6-v2.",
)
over_option = setting(
    "--over",
    harmless=True,
    multiple=True,
    help="Part of the graph to search: documents, or the name of an imported graph. May be "
    "repeated. Default: all, with the links between them.",
)
facts_option = setting(
    "--facts",
    harmless="inside",
    metavar="NAME|URL",
    help="Graph whose statements kg-infused and dotrag select: documents, the name of an imported "
    "graph, or the URL of a SPARQL endpoint (with --graph-kind). Default: what is searched. An "
    "imported graph named here is searched only if --over names it.",
)
activation_option = setting(
    "--activation",
    type=click.Path(path_type=Path),
    metavar="FILE.trig",
    help="Write seeds, steps, results and calls as RDF in terms of PROV-O.",
)
query_over_option = setting(
    "--over",
    harmless=True,
    multiple=True,
    help="Part of the graph to query: documents, the name of an imported graph, or all. May be "
    "repeated. Default: documents. A query with FROM names its own data set.",
)
expansion_option = setting(
    "--max-expansion",
    default=200,
    type=click.IntRange(1),
    help="Maximum ratio of unpacked to packed size, for compressed files and archives.",
)
seconds_option = setting(
    "--max-seconds",
    default=120.0,
    type=click.FloatRange(0.0, min_open=True),
    help="Time limit for reading a document, or for the next statement of RDF, in seconds.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


_sparql_timeout = setting(
    "--sparql-timeout",
    harmless=True,
    default=TIMEOUT,
    type=click.FloatRange(0.0, min_open=True),
    help="Time limit of a request to the SPARQL endpoint, in seconds.",
)


def _max_reply(function: Callable[..., Any]) -> Callable[..., Any]:
    """--max-reply, once for endpoints of both kinds."""
    if any(option.name == "max_reply" for option in getattr(function, "__click_params__", ())):
        return function
    decorated: Callable[..., Any] = setting(
        "--max-reply",
        default=64,
        type=click.IntRange(1),
        help="Maximum size of a response from an endpoint, in MiB.",
    )(function)
    return decorated


def shapes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--shapes and --on-violation."""
    return _together(
        [
            setting(
                "--shapes",
                multiple=True,
                metavar="FILE",
                help="SHACL shapes (Turtle) for entities and their statements. May be repeated.",
            ),
            setting(
                "--on-violation",
                harmless=True,
                type=click.Choice(("report", "quarantine")),
                help="With --shapes: report violations (default), or put the statements that "
                "violate shapes into quarantine.",
            ),
        ]
    )(function)


def sparql_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--endpoint and what belongs to it: a live SPARQL endpoint that is read."""
    for decorate in reversed(
        [
            setting(
                "--endpoint",
                help="The URL of a SPARQL endpoint to read, the same as --kg URL. Credentials are "
                "read from SARAG_SPARQL_USER and SARAG_SPARQL_PASSWORD, or SARAG_SPARQL_TOKEN.",
            ),
            setting(
                "--graph-kind",
                harmless=True,
                type=click.Choice(["sarag", "wikibase", "wikibase-truthy", "skos", "rdf"]),
                help="Kind of graph at the endpoint. Default: a graph that sarag wrote.",
            ),
            setting(
                "--default-graph",
                harmless=True,
                help="IRI of the graph that is read there; default: the endpoint's default graph. "
                "Not for sarag, which names its graphs.",
            ),
            _sparql_timeout,
            _max_reply,
        ]
    ):
        function = decorate(function)
    return function


def sparql_write_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--update-url and what belongs to it: an endpoint that is written to."""
    for decorate in reversed(
        [
            setting("--update-url", help="URL of the endpoint for SPARQL Update."),
            setting("--store-url", help="URL of the endpoint for the Graph Store Protocol."),
            _sparql_timeout,
        ]
    ):
        function = decorate(function)
    return function


def embedding_endpoint_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--base-url and its limits, for commands that embed texts and call no language model."""
    return _together(_endpoint_settings("--timeout"))(function)


def endpoint_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--base-url, its limits, and the settings of a language model.

    The key of the endpoint is read from the environment only.
    """
    return model_options("--timeout")(function)


def model_options(timeout: str) -> Decorator:
    """`endpoint_options` with another name for --timeout."""
    return _together([*_endpoint_settings(timeout), *_model_settings()])


def _together(settings: list[Decorator]) -> Decorator:
    """Several options as one decorator; help lists them in this order."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorate in reversed(settings):
            function = decorate(function)
        return function

    return decorated


def _endpoint_settings(timeout: str) -> list[Decorator]:
    return [
        setting(
            "--base-url",
            also=["OPENAI_BASE_URL"],
            help="URL of an OpenAI-compatible endpoint. Its key is read from SARAG_API_KEY or "
            "OPENAI_API_KEY.",
        ),
        setting(
            timeout, harmless=True, default=120.0, help="Time limit of a request to it, in seconds."
        ),
        setting(
            "--loading-wait",
            harmless=True,
            default=LOADING_WAIT,
            type=click.FloatRange(0.0),
            help="Time to wait for a server that is loading its model, in seconds.",
        ),
        _max_reply,
    ]


def _model_settings() -> list[Decorator]:
    return [
        setting("--model", help="Model at the endpoint; default: its only one."),
        setting(
            "--concurrency",
            harmless=True,
            default=4,
            type=click.IntRange(1),
            help="Number of concurrent calls.",
        ),
        setting(
            "--temperature",
            harmless=True,
            default=0.0,
            type=click.FloatRange(0.0),
            help="Sampling temperature of the model.",
        ),
        setting(
            "--model-seed", harmless=True, default=0, type=int, help="Random seed of the model."
        ),
        setting(
            "--price-in",
            harmless=True,
            default=0.0,
            help="Price of a million input tokens, in US dollars.",
        ),
        setting(
            "--price-out",
            harmless=True,
            default=0.0,
            help="Price of a million output tokens, in US dollars.",
        ),
    ]


def endpoint_of(options: dict[str, Any]) -> ModelEndpoint | None:
    """The endpoint that the options name, or None."""
    from sarag_rdf.base.endpoints import ModelEndpoint

    if not options.get("base_url"):
        return None
    names = {
        "model": "model",
        "concurrency": "concurrency",
        "price_in": "price_in",
        "price_out": "price_out",
        "temperature": "temperature",
        "model_seed": "seed",
    }
    settings = {
        field: options[name] for name, field in names.items() if options.get(name) is not None
    }
    return ModelEndpoint(
        options["base_url"],
        timeout=options["timeout"],
        max_reply=options["max_reply"] << 20,
        loading_wait=options["loading_wait"],
        **settings,
    )


@contextmanager
def open_graph(options: dict[str, Any], *, base: str | None = None) -> Iterator[KnowledgeGraph]:
    """The graph that --kg or --endpoint names, with the embedder and model that options name.

    A search that has to embed texts first shows how far it is.
    """
    import sarag_rdf
    from sarag_rdf.cli.output import progress_bars

    with (
        progress_bars() as progress,
        sarag_rdf.open(
            location_of(options),
            base=base,
            over=options.get("over") or (),
            embedder=options.get("embedder"),
            endpoint=endpoint_of(options),
            engine=options.get("engine") or "auto",
            facts=_facts_of(options),
            progress=progress,
        ) as kg,
    ):
        yield kg


def _facts_of(options: dict[str, Any]) -> str | SparqlEndpoint | None:
    """What --facts names."""
    facts: str | None = options.get("facts")
    if not facts or not is_url(facts):
        return facts
    kind: Any = options.get("graph_kind") or ""
    graph, timeout = options.get("default_graph") or "", options.get("sparql_timeout") or TIMEOUT
    return SparqlEndpoint(facts, "", "", kind, graph, timeout, _most(options))


def location_of(options: dict[str, Any]) -> Path | SparqlEndpoint:
    """The folder or endpoint that --kg or --endpoint names; an argument counts before a setting.

    Raises `UsageError` if both are given, or an option of an endpoint without one.
    """
    location = options["kg"]
    if options.get("endpoint") is not None:
        ranks = {name: _rank(name) for name in ("kg", "endpoint")}
        if ranks["kg"] == ranks["endpoint"]:
            raise UsageError("--kg and --endpoint both name a graph: give one of them")
        if ranks["kg"] < ranks["endpoint"]:
            location = options["endpoint"]
    names = ["update_url", "store_url", "graph_kind", "default_graph"]
    if is_url(options.get("facts") or ""):  # to which --graph-kind and --default-graph belong
        names[2:] = "", ""
    values: list[Any] = [options.get(name) or "" for name in names]
    update, store, kind, graph = values
    if isinstance(location, Path):
        # a setting may belong to the endpoint that --kg replaces
        if any(
            value and _rank(name) >= _rank("kg") for name, value in zip(names, values, strict=True)
        ):
            raise UsageError(
                f"{location} is a folder: --graph-kind, --default-graph, --update-url and "
                "--store-url belong to an endpoint's URL"
            )
        return location
    if graph and kind in ("", "sarag"):
        raise UsageError("--default-graph needs --graph-kind wikibase, skos or rdf")
    timeout = options.get("sparql_timeout") or TIMEOUT
    return SparqlEndpoint(str(location), update, store, kind, graph, timeout, _most(options))


def endpoint_only(options: dict[str, Any]) -> SparqlEndpoint:
    """What --endpoint names, beside a graph in a folder that --kg names."""
    kind: Any = options["graph_kind"] or ""
    timeout = options["sparql_timeout"] or TIMEOUT
    graph = options["default_graph"] or ""
    return SparqlEndpoint(options["endpoint"], "", "", kind, graph, timeout, _most(options))


def _most(options: dict[str, Any]) -> int:
    """Bytes of an answer at most."""
    return int(options["max_reply"]) << 20 if options.get("max_reply") else MAX_REPLY


_ARGUMENT = 2


def _rank(option: str) -> int:
    """0 for a default, 1 for a setting of the environment or of sarag.toml, 2 for an argument."""
    source = click.get_current_context().get_parameter_source(option)
    if source is ParameterSource.COMMANDLINE:
        return _ARGUMENT
    return 0 if source in (None, ParameterSource.DEFAULT) else 1


def retrieval_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--retriever, and shorthands for options that several retrievers have."""
    for decorate in reversed(
        [
            setting(
                "--retriever",
                harmless="inside",
                default="sarag",
                metavar="NAME[:KEY=VALUE]...",
                help="sarag, sarag-paper, bm25, dense, rrf, khop, ppr, dotrag, "
                "kg-infused, ket or paths. 'sarag strategies' lists their keys.",
            ),
            setting(
                "--preset",
                harmless=True,
                help="The same as preset=NAME in --retriever (sarag-paper).",
            ),
            setting("-k", "--k", harmless=True, type=int, help="The same as k=K in --retriever."),
            setting("-n", "--n", harmless=True, type=int, help="The same as n=N in --retriever."),
            setting("--c", harmless=True, type=float, help="The same as c=C in --retriever."),
            setting(
                "--limit",
                harmless=True,
                type=click.IntRange(1),
                help=f"Maximum number of documents.  [default: {DEFAULT_LIMIT}]",
            ),
            setting(
                "--weight",
                harmless=True,
                multiple=True,
                metavar="TERM=WEIGHT",
                help="Multiply the activation that passes over the edges of a property, or to the "
                "instances of a class, by 0 to 4; 0 cuts. May be repeated.",
            ),
            setting(
                "--engine",
                harmless=True,
                default="auto",
                type=click.Choice(["auto", "memory", "sparql"]),
                help="How links are followed: with arrays in memory, which are cached between "
                "runs, or with SPARQL queries for each step. auto: memory for a folder, sparql for "
                "an endpoint.",
            ),
        ]
    ):
        function = decorate(function)
    return function


_SHORTHANDS = ("preset", "k", "n", "c", "limit")


def retriever_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """The values of `retrieval_options`, as keyword arguments of `search`.

    A shorthand takes precedence over the same option in --retriever, unless it comes from a
    setting and --retriever from the command line.
    """
    spec = Spec.parse(options["retriever"])
    arguments = {
        name: options[name]
        for name in _SHORTHANDS
        if options.get(name) is not None
        and (name not in spec.options or _rank(name) >= _rank("retriever"))
    }
    if options.get("weight"):
        from sarag_rdf.kg.weights import parse_weights

        arguments["weights"] = parse_weights(options["weight"])
    return {"retriever": options["retriever"], **arguments}


def reasoning_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--reasoner, and the context that it reads."""
    for decorate in reversed(
        [
            setting(
                "--reasoner",
                harmless="inside",
                default="single",
                metavar="NAME[:KEY=VALUE]...",
                help="single, cot, decompose, sparql-cot, generic-cot, self-ask, closed-book, "
                "route, sparql-grounded, sparql-typed, kg-infused, deepnote, self-rag, path-choice "
                "or dotrag. 'sarag strategies' lists their keys.",
            ),
            setting(
                "--context",
                harmless="inside",
                default="whole",
                metavar="NAME[:KEY=VALUE]...",
                help="Context for the model: whole documents, selected sentences, or a graph-walk.",
            ),
            setting(
                "--budget",
                harmless=True,
                type=click.IntRange(1),
                help="Maximum size of the context in tokens, unless --context sets it. Default: "
                "none (whole), 400 (selected), 4000 (graph-walk).",
            ),
            setting(
                "--tokenizer",
                help="Folder or name of the model whose tokenizer counts tokens. Default: 4/3 "
                "tokens per word.",
            ),
        ]
    ):
        function = decorate(function)
    return function


def reasoning_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """The values of `reasoning_options`, as keyword arguments of `ask`."""
    names = ("reasoner", "context", "budget", "tokenizer")
    return {name: options[name] for name in names if options.get(name) is not None}
