"""What a language model says of entities, for review: which are the same, and of which class.

DotRAG (section A.5) lets a model look through clusters of entities, and relabel the types of
entities in batches; it checks that each of them comes back once. Here its replies are proposals:
nothing changes before they are accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sarag_rdf.base.errors import TruncatedReplyError, UnparsableReplyError
from sarag_rdf.base.ports import LLM
from sarag_rdf.base.prompts import array_of, fence_for, object_of, one_of, render_prompt

SHOWN: Final = 20
"""Entities that a model is asked about in one call."""
NO_CLASS: Final = "none of these"
_TOKENS: Final = 30
"""Tokens of the reply about one entity."""
_MAX_TOKENS: Final = 400


@dataclass(frozen=True, slots=True)
class Member:
    """An entity as a model sees it."""

    iri: str
    name: str
    type: str = ""
    text: str = ""


_Numbered = Mapping[str, Member]
"""Number in a prompt -> member."""


def remarks(centre: Member, members: Sequence[Member], llm: LLM) -> dict[str, str]:
    """Member -> a remark for review: whether a model finds it the same thing as the centre.

    A reply may name only members that it was shown.
    """
    verdicts: dict[str, str] = {}
    for batch in _batches(members):
        schema = object_of(same=array_of(one_of(list(batch)), len(batch)))
        reply = _reply("curate_cluster", batch, llm, schema, _MAX_TOKENS, centre=centre)
        verdicts |= {
            member.iri: "no usable reply"
            if reply is None
            else "the same"
            if number in reply["same"]
            else "something else"
            for number, member in batch.items()
        }
    return {iri: f"{llm.model}: {verdict}" for iri, verdict in verdicts.items()}


def relabelled(
    members: Sequence[Member], classes: Sequence[str], llm: LLM
) -> Iterator[tuple[Member, str | None]]:
    """Each entity with the label of its class; "" for none of them, None without a valid reply.

    `classes` are labels. Entities that a reply does not name exactly once are asked about again,
    together, and then have no valid reply.
    """
    for batch in _batches(members):
        labels = _labels(batch, classes, llm)
        missing = [member for member in batch.values() if member.iri not in labels]
        if 0 < len(missing) < len(batch):
            labels |= _labels(_numbered(missing), classes, llm)
        yield from ((member, labels.get(member.iri)) for member in batch.values())


def _labels(batch: _Numbered, classes: Sequence[str], llm: LLM) -> dict[str, str]:
    """Entity -> label, for those that the reply names exactly once."""
    labelled = object_of(entity=one_of(list(batch)), type=one_of([*classes, NO_CLASS]))
    schema = object_of(labels=array_of(labelled, len(batch)))
    tokens = _TOKENS * (len(batch) + 1)
    reply = _reply("relabel_entities", batch, llm, schema, tokens, classes=classes, none=NO_CLASS)
    rows = reply["labels"] if reply is not None else []
    counts = Counter(row["entity"] for row in rows)
    return {
        batch[row["entity"]].iri: "" if row["type"] == NO_CLASS else row["type"]
        for row in rows
        if counts[row["entity"]] == 1
    }


def _batches(members: Sequence[Member]) -> Iterator[_Numbered]:
    for begin in range(0, len(members), SHOWN):
        yield _numbered(members[begin : begin + SHOWN])


def _numbered(members: Sequence[Member]) -> _Numbered:
    return {str(number): member for number, member in enumerate(members, start=1)}


def _reply(
    name: str, batch: _Numbered, llm: LLM, schema: Any, max_tokens: int, **values: Any
) -> Any:
    """What a model replies to a prompt about numbered members; None without a valid reply."""
    texts = [text for m in batch.values() for text in (m.name, m.type, m.text)]
    for value in values.values():
        texts += [value.name, value.text] if isinstance(value, Member) else value
    fence = fence_for(*texts, length=8)
    prompt = render_prompt(name, members=batch, fence=fence, **values)
    try:
        return llm.complete(prompt, schema, name=name, max_tokens=max_tokens).data
    except (TruncatedReplyError, UnparsableReplyError):
        return None
