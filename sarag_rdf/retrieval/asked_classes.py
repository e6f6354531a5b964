"""The classes that a question asks for, and the documents about instances of them.

A multi-hop question does not name what it leads over, it says of what class that is: "the state
where Dodge City Regional Airport is". So of the many things that a document about the airport
describes, the state leads on: an ontology says which of them is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from sarag_rdf.base.arrays import IriList, Rows, distinct, find
from sarag_rdf.base.ports import Arrays
from sarag_rdf.graph.parts import stored_ontologies
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.retrieval.network import ABOUT, DESCRIBES
from sarag_rdf.retrieval.view import GraphView

_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 3
"""The number of words of the longest label that is looked up."""


class AskedClasses:
    """Finds the classes of ontologies that questions name by their labels, and their instances."""

    def __init__(self, view: GraphView) -> None:
        self._use = SchemaInUse(view.reader)
        # large ontologies take seconds to read; what a reader with rights may see is not for all
        is_kept = view.reader.readable is None and stored_ontologies(view.reader)
        kept = view.vectors.cached_arrays("class-labels", self._arrays) if is_kept else None
        self._kept = kept or self._arrays()
        self._classes = IriList.of_arrays(self._kept, "classes")
        self._labels = IriList.of_arrays(self._kept, "labels")

    def _arrays(self) -> Arrays:
        """Classes, their labels without capitals, and as rows: who has a label, who a parent."""
        ontology = self._use.ontology.classes
        classes = IriList.of(ontology)
        rows = {iri: row for row, iri in enumerate(classes)}
        labels_of = {
            rows[iri]: [label.casefold() for label in (class_.label, *class_.alternatives)]
            for iri, class_ in ontology.items()
        }
        labels = IriList.of(label for own in labels_of.values() for label in own)
        label_rows = {label: row for row, label in enumerate(labels)}
        named = sorted({(label_rows[text], row) for row, own in labels_of.items() for text in own})
        above = sorted(
            (rows[iri], rows[parent])
            for iri, class_ in ontology.items()
            for parent in class_.parents
            if parent in rows
        )
        return {
            **classes.arrays("classes"),
            **labels.arrays("labels"),
            "named": np.array(named, dtype=np.int64).reshape(-1, 2),
            "above": np.array(above, dtype=np.int64).reshape(-1, 2),
        }

    def _joined(self, name: str, row: int) -> list[int]:
        """The rows beside a row in an array of ascending pairs."""
        pairs = self._kept[name]
        begin, end = np.searchsorted(pairs[:, 0], (row, row + 1))
        return [int(other) for other in pairs[begin:end, 1]]

    def named(self, question: str) -> dict[str, frozenset[str]]:
        """Label -> classes, for all labels of classes in a question, in alphabetical order.

        Labels are in the singular or plural, and in small letters: with capitals they are parts of
        names ("Hudson River").
        """
        rows = {name: find(self._labels, name) for name in sorted({*_phrases(question)})}
        return {
            name: frozenset(self._classes[at] for at in self._joined("named", row))
            for name, row in rows.items()
            if row >= 0
        }

    def instances(self, entities: set[str], classes: frozenset[str]) -> set[str]:
        """Those of the entities that are instances of a class or of a subclass of one."""
        rows = self._use.rows_for("entity-classes", entities)
        return {entity.value for entity, class_ in rows if self._belongs(class_.value, classes)}

    def _belongs(self, class_: str, classes: frozenset[str]) -> bool:
        """Whether a class is one of these or a subclass of one."""
        row = find(self._classes, class_)
        superclasses = [row] if row >= 0 else []
        for at in superclasses:  # grows
            above = self._joined("above", at)
            superclasses += [other for other in above if other not in superclasses]
        return any(self._classes[at] in classes for at in superclasses)

    def documents(self, view: GraphView, best: Rows, classes: frozenset[str]) -> Rows:
        """Documents about an instance that another of the `best` documents describes, ascending."""
        described = view.network.outgoing(DESCRIBES, np.sort(best))
        about = view.network.incoming(ABOUT, distinct(described.target))
        names = {row: view.iris.entities[row] for row in distinct(about.target).tolist()}
        instances = self.instances(set(names.values()), classes)
        pairs = set(map(tuple, described.pairs().tolist()))
        documents = [
            document
            for document, topic in about.pairs().tolist()
            if names[topic] in instances
            and any((each, topic) in pairs for each in best.tolist() if each != document)
        ]
        return distinct(np.array(documents, dtype=np.int64))


def _phrases(question: str) -> Iterator[str]:
    """Sequences of words without capitals, as they are and in the singular."""
    words = _WORD.findall(question)
    for length in range(1, _LONGEST + 1):
        for first in range(len(words) - length + 1):
            phrase = " ".join(words[first : first + length])
            if phrase.islower():
                yield phrase
                if phrase.endswith("ies"):
                    yield f"{phrase.removesuffix('ies')}y"
                yield phrase.removesuffix("s")
