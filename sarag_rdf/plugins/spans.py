"""The extractor ``spans``: a span model finds names and statements by the labels of an ontology.

A span model compares the spans of a text with labels that it was not trained on, so the labels of
an ontology are its vocabulary (GLiNER: Zaratiana et al., NAACL 2024), those of properties for pairs
of spans (GLiNER2: Zaratiana et al., EMNLP 2025, system demonstrations). Such models have some
hundred million parameters and run on a processor, without a language model and without a key.
`Gliner2Model` loads those of the package gliner2.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import MissingDependencyError, ModelError, UsageError
from sarag_rdf.base.iris import local_name, normalize_name
from sarag_rdf.base.options import MAX_COUNT, Options, option
from sarag_rdf.base.ports import Services
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import (
    VALUE_TYPES,
    Document,
    EntityType,
    Extraction,
    Mention,
    Method,
    Relation,
)
from sarag_rdf.extraction.names import (
    MAX_SENTENCES,
    build_descriptions,
    clean_name,
    is_name,
    nearest_type,
)
from sarag_rdf.extraction.phrases import PhraseMatcher
from sarag_rdf.extraction.prose import prose_of
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.graph.ontology.schema_reader import common_schema
from sarag_rdf.plugins.llm.statement_calls import BoundArgument, TextBinder, literal_of
from sarag_rdf.plugins.statement_models import with_statements

RULES = "1"
"""Version of the rules: part of the method, so that sources are extracted again by new rules."""
_THINGS: Final = ("person", "organization", "place", "work", "event")
"""The labels of names where an ontology has no classes."""
_VALUES: Final = ("date", "quantity")
"""Labels that are always asked for: dates and amounts are values."""
_PRONOUNS: Final = frozenset(
    "he she it they him her them his hers its their theirs who which this that these those we us i "
    "er sie es ihn ihm ihr ihnen sein seine ihre dieser diese dieses wir "
    "il elle ils elles lui leur leurs celui celle nous on qui "
    "él ella ello ellos ellas su sus este esta estos quien que nosotros".split()
)
"""English, German, French and Spanish: they refer to names and are none."""


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """``text[begin:end]`` is a thing or value of a label; the confidence lies in [0, 1].

    Offsets are in Unicode code points.
    """

    label: str
    begin: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """The relation of a label between two spans (begin, end); the confidence lies in [0, 1]."""

    label: str
    head: tuple[int, int]
    tail: tuple[int, int]
    confidence: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model finds in one text."""

    spans: tuple[LabelledSpan, ...] = ()
    pairs: tuple[LabelledPair, ...] = ()


class SpanModel(Protocol):
    """Finds spans and pairs of spans by labels."""

    @property
    def name(self) -> str:
        """The name of the model, or its folder."""
        ...

    @property
    def digest(self) -> str:
        """A digest of its weights, part of the method; raises `ModelError` without a model."""
        ...

    def read(
        self, texts: Sequence[str], things: Sequence[str], relations: Sequence[str], least: float
    ) -> list[Reading]:
        """One reading per text, with the spans and pairs whose confidence is at least `least`."""
        ...


class Gliner2Model:
    """A model of the package gliner2 (GLiNER2 or GLiNER2.5), in a folder or on a hub.

    It is loaded at the first text. A model of a hub is downloaded once; of its files only weights,
    settings and vocabularies are, and one that brings code of its own is refused.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def folder(self) -> Path:
        """The folder with the files; raises `ModelError` if they cannot be had.

        Nothing is downloaded without the package, which a `MissingDependencyError` names.
        """
        if find_spec("gliner2") is None:
            raise MissingDependencyError(
                "the extractor spans needs the package gliner2: pip install 'sarag-rdf[spans]'"
            )
        path = Path(self.name).expanduser()
        if not path.is_dir():
            from huggingface_hub import snapshot_download

            try:
                files = ["*.json", "*.safetensors", "*.model", "*.txt"]
                path = Path(snapshot_download(self.name, allow_patterns=files))
            except Exception as error:
                raise ModelError(
                    f"the span model '{self.name}' cannot be had ({_first_line(error)}): give a "
                    "folder that holds a GLiNER2 model, or the name of one on a hub that this "
                    "machine reaches"
                ) from error
        if missing := [name for name in _FILES if not (path / name).is_file()]:
            raise ModelError(
                f"'{self.name}' is no model of the package gliner2 ({', '.join(missing)} missing): "
                "give one such as fastino/gliner2.5-base-v1"
            )
        return path

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the weights, in hexadecimal."""
        with (self.folder / _WEIGHTS).open("rb") as weights:
            return hashlib.file_digest(weights, "sha256").hexdigest()

    def read(
        self, texts: Sequence[str], things: Sequence[str], relations: Sequence[str], least: float
    ) -> list[Reading]:
        """One reading per text; texts of more than 384 words are read in overlapping windows."""
        schema = self._loaded.create_schema().entities(list(things)).relations(list(relations))
        results = self._loaded.batch_extract_long(
            list(texts),
            schema,
            batch_size=len(texts),
            threshold=least,
            include_confidence=True,
            include_spans=True,
        )
        return [_reading(result) for result in results]

    @cached_property
    def _loaded(self) -> Any:
        folder = self.folder
        settings = (folder / name for name in ("config.json", _ENCODER, "tokenizer_config.json"))
        if any('"auto_map"' in path.read_text("utf-8") for path in settings if path.is_file()):
            raise ModelError(
                f"the span model '{self.name}' brings code of its own, which is not run: give "
                "another one"
            )
        logging.getLogger("transformers").setLevel(logging.ERROR)
        import torch

        try:
            extractor = importlib.import_module("gliner2").AutoExtractor
            device = "cuda" if torch.cuda.is_available() else "cpu"
            return extractor.from_pretrained(str(folder), map_location=device)
        except Exception as error:
            raise ModelError(
                f"the span model '{self.name}' cannot be loaded ({_first_line(error)}): give "
                "another one, or pip install --upgrade 'sarag-rdf[spans]'"
            ) from error


_WEIGHTS: Final = "model.safetensors"
_ENCODER: Final = "encoder_config/config.json"
_FILES: Final = ("config.json", _ENCODER, _WEIGHTS)
"""What each model of the package has."""


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _reading(result: Mapping[str, Any]) -> Reading:
    """A result of gliner2 with confidences and offsets."""
    spans = [
        LabelledSpan(label, span["start"], span["end"], span["confidence"])
        for label, found in (result.get("entities") or {}).items()
        for span in found
    ]
    pairs = []
    for label, found in (result.get("relation_extraction") or {}).items():
        for pair in found:
            head, tail = pair["head"], pair["tail"]
            both = min(head["confidence"], tail["confidence"])
            ends = (head["start"], head["end"]), (tail["start"], tail["end"])
            pairs.append(LabelledPair(label, *ends, pair.get("confidence", both)))
    return Reading(tuple(spans), tuple(pairs))


@dataclass(frozen=True, kw_only=True)
class SpanOptions(Options):
    """Options of `SpansExtractor`."""

    name = "spans"
    model: str | None = option(
        None, "Name of a GLiNER2 model on a hub, which is downloaded on first use, or its folder."
    )
    threshold: float = option(0.5, "Least confidence of a name or statement.", gt=0.0, le=1.0)
    labels: int = option(
        30,
        "Number of classes, and of properties, that are asked for at once; the documents are read "
        "once more for each further group.",
        ge=1,
        le=MAX_COUNT,
    )
    batch_size: int = option(8, "Number of documents read together.", ge=1, le=MAX_COUNT)


class SpansExtractor:
    """Names with classes, and statements, by a span model and the labels of an ontology.

    The labels are those of the classes and properties of `schema`, by default of the packaged
    ontology, and "date" and "quantity". Of overlapping names the one with the greatest confidence
    is used, with its best label. Only the prose of a document is read, together with its title.
    """

    options = SpanOptions

    def __init__(
        self, model: SpanModel, schema: Schema | None = None, options: SpanOptions | None = None
    ) -> None:
        self._model = model
        self._schema = schema or common_schema()
        self._options = options or SpanOptions()
        self._matcher = PhraseMatcher(self._schema)
        self._classes = _by_label(self._schema.classes.values())
        self._properties = _by_label(self._schema.properties.values())
        self.discarded: Counter[str] = Counter()
        """Counts of what the model found so far that is not in an extraction, by reason."""

    @classmethod
    def build(cls, options: SpanOptions, services: Services) -> SpansExtractor:
        """Follows the schema of the graph; raises `UsageError` without a model."""
        if not options.model:
            raise UsageError(
                "spans needs a model: write spans:model=fastino/gliner2.5-base-v1, or its folder"
            )
        return cls(Gliner2Model(options.model), services.schema, options)

    @property
    def method(self) -> Method:
        settings = {
            "rules": RULES,
            "weights": self._model.digest,
            "ontology": self._schema.digest,
            "threshold": f"{self._options.threshold:g}",
            "labels": str(self._options.labels),
        }
        return Method("spans", self._model.name, "", settings)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; documents are read one batch ahead."""
        for batch in batches(documents, self._options.batch_size):
            texts = [_text(document) for document in batch]
            for document, text, reading in zip(batch, texts, self._read(texts), strict=True):
                yield self._extraction(document, text, reading)

    def _read(self, texts: Sequence[str]) -> list[Reading]:
        """The readings of all groups of labels, one per text; a blank text has an empty one."""
        full = [number for number, text in enumerate(texts) if text.strip()]
        spans: list[list[LabelledSpan]] = [[] for _ in texts]
        pairs: list[list[LabelledPair]] = [[] for _ in texts]
        for things, relations in self._groups() if full else ():
            least = self._options.threshold
            readings = self._model.read([texts[n] for n in full], things, relations, least)
            for number, reading in zip(full, readings, strict=True):
                spans[number] += reading.spans
                pairs[number] += reading.pairs
        return [Reading(tuple(s), tuple(p)) for s, p in zip(spans, pairs, strict=True)]

    def _groups(self) -> Iterator[tuple[list[str], list[str]]]:
        """Labels of things and of relations that are asked for together."""
        things = list(dict.fromkeys((*(self._classes or _THINGS), *_VALUES)))
        relations, size = list(self._properties), self._options.labels
        for begin in range(0, max(len(things), len(relations)), size):
            yield things[begin : begin + size], relations[begin : begin + size]

    def _extraction(self, document: Document, text: str, reading: Reading) -> Extraction:
        names = _Names(document, text)
        for span in _without_overlaps(reading.spans):
            names.add(span.begin, span.end, self._type(span.label), self._classes.get(span.label))
        statements = list(self._relations(names, reading.pairs))
        names.merge_surnames()
        return with_statements(
            Extraction(names.mentions()),
            statements,
            self._schema,
            stated=names.classes,
            discarded=self.discarded,
        )

    def _type(self, label: str) -> EntityType:
        """The entity type of a label: that of its class, if all its things are of one type."""
        types = self._matcher.entity_types(self._classes[label]) if label in self._classes else ()
        return next(iter(types)) if len(types) == 1 else nearest_type(label)

    def _relations(self, names: _Names, pairs: Iterable[LabelledPair]) -> Iterator[Relation]:
        """The statements whose arguments are names, or values that the property admits."""
        for pair in sorted(pairs, key=attrgetter("confidence"), reverse=True):
            property_ = self._schema.properties[self._properties[pair.label]]
            fits, value = literal_of(property_, names.argument(*pair.tail), names.binder)
            if not fits:
                reason = "statements that violate the domain or range of the property"
                self.discarded[reason] += 1
                continue
            subject = names.named(*pair.head, self._one_type(property_.domains))
            object_ = (
                value.text if value else names.named(*pair.tail, self._one_type(property_.ranges))
            )
            if not (subject and object_):
                self.discarded["statements with an argument that is no name"] += 1
                continue
            yield Relation(
                subject,
                property_.label,
                object_,
                names.sentence(pair.head, pair.tail),
                round(pair.confidence, 3),
                property_.iri,
                value=value,
            )

    def _one_type(self, classes: Iterable[str]) -> EntityType:
        types = {type_ for class_ in classes for type_ in self._matcher.entity_types(class_)}
        return next(iter(types)) if len(types) == 1 else "misc"


def _by_label(terms: Iterable[OntologyClass | OntologyProperty]) -> dict[str, str]:
    """Label -> IRI of the term; of terms with one label, later ones have their local names too."""
    iris: dict[str, str] = {}
    for term in terms:
        label = " ".join(term.label.split()) or local_name(term.iri)
        iris.setdefault(f"{label} ({local_name(term.iri)})" if label in iris else label, term.iri)
    return iris


def _text(document: Document) -> str:
    """The title, a line break and the prose: of the same length as the titled text."""
    return replace(document, text=prose_of(document.text)).titled_text


def _without_overlaps(spans: Iterable[LabelledSpan]) -> list[LabelledSpan]:
    """The spans that overlap none of greater confidence, the most certain first."""
    chosen: list[LabelledSpan] = []
    for span in sorted(spans, key=lambda s: (-s.confidence, s.begin, -s.end, s.label)):
        if not any(span.begin < other.end and other.begin < span.end for other in chosen):
            chosen.append(span)
    return chosen


class _Names:
    """The names in one document, by the places where a model found them.

    Offsets are those of the titled text. `classes` has the classes of names.
    """

    def __init__(self, document: Document, text: str) -> None:
        """`text` is the titled text with spaces in the place of what is not prose."""
        self._whole = document.titled_text
        self._text = text
        self._title = document.title
        self._start = start = len(self._whole) - len(document.text)
        self._sentences = [(b + start, e + start) for b, e in sentence_spans(document.text)]
        self.binder = TextBinder(text)
        self.classes: dict[str, list[str]] = {}
        self._mentions: dict[str, Mention] = {}
        self._places: dict[tuple[int, int], str] = {}

    def argument(self, begin: int, end: int) -> BoundArgument:
        """A span as the argument of a statement."""
        return BoundArgument(" ".join(self._whole[begin:end].split()), begin, end)

    def add(self, begin: int, end: int, type_: EntityType, class_: str | None = None) -> str:
        """The name at a place, which is a mention from now on; empty if no name is there.

        Of several types and classes of one name the first are used.
        """
        name = clean_name(self._whole[begin:end])
        if type_ in VALUE_TYPES:
            is_named = any(map(str.isdigit, name))
        else:
            is_named = is_name(name) and name.casefold() not in _PRONOUNS
        if not is_named or not self._is_prose(begin, end):
            return ""
        key = normalize_name(name)
        mention = self._mentions.setdefault(key, Mention(name, type_))
        if class_ and mention.type not in VALUE_TYPES:
            self.classes.setdefault(mention.name, [class_])
        self._places[begin, end] = key
        return mention.name

    def _is_prose(self, begin: int, end: int) -> bool:
        """Whether a place is within the title or a paragraph, and all of it is prose."""
        text = self._whole[begin:end]
        is_within = (begin < self._start) == (end <= self._start)
        return is_within and text == self._text[begin:end] and all(map(str.strip, text.split("\n")))

    def named(self, begin: int, end: int, type_: EntityType) -> str:
        """The name of the mention at a place, or else that of the place itself; empty for none."""
        overlaps = {
            min(end, other[1]) - max(begin, other[0]): key for other, key in self._places.items()
        }
        longest = max(overlaps, default=0)
        if longest > 0:
            return self._mentions[overlaps[longest]].name
        return self.add(begin, end, type_)

    def sentence(self, head: tuple[int, int], tail: tuple[int, int]) -> str:
        """The sentence of both places, or else of the tail, the head, or the title."""
        of_head, of_tail = self._sentences_at(*head), self._sentences_at(*tail)
        both = [sentence for sentence in of_tail if sentence in of_head]
        chosen = (*both, *of_tail, *of_head)
        return self._quoted(chosen[0]) if chosen else " ".join(self._title.split())

    def _sentences_at(self, begin: int, end: int) -> list[tuple[int, int]]:
        return [(b, e) for b, e in self._sentences if b < end and begin < e]

    def _quoted(self, sentence: tuple[int, int]) -> str:
        return " ".join(self._whole[slice(*sentence)].split())

    def merge_surnames(self) -> None:
        """Make the last word of a person's name an alias, if no other person has that last word."""
        full: dict[str, list[str]] = {}
        for key, mention in self._mentions.items():
            if mention.type == "person" and " " in key:
                full.setdefault(key.rpartition(" ")[2], []).append(key)
        for last, owners in full.items():
            short = self._mentions.get(last)
            if short is None or short.type != "person" or len(owners) > 1:
                continue
            del self._mentions[last]
            whole = self._mentions[owners[0]]
            self._mentions[owners[0]] = replace(whole, aliases=(short.name,))
            if own := self.classes.pop(short.name, None):
                self.classes.setdefault(whole.name, own)
            self._places = {p: owners[0] if k == last else k for p, k in self._places.items()}

    def mentions(self) -> tuple[Mention, ...]:
        """All names, each described by the sentences in which it was found.

        A name in the title is described by the first sentences of the text.
        """
        found: dict[str, dict[str, None]] = {key: {} for key in self._mentions}
        for (begin, end), key in sorted(self._places.items()):
            sentences = self._sentences_at(begin, end) or self._sentences[:MAX_SENTENCES]
            found[key].update(dict.fromkeys(map(self._quoted, sentences)))
        return tuple(
            replace(mention, descriptions=build_descriptions(mention.name, found[key]))
            for key, mention in self._mentions.items()
        )
