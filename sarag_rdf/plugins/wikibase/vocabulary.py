"""The IRIs of a Wikibase instance, and the wikis of its sitelinks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from pyoxigraph import NamedNode

from sarag_rdf.base.iris import sha256_hex
from sarag_rdf.base.vocab import WIKIBASE as WIKIBASE
from sarag_rdf.base.vocab import WIKIBASE_SCHEMA, Namespace

_GROUPS: Final = (
    *("wikibooks", "wikinews", "wikiquote", "wikisource", "wikiversity", "wikivoyage"),
    *("wiktionary", "wiki"),
)
"""How the ids of wikis end, after a language: with the name of their group, or ``wiki``."""
_MULTILINGUAL: Final = {
    **{
        name: f"{name}.wikimedia.org"
        for name in ("commons", "foundation", "incubator", "meta", "outreach", "species")
    },
    **{name: f"www.{name}.org" for name in ("mediawiki", "wikidata", "wikifunctions")},
    "sources": "wikisource.org",
    "wikimania": "wikimania.wikimedia.org",
}
"""Group of a wiki of all languages, whose id ends in ``wiki`` -> its host."""
_BCP47_TAGS: Final = dict(
    pair.split("=")
    for pair in """
        als=gsw bat-smg=sgs be-x-old=be-tarask cbk-zam=cbk de-formal=de-x-formal eml=egl
        en-rtl=en-x-rtl es-formal=es-x-formal fiu-vro=vro hu-formal=hu-x-formal map-bms=jv-x-bms
        mo=ro-cyrl-md nl-informal=nl-x-informal nrm=nrf roa-rup=rup roa-tara=nap-x-tara
        simple=en-simple sr-ec=sr-cyrl sr-el=sr-latn zh-classical=lzh zh-cn=zh-hans-cn
        zh-hk=zh-hant-hk zh-min-nan=nan zh-mo=zh-hant-mo zh-my=zh-hans-my zh-sg=zh-hans-sg
        zh-tw=zh-hant-tw zh-yue=yue
    """.split()
)


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki: its IRI, language, group, and the path of its pages."""

    iri: str
    language: str
    group: str
    path: str = "wiki/"

    def page(self, title: str) -> str:
        return self.iri + self.path + quote(title.replace(" ", "_"), safe=";@$!*(),/~:-._")


@lru_cache(maxsize=4096)
def wikimedia_site(name: str) -> Site | None:
    """The Wikimedia wiki with an id such as ``enwiki``, or None."""
    bare = name.removesuffix("wiki")
    if bare != name and bare in _MULTILINGUAL:
        return Site(f"https://{_MULTILINGUAL[bare]}/", "en", bare)
    for ending in _GROUPS:
        code = name.removesuffix(ending).replace("_", "-")
        if name.endswith(ending) and code:
            group = "wikipedia" if ending == "wiki" else ending
            return Site(f"https://{code}.{group}.org/", language_tag(code), group)
    return None


def language_tag(code: str) -> str:
    """The BCP 47 tag for a language code of MediaWiki."""
    return _BCP47_TAGS.get(code, code)


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
    """The namespaces of a Wikibase whose items have IRIs below `entity`, ending in ``entity/``."""

    entity: str = WIKIDATA
    _nodes: dict[tuple[str, str], NamedNode] = field(default_factory=dict, repr=False)

    @property
    def top(self) -> str:
        """The base of `entity`, and of values, references and documents."""
        return self.entity.removesuffix("entity/")

    def thing(self, id_: str) -> NamedNode:
        """IRI of an item, a property or another entity."""
        return NamedNode(self.entity + id_)

    def document(self, id_: str) -> NamedNode:
        """IRI of the document about an entity (``wdata:``)."""
        return NamedNode(f"{self.top}wiki/Special:EntityData/{id_}")

    def site(self, name: str) -> Site | None:
        """The wiki of a sitelink; None for an unknown one."""
        return wikimedia_site(name)

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
            node = self._nodes[key] = NamedNode(f"{self.top}{PREDICATES[prefix]}{property_id}")
        return node

    def prefixes(self) -> dict[str, str]:
        return {
            "wd": self.entity,
            "wdata": f"{self.top}wiki/Special:EntityData/",
            "wds": f"{self.entity}statement/",
            "wdref": f"{self.top}reference/",
            "wdv": f"{self.top}value/",
            "wikibase": WIKIBASE.base,
            "schema": WIKIBASE_SCHEMA.base,
            **{prefix: self.top + path for prefix, path in PREDICATES.items()},
        }
