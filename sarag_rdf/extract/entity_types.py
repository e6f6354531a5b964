"""The type of an entity that an extractor calls by another name than the four that there are.

A label is looked up in a table of names that are common in named entity recognition (CoNLL,
OntoNotes, ACE, schema.org, Wikidata), in lower case and in the singular, without a prefix of a
tagging scheme or a namespace. If it is not there as a whole, its words are, from the last to the
first. A label of which nothing is known is ``misc``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from sarag_rdf.types import ENTITY_TYPES, EntityType, Extraction, Mention

_NAMES: dict[EntityType, str] = {
    "person": """
        per, person, people, human, human being, individual, character, fictional character,
        figure, man, woman, child, name, author, artist, actor, actress, athlete, player,
        politician, scientist, researcher, writer, poet, painter, musician, singer, composer,
        director, king, queen, emperor, president, minister, philosopher, engineer, leader,
        officer, deity, saint
    """,
    "organization": """
        org, organization, organisation, organizational, company, corporation, business,
        enterprise, firm, brand, startup, institution, institute, university, college, school,
        faculty, department, agency, ministry, government, government agency, authority,
        association, society, club, team, band, music group, musical group, orchestra, party,
        political party, union, committee, council, court, bank, museum, hospital, laboratory,
        lab, newspaper, publisher, ngo, foundation, army, military unit, league, church, group
    """,
    "geopolitical": """
        gpe, geopolitical, geopolitical entity, loc, location, place, geo, geographic entity,
        geographical entity, geographical feature, geographic feature, landform, region, area,
        country, nation, sovereign state, state, province, county, district, municipality,
        canton, city, town, village, settlement, capital, neighborhood, neighbourhood, suburb,
        continent, island, mountain, mountain range, peak, valley, river, lake, sea, ocean, bay,
        desert, forest, park, street, territory, empire, kingdom, administrative area
    """,
}
_TYPES: dict[str, EntityType] = {
    name: type_ for type_, names in _NAMES.items() for name in " ".join(names.split()).split(", ")
}
_NAMESPACE = re.compile(r"^.*[/#:](?=.)")
_SCHEME = re.compile(r"^[BILESU]-(?=[A-Z])")
"""How a tag begins in the schemes IOB and BILOU."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def nearest_type(label: object) -> EntityType:
    """The type that a label stands for; `misc` for what is unknown."""
    if label in ENTITY_TYPES:
        return label
    bare = _SCHEME.sub("", _NAMESPACE.sub("", str(label).strip()))
    words = re.findall(r"\w+", _HUMP.sub(" ", bare).replace("_", " ").casefold())
    for name in (" ".join(words), *reversed(words)):
        found = next((_TYPES[form] for form in _forms(name) if form in _TYPES), None)
        if found is not None:
            return found
    return "misc"


def _forms(name: str) -> tuple[str, ...]:
    """A name, and what it may be the plural of."""
    plurals = (("ies", "y"), ("es", ""), ("s", ""), ("men", "man"))
    return (name, *(name.removesuffix(end) + stem for end, stem in plurals if name.endswith(end)))


def with_known_types(extraction: Extraction) -> Extraction:
    """The extraction with a type that there is for every mention; other labels in `retyped`."""
    unknown = tuple(str(m.type) for m in extraction.mentions if m.type not in ENTITY_TYPES)
    if not unknown:
        return extraction
    mentions = tuple(_typed(mention) for mention in extraction.mentions)
    return replace(extraction, mentions=mentions, retyped=(*extraction.retyped, *unknown))


def _typed(mention: Mention) -> Mention:
    known = mention.type in ENTITY_TYPES
    return mention if known else replace(mention, type=nearest_type(mention.type))


def retyping_warning(retyped: Counter[str]) -> str:
    """One line on the labels that were not known, the commonest first."""
    shown = [
        f"{label[:40]!r} as {nearest_type(label)} ({count})"
        for label, count in sorted(retyped.items(), key=lambda item: (-item[1], item[0]))[:5]
    ]
    more = f", and {len(retyped) - 5} other labels" if len(retyped) > 5 else ""
    return f"types that are not known were taken for the nearest: {', '.join(shown)}{more}"
