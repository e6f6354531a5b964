"""The lookup ``paths``: the ends of a relation path that says what is asked, without a model.

Paths lead through imported graphs, or else through what was extracted from documents as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, permutations, product
from math import prod
from typing import Final

from sarag_rdf.answering.conversation import Found
from sarag_rdf.base.iris import statement_iri
from sarag_rdf.base.questions import is_yes_or_no
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import (
    Document,
    Evidence,
    Excerpt,
    PathAnswer,
    Query,
    RelationPath,
    Section,
    Timed,
)
from sarag_rdf.base.words import words_of
from sarag_rdf.graph.constraints import Constraints
from sarag_rdf.graph.metadata import today
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.valid_time import (
    NO_TIMES,
    Times,
    days_of,
    ended,
    moment_of,
    overlap,
    stated_times,
    timed,
)
from sarag_rdf.plugins.relation_paths.asked_kinds import is_no_agent, is_other_agent
from sarag_rdf.plugins.relation_paths.identities import Identities
from sarag_rdf.plugins.relation_paths.path_model import (
    MOST_HOPS,
    THING,
    VALUE_KINDS,
    Hop,
    annotated,
    packaged_model,
    packaged_phrases,
)
from sarag_rdf.plugins.relation_paths.path_words import Asking, said_words, stem_of
from sarag_rdf.plugins.relation_paths.paths import Paths, PathSearch, Stated, Topic, Triple, walks
from sarag_rdf.retrieval.asked_classes import AskedClasses
from sarag_rdf.retrieval.context import measured
from sarag_rdf.retrieval.seeds import MARKED, ProperNames, named_spans
from sarag_rdf.retrieval.view import GraphView

LEAST: Final = 0.8
"""Least probability of a path that is answered with; `benchmarks/paths.md` has what follows."""
_DOCUMENTS: Final = 10
"""Documents that are cited with an answer, at most."""
_WHICH: Final = re.compile(
    r"\b(?:which|what) ((?!of|are|is|was|were|did|do|does)\w+)", re.IGNORECASE
)
"""A question for a kind of thing, in a word."""
_HOW_MANY: Final = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
_HAVING: Final = re.compile(
    r"\b[Hh]ow many (\w+(?: \w+)?) "
    r"(?:(?:has|have|had) ((?:the |an? )?[\[\"]?[A-Z\d].*?)|(?:do|does|did) (.+?) have)\W*$"
)
"""A question that a property such as "number of seats" may answer."""
_COUNTED: Final = 10
"""Names of things that were counted which are given, at most."""
_NOT_CONFIRMED: Final = re.compile(
    r"\b(?:not|never|no|only|or|both|either|neither|always|first|last|former)\b|n['\u2019]t\b"
    r"|\b(?:can|could|may|might|must|shall|should|will|would)\b",
    re.IGNORECASE,
)
_NOUN: Final = re.compile(r"\b(?:the|an?) [a-z]")
"""In a question for yes or no: "is X the owner of Y", and not "does X own Y"."""
_TWO: Final = 2
"""Things that a question for yes or no names."""
_LABEL: Final = 3
"""Words of the longest label of a kind of thing that is asked for."""
_NOT_LOOKED_UP: Final = re.compile(
    r"\bwhy\b|\bhow\b(?! (?:long|far|large|tall|big|high|deep|wide|old|many|much)\b)", re.IGNORECASE
)
_AND: Final = re.compile(r"\band\b", re.IGNORECASE)
"""Who asks for several things."""
_WHERE: Final = re.compile(r"\b(?:at|in|into|on|near|from|places?|locations?)\b")
_NO_ANSWERS: Final = {
    "where": ("person", "work"),
    "who": ("place", "work", "event"),
    "whom": ("place", "work", "event"),
}
"""What question words do not ask for, as labels of classes."""
_NOW: Final = re.compile(
    r"\b(?:is|are|does|do|now|currently|today)\b|\bwho['\u2019]s\b"
    r"|^\W*(?:who|which \w+) (?!has\b|was\b)\w+s\b",
    re.IGNORECASE,
)
_PAST: Final = re.compile(r"\b(?:was|were|did|had|have|been)\b", re.IGNORECASE)
"""Who asks in the present tense asks for what has not ended: "is", and not "is known to have"."""
_PLURAL: Final = re.compile(r"\s*(?:which|what|how many)\b", re.IGNORECASE)
_PAST_FORM: Final = re.compile(
    r"\b(?:\w+ed|became|began|bought|bore|brought|built|came|chose|drew|fell|flew|fought|found|gave|"
    r"got|grew|held|kept|knew|laid|led|left|lost|made|met|paid|ran|rose|said|sang|sat|saw|sent|sold|"
    r"spoke|stood|taught|took|told|went|won|wore|wrote)\b",
    re.IGNORECASE,
)
"""A past tense, without which a question for several is in the present: "which firms operate"."""
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
_QUOTED: Final = 6
"""Statements that are quoted with an answer, at most."""
_HOMONYMS: Final = 5
"""Things with the name of the topic that are followed beside it, at most."""


def lookup(view: GraphView, query: Query) -> Found | None:
    """The answer of the best path that is probable enough.

    A path starts at one name: a question that names several things or none, or asks for several,
    for a manner or a reason, is not looked up. All things of the name answer. What kind of thing is
    asked for need not be said by the path, if the answer is one. "How many" is answered with the
    number that is stated, or else by counting things, and a question for yes or no with yes, or
    not at all: what a graph does not state may be so.
    """
    if _NOT_LOOKED_UP.search(query.text):
        return None
    if is_yes_or_no(query.text):
        return _confirmed(view, query)
    if having := _HAVING.search(query.text):
        kind, *of_either = having.groups()
        of = "".join(filter(None, of_either))
        number = _found(view, query, f"what is the number of {kind} of {of}", most_hops=1)
        things = f"what are the {kind} of {of}"
        return number or _found(view, query, things, is_count=True, most_hops=1)
    found = _found(view, query, query.text)
    which, many = _WHICH.search(query.text), _HOW_MANY.search(query.text)
    if found is None and (asked := which or many) and asked[1] not in packaged_model().not_asked:
        kind = _kind_asked(view, query.text[asked.start(1) :])
        rest = f"{query.text[: asked.start()]}what{query.text[asked.start(1) + len(kind) :]}"
        found = _found(view, query, rest, kind, is_count=asked is many)
    return found


def _confirmed(view: GraphView, query: Query) -> Found | None:
    """Yes, if one of the two things that are named is what is said of the other.

    What would be said of them the other way round as well is not said clearly enough.
    """
    text = query.text
    spans = sorted(named_spans(view.names, text, ProperNames(view)))
    if len(spans) != _TWO or _NOT_CONFIRMED.search(text):
        return None
    ((begin, end), _), ((after, last), _) = spans
    turned = f"{text[:begin]}{text[after:last]}{text[end:after]}{text[begin:end]}{text[last:]}"
    found = _said(view, query, text)
    return None if found and _said(view, query, turned) else found


def _said(view: GraphView, query: Query, text: str) -> Found | None:
    """Yes, if a path of one property from one of two names says it, and ends at the other."""
    for (begin, end), entities in named_spans(view.names, text, ProperNames(view)):
        is_one = frozenset(view.derived(Identities).every(entities))
        rest = f"{text[:begin]} {text[end:]}"
        if found := _found(view, query, rest, among=is_one, most_hops=1):
            names = "; ".join(found.names)
            return replace(found, names=("yes",), meaning=f"{names}: {found.meaning}")
    return None


def _is_directed(search: PathSearch, asking: Asking, hop: Hop) -> bool:
    """Whether a hop is said by the verb of a question in its direction, or by a noun."""
    said = search.model.words_for(search.index.schema, hop)
    is_noun = _NOUN.search(f"{asking.before} {asking.after}") is not None
    needed = [word for word in asking.words(search.model.content) if word.is_needed]
    return all(not said.isdisjoint(w.forms if is_noun else w.forms[-1:]) for w in needed)


def _kind_asked(view: GraphView, text: str) -> str:
    """The label of a class with which a text begins, also in the plural, or else its first word."""
    first, *others = islice(_WORD.finditer(text), _LABEL)
    classes = view.derived(AskedClasses)
    for end in reversed([word.end() for word in others]):
        label = text[:end]
        if any(len(known.split()) == len(label.split()) for known in classes.named(label.lower())):
            return label
    return first[0]


def _unnamed(view: GraphView, question: str) -> str | None:
    """A question without the one thing that it names; None if it names another number."""
    text, marks = MARKED.subn(r"\1", question)
    spans = named_spans(view.names, text, ProperNames(view))
    if len(spans) > 1 or not (spans or marks):
        return None
    if marks:
        return MARKED.sub("", question)
    [((begin, end), _)] = spans
    return f"{text[:begin]} {text[end:]}"


def _masked(view: GraphView, question: str) -> str:
    """A question without names, as their words say nothing of the time."""
    text = MARKED.sub(r"\1", question)
    for (begin, end), _ in sorted(named_spans(view.names, text, ProperNames(view)), reverse=True):
        text = f"{text[:begin]} {text[end:]}"
    return text


def is_present_tense(question: str) -> bool:
    """Whether a question, without names, asks for what has not ended."""
    if _PAST.search(question):
        return False
    is_plural = _PLURAL.match(question) and not _PAST_FORM.search(question)
    return bool(_NOW.search(question) or is_plural)


def _searches(view: GraphView, unnamed: str) -> Iterator[PathSearch]:
    """Paths of imported graphs; of all, if statements of documents could say what is asked.

    Both are followed through all. Documents change, and then all paths are read again: the words of
    ontologies say sooner that none is probable.
    """
    options = Paths(imported=True, least=LEAST, limit=_DOCUMENTS)
    imported = PathSearch(view, options, SchemaInUse(view.reader))
    if imported.in_use.parts:
        yield imported
    if view.reader.extracted.parts:
        words = packaged_model().content(unnamed)
        is_sayable = bool(words) and view.derived(_words).issuperset(words)
        if is_sayable and view.reader.select_provenance("typed-relationship"):
            yield PathSearch(view, replace(options, imported=False))


def _words(view: GraphView) -> frozenset[str]:
    """The stems of all words in which a question may say what documents state.

    Those of the ontology and its phrases, in use or not: nothing that grows with the documents is
    read.
    """
    ontology, model = SchemaInUse(view.reader).ontology, packaged_model()
    said = said_words(ontology.properties, common_schema().properties, model.content).values()
    phrases = chain.from_iterable(
        texts for known in (annotated(view.reader), packaged_phrases()) for texts in known.values()
    )
    classes = (class_.label for class_ in ontology.classes.values())
    names = model.content(" ".join((*phrases, *classes, *VALUE_KINDS, THING)))
    return frozenset(names).union(map(stem_of, chain.from_iterable(said)))


def _found(
    view: GraphView,
    query: Query,
    question: str,
    kind: str = "",
    *,
    is_count: bool = False,
    among: frozenset[str] = frozenset(),
    most_hops: int = MOST_HOPS,
) -> Found | None:
    """What answers a question, which is the query or says the same without the kind of thing.

    It is one of the entities `among`, if there are any.
    """
    unnamed = _unnamed(view, question)
    if unnamed is None or _AND.search(unnamed):
        return None
    for search in _searches(view, unnamed):
        topics, paths = search.find(question)
        if not paths or not paths[0].answers or len(paths[0].hops) > most_hops:
            continue
        best = paths[0]
        hops = tuple(Hop(*hop) for hop in best.hops)
        others = [topic for topic in topics if topic.seed.node != best.topic][:_HOMONYMS]
        same = (search.follow_hops(topic, hops) for topic in others)
        alike = (replace(p, score=best.score, probability=best.probability) for p in same)
        is_now = is_present_tense(_masked(view, query.text))
        chosen, stated = holding(search, query, [best, *alike], is_now=is_now)
        chosen = _as_asked(search, topics[0].question, chosen, stated)
        if among:
            is_said = any(_is_directed(search, topic.asking, hops[0]) for topic in topics)
            past = {t for t, each in stated.items() if is_now and _PAST.search(each.text)}
            chosen = [*_ending_at(chosen, among, past)] if is_said else []
        if is_count:
            things = {answer.iri for path in chosen for answer in path.answers}
            if things - _kinds(search, things - {""}).keys():
                return None  # it may be of the kind that is counted, or not
        if chosen := _of_kind(search, topics[0].asking.before, kind, chosen):
            found = looked_up(search, query, topics, chosen, stated, paths[1:], "paths")
            return _counted(search, chosen, found) if is_count else found
    return None


def _ending_at(
    paths: Iterable[RelationPath], among: frozenset[str], past: set[Triple]
) -> Iterator[RelationPath]:
    """The paths with the answers among these that need no statement in the past tense."""
    for path in paths:
        pairs = zip(path.answers, walks(path), strict=True)
        answers = tuple(a for a, walk in pairs if a.iri in among and past.isdisjoint(walk))
        if answers:
            yield replace(path, answers=answers)


def _counted(search: PathSearch, paths: Sequence[RelationPath], found: Found) -> Found | None:
    """The number of things that were found, unless there are more, or dates and numbers."""
    things = {search.identities.one(answer.iri) for path in paths for answer in path.answers}
    if "" in things or any(path.is_cut for path in paths):
        return None
    more = ", ..." if len(found.names) > _COUNTED else ""
    names = f"{', '.join(found.names[:_COUNTED])}{more}"
    return replace(found, names=(str(len(things)),), meaning=f"{names}: {found.meaning}")


def holding(
    search: PathSearch, query: Query, paths: Sequence[RelationPath], *, is_now: bool
) -> tuple[list[RelationPath], dict[Triple, Stated]]:
    """The paths with the answers that hold when asked for, and who states them most certainly.

    That is at the time of the query, or else now, with `is_now`; at any time otherwise. What a
    document says of the time of a statement holds for the same one of an imported graph.
    """
    view, one = search.view, search.identities.one
    absent = view.absent(query)
    if not query.at and is_now:
        absent |= view.derived(_ended, today())
    made = search.statements(paths)
    present = {
        triple: [each for each in several if each.relationship not in absent]
        for triple, several in made.items()
    }
    undated = _undated(search, paths, present) if query.at else frozenset()
    over = {(one(s), p, one(o)) for (s, p, o), several in present.items() if not several}

    def is_present(triple: Triple) -> bool:
        subject, property_, object_ = triple
        if triple in made:
            return bool(present[triple]) and triple not in undated
        is_over = triple in undated or (one(subject), property_, one(object_)) in over
        return not is_over and statement_iri(*triple) not in absent

    chosen = []
    for path in paths:
        pairs = zip(path.answers, walks(path), strict=True)
        if answers := tuple(answer for answer, walk in pairs if all(map(is_present, walk))):
            chosen.append(replace(path, answers=answers))
    return chosen, {triple: several[0] for triple, several in present.items() if several}


def _undated(
    search: PathSearch, paths: Sequence[RelationPath], stated: Mapping[Triple, Sequence[Stated]]
) -> frozenset[Triple]:
    """The statements without a time, of one value at a time where another value has one."""
    several, undated = _single_values(search, paths), set[Triple]()
    every = chain.from_iterable(stated.values())
    made = {each.relationship for each in every}
    times = stated_times(search.view.reader, made) if several else {}
    for values in several:
        dated = {
            triple
            for triple in chain.from_iterable(values.values())
            if any(each.relationship in times for each in stated.get(triple, ()))
        }
        if dated:
            undated.update(chain.from_iterable(values.values()))
            undated -= dated
    return frozenset(undated)


def _ended(view: GraphView, day: str) -> frozenset[str]:
    return ended(view.reader, moment_of(day))


def _of_kind(
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
    of_kind = classes.named(kind.lower())
    named = of_kind.get(max(of_kind, key=len, default=""), frozenset())
    excluded = frozenset(chain.from_iterable(classes.named(" ".join(other)).values()))
    stems = search.model.content(kind)
    chosen = []
    for path in paths:
        iris = {answer.iri for answer in path.answers} - {""}
        wrong = classes.instances(iris, excluded) if excluded else set()
        right = classes.instances(iris, named) if named else set()
        kinds = _kinds(search, iris)
        if not asked.isdisjoint(("who", "whom")):
            things = {iri for iri, own in kinds.items() if is_no_agent(own)}
            wrong |= things if things == iris else set()  # a robot may be among the crew
        if which := _WHICH.search(question):
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


def _kinds(search: PathSearch, iris: Iterable[str]) -> dict[str, set[str]]:
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


def _as_asked(
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
    """The labels of a property; the further ones of the packaged ontology say more than it does."""
    schema, declared = search.index.schema, search.in_use.ontology.properties.get(hop.predicate)
    yield schema.names[hop.predicate]
    yield from schema.phrases.get(hop.start, ())
    if declared and hop.predicate not in common_schema().properties:
        yield from declared.alternatives


def _specific(text: str) -> frozenset[str]:
    """The words of a text that say more than properties do."""
    words = {word.removesuffix("s") for word in _WORD.findall(text.casefold())}
    content = packaged_model().content
    return _SPECIFIC.intersection(words).union({*content(_MAKING)}.intersection(content(text)))


def looked_up(
    search: PathSearch,
    query: Query,
    topics: Sequence[Topic],
    chosen: Sequence[RelationPath],
    stated: Mapping[Triple, Stated],
    others: Sequence[RelationPath],
    name: str,
) -> Found:
    """The ends of the chosen paths, with the documents of the entities on them.

    These are the sentences that state the path and the pages of imported entities, or else the
    documents that describe them. `name` is that of the context. The answer is as probable as the
    path and, of the least certain end, all statements on the surest way to it, divided by the
    number of values that exclude each other.
    """
    best, view = chosen[0], search.view
    retrieved = search.retrieved(query, topics, tuple(chosen))
    retrieved = replace(retrieved, paths=(*chosen, *others))
    answers = [answer for path in chosen for answer in path.answers]
    on_path = {path.topic for path in chosen}.union(
        iri for answer in answers for iri in (*answer.nodes, answer.iri)
    )
    walked = [*chain.from_iterable(map(walks, chosen))]
    ways = [[stated[triple] for triple in walk if triple in stated] for walk in walked]
    certainty: defaultdict[str, float] = defaultdict(float)  # of each thing, by its surest way
    for answer, way in zip(answers, ways, strict=True):
        thing = search.identities.one(answer.iri) if answer.iri else answer.name
        certainty[thing] = max(certainty[thing], prod(each.confidence for each in way))
    texts = defaultdict[str, list[str]](list)
    for statement in dict.fromkeys(chain.from_iterable(ways)):
        texts[statement.document].append(statement.text)
    ranked_documents = (ranked for ranked in retrieved.documents if ranked.entity)
    reached = [ranked.document for ranked in ranked_documents if ranked.document.text]
    pages = [document for document in reached if document.iri in on_path.union(texts)]
    excerpts = {
        f"D{number}": _stating(page, texts[page.iri])
        for number, page in enumerate(pages or reached, start=1)
    }
    section = Section("", excerpts, ())
    several = _exclusive(search, chosen, stated)
    problem = "; the statements disagree, it has one value at a time" if several > 1 else ""
    problem += _without_times(view, answers, ways) if query.at else ""
    probability = best.probability * min(certainty.values())
    return Found(
        _names(search, answers),
        f"{best.text} ({best.topic_name}){problem}{_statements(view, excerpts, ways)}",
        round(probability / several, 4),
        Evidence(retrieved, measured((section,) if excerpts else (), name)),
    )


def _without_times(
    view: GraphView, answers: Sequence[PathAnswer], ways: Sequence[Sequence[Stated]]
) -> str:
    """Which answers are given for a time although nothing says when they hold, if others do."""
    relationships = {each.relationship for each in chain.from_iterable(ways)}
    times = stated_times(view.reader, relationships)
    dated = {
        answer.name
        for answer, way in zip(answers, ways, strict=True)
        if any(each.relationship in times for each in way)
    }
    undated = dict.fromkeys(answer.name for answer in answers if answer.name not in dated)
    if not dated or not undated:
        return ""
    more = ", ..." if len(undated) > _HOMONYMS else ""
    return f"; nothing says when, for {', '.join([*undated][:_HOMONYMS])}{more}"


def _exclusive(
    search: PathSearch, paths: Sequence[RelationPath], stated: Mapping[Triple, Stated]
) -> int:
    """The most values on paths of which one thing has one at a time; 1 if there are no two."""
    most, several = 1, _single_values(search, paths)
    made = {each.relationship for each in stated.values()}
    times = stated_times(search.view.reader, made) if several else {}
    for values in several:
        known = {
            value: [
                times.get(stated[triple].relationship, NO_TIMES) if triple in stated else NO_TIMES
                for triple in values[value]
            ]
            for value in _precise(values)
        }
        clashing = {
            one for one, other in permutations(known, 2) if _may_clash(known[one], known[other])
        }
        most = max(most, len(clashing))
    return most


def _may_clash(some: Iterable[Times], others: Iterable[Times]) -> bool:
    """Whether values have a day in common; what has ended has none with what has no time."""
    return all(
        overlap(days_of(one), days_of(other))
        and not any(own[1] and NO_TIMES in (one, other) for own in (one, other))
        for one, other in product(some, others)
    )


def _single_values(
    search: PathSearch, paths: Sequence[RelationPath]
) -> list[dict[str, set[Triple]]]:
    """For each thing and property on paths with one value at a time: value -> its statements."""
    single, one = search.view.derived(_single), search.identities.one
    values: defaultdict[tuple[str, str], defaultdict[str, set[Triple]]]
    values = defaultdict(lambda: defaultdict(set))
    for triple in chain.from_iterable(chain.from_iterable(map(walks, paths))):
        subject, property_, value = triple
        if property_ in single:
            values[one(subject), property_][one(value)].add(triple)
    return [dict(own) for own in values.values() if len(own) > 1]


def _single(view: GraphView) -> frozenset[str]:
    schema = SchemaInUse(view.reader).ontology
    return frozenset(Constraints.read(view.reader, schema).single)


def _precise(values: Iterable[str]) -> list[str]:
    """Each value once; not "1938-01" beside "1938-01-31"."""
    return [v for v in dict.fromkeys(values) if not any(o.startswith(f"{v}-") for o in values)]


def _stating(document: Document, statements: Sequence[str]) -> Excerpt:
    """The sentence with the most words of each statement; all of a document that makes none."""
    if not statements:
        return Excerpt.whole(document)
    language, text = document.language, document.text
    sentences = {span: words_of(text[slice(*span)], language) for span in sentence_spans(text)}
    wanted = [words_of(statement, language) for statement in statements]
    best = {max(sentences, key=lambda span: len(sentences[span] & words)) for words in wanted}
    return Excerpt(document, tuple(sorted(best)))


def _statements(
    view: GraphView, excerpts: Mapping[str, Excerpt], ways: Sequence[Sequence[Stated]]
) -> str:
    """Some of the statements of documents on the way to each answer, with times and labels."""
    labels = {excerpt.document.iri: label for label, excerpt in excerpts.items()}
    statements = {
        each.relationship: each
        for each in dict.fromkeys(chain.from_iterable(ways))
        if each.document in labels
    }
    known = timed(view.reader, statements)
    several = []
    for relationship, each in statements.items():
        times = Timed(**known.get(relationship, {})).times
        is_said = not times or times in each.text
        when = "" if is_said else f" ({times})"
        several.append(f"{each.text}{when} {labels[each.document]}")
    more = ["..."] if len(several) > _QUOTED else []
    return f": {'; '.join((*several[:_QUOTED], *more))}" if several else ""


def _names(search: PathSearch, answers: Sequence[PathAnswer]) -> tuple[str, ...]:
    """What answers are called, each thing once, and dates as precisely as they are known."""
    one = search.identities.one
    dates = {answer.name for answer in answers if not answer.iri}
    precise = {*_precise(dates)}
    called = {answer.iri: answer.name for answer in answers if answer.iri}
    names = dict.fromkeys(called.get(one(answer.iri), answer.name) for answer in answers)
    return tuple(name for name in names if name not in dates or name in precise)
