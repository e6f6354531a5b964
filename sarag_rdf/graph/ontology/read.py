"""Ontologies in RDF files as triples, and the schema that triples describe.

OWL 2, RDFS, SKOS, schema.org and SHACL shapes are read in any mixture. ``owl:imports`` is never
followed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Final

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base import vocab
from sarag_rdf.base.compression import MAX_EXPANSION
from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import namespace
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import OWL, RDF, RDFS, SARAG, SH, SKOS, XSD
from sarag_rdf.graph.ontology.literals import is_datatype, label_datatype, named_datatype
from sarag_rdf.graph.ontology.schema import OntologyClass, OntologyProperty, Schema
from sarag_rdf.graph.ontology.triples import (
    ALTERNATIVES,
    ANNOTATION_TYPES,
    ANYTHING,
    CLASS_TYPES,
    DATATYPE_TYPES,
    DEFINITIONS,
    DOMAINS,
    EXAMPLES,
    INVERSES,
    LABELS,
    LANGUAGES,
    PROPERTY_TYPES,
    RANGES,
    SUPERSEDED,
    TITLES,
    TYPE,
    TripleIndex,
    iris_of,
    local_name,
    schema_org,
    split_words,
    texts,
)
from sarag_rdf.graph.store.child_parser import MAX_SECONDS, parse_triples
from sarag_rdf.graph.store.files import input_file
from sarag_rdf.graph.store.parse import RdfReadOptions, is_skolem_iri

GENID: Final = "urn:sarag:genid/"
"""Beginning of the IRIs of blank nodes, unless another one is given."""


@dataclass(frozen=True, slots=True)
class OntologyHeader:
    """What an ontology states about itself: IRI, title, version, and the ontologies it imports."""

    iri: str = ""
    title: str = ""
    version: str = ""
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OntologyFile:
    """The triples of an ontology in a file, without blank nodes.

    `origin` is the IRI of the file, `name` its name. `repaired` are namespaces of RDF, OWL and the
    like that the file declares without their ``#``; their terms are corrected in `triples`.
    """

    name: str
    origin: str
    sha256: str
    triples: tuple[Triple, ...]
    repaired: tuple[str, ...] = ()


def read_ontology(
    location: str,
    options: RdfReadOptions = RdfReadOptions(),  # noqa: B008 - it is immutable
    *,
    genid: str = GENID,
    max_expansion: int = MAX_EXPANSION,
    max_seconds: float = MAX_SECONDS,
) -> OntologyFile:
    """Read Turtle, N-Triples, RDF/XML, JSON-LD, TriG or N-Quads from a file or an http(s) URL.

    It is parsed in a child process with limits. The triples of all graphs of the file are read;
    blank nodes become IRIs below `genid`, the same ones for the same file. Raises `InputError` for
    a file that cannot be parsed or has no triples, and `UsageError` for an unknown format.
    """
    with input_file(location, max_expansion) as file:
        triples = tuple(dict.fromkeys(parse_triples(file, options, genid, max_seconds)))
        if not triples:
            raise InputError(f"no triples in {file.name}: check the file")
        repaired: set[str] = set()
        triples = tuple(_repaired(triple, repaired) for triple in triples)
        return OntologyFile(file.name, file.origin, file.sha256, triples, tuple(sorted(repaired)))


_WITHOUT_HASH = re.compile(
    "("
    + "|".join(re.escape(vocabulary.base[:-1]) for vocabulary in (RDF, RDFS, OWL, XSD, SKOS, SH))
    + r")([A-Za-z]\w*)"
)


def _repaired(triple: Triple, repaired: set[str]) -> Triple:
    """The triple with ``#`` in terms of namespaces that lack it, which are added to `repaired`."""
    terms: list[Any] = []
    for term in (triple.subject, triple.predicate, triple.object):
        iri = term.datatype.value if isinstance(term, Literal) else getattr(term, "value", "")
        match = _WITHOUT_HASH.fullmatch(iri)
        if match is None:
            terms.append(term)
            continue
        repaired.add(match[1])
        node = NamedNode(f"{match[1]}#{match[2]}")
        terms.append(Literal(term.value, datatype=node) if isinstance(term, Literal) else node)
    return Triple(*terms)


def header_of(triples: Iterable[Triple]) -> OntologyHeader:
    """The header of an ontology or concept scheme; of several, the first by IRI."""
    index = TripleIndex(triples)
    nodes = sorted(index.instances([OWL.Ontology.value])) or sorted(
        index.instances([SKOS.ConceptScheme.value])
    )
    if not nodes:
        return OntologyHeader()
    node = nodes[0]
    info = texts(index, node, (OWL.versionInfo.value, *schema_org("version")))
    version = info[0] if info else next(iter(index.iris(node, OWL.versionIRI.value)), "")
    titles = texts(index, node, TITLES)
    imports = {iri for _, iri in index.pairs(OWL.imports.value)}
    return OntologyHeader(node, titles[0] if titles else "", version, tuple(sorted(imports)))


def schema_of(triples: Iterable[Triple]) -> Schema:
    """The classes and properties that triples declare or imply.

    - Classes: those of OWL and RDFS, SKOS concepts (``skos:broader`` leads to the parents), and
      terms that are used as domains, ranges or targets of shapes. Datatypes are not classes.
    - Properties: all but annotation properties. Several domains, and ``owl:unionOf``, mean that a
      subject belongs to one of them; the same holds for ranges. A property without a domain has
      the range of its inverse, else the domain of its nearest superproperty. Beside other
      ranges, ``rdfs:Literal`` is left out.
    - Shapes: a property of a node shape has the targets of the shape as domains, and
      ``sh:class``, ``sh:datatype`` as ranges. It is functional if each of its shapes has
      ``sh:maxCount 1``.
    - Names: in English, else without a language tag, else in any language. Names such as
      ``birthDate`` are split into words, as are local names where there is no label.
    - ``owl:deprecated`` and superseded terms are left out.
    """
    return _SchemaReader(TripleIndex(triples)).schema()


class _SchemaReader:
    def __init__(self, index: TripleIndex) -> None:
        self._index = index
        self._deprecated = {
            subject
            for subject, property_, term in index.triples()
            if property_ in SUPERSEDED
            or (property_ == OWL.deprecated.value and getattr(term, "value", "") in ("true", "1"))
        }
        self._datatypes = self._declared_datatypes()
        self._shapes = _Shapes(index, self._class_axioms())
        self._classes = self._usable(self._class_names())
        self._properties = self._usable(self._property_names())

    def schema(self) -> Schema:
        properties = {iri: self._property(iri) for iri in self._properties}
        return Schema.of(
            (self._class(iri) for iri in self._classes),
            _completed(properties),
        )

    def _usable(self, iris: Iterable[str]) -> list[str]:
        return sorted(
            iri
            for iri in set(iris)
            if iri and not is_skolem_iri(iri) and not iri.startswith(LANGUAGES)
            if iri not in self._deprecated and not self._is_alias(iri)
        )

    def _is_alias(self, iri: str) -> bool:
        """Whether a term is only mapped to: another one is equivalent, and nothing else is said."""
        axioms = (*DOMAINS, *RANGES, *LABELS, RDFS.subClassOf.value, RDFS.subPropertyOf.value)
        return iri in self._equivalents and not self._index.objects(iri, *axioms)

    @cached_property
    def _equivalents(self) -> set[str]:
        axioms = iris_of(OWL.equivalentClass, OWL.equivalentProperty)
        return {other for _, other in self._index.pairs(*axioms)}

    def _declared_datatypes(self) -> set[str]:
        """Declared datatypes, with those derived from them, as in schema.org."""
        datatypes = self._index.instances(DATATYPE_TYPES)
        derived = defaultdict(list)
        for child, parent in self._index.pairs(RDFS.subClassOf.value):
            derived[parent].append(child)
        todo = list(datatypes)
        while todo:
            new = [child for child in derived[todo.pop()] if child not in datatypes]
            datatypes.update(new)
            todo += new
        return datatypes.union(schema_org("DataType"))

    def _is_datatype(self, range_: str) -> bool:
        return is_datatype(range_) or range_ in self._datatypes

    def _class_axioms(self) -> set[str]:
        """Declared classes, and those in class axioms and shapes."""
        index = self._index
        subclass = list(index.pairs(RDFS.subClassOf.value))
        return (
            index.instances(CLASS_TYPES)
            | {child for child, _ in subclass}
            | {name for _, parent in subclass for name in index.named(parent)}
            | {iri for _, iri in index.pairs(SH.targetClass.value, SH["class"].value)}
        )

    def _class_names(self) -> set[str]:
        """Classes that are declared or used; a superclass elsewhere is only named as a parent."""
        index = self._index
        declared = index.instances(CLASS_TYPES)
        used = {iri for _, node in index.pairs(*DOMAINS) for iri in index.named(node)}
        ranges = {iri for _, node in index.pairs(*RANGES) for iri in index.named(node)}
        used |= {range_ for range_ in ranges if not named_datatype(range_)}
        used |= {iri for _, iri in index.pairs(SH.targetClass.value, SH["class"].value)}
        used |= {target for shape in self._shapes.of_paths() for target in shape.targets}
        used |= _own(self._class_axioms(), declared | used)
        return {iri for iri in declared | used if not self._is_datatype(iri)}

    def _property_names(self) -> set[str]:
        """Properties that are declared or used; those elsewhere are only named as parents."""
        index = self._index
        declared = index.instances(PROPERTY_TYPES)
        used = {subject for subject, _ in index.pairs(*DOMAINS, *RANGES)}
        used.update(self._shapes.paths)
        related = {iri for pair in index.pairs(RDFS.subPropertyOf.value, *INVERSES) for iri in pair}
        used |= _own(related, declared | used)
        return declared | (used - index.instances(ANNOTATION_TYPES))

    def _class(self, iri: str) -> OntologyClass:
        index = self._index
        parents = {
            name
            for node in index.iris(iri, RDFS.subClassOf.value, SKOS.broader.value)
            for name in index.named(node)
            if not is_skolem_iri(node)
        }
        parents |= set(self._wider.get(iri, ()))
        label, alternatives = self._names(iri, [iri, *self._shapes.of_class(iri)])
        return OntologyClass(
            iri,
            label,
            alternatives,
            self._definition([iri, *self._shapes.of_class(iri)]),
            self._all_texts(iri, EXAMPLES),
            tuple(self._usable(parents - {iri})),
        )

    @cached_property
    def _wider(self) -> dict[str, list[str]]:
        """Concept -> concepts of which it is a narrower one (``skos:narrower``)."""
        wider = defaultdict(list)
        for concept, narrower in self._index.pairs(SKOS.narrower.value):
            wider[narrower].append(concept)
        return dict(wider)

    def _property(self, iri: str) -> OntologyProperty:
        index, shapes = self._index, self._shapes.of_path(iri)
        types = set(index.iris(iri, TYPE))
        domains = [name for node in index.iris(iri, *DOMAINS) for name in index.named(node)]
        ranges = [name for node in index.iris(iri, *RANGES) for name in index.named(node)]
        domains += [target for shape in shapes for target in shape.targets]
        ranges += [range_ for shape in shapes for range_ in shape.ranges]
        inverses = self._inverses.get(iri, ())
        nodes = [iri, *(shape.node for shape in shapes)]
        label, alternatives = self._names(iri, nodes)
        return OntologyProperty(
            iri,
            label,
            alternatives,
            self._definition(nodes),
            self._all_texts(iri, EXAMPLES),
            self._all_texts(iri, iris_of(SARAG.statedAs)),
            self._all_texts(iri, iris_of(SARAG.inverselyStatedAs)),
            self._admitted(domains),
            _without_literal(self._admitted(ranges)),
            tuple(self._usable(set(index.iris(iri, RDFS.subPropertyOf.value)) - {iri})),
            next((other for other in inverses if other != iri), ""),
            self._is_literal(iri, types, label, ranges),
            OWL.FunctionalProperty.value in types
            or bool(shapes and all(shape.is_functional for shape in shapes)),
            OWL.SymmetricProperty.value in types or iri in inverses,
        )

    @cached_property
    def _inverses(self) -> dict[str, list[str]]:
        """Property -> its inverse properties, in both directions."""
        known, inverses = set(self._properties), defaultdict(set)
        for one, other in self._index.pairs(*INVERSES):
            if one in known and other in known:
                inverses[one].add(other)
                inverses[other].add(one)
        return {iri: sorted(others) for iri, others in inverses.items()}

    def _admitted(self, iris: Iterable[str]) -> tuple[str, ...]:
        """Domains or ranges without those that admit everything."""
        return tuple(sorted({i for i in iris if i not in ANYTHING and not is_skolem_iri(i)}))

    def _is_literal(self, iri: str, types: set[str], label: str, ranges: list[str]) -> bool:
        if OWL.DatatypeProperty.value in types:
            return True
        kinds = {kind for shape in self._shapes.of_path(iri) for kind in shape.node_kinds}
        if kinds and not ranges:
            return kinds == {SH.Literal.value}
        if ranges:
            return all(
                self._is_datatype(range_) or bool(named_datatype(range_)) for range_ in ranges
            )
        has_object_axiom = OWL.SymmetricProperty.value in types or iri in self._inverses
        return not has_object_axiom and bool(label_datatype(label))

    def _names(self, iri: str, nodes: list[str]) -> tuple[str, tuple[str, ...]]:
        """The label and the alternative names; labels such as ``birthDate`` are split."""
        labels = [text for node in nodes for text in texts(self._index, node, LABELS)]
        local = local_name(iri)
        words = split_words(local)
        is_local = not labels or (labels[0] == local and " " in words)
        label = words if is_local else labels[0]
        others = [text for node in nodes for text in self._all_texts(node, ALTERNATIVES)]
        names = {name for name in (*labels[:1], *others) if name.casefold() != label.casefold()}
        return label, tuple(sorted(names))

    def _definition(self, nodes: list[str]) -> str:
        definitions = (text for node in nodes for text in texts(self._index, node, DEFINITIONS))
        return next(definitions, "")

    def _all_texts(self, node: str, properties: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(texts(self._index, node, properties)))


def _own(iris: set[str], known: set[str]) -> set[str]:
    """Those in the namespaces of known terms; all, if no term is known."""
    own = {namespace(iri) for iri in known}
    return {iri for iri in iris if not own or namespace(iri) in own}


@dataclass(frozen=True, slots=True)
class _PropertyShape:
    """A SHACL property shape of a property; `targets` are the target classes of its node shape."""

    node: str
    targets: tuple[str, ...]
    ranges: tuple[str, ...]
    node_kinds: tuple[str, ...]
    is_functional: bool


class _Shapes:
    """SHACL shapes as statements about properties and classes."""

    def __init__(self, index: TripleIndex, classes: set[str]) -> None:
        """`classes` are known: a node shape that is one of them targets its instances."""
        self._index = index
        self._classes = classes
        self.paths: dict[str, list[_PropertyShape]] = defaultdict(list)
        self._by_class: defaultdict[str, list[str]] = defaultdict(list)
        owners = defaultdict(list)
        for owner, shape in index.pairs(SH.property.value):
            owners[shape].append(owner)
        for shape, path in index.pairs(SH.path.value):
            if is_skolem_iri(path):  # a path expression
                continue
            holders = [shape, *owners.get(shape, ())]
            targets = sorted({t for holder in holders for t in self._targets(holder)})
            self.paths[path].append(self._property_shape(shape, tuple(targets)))
        for shape, class_ in index.pairs(SH.targetClass.value):
            self._by_class[class_].append(shape)

    def of_path(self, path: str) -> list[_PropertyShape]:
        return self.paths.get(path, [])

    def of_paths(self) -> Iterator[_PropertyShape]:
        for shapes in self.paths.values():
            yield from shapes

    def of_class(self, class_: str) -> list[str]:
        """The other nodes that are shapes of a class."""
        return [shape for shape in self._by_class.get(class_, ()) if shape != class_]

    def _targets(self, shape: str) -> list[str]:
        """Declared target classes, and the shape itself if it is a class."""
        implicit = [shape] if shape in self._classes and not is_skolem_iri(shape) else []
        return implicit + self._index.iris(shape, SH.targetClass.value)

    def _property_shape(self, node: str, targets: tuple[str, ...]) -> _PropertyShape:
        index = self._index
        most = [str(getattr(term, "value", "")) for term in index.objects(node, SH.maxCount.value)]
        ranges, kinds = self._values(node)
        return _PropertyShape(node, targets, tuple(ranges), tuple(kinds), "1" in most)

    def _values(self, node: str) -> tuple[list[str], list[str]]:
        """Classes and datatypes of the values, and their node kinds; ``sh:or`` is flattened."""
        index = self._index
        ranges: list[str] = []
        kinds: list[str] = []
        todo, seen = [node], {node}
        while todo:
            node = todo.pop()
            ranges += index.iris(node, SH["class"].value, SH.datatype.value)
            kinds += index.iris(node, SH.nodeKind.value)
            for shape in index.iris(node, SH.node.value):
                ranges += self._targets(shape)
            for list_ in index.iris(node, SH["or"].value, SH.xone.value):
                new = [member for member in index.members(list_) if member not in seen]
                seen.update(new)
                todo += new
        return ranges, kinds


def _completed(properties: Mapping[str, OntologyProperty]) -> Iterator[OntologyProperty]:
    """Properties with the domain, range and functionality that other properties entail.

    The domain of a property is the range of its inverse, and its values are values of its
    superproperties (OWL 2 RL/RDF rules prp-inv1, prp-spo1); a part of a function is a function.
    """
    superproperties = Schema.of((), properties.values()).superproperties
    for property_ in properties.values():
        above = [properties[iri] for iri in superproperties(property_.iri) if iri in properties]
        domains, ranges = _with_inverse(property_, properties)
        is_literal = property_.is_literal
        for other in above:
            other_domains, other_ranges = _with_inverse(other, properties)
            domains = domains or other_domains
            if not ranges:
                ranges, is_literal = other_ranges, is_literal or other.is_literal
        yield replace(
            property_,
            domains=domains,
            ranges=ranges,
            is_literal=is_literal,
            is_functional=property_.is_functional or any(other.is_functional for other in above),
        )


def _without_literal(ranges: tuple[str, ...]) -> tuple[str, ...]:
    """The ranges without ``rdfs:Literal``, unless it is the only one: the others are narrower."""
    return tuple(range_ for range_ in ranges if range_ != RDFS.Literal.value) or ranges


def _with_inverse(
    property_: OntologyProperty, properties: Mapping[str, OntologyProperty]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Domains and ranges; where there are none, the ranges and domains of the inverse."""
    inverse = properties.get(property_.inverse)
    if inverse is None:
        return property_.domains, property_.ranges
    ranges = () if inverse.is_literal else inverse.ranges
    return property_.domains or ranges, property_.ranges or inverse.domains


COMMON = vocab.COMMON.base
"""The namespace of the packaged ontology."""


@cache
def common_schema() -> Schema:
    """The classes and properties of the packaged ontology, without the foreign terms it uses."""
    quads = ox.parse(path=str(ontology_path("common.ttl")), format=ox.RdfFormat.TURTLE)
    schema = schema_of(quad.triple for quad in quads)
    return Schema.of(
        (class_ for class_ in schema.classes.values() if class_.iri.startswith(COMMON)),
        (own for own in schema.properties.values() if own.iri.startswith(COMMON)),
    )
