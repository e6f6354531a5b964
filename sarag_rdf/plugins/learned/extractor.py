"""The extractor ``learned``: what spaCy and rules find, and statements like those of examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import tee
from typing import TYPE_CHECKING

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.options import option
from sarag_rdf.base.ports import Embedder, Services
from sarag_rdf.base.types import Document, EntityType, Extraction, Method, Relation
from sarag_rdf.extraction.examples import Example, examples_of
from sarag_rdf.extraction.spacy.pipeline import ParsedDocument, SpacyExtractor, SpacyOptions
from sarag_rdf.extraction.statements import with_statements
from sarag_rdf.graph.ontology.schema import Schema

if TYPE_CHECKING:
    from sarag_rdf.plugins.learned.candidates import Candidate
    from sarag_rdf.plugins.learned.statements import StatementExtractor, TypedStatement

RULES = "1"
"""Version of the features and rules: part of the method, so that sources are extracted again."""
_TYPES: dict[str, EntityType] = {
    "person": "person",
    "organization": "organization",
    "place": "geopolitical",
}


@dataclass(frozen=True, kw_only=True)
class LearnedOptions(SpacyOptions):
    """Options of `LearnedExtractor`."""

    name = "learned"
    examples: str | None = option(
        None, "JSONL file of sentences with their statements; requires an ontology."
    )


class LearnedExtractor:
    """What `spacy` extracts, and statements that are like those of the examples.

    Statements whose phrases the ontology does not list are found by classifiers that are fitted on
    the examples. Needs scikit-learn (``sarag-rdf[learned]``).
    """

    options = LearnedOptions

    def __init__(
        self,
        schema: Schema,
        embedder: Embedder,
        examples: Sequence[Example],
        options: LearnedOptions | None = None,
    ) -> None:
        """Statements have the properties of the schema, in whose terms the examples are."""
        self._schema = schema
        self._embedder = embedder
        self._examples = tuple(examples)
        self._spacy = SpacyExtractor(options or LearnedOptions(), schema)

    @classmethod
    def build(cls, options: LearnedOptions, services: Services) -> LearnedExtractor:
        """Raises `UsageError` without examples, an ontology or an embedder."""
        examples = examples_of(options.examples, services.schema)
        if not examples:
            raise UsageError("learned needs examples: write learned:examples=FILE")
        embedder = services.embedder()
        if embedder is None:
            raise UsageError("learned needs an embedder: name one")
        return cls(services.schema, embedder, examples, options)

    @property
    def method(self) -> Method:
        """That of spaCy, with the examples and the embedder that compares with them."""
        inner = self._spacy.method
        settings = {
            **inner.settings,
            "ontology": self._schema.digest,
            "learned": RULES,
            "embedder": self._embedder.name,
            "examples": sha256(repr(self._examples).encode()).hexdigest(),
        }
        return Method("learned", inner.model, "", settings)

    @cached_property
    def _statements(self) -> StatementExtractor:
        from sarag_rdf.plugins.learned.statements import StatementExtractor, Vectors

        parse = self._spacy.pipeline.pipe
        return StatementExtractor(self._schema, Vectors(self._embedder), self._examples, parse)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; documents are read one batch ahead."""
        ahead, parsed = tee(self._spacy.parsed(documents))
        found = self._statements.statements_of_all((p.doc, p.topic) for p in ahead)
        for document, statements in zip(parsed, found, strict=True):
            yield self._joined(document, statements)

    def _joined(self, parsed: ParsedDocument, statements: Iterable[TypedStatement]) -> Extraction:
        """An argument at the place of a mention has the name of its cluster."""
        from sarag_rdf.plugins.learned.statements import relation_of

        names = {(s.begin, s.end): s.name for s in parsed.coreference.mention_spans}
        types: dict[str, EntityType] = {}

        def name_of(candidate: Candidate) -> str:
            name = names.get((candidate.begin, candidate.end), candidate.text)
            types.setdefault(name, _TYPES.get(candidate.kind, "misc"))
            return name

        relations: list[Relation] = []
        for one in statements:
            if (relation := relation_of(one)) is not None:
                object_ = relation.object if relation.value else name_of(one.object)
                relations.append(replace(relation, subject=name_of(one.subject), object=object_))
        return with_statements(parsed.extraction, relations, self._schema, types=types)
