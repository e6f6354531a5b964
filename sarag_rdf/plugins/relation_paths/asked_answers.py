"""Which ends of paths are what a question asks for, by their kinds and by its words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from typing import Final

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import RelationPath
from sarag_rdf.base.vocab import SARAG, SKOS
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.plugins.relation_paths.asked_kinds import (
    is_no_agent,
    is_other_agent,
    type_of_kind,
    types_of,
)
from sarag_rdf.plugins.relation_paths.path_model import Hop, packaged_model
from sarag_rdf.plugins.relation_paths.path_words import BELONGS, Asking
from sarag_rdf.plugins.relation_paths.paths import PathSearch, Stated, Triple, walks
from sarag_rdf.plugins.relation_paths.thesauri import chained
from sarag_rdf.retrieval.asked_classes import AskedClasses
from sarag_rdf.retrieval.view import GraphView

WHICH: Final = re.compile(
    r"\b(?:which|what) ((?!(?:of|are|is|was|were|did|do|does)\b)\w+)", re.IGNORECASE
)
"""A question for a kind of thing, in a word."""
_WHERE: Final = re.compile(r"\b(?:at|in|into|on|near|from|places?|locations?)\b")
_WORK: Final = re.compile(r"\bwork(?:s|ed)? for\b")
"""Says where: at an organization."""
_NO_ANSWERS: Final = {
    "where": ("person", "work"),
    "who": ("place", "work", "event"),
    "whom": ("place", "work", "event"),
}
"""What question words do not ask for, as labels of classes."""
_WORD: Final = re.compile(r"\w+")
_LABEL: Final = 3
"""Words of the longest label of a kind of thing that is asked for."""
_FIRST: Final = re.compile(
    r"\W*(of|for|from|with|on|to|about|against) (?:whom|what)\b", re.IGNORECASE
)
_STRANDED: Final = re.compile(r"\b(\w+) (of|for|from|with|on|to|about|against)\W*$")
_WITH_NOUN: Final = re.compile(r"\b(?:the|an?) (?:[\w-]+ ){1,3}\w+\W*$")
_LAST_WORD: Final = re.compile(r"(\w+)\W*$")
_PARTICIPLE: Final = re.compile(r"\w+ed|made|built|consists?|die|speak|think|hear|smell|taste")
"""A verb before "of", where other words are nouns."""
_MADE_OF: Final = re.compile(r"(?:\w+ed|made|built) (?:of|by|with)")
"""The label of a property that does not say where."""
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
    search: PathSearch, asking: Asking, kind: str, paths: Sequence[RelationPath]
) -> list[RelationPath]:
    """The paths with the answers that may be what a question asks for, by their classes.

    If it says of what kind they are to be, they are called so, or instances of a class called so.
    Its preposition is that of the path: what something is made of is not when it was made.
    """
    hops = [Hop(*hop) for hop in paths[0].hops] if paths else []
    if not any(_is_said_with(search, hop, asking) for hop in hops):
        return []
    classes, question = search.view.derived(AskedClasses), asking.before
    asked = {word for word in _NO_ANSWERS if re.search(rf"\b{word}\b", question.lower())}
    other = [*chain.from_iterable(map(_NO_ANSWERS.__getitem__, asked))]
    if "where" in asked and not _leads_to_a_place(search, hops[-1]):
        if _MADE_OF.fullmatch(search.index.schema.names[hops[-1].predicate]):
            return []
        is_work = any(map(_WORK.search, _texts(search, hops[-1])))
        other += [] if is_work else ["organization"]
    named = _called(classes, kind)
    excluded = frozenset(chain.from_iterable(classes.named(" ".join(other)).values()))
    stems = search.model.content(kind)
    which = WHICH.search(question)
    asked_for = question[which.start(1) :] if which else ""
    is_class = which is not None and bool(_classes_asked(search, asked_for))
    chosen = []
    for path in paths:
        iris = {answer.iri for answer in path.answers} - {""}
        wrong = classes.instances(iris, excluded) if excluded else set()
        right = classes.instances(iris, named) if named else set()
        kinds = kinds_of(search, iris)
        if not asked.isdisjoint(("who", "whom")):
            things = {iri for iri, own in kinds.items() if is_no_agent(own)}
            wrong |= things if things == iris else set()  # a robot may be among the crew
        if which:
            wrong |= {iri for iri, own in kinds.items() if is_other_agent(which[1], own)}
            wrong |= _of_other_classes(search, hops[-1], asked_for, kinds)
        if kind:
            heads = {iri: {_head(each) for each in own} for iri, own in kinds.items()}
            right |= _below(search, iris, kind)
            right |= {i for i in heads if any(search.model.content(h) == stems for h in heads[i])}
        answers = tuple(
            answer
            for answer in path.answers
            if not kind or answer.iri in right or search.model.content(_head(answer.name)) == stems
        )
        answers = tuple(answer for answer in answers if answer.iri not in wrong)
        if is_class:  # no year or number is an instance
            answers = tuple(a for a in answers if a.iri or not a.name[:1].isdigit())
        if answers:
            chosen.append(replace(path, answers=answers))
    return chosen


def _below(search: PathSearch, things: Iterable[str], kind: str) -> set[str]:
    """Those of the things that are concepts below one that is called so: "Oracle" is a database."""
    view, words = search.view, (kind, kind.removesuffix("s"))
    named = {*chain.from_iterable(view.names.entities({*map(normalize_name, words)}).values())}
    return {
        thing
        for thing in (things if named else ())
        for each in search.identities.every([thing])
        if not named.isdisjoint(chained(view, each, up=True))
    }


def kind_asked(view: GraphView, text: str) -> str:
    """The label of a class or concept with which a text begins, or else its first word.

    That of a class may be in the plural.
    """
    first, *others = islice(_WORD.finditer(text), _LABEL)
    classes = view.derived(AskedClasses)
    for end in reversed([word.end() for word in others]):
        label = text[:end]
        if any(len(known.split()) == len(label.split()) for known in classes.named(label.lower())):
            return label
        if label.islower() and view.names.entities({normalize_name(label)}):
            return label
    return first[0]


def _classes_asked(search: PathSearch, asked: str) -> frozenset[str]:
    """The classes with the label with which a text begins."""
    return _called(search.view.derived(AskedClasses), kind_asked(search.view, asked))


def _called(classes: AskedClasses, label: str) -> frozenset[str]:
    """The classes with a label, or else with the longest one in it."""
    labelled = classes.named(label.lower())
    return labelled.get(max(labelled, key=len, default=""), frozenset())


def _of_other_classes(
    search: PathSearch, hop: Hop, asked: str, kinds: Mapping[str, set[str]]
) -> set[str]:
    """Things that are no instances of the class with whose label a text begins, but of others.

    What is known to be a place may be a town; so may what is of a class above that for towns, and
    a concept is of the class that the property declares.
    """
    named = _classes_asked(search, asked)
    ontology, type_ = search.in_use.ontology, type_of_kind(kind_asked(search.view, asked))
    fitting = named.union(*map(ontology.superclasses, named))
    declared = ontology.properties.get(hop.predicate)
    ends = (declared.domains if hop.is_inverse else declared.ranges) if declared else ()
    declared_as = {SKOS.Concept.value} if not named.isdisjoint(ends) else set()
    own = defaultdict[str, set[str]](set)
    for thing, class_ in search.followed.rows_for("entity-classes", kinds if named else ()):
        if not class_.value.startswith(SARAG.base) and class_.value not in declared_as:
            own[thing.value].add(class_.value)
    return {
        thing
        for thing, classes in own.items()
        if classes.isdisjoint(fitting)
        and named.isdisjoint(chain.from_iterable(map(ontology.superclasses, classes)))
        and (type_ is None or type_ not in types_of(kinds[thing]))
    }


def _is_said_with(search: PathSearch, hop: Hop, asking: Asking) -> bool:
    """Whether a hop is said with the preposition of the question: "made of", "worked for"."""
    first = _FIRST.match(asking.before)
    match = _LAST_WORD.search(asking.after) if first else _STRANDED.search(asking.after)
    if match is None:
        return True
    preposition, content = first[1].lower() if first else match[2], search.model.content
    is_noun = first is None and _WITH_NOUN.search(asking.after) is not None
    if is_noun or (preposition == "of" and not _PARTICIPLE.fullmatch(match[1])):
        return True  # "what is it the capital of", "a writer on"
    return any(
        following == preposition and not set(content(word)).isdisjoint(content(match[1]))
        for text in _texts(search, hop)
        for word, following in pairwise(_WORD.findall(text.casefold()))
    )


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
    return any(map(_WHERE.search, _texts(search, hop)))


def _texts(search: PathSearch, hop: Hop) -> Iterator[str]:
    """The labels of a property, and phrases for a hop or its reverse, without the last "of"."""
    schema, declared = search.index.schema, search.in_use.ontology.properties.get(hop.predicate)
    yield schema.names[hop.predicate]
    yield from ("belongs to",) if BELONGS.fullmatch(schema.names[hop.predicate]) else ()
    yield from declared.alternatives if declared else ()
    for start in (hop.start, hop.reverse.start):
        yield from schema.stated.get(start, ())
        for several in (schema.phrases, schema.packaged):
            yield from (text.removesuffix(" of") for text in several.get(start, ()))


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
