"""Reads single resources, and what dereferencing an IRI returns: the description of a resource.

It is a concise bounded description in both directions, in terms of the graph model: the statements
about the resource and those that lead to it, complete descriptions of the nodes that only exist for
it (relationships of an entity, uses of names in a document, justifications of links), and names for
all other ends. Every part is bounded, and what was left out is counted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox
from markupsafe import Markup, escape

from sarag_rdf.base.iris import Minter, is_iri, local_name, namespace
from sarag_rdf.base.resources import ontology_path
from sarag_rdf.base.types import Timed
from sarag_rdf.base.vocab import (
    COMMON,
    DCTERMS,
    FOAF,
    OWL,
    PREFIXES,
    PROV,
    RDF,
    RDFS,
    SARAG,
    SCHEMA,
    SKOS,
    WIKIBASE,
    WIKIBASE_SCHEMA,
    XSD,
    text_of,
)
from sarag_rdf.base.words import saying
from sarag_rdf.graph.texts import by_language
from sarag_rdf.graph.valid_time import TIMES
from sarag_rdf.server.endpoint_store import MOST_QUADS, EndpointStore

MAX_STATEMENTS = 50
"""Statements per property and direction, and on each page of instances."""
MAX_PROPERTIES = 200
"""Properties per direction."""
MAX_NODES = 250
"""Nodes that are described completely beside the resource."""
MAX_SCAN = MOST_QUADS
"""Statements in one direction that are counted; of resources with more, some are not seen."""
MAX_DEPTH = 4
"""Depth of nested nodes without a name of their own."""

NAMES = (
    SKOS.prefLabel.value, DCTERMS.title.value, RDFS.label.value, SCHEMA.name.value,
    WIKIBASE_SCHEMA.name.value, FOAF.name.value,
)  # fmt: skip
"""Properties that name a resource, the first that it has."""
_WORDINGS = (SARAG.name.value, SARAG.text.value)
"""Properties by which other resources are called: name uses and relationships."""
_NAMING = NAMES + _WORDINGS
TYPE = RDF.type.value
_OWN_NODES = {
    SARAG.subject.value, SARAG.object.value, SARAG.refersTo.value, SARAG.useOf.value,
    SARAG.source.value, PROV.wasDerivedFrom.value, OWL.annotatedSource.value,
}  # fmt: skip
"""Properties of nodes that are described with the resource to which these lead."""
_ACTIVITIES = {PROV.wasGeneratedBy.value, SARAG.extractedBy.value}
"""Properties to nodes that are described with the resource from which these lead."""
_GENID = "/genid/"
"""In the IRIs that stand for blank nodes."""
_JOINING = ((OWL.unionOf, " or "), (OWL.intersectionOf, " and "), (RDF.rest, ", "))
MAX_LISTED = 20
"""Members of a class expression or list that are named."""
_VOCABULARIES = {SARAG.base: "sarag.ttl", COMMON.base: "common.ttl"}
"""Namespace -> file of the packaged ontology that defines its terms."""


@cache
def _vocabulary(file: str) -> ox.Store:
    store = ox.Store()
    store.load(path=str(ontology_path(file)), format=ox.RdfFormat.TURTLE)
    return store


@dataclass(frozen=True, slots=True)
class Group:
    """The statements of a resource with one property, in one direction.

    `count` is their number, of which `terms` are the first: the objects, or the subjects if
    `inverse`. It is a lower bound unless `is_exact`.
    """

    property: str
    inverse: bool
    terms: tuple[Any, ...]
    count: int
    is_exact: bool = True


class Resources:
    """Reads single resources from some graphs of a store; `readable` is None for all graphs."""

    def __init__(
        self, store: ox.Store | EndpointStore, readable: frozenset[str] | None = None
    ) -> None:
        self._store = store
        self._ahead: defaultdict[tuple[str, ...], dict[str, list[ox.Quad]]] = defaultdict(dict)
        """Predicates (none for all) -> IRI -> quads."""
        self._readable = readable
        self._out: dict[str, dict[str, Group]] = {}
        self._names: dict[str, tuple[str, ox.Literal] | None] = {}

    def _quads(self, subject: Any, predicate: Any, object_: Any) -> Iterator[ox.Quad]:
        """Quads in readable graphs, at most `MAX_SCAN`."""
        quads = self._store.quads_for_pattern(subject, predicate, object_, None)
        return islice(self._readable_only(quads), MAX_SCAN)

    def _readable_only(self, quads: Iterator[ox.Quad]) -> Iterator[ox.Quad]:
        if (readable := self._readable) is not None:
            quads = (q for q in quads if getattr(q.graph_name, "value", "") in readable)
        return quads

    def read_ahead(self, iris: Iterable[str], *, names: bool = False) -> None:
        """Read the statements about resources, or their `names`, in few requests to an endpoint.

        Reading them one by one takes a request for each. A store in a folder needs none.
        """
        if not isinstance(self._store, EndpointStore):
            return
        chosen = _NAMING if names else ()
        known, complete = self._ahead[chosen], self._ahead[()]
        unread = (iri for iri in iris if is_iri(iri) and not (iri in known or iri in complete))
        new: dict[str, list[ox.Quad]] = {iri: [] for iri in unread}
        for quad in self._readable_only(self._store.quads_about(new, chosen)):
            new[text_of(quad.subject)].append(quad)
        known.update(new)

    def _about(self, iri: str, property_: ox.NamedNode | None = None) -> Iterator[ox.Quad]:
        """Statements about a resource, for terms of the packaged vocabularies also those there."""
        node = ox.NamedNode(iri)
        self.read_ahead([iri], names=property_ is not None and property_.value in _NAMING)
        known = self._ahead[()].get(iri, self._ahead[_NAMING].get(iri))
        if known is None:
            yield from self._quads(node, property_, None)
        else:
            yield from (quad for quad in known if property_ in (None, quad.predicate))
        for base, file in _VOCABULARIES.items():
            if iri.startswith(base):
                yield from _vocabulary(file).quads_for_pattern(node, property_, None, None)

    def exists(self, iri: str) -> bool:
        """Whether a statement has the IRI in any place."""
        node = ox.NamedNode(iri)
        places = self._about(iri), self._quads(None, None, node), self._quads(None, node, None)
        return any(next(place, None) is not None for place in places)

    def has_graph(self, iri: str) -> bool:
        """Whether there is a readable graph of this name."""
        is_readable = self._readable is None or iri in self._readable
        return is_readable and self._store.contains_named_graph(ox.NamedNode(iri))

    def graph_of(self, iri: str) -> str:
        """The readable graph that has statements about a resource; empty if none has."""
        quads = self._quads(ox.NamedNode(iri), None, None)
        return min((getattr(quad.graph_name, "value", "") for quad in quads), default="")

    def below(self, iri: str) -> list[str]:
        """Sources whose IRIs are this one and a fragment: the records of a file."""
        sources = self._quads(None, RDF.type, SARAG.Source)
        iris = (getattr(quad.subject, "value", "") for quad in sources)
        return sorted(islice((s for s in iris if s.startswith(iri + "#")), MAX_STATEMENTS))

    def out(self, iri: str) -> dict[str, Group]:
        """The statements about a resource, by property; none for what is not an IRI."""
        if not is_iri(iri):
            return {}
        if iri not in self._out:
            self._out[iri] = _grouped((q.predicate, q.object) for q in self._about(iri))
        return self._out[iri]

    def into(self, iri: str, page: int = 1) -> dict[str, Group]:
        """The statements that lead to a resource, by property; instances are paged."""
        node = ox.NamedNode(iri)
        pairs = ((quad.predicate, quad.subject) for quad in self._quads(None, None, node))
        return _grouped(pairs, inverse=True, page=page)

    def subjects(self, iri: str, property_: ox.NamedNode, limit: int) -> list[str]:
        """The first subjects of statements with a property and this object, in a fixed order."""
        if not is_iri(iri):
            return []
        iris: dict[str, None] = {}
        for quad in self._quads(None, property_, ox.NamedNode(iri)):
            if isinstance(quad.subject, ox.NamedNode):
                iris[quad.subject.value] = None
            if len(iris) == limit:
                break
        return sorted(iris)

    def uses(self, iri: str, page: int = 1) -> tuple[list[ox.Triple], int]:
        """A page of the statements with a property, and the number of all."""
        triples = dict.fromkeys(q.triple for q in self._quads(None, ox.NamedNode(iri), None))
        begin = (page - 1) * MAX_STATEMENTS
        return list(islice(triples, begin, begin + MAX_STATEMENTS)), len(triples)

    def name(self, iri: str) -> tuple[str, ox.Literal] | None:
        """The property and literal that name a resource best, or None if it has no name."""
        if iri not in self._names:
            self._names[iri] = self._read_name(iri)
        return self._names[iri]

    def _read_name(self, iri: str) -> tuple[str, ox.Literal] | None:
        for property_ in map(ox.NamedNode, _NAMING if is_iri(iri) else ()):
            terms = [quad.object for quad in self._about(iri, property_)]
            literals = [term for term in terms if isinstance(term, ox.Literal)]
            if literals:
                return property_.value, min(literals, key=by_language)
        return None

    def values(self, iri: str, property_: ox.NamedNode) -> tuple[Any, ...]:
        """The objects of a property of a resource, without triple terms."""
        group = self.out(iri).get(property_.value)
        return tuple(t for t in group.terms if not isinstance(t, ox.Triple)) if group else ()

    def is_split(self, mention: str) -> bool:
        """Whether a name refers to several entities by decision."""
        variants = self._quads(None, SARAG.variantOf, ox.NamedNode(mention))
        return len({quad.subject for quad in variants}) > 1

    def iri(self, iri: str, property_: ox.NamedNode) -> str:
        """The first object of a property of a resource that is an IRI; empty if there is none."""
        nodes = (t for t in self.values(iri, property_) if isinstance(t, ox.NamedNode))
        return next((node.value for node in nodes), "")

    def value(self, iri: str, property_: ox.NamedNode) -> str:
        """The first object of a property of a resource, as text; empty if it has none."""
        return next((term.value for term in self.values(iri, property_)), "")


def _grouped(
    pairs: Iterable[tuple[ox.NamedNode, Any]], *, inverse: bool = False, page: int = 1
) -> dict[str, Group]:
    """Groups by property, in the order of their IRIs, with their first terms in a fixed order."""
    by_property: dict[str, dict[Any, None]] = {}
    seen = 0
    for seen, (predicate, term) in enumerate(pairs, 1):  # noqa: B007 - counted to the end
        by_property.setdefault(predicate.value, {})[term] = None
    groups = {}
    for property_ in sorted(by_property)[:MAX_PROPERTIES]:
        terms = by_property[property_]
        begin = (page - 1) * MAX_STATEMENTS if property_ == TYPE and inverse else 0
        chosen = islice(terms, begin, begin + MAX_STATEMENTS)
        ordered = tuple(sorted(chosen, key=str))
        groups[property_] = Group(property_, inverse, ordered, len(terms), seen < MAX_SCAN)
    return groups


@dataclass(frozen=True, slots=True)
class Description:
    """A resource with its statements in both directions, and the triples that describe it.

    `uses` are statements with the resource as property, of `use_count`.
    """

    iri: str
    out: dict[str, Group]
    into: dict[str, Group]
    uses: tuple[ox.Triple, ...]
    use_count: int
    triples: tuple[ox.Triple, ...]
    page: int = 1


def describe_resource(resources: Resources, iri: str, page: int = 1) -> Description:
    """The description of a resource, which need not exist; `page` is that of its instances."""
    out, into = resources.out(iri), resources.into(iri, page)
    uses, use_count = resources.uses(iri, page)
    triples = set(uses)
    described = {iri}
    pending = list(_own_nodes(out, into))[:MAX_NODES]
    triples.update(_statements(iri, out), _statements(iri, into))
    for depth in range(MAX_DEPTH):
        resources.read_ahead(pending)
        following: list[str] = []
        for node in pending:
            if node in described or len(described) > MAX_NODES:
                continue
            described.add(node)
            groups = resources.out(node)
            triples.update(_statements(node, groups))
            nested = _own_nodes(groups, {})
            following += (n for n in nested if depth == 0 or _GENID in n)
        pending = following
    ends = {
        term.value
        for triple in triples
        for term in (triple.subject, triple.object)
        if isinstance(term, ox.NamedNode)
    }
    resources.read_ahead(ends - described, names=True)
    for end in sorted(ends - described):
        named = resources.name(end)
        if named is not None:
            triples.add(ox.Triple(ox.NamedNode(end), ox.NamedNode(named[0]), named[1]))
    subject = f"<{iri}>"
    ordered = sorted(triples, key=lambda triple: (str(triple.subject) != subject, str(triple)))
    return Description(iri, out, into, tuple(uses), use_count, tuple(ordered), page)


def _statements(iri: str, groups: dict[str, Group]) -> Iterator[ox.Triple]:
    node = ox.NamedNode(iri)
    for group in groups.values():
        predicate = ox.NamedNode(group.property)
        for term in group.terms:
            ends = (term, node) if group.inverse else (node, term)
            yield ox.Triple(ends[0], predicate, ends[1])


def _own_nodes(out: dict[str, Group], into: dict[str, Group]) -> Iterator[str]:
    """Nodes that are described together with a resource of these statements."""
    for group in into.values():
        if group.property in _OWN_NODES:
            yield from (term.value for term in group.terms if isinstance(term, ox.NamedNode))
    for group in out.values():
        for term in group.terms:
            is_node = isinstance(term, ox.NamedNode)
            if is_node and (group.property in _ACTIVITIES or _GENID in term.value):
                yield term.value


# ------------------------------------------------------------------------ Names and sentences

MAX_TEXT = 40_000
"""Characters of a document that are read; of other texts `MAX_VALUE`, of names `MAX_NAME`."""
MAX_VALUE, MAX_NAME = 1200, 140
MAX_USES = 400
"""Names of a document that are marked."""
_MAX_LANGUAGE = 40
_NO_SPACES = "\u0e00"
"""From here on, scripts begin that do not put spaces between words: Thai, CJK."""


def page_href(iri: str, **parameters: object) -> str:
    """The URL of a resource's page, relative to the pages of the server."""
    more = "".join(f"&{name}={value}" for name, value in parameters.items())
    return f"resource?iri={quote(iri, safe='')}{more}"


@dataclass(frozen=True, slots=True)
class Ref:
    """A link to the page of a resource."""

    iri: str
    text: str
    language: str = ""

    @property
    def href(self) -> str:
        return page_href(self.iri)


@dataclass(frozen=True, slots=True)
class Value:
    """A literal, of which `text` may be cut."""

    text: str
    language: str = ""
    note: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Relationship(Timed):
    """What a sentence states; the objects are an entity, a literal or both (of a date)."""

    iri: str
    subject: str
    objects: tuple[Any, ...]
    phrase: str
    text: str
    language: str
    confidence: str
    document: str
    properties: frozenset[str]
    inverse: frozenset[str]
    is_deprecated: bool = False

    @property
    def ref(self) -> Ref:
        return Ref(self.iri, self.text, self.language)

    @property
    def ends(self) -> set[str]:
        """Its entities."""
        return {self.subject, *(t.value for t in self.objects if is_iri_term(t))}

    def sentence(self, text: str) -> tuple[int, int]:
        """Where the sentence of its document begins and ends that states it."""
        return saying(text, self.text, self.phrase, self.language)


class Texts:
    """Reads names and sentences for the page of a resource."""

    def __init__(self, resources: Resources, minter: Minter) -> None:
        self._resources = resources
        self._minter = minter
        self._names: dict[str, dict[str, str]] = {}

    def ref(self, iri: str) -> Ref:
        """A link to a resource by its name, its members, the path of a source, or its IRI's end."""
        named = self._resources.name(iri)
        if named is None or not named[1].value.strip():
            key = self._members(iri) or self._minter.key_of_source(iri)
            return Ref(iri, cut(key or _prefixed(iri), MAX_NAME))
        text = " ".join(named[1].value.split())
        return Ref(iri, cut(text, MAX_NAME), language_of(named[1]))

    def _members(self, iri: str) -> str:
        """A node that stands for a blank one in words, if it joins classes or begins a list."""
        read = self._resources
        for property_, word in _JOINING if _GENID in iri else ():
            node, members = iri if property_ == RDF.rest else read.iri(iri, property_), list[str]()
            while member := read.iri(node, RDF.first) if len(members) < MAX_LISTED else "":
                named = read.name(member)
                members.append(named[1].value if named else _prefixed(member))
                node = read.iri(node, RDF.rest)
            if members:
                return word.join(members)
        return ""

    def end(self, term: Any) -> Ref | Value:
        """A term as a link or a value."""
        if is_iri_term(term):
            return self.ref(term.value)
        if not isinstance(term, ox.Literal):
            return Value(cut(str(term), MAX_VALUE))
        is_plain = term.datatype in (XSD.string, RDF.langString)
        note = "" if is_plain else _prefixed(term.datatype.value)
        text = cut(term.value, MAX_VALUE)
        return Value(text, language_of(term), note, len(term.value) > MAX_VALUE)

    def property(self, iri: str) -> Ref:
        """A property by its label, or its name in words."""
        named = self._resources.name(iri)
        if named is None:
            return Ref(iri, in_words(local_name(iri)))
        return Ref(iri, cut(named[1].value, MAX_NAME), language_of(named[1]))

    def mention(self, iri: str) -> Ref:
        """A name by its normalised form."""
        name = self._resources.value(iri, SARAG.normalizedName)
        return Ref(iri, cut(name or _prefixed(iri), MAX_NAME))

    def relationship(self, iri: str) -> Relationship:
        """A relationship as described in the graph."""
        read = self._resources
        objects = (*read.values(iri, SARAG.object), *read.values(iri, SARAG.value))
        texts = [t for t in read.values(iri, SARAG.text) if isinstance(t, ox.Literal)]
        return Relationship(
            iri,
            read.iri(iri, SARAG.subject),
            objects or (ox.Literal(""),),
            read.value(iri, SARAG.phrase),
            cut(texts[0].value, MAX_VALUE) if texts else "",
            language_of(texts[0]) if texts else "",
            read.value(iri, SARAG.confidence),
            read.iri(iri, PROV.wasDerivedFrom),
            frozenset(t.value for t in read.values(iri, SARAG.property)),
            frozenset(t.value for t in read.values(iri, SARAG.inverseProperty)),
            WIKIBASE.DeprecatedRank in read.values(iri, WIKIBASE.rank),
            **{name: read.value(iri, property_) for name, property_ in TIMES},
        )

    def evidence(self, relationship: Relationship) -> dict[str, Any]:
        """A relationship with its sentence, of which `begin` and `end` are in its document."""
        document, ends = relationship.document, relationship.ends
        evidence = {"relationship": relationship, "sentence": Markup(), "document": None}
        if not document:
            return evidence
        text, names = self.text(document), self.spellings(document)
        begin, end = relationship.sentence(text)
        own = {name: entity for name, entity in names.items() if entity in ends}
        sentence = self.mark(text[begin:end][:MAX_VALUE], own)
        passage = {"text": sentence, **self.offsets(document, begin, end)}
        return evidence | {
            "sentence": sentence, "document": self.ref(document), "passage": passage,
        }  # fmt: skip

    def text(self, document: str) -> str:
        """The first `MAX_TEXT` characters of a document."""
        return self._resources.value(document, SARAG.text)[:MAX_TEXT]

    def offsets(self, document: str, begin: int, end: int) -> dict[str, int]:
        """Those of a part of a document in its source."""
        start = self._resources.value(document, SARAG.beginIndex)
        offset = int(start) if start.isascii() and start.isdigit() and len(start) < 16 else 0
        return {"begin": offset + begin, "end": offset + end}

    def described(self, document: str, passages: list[Any], **more: Any) -> dict[str, Any]:
        """A document with its source and some passages."""
        source = self._resources.iri(document, SARAG.source)
        return {
            "ref": self.ref(document),
            "source": self.ref(source) if source else None,
            "language": self.language(document),
            "passages": passages,
            "is_topic": False,
            **more,
        }

    def language(self, document: str) -> str:
        """The language tag of the text of a document."""
        texts = self._resources.values(document, SARAG.text)
        return language_of(texts[0]) if texts else ""

    def spellings(self, document: str) -> dict[str, str]:
        """Spelling -> entity, as the document uses its names."""
        if document not in self._names:
            entities = self._names[document] = {}
            read = self._resources
            uses = read.subjects(document, PROV.wasDerivedFrom, MAX_USES)
            read.read_ahead(uses)
            read.read_ahead(read.iri(use, SARAG.useOf) for use in uses)
            for use in uses:
                mention = read.iri(use, SARAG.useOf)
                entity = read.iri(mention, SARAG.refersTo) if mention else ""
                for name in read.values(use, SARAG.name) if entity else ():
                    entities[name.value] = entity
        return self._names[document]

    def mark(self, text: str, spellings: Mapping[str, str]) -> Markup:
        """A text in which names link to their entities, the longest first where they overlap."""
        names = sorted((name for name in spellings if name.strip()), key=lambda n: (-len(n), n))
        if not names:
            return escape(text)
        parts, position = [], 0
        for match in re.finditer("|".join(map(_whole_name, names)), text):
            link = Markup('<a class="mark" href="{}">{}</a>')
            parts.append(escape(text[position : match.start()]))
            parts.append(link.format(page_href(spellings[match.group()]), match.group()))
            position = match.end()
        return Markup().join((*parts, escape(text[position:])))


def _whole_name(name: str) -> str:
    """A pattern for a name between other words; scripts without spaces have none between."""
    before = r"(?<!\w)" if name[0].isalnum() and name[0] < _NO_SPACES else ""
    after = r"(?!\w)" if name[-1].isalnum() and name[-1] < _NO_SPACES else ""
    return before + re.escape(name) + after


def is_iri_term(term: Any) -> bool:
    return isinstance(term, ox.NamedNode)


def language_of(literal: Any) -> str:
    return str(getattr(literal, "language", None) or "")[:_MAX_LANGUAGE]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _prefixed(iri: str) -> str:
    """The last part of an IRI, after the prefix of its namespace if it is a known one."""
    space = namespace(iri)
    if space == iri:  # such as a URN
        return iri
    prefix = next((prefix for prefix, known in PREFIXES.items() if known == space), "")
    return f"{prefix}:{local_name(iri)}" if prefix else local_name(iri)


def in_words(name: str) -> str:
    """A name in camel case or with underscores as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
