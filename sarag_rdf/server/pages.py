"""The page of a resource: what its description says, and the texts behind it, for people.

Everything in a graph may be hostile: templates escape it, links lead to this server alone, and what
is long or numerous is cut with a remark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import pyoxigraph as ox
from markupsafe import Markup

from sarag_rdf.base.iris import DEFAULT_BASE, Minter, is_iri
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.vocab import (
    DCTERMS,
    OWL,
    PROV,
    RDF,
    RDFS,
    SARAG,
    SCHEMA,
    SKOS,
    SSSOM,
)
from sarag_rdf.graph.metadata import Meta
from sarag_rdf.server.description import (
    MAX_SCAN,
    MAX_STATEMENTS,
    NAMES,
    TYPE,
    Description,
    Group,
    Resources,
)
from sarag_rdf.server.evidence import (
    MAX_NAME,
    MAX_TEXT,
    MAX_USES,
    Passage,
    Ref,
    Relationship,
    Segment,
    Texts,
    Value,
    best_sentence,
    cut,
    in_words,
    is_iri_term,
    language_of,
    local_name,
    page_href,
)
from sarag_rdf.server.picture.neighbourhood import Neighbour, neighbourhood_svg
from sarag_rdf.server.views import (
    DocumentView,
    GroupView,
    Kind,
    Link,
    Name,
    Page,
    Reason,
    Row,
    Sentence,
)

_MAX_DOCUMENTS, _MAX_PASSAGES, _MAX_EVIDENCE = 8, 2, 3
_MAX_RELATIONSHIPS, _MAX_PHRASES, _MAX_DRAWN = 400, 12, 12
_TEMPLATES = Path(__file__).parent / "templates"
_ALT_NAMES = tuple(term.value for term in (SKOS.altLabel, SKOS.hiddenLabel, SCHEMA.alternateName))
_DEFINITIONS = tuple(
    term.value for term in (SKOS.definition, RDFS.comment, DCTERMS.description, SCHEMA.description)
)
_LINKS = tuple(
    term.value
    for term in (
        *(SKOS[f"{kind}Match"] for kind in ("exact", "close", "broad", "narrow", "related")),
        OWL.sameAs,
    )
)
_DECISIONS = {
    SARAG.mergedInto.value: "merged by decision into",
    SARAG.keptApartFrom.value: "kept apart by decision from",
    SARAG.variantOf.value: "variant by decision of",
}
_CLASSES = frozenset(term.value for term in (RDFS.Class, OWL.Class))
_PROPERTIES = frozenset(
    term.value
    for term in (
        RDF.Property,
        OWL.ObjectProperty,
        OWL.DatatypeProperty,
        OWL.AnnotationProperty,
    )
)
_IN_OTHER_PLACES: Mapping[str, tuple[ox.NamedNode, ...]] = {
    "entity": (
        SARAG.relatedTo, SARAG.describes, SARAG.about, SARAG.subject, SARAG.object,
        SARAG.refersTo, OWL.annotatedSource,
    ),
    "document": (
        SARAG.text, SARAG.mentions, SARAG.titleMention, SARAG.topicMention, SARAG.describes,
        SARAG.about, SARAG.source, SARAG.beginIndex, SARAG.endIndex, PROV.wasDerivedFrom,
    ),
    "relationship": (
        SARAG.text, SARAG.phrase, SARAG.subject, SARAG.object, SARAG.subjectMention,
        SARAG.objectMention, SARAG.property, SARAG.inverseProperty, SARAG.statedProperty,
        SARAG.statedInverseProperty, SARAG.value, SARAG.valueText, SARAG.confidence,
        PROV.wasDerivedFrom, PROV.wasGeneratedBy,
    ),
    "source": (SARAG.source,),
    "class": (),
    "property": (),
    "resource": (),
}  # fmt: skip
"""Kind of page -> properties that it shows outside the lists of statements."""


def query_href(sparql: str) -> str:
    """The URL of the SPARQL editor with a query."""
    return f"sparql-editor#query={quote(sparql, safe='')}"


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["page_href"] = page_href
    environment.tests["ref"] = lambda item: isinstance(item, Ref)
    return environment


def resource_page(
    resources: Resources, description: Description, jsonld: str, meta: Meta | None
) -> str:
    """The HTML page of a resource; `jsonld` is its description without ``<``, ``>`` and ``&``."""
    page = _PageBuilder(resources, description, meta).build()
    template = _templates().get_template("resource.html.j2")
    return template.render(page=page, jsonld=Markup(jsonld))  # noqa: S704 - escaped by the caller


class _PageBuilder:
    """Collects what a page shows."""

    def __init__(self, resources: Resources, description: Description, meta: Meta | None) -> None:
        self._resources = resources
        self._description = description
        self._minter = Minter(meta.base if meta else DEFAULT_BASE)
        self.texts = Texts(resources, self._minter)
        self._annotations: dict[str, dict[tuple[str, str], str]] = {}
        self._iri = description.iri
        self._types = frozenset(
            term.value for term in resources.values(self._iri, RDF.type) if is_iri_term(term)
        )
        self._kind: Kind = self._kind_of()

    @property
    def _has_names(self) -> bool:
        """Whether labels are names; those of evidence are made of its text."""
        return self._kind not in ("document", "relationship")

    def _kind_of(self) -> Kind:
        kinds: tuple[tuple[Kind, ox.NamedNode], ...] = (
            ("entity", SARAG.Entity),
            ("document", SARAG.Document),
            ("source", SARAG.Source),
            ("relationship", SARAG.Relationship),
        )
        for kind, class_ in kinds:
            if class_.value in self._types:
                return kind
        if self._types & _CLASSES or TYPE in self._description.into:
            return "class"
        if self._types & _PROPERTIES or self._description.use_count:
            return "property"
        return "resource"

    def build(self) -> Page:
        """The page."""
        iri, description = self._iri, self._description
        names = self._literals(*NAMES[:3], *_ALT_NAMES)
        hidden = {*NAMES, *_ALT_NAMES, *_DEFINITIONS, TYPE}
        if self._kind == "entity":
            hidden |= set(_LINKS)
        hidden.update(term.value for term in _IN_OTHER_PLACES[self._kind])
        title = self.texts.ref(iri)
        page = Page(
            self._kind,
            iri,
            title,
            tuple(
                self.texts.ref(type_)
                for type_ in sorted(self._types - {SARAG.Entity.value}, key=self._specific)
            ),
            tuple(name for name in names if name.text != title.text and self._has_names),
            self._literals(*_DEFINITIONS),
            page=description.page,
        )
        shown = _Shown(self, hidden)
        if self._kind == "entity":
            page = self._entity(page, shown)
        elif self._kind == "document":
            page = self._document(page)
        elif self._kind == "source":
            page = self._source(page)
        elif self._kind == "relationship":
            page = self._relationship(page)
        elif self._kind == "class":
            page = self._class(page, shown)
        elif self._kind == "property":
            page = self._property(page)
        page = replace(
            page,
            out=tuple(shown.groups(description.out.values())),
            into=tuple(shown.groups(description.into.values())),
            queries=self._queries(),
        )
        return self._with_picture(page) if page.is_explorable else page

    def _specific(self, type_: str) -> tuple[bool, str]:
        """Classes of ontologies first."""
        return type_.startswith(SARAG.base), type_

    def _queries(self) -> dict[str, str]:
        iri = f"<{self._iri}>"
        return {
            "out": query_href(f"SELECT ?property ?object {{ {iri} ?property ?object }}"),
            "into": query_href(f"SELECT ?subject ?property {{ ?subject ?property {iri} }}"),
            "instances": query_href(f"SELECT ?instance {{ ?instance a {iri} }}"),
            "uses": query_href(f"SELECT ?subject ?object {{ ?subject {iri} ?object }}"),
            "documents": query_href(
                f"SELECT ?document {{ ?document <{SARAG.base}describes> {iri} }}"
            ),
            "relationships": query_href(
                f"PREFIX sarag: <{SARAG.base}>\n"
                "SELECT ?relationship ?phrase ?text {\n"
                f"  ?relationship sarag:subject|sarag:object {iri} ;\n"
                "    sarag:phrase ?phrase ; sarag:text ?text\n}"
            ),
        }

    def _literals(self, *properties: str) -> tuple[Value, ...]:
        by_text: dict[str, Value] = {}
        for property_ in properties:
            group = self._description.out.get(property_)
            for term in group.terms if group else ():
                if isinstance(term, ox.Literal):
                    value = self.texts.end(term)
                    assert isinstance(value, Value)  # noqa: S101 - the term is a literal
                    by_text.setdefault(value.text, value)
        return tuple(by_text.values())

    # ----------------------------------------------------------------------- Pages

    def _entity(self, page: Page, shown: _Shown) -> Page:
        read, iri = self._resources, self._iri
        ends = [
            read.subjects(iri, property_, _MAX_RELATIONSHIPS)
            for property_ in (SARAG.subject, SARAG.object)
        ]
        relationships = [
            self.texts.relationship(relationship) for end in ends for relationship in end
        ]
        shown.support(relationships)
        untyped: defaultdict[tuple[str, bool], dict[str, Relationship]] = defaultdict(dict)
        for relationship in relationships:
            if not relationship.is_typed:
                inverse = relationship.subject != iri
                untyped[relationship.phrase, inverse][relationship.iri] = relationship
        ordered = sorted(untyped, key=lambda key: (key[1], -len(untyped[key]), key[0]))
        phrases = [
            GroupView(
                Value(phrase, language=next(iter(untyped[phrase, inverse].values())).language),
                inverse,
                tuple(
                    Row(self._other_end(relationship), (self.texts.evidence(relationship),))
                    for relationship in list(untyped[phrase, inverse].values())[:_MAX_EVIDENCE]
                ),
                max(0, len(untyped[phrase, inverse]) - _MAX_EVIDENCE),
            )
            for phrase, inverse in ordered[:_MAX_PHRASES]
        ]
        left_out = sum(len(untyped[key]) for key in ordered[_MAX_PHRASES:])
        describing = self._description.into.get(SARAG.describes.value)
        topics = set(read.subjects(iri, SARAG.about, _MAX_DOCUMENTS))
        documents = [
            term.value
            for term in (describing.terms if describing else ())
            if SARAG.Document in read.values(term.value, RDF.type)
        ]
        documents.sort(key=lambda document: (document not in topics, document))
        return replace(
            page,
            phrases=tuple(phrases),
            phrases_left_out=left_out,
            phrases_exact=all(len(end) < _MAX_RELATIONSHIPS for end in ends),
            documents=tuple(
                self._passages(document, is_topic=document in topics)
                for document in documents[:_MAX_DOCUMENTS]
            ),
            document_count=len(documents),
            documents_exact=not describing or describing.count == len(describing.terms),
            links=tuple(self._links()),
            naming=tuple(self._naming()),
        )

    def _other_end(self, relationship: Relationship) -> Ref | Value:
        if relationship.subject == self._iri:
            return self.texts.end(relationship.object)
        return self.texts.ref(relationship.subject)

    def _passages(self, document: str, *, is_topic: bool) -> DocumentView:
        """The first sentences of a document that name the entity, or its beginning."""
        text = self.texts.text(document)
        spellings = {s: e for s, e in self.texts.spellings(document).items() if e == self._iri}
        passages = []
        spans = sentence_spans(text)
        for begin, end in spans:
            segments = self.texts.mark(text[begin:end], spellings)
            if any(segment.ref for segment in segments):
                passages.append(self._passage(document, segments, begin, end))
        if not passages and spans:
            begin, end = spans[0]
            passages.append(self._passage(document, (Segment(text[begin:end]),), begin, end))
        source = self._resources.iri(document, SARAG.source)
        texts = self._resources.values(document, SARAG.text)
        return DocumentView(
            self.texts.ref(document),
            self.texts.source(source) if source else None,
            language_of(texts[0]) if texts else "",
            tuple(passages[:_MAX_PASSAGES]),
            is_topic,
        )

    def _passage(
        self, document: str, segments: tuple[Segment, ...], begin: int, end: int
    ) -> Passage:
        offset = self._offset(document)
        return Passage(segments, offset + begin, offset + end)

    def _offset(self, document: str) -> int:
        """Where a document begins in its source."""
        begin = self._resources.value(document, SARAG.beginIndex)
        return int(begin) if begin.isascii() and begin.isdigit() and len(begin) < 16 else 0

    def _links(self) -> Iterable[Link]:
        read = self._resources
        for property_ in _LINKS:
            group = self._description.out.get(property_)
            for term in group.terms if group else ():
                if not is_iri_term(term):
                    continue
                node = self._annotation(self._iri, property_, term.value)
                target = self.texts.ref(term.value)
                label = read.value(node, SSSOM.object_label)
                if label and read.name(term.value) is None:
                    target = Ref(term.value, cut(label, MAX_NAME))
                yield Link(self.texts.property(property_), target, self._provenance(node))

    def _annotation(self, subject: str, property_: str, target: str) -> str:
        """The node with the provenance of a link or decision; empty if there is none."""
        read = self._resources
        if subject not in self._annotations:
            self._annotations[subject] = {
                (read.iri(node, OWL.annotatedProperty), read.iri(node, OWL.annotatedTarget)): node
                for node in read.subjects(subject, OWL.annotatedSource, MAX_USES)
            }
        return self._annotations[subject].get((property_, target), "")

    def _provenance(self, node: str) -> tuple[str, ...]:
        """How and when a link or decision came about."""
        read = self._resources
        why = read.value(node, SSSOM.mapping_justification)
        details = (
            ("", in_words(local_name(why)) if why else ""),
            ("confidence ", read.value(node, SSSOM.confidence)),
            ("by ", read.value(node, SSSOM.mapping_tool)),
            ("on ", read.value(node, SSSOM.mapping_date)),
            ("", read.value(node, RDFS.comment)),
        )
        return tuple(cut(words + value, MAX_NAME) for words, value in details if value)

    def _naming(self) -> Iterable[Name]:
        """The names that refer to the entity, with their spellings and what joined them."""
        read = self._resources
        own = self._minter.mention_of_entity(self._iri)
        mentions = read.subjects(self._iri, SARAG.refersTo, _MAX_RELATIONSHIPS)
        for mention in sorted(mentions, key=lambda m: (m != own, m)):
            uses = read.subjects(mention, SARAG.useOf, MAX_USES)
            spellings = Counter(n.value for use in uses for n in read.values(use, SARAG.name))
            reasons: list[Reason] = []
            for property_, words in _DECISIONS.items():
                for term in read.values(mention, ox.NamedNode(property_)):
                    node = self._annotation(mention, property_, term.value)
                    reasons.append(Reason(words, self._mention(term.value), self._provenance(node)))
            claims = read.subjects(mention, SARAG.aliasMention, MAX_USES)
            documents = dict.fromkeys(read.iri(use, PROV.wasDerivedFrom) for use in claims)
            reasons += [
                Reason("given as another name in", self.texts.ref(document))
                for document in filter(is_iri, documents)
            ]
            yield Name(
                self._mention(mention),
                tuple(spellings.most_common(12)),
                tuple(reasons[:12]),
            )

    def _mention(self, mention: str) -> Ref:
        name = self._resources.value(mention, SARAG.normalizedName)
        return Ref(mention, cut(name or local_name(mention), MAX_NAME))

    def _document(self, page: Page) -> Page:
        read, iri = self._resources, self._iri
        full = read.value(iri, SARAG.text)
        text = full[:MAX_TEXT]
        spellings = self.texts.spellings(iri)
        derived = read.subjects(iri, PROV.wasDerivedFrom, 2 * MAX_USES)
        relationships = [
            self.texts.relationship(node)
            for node in derived
            if SARAG.Relationship in read.values(node, RDF.type)
        ]
        beside: defaultdict[tuple[int, int], list[Relationship]] = defaultdict(list)
        for relationship in relationships:
            beside[best_sentence(text, relationship, spellings)].append(relationship)
        sentences = tuple(
            Sentence(
                self._offset(iri) + begin,
                self.texts.mark(text[begin:end], spellings),
                tuple(
                    (r, self.texts.ref(r.subject), self.texts.end(r.object))
                    for r in beside[begin, end]
                    if r.subject
                ),
            )
            for begin, end in sentence_spans(text)
        )
        source = read.iri(iri, SARAG.source)
        begin, end = read.value(iri, SARAG.beginIndex), read.value(iri, SARAG.endIndex)
        facts: list[tuple[str, Ref | Value]] = []
        if source:
            facts.append(("Source", self.texts.source(source)))
        facts.append(("Characters", Value(f"{begin} to {end}")))
        facts += [("About", self.texts.ref(t.value)) for t in read.values(iri, SARAG.about)]
        facts.append(("Relationships", Value(str(len(relationships)))))
        texts = read.values(iri, SARAG.text)
        return replace(
            page,
            facts=tuple(facts),
            sentences=sentences,
            is_cut=len(full) > MAX_TEXT,
            language=language_of(texts[0]) if texts else "",
        )

    def _source(self, page: Page) -> Page:
        """The documents of a source, each with its first sentence, in the order of the text."""
        documents = self._resources.subjects(self._iri, SARAG.source, MAX_USES)
        views = [self._passages(document, is_topic=False) for document in documents]
        views.sort(key=lambda view: [passage.begin for passage in view.passages])
        return replace(page, documents=tuple(views[:_MAX_DOCUMENTS]), document_count=len(documents))

    def _relationship(self, page: Page) -> Page:
        read, iri = self._resources, self._iri
        relationship = self.texts.relationship(iri)
        facts: list[tuple[str, Ref | Value]] = []
        if relationship.subject:
            facts.append(("Subject", self.texts.ref(relationship.subject)))
        facts.append(("Phrase", Value(relationship.phrase, relationship.language)))
        facts.append(("Object", self.texts.end(relationship.object)))
        stated = {*relationship.properties, *relationship.inverse}
        stated.update(t.value for t in read.values(iri, SARAG.statedProperty))
        facts += [("Property", self.texts.property(property_)) for property_ in sorted(stated)]
        facts += [("Words", self.texts.end(t)) for t in read.values(iri, SARAG.valueText)]
        facts.append(("Confidence", Value(relationship.confidence)))
        evidence = self.texts.evidence(relationship)
        documents: tuple[DocumentView, ...] = ()
        if evidence.document:
            document = evidence.document.iri
            begin, end = best_sentence(
                self.texts.text(document), relationship, self.texts.spellings(document)
            )
            source = read.iri(document, SARAG.source)
            documents = (
                DocumentView(
                    evidence.document,
                    self.texts.source(source) if source else None,
                    relationship.language,
                    (self._passage(document, evidence.sentence, begin, end),),
                ),
            )
        for activity in read.values(iri, PROV.wasGeneratedBy):
            for label, property_ in (
                ("Extractor", SARAG.extractor),
                ("Model", SARAG.model),
                ("Settings", SARAG.settings),
            ):
                facts += [
                    (label, self.texts.end(t)) for t in read.values(activity.value, property_)
                ]
            facts.append(("Extraction", self.texts.ref(activity.value)))
        return replace(page, facts=tuple(facts), documents=documents, document_count=len(documents))

    def _class(self, page: Page, shown: _Shown) -> Page:
        instances = self._description.into.get(TYPE)
        shown.hide(TYPE)
        if instances is None:
            return page
        refs = sorted(
            (self.texts.end(t) for t in instances.terms), key=lambda ref: ref.text.casefold()
        )
        return self._paged(
            page, [(ref,) for ref in refs], instances.count, exact=instances.is_exact
        )

    def _property(self, page: Page) -> Page:
        rows = [
            (self.texts.end(t.subject), self.texts.end(t.object)) for t in self._description.uses
        ]
        rows.sort(key=lambda row: tuple(end.text.casefold() for end in row))
        return self._paged(page, rows, self._description.use_count, exact=True)

    def _paged(
        self, page: Page, rows: Sequence[tuple[Ref | Value, ...]], count: int, *, exact: bool
    ) -> Page:
        return replace(
            page,
            instances=tuple(rows),
            instance_count=count,
            instances_exact=exact and count < MAX_SCAN,
            pages=-(-count // MAX_STATEMENTS),
        )

    def _with_picture(self, page: Page) -> Page:
        neighbours: dict[str, Neighbour] = {}
        for instance in page.instances:
            if len(instance) == 1 and isinstance(one := instance[0], Ref):  # of a class
                neighbours[one.iri] = Neighbour(one.text, "instance", one.href, inverse=True)
        for group in (*page.out, *page.into, *page.phrases):
            property_ = group.property
            if isinstance(property_, Ref) and property_.iri == SARAG.entityClass.value:
                continue  # leads to mentions, the evidence of instances
            for row in group.rows:
                end = row.end
                if isinstance(end, Ref) and end.iri != self._iri and end.iri not in neighbours:
                    neighbours[end.iri] = Neighbour(
                        end.text, group.property.text, end.href, group.inverse
                    )
        if not neighbours:
            return page
        drawn = list(neighbours.values())[:_MAX_DRAWN]
        svg = neighbourhood_svg(page.title.text, drawn)
        return replace(page, picture=Markup(svg), drawn=len(drawn))  # noqa: S704 - escaped there


class _Shown:
    """The groups of statements of a page, with the sentences behind them."""

    def __init__(self, builder: _PageBuilder, hidden: set[str]) -> None:
        self._builder = builder
        self._hidden = hidden
        self._support: defaultdict[tuple[str, str, Any], list[Relationship]] = defaultdict(list)

    def hide(self, property_: str) -> None:
        """Leave out the incoming statements of a property, too."""
        self._hidden.add(property_)

    def support(self, relationships: Iterable[Relationship]) -> None:
        """Note what relationships state."""
        for r in relationships:
            subject = ox.NamedNode(r.subject) if r.subject else None
            stated = [("", p) for p in r.properties] + [("^", p) for p in r.inverse]
            for direction, property_ in stated:
                back = "" if direction else "^"
                for object_ in r.objects:
                    self._support[r.subject, direction + property_, object_].append(r)
                    if is_iri_term(object_):
                        self._support[object_.value, back + property_, subject].append(r)

    def groups(self, groups: Iterable[Group]) -> Iterable[GroupView]:
        """The groups that are not shown elsewhere."""
        builder = self._builder
        for group in groups:
            if group.property in self._hidden:
                continue
            rows = tuple(self._row(group, term) for term in group.terms)
            iri, property_ = f"<{builder._iri}>", f"<{group.property}>"
            pattern = (
                f"?subject {property_} {iri}" if group.inverse else f"{iri} {property_} ?object"
            )
            yield GroupView(
                builder.texts.property(group.property),
                group.inverse,
                tuple(sorted(rows, key=lambda row: (not row.evidence, row.end.text.casefold()))),
                group.count - len(group.terms),
                group.is_exact,
                query_href(f"SELECT * {{ {pattern} }}"),
            )

    def _row(self, group: Group, term: Any) -> Row:
        builder = self._builder
        key = ("^" if group.inverse else "") + group.property
        supporting = list(
            {r.iri: r for r in self._support.get((builder._iri, key, term), ())}.values()
        )
        evidence = tuple(builder.texts.evidence(r) for r in supporting[:_MAX_EVIDENCE])
        return Row(builder.texts.end(term), evidence, max(0, len(supporting) - _MAX_EVIDENCE))
