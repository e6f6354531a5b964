"""Mapping of entity type labels to the entity types of the library.

A label is looked up in a table of labels that are common in named entity recognition (CoNLL,
OntoNotes, ACE, schema.org, Wikidata), in lower case and in the singular, without a namespace or
the prefix of a tagging scheme. If the label is not in the table, its words are looked up, from the
last to the first. Any other label is ``misc``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from sarag_rdf.base.types import ENTITY_TYPES, EntityType, Extraction

_LABELS: dict[EntityType, str] = {
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
    "time": """
        date, time, year, month, day, century, decade, period, era, temporal entity
    """,
}
_TYPES: dict[str, EntityType] = {
    label: type_
    for type_, labels in _LABELS.items()
    for label in " ".join(labels.split()).split(", ")
}
_NAMESPACE = re.compile(r"^.*[/#:](?=.)")
_TAG_PREFIX = re.compile(r"^[BILESU]-(?=[A-Z])")
"""The prefix of a tag in the IOB and BILOU schemes."""
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def nearest_type(label: object) -> EntityType:
    """The entity type for a label; `misc` for an unknown label."""
    if label in ENTITY_TYPES:
        return label
    bare = _TAG_PREFIX.sub("", _NAMESPACE.sub("", str(label).strip()))
    words = re.findall(r"\w+", _CAMEL_CASE.sub(" ", bare).replace("_", " ").casefold())
    for name in (" ".join(words), *reversed(words)):
        type_ = next((_TYPES[form] for form in _singulars(name) if form in _TYPES), None)
        if type_ is not None:
            return type_
    return "misc"


def _singulars(name: str) -> tuple[str, ...]:
    """A name, and possible singular forms of it."""
    plurals = (("ies", "y"), ("es", ""), ("s", ""), ("men", "man"))
    return (name, *(name.removesuffix(end) + stem for end, stem in plurals if name.endswith(end)))


def unknown_types(extraction: Extraction) -> Counter[str]:
    """Counts of the mentions whose type is not an entity type, by their label."""
    return Counter(str(m.type) for m in extraction.mentions if m.type not in ENTITY_TYPES)


def resolve_types(extraction: Extraction) -> Extraction:
    """The extraction with every unknown type replaced by the nearest entity type."""
    if not unknown_types(extraction):
        return extraction
    mentions = tuple(replace(m, type=nearest_type(m.type)) for m in extraction.mentions)
    return replace(extraction, mentions=mentions)


def unknown_types_warning(counts: Counter[str]) -> str:
    """A warning on one line with the most frequent unknown labels."""
    shown = [
        f"{label[:40]!r} as {nearest_type(label)} ({count})"
        for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
    ]
    more = f", and {len(counts) - 5} other labels" if len(counts) > 5 else ""
    return f"unknown entity types were replaced by the nearest ones: {', '.join(shown)}{more}"
