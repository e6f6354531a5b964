from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.iris import strip_disambiguation
from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Document, Extraction, Mention
from sarag_rdf.extraction import spacy_extractor as pipeline
from sarag_rdf.extraction.clauses import CONFIDENCE
from sarag_rdf.extraction.names import clean_name, is_name
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor, SpacyOptions

BOTANIST = (
    "Ada Brook (born Ada Jane Merrow; 3 May 1901 – 9 June 1980) was a Welsh botanist. "
    "She was born in Cardiff, the capital of Wales. Her brother, Owen Brook, was born in Swansea. "
    "He died in 1950."
)
INSTITUTE = (
    "The Northern Seas Research Institute (NSRI) is based in Bergen, Norway. It was founded in "
    "1931 by Erik Dahl. The NSRI publishes the Journal of Cold Waters."
)
ALBUM = "Blue Lantern is an album by Mara Quinn. It was released by Harbor Records in 1987."


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    extractor = SpacyExtractor()
    try:
        assert extractor.method.extractor == "spacy"
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return extractor


def document(title: str, text: str) -> Document:
    return Document(f"urn:{title}", "urn:source", title, text, 0, len(text))


def one(extractor: Extractor, title: str, text: str) -> Extraction:
    (found,) = extractor.extract([document(title, text)])
    assert isinstance(found, Extraction)
    names = [m.name for m in found.mentions]
    assert len(set(names)) == len(names)
    assert {r.subject for r in found.relations} <= set(names)
    assert {r.object for r in found.relations if r.value is None} <= set(names)
    return replace(found, relations=tuple(r for r in found.relations if r.object in names))


def mentions(extractor: Extractor, title: str, text: str) -> dict[str, Mention]:
    return {m.name: m for m in one(extractor, title, text).mentions}


def triples(extractor: Extractor, title: str, text: str) -> set[tuple[str, str, str]]:
    return {(r.subject, r.phrase, r.object) for r in one(extractor, title, text).relations}


def texts(extractor: Extractor, title: str, text: str) -> set[str]:
    return {r.sentence for r in one(extractor, title, text).relations}


class TestMentions:
    def test_names_types_and_dates_the_title_first(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "Emily Stone", "In 1884 Emily Stone left Paris for New York.")
        assert {name: m.type for name, m in found.items()} == {
            "Emily Stone": "person",
            "1884": "time",
            "Paris": "geopolitical",
            "New York": "geopolitical",
        }
        assert next(iter(found)) == "Emily Stone"

    def test_an_organization_with_of_is_one_name(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "Erik Dahl studied at the University of Warsaw in Warsaw.")
        assert found["University of Warsaw"].type == "organization"
        assert found["Warsaw"].type == "geopolitical"

    def test_amounts_are_no_mentions(self, extractor: SpacyExtractor) -> None:
        text = "In 2010 Erik Dahl won 3 prizes, 45% of the votes and $20,000 at 10 am, the first."
        assert set(mentions(extractor, "", text)) == {"2010", "Erik Dahl"}

    def test_a_year_before_a_name_belongs_to_it(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "Erik Dahl rowed at the 2000 Summer Olympics in Sydney.")
        assert "2000 Summer Olympics" in found
        assert "2000" not in found

    def test_a_rank_before_a_name_is_dropped(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "The letter was read by President Erik Dahl in Bergen.")
        assert set(found) == {"Erik Dahl", "Bergen"}

    def test_names_lose_line_breaks_articles_and_possessives(
        self, extractor: SpacyExtractor
    ) -> None:
        found = mentions(extractor, "", "Mary\nSmith joined the United Nations' staff in Oslo.")
        assert set(found) == {"Mary Smith", "United Nations", "Oslo"}

    def test_a_title_loses_its_bracket_in_an_alias(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "Blue Lantern (album)", ALBUM)
        assert found["Blue Lantern (album)"].aliases == ("Blue Lantern",)
        assert "Blue Lantern" not in found

    @pytest.mark.parametrize(
        ("title", "aliases"),
        [
            ("Countess Sigrid Halden", ("Sigrid Halden", "Sigrid, Countess Halden")),
            ("Countess Halden", ("Sigrid, Countess Halden",)),
        ],
    )
    def test_a_title_with_a_rank_has_the_name_without_it(
        self, extractor: SpacyExtractor, title: str, aliases: tuple[str, ...]
    ) -> None:
        found = mentions(extractor, title, "Sigrid, Countess Halden, was born in Lom in 1729.")
        assert found[title].aliases == aliases


class TestOpenings:
    """The name that a text opens with is its title, or another form of it."""

    @pytest.mark.parametrize(
        ("title", "text", "opening"),
        [
            ("Owen Dahl (rower)", "Owen Dahl (born 3 May 1958) is a former rower.", "Owen Dahl"),
            ("Ada Brook (author)", "Ada Jane Brook (1901-1980) was a writer.", "Ada Jane Brook"),
            ("Harbor Ltd.", "Harbor Limited was founded in York in 1931.", "Harbor Limited"),
            ("Tom Dahl", "Thomas Dahl AM (born 1927) is a director.", "Thomas Dahl"),
            (
                "Thomas Lyon-Brook, Lord Tarn",
                "Thomas George Lyon-Brook (6 February 1801 - 27 January 1834) was an heir.",
                "Thomas George Lyon-Brook",
            ),
            ("Herman, Count of Tarn", "Herman of Brook was a count.", "Herman of Brook"),
            ("Erik Dahl", "Erik Dahl Moreno (born 1987) is a Chilean player.", "Erik Dahl Moreno"),
            (
                "Mara Q",
                "Ines Falcato (born 29 March 1994), better known by her stage name Mara Q, is a "
                "singer from Lisbon.",
                "Ines Falcato",
            ),
        ],
    )
    def test_another_form_of_the_title_is_one_of_its_names(
        self, extractor: SpacyExtractor, title: str, text: str, opening: str
    ) -> None:
        found = mentions(extractor, title, text)
        assert opening not in found
        assert opening in found[title].aliases

    @pytest.mark.parametrize(
        ("title", "text", "opening"),
        [
            ("History of Bergen", "Bergen is a city in Norway.", "Bergen"),
            ("Letters of Erik Dahl", "Erik Dahl wrote to Mara Quinn for years.", "Erik Dahl"),
            ("Mara Quinn", "Owen Brook met the singer in Lisbon.", "Owen Brook"),
        ],
    )
    def test_another_thing_is_not(
        self, extractor: SpacyExtractor, title: str, text: str, opening: str
    ) -> None:
        found = mentions(extractor, title, text)
        assert opening in found
        assert opening not in found.get(title, found[opening]).aliases


class TestTitlesOfNobility:
    def test_one_is_part_of_the_name_and_its_place_a_thing_of_its_own(
        self, extractor: SpacyExtractor
    ) -> None:
        text = (
            "Rosa Falk married Philipp Albrecht, Duke of Bergen, in 1928. Albrecht died in 1975. "
            "She met Charles Lyon, 6th Earl of Tarn and Kinghorne, and his wife Mara Lyon."
        )
        found = mentions(extractor, "Rosa Falk", text)
        assert found["Philipp Albrecht, Duke of Bergen"].type == "person"
        assert found["Bergen"].type == "geopolitical"
        assert "Charles Lyon, 6th Earl of Tarn and Kinghorne" in found
        assert not {"Philipp Albrecht", "Albrecht", "Charles Lyon", "6th Earl of Tarn"} & {*found}

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            (
                "She was a daughter of Erik Dahl, 6th Earl of Tarn and Margaret Merrow.",
                {"Erik Dahl, 6th Earl of Tarn", "Margaret Merrow"},
            ),
            ("In Bergen, Queen Ada met Owen Brook.", {"Bergen", "Owen Brook"}),
        ],
    )
    def test_what_else_stands_beside_it_is_not(
        self, extractor: SpacyExtractor, text: str, names: set[str]
    ) -> None:
        assert names <= mentions(extractor, "", text).keys()

    def test_a_point_of_the_compass_is_no_part_of_a_place(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "The farm of Erik Dahl lies in north-west Iowa.")
        assert set(found) == {"Erik Dahl", "Iowa"}


class TestNames:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("the  Curie\nInstitute's", "Curie Institute"),
            ("a Tale", "Tale"),
            ("A Tale of Two Cities", "A Tale of Two Cities"),
            ("“Blue Lantern”,", "Blue Lantern"),
            ("Bolton Rovers F.C.", "Bolton Rovers F.C."),
            ("Hello (album)", "Hello (album)"),
            ("Ann Lee (", "Ann Lee"),
            ("🎉 Ann Lee", "Ann Lee"),
            ("The", "The"),
            ("?!", ""),
        ],
    )
    def test_clean(self, text: str, name: str) -> None:
        assert clean_name(text) == name

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("Bo", True),
            ("B", False),
            ("42", False),
            ("--", False),
            ("river", False),
            ("מים", True),
            ("A" * 100, True),
            ("A" * 101, False),
        ],
    )
    def test_what_can_name_a_thing(self, name: str, expected: bool) -> None:
        assert is_name(name) is expected

    def test_bracket(self) -> None:
        assert strip_disambiguation("Dawn (1990 film)") == "Dawn"
        assert strip_disambiguation("(untitled)") == "(untitled)"


class TestCoreference:
    def test_a_surname_is_the_longer_name_and_no_alias(self, extractor: SpacyExtractor) -> None:
        text = "Nikola Tesla was born in Smiljan. Tesla moved to New York. He met Thomas Edison."
        found = mentions(extractor, "Nikola Tesla", text)
        assert "Tesla" not in found
        assert found["Nikola Tesla"].aliases == ()
        assert found["Nikola Tesla"].type == "person"
        assert ("Nikola Tesla", "moved to", "New York") in triples(extractor, "Nikola Tesla", text)

    def test_a_surname_of_two_people_is_nobody(self, extractor: SpacyExtractor) -> None:
        text = "Thomas Reed met Peter Reed in Leeds. Then Reed went to York."
        names = set(mentions(extractor, "", text))
        assert {"Thomas Reed", "Peter Reed", "Reed"} <= names

    def test_a_surname_of_two_people_is_the_title(self, extractor: SpacyExtractor) -> None:
        text = "Thomas Reed met Peter Reed in Leeds. Then Reed went to York."
        assert "Thomas Reed went to York" in texts(extractor, "Thomas Reed", text)

    def test_a_place_is_not_short_for_what_is_called_after_it(
        self, extractor: SpacyExtractor
    ) -> None:
        text = "The University of Warsaw is in Warsaw. Warsaw lies in Poland."
        assert "Warsaw" in mentions(extractor, "University of Warsaw", text)

    def test_she_is_the_title_and_he_is_not(self, extractor: SpacyExtractor) -> None:
        found = triples(extractor, "Ada Brook", BOTANIST)
        assert ("Ada Brook", "was born in", "Cardiff") in found
        assert ("Ada Brook", "died in", "1950") not in found

    def test_it_is_the_title_unless_another_thing_was_the_subject(
        self, extractor: SpacyExtractor
    ) -> None:
        text = "Blue Lantern is an album by Mara Quinn. Harbor Records is in Leeds. It made 1987."
        found = triples(extractor, "Blue Lantern", text)
        assert ("Blue Lantern", "is an album by", "Mara Quinn") in found
        assert ("Blue Lantern", "made", "1987") not in found
        found = triples(extractor, "Blue Lantern (album)", ALBUM)
        assert ("Blue Lantern (album)", "was released by", "Harbor Records") in found

    def test_it_is_no_person(self, extractor: SpacyExtractor) -> None:
        text = "Ada Brook was a botanist. She found a moss. It grows in Wales."
        assert ("Ada Brook", "grows in", "Wales") not in triples(extractor, "Ada Brook", text)


class TestAliases:
    def test_a_legal_form_is_dropped_within_a_document(self, extractor: SpacyExtractor) -> None:
        text = "Harbor Records Inc. is in Leeds. Harbor Records grew. Emily Stone left it."
        found = mentions(extractor, "", text)
        assert "Harbor Records" not in found
        assert found["Harbor Records Inc."].aliases == ()

    def test_an_acronym_in_brackets(self, extractor: SpacyExtractor) -> None:
        title = "Northern Seas Research Institute"
        found = mentions(extractor, title, INSTITUTE)
        assert found[title].aliases == ("NSRI",)
        assert "NSRI" not in found
        assert (title, "publishes", "Journal of Cold Waters") in triples(
            extractor, title, INSTITUTE
        )

    def test_an_acronym_of_another_language(self, extractor: SpacyExtractor) -> None:
        text = "The European Organization for Nuclear Research (CERN) is based in Geneva."
        found = mentions(extractor, "", text)
        assert found["European Organization for Nuclear Research"].aliases == ("CERN",)

    def test_letters_after_a_person_are_no_acronym(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "Sarah Jane Cooper (SJC) beat Peter Marsh in Leeds.")
        assert found["Sarah Jane Cooper"].type == "person"
        assert found["Sarah Jane Cooper"].aliases == ()

    def test_names_at_birth_and_also_known_as(self, extractor: SpacyExtractor) -> None:
        assert mentions(extractor, "Ada Brook", BOTANIST)["Ada Brook"].aliases == (
            "Ada Jane Merrow",
        )
        text = "Nadia Petrova, also known as Nina Peters, is a dancer from Moscow."
        assert mentions(extractor, "Nadia Petrova", text)["Nadia Petrova"].aliases == (
            "Nina Peters",
        )

    def test_names_after_or(self, extractor: SpacyExtractor) -> None:
        text = "Nadia Petrova, also known as Nina Peters or Nora Pender, is a dancer from Moscow."
        aliases = mentions(extractor, "Nadia Petrova", text)["Nadia Petrova"].aliases
        assert aliases == ("Nina Peters", "Nora Pender")
        text = "Johann Nicolaus Brook (or Johann Nikolaus Brook) was a composer."
        (name,) = mentions(extractor, "", text)
        assert name == "Johann Nicolaus Brook"

    def test_other_names_that_texts_do_not_explain(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "Owen Dahl moved to the United States after World War II.")
        assert "U.S." in found["United States"].aliases
        assert "Second World War" in found["World War II"].aliases

    def test_a_bare_surname_at_birth_is_no_alias(self, extractor: SpacyExtractor) -> None:
        text = "Emily Stone (née Brook) is a dancer from Leeds."
        found = mentions(extractor, "Emily Stone", text)
        assert found["Emily Stone"].aliases == ()

    def test_a_place_of_birth_is_no_alias(self, extractor: SpacyExtractor) -> None:
        text = "Emily Stone, born in Leeds, is a dancer. Peter Marsh (born London, 1950) sings."
        assert {m.aliases for m in mentions(extractor, "", text).values()} == {()}


class TestDescriptions:
    def test_pronouns_count_for_the_title_only(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "Ada Brook", BOTANIST)
        first, second, third, _ = (
            "Ada Brook (born Ada Jane Merrow; 3 May 1901 – 9 June 1980) was a Welsh botanist.",
            "She was born in Cardiff, the capital of Wales.",
            "Her brother, Owen Brook, was born in Swansea.",
            "He died in 1950.",
        )
        assert found["Ada Brook"].descriptions == (f"Ada Brook: {first} {second} {third}",)
        assert found["Owen Brook"].descriptions == (f"Owen Brook: {third}",)

    def test_short_forms_and_acronyms_count(self, extractor: SpacyExtractor) -> None:
        text = "It began. Erik Dahl came. Dahl saw Oslo. Dahl visited Bergen. Dahl left Oslo."
        (description,) = mentions(extractor, "Voyage", text)["Erik Dahl"].descriptions
        assert description == "Erik Dahl: Erik Dahl came. Dahl saw Oslo. Dahl visited Bergen."

    def test_a_title_without_text_has_none(self, extractor: SpacyExtractor) -> None:
        assert one(extractor, "Only a title", "").mentions == (Mention("Only a title"),)


class TestRelations:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Erik Dahl founded Harbor Records.", ("Erik Dahl", "founded", "Harbor Records")),
            ("Erik Dahl did not visit Oslo.", ("Erik Dahl", "did not visit", "Oslo")),
            (
                "Harbor Records was founded by Erik Dahl.",
                ("Harbor Records", "was founded by", "Erik Dahl"),
            ),
            ("Warsaw is the capital of Poland.", ("Warsaw", "is the capital of", "Poland")),
            ("The capital of Norway is Oslo.", ("Oslo", "is the capital of", "Norway")),
            ("Poland's capital Warsaw is old.", ("Poland", "has the capital", "Warsaw")),
            ("Erik Dahl saw Oslo, the capital of Norway.", ("Oslo", "is the capital of", "Norway")),
            ("Erik Dahl works in Paris, France.", ("Paris", "is in", "France")),
            (
                "Emily Stone met Erik Dahl. Erik Dahl works in Paris, France.",
                ("Erik Dahl", "works in", "France"),
            ),
            ("Emily Stone and Peter Marsh visited Oslo.", ("Peter Marsh", "visited", "Oslo")),
            ("Emily Stone visited Oslo and Bergen.", ("Emily Stone", "visited", "Bergen")),
            ("Emily Stone lived in Oslo and died in Bergen.", ("Emily Stone", "died in", "Bergen")),
            (
                "Emily Stone, who was born in Oslo, met Peter Marsh.",
                ("Emily Stone", "was born in", "Oslo"),
            ),
            (
                "Leeds Hall is a building located in Leeds.",
                ("Leeds Hall", "is located in", "Leeds"),
            ),
            (
                "Emily Stone won the prize of the Oslo Academy.",
                ("Emily Stone", "won the prize of", "Oslo Academy"),
            ),
        ],
    )
    def test_by_dependencies(
        self, extractor: SpacyExtractor, text: str, expected: tuple[str, str, str]
    ) -> None:
        assert expected in triples(extractor, "", text)

    def test_sentences_and_priors(self) -> None:
        extractor = SpacyExtractor(SpacyOptions(typed=False))
        (found,) = [
            r for r in one(extractor, "Ada Brook", BOTANIST).relations if r.object == "Cardiff"
        ]
        assert found.sentence == "Ada Brook was born in Cardiff"
        assert found.confidence == CONFIDENCE["passive"]

    def test_possessive_pronouns(self, extractor: SpacyExtractor) -> None:
        found = one(extractor, "Ada Brook", BOTANIST).relations
        assert "Ada Brook's brother is Owen Brook" in {r.sentence for r in found}

    def test_dates_of_life(self, extractor: SpacyExtractor) -> None:
        found = triples(extractor, "Ada Brook", BOTANIST)
        assert ("Ada Brook", "was born on", "3 May 1901") in found
        assert ("Ada Brook", "died on", "9 June 1980") in found
        text = "Emily Stone (born 1950) is a dancer. Peter Marsh (1955) won."
        found = triples(extractor, "", text)
        assert ("Emily Stone", "was born in", "1950") in found
        assert not any(subject == "Peter Marsh" for subject, _, _ in found)

    def test_dates_of_life_are_typed_statements(self, extractor: SpacyExtractor) -> None:
        found = one(extractor, "Ada Brook", BOTANIST).relations
        born = {r.object: r.predicate.rpartition("#")[2] for r in found if r.predicate}
        assert (born["3 May 1901"], born["9 June 1980"]) == ("birthDate", "deathDate")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Erik Dahl became professor at Larch College.", "became professor at"),
            ("Erik Dahl began to teach at Larch College.", "began to teach at"),
            ("Erik Dahl has studied at Larch College.", "has studied at"),
        ],
    )
    def test_phrases_have_all_words_on_the_way(
        self, extractor: SpacyExtractor, text: str, expected: str
    ) -> None:
        assert expected in {phrase for _, phrase, _ in triples(extractor, "Erik Dahl", text)}

    def test_nothing_is_related_to_itself(self, extractor: SpacyExtractor) -> None:
        text = "Nikola Tesla is Tesla. Tesla met Nikola Tesla in Paris."
        found = triples(extractor, "Nikola Tesla", text)
        assert found
        assert not any(subject == object_ for subject, _, object_ in found)

    def test_a_name_in_a_text_about_another_is_a_mention_and_no_relationship(
        self, extractor: SpacyExtractor
    ) -> None:
        text = "The event draws bands such as Iron Kettle and Velvet Crow."
        found = one(extractor, "Harbour Festival", text)
        assert found.relations == ()
        assert {m.name for m in found.mentions} == {
            "Harbour Festival",
            "Iron Kettle",
            "Velvet Crow",
        }

    def test_a_pair_is_related_once(self, extractor: SpacyExtractor) -> None:
        found = one(extractor, "Blue Lantern (album)", ALBUM).relations
        pairs = [(r.subject, r.object) for r in found]
        assert pairs.count(("Blue Lantern (album)", "Mara Quinn")) == 1
        assert {r.object for r in found} == {"Mara Quinn", "Harbor Records", "1987"}

    def test_what_a_pronoun_of_another_says_is_not_said_of_the_title(
        self, extractor: SpacyExtractor
    ) -> None:
        found = texts(extractor, "Ada Brook", BOTANIST)
        assert "Ada Brook was born in Swansea" not in found

    def test_a_companion_is_that_of_the_one_before(self, extractor: SpacyExtractor) -> None:
        text = (
            "Rosa Falk was a daughter of Erik Dahl and his third wife, Mara Quinn. "
            "She and her husband Owen Brook lived in Bergen."
        )
        found = texts(extractor, "Rosa Falk", text)
        assert not any("third wife" in sentence for sentence in found)
        assert "Rosa Falk's husband is Owen Brook" in found


class TestRobustness:
    @pytest.mark.parametrize("text", ["", " \n\n ", "nothing to see here.", "👍🏽 🎉", "42% ???"])
    def test_no_name_no_extraction(self, extractor: SpacyExtractor, text: str) -> None:
        assert one(extractor, "", text) == Extraction()
        assert one(extractor, "???", text) == Extraction()

    def test_emoji_and_right_to_left_text(self, extractor: SpacyExtractor) -> None:
        found = mentions(extractor, "", "🎉 Ann Lee met Bob Ray in Haifa (חיפה). مرحبا بالعالم!")
        assert {"Ann Lee", "Bob Ray", "Haifa"} <= set(found)

    def test_a_text_of_dates_alone(self, extractor: SpacyExtractor) -> None:
        found = one(extractor, "", "It was in 1990, then in 1991.")
        assert [m.name for m in found.mentions] == ["1990", "1991"]
        assert found.relations == ()

    def test_one_acronym_of_two_things_means_the_first(self, extractor: SpacyExtractor) -> None:
        text = (
            "The Bergen Harbour Office (BHO) is in Norway. "
            "The Baltic Herring Organization (BHO) is in Riga. The BHO visited Oslo."
        )
        names = set(mentions(extractor, "", text))
        assert {"Bergen Harbour Office", "Baltic Herring Organization"} <= names
        assert "Bergen Harbour Office visited Oslo" in texts(extractor, "", text)


class TestExtractor:
    def test_batches_do_not_change_the_outcome(self, extractor: SpacyExtractor) -> None:
        documents = [
            document("Ada Brook", BOTANIST),
            document("", ""),
            document("Northern Seas Research Institute", INSTITUTE),
            document("Blue Lantern (album)", ALBUM),
        ]
        once = list(extractor.extract(documents))
        assert len(once) == 4
        assert list(SpacyExtractor(SpacyOptions(batch_size=1)).extract(iter(documents))) == once
        assert list(extractor.extract(documents)) == once

    def test_documents_are_read_a_batch_ahead(self, extractor: SpacyExtractor) -> None:
        read = 0

        def documents() -> Iterator[Document]:
            nonlocal read
            for _ in range(100):
                read += 1
                yield document("Ada Brook", "Ada Brook was a botanist.")

        small = SpacyExtractor(SpacyOptions(batch_size=4))
        found = small.extract(documents())
        assert read == 0
        next(found)
        assert read <= 8

    def test_the_method_names_model_version_and_rules(self, extractor: SpacyExtractor) -> None:
        method = extractor.method
        name, version = method.model.split()
        assert name in pipeline.MODELS
        assert version[0].isdigit()
        assert method.settings["rules"] == pipeline.RULES
        assert method.prompt_hash == ""


class TestModel:
    def test_a_model_that_is_not_there(self) -> None:
        extractor = SpacyExtractor(SpacyOptions(model="xx_no_such_model"))
        with pytest.raises(MissingDependencyError, match="spacy download xx_no_such_model"):
            extractor.extract([]).__next__()

    def test_no_model_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pipeline, "MODELS", ("xx_none", "yy_none"))
        with pytest.raises(MissingDependencyError) as caught:
            _ = SpacyExtractor().method
        assert "python -m spacy download en_core_web_sm" in str(caught.value)
        assert 'pip install "sarag-rdf[models]"' in str(caught.value)


def test_names_have_their_signs(extractor: SpacyExtractor) -> None:
    text = "He wrote C++ and C# code, and used the A* search of *Hamlet*."
    assert {"C++", "C#", "A*", "Hamlet"} <= mentions(extractor, "", text).keys()


def test_a_clause_without_words_that_must_be_said_is_read(extractor: SpacyExtractor) -> None:
    """The model reads the letter "m" in a misspelt title as a verb, of which nothing is needed."""
    text = (
        "He made several hit movies starring Freddy Quinn, but also war films such as "
        '"Rommel ruft Cairo" and crime films such as "Der rote Rausch" and, in the early seventies,'
        ' back to the Immenhof films, "Die Zwillinge von ImmenhofTwins from Immenhof") and '
        '"Frühling i m ImmenhofSpring in Immenhof").'
    )
    assert "Freddy Quinn" in mentions(extractor, "Immenhof", text)
