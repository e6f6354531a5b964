"""Ontologies in RDF files as triples, and the schema that triples describe.

OWL 2, RDFS, SKOS, schema.org and SHACL shapes are read in any mixture. ``owl:imports`` is never
followed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any, Final

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.base import vocab
from sarag_rdf.base.errors import InputError, UsageError
from sarag_rdf.base.iris import local_name, namespace
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.vocab import DC, DCTERMS, OWL, RDF, RDFS, SARAG, SH, SKOS, VANN, XSD, Namespace
from sarag_rdf.graph.ontology.schema import (
    OntologyClass,
    OntologyProperty,
    Schema,
    TermNames,
    is_datatype,
    label_datatype,
    named_datatype,
    split_words,
)
from sarag_rdf.graph.store.input_files import (
    InputFile,
    RdfReadOptions,
    input_file,
    is_skolem_iri,
    parse_triples,
    unpacked,
)

_OBO = Namespace("http://purl.obolibrary.org/obo/")
_SCHEMAS = (Namespace("http://schema.org/"), Namespace("https://schema.org/"))


def schema_org(name: str) -> tuple[str, ...]:
    """A term of schema.org with either scheme."""
    return tuple(schema[name].value for schema in _SCHEMAS)


def iris_of(*terms: NamedNode) -> tuple[str, ...]:
    """The IRIs of terms of a vocabulary."""
    return tuple(term.value for term in terms)


TYPE: Final = RDF.type.value
LANGUAGES: Final = (RDF.base, RDFS.base, OWL.base, XSD.base, SKOS.base, SH.base, VANN.base)
"""Namespaces whose terms describe ontologies, and are never part of a schema."""
CLASS_TYPES: Final = frozenset(iris_of(RDFS.Class, OWL.Class, SKOS.Concept))
DATATYPE_TYPES: Final = frozenset((RDFS.Datatype.value, *schema_org("DataType")))
ANNOTATION_TYPES: Final = frozenset(iris_of(OWL.AnnotationProperty, OWL.OntologyProperty))
_KINDS: Final = "Object Datatype Functional InverseFunctional Transitive Symmetric Asymmetric"
PROPERTY_TYPES: Final = frozenset(
    (
        RDF.Property.value,
        *(OWL[f"{kind}Property"].value for kind in (*_KINDS.split(), "Reflexive", "Irreflexive")),
    )
)
LABELS: Final = iris_of(SKOS.prefLabel, RDFS.label, SH.name, DCTERMS.title)
ALTERNATIVES = (
    *iris_of(SKOS.altLabel, SKOS.prefLabel, RDFS.label, SH.name),
    *schema_org("alternateName"),
    "http://www.geneontology.org/formats/oboInOwl#hasExactSynonym",
)
DEFINITIONS = (
    *iris_of(SKOS.definition, _OBO.IAO_0000115, RDFS.comment, SH.description),
    *iris_of(DCTERMS.description, SKOS.scopeNote),
)
EXAMPLES = iris_of(SKOS.example, VANN.example, _OBO.IAO_0000112)
DOMAINS: Final = (RDFS.domain.value, *schema_org("domainIncludes"))
RANGES: Final = (RDFS.range.value, *schema_org("rangeIncludes"))
INVERSES: Final = (OWL.inverseOf.value, *schema_org("inverseOf"))
SUPERSEDED = schema_org("supersededBy")
ANYTHING = frozenset(iris_of(OWL.Thing, RDFS.Resource))
TITLES = iris_of(DCTERMS.title, DC.title, RDFS.label, SKOS.prefLabel)


class TripleIndex:
    """Triples by subject and property; objects are in a fixed order."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._objects: defaultdict[str, defaultdict[str, list[Any]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._subjects: defaultdict[str, list[str]] = defaultdict(list)
        for triple in sorted(set(triples), key=str):
            subject, property_ = str(getattr(triple.subject, "value", "")), triple.predicate.value
            self._objects[subject][property_].append(triple.object)
            self._subjects[property_].append(subject)

    def objects(self, subject: str, *properties: str) -> list[Any]:
        """The objects of a subject, property by property."""
        if subject not in self._objects:
            return []
        known = self._objects[subject]
        return [term for property_ in properties for term in known.get(property_, ())]

    def iris(self, subject: str, *properties: str) -> list[str]:
        """The objects that are IRIs."""
        terms = self.objects(subject, *properties)
        return [term.value for term in terms if isinstance(term, NamedNode)]

    def pairs(self, *properties: str) -> Iterator[tuple[str, str]]:
        """(subject, object) of all triples with these properties whose object is an IRI."""
        for property_ in properties:
            for subject in dict.fromkeys(self._subjects.get(property_, ())):
                yield from ((subject, iri) for iri in self.iris(subject, property_))

    def instances(self, types: Iterable[str]) -> set[str]:
        """The subjects that have one of the types."""
        requested = set(types)
        return {subject for subject, type_ in self.pairs(TYPE) if type_ in requested}

    def triples(self) -> Iterator[tuple[str, str, Any]]:
        """(subject, property, object) of all triples."""
        for subject, properties in self._objects.items():
            for property_, terms in properties.items():
                yield from ((subject, property_, term) for term in terms)

    def members(self, node: str) -> list[str]:
        """The IRIs in an RDF list."""
        members: list[str] = []
        seen: set[str] = set()
        while node and node != RDF.nil.value and node not in seen:
            seen.add(node)
            members += self.iris(node, RDF.first.value)
            node = next(iter(self.iris(node, RDF.rest.value)), "")
        return members

    def named(self, node: str) -> list[str]:
        """The IRI of a class or datatype; for an anonymous union or restriction, those in it."""
        iris: list[str] = []
        lists = OWL.unionOf.value, OWL.intersectionOf.value
        for inner in self.nested(node, *lists, follows=is_skolem_iri):
            if not is_skolem_iri(inner):
                iris.append(inner)
                continue
            iris += self.iris(inner, OWL.onDatatype.value)
            for list_ in self.iris(inner, OWL.oneOf.value):
                first = self.objects(list_, RDF.first.value)
                iris += [item.datatype.value for item in first if isinstance(item, Literal)]
        return iris

    def nested(
        self, node: str, *lists: str, follows: Callable[[str], bool] = bool
    ) -> Iterator[str]:
        """A node and the members of its lists, in any depth, of nodes that it `follows`."""
        todo, seen = [node], {node}
        while todo:
            node = todo.pop()
            yield node
            for list_ in self.iris(node, *lists) if follows(node) else ():
                new = [member for member in self.members(list_) if member not in seen]
                seen.update(new)
                todo += new


def texts(index: TripleIndex, node: str, properties: Iterable[str]) -> list[str]:
    """The texts of a node in its best language (English, none, others by tag), and without one."""
    ranked = []
    for order, property_ in enumerate(properties):
        for term in index.objects(node, property_):
            if isinstance(term, Literal) and (text := " ".join(term.value.split())):
                language = (term.language or "").lower().partition("-")[0]
                rank = ("en", "").index(language) if language in ("en", "") else 2
                ranked.append((rank, language, order, text))
    ranked.sort()
    requested = {ranked[0][1], ""} if ranked else set()
    return list(dict.fromkeys(text for _, language, _, text in ranked if language in requested))


# ------------------------------------------------------------------------------- Files


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
    `prefixes` are those of a file in Turtle, TriG or RDF/XML, by namespace.
    """

    name: str
    origin: str
    sha256: str
    triples: tuple[Triple, ...]
    repaired: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_prefix(self) -> tuple[str, str]:
        """The prefix and the namespace of most of its classes and properties, or empty ones.

        What the ontology states of its prefix itself (VANN) is among its triples.
        """
        if any(triple.predicate == VANN.preferredNamespacePrefix for triple in self.triples):
            return "", ""
        schema = schema_of(self.triples)
        spaces = Counter(map(namespace, (*schema.classes, *schema.properties)))
        for space, _ in spaces.most_common(1):
            if prefix := self.prefixes.get(space):
                return prefix, space
        return "", ""


_PREFIX = re.compile(
    r"""@?prefix\s+([A-Za-z][\w-]*):\s*<([^<>"\s]+)>|xmlns:([A-Za-z][\w-]*)\s*=\s*["']([^"'\s]+)["']""",
    re.IGNORECASE,
)
_HEAD = 1 << 16
"""Bytes at the start of a file that are searched for prefixes."""


def _prefixes(file: InputFile) -> dict[str, str]:
    with unpacked(file) as (content, _):
        head = content.read(_HEAD).decode("utf-8", "replace")
    found = (match.groups() for match in _PREFIX.finditer(head))
    return {space or other: prefix or name for prefix, space, name, other in found}


def read_ontology(
    location: str,
    options: RdfReadOptions = RdfReadOptions(),  # noqa: B008 - it is immutable
    *,
    genid: str = GENID,
) -> OntologyFile:
    """Read Turtle, N-Triples, RDF/XML, JSON-LD, TriG or N-Quads from a file or an http(s) URL.

    It is parsed in a child process with limits. The triples of all graphs of the file are read;
    blank nodes become IRIs below `genid`, the same ones for the same file. Raises `InputError` for
    a file that cannot be parsed or has no triples, and `UsageError` for an unknown format.
    """
    with input_file(location, options.max_expansion) as file:
        triples = tuple(dict.fromkeys(parse_triples(file, options, genid)))
        if not triples:
            raise InputError(f"no triples in {file.name}: check the file")
        repaired: set[str] = set()
        triples = tuple(_repaired(triple, repaired) for triple in triples)
        prefixes = _prefixes(file)
        name, origin = file.name, file.origin
        return OntologyFile(name, origin, file.sha256, triples, tuple(sorted(repaired)), prefixes)


_WITHOUT_HASH = re.compile(
    "("
    + "|".join(re.escape(vocabulary.base[:-1]) for vocabulary in (RDF, RDFS, OWL, XSD, SKOS, SH))
    + r")([A-Za-z]\w*)"
)


def _repaired(triple: Triple, repaired: set[str]) -> Triple:
    """The triple with ``#`` in terms of namespaces that lack it, which are added to `repaired`."""
    terms: list[Any] = []
    for term in triple:
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
    kinds = (OWL.Ontology, SKOS.ConceptScheme)
    nodes = next(filter(None, (sorted(index.instances([kind.value])) for kind in kinds)), [])
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
    read = _SchemaReader(TripleIndex(triples))
    properties = {iri: _property(read, iri) for iri in read.properties}
    return Schema.of(
        (
            OntologyClass(**_described(read, iri), parents=read.usable(iri, "parent"))
            for iri in read.classes
        ),
        _completed(properties),
    )


_ROLES: Final[dict[str, str]] = {
    RDFS.subClassOf.value: "parent",
    SKOS.broader.value: "parent",
    RDFS.subPropertyOf.value: "superproperty",
    **dict.fromkeys(DOMAINS, "domain"),
    **dict.fromkeys(RANGES, "range"),
    **dict.fromkeys(INVERSES, "inverse"),
    **dict.fromkeys(SUPERSEDED, "superseded"),
    **dict.fromkeys(iris_of(OWL.equivalentClass, OWL.equivalentProperty), "equivalent"),
}
"""Property of OWL, RDFS, SKOS or schema.org -> its role in a schema."""
_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "label": LABELS,
    "alternative": ALTERNATIVES,
    "definition": DEFINITIONS,
    "example": EXAMPLES,
    "phrase": iris_of(SARAG.statedAs),
    "inverse phrase": iris_of(SARAG.inverselyStatedAs),
}


class _SchemaReader:
    """The terms by role. Unions stand for their members, property shapes for their path."""

    def __init__(self, index: TripleIndex) -> None:
        self.index = index
        self.roles: defaultdict[str, defaultdict[str, list[str]]]
        self.roles = defaultdict(lambda: defaultdict(list))
        self.shapes: defaultdict[str, list[str]] = defaultdict(list)
        """Path -> its property shapes; class -> the node shapes that target it."""
        for property_, role in _ROLES.items():
            for subject, term in index.pairs(property_):
                self.roles[role][subject] += index.named(term)
        for concept, narrower in index.pairs(SKOS.narrower.value):
            self.roles["parent"][narrower].append(concept)
        inverses = self.roles["inverse"]
        for one, other in [(one, o) for one, others in inverses.items() for o in others]:
            inverses[other].append(one)
        self._equivalents = set(self._values("equivalent"))
        self._datatypes = index.instances(DATATYPE_TYPES)
        pairs = [*index.pairs(RDFS.subClassOf.value)]  # of schema.org, datatypes have subclasses
        while derived := {c for c, parent in pairs if parent in self._datatypes} - self._datatypes:
            self._datatypes |= derived
        self._datatypes |= set(schema_org("DataType"))
        ranges = set(self._values("range"))
        declared = index.instances(CLASS_TYPES)
        related = declared | {*self.roles["parent"], *self._values("parent")}
        targets = {iri for _, iri in index.pairs(SH.targetClass.value, SH["class"].value)}
        self._read_shapes(related | targets)
        used = {range_ for range_ in ranges if not named_datatype(range_)}
        used |= {*self._values("domain"), *targets}
        self._deprecated = {
            *self.roles["superseded"],
            *(
                s
                for s, p, o in index.triples()
                if p == OWL.deprecated.value and getattr(o, "value", "") in ("true", "1")
            ),
        }
        self.classes = [
            iri for iri in self._terms(declared | used, related) if not self.is_datatype(iri)
        ]
        annotations = index.instances(ANNOTATION_TYPES)
        declared = index.instances(PROPERTY_TYPES)
        used = {*self.roles["domain"], *self.roles["range"], *self.paths} - annotations
        roles = ("superproperty", "inverse")
        related = {iri for role in roles for iri in (*self.roles[role], *self._values(role))}
        self.properties = self._terms(declared | used, related - annotations)

    def _values(self, role: str) -> Iterator[str]:
        return chain.from_iterable(self.roles[role].values())

    def is_datatype(self, iri: str) -> bool:
        """Whether an IRI is a datatype of a standard, or declared to be one."""
        return is_datatype(iri) or iri in self._datatypes

    def _read_shapes(self, classes: set[str]) -> None:
        """SHACL: targets, or a node shape that is a class, are domains; values are ranges."""
        index = self.index

        def targets(shape: str) -> list[str]:
            implicit = [shape] if shape in classes and not is_skolem_iri(shape) else []
            return implicit + index.iris(shape, SH.targetClass.value)

        owners = defaultdict(list)
        for owner, shape in index.pairs(SH.property.value):
            owners[shape].append(owner)
        for shape, class_ in index.pairs(SH.targetClass.value):
            self.shapes[class_] += [shape] if shape != class_ else []
        self.paths: set[str] = set()
        for shape, path in index.pairs(SH.path.value):
            if is_skolem_iri(path):  # a path expression
                continue
            self.paths.add(path)
            self.shapes[path].append(shape)
            for holder in (shape, *owners[shape]):
                self.roles["domain"][path] += targets(holder)
            for node in index.nested(shape, SH["or"].value, SH.xone.value):
                ranges = index.iris(node, SH["class"].value, SH.datatype.value)
                for other in index.iris(node, SH.node.value):
                    ranges += targets(other)
                self.roles["range"][path] += ranges
                self.roles["node kind"][path] += index.iris(node, SH.nodeKind.value)

    def _terms(self, known: set[str], related: Iterable[str]) -> list[str]:
        """Known terms, and related ones in their namespaces; all of these if none is known."""
        spaces = {namespace(iri) for iri in known}
        known = known | {iri for iri in related if not spaces or namespace(iri) in spaces}
        return sorted(iri for iri in known if self._is_usable(iri))

    def _is_usable(self, iri: str) -> bool:
        is_term = bool(iri) and not is_skolem_iri(iri) and not iri.startswith(LANGUAGES)
        return is_term and iri not in self._deprecated and not self._is_alias(iri)

    def _is_alias(self, iri: str) -> bool:
        """Whether a term is only mapped to: equivalent to another, without an axiom or a label."""
        axioms = (*DOMAINS, *RANGES, *LABELS, RDFS.subClassOf.value, RDFS.subPropertyOf.value)
        return iri in self._equivalents and not self.index.objects(iri, *axioms)

    def usable(self, iri: str, role: str) -> tuple[str, ...]:
        """The other terms in a role, without those that are left out of a schema."""
        others = {*self.roles[role].get(iri, ())} - {iri}
        return tuple(sorted(filter(self._is_usable, others)))

    def texts(self, term: str, role: str) -> tuple[str, ...]:
        """The texts of a term and its shapes."""
        nodes = (term, *self.shapes.get(term, ()))
        each = (text for node in nodes for text in texts(self.index, node, _TEXTS[role]))
        return tuple(dict.fromkeys(each))

    def admitted(self, iri: str, role: str) -> tuple[str, ...]:
        """Domains or ranges without those that admit everything."""
        terms = set(self.roles[role].get(iri, ())) - ANYTHING
        return tuple(sorted(term for term in terms if not is_skolem_iri(term)))


def _described(read: _SchemaReader, iri: str) -> dict[str, Any]:
    """The names and texts of a term; labels such as ``birthDate`` are split."""
    labels, local = read.texts(iri, "label"), local_name(iri)
    words = split_words(local)
    is_local = not labels or (labels[0] == local and " " in words)
    label = words if is_local else labels[0]
    names = {*labels[:1], *read.texts(iri, "alternative")}
    return {
        "iri": iri,
        "label": label,
        "alternatives": tuple(sorted(n for n in names if n.casefold() != label.casefold())),
        "definition": next(iter(read.texts(iri, "definition")), ""),
        "examples": tuple(dict.fromkeys(texts(read.index, iri, EXAMPLES))),
    }


def _property(read: _SchemaReader, iri: str) -> OntologyProperty:
    index, described = read.index, _described(read, iri)
    types = set(index.iris(iri, TYPE))
    known = set(read.properties)
    inverses = sorted({*read.roles["inverse"].get(iri, ())} & known) if iri in known else []
    ranges, kinds = (read.roles[role].get(iri, []) for role in ("range", "node kind"))
    is_symmetric = OWL.SymmetricProperty.value in types or iri in inverses
    if OWL.DatatypeProperty.value in types:
        is_literal = True
    elif ranges:
        is_literal = all(read.is_datatype(r) or bool(named_datatype(r)) for r in ranges)
    elif kinds:
        is_literal = set(kinds) == {SH.Literal.value}
    else:
        is_literal = not (is_symmetric or inverses) and bool(label_datatype(described["label"]))
    admitted = read.admitted(iri, "range")
    most = [index.objects(shape, SH.maxCount.value) for shape in read.shapes.get(iri, ())]
    return OntologyProperty(
        **described,
        phrases=read.texts(iri, "phrase"),
        inverse_phrases=read.texts(iri, "inverse phrase"),
        domains=read.admitted(iri, "domain"),
        # Beside other ranges, which are narrower, rdfs:Literal says nothing.
        ranges=tuple(r for r in admitted if r != RDFS.Literal.value) or admitted,
        parents=read.usable(iri, "superproperty"),
        inverse=next((other for other in inverses if other != iri), ""),
        equivalents=tuple(sorted({*read.roles["equivalent"].get(iri, ())} - {iri})),
        is_literal=is_literal,
        is_functional=OWL.FunctionalProperty.value in types
        or (bool(most) and all("1" in [getattr(t, "value", "") for t in m] for m in most)),
        is_symmetric=is_symmetric,
    )


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


@cache
def common_property(name: str, *, is_literal: bool) -> OntologyProperty | None:
    """The property of the packaged ontology with a name, if it is one of values or not, too.

    So "date of birth" is known in Wikidata, and "birth date" in DBpedia. Other names of properties
    between things than labels are too vague: a mayor is no head of state.
    """
    properties = common_schema().properties
    with suppress(UsageError):  # several have the name
        known = properties.get(TermNames("property", properties).find(name) or "")
        is_named = known and (is_literal or known.label.casefold() == name.casefold())
        return known if known and is_named and known.is_literal == is_literal else None
    return None
