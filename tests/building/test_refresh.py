"""What a change of sources means for the traversed graph: exactly what deriving it anew gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, Store, Triple

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.ports import Table
from sarag_rdf.base.resources import query_file
from sarag_rdf.base.types import Mention, Relation
from sarag_rdf.base.vocab import PROV, RDFS, SARAG, XSD
from sarag_rdf.building import retained
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.decision_records import (
    ANY_TYPE,
    NO_PROPERTY,
    VALUE_TYPE,
    Decision,
    read_decisions,
)
from sarag_rdf.building.incremental import rebuild, refresh
from sarag_rdf.building.retained import VoteCounts
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.store.oxigraph import OxigraphStore
from sarag_rdf.kg.deciding import record_decisions
from tests.building.test_derive import (
    BORN_IN,
    CITY,
    DOMAINS,
    KNOWS,
    PERSON,
    RANGES,
    Content,
    quads,
    said,
)

MINTER = Minter()


def graph_of(source: str) -> str:
    return MINTER.source_graph(MINTER.source(source, "", ""))


# ------------------------------------------------------------------------ Raw evidence

AXIOMS = tuple(
    Quad(NamedNode(p), axiom, NamedNode(c), NamedNode(MINTER.ontology_graph("test")))
    for axiom, classes in ((RDFS.domain, DOMAINS), (RDFS.range, RANGES))
    for p, c in classes.items()
)
OWN_CLASSES = (SARAG.Person.value, SARAG.GeoPoliticalEntity.value)
NAMES = tuple("abcdef")
names = st.sampled_from(NAMES)
labels = st.builds(
    Literal, st.sampled_from(("A", "B", "C")), language=st.sampled_from(("en", "en", "de"))
)


def mention(name: str) -> NamedNode:
    return NamedNode(MINTER.mention(name))


@st.composite
def facts(draw: st.DrawFn) -> list[Triple]:
    """What can stand in a source's graph, with and without all that makes it complete."""
    name, other = draw(names), draw(names)
    text = NamedNode(f"{MINTER.base}doc/{draw(st.integers(1, 2))}")
    node, use = mention(name), NamedNode(f"{text.value}#{name}")
    kind = draw(st.sampled_from(("name", "name", "alias", "type", "use", "use", "joined")))
    spelling = draw(st.sampled_from((name, name.upper(), f"the {name}")))
    language = draw(st.sampled_from(("en", "en", "de")))
    found = [Triple(use, SARAG.name, Literal(spelling, language=language))]
    found += [Triple(use, SARAG.useOf, node)] if draw(st.integers(0, 5)) else []
    found += [Triple(use, PROV.wasDerivedFrom, text)] if draw(st.integers(0, 5)) else []
    if kind == "name":
        return found
    if kind == "alias":
        found += [Triple(use, SARAG.alias, draw(labels))] if draw(st.booleans()) else []
        return [*found, Triple(use, SARAG.aliasMention, mention(other))]
    if kind == "type":
        type_ = draw(st.sampled_from(("person", "organization", "misc")))
        class_ = NamedNode(draw(st.sampled_from((CITY, PERSON))))
        classes = [Triple(use, SARAG.entityClass, class_)] if draw(st.booleans()) else []
        dated = Triple(use, SARAG.value, Literal("1800", datatype=XSD.gYear))
        values = [dated] if draw(st.booleans()) else []
        return [*found, Triple(use, SARAG.entityType, Literal(type_)), *classes, *values]
    if kind == "use":
        property_ = draw(st.sampled_from(("titleMention", "topicMention")))
        return [*found, Triple(text, SARAG[property_], node)]
    number = draw(st.integers(1, 2))
    joined = NamedNode(f"{MINTER.base}relationship/{name}-{other}-{number}")
    stated = draw(st.sampled_from(("statedProperty", "statedInverseProperty", "")))
    predicate = NamedNode(draw(st.sampled_from((KNOWS, BORN_IN))))
    year = Literal("1900", datatype=XSD.gYear)
    return [
        *found,
        *([Triple(joined, SARAG[stated], predicate)] if stated else []),
        *([Triple(joined, SARAG.value, year)] if not draw(st.integers(0, 3)) else []),
        Triple(joined, PROV.wasDerivedFrom, text),
        Triple(joined, SARAG.phrase, Literal(f"phrase {number}", language="en")),
        Triple(joined, SARAG.subjectMention, node),
        Triple(joined, SARAG.objectMention, mention(other)),
    ]


evidence = st.lists(facts(), min_size=1, max_size=8).map(
    lambda found: list(chain.from_iterable(found))
)
raw_steps = st.dictionaries(
    st.sampled_from("wxyz"), st.one_of(st.none(), evidence, evidence), min_size=1, max_size=3
)


decisions = st.one_of(
    st.builds(Decision, st.just("merged"), names, names),
    st.builds(Decision, st.just("merged"), names, names),
    st.builds(Decision, st.just("different"), names, names),
    st.builds(Decision, st.just("class"), names, st.sampled_from((CITY, PERSON, *OWN_CLASSES))),
    st.builds(
        Decision,
        st.sampled_from(("property", "inverse property")),
        st.sampled_from(("phrase 1", "phrase 2")),
        st.sampled_from((KNOWS, BORN_IN, NO_PROPERTY)),
        ends=st.tuples(
            st.sampled_from(("person", "organization", "misc", "", ANY_TYPE)),
            st.sampled_from(("person", "organization", "misc", "", ANY_TYPE, VALUE_TYPE)),
        ),
    ),
    st.builds(
        Decision,
        st.just("quarantined"),
        names.map(lambda name: MINTER.entity_of_mention(MINTER.mention(name))),
        st.sampled_from((KNOWS, BORN_IN)),
        names.map(lambda name: f"<{MINTER.entity_of_mention(MINTER.mention(name))}>")
        | st.just(f'"1900"^^<{XSD.gYear.value}>'),
    ),
    st.builds(
        Decision,
        st.just("variant"),
        names,
        qualifier=st.sampled_from(("first", "second")),
        sources=st.sets(st.sampled_from("wxyz"), min_size=1, max_size=2).map(
            lambda keys: tuple(sorted(MINTER.source(key, "", "") for key in keys))
        ),
    ),
)
steps = st.one_of(
    raw_steps,
    raw_steps,
    raw_steps,
    st.tuples(st.lists(decisions, max_size=3), st.sets(st.integers(0, 9), max_size=3)),
)
Step = dict[str, list[Triple] | None] | tuple[list[Decision], set[int]]


def step_of(reader: GraphReader, step: Step, vote_counts: VoteCounts | None) -> None:
    """Change sources, or make some decisions and undo others."""
    if isinstance(step, tuple):
        there = read_decisions(reader)
        made = [d for d in step[0] if d.kind == "variant" or d.name != d.other]
        record_decisions(reader, made, [d for number, d in enumerate(there) if number in step[1]])
        return
    drop = [graph_of(source) for source in step]
    insert = [
        Quad(t.subject, t.predicate, t.object, NamedNode(graph_of(source)))
        for source, triples in step.items()
        for t in dict.fromkeys(triples or ())
    ]
    change = refresh(reader, drop, insert, vote_counts)
    assert not {*change.delete} & {*change.insert}
    reader.store.apply(change)


class Shared(OxigraphStore):
    """A store that is asked as an endpoint is."""

    is_shared = True


@pytest.mark.history
@pytest.mark.parametrize("bound", [1, 3, 200])
def test_a_refreshed_graph_is_the_rebuilt_one(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a low bound there is always more than is read at once."""
    monkeypatch.setattr(retained, "ROW_LIMIT", bound)

    @given(st.lists(steps, max_size=9), st.booleans(), st.sampled_from((OxigraphStore, Shared)))
    def check(history: list[Step], remembers: bool, kind: type[OxigraphStore]) -> None:
        reader = GraphReader(kind.in_memory(), MINTER)
        reader.store.load(AXIOMS)
        vote_counts = VoteCounts() if remembers else None
        for step in history:
            step_of(reader, step, vote_counts)
            derived = {quad.triple for quad in reader.store.quads(MINTER.kg_graph)}
            assert derived == {quad.triple for quad in rebuild(reader).insert}
        record_decisions(reader, [], read_decisions(reader))
        assert not set(reader.store.quads(MINTER.decisions_graph))
        undecided = {quad.triple for quad in reader.store.quads(MINTER.kg_graph)}
        assert undecided == {quad.triple for quad in rebuild(reader).insert}

    check()


def test_names_part_although_one_of_them_is_brought_back_by_a_decision() -> None:
    reader = GraphReader(OxigraphStore.in_memory(), MINTER)
    uses = {name: NamedNode(f"{MINTER.base}doc/1#{name}") for name in "abc"}
    named = [Triple(use, SARAG.useOf, mention(name)) for name, use in uses.items()]
    spoken = [Triple(u, SARAG.name, Literal(name, language="en")) for name, u in uses.items()]
    other = NamedNode(f"{MINTER.base}doc/2#c")
    claim = [Triple(other, SARAG.useOf, mention("c"))]
    claim.append(Triple(other, SARAG.aliasMention, mention("a")))
    history: tuple[Step, ...] = (
        {"x": named + spoken},
        {"w": claim},  # c is the only one that gives a as an alias: a refers to what c does
        ([Decision("merged", "a", "b")], set()),  # so both are b
        {"w": None},  # a still is b, but c is not
    )
    for step in history:
        step_of(reader, step, None)
    derived = {quad.triple for quad in reader.store.quads(MINTER.kg_graph)}
    assert derived == {quad.triple for quad in rebuild(reader).insert}
    own = NamedNode(MINTER.entity_of_mention(MINTER.mention("c")))
    assert Triple(mention("c"), SARAG.refersTo, own) in derived


def test_the_bound_is_the_limit_of_its_query() -> None:
    for name in ("relationships-from", "stating-graphs"):
        text = query_file("index", name).text
        assert re.findall(r"LIMIT (\d+)", text) == [str(retained.ROW_LIMIT)]


# ------------------------------------------------------------------------------- Cost


class Counting(OxigraphStore):
    """A store that counts the rows that it returns; its engine may read more to find them."""

    def __init__(self) -> None:
        super().__init__(Store())
        self.read = 0

    def select(self, text: str, key: str, *, iris: bool = False) -> Table:
        found = super().select(text, key, iris=iris)
        self.read += len(found.rows)
        return found

    def each_row(self, text: str, key: str, *, iris: bool = False) -> Iterator[tuple[Any, ...]]:
        for row in super().each_row(text, key, iris=iris):
            self.read += 1
            yield row


def near_a_hub(number: int, hub: str = "Hub") -> Content:
    """A source about a thing of its own and one that every source speaks of."""
    own = f"Thing{number}"
    return said(
        Mention(own, "person", (f"T{number}",), (f"thing {number}",)),
        Mention(hub, "organization", ("The Centre",), ("the middle",)),
        relations=(
            Relation(own, "knows", hub),
            Relation(hub, "has", own),
            Relation(hub, "is", hub),
        ),
    )


def rows_read(size: int) -> list[int]:
    """Rows that commits get where `size` sources speak of one thing: what is there to count."""
    store = Counting()
    keys = [str(number) for number in range(size)]
    store.load(quad for key in keys for quad in quads(key, near_a_hub(int(key))))
    reader = GraphReader(store, MINTER)
    store.load(rebuild(reader).insert)
    read = []
    steps: Sequence[tuple[str, Content | None]] = (
        ("0", near_a_hub(-1)),
        ("new", near_a_hub(-2)),
        ("new", near_a_hub(-2, "HUB")),
        ("new", said(Mention("hub", "person", ("T3",)))),
        ("1", None),
    )
    for key, content in steps:
        store.read = 0
        insert = quads(key, content) if content else []
        Writer(reader).commit([graph_of(key)], insert, [MINTER.source(key, "", "")])
        read.append(store.read)
    anew = {quad.triple for quad in rebuild(reader).insert}
    assert {quad.triple for quad in store.quads(MINTER.kg_graph)} == anew
    return read


def test_the_rows_that_a_commit_gets_do_not_grow_with_the_graph() -> None:
    """The time of some commits does, as ``benchmarks/commit.py`` measures."""
    assert rows_read(300) == rows_read(900)
