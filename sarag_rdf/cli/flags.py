"""Options of commands; each can come from a flag, a SARAG_… variable or a settings file.

`of` makes flags of what a class of `Options` declares, and `chosen` its values from theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from sarag_rdf.base.endpoints import ModelEndpoint, SparqlEndpoint, is_url
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import (
    DEFAULT_LIMIT,
    AnyOptions,
    Harmless,
    Option,
    Options,
    Spec,
    declared_options,
    option,
)
from sarag_rdf.base.plugins import CONTEXT, REASONER, RETRIEVER
from sarag_rdf.cli.settings_files import Setting

if TYPE_CHECKING:
    from sarag_rdf.kg.graph import KnowledgeGraph
    from sarag_rdf.server.serve_settings import ServeSettings

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_OTHER_VARIABLES: Final = {"base_url": ["OPENAI_BASE_URL"], "kg": ["SARAG_ENDPOINT"]}
_SPARQL: Final = {"kind": "graph_kind", "graph": "default_graph", "timeout": "sparql_timeout"}
"""Options of `SparqlEndpoint` whose flags have other names."""


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator; help lists them in this order."""
    return lambda function: reduce(lambda f, decorate: decorate(f), reversed(decorators), function)


def setting(*names: str, harmless: Harmless = False, **attributes: Any) -> Decorator:
    """A click option that the environment, as SARAG_NAME, and settings files can set.

    `harmless`: whether the file of a folder that is not trusted may set it; see `Setting`. An
    option that a command has already is not added again.
    """
    flag = next(n for n in names if n.startswith("--")).split("/")[0]
    key = flag.lstrip("-").replace("-", "_")
    attributes = {"show_default": True, "show_envvar": True} | attributes
    envvar = [f"SARAG_{key.upper()}", *_OTHER_VARIABLES.get(key, [])]
    return _added(flag, *names, cls=Setting, harmless=harmless, envvar=envvar, **attributes)


def _added(flag: str, *names: str, **attributes: Any) -> Decorator:
    """Adds an option to commands that do not have its flag already."""
    add = click.option(*names, **attributes)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        present = getattr(function, "__click_params__", ())
        return function if any(flag in each.opts for each in present) else add(function)

    return decorate


def of(
    options: type[Options],
    *only: str,
    without: tuple[str, ...] = (),
    once: bool = False,
    names: Mapping[str, str] | None = None,
    **attributes: Any,
) -> Decorator:
    """A flag for each option that a class declares, or for those in `only`.

    `names` are parameters whose names differ from those of their options; see `chosen`. With
    `once`, flags belong to a single call: neither the environment nor a file can set them.
    `attributes` are further ones of `setting`.
    """
    names = names or {}
    return together(
        *(
            flag(each, names.get(each.name, ""), once=once, **attributes)
            for each in declared_options(options)
            if (not only or each.name in only) and each.name not in without
        )
    )


def flag(option: Option, name: str = "", *, once: bool = False, **more: Any) -> Decorator:
    """The flag of an option, under its own name or another one; see `of`."""
    long = f"--{name.replace('_', '-')}" if name else str(option.flag)
    name = name or option.name
    default = None if option.default in ("", ()) else option.default
    attributes: dict[str, Any] = {"help": option.meaning, "default": default, "show_default": True}
    if option.kind is bool:
        attributes["is_flag"] = True
    elif option.kind is tuple:
        attributes |= {"multiple": True, "help": f"{option.meaning} May be repeated."}
    else:
        attributes["type"] = _type(option)
    attributes |= more
    if once:
        return _added(long, long, name, **attributes)
    return setting(long, name, harmless=option.harmless, **attributes)


def _type(option: Option) -> Any:
    if option.kind is Path:
        return click.Path(path_type=Path)
    if option.choices:
        return click.Choice(option.choices)
    low, high = (a if b is None else b for a, b in ((option.gt, option.ge), (option.lt, option.le)))
    if option.kind is str or (low is None and high is None):
        return option.kind
    number: Any = click.IntRange if option.kind is int else click.FloatRange
    is_open = {"min_open": option.gt is not None, "max_open": option.lt is not None}
    return number(low, high, **is_open)


def chosen(
    options: type[AnyOptions],
    values: Mapping[str, Any],
    names: Mapping[str, str] | None = None,
    **other: Any,
) -> AnyOptions:
    """The options of a class from the parameters of a command; `other` are fields beside them.

    `names` are those of `of` above. Raises `UsageError` for a bad value.
    """
    names = names or {}
    given = {
        name: value
        for name in (each.name for each in declared_options(options))
        if (value := values.get(names.get(name, name))) is not None
    }
    return options(**given, **other)


def is_argument(parameter: str) -> bool:
    """Whether a parameter was given on the command line, not by a setting or a default."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is ParameterSource.COMMANDLINE


kg_option = setting(
    "--kg",
    "--endpoint",
    "kg",
    harmless="inside",
    default="kg",
    type=lambda location: location if is_url(location) else Path(location),
    metavar="FOLDER|URL",
    help="The graph's folder, or a SPARQL endpoint's URL. Credentials are read from "
    "SARAG_SPARQL_USER and SARAG_SPARQL_PASSWORD, or SARAG_SPARQL_TOKEN.",
)
sparql_options = of(SparqlEndpoint, "kind", "graph", "timeout", "max_reply", names=_SPARQL)
"""The kind of graph at a SPARQL endpoint, and the limits of requests to it."""
read_options = together(kg_option, sparql_options)
served_options = together(
    of(SparqlEndpoint, "kind", "timeout", "max_reply", names=_SPARQL),
    of(
        SparqlEndpoint,
        "graph",
        names=_SPARQL,
        metavar="union|empty|IRI",
        help="Default graph of queries: the union of the graphs of --over, which is the default, "
        "or the unnamed graph; or the IRI of the graph that is read at a SPARQL endpoint.",
    ),
)
"""The same for a server, whose queries have a default graph."""


@dataclass(frozen=True, kw_only=True)
class CommandOptions(Options):
    """Options of commands that no part of the library declares."""

    name = "the command"
    base: str | None = option(None, "Base IRI of a new graph (http or https).", harmless=True)
    embedder: str | None = option(
        None,
        "Embedding model: a name or path (sentence-transformers), or openai:MODEL at the endpoint; "
        "with prompts as MODEL?query=TEXT&passage=TEXT. Default: what the graph was embedded with, "
        "else all-MiniLM-L6-v2.",
    )
    over: tuple[str, ...] = option(
        (),
        "Part of the graph to search: documents, or the name of an imported graph. Default: all, "
        "with the links between them.",
        harmless=True,
    )
    facts: str | None = option(
        None,
        "Graph whose statements kg-infused and dotrag select: documents, the name of an imported "
        "graph, or the URL of a SPARQL endpoint (with --graph-kind). Default: the parts that are "
        "searched. An imported graph named here is searched only if --over names it.",
        harmless="inside",
    )
    extractor: str | None = option(
        None,
        "spacy, llm, or an extractor of a plug-in (sarag strategies lists them). Default: the "
        "graph's extractor; for a new graph llm with an endpoint, else spacy.",
        harmless="inside",
    )
    examples: str | None = option(
        None,
        "Sentences with their statements (.jsonl), which the extractor learns from: with spacy the "
        "same as learned:examples=FILE, with llm as llm:examples=FILE.",
    )
    ontology: tuple[str, ...] = option(
        (),
        "File or URL of an ontology to add, as 'sarag ontology add' does; its classes and "
        "properties are extracted.",
    )
    shapes: tuple[str, ...] = option((), "SHACL shapes (Turtle) for entities and their statements.")
    on_violation: str | None = option(
        None,
        "With --shapes: report violations (default), or put the statements that violate shapes "
        "into quarantine.",
        choices=("report", "quarantine"),
        harmless=True,
    )
    retriever: str = option(
        RETRIEVER, "Retriever, with its options. 'sarag strategies' lists them.", harmless="inside"
    )
    limit: int | None = option(
        None, f"Maximum number of documents.  [default: {DEFAULT_LIMIT}]", ge=1, harmless=True
    )
    weight: tuple[str, ...] = option(
        (),
        "TERM=WEIGHT: multiply the activation that passes over the edges of a property, or to the "
        "instances of a class, by 0 to 4; 0 cuts.",
        harmless=True,
    )
    at: str | None = option(
        None,
        "Year, month or date, such as 1925 or 1925-03-31: leave out relationships, and what they "
        "state, that did not hold then.",
        harmless=True,
    )
    engine: str = option(
        "auto",
        "How links are followed: with arrays in memory, which are cached between runs, or with "
        "SPARQL queries for each step. auto: memory for a folder, sparql for an endpoint.",
        choices=("auto", "memory", "sparql"),
        harmless=True,
    )
    reasoner: str = option(
        REASONER, "Reasoner, with its options. 'sarag strategies' lists them.", harmless="inside"
    )
    context: str = option(
        CONTEXT,
        "Context for the model: selected sentences, whole documents, the chain of evidence, or a "
        "graph-walk.",
        harmless="inside",
    )
    budget: int | None = option(
        None,
        "Maximum size of the context in tokens, unless --context sets it. Default: 400 (selected, "
        "chain), none (whole), 4000 (graph-walk).",
        ge=1,
        harmless=True,
    )
    tokenizer: str | None = option(
        None,
        "Folder or name of the model whose tokenizer counts tokens. Default: 4/3 tokens per word.",
    )
    activation: Path | None = option(
        None, "Write seeds, steps, results and calls as RDF (.trig) in terms of PROV-O."
    )
    picture: Path | None = option(None, "Draw the activation: .html or .png.")
    vectors: str | None = option(
        None,
        "Where vectors are kept: files, in the graph's cache (default); or an engine, "
        "milvus:FILE.db, milvus:URL, qdrant:FOLDER, qdrant:URL or postgres:DSN. Its key or "
        "password is read from SARAG_VECTORS_KEY.",
    )
    sparql_endpoint: str = option("", "URL of a SPARQL endpoint for the dataset.", harmless=True)


base_option = of(CommandOptions, "base")
vectors_option = of(CommandOptions, "vectors")
embedder_option = together(of(CommandOptions, "embedder"), vectors_option)
write_options = together(
    kg_option,
    of(SparqlEndpoint, "update_url", "store_url", "timeout", names=_SPARQL),
    vectors_option,
)
embedding_endpoint_options = together(
    of(ModelEndpoint, "base_url", is_needed=False),
    of(ModelEndpoint, "timeout", "loading_wait", "max_reply"),
)
"""Without a language model, an endpoint is needed only by an embedder that names one."""
endpoint_options = of(ModelEndpoint, names={"seed": "model_seed"})
embedding_options = together(embedder_option, embedding_endpoint_options)
model_options = together(embedder_option, endpoint_options)
over_option = of(CommandOptions, "over")
query_over_option = of(
    CommandOptions,
    "over",
    help="Part of the graph to query: documents, the name of an imported graph, or all. May be "
    "repeated. Default: documents. A query with FROM names its own data set.",
)
facts_option = of(CommandOptions, "facts")
shapes_options = of(CommandOptions, "shapes", "on_violation")
at_option = of(CommandOptions, "at")
retrieval_options = of(CommandOptions, "retriever", "limit", "weight", "at", "engine")
reasoning_options = of(CommandOptions, "reasoner", "context", "budget", "tokenizer")
server_options = together(
    over_option,
    facts_option,
    embedder_option,
    of(ModelEndpoint, names={"seed": "model_seed", "timeout": "model_timeout"}),
)
"""What a server reads, and its models; --timeout is that of its queries."""


def switch(*names: str) -> Decorator:
    """A flag without a value: its names, and as the last text its help."""
    return click.option(*names[:-1], is_flag=True, help=names[-1])


def path_option(*names: str, **attributes: Any) -> Decorator:
    """An option that names a file: its names, and as the last text its help."""
    path = click.Path(path_type=Path)
    return click.option(*names[:-1], type=path, help=names[-1], **attributes)


json_option = switch("--json", "as_json", "Print JSON.")


def output_option(text: str = "Default: standard output.") -> Decorator:
    """-o and --output."""
    return path_option("--output", "-o", text)


def endpoint_of(options: Mapping[str, Any], timeout: str = "timeout") -> ModelEndpoint | None:
    """The endpoint that --base-url names, or None; `timeout` is the parameter of its timeout."""
    if not options.get("base_url"):
        return None
    return chosen(ModelEndpoint, options, {"seed": "model_seed", "timeout": timeout})


def place_of(where: Any, options: Mapping[str, Any]) -> Any:
    """A folder or name as it is; a URL as the endpoint that the options describe."""
    if not is_url(where):
        return where
    remote = chosen(SparqlEndpoint, options, _SPARQL, query_url=where)
    if remote.graph and remote.kind in ("", "sarag"):
        raise UsageError("--default-graph needs --graph-kind wikibase, skos or rdf")
    return remote


def graph_location(options: Mapping[str, Any]) -> Any:
    """The folder or endpoint that --kg names.

    Raises `UsageError` for an option of an endpoint beside a folder, unless a setting gives that
    option, and the folder is an argument.
    """
    if isinstance(options["kg"], Path):
        names = ["update_url", "store_url"]
        if not is_url(options.get("facts")):
            names += "graph_kind", "default_graph"
        if any(options.get(n) and (is_argument(n) or not is_argument("kg")) for n in names):
            raise UsageError(
                f"{options['kg']} is a folder: --graph-kind, --default-graph, --update-url and "
                "--store-url belong to an endpoint's URL"
            )
    return place_of(options["kg"], options)


@contextmanager
def open_graph(options: Mapping[str, Any], *, base: str | None = None) -> Iterator[KnowledgeGraph]:
    """The graph that --kg names, with the embedder and model that options name.

    A search that has to embed texts first shows how far it is.
    """
    import sarag_rdf
    from sarag_rdf.cli.output import progress_bars

    with (
        progress_bars() as progress,
        sarag_rdf.open(
            graph_location(options),
            base=base,
            over=options.get("over") or (),
            embedder=options.get("embedder"),
            endpoint=endpoint_of(options),
            engine=options.get("engine") or "auto",
            vectors=options.get("vectors"),
            facts=place_of(options.get("facts") or None, options),
            progress=progress,
        ) as kg,
    ):
        yield kg


def served_graph(
    options: Mapping[str, Any], **other: Any
) -> tuple[ServeSettings, Callable[[], KnowledgeGraph]]:
    """Settings of a server, and a picklable function that opens its graph here or in a worker.

    --default-graph says how queries see the graph, or it is the IRI of an endpoint's graph; `other`
    are fields of the settings beside their options.
    """
    import sarag_rdf
    from sarag_rdf.server.serve_settings import DEFAULT_GRAPHS, ServeSettings

    graph, own = options.get("default_graph") or "", dict(options)
    options = own | {"default_graph": "" if graph in DEFAULT_GRAPHS else graph}
    own["default_graph"] = graph if graph in DEFAULT_GRAPHS else None
    kg = graph_location(options)
    kg = kg.expanduser() if isinstance(kg, Path) else kg
    settings = chosen(ServeSettings, own, kg=kg, over=options["over"], **other)
    return settings, partial(
        sarag_rdf.open,
        settings.kg,
        over=options["over"],
        embedder=options["embedder"],
        endpoint=endpoint_of(options, timeout="model_timeout"),
        vectors=options["vectors"],
        keep_vectors=settings.writable,
        facts=place_of(options["facts"] or None, options),
    )


def retriever_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `retrieval_options`, as keyword arguments of `search`.

    --limit takes precedence over a limit in --retriever, unless it comes from a setting.
    """
    arguments: dict[str, Any] = {"retriever": options["retriever"]}
    has_limit = "limit" in Spec.parse(options["retriever"]).options
    if options["limit"] is not None and (is_argument("limit") or not has_limit):
        arguments["limit"] = options["limit"]
    if options.get("weight"):
        from sarag_rdf.kg.schemas import parse_weights

        arguments["weights"] = parse_weights(options["weight"])
    if options.get("at"):
        arguments["at"] = options["at"]
    return arguments


def reasoning_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `reasoning_options`, as keyword arguments of `ask`."""
    names = ("reasoner", "context", "budget", "tokenizer")
    return {name: options[name] for name in names if options.get(name) is not None}
