"""Classes of entities as a language model reads them, for review.

DotRAG (section A.5) relabels the types of entities in batches, and checks that each of them comes
back once. Here a class is a proposal: nothing changes before it is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.fence import fence_for
from sarag_rdf.base.json_schema import array_of, object_of, one_of
from sarag_rdf.base.ports import LLM
from sarag_rdf.base.resources import render_prompt
from sarag_rdf.building.derive.clusters import Member

SHOWN: Final = 20
"""Entities that a model is asked about in one call."""
NO_CLASS: Final = "none of these"
_TOKENS: Final = 30
"""Tokens of the reply about one entity."""


def relabelled(
    members: Sequence[Member], classes: Sequence[str], llm: LLM
) -> Iterator[tuple[Member, str | None]]:
    """Each entity with the label of its class; "" for none of them, None without a valid reply.

    `classes` are labels. Entities that a reply does not name exactly once are asked about again,
    together, and then have no valid reply.
    """
    for begin in range(0, len(members), SHOWN):
        some = members[begin : begin + SHOWN]
        labels = _asked(some, classes, llm)
        missing = [member for member in some if member.iri not in labels]
        if missing and len(missing) < len(some):
            labels |= _asked(missing, classes, llm)
        yield from ((member, labels.get(member.iri)) for member in some)


def _asked(members: Sequence[Member], classes: Sequence[str], llm: LLM) -> dict[str, str]:
    """Entity -> label, for those that the reply names exactly once."""
    numbers = [str(number) for number in range(1, len(members) + 1)]
    texts = [text for member in members for text in (member.name, member.type, member.text)]
    prompt = render_prompt(
        "relabel_entities",
        members=dict(zip(numbers, members, strict=True)),
        classes=classes,
        none=NO_CLASS,
        fence=fence_for(*texts, *classes, length=8),
    )
    labelled = object_of(entity=one_of(numbers), type=one_of([*classes, NO_CLASS]))
    schema = object_of(labels=array_of(labelled, len(members)))
    most = _TOKENS * (len(members) + 1)
    try:
        reply = llm.complete(prompt, schema, name="relabel_entities", max_tokens=most)
    except (TruncatedReplyError, UnparsableReplyError):
        return {}
    rows = reply.data["labels"]
    counts = Counter(row["entity"] for row in rows)
    return {
        members[int(row["entity"]) - 1].iri: "" if row["type"] == NO_CLASS else row["type"]
        for row in rows
        if counts[row["entity"]] == 1
    }
