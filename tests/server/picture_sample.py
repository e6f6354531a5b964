"""A retrieval made by hand for the tests of pictures, one without any result, and a hostile one."""

from __future__ import annotations

import re
from dataclasses import replace

from sarag_rdf.base.types import (
    ActivatedEntity,
    Document,
    EntityType,
    Link,
    NodeType,
    Query,
    RankedDocument,
    Retrieved,
    Seed,
    Step,
    Subgraph,
)
from sarag_rdf.base.vocab import SARAG

KG = "https://example.org/kg/"
QUESTION = (
    "In which city does the river reach the Baltic Sea that flows through the birthplace "
    "of the discoverer of polonium?"
)
HOSTILE = "</script></title><img src=x onerror=document.title='owned'><script>alert(1)</script>"
# name, type, activation, and the entity whose activation came first
ENTITIES: list[tuple[str, EntityType, float, str]] = [
    ("Marie Curie", "person", 1.0, ""),
    ("Polonium", "misc", 1.0, ""),
    ("Vistula", "geopolitical", 0.94, "Warsaw"),
    ("Warsaw", "geopolitical", 0.83, "Marie Curie"),
    ("Poland", "geopolitical", 0.78, "Polonium"),
    ("Radium", "misc", 0.74, "Marie Curie"),
    ("Gdańsk", "geopolitical", 0.67, "Vistula"),
    ("Pierre Curie", "person", 0.62, "Marie Curie"),
    ("Baltic Sea", "geopolitical", 0.55, "Vistula"),
    ("Nobel Prize in Chemistry", "misc", 0.48, "Marie Curie"),
    ("Nobel Prize in Physics", "misc", 0.44, "Marie Curie"),
    ("Irène Joliot-Curie", "person", 0.30, "Marie Curie"),
    ("Kraków", "geopolitical", 0.29, "Vistula"),
    ("Daniel Gabriel Fahrenheit", "person", 0.24, "Gdańsk"),
    ("Johannes Hevelius", "person", 0.22, "Gdańsk"),
    ("Nicolaus Copernicus", "person", 0.22, "Poland"),
    ("Ernest Rutherford", "person", 0.16, "Radium"),
    ("Sorbonne", "organization", 0.16, "Marie Curie"),
    ("Paul Langevin", "person", 0.09, "Pierre Curie"),
    ("東京大学", "organization", 0.04, "Radium"),
    ("جامعة القاهرة", "organization", 0.02, "Radium"),
    # two steps from anything active: not drawn
    ("Jagiellonian University", "organization", 0.05, "Kraków"),
    ("Frédéric Joliot-Curie", "person", 0.03, "Irène Joliot-Curie"),
    ("Academy of Mining and Metallurgy of Stanisław Staszic", "organization", 0.0, "Kraków"),
    ("Henri Becquerel", "person", 0.09, "Nobel Prize in Physics"),
]
MORE_LINKS = [
    ("Marie Curie", "Polonium", "Marie Curie discovered polonium in 1898.", 0.81),
    ("Pierre Curie", "Marie Curie", "Pierre Curie worked with Marie Curie.", 0.40),
    ("Warsaw", "Poland", "Warsaw is the capital of Poland.", 0.52),
    ("Gdańsk", "Baltic Sea", "Gdańsk lies on the Baltic Sea.", 0.41),
    ("Pierre Curie", "Nobel Prize in Physics", "Pierre Curie shared the prize of 1903.", 0.35),
    ("Pierre Curie", "Sorbonne", "Pierre Curie taught at the Sorbonne.", 0.11),
    ("Nicolaus Copernicus", "Jagiellonian University", "Copernicus studied in Kraków.", 0.09),
    ("Vistula", "Vistula", "The Vistula is the Weichsel.", 0.2),
]
DOCUMENTS = [
    ("Vistula", "Vistula", "The Vistula rises in the Beskids and flows through Kraków and Warsaw."),
    ("Gdańsk", "Gdańsk", "Gdańsk is a port on the Baltic Sea, at the mouth of the Vistula."),
    ("Marie Curie", "Marie Curie", "Marie Curie was born Maria Skłodowska in Warsaw."),
    ("Warsaw", "Warsaw", "Warsaw is the capital of Poland and lies on the Vistula."),
    ("Pierre Curie", "Pierre Curie", "Pierre Curie was a French physicist."),
    ("Harbours of the Baltic coast and their trade", "Gdańsk", "Ships from Gdańsk."),
    ("Polonium", "Polonium", "Polonium is a rare metal."),
]


def iri(name: str) -> str:
    return KG + re.sub(r"\W", "_", name)


def retrieval(question: str = QUESTION) -> Retrieved:
    activation = {name: value for name, _, value, _ in ENTITIES}
    came_from = {name: origin for name, _, _, origin in ENTITIES if origin}
    links = [(a, b, f"{a} and {b} are related.", 0.8 * activation[b]) for b, a in came_from.items()]
    links += MORE_LINKS

    def chain(name: str) -> tuple[Step, ...]:
        if not (origin := came_from.get(name)):
            return ()
        before, value = chain(origin), activation[name]
        relation = f"{KG}r{next(i for i, k in enumerate(links) if k[:2] == (origin, name))}"
        step = Step(
            len(before) + 1, iri(origin), iri(name), relation, 0.8 * value, 0.5 * value, value,
            "related_to", "entity", "entity",
        )  # fmt: skip
        return (*before, step)

    entities = [
        ActivatedEntity(iri(n), n, kind, a, not o, a > 0.5, len(chain(n)), chain(n))
        for n, kind, a, o in ENTITIES
    ]
    documents = [
        RankedDocument(
            Document(f"{KG}d{i}", f"{KG}s{i}", title, text, 0, len(text)),
            0.91 - 0.06 * i,
            0.7 - 0.04 * i,
            activation[name],
            iri(name),
            i + 1,
            chain(name),
        )
        for i, (title, name, text) in enumerate(DOCUMENTS)
    ]
    relations = tuple(
        Link(f"{KG}r{i}", iri(a), iri(b), text, w, w) for i, (a, b, text, w) in enumerate(links)
    )
    seeds = tuple(Seed(e.iri, f"{KG}{i}", 0.8) for i, e in enumerate(entities) if e.is_seed)
    hops = {entity.iri: entity.hop for entity in entities}
    return Retrieved(
        Query(question), "spreading", {"k": 10, "tau_a": 0.5}, tuple(documents), relations,
        seeds, tuple(entities), Subgraph(seeds, hops, relations),
    )  # fmt: skip


def step(stage: int, origin: str, target: str) -> Step:
    """A step of the stages of a round: to an entity, between entities, to a document."""
    types: dict[int, tuple[NodeType, NodeType]] = {
        0: ("entity", "document"), 1: ("document", "entity"), 2: ("entity", "entity")
    }  # fmt: skip
    kind = "related_to" if stage % 3 == 2 else "describes"
    return Step(
        stage, origin, target, SARAG.describes.value, 0.5, 0.5, 0.5, kind, *types[stage % 3]
    )


def through_documents() -> Retrieved:
    """The same with two more seeds, documents, and a path from the one to the second result.

    It leads over "Rivers", a document that is no result, as the other seed is none ("Unused").
    """
    given = retrieval()
    start, rivers, unused = given.documents[2].document.iri, f"{KG}rivers", f"{KG}unused"
    last = given.documents[1]
    over_link = step(2, iri("Warsaw"), iri("Vistula"))
    path = (
        step(1, start, iri("Warsaw")),
        replace(over_link, relationship=f"{KG}r0"),
        step(3, iri("Vistula"), rivers),
        step(4, rivers, iri("Gdańsk")),
        step(6, iri("Gdańsk"), last.document.iri),
    )
    documents = (given.documents[0], replace(last, chain=path), *given.documents[2:])
    seeds = tuple(Seed(node, node, 0.5, name=name) for node, name in ((start, "MC"), (unused, "U")))
    entities = tuple(
        replace(e, chain=(step(1, unused, e.iri),)) if e.name == "Poland" else e
        for e in given.entities
    )
    return replace(
        given, documents=documents, seeds=(*given.seeds, *seeds), entities=entities,
        names={rivers: "Rivers", unused: "Unused"},
    )  # fmt: skip


def empty(question: str = QUESTION) -> Retrieved:
    return Retrieved(Query(question), "spreading", {}, (), (), (), (), Subgraph((), {}, ()))


def hostile() -> Retrieved:
    given = retrieval(HOSTILE)
    entities = tuple(replace(e, name=HOSTILE + e.name) for e in given.entities)
    entities = (replace(entities[0], name="\ud800\x00\u202e$\\frac{"), *entities[1:])
    links = tuple(replace(link, text=HOSTILE) for link in given.subgraph.links)
    documents = tuple(
        replace(d, document=replace(d.document, title=HOSTILE, text=HOSTILE, iri=HOSTILE))
        for d in given.documents
    )
    subgraph = replace(given.subgraph, links=links)
    return replace(
        given, retriever=HOSTILE, settings={HOSTILE: HOSTILE}, documents=documents,
        entities=entities, subgraph=subgraph,
    )  # fmt: skip
