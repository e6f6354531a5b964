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
    assert said("founded", "year")[0] == "the founded of the company"
    assert said("founded in", "year")[0] == "the years that the company is founded in"


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
