"""Plans: inputs are read, compared with the graph, and become sources to index or to delete."""

from __future__ import annotations

import logging
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import Minter
from sarag_rdf.base.sentences import word_windows
from sarag_rdf.base.types import Document, Method, Source
from sarag_rdf.building.evidence_quarantine import (
    SourceState,
    quarantine_problem,
    read_contents,
    read_quarantine,
)
from sarag_rdf.building.source_evidence import extraction_iri, text_digest
from sarag_rdf.documents.format import Duplicate, InputProblem, clean_line
from sarag_rdf.documents.reading import (
    OVERLAP,
    STDIN,
    WORDS,
    Read,
    ReadOptions,
    ReadOutcome,
    key_prefix,
    read,
)
from sarag_rdf.documents.walk import display_path, file_of_key, key_of_path
from sarag_rdf.graph.graph_reader import GraphReader

log = logging.getLogger(__name__)
_SHOWN = 5
"""Repeated inputs that a message names."""

Inputs = str | Path | Source
Mode = Literal["index", "update", "sync"]
LOOKUP_BATCH = 500
"""Inputs whose states are read from the graph in one batch."""
_CONFIRM = "list them with --dry-run, and confirm their deletion with --yes"


@dataclass(frozen=True, slots=True)
class Request:
    """Inputs, and what is to be done with them.

    ``index`` adds inputs that are new or have changed, ``update`` only those whose files are in
    the graph, and ``sync`` makes the sources that come from one folder match it. The last two
    delete sources as well; `yes` confirms the deletion of more than a third of them.

    Raises `UsageError` for inputs that the mode does not allow.
    """

    inputs: tuple[Path | Source, ...]
    mode: Mode = "index"
    yes: bool = False
    reading: ReadOptions = field(default_factory=ReadOptions)

    @classmethod
    def of(
        cls,
        inputs: Inputs | Iterable[Inputs],
        mode: Mode = "index",
        *,
        yes: bool = False,
        stdin: BinaryIO | None = None,
        **reading: Any,
    ) -> Request:
        """A request for one input or several; `reading` are the fields of `ReadOptions`."""
        items = [inputs] if isinstance(inputs, str | Path | Source) else inputs
        paths = tuple(item if isinstance(item, Source) else Path(item) for item in items)
        return cls(paths, mode, yes, ReadOptions.of(reading, stdin=stdin))

    def __post_init__(self) -> None:
        if self.mode == "update" and STDIN in self.inputs:
            raise UsageError("standard input (-) has no path: use sarag index")
        if self.mode == "sync" and not self.folder.is_dir():
            raise UsageError(
                f"no such folder: {display_path(self.folder)}: give the folder of the documents"
            )

    @property
    def folder(self) -> Path:
        """The folder that the graph is made to match."""
        [folder] = self.inputs
        assert isinstance(folder, Path)  # noqa: S101 - the only input of sync
        return folder


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source that has to be indexed.

    `known` if another version of it is in the graph, `quarantined` if one is in quarantine.
    """

    iri: str
    source: Source
    documents: tuple[Document, ...]
    known: bool
    quarantined: bool = False

    @property
    def name(self) -> str:
        """The name in reports."""
        return self.source.key or "text"


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a run will make, with `method` (that of the extractor, plus chunk sizes).

    `todo` are the sources to index, `problems` the inputs that could not be read, `quarantined` the
    problems of sources whose current version is in quarantine, and `settled` the IRIs of sources of
    which only another version is. `deletions` maps IRIs to names in reports. `left_out` is the
    number of new files that are not added. `duplicates` counts repeated inputs, and those with the
    text of another source, which are indexed. A plan that is `refused` runs only if confirmed.
    """

    method: Method
    todo: tuple[PlannedSource, ...]
    unchanged: int
    duplicates: int
    problems: tuple[InputProblem, ...]
    quarantined: tuple[InputProblem, ...] = ()
    settled: tuple[str, ...] = ()
    deletions: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    refused: str = ""

    @property
    def documents(self) -> list[Document]:
        """All chunks to extract."""
        return [document for planned in self.todo for document in planned.documents]


def plan(reader: GraphReader, request: Request, method: Method) -> Plan:
    """Plan a request; for ``index``, the cost depends on the inputs, not on the graph's size."""
    items = read(request.inputs, request.reading)
    if request.mode == "index":
        return compared(reader, (item.outcome for item in items), request, method)
    scope = _Scope(reader, request)
    return scope.with_deletions(compared(reader, scope.select(items), request, method))


def compared(
    reader: GraphReader, inputs: Iterable[ReadOutcome], request: Request, method: Method
) -> Plan:
    """Plan to index the sources whose text, title, language or method has changed."""
    reading = request.reading
    sizes = {"words": str(reading.words), "overlap": str(reading.overlap)}
    method = replace(method, settings={**method.settings, **sizes})
    quarantine = read_quarantine(reader)
    todo: dict[str, PlannedSource] = {}
    states: dict[str, SourceState] = {}
    problems: list[InputProblem] = []
    quarantined: dict[str, str] = {}
    settled: list[str] = []
    known: set[str] = set()
    texts: dict[str, tuple[str, str]] = {}
    unchanged = duplicates = 0
    repeated: dict[str, str] = {}
    for item, iri, indexed in _with_indexed_states(reader, inputs):
        if isinstance(item, InputProblem):
            problems.append(item)
        elif isinstance(item, Duplicate):
            duplicates += 1
            repeated[item.name] = "was read already"
        else:
            state = state_of(item, extraction_iri(reader.minter, iri, method))
            first, name = texts.setdefault(state[0], (iri, item.key or "text"))
            if iri not in states and first != iri:
                duplicates += 1
                repeated[item.key or "text"] = f"has the text of {name}"
            known |= {iri} if indexed else set()
            if iri in states and states[iri] == state:
                duplicates += 1
            elif iri in states:
                message = "is the key of two different sources: give each its own key"
                problems.append(InputProblem(item.key or "text", message))
            elif indexed == state:
                unchanged += 1
                settled += [iri] if iri in quarantine else []
            elif iri in quarantine and quarantine[iri].state == state:
                quarantined[iri] = item.key or "text"
            else:
                documents = chunk(
                    item,
                    iri,
                    reader.minter,
                    words=request.reading.words,
                    overlap=request.reading.overlap,
                )
                is_known, is_quarantined = iri in known, iri in quarantine
                todo[iri] = PlannedSource(iri, item, tuple(documents), is_known, is_quarantined)
            states.setdefault(iri, state)
    if repeated:
        shown = [f"{name} {why}" for name, why in islice(repeated.items(), _SHOWN)]
        more = f", and {len(repeated) - _SHOWN} more" if len(repeated) > _SHOWN else ""
        log.warning("%s%s", ", ".join(shown), more)
    contents = read_contents(reader, quarantined)
    return Plan(
        method,
        tuple(todo.values()),
        unchanged,
        duplicates,
        tuple(problems),
        tuple(
            quarantine_problem(name, iri, contents[iri].violations, known=iri in known)
            for iri, name in quarantined.items()
        ),
        tuple(settled),
    )


def state_of(source: Source, extraction: str) -> SourceState:
    """The state that identifies this version of a source."""
    return text_digest(source.text), source.title, source.language, extraction


def _with_indexed_states(
    reader: GraphReader, inputs: Iterable[ReadOutcome]
) -> Iterator[tuple[ReadOutcome, str, SourceState | None]]:
    """Yield inputs; sources with their IRIs and their states in the graph, if they are in it."""
    source = reader.minter.source
    for batch in batches(inputs, LOOKUP_BATCH):
        iris = [
            source(item.key, item.title, item.text) if isinstance(item, Source) else ""
            for item in batch
        ]
        rows = reader.select_provenance_for("source-state", filter(None, iris))
        states = {
            iri.value: (digest.value, title.value if title else "", language.value, method.value)
            for iri, digest, title, language, method in rows
        }
        yield from ((item, iri, states.get(iri)) for item, iri in zip(batch, iris, strict=True))


def chunk(
    source: Source, source_iri: str, minter: Minter, *, words: int = WORDS, overlap: int = OVERLAP
) -> list[Document]:
    """Split a source into windows of `words` words, each of which overlaps the previous one.

    The windows are those of `word_windows`; a text without words has no documents. Raises
    `UsageError` for fewer than one word, or an overlap outside ``[0, words)``.
    """
    if words < 1:
        raise UsageError(f"chunk size is {words} words: give at least 1")
    if not 0 <= overlap < words:
        raise UsageError(
            f"an overlap of {overlap} words is out of range for chunks of {words} words: "
            f"give a number from 0 to {words - 1}"
        )
    documents = []
    for begin, end in word_windows(source.text, words, overlap):
        text = source.text[begin:end]
        iri = minter.document(source_iri, begin, end, text)
        language, is_titled = source.language, source.is_titled
        documents.append(
            Document(iri, source_iri, source.title, text, begin, end, language, is_titled)
        )
    return documents


class _Scope:
    """The sources in a graph that an update or sync is about, and what was read of them."""

    def __init__(self, reader: GraphReader, request: Request) -> None:
        self._indexed, self._minter, self._request = IndexedSources(reader), reader.minter, request
        self._sources: set[str] = set()
        """IRIs of the sources that were read."""
        self._files: set[str] = set()
        """Keys of the files with at least one readable source."""
        self._unreadable: set[str] = set()
        self._left_out: set[str] = set()
        """Keys of new files that an update does not add."""

    def select(self, items: Iterable[Read]) -> Iterator[ReadOutcome]:
        """The outcomes in scope, and one problem for each other file that was named."""
        not_indexed: set[str] = set()
        for item in items:
            if self._request.mode == "sync" or self._is_indexed(item):
                yield item.outcome if item.path is None else self._noted(item)
            elif not item.is_explicit:
                self._left_out |= {item.key} if isinstance(item.outcome, Source) else set()
            elif item.key not in not_indexed or item.path is None:
                not_indexed.add(item.key)
                yield self._not_indexed(item)

    def _is_indexed(self, item: Read) -> bool:
        outcome, key = item.outcome, item.key
        if item.path is None:  # a text that the caller gave
            return not isinstance(outcome, Source) or self._iri(outcome) in self._indexed.keys
        if _is_missing(item):
            return False
        is_problem = isinstance(outcome, InputProblem)
        return bool(self._indexed.of_file(key) or (is_problem and self._indexed.below(key)))

    def _noted(self, item: Read) -> ReadOutcome:
        """Note an outcome; the message of a problem mentions an older version, if any."""
        outcome, key = item.outcome, item.key
        if isinstance(outcome, Source):
            self._sources.add(self._iri(outcome))
            self._files.add(key)
        elif isinstance(outcome, InputProblem):
            self._unreadable.add(key)
            if self._indexed.under(key):
                message = f"{outcome.message}; its older version stays in the graph"
                return replace(outcome, message=message)
        return outcome

    def _not_indexed(self, item: Read) -> InputProblem:
        name = display_path(item.path) if item.path else item.key or "text"
        if not _is_missing(item):
            command = f"sarag index {shlex.quote(name)}"
            return InputProblem(name, f"is not in the graph: add it with {command}")
        if not self._indexed.under(item.key):
            return InputProblem(name, "does not exist, and is not in the graph: check the path")
        key = item.key if self._indexed.of_file(item.key) else f"{item.key}/"
        command = f"sarag delete {shlex.quote(key)}"
        return InputProblem(name, f"no longer exists: delete it from the graph with {command}")

    def _iri(self, source: Source) -> str:
        return self._minter.source(source.key, source.title, source.text)

    def with_deletions(self, plan: Plan) -> Plan:
        """The plan with the sources to delete: those in scope whose files no longer have them.

        It is refused if these are more than a third, unless the request confirms it.
        """
        indexed = self._indexed
        if self._request.mode == "sync":
            prefix = key_prefix(self._request.folder, self._request.reading.root) or ""
            current = indexed.below(prefix)
            unread = {iri for key in self._unreadable for iri in indexed.under(key)}
        else:
            files = sorted(self._files - self._unreadable)
            current = tuple(iri for file in files for iri in indexed.of_file(file))
            unread = set()
        deletions = [iri for iri in current if iri not in unread | self._sources]
        is_suspicious = 3 * len(deletions) > len(current) and not self._request.yes
        return replace(
            plan,
            deletions=indexed.display_names(deletions),
            left_out=len(self._left_out),
            refused=self._refusal(len(deletions), len(current)) if is_suspicious else "",
        )

    def _refusal(self, deletions: int, current: int) -> str:
        if self._request.mode == "update":
            which = f"{deletions} of these {current} sources" if current > 1 else "the only source"
            return f"{which} would be deleted, more than a third: {_CONFIRM}"
        folder = self._request.folder
        if not self._sources:
            return (
                f"{folder} contains no documents, and all {current} sources indexed from it would "
                f"be deleted: check that its disk is mounted, or {_CONFIRM}"
            )
        which = f"{deletions} of the {current}" if deletions < current else f"all {current}"
        return (
            f"{which} sources indexed from {folder} would be deleted, more than a third: check "
            f"that it is the same folder (--root), or {_CONFIRM}"
        )


def _is_missing(item: Read) -> bool:
    """Whether a path that was named does not exist."""
    if item.path is None or not item.is_explicit:
        return False
    return isinstance(item.outcome, InputProblem) and not item.path.exists()


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
