"""The extractor ``languages``: each document is read by a spaCy pipeline of its own language."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from spacy.util import get_installed_models

from sarag_rdf.base.options import MAX_COUNT, Options, option
from sarag_rdf.base.ports import Services
from sarag_rdf.base.types import Document, Extraction, Method
from sarag_rdf.extraction.spacy_extractor import SpacyExtractor, SpacyOptions
from sarag_rdf.graph.ontology.schema import Schema

_LOG = logging.getLogger(__name__)
_ENGLISH = "en"


@dataclass(frozen=True, kw_only=True)
class LanguagesOptions(Options):
    """Options of `LanguagesExtractor`."""

    name = "languages"
    models: tuple[str, ...] = option(
        (),
        "Packages or folders of spaCy pipelines, separated by commas; by default all that are "
        "installed. Of several for one language the first is used.",
    )
    batch_size: int = option(64, "Number of documents processed together.", ge=1, le=MAX_COUNT)


class LanguagesExtractor:
    """What `spacy` extracts, with the pipeline for the language of each document.

    Documents in a language without a pipeline are read by the English one, or else by the first,
    and a warning says so. Names are typed by the labels of the pipelines, and by the labels of the
    ontology's classes; statements are found in English documents only.
    """

    options = LanguagesOptions

    def __init__(
        self, options: LanguagesOptions | None = None, schema: Schema | None = None
    ) -> None:
        self._options = options or LanguagesOptions()
        self._schema = schema
        self._warned: set[str] = set()

    @classmethod
    def build(cls, options: LanguagesOptions, services: Services) -> LanguagesExtractor:
        """Follows the schema of the graph, by default the packaged one."""
        return cls(options, services.schema)

    @cached_property
    def extractors(self) -> dict[str, SpacyExtractor]:
        """Language -> extractor, in the order of the pipelines.

        Raises `MissingDependencyError` if a pipeline, or any, is not installed.
        """
        models: Sequence[str | None] = self._options.models or sorted(get_installed_models())
        extractors: dict[str, SpacyExtractor] = {}
        for model in models or (None,):  # None is the default of spacy, or its error
            options = SpacyOptions(model=model, batch_size=self._options.batch_size)
            extractor = SpacyExtractor(options, self._schema)
            extractors.setdefault(str(extractor.pipeline.lang), extractor)
        return extractors

    @property
    def method(self) -> Method:
        """That of spaCy, with all pipelines."""
        methods = {lang: extractor.method for lang, extractor in self.extractors.items()}
        settings = next(iter(methods.values())).settings
        models = ", ".join(f"{lang}: {methods[lang].model}" for lang in sorted(methods))
        return Method("languages", models, "", settings)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; those of one language in turn form batches."""
        for language, group in groupby(documents, lambda d: d.language.partition("-")[0]):
            yield from self._extractor(language).extract(group)

    def _extractor(self, language: str) -> SpacyExtractor:
        if language in self.extractors:
            return self.extractors[language]
        other = _ENGLISH if _ENGLISH in self.extractors else next(iter(self.extractors))
        if language not in self._warned:
            self._warned.add(language)
            _LOG.warning(
                "no spaCy pipeline for '%s' is installed: its documents are read by the one for "
                "'%s'",
                language,
                other,
            )
        return self.extractors[other]
