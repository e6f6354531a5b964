"""Where the pages of sitelinks are: wikis of Wikimedia, by the ids that dumps call them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

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
