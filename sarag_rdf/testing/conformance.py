"""What every plug-in must do, for the tests of its author: each function raises AssertionError.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from sarag_rdf.documents.format import TEXT
>>> with TemporaryDirectory() as folder:
...     check_format(TEXT, b"The Danube flows through Vienna.", Path(folder))
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sarag_rdf.base.options import declared_options
from sarag_rdf.base.plugins import load
from sarag_rdf.base.ports import Extractor
from sarag_rdf.base.types import Document, Extraction
from sarag_rdf.documents.format import (
    Format,
    InvalidRecord,
    OpenInput,
    Record,
    UnreadableError,
)
from sarag_rdf.kg.evidence import retrieved_to_dict
from sarag_rdf.kg.graph import KnowledgeGraph

MAX_CHARS = 5_000_000
"""The limit of a text that `check_format` gives a format, in characters."""


def check_retriever(kg: KnowledgeGraph, name: str, question: str) -> None:
    """A retriever found by its entry point ranks documents of the graph, the same each time.

    `question` must find at least one document. Scores fall, ranks count from 1, the limit holds,
    options read as they are written, and the result is JSON.
    """
    strategy = load("retrievers", name)
    assert strategy.name == name, f"the entry point is '{name}', its name '{strategy.name}'"
    assert strategy.__doc__, "the class needs a docstring: its first line is in the lists"
    assert str(strategy()) == name, "options at their defaults are left out of the name"
    assert all(option.meaning for option in declared_options(strategy)), "an option has no meaning"
    found = kg.search(question, retriever=name, limit=None)
    assert found.documents, f"'{question}' finds nothing"
    assert [document.rank for document in found.documents] == [
        *range(1, len(found.documents) + 1)
    ], "ranks count from 1"
    scores = [document.score for document in found.documents]
    assert all(first >= second for first, second in pairwise(scores)), "scores do not fall"
    assert {document.document.iri for document in found.documents} <= {
        document.iri for document in _documents(kg)
    }, "a document is not in the graph"
    assert found == kg.search(question, retriever=name, limit=None), "two results differ"
    assert len(kg.search(question, retriever=name, limit=1).documents) == 1, "the limit is ignored"
    json.dumps(retrieved_to_dict(found), allow_nan=False)


def check_format(format_: Format, content: bytes, folder: Path, *, records: int = 1) -> None:
    """A document format reads `content`, a valid file of it, into so many records.

    It reads the same twice, gives text, and raises nothing but its own errors for a file that is
    cut in the middle, or that is empty.
    """
    path = folder / "content"
    assert format_.media_type.count("/") == 1, "the media type is not one"
    first = _records(format_, path, content)
    assert len(first) == records, f"{len(first)} records are read"
    for record in first:
        assert isinstance(record, Record), f"a record is invalid: {record}"
        assert record.text.strip(), "a record has no text"
    assert first == _records(format_, path, content), "the second reading differs"
    for broken in (b"", content[: len(content) // 2]):
        _records(format_, path, broken)


def check_exporter(kg: KnowledgeGraph, name: str) -> bytes:
    """An exporter found by its entry point writes the same bytes twice; returns them.

    The graph is the same afterwards.
    """
    revision = kg.meta().revision
    outputs = (io.BytesIO(), io.BytesIO())
    for output in outputs:
        kg.export(name, output)
    written, again = (output.getvalue() for output in outputs)
    assert written, "nothing is written"
    assert written == again, "two exports differ"
    assert kg.meta().revision == revision, "the export changed the graph"
    return written


def check_extractor(extractor: Extractor, documents: Sequence[Document]) -> None:
    """An extractor gives one result per document, in order, and the same each time.

    Each relation is between names that it found, and no name is empty.
    """
    assert extractor.method.extractor, "the method has no name"
    results = list(extractor.extract(documents))
    assert len(results) == len(documents), f"{len(results)} results of {len(documents)} documents"
    for result in results:
        assert isinstance(result, Extraction), f"a document failed: {result!r}"
        names = {mention.name for mention in result.mentions}
        assert all(name.strip() for name in names), "a name is empty"
        ends = {relation.subject for relation in result.relations}
        assert ends <= names, f"relations of names that are not mentioned: {sorted(ends - names)}"
    assert results == list(extractor.extract(documents)), "the second extraction differs"


def check_vector_engine(engine: Any, name: str = "sarag-conformance-document") -> None:
    """A `VectorEngine` stores, finds and deletes vectors, and keeps them when it is closed.

    `name` is that of a collection that it does not have, and has none of afterwards.
    """
    iris = [f"http://example.org/{number}" for number in range(5)] + [f"urn:{'x' * 3000}"]
    angles = np.arange(len(iris)) / 5
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    absent, key = "http://example.org/absent", "0a" * 36
    assert name not in engine.collections(), "the collection exists"
    assert engine.marked(name) == "", "what does not exist has a mark"
    engine.create(name, 2)
    try:
        assert name in engine.collections(), "what was created is not listed"
        assert (engine.count(name), engine.marked(name)) == (0, ""), "a collection begins empty"
        engine.put(name, iris, vectors[::-1].copy())
        engine.put(name, iris, vectors)
        assert engine.count(name) == len(iris), "vectors are inserted twice, not replaced"
        engine.mark(name, key)
        engine.close()
        assert engine.marked(name) == key, "the mark is lost"
        fetched = engine.fetch(name, [*iris, absent])
        assert fetched.keys() == set(iris), "other vectors were fetched"
        assert np.array_equal([fetched[iri] for iri in iris], vectors), "vectors are changed"
        (first, one), (second, product) = engine.nearest(name, vectors[0], 2)
        assert [first, second] == iris[:2], "the nearest are not found, or not in order"
        assert np.allclose([one, product], vectors[:2] @ vectors[0], atol=1e-5), "no dot products"
        engine.mark(name, "")
        assert engine.marked(name) == "", "the mark is not removed"
        engine.delete(name, [iris[0], absent])
        assert engine.count(name) == len(iris) - 1, "one vector is to be deleted"
    finally:
        engine.drop(name)
    assert name not in engine.collections(), "what was deleted is listed"


def _documents(kg: KnowledgeGraph) -> Sequence[Document]:
    with kg.session.read() as snapshot:
        view = snapshot.view
        return [*view.documents(view.iris.documents).values()]


def _records(format_: Format, path: Path, content: bytes) -> list[Record | InvalidRecord]:
    path.write_bytes(content)
    with path.open("rb") as handle:
        try:
            return list(format_.read(OpenInput(handle, MAX_CHARS, path, len(content))))
        except (UnreadableError, UnicodeDecodeError):
            return []
