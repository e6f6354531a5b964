from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sarag_rdf.base.errors import ExtractionFormatError, InputError
from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Document, Extraction, Mention
from sarag_rdf.extraction.names import build_descriptions
from sarag_rdf.plugins.named_sentences import sentences_with_name
from sarag_rdf.plugins.openie import OpenIEExtractor

LIGHTHOUSE = (
    "Ada Brook kept the light at Gull Rock. It was built in 1872. Gull Rock is off Porth Wen."
)
DOCS: list[dict[str, Any]] = [
    {
        "title": "Gull Rock (lighthouse)",
        "text": LIGHTHOUSE,
        "passage": f"Gull Rock (lighthouse)\n{LIGHTHOUSE}",
        "extracted_entities": ["Ada Brook", "Gull Rock", "1872", "ada brook"],
        "extracted_triples": [
            ["Ada Brook", "kept the light at", "Gull Rock"],
            ["The Gull Rock", "built in", "1872"],
            ["Gull Rock", "is off", "Porth Wen"],
            ["Gull Rock", "is off", "Porth Wen"],
            ["Gull Rock", "is off"],
            ["Gull Rock", "", "Porth Wen"],
            ["Gull Rock", "has", 2],
            "Gull Rock",
        ],
    },
    {
        "passage": "Porth Wen\nPorth  Wen lies in Llanbad.",
        "extracted_entities": ["Porth Wen", "Llanbad"],
        "extracted_triples": [["Porth Wen", "lies in", "Llanbad"]],
    },
]


def written(folder: Path, content: object) -> Path:
    path = folder / "extraction.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def extractor(tmp_path: Path) -> OpenIEExtractor:
    return OpenIEExtractor(written(tmp_path, {"docs": DOCS}))


def document(title: str, text: str) -> Document:
    return Document(f"urn:{title}", "urn:source", title, text, 0, len(text))


def one(extractor: Extractor, title: str, text: str) -> Extraction:
    (found,) = extractor.extract([document(title, text)])
    assert isinstance(found, Extraction)
    return found


def triples(extraction: Extraction) -> list[tuple[str, str, str]]:
    return [(r.subject, r.phrase, r.object) for r in extraction.relations]


def test_a_passage_gives_its_title_entities_and_ends_of_triples(extractor: OpenIEExtractor) -> None:
    found = one(extractor, "Gull Rock (lighthouse)", LIGHTHOUSE)
    assert [m.name for m in found.mentions] == [
        "Gull Rock (lighthouse)",
        "Ada Brook",
        "Gull Rock",
        "1872",
        "Porth Wen",
    ]
    assert {m.name: m.type for m in found.mentions if m.type != "misc"} == {"1872": "time"}
    assert triples(found) == [
        ("Ada Brook", "kept the light at", "Gull Rock"),
        ("Gull Rock", "built in", "1872"),
        ("Gull Rock", "is off", "Porth Wen"),
        ("Gull Rock", "is off", "Porth Wen"),
    ]


def test_descriptions_are_the_sentences_that_name_a_thing(extractor: OpenIEExtractor) -> None:
    mentions = {m.name: m for m in one(extractor, "Gull Rock (lighthouse)", LIGHTHOUSE).mentions}
    assert mentions["Gull Rock"].descriptions == (
        "Gull Rock: Ada Brook kept the light at Gull Rock. Gull Rock is off Porth Wen.",
    )
    title = mentions["Gull Rock (lighthouse)"]
    assert title.descriptions == (f"Gull Rock (lighthouse): {LIGHTHOUSE}",)
    assert title.aliases == ("Gull Rock",)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Porth Wen", "Porth Wen lies in Llanbad."),
        ("Porth Wen", "Porth \n Wen lies\tin Llanbad."),
        ("", "Porth Wen\nPorth  Wen lies in Llanbad."),
        ("", "Porth Wen lies in Llanbad."),
        ("Another title", "Porth Wen lies in Llanbad."),
    ],
)
def test_a_document_is_found_by_its_text(extractor: OpenIEExtractor, title: str, text: str) -> None:
    assert triples(one(extractor, title, text)) == [("Porth Wen", "lies in", "Llanbad")]
    assert extractor.missing_documents == 0


def test_a_chunk_takes_what_occurs_in_it(extractor: OpenIEExtractor) -> None:
    found = one(extractor, "Gull Rock (lighthouse)", "It was built in 1872. Gull Rock is off")
    assert [m.name for m in found.mentions] == ["Gull Rock (lighthouse)", "Gull Rock", "1872"]
    assert triples(found) == [("Gull Rock", "built in", "1872")]


def test_a_chunk_of_two_passages_belongs_to_the_one_with_its_title(tmp_path: Path) -> None:
    docs = [
        {
            "title": title,
            "text": "The ferry leaves at noon. It is red.",
            "extracted_entities": [],
            "extracted_triples": [["ferry", "leaves from", title]],
        }
        for title in ("Aber", "Bala")
    ]
    extractor = OpenIEExtractor(written(tmp_path, {"docs": docs}))
    found = one(extractor, "Bala", "The ferry leaves at noon.")
    assert triples(found) == [("ferry", "leaves from", "Bala")]


def test_what_is_not_returned_is_counted(tmp_path: Path) -> None:
    triples_ = [
        ["Porth Wen", "lies in", "Llanbad"],
        ["Porth Wen", "lies in", "Llanbad"],
        ["Porth Wen", "was built in", "1872"],
        ["Porth Wen", "", "1872"],
        ["Porth Wen", 7],
    ]
    text = "Porth Wen lies in Llanbad. It was built in 1872."
    doc = {"title": "", "text": text, "extracted_entities": [], "extracted_triples": triples_}
    path = written(tmp_path, {"docs": [doc]})
    whole = OpenIEExtractor(path)
    assert len(one(whole, "", text).relations) == 3
    assert whole.discarded == {"malformed triples": 2}

    chunked = OpenIEExtractor(path)
    one(chunked, "", "Porth Wen lies in Llanbad.")
    apart = "relationships between names in different chunks"
    assert chunked.discarded[apart] == 1
    one(chunked, "", "Llanbad. It was built in 1872.")
    assert chunked.discarded[apart] == 1


def test_documents_without_an_entry_are_yielded_as_errors(extractor: OpenIEExtractor) -> None:
    documents = [
        document("Elsewhere", "Nobody wrote of it."),
        document("Porth Wen", "Porth Wen lies in Llanbad."),
        document("", ""),
    ]
    missing, found, empty = extractor.extract(documents)
    assert isinstance(missing, InputError)
    assert str(missing) == "no extraction for Elsewhere in extraction.json"
    assert isinstance(found, Extraction)
    assert isinstance(empty, InputError)
    assert extractor.missing_documents == 2


def test_the_method_names_the_file_and_its_content(tmp_path: Path) -> None:
    path = written(tmp_path, {"docs": DOCS})
    method = OpenIEExtractor(path).method
    assert (method.extractor, method.model) == ("openie", "extraction.json")
    assert method.prompt_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert method.settings == {}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ([], "the top level has no list 'docs'"),
        ({"docs": {}}, "the top level has no list 'docs'"),
        ({"docs": ["text"]}, "docs[0] is not an object"),
        ({"docs": [*DOCS, {"passage": "x"}]}, "docs[2] has no list 'extracted_entities'"),
        (
            {"docs": [{"passage": "x", "extracted_entities": [], "extracted_triples": {}}]},
            "docs[0] has no list 'extracted_triples'",
        ),
        (
            {"docs": [{"title": "x", "extracted_entities": [], "extracted_triples": []}]},
            "docs[0] has neither 'passage' nor 'text'",
        ),
    ],
)
def test_another_shape_is_refused_in_one_line(
    tmp_path: Path, content: object, problem: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ExtractionFormatError) as caught:
        OpenIEExtractor(path)
    message = str(caught.value)
    assert message.startswith(f"{path} is not an extraction file: {problem}")
    assert "\n" not in message


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "extraction.json"
    path.write_bytes(b'{"docs": "\xff\xfe\xfa"}')
    with pytest.raises(ExtractionFormatError, match="not JSON"):
        OpenIEExtractor(path)


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent\.json: No such file"):
        OpenIEExtractor(tmp_path / "absent.json")


def test_a_sentence_names_whole_words_only() -> None:
    sentences = ["Annabel rows.", "Ann's boat sank.", "He saw ANN."]
    assert sentences_with_name(["Ann"], sentences) == sentences[1:]
    assert sentences_with_name(["", " "], sentences) == []


def test_a_description_has_three_sentences_at_most() -> None:
    assert build_descriptions("Ann", iter(["A.", "B.", "C.", "D."])) == ("Ann: A. B. C.",)
    assert build_descriptions("Ann", []) == ()


def test_a_mention_that_no_sentence_names_has_no_description(tmp_path: Path) -> None:
    doc = {"text": "He rows.", "extracted_entities": ["Ann Lee"], "extracted_triples": []}
    extractor = OpenIEExtractor(written(tmp_path, {"docs": [doc]}))
    assert one(extractor, "", "He rows.").mentions == (Mention("Ann Lee"),)
