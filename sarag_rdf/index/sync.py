"""Plans for documents that change: what `update` replaces, what `sync` adds and deletes."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.index.plan import Plan, plan
from sarag_rdf.index.quarantine import read_quarantine
from sarag_rdf.read import InputProblem, LocatedOutcome, ReadOutcome, display_path
from sarag_rdf.read.text import clean_line
from sarag_rdf.read.walk import file_of_key, key_of_path
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
    placed: Iterable[LocatedOutcome | Source | InputProblem],
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
    placed: Iterable[LocatedOutcome],
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
    placed: Iterable[LocatedOutcome | Source | InputProblem],
    seen: _Seen,
) -> Iterator[ReadOutcome]:
    """Outcomes of what the graph holds; one problem for each file that it does not hold."""
    strange: set[str] = set()
    for found in placed:
        if isinstance(found, InputProblem):
            yield found
        elif isinstance(found, Source):
            iri = reader.minter.source(found.key, found.title, found.text)
            yield found if iri in holdings.keys else _not_held(found.key or "text")
        elif (
            found.is_explicit
            and isinstance(found.outcome, InputProblem)
            and not found.path.exists()
        ):
            yield _not_there(holdings, found)
        elif holdings.of_file(found.key) or _is_held_folder(holdings, found):
            yield _watched(reader, holdings, found, seen)
        elif not found.is_explicit:
            seen.left_out |= {found.key} if isinstance(found.outcome, Source) else set()
        elif found.key not in strange:
            strange.add(found.key)
            yield _not_held(display_path(found.path))


def _is_held_folder(holdings: Holdings, found: LocatedOutcome) -> bool:
    """Whether a problem is that of a folder below which there is something."""
    return isinstance(found.outcome, InputProblem) and bool(holdings.below(found.key))


def _watched(
    reader: GraphReader, holdings: Holdings, found: LocatedOutcome, seen: _Seen
) -> ReadOutcome:
    """The outcome, written down; a problem says that what there was is kept."""
    outcome, place = found.outcome, found.key
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


def _not_there(holdings: Holdings, found: LocatedOutcome) -> InputProblem:
    name, place = display_path(found.path), found.key
    if not holdings.at(place):
        return InputProblem(name, "does not exist, and is not in the graph: check the path")
    key = place if holdings.of_file(place) else f"{place}/"
    call = f"sarag delete {shlex.quote(key)}"
    return InputProblem(name, f"does not exist any more: delete it from the graph with  {call}")


class Holdings:
    """The sources of a graph as it is now."""

    def __init__(self, reader: GraphReader) -> None:
        self._minter = reader.minter
        self.held = frozenset(read_quarantine(reader))
        """IRIs of the sources in quarantine; an older version of them may be in the graph."""
        indexed = {source.value for (source,) in reader.select_provenance("sources")}
        keys = {iri: reader.minter.key_of_source(iri) for iri in indexed | self.held}
        self.keys = dict(sorted(keys.items(), key=lambda item: (item[1], item[0])))
        """Key by IRI, in the order of keys; empty for a source without one."""
        self._of_file: defaultdict[str, list[str]] = defaultdict(list)
        for iri, key in self.keys.items():
            for file in {key, file_of_key(key)} - {""}:
                self._of_file[file].append(iri)

    def names(self, sources: Iterable[str]) -> dict[str, str]:
        """What a report calls sources, by IRI: by their keys, or else by their IRIs."""
        return {iri: self.keys.get(iri) or iri for iri in sources}

    def of_file(self, file: str) -> tuple[str, ...]:
        """The IRIs of what comes from a file: itself, or its records."""
        return tuple(self._of_file.get(file, ()))

    def below(self, folder: str) -> tuple[str, ...]:
        """The IRIs of what comes from below a folder; empty for all that has a key."""
        start = f"{folder}/" if folder else ""
        return tuple(iri for iri, key in self.keys.items() if key and key.startswith(start))

    def at(self, place: str) -> tuple[str, ...]:
        """The IRIs of what comes from a place, be it a file or a folder."""
        return tuple(dict.fromkeys((*self.of_file(place), *self.below(place))))

    def named(self, names: Iterable[str]) -> tuple[str, ...]:
        """The IRIs of sources: each by its IRI, its key, its file's key or path, or ``FOLDER/``.

        Raises `UsageError` if there is nothing of a name, whatever there is of the others.
        """
        found: dict[str, None] = {}
        unknown = []
        for name in names:
            iris = self._exactly(name) or self._exactly(key_of_path(name)) or self._named(name)
            found.update(dict.fromkeys(iris))
            unknown += [] if iris else [name]
        if unknown:
            raise UsageError("; ".join(map(self._missing, unknown)))
        return tuple(found)

    def _exactly(self, name: str) -> Sequence[str]:
        return self._of_file.get(name) or ((name,) if name in self.keys else ())

    def _named(self, name: str) -> Sequence[str]:
        source = f"{self._minter.base}source/{name}"
        if source in self.keys:
            return (source,)
        key = self._minter.key_of_source(name) or key_of_path(name)
        folder = key.removesuffix("/")
        return self.below(folder) if folder and folder != key else self.of_file(key)

    def _missing(self, name: str) -> str:
        keys = [key for key in self.keys.values() if key]
        files = dict.fromkeys(map(file_of_key, keys))
        last = name.rstrip("/").rpartition("/")[2]
        folder = key_of_path(name)
        near = [f"{folder}/"] if folder and self.below(folder) else []
        near += get_close_matches(name, [*files, *keys], 1)
        near += [file for file in files if file.rpartition("/")[2] == last]
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"no source '{clean_line(name)}' is in the graph{hint}"
