"""The classes that a question asks for, and the documents about instances of them.

A multi-hop question does not name what it leads over, it says of what class that is: "the state
where Dodge City Regional Airport is". So of the many things that a document about the airport
describes, the state leads on: an ontology says which of them is one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from sarag_rdf.base.arrays import Rows
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
        classes = defaultdict[str, set[str]](set)
        for class_ in self._use.ontology.classes.values():
            for label in (class_.label, *class_.alternatives):
                classes[label.casefold()].add(class_.iri)
        self._classes = dict(classes)

    def named(self, question: str) -> dict[str, frozenset[str]]:
        """Label -> classes, for all labels of classes in a question, in alphabetical order.

        Labels are in the singular or plural, and in small letters: with capitals they are parts of
        names ("Hudson River").
        """
        names = sorted({name for name in _phrases(question) if name in self._classes})
        return {name: frozenset(self._classes[name]) for name in names}

    def instances(self, entities: set[str], classes: frozenset[str]) -> set[str]:
        """Those of the entities that are instances of a class or of a subclass of one."""
        rows = self._use.rows_for("entity-classes", entities)
        belongs = self._use.ontology.belongs
        return {entity.value for entity, class_ in rows if belongs([class_.value], classes)}

    def documents(self, view: GraphView, best: Rows, classes: frozenset[str]) -> Rows:
        """Documents about an instance that another of the `best` documents describes, ascending."""
        described = view.network.outgoing(DESCRIBES, np.sort(best))
        about = view.network.incoming(ABOUT, np.unique(described.target))
        names = {row: view.iris.entities[row] for row in np.unique(about.target).tolist()}
        instances = self.instances(set(names.values()), classes)
        pairs = set(map(tuple, described.pairs().tolist()))
        return np.unique(
            [
                document
                for document, topic in about.pairs().tolist()
                if names[topic] in instances
                and any((each, topic) in pairs for each in best.tolist() if each != document)
            ]
        ).astype(np.int64)


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
