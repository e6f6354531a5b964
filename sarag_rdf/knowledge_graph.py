"""One knowledge graph, as a caller holds it: thin, each method hands over to one module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sarag_rdf import assemble
from sarag_rdf.assemble import Endpoint
from sarag_rdf.context.render import render_context
from sarag_rdf.errors import (
    EmptyGraphError,
    ModelMismatchError,
    NotAGraphError,
    StoreError,
    UsageError,
)
from sarag_rdf.export.rdf import write_rdf
from sarag_rdf.graph.meta import Meta, read_meta
from sarag_rdf.graph.rows import GraphReader
from sarag_rdf.graph.vectors import KINDS, GraphVectors, Kind
from sarag_rdf.index import pipeline
from sarag_rdf.index.commit import Writer
from sarag_rdf.index.read import Duplicate, InputProblem, read_paths
from sarag_rdf.inspect.stats import stats
from sarag_rdf.inspect.validate import ValidationReport, validate
from sarag_rdf.iris import DEFAULT_BASE, Minter
from sarag_rdf.models.embedding_cache import CachedEmbedder
from sarag_rdf.ports import LLM, Embedder, Extractor, GraphStore, Table, Triples, VectorStore
from sarag_rdf.stores.oxigraph import OxigraphStore
from sarag_rdf.stores.query_guard import inspect_query, refuse_network
from sarag_rdf.stores.vectors import FolderVectors, MemoryVectors
from sarag_rdf.types import Answer, Query, Retrieved, Source

Inputs = str | Path | Source


class KnowledgeGraph:
    """A graph in a folder, or in memory; use it in a ``with`` block, or call `close`.

    Reading takes a snapshot that a writer elsewhere may overtake; only `index` locks the graph,
    and only while it runs. All methods raise errors of `sarag_rdf.errors`.
    """

    def __init__(
        self,
        location: str | Path | None,
        *,
        base: str | None = None,
        embedder: str | Embedder | None = None,
        endpoint: Endpoint | None = None,
        llm: LLM | None = None,
    ) -> None:
        """See `sarag_rdf.open`."""
        self._folder = None if location is None else Path(location).expanduser()
        self._minter = Minter.for_base(base) if base else None
        self._embedder = embedder
        self._endpoint = endpoint
        self._llm = llm
        self._memory: GraphStore | None = OxigraphStore.in_memory() if location is None else None
        self._snapshot: GraphStore | None = None
        self._vectors: GraphVectors | None = None
        self._cached: CachedEmbedder | None = None

    def __enter__(self) -> KnowledgeGraph:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give files free; the graph stays."""
        self._forget()
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def index(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        words: int = 500,
        overlap: int = 200,
        progress: pipeline.Progress = pipeline.silent,
        **reading: Any,
    ) -> pipeline.IndexReport:
        """Index files, folders, or `Source` values; what is in the graph already is left alone.

        `extractor` is ``spacy``, ``llm`` or ``openie:FILE``, or an object. Chunks have `words`
        words, of which `overlap` are shared. `reading` goes to `read_paths` (root, language,
        max_chars). What cannot be read is in the report's `problems`; a run that is interrupted
        keeps what it has committed.
        """
        made = self.extractor(extractor)
        reader = self._for_writing()
        try:
            plan = pipeline.plan(
                reader, read_inputs(inputs, **reading), made.method, words=words, overlap=overlap
            )
            self._check_embedder(reader)
            Writer(reader).describe(self._embedding().name)
            report = pipeline.run(reader, plan, made, progress=progress)
            self._embed(reader, progress)
            return report
        finally:
            self._forget()
            if reader.store is not self._memory:
                reader.store.close()

    def plan(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        words: int = 500,
        overlap: int = 200,
        **reading: Any,
    ) -> pipeline.Plan:
        """What `index` would do; nothing is written and no model is asked."""
        made = self.extractor(extractor)
        reader = self._reader(or_empty=True)
        sources = read_inputs(inputs, **reading)
        return pipeline.plan(reader, sources, made.method, words=words, overlap=overlap)

    def search(self, question: str, *, retriever: str = "sarag", **options: Any) -> Retrieved:
        """Retrieve documents and relationships; `options` are the retriever's own."""
        query = _query(question)
        reader = self._reader()
        vectors = self._graph_vectors(reader)
        return assemble.make_retriever(retriever, reader, vectors, options).retrieve(query)

    def ask(
        self, question: str, *, retriever: str = "sarag", reasoner: str = "single", **options: Any
    ) -> Answer:
        """Answer from retrieved evidence; without an endpoint the evidence alone is returned."""
        retrieved = self.search(question, retriever=retriever, **options)
        if self._llm is None and self._endpoint is None:
            return Answer("evidence", "", "", (), retrieved)
        made = assemble.make_reasoner(reasoner, self.llm())
        return made.answer(retrieved.query, retrieved, render_context(retrieved))

    def query(self, text: str, *, allow_service: bool = False) -> Table | Triples | bool:
        """Run SPARQL over the union of all graphs, or over the data set that the query names."""
        traits = inspect_query(text)
        if not allow_service:
            refuse_network(traits)
        return self._reader().store.query(text, union=not traits.names_dataset)

    def export(self, format_: str, output: IO[bytes]) -> None:
        """Write the graph as turtle, trig, ntriples, nquads, jsonld or rdfxml."""
        reader = self._reader()
        write_rdf(reader.store, format_, output, base=reader.minter.base)

    def validate(self) -> ValidationReport:
        """Validate all data against ``ontology/shapes.ttl``."""
        return validate(self._reader())

    def stats(self) -> dict[str, int]:
        """Counts of what the graph holds."""
        return stats(self._reader())

    def meta(self) -> Meta:
        """Base IRI, revision, embedding model."""
        meta = read_meta(self._reader().store)
        if meta is None:
            raise EmptyGraphError("the graph is empty: index something first, with sarag index")
        return meta

    def llm(self) -> LLM:
        """The model that answers and extracts."""
        if self._llm is None:
            self._llm = assemble.make_llm(self._endpoint, self._cache("replies.sqlite"))
        return self._llm

    def extractor(self, extractor: str | Extractor) -> Extractor:
        """The extractor of that name."""
        if isinstance(extractor, str):
            concurrency = self._endpoint.concurrency if self._endpoint else 4
            return assemble.make_extractor(extractor, self.llm, concurrency=concurrency)
        return extractor

    # Stores and caches.

    def _cache(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / "cache" / name

    def _forget(self) -> None:
        if self._snapshot is not None and self._snapshot is not self._memory:
            self._snapshot.close()
        self._snapshot = self._vectors = None

    def _reader(self, *, or_empty: bool = False) -> GraphReader:
        if self._snapshot is None:
            self._snapshot = self._memory or self._open_snapshot(or_empty=or_empty)
        return GraphReader(self._snapshot, self._known_minter(self._snapshot))

    def _open_snapshot(self, *, or_empty: bool) -> GraphStore:
        if self._folder is None:
            raise StoreError("this graph has been closed: open it again")
        if not (self._folder / "store" / "CURRENT").is_file():
            if or_empty and not _occupied(self._folder):
                return OxigraphStore.in_memory()
            raise NotAGraphError(_no_graph(self._folder))
        return OxigraphStore.open(self._folder / "store")

    def _for_writing(self) -> GraphReader:
        self._forget()
        if self._memory is not None:
            return GraphReader(self._memory, self._known_minter(self._memory))
        assert self._folder is not None  # noqa: S101 - either memory or a folder
        if _occupied(self._folder):
            raise NotAGraphError(
                f"{self._folder} holds other things and no graph: name a new or empty folder "
                "with --kg"
            )
        store = OxigraphStore.create(self._folder / "store")
        try:
            return GraphReader(store, self._known_minter(store))
        except BaseException:
            store.close()
            raise

    def _known_minter(self, store: GraphStore) -> Minter:
        meta = read_meta(store)
        if meta is None:
            return self._minter or Minter(DEFAULT_BASE)
        if self._minter is not None and self._minter.base != meta.base:
            raise UsageError(
                f"the graph's base is {meta.base}, not {self._minter.base}: leave --base out, or "
                "make another graph"
            )
        return Minter(meta.base)

    # Embeddings.

    def _embedding(self, name: str | None = None) -> CachedEmbedder:
        if self._cached is None:
            made = self._embedder
            if made is None or isinstance(made, str):
                made = assemble.make_embedder(made or name, self._endpoint)
            self._cached = CachedEmbedder(made, self._cache("embeddings.sqlite"))
        return self._cached

    def _vector_store(self) -> VectorStore:
        folder = self._cache("vectors")
        return MemoryVectors() if folder is None else FolderVectors(folder)

    def _check_embedder(self, reader: GraphReader) -> None:
        """Without one that is named, a graph stays with the model it was embedded with."""
        meta = read_meta(reader.store)
        if meta is not None and self._embedder is None and self._cached is None:
            self._embedding(_named(meta.embedding_model))

    def _graph_vectors(self, reader: GraphReader) -> GraphVectors:
        if self._vectors is None:
            meta = self.meta()
            embedder = self._embedding(_named(meta.embedding_model))
            if meta.embedding_model and embedder.name != meta.embedding_model:
                raise ModelMismatchError(
                    f"the graph was embedded with '{meta.embedding_model}', not with "
                    f"'{embedder.name}': leave --embedder out, or re-embed it with "
                    f"sarag index --embedder {embedder.name}"
                )
            store = self._vector_store()
            self._vectors = GraphVectors(reader, embedder, store, meta.revision)
            if not len(self._vectors.index("document")):
                raise EmptyGraphError("the graph is empty: index something first, with sarag index")
        return self._vectors

    def _embed(self, reader: GraphReader, progress: pipeline.Progress) -> None:
        meta = read_meta(reader.store)
        embedder = self._embedding()
        vectors = GraphVectors(
            reader, embedder, self._vector_store(), meta.revision if meta else ""
        )
        for kind in KINDS:
            vectors.index(kind, _with_progress(embedder, kind, progress))


def _with_progress(
    embedder: CachedEmbedder, kind: Kind, progress: pipeline.Progress
) -> Callable[[list[str]], Any]:
    def embed(texts: list[str]) -> Any:
        done = progress(f"embedding {kind} texts", len(texts))
        return embedder.embed(texts, done)

    return embed


def read_inputs(
    inputs: Inputs | Iterable[Inputs], **reading: Any
) -> Iterable[Source | InputProblem | Duplicate]:
    """Sources as they are; paths as `read_paths` reads them."""
    items = [inputs] if isinstance(inputs, str | Path | Source) else list(inputs)
    yield from (item for item in items if isinstance(item, Source))
    paths = [Path(item) for item in items if not isinstance(item, Source)]
    if paths:
        yield from read_paths(paths, **reading)


MAX_QUESTION_WORDS = 1000
"""Longer questions are refused: an embedding model reads a few hundred words at most."""


def _query(question: str) -> Query:
    words = question.split()
    if not words:
        raise UsageError("the question is empty: ask something")
    if len(words) > MAX_QUESTION_WORDS:
        raise UsageError(
            f"the question has {len(words):,} words: ask in at most {MAX_QUESTION_WORDS:,}"
        )
    return Query(" ".join(words))


def _named(model: str) -> str | None:
    """The recorded model, or None for the default, which a package may carry."""
    from sarag_rdf.models.sentence_transformer import DEFAULT_MODEL

    return None if model in ("", DEFAULT_MODEL) else model


def _occupied(folder: Path) -> bool:
    """Whether a folder holds files but no graph."""
    if (folder / "store" / "CURRENT").is_file() or not folder.exists():
        return False
    if not folder.is_dir():
        return True
    return any(entry.name not in ("store", "cache") for entry in folder.iterdir())


def _no_graph(folder: Path) -> str:
    if folder.exists():
        return f"{folder} holds no graph: name the graph's folder with --kg"
    return f"there is no graph at {folder}: make one with  sarag index PATH --kg {folder}"
