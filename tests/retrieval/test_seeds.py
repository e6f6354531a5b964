"""Which entities a question names."""

from __future__ import annotations

from collections.abc import Container

import pytest

from sarag_rdf.base.types import Extraction, Mention
from sarag_rdf.retrieval.seeds import named_spans
from sarag_rdf.retrieval.view import Names
from tests.retrieval.graphs import MINTER, indexed, view_of


def entity(name: str) -> str:
    return MINTER.entity(name)


def named_entities(
    names: Names, question: str, topics: Container[str] = frozenset()
) -> dict[str, float]:
    spans = named_spans(names, question, topics)
    return {entity: share for _, several in reversed(spans) for entity, share in several.items()}


def graph(*documents: tuple[Mention, ...]) -> Names:
    reader, _ = indexed(
        [("", f"text {number}", Extraction(found)) for number, found in enumerate(documents)]
    )
    return view_of(reader).names


NAMES = graph(
    tuple(
        map(Mention, ("York", "New York", "Ada Brandt", "Brandt", "The Hague", "1984", "Who", "ß"))
    )
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where is York?", ["york"]),
        ("Who left York for New York?", ["york", "new york"]),
        ("Is New York far?", ["new york"]),  # York stands in a longer name.
        ("Did Ada Brandt's aunt, Brandt, sing?", ["ada brandt", "brandt"]),
        ("Did ADA BRANDT sing?", ["ada brandt"]),
        ("is the Hague a town?", ["hague"]),
        ("when was 1984 written?", ["1984"]),
        ("Which york?", []),  # Without a capital letter a common word.
        ("Who wrote it?", []),  # A question word, though something has that name.
        ("New Yorks?", []),
        ("???", []),
        ("", []),
    ],
)
def test_names_in_a_question(question: str, names: list[str]) -> None:
    assert named_entities(NAMES, question) == {entity(name): 1.0 for name in names}


def test_a_name_twice_counts_once() -> None:
    assert named_entities(NAMES, "York, York and again York?") == {entity("york"): 1.0}


def test_a_long_name_is_found_whole() -> None:
    long = "The Society Of Friends Of The Very Long And Winding Names"  # 11 words
    reader = graph((Mention(long), Mention("Friends")))
    wanted = {entity("society of friends of the very long and winding names"): 1.0}
    assert named_entities(reader, f"Who founded {long}?") == wanted


@pytest.mark.parametrize("owners", [1, 2, 4])
def test_an_alias_is_shared_among_its_owners(owners: int) -> None:
    names = [f"Ada {letter * 3}" for letter in "bcdef"[:owners]]
    reader = graph(*[(Mention(name, aliases=("Ada",)),) for name in names])
    shares = {entity(name.casefold()): 1 / owners for name in names}
    assert named_entities(reader, "Who is Ada?") == pytest.approx(shares)
    # With a name of its own in the question an owner does not share.
    first = names[0]
    assert named_entities(reader, f"Is {first} not Ada?")[entity(first.casefold())] == 1.0


def test_an_alias_of_too_many_says_nothing() -> None:
    reader = graph(*[(Mention(f"Ada {letter * 3}", aliases=("Ada",)),) for letter in "bcdef"])
    assert named_entities(reader, "Who is Ada?") == {}


def test_a_name_counts_before_an_alias() -> None:
    # Ada is a name of its own, and an alias of two others.
    reader = graph((Mention("Ada"),), *[(Mention(f"Ada {x * 3}", aliases=("Ada",)),) for x in "bc"])
    assert named_entities(reader, "Who is Ada?") == {entity("ada"): 1.0}


TOPICS = frozenset(map(entity, ("york", "new york", "ada brandt")))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("where is york?", ["york"]),
        ("Where is york?", ["york"]),  # A capital that any question begins with.
        ("did ada brandt's aunt sing in new york?", ["ada brandt", "new york"]),
        ("is brandt there?", []),  # No document is about Brandt.
        ("is new yorker there?", []),
        ("Did ADA see york?", []),  # Written with capitals: york is a common word.
        ("Is 1984 in new york?", ["1984", "new york"]),
        ("who is who?", []),
    ],
)
def test_topics_in_a_question_without_capitals(question: str, names: list[str]) -> None:
    found = named_entities(NAMES, question, TOPICS)
    assert found == {entity(name): 1.0 for name in names}


def test_an_alias_in_lower_case_is_shared_among_topics() -> None:
    reader = graph(*[(Mention(name, aliases=("Ada",)),) for name in ("Ada Bbb", "Ada Ccc")])
    bbb, ccc = entity("ada bbb"), entity("ada ccc")
    assert named_entities(reader, "who is ada?", {bbb, ccc}) == {bbb: 0.5, ccc: 0.5}
    assert named_entities(reader, "who is ada?", {ccc}) == {ccc: 1.0}
    assert named_entities(reader, "who is ada?") == {}
