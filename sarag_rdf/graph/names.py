"""Which entities a name stands for, in every part of a graph.

In the graph of documents a name is looked up by IRI, a function of the normalised name. In other
graphs all names are read once, and normalised in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property

from sarag_rdf.algo.packed import packed_lists, unpacked_list
from sarag_rdf.graph.rows import DOCUMENTS, GraphReader
from sarag_rdf.iris import normalize_name
from sarag_rdf.ports import Arrays

OWNERS = 4
"""A name of more entities than these says nothing, in a graph where several may have it."""


class Names:
    """Looks up normalised names; what has to be read for it is read when first needed."""

    def __init__(
        self,
        reader: GraphReader,
        kept: Callable[[str, Callable[[], Arrays]], Arrays] = lambda _, make: make(),
    ) -> None:
        """`kept` may keep arrays that were made between runs."""
        self._reader = reader
        self._kept = kept

    def entities(
        self, names: Iterable[str], among: Container[str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Name -> its entities (of those `among`), with shares in (0, 1]; unknown are absent.

        Where a name has several entities (up to `OWNERS`), of the documents or of the imported
        graphs, they share it.
        """
        found: defaultdict[str, dict[str, float]] = defaultdict(dict)
        wanted = set(names)
        for part in (self._in_documents(wanted), self._in_others(wanted)):
            for name, every in part.items():
                entities = [e for e in every if among is None or e in among]
                if entities:
                    found[name] |= dict.fromkeys(entities, 1.0 / len(entities))
        return dict(found)

    def _in_documents(self, names: set[str]) -> dict[str, list[str]]:
        """A name that no document uses is that of what it is an alias of.

        One that was decided to be of several things is of each of them.
        """
        reader = self._reader
        if all(part.name != DOCUMENTS for part in reader.parts):
            return {}
        mentions = {reader.minter.mention(name): name for name in names}
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for owner, alias, _ in reader.kept_for("alias-owners", mentions):
            owners[alias.value].add(owner.value)
        few = {alias: found for alias, found in owners.items() if len(found) <= OWNERS}
        variants: defaultdict[str, set[str]] = defaultdict(set)
        for mention, variant in reader.kept_for("name-variants", mentions):
            variants[mention.value].add(variant.value)
        wanted = mentions.keys() | set().union(*few.values(), *variants.values())
        rows = reader.kept_for("mention-targets", wanted)
        targets = {mention.value: entity.value for mention, entity in rows}
        named = {
            alias: sorted({targets[owner] for owner in found if owner in targets})
            for alias, found in few.items()
        }
        for mention in mentions:
            own = {targets[name] for name in (mention, *variants[mention]) if name in targets}
            if own and len(own) <= OWNERS:
                named[mention] = sorted(own)
        return {mentions[m]: entities for m, entities in named.items() if entities}

    def _in_others(self, names: set[str]) -> dict[str, list[str]]:
        return {name: sorted(self._known[name]) for name in names if name in self._known}

    @cached_property
    def _known(self) -> Mapping[str, set[str]]:
        if not self._reader.imported.parts:
            return {}
        kept = self._kept("names", self._pairs)
        known: defaultdict[str, set[str]] = defaultdict(set)
        columns = (unpacked_list(kept, column) for column in ("names", "entities"))
        for name, entity in zip(*columns, strict=True):
            known[name].add(entity)
        return {name: found for name, found in known.items() if len(found) <= OWNERS}

    def _pairs(self) -> Arrays:
        rows = self._reader.imported.rows("names")
        pairs = sorted({(normalize_name(name.value), entity.value) for entity, name in rows})
        names, entities = [name for name, _ in pairs], [entity for _, entity in pairs]
        return packed_lists({"names": names, "entities": entities})
