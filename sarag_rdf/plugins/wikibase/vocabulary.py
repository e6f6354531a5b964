"""The IRIs of a Wikibase instance, and the wikis of its sitelinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from pyoxigraph import NamedNode

from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.vocab import WIKIBASE_SCHEMA, Namespace

_GROUPS = {
    **{
        name: name
        for name in (
            *("wikibooks", "wikinews", "wikiquote", "wikisource", "wikiversity", "wikivoyage"),
            "wiktionary",
        )
    },
    "wiki": "wikipedia",
}
_MULTILINGUAL_WIKIS = {
    "commonswiki": ("commons.wikimedia.org", "commons"),
    "foundationwiki": ("foundation.wikimedia.org", "foundation"),
    "incubatorwiki": ("incubator.wikimedia.org", "incubator"),
    "mediawikiwiki": ("www.mediawiki.org", "mediawiki"),
    "metawiki": ("meta.wikimedia.org", "meta"),
    "outreachwiki": ("outreach.wikimedia.org", "outreach"),
    "sourceswiki": ("wikisource.org", "sources"),
    "specieswiki": ("species.wikimedia.org", "species"),
    "wikidatawiki": ("www.wikidata.org", "wikidata"),
    "wikifunctionswiki": ("www.wikifunctions.org", "wikifunctions"),
    "wikimaniawiki": ("wikimania.wikimedia.org", "wikimania"),
}
_BCP47_TAGS = {
    "als": "gsw",
    "bat-smg": "sgs",
    "be-x-old": "be-tarask",
    "cbk-zam": "cbk",
    "de-formal": "de-x-formal",
    "eml": "egl",
    "en-rtl": "en-x-rtl",
    "es-formal": "es-x-formal",
    "fiu-vro": "vro",
    "hu-formal": "hu-x-formal",
    "map-bms": "jv-x-bms",
    "mo": "ro-cyrl-md",
    "nl-informal": "nl-x-informal",
    "nrm": "nrf",
    "roa-rup": "rup",
    "roa-tara": "nap-x-tara",
    "simple": "en-simple",
    "sr-ec": "sr-cyrl",
    "sr-el": "sr-latn",
    "zh-classical": "lzh",
    "zh-cn": "zh-hans-cn",
    "zh-hk": "zh-hant-hk",
    "zh-min-nan": "nan",
    "zh-mo": "zh-hant-mo",
    "zh-my": "zh-hans-my",
    "zh-sg": "zh-hans-sg",
    "zh-tw": "zh-hant-tw",
    "zh-yue": "yue",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki: its IRI, language, group, and the path of its pages."""

    iri: str
    language: str
    group: str
    path: str = "wiki/"

    def page(self, title: str) -> str:
        """IRI of the page with a title."""
        return self.iri + self.path + quote(title.replace(" ", "_"), safe=";@$!*(),/~:-._")


@lru_cache(maxsize=4096)
def wikimedia_site(name: str) -> Site | None:
    """The Wikimedia wiki with an id such as ``enwiki``, or None."""
    if name in _MULTILINGUAL_WIKIS:
        host, group = _MULTILINGUAL_WIKIS[name]
        return Site(f"https://{host}/", "en", group)
    for ending, group in _GROUPS.items():
        code = name.removesuffix(ending).replace("_", "-")
        if name.endswith(ending) and code:
            return Site(f"https://{code}.{group}.org/", language_tag(code), group)
    return None


def language_tag(code: str) -> str:
    """The BCP 47 tag for a language code of MediaWiki."""
    return _BCP47_TAGS.get(code, code)


WIKIBASE: Final = Namespace("http://wikiba.se/ontology#")
CC: Final = Namespace("http://creativecommons.org/ns#")
GEO: Final = Namespace("http://www.opengis.net/ont/geosparql#")
WIKIDATA: Final = "http://www.wikidata.org/entity/"
ONE: Final = NamedNode(WIKIDATA + "Q199")
"""The unit of a quantity without a unit, in every Wikibase."""
GREGORIAN: Final = WIKIDATA + "Q1985727"
JULIAN: Final = WIKIDATA + "Q1985786"
"""The calendar models of times, in every Wikibase."""

PREDICATES: Final = {
    "wdt": "prop/direct/",
    "wdtn": "prop/direct-normalized/",
    "p": "prop/",
    "ps": "prop/statement/",
    "psv": "prop/statement/value/",
    "psn": "prop/statement/value-normalized/",
    "pq": "prop/qualifier/",
    "pqv": "prop/qualifier/value/",
    "pqn": "prop/qualifier/value-normalized/",
    "pr": "prop/reference/",
    "prv": "prop/reference/value/",
    "prn": "prop/reference/value-normalized/",
    "wdno": "prop/novalue/",
}
"""Prefix, as in Wikidata -> namespace below the base of the properties."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The namespaces of a Wikibase whose items have IRIs below `entity`, which ends in ``entity/``.

    `properties` is the corresponding namespace of properties from another Wikibase.
    """

    entity: str = WIKIDATA
    properties: str = ""
    data: str = ""
    sites: Callable[[str], Site | None] = wikimedia_site
    _nodes: dict[tuple[str, str], NamedNode] = field(default_factory=dict, repr=False)

    @property
    def top(self) -> str:
        """The base of `entity`, and of values, references and documents."""
        return self.entity.removesuffix("entity/")

    def thing(self, id_: str) -> NamedNode:
        """IRI of an item, a property or another entity."""
        if id_.startswith("P") and self.properties:
            return NamedNode(self.properties + id_)
        return NamedNode(self.entity + id_)

    def document(self, id_: str) -> NamedNode:
        """IRI of the document about an entity (wdata:)."""
        return NamedNode((self.data or f"{self.top}wiki/Special:EntityData/") + id_)

    def statement(self, name: str) -> NamedNode:
        return NamedNode(f"{self.entity}statement/{name}")

    def reference(self, name: str) -> NamedNode:
        return NamedNode(f"{self.top}reference/{name}")

    def value(self, name: str) -> NamedNode:
        return NamedNode(f"{self.top}value/{name}")

    def skolem_iri(self, *parts: str) -> NamedNode:
        """A Skolem IRI in place of a blank node, derived from its context."""
        return NamedNode(f"{self.top}.well-known/genid/{sha256_hex(*parts)[:32]}")

    def predicate(self, prefix: str, property_id: str) -> NamedNode:
        """A predicate of a property: ``predicate("wdt", "P31")``."""
        key = (prefix, property_id)
        node = self._nodes.get(key)
        if node is None:
            base = (self.properties or self.entity).removesuffix("entity/")
            node = self._nodes[key] = NamedNode(f"{base}{PREDICATES[prefix]}{property_id}")
        return node

    def prefixes(self) -> dict[str, str]:
        """Prefixes for Turtle, named as in Wikidata."""
        base = (self.properties or self.entity).removesuffix("entity/")
        return {
            "wd": self.entity,
            "wdata": self.data or f"{self.top}wiki/Special:EntityData/",
            "wds": f"{self.entity}statement/",
            "wdref": f"{self.top}reference/",
            "wdv": f"{self.top}value/",
            "wikibase": WIKIBASE.base,
            "schema": WIKIBASE_SCHEMA.base,
            **{prefix: base + path for prefix, path in PREDICATES.items()},
        }
