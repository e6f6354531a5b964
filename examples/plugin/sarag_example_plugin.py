"""A plug-in of sarag_rdf: a retriever, a document format and an exporter, in one file.

    pip install ./examples/plugin
    sarag index talk.srt
    sarag search "Who discovered polonium?" --retriever titles
    sarag export --format dot --output graph.dot

The entry points in the ``pyproject.toml`` beside this file are all that sarag_rdf knows of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from sarag_rdf.base.options import Options, option
from sarag_rdf.base.types import Query, Retrieved
from sarag_rdf.documents.format import Format, OpenInput, Record, read_text
from sarag_rdf.graph.exporter import ExportedGraph, Exporter
from sarag_rdf.graph.texts import entity_labels, relationship_texts
from sarag_rdf.retrieval.retriever import RetrieverStrategy, best_documents
from sarag_rdf.retrieval.view import GraphView


def words(text: str) -> set[str]:
    """The words of a text in lower case."""
    return set(re.findall(r"\w+", text.lower()))


@dataclass(frozen=True, kw_only=True)
class Titles(RetrieverStrategy):
    """Documents by the share of the words of their title that the question has."""

    name = "titles"

    least: float = option(0.5, "Smallest share of a title's words.", gt=0.0, le=1.0)

    def retrieve(self, view: GraphView, query: Query) -> Retrieved:
        asked = words(query.text)
        scores = np.full(len(view.iris.documents), -np.inf)
        documents = view.documents(view.iris.documents)
        for row, iri in enumerate(view.iris.documents):
            title = words(documents[iri].title)
            share = len(title & asked) / len(title) if title else 0.0
            if share >= self.least:
                scores[row] = share
        return self.result(view, query, best_documents(view, scores, self.limit))


_TIMES = re.compile(r"\d+:\d\d:\d\d[,.]\d+ --> .*")


def read_subtitles(file: OpenInput) -> Iterator[Record]:
    """The spoken text of a file of subtitles (SubRip), without numbers and times."""
    lines = (line.strip() for line in read_text(file).splitlines())
    spoken = [line for line in lines if line and not line.isdigit() and not _TIMES.match(line)]
    yield Record(re.sub(r"</?[biu]>", "", " ".join(spoken)))


SUBTITLES = Format(read_subtitles, media_type="application/x-subrip")


@dataclass(frozen=True, kw_only=True)
class DotOptions(Options):
    """What is written about a link."""

    name = "dot"

    sentences: bool = option(False, "dot: label each link with its sentence.")


def write_dot(graph: ExportedGraph, output: IO[bytes], options: DotOptions) -> None:
    """Write entities and the links between them in the language of Graphviz."""
    reader = graph.read(())
    rows = reader.rows("relationship-ends")
    links = sorted((start.value, end.value, link.value) for link, start, end in rows)
    names = entity_labels(reader, {iri for link in links for iri in link[:2]})
    texts = relationship_texts(reader, [link for *_, link in links]) if options.sentences else {}
    output.write(b"digraph kg {\n")
    for iri, (name, kind) in sorted(names.items()):
        output.write(f"  {json.dumps(iri)} [label={json.dumps(name)} class={kind}];\n".encode())
    for subject, object_, relationship in links:
        label = f" [label={json.dumps(texts[relationship][0])}]" if relationship in texts else ""
        output.write(f"  {json.dumps(subject)} -> {json.dumps(object_)}{label};\n".encode())
    output.write(b"}\n")


DOT = Exporter(write_dot, DotOptions, {".dot": {}})
