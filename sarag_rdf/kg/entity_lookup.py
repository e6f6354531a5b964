"""One entity: found by name, with what describes it, its statements and its neighbourhood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import Literal

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri, normalize_name
from sarag_rdf.base.types import Citation, EntityType, Statement
from sarag_rdf.graph.graph_reader import GraphReader
from sarag_rdf.graph.texts import documents_of, entity_labels, full_documents, statements_from

if TYPE_CHECKING:
    from networkx import MultiDiGraph

MAX_STATEMENTS = 100
"""Statements of an entity that are returned by default."""
MAX_HOPS = 3
"""Greatest distance of a neighbourhood."""
MAX_NODES = 500
"""Entities that a neighbourhood has at most."""
_LANGUAGES = ("en", "mul", "de", "fr", "es", "it", "nl", "pl", "pt", "ru", "zh", "ja")


@dataclass(frozen=True, slots=True)
class EntityDescription:
    """What a graph says about an entity.

    `classes` are IRIs of an ontology. `documents` describe the entity, in the order of their IRIs.
    `statements` start or end at the entity; `more_statements` is the number that was left out.
    """

    iri: str
    name: str
    type: EntityType
    classes: tuple[str, ...]
    descriptions: tuple[str, ...]
    documents: tuple[Citation, ...]
    statements: tuple[Statement, ...]
    more_statements: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity of a neighbourhood, and its distance from the entity in the middle."""

    iri: str
    name: str
    type: EntityType
    distance: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The entities within some hops of an entity, which comes first, and statements among them.

    `is_complete` unless entities were left out because of the limit.
    """

    entities: tuple[Neighbour, ...]
    statements: tuple[Statement, ...]
    is_complete: bool = True


def literals_of(name: str) -> list[Literal]:
    """A name without a language and in common ones, as graphs may have it."""
    return [Literal(name), *(Literal(name, language=language) for language in _LANGUAGES)]


def _referents(reader: GraphReader, mentions: Iterable[str]) -> list[str]:
    """The entities that mentions in documents refer to after merges."""
    rows = reader.select_provenance_for("mention-targets", mentions)
    return sorted({entity.value for _, entity in rows})


def entities_of_name(reader: GraphReader, name: str) -> list[str]:
    """The entities of the documents that a name, or the name in an IRI, refers to after merges."""
    minter = reader.minter
    is_own = name.startswith(f"{minter.base}entity/")
    mention = minter.mention_of_entity(name) if is_own else minter.mention(normalize_name(name))
    return _referents(reader, [mention])


def _split_entities(reader: GraphReader, entity: str) -> list[str]:
    """The entities that the name in the IRI of an entity was split into, where it was split."""
    if not entity.startswith(f"{reader.minter.base}entity/"):
        return []
    names = [reader.minter.mention_of_entity(entity)]
    return _referents(
        reader, [v.value for _, v in reader.select_provenance_for("name-variants", names)]
    )


def decided_entity(reader: GraphReader, name: str) -> str:
    """The IRI of the entity that decisions about this name or IRI are about.

    Unlike in `find_entity`, a name is what documents mention. Raises `UsageError` if unknown.
    """
    if name.startswith(f"{reader.minter.base}entity/"):
        if next(reader.select_provenance_for("entity-mentions", [name]), None) is not None:
            return name
    elif entities := entities_of_name(reader, name):
        return entities[0]
    raise UsageError(f"no entity '{name}' in this graph: give its IRI, or a name in a document")


def find_entity(reader: GraphReader, name: str) -> str:
    """The IRI of the entity with this IRI or name, also a former one of an entity that was merged.

    A name is looked up as it is spelled, and for the graph of documents also in its normalized
    form. Raises `UsageError` if no entity has it, or if several have it, also after a split.
    """
    if is_iri(name):
        return _entity_of_iri(reader, name)
    normalized = normalize_name(name)
    own = entity_labels(reader, [reader.minter.entity(normalized)])
    former = own or entity_labels(reader, entities_of_name(reader, name))
    spellings = {label for label, _ in former.values() if normalize_name(label) == normalized}
    literals = [each for spelling in sorted({name, *spellings}) for each in literals_of(spelling)]
    entities = {entity.value for _, entity in reader.rows_named(literals)} | own.keys()
    entities = entities or {*former}
    if not entities:
        raise UsageError(f"no entity is named '{name}': search for it, or give its IRI")
    if len(entities) > 1:
        iris = ", ".join(sorted(entities)[:5])
        raise UsageError(
            f"{len(entities)} entities are named '{name}': give the IRI of one: {iris}"
        )
    return entities.pop()


def _entity_of_iri(reader: GraphReader, iri: str) -> str:
    if entity_labels(reader, [iri]):
        return iri
    parts = [part for part in _split_entities(reader, iri) if entity_labels(reader, [part])]
    if len(parts) > 1:
        raise UsageError(
            f"{iri} was split into {len(parts)} entities: give the IRI of one: "
            f"{', '.join(parts[:5])}"
        )
    for entity in (*parts, *entities_of_name(reader, iri)):
        if entity_labels(reader, [entity]):
            return entity
    raise UsageError(f"no entity has the IRI {iri}: search for it, or give its name")


def describe_entity(
    reader: GraphReader, name: str, *, limit: int = MAX_STATEMENTS
) -> EntityDescription:
    """What the graph says about an entity, given by its IRI or name; see `find_entity`."""
    iri = find_entity(reader, name)
    label, type_ = entity_labels(reader, [iri])[iri]
    documents = full_documents(reader, documents_of(reader, [iri]).get(iri, ()))
    statements = statements_from(reader, [iri], inverse=True)[iri]
    classes = {class_.value for _, class_ in reader.select_provenance_for("entity-classes", [iri])}
    texts = {text.value for _, text in reader.rows_for("entity-descriptions", [iri])}
    return EntityDescription(
        iri,
        label,
        type_,
        tuple(sorted(classes)),
        tuple(sorted(texts)),
        tuple(
            Citation(each.iri, each.source_iri, each.title, each.begin, each.end)
            for _, each in sorted(documents.items())
        ),
        tuple(statements[:limit]),
        max(0, len(statements) - limit),
    )


def neighbourhood(
    reader: GraphReader, names: Sequence[str], *, hops: int = 1, limit: int = MAX_NODES
) -> Neighbourhood:
    """The neighbourhood of entities, breadth first; see `find_entity` for their names.

    Of the entities at the greatest distance, those with the first IRIs are included. Raises
    `UsageError`, also for `hops` or a `limit` out of range.
    """
    if not 1 <= hops <= MAX_HOPS:
        raise UsageError(f"hops must be an integer between 1 and {MAX_HOPS}, not {hops}")
    if not len(names) <= limit <= MAX_NODES:
        raise UsageError(f"limit must be an integer between {len(names)} and {MAX_NODES}")
    distances = {find_entity(reader, name): 0 for name in names}
    frontier, is_complete = sorted(distances), True
    for distance in range(1, hops + 1):
        around = statements_from(reader, frontier, inverse=True).values()
        ends = {
            end for several in around for each in several for end in (each.subject, each.object)
        }
        reached = sorted(ends - distances.keys())
        frontier = reached[: limit - len(distances)]
        is_complete &= len(frontier) == len(reached)
        distances |= dict.fromkeys(frontier, distance)
    labels = entity_labels(reader, distances)
    entities = (
        Neighbour(iri, *labels.get(iri, (iri, "misc")), distance)
        for iri, distance in sorted(distances.items(), key=lambda pair: (pair[1], pair[0]))
    )
    statements = {
        statement.iri: statement
        for starting in statements_from(reader, distances).values()
        for statement in starting
        if statement.object in distances
    }
    return Neighbourhood(
        tuple(entities), tuple(statements[iri] for iri in sorted(statements)), is_complete
    )


def to_networkx(
    reader: GraphReader, names: Sequence[str] = (), *, hops: int = 1, limit: int = MAX_NODES
) -> MultiDiGraph:
    """All entities with their statements, or a neighbourhood, as a directed multigraph."""
    from networkx import MultiDiGraph

    graph = MultiDiGraph()
    if names:
        part = neighbourhood(reader, names, hops=hops, limit=limit)
        for each in part.entities:
            graph.add_node(each.iri, name=each.name, type=each.type, distance=each.distance)
        statements = [*part.statements]
    else:
        entities = [item.value for item, _ in reader.rows("entity-texts")]
        for iri, (name, type_) in sorted(entity_labels(reader, entities).items()):
            graph.add_node(iri, name=name, type=type_)
        statements = [s for some in statements_from(reader, entities).values() for s in some]
    for one in sorted(statements, key=lambda statement: statement.iri):
        about = {"phrase": one.phrase, "predicate": one.predicate, "text": one.text}
        graph.add_edge(one.subject, one.object, key=one.iri, **about)
    return graph
