"""One knowledge graph, as a caller holds it: thin, each method hands over to one module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from sarag_rdf.errors import EmptyGraphError
from sarag_rdf.export.description import describe, dump_of
from sarag_rdf.export.rdf import Parts, write_parts
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.parts import Imported, dataset_graphs, imported_graphs, is_whole, searched
from sarag_rdf.graph.reader import DOCUMENTS
from sarag_rdf.inspect.fsck import FsckReport, stats
from sarag_rdf.inspect.validate import Engine, validate
from sarag_rdf.kg import registry
from sarag_rdf.kg.checking import Checking
from sarag_rdf.kg.identity import Identity
from sarag_rdf.kg.lifecycle import LifeCycle
from sarag_rdf.kg.linking import Linking
from sarag_rdf.ports import (
    LLM,
    Embedder,
    Gather,
    Progress,
    Reasoner,
    Retriever,
    Table,
    Triples,
    silent,
)
from sarag_rdf.rdf.shacl.report import ValidationReport
from sarag_rdf.retrieve.question import question_of
from sarag_rdf.types import Answer, Retrieved


class KnowledgeGraph(LifeCycle):
    """A graph in a folder, in memory, or behind a SPARQL endpoint; use it in a ``with`` block.

    Reading takes a snapshot that a writer elsewhere may overtake; only what changes the graph
    locks it, and only while it runs. All methods raise errors of `sarag_rdf.errors`.
    """

    def reload(self) -> None:
        """Read the graph as it is now; models stay loaded.

        Raises `NotAGraphError`, `UsageError` for a part that there is not.
        """
        self._embeddings.forget()
        self._location.forget()
        self._location.reading()

    def imports(self) -> list[Imported]:
        """The imported graphs, by name, complete or not."""
        return imported_graphs(self._location.reader())

    def search(self, question: str, *, retriever: str = "sarag", **options: Any) -> Retrieved:
        """Retrieve documents and relationships; `options` are the retriever's own."""
        query = question_of(question)
        with self._location.undisturbed():
            return self.retriever(retriever, **options).retrieve(query)

    def retriever(self, name: str, **options: Any) -> Retriever:
        """A retriever on the graph as it is now, for many questions; `options` are its own."""
        view = self._embeddings.view(self._location.reading())
        return registry.make_retriever(name, view, options)

    def embedder(self, *, cached: bool = True) -> Embedder:
        """The model that questions are embedded with, behind the graph's cache or bare."""
        made = self._embeddings.view(self._location.reading()).vectors.embedder
        return made if cached else self._embeddings.model()

    def ask(
        self,
        question: str,
        *,
        retriever: str = "sarag",
        reasoner: str = "single",
        context: str = "whole",
        budget: int | None = None,
        tokenizer: str | None = None,
        **options: Any,
    ) -> Answer:
        """Answer from retrieved evidence; without an endpoint the evidence alone is returned.

        `reasoner` and `context` take options as ``name:key=value``. `budget` is the size of a
        context in tokens, as `tokenizer` (a folder or the name of a model) counts them, or
        approximately; `options` are the retriever's own.
        """
        query = question_of(question)
        gather = self.gather(
            retriever, context=context, budget=budget, tokenizer=tokenizer, **options
        )
        if self._llm is None and self._endpoint is None:
            evidence = gather(query)
            return Answer("evidence", "", "", (), evidence.retrieved, evidence=(evidence,))
        return self.reasoner(reasoner, gather).answer(query)

    def gather(
        self,
        retriever: str = "sarag",
        *,
        context: str = "whole",
        budget: int | None = None,
        tokenizer: str | None = None,
        **options: Any,
    ) -> Gather:
        """Retrieval and context as one step, for many questions; see `ask`."""
        view = self._embeddings.view(self._location.reading())
        made = registry.make_retriever(retriever, view, options)
        counter = registry.make_counter(tokenizer)
        return registry.make_gather(made, registry.make_context(context, view, counter, budget))

    def reasoner(self, reasoner: str, gather: Gather, llm: LLM | None = None) -> Reasoner:
        """A reasoner with a model, that of the endpoint by default; see `ask`."""
        view = self._embeddings.view(self._location.reading())
        return registry.make_reasoner(reasoner, gather, llm or self.llm(), view)

    def query(
        self, text: str, *, over: Sequence[str] = (), allow_service: bool = False
    ) -> Table | Triples | bool:
        """Run SPARQL over the parts in `over`, or over the data set that the query names.

        `over` names ``documents``, imported graphs, or ``all``; by default they are those that the
        graph was opened with, or the documents. Their union is the default graph of the query;
        GRAPH reaches every named graph. Raises `UsageError` for an unknown name.
        """
        from sarag_rdf.rdf.query_guard import check_query, refuse_network

        traits = check_query(text)
        if not allow_service:
            refuse_network(traits)
        reader, over = self._location.reader(), over or self._location.over
        if traits.names_dataset:
            return reader.store.query(text)
        if reader.over is not None or is_whole(reader, over):  # the graph of another kind is one
            return reader.store.query(text, union=True)
        return reader.store.query(text, default_graphs=dataset_graphs(reader, over))

    def export(self, format_: str, output: IO[bytes], *, rdf12: bool = False, **parts: Any) -> None:
        """Write the graph as turtle, trig, ntriples, nquads, jsonld or rdfxml.

        `parts` are those of `Parts`: all is written but imported graphs, unless parts are named.
        With `rdf12` relationships are reifiers of the links that they state.
        """
        write_parts(self._location.own(), format_, output, Parts(**parts), rdf12=rdf12)

    def export_wikibase(
        self,
        format_: str,
        output: IO[bytes],
        *,
        over: Sequence[str] = (DOCUMENTS,),
        typed: int = 0,
        table: Path | None = None,
        **settings: Any,
    ) -> None:
        """Write the parts in `over` as wikibase, wikibase-json or quickstatements.

        Phrases of at least `typed` statements get properties of their own (0: none). `table` is a
        file of own ids and ids in the target; `settings` are those of `wikibase.Settings`. New
        numbers are kept in the graph, under its lock.
        """
        from sarag_rdf import wikibase

        targets = wikibase.read_targets(table) if table else {}
        chosen = wikibase.Settings(targets=targets, **settings)
        export = wikibase.numbered(
            lambda: searched(self._location.own(), over), self._writing, typed=typed
        )
        wikibase.write_wikibase(export, format_, output, chosen)

    def describe(self, dumps: Sequence[str] = (), endpoint: str = "", **said: str) -> bytes:
        """VoID, DCAT and PROV as Turtle; `dumps` are ``URL=FORMAT`` or ``FILE=FORMAT``.

        What is `said` is kept first, as `say` does.
        """
        found = list(map(dump_of, dumps))
        if said:
            self.say(**said)
        return describe(self._location.reader(), found, endpoint)

    @property
    def links(self) -> Linking:
        """Links from entities to items of imported graphs."""
        return Linking(self._location, self._embeddings)

    @property
    def identity(self) -> Identity:
        """Which names are of one thing and which are not, as was decided."""
        return Identity(self._location, self._embeddings)

    def validate(self, engine: Engine = "sarag") -> ValidationReport:
        """Validate all data of our own against ``ontology/shapes.ttl``.

        `engine` is ``sarag`` or, to cross-check, ``pyshacl``.
        """
        return validate(self._location.own(), engine)

    def fsck(self, *, repair: bool = False, progress: Progress = silent) -> FsckReport:
        """Check shapes, orphans, what is derived, and caches; `repair` makes anew what is derived.

        Evidence and links are never deleted: what cannot be made anew is in the report, with what
        to do about it.
        """
        checking = Checking(self._location, self._embeddings)
        return checking.repair(progress) if repair else checking.check(progress)

    def stats(self) -> dict[str, int]:
        """Counts of what the graph holds."""
        return stats(self._location.own())

    def meta(self) -> Meta:
        """Base IRI, revision, embedding model."""
        meta = read_meta(self._location.reader().store)
        if meta is None:
            raise EmptyGraphError("the graph is empty: index something first, with sarag index")
        return meta

    def extractors(self) -> frozenset[str]:
        """Names of the extractors that the sources were extracted with."""
        reader = self._location.reader(or_empty=True)
        return frozenset(name.value for name, _ in reader.select_provenance("extractors"))

    def documents(self) -> Iterator[tuple[str, str]]:
        """Title (or an empty string) and text of every document, each once, by IRI."""
        rows = self._location.reader().rows("document-texts")
        texts = {
            iri.value: (title.value if title else "", text.value) for iri, text, title, _ in rows
        }
        return (texts[iri] for iri in sorted(texts))
