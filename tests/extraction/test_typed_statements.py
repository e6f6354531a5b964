"""Typed statements of the example corpus, compared with statements that were marked by hand.

`typed_statements.tsv` has every statement that the rules found when it was written, with its
sentence, and 1 if a reader found that the sentence states it, of the right things: names that are
cut off ("Neustadt" of "Neustadt an der Haardt") and what is no longer true count as wrong.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.types import Document, Extraction, Relation
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor
from sarag_rdf.graph.ontology.schema_reader import COMMON, common_schema

HERE = Path(__file__).parent
CORPUS = HERE.parent.parent / "examples" / "corpus"
Statement = tuple[str, str, str, str]


def statement(document: str, relation: Relation) -> Statement:
    object_ = relation.value.lexical if relation.value else relation.object
    ends = (relation.subject, object_)
    subject, object_ = reversed(ends) if relation.inverse else ends
    return document, subject, relation.predicate.removeprefix(COMMON), object_


@pytest.fixture(scope="module")
def extractions() -> dict[str, Extraction]:
    extractor = SpacyExtractor()
    try:
        _ = extractor.method
    except MissingDependencyError as error:
        pytest.skip(str(error))
    paths = sorted(CORPUS.glob("*.md"))
    assert len(paths) == 44
    documents = []
    for path in paths:
        title, _, text = path.read_text(encoding="utf-8").removeprefix("# ").partition("\n")
        body = text.strip()
        documents.append(Document(f"urn:{path.stem}", "urn:s", title, body, 0, len(body)))
    found = {}
    for path, extraction in zip(paths, extractor.extract(documents), strict=True):
        assert isinstance(extraction, Extraction)
        found[path.stem] = extraction
    return found


@pytest.fixture(scope="module")
def found(extractions: dict[str, Extraction]) -> set[Statement]:
    return {
        statement(name, relation)
        for name, extraction in extractions.items()
        for relation in extraction.relations
        if relation.predicate
    }


@pytest.fixture(scope="module")
def marked() -> dict[Statement, bool]:
    with (HERE / "typed_statements.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        (row["document"], row["subject"], row["property"], row["object"]): row["correct"] == "1"
        for row in rows
    }


def test_sentences_are_in_the_corpus() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in CORPUS.glob("*.md")}
    with (HERE / "typed_statements.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            assert row["sentence"] in " ".join(texts[row["document"]].split())


def test_there_are_many_statements(found: set[Statement]) -> None:
    assert len(found) >= 330


def test_precision(found: set[Statement], marked: dict[Statement, bool]) -> None:
    judged = [marked[statement] for statement in found if statement in marked]
    assert len(judged) >= 300
    assert sum(judged) / len(judged) >= 0.95


def test_statements_that_were_right_are_still_found(
    found: set[Statement], marked: dict[Statement, bool]
) -> None:
    right = {statement for statement, is_right in marked.items() if is_right}
    assert len(right & found) >= 0.95 * len(right)


def test_no_statement_violates_the_schema(extractions: dict[str, Extraction]) -> None:
    """Values have a datatype of the range; entity types fit the domain and the range."""
    schema = common_schema()
    coarse = {"person": "Person", "organization": "Organization", "geopolitical": "Place"}
    checked = 0
    for extraction in extractions.values():
        types = {mention.name: mention for mention in extraction.mentions}
        for relation in extraction.relations:
            if not relation.predicate:
                continue
            property_ = schema.properties[relation.predicate]
            ends = [(relation.subject, property_.domains), (relation.object, property_.ranges)]
            if relation.inverse:
                ends = [(relation.object, property_.domains), (relation.subject, property_.ranges)]
            if relation.value is not None:
                assert not relation.inverse
                assert relation.value.datatype in property_.ranges
                ends = ends[:1]
            for name, admitted in ends:
                mention = types[name]
                known = mention.classes or tuple(
                    COMMON + coarse[mention.type] for _ in range(mention.type in coarse)
                )
                assert schema.may_belong(known, admitted), (relation, mention)
                checked += 1
    assert checked >= 400


def test_classes(extractions: dict[str, Extraction]) -> None:
    classes = {
        name: {
            mention.name: {iri.removeprefix(COMMON) for iri in mention.classes}
            for mention in extraction.mentions
        }
        for name, extraction in extractions.items()
    }
    assert classes["marie-curie"]["Marie Curie"] == {"Physicist", "Chemist"}
    assert classes["warsaw"]["Warsaw"] == {"City"}
    assert classes["vistula"]["Vistula"] == {"River"}
    assert classes["hafnium"]["Hafnium"] == {"ChemicalElement"}
    assert classes["warsaw"]["University of Warsaw"] == {"University"}
    assert classes["niels-bohr"]["Nobel Prize in Physics"] == {"Award"}


def test_other_names_are_aliases(extractions: dict[str, Extraction]) -> None:
    aliases = {m.name: m.aliases for e in extractions.values() for m in e.mentions if m.aliases}
    assert aliases["Vistula"] == ("Wisła",)
    assert aliases["Jagiellonian University"] == ("University of Kraków",)


def test_physicists_born_in_a_city_on_the_vistula(found: set[Statement]) -> None:
    """The statements that answer the question, joined by name as a graph joins them."""
    triples = {(subject, property_, object_) for _, subject, property_, object_ in found}
    cities = {s for s, p, o in triples if (p, o) == ("locatedOn", "Vistula")}
    cities |= {o for s, p, o in triples if (s, p) == ("Vistula", "flowsThrough")}
    physicists = {s for s, p, o in triples if (p, o) == ("occupation", "physicist")}
    born = {s for s, p, o in triples if p == "birthPlace" and o in cities}
    assert born & physicists == {"Marie Curie"}


def test_years_are_times_and_have_no_other_type(extractions: dict[str, Extraction]) -> None:
    types = {
        m.type
        for e in extractions.values()
        for m in e.mentions
        if re.fullmatch(r"1[0-9]{3}", m.name)
    }
    assert types == {"time"}
