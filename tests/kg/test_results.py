"""The sentence that is shown of a retrieved document."""

from __future__ import annotations

from sarag_rdf.base.types import Document, Query, RankedDocument, Retrieved, Step, Subgraph
from sarag_rdf.kg.results import key_sentences, key_sentences_of

WARSAW = "Warsaw is a capital. It lies on the Vistula. Its university was founded in 1816."
VISTULA = "It rises in the Beskids. The river flows through Warsaw. It is long."
STEFAN = "Josef Stefan was a physicist and a poet. He was born near Klagenfurt. He died in Vienna."


def document(text: str, title: str = "", language: str = "en") -> Document:
    return Document(f"d:{title}", f"s:{title}", title, text, 0, len(text), language)


def chosen(question: str, *texts: tuple[str, str, str]) -> list[str]:
    """For texts with their titles and the names that lead on."""
    documents = [document(text, title) for text, title, _ in texts]
    spans = key_sentences(documents, question, [onward for *_, onward in texts])
    return [text[begin:end] for (text, *_), (begin, end) in zip(texts, spans, strict=True)]


def test_words_of_the_question_choose() -> None:
    question = "Which river flows through Warsaw?"
    assert chosen(question, (VISTULA, "", "")) == ["The river flows through Warsaw."]


def test_names_that_lead_on_choose() -> None:
    question = "Where was Marie Curie born?"
    assert chosen(question, (WARSAW, "", "Vistula")) == ["It lies on the Vistula."]


def test_the_own_name_of_a_document_does_not_choose() -> None:
    """Without the title the first sentence shares "Josef" and "Stefan" with the question."""
    question = "Where was the supervisor, Josef Stefan, born?"
    assert chosen(question, (STEFAN, "", ""))[0].startswith("Josef Stefan was")
    assert chosen(question, (STEFAN, "Josef Stefan", "")) == ["He was born near Klagenfurt."]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    """Warsaw is in two of six sentences, 1816 in one: log(1 + 6/2) = 1.39 < log(1 + 6) = 1.95."""
    found = chosen("Warsaw in 1816", (WARSAW, "", ""), (VISTULA, "", ""))
    assert found == ["Its university was founded in 1816.", "The river flows through Warsaw."]


def test_without_a_common_word_the_first_sentence_is_shown() -> None:
    assert chosen("Who?", (WARSAW, "", ""), ("", "", "")) == ["Warsaw is a capital.", ""]


def test_a_document_shows_the_name_through_which_it_leads_to_another() -> None:
    """Warsaw leads to the Vistula, which leads nowhere; brackets of a title are not its name."""
    warsaw, vistula = document(WARSAW, "Warsaw (city)"), document(VISTULA, "Vistula")
    steps = (
        Step(1, warsaw.iri, "e:v", "describes", 1.0, 1.0, 1.0, "describes", "document", "entity"),
        Step(3, "e:v", vistula.iri, "describes", 1.0, 1.0, 1.0, "describes", "entity", "document"),
    )
    ranked = (
        RankedDocument(warsaw, 2.0, 0.0, 1.0, "e:w", 1),
        RankedDocument(vistula, 1.0, 0.0, 1.0, "e:v", 2, steps),
    )
    query = Query("Is Warsaw a city, and where does the Vistula rise?")
    found = Retrieved(query, "sarag", {}, ranked, (), (), (), Subgraph((), {}, ()))
    assert key_sentences_of(found, {"e:v": "Vistula"}) == [
        "It lies on the Vistula.",
        "It rises in the Beskids.",
    ]


def test_inflected_forms_are_one_word() -> None:
    assert chosen("Where does it rise?", (VISTULA, "", "")) == ["It rises in the Beskids."]
    german = document("Er schrieb Briefe. Die Häuser sind alt.", language="de")
    assert key_sentences([german], "Welches Haus?", [""]) == [(19, 39)]
    unknown = document("One two. The houses.", language="tlh")
    assert key_sentences([unknown], "houses", [""]) == [(9, 20)]
