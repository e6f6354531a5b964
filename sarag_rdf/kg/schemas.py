"""The ontologies of a graph, their common schema, and activation weights of its terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyoxigraph import Triple

from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.options import Options
from sarag_rdf.base.ports import Change
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import Query, SchemaUse
from sarag_rdf.base.vocab import RDF, SARAG, iri_or_literal
from sarag_rdf.building.commit import Writer
from sarag_rdf.building.entailed_graph import axioms_of, entailment_metadata, new_metadata
from sarag_rdf.building.graph_import import import_name
from sarag_rdf.building.incremental import recompute
from sarag_rdf.graph.graph_reader import DOCUMENTS, GraphReader
from sarag_rdf.graph.metadata import read_meta, with_revision
from sarag_rdf.graph.ontology.check import OntologyFinding, check
from sarag_rdf.graph.ontology.schema import (
    ANNOTATIONS,
    OntologyClass,
    OntologyProperty,
    Schema,
    TermNames,
    check_weight,
    has_rules,
)
from sarag_rdf.graph.ontology.schema_reader import (
    OntologyFile,
    common_schema,
    header_of,
    read_ontology,
    schema_of,
)
from sarag_rdf.graph.parts import StoredOntology as StoredOntology
from sarag_rdf.graph.parts import (
    imported_graphs,
    ontology_added,
    ontology_removed,
    ontology_triples,
    recorded_graphs,
    select_parts,
    stored_ontologies,
)
from sarag_rdf.graph.schema_use import labelled_terms, schema_use
from sarag_rdf.graph.store.input_files import RdfReadOptions
from sarag_rdf.kg import registry
from sarag_rdf.kg.entity_lookup import literals_of
from sarag_rdf.kg.session import Session

PACKAGED = "common"
"""The name of the packaged ontology."""


@dataclass(frozen=True, slots=True)
class OntologyReport:
    """An ontology that was added; `already` if the graph had the same file under this name.

    `sources` were indexed before, and are extracted again when they are indexed next.
    """

    name: str
    graph: str
    triples: int
    classes: int
    properties: int
    sources: int = 0
    already: bool = False
    findings: tuple[OntologyFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class EntailmentStatus:
    """Whether entailment is on, for which parts, and the number of entailed triples."""

    over: tuple[str, ...] = ()
    triples: int = 0


class Ontologies:
    """The ontologies of a graph, each in a named graph of its own, and what follows from them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(
        self,
        location: str | Path,
        *,
        name: str | None = None,
        replace: bool = False,
        **options: Any,
    ) -> OntologyReport:
        """Add the ontology in a file or at a URL; a graph that does not exist is created.

        The location ``common`` is the packaged ontology. `name` is by default made from the file
        name; `options` are those of `RdfReadOptions`. Blank nodes are stored as IRIs. The report
        has the findings of `check`. Raises `InputError` for a file that cannot be read or has
        no class, property or activation weight, and `UsageError` for a name that is in use, unless
        it is to be replaced.
        """
        chosen = RdfReadOptions.of(options)
        with self._session.read(missing_ok=True) as snapshot:  # a bad file creates no graph
            genid = f"{snapshot.reader.minter.base}genid/"
        path = ontology_path("common.ttl") if str(location) == PACKAGED else location
        file = read_ontology(str(path), chosen, genid=genid)
        _refuse_documents(file)
        schema = schema_of(file.triples)
        has_terms = bool(schema.classes or schema.properties)
        if not (has_terms or has_rules(file.triples)):
            raise InputError(
                f"{file.name} has no class or property: check that it is an ontology (OWL, "
                "RDFS, SKOS or SHACL)"
            )
        with self._session.write() as reader:
            name = import_name(name, file.name)
            ontology = _described(file, name, reader.minter.ontology_graph(name))
            sources = len(reader.select_provenance("sources")) if has_terms else 0
            known = {stored.name: stored for stored in stored_ontologies(reader)}
            already = _is_stored(known, ontology, replace=replace)
            if not already:
                if read_meta(reader.store) is None:
                    Writer(reader).write_metadata("")
                content, metadata = ontology_added(reader, ontology, file.triples)
                _apply(reader, recompute(reader, (ontology.graph,), content), metadata)
                self._session.vectors.carry_over(reader)
            return OntologyReport(
                ontology.name,
                ontology.graph,
                len(file.triples),
                len(schema.classes),
                len(schema.properties),
                sources,
                already,
                check(file.triples, file.repaired, ontology_triples(reader)),
            )

    def check(self, location: str | Path, **options: Any) -> tuple[OntologyFinding, ...]:
        """The findings about an ontology in a file, errors first (see `ontology.check`).

        What the other ontologies of the graph declare counts as declared. `options` are those of
        `RdfReadOptions`.
        """
        file = read_ontology(str(location), RdfReadOptions.of(options))
        with self._session.read(missing_ok=True) as snapshot:
            source, stored = _described(file, "", "").source, stored_ontologies(snapshot.own)
            others = [ontology.name for ontology in stored if ontology.source != source]
            beside = ontology_triples(snapshot.own, others) if others else ()
            return check(file.triples, file.repaired, beside)

    def list(self) -> tuple[StoredOntology, ...]:
        """The ontologies of the graph, by name."""
        with self._session.read() as snapshot:
            return tuple(stored_ontologies(snapshot.own))

    def in_force(self) -> tuple[StoredOntology, ...]:
        """The ontologies that extraction follows: `list`, or the packaged one if none is stored.

        The packaged one is in no named graph: its `graph` is empty.
        """
        packaged = read_ontology(str(ontology_path("common.ttl")))
        return self.list() or (_described(packaged, PACKAGED, ""),)

    def prefixes(self) -> dict[str, str]:
        """Prefix -> namespace of the packaged ontology and of those that are stored.

        It is empty for a graph that sarag did not write.
        """
        from sarag_rdf.kg.rdf_export import ontology_prefixes  # little else needs exports

        with self._session.read(missing_ok=True) as snapshot:
            if snapshot.reader.over is not None:
                return {}
            own = snapshot.own
            return ontology_prefixes(own.store, own.minter.base)

    def remove(self, *names: str) -> None:
        """Remove ontologies; raises `UsageError` for an unknown name, and then removes none."""
        with self._session.write(create=False) as reader:
            known = {ontology.name: ontology for ontology in stored_ontologies(reader)}
            _check_names(names, known)
            for name in dict.fromkeys(names):
                metadata = ontology_removed(reader, known[name])
                _apply(reader, recompute(reader, (known[name].graph,), ()), metadata)
            self._session.vectors.carry_over(reader)

    def schema(self, *names: str, more: Sequence[str | Path] = ()) -> Schema:
        """The schema in force, or that of the ontologies with these names.

        `more` are files of ontologies that are read with it. Without a graph it is that of the
        packaged ontology. Raises `UsageError` for unknown names.
        """
        with self._session.read(missing_ok=True) as snapshot:
            if names:
                _check_names(names, {stored.name for stored in stored_ontologies(snapshot.own)})
                return schema_of(ontology_triples(snapshot.own, names))
            added = [t for location in more for t in read_ontology(str(location)).triples]
            return schema_in_force(snapshot.own, added)

    def own_schema(self) -> Schema | None:
        """The schema of the stored ontologies; None if there are none but the packaged one."""
        with self._session.read(missing_ok=True) as snapshot:
            names = {each.name for each in stored_ontologies(snapshot.own)}
            return schema_in_force(snapshot.own) if names - {PACKAGED} else None

    def use(self, *names: str, over: str = DOCUMENTS) -> SchemaUse:
        """How the classes and properties of these ontologies, or of all in force, are used.

        With the name of an imported graph in `over`, all classes and properties of that graph.
        Raises `UsageError` for an unknown name.
        """
        with self._session.read() as snapshot:
            reader = snapshot.own
            if over != DOCUMENTS:
                if names:
                    raise UsageError(f"'{over}' is not typed by an ontology: name no ontology")
                parts = select_parts(reader, [over]).parts
                if [part.name for part in parts] != [over]:
                    raise UsageError(f"'{over}' is not one imported graph: give its name")
                return schema_use(reader, parts[0].graphs["kg"])
            schema = self.schema(*names)
            return schema_use(
                reader, reader.minter.kg_graph, schema.classes.keys(), schema.properties.keys()
            )

    def vocabulary(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """IRI -> kind (class or property) and names of the terms of the ontologies in force.

        It is empty for a graph that sarag did not write.
        """
        with self._session.read() as snapshot:
            if snapshot.reader.over is not None:
                return {}
        schema = self.schema()
        return {
            **{c.iri: ("class", (c.label, *c.alternatives)) for c in schema.classes.values()},
            **{
                p.iri: ("property", (p.label, *p.alternatives, *p.phrases))
                for p in schema.properties.values()
            },
        }

    # Entailment

    def entailment(self) -> EntailmentStatus:
        """For which parts entailments are materialised, and how many triples they have."""
        with self._session.read() as snapshot:
            return _status(snapshot.own)

    def entail(self, over: Sequence[str] = (DOCUMENTS,)) -> EntailmentStatus:
        """Materialise what follows from some parts now and after each write; from none to stop.

        `over` names ``documents`` and imported graphs. Raises `UsageError` for an unknown name and
        for a graph without an ontology, `MissingDependencyError` without the extra ``entailment``,
        and `EntailmentError` beyond a limit.
        """
        with self._session.write(create=False) as reader:
            graphs = _graphs_of(reader, over)
            if graphs and not axioms_of(reader, graphs).triples:
                raise UsageError(
                    "nothing follows from the ontologies of this graph: add one with subclasses, "
                    "subproperties, domains or inverses, such as sarag ontology add common"
                )
            before = entailment_metadata(reader)
            after = new_metadata(reader.minter, graphs) if graphs else ()
            if {*before} != {*after}:
                reader.store.apply(with_revision(reader, Change((), before, after)))
                self._session.vectors.carry_over(reader)
            return _status(reader)


def schema_in_force(reader: GraphReader, added: Sequence[Triple] = ()) -> Schema:
    """The schema that extraction follows: that of the stored ontologies, with `added` triples.

    It is that of the packaged ontology if they have no class and no property.
    """
    schema = schema_of((*ontology_triples(reader), *added))
    return schema if schema.classes or schema.properties else common_schema()


def phrase_schema(reader: GraphReader) -> Schema:
    """The schema in force, or the packaged one if that has no property for phrases to state."""
    schema = schema_in_force(reader)
    return schema if schema.properties else common_schema()


def _apply(reader: GraphReader, derived: Change, metadata: Change) -> None:
    """Apply the change of an ontology with that of derived data in one transaction."""
    change = Change(
        derived.drop, (*derived.delete, *metadata.delete), (*derived.insert, *metadata.insert)
    )
    reader.store.apply(with_revision(reader, change))


def _described(file: OntologyFile, name: str, graph: str) -> StoredOntology:
    header = header_of(file.triples)
    return StoredOntology(
        name, graph, file.origin, file.sha256, header.title, header.version, len(file.triples),
        *file.own_prefix,
    )  # fmt: skip


def _is_stored(
    known: dict[str, StoredOntology], ontology: StoredOntology, *, replace: bool
) -> bool:
    """Whether the same file is stored under the same name; raises `UsageError` for a conflict."""
    before = known.get(ontology.name)
    if before is not None and before.sha256 == ontology.sha256:
        return True
    for other in known.values():
        if other.sha256 == ontology.sha256:
            raise UsageError(
                f"this file is already stored as '{other.name}': to rename it, run sarag ontology "
                f"remove {other.name}  first"
            )
    if before is not None and not replace:
        raise UsageError(
            f"an ontology named '{ontology.name}' exists, from {before.source}: replace it with  "
            "sarag ontology add --yes, or give another --name"
        )
    return False


def _check_names(names: Sequence[str], known: dict[str, StoredOntology] | set[str]) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        hint = f"use one of {', '.join(sorted(known))}" if known else "the graph has no ontology"
        raise UsageError(f"no such ontology: '{unknown[0]}': {hint}")


_OWN_PROPERTIES = frozenset(
    property_.value
    for property_ in (
        *(SARAG.statedAs, SARAG.inverselyStatedAs, SARAG.forwardPhrase, SARAG.inversePhrase),
        *ANNOTATIONS,
    )
)


def _refuse_documents(file: OntologyFile) -> None:
    """Raise `InputError` for an export of sarag, whose documents would be read as its own."""
    for triple in file.triples:
        term = iri_or_literal(triple.object) if triple.predicate == RDF.type else triple.predicate
        if term.value.startswith(SARAG.base) and term.value not in _OWN_PROPERTIES:
            raise InputError(
                f"{file.name} has statements about documents or entities of sarag (<{term.value}>):"
                " restore an export with sarag import --as sarag"
            )


def _graphs_of(reader: GraphReader, over: Sequence[str]) -> list[str]:
    known = {imported.name: imported.graph for imported in imported_graphs(reader)}
    known[DOCUMENTS] = reader.minter.kg_graph
    unknown = [name for name in over if name not in known]
    if unknown:
        raise UsageError(f"no such part: '{unknown[0]}': use {', '.join(sorted(known))}")
    return sorted({known[name] for name in over})


def _status(reader: GraphReader) -> EntailmentStatus:
    graphs = recorded_graphs(reader.minter, entailment_metadata(reader))
    if not graphs:
        return EntailmentStatus()
    names = {imported.graph: imported.name for imported in imported_graphs(reader)}
    names[reader.minter.kg_graph] = DOCUMENTS
    triples = sum(1 for _ in reader.store.quads(reader.minter.entailed_graph))
    return EntailmentStatus(tuple(sorted(names.get(graph, graph) for graph in graphs)), triples)


# Activation weights

_KIND = "property or class"


def with_weights(
    query: Query, weights: Mapping[str, float], retriever: str | Options, session: Session
) -> Query:
    """The question with activation weights, whose terms are IRIs, prefixed names or labels.

    Labels are those of the ontologies, or else of the searched graphs. Raises `UsageError` for an
    unknown term, a weight outside [0, 4], and a retriever without activation.
    """
    registry.require_activation(retriever, "weights need")
    with session.read() as snapshot:
        reader = snapshot.searched
        terms: dict[str, OntologyClass | OntologyProperty] = {}
        if snapshot.reader.over is None:
            terms |= schema_in_force(snapshot.own).classes
            terms |= phrase_schema(snapshot.own).properties
        names = TermNames(_KIND, terms)
        by_iri = {
            names.find(name) or _labelled_term(reader, name): check_weight(name, weight)
            for name, weight in weights.items()
        }
    return replace(query, weights=tuple(sorted(by_iri.items())))


def _labelled_term(reader: GraphReader, name: str) -> str:
    """The class or property with a label in the graphs themselves; raises `UsageError`."""
    text = name.strip()
    literals = [one for each in {text, text.lower(), text.title()} for one in literals_of(each)]
    terms = labelled_terms(reader, literals)
    iri = TermNames(_KIND, {i: OntologyClass(i, label) for i, label in terms.items()}).find(text)
    if iri is None:
        raise UsageError(
            f"no such {_KIND}: '{text}': give its IRI, or a label that sarag ontology show lists "
            "or that the graph has"
        )
    return iri


def parse_weights(texts: Iterable[str]) -> dict[str, float]:
    """Weights written as ``TERM=WEIGHT``; raises `UsageError` for other texts."""
    weights = {}
    for text in texts:
        term, equals, number = text.rpartition("=")
        try:
            weights[term.strip()] = float(number)
        except ValueError:
            equals = ""
        if not (equals and term.strip()):
            raise UsageError(
                f"'{text}' is not an activation weight: write TERM=WEIGHT, such as foaf:knows=2"
            )
    return weights
