"""Clusters of entities with similar embeddings, and a model that looks through them.

DotRAG (section A.5) compares all pairs of entities, clusters them greedily by cosine, and lets a
language model say which members of a cluster are the same. Here no matrix of all pairs is made: a
vector index gives the neighbours of one entity at a time. The members of a cluster are near to one
entity, its centre, and not only to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.fence import fence_for
from sarag_rdf.base.json_schema import array_of, object_of, one_of
from sarag_rdf.base.ports import LLM
from sarag_rdf.base.resources import render_prompt

SHOWN: Final = 20
"""Members of a cluster that a model is asked about in one call."""
_MAX_TOKENS: Final = 400

Nearest = Callable[[str, float], list[tuple[str, float]]]
"""(entity, minimum cosine) -> the entities with at least that cosine, with their cosines."""


def clusters(
    entities: Iterable[str], nearest: Nearest, least: float
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Each centre with the members of its cluster and their cosines with it, nearest first.

    Entities become centres in their order, unless they are in a cluster already; those nearer to it
    than `least` and in no cluster join it. So memory is that of one list of neighbours.
    """
    order = list(entities)
    known, joined = set(order), set()
    for centre in order:
        if centre in joined:
            continue
        joined.add(centre)
        members = [
            (other, cosine)
            for other, cosine in nearest(centre, least)
            if other in known and other not in joined
        ]
        joined |= {other for other, _ in members}
        if members:
            yield centre, sorted(members, key=lambda member: (-member[1], member[0]))


@dataclass(frozen=True, slots=True)
class Member:
    """An entity as a model sees it."""

    iri: str
    name: str
    type: str = ""
    text: str = ""


def curated(centre: Member, members: Sequence[Member], llm: LLM) -> dict[str, bool | None]:
    """Member -> whether a model finds it the same thing as the centre; None without a valid reply.

    A reply may name only members that it was shown.
    """
    verdicts: dict[str, bool | None] = {}
    for begin in range(0, len(members), SHOWN):
        some = members[begin : begin + SHOWN]
        numbers = [str(number) for number in range(1, len(some) + 1)]
        texts = [text for member in (centre, *some) for text in (member.name, member.text)]
        prompt = render_prompt(
            "curate_cluster",
            centre=centre,
            members=dict(zip(numbers, some, strict=True)),
            fence=fence_for(*texts, length=8),
        )
        schema = object_of(same=array_of(one_of(numbers), len(numbers)))
        try:
            reply = llm.complete(prompt, schema, name="curate_cluster", max_tokens=_MAX_TOKENS)
        except (TruncatedReplyError, UnparsableReplyError):
            verdicts |= {member.iri: None for member in some}
            continue
        same = set(reply.data["same"])
        verdicts |= {m.iri: number in same for number, m in zip(numbers, some, strict=True)}
    return verdicts


def remarks(verdicts: Mapping[str, bool | None], model: str) -> dict[str, str]:
    """What a model found about each member, as a remark for review."""
    words = {True: "the same", False: "something else", None: "no usable reply"}
    return {iri: f"{model}: {words[verdict]}" for iri, verdict in verdicts.items()}
