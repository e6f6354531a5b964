"""Relation paths as a person would say them."""

from __future__ import annotations

import pytest

from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.plugins.relation_paths.path_model import (
    Hop,
    PathSchema,
    packaged_model,
    plural,
)
from sarag_rdf.plugins.relation_paths.path_wording import spoken


def said(label: str, end: str = "city") -> tuple[str, str]:
    """The path over a property of companies, and the one back."""
    hop = Hop("urn:p")
    kinds = {hop.start: "company", hop.end: end}
    schema = PathSchema({"urn:p": label}, kinds, {hop.start: 1.0, hop.end: 1.0})
    there, back = (
        spoken(packaged_model(), schema, Schema(), [each]) for each in (hop, hop.reverse)
    )
    return there, back


@pytest.mark.parametrize(
    ("label", "one", "several"),
    [
        ("lies on", "lies on", "lie on"),
        ("dies in", "dies in", "die in"),
        ("goes to", "goes to", "go to"),
        ("focuses on", "focuses on", "focus on"),
        ("applies to", "applies to", "apply to"),
        ("has part in", "has part in", "have part in"),
        ("was designed by", "was designed by", "were designed by"),
        ("is known for", "is known for", "are known for"),
        ("designed by", "is designed by", "are designed by"),
        ("made of", "is made of", "are made of"),
        ("lent to", "is lent to", "are lent to"),
        ("depicts", "depicts", "depict"),
        ("formerly owned by", "is formerly owned by", "are formerly owned by"),
        ("published in", "is published in", "are published in"),
        ("described by", "is described by", "are described by"),
        ("born in", "is born in", "are born in"),
        ("worked for", "worked for", "worked for"),
        ("founded", "founded", "founded"),
        ("published", "published", "published"),
    ],
)
def test_verbs_make_clauses(label: str, one: str, several: str) -> None:
    assert said(label) == (
        f"the cities that the company {one}",
        f"the companies that {several} the city",
    )


@pytest.mark.parametrize(
    "label",
    [
        *("access to", "address in", "status in", "series in", "route to", "date from"),
        *("geboren in", "liegt in", "seed for", "wheel on", "year published in", "located"),
        *("speed", "breed", "seed", "hundred", "seabed"),
    ],
)
def test_what_is_not_surely_a_verb_is_a_noun(label: str) -> None:
    assert all(" that " not in text for text in said(label))


def test_a_participle_is_no_verb_of_a_value() -> None:
    assert said("founded", "year") == (
        "the year that the company was founded",
        "the companies that were founded in the year",
    )
    assert said("year built", "year")[0] == "the year that the company was built"
    assert said("founded in", "year")[0] == "the years that the company is founded in"


@pytest.mark.parametrize(
    ("label", "there", "back"),
    [
        ("pupil of", "the cities that the company is a pupil of", "the pupil of the city"),
        ("part of", "the cities that the company is part of", "the parts of the city"),
        ("has seat", "the seat of the company", "the companies with the city as seat"),
        (
            "access to",
            'what is given as "access to" for the company',
            "the companies with access to the city",
        ),
    ],
)
def test_nouns_have_the_words_around_them(label: str, there: str, back: str) -> None:
    assert said(label) == (there, back)


def test_a_clause_is_not_put_into_another() -> None:
    ends = {
        "made by": ("film", "studio"), "founded by": ("studio", "person"),
        "born in": ("person", "town"), "director": ("studio", "person"),
        "pupil of": ("person", "person"),
    }  # fmt: skip
    kinds = {
        f"{sign}{p}": kind
        for p, pair in ends.items()
        for sign, kind in zip("+-", pair, strict=True)
    }
    schema = PathSchema({p: p for p in ends}, kinds, dict.fromkeys(kinds, 1.0))

    def path(*properties: str) -> str:
        hops = [Hop(p.lstrip("-"), is_inverse=p.startswith("-")) for p in properties]
        return spoken(packaged_model(), schema, Schema(), hops)

    made = "the studios that the film is made by"
    assert path("made by", "founded by", "born in") == (
        f"{made}, the people that they are founded by, and the towns that they are born in"
    )
    assert path("made by", "director") == f"the directors of {made}"
    assert path("made by", "director", "pupil of") == (
        f"the directors of {made}, and the people that they are pupils of"
    )
    assert path("-born in", "-director", "-made by") == (
        "the films that are made by the studios with a director among the people that are born in "
        "the town"
    )


def test_an_empty_label_has_no_verb() -> None:
    assert " that " not in said("")[0]


def test_a_path_starts_at_the_kind_that_is_given() -> None:
    schema = PathSchema({"urn:p": "area"}, {"+urn:p": "town"}, {"+urn:p": 1.0})
    hops = [Hop("urn:p")]
    assert spoken(packaged_model(), schema, Schema(), hops, "lake") == "the area of the lake"


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("computer software", "computer software"),
        ("city", "cities"),
        ("bus", "buses"),
        ("valley", "valleys"),
        ("child", "children"),
        ("grandchild", "grandchildren"),
        ("person", "people"),
        ("people", "people"),
        ("film series", "film series"),
        ("work of art", "works of art"),
        ("success criterion", "success criteria"),
        ("", ""),
    ],
)
def test_plurals(one: str, several: str) -> None:
    assert plural(one) == several
