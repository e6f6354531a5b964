"""Plans that follow files which change: what `update` brings in anew, what `sync` adds and deletes.

The unit is the file. What cannot be read is never taken for gone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.holdings import Holdings
from sarag_rdf.index.plan import Plan, plan
from sarag_rdf.index.read import InputProblem, Outcome, Placed, shown
from sarag_rdf.types import Method, Source


@dataclass(slots=True)
class _Seen:
    """What reading came upon, by place; `sources` are IRIs."""

    sources: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    troubled: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)


def plan_update(
    reader: GraphReader,
    placed: Iterable[Placed | Source | InputProblem],
    method: Method,
    *,
    yes: bool = False,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """What has changed of the files that the graph holds, and what is gone from them.

    A file that it does not hold is a problem if it was named, else it is `left_out`. The plan is
    refused if it deletes more than a third of the files' sources, unless `yes`.
    """
    holdings, seen = Holdings(reader), _Seen()
    known = _known(reader, holdings, placed, seen)
    todo = plan(reader, known, method, words=words, overlap=overlap)
    files = sorted(seen.files - seen.troubled)
    held = [iri for file in files for iri in holdings.of_file(file)]
    gone = [iri for iri in held if iri not in seen.sources]
    todo = replace(todo, gone=holdings.names(gone), left_out=len(seen.left_out))
    if yes or not _too_many(len(gone), len(held)):
        return todo
    whose = f"{len(gone)} of these {len(held)} sources" if len(held) > 1 else "the only source"
    return replace(
        todo,
        refused=f"{whose} would be deleted, more than a third: if they are meant to "
        "go, confirm it with --yes; --dry-run lists them",
    )


def plan_sync(
    reader: GraphReader,
    placed: Iterable[Placed],
    method: Method,
    *,
    prefix: str = "",
    folder: str = "the folder",
    yes: bool = False,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """What makes the sources below `prefix` match a folder: all that was read, and nothing else.

    The plan is refused if it deletes more than a third of these sources, unless `yes`.
    """
    holdings, seen = Holdings(reader), _Seen()
    outcomes = (_watched(reader, holdings, found, seen) for found in placed)
    todo = plan(reader, outcomes, method, words=words, overlap=overlap)
    kept = {iri for place in seen.troubled for iri in holdings.at(place)} | seen.sources
    held = set(holdings.below(prefix))
    gone = holdings.names(iri for iri in holdings.below(prefix) if iri not in kept)
    todo = replace(todo, gone=gone)
    if yes or not _too_many(len(gone), len(held)):
        return todo
    return replace(todo, refused=_refusal(folder, len(gone), len(held), is_empty=not seen.sources))


def _too_many(gone: int, held: int) -> bool:
    """Whether so many deletions are more likely a mistake: more than a third of what is held."""
    return 3 * gone > held


def _refusal(folder: str, gone: int, held: int, *, is_empty: bool) -> str:
    confirm = "If they are meant to go, confirm it with --yes; --dry-run lists them"
    if is_empty:
        return (
            f"{folder} holds no document, and all {held} sources that come from it would be "
            f"deleted: is its disk mounted? {confirm}"
        )
    which = f"{gone} of the {held} sources" if gone < held else f"all {held} sources"
    return (
        f"{which} that come from {folder} would be deleted, more than a third: is it the folder "
        f"that they came from (--root)? {confirm}"
    )


def _known(
    reader: GraphReader,
    holdings: Holdings,
    placed: Iterable[Placed | Source | InputProblem],
    seen: _Seen,
) -> Iterator[Outcome]:
    """Outcomes of what the graph holds; one problem for each file that it does not hold."""
    strange: set[str] = set()
    for found in placed:
        if isinstance(found, InputProblem):
            yield found
        elif isinstance(found, Source):
            iri = reader.minter.source(found.key, found.title, found.text)
            yield found if iri in holdings.keys else _not_held(found.key or "text")
        elif found.named and isinstance(found.outcome, InputProblem) and not found.path.exists():
            yield _not_there(holdings, found)
        elif holdings.of_file(found.place) or _is_held_folder(holdings, found):
            yield _watched(reader, holdings, found, seen)
        elif not found.named:
            seen.left_out |= {found.place} if isinstance(found.outcome, Source) else set()
        elif found.place not in strange:
            strange.add(found.place)
            yield _not_held(shown(found.path))


def _is_held_folder(holdings: Holdings, found: Placed) -> bool:
    """Whether a problem is that of a folder below which there is something."""
    return isinstance(found.outcome, InputProblem) and bool(holdings.below(found.place))


def _watched(reader: GraphReader, holdings: Holdings, found: Placed, seen: _Seen) -> Outcome:
    """The outcome, written down; a problem says that what there was is kept."""
    outcome, place = found.outcome, found.place
    if isinstance(outcome, Source):
        seen.sources.add(reader.minter.source(outcome.key, outcome.title, outcome.text))
        seen.files.add(place)
    elif isinstance(outcome, InputProblem):
        seen.troubled.add(place)
        if holdings.at(place):
            return replace(outcome, message=f"{outcome.message}; the graph keeps what it has of it")
    return outcome


def _not_held(name: str) -> InputProblem:
    call = f"sarag index {shlex.quote(name)}"
    return InputProblem(name, f"is not in the graph: add it with {call}")


def _not_there(holdings: Holdings, found: Placed) -> InputProblem:
    name, place = shown(found.path), found.place
    if not holdings.at(place):
        return InputProblem(name, "does not exist, and is not in the graph: check the path")
    key = place if holdings.of_file(place) else f"{place}/"
    call = f"sarag delete {shlex.quote(key)}"
    return InputProblem(name, f"does not exist any more: delete it from the graph with  {call}")
