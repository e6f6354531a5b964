"""The values between retrieval and an answer: ``Retrieved -> Context -> Answer``. All are frozen.

Offsets count Unicode code points in the source's text, as those of documents do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from sarag_rdf.types import Document, Retrieved, Usage


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a statement comes from: a document, its source, and the offsets in that source."""

    document: str
    source: str
    title: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A document, or some sentences of it: `spans` are (begin, end) in its text, ascending."""

    document: Document
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def whole(cls, document: Document) -> Excerpt:
        """All of a document."""
        return cls(document, ((0, len(document.text)),))

    @property
    def text(self) -> str:
        """The spans in their order, with an ellipsis where something between them is left out."""
        text = self.document.text
        parts = [text[begin:end] for begin, end in self.spans]
        gaps = [text[one[1] : two[0]] for one, two in pairwise(self.spans)]
        joints = [gap if not gap.strip() else " ... " for gap in gaps]
        return "".join(part + joint for part, joint in zip(parts, [*joints, ""], strict=True))

    @property
    def titled_text(self) -> str:
        """The title, a line break, the text."""
        return f"{self.document.title}\n{self.text}" if self.document.title else self.text

    @property
    def citation(self) -> Citation:
        """From the first to the last character that is shown."""
        document = self.document
        begin, end = document.begin + self.spans[0][0], document.begin + self.spans[-1][1]
        return Citation(document.iri, document.source_iri, document.title, begin, end)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a context, such as what lies so many hops from the question's entities."""

    heading: str
    excerpts: Mapping[str, Excerpt]
    relationships: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a model is given; labels (``D1``, ``D2``, ...) are distinct over all sections.

    `tokens` is its size as `builder` counted it, without the prompt around it.
    """

    sections: tuple[Section, ...]
    tokens: int = 0
    builder: str = ""

    @property
    def excerpts(self) -> dict[str, Excerpt]:
        """All excerpts by label, in their order."""
        return {k: v for section in self.sections for k, v in section.excerpts.items()}

    @property
    def texts(self) -> Iterator[str]:
        """Every text that is data and no instruction."""
        for section in self.sections:
            yield from (excerpt.titled_text for excerpt in section.excerpts.values())
            yield from section.relationships


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was retrieved for one question or sub-question, and what a model is given of it."""

    retrieved: Retrieved
    context: Context


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that a reasoner did: a retrieval, a call of the model, or a note.

    `name` says what for; `detail` holds plain JSON values, such as the model's reply.
    """

    kind: Literal["retrieval", "call", "note"]
    name: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of asking.

    `outcome` is ``answered``; or ``insufficient`` when the model finds no answer in the
    evidence; or ``evidence`` when no model was asked and only evidence is given. `retrieved` is
    that of the question itself (of nothing for a reasoner that retrieves nothing); `evidence` is
    all that models were given, in order, and `trace` all that was done.
    """

    outcome: Literal["answered", "insufficient", "evidence"]
    text: str
    reasoning: str
    citations: tuple[Citation, ...]
    retrieved: Retrieved
    usage: Usage = field(default_factory=Usage)
    evidence: tuple[Evidence, ...] = ()
    trace: tuple[Stage, ...] = ()
