"""The sources in a graph, by the keys of their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from sarag_rdf.base.errors import UsageError
from sarag_rdf.building.index.quarantine import read_quarantine
from sarag_rdf.documents.text import clean_line
from sarag_rdf.documents.walk import file_of_key, key_of_path
from sarag_rdf.graph.graph_reader import GraphReader


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
