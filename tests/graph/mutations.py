"""A sound graph, and every way to spoil one of its nodes, one at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from sarag_rdf.base.iris import Minter
from sarag_rdf.base.types import Extraction, Mention, Method, Relation, Source, Value
from sarag_rdf.base.vocab import RDF, SARAG, SH, SKOS, XSD
from sarag_rdf.building.evidence_quarantine import with_mentions
from sarag_rdf.building.plan import chunk
from sarag_rdf.building.source_evidence import SourceGraph

Node = NamedNode | BlankNode | Literal

KNOWS, TALL = "https://example.org/people#knows", "https://example.org/people#height"
HEIGHT = Value("5 feet", "5", XSD.integer.value, "http://qudt.org/vocab/unit/FT")
ELSEWHERE = NamedNode("https://example.org/elsewhere")
NOWHERE = NamedNode("https://example.org/nowhere")
VALUES: dict[str, Node] = {
    "IRI": ELSEWHERE,
    "blank": BlankNode("b"),
    "empty text": Literal("", language="en"),
    "text": Literal("other", language="en"),
    "French text": Literal("autre", language="fr"),
    "string": Literal("other"),
    "empty string": Literal(""),
    "long text": Literal("a" * 6000, language="en"),
    "control character": Literal("a\x01b", language="en"),
    "zero": Literal("a\x00b", language="en"),
    "lines": Literal("a\n\tb\r\nc", language="en"),
    "beyond the plane": Literal("a\U0001f980b", language="en"),
    "integer": Literal("5", datatype=XSD.integer),
    "large integer": Literal("99999999", datatype=XSD.integer),
    "negative": Literal("-1", datatype=XSD.integer),
    "ill-formed integer": Literal("1e3", datatype=XSD.integer),
    "decimal": Literal("1.5", datatype=XSD.decimal),
    "negative decimal": Literal("-0.25", datatype=XSD.decimal),
    "not a number": Literal("NaN.0", datatype=XSD.decimal),
    "time": Literal("2026-11-21T10:00:00Z", datatype=XSD.dateTime),
    "late time": Literal("2036-11-21T10:00:00Z", datatype=XSD.dateTime),
    "ill-formed time": Literal("21 November 2026", datatype=XSD.dateTime),
    "digest in capitals": Literal("ABCD" * 16),
    "class": SARAG.Entity,
}


def evidence(language: str = "en") -> list[Triple]:
    """A source's graph that has every property which evidence can have."""
    minter = Minter()
    source = Source("Ada Lovelace met Bea in Oslo.", "Ada Lovelace", "a.txt", language)
    iri = minter.source(source.key, source.title, source.text)
    found = Extraction(
        (
            Mention(
                *("Ada Lovelace", "person", ("Ada",), ("Ada Lovelace: met Bea.",)),
                classes=("https://example.org/people#Mathematician",),
            ),
            Mention("Bea", "person"),
            Mention("1835", "time"),
        ),
        (
            Relation("Ada Lovelace", "stood", "5 feet", predicate=TALL, value=HEIGHT),
            Relation("Ada Lovelace", "met", "Bea", confidence=0.5, predicate=KNOWS, inverse=True),
        ),
    )
    method = Method("tests", "none", "0123", {"a": "b"})
    documents = [(document, found) for document in chunk(source, iri, minter)]
    return with_mentions(SourceGraph(minter, source, iri, method, documents).quads)


def read(text: bytes) -> list[Triple]:
    return [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.TURTLE)]


def written(triples: list[Triple]) -> bytes:
    return "".join(f"{triple} .\n" for triple in triples).encode()


def mutations(
    triples: list[Triple], shapes: Sequence[Triple]
) -> Iterator[tuple[str, list[Triple]]]:
    """Name and graph: the first node of each class, spoiled in one property or as a whole.

    The properties are those that it has, and those that shapes ask of its class.
    """
    asked: defaultdict[Node | Triple, list[NamedNode]] = defaultdict(list)
    paths: dict[object, object] = {t.subject: t.object for t in shapes if t.predicate == SH.path}
    inner = [(t.subject, paths[t.object]) for t in shapes if t.predicate == SH.property]
    for target in shapes:
        if target.predicate == SH.targetClass:
            for shape, asked_path in inner:
                if shape == target.subject and isinstance(asked_path, NamedNode):
                    asked[target.object].append(asked_path)
    classes = {t.object: t.subject for t in reversed(triples) if t.predicate == RDF.type}
    for class_, node in classes.items():
        name = str(class_).rpartition("#")[2].strip(">")
        about = [t for t in triples if t.subject == node]
        rest = [t for t in triples if t.subject != node]
        names = [t.object for t in about if t.predicate == SKOS.prefLabel]
        for predicate in dict.fromkeys((*(t.predicate for t in about), *asked[class_])):
            path = predicate.value.rpartition("#")[2].rpartition("/")[2]
            others = rest + [t for t in about if t.predicate != predicate]
            yield f"{name} without {path}", others
            two = [Triple(node, predicate, other) for other in (ELSEWHERE, NOWHERE)]
            yield f"{name} with two IRIs as {path}", [*others, *two]
            for value in names[:1]:
                yield f"{name} with its name as {path}", [*others, Triple(node, predicate, value)]
            for label, value in VALUES.items():
                spoiled = Triple(node, predicate, value)
                yield f"{name} with {label} as {path}", [*others, spoiled]
                yield f"{name} with {label} as further {path}", [*triples, spoiled]
        yield f"{name} with what nobody knows", [*triples, Triple(node, ELSEWHERE, ELSEWHERE)]
        yield f"{name} elsewhere", _renamed(triples, node, ELSEWHERE)
        yield f"{name} blank", _renamed(triples, node, BlankNode("b"))


def _renamed(triples: list[Triple], old: Node | Triple, new: NamedNode | BlankNode) -> list[Triple]:
    return [
        Triple(
            new if t.subject == old else t.subject,
            t.predicate,
            new if t.object == old else t.object,
        )
        for t in triples
    ]
