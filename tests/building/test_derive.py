"""The traversed graph as a function of the evidence: whatever came, changed and went in between."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from sarag_rdf.base.iris import Minter, normalize_name, use_of
from sarag_rdf.base.types import (
    Document,
    EntityType,
    Extraction,
    Mention,
    Method,
    Relation,
    Source,
    Value,
)
from sarag_rdf.base.vocab import RDF, RDFS, SARAG, SKOS, XSD
from sarag_rdf.building.derive import resolve
from sarag_rdf.building.incremental import rebuild, refresh
from sarag_rdf.building.source_evidence import SourceGraph
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore

MINTER = Minter()
METHOD = Method("test", "none")
KG = NamedNode(MINTER.kg_graph)

Content = tuple[Source, tuple[Extraction, ...]]
"""A source, and what stands in each of its documents."""


class RemainingEvidence:
    """A graph that is kept up to date as sources come and go, and the sources that it holds."""

    def __init__(self) -> None:
        self.store = OxigraphStore.in_memory()
        self.reader = GraphReader(self.store, MINTER)
        self.sources: dict[str, Content] = {}
        ontology = NamedNode(MINTER.ontology_graph("test"))
        axioms = [(RDFS.domain, DOMAINS), (RDFS.range, RANGES)]
        self.store.load(
            Quad(NamedNode(property_), axiom, NamedNode(class_), ontology)
            for axiom, classes in axioms
            for property_, class_ in classes.items()
        )

    def change(self, contents: Mapping[str, Content | None]) -> None:
        """Add or replace sources, or remove those whose content is None, in one step."""
        known = [key for key in contents if key in self.sources]
        drop = [MINTER.source_graph(MINTER.source(key, "", "")) for key in known]
        insert = [q for key, content in contents.items() if content for q in quads(key, content)]
        self.store.apply(refresh(self.reader, drop, insert))
        for key, content in contents.items():
            self.sources.pop(key, None)
            if content:
                self.sources[key] = content

    def triples(self) -> set[Triple]:
        """The traversed graph."""
        return {quad.triple for quad in self.store.quads(MINTER.kg_graph)}

    def labels(self, name: str, property_: NamedNode = SKOS.prefLabel) -> set[Literal]:
        """Values of a property of the entity of a name."""
        entity = NamedNode(MINTER.entity(normalize_name(name)))
        found = {
            t.object for t in self.triples() if (t.subject, t.predicate) == (entity, property_)
        }
        return {value for value in found if isinstance(value, Literal)}

    def pairs(self, property_: NamedNode) -> set[tuple[str, str]]:
        """Subjects and objects of a property, as names where they are of entities or mentions."""
        names = {MINTER.entity(normalize_name(n)): normalize_name(n) for n in FORMS}
        names |= {MINTER.mention(normalize_name(n)): normalize_name(n) for n in FORMS}

        def named(term: object) -> str:
            return names.get(str(term)[1:-1], str(term))

        found = [t for t in self.triples() if t.predicate == property_]
        return {(named(t.subject), named(t.object)) for t in found}


def documents_of(key: str, content: Content) -> list[tuple[Document, Extraction]]:
    source, extractions = content
    iri = MINTER.source(key, "", "")
    return [
        (
            Document(
                MINTER.document(iri, n, n + 1, source.text), iri, source.title, source.text,
                n, n + 1, source.language,
            ),
            extraction,
        )
        for n, extraction in enumerate(extractions)
    ]  # fmt: skip


def quads(key: str, content: Content) -> list[Quad]:
    iri = MINTER.source(key, "", "")
    return SourceGraph(MINTER, content[0], iri, METHOD, documents_of(key, content)).quads


# ------------------------------------------------------------------------------ Histories

FORMS = ("Ann", "ANN", "Anna", "Annabel", "Bob", "the Bob", "Bobby", "Robert")
"""Eight spellings of six names."""
TITLES = {
    "": ([], ""),
    "Ann": (["ann"], "ann"),
    "Robert (singer)": (["robert"], "robert"),
    "Friends of the Bob": (["friends", "bob"], ""),
}
"""Titles, the parts of each, and the name that it is without its bracket."""

forms = st.sampled_from(FORMS)
types: st.SearchStrategy[EntityType] = st.sampled_from(("person", "organization", "misc"))
CITY, PERSON, SINGER = (f"https://example.com/{name}" for name in ("City", "Person", "Singer"))
KNOWS, BORN_IN, BORN_ON = (f"https://example.com/{name}" for name in ("knows", "bornIn", "bornOn"))
DOMAINS = {KNOWS: PERSON, BORN_IN: PERSON, BORN_ON: PERSON}
RANGES = {KNOWS: PERSON, BORN_IN: CITY}
mentions = st.builds(
    Mention,
    forms,
    types,
    st.lists(forms, max_size=2).map(tuple),
    st.lists(st.sampled_from(("one thing", "another")), max_size=1).map(tuple),
    st.lists(st.sampled_from((SINGER, CITY)), max_size=1).map(tuple),
)
values = st.sampled_from(("1900", "1901")).map(lambda y: Value(f"in {y}", y, XSD.gYear.value))


@st.composite
def extractions(draw: st.DrawFn) -> Extraction:
    found = draw(st.lists(mentions, min_size=1, max_size=3))
    names = st.sampled_from([mention.name for mention in found])
    phrases = st.sampled_from(("knows", "is like"))
    predicates = st.sampled_from(("", KNOWS, BORN_IN))
    relations = st.one_of(
        st.builds(Relation, names, phrases, names, predicate=predicates, inverse=st.booleans()),
        values.flatmap(
            lambda value: st.builds(
                Relation, names, st.just("was born"), st.just(value.text),
                predicate=st.sampled_from(("", BORN_ON)), value=st.just(value),
            )
        ),
    )  # fmt: skip
    return Extraction(tuple(found), tuple(draw(st.lists(relations, max_size=2))))


contents = st.tuples(
    st.builds(
        Source,
        st.sampled_from(("x", "y")),
        st.sampled_from(tuple(TITLES)),
        language=st.sampled_from(("en", "en", "de")),
    ),
    st.lists(extractions(), max_size=2).map(tuple),
)
steps = st.dictionaries(
    st.sampled_from("abcd"), st.one_of(st.none(), contents, contents), min_size=1, max_size=2
)


@pytest.mark.history
@given(st.lists(steps, max_size=12), st.randoms(use_true_random=False))
def test_whatever_came_and_went_the_graph_is_that_of_the_sources_left(
    history: list[dict[str, Content | None]], order: random.Random
) -> None:
    kept = RemainingEvidence()
    for step in history:
        kept.change({key: c for key, c in step.items() if c or key in kept.sources})
        anew = rebuild(kept.reader)
        assert kept.triples() == {quad.triple for quad in anew.insert}
        assert (set(anew.drop), anew.delete) == ({MINTER.kg_graph}, ())

    keys = list(kept.sources)
    order.shuffle(keys)
    fresh = RemainingEvidence()
    for key in keys:
        fresh.change({key: kept.sources[key]})
    assert set(fresh.store.quads()) == set(kept.store.quads())

    at_once = RemainingEvidence()
    at_once.change(dict(kept.sources))
    assert set(at_once.store.quads()) == set(kept.store.quads())

    assert kept.triples() == expected(kept.sources)
    for quad in kept.store.quads():
        assert not isinstance(quad.graph_name, DefaultGraph)
        assert not any(isinstance(t, BlankNode) for t in (*quad.triple, quad.graph_name))


def expected(sources: Mapping[str, Content]) -> set[Triple]:
    """The traversed graph, worked out from the sources a second time, without any of its code."""
    found = [
        (key, source.language, document, extraction)
        for key, (source, extraction_list) in sources.items()
        for document, extraction in documents_of(key, (source, extraction_list))
    ]
    said = [(key, language, m) for key, language, _, e in found for m in e.mentions]
    name = {form: form.lower().removeprefix("the ") for form in FORMS}
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for _, _, mention in said:
        for alias in mention.aliases:
            owners[name[alias]] |= {name[mention.name]} - {name[alias]}
    target: dict[str, str] = {}
    for own in {name[mention.name] for _, _, mention in said}:
        target[own] = own
        if len(owners[own]) == 1:
            (owner,) = owners[own]
            if len(owners[owner]) != 1:
                target[own] = owner
            elif owners[owner] == {own}:
                target[own] = max(own, owner, key=lambda n: (len(n), [-ord(c) for c in n]))
    entity = {own: NamedNode(MINTER.entity(other)) for own, other in target.items()}
    triples = set()
    for own, node in entity.items():
        named = NamedNode(MINTER.mention(own))
        triples.add(Triple(named, SARAG.refersTo, node))
        triples.add(Triple(named, RDF.type, SARAG.Mention))
        triples.add(Triple(named, SARAG.normalizedName, Literal(own)))
    for _, _, chunk, extraction in found:
        document = chunk.iri
        parts, whole = TITLES[chunk.title]
        for part in parts:
            if part in entity:
                triples.add(Triple(NamedNode(document), SARAG.describes, entity[part]))
        told = [name[mention.name] for mention in extraction.mentions]
        if whole in told:
            triples.add(Triple(NamedNode(document), SARAG.about, entity[whole]))
        for mention in extraction.mentions:
            own = name[mention.name]
            use = NamedNode(use_of(document, MINTER.mention(own)))
            triples.add(Triple(use, SARAG.describes, entity[own]))
            triples.add(Triple(NamedNode(document), SARAG.describes, entity[own]))
            triples |= {Triple(entity[own], RDF.type, NamedNode(c)) for c in mention.classes}
        seen = set()
        for r in extraction.relations:
            ends = name[r.subject], name.get(r.object, r.object)
            iris = [MINTER.mention(end) for end in ends]
            relationship = MINTER.relationship(iris[0], r.phrase, iris[1], r.sentence, document)
            if relationship in seen:
                continue
            seen.add(relationship)
            node, first = NamedNode(relationship), entity[ends[0]]
            if r.value is None:
                second = entity[ends[1]]
                triples.add(Triple(node, SARAG.subject, first))
                triples.add(Triple(node, SARAG.object, second))
                triples.add(Triple(first, SARAG.relatedTo, second))
                typed = r.predicate and first != second
                if r.predicate and r.inverse:
                    first, second = second, first
                statement = Triple(first, NamedNode(r.predicate or "x:"), second)
            else:
                literal = Literal(r.value.lexical, datatype=XSD.gYear)
                typed = bool(r.predicate)
                statement = Triple(first, NamedNode(r.predicate or "x:"), literal)
                triples |= {Triple(node, SARAG.subject, first)} if typed else set()
            if typed:
                triples.add(Triple(first, RDF.type, NamedNode(DOMAINS[r.predicate])))
                if r.value is None:
                    triples.add(Triple(second, RDF.type, NamedNode(RANGES[r.predicate])))
                direction = SARAG.inverseProperty if r.inverse else SARAG.property
                triples |= {statement, Triple(node, direction, statement.predicate)}
    classes = {"person": SARAG.Person, "organization": SARAG.Organization, "misc": SARAG.MiscEntity}
    classes["geopolitical"] = SARAG.GeoPoliticalEntity
    type_of = {CITY: "geopolitical", PERSON: "person", SINGER: "person"}
    for winner in set(target.values()):
        node = NamedNode(MINTER.entity(winner))
        of_it = [(key, lang, m) for key, lang, m in said if target[name[m.name]] == winner]
        votes = {(key, name[m.name], m.type) for key, _, m in of_it}
        persons, organizations = (
            sum(vote[2] == type_ for vote in votes) for type_ in ("person", "organization")
        )
        type_ = "person" if persons >= organizations else "organization"
        type_ = type_ if persons or organizations else "misc"
        types = {
            type_of[t.object.value]
            for t in triples
            if t.subject == node and isinstance(t.object, NamedNode) and t.object.value in type_of
        }
        type_ = types.pop() if len(types) == 1 else type_
        triples |= {Triple(node, RDF.type, SARAG.Entity), Triple(node, RDF.type, classes[type_])}
        preferred = set()
        for language in {lang for _, lang, _ in of_it}:
            uses = {(key, m.name) for key, lang, m in of_it if lang == language}
            count = {form: sum(use[1] == form for use in uses) for _, form in uses}
            own_forms = [form for form in count if name[form] == winner]
            best = min(own_forms or count, key=lambda form: (-count[form], form))
            preferred.add(Literal(best, language=language))
        forms_ = {Literal(f, language=lang) for _, lang, m in of_it for f in (m.name, *m.aliases)}
        for label in preferred:
            triples |= {Triple(node, SKOS.prefLabel, label), Triple(node, RDFS.label, label)}
        triples |= {Triple(node, SKOS.altLabel, label) for label in forms_ - preferred}
    return triples


# ------------------------------------------------------------------- Resolution, by example


def resolved(aliases: Mapping[str, Iterable[str]], *names: str) -> dict[str, str]:
    """Resolve names, given name -> its aliases. Names stand for themselves as mentions."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for name, others in aliases.items():
        for other in others:
            owners[other].add(name)
    frozen = {alias: frozenset(found) for alias, found in owners.items()}
    return resolve(names, frozen, lambda mention: mention)


def test_a_name_that_is_the_alias_of_one_other_is_that_one() -> None:
    found = resolved({"william shakespeare": ["the bard"]}, "the bard", "william shakespeare")
    assert found == {
        "the bard": "william shakespeare",
        "william shakespeare": "william shakespeare",
    }


def test_a_name_that_two_others_claim_is_neither() -> None:
    found = resolved({"john smith": ["smith"], "jane smith": ["smith"]}, "smith")
    assert found == {"smith": "smith"}


def test_a_name_does_not_own_itself() -> None:
    assert resolved({"smith": ["smith"], "john smith": ["smith"]}, "smith") == {
        "smith": "john smith"
    }
    assert resolved({"smith": ["smith"]}, "smith") == {"smith": "smith"}


def test_one_step_and_no_closure() -> None:
    # nyc is new york's alias, new york is new york city's: nyc's owner is somebody else, so nyc
    # stays for itself, and new york goes to new york city.
    found = resolved(
        {"new york": ["nyc"], "new york city": ["new york"]}, "nyc", "new york", "new york city"
    )
    assert found == {
        "nyc": "nyc",
        "new york": "new york city",
        "new york city": "new york city",
    }


def test_an_owner_whose_own_name_is_ambiguous_stands_for_itself_and_can_be_referred_to() -> None:
    found = resolved({"b": ["a"], "c": ["b"], "d": ["b"]}, "a", "b")
    assert found == {"a": "b", "b": "b"}


@pytest.mark.parametrize("names", [("usa", "united states"), ("united states", "usa")])
def test_two_names_that_are_each_others_alias_are_one_thing_by_the_longer(
    names: tuple[str, str],
) -> None:
    found = resolved({"usa": ["united states"], "united states": ["usa"]}, *names)
    assert set(found.values()) == {"united states"}


def test_among_names_of_equal_length_the_smaller_is_taken() -> None:
    assert set(resolved({"abc": ["abd"], "abd": ["abc"]}, "abd", "abc").values()) == {"abc"}


def test_three_names_in_a_circle_stay_apart() -> None:
    found = resolved({"a": ["b"], "b": ["c"], "c": ["a"]}, "a", "b", "c")
    assert found == {"a": "a", "b": "b", "c": "c"}


# ------------------------------------------------------------------ The graph, by example


def said(*found: Mention, relations: tuple[Relation, ...] = (), language: str = "en") -> Content:
    """A source of one document in which this is said."""
    return Source("text", language=language), (Extraction(found, relations),)


def test_the_alias_of_one_source_merges_the_names_of_another_until_it_goes() -> None:
    kept = RemainingEvidence()
    bob = said(Mention("Bob", "person"), Mention("Ann"), relations=(Relation("Bob", "met", "Ann"),))
    kept.change({"a": bob})
    before = kept.triples()
    kept.change({"b": said(Mention("Robert", "person", ("Bob",)))})
    assert kept.pairs(SARAG.refersTo) == {("bob", "robert"), ("robert", "robert"), ("ann", "ann")}
    assert kept.pairs(SARAG.relatedTo) == {("robert", "ann")}
    assert kept.labels("Robert") == {Literal("Robert", language="en")}
    assert kept.labels("Robert", SKOS.altLabel) == {Literal("Bob", language="en")}
    assert not kept.labels("Bob")

    kept.change({"b": None})
    assert kept.pairs(SARAG.refersTo) == {("bob", "bob"), ("ann", "ann")}
    assert kept.triples() == before


def test_an_alias_that_becomes_ambiguous_splits_again() -> None:
    kept = RemainingEvidence()
    kept.change({"a": said(Mention("Bob"), Mention("Robert", aliases=("Bob",)))})
    assert ("bob", "robert") in kept.pairs(SARAG.refersTo)
    kept.change({"b": said(Mention("Bobby", aliases=("Bob",)))})
    assert ("bob", "bob") in kept.pairs(SARAG.refersTo)
    kept.change({"a": said(Mention("Bob"))})
    assert ("bob", "bobby") in kept.pairs(SARAG.refersTo)


def test_an_alias_that_nobody_mentions_is_a_label_and_no_entity() -> None:
    kept = RemainingEvidence()
    kept.change({"a": said(Mention("Robert", aliases=("Bob",)))})
    assert kept.pairs(SARAG.refersTo) == {("robert", "robert")}
    assert kept.labels("Robert", SKOS.altLabel) == {Literal("Bob", language="en")}


def test_the_type_is_what_most_sources_say_and_misc_only_if_none_says_more() -> None:
    kept = RemainingEvidence()
    classes = {SARAG.Person, SARAG.Organization, SARAG.MiscEntity}

    def of_ann() -> set[object]:
        return set[object](classes) & {t.object for t in kept.triples() if t.predicate == RDF.type}

    kept.change({"a": said(Mention("Ann", "misc")), "b": said(Mention("Ann", "misc"))})
    assert of_ann() == {SARAG.MiscEntity}
    kept.change({"c": said(Mention("Ann", "organization"))})
    assert of_ann() == {SARAG.Organization}
    kept.change({"d": said(Mention("Ann", "person"))})
    assert of_ann() == {SARAG.Person}  # One vote each: the first of the four kinds.
    kept.change({"b": said(Mention("Ann", "organization"))})
    assert of_ann() == {SARAG.Organization}


def test_one_preferred_label_a_language_the_others_alternative() -> None:
    kept = RemainingEvidence()
    kept.change(
        {
            "a": said(Mention("ANN")),
            "b": said(Mention("Ann")),
            "c": said(Mention("Ann")),
            "d": said(Mention("ANN"), language="de"),
        }
    )
    assert kept.labels("Ann") == {Literal("Ann", language="en"), Literal("ANN", language="de")}
    assert kept.labels("Ann", RDFS.label) == kept.labels("Ann")
    assert kept.labels("Ann", SKOS.altLabel) == {Literal("ANN", language="en")}


def test_the_preferred_label_is_a_form_of_the_name_that_the_entity_is_called_by() -> None:
    kept = RemainingEvidence()
    bob = said(Mention("Bob"))
    kept.change({"a": bob, "b": bob, "c": said(Mention("Robert", aliases=("Bob",)))})
    assert kept.labels("Robert") == {Literal("Robert", language="en")}


def test_what_another_source_supports_stays_when_one_goes() -> None:
    kept = RemainingEvidence()
    both = said(Mention("Ann"), Mention("Bob"), relations=(Relation("Ann", "met", "Bob"),))
    kept.change({"a": both, "b": both})
    assert len(kept.pairs(SARAG.subject)) == 2
    documents = {key: documents_of(key, both)[0][0].iri for key in "ab"}
    assert {f"<{documents['a']}>", f"<{documents['b']}>"} <= {
        text for text, _ in kept.pairs(SARAG.describes)
    }

    kept.change({"a": None})
    assert kept.pairs(SARAG.relatedTo) == {("ann", "bob")}
    assert len(kept.pairs(SARAG.subject)) == len(kept.pairs(SARAG.object)) == 1
    assert (f"<{documents['b']}>", "ann") in kept.pairs(SARAG.describes)
    assert (f"<{documents['a']}>", "ann") not in kept.pairs(SARAG.describes)

    kept.change({"b": None})
    ontology = NamedNode(MINTER.ontology_graph("test"))
    assert {quad.graph_name for quad in kept.store.quads()} == {ontology}


def test_a_title_names_what_it_says_as_a_whole_once_another_document_mentions_it() -> None:
    kept = RemainingEvidence()
    source = Source("text", "Bank of England")
    kept.change({"a": (source, (Extraction((Mention("Ann"),)),))})
    [(document, _)] = documents_of("a", (source, (Extraction(),)))
    described = f"<{document.iri}>"
    assert (described, "ann") in kept.pairs(SARAG.describes)

    kept.change({"b": said(Mention("the Bank of England"), Mention("England"))})
    entities = {(described, f"<{MINTER.entity(name)}>") for name in ("bank of england", "england")}
    assert entities <= kept.pairs(SARAG.describes)
    kept.change({"b": None})
    assert not entities & kept.pairs(SARAG.describes)


def test_a_relation_whose_end_is_not_among_the_mentions_is_left_out() -> None:
    kept = RemainingEvidence()
    kept.change({"a": said(Mention("Ann"), relations=(Relation("Ann", "met", "Bob"),))})
    assert not kept.pairs(SARAG.subject)
    assert not kept.pairs(SARAG.relatedTo)


def test_a_source_graph_holds_no_times_and_is_the_same_every_time() -> None:
    content = said(Mention("Ann", "person", ("Anna",), ("a friend",)), Mention("Bob"))
    found = quads("a", content)
    assert found == quads("a", content)
    assert {q.graph_name for q in found} == {
        NamedNode(MINTER.source_graph(MINTER.source("a", "", "")))
    }
    datatypes = {q.object.datatype for q in found if isinstance(q.object, Literal)}
    assert XSD.integer in datatypes
    assert not {XSD.dateTime, XSD.date, XSD.time, XSD.dateTimeStamp} & datatypes


def test_a_thing_with_a_class_is_of_no_type_that_the_class_is_not() -> None:
    museum = "https://example.org/museum#"
    graph = RemainingEvidence()

    def of_lute() -> set[object]:
        classes = {SARAG.Person, SARAG.Organization, SARAG.MiscEntity}
        return set[object](classes) & {t.object for t in graph.triples() if t.predicate == RDF.type}

    person = said(Mention("Swan Lute", "person"))
    graph.change({"a": person, "b": person})
    assert of_lute() == {SARAG.Person}
    lute = Mention("Swan Lute", "misc", classes=(museum + "MuseumInstrument",))
    graph.change({"c": said(lute)})
    assert of_lute() == {SARAG.MiscEntity}
    venue = Mention("Swan Lute", "organization", classes=(museum + "Venue", museum + "Company"))
    graph.change({"d": said(venue)})
    assert of_lute() == {SARAG.Person}
    graph.change({"c": None})
    assert of_lute() == {SARAG.Organization}
    graph.change({"d": None})
    assert of_lute() == {SARAG.Person}
