"""Articles: what a graph states about each entity, in sentences, so that any text search finds it.

An article is a JSON object on a line, as ``sarag index`` reads it. Its ``id`` is the IRI of its
topic, which becomes part of the IRI of the source. Turning a graph into a text per entity, with all
neighbours named, is the adaptation of MetaQA in DotRAG, section A.3; there a language model writes,
here sentences are composed, and a model may rewrite them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any, Final, NamedTuple

from pyoxigraph import NamedNode

from sarag_rdf.base.arrays import batches
from sarag_rdf.base.errors import InputError, TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.options import Options, option
from sarag_rdf.base.ports import LLM, Progress
from sarag_rdf.base.prompts import fence_for, object_of, string
from sarag_rdf.base.vocab import OWL, RDFS, SARAG
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.graph_reader import BATCH, DOCUMENTS, GraphReader, Part, term_reader
from sarag_rdf.graph.schema_use import SchemaInUse
from sarag_rdf.graph.texts import by_language, entity_labels
from sarag_rdf.plugins.papers import PROMPTS
from sarag_rdf.plugins.relation_paths.path_model import (
    Hop,
    packaged_model,
    read_schema,
    said_properties,
)

NAMES: Final = 12
"""The most names in a sentence; of more, several sentences are made."""
REWRITTEN: Final = 40
"""The most sentences of an article that a model is given; the others stay as they are."""
_MAX_TOKENS: Final = 1500
_CHARACTERS: Final = 8000
_GENERAL: Final = (SARAG.base, OWL.base, RDFS.base)
"""How the IRIs of classes begin that say nothing about a thing."""
_AS_YOU: Final = ("uni", "use", "eu", "one")
"""How words begin that have ``a`` before a vowel, such as university."""


class Sentence(NamedTuple):
    """A sentence, and the names and values that it must contain."""

    text: str
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class ArticleReport:
    """What was written: `statements` are all of the graph, `covered` those in an article.

    The others are `unnamed` by property, whose objects have no name, and `nameless`, whose subjects
    have none. A model wrote `rewritten` articles, to which `restored` sentences were added; its
    replies for `refused` ones could not be used.
    """

    articles: int = 0
    statements: int = 0
    covered: int = 0
    unnamed: Counter[str] = field(default_factory=Counter)
    rewritten: int = 0
    restored: int = 0
    refused: int = 0
    problems: Sequence[str] = ()

    @property
    def notes(self) -> list[str]:
        """What is in the articles, and what had to be left out."""
        lines = [
            f"{_counted(self.articles, 'article')}; {_counted(self.statements, 'statement')}, of "
            f"which {self.covered} are in an article"
        ]
        if self.rewritten or self.refused:
            lines.append(
                f"{self.rewritten} by the model, with {self.restored} sentences that it had left "
                f"out; {self.refused} without it, as its reply could not be used"
            )
        lines += [
            f"left out: {count} of <{property_}>, whose objects have no name"
            for property_, count in sorted(self.unnamed.items())
        ]
        if self.nameless:
            lines.append(f"left out: {self.nameless} of subjects that have no name")
        return lines

    @property
    def nameless(self) -> int:
        return self.statements - self.covered - self.unnamed.total()


@dataclass(slots=True)
class _Topic:
    """An entity with its statements: hop -> values by their RDF term."""

    name: str
    classes: set[str] = field(default_factory=set)
    """Names of its classes, without general ones."""
    descriptions: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    values: defaultdict[Hop, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))


class _Writer:
    """Writes articles with sentences, or lets a model rewrite them.

    `properties` are those whose statements are written, by part.
    """

    def __init__(self, reader: GraphReader, llm: LLM | None) -> None:
        self._reader, self._llm = reader, llm
        in_use = SchemaInUse(reader)
        self._properties = {
            part.name: frozenset(use.iri for use in said_properties(in_use, part))
            for part in in_use.parts
        }
        self._names = in_use.names
        names = in_use.names(frozenset().union(*self._properties.values()))
        self._schema = replace(read_schema(reader), names=names)
        self.report = ArticleReport()

    def write(self, output: IO[bytes], progress: Progress) -> None:
        """Write an article for each named entity with statements or descriptions, by their IRIs.

        A statement is in the articles of its subject and object.
        """
        self._count()
        entities = sorted({row[0].value for row in self._reader.rows("names")})
        advance = progress("writing articles", len(entities))
        for some in batches(entities, BATCH):
            for iri, topic in self._read(some).items():
                if topic.values or topic.descriptions or topic.sentences:
                    text = self._text(topic.name, list(self._sentences(topic)))
                    record = {"id": iri, "title": topic.name, "text": text}
                    output.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
                    self.report.articles += 1
            advance(len(some))

    def _count(self) -> None:
        """Count the statements of the properties that are written, and those of documents."""
        for part in self._reader.parts:
            properties = self._properties.get(part.name, frozenset())
            rows = term_reader(self._reader, part).rows_for("property-counts", properties)
            self.report.statements += sum(int(row[1].value) for row in rows)
            if part.name == DOCUMENTS:
                ends = self._only(part).rows("relationship-ends")
                self.report.statements += len({row[0].value for row in ends})

    def _only(self, part: Part) -> GraphReader:
        return GraphReader(self._reader.store, self._reader.minter, (part,))

    def _read(self, iris: Sequence[str]) -> dict[str, _Topic]:
        """The named ones of some entities, with their statements."""
        reader, labels = self._reader, entity_labels(self._reader, iris)
        topics = {iri: _Topic(_clean(name)) for iri, (name, _) in labels.items()}
        for part in reader.parts:
            properties = self._properties.get(part.name, frozenset())
            source = term_reader(reader, part)
            rows = [
                (entity.value, side.value == "-", property_.value, other)
                for entity, side, property_, other in source.rows_for("statements-about", topics)
                if property_.value in properties
            ]
            others = {row[3].value for row in rows if isinstance(row[3], NamedNode)}
            names = {iri: _clean(name) for iri, (name, _) in entity_labels(reader, others).items()}
            for iri, is_inverse, property_, other in rows:
                name = names.get(other.value, "")
                name = name if isinstance(other, NamedNode) else _clean(other.value)
                if name:
                    topics[iri].values[Hop(property_, is_inverse)][str(other)] = name
                if not is_inverse and name:
                    self.report.covered += 1
                elif not is_inverse:
                    self.report.unnamed[property_] += 1
            self._describe(part, topics)
        classes = {
            (entity.value, class_.value)
            for entity, _, class_ in reader.rows_for("entity-labels", topics)
            if isinstance(class_, NamedNode) and not class_.value.startswith(_GENERAL)
        }
        class_names = self._names({class_ for _, class_ in classes})
        for entity, class_ in classes:
            topics[entity].classes.add(class_names[class_].lower())
        return topics

    def _describe(self, part: Part, topics: Mapping[str, _Topic]) -> None:
        """Add descriptions: of imported entities the best one, of documents' entities all."""
        reader, texts = self._only(part), defaultdict[str, set[Any]](set)
        for entity, text in reader.rows_for("entity-descriptions", topics):
            texts[entity.value].add(text)
        for iri, several in texts.items():
            ordered = [_clean(text.value) for text in sorted(several, key=by_language)]
            topics[iri].descriptions += ordered if part.name == DOCUMENTS else ordered[:1]
        rows = reader.rows_for("statements", topics) if part.name == DOCUMENTS else ()
        stated: dict[tuple[str, str], str] = {}
        for relationship, entity, _, _, _, text, *_ in rows:
            stated.setdefault((entity.value, relationship.value), _clean(text.value))
        for (iri, _), sentence in stated.items():
            topics[iri].sentences.append(sentence)
        self.report.covered += len(stated)

    def _sentences(self, topic: _Topic) -> Iterator[Sentence]:
        kind = self._schema.kind(hop.start for hop in topic.values)
        if topic.classes and kind not in topic.classes:
            kind = min(topic.classes)
        if kind:
            article = "an" if kind[0] in "aeiou" and not kind.startswith(_AS_YOU) else "a"
            yield Sentence(f"{topic.name} is {article} {kind}.")
        for text in dict.fromkeys(topic.descriptions):
            yield Sentence(_ended(text), (text,))
        for hop in sorted(topic.values, key=lambda hop: (hop.is_inverse, hop.predicate)):
            phrase = packaged_model().noun_phrase(self._schema, hop)
            for some in batches(sorted(set(topic.values[hop].values())), NAMES):
                text = f"{phrase[:1].upper()}{phrase[1:]} {topic.name}: {', '.join(some)}."
                yield Sentence(text, tuple(some))
        for text in dict.fromkeys(topic.sentences):
            yield Sentence(_ended(text), (text,))

    def _text(self, topic: str, sentences: Sequence[Sentence]) -> str:
        """The article: the sentences, or a model's text with those that it left out."""
        lines = [sentence.text for sentence in sentences]
        if self._llm is None:
            return "\n".join(lines)
        facts, schema = lines[:REWRITTEN], object_of(article=string(_CHARACTERS))
        fence = fence_for(topic, *facts, length=8)
        prompt = PROMPTS.render("write_article", topic=topic, facts=facts, fence=fence)
        try:
            reply = self._llm.complete(prompt, schema, name="write_article", max_tokens=_MAX_TOKENS)
        except (TruncatedReplyError, UnparsableReplyError):
            self.report.refused += 1
            return "\n".join(lines)
        written = [line for line in map(_clean, str(reply.data["article"]).splitlines()) if line]
        plain = " ".join(written).casefold()
        lacking = [
            sentence.text
            for sentence in sentences[:REWRITTEN]
            if not all(_clean(name).casefold() in plain for name in sentence.names)
        ]
        self.report.rewritten += 1
        self.report.restored += len(lacking)
        return "\n".join([*written, *lacking, *lines[REWRITTEN:]])


def _clean(text: str) -> str:
    return " ".join(text.split())


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True, kw_only=True)
class ArticleOptions(Options):
    """Of which parts articles are written, and by whom."""

    name = "articles"
    over: tuple[str, ...] = option((), "articles: write about the entities of this part.")
    rewrite: bool = option(False, "articles: let the language model of --base-url write them.")


def _export(graph: ExportedGraph, output: IO[bytes], options: ArticleOptions) -> ArticleReport:
    reader = graph.read_any(options.over or (DOCUMENTS,))
    writer = _Writer(reader, graph.llm() if options.rewrite else None)
    writer.write(output, graph.progress)
    if not writer.report.articles:
        raise InputError(
            "no article was written: no named entity has a statement or a description; to write "
            "those of an imported graph, name it with --over"
        )
    return writer.report


EXPORTER = Exporter(_export, ArticleOptions)
