"""The arguments of statements as mentions: names resolved by coreference, and new mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import EntityType, Extraction, Mention, Relation
from sarag_rdf.extraction.names import build_descriptions
from sarag_rdf.extraction.spacy.coreference import CoreferenceResult
from sarag_rdf.plugins.learned.candidates import Candidate, CandidateKind
from sarag_rdf.plugins.learned.extractor import TypedStatement, relation_of

_TYPES: dict[CandidateKind, EntityType] = {
    "person": "person",
    "organization": "organization",
    "place": "geopolitical",
}


def add_statements(
    extraction: Extraction, coreference: CoreferenceResult, statements: Iterable[TypedStatement]
) -> Extraction:
    """An extraction with typed relations, whose arguments are mentions.

    An argument at the place of a mention has the name of its cluster ("Curie" is "Marie Curie").
    Mentions get the classes that the domains and ranges of their statements imply.
    """
    names = _Names(extraction, coreference)
    mentions = {mention.name: mention for mention in extraction.mentions}
    classes: dict[str, dict[str, None]] = {}
    relations: list[Relation] = []
    for statement in statements:
        relation = relation_of(statement)
        subject = names.name_of(statement.subject)
        object_ = relation.object if relation.value else names.name_of(statement.object)
        if subject == object_:
            continue
        arguments = [(subject, statement.subject, statement.property.domains)]
        if relation.value is None:
            arguments.append((object_, statement.object, statement.property.ranges))
        for name, candidate, implied in arguments:
            if len(implied) == 1:
                classes.setdefault(name, {})[implied[0]] = None
            if name not in mentions:
                texts = build_descriptions(name, [relation.text])
                type_ = _TYPES.get(candidate.kind, "misc")
                mentions[name] = Mention(name, type_, descriptions=texts)
        relations.append(replace(relation, subject=subject, object=object_))
    return Extraction(
        tuple(
            replace(m, classes=tuple(sorted({*m.classes, *classes.get(m.name, ())})))
            for m in mentions.values()
        ),
        (*extraction.relations, *relations),
    )


class _Names:
    """Names of mentions by their tokens, and by their normalised names and aliases."""

    def __init__(self, extraction: Extraction, coreference: CoreferenceResult) -> None:
        self._by_span = {(s.begin, s.end): s.name for s in coreference.mention_spans}
        self._by_key = {
            normalize_name(name): mention.name
            for mention in reversed(extraction.mentions)
            for name in (*mention.aliases, mention.name)
        }

    def name_of(self, candidate: Candidate) -> str:
        """The name of the mention that a candidate is, or the candidate's own text."""
        by_span = self._by_span.get((candidate.begin, candidate.end))
        return by_span or self._by_key.get(normalize_name(candidate.text), candidate.text)
