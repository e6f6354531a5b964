"""``sarag search``, ``ask`` and ``strategies``: evidence, answers, and the ways to find them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sarag_rdf.base.errors import PluginError, UsageError
from sarag_rdf.base.options import Options, declared_options
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import check_writable, emit, note, problem

if TYPE_CHECKING:
    from sarag_rdf.base.plugins import Plugin
    from sarag_rdf.base.types import Answer, Retrieved
    from sarag_rdf.kg.graph import KnowledgeGraph

NO_EVIDENCE = 3
_question_options = flags.together(
    flags.read_options, flags.over_option, flags.facts_option, flags.retrieval_options
)
_shown_options = flags.together(
    flags.switch("--explain", "Show how each document was reached."),
    flags.json_option,
    flags.of(flags.CommandOptions, "activation"),
)


@click.command(epilog='Example:  sarag search "Which river flows through Warsaw?" --explain')
@click.argument("question")
@_question_options
@flags.embedding_options
@_shown_options
@flags.of(flags.CommandOptions, "picture")
def search(question: str, **options: Any) -> int:
    """Find the documents for a question, by spreading activation or another --retriever."""
    from sarag_rdf.cli.answers import show_retrieved
    from sarag_rdf.kg.evidence import retrieved_to_dict

    check_writable(options["activation"], ".trig")
    check_writable(options["picture"], ".html", ".png")
    with flags.open_graph(options) as kg:
        retrieved = kg.search(question, **flags.retriever_arguments(options))
        _write_activation(kg, retrieved, options["activation"])
    if picture := options["picture"]:
        from sarag_rdf.server.picture.drawing import activation_html, write_activation_png

        if picture.suffix.lower() == ".html":
            picture.write_text(activation_html(retrieved), encoding="utf-8")
        else:
            write_activation_png(retrieved, picture)
        note(f"picture written to {picture}")
    if options["as_json"]:
        emit(options, retrieved_to_dict(retrieved))
    else:
        show_retrieved(retrieved, explain=options["explain"])
    return 0 if retrieved.documents else NO_EVIDENCE


@click.command(
    epilog='Example:  OPENAI_BASE_URL=http://localhost:8080/v1 sarag ask "Who taught the founder?"'
)
@click.argument("question")
@_question_options
@flags.reasoning_options
@flags.model_options
@_shown_options
def ask(question: str, **options: Any) -> int:
    """Answer a question from the graph's documents and relationships.

    With an endpoint a model answers and cites documents; it says so when the evidence does not
    suffice (exit code 3). What statements say is answered without a model. Without an
    endpoint, only the evidence is printed for all else.
    """
    from sarag_rdf.cli.answers import show_answer
    from sarag_rdf.kg.evidence import answer_to_dict

    check_writable(options["activation"], ".trig")
    with flags.open_graph(options) as kg:
        arguments = {**flags.reasoning_arguments(options), **flags.retriever_arguments(options)}
        answer = kg.ask(question, **arguments)
        _write_activation(kg, answer, options["activation"])
    if options["as_json"]:
        emit(options, answer_to_dict(answer))
    else:
        show_answer(answer, explain=options["explain"])
    has_evidence = answer.outcome == "evidence" and bool(answer.retrieved.documents)
    return 0 if answer.outcome == "answered" or has_evidence else NO_EVIDENCE


def _write_activation(kg: KnowledgeGraph, result: Retrieved | Answer, path: Path | None) -> None:
    """Write how activation found documents or an answer, as TriG."""
    if path is not None:
        path.write_bytes(kg.activation(result))
        note(f"activation written to {path}")


@click.command(epilog="Example:  sarag strategies sarag-paper")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@flags.json_option
def strategies(names: tuple[str, ...], **options: Any) -> int:
    """List retrievers, contexts, reasoners, extractors and vector engines, or those named.

    The options of a strategy follow its name: --retriever sarag:k=5:decay=0.2. --context,
    --reasoner and --extractor, 'sarag evaluate', the Python methods and the parameters of the
    server take the same form.
    """
    from sarag_rdf.base.plugins import loadable
    from sarag_rdf.kg.registry import GROUPS

    installed = {kind: [*loadable(group)] for kind, group in GROUPS.items()}
    known = [plugin.name for several in installed.values() for plugin, _ in several]
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"unknown strategy '{unknown[0]}': choose from {', '.join(known)}")
    data: dict[str, dict[str, Any]] = {}
    lines = []
    for kind, several in installed.items():
        for plugin, loaded in several:
            if names and plugin.name not in names:
                continue
            if isinstance(loaded, PluginError):
                problem(loaded)
                continue
            data.setdefault(kind, {})[plugin.name] = described = _described(plugin, loaded)
            lines.append(_strategy_text(f"--{kind} {form(plugin, loaded)}", plugin, described))
    return emit(options, data, *lines)


def _described(plugin: Plugin, loaded: Any) -> dict[str, Any]:
    options: type[Options] = getattr(loaded, "options", loaded)
    return {
        "package": plugin.package,
        "summary": str(loaded.__doc__).splitlines()[0],
        "options": {
            option.name: {
                "type": option.kind.__name__,
                "default": option.default,
                "range": option.allowed,
                "meaning": option.meaning,
            }
            for option in declared_options(options)
        },
        "presets": {preset: dict(values) for preset, values in options.presets.items()},
    }


def form(plugin: Plugin, loaded: Any) -> str:
    """How a strategy is chosen: its name, with the argument that may follow it directly."""
    argument: str = getattr(loaded, "options", loaded).argument
    return f"{plugin.name}:{argument.upper()}" if argument else plugin.name


def _strategy_text(title: str, plugin: Plugin, described: dict[str, Any]) -> str:
    formatter = click.HelpFormatter(width=100, max_width=100)
    with formatter.section(title):
        formatter.write_text(f"{described['summary']} ({plugin.package} {plugin.version})")
        rows = [
            (f"{name}={written(of['default'])}".rstrip("="), f"{of['meaning']}  [{of['range']}]")
            for name, of in described["options"].items()
        ]
        for preset, values in described["presets"].items():
            pairs = (f"{key}={written(value)}" for key, value in values.items())
            rows.append((f"preset={preset}", ", ".join(pairs)))
        if rows:
            formatter.write_dl(rows)
    return formatter.getvalue().removesuffix("\n")


def written(value: Any) -> str:
    """A value as it is written in NAME:KEY=VALUE; empty for none."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
