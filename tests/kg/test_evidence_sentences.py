"""The sentences that are shown of retrieved documents, and their chain."""

from __future__ import annotations

import pytest

from sarag_rdf.base.types import (
    ActivatedEntity,
    Document,
    EntityType,
    Query,
    RankedDocument,
    Retrieved,
    Subgraph,
)
from sarag_rdf.kg.evidence import Chain, RetrievedEvidence
from sarag_rdf.retrieval.context import approximate_tokens

STEFAN = (
    "Josef Stefan was a physicist. He was born near Klagenfurt. He wrote poems. He died in Vienna."
)
BOLTZMANN = (
    "Ludwig Boltzmann was a physicist. He grew up in Vienna. He took his degree under the "
    "supervision of Josef Stefan. His formula is on his grave."
)
WARSAW = "Warsaw is a capital. It lies on the Vistula. Its university was founded in 1816."
VISTULA = "The Vistula is a river. It rises in the Beskids. It flows through Warsaw. It is long."


def found(
    question: str, *texts: tuple[str, str], things: tuple[tuple[str, EntityType], ...] = ()
) -> Retrieved:
    """Documents, (title, text) by rank, with the entities that were activated."""
    documents = [
        Document(f"d:{n}", f"s:{n}", title, text, 0, len(text), "en")
        for n, (title, text) in enumerate(texts, start=1)
    ]
    entities = [
        ActivatedEntity(f"e:{name}", name, type_, 1.0, False, True, 1) for name, type_ in things
    ]
    ranked = [
        RankedDocument(document, -rank, 0.0, 1.0, f"e:{document.title}", rank)
        for rank, document in enumerate(documents, start=1)
    ]
    return Retrieved(
        Query(question), "sarag", {}, tuple(ranked), (), (), tuple(entities), Subgraph((), {}, ())
    )


def shown(retrieved: Retrieved) -> list[str]:
    return [evidence.text for evidence in RetrievedEvidence(retrieved).excerpts]


def test_words_of_the_question_choose() -> None:
    retrieved = found("Which river flows through Warsaw?", ("", VISTULA))
    assert "It flows through Warsaw." in shown(retrieved)[0]


def test_the_own_name_of_a_document_does_not_choose() -> None:
    """With it, "Josef Stefan was a physicist." would hold two words, "born" is one."""
    retrieved = found("Where was the poet Josef Stefan born?", ("Josef Stefan", STEFAN))
    assert "He was born near Klagenfurt." in shown(retrieved)[0]


def test_what_a_better_document_answers_is_not_asked_again() -> None:
    """The supervision is the answer of the first, so the second is asked for the birth."""
    question = "Where was the supervisor of Ludwig Boltzmann born?"
    first, second = shown(
        found(question, ("Ludwig Boltzmann", BOLTZMANN), ("Josef Stefan", STEFAN))
    )
    assert "under the supervision of Josef Stefan." in first
    assert "He was born near Klagenfurt." in second
    alone = shown(found("Who rises in the Beskids?", ("A", VISTULA), ("B", "One. It rises here.")))
    assert "It rises in the Beskids." in alone[0]
    assert alone[1].startswith("One.")


def test_a_sentence_that_names_the_next_document_leads_there() -> None:
    question = "Where does the river of the capital rise?"
    linked = found(question, ("Warsaw", WARSAW), ("Vistula", VISTULA))
    assert "It lies on the Vistula." in shown(linked)[0]
    assert "It lies on the Vistula." not in shown(found(question, ("Warsaw", WARSAW)))[0]


def test_without_a_title_the_thing_that_led_there_is_the_name_of_a_document() -> None:
    question = "Where does the river of the capital rise?"
    retrieved = found(question, ("Warsaw", WARSAW), ("", VISTULA), things=(("", "misc"),))
    assert "It lies on the Vistula." not in shown(retrieved)[0]
    named = ActivatedEntity("e:", "Vistula", "geopolitical", 1.0, False, True, 1)
    retrieved = Retrieved(
        retrieved.query, "sarag", {}, retrieved.documents, (), (), (named,), retrieved.subgraph
    )
    assert "It lies on the Vistula." in shown(retrieved)[0]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("When was that?", "It began in 1816."),
        ("How many were there?", "Nine men came."),
        ("Who was that?", "Ada led it."),
    ],
)
def test_the_kind_that_is_asked_for_chooses(question: str, sentence: str) -> None:
    rest = ["It is a sad one.", "Then it snowed.", "All was white."]
    text = " ".join(["This is a tale.", *rest, sentence])
    assert sentence in shown(found(question, ("", text), things=(("Ada", "person"),)))[0]


def test_a_value_is_not_a_named_thing() -> None:
    text = "This is a tale. Danish it was. Ada led it."
    things: tuple[tuple[str, EntityType], ...] = (("Danish", "adjective"), ("Ada", "person"))
    assert "Danish" not in shown(found("Who was it?", ("", text), things=things))[0]


def test_a_second_sentence_is_shown_only_if_it_adds() -> None:
    text = "Nothing is here. Snow fell in May. Snow fell in May."
    retrieved = found("Snow in May?", ("", text))
    assert [len(evidence.spans) for evidence in RetrievedEvidence(retrieved).excerpts] == [2]
    assert shown(retrieved) == ["Nothing is here. Snow fell in May."]
    one = found("Snow in May?", ("", "Snow fell in May. Nothing is here. Snow fell in May."))
    assert shown(one) == ["Snow fell in May."]


def test_inflected_forms_are_one_word_in_their_language() -> None:
    assert "It rises" in shown(found("Where does it rise?", ("", VISTULA)))[0]
    text = "Er schrieb Briefe. Es regnet. Die Häuser sind alt."
    german = Document("d", "s", "", text, 0, len(text), "de")
    ranked = RankedDocument(german, 1.0, 0.0, 0.0, "", 1)
    query = Query("Welches Haus?")
    retrieved = Retrieved(query, "bm25", {}, (ranked,), (), (), (), Subgraph((), {}, ()))
    assert "Die Häuser sind alt." in shown(retrieved)[0]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is his place of death?", "He died at home."),
        ("Who was his wife?", "He married Ada."),
        ("What is the date of birth of the composer?", "He was born in May."),
        ("Whose brother was he?", "Bea was his sister."),
    ],
)
def test_words_of_one_family_are_one_word(question: str, sentence: str) -> None:
    rest = ["He was tall.", "It snowed.", "He died at home.", "He married Ada."]
    rest += ["He was born in May.", "Bea was his sister."]
    assert sentence in shown(found(question, ("", " ".join(rest))))[0]


def test_an_empty_document_and_an_empty_result_have_no_evidence() -> None:
    assert shown(found("Who?", ("", ""))) == [""]
    assert RetrievedEvidence(found("Who?")).excerpts == ()
    assert RetrievedEvidence(found("Who?", ("", ""))).chain == ()


def test_the_chain_is_in_the_order_of_the_hops() -> None:
    """The question names Boltzmann, whose evidence names Stefan; the better Linz is beside it."""
    question = "Where was the supervisor of Ludwig Boltzmann born?"
    texts = (
        ("Linz", "Linz is a town. It has a castle."),
        ("Josef Stefan", STEFAN),
        ("Ludwig Boltzmann", BOLTZMANN),
    )
    chain = RetrievedEvidence(found(question, *texts)).chain
    assert [rank for rank, _ in chain][:2] == [3, 2]
    assert "supervision of Josef Stefan" in chain[0][1].text


def test_a_document_that_answers_nothing_is_not_in_the_chain() -> None:
    question = "On which river does Warsaw lie?"
    texts = (("Warsaw", WARSAW), ("Vistula", VISTULA), ("Snow", "Snow is cold. It melts."))
    assert [rank for rank, _ in RetrievedEvidence(found(question, *texts)).chain] == [1, 2]


def naming(title: str, name: str) -> str:
    return RetrievedEvidence(found("Who?", (title, BOLTZMANN))).sentence_naming("d:1", name)


def test_the_sentence_that_names_something() -> None:
    expected = "He took his degree under the supervision of Josef Stefan."
    assert naming("", "Josef Stefan") == expected
    assert naming("", "Stefan (physicist)") == expected
    assert naming("", "Ada") == ""
    assert naming("Ludwig Stefan", "Josef Stefan") == expected
    assert naming("Ludwig Stefan", "Ada Stefan") == ""
    assert RetrievedEvidence(found("Who?")).sentence_naming("d:1", "Josef Stefan") == ""


def test_the_context_is_the_chain_within_its_budget() -> None:
    question = "Where was the supervisor of Ludwig Boltzmann born?"
    retrieved = found(question, ("Josef Stefan", STEFAN), ("Ludwig Boltzmann", BOLTZMANN))
    context = Chain().build(None, retrieved, approximate_tokens)  # type: ignore[arg-type]
    titles = [excerpt.document.title for excerpt in context.excerpts.values()]
    assert titles == ["Ludwig Boltzmann", "Josef Stefan"]
    assert context.tokens < approximate_tokens(STEFAN + BOLTZMANN)
    small = Chain(budget=30).build(None, retrieved, approximate_tokens)  # type: ignore[arg-type]
    assert [e.document.title for e in small.excerpts.values()] == ["Ludwig Boltzmann"]
