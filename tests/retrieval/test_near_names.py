"""Names that a question has with typing errors, in part, or without capitals."""

from __future__ import annotations

from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.types import Extraction, Mention, Query, Retrieved
from sarag_rdf.kg.registry import make_retriever
from sarag_rdf.retrieval.seeds import QuestionNames, names_in
from sarag_rdf.retrieval.view import GraphView, trigrams
from sarag_rdf.testing.fakes import HashEmbedder
from tests.retrieval.graphs import MINTER, indexed, view_of


def person(name: str) -> Mention:
    return Mention(name, "person")


def document(title: str, text: str, *mentions: Mention) -> tuple[str, str, Extraction]:
    return title, text, Extraction(mentions)


CONTENTS = [
    document(
        "Ludwig Boltzmann",
        "Ludwig Boltzmann was a physicist in Vienna.",
        person("Ludwig Boltzmann"),
        Mention("Vienna", "geopolitical"),
    ),
    document(
        "Ada Brandt",
        "Ada Brandt painted harbours in Malmö.",
        person("Ada Brandt"),
        Mention("Malmö", "geopolitical"),
    ),
    document(
        "Otto Brandt",
        "Otto Brandt built violins in Cremona.",
        person("Otto Brandt"),
        Mention("Cremona", "geopolitical"),
    ),
    document("The Silver Kettle", "The Silver Kettle is a novel.", Mention("The Silver Kettle")),
    document("Stations", "At Fort Tilden a state of alarm was declared.", Mention("Fort Tilden")),
    document("1984", "1984 is a year, and so is 1985.", Mention("1984", "time")),
]
READER, _ = indexed(CONTENTS)
VIEW = view_of(READER)


def found(question: str, least: float = 0.5, view: GraphView = VIEW) -> QuestionNames:
    return names_in(view, question, least)


def entities(question: str, least: float = 0.5, view: GraphView = VIEW) -> dict[str, float]:
    names = found(question, least, view)
    return names.entities(view, view.vectors.embed_query(names.text))


def iri(name: str) -> str:
    return MINTER.entity(name)


@pytest.mark.parametrize(
    ("question", "read_as"),
    [
        ("Who was Ludwig Boltzman?", "Who was Ludwig Boltzmann?"),  # a letter left out
        ("Who was Ludwig Boltzmannn?", "Who was Ludwig Boltzmann?"),  # doubled
        ("Who was Ludvig Boltzmann's pupil?", "Who was Ludwig Boltzmann pupil?"),  # replaced
        ("Ludwig Botlzmann lived where?", "Ludwig Boltzmann lived where?"),  # swapped
        ("Did Ada Brand meet Ludwig Bolzmann?", "Did Ada Brandt meet Ludwig Boltzmann?"),
        ("Who wrote the Silver Ketle?", "Who wrote the Silver Kettle?"),
        ("Who wrote silver ketlle?", "Who wrote The Silver Kettle?"),  # no document has the word
        ("Who was Ludwig Boltzmann?", "Who was Ludwig Boltzmann?"),
        ("What happened in 1986?", "What happened in 1986?"),  # another year is another thing
        ("Who was Ludovic Holtzer?", "Who was Ludovic Holtzer?"),
        ("Who?", "Who?"),
    ],
)
def test_misspelt_names_are_read_as_the_graph_writes_them(question: str, read_as: str) -> None:
    assert found(question).text.casefold() == read_as.casefold()


def test_more_errors_are_less_probable_and_no_near_name_is_certain() -> None:
    one, two = (entities(f"Who was {name}?") for name in ("Ludwig Boltzman", "Ludwg Boltzman"))
    assert one.keys() == two.keys() == {iri("ludwig boltzmann")}
    assert 0.8 < two[iri("ludwig boltzmann")] < one[iri("ludwig boltzmann")] < 1.0
    assert entities("Who was Ludwig Boltzman?", least=1.0) == {}
    assert entities("Who was Ludwig Boltzmann?", least=1.0) == {iri("ludwig boltzmann"): 1.0}


def test_the_rest_of_the_question_tells_those_of_one_last_name_apart() -> None:
    both = {iri("ada brandt"), iri("otto brandt")}
    painter = entities("Which harbours in Malmö painted Brandt?")
    maker = entities("Which violins in Cremona built Brandt?")
    assert both <= painter.keys()
    assert both <= maker.keys()
    assert painter[iri("ada brandt")] > painter[iri("otto brandt")]
    assert maker[iri("otto brandt")] > maker[iri("ada brandt")]


def test_two_things_of_one_name_are_two_seeds() -> None:
    alias = [
        document(f"Ones {x}", f"ones {x}", Mention(f"Ones {x}", aliases=("Perlmutter",)))
        for x in "bc"
    ]
    reader, _ = indexed(alias)
    shares = entities("Who is Perlmuter?", view=view_of(reader))
    assert shares.keys() == {iri("ones b"), iri("ones c")}
    assert 0.8 < sum(shares.values()) < 1.0


def test_a_near_name_takes_the_place_of_a_shorter_exact_one() -> None:
    reader, _ = indexed([*CONTENTS, document("Ludwig", "Ludwig.", person("Ludwig"))])
    view = view_of(reader)
    assert entities("Who was Ludwig?", view=view).keys() >= {iri("ludwig")}
    assert entities("Who was Ludwig Boltzman?", view=view).keys() == {iri("ludwig boltzmann")}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("who was ludwig boltzmann?", ["ludwig boltzmann"]),
        ("what happened at fort tilden?", ["fort tilden"]),  # of two words with capitals
        ("who lived in vienna?", ["vienna"]),  # of the documents with the word all describe it
        ("what is a state?", []),
    ],
)
def test_names_without_capitals(question: str, names: list[str]) -> None:
    assert entities(question).keys() == set(map(iri, names))


def search(question: str) -> Retrieved:
    return make_retriever("sarag", VIEW, {}).retrieve(Query(question))


def test_a_search_ranks_as_if_the_name_were_right_and_says_how_it_was_typed() -> None:
    typed, right = search("Who was Ludwig Boltzman?"), search("Who was Ludwig Boltzmann?")
    assert [d.document.title for d in typed.documents] == [
        d.document.title for d in right.documents
    ]
    [seed] = [seed for seed in typed.seeds if seed.node == iri("ludwig boltzmann")]
    assert seed.reason == 'named in the question as "Ludwig Boltzman"'
    assert 0.8 < seed.activation < 1.0
    [seed] = [seed for seed in right.seeds if seed.node == iri("ludwig boltzmann")]
    assert (seed.reason, seed.activation) == ("named in the question", 1.0)


def test_a_long_question_of_capitals_is_answered() -> None:
    assert found(" ".join(["Zzyzx Qwertz"] * 500)).near == []


def test_trigrams_are_those_of_words() -> None:
    assert trigrams("Ül Ado\nAdo") == "_ad ado do_ _ul ul_"


def test_a_last_name_is_that_of_every_person_whose_name_ends_with_it() -> None:
    people = [
        document("Ley", "A baron.", person("Maximilian Augustus Ottmar, 4th Baron Ley")),
        document("Ott", "She sang.", person("Wilhelmina Bartholomea Otto")),
        document("Hall", "A hall.", Mention("Schwanthaler Memorial Hall")),
    ]
    view = view_of(indexed([*CONTENTS, *people])[0])
    assert entities("Who was Otto?", view=view).keys() == {iri("wilhelmina bartholomea otto")}
    baron = iri("maximilian augustus ottmar 4th baron ley")
    assert entities("Who was Ottmar?", view=view).keys() == {baron}
    assert entities("Where is Hall?", view=view) == {}  # A thing has no last name.


def test_a_last_name_counts_beside_what_has_it_alone() -> None:
    town = document("Towns", "Ships go to Brandt.", Mention("Brandt", "geopolitical"))
    view = view_of(indexed([*CONTENTS, town])[0])
    assert entities("Which harbours in Malmö painted Brandt?", view=view).keys() >= {
        iri("ada brandt"),
        iri("otto brandt"),
        iri("brandt"),
    }


def test_a_name_is_not_the_last_word_of_a_thing_that_has_more() -> None:
    school = document("Schools", "She taught there.", Mention("University of Vienna"))
    view = view_of(indexed([*CONTENTS, school])[0])
    assert entities("Who was born in Vienna?", view=view) == {iri("vienna"): 1.0}


@pytest.mark.parametrize("name", ["Danube", "Donau", "Dunaj", "Dunărea", "Dunarea", "Donauu"])
def test_alternative_labels_in_any_language_name_an_entity(name: str, tmp_path: Path) -> None:
    file = tmp_path / "rivers.ttl"
    file.write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        "<urn:danube> a <urn:River> ; skos:altLabel 'Dunaj'@sk ;\n"
        "  rdfs:label 'Danube'@en , 'Donau'@de , 'Dunărea'@ro .\n",
        encoding="utf-8",
    )
    with sarag_rdf.open(tmp_path / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(file, "rdf")
        seeds = kg.search(f"Which towns lie on the {name}?").seeds
    assert "urn:danube" in {seed.node for seed in seeds if not seed.text}
