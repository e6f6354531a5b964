"""The IRIs of a Wikibase instance, and the wikis that its sitelinks point to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from pyoxigraph import NamedNode

from sarag_rdf.iris import sha256_hex
from sarag_rdf.vocab import Namespace

_GROUPS = {
    "wikibooks": "wikibooks",
    "wikinews": "wikinews",
    "wikiquote": "wikiquote",
    "wikisource": "wikisource",
    "wikiversity": "wikiversity",
    "wikivoyage": "wikivoyage",
    "wiktionary": "wiktionary",
    "wiki": "wikipedia",
}
_OF_ALL_LANGUAGES = {
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
_STANDARD_TAGS = {
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
    """A wiki: IRI, path of its pages below it, language, and the group that it belongs to."""

    iri: str
    language: str
    group: str
    path: str = "wiki/"

    def page(self, title: str) -> str:
        """IRI of the page of that title."""
        return self.iri + self.path + quote(title.replace(" ", "_"), safe=";@$!*(),/~:-._")


@lru_cache(maxsize=4096)
def wikimedia_site(name: str) -> Site | None:
    """The wiki of Wikimedia with that id (``enwiki``), or None."""
    if name in _OF_ALL_LANGUAGES:
        host, group = _OF_ALL_LANGUAGES[name]
        return Site(f"https://{host}/", "en", group)
    for ending, group in _GROUPS.items():
        code = name.removesuffix(ending).replace("_", "-")
        if name.endswith(ending) and code:
            return Site(f"https://{code}.{group}.org/", language_tag(code), group)
    return None


def language_tag(code: str) -> str:
    """The tag of BCP 47 for a language code of MediaWiki, which has some of its own."""
    return _STANDARD_TAGS.get(code, code)


WIKIBASE: Final = Namespace("http://wikiba.se/ontology#")
CC: Final = Namespace("http://creativecommons.org/ns#")
GEO: Final = Namespace("http://www.opengis.net/ont/geosparql#")
WIKIDATA: Final = "http://www.wikidata.org/entity/"
ONE: Final = NamedNode(WIKIDATA + "Q199")
"""The unit of a quantity without unit, in whatever Wikibase."""

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
"""Usual prefix -> namespace below the base of the properties."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one of a unit is in the unit that quantities are normalised to."""

    iri: str
    factor: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Namespaces of a Wikibase whose items have IRIs under `entity`, which ends in ``entity/``.

    `properties` is the same of the Wikibase that the properties come from, if that is another.
    `formatters` maps external identifiers to IRIs (property id -> IRI with ``$1``), `units`
    quantities to normal units (IRI of a unit -> `Unit`): what they do not name is not normalised.
    """

    entity: str = WIKIDATA
    properties: str = ""
    data: str = ""
    sites: Callable[[str], Site | None] = wikimedia_site
    formatters: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)
    _nodes: dict[tuple[str, str], NamedNode] = field(default_factory=dict, repr=False)

    @property
    def top(self) -> str:
        """What `entity` stands below; values, references and pages stand there too."""
        return self.entity.removesuffix("entity/")

    def thing(self, id_: str) -> NamedNode:
        """An item, a property or another entity by its id."""
        if id_.startswith("P") and self.properties:
            return NamedNode(self.properties + id_)
        return NamedNode(self.entity + id_)

    def document(self, id_: str) -> NamedNode:
        """The data about an entity (wdata:)."""
        return NamedNode((self.data or f"{self.top}wiki/Special:EntityData/") + id_)

    def statement(self, name: str) -> NamedNode:
        return NamedNode(f"{self.entity}statement/{name}")

    def reference(self, name: str) -> NamedNode:
        return NamedNode(f"{self.top}reference/{name}")

    def value(self, name: str) -> NamedNode:
        return NamedNode(f"{self.top}value/{name}")

    def nameless(self, *parts: str) -> NamedNode:
        """A skolem IRI in place of a blank node, made from what it stands for."""
        return NamedNode(f"{self.top}.well-known/genid/{sha256_hex(*parts)[:32]}")

    def predicate(self, prefix: str, property_id: str) -> NamedNode:
        """A predicate of a property, by the usual prefix: ``predicate("wdt", "P31")``."""
        key = (prefix, property_id)
        node = self._nodes.get(key)
        if node is None:
            base = (self.properties or self.entity).removesuffix("entity/")
            node = self._nodes[key] = NamedNode(f"{base}{PREDICATES[prefix]}{property_id}")
        return node

    def prefixes(self) -> dict[str, str]:
        """Prefixes under the names that Wikidata gives them, for Turtle."""
        base = (self.properties or self.entity).removesuffix("entity/")
        return {
            "wd": self.entity,
            "wdata": self.data or f"{self.top}wiki/Special:EntityData/",
            "wds": f"{self.entity}statement/",
            "wdref": f"{self.top}reference/",
            "wdv": f"{self.top}value/",
            "wikibase": WIKIBASE.base,
            **{prefix: base + path for prefix, path in PREDICATES.items()},
        }
