"""Plans that follow files which change: what `update` brings in anew, what `sync` adds and deletes.

The unit is the file. What cannot be read is never taken for gone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sarag_rdf.errors import InputError
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
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """What has changed of the files that the graph holds, and what is gone from them.

    A file that it does not hold is a problem if it was named, else it is `left_out`.
    """
    holdings, seen = Holdings(reader), _Seen()
    known = _known(reader, holdings, placed, seen)
    todo = plan(reader, known, method, words=words, overlap=overlap)
    files = sorted(seen.files - seen.troubled)
    gone = [iri for file in files for iri in holdings.of_file(file) if iri not in seen.sources]
    return replace(todo, gone=holdings.names(gone), left_out=len(seen.left_out))


def plan_sync(
    reader: GraphReader,
    placed: Iterable[Placed],
    method: Method,
    *,
    prefix: str = "",
    folder: str = "the folder",
    delete_all: bool = False,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """What makes the sources below `prefix` match a folder: all that was read, and nothing else.

    Raises `InputError` if all that there is would be deleted, but for `delete_all`.
    """
    holdings, seen = Holdings(reader), _Seen()
    outcomes = (_watched(reader, holdings, found, seen) for found in placed)
    todo = plan(reader, outcomes, method, words=words, overlap=overlap)
    kept = {iri for place in seen.troubled for iri in holdings.at(place)} | seen.sources
    held = set(holdings.below(prefix))
    gone = holdings.names(iri for iri in holdings.below(prefix) if iri not in kept)
    if gone and held.isdisjoint(kept) and not delete_all:
        raise InputError(_all_gone(folder, len(gone), is_empty=not seen.sources))
    return replace(todo, gone=gone)


def _all_gone(folder: str, count: int, *, is_empty: bool) -> str:
    if is_empty:
        return (
            f"{folder} holds no document, and all {count} sources that come from it would be "
            "deleted: is its disk there? If so, --delete-all deletes them"
        )
    return (
        f"{folder} holds none of the {count} sources of the graph, which would all be deleted: is "
        "it the folder that they came from (--root)? If so, --delete-all deletes them"
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
