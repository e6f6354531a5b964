"""Labels, descriptions, aliases and pages of an entity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

from sarag_rdf.vocab import RDF, RDFS, SCHEMA, SKOS
from sarag_rdf.wikibase.model import Json, mapping
from sarag_rdf.wikibase.sites import Site
from sarag_rdf.wikibase.values import iri_of, text_literal
from sarag_rdf.wikibase.vocabulary import WIKIBASE, Vocabulary

LABELS: Final = (RDFS.label, SKOS.prefLabel, SCHEMA.name)
"""A label is repeated under each of these."""


def text_triples(entity: NamedNode, data: Json) -> Iterator[Triple]:
    """Labels under three properties, descriptions, aliases."""
    for label in mapping(data, "labels").values():
        literal = text_literal(label["value"], label["language"])
        for predicate in LABELS:
            yield Triple(entity, predicate, literal)
    for description in mapping(data, "descriptions").values():
        literal = text_literal(description["value"], description["language"])
        yield Triple(entity, SCHEMA.description, literal)
    for aliases in mapping(data, "aliases").values():
        for alias in aliases:
            yield Triple(entity, SKOS.altLabel, text_literal(alias["value"], alias["language"]))


def page_triples(vocabulary: Vocabulary, entity: NamedNode, data: Json) -> Iterator[Triple]:
    """Sitelinks: pages about the entity. Those of a wiki of unknown address are left out."""
    for link in mapping(data, "sitelinks").values():
        site = vocabulary.sites(link["site"])
        if site is not None:
            yield from _page(vocabulary, entity, site, link)


def _page(vocabulary: Vocabulary, entity: NamedNode, site: Site, link: Json) -> Iterator[Triple]:
    page, wiki = iri_of(site.page(link["title"])), iri_of(site.iri)
    if not isinstance(page, NamedNode) or not isinstance(wiki, NamedNode):
        return
    yield Triple(page, RDF.type, SCHEMA.Article)
    yield Triple(page, SCHEMA.about, entity)
    yield Triple(page, SCHEMA.inLanguage, Literal(site.language))
    yield Triple(page, SCHEMA.isPartOf, wiki)
    yield Triple(page, SCHEMA.name, text_literal(link["title"], site.language))
    for badge in link.get("badges", ()):
        yield Triple(page, WIKIBASE.badge, vocabulary.thing(badge))
    yield Triple(wiki, WIKIBASE.wikiGroup, Literal(site.group))
