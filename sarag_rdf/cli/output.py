"""Output for people: tables, progress, and files that are replaced only when complete."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import click

from sarag_rdf.kg.report import names_of
from sarag_rdf.picture.geometry import clean
from sarag_rdf.ports import Table
from sarag_rdf.rdf.results import plain
from sarag_rdf.types import ActivatedEntity, Answer, RankedDocument, Retrieved, Stage, Step

_SEEDS = 10
_ENTITIES = 12
_RELATIONSHIPS = 10
_SNIPPET = 240
_VIOLATIONS = 50
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
    """A name as one printable line: what others wrote into a graph does not steer a terminal."""
    text = clean(text)
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def _names(found: Retrieved) -> dict[str, str]:
    return {iri: _name(name) for iri, name in names_of(found).items()}


def show_retrieved(found: Retrieved, *, explain: bool) -> None:
    """Seeds, activated entities, documents and relationships of a retrieval."""
    names = _names(found)
    click.echo(click.style(found.query.text, bold=True))
    settings = ", ".join(f"{key} {value}" for key, value in found.settings.items())
    click.echo(f"{found.retriever} ({settings})" if settings else found.retriever)
    if found.seeds:
        _heading(f"Seeds: {len(found.seeds)}")
    for seed in found.seeds[:_SEEDS]:
        _lines(f"{seed.activation:5.2f}  {seed.name}  ({seed.reason})", "  ", _width() - 4)
    _more(len(found.seeds) - _SEEDS)
    if found.entities:
        show_entities(found)
    elif found.subgraph.hops:
        _heading(f"Entities in the subgraph: {len(found.subgraph.hops)}")
    _heading(f"Documents: {len(found.documents)}")
    if not found.documents:
        near = "of an activated entity is near enough to" if found.entities else "was found for"
        click.echo(f"  none: no document {near} the question")
    for document in found.documents:
        show_document(document, found, names, explain=explain)
    if found.relationships or found.entities:
        _heading(f"Relationships: {len(found.relationships)}")
    for link in found.relationships[:_RELATIONSHIPS]:
        _lines(f"{link.similarity:.2f}  {link.text}", "  ")
    _more(len(found.relationships) - _RELATIONSHIPS)


def show_entities(found: Retrieved) -> None:
    """Activated entities with their activation, and what brought it."""
    activated = [entity for entity in found.entities if entity.is_activated]
    _heading(f"Activated entities: {len(activated)} of {len(found.entities)} in the explanation")
    names = _names(found)
    for entity in activated[:_ENTITIES]:
        click.echo(
            f"  {entity.activation:5.2f}  {_name(entity.name)}  [{entity.type}{_place(entity)}]"
        )
        if entity.chain and not entity.is_seed:
            _lines(f"by: {_by(entity.chain[-1], names)}", " " * 9)
    _more(len(activated) - _ENTITIES)


def _by(step: Step, names: dict[str, str]) -> str:
    origin = names.get(step.origin, step.origin)
    if step.kind == "same_as":
        return f"{origin}, which is the same"
    if step.origin_type == "document":
        return f"document {origin}, which describes it"
    return names.get(step.relationship, step.relationship)


def _place(entity: ActivatedEntity) -> str:
    if entity.is_seed:
        return ", seed"
    return f", {entity.hop} hop{'' if entity.hop == 1 else 's'}"


def _more(number: int) -> None:
    if number > 0:
        click.echo(f"  ... and {number} more (--json shows them)")


def show_document(
    found: RankedDocument, retrieved: Retrieved, names: dict[str, str], *, explain: bool
) -> None:
    """One ranked document with its title, scores, place in its source, and text."""
    document = found.document
    title = _name(document.title or document.source_iri)
    digits = 3 if abs(found.score) >= 0.1 else 5
    scores = [f"score {found.score:.{digits}f}"]
    if found.similarity:
        scores.append(f"similarity {found.similarity:.2f}")
    if retrieved.entities or found.entity:
        scores.append(_via(found, names))
    click.echo(f"  {found.rank:2}. {click.style(title, bold=True)}  {', '.join(scores)}")
    click.echo(f"      <{document.iri}> {document.begin}-{document.end} of <{document.source_iri}>")
    if explain:
        show_chain(found, retrieved, names)
    _lines(document.text, "      ", None if explain else _SNIPPET)


def show_chain(found: RankedDocument, retrieved: Retrieved, names: dict[str, str]) -> None:
    """From a seed over relationships and documents: the activation at each step, and the score."""
    if found.entity:
        _show_steps(found, retrieved, names)
    elif retrieved.entities:
        click.echo("      without activation: none reached it")
    if found.parts:
        parts = (f"{name} {value:+.3f}" for name, value in found.parts.items())
        _lines(f"score {found.score:.3f}: {', '.join(parts)}", "      ")


def _show_steps(found: RankedDocument, retrieved: Retrieved, names: dict[str, str]) -> None:
    start = found.chain[0].origin if found.chain else found.entity
    seed = next(s for s in retrieved.seeds if s.node == start)
    _lines(f"seed {seed.name} ({seed.activation:.3f}), {seed.reason}", "      ", _width() - 8)
    for step in found.chain:
        text = names.get(step.relationship, step.relationship)
        if step.kind == "describes":
            text = "describes" if step.origin_type == "document" else "is described by"
        click.echo(f'        -> "{text}" (weight {step.weight:.3f} passes {step.amount:.3f})')
        is_document = step.target_type == "document"
        if step is found.chain[-1] and is_document:
            break
        name = names.get(step.target, step.target)
        if is_document:
            name = "this document" if step.target == found.document.iri else f"document {name}"
        click.echo(f"        -> {name} ({step.activation:.3f})")
    click.echo(
        f"        -> this document (activation {found.activation:.3f}, score {found.score:.3f})"
    )


def _via(found: RankedDocument, names: dict[str, str]) -> str:
    if not found.entity:
        return "without activation"
    return f"via {names.get(found.entity, found.entity)}"


def show_answer(answer: Answer, *, explain: bool) -> None:
    """An answer with its citations; or the evidence, said to be no answer."""
    if answer.outcome == "evidence":
        click.echo("This is evidence, not an answer: no model endpoint is named (--base-url).")
        click.echo()
        show_retrieved(answer.retrieved, explain=explain)
        return
    if answer.outcome == "insufficient":
        click.echo(click.style("The evidence does not answer the question.", bold=True))
    else:
        click.echo(click.style(answer.text, bold=True))
    if answer.reasoning:
        click.echo()
        _lines(answer.reasoning, "")
    if answer.citations:
        _heading("Sources")
    for citation in answer.citations:
        click.echo(
            f"  {_name(citation.title or citation.source)}  <{citation.document}> "
            f"{citation.begin}-{citation.end} of <{citation.source}>"
        )
    usage = answer.usage
    click.echo()
    click.echo(
        f"{usage.calls} calls, {usage.cached_calls} from the cache, {usage.tokens_in} tokens in, "
        f"{usage.tokens_out} out, ${usage.cost:.4f}"
    )
    if explain:
        show_trace(answer.trace)
        click.echo()
        show_retrieved(answer.retrieved, explain=True)


def show_trace(trace: Sequence[Stage]) -> None:
    """What a reasoner did, a numbered step each: retrievals, calls, and what came of them."""
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
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                _lines(f"{key}: {shown}", "     ")


def show_table(result: Any) -> None:
    """Rows of a query as a table; a boolean as a word."""
    if isinstance(result, bool):
        click.echo("true" if result else "false")
        return
    assert isinstance(result, Table)  # noqa: S101 - Triples are written as Turtle
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=box.SIMPLE, pad_edge=False)
    for name in result.variables:
        table.add_column(name, overflow="fold")
    for row in result.rows:
        table.add_row(*(Text(plain(term).translate(_CONTROLS)) for term in row))
    wide = None if sys.stdout.isatty() else 10_000
    Console(width=wide, highlight=False, soft_wrap=False).print(table)
    click.echo(f"{len(result.rows)} rows")


def echo_violations(violations: Sequence[object]) -> None:
    """The first of the violations of shapes, one a line."""
    for violation in violations[:_VIOLATIONS]:
        click.echo(str(violation))
    more = len(violations) - _VIOLATIONS
    if more > 0:
        click.echo(f"... and {more} more (--json shows all)")


@contextmanager
def written_to(output: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that is replaced at the end; says which."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with _replacing(output) as stream:
        yield stream
    click.echo(f"sarag: written to {output}", err=True)


@contextmanager
def _replacing(output: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file at the end; a pipe or device is written itself."""
    if output.exists() and not output.is_file():
        with output.open("wb") as stream:
            yield stream
        return
    target = output.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(output)
        raise


def bars() -> tuple[Callable[[str, int], Callable[[int], None]], Callable[[], None]]:
    """A Progress that shows one bar after the other, and a function that ends the last."""
    open_bars: list[Any] = []

    def close() -> None:
        while open_bars:
            open_bars.pop().close()

    def progress(what: str, total: int) -> Callable[[int], None]:
        from tqdm import tqdm

        close()
        interval = 0.1 if sys.stderr.isatty() else 10.0
        bar = tqdm(
            total=total, desc=what, file=sys.stderr, mininterval=interval, disable=total == 0
        )
        open_bars.append(bar)

        def advance(done: int) -> None:
            bar.update(done)

        return advance

    return progress, close
