"""What is said of retrieved documents: the chain of activation in words, and the JSON."""

from __future__ import annotations

from dataclasses import replace

from sarag_rdf.base.types import (
    ActivatedEntity,
    Document,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Step,
    Subgraph,
)
from sarag_rdf.kg.evidence import RetrievedEvidence, names_of, path_in_words, retrieved_to_dict

WARSAW = Document(
    "d:w", "s:w", "Warsaw", "Warsaw is a capital. It lies on the Vistula since 1816.", 10, 65
)
VISTULA = Document("d:v", "s:v", "Vistula", "The river rises in the Beskids. It is long.", 0, 43)
NAMES = {"e:v": "Vistula", "e:1816": "1816", "d:w": "Warsaw", "d:v": "Vistula"}


def found(entity: str, entity_type: str = "geopolitical") -> Retrieved:
    """Warsaw, and the Vistula as found over an entity that Warsaw describes."""
    amounts = (1.0, 1.0, 1.0)
    steps = (
        Step(1, "d:w", entity, "p:d", *amounts, "describes", "document", "entity"),
        Step(3, entity, "d:v", "p:d", *amounts, "describes", "entity", "document"),
    )
    ranked = (
        RankedDocument(WARSAW, 2.0, 0.7, 1.0, "e:w", 1),
        RankedDocument(VISTULA, 1.0, 0.4, 1.0, entity, 2, steps),
    )
    entities = (ActivatedEntity(entity, NAMES[entity], entity_type, 1.0, False, True, 1),)  # type: ignore[arg-type]
    seeds = (Seed("d:w", "d:w", 0.7, 1.0, "Warsaw", "document"),)
    query = Query("Where does the river rise on which Warsaw lies?")
    return Retrieved(
        query, "sarag", {}, ranked, (), seeds, entities, Subgraph((), {}, ()), names=NAMES
    )


def why(retrieved: Retrieved) -> str:
    """Why the second document was found."""
    names, evidence = names_of(retrieved), RetrievedEvidence(retrieved)
    return path_in_words(retrieved.documents[1], retrieved, names, evidence)


def test_a_name_that_leads_on_is_shown_in_its_sentence() -> None:
    retrieved = found("e:v")
    assert path_in_words(
        retrieved.documents[1], retrieved, names_of(retrieved), RetrievedEvidence(retrieved)
    ) == (
        "document Warsaw (similar to the question) -> "
        '"It lies on the Vistula since 1816." -> Vistula'
    )


def test_a_linked_node_of_the_same_name_is_not_named_again() -> None:
    retrieved = found("e:v")
    first, second = retrieved.documents
    link = Step(2, "e:v", "x:v", "p:s", 1.0, 1.0, 1.0, "same_as", "entity", "entity")
    chain = (second.chain[0], link, replace(second.chain[1], origin="x:v"))
    linked = replace(retrieved, documents=(first, replace(second, chain=chain)))
    assert why(replace(linked, names={**NAMES, "x:v": "Vistula"})) == why(retrieved)
    assert " -> Wisla" in why(replace(linked, names={**NAMES, "x:v": "Wisla"}))


def test_a_shared_value_explains_nothing() -> None:
    retrieved = found("e:1816", "time")
    first, second = retrieved.documents
    unlinked = replace(WARSAW, text="Warsaw is a capital since 1816.")
    retrieved = replace(retrieved, documents=(replace(first, document=unlinked), second))
    assert why(retrieved) == "similarity 0.40 to the question, and 1816 as in Warsaw"


def test_a_document_that_names_another_is_the_reason_rather_than_a_value() -> None:
    retrieved = found("e:1816", "time")
    linked = replace(WARSAW, text="Warsaw is a capital. It lies on the Vistula.")
    first, second = retrieved.documents
    retrieved = replace(retrieved, documents=(replace(first, document=linked), second))
    assert why(retrieved) == 'document Warsaw -> "It lies on the Vistula."'


def test_sentences_have_their_offsets_in_the_source() -> None:
    reply = retrieved_to_dict(found("e:v"))
    first, second = (document["sentences"] for document in reply["documents"])
    assert {"text": "It lies on the Vistula since 1816.", "begin": 31, "end": 65} in first
    assert second[0] == {"text": "The river rises in the Beskids.", "begin": 0, "end": 31}
    assert [each["rank"] for each in reply["evidence_chain"]] == [1, 2]
    assert reply["evidence_chain"][1]["sentences"] == second
