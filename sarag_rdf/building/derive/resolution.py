"""Name resolution: which names refer to the same entity, by their aliases and by decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sarag_rdf.base.iris import Minter
from sarag_rdf.building.derive.decisions import Decisions
from sarag_rdf.building.derive.derive import Vote, normalized_names

Owners = Mapping[str, frozenset[str]]
"""Mention -> the other mentions that have it as an alias."""


def resolve(
    mentions: Iterable[str], owners: Owners, normalized: Callable[[str], str]
) -> dict[str, str]:
    """Map each mention to the mention that gives its entity: itself, or one other.

    A name that is an alias of exactly one other name resolves to that name; an ambiguous alias
    resolves to itself. There is one step and no transitive closure: a name whose only owner
    resolves elsewhere resolves to itself. Two names that are each other's only alias are one
    entity, that of the longer name (of equally long ones the smaller in code point order).

    `owners` must cover the mentions and their owners; `normalized` returns a mention's normalised
    name.
    """

    def preferred(mention: str) -> tuple[int, str]:
        name = normalized(mention)
        return -len(name), name

    def sole_owner(mention: str) -> str | None:
        targets = owners.get(mention, frozenset()) - {mention}
        return next(iter(targets)) if len(targets) == 1 else None

    mention_targets: dict[str, str] = {}
    for mention in mentions:
        owner = sole_owner(mention)
        if owner is None:
            mention_targets[mention] = mention
            continue
        next_owner = sole_owner(owner)
        if next_owner is None:
            mention_targets[mention] = owner
        elif next_owner == mention:
            mention_targets[mention] = min(mention, owner, key=preferred)
        else:
            mention_targets[mention] = mention
    return mention_targets


def entities(minter: Minter, roots: Mapping[str, str], decisions: Decisions) -> dict[str, str]:
    """The entities of mentions, by name resolution (`roots`) and then by the decided merges."""
    merged = decisions.merge_targets(roots)
    return {name: minter.entity_of_mention(merged.get(root, root)) for name, root in roots.items()}


def normalized_name_lookup(votes: Iterable[Vote]) -> Callable[[str], str]:
    """Mention -> its normalised name, or empty if the votes do not contain it."""
    names = normalized_names(votes)
    return lambda mention: names[mention].value if mention in names else ""
