"""Retrievals, answers and tables of results as text for a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click
from pyoxigraph import NamedNode

from sarag_rdf.base.iris import prefixed_name
from sarag_rdf.base.ports import Table
from sarag_rdf.base.types import Answer, Citation, Retrieved
from sarag_rdf.cli.output import counted, line_width, printable, text_lines
from sarag_rdf.kg.evidence import RetrievedEvidence, names_of, path_in_words

_LABEL, _LABEL_BEHIND = re.compile(r"\bD\d+\b"), re.compile(r"\bD\d+(?=; |$)")
"""The label of a document, of which a model speaks, and which a lookup puts behind a statement."""
_MOST, _ENTITIES = 10, 12
"""Seeds, relationships and answers of a path that are printed, and entities."""
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


def _show(template: str, **values: Any) -> None:
    for line in text_lines(template, **values):
        click.echo(line)


def _values(retrieved: Retrieved) -> dict[str, Any]:
    """What the template of a retrieval shows."""
    names = {iri: printable(name) for iri, name in names_of(retrieved).items()}
    evidence = RetrievedEvidence(retrieved)
    return {
        "retrieved": retrieved,
        "named": lambda iri: names.get(iri, iri),
        "evidence": [excerpt.text for excerpt in evidence.excerpts],
        "chain_of_evidence": evidence.chain,
        "why": lambda ranked: path_in_words(ranked, retrieved, names, evidence),
        "most": _MOST,
        "entities": _ENTITIES,
        "width": line_width(),
    }


def show_retrieved(retrieved: Retrieved, *, explain: bool) -> None:
    """Print documents, each with its evidence and the reason why it was retrieved.

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
        trace=answer.trace,
        explain=explain,
        **_values(answer.retrieved),
    )


def number_sources(answer: Answer) -> tuple[str, list[Citation]]:
    """The reasoning with the labels of documents (``D3``) as ``[n]``, and the nth source.

    The cited sources come first, then those that only the reasoning mentions. A label that stands
    for several documents, in contexts of several retrievals, is left as it is.
    """
    is_looked_up = bool(answer.facts) and all(fact.is_looked_up for fact in answer.facts)
    pattern = _LABEL_BEHIND if is_looked_up else _LABEL  # "Station D1" is a name
    meanings: dict[str, set[Citation]] = {}
    for evidence in answer.evidence:
        for label, excerpt in evidence.context.excerpts.items():
            meanings.setdefault(label, set()).add(excerpt.citation)
    by_label = {label: next(iter(cited)) for label, cited in meanings.items() if len(cited) == 1}
    mentioned = [
        by_label[label] for label in pattern.findall(answer.reasoning) if label in by_label
    ]
    sources = list(dict.fromkeys((*answer.citations, *mentioned)))

    def numbered(match: re.Match[str]) -> str:
        citation = by_label.get(match[0])
        return match[0] if citation is None else f"[{sources.index(citation) + 1}]"

    return pattern.sub(numbered, answer.reasoning), sources


def show_table(result: Any, prefixes: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print a SELECT result as a table, or an ASK result as ``true`` or ``false``.

    IRIs are shortened with the prefixes.
    """
    if isinstance(result, bool):
        click.echo("true" if result else "false")
        return
    assert isinstance(result, Table)  # noqa: S101 - Triples are serialized as Turtle
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from sarag_rdf.graph.store.results import plain_text

    table = RichTable(box=box.SIMPLE, pad_edge=False)
    for name in result.variables:
        table.add_column(name, overflow="fold")

    def cell(term: Any) -> str:
        is_iri = isinstance(term, NamedNode)
        return (prefixed_name(term.value, prefixes) if is_iri else "") or plain_text(term)

    for row in result.rows:
        table.add_row(*(Text(cell(term).translate(_CONTROLS)) for term in row))
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width, highlight=False, soft_wrap=False).print(table)
    click.echo(counted(len(result.rows), "row"))
