"""Properties that a corpus itself suggests: clusters of phrases with arguments of the same types.

The phrases between two types of arguments are clustered by their embeddings (agglomerative, average
linkage, cosine distance). The passive "was founded by" joins the cluster of "founded" with the
arguments exchanged. Each cluster is one property, which is named after its most frequent phrase.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from pyoxigraph import Literal, NamedNode

from sarag_rdf.base.ports import Embedder
from sarag_rdf.base.vocab import OWL, RDFS, SARAG, SKOS
from sarag_rdf.extraction.phrases import COPULA, WILDCARD, is_function_word, normalize_phrase

_LOCAL_NAME = re.compile(r"[^\W\d_]\w*")


@dataclass(frozen=True, slots=True)
class ProposedClass:
    """A class by its local name, with a label."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class ProposedProperty:
    """A property by its local name; `domain` and `range` are local names of classes, or empty."""

    name: str
    label: str
    phrases: tuple[str, ...]
    inverse_phrases: tuple[str, ...]
    domain: str
    range: str
    is_literal: bool
    examples: tuple[str, ...]
    count: int


def write_turtle(
    namespace: str,
    classes: Sequence[ProposedClass],
    properties: Sequence[ProposedProperty],
    language: str = "en",
) -> str:
    """An ontology in a namespace that ends in ``#`` or ``/``; counts are in comments."""
    base = namespace.rstrip("#/")
    prefixes = {"": namespace, "owl": OWL.base, "rdfs": RDFS.base}
    prefixes |= {"sarag": SARAG.base, "skos": SKOS.base}
    lines = [f"@prefix {prefix}: {NamedNode(iri)} ." for prefix, iri in prefixes.items()]
    title = Literal("Induced ontology", language="en")
    lines += ["", f"{NamedNode(base)} a owl:Ontology ;", f"    rdfs:label {title} ."]
    for class_ in classes:
        label = Literal(class_.label, language="en")
        lines += ["", f":{class_.name} a owl:Class ;", f"    rdfs:label {label} ."]
    for property_ in properties:
        noun = "relationship" if property_.count == 1 else "relationships"
        lines += ["", f"# {property_.count} {noun}"]
        lines += _turtle_of(property_, namespace, language)
    return "\n".join(lines) + "\n"


def _turtle_of(property_: ProposedProperty, namespace: str, language: str) -> list[str]:
    kind = "owl:DatatypeProperty" if property_.is_literal else "owl:ObjectProperty"
    statements = [f"rdfs:label {Literal(property_.label, language=language)}"]
    statements += _texts("sarag:statedAs", property_.phrases, language)
    statements += _texts("sarag:inverselyStatedAs", property_.inverse_phrases, language)
    statements += [f"rdfs:domain :{property_.domain}"] if property_.domain else []
    if property_.is_literal:
        statements.append("rdfs:range rdfs:Literal")
    elif property_.range:
        statements.append(f"rdfs:range :{property_.range}")
    statements += _texts("skos:example", property_.examples, language)
    is_plain = _LOCAL_NAME.fullmatch(property_.name) and property_.name.isascii()
    node = f":{property_.name}" if is_plain else str(NamedNode(namespace + property_.name))
    return [
        f"{node} a {kind} ;",
        *(f"    {s} ;" for s in statements[:-1]),
        f"    {statements[-1]} .",
    ]


def _texts(predicate: str, texts: Sequence[str], language: str) -> Iterator[str]:
    if texts:
        yield f"{predicate} " + " , ".join(str(Literal(text, language=language)) for text in texts)


DISTANCE = 0.3
"""Maximum mean cosine distance of the phrases in a cluster."""
_VAGUE = frozenset(f"{COPULA} be have of by in at on from to with for after as through".split())
_LEADING = frozenset("is are was were be been being has have had".split())


@dataclass(frozen=True, slots=True)
class CountedPhrase:
    """A phrase with the types of its arguments, the number of its relationships, and sentences."""

    phrase: str
    subject_type: str
    object_type: str
    count: int
    sentences: tuple[str, ...] = ()


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
    usable = [phrase for phrase in phrases if _is_specific(phrase.phrase)]
    groups: defaultdict[tuple[str, str], list[_Directed]] = defaultdict(list)
    actives = {_stems(p.phrase) for p in usable}
    for phrase in usable:
        directed = _directed(phrase, actives)
        groups[directed.types].append(directed)
    properties = [
        _property(types, cluster)
        for types, members in groups.items()
        for cluster in _clusters(members, embedder, distance)
    ]
    frequent = (p for p in properties if p.count >= least)
    return sorted(frequent, key=lambda p: (-p.count, p.label, p.subject_type, p.object_type))


@dataclass(frozen=True, slots=True)
class _Directed:
    """A phrase whose arguments are exchanged if `is_inverse`; `text` is compared with others."""

    phrase: CountedPhrase
    is_inverse: bool
    text: str

    @property
    def types(self) -> tuple[str, str]:
        ends = self.phrase.subject_type, self.phrase.object_type
        return (ends[1], ends[0]) if self.is_inverse else ends


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(word.stem for word in normalize_phrase(phrase) if not word.is_optional)


def _is_specific(phrase: str) -> bool:
    return bool(set(_stems(phrase)) - _VAGUE - {WILDCARD})


def _directed(phrase: CountedPhrase, actives: set[tuple[str, ...]]) -> _Directed:
    """A passive is the inverse of its verb, if the corpus has the verb too."""
    stems = _stems(phrase.phrase)
    is_passive = len(stems) == 3 and (stems[0], stems[2]) == ("be", "by")
    is_inverse = is_passive and stems[1:2] in actives and phrase.object_type != "value"
    return _Directed(phrase, is_inverse, " ".join(stems[1:2] if is_inverse else stems))


def _clusters(
    members: Sequence[_Directed], embedder: Embedder, distance: float
) -> list[list[_Directed]]:
    """The members in clusters; those with equal texts are in the same one."""
    texts = sorted({member.text for member in members})
    clusters: defaultdict[int, list[_Directed]] = defaultdict(list)
    cluster_of = dict(zip(texts, _cluster_numbers(embedder.embed(texts), distance), strict=True))
    for member in members:
        clusters[cluster_of[member.text]].append(member)
    return list(clusters.values())


def _cluster_numbers(vectors: np.ndarray, distance: float) -> list[int]:
    """The cluster of each row of a matrix of unit vectors, shape (n, d)."""
    if len(vectors) < 2:
        return [0] * len(vectors)
    from scipy.cluster.hierarchy import fcluster, linkage

    rows, columns = np.triu_indices(len(vectors), 1)
    distances = np.clip(1 - (vectors @ vectors.T)[rows, columns], 0, 2)
    tree = linkage(distances.astype(np.float64), method="average")
    return [int(number) for number in fcluster(tree, distance, criterion="distance")]


def _property(types: tuple[str, str], members: Sequence[_Directed]) -> InducedProperty:
    ordered = sorted(
        members,
        key=lambda m: (m.is_inverse, -m.phrase.count, len(m.phrase.phrase), m.phrase.phrase),
    )
    sentences = dict.fromkeys(s for m in ordered for s in m.phrase.sentences)
    return InducedProperty(
        ordered[0].phrase.phrase,
        *types,
        _distinct(m.phrase.phrase for m in ordered if not m.is_inverse),
        _distinct(m.phrase.phrase for m in ordered if m.is_inverse),
        sum(m.phrase.count for m in members),
        tuple(sentences)[:3],
    )


def _distinct(phrases: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrases))


def local_names(
    properties: Sequence[InducedProperty], type_name: Callable[[str], str]
) -> list[str]:
    """Distinct local names: "was born in" is ``bornIn``; of several, with the types of arguments.

    `type_name` returns the name of an entity type in capitals and lower case, or nothing.
    """
    names: list[str] = []
    for property_ in properties:
        stem = _local_name(property_.label)
        object_name, subject_name = map(type_name, (property_.object_type, property_.subject_type))
        candidates = chain(
            (stem, f"{stem}{object_name}", f"{stem}{subject_name}{object_name}"),
            (f"{stem}{number}" for number in count(2)),
        )
        names.append(next(name for name in candidates if name not in names))
    return names


def _local_name(label: str) -> str:
    words = [word for word in re.findall(r"[^\W_]+", label) if not is_function_word(word)]
    while len(words) > 1 and words[0] in _LEADING:
        del words[0]
    name = "".join(words[:1] + [word.capitalize() for word in words[1:]])
    return name if name[:1].isalpha() else f"property{name}"
