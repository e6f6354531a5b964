"""The sentence that is shown of a retrieved document."""

from __future__ import annotations

from sarag_rdf.kg.report import key_sentences

WARSAW = "Warsaw is a capital. It lies on the Vistula. Its university was founded in 1816."
VISTULA = "It rises in the Beskids. The river flows through Warsaw. It is long."


def chosen(question: str, *documents: tuple[str, str]) -> list[str]:
    texts, paths = [text for text, _ in documents], [path for _, path in documents]
    spans = key_sentences(texts, question, paths)
    return [text[begin:end] for text, (begin, end) in zip(texts, spans, strict=True)]


def test_words_of_the_question_choose() -> None:
    question = "Which river flows through Warsaw?"
    assert chosen(question, (VISTULA, "")) == ["The river flows through Warsaw."]


def test_names_along_the_path_choose() -> None:
    question = "Where was Marie Curie born?"
    assert chosen(question, (WARSAW, "Marie Curie Vistula")) == ["It lies on the Vistula."]


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    """Warsaw is in two of six sentences, 1816 in one: log(1 + 6/2) = 1.39 < log(1 + 6) = 1.95."""
    found = chosen("Warsaw in 1816", (WARSAW, ""), (VISTULA, ""))
    assert found == ["Its university was founded in 1816.", "The river flows through Warsaw."]


def test_without_a_common_word_the_first_sentence_is_shown() -> None:
    assert chosen("Who?", (WARSAW, ""), ("", "")) == ["Warsaw is a capital.", ""]
