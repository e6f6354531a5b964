"""Entity resolution by normalised name and alias overlap (paper 5.3), independent of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

Owners = Mapping[str, frozenset[str]]
"""Name -> the other names that give it as an alias."""


def resolve(
    mentions: Iterable[str], owners: Owners, normalized: Callable[[str], str]
) -> dict[str, str]:
    """Map each mention to the mention whose entity it refers to (itself, or one other).

    A name that is an alias of exactly one other name resolves to that one; an ambiguous alias
    resolves to nobody and stays for itself. One step, no transitive closure: a name whose only
    owner resolves elsewhere stays for itself. Two names that are each other's only alias are
    one entity, that of the longer name (the smaller in code point order among equals).

    `owners` covers the mentions and their owners; `normalized` gives a mention's normalised name.
    """

    def preferred(mention: str) -> tuple[int, str]:
        name = normalized(mention)
        return -len(name), name

    def sole_owner(mention: str) -> str | None:
        found = owners.get(mention, frozenset()) - {mention}
        return next(iter(found)) if len(found) == 1 else None

    targets: dict[str, str] = {}
    for mention in mentions:
        owner = sole_owner(mention)
        if owner is None:
            targets[mention] = mention
            continue
        next_owner = sole_owner(owner)
        if next_owner is None:
            targets[mention] = owner
        elif next_owner == mention:
            targets[mention] = min(mention, owner, key=preferred)
        else:
            targets[mention] = mention
    return targets
