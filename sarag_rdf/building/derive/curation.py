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


def curated(centre: Member, members: Sequence[Member], llm: LLM) -> dict[str, bool | None]:
    """Member -> whether a model finds it the same thing as the centre; None without a valid reply.

    A reply may name only members that it was shown.
    """
    verdicts: dict[str, bool | None] = {}
    for some in _batches(members):
        numbers = list(map(str, range(1, len(some) + 1)))
        schema = object_of(same=array_of(one_of(numbers), len(numbers)))
        reply = _asked("curate_cluster", some, llm, schema, _MAX_TOKENS, centre=centre)
        same = set(reply["same"]) if reply is not None else set()
        verdicts |= {
            member.iri: None if reply is None else number in same
            for number, member in zip(numbers, some, strict=True)
        }
    return verdicts


def remarks(verdicts: Mapping[str, bool | None], model: str) -> dict[str, str]:
    """What a model found about each member, as a remark for review."""
    words = {True: "the same", False: "something else", None: "no usable reply"}
    return {iri: f"{model}: {words[verdict]}" for iri, verdict in verdicts.items()}


def relabelled(
    members: Sequence[Member], classes: Sequence[str], llm: LLM
) -> Iterator[tuple[Member, str | None]]:
    """Each entity with the label of its class; "" for none of them, None without a valid reply.

    `classes` are labels. Entities that a reply does not name exactly once are asked about again,
    together, and then have no valid reply.
    """
    for some in _batches(members):
        labels = _labels(some, classes, llm)
        missing = [member for member in some if member.iri not in labels]
        if missing and len(missing) < len(some):
            labels |= _labels(missing, classes, llm)
        yield from ((member, labels.get(member.iri)) for member in some)


def _labels(members: Sequence[Member], classes: Sequence[str], llm: LLM) -> dict[str, str]:
    """Entity -> label, for those that the reply names exactly once."""
    numbers = list(map(str, range(1, len(members) + 1)))
    labelled = object_of(entity=one_of(numbers), type=one_of([*classes, NO_CLASS]))
    schema = object_of(labels=array_of(labelled, len(members)))
    most = _TOKENS * (len(members) + 1)
    named = {"classes": classes, "none": NO_CLASS}
    reply = _asked("relabel_entities", members, llm, schema, most, **named)
    rows = reply["labels"] if reply is not None else []
    counts = Counter(row["entity"] for row in rows)
    return {
        members[int(row["entity"]) - 1].iri: "" if row["type"] == NO_CLASS else row["type"]
        for row in rows
        if counts[row["entity"]] == 1
    }


def _batches(members: Sequence[Member]) -> Iterator[Sequence[Member]]:
    for begin in range(0, len(members), SHOWN):
        yield members[begin : begin + SHOWN]


def _asked(
    name: str, members: Sequence[Member], llm: LLM, schema: Any, max_tokens: int, **values: Any
) -> Any:
    """What a model replies to a prompt about numbered members; None without a valid reply."""
    texts = [text for m in members for text in (m.name, m.type, m.text)]
    for value in values.values():
        texts += [value.name, value.text] if isinstance(value, Member) else value
    prompt = render_prompt(
        name,
        members={str(number): member for number, member in enumerate(members, start=1)},
        fence=fence_for(*texts, length=8),
        **values,
    )
    try:
        return llm.complete(prompt, schema, name=name, max_tokens=max_tokens).data
    except (TruncatedReplyError, UnparsableReplyError):
        return None
