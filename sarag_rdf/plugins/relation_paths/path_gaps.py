"""What a relation path leaves open of a question: words that no hop says, and hops unsaid."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise

from sarag_rdf.base.words import family_of
from sarag_rdf.plugins.relation_paths.path_words import DOER, Asking, Content

Numbers = tuple[int, ...]
"""A path as the numbers of its hops."""


@dataclass(frozen=True, slots=True)
class HopWords:
    """How questions say a hop: the forms of words that do, with those of the kind at its end too.

    is_mere: whether its label says no more than that things of these kinds belong together.
    narrowing: the words of its label by which it is another property: "former", "vice".
    reverse: the number of the same property in the other direction, -1 where it leads nowhere.
    plainer: other hops between things of these kinds, by number, and the words, as stems, that
    the label of this one has besides theirs: "previous" of "previous employer".
    """

    own: frozenset[str]
    with_kind: frozenset[str]
    is_mere: bool = False
    narrowing: frozenset[str] = frozenset()
    reverse: int = -1
    plainer: Sequence[tuple[int, frozenset[str]]] = ()


def gaps_of(
    paths: Sequence[Numbers],
    asking: Asking,
    asked: str,
    *,
    content: Content,
    hops: Sequence[HopWords],
    is_path: Callable[[Numbers], bool],
) -> list[tuple[float, float]]:
    """The `GAPS` of paths for a question that asks for things of a kind, in a word.

    A word that occurs twice is said by two hops, as are "mother" and "father", or "taught" and
    "teacher". The topic itself says what kind of thing it is. The kind that is asked for is
    that at the end, or not said. What `is_path` may be an answer, too.
    """
    kind_asked, of_topic = content(asked), {*content(asking.kind)}
    words = list(asking.words(content))
    stems = {word.stem for word in words}
    spoken = words_in(f"{asking.before} {asking.after}")
    alike: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for _, stem, forms, is_needed in words:
        if is_needed and stem not in of_topic.difference(kind_asked):
            alike[DOER.sub("", family_of(stem))].append(forms)
    count = sum(map(len, alike.values()))

    def simpler(path: Numbers) -> Iterator[Numbers]:
        """The path without a hop, or with one whose label has fewer words that are not asked for.

        "Which club does X chair?" does not ask for the feeder clubs of these, and the previous
        employer is not "the employer".
        """
        for place, number in enumerate(path):
            before, after = path[:place], path[place + 1 :]
            for other, further in hops[number].plainer:
                if further.isdisjoint(stems):
                    yield *before, other, *after
            if (before or after) and is_path((*before, *after)):
                yield *before, *after

    @cache
    def said_by(path: Numbers) -> frozenset[int]:
        every = frozenset[str]().union(*(hops[number].with_kind for number in path))
        return frozenset(word.place for word in words if not every.isdisjoint(word.forms))

    @cache
    def gaps(path: Numbers) -> tuple[float, float]:
        said = [hops[number].with_kind for number in path]
        every = frozenset[str]().union(*said)
        unsaid = count
        for several in alike.values():
            saying = sum(not own.isdisjoint(chain.from_iterable(several)) for own in said)
            unsaid -= min(saying, sum(not every.isdisjoint(forms) for forms in several))
        by_kind = [  # "the films that share actors": back by the same property
            hops[number].is_mere or before == hops[number].reverse
            for before, number in pairwise((-2, *path))
        ]
        places = [
            [word.place for word in words if not hops[number].own.isdisjoint(word.forms)]
            or [word.place for word in words if is_kind and not own.isdisjoint(word.forms)]
            for number, own, is_kind in zip(path, said, by_kind, strict=True)
        ]
        unsaid += sum(not own for own in places)
        is_asked = every.intersection(kind_asked) <= said[-1]
        is_open = unsaid > 0 or not is_asked or asking.is_turned or not are_in_order(places)
        is_open = is_open or not all(hops[number].narrowing <= spoken for number in path)
        is_open = is_open or any(
            said_by(path) <= said_by(other) and not gaps(other)[1] for other in simpler(path)
        )
        return unsaid / (count + len(path)), float(is_open)

    return [*map(gaps, paths)]


def words_in(text: str) -> frozenset[str]:
    """The words of a text in small letters."""
    return frozenset(re.findall(r"\w+", text.lower()))


def are_in_order(options: Sequence[Sequence[int]], left: int = 0, right: int = 0) -> bool:
    """Whether each hop has a word of its own, the next one farther from the topic on its side.

    Words have their places before the topic (negative) or after it; a hop may be said in several.
    The hops before these have words up to `left` and `right`.
    """
    if not options:
        return True
    own, *others = options
    before = min((-at for at in own if -at > left), default=0)
    after = min((at for at in own if at > right), default=0)
    return bool(before and are_in_order(others, before, right)) or bool(
        after and are_in_order(others, left, after)
    )
