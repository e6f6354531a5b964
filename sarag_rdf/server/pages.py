"""The page of a resource: what its description says, and the texts behind it, for people.

Everything in a graph may be hostile: templates escape it, links lead to this server alone, and what
is long or numerous is cut with a remark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox
from markupsafe import Markup

from sarag_rdf.base.iris import DEFAULT_BASE, Minter, is_iri, local_name
from sarag_rdf.base.sentences import sentence_spans
from sarag_rdf.base.types import Timed
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
from sarag_rdf.graph.valid_time import TIME_PROPERTIES, TIMES
from sarag_rdf.server.picture.drawing import Neighbour, neighbourhood_svg, render
from sarag_rdf.server.resource_reader import (
    MAX_NAME,
    MAX_SCAN,
    MAX_STATEMENTS,
    MAX_TEXT,
    MAX_USES,
    NAMES,
    TYPE,
    Description,
    Group,
    Ref,
    Relationship,
    Resources,
    Texts,
    Value,
    cut,
    in_words,
    is_iri_term,
    page_href,
)

_MAX_DOCUMENTS, _MAX_PASSAGES, _MAX_EVIDENCE = 8, 2, 3
_MAX_RELATIONSHIPS, _MAX_PHRASES, _MAX_DRAWN = 400, 12, 12


def _iris(*terms: ox.NamedNode) -> tuple[str, ...]:
    return tuple(term.value for term in terms)


_ALT_NAMES = _iris(SKOS.altLabel, SKOS.hiddenLabel, SCHEMA.alternateName)
_DEFINITIONS = _iris(SKOS.definition, RDFS.comment, DCTERMS.description, SCHEMA.description)
_LINKS = _iris(
    SKOS.exactMatch, SKOS.closeMatch, SKOS.broadMatch, SKOS.narrowMatch, SKOS.relatedMatch,
    OWL.sameAs,
)  # fmt: skip
_DECISIONS = {
    SARAG.mergedInto.value: "merged by decision into",
    SARAG.keptApartFrom.value: "kept apart by decision from",
    SARAG.variantOf.value: "variant by decision of",
}
_CLASSES = {*_iris(RDFS.Class, OWL.Class)}
_PROPERTIES = {
    *_iris(RDF.Property, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty)
}
_IN_OTHER_PLACES: Mapping[str, tuple[str, ...]] = {
    "entity": _iris(
        SARAG.relatedTo, SARAG.describes, SARAG.about, SARAG.subject, SARAG.object,
        SARAG.refersTo, OWL.annotatedSource,
    ) + _LINKS,
    "document": _iris(
        SARAG.text, SARAG.titleMention, SARAG.topicMention, SARAG.describes,
        SARAG.about, SARAG.source, SARAG.beginIndex, SARAG.endIndex, PROV.wasDerivedFrom,
    ),
    "relationship": _iris(
        SARAG.text, SARAG.phrase, SARAG.subject, SARAG.object, SARAG.subjectMention,
        SARAG.objectMention, SARAG.property, SARAG.inverseProperty, SARAG.statedProperty,
        SARAG.statedInverseProperty, SARAG.value, SARAG.valueText, SARAG.confidence,
        PROV.wasDerivedFrom, *TIME_PROPERTIES,
    ),
    "source": _iris(SARAG.source,),
    "resource": _iris(OWL.annotatedTarget,),
}  # fmt: skip
"""Kind of page -> properties that it shows outside the lists of statements."""


def query_href(sparql: str) -> str:
    """The URL of the SPARQL editor with a query."""
    return f"sparql-editor#query={quote(sparql, safe='')}"


def resource_page(
    resources: Resources, description: Description, jsonld: str, meta: Meta | None
) -> str:
    """The HTML page of a resource; `jsonld` is its description without ``<``, ``>`` and ``&``."""
    return render(
        "resource.html.j2",
        page=_Page(resources, description, meta).arguments(),
        page_href=page_href,
        query_href=query_href,
        sarag=SARAG.base,
        jsonld=Markup(jsonld),  # noqa: S704 - escaped by the caller
    )


# -------------------------------------------------------------------------------------- Pages


class _Page:
    """Collects the arguments of the template."""

    def __init__(self, resources: Resources, description: Description, meta: Meta | None) -> None:
        self._read = resources
        self._description = description
        self._minter = Minter(meta.base if meta else DEFAULT_BASE)
        self._texts = Texts(resources, self._minter)
        self._annotations: dict[str, dict[tuple[str, str], str]] = {}
        self._support: defaultdict[tuple[str, Any], dict[str, Relationship]] = defaultdict(dict)
        """Property, or ^ and its inverse, and other end -> relationships that state it."""
        self._iri = description.iri
        self._types = frozenset(
            term.value for term in resources.values(self._iri, RDF.type) if is_iri_term(term)
        )
        self._times = self._reified_times()
        self._kind = self._kind_of()
        self._hidden = {*NAMES, *_ALT_NAMES, *_DEFINITIONS, TYPE, SARAG.wikibaseId.value}
        self._hidden.update(_IN_OTHER_PLACES.get(self._kind, ()))

    def _reified_times(self) -> Mapping[tuple[str, Any], list[str]]:
        """As `_support`, the times of statements that nodes describe by RDF reification."""
        read, times = self._read, defaultdict[tuple[str, Any], list[str]](list)
        for own, other, sign in ((RDF.subject, RDF.object, ""), (RDF.object, RDF.subject, "^")):
            for node in read.subjects(self._iri, own, MAX_USES):
                words = Timed(**{name: read.value(node, time) for name, time in TIMES}).times
                for end in read.values(node, other) if words else ():
                    times[sign + read.iri(node, RDF.predicate), end].append(words)
        return times

    def _kind_of(self) -> str:
        for class_ in (SARAG.Entity, SARAG.Value, SARAG.Document, SARAG.Source, SARAG.Relationship):
            if class_.value in self._types:
                return local_name(class_.value).lower()
        if self._types & _CLASSES or TYPE in self._description.into:
            return "class"
        if self._types & _PROPERTIES or self._description.use_count:
            return "property"
        return "resource"

    def arguments(self) -> dict[str, Any]:
        """The values that the template shows."""
        description = self._description
        title = self._texts.ref(self._iri)
        names: tuple[Value, ...] = ()
        if self._kind not in ("document", "relationship"):  # their labels are made of their text
            names = self._literals(*NAMES[:3], *_ALT_NAMES)
        classes = sorted(
            self._types - {SARAG.Entity.value, SARAG.Value.value},
            key=lambda t: (t.startswith(SARAG.base), t),
        )
        sections = {
            "entity": self._entity,
            "value": self._entity,
            "document": self._document,
            "source": self._source,
            "relationship": self._relationship,
            "class": self._class,
            "property": self._property,
        }.get(self._kind, dict)
        page: defaultdict[str, Any] = defaultdict(tuple)  # a kind of page has some parts only
        page |= {
            "kind": self._kind,
            "iri": self._iri,
            "title": title,
            "kinds": [*self._chips(classes)],
            "names": [name for name in names if name.text != title.text],
            "definitions": self._literals(*_DEFINITIONS),
            "page": description.page,
            **sections(),
        }
        page["out"] = list(self._groups(description.out.values()))
        page["into"] = list(self._groups(description.into.values()))
        is_evidence = any(class_.startswith(SARAG.base) for class_ in classes)
        page["is_explorable"] = self._kind in ("entity", "value", "class") or (
            self._kind == "resource" and not is_evidence
        )
        if page["is_explorable"]:
            page["picture"] = self._picture(page)
        return page

    def _chips(self, classes: Iterable[str]) -> Iterator[Ref]:
        """The classes, of which those of sarag come last, without ones of sarag in equal words."""
        shown = set[str]()
        for ref in map(self._texts.ref, classes):
            if not (ref.iri.startswith(SARAG.base) and ref.text.casefold() in shown):
                shown.add(ref.text.casefold())
                yield ref

    def _literals(self, *properties: str) -> tuple[Value, ...]:
        by_text: dict[str, Value] = {}
        for property_ in properties:
            group = self._description.out.get(property_)
            for term in group.terms if group else ():
                value = self._texts.end(term)
                if isinstance(value, Value) and isinstance(term, ox.Literal):
                    by_text.setdefault(value.text, value)
        return tuple(by_text.values())

    def _groups(self, groups: Iterable[Group]) -> Iterator[dict[str, Any]]:
        """The groups of statements that are not shown elsewhere, with the sentences behind them."""
        for group in groups:
            if group.property in self._hidden:
                continue
            sign, rows = "^" if group.inverse else "", list[dict[str, Any]]()
            for term in group.terms:
                key = sign + group.property, term
                stated = [*self._support.get(key, {}).values()]
                evidence = [self._texts.evidence(each) for each in stated[:_MAX_EVIDENCE]]
                more, times = max(0, len(stated) - _MAX_EVIDENCE), ", ".join(self._times[key])
                end = self._texts.end(term)
                rows.append({"end": end, "times": times, "evidence": evidence, "more": more})
            iri, property_ = f"<{self._iri}>", f"<{group.property}>"
            pattern = (
                f"?subject {property_} {iri}" if group.inverse else f"{iri} {property_} ?object"
            )
            yield {
                "property": self._texts.property(group.property),
                "inverse": group.inverse,
                "rows": sorted(rows, key=lambda r: (not r["evidence"], r["end"].text.casefold())),
                "left_out": group.count - len(group.terms),
                "is_exact": group.is_exact,
                "query": query_href(f"SELECT * {{ {pattern} }}"),
            }

    # --------------------------------------------------------------------------- Kinds

    def _entity(self) -> dict[str, Any]:
        read, iri = self._read, self._iri
        ends = [
            read.subjects(iri, end, _MAX_RELATIONSHIPS) for end in (SARAG.subject, SARAG.object)
        ]
        untyped: defaultdict[tuple[str, bool], dict[str, Relationship]] = defaultdict(dict)
        for node in (node for end in ends for node in end):
            relationship = self._texts.relationship(node)
            self._note(relationship)
            is_typed = relationship.properties or relationship.inverse
            if relationship.is_deprecated or not is_typed:
                untyped[relationship.phrase, relationship.subject != iri][node] = relationship
        ordered = sorted(untyped, key=lambda key: (key[1], -len(untyped[key]), key[0]))
        describing = self._description.into.get(SARAG.describes.value)
        topics = set(read.subjects(iri, SARAG.about, _MAX_DOCUMENTS))
        documents = [
            term.value
            for term in (describing.terms if describing else ())
            if SARAG.Document in read.values(term.value, RDF.type)
        ]
        documents.sort(key=lambda document: (document not in topics, document))
        return {
            "phrases": [
                self._phrase(phrase, list(untyped[phrase, inverse].values()), inverse=inverse)
                for phrase, inverse in ordered[:_MAX_PHRASES]
            ],
            "phrases_left_out": sum(len(untyped[key]) for key in ordered[_MAX_PHRASES:]),
            "phrases_exact": all(len(end) < _MAX_RELATIONSHIPS for end in ends),
            "documents": [
                self._passages(document, is_topic=document in topics)
                for document in documents[:_MAX_DOCUMENTS]
            ],
            "document_count": len(documents),
            "documents_exact": not describing or describing.count == len(describing.terms),
            "links": list(self._links()),
            "naming": list(self._naming()),
        }

    def _note(self, relationship: Relationship) -> None:
        """Note what a relationship states about the resource."""
        stated = [("", "^", p) for p in relationship.properties]
        stated += [("^", "", p) for p in relationship.inverse]
        subject = relationship.subject
        for there, back, property_ in stated:
            for object_ in relationship.objects:
                if subject == self._iri:
                    self._support[there + property_, object_][relationship.iri] = relationship
                if is_iri_term(object_) and object_.value == self._iri and subject:
                    key = back + property_, ox.NamedNode(subject)
                    self._support[key][relationship.iri] = relationship

    def _phrase(
        self, phrase: str, relationships: list[Relationship], *, inverse: bool
    ) -> dict[str, Any]:
        """What relationships say in the same words, without a property."""
        rows = []
        for each in relationships[:_MAX_EVIDENCE]:
            is_own = each.subject == self._iri
            end = self._texts.end(each.objects[0]) if is_own else self._texts.ref(each.subject)
            rows.append({"end": end, "evidence": [self._texts.evidence(each)]})
        return {
            "property": Value(phrase, language=relationships[0].language),
            "inverse": inverse,
            "rows": rows,
            "left_out": max(0, len(relationships) - _MAX_EVIDENCE),
        }

    def _passages(self, document: str, *, is_topic: bool = False) -> dict[str, Any]:
        """The first sentences of a document that name the resource, or its beginning."""
        texts = self._texts
        text = texts.text(document)
        names = {s: e for s, e in texts.spellings(document).items() if e == self._iri}
        spans = sentence_spans(text, headings=False)
        sentences = [(texts.mark(text[begin:end], names), begin, end) for begin, end in spans]
        naming = [each for each in sentences if "<a " in each[0]] or sentences[:1]
        passages = [
            {"text": marked, **texts.offsets(document, begin, end)}
            for marked, begin, end in naming[:_MAX_PASSAGES]
        ]
        return texts.described(document, passages, is_topic=is_topic)

    def _links(self) -> Iterator[dict[str, Any]]:
        """Links to other graphs and how they came about."""
        for property_ in _LINKS:
            group = self._description.out.get(property_)
            for term in filter(is_iri_term, group.terms if group else ()):
                node = self._annotation(self._iri, property_, term.value)
                target = self._texts.ref(term.value)
                label = self._read.value(node, SSSOM.object_label)
                if label and self._read.name(term.value) is None:
                    target = Ref(term.value, cut(label, MAX_NAME))
                yield {
                    "property": self._texts.property(property_),
                    "target": target,
                    "graph": local_name(self._read.graph_of(term.value)),
                    "details": self._provenance(node),
                    "says": list(self._said(term.value)),
                }

    def _said(self, item: str) -> Iterator[dict[str, Any]]:
        """What another graph says of a linked item, but its names."""
        groups = self._read.out(item)
        for property_ in [p for p in groups if p not in NAMES][:_MAX_PHRASES]:
            terms = [t for t in groups[property_].terms if not isinstance(t, ox.Triple)]
            if terms and property_ not in _LINKS:
                yield {
                    "property": self._texts.property(property_),
                    "ends": [self._texts.end(term) for term in terms[:_MAX_DOCUMENTS]],
                    "left_out": max(0, len(terms) - _MAX_DOCUMENTS),
                }

    def _annotation(self, subject: str, property_: str, target: str) -> str:
        """The node with the provenance of a link or decision; empty if there is none."""
        read = self._read
        if subject not in self._annotations:
            self._annotations[subject] = {
                (read.iri(node, OWL.annotatedProperty), read.iri(node, OWL.annotatedTarget)): node
                for node in read.subjects(subject, OWL.annotatedSource, MAX_USES)
            }
        return self._annotations[subject].get((property_, target), "")

    def _provenance(self, node: str) -> list[str]:
        """How and when a link or decision came about."""
        read = self._read
        details = (
            ("", in_words(local_name(read.value(node, SSSOM.mapping_justification)))),
            ("confidence ", read.value(node, SSSOM.confidence)),
            ("by ", read.value(node, SSSOM.mapping_tool)),
            ("on ", read.value(node, SSSOM.mapping_date)),
            ("", read.value(node, RDFS.comment)),
        )
        return [cut(words + value, MAX_NAME) for words, value in details if value]

    def _naming(self) -> Iterator[dict[str, Any]]:
        """The names that refer to the entity, with their spellings and what joined them."""
        read = self._read
        own = self._minter.mention_of_entity(self._iri)
        mentions = read.subjects(self._iri, SARAG.refersTo, _MAX_RELATIONSHIPS)
        for mention in sorted(mentions, key=lambda m: (m != own, m)):
            uses = read.subjects(mention, SARAG.useOf, MAX_USES)
            spellings = Counter(n.value for use in uses for n in read.values(use, SARAG.name))
            reasons: list[dict[str, Any]] = []
            for property_, words in _DECISIONS.items():
                for term in read.values(mention, ox.NamedNode(property_)):
                    node = self._annotation(mention, property_, term.value)
                    ref, details = self._texts.mention(term.value), self._provenance(node)
                    reasons.append({"words": words, "ref": ref, "details": details})
            claims = read.subjects(mention, SARAG.aliasMention, MAX_USES)
            documents = dict.fromkeys(read.iri(use, PROV.wasDerivedFrom) for use in claims)
            reasons += [
                {
                    "words": "given as another name in",
                    "ref": self._texts.ref(document),
                    "details": (),
                }
                for document in filter(is_iri, documents)
            ]
            yield {
                "mention": self._texts.mention(mention),
                "spellings": spellings.most_common(12),
                "reasons": reasons[:12],
            }

    def _document(self) -> dict[str, Any]:
        read, iri, texts = self._read, self._iri, self._texts
        text, spellings = texts.text(iri), texts.spellings(iri)
        relationships = [
            texts.relationship(node)
            for node in read.subjects(iri, PROV.wasDerivedFrom, 2 * MAX_USES)
            if SARAG.Relationship in read.values(node, RDF.type)
        ]
        beside: defaultdict[tuple[int, int], list[Any]] = defaultdict(list)
        for each in relationships:
            if each.subject:
                ends = texts.ref(each.subject), texts.end(each.objects[0])
                beside[each.sentence(text)].append((each, *ends))
        source = read.iri(iri, SARAG.source)
        begin, end = read.value(iri, SARAG.beginIndex), read.value(iri, SARAG.endIndex)
        return {
            "facts": [
                *([("Source", texts.ref(source))] if source else []),
                ("Characters", Value(f"{begin} to {end}")),
                *(("About", texts.ref(t.value)) for t in read.values(iri, SARAG.about)),
                ("Relationships", Value(str(len(relationships)))),
            ],
            "sentences": [
                {
                    "text": texts.mark(text[begin:end], spellings),
                    "relationships": beside[begin, end],
                    **texts.offsets(iri, begin, end),
                }
                for begin, end in sentence_spans(text)
            ],
            "is_cut": len(read.value(iri, SARAG.text)) > MAX_TEXT,
            "language": texts.language(iri),
        }

    def _source(self) -> dict[str, Any]:
        """The documents of a source, each with its first sentence, in the order of the text."""
        documents = self._read.subjects(self._iri, SARAG.source, MAX_USES)
        views = [self._passages(document) for document in documents]
        views.sort(key=lambda view: [passage["begin"] for passage in view["passages"]])
        return {
            "documents": views[:_MAX_DOCUMENTS],
            "document_count": len(documents),
            "documents_exact": True,
        }

    def _relationship(self) -> dict[str, Any]:
        read, iri, texts = self._read, self._iri, self._texts
        relationship = texts.relationship(iri)
        stated = {*relationship.properties, *relationship.inverse}
        stated.update(t.value for t in read.values(iri, SARAG.statedProperty))
        facts: list[tuple[str, Ref | Value]] = []
        if relationship.subject:
            facts.append(("Subject", texts.ref(relationship.subject)))
        facts.append(("Phrase", Value(relationship.phrase, relationship.language)))
        facts.append(("Object", texts.end(relationship.objects[0])))
        facts += [("Property", texts.property(property_)) for property_ in sorted(stated)]
        facts += [("Words", texts.end(t)) for t in read.values(iri, SARAG.valueText)]
        facts += [("Time", Value(relationship.times))] if relationship.times else []
        facts.append(("Confidence", Value(relationship.confidence)))
        source = read.iri(relationship.document, SARAG.source)
        for activity in read.values(source, SARAG.extractedBy):
            for name in ("extractor", "model", "settings"):
                values = read.values(activity.value, SARAG[name])
                facts += [(name.capitalize(), texts.end(value)) for value in values]
            facts.append(("Extraction", texts.ref(activity.value)))
        documents = []
        if document := relationship.document:
            passage = texts.evidence(relationship)["passage"]
            documents = [texts.described(document, [passage], language=relationship.language)]
        return {"facts": facts, "documents": documents}

    def _class(self) -> dict[str, Any]:
        self._hidden.add(TYPE)
        instances = self._description.into.get(TYPE)
        if instances is None:
            return {}
        refs = [(self._texts.end(term),) for term in instances.terms]
        return self._instances(refs, instances.count, exact=instances.is_exact)

    def _property(self) -> dict[str, Any]:
        uses = self._description.uses
        rows = [(self._texts.end(use.subject), self._texts.end(use.object)) for use in uses]
        return self._instances(rows, self._description.use_count)

    def _instances(
        self, rows: Iterable[tuple[Ref | Value, ...]], count: int, *, exact: bool = True
    ) -> dict[str, Any]:
        return {
            "instances": sorted(rows, key=lambda row: [end.text.casefold() for end in row]),
            "instance_count": count,
            "instances_exact": exact and count < MAX_SCAN,
            "pages": -(-count // MAX_STATEMENTS),
        }

    def _picture(self, page: Mapping[str, Any]) -> Markup:
        """The neighbourhood as SVG; empty if there are no neighbours."""
        neighbours: dict[str, Neighbour] = {}

        def add(end: Ref | Value, statement: str, *, inverse: bool) -> None:
            if isinstance(end, Ref) and end.iri != self._iri:
                neighbour = Neighbour(end.text, statement, end.href, inverse)
                neighbours.setdefault(end.iri, neighbour)

        for (end,) in page["instances"] if self._kind == "class" else ():
            add(end, "instance", inverse=True)
        for group in (*page["out"], *page["into"], *page["phrases"]):
            name = group["property"]
            if isinstance(name, Ref) and name.iri == SARAG.entityClass.value:
                continue  # leads to mentions, the evidence of instances
            for row in group["rows"]:
                add(row["end"], name.text, inverse=group["inverse"])
        if not neighbours:
            return Markup()
        drawn = list(neighbours.values())[:_MAX_DRAWN]
        return Markup(neighbourhood_svg(page["title"].text, drawn))  # noqa: S704 - escaped there
