"""Which ends of paths are what a question asks for, by their kinds and by its words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from sarag_rdf.base.types import RelationPath
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.plugins.relation_paths.asked_kinds import is_no_agent, is_other_agent
from sarag_rdf.plugins.relation_paths.path_model import Hop, packaged_model
from sarag_rdf.plugins.relation_paths.paths import PathSearch, Stated, Triple, walks
from sarag_rdf.retrieval.asked_classes import AskedClasses

WHICH: Final = re.compile(
    r"\b(?:which|what) ((?!of|are|is|was|were|did|do|does)\w+)", re.IGNORECASE
)
"""A question for a kind of thing, in a word."""
_WHERE: Final = re.compile(r"\b(?:at|in|into|on|near|from|places?|locations?)\b")
_NO_ANSWERS: Final = {
    "where": ("person", "work"),
    "who": ("place", "work", "event"),
    "whom": ("place", "work", "event"),
}
"""What question words do not ask for, as labels of classes."""
_WORD: Final = re.compile(r"\w+")
_SPECIFIC: Final = frozenset(
    "father mother son daughter brother sister grandfather grandmother grandson granddaughter "
    "first second third last".split()
)
"""Words that say more than properties for parents, children, siblings and others."""
_MAKING: Final = (
    "direct produce write compose perform paint design edit publish star build construct"
)
"""Words that say more than a property for all who made something."""


def of_kind(
    search: PathSearch, question: str, kind: str, paths: Sequence[RelationPath]
) -> list[RelationPath]:
    """The paths with the answers that may be what a question asks for, by their classes.

    If it says of what kind they are to be, they are called so, or instances of a class called so.
    """
    classes = search.view.derived(AskedClasses)
    asked = {word for word in _NO_ANSWERS if re.search(rf"\b{word}\b", question.lower())}
    other = [*chain.from_iterable(map(_NO_ANSWERS.__getitem__, asked))]
    if "where" in asked and not (paths and _leads_to_a_place(search, Hop(*paths[0].hops[-1]))):
        other.append("organization")
    labelled = classes.named(kind.lower())
    named = labelled.get(max(labelled, key=len, default=""), frozenset())
    excluded = frozenset(chain.from_iterable(classes.named(" ".join(other)).values()))
    stems = search.model.content(kind)
    chosen = []
    for path in paths:
        iris = {answer.iri for answer in path.answers} - {""}
        wrong = classes.instances(iris, excluded) if excluded else set()
        right = classes.instances(iris, named) if named else set()
        kinds = kinds_of(search, iris)
        if not asked.isdisjoint(("who", "whom")):
            things = {iri for iri, own in kinds.items() if is_no_agent(own)}
            wrong |= things if things == iris else set()  # a robot may be among the crew
        if which := WHICH.search(question):
            wrong |= {iri for iri, own in kinds.items() if is_other_agent(which[1], own)}
        if kind:
            heads = {iri: {_head(each) for each in own} for iri, own in kinds.items()}
            right |= {i for i in heads if any(search.model.content(h) == stems for h in heads[i])}
        answers = tuple(
            answer
            for answer in path.answers
            if not kind or answer.iri in right or search.model.content(_head(answer.name)) == stems
        )
        answers = tuple(answer for answer in answers if answer.iri not in wrong)
        if answers:
            chosen.append(replace(path, answers=answers))
    return chosen


def kinds_of(search: PathSearch, iris: Iterable[str]) -> dict[str, set[str]]:
    """What the classes of things and the ones above these are called, in small letters."""
    classes = defaultdict[str, set[str]](set)
    for thing, class_ in search.followed.rows_for("entity-classes", iris):
        classes[thing.value].add(class_.value)
    ontology = search.in_use.ontology
    above = {one: ontology.superclasses(one) | {one} for own in classes.values() for one in own}
    called = {
        one: {name.casefold(), *map(str.casefold, declared.alternatives if declared else ())}
        for one, name in search.followed.names(chain.from_iterable(above.values())).items()
        for declared in (ontology.classes.get(one),)
    }
    return {
        thing: {name for one in own for each in above[one] for name in called[each]}
        for thing, own in classes.items()
    }


def _leads_to_a_place(search: PathSearch, hop: Hop) -> bool:
    """Whether its label or phrases say where: "taught at", and not "founded by"."""
    schema = search.index.schema
    texts = (
        text
        for one in (hop, hop.reverse)
        for several in (schema.phrases, schema.packaged, schema.stated)
        for text in several.get(one.start, ())
    )
    return any(map(_WHERE.search, (schema.names[hop.predicate], *texts)))


def _head(name: str) -> str:
    """The word for what something is, in its name: "Black Sea", "University of Paris"."""
    return (name.partition(" of ")[0].split() or [""])[-1]


def as_asked(
    search: PathSearch,
    question: str,
    paths: Sequence[RelationPath],
    stated: Mapping[Triple, Stated],
) -> list[RelationPath]:
    """The paths with the answers of which something says all that the question does.

    One of the parents is the mother, and one of the creators the director. Such a word is to be in
    the labels of a path, or else in the documents that state it.
    """
    chosen = []
    for path in paths:
        hops = [Hop(*hop) for hop in path.hops]
        labels = chain.from_iterable(_labels(search, hop) for hop in hops)
        needed = _specific(question) - _specific(" ".join(labels))
        said = (
            _specific(" ".join(stated[triple].text for triple in walk if triple in stated))
            for walk in walks(path)
        )
        pairs = zip(path.answers, said, strict=True)
        if answers := tuple(answer for answer, own in pairs if needed <= own):
            chosen.append(replace(path, answers=answers))
    return chosen


def _labels(search: PathSearch, hop: Hop) -> Iterator[str]:
    """The labels of a property, and further ones, unless these say more than it does.

    Those of the packaged ontology do, and several of one's own that say different things: "brother"
    and "sister" of a property for siblings.
    """
    schema, declared = search.index.schema, search.in_use.ontology.properties.get(hop.predicate)
    yield schema.names[hop.predicate]
    yield from schema.phrases.get(hop.start, ())
    if declared and hop.predicate not in common_schema().properties:
        said = {_specific(label) for label in declared.alternatives} - {frozenset()}
        yield from declared.alternatives if len(said) == 1 else ()


def _specific(text: str) -> frozenset[str]:
    """The words of a text that say more than properties do."""
    words = {word.removesuffix("s") for word in _WORD.findall(text.casefold())}
    content = packaged_model().content
    return _SPECIFIC.intersection(words).union({*content(_MAKING)}.intersection(content(text)))
