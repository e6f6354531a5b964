"""BM25, against its formula in plain Python."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sarag_rdf.base.arrays import IriList, Merge
from sarag_rdf.graph.vectors.search_indexes import K1, B, Bm25Index

TEXTS = ["Ulm lies on the Danube.", "The Danube", "Ada, ADA & ada!"]


def bm25(texts: Sequence[str], question: str) -> list[float]:
    """Each word of the question once; idf as Lucene has it, never below 0."""
    documents = [re.findall(r"\w+", text.casefold()) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        score = 0.0
        for word in set(re.findall(r"\w+", question.casefold())):
            holding = sum(word in document for document in documents)
            idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            count = words.count(word)
            if count:
                score += idf * count / (count + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return scores


def test_scores_by_hand() -> None:
    index = Bm25Index(TEXTS)
    # 'ada' stands 3 times in the third text of 3 words and nowhere else; the mean is 10 / 3:
    # log(1 + 2.5 / 1.5) * 3 / (3 + 1.2 * (.25 + .75 * 3 / (10 / 3))) = .9808 * 3 / 4.11 = .7160.
    assert index.scores("Did Ada ask Ada?").tolist() == pytest.approx([0, 0, 0.7160], abs=1e-4)
    danube = index.scores("danube")
    assert danube[1] > danube[0] > danube[2] == 0.0  # The shorter of two texts.
    assert danube.dtype == np.float32


def test_case_accents_and_signs() -> None:
    index = Bm25Index(["Straße 9, café", "strasse nine cafe", "x_y"])
    assert [float(s) > 0 for s in index.scores("STRASSE")] == [True, True, False]
    assert [float(s) > 0 for s in index.scores("Café?")] == [True, False, False]
    assert [float(s) > 0 for s in index.scores("(9)")] == [True, False, False]


@pytest.mark.parametrize("question", ["", "?!", "unknown words"])
def test_no_word_in_common(question: str) -> None:
    assert Bm25Index(TEXTS).scores(question).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("texts", [[], [""], ["", "?!"]])
def test_texts_without_words(texts: list[str]) -> None:
    scores = Bm25Index(texts).scores("Ada")
    assert scores.tolist() == [0.0] * len(texts)
    assert scores.dtype == np.float32


def test_an_empty_text_among_others() -> None:
    scores = Bm25Index(["", "Ada", ""]).scores("ada")
    assert scores[1] > 0.0
    assert scores[[0, 2]].tolist() == [0.0, 0.0]


text = st.lists(st.sampled_from(["ada", "Ulm", "danube", "the", "9"]), max_size=8).map(" ".join)


@given(st.lists(text, min_size=1, max_size=8), text)
def test_scores_are_those_of_the_formula(texts: list[str], question: str) -> None:
    if any(texts):
        found = Bm25Index(texts).scores(question).tolist()
        assert found == pytest.approx(bm25(texts, question), abs=1e-5)
        again = Bm25Index(texts).scores(" ".join(reversed(question.split())))
        assert again.tolist() == pytest.approx(found, abs=1e-5)


@given(
    st.dictionaries(st.integers(0, 9), text, max_size=8),
    st.dictionaries(st.integers(0, 9), st.none() | text, max_size=8),
)
def test_an_index_that_follows_changes_is_as_one_made_afresh(
    before: dict[int, str], changes: dict[int, str | None]
) -> None:
    """Texts go by names; those changed to None go."""
    come = {name: text for name, text in sorted(changes.items()) if text is not None}
    after = {k: v for k, v in (before | changes).items() if v is not None}
    names = IriList.of(map(str, before))
    merge = Merge.of(names, [str(name) for name in sorted(changes)], [str(name) for name in come])
    index = Bm25Index([before[name] for name in sorted(before)])
    changed = index.changed(merge, list(come.values()))
    fresh = Bm25Index([after[name] for name in sorted(after)])
    assert len(changed) == len(fresh) == len(after)
    found, expected = changed.arrays(), fresh.arrays()
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values, name)
    again = Bm25Index.of_arrays(found)
    assert again.scores("the danube").tolist() == fresh.scores("the danube").tolist()


@settings(max_examples=50)
@given(st.lists(text, min_size=1, max_size=8), text)
def test_another_implementation_gives_the_same_scores(texts: list[str], question: str) -> None:
    held = [re.findall(r"\w+", t.casefold()) for t in texts]
    if not any(held):
        return
    other = bm25s.BM25(k1=K1, b=B, method="lucene")
    other.index(held, show_progress=False)
    words = [w for w in dict.fromkeys(question.casefold().split()) if w in other.vocab_dict]
    expected = other.get_scores(words) if words else np.zeros(len(texts))
    np.testing.assert_allclose(Bm25Index(texts).scores(question), expected, atol=1e-5)
