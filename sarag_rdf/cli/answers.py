"""Retrievals, answers and tables of results as text for a terminal."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import jinja2

from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Answer, Citation, Retrieved, Stage
from sarag_rdf.cli.output import counted, usage_line
from sarag_rdf.graph.store.results import plain_text
from sarag_rdf.kg.results import key_sentences_of, names_of, path_in_words, source_name
from sarag_rdf.server.picture.lettering import clean

_LABEL = re.compile(r"\bD\d+\b")
_MOST, _ENTITIES = 10, 12
"""Seeds, relationships and answers of a path that are printed, and entities."""
_NAME = 300
"""Characters of a name that are printed."""
_BLANK = "\0"
"""An empty line in a template, whose other lines without text are left out."""
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


def _width() -> int:
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 140))


def _fill(text: str, indent: int = 0, limit: int | None = None) -> str:
    """Lines of printable text, of which at most `limit` characters are shown."""
    text, margin = clean(text), " " * indent
    if limit is not None and len(text) > limit:
        text = text[:limit].rsplit(" ", 1)[0] + " …"
    return textwrap.fill(text, _width(), initial_indent=margin, subsequent_indent=margin)


def _name(text: str) -> str:
    """A name as one printable line, without control characters that could affect a terminal."""
    text = clean(text)
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - text for a terminal
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bold": partial(click.style, bold=True),
        "dim": partial(click.style, dim=True),
        "fill": _fill,
        "json": partial(json.dumps, ensure_ascii=False),
        "name": _name,
        "score": lambda score: f"{score:.{3 if abs(score) >= 0.1 else 5}f}",
        "source": source_name,
    }
    return environment


def _show(template: str, **values: Any) -> None:
    text = _templates().get_template(template).render(blank=_BLANK, **values)
    for line in text.split("\n"):
        if line.strip():
            click.echo(line.replace(_BLANK, ""))


def _values(retrieved: Retrieved) -> dict[str, Any]:
    """What the template of a retrieval shows."""
    names = {iri: _name(name) for iri, name in names_of(retrieved).items()}
    return {
        "retrieved": retrieved,
        "named": lambda iri: names.get(iri, iri),
        "sentences": key_sentences_of(retrieved, names),
        "why": lambda ranked: path_in_words(ranked, retrieved, names),
        "most": _MOST,
        "entities": _ENTITIES,
        "width": _width(),
    }


def show_retrieved(retrieved: Retrieved, *, explain: bool) -> None:
    """Print documents, each with its key sentence and the reason why it was retrieved.

    With `explain`: their texts and chains, then seeds, activated entities and relationships.
    """
    _show("retrieved.j2", explain=explain, **_values(retrieved))


def show_answer(answer: Answer, *, explain: bool) -> None:
    """Print an answer with its citations, or the evidence if no model was asked."""
    reasoning, sources = number_sources(answer)
    _show(
        "answer.j2",
        answer=answer,
        reasoning=reasoning,
        sources=sources,
        usage=usage_line(answer.usage),
        trace=answer.trace,
        explain=explain,
        **_values(answer.retrieved),
    )


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
    _show("trace.j2", trace=trace)


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
