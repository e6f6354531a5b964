"""Properties induced from phrases, and suggested for them."""

from __future__ import annotations

from sarag_rdf.base.vocab import XSD
from sarag_rdf.extraction.review import CountedPhrase, PropertySuggester
from sarag_rdf.graph.ontology.schema import OntologyProperty, Schema
from sarag_rdf.plugins.induction import InducedProperty, induce_properties, local_names
from sarag_rdf.testing.fakes import HashEmbedder


def induced(*phrases: CountedPhrase, least: int = 1) -> list[InducedProperty]:
    return induce_properties(phrases, HashEmbedder(), least=least)


def test_similar_phrases_between_the_same_types_are_one_property() -> None:
    [born, sang] = induced(
        CountedPhrase("was born in", "person", "geopolitical", 3, ("Ada was born in Ulm.",)),
        CountedPhrase("had been born in", "person", "geopolitical", 1, ("Bo had been born in X.",)),
        CountedPhrase("sang", "person", "person", 2),
    )
    assert (born.label, born.count) == ("was born in", 4)
    assert born.phrases == ("was born in", "had been born in")
    assert born.sentences == ("Ada was born in Ulm.", "Bo had been born in X.")
    assert sang.phrases == ("sang",)


def test_a_passive_states_the_inverse_of_its_verb() -> None:
    [founded] = induced(
        CountedPhrase("was founded by", "organization", "person", 5),
        CountedPhrase("founded", "person", "organization", 2),
    )
    assert (founded.subject_type, founded.object_type) == ("person", "organization")
    assert founded.label == "founded"
    assert (founded.phrases, founded.inverse_phrases) == (("founded",), ("was founded by",))
    [passive] = induced(CountedPhrase("was founded by", "organization", "person", 5))
    assert (passive.phrases, passive.inverse_phrases) == (("was founded by",), ())


def test_vague_and_rare_phrases_are_omitted() -> None:
    assert induced(CountedPhrase("in", "person", "misc", 9)) == []
    assert induced(CountedPhrase("was of the", "person", "misc", 9)) == []
    assert induced(CountedPhrase("sang", "person", "person", 1), least=2) == []


def test_local_names_are_distinct() -> None:
    def of(label: str, object_type: str) -> InducedProperty:
        return InducedProperty(label, "person", object_type, (label,), (), 1, ())

    phrases = [
        of("was born in", "geopolitical"),
        of("was born in", "misc"),
        of("born in", "misc"),
        of("born in", "misc"),
        of("born in", "misc"),
        of("1st", "misc"),
        of("co-wrote", "misc"),
    ]
    assert local_names(phrases) == [
        "bornIn",
        "bornInPerson",
        "bornIn2",
        "bornIn3",
        "bornIn4",
        "property1st",
        "coWrote",
    ]


def test_numbers_and_dates_are_values_that_a_property_may_have() -> None:
    def property_(name: str, datatype: str) -> OntologyProperty:
        ranges = (XSD[datatype].value,)
        return OntologyProperty(f"urn:{name}", name, ranges=ranges, is_literal=True)

    properties = [property_("population", "integer"), property_("homepage", "anyURI")]
    suggester = PropertySuggester(Schema.of([], properties), HashEmbedder())
    phrases = [CountedPhrase(p.label, "geopolitical", "value") for p in properties]
    numbers, pages = suggester.suggest(phrases)
    assert [s.property for s in numbers] == ["urn:population"]
    assert "urn:homepage" not in [s.property for s in pages]


def test_a_label_in_the_passive_is_stated_from_the_other_end_by_an_active_phrase() -> None:
    properties = [OntologyProperty("urn:ownedBy", "owned by")]
    suggester = PropertySuggester(Schema.of([], properties), HashEmbedder())
    phrases = [CountedPhrase(p, "misc", "misc") for p in ("owned", "is mostly owned by")]
    active, passive = suggester.suggest(phrases)
    assert [s.is_inverse for s in active] == [True]
    assert [s.is_inverse for s in passive] == [False]
