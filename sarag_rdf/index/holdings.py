"""What a graph holds: its sources, in the graph or in quarantine, by the files that they come from.

A file is known by its key: its path below the indexed folder. A source is a whole file, or a record
of one, whose key is ``FILE#RECORD``. Sources that were made of no path have no key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from sarag_rdf.errors import UsageError
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.index.quarantine import read_quarantine
from sarag_rdf.index.read.keys import file_of_key, key_of_path
from sarag_rdf.index.read.text import clean_line


class Holdings:
    """The sources of a graph as it is now."""

    def __init__(self, reader: GraphReader) -> None:
        self._minter = reader.minter
        self.held = frozenset(read_quarantine(reader))
        """IRIs of the sources in quarantine; an older version of them may be in the graph."""
        indexed = {source.value for (source,) in reader.kept("sources")}
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
