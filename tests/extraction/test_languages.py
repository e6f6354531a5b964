"""Documents in several languages: pipelines of spaCy without weights, and an embedder for them.

The pipelines are blank ones with an entity ruler, whose labels are those of the pipelines that
spaCy publishes for these languages (PER, LOC, ORG, MISC).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

import pytest
import spacy

import sarag_rdf
from sarag_rdf import Source
from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.ports import Matrix
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor, SpacyOptions
from sarag_rdf.graph.ontology.schema import OntologyClass, Schema
from sarag_rdf.plugins import languages
from sarag_rdf.plugins.languages import LanguagesExtractor, LanguagesOptions
from sarag_rdf.testing.conformance import check_extractor
from sarag_rdf.testing.fakes import HashEmbedder

NAMES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "de": {
        "PER": ["Hanna Vogt"],
        "LOC": ["Celle", "Bremen", "Weser"],
        "ORG": ["Mühlenverein"],
        "MISC": ["Alte Mühle"],
    },
    "fr": {
        "PER": ["Jeanne Le Goff"],
        "LOC": ["Quimper", "Brest", "Odet"],
        "ORG": ["Amis du Moulin"],
        "MISC": ["Moulin de Ker"],
    },
    "es": {
        "PER": ["Rosa Vila"],
        "LOC": ["Lugo", "Vigo", "Miño"],
        "ORG": ["Amigos del Molino"],
        "MISC": ["Molino del Sur"],
    },
}
TEXTS = {
    "de": (
        "Die Alte Mühle in Celle wurde 1922 von Hanna Vogt gegründet. Hanna Vogt wurde am "
        "7. November 1881 in Bremen geboren und leitete den Mühlenverein. Sie liebte die Weser."
    ),
    "fr": (
        "Le Moulin de Ker à Quimper a été fondé en 1922 par Jeanne Le Goff. Jeanne Le Goff est "
        "née à Brest et dirigeait les Amis du Moulin. Elle aimait l'Odet."
    ),
    "es": (
        "El Molino del Sur de Lugo fue fundado en 1922 por Rosa Vila. Rosa Vila nació en Vigo y "
        "dirigía los Amigos del Molino. Amaba el Miño."
    ),
}
TYPES = {"PER": "person", "LOC": "geopolitical", "ORG": "organization", "MISC": "misc"}


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Language -> folder of its pipeline."""
    folders = {}
    for language, names in NAMES.items():
        pipeline = spacy.blank(language, meta={"name": "ruler", "version": "1.0.0"})
        ruler = pipeline.add_pipe("entity_ruler")
        ruler.add_patterns(  # type: ignore[attr-defined]
            [{"label": label, "pattern": name} for label, own in names.items() for name in own]
        )
        path = tmp_path_factory.mktemp("pipelines") / language
        pipeline.to_disk(path)
        folders[language] = str(path)
    return folders


def document(language: str, text: str = "") -> Document:
    text = text or TEXTS[language]
    return Document(f"urn:{language}", "urn:source", "", text, 0, len(text), language)


def one(extractor: SpacyExtractor | LanguagesExtractor, document: Document) -> Extraction:
    (found,) = extractor.extract([document])
    assert isinstance(found, Extraction)
    return found


@pytest.mark.parametrize("language", NAMES)
def test_names_have_the_types_of_the_labels(language: str, pipelines: dict[str, str]) -> None:
    extractor = SpacyExtractor(SpacyOptions(model=pipelines[language]))
    found = {m.name: m.type for m in one(extractor, document(language)).mentions}
    expected = {name: TYPES[label] for label, names in NAMES[language].items() for name in names}
    assert {name: found.get(name) for name in expected} == expected
    assert found["1922"] == "time"


@pytest.mark.parametrize("language", NAMES)
def test_rules_for_english_find_no_relations_and_resolve_no_pronouns(
    language: str, pipelines: dict[str, str]
) -> None:
    extraction = one(SpacyExtractor(SpacyOptions(model=pipelines[language])), document(language))
    assert extraction.relations == ()
    person = NAMES[language]["PER"][0]
    described = next(m for m in extraction.mentions if m.name == person)
    last = TEXTS[language].rpartition(". ")[2]
    assert last not in "".join(described.descriptions)


def test_a_date_in_german_is_no_end_of_a_sentence(pipelines: dict[str, str]) -> None:
    extraction = one(SpacyExtractor(SpacyOptions(model=pipelines["de"])), document("de"))
    (bremen,) = (mention for mention in extraction.mentions if mention.name == "Bremen")
    sentence = re.findall(r"Hanna Vogt wurde .*?Mühlenverein\.", TEXTS["de"])[0]
    assert bremen.descriptions == (f"Bremen: {sentence}",)


def test_classes_come_from_labels_of_the_ontology_in_the_language(
    pipelines: dict[str, str],
) -> None:
    mill = OntologyClass("https://example.org/Mill", "mill", ("Mühle", "Moulin"))
    extractor = SpacyExtractor(SpacyOptions(model=pipelines["de"]), Schema.of([mill], []))
    classes = {m.name: m.classes for m in one(extractor, document("de")).mentions}
    assert classes["Alte Mühle"] == ("https://example.org/Mill",)


def test_each_document_is_read_by_the_pipeline_of_its_language(pipelines: dict[str, str]) -> None:
    options = LanguagesOptions(models=tuple(pipelines.values()))
    extractor = LanguagesExtractor(options)
    documents = [document(language) for language in ("de", "es", "fr", "de")]
    found = list(extractor.extract(documents))
    alone = [one(SpacyExtractor(SpacyOptions(model=pipelines[d.language])), d) for d in documents]
    assert found == alone
    austrian = document("de-at", TEXTS["de"])
    assert one(extractor, austrian) == alone[0]
    check_extractor(extractor, documents)


def test_the_method_names_all_pipelines_with_their_versions(pipelines: dict[str, str]) -> None:
    method = LanguagesExtractor(LanguagesOptions(models=tuple(pipelines.values()))).method
    assert method.extractor == "languages"
    assert method.model == "de: de_ruler 1.0.0, es: es_ruler 1.0.0, fr: fr_ruler 1.0.0"
    assert method.settings.keys() == {"rules", "ontology"}


def test_a_language_without_a_pipeline_is_named_once(
    pipelines: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    extractor = LanguagesExtractor(LanguagesOptions(models=(pipelines["fr"], pipelines["de"])))
    with caplog.at_level(logging.WARNING):
        found = list(
            extractor.extract([document("fi", "Rosa asuu Quimper."), document("fi", "Ei.")])
        )
    assert caplog.messages == [
        "no spaCy pipeline for 'fi' is installed: its documents are read by the one for 'fr'"
    ]
    assert isinstance(found[0], Extraction)
    assert [mention.name for mention in found[0].mentions] == ["Quimper"]


def test_by_default_all_installed_pipelines_are_used(
    pipelines: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "get_installed_models", lambda: sorted(pipelines.values()))
    assert LanguagesExtractor().extractors.keys() == pipelines.keys()


def test_a_pipeline_that_is_not_installed_is_one_error() -> None:
    extractor = LanguagesExtractor(LanguagesOptions(models=("de_core_news_sm",)))
    with pytest.raises(MissingDependencyError, match="spacy download de_core_news_sm"):
        _ = extractor.method


# Graph and search


TRANSLATIONS = {
    "wer": "who", "gründete": "founded", "gegründet": "founded", "fondé": "founded",
    "fundado": "founded", "mühle": "mill", "moulin": "mill", "molino": "mill", "fluss": "river",
}  # fmt: skip


class TranslatingEmbedder(HashEmbedder):
    """Words of several languages with one meaning have one vector."""

    @property
    def name(self) -> str:
        return "translating-64"

    def embed(self, texts: Sequence[str]) -> Matrix:
        return super().embed(
            [
                " ".join(TRANSLATIONS.get(w, w) for w in re.findall(r"\w+", text.casefold()))
                for text in texts
            ]
        )


@pytest.fixture
def kg(pipelines: dict[str, str]) -> sarag_rdf.KnowledgeGraph:
    graph = sarag_rdf.open(None, embedder=TranslatingEmbedder(), endpoint=None)
    chosen = f"languages:models={','.join(pipelines.values())}"
    report = graph.index(
        [Source(text, f"Text {language}", language=language) for language, text in TEXTS.items()],
        extractor=chosen,
    )
    assert report.added == 3
    return graph


def test_labels_have_the_language_of_their_source(kg: sarag_rdf.KnowledgeGraph) -> None:
    assert kg.query("""ASK {
        ?celle a sarag:Entity ; skos:prefLabel "Celle"@de .
        ?brest a sarag:Entity ; rdfs:label "Brest"@fr .
        ?rosa a sarag:Person ; skos:prefLabel "Rosa Vila"@es }""")
    assert not kg.query(
        'ASK { ?any rdfs:label ?name FILTER (lang(?name) = "en") ?any a sarag:Entity }'
    )


def test_a_question_finds_documents_in_other_languages(kg: sarag_rdf.KnowledgeGraph) -> None:
    found = kg.search("Who founded a mill?", limit=None)
    assert {d.document.language for d in found.documents} == {"de", "fr", "es"}
    assert all(d.similarity > 0 for d in found.documents)


def test_a_name_in_a_question_is_found_whatever_its_language(kg: sarag_rdf.KnowledgeGraph) -> None:
    found = kg.search("Was liegt in Quimper?")
    assert [seed.name for seed in found.seeds if seed.similarity == 1] == ["Quimper"]
    assert {d.document.language for d in found.documents if d.activation > 0} >= {"fr"}
