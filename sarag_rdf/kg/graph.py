"""One knowledge graph: the public interface, whose methods each call one module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, Unpack

from sarag_rdf.answering.following import FollowedLLM
from sarag_rdf.base.compression import MAX_EXPANSION
from sarag_rdf.base.errors import EmptyGraphError
from sarag_rdf.base.notebook import graph_html
from sarag_rdf.base.options import Options
from sarag_rdf.base.ports import (
    LLM,
    Embedder,
    Extractor,
    Gather,
    Progress,
    Reasoner,
    Retriever,
    Table,
    Triples,
    silent,
)
from sarag_rdf.base.types import Answer, OnEvent, Retrieved
from sarag_rdf.base.vocab import PREFIXES
from sarag_rdf.building.check.fsck import FsckReport, stats
from sarag_rdf.building.check.validate import validate
from sarag_rdf.building.imports.mapping import MappingFile
from sarag_rdf.building.imports.options import ImportOptions
from sarag_rdf.building.imports.run import ImportReport
from sarag_rdf.building.index.plan import Inputs, Plan
from sarag_rdf.building.index.run import IndexReport
from sarag_rdf.graph.metadata import Meta, read_meta
from sarag_rdf.graph.ontology.read import common_schema
from sarag_rdf.graph.ontology.schema import Schema
from sarag_rdf.graph.parts import Imported, imported_graphs
from sarag_rdf.graph.reader import DOCUMENTS
from sarag_rdf.graph.store.child_parser import MAX_SECONDS
from sarag_rdf.graph.store.shacl import Engine as ShaclEngine
from sarag_rdf.graph.store.shacl import ValidationReport
from sarag_rdf.kg import exchange, fsck, indexing, registry
from sarag_rdf.kg.entailment import Entailment
from sarag_rdf.kg.entities import (
    MAX_NODES,
    MAX_STATEMENTS,
    EntityDescription,
    Neighbourhood,
    describe_entity,
    neighbourhood,
    part_to_networkx,
    to_networkx,
)
from sarag_rdf.kg.exchange import read_only_dataset
from sarag_rdf.kg.export.activation import activation_trig
from sarag_rdf.kg.identity import Identity
from sarag_rdf.kg.keywords import (
    DescriptionKeywords,
    ExportKeywords,
    ImportKeywords,
    ReadingKeywords,
    RetrieverKeywords,
    UpdateKeywords,
    WikibaseKeywords,
    with_default_limit,
)
from sarag_rdf.kg.links import Links
from sarag_rdf.kg.ontology import Ontologies, extractor_of
from sarag_rdf.kg.phrases import Phrases
from sarag_rdf.kg.quarantine import Quarantine, read_shapes_files, validate_statements
from sarag_rdf.kg.query import QueryExplanation, explain_query, prologue_for, run_query
from sarag_rdf.kg.session import Session
from sarag_rdf.kg.weights import with_weights
from sarag_rdf.plugins.papers.articles import ArticleReport
from sarag_rdf.retrieval.question import question_of

if TYPE_CHECKING:
    import rdflib
    from networkx import MultiDiGraph


class KnowledgeGraph:
    """A graph in a folder, in memory, or behind a SPARQL endpoint; use it in a ``with`` block.

    `sarag_rdf.open` opens one. Reading takes a snapshot, which a writer elsewhere may overtake.
    Methods that change the graph lock it while they run. All methods raise errors of
    `sarag_rdf.base.errors`, except for arguments that they do not have (`TypeError`).
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.links = Links(self.session)
        self.identity = Identity(self.session)
        self.ontologies = Ontologies(self.session)
        self.phrases = Phrases(self.session)
        self.entailment = Entailment(self.session)

    def __repr__(self) -> str:
        return f"<KnowledgeGraph {self.session.location}>"

    def _repr_html_(self) -> str:
        with self.session.read(missing_ok=True) as snapshot:
            counts = {} if snapshot.reader.over is not None else stats(snapshot.own)
        return graph_html(repr(self), counts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files; the graph itself stays."""
        self.session.close()

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
        words: int = indexing.WORDS,
        overlap: int = indexing.OVERLAP,
        progress: Progress = silent,
        **reading: Unpack[ReadingKeywords],
    ) -> IndexReport:
        """Index files, folders, or `Source` values; changed sources are replaced.

        `extractor` is ``spacy``, ``llm`` or ``openie:FILE``, or an object. Chunks have `words`
        words, and share `overlap` words with their neighbours. `reading` goes to `read_paths`
        (root, language, max_chars). The report's `problems` list files that cannot be read. A run
        that is interrupted keeps what it has committed. A source whose evidence does not conform
        to the shapes is a problem too; it goes into the `quarantine`.
        """
        make = indexing.new_sources(inputs, words=words, overlap=overlap, **reading)
        return indexing.index(self.session, make, extractor, progress)

    def plan(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        words: int = indexing.WORDS,
        overlap: int = indexing.OVERLAP,
        **reading: Unpack[ReadingKeywords],
    ) -> Plan:
        """What `index` would do; nothing is written and no model is called."""
        make = indexing.new_sources(inputs, words=words, overlap=overlap, **reading)
        return indexing.plan(self.session, make, extractor)

    def update(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **options: Unpack[UpdateKeywords],
    ) -> IndexReport:
        """Index again the inputs that the graph holds and that have changed; add no others.

        The unit is the file: new records in it are added, changed ones replaced, and missing ones
        deleted. `options` are those of `index`, and `yes`. Raises `NotAGraphError` without a graph,
        and `InputError` if more than a third of the files' sources would be deleted, unless `yes`
        confirms it.
        """
        make = indexing.changed_sources(inputs, **options)
        return indexing.index(self.session, make, extractor, progress, create=False)

    def plan_update(
        self,
        inputs: Inputs | Iterable[Inputs],
        *,
        extractor: str | Extractor = "spacy",
        **options: Unpack[UpdateKeywords],
    ) -> Plan:
        """What `update` would do; its `refused` says why it would need `yes`."""
        make = indexing.changed_sources(inputs, **options)
        return indexing.plan(self.session, make, extractor, create=False)

    def sync(
        self,
        folder: str | Path,
        *,
        extractor: str | Extractor = "spacy",
        progress: Progress = silent,
        **options: Unpack[UpdateKeywords],
    ) -> IndexReport:
        """Make the sources that come from a folder match it: add, update, and last delete.

        These are all sources that have a path; with `root`, those below the folder's place in it. A
        file that cannot be read keeps its older version. `options` are those of `index`, and `yes`.
        Raises `InputError`, before anything is written, if more than a third of these sources would
        be deleted, unless `yes` confirms it.
        """
        make = indexing.folder_contents(folder, **options)
        return indexing.index(self.session, make, extractor, progress)

    def plan_sync(
        self,
        folder: str | Path,
        *,
        extractor: str | Extractor = "spacy",
        **options: Unpack[UpdateKeywords],
    ) -> Plan:
        """What `sync` would do; its `refused` says why it would need `yes`."""
        return indexing.plan(self.session, indexing.folder_contents(folder, **options), extractor)

    def delete(
        self, sources: str | Iterable[str], *, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Delete sources with everything that no other source supports; their keys, or else IRIs.

        A source is named by its IRI or its key; the key of a file names all its records, and
        ``folder/`` everything below. Raises `UsageError` for an unknown name, before anything is
        deleted.
        """
        return indexing.delete(self.session, sources, progress)

    def plan_delete(self, sources: str | Iterable[str]) -> tuple[str, ...]:
        """Keys, or else IRIs, of the sources that `delete` would delete."""
        return indexing.plan_delete(self.session, sources)

    def quarantine(self) -> Quarantine:
        """The sources whose evidence does not conform to the shapes."""
        return Quarantine(self.session)

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
        embed: bool = True,
        progress: Progress = silent,
        **options: Unpack[ImportKeywords],
    ) -> ImportReport:
        """Import a file or URL as a read-only graph beside the documents.

        `kind` is ``wikibase``, ``skos``, ``rdf``, ``table``, or ``wikidata5m`` for the folder of
        its files; `options` are those of
        `ImportOptions`, with the path of a `mapping`. With `embed` the vectors are computed at
        once, else by the first search.
        """
        given: dict[str, Any] = {**options}
        if given.get("mapping") is not None:
            given["mapping"] = MappingFile.read(Path(given["mapping"]))
        order = ImportOptions(kind, **given)
        return exchange.import_graph(self.session, str(where), order, progress, embed=embed)

    def suggest_mapping(self, where: str | Path) -> str:
        """A YARRRML mapping for a table, from its columns and the ontologies of the graph.

        Without ontologies in the graph, it follows the packaged one. The text has comments, and
        wants to be checked by a person.
        """
        schema = self.ontologies.schema()
        return exchange.suggest_mapping(
            self.session,
            str(where),
            schema if schema.properties else common_schema(),
            self.ontologies.prefixes(),
        )

    def imports(self) -> list[Imported]:
        """The imported graphs, by name, complete or not."""
        with self.session.read() as snapshot:
            return imported_graphs(snapshot.reader)

    def forget_import(self, name: str) -> None:
        """Drop an imported graph."""
        exchange.drop_import(self.session, name)

    def restore(
        self,
        where: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - as `ImportOptions` calls it
        embed: bool = True,
        progress: Progress = silent,
        max_expansion: int = MAX_EXPANSION,
        max_seconds: float = MAX_SECONDS,
    ) -> int:
        """Load the TriG or N-Quads export of a graph into this empty one; the number of quads.

        The graph can be indexed further. `format` is needed where the file name has no suffix for
        it. `max_expansion` and `max_seconds` are those of `ImportOptions`.
        """
        return exchange.restore(
            self.session,
            str(where),
            format,
            progress,
            embed=embed,
            max_expansion=max_expansion,
            max_seconds=max_seconds,
        )

    # Questions

    def search(
        self,
        question: str,
        *,
        retriever: str | Options = "sarag",
        weights: Mapping[str, float] | None = None,
        **options: Unpack[RetrieverKeywords],
    ) -> Retrieved:
        """Retrieve documents and relationships.

        `retriever` is a name, ``name:key=value:key=value``, or an options object such as
        `SaragOptions`; keyword arguments are options of the retriever, too, and take precedence.
        Without a `limit`, 10 documents are returned; ``limit=None`` returns all that are ranked,
        which takes seconds on large graphs. `weights` are activation weights in [0, 4] of
        properties and classes, by IRI, prefixed name or label; they take the place of the graph's
        annotations. Raises `UsageError` for an unknown name, and for weights of a retriever without
        activation.
        """
        query = with_weights(question_of(question), weights, retriever, self.session)
        with self.session.read() as snapshot:
            limited = with_default_limit(retriever, options)
            return registry.make_retriever(retriever, snapshot.view, limited).retrieve(query)

    def retriever(
        self, retriever: str | Options, **options: Unpack[RetrieverKeywords]
    ) -> Retriever:
        """A retriever for many questions to the graph as it is now; see `search`.

        Without a `limit` it returns all documents that are ranked.
        """
        with self.session.read() as snapshot:
            return registry.make_retriever(retriever, snapshot.view, options)

    def ask(
        self,
        question: str,
        *,
        retriever: str | Options = "sarag",
        reasoner: str | Options = "single",
        context: str | Options = "whole",
        budget: int | None = None,
        tokenizer: str | None = None,
        weights: Mapping[str, float] | None = None,
        on_event: OnEvent | None = None,
        **options: Unpack[RetrieverKeywords],
    ) -> Answer:
        """Answer from retrieved evidence; without a language model, return only the evidence.

        `retriever`, `reasoner` and `context` are names, ``name:key=value:key=value``, or options
        objects; keyword arguments are options of the retriever, too, and take precedence; `limit`
        and `weights` are those of `search`. `budget` is the maximum size of a context that names
        none, in tokens; `tokenizer` (a folder or the name of a model) counts them, by default
        approximately. `on_event` is called with what happens on the way: searches, calls, and the
        words of the answer, which come one by one where the last call of the reasoner writes them.
        """
        query = with_weights(question_of(question), weights, retriever, self.session)
        strategy = registry.options_of("reasoner", reasoner)
        limited = with_default_limit(retriever, options)
        gather = self.gather(
            retriever, context=context, budget=budget, tokenizer=tokenizer, **limited
        )
        if not self.session.models.has_llm:
            evidence = gather(query)
            return Answer("evidence", "", "", (), evidence.retrieved, evidence=(evidence,))
        if on_event is None:
            return self.reasoner(strategy, gather).answer(query)
        followed = FollowedLLM(self.llm(), on_event)
        answer = self.reasoner(strategy, gather, followed).answer(query)
        followed.show(answer.text if answer.outcome == "answered" else "")
        return answer

    def gather(
        self,
        retriever: str | Options = "sarag",
        *,
        context: str | Options = "whole",
        budget: int | None = None,
        tokenizer: str | None = None,
        **options: Unpack[RetrieverKeywords],
    ) -> Gather:
        """Retrieval and context as one step, for many questions; see `ask`."""
        with self.session.read() as snapshot:
            view = snapshot.view
        retrieve = registry.make_retriever(retriever, view, options)
        counter = registry.make_counter(tokenizer)
        return registry.make_gather(retrieve, registry.make_context(context, view, counter, budget))

    def reasoner(self, reasoner: str | Options, gather: Gather, llm: LLM | None = None) -> Reasoner:
        """A reasoner with a language model, by default that of the endpoint; see `ask`."""
        with self.session.read() as snapshot:
            return registry.make_reasoner(reasoner, gather, llm or self.llm(), snapshot.view)

    def query(
        self,
        text: str,
        *,
        over: Sequence[str] = (),
        allow_service: bool = False,
        prefixes: bool = True,
        timeout: float | None = None,
    ) -> Table | Triples | bool:
        """Run SPARQL over the parts in `over`, or over the data set that the query names.

        `over` names ``documents``, imported graphs, or ``all``; the default is the parts that the
        graph was opened with, or the documents. Their union is the default graph of the query;
        GRAPH reaches every named graph. The prefixes of `prefixes` are declared, unless that is
        turned off. With a `timeout` in seconds (0: none) the query of a graph in a folder runs in
        a child process on the current state of the folder, and an interrupt ends it at once; an
        endpoint has a time limit of its own. Raises `UsageError` for an unknown name, `QueryError`
        for a query that does not parse or uses SERVICE without `allow_service`,
        `QueryTimeoutError`.
        """
        prologue = self.prologue(text) if prefixes else ""
        return run_query(
            self.session,
            text,
            over=over,
            allow_service=allow_service,
            prologue=prologue,
            timeout=timeout,
        )

    def explain_query(
        self, text: str, *, over: Sequence[str] = (), prefixes: bool = True
    ) -> QueryExplanation:
        """What a query would read: graphs, patterns with their counts, terms that do not occur.

        The query does not run, and no request is sent to the servers that it names. `over` and
        `prefixes` are those of `query`. Raises `QueryError` for a query that does not parse, other
        than for a prefix without a declaration.
        """
        known = self.ontologies.vocabulary()
        prologue = self.prologue(text) if prefixes else ""
        return explain_query(self.session, text, over=over, known=known, prologue=prologue)

    def prefixes(self) -> dict[str, str]:
        """The prefixes that queries know: common ones, and those that the ontologies declare."""
        return {**self.ontologies.prefixes(), **PREFIXES}

    def prologue(self, text: str) -> str:
        """Declarations of those `prefixes` that occur in a query, on one line before it."""
        return prologue_for(text, self.ontologies.prefixes)

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
        if names:
            return part_to_networkx(self.neighbours(*names, hops=hops, limit=limit))
        with self.session.read() as snapshot:
            return to_networkx(snapshot.searched)

    def rdflib(self) -> rdflib.Dataset:
        """The graph as it is now, as an `rdflib.Dataset` over the same store, without a copy.

        Its default graph is the union of the named graphs. It is read-only, and valid until the
        graph is closed or changed: then call this method again. Needs the extra ``rdflib``; raises
        `MissingDependencyError` without it, `UsageError` for the graph of a SPARQL endpoint.
        """
        with self.session.read() as snapshot:
            return read_only_dataset(snapshot.reader.store)

    # Models

    def embedder(self, *, cached: bool = True) -> Embedder:
        """The model that embeds questions, with the graph's cache or without."""
        with self.session.read() as snapshot:
            embedder = snapshot.view.vectors.embedder
        return embedder if cached else self.session.models.uncached_embedder(embedder.name)

    def llm(self) -> LLM:
        """The language model that answers and extracts."""
        return self.session.models.llm()

    def extractor(self, extractor: str | Extractor, *, schema: Schema | None = None) -> Extractor:
        """The extractor of that name; it follows `schema`, by default that of the ontologies."""
        return extractor_of(self.session, extractor, schema)

    # Export and description

    def export(
        self,
        format_: str,
        output: IO[bytes],
        *,
        rdf12: bool = False,
        **parts: Unpack[ExportKeywords],
    ) -> None:
        """Write the graph as turtle, trig, ntriples, nquads, jsonld or rdfxml.

        `parts` are those of `ExportParts`; by default, everything but imported graphs. With
        `rdf12`, relationships are reifiers of the links that they state.
        """
        exchange.export(self.session, format_, output, rdf12=rdf12, **parts)

    def export_wikibase(
        self,
        format_: str,
        output: IO[bytes],
        *,
        over: Sequence[str] = (DOCUMENTS,),
        typed: int = 0,
        table: Path | None = None,
        **settings: Unpack[WikibaseKeywords],
    ) -> None:
        """Write the parts in `over` as wikibase, wikibase-json or quickstatements.

        Phrases of at least `typed` statements get properties of their own (0: none). `table` is a
        file of own ids and ids in the target; `settings` are those of
        `wikibase.WikibaseOptions`. New numbers are written to the graph, under its lock.
        """
        exchange.export_wikibase(
            self.session, format_, output, over=over, typed=typed, table=table, **settings
        )

    def export_articles(
        self,
        output: IO[bytes],
        *,
        over: Sequence[str] = (DOCUMENTS,),
        rewrite: bool = False,
        progress: Progress = silent,
    ) -> ArticleReport:
        """Write an article about each entity of the parts in `over`, as JSON Lines to be indexed.

        With `rewrite`, the language model writes them. The report counts statements in articles.
        """
        llm = self.llm() if rewrite else None
        return exchange.export_articles(self.session, output, over, llm, progress)

    def activation(self, found: Retrieved | Answer) -> bytes:
        """How activation found documents, or an answer, as TriG: a named graph of its own.

        Seeds, steps, results, searches and calls are described in PROV-O. The same search gives
        the same bytes; ``ontology/activation-shapes.ttl`` says what they must contain.
        """
        with self.session.read() as snapshot:
            return activation_trig(found, snapshot.reader.minter)

    def describe(
        self,
        dumps: Sequence[str] = (),
        endpoint: str = "",
        **description: Unpack[DescriptionKeywords],
    ) -> bytes:
        """VoID, DCAT and PROV as Turtle; `dumps` are ``URL=FORMAT`` or ``FILE=FORMAT``.

        Values in `description` are stored first, as `say` does.
        """
        return exchange.describe(self.session, dumps, endpoint, **description)

    def say(self, **description: Unpack[DescriptionKeywords]) -> None:
        """Set title, description, license, publisher or homepage; see `DatasetMetadata`."""
        exchange.set_description(self.session, **description)

    # Checks

    def validate(
        self, engine: ShaclEngine | None = None, *, shapes: Sequence[str | Path] = ()
    ) -> ValidationReport:
        """Validate all data that sarag wrote against ``ontology/shapes.ttl``.

        With `shapes`, Turtle files, validate the traversed graph against these instead. `engine` is
        ``shacl``, the default where it is installed, or ``pyshacl``.
        """
        with self.session.read() as snapshot:
            if shapes:
                return validate_statements(snapshot.own, read_shapes_files(shapes), engine)
            return validate(snapshot.own, engine)

    def fsck(self, *, repair: bool = False, progress: Progress = silent) -> FsckReport:
        """Check shapes, orphans, derived data and caches; `repair` rebuilds derived data.

        Evidence and links are never deleted: the report lists what cannot be repaired, with a
        remedy for each.
        """
        run = fsck.repair if repair else fsck.check
        return run(self.session, progress)

    def stats(self) -> dict[str, int]:
        """Counts of sources, documents, entities, relationships and quads."""
        with self.session.read() as snapshot:
            return stats(snapshot.own)

    def meta(self) -> Meta:
        """Base IRI, revision, embedding model."""
        with self.session.read() as snapshot:
            meta = read_meta(snapshot.reader.store)
        if meta is None:
            raise EmptyGraphError("the graph is empty: index something first, with sarag index")
        return meta
