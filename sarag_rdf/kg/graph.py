"""One knowledge graph: the public interface."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.notebooks import graph_html
from sarag_rdf.base.options import DEFAULT_LIMIT, Options
from sarag_rdf.base.plugins import CONTEXT, REASONER, RETRIEVER, load, loadable
from sarag_rdf.base.ports import (
    LLM,
    Embedder,
    Extractor,
    Gather,
    Progress,
    Retriever,
    Table,
    Triples,
    silent,
)
from sarag_rdf.base.types import Answer, Evidence, OnEvent, Query, Retrieved
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.graph.metadata import DatasetMetadata, Meta, read_meta, stats, write_dataset_metadata
from sarag_rdf.graph.parts import Imported, imported_graphs
from sarag_rdf.kg import registry
from sarag_rdf.kg.entity_lookup import (
    MAX_NODES,
    MAX_STATEMENTS,
    EntityDescription,
    Neighbourhood,
    describe_entity,
    neighbourhood,
    to_networkx,
)
from sarag_rdf.kg.vectors import empty_graph, recorded_model

if TYPE_CHECKING:
    import rdflib
    from networkx import MultiDiGraph

    from sarag_rdf.building.graph_import import ImportReport
    from sarag_rdf.building.index_run import IndexReport
    from sarag_rdf.building.plan import Inputs, Plan
    from sarag_rdf.building.plan import Mode as Mode
    from sarag_rdf.graph.exporter import ExportedGraph, Exporter, ExportReport
    from sarag_rdf.graph.ontology.schema import Schema
    from sarag_rdf.graph.store.shacl import ShaclEngine, ValidationReport
    from sarag_rdf.kg.deciding import Decisions
    from sarag_rdf.kg.gate import Quarantine
    from sarag_rdf.kg.linking import Links
    from sarag_rdf.kg.queries import QueryExplanation
    from sarag_rdf.kg.schemas import Ontologies
    from sarag_rdf.kg.session import Session

# Modules that a search does without are imported where they are used.

log = logging.getLogger(__name__)


class KnowledgeGraph:
    """A graph in a folder, in memory, or behind a SPARQL endpoint; use it in a ``with`` block.

    `sarag_rdf.open` opens one. Reading takes a snapshot, which a writer elsewhere may overtake.
    Methods that change the graph lock it while they run. All methods raise errors of
    `sarag_rdf.base.errors`, except for arguments that they do not have (`TypeError`).
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    @cached_property
    def decisions(self) -> Decisions:
        """Which names refer to the same entity, classes of entities, what phrases state."""
        from sarag_rdf.kg.deciding import Decisions

        return Decisions(self.session)

    @cached_property
    def links(self) -> Links:
        """Links from entities to items of other graphs."""
        from sarag_rdf.kg.linking import Links

        return Links(self.session)

    @cached_property
    def ontologies(self) -> Ontologies:
        """The ontologies of the graph, and what follows from them."""
        from sarag_rdf.kg.schemas import Ontologies

        return Ontologies(self.session)

    @cached_property
    def quarantine(self) -> Quarantine:
        """Sources and statements that do not conform to shapes."""
        from sarag_rdf.kg.gate import Quarantine

        return Quarantine(self.session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files; the graph itself stays."""
        self.session.close()

    def __repr__(self) -> str:
        return f"<KnowledgeGraph {self.session.location}>"

    def _repr_html_(self) -> str:
        with self.session.read(missing_ok=True) as snapshot:
            counts = {} if snapshot.reader.over is not None else stats(snapshot.own)
        return graph_html(repr(self), counts)

    def reload(self) -> None:
        """Read the graph as it is now; models stay loaded.

        Raises `NotAGraphError`; `UsageError` if a part that was named in `over` is missing.
        """
        with self.session.read(latest=True) as snapshot:
            _ = snapshot.searched

    # Documents

    def index(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **reading: Any,
    ) -> IndexReport:
        """Index files, folders, or `Source` values; changed sources are replaced.

        `extractor` is a name such as ``spacy`` or ``llm``, or an object; `reading` are
        `ReadOptions`. The report's `problems` are files that cannot be read, and sources in
        `quarantine` since their evidence does not conform to the shapes. A run that is interrupted
        keeps what it has committed.
        """
        return self._change("index", inputs, extractor, progress, reading)

    def plan(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        how: Mode = "index",
        **options: Any,
    ) -> Plan:
        """What `index`, `update` or `sync` would do; nothing is written and no model is called.

        Its `refused` says why it would need `yes`.
        """
        from sarag_rdf.building.plan import Request, plan

        request = Request.of(inputs, how, **options)
        method, creates = self.extractor(extractor).method, how != "update"
        with self.session.read(missing_ok=creates, latest=True) as snapshot:
            return plan(snapshot.reader if creates else snapshot.own, request, method)

    def update(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **options: Any,
    ) -> IndexReport:
        """Index again the files in the graph that have changed, with their new and missing records.

        `options` are those of `index`, and `yes`. Raises `NotAGraphError` without a graph, and
        `InputError` if more than a third of the files' sources would be deleted, unless `yes`.
        """
        return self._change("update", inputs, extractor, progress, options)

    def sync(
        self,
        folder: str | Path,
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **options: Any,
    ) -> IndexReport:
        """Make the sources that come from a folder match it: add, update, and last delete.

        These are all sources that have a path; with `root`, those below the folder's place in it. A
        file that cannot be read keeps its older version. `options` are those of `index`, and `yes`.
        Raises `InputError` if more than a third of these sources would be deleted, unless `yes`.
        """
        return self._change("sync", folder, extractor, progress, options)

    def _change(
        self,
        how: Mode,
        inputs: Inputs | Iterable[Inputs],
        extractor: str | Extractor,
        progress: Progress,
        options: Mapping[str, Any],
    ) -> IndexReport:
        from sarag_rdf.building.plan import Request

        request = Request.of(inputs, how, **options)
        return self.session.carry_out(request, self.extractor(extractor), progress)

    def delete(
        self, sources: str | Iterable[str], *, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Delete sources with everything that no other source supports; their keys, or else IRIs.

        A source is named by its IRI or its key; the key of a file names all its records, and
        ``folder/`` everything below. Raises `UsageError` for an unknown name, before anything is
        deleted.
        """
        from sarag_rdf.building.commit import Writer, remove
        from sarag_rdf.building.plan import IndexedSources

        with self.session.write(create=False) as reader:
            indexed = IndexedSources(reader)
            try:
                iris = indexed.resolve(_names(sources))
            except UsageError as error:
                raise UsageError(f"nothing was deleted: {error}") from error
            writer = Writer(reader)
            remove(writer, iris, progress)
            writer.finish()
            failure = self.session.vectors.try_build(reader, progress)
            if failure is not None:
                log.warning("vectors not updated; the next search updates them: %s", failure)
            return tuple(indexed.display_names(iris).values())

    def plan_delete(self, sources: str | Iterable[str]) -> tuple[str, ...]:
        """Keys, or else IRIs, of the sources that `delete` would delete."""
        from sarag_rdf.building.plan import IndexedSources

        with self.session.read(latest=True) as snapshot:
            indexed = IndexedSources(snapshot.own)
            return tuple(indexed.display_names(indexed.resolve(_names(sources))).values())

    def documents(self) -> Iterator[tuple[str, str]]:
        """Title (or an empty string) and text of every document, each once, by IRI."""
        with self.session.read() as snapshot:
            rows = snapshot.reader.rows("document-texts")
        texts = {
            iri.value: (title.value if title else "", text.value) for iri, text, title, _ in rows
        }
        return (texts[iri] for iri in sorted(texts))

    def extractors(self) -> frozenset[str]:
        """Names of the extractors that the sources were extracted with."""
        with self.session.read(missing_ok=True) as snapshot:
            rows = snapshot.reader.select_provenance("extractors")
        return frozenset(name.value for name, _ in rows)

    # Graphs of others, and links to them

    def import_graph(
        self,
        where: str | Path,
        kind: str,
        *,
        name: str | None = None,
        replace: bool = False,
        embed: bool = True,
        progress: Progress = silent,
        **options: Any,
    ) -> ImportReport:
        """Import a file, URL or folder as a read-only graph beside the documents.

        `kind` is that of an importer, such as ``rdf`` or ``table``, and `options` are its
        `ImportOptions`. `name` is by default made from the file name; `replace` permits replacing a
        graph of that name. With `embed` vectors are computed at once, else by the first search.
        """
        from sarag_rdf.building.graph_import import importer_of, run_import

        chosen = importer_of(kind).options.of(options, kind=kind)
        with self.session.write() as reader:
            self.session.vectors.record_model(reader, tries=embed)
            report = run_import(
                reader, str(where), chosen, name=name, replaces=replace, progress=progress
            )
            if embed:
                self.session.vectors.build(reader, progress)
            return report

    def suggest_mapping(self, where: str | Path, kind: str = "table") -> str:
        """A YARRRML mapping for a table, from its columns and the ontologies of the graph.

        Without ontologies in the graph, it follows the packaged one. The text has comments, and
        should be checked by a person. Raises `UsageError` for a kind without mappings.
        """
        from sarag_rdf.building.graph_import import importer_of
        from sarag_rdf.graph.store.input_files import input_file
        from sarag_rdf.kg.schemas import phrase_schema

        suggest = importer_of(kind).suggest
        if suggest is None:
            kinds = [
                plugin.name
                for plugin, importer in loadable("importers")
                if getattr(importer, "suggest", None) is not None
            ]
            raise UsageError(f"--suggest-mapping needs --as {' or '.join(kinds)}, not --as {kind}")
        with self.session.read(missing_ok=True) as snapshot:
            schema, base = phrase_schema(snapshot.own), snapshot.own.minter.base
        with input_file(str(where)) as file:
            return suggest(file, schema, base, self.ontologies.prefixes())

    def imports(self) -> list[Imported]:
        """The imported graphs, by name, complete or not."""
        with self.session.read() as snapshot:
            return imported_graphs(snapshot.reader)

    def forget_import(self, name: str) -> None:
        """Drop an imported graph."""
        from sarag_rdf.building.graph_import import forget_import

        with self.session.write() as reader:
            forget_import(reader, name)

    def restore(
        self, where: str | Path, *, embed: bool = True, progress: Progress = silent, **options: Any
    ) -> int:
        """Load the TriG or N-Quads export of a graph into this empty one; the number of quads.

        The graph can be indexed further. `options` are those of `RdfReadOptions`: `format` is
        needed where the file name has no suffix for it.
        """
        from sarag_rdf.building import graph_import
        from sarag_rdf.graph.store.input_files import RdfReadOptions

        chosen = RdfReadOptions.of(options)
        exported = graph_import.exported_meta(str(where), chosen)
        with self.session.write() as reader:
            count = graph_import.restore(reader.store, str(where), exported, chosen, progress)
        if embed:  # a block of its own: the base of the graph is now that of the export
            with self.session.write() as reader:
                self.session.vectors.build(reader, progress)
        return count

    # Questions

    def search(
        self,
        question: str,
        *,
        retriever: str | Options = RETRIEVER,
        weights: Mapping[str, float] | None = None,
        at: str = "",
        **options: Any,
    ) -> Retrieved:
        """Retrieve documents and relationships.

        `retriever` is a name, ``name:key=value:key=value``, or an options object such as
        `Sarag`; keyword arguments are options of the retriever, too, and take precedence.
        Without a `limit`, 10 documents are returned; ``limit=None`` returns all that are ranked,
        which takes seconds on large graphs. `weights` in [0, 4] of properties and classes, by IRI,
        prefixed name or label, take the place of the graph's annotations. `at` is a year, month or
        date: no activation passes over relationships that did not hold then, and none is returned.
        Raises `UsageError` for an unknown name, and for weights or a time if the retriever has no
        activation.
        """
        query = self._query(question, weights, at, retriever)
        with self.session.read() as snapshot:
            chosen = _limited(retriever, options)
            return registry.make_retriever(chosen, snapshot.view).retrieve(query)

    def _query(
        self, question: str, weights: Mapping[str, float] | None, at: str, retriever: str | Options
    ) -> Query:
        """The question with activation weights and a time, if there are any."""
        from sarag_rdf.retrieval.retriever import question_of  # indexing needs none

        query = question_of(question)
        if at:
            query = registry.at_time(query, at, retriever)
        if not weights:
            return query
        from sarag_rdf.kg.schemas import with_weights

        return with_weights(query, weights, retriever, self.session)

    def retriever(self, retriever: str | Options, **options: Any) -> Retriever:
        """A retriever for many questions to the graph as it is now; see `search`.

        Without a `limit` it returns all documents that are ranked.
        """
        with self.session.read() as snapshot:
            return registry.make_retriever(retriever, snapshot.view, options)

    def ask(
        self,
        question: str,
        *,
        retriever: str | Options = RETRIEVER,
        reasoner: str | Options = REASONER,
        context: str | Options = CONTEXT,
        budget: int | None = None,
        tokenizer: str | None = None,
        weights: Mapping[str, float] | None = None,
        at: str = "",
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> Answer:
        """Answer from statements and evidence; without a language model, statements or evidence.

        `retriever`, `reasoner` and `context` are names, ``name:key=value:key=value``, or options
        objects; `options`, `limit`, `weights` and `at` are those of `search`. `budget` is the most
        tokens of a context that names none; `tokenizer` (a folder or the name of a model) counts
        them, by default approximately. `on_event` is called with searches, calls, and the words of
        the answer.
        """
        from sarag_rdf.answering.conversation import FollowedLLM, NoModel

        query = replace(self._query(question, weights, at, retriever), budget=budget)
        strategy = registry.options_of("reasoner", reasoner)
        limited = _limited(retriever, options)
        gather = self.gather(limited, context=context, budget=budget, tokenizer=tokenizer)
        if not self.session.models.has_llm:
            return self.reasoner(strategy, gather, NoModel()).answer_without_model(query)
        if on_event is None:
            return self.reasoner(strategy, gather).answer(query)
        followed = FollowedLLM(self.llm(), on_event)
        answer = self.reasoner(strategy, gather, followed).answer(query)
        followed.show(answer.text if answer.outcome == "answered" else "")
        return answer

    def gather(
        self,
        retriever: str | Options = RETRIEVER,
        *,
        context: str | Options = CONTEXT,
        budget: int | None = None,
        tokenizer: str | None = None,
        **options: Any,
    ) -> Gather:
        """Retrieval and context as one step, for many questions; see `ask`."""
        with self.session.read() as snapshot:
            view = snapshot.view
        retrieve = registry.make_retriever(retriever, view, options).retrieve
        chosen = registry.context_options(context, budget)
        count = registry.make_counter(tokenizer)

        def gather(query: Query) -> Evidence:
            retrieved = retrieve(query)
            if query.limit is not None:
                retrieved = replace(retrieved, documents=retrieved.documents[: query.limit])
            return Evidence(retrieved, chosen.build(view, retrieved, count))

        return gather

    def reasoner(
        self, reasoner: str | Options, gather: Gather, llm: LLM | None = None
    ) -> registry.GraphReasoner:
        """A reasoner with a language model, by default that of the endpoint; see `ask`."""
        with self.session.read() as snapshot:
            strategy = registry.options_of("reasoner", reasoner)
            return registry.GraphReasoner(strategy, gather, llm or self.llm(), snapshot.view)

    def query(
        self,
        text: str,
        *,
        over: Sequence[str] = (),
        at: str = "",
        allow_service: bool = False,
        prefixes: bool = True,
        timeout: float | None = None,
    ) -> Table | Triples | bool:
        """Run SPARQL over the parts in `over`, or over the data set that the query names.

        `over` names ``documents``, imported graphs, or ``all``, by default what the graph was
        opened with, or the documents; their union is the default graph, and GRAPH reaches every
        named graph. With `at`, a year, month or date, the query sees the graph without
        what did not hold then (`sarag_rdf.graph.valid_time`). With `prefixes` those of
        `KnowledgeGraph.prefixes` are declared. With a `timeout` in seconds (0: none) the query of a
        graph in a folder runs in a child process, which an interrupt ends at once. Raises
        `UsageError` for an unknown name, `QueryError` for a query that does not parse or uses
        SERVICE without `allow_service`, `QueryTimeoutError`.
        """
        from sarag_rdf.kg.queries import run_query

        declared = self.ontologies.prefixes if prefixes else None
        return run_query(
            self.session, text, over, declared, at=at, allow_service=allow_service, timeout=timeout
        )

    def explain_query(
        self, text: str, *, over: Sequence[str] = (), prefixes: bool = True
    ) -> QueryExplanation:
        """What a query would read: graphs, patterns with their counts, terms that do not occur.

        The query does not run, and no request is sent to the servers that it names. `over` and
        `prefixes` are those of `query`. Raises `QueryError` for a query that does not parse, other
        than for a prefix without a declaration.
        """
        from sarag_rdf.kg.queries import explain_query

        declared = self.ontologies.prefixes if prefixes else None
        return explain_query(self.session, text, over, declared, self.ontologies.vocabulary())

    def prefixes(self) -> dict[str, str]:
        """The prefixes that queries know: common ones, and those that the ontologies declare."""
        return {**self.ontologies.prefixes(), **PREFIXES}

    # Entities

    def entity(self, name: str, *, limit: int = MAX_STATEMENTS) -> EntityDescription:
        """What the graph says about the entity with this name or IRI.

        At most `limit` statements are returned. Raises `UsageError` if no entity has the name, or
        several have it.
        """
        with self.session.read() as snapshot:
            return describe_entity(snapshot.searched, name, limit=limit)

    def neighbours(self, *names: str, hops: int = 1, limit: int = MAX_NODES) -> Neighbourhood:
        """The entities within `hops` of those with these names or IRIs, at most `limit`.

        Raises `UsageError` as `entity` does, and for numbers out of range.
        """
        with self.session.read() as snapshot:
            return neighbourhood(snapshot.searched, names, hops=hops, limit=limit)

    # Other libraries

    def to_networkx(self, *names: str, hops: int = 1, limit: int = MAX_NODES) -> MultiDiGraph:
        """Entities and statements as a `networkx.MultiDiGraph`, whose keys are IRIs.

        With names or IRIs of entities it is their neighbourhood (see `neighbours`), else the whole
        graph. Nodes have ``name`` and ``type``, edges ``phrase``, ``predicate`` and ``text``.
        """
        with self.session.read() as snapshot:
            return to_networkx(snapshot.searched, names, hops=hops, limit=limit)

    def rdflib(self) -> rdflib.Dataset:
        """The graph as it is now, as a read-only `rdflib.Dataset` over the same store.

        Its default graph is the union of the named graphs. It is valid until the graph is closed or
        changed. Raises `MissingDependencyError` without the extra ``rdflib``, `UsageError` for the
        graph of a SPARQL endpoint.
        """
        from sarag_rdf.kg.queries import read_only_dataset

        with self.session.read() as snapshot:
            return read_only_dataset(snapshot.reader.store)

    # Models

    def embedder(self, *, cached: bool = True) -> Embedder:
        """The model that embeds questions, with the graph's cache or without."""
        with self.session.read() as snapshot:
            embedder = snapshot.view.vectors.embedder
        return embedder if cached else self.session.models.embedders(embedder.name).texts.embedder

    def llm(self) -> LLM:
        """The language model that answers and extracts."""
        return self.session.models.llm()

    def extractor(
        self, extractor: str | Extractor, *, schema: Schema | None = None, **options: Any
    ) -> Extractor:
        """The extractor of that name with options; an object as it is.

        It follows `schema`, by default that of the graph's ontologies; without any but the packaged
        one, it has its own default.
        """
        if not isinstance(extractor, str | Options):
            return extractor
        with self.session.read(missing_ok=True) as snapshot:
            recorded = recorded_model(snapshot.own)
        models = self.session.models
        return registry.make_extractor(
            registry.options_of("extractor", extractor, options),
            models.llm,
            concurrency=models.concurrency,
            schema=self.ontologies.own_schema() if schema is None else schema,
            embedder=lambda: models.embedders(recorded).texts,
        )

    # Export and description

    def export(
        self, format_: str, output: IO[bytes], *, progress: Progress = silent, **options: Any
    ) -> ExportReport | None:
        """Write the graph as turtle, trig, ntriples, nquads, jsonld or rdfxml, or by a plug-in.

        `options` are those of `ExportParts`; by default, everything but imported graphs. With
        `rdf12`, relationships are reifiers of the links that they state. Exporters of plug-ins have
        options of their own, and may return a report; those for a Wikibase write new numbers of
        entities to the graph.
        """
        exporter: Exporter = load("exporters", format_)
        return exporter.write(self._exported(progress), output, exporter.options.of(options))

    def _exported(self, progress: Progress) -> ExportedGraph:
        from sarag_rdf.graph.exporter import ExportedGraph

        read, read_any = self.session.own_parts, self.session.parts
        llm = self.session.models.llm
        return ExportedGraph(read, read_any, self.session.write, llm, progress)

    def activation(self, found: Retrieved | Answer) -> bytes:
        """How activation found documents, or an answer, in PROV-O: a named graph as TriG.

        The same search gives the same bytes; its shapes are ``ontology/activation-shapes.ttl``.
        """
        from sarag_rdf.kg.activation_export import activation_trig

        with self.session.read() as snapshot:
            return activation_trig(found, snapshot.reader.minter)

    def describe(self, dumps: Sequence[str] = (), endpoint: str = "", **description: Any) -> bytes:
        """VoID, DCAT and PROV as Turtle; `dumps` are ``URL=FORMAT`` or ``FILE=FORMAT``.

        Values in `description` are stored first, as `say` does.
        """
        exporter: Exporter = load("exporters", "void")
        chosen = exporter.options.of({"dumps": tuple(dumps), "endpoint": endpoint})
        if description:
            self.say(**description)
        buffer = io.BytesIO()
        exporter.write(self._exported(silent), buffer, chosen)
        return buffer.getvalue()

    def say(self, **description: Any) -> None:
        """Set title, description, license, publisher or homepage; see `DatasetMetadata`."""
        metadata = DatasetMetadata.of(description)
        with self.session.write(create=False) as reader:
            write_dataset_metadata(reader, metadata)
            self.session.vectors.carry_over(reader)

    # Checks

    def validate(
        self, engine: ShaclEngine | None = None, *, shapes: Sequence[str | Path] = ()
    ) -> ValidationReport:
        """Validate all data that sarag wrote against ``ontology/shapes.ttl``.

        With `shapes`, Turtle files, validate the traversed graph against these instead. `engine` is
        ``shacl``, the default where it is installed, or ``pyshacl``.
        """
        from sarag_rdf.kg.gate import read_shapes_files, validate_own, validate_statements

        with self.session.read() as snapshot:
            if shapes:
                return validate_statements(snapshot.own, read_shapes_files(shapes), engine)
            return validate_own(snapshot.own, engine)

    def stats(self) -> dict[str, int]:
        """Counts of sources, documents, entities, relationships and quads."""
        with self.session.read() as snapshot:
            return stats(snapshot.own)

    def meta(self) -> Meta:
        """Base IRI, revision, embedding model."""
        with self.session.read() as snapshot:
            meta = read_meta(snapshot.reader.store)
        if meta is None:
            raise empty_graph()
        return meta


def _limited(retriever: str | Options, options: Mapping[str, Any]) -> Any:
    """The options of a retriever; 10 documents unless it or `options` name a limit."""
    chosen = registry.options_of("retriever", retriever, options)
    has_limit = chosen.limit is not None or "limit" in options
    return chosen if has_limit else chosen.replaced({"limit": DEFAULT_LIMIT})


def _names(sources: str | Iterable[str]) -> list[str]:
    return [sources] if isinstance(sources, str) else list(sources)
