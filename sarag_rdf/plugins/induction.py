"""``sarag induce``: an ontology proposed from the phrases of the documents, to be edited.

The phrases between two types of arguments are clustered by their embeddings (agglomerative, average
linkage, cosine distance). The passive "was founded by" joins the cluster of "founded" with the
arguments exchanged. Each cluster is one property, which is named after its most frequent phrase.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from sarag_rdf.base.errors import UsageError
from sarag_rdf.base.iris import is_iri
from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.vocab import OWL, RDF, RDFS, SARAG, SKOS
from sarag_rdf.cli import flags
from sarag_rdf.cli.output import write_output
from sarag_rdf.extraction.normal_phrases import COPULA, WILDCARD, is_function_word, stems_of
from sarag_rdf.extraction.review import VALUE, CountedPhrase
from sarag_rdf.kg.graph import KnowledgeGraph
from sarag_rdf.kg.proposals import summarize_phrases
from sarag_rdf.kg.vectors import recorded_model

MOST = 2000
"""The most frequent phrases, which are clustered."""
DISTANCE = 0.3
"""Maximum mean cosine distance of the phrases in a cluster."""
_VAGUE = frozenset(f"{COPULA} be have of by in at on from to with for after as through".split())
_LEADING = frozenset("is are was were be been being has have had".split())


@dataclass(frozen=True, slots=True)
class InducedProperty:
    """A cluster of phrases as a property; the types are those of its subjects and objects.

    `phrases` state it from subject to object, `inverse_phrases` from object to subject; the most
    frequent ones come first.
    """

    label: str
    subject_type: str
    object_type: str
    phrases: tuple[str, ...]
    inverse_phrases: tuple[str, ...]
    count: int
    sentences: tuple[str, ...]


def induce_properties(
    phrases: Iterable[CountedPhrase],
    embedder: Embedder,
    *,
    least: int = 2,
    distance: float = DISTANCE,
) -> list[InducedProperty]:
    """The properties with at least `least` relationships, the most frequent first.

    Phrases of prepositions and auxiliary verbs alone are omitted: they state many properties.
    """
    usable = [p for p in phrases if {*stems_of(p.phrase)} - _VAGUE - {WILDCARD}]
    groups: defaultdict[tuple[str, str], list[_Directed]] = defaultdict(list)
    actives = {stems_of(p.phrase) for p in usable}
    for phrase in usable:
        directed = _directed(phrase, actives)
        groups[directed.types].append(directed)
    properties = [
        _property(types, cluster)
        for types, members in groups.items()
        for cluster in _clusters(members, embedder, distance)
    ]
    frequent = [p for p in properties if p.count >= least]
    return sorted(frequent, key=lambda p: (-p.count, p.label, p.subject_type, p.object_type))


class _Directed(NamedTuple):
    """A phrase whose arguments are exchanged if `is_inverse`; `text` is compared with others."""

    phrase: CountedPhrase
    is_inverse: bool
    text: str

    @property
    def types(self) -> tuple[str, str]:
        ends = self.phrase.subject_type, self.phrase.object_type
        return (ends[1], ends[0]) if self.is_inverse else ends


def _directed(phrase: CountedPhrase, actives: set[tuple[str, ...]]) -> _Directed:
    """A passive is the inverse of its verb, if the corpus has the verb too."""
    stems = stems_of(phrase.phrase)
    is_passive = len(stems) == 3 and (stems[0], stems[2]) == ("be", "by")
    is_inverse = is_passive and stems[1:2] in actives and phrase.object_type != VALUE
    return _Directed(phrase, is_inverse, " ".join(stems[1:2] if is_inverse else stems))


def _clusters(
    members: Sequence[_Directed], embedder: Embedder, distance: float
) -> list[list[_Directed]]:
    """The members in clusters; those with equal texts are in the same one."""
    texts = sorted({member.text for member in members})
    numbers = [0]
    if len(texts) > 1:
        from scipy.cluster.hierarchy import fcluster, linkage

        vectors = embedder.embed(texts)  # (texts, d), unit length
        pairs = np.triu_indices(len(texts), 1)
        distances = np.clip(1 - (vectors @ vectors.T)[pairs], 0, 2).astype(np.float64)
        numbers = fcluster(linkage(distances, method="average"), distance, criterion="distance")
    cluster_of = dict(zip(texts, numbers, strict=True))
    clusters: defaultdict[int, list[_Directed]] = defaultdict(list)
    for member in members:
        clusters[cluster_of[member.text]].append(member)
    return list(clusters.values())


def _property(types: tuple[str, str], members: Sequence[_Directed]) -> InducedProperty:
    ordered = sorted(
        members,
        key=lambda m: (m.is_inverse, -m.phrase.count, len(m.phrase.phrase), m.phrase.phrase),
    )
    return InducedProperty(
        ordered[0].phrase.phrase,
        *types,
        tuple(dict.fromkeys(m.phrase.phrase for m in ordered if not m.is_inverse)),
        tuple(dict.fromkeys(m.phrase.phrase for m in ordered if m.is_inverse)),
        sum(m.phrase.count for m in members),
        tuple(dict.fromkeys(s for m in ordered for s in m.phrase.sentences))[:3],
    )


def local_names(properties: Sequence[InducedProperty]) -> list[str]:
    """Distinct local names: ``bornIn`` of "was born in"; of several, with types of arguments."""
    names: list[str] = []
    for property_ in properties:
        words = [w for w in re.findall(r"[^\W_]+", property_.label) if not is_function_word(w)]
        leading = list(takewhile(_LEADING.__contains__, words[:-1]))
        first, *others = words[len(leading) :] or [""]
        stem = first + "".join(map(str.capitalize, others))
        if not stem[:1].isalpha():
            stem = f"property{stem}"
        ends = property_.object_type, property_.subject_type
        object_name, subject_name = (_CLASSES.get(type_, "") for type_ in ends)
        candidates = chain(
            (stem, f"{stem}{object_name}", f"{stem}{subject_name}{object_name}"),
            (f"{stem}{number}" for number in count(2)),
        )
        names.append(next(name for name in candidates if name not in names))
    return names


_CLASSES: Final = {
    "person": "Person",
    "organization": "Organization",
    "geopolitical": "Place",
    "time": "Time",
}
"""Entity type -> local name of its class in an induced ontology."""


def turtle_of(namespace: str, properties: Sequence[InducedProperty], language: str = "en") -> str:
    """An ontology in a namespace that ends in ``#`` or ``/``; counts are in notes."""
    types = {type_ for p in properties for type_ in (p.subject_type, p.object_type)}
    triples = [*_labelled(NamedNode(namespace.rstrip("#/")), OWL.Ontology, "Induced ontology")]
    for type_, name in _CLASSES.items():
        if type_ in types:
            triples += _labelled(NamedNode(namespace + name), OWL.Class, name.lower())
    labels = Counter(property_.label for property_ in properties)
    for property_, name in zip(properties, local_names(properties), strict=True):
        node, label = NamedNode(namespace + name), property_.label
        if labels[label] > 1:
            label += f" ({property_.subject_type}, {property_.object_type})"
        is_literal = property_.object_type == VALUE
        kind = OWL.DatatypeProperty if is_literal else OWL.ObjectProperty
        triples += _labelled(node, kind, label, language)
        for predicate, texts in (
            (SARAG.statedAs, property_.phrases),
            (SARAG.inverselyStatedAs, property_.inverse_phrases),
            (SKOS.example, property_.sentences),
        ):
            triples += [Triple(node, predicate, Literal(t, language=language)) for t in texts]
        ends = ((RDFS.domain, property_.subject_type), (RDFS.range, property_.object_type))
        for predicate, type_ in ends:
            if type_ in _CLASSES:
                triples.append(Triple(node, predicate, NamedNode(namespace + _CLASSES[type_])))
        if is_literal:
            triples.append(Triple(node, RDFS.range, RDFS.Literal))
        noun = "relationship" if property_.count == 1 else "relationships"
        note = Literal(f"{property_.count} {noun}", language="en")
        triples.append(Triple(node, SKOS.note, note))
    prefixes = {"": namespace, "owl": OWL.base, "rdfs": RDFS.base}
    prefixes |= {"sarag": SARAG.base, "skos": SKOS.base}
    return (serialize(triples, format=RdfFormat.TURTLE, prefixes=prefixes) or b"").decode()


def _labelled(
    node: NamedNode, kind: NamedNode, label: str, language: str = "en"
) -> Iterator[Triple]:
    yield Triple(node, RDF.type, kind)
    yield Triple(node, RDFS.label, Literal(label, language=language))


def induced_ontology(kg: KnowledgeGraph, *, namespace: str = "", least: int = 2) -> str:
    """An ontology proposed from the corpus itself, as Turtle to be edited.

    Each cluster of phrases with at least `least` relationships is a property, with examples of
    sentences that state it. Its terms are in `namespace`, by default ``ontology/`` below the base
    of the graph. Raises `UsageError` for an invalid namespace, and if no phrase is frequent enough.
    """
    with kg.session.read() as snapshot:
        reader = snapshot.own
        embedder = kg.session.models.embedders(recorded_model(reader)).texts
        phrases = [
            CountedPhrase(*summary.signature, summary.count, summary.examples)
            for summary in summarize_phrases(reader)[:MOST]
        ]
        base = namespace or f"{reader.minter.base}ontology/"
    if not base.endswith(("#", "/")) or not is_iri(base):
        raise UsageError(f"invalid namespace '{base}': give an IRI that ends in # or /")
    properties = induce_properties(phrases, embedder, least=least)
    if not properties:
        raise UsageError(
            f"no phrase has {least} relationships: index more documents, or lower --least"
        )
    return turtle_of(base, properties)


@click.command(name="induce", epilog="Example:  sarag induce -o corpus.ttl --kg kg")
@flags.read_options
@flags.embedding_options
@flags.output_option("Write the ontology to this file. Default: standard output.")
@click.option("--namespace", metavar="IRI", help="Namespace of the terms. Default: BASE/ontology/.")
@click.option(
    "--least",
    default=2,
    show_default=True,
    type=click.IntRange(1),
    help="Minimum number of relationships of a property.",
)
def command(*, output: Path | None, namespace: str | None, least: int, **options: Any) -> int:
    """Propose an ontology from the phrases of the documents, as Turtle to be edited.

    Phrases with similar meaning between arguments of the same types become one property, named
    after the most frequent one, with example sentences. Edit the file, then add it with 'sarag
    ontology add'.
    """
    with flags.open_graph(options) as kg:
        turtle = induced_ontology(kg, namespace=namespace or "", least=least)
    write_output(output, turtle)
    return 0
