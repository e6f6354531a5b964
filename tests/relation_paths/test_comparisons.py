"""Comparisons and superlatives over a small graph of bridges, films and their directors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sarag_rdf
from sarag_rdf.base.types import Answer, Source
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.testing.fakes import HashEmbedder
from tests.relation_paths.test_paths import COMMON, TermsExtractor

CITY = f"""
    @prefix : <https://city.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix c: <{COMMON}> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Bridge a owl:Class ; rdfs:label "bridge" .
    :Ferry a owl:Class ; rdfs:label "ferry" .
    :Footbridge a owl:Class ; rdfs:subClassOf :Bridge ; rdfs:label "footbridge" .
    :Film a owl:Class ; rdfs:label "film" . :Person a owl:Class ; rdfs:label "person" .
    :Country a owl:Class ; rdfs:label "country" . :Winery a owl:Class ; rdfs:label "winery" .
    :Tower a owl:Class ; rdfs:label "tower" . :Town a owl:Class ; rdfs:label "town" .
    :length a owl:DatatypeProperty ; rdfs:label "length" .
    :area a owl:DatatypeProperty ; rdfs:label "area" .
    :population a owl:DatatypeProperty ; rdfs:label "population" .
    :height a owl:DatatypeProperty ; rdfs:label "height" .
    :price a owl:DatatypeProperty ; rdfs:label "price" .
    :seats a owl:DatatypeProperty ; rdfs:label "number of seats" .
    :opened a owl:DatatypeProperty ; rdfs:label "date of opening" .
    :founded a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:label "founded" .
    :released a owl:DatatypeProperty ; rdfs:label "release date" .
    :born a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:label "date of birth" .
    :died a owl:DatatypeProperty ; rdfs:label "date of death" .
    :birthPlace a owl:ObjectProperty ; rdfs:label "place of birth" .
    :director a owl:ObjectProperty ; rdfs:label "director" .
    :country a owl:ObjectProperty , owl:FunctionalProperty ; rdfs:label "country" .
    :mayor a owl:ObjectProperty , owl:FunctionalProperty ; rdfs:label "mayor" .
    :locatedIn a owl:ObjectProperty ; rdfs:label "located in" .

    :arch a :Bridge ; rdfs:label "Arch Bridge" ; :length 120 ; :opened "1901"^^xsd:gYear .
    :bow a :Bridge ; rdfs:label "Bow Bridge" ; :length 90 ; :opened "1911-05-02"^^xsd:date .
    :cant a :Footbridge ; rdfs:label "Cant Bridge" ; :length 40 ; :opened "1911"^^xsd:gYear .
    :dove a :Footbridge ; rdfs:label "Dove Bridge" ; :length 90 .
    :east a :Bridge ; rdfs:label "East Bridge" ; :length 60 .
    :fern a :Bridge ; rdfs:label "Fern Bridge" .
    :gull a :Ferry ; rdfs:label "Gull" ; :seats 40 ; :price 3 . :hern a :Ferry ;
        rdfs:label "Hern" ; :seats 25 ; :price 2 .

    :noon a :Film ; rdfs:label "Noon" ; :director :ida ; :released "1950"^^xsd:gYear ;
        :country :ruria .
    :dusk a :Film ; rdfs:label "Dusk" ; :director :kim ; :released "1948"^^xsd:gYear ;
        :country :ruria .
    :rain a :Film ; rdfs:label "Rain" ; :director :ida , :kim ; :country :norland .
    :snow a :Film ; rdfs:label "Snow" .
    :ida a :Person ; rdfs:label "Ida Brandt" ; :born "1901-03-04"^^xsd:date ;
        :died "1980"^^xsd:gYear ; :country :norland .
    :kim a :Person ; rdfs:label "Kim Vale" ; :born "1910"^^xsd:gYear ; :died "1975"^^xsd:gYear ;
        :country :norland .
    :lou a :Person ; rdfs:label "Lou" ; :born "1910-06-01"^^xsd:date .
    :ida :birthPlace :halden . :kim :birthPlace :halden . :lou :birthPlace :ruria .
    :max a :Person ; rdfs:label "Max" ; :birthPlace :ruria ; :born "1910"^^xsd:gYear .
    :ruria a :Country ; rdfs:label "Ruria" . :norland a :Country ; rdfs:label "Norland" .

    :halden a :Town ; rdfs:label "Halden" ; :mayor :ida ; :area 10 ; :population 900 ;
        :locatedIn :ruria ; :founded "1500"^^xsd:gYear ; :opened "1905"^^xsd:gYear .
    :moss a :Town ; rdfs:label "Moss" ; :mayor :kim ; :area 20 ; :population 400 ;
        :locatedIn :ruria ; :founded "1400"^^xsd:gYear ; :opened "1906"^^xsd:gYear .
    :vik a :Town ; rdfs:label "Vik" ; :mayor :ida ; :area 30 ; :population 950 ;
        :locatedIn :norland ; :founded "1450"^^xsd:gYear .
    :tall a :Tower ; rdfs:label "Tall Tower" ; :height 80 . :wide a :Tower ;
        rdfs:label "Wide Tower" ; :height 80 . :low a :Tower ; rdfs:label "Low Tower" ; :height 9 .
    :red a :Winery ; rdfs:label "Red Cellar" ; :locatedIn :halden ; :founded "1820"^^xsd:gYear .
    :rose a :Winery ; rdfs:label "Rose Cellar" ; :locatedIn :halden ; :founded "1790"^^xsd:gYear .
    :old a :Winery ; rdfs:label "Old Cellar" ; :locatedIn :moss ; :founded "1700"^^xsd:gYear .
"""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("city")
    (folder / "city.ttl").write_text(CITY)
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(folder / "city.ttl")
        kg.import_graph(folder / "city.ttl", "rdf", name="city")
        yield kg


def text_of(answer: Answer) -> str:
    return answer.text if answer.outcome == "answered" else ""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which bridge is longer, Arch Bridge or Bow Bridge?", "Arch Bridge"),
        ("Which is longer: Cant Bridge or Bow Bridge?", "Bow Bridge"),
        ("Which bridge is shorter, Arch Bridge or Bow Bridge?", "Bow Bridge"),
        ("Which is cheaper, Gull or Hern?", "Hern"),
        ("Which is more expensive, Gull or Hern?", "Gull"),
        ("Which ferry has more seats, Gull or Hern?", "Gull"),
        ("Which has fewer seats, the ferry Gull or the ferry Hern?", "Hern"),
        ("Which has the larger population, Halden or Moss?", "Halden"),
        ("Which town is more populous, Halden or Moss?", "Halden"),
        ("Which town is larger, Vik or Moss?", "Vik"),
        ("Who is older, Ida Brandt or Kim Vale?", "Ida Brandt"),
        ("Who is younger, Ida Brandt or Kim Vale?", "Kim Vale"),
        ("Who was born first, Kim Vale or Ida Brandt?", "Ida Brandt"),
        ("Who was born last out of Ida Brandt and Kim Vale?", "Kim Vale"),
        ("Was Ida Brandt or Kim Vale born later?", "Kim Vale"),
        ("Who died earlier, Ida Brandt or Kim Vale?", "Kim Vale"),
        ("Which film was released first, Noon or Dusk?", "Dusk"),
        ("Which film was released more recently, Noon or Dusk?", "Noon"),
        ("Which film came out first, Noon or Dusk?", "Dusk"),
        ("Which of Halden and Moss was founded earlier?", "Moss"),
        ("Between Arch Bridge and Bow Bridge, which opened first?", "Arch Bridge"),
        ("Which is older, Vik or Moss?", "Moss"),
        ("Which film has the director who was born later, Noon or Dusk?", "Dusk"),
        ("Which film has the director born first, Noon or Dusk?", "Noon"),
        ("Which film whose director is younger, Noon or Dusk?", "Dusk"),
        ("Which film has the director who died earlier, Noon or Dusk?", "Dusk"),
        ("Is Arch Bridge or Bow Bridge longer?", "Arch Bridge"),
        ("Which is the longer of [Arch Bridge] and [Bow Bridge]?", "Arch Bridge"),
        ("Is Arch Bridge longer than Bow Bridge?", "yes"),
        ("Is Bow Bridge longer than Arch Bridge?", "no"),
        ("Is Ida Brandt younger than Kim Vale?", "no"),
        ("Was Halden founded before Moss?", "no"),
        ("Was Halden founded after Moss?", "yes"),
        ("Did Arch Bridge open before Bow Bridge?", "yes"),
        ("Was Arch Bridge opened later than Bow Bridge?", "no"),
        ("Does Gull have more seats than Hern?", "yes"),
        ("Do Noon and Rain have the same director?", "yes"),
        ("Are Halden and Moss located in the same country?", "yes"),
        ("Are both Noon and Dusk from the same country?", "yes"),
        ("Do both films Noon and Dusk have the directors from the same country?", "yes"),
        ("Are the director of Noon and the director of Dusk from the same country?", "yes"),
        ("Do Halden and Vik have the same mayor?", "yes"),
        ("Do Halden and Moss have the same mayor?", "no"),
        ("Were Kim Vale and Lou born in the same year?", "yes"),
        ("Were Ida Brandt and Kim Vale born in the same place?", "yes"),
        ("Do Bow Bridge and Dove Bridge have the same length?", "yes"),
        ("Were Kim Vale and Ida Brandt born in the same year?", "no"),
        ("Were the directors of Noon and Dusk born in the same town?", "yes"),
    ],
)
def test_two_things_are_compared(city: KnowledgeGraph, question: str, text: str) -> None:
    assert text_of(city.ask(question)) == text


@pytest.mark.parametrize(
    "question",
    [
        "Which bridge is longer, Arch Bridge or Fern Bridge?",  # the length of one is not known
        "Which bridge is longer, Arch Bridge or Zinc Bridge?",  # one is not known at all
        "Which bridge is longer, Bow Bridge or Dove Bridge?",  # equal
        "Which bridge opened first, Bow Bridge or Cant Bridge?",  # within the year
        "Who is older, Kim Vale or Lou?",
        "Is Bow Bridge longer than Dove Bridge?",
        "Which town is larger, Halden or Moss?",  # one by its area, the other by its population
        "Which is older, Halden or Moss?",  # founded first, opened last
        "Which is longer, Arch Bridge or Arch Bridge?",
        "Which bridge is nicer, Arch Bridge or Bow Bridge?",
        "Which bridge is deeper, Arch Bridge or Bow Bridge?",
        "Which film has the director who was born later, Noon or Rain?",  # one is of both films
        "Which film has the producer who was born later, Noon or Dusk?",
        "Who lived longer, Ida Brandt or Kim Vale?",
        "Which bridge is longer, Arch Bridge, Bow Bridge or Cant Bridge?",
        "Is Arch Bridge not longer than Bow Bridge?",
        "Was Halden founded a hundred years after Moss?",
        "Was Halden founded long after Moss?",
        "Did Kim Vale die before Ida Brandt was born?",
        "Which town has the older bridge, Halden or Moss?",
        "Who is the older brother of Ida Brandt or Kim Vale?",
        "Is Arch Bridge as long as Bow Bridge?",
        "Is Arch Bridge twice longer than Bow Bridge?",
        "Does Gull have no more seats than Hern?",
        "Did Noon open before Dusk?",
        "Do Noon and Dusk have the same director?",  # a film may have several
        "Are Halden and Vik located in the same country?",  # one may lie in the other
        "Are Noon and Rain from the same country?",
        "Do Noon and Snow have the same director?",
        "Were Lou and Max born in the same place?",  # in one country
        "Do Bow Bridge and Arch Bridge have the same length?",
        "Do Kim Vale and Lou have the same date of birth?",
        "Were Kim Vale and Lou born on the same day?",
        "Are Halden and Moss the same?",
        "Which film has a longer title, Noon or Dusk?",
        "Who directed Noon or Dusk?",
        "Which film was released after Noon and Dusk?",
        "Who was born after Ida Brandt and Kim Vale?",
        "Who died before Ida Brandt or Kim Vale?",
        "Which winery was founded before Red Cellar and Rose Cellar?",
        "Were Lou and Max born in the same town?",
        "Who was the mayor of Halden and Vik?",
    ],
)
def test_what_is_not_sure_is_not_compared(city: KnowledgeGraph, question: str) -> None:
    assert city.ask(question).outcome == "evidence"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which footbridge is the longest?", "Dove Bridge"),
        ("Which bridge is the longest?", "Arch Bridge"),
        ("What is the shortest bridge?", "Cant Bridge"),
        ("What is the oldest winery in Halden?", "Rose Cellar"),
        ("What is the oldest winery?", "Old Cellar"),
        ("Which wineries are the oldest?", "Old Cellar"),
        ("Who is the oldest director of Rain?", "Ida Brandt"),
        ("Which winery was founded last?", "Red Cellar"),
        ("Which ferry has the most seats?", "Gull"),
        ("Which ferry has the fewest seats?", "Hern"),
        ("Which town has the largest population?", "Vik"),
        ("What is the most populous town?", "Vik"),
        ("Which town is the largest?", "Vik"),
        ("What is the tallest tower?", "Tall Tower; Wide Tower"),
        ("Who is the oldest person?", "Ida Brandt"),
    ],
)
def test_the_extreme_of_a_class(city: KnowledgeGraph, question: str, text: str) -> None:
    assert text_of(city.ask(question)) == text


@pytest.mark.parametrize(
    "question",
    [
        "Which bridge opened first?",  # half of them have no date
        "Which footbridge opened first?",
        "Who is the youngest person?",  # two were born within a year
        "Which town is the smallest?",  # one by its area, another by its population
        "Which harbour is the longest?",
        "Which bridge is the nicest?",
        "What is the oldest winery in Vik?",
        "What is the oldest winery in Zinc?",
        "What is the second longest bridge?",
        "What is the longest bridge in the world?",
        "Which bridge was the longest in 1900?",
        "Which bridge is the longest or the oldest?",
        "Which film is the longest?",
        "Which town has the most mayors?",
    ],
)
def test_an_extreme_that_is_not_sure_is_not_named(city: KnowledgeGraph, question: str) -> None:
    assert city.ask(question).outcome == "evidence"


def test_what_was_compared_is_said(city: KnowledgeGraph) -> None:
    answer = city.ask("Which film has the director who was born later, Noon or Dusk?")
    assert answer.reasoning.startswith("Noon: 1901-03-04; Dusk: 1910; ")
    assert answer.confidence is not None and 0.8 < answer.confidence < 1
    assert [path.topic_name for path in answer.retrieved.paths] == ["Noon", "Dusk"]
    longest = city.ask("Which bridge is the longest?")
    assert longest.reasoning.startswith("5 of 6 bridges state the length: Arch Bridge 120, ")
    assert longest.confidence == pytest.approx(
        longest.retrieved.paths[0].probability * 5 / 6, abs=1e-4
    )


PORTS = f"""
    @prefix : <https://port.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix c: <{COMMON}> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Bridge a owl:Class ; rdfs:label "bridge" . :Town a owl:Class ; rdfs:label "town" .
    :Quay a owl:Class ; rdfs:label "quay" . :Child a owl:Class ; rdfs:label "child" .
    :Dock a owl:Class ; rdfs:label "dock" . :Bus a owl:Class ; rdfs:label "bus" .
    :length a owl:DatatypeProperty ; rdfs:label "length" .
    :height a owl:DatatypeProperty ; rdfs:label "height" .
    :founded a owl:DatatypeProperty ; rdfs:label "founded" .
    :locatedIn a owl:ObjectProperty ; rdfs:label "located in" .

    :arch a :Bridge ; rdfs:label "Arch Bridge" ; :length 120 ; :locatedIn :oldtown .
    :bow a :Bridge ; rdfs:label "Bow Bridge" ; :length 90 ; :locatedIn :halden .
    :cant a :Bridge ; rdfs:label "Cant Bridge" ; :length 40 ; :locatedIn :halden .
    :dove a :Bridge ; rdfs:label "Dove Bridge" ; :length 300 ; :locatedIn :moss .
    :east a :Bridge ; rdfs:label "East Bridge" ; :length 10 ; :locatedIn :moss .
    :fern a :Bridge ; rdfs:label "Fern Bridge" ; :length 500 .
    :oldtown a :Town ; rdfs:label "Oldtown" ; :locatedIn :halden ; :founded "1500"^^xsd:gYear .
    :halden a :Town ; rdfs:label "Halden" ; :locatedIn :ruria ; :founded "1400"^^xsd:gYear .
    :moss a :Town ; rdfs:label "Moss" ; :locatedIn :ruria ; :founded "1300"^^xsd:gYear .
    :ruria rdfs:label "Ruria" ; :locatedIn :ruria , :halden2 . :halden2 rdfs:label "The North" ;
        :locatedIn :ruria .
    :q1 a :Quay ; rdfs:label "Long Quay" ; :length 90 . :q2 a :Quay ; rdfs:label "Low Quay" ;
        :length 40 . :q3 a :Quay ; :length 9000 .
    :d1 a :Dock ; rdfs:label "Dock One" ; :length 1 ; :locatedIn :moss .
    :d2 a :Dock ; rdfs:label "Dock Two" ; :length 2 ; :locatedIn :moss .
    :d3 a :Dock ; rdfs:label "Dock Three" ; :length 3 .
    :d4 a :Dock ; rdfs:label "Dock Four" ; :length 4 . :d5 a :Dock ; rdfs:label "Dock Five" ;
        :length 5 . :d6 a :Dock ; rdfs:label "Dock Six" ; :length 6 .
    :d7 a :Dock ; rdfs:label "Dock Seven" ; :length 7 , "INF"^^xsd:double .
    :d8 a :Dock ; rdfs:label "Dock Eight" ; :length "NaN"^^xsd:double .
    :tim a :Child ; rdfs:label "Tim Vale" ; :height 90 ; :founded "1990"^^xsd:gYear .
    :ann a :Child ; rdfs:label "Ann Vale" ; :height 80 ; :founded "1980"^^xsd:gYear .
    :one a :Bus ; rdfs:label "Night Line" ; :height 3 . :two a :Bus ; rdfs:label "Day Line" ;
        :height 4 .
"""


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("ports")
    (folder / "ports.ttl").write_text(PORTS)
    with sarag_rdf.open(folder / "kg", embedder=HashEmbedder(), endpoint=None) as kg:
        kg.ontologies.add(folder / "ports.ttl")
        kg.import_graph(folder / "ports.ttl", "rdf", name="ports")
        yield kg


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the longest quay?", ""),  # one has no label
        ("What is the longest dock?", "Dock Seven"),  # one value is no number, one is infinite
        ("What is the shortest dock?", "Dock One"),
        ("What is the longest bridge in Halden?", "Arch Bridge"),  # in a town in Halden
        ("What is the shortest bridge in Moss?", "East Bridge"),
        ("What is the longest bridge in Ruria?", "Dove Bridge"),
        ("What is the longest bridge in Oldtown?", ""),  # those in Halden may be there
        ("What is the longest dock in Moss?", ""),  # it is not known where most are
    ],
)
def test_the_extreme_of_what_is_known(ports: KnowledgeGraph, question: str, text: str) -> None:
    assert text_of(ports.ask(question)) == text


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Which child is the tallest?", "2 of 2 children state the height: Tim Vale 90, "),
        ("Which bus is the tallest?", "2 of 2 buses state the height: Day Line 4, "),
        ("Which of the bridges is the longest?", "6 of 6 bridges state the length: Fern Bridge "),
        (
            "What is the longest bridge in Halden?",
            "the location of 5 of 6 bridges is known; 3 of 3 bridges state the length: ",
        ),
        ("Which child was founded first?", "2 of 2 children state a value: Ann Vale 1980, "),
    ],
)
def test_an_extreme_is_explained(ports: KnowledgeGraph, question: str, lead: str) -> None:
    answer = ports.ask(question)
    assert answer.reasoning.startswith(lead)
    assert "town" not in answer.reasoning  # the children are called so, and not what is usual


def test_an_extreme_is_as_certain_as_the_locations_are_known(ports: KnowledgeGraph) -> None:
    answer = ports.ask("What is the longest bridge in Halden?")
    probability = answer.retrieved.paths[0].probability
    assert answer.confidence == pytest.approx(probability * 5 / 6, abs=1e-4)


CLUBS = (
    "Thule | was founded in | 1901 | inception 0.9 |\n\nAnn | was head of | Thule | head- 0.9 | "
    "1919/1937\n\nBea | was head of | Thule | head- 0.9 | 1938/",
    "Vinland | was founded in | 1911 | inception 0.8 |\n\nAnn | was head of | Vinland | head- 0.9 "
    "| 1920/1921\n\nCleo | was head of | Vinland | head- 0.9 | 1938/",
    "Markland | was founded in | 1890 | inception 0.9 |\n\n"
    "Markland | was set up in | 1930 | inception 0.9 |",
)


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("clubs")
    with sarag_rdf.open(folder, embedder=HashEmbedder(), endpoint=None) as kg:
        names = zip(CLUBS, ("a.txt", "b.txt", "c.txt"), strict=True)
        kg.index([Source(text, name, name) for text, name in names], extractor=TermsExtractor())
        yield kg


BELLS = """
    @prefix : <https://bells.example/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Bell a owl:Class ; rdfs:label "bell" . :Abbey a owl:Class ; rdfs:label "abbey" .
    :Baron a owl:Class ; rdfs:label "baron" .
    :ownedBy a owl:ObjectProperty ; rdfs:label "owned by" .
    :ada a :Bell ; rdfs:label "Ada Bell" ; :ownedBy :thule . :thule a :Abbey ; rdfs:label "Thule" .
    :bea a :Bell ; rdfs:label "Bea Bell" ; :ownedBy :moss . :moss a :Abbey ; rdfs:label "Moss" .
    :cleo a :Bell ; rdfs:label "Cleo Bell" ; :ownedBy :ivo . :ivo a :Baron ; rdfs:label "Ivo" .
    :dora a :Bell ; rdfs:label "Dora Bell" ; :ownedBy :ole . :ole rdfs:label "Ole" .
"""


@pytest.mark.parametrize(
    ("bell", "kinds"), [("Ada", "abbeys"), ("Cleo", "things"), ("Dora", "things")]
)
def test_what_was_looked_up_has_the_kind_of_the_answers(
    tmp_path: Path, bell: str, kinds: str
) -> None:
    (tmp_path / "bells.ttl").write_text(BELLS, "utf-8")
    with sarag_rdf.open(None, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.import_graph(tmp_path / "bells.ttl", "rdf", name="bells")
        answer = kg.ask(f"What is {bell} Bell owned by?")
    assert answer.reasoning.startswith(f"the {kinds} that the bell is owned by ({bell} Bell)")


RIVERS = (
    "Asle | is long | 120 km | length 0.9 |\n\nBrenn | is long | 90 km | length 0.9 |\n\n"
    "Corr | is long | 40 | length 0.9 |"
)


@pytest.mark.parametrize(
    ("question", "text", "reasoning"),
    [
        ("What is the length of Asle?", "120 km", ""),
        ("Which is longer, Asle or Brenn?", "Asle", "Asle: 120 km; Brenn: 90 km; "),
        ("What is the length of Corr?", "40", ""),
        ("Which is longer, Asle or Corr?", "", ""),
    ],
)
def test_numbers_have_the_units_of_documents(
    tmp_path: Path, question: str, text: str, reasoning: str
) -> None:
    with sarag_rdf.open(tmp_path, embedder=HashEmbedder(), endpoint=None) as kg:
        kg.index([Source(RIVERS, "rivers", "rivers.txt")], extractor=TermsExtractor())
        answer = kg.ask(question)
        assert text_of(answer) == text
        assert answer.reasoning.startswith(reasoning)


def test_documents_of_both_things_are_quoted(clubs: KnowledgeGraph) -> None:
    answer = clubs.ask("Which was founded first, Thule or Vinland?")
    assert answer.text == "Thule"
    assert "Thule was founded in 1901 D1" in answer.reasoning
    assert "Vinland was founded in 1911 D2" in answer.reasoning
    assert sorted(citation.title for citation in answer.citations) == ["a.txt", "b.txt"]
    paths = answer.retrieved.paths
    assert answer.confidence == pytest.approx(
        paths[0].probability * 0.9 * paths[1].probability * 0.8, abs=1e-3
    )


@pytest.mark.parametrize(
    ("question", "at", "text"),
    [
        ("Did Thule and Vinland have the same head?", "1920", "yes"),
        ("Did Thule and Vinland have the same head?", "1950", ""),  # one of several heads
        ("Do Thule and Vinland have the same head?", "", ""),
        ("Did Thule and Vinland have the same head?", "", "yes"),
        ("Was Thule founded before Vinland?", "", "yes"),
        ("Was Markland founded before Thule?", "", ""),  # its statements disagree
    ],
)
def test_what_is_compared_has_its_time(
    clubs: KnowledgeGraph, question: str, at: str, text: str
) -> None:
    assert text_of(clubs.ask(question, at=at)) == text
