"""Plans for changed documents: `update` replaces indexed files, `sync` also adds and deletes."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.types import Method, Source
from sarag_rdf.building.index.plan import Plan, plan
from sarag_rdf.building.index.quarantine import read_quarantine
from sarag_rdf.documents import InputProblem, LocatedOutcome, ReadOutcome, display_path
from sarag_rdf.documents.text import clean_line
from sarag_rdf.documents.walk import file_of_key, key_of_path
from sarag_rdf.graph.reader import GraphReader


@dataclass(slots=True)
class _ReadLog:
    """The result of reading: IRIs of `sources`, and keys of files.

    `files` have at least one readable source, `unreadable` a problem; `left_out` are new files.
    """

    sources: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)


def plan_update(
    reader: GraphReader,
    inputs: Iterable[LocatedOutcome | Source | InputProblem],
    method: Method,
    *,
    yes: bool = False,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """Plan to update the files that are in the graph: changed and deleted sources of them.

    A file that is not in the graph is a problem if it was given explicitly, else it is `left_out`.
    The plan is refused if it deletes more than a third of the sources of the files, unless `yes`.
    """
    indexed, log = IndexedSources(reader), _ReadLog()
    outcomes = _indexed_only(reader, indexed, inputs, log)
    todo = plan(reader, outcomes, method, words=words, overlap=overlap)
    files = sorted(log.files - log.unreadable)
    current = [iri for file in files for iri in indexed.of_file(file)]
    deletions = [iri for iri in current if iri not in log.sources]
    todo = replace(todo, deletions=indexed.display_names(deletions), left_out=len(log.left_out))
    if yes or not _is_suspicious(len(deletions), len(current)):
        return todo
    which = (
        f"{len(deletions)} of these {len(current)} sources"
        if len(current) > 1
        else "the only source"
    )
    return replace(todo, refused=f"{which} would be deleted, more than a third: {_CONFIRM}")


def plan_sync(
    reader: GraphReader,
    outcomes: Iterable[LocatedOutcome],
    method: Method,
    *,
    prefix: str = "",
    folder: str = "the folder",
    yes: bool = False,
    words: int = 500,
    overlap: int = 200,
) -> Plan:
    """Plan to make the sources below `prefix` equal to the documents in a folder.

    Sources of unreadable files are not deleted. The plan is refused if it deletes more than a third
    of the sources below `prefix`, unless `yes`.
    """
    indexed, log = IndexedSources(reader), _ReadLog()
    logged = (_logged(reader, indexed, item, log) for item in outcomes)
    todo = plan(reader, logged, method, words=words, overlap=overlap)
    retained = {iri for key in log.unreadable for iri in indexed.under(key)} | log.sources
    current = set(indexed.below(prefix))
    deletions = [iri for iri in indexed.below(prefix) if iri not in retained]
    todo = replace(todo, deletions=indexed.display_names(deletions))
    if yes or not _is_suspicious(len(deletions), len(current)):
        return todo
    is_empty = not log.sources
    return replace(todo, refused=_refusal(folder, len(deletions), len(current), is_empty=is_empty))


def _is_suspicious(deletions: int, current: int) -> bool:
    """Whether a plan deletes more than a third of the sources, which may be a mistake."""
    return 3 * deletions > current


_CONFIRM = "list them with --dry-run, and confirm their deletion with --yes"


def _refusal(folder: str, deletions: int, current: int, *, is_empty: bool) -> str:
    if is_empty:
        return (
            f"{folder} contains no documents, and all {current} sources indexed from it would be "
            f"deleted: check that its disk is mounted, or {_CONFIRM}"
        )
    is_partial = deletions < current
    which = f"{deletions} of the {current} sources" if is_partial else f"all {current} sources"
    return (
        f"{which} indexed from {folder} would be deleted, more than a third: check that it is the "
        f"same folder (--root), or {_CONFIRM}"
    )


def _indexed_only(
    reader: GraphReader,
    indexed: IndexedSources,
    inputs: Iterable[LocatedOutcome | Source | InputProblem],
    log: _ReadLog,
) -> Iterator[ReadOutcome]:
    """Yield the outcomes of files in the graph, and one problem per other file given explicitly."""
    not_indexed: set[str] = set()
    for item in inputs:
        if isinstance(item, InputProblem):
            yield item
        elif isinstance(item, Source):
            iri = reader.minter.source(item.key, item.title, item.text)
            yield item if iri in indexed.keys else _not_indexed(item.key or "text")
        elif item.is_explicit and isinstance(item.outcome, InputProblem) and not item.path.exists():
            yield _missing_file(indexed, item)
        elif indexed.of_file(item.key) or _is_indexed_folder(indexed, item):
            yield _logged(reader, indexed, item, log)
        elif not item.is_explicit:
            log.left_out |= {item.key} if isinstance(item.outcome, Source) else set()
        elif item.key not in not_indexed:
            not_indexed.add(item.key)
            yield _not_indexed(display_path(item.path))


def _is_indexed_folder(indexed: IndexedSources, item: LocatedOutcome) -> bool:
    """Whether an outcome is the problem of a folder with indexed files."""
    return isinstance(item.outcome, InputProblem) and bool(indexed.below(item.key))


def _logged(
    reader: GraphReader, indexed: IndexedSources, item: LocatedOutcome, log: _ReadLog
) -> ReadOutcome:
    """Add an outcome to the log; the message of a problem mentions an older version, if any."""
    outcome, key = item.outcome, item.key
    if isinstance(outcome, Source):
        log.sources.add(reader.minter.source(outcome.key, outcome.title, outcome.text))
        log.files.add(key)
    elif isinstance(outcome, InputProblem):
        log.unreadable.add(key)
        if indexed.under(key):
            message = f"{outcome.message}; its older version stays in the graph"
            return replace(outcome, message=message)
    return outcome


def _not_indexed(name: str) -> InputProblem:
    command = f"sarag index {shlex.quote(name)}"
    return InputProblem(name, f"is not in the graph: add it with  {command}")


def _missing_file(indexed: IndexedSources, item: LocatedOutcome) -> InputProblem:
    name = display_path(item.path)
    if not indexed.under(item.key):
        return InputProblem(name, "does not exist, and is not in the graph: check the path")
    key = item.key if indexed.of_file(item.key) else f"{item.key}/"
    command = f"sarag delete {shlex.quote(key)}"
    return InputProblem(name, f"no longer exists: delete it from the graph with  {command}")


class IndexedSources:
    """The sources in a graph and in its quarantine, by key."""

    def __init__(self, reader: GraphReader) -> None:
        self._minter = reader.minter
        self.quarantined = frozenset(read_quarantine(reader))
        """IRIs of the sources in quarantine; an older version of them may be in the graph."""
        sources = {source.value for (source,) in reader.select_provenance("sources")}
        keys = {iri: reader.minter.key_of_source(iri) for iri in sources | self.quarantined}
        self.keys = dict(sorted(keys.items(), key=lambda item: (item[1], item[0])))
        """IRI -> key, in the order of keys; the key of a source without a path is empty."""
        self._of_file: defaultdict[str, list[str]] = defaultdict(list)
        for iri, key in self.keys.items():
            for file in {key, file_of_key(key)} - {""}:
                self._of_file[file].append(iri)

    def display_names(self, sources: Iterable[str]) -> dict[str, str]:
        """IRI -> name in reports: the key of a source, or else its IRI."""
        return {iri: self.keys.get(iri) or iri for iri in sources}

    def of_file(self, file: str) -> tuple[str, ...]:
        """IRIs of the sources of a file: the file itself, or its records."""
        return tuple(self._of_file.get(file, ()))

    def below(self, folder: str) -> tuple[str, ...]:
        """IRIs of the sources in a folder and its subfolders; of all with a key for ``""``."""
        start = f"{folder}/" if folder else ""
        return tuple(iri for iri, key in self.keys.items() if key and key.startswith(start))

    def under(self, key: str) -> tuple[str, ...]:
        """IRIs of the sources of a file or folder."""
        return tuple(dict.fromkeys((*self.of_file(key), *self.below(key))))

    def resolve(self, names: Iterable[str]) -> tuple[str, ...]:
        """IRIs of sources given by IRI, key, file key, path, or ``FOLDER/``.

        Raises `UsageError` if any of the names has no source.
        """
        resolved: dict[str, None] = {}
        unknown = []
        for name in names:
            iris = self._exact(name) or self._exact(key_of_path(name)) or self._other_forms(name)
            resolved.update(dict.fromkeys(iris))
            unknown += [] if iris else [name]
        if unknown:
            raise UsageError("; ".join(map(self._unknown_message, unknown)))
        return tuple(resolved)

    def _exact(self, name: str) -> Sequence[str]:
        return self._of_file.get(name) or ((name,) if name in self.keys else ())

    def _other_forms(self, name: str) -> Sequence[str]:
        source = f"{self._minter.base}source/{name}"
        if source in self.keys:
            return (source,)
        key = self._minter.key_of_source(name) or key_of_path(name)
        folder = key.removesuffix("/")
        return self.below(folder) if folder and folder != key else self.of_file(key)

    def _unknown_message(self, name: str) -> str:
        keys = [key for key in self.keys.values() if key]
        files = dict.fromkeys(map(file_of_key, keys))
        last = name.rstrip("/").rpartition("/")[2]
        folder = key_of_path(name)
        suggestions = [f"{folder}/"] if folder and self.below(folder) else []
        suggestions += get_close_matches(name, [*files, *keys], 1)
        suggestions += [file for file in files if file.rpartition("/")[2] == last]
        hint = f"; did you mean {suggestions[0]}?" if suggestions else ""
        return f"no such source in the graph: '{clean_line(name)}'{hint}"
