"""Rules that propose classes for entities by their names, for review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sarag_rdf.derive.decisions import Decisions, read_decisions
from sarag_rdf.extract.typed.phrases import PhraseMatcher
from sarag_rdf.graph.reader import GraphReader
from sarag_rdf.graph.texts import documents_of, entity_labels
from sarag_rdf.ontology.schema import Schema
from sarag_rdf.ontology.terms import TermNames
from sarag_rdf.tables import DECISION, write_table
from sarag_rdf.terms import iri, text_of
from sarag_rdf.vocab import RDF, SARAG

CLASS_IN_NAME = "class-in-name"
"""The rule by which "Lund University" is a university."""
COLUMNS = (DECISION, "name", "class", "type", "documents", "rule", "note", "entity")


@dataclass(frozen=True, slots=True)
class ClassProposal:
    """An entity with the IRI of the class that `rule` proposes for it.

    `type` is the entity type; `documents` the number of documents that describe the entity.
    """

    entity: str
    name: str
    class_iri: str
    type: str
    documents: int
    rule: str = CLASS_IN_NAME


def propose_classes(reader: GraphReader, schema: Schema) -> list[ClassProposal]:
    """The classes whose labels are the head of the name of an entity ("University of Lund").

    Those of entities in most documents come first. Omitted are entities that belong to the class,
    and those whose classes were decided. Classes of persons are not proposed.
    """
    classes: defaultdict[str, set[str]] = defaultdict(set)
    entities: set[str] = set()
    referents: dict[str, str] = {}
    for quad in reader.store.quads(reader.minter.kg_graph):
        if quad.predicate == RDF.type and quad.object == SARAG.Entity:
            entities.add(iri(quad.subject))
        elif quad.predicate == RDF.type:
            classes[iri(quad.subject)].add(text_of(quad.object))
        elif quad.predicate == SARAG.refersTo:
            referents[iri(quad.subject)] = text_of(quad.object)
    decided = Decisions.of(read_decisions(reader), reader.minter).classes
    entities -= {referents[name] for name in decided if name in referents}
    matcher = PhraseMatcher(schema)
    labels = entity_labels(reader, entities)
    documents = documents_of(reader, entities)
    proposals = [
        ClassProposal(entity, name, class_, type_, len(documents.get(entity, ())))
        for entity, (name, type_) in labels.items()
        if (class_ := matcher.class_of_name(name)) and not schema.belongs(classes[entity], [class_])
    ]
    return sorted(proposals, key=lambda p: (-p.documents, p.entity))


def class_table(proposals: Sequence[ClassProposal], schema: Schema, delimiter: str = "\t") -> str:
    """Proposals as a table for review, with a column `decision` for ``accept``."""
    names = TermNames("class", schema.classes)
    rows = (
        {
            "name": proposal.name,
            "class": names.name(proposal.class_iri),
            "type": proposal.type,
            "documents": proposal.documents,
            "rule": proposal.rule,
            "entity": proposal.entity,
        }
        for proposal in proposals
    )
    return write_table(COLUMNS, rows, delimiter)
