"""Retrievals, answers and tables of results as text for a terminal."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import (
    ActivatedEntity,
    Answer,
    Citation,
    RankedDocument,
    RelationPath,
    Retrieved,
    Stage,
    Step,
)
from sarag_rdf.cli.output import counted, usage_line
from sarag_rdf.graph.store.results import plain_text
from sarag_rdf.kg.results import key_sentences_of, names_of, path_in_words, source_name
from sarag_rdf.server.picture.lettering import clean

_LABEL = re.compile(r"\bD\d+\b")
_SEEDS = 10
_ANSWERS = 10
_ENTITIES = 12
_RELATIONSHIPS = 10
_SNIPPET = 240
_NAME = 300
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


def _width() -> int:
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 140))


def _heading(text: str) -> None:
    click.echo()
    click.echo(click.style(text, bold=True))


def _lines(text: str, indent: str, limit: int | None = None) -> None:
    text = clean(text)
    if limit is not None and len(text) > limit:
        text = text[:limit].rsplit(" ", 1)[0] + " …"
    click.echo(textwrap.fill(text, _width(), initial_indent=indent, subsequent_indent=indent))


def _name(text: str) -> str:
    """A name as one printable line, without control characters that could affect a terminal."""
    text = clean(text)
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def _names(retrieved: Retrieved) -> dict[str, str]:
    return {iri: _name(name) for iri, name in names_of(retrieved).items()}


def show_retrieved(retrieved: Retrieved, *, explain: bool) -> None:
    """Print documents, each with its key sentence and the reason why it was retrieved.

    With `explain`: their texts and chains, then seeds, activated entities and relationships.
    """
    names = _names(retrieved)
    click.echo(click.style(retrieved.query.text, bold=True))
    if not explain:
        _show_answers(retrieved)
        _show_brief(retrieved, names)
        return
    settings = ", ".join(
        f"{key} {value}" for key, value in retrieved.settings.items() if value not in ("", None)
    )
    click.echo(f"{retrieved.retriever} ({settings})" if settings else retrieved.retriever)
    if retrieved.paths:
        _show_paths(retrieved, names)
    _heading(f"Documents: {len(retrieved.documents)}")
    if not retrieved.documents:
        click.echo(f"  {_no_documents(retrieved)}")
    for document in retrieved.documents:
        show_document(document, retrieved, names)
    if retrieved.seeds:
        _heading(f"Seeds: {len(retrieved.seeds)}")
    for seed in retrieved.seeds[:_SEEDS]:
        _lines(f"{seed.activation:5.2f}  {seed.name}  ({seed.reason})", "  ", _width() - 4)
    _more(len(retrieved.seeds) - _SEEDS)
    if retrieved.entities:
        show_entities(retrieved)
    elif retrieved.subgraph.hops:
        _heading(f"Entities in the subgraph: {len(retrieved.subgraph.hops)}")
    if retrieved.relationships or retrieved.entities:
        _heading(f"Relationships: {len(retrieved.relationships)}")
    for link in retrieved.relationships[:_RELATIONSHIPS]:
        _lines(f"{link.similarity:.2f}  {link.text}", "  ")
    _more(len(retrieved.relationships) - _RELATIONSHIPS)


def _show_answers(retrieved: Retrieved) -> None:
    """The path that was followed, and the entities that it leads to."""
    if retrieved.retriever == "paths" and not any(path.answers for path in retrieved.paths):
        names = ", ".join(dict.fromkeys(_name(seed.name) for seed in retrieved.seeds[:_SEEDS]))
        start = f" from {names}" if names else ": no entity was found to start from"
        click.echo(f"no relation path leads anywhere{start}; documents follow by similarity")
    for path in retrieved.paths:
        if path.answers:
            shown = "; ".join(answer.name for answer in path.answers[:_ANSWERS])
            more = _more_answers(path)
            _lines(f"{path.text} ({path.topic_name}): {shown}{more and f'; {more}'}", "")


def _show_paths(retrieved: Retrieved, names: dict[str, str]) -> None:
    """Paths with their scores; of those that were followed, the query and the answers."""
    _heading(f"Paths: {len(retrieved.paths)}")
    for path in retrieved.paths:
        _lines(f"{path.score:6.2f}  {path.text} ({path.topic_name})", "  ", _width() - 4)
        if not path.sparql:
            continue
        for line in path.sparql.splitlines():
            click.echo(f"          {line}")
        for answer in path.answers[:_ANSWERS]:
            nodes = (names.get(node, node) for node in answer.nodes)
            click.echo(f"          -> {' -> '.join([*nodes, answer.name])}")
        if path.is_cut:
            click.echo(f"          -> {_more_answers(path)}")
        else:
            _more(len(path.answers) - _ANSWERS)
        if not path.answers:
            click.echo("          leads nowhere")


def _more_answers(path: RelationPath) -> str:
    """How many answers are not shown, if any."""
    left = max(0, len(path.answers) - _ANSWERS)
    if path.is_cut:
        return f"and at least {left + 1} more (read N with paths:answers=N)"
    return f"and {left} more" if left else ""


def _no_documents(retrieved: Retrieved) -> str:
    if retrieved.entities:
        return "none: no document of an activated entity is similar to the question"
    return "none: no document matches the question"


def _show_brief(retrieved: Retrieved, names: dict[str, str]) -> None:
    """Rank, title, score and source of each document, its key sentence, and a line of why."""
    if not retrieved.documents:
        click.echo(_no_documents(retrieved))
    sentences = key_sentences_of(retrieved, names)
    for ranked, sentence in zip(retrieved.documents, sentences, strict=True):
        source = _name(source_name(ranked.document.source_iri))
        title = _name(ranked.document.title) or source
        click.echo()
        click.echo(
            f"{ranked.rank:3}. {click.style(title, bold=True)}  {_score(ranked)}  "
            f"{click.style(source, dim=True)}"
        )
        _lines(sentence, "     ", _SNIPPET)
        _lines(f"why: {path_in_words(ranked, retrieved, names)}", "     ", 2 * _SNIPPET)


def _score(ranked: RankedDocument) -> str:
    return f"{ranked.score:.{3 if abs(ranked.score) >= 0.1 else 5}f}"


def show_entities(retrieved: Retrieved) -> None:
    """Print activated entities with their activation, and the last step that led to each."""
    activated = [entity for entity in retrieved.entities if entity.is_activated]
    _heading(
        f"Activated entities: {len(activated)} of {len(retrieved.entities)} in the explanation"
    )
    names = _names(retrieved)
    for entity in activated[:_ENTITIES]:
        click.echo(
            f"  {entity.activation:5.2f}  {_name(entity.name)}  [{entity.type}{_distance(entity)}]"
        )
        if entity.chain and not entity.is_seed:
            _lines(f"by: {_cause(entity.chain[-1], names)}", " " * 9)
    _more(len(activated) - _ENTITIES)


def _cause(step: Step, names: dict[str, str]) -> str:
    origin = names.get(step.origin, step.origin)
    if step.kind == "same_as":
        return f"{origin}, which is the same"
    if step.origin_type == "document":
        return f"document {origin}, which describes it"
    return names.get(step.relationship, step.relationship)


def _distance(entity: ActivatedEntity) -> str:
    if entity.is_seed:
        return ", seed"
    return f", {entity.hop} hop{'' if entity.hop == 1 else 's'}"


def _more(number: int) -> None:
    if number > 0:
        click.echo(f"  ... and {number} more (--json shows them)")


def show_document(ranked: RankedDocument, retrieved: Retrieved, names: dict[str, str]) -> None:
    """Print a ranked document: title, scores, IRI, offsets in its source, chain, text."""
    document = ranked.document
    title = _name(document.title or document.source_iri)
    scores = [f"score {_score(ranked)}"]
    if ranked.similarity:
        scores.append(f"similarity {ranked.similarity:.2f}")
    if retrieved.entities or ranked.entity:
        scores.append(_via(ranked, names))
    click.echo(f"  {ranked.rank:2}. {click.style(title, bold=True)}  {', '.join(scores)}")
    click.echo(f"      <{document.iri}> {document.begin}-{document.end} of <{document.source_iri}>")
    show_chain(ranked, retrieved, names)
    _lines(document.text, "      ")


def show_chain(ranked: RankedDocument, retrieved: Retrieved, names: dict[str, str]) -> None:
    """Print the path of activation from a seed to a document, and the parts of its score."""
    if ranked.entity:
        _show_steps(ranked, retrieved, names)
    elif retrieved.entities:
        click.echo("      no activation reached this document")
    if ranked.parts:
        parts = (f"{name} {value:+.3f}" for name, value in ranked.parts.items())
        _lines(f"score {ranked.score:.3f}: {', '.join(parts)}", "      ")


def _show_steps(ranked: RankedDocument, retrieved: Retrieved, names: dict[str, str]) -> None:
    start = ranked.chain[0].origin if ranked.chain else ranked.entity
    seed = next(s for s in retrieved.seeds if s.node == start)
    _lines(f"seed {seed.name} ({seed.activation:.3f}), {seed.reason}", "      ", _width() - 8)
    for step in ranked.chain:
        text = names.get(step.relationship, step.relationship)
        if step.kind == "describes":
            text = "describes" if step.origin_type == "document" else "is described by"
        steered = "" if step.factor == 1.0 else f", {step.factor:g} times its own,"
        weight = f"weight {step.weight:.3f}{steered}"
        click.echo(f'        -> "{text}" ({weight} passes {step.amount:.3f})')
        is_document = step.target_type == "document"
        if step is ranked.chain[-1] and is_document:
            break
        name = names.get(step.target, step.target)
        if is_document:
            name = "this document" if step.target == ranked.document.iri else f"document {name}"
        click.echo(f"        -> {name} ({step.activation:.3f})")
    click.echo(
        f"        -> this document (activation {ranked.activation:.3f}, score {ranked.score:.3f})"
    )


def _via(ranked: RankedDocument, names: dict[str, str]) -> str:
    if not ranked.entity:
        return "without activation"
    return f"via {names.get(ranked.entity, ranked.entity)}"


def show_answer(answer: Answer, *, explain: bool) -> None:
    """Print an answer with its citations, or the evidence if no model was asked."""
    if answer.outcome == "evidence":
        click.echo("This is evidence, not an answer: no model endpoint is set (--base-url).")
        click.echo()
        show_retrieved(answer.retrieved, explain=explain)
        return
    if answer.outcome == "insufficient":
        click.echo(click.style("The evidence does not answer the question.", bold=True))
    else:
        click.echo(click.style(answer.text, bold=True))
    reasoning, sources = number_sources(answer)
    if reasoning:
        click.echo()
        _lines(reasoning, "")
    if sources:
        _heading("Sources")
    for number, citation in enumerate(sources, start=1):
        click.echo(
            f"  [{number}] {_name(citation.title or citation.source)}  <{citation.document}> "
            f"{citation.begin}-{citation.end} of <{citation.source}>"
        )
    click.echo()
    click.echo(usage_line(answer.usage))
    if explain:
        show_trace(answer.trace)
        click.echo()
        show_retrieved(answer.retrieved, explain=True)


def number_sources(answer: Answer) -> tuple[str, list[Citation]]:
    """The reasoning with the labels of documents (``D3``) as ``[n]``, and the nth source.

    The cited sources come first, then those that only the reasoning mentions. A label that stands
    for several documents, in contexts of several retrievals, is left as it is.
    """
    meanings: dict[str, set[Citation]] = {}
    for evidence in answer.evidence:
        for label, excerpt in evidence.context.excerpts.items():
            meanings.setdefault(label, set()).add(excerpt.citation)
    by_label = {label: next(iter(cited)) for label, cited in meanings.items() if len(cited) == 1}
    mentioned = [by_label[label] for label in _LABEL.findall(answer.reasoning) if label in by_label]
    sources = list(dict.fromkeys((*answer.citations, *mentioned)))

    def numbered(match: re.Match[str]) -> str:
        citation = by_label.get(match[0])
        return match[0] if citation is None else f"[{sources.index(citation) + 1}]"

    return _LABEL.sub(numbered, answer.reasoning), sources


def show_trace(trace: Sequence[Stage]) -> None:
    """Print the steps of a reasoner: retrievals and model calls with their results."""
    _heading("Steps")
    for number, stage in enumerate(trace, start=1):
        if stage.kind == "retrieval":
            titles = ", ".join(title or "untitled" for title in stage.detail["titles"])
            click.echo(f"  {number}. {stage.name} for: {stage.detail['question']}")
            _lines(f"{stage.detail['tokens']} tokens of {titles or 'nothing'}", "     ")
            continue
        click.echo(f"  {number}. {stage.kind} {stage.name}")
        for key, value in stage.detail.items():
            if value not in ("", [], {}, None):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                _lines(f"{key}: {text}", "     ")


def show_table(result: Any) -> None:
    """Print a SELECT result as a table, or an ASK result as ``true`` or ``false``."""
    if isinstance(result, bool):
        click.echo("true" if result else "false")
        return
    assert isinstance(result, Table)  # noqa: S101 - Triples are serialized as Turtle
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=box.SIMPLE, pad_edge=False)
    for name in result.variables:
        table.add_column(name, overflow="fold")
    for row in result.rows:
        table.add_row(*(Text(plain_text(term).translate(_CONTROLS)) for term in row))
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width, highlight=False, soft_wrap=False).print(table)
    click.echo(counted(len(result.rows), "row"))
