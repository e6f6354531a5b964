"""Lines that name a property: "Head office: Larchville", rows of tables with a label, and headers.

A line of a key and a value, or a row of two cells, states a property of what the text is about. In
a table whose header names properties, each row states them of the thing in its first cell. Keys and
headers are labels of properties, with or without a unit: "Depth (m)". Both ends must fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sarag_rdf.base.iris import normalize_name
from sarag_rdf.base.types import EntityType, Mention, Relation
from sarag_rdf.extraction.phrases import Argument, PhraseMatcher
from sarag_rdf.extraction.text_values import UNIT_IRIS, ValueKind, parse_value
from sarag_rdf.extraction.typed_statements import UNIT_OF_LABEL, literal
from sarag_rdf.graph.ontology.schema import OntologyProperty

_KEYED = re.compile(r"(?:^|(?<=[;*] ))[\s>*+-]*([A-Z\w][^\n:;*|.,]{1,40}?)\**:\**[ \t]+([^\n;*|]+)")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t#]*$")
_RULE = re.compile(r"[\s|:+-]+")
_MARKS = re.compile(r"[*_`]+|<[^<>]*>")
_LISTED = re.compile(r"\s*(?:[,;]| and )\s+")
_KINDS: tuple[ValueKind, ...] = ("date", "money", "duration", "quantity", "number", "url")
CONFIDENCE = 0.9
"""That of a statement of a sentence (`spacy_extractor`)."""
_MAX_WORDS = 8
"""Words of a cell that may be a name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text under or beside a key; `subject` is empty for what the whole text is about."""

    key: str
    text: str
    subject: str = ""
    kind: str = ""
    """What the header calls the things in the first column."""


def find_cells(text: str, prose: str, matcher: PhraseMatcher) -> Iterator[Cell]:
    """The cells with a key that is a label of a property, in the order of the text.

    Lines that are not prose are no keys and values, but code and settings.
    """
    subject = ""
    lines = zip(text.split("\n"), prose.split("\n"), strict=True)
    for is_table, block in groupby(lines, lambda pair: "|" in pair[0]):
        if is_table:
            yield from _of_table([line for line, _ in block], subject, matcher)
            continue
        for line, said in block:
            if heading := _HEADING.match(line):
                subject = heading[1]
            for key, value in _KEYED.findall(line) if said.strip() else ():
                if matcher.labelled(_bare(key)):
                    yield Cell(key.strip(), value.strip(), subject)


def _of_table(lines: Sequence[str], subject: str, matcher: PhraseMatcher) -> Iterator[Cell]:
    rows = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    header = rows[0] if len(rows) > 1 else []
    keys = {n: key for n, key in enumerate(header) if n and matcher.labelled(_bare(key))}
    for row in rows:
        if keys and row is not header and row[0]:
            yield from (Cell(k, row[n], row[0], header[0]) for n, k in keys.items() if n < len(row))
        elif not keys and len(row) == 2 and matcher.labelled(_bare(row[0])):
            yield Cell(row[0], row[1], subject)


def _cells(line: str) -> list[str]:
    return [_MARKS.sub("", cell).strip() for cell in line.strip().strip("|").split("|")]


def _bare(key: str) -> str:
    """A key without its unit."""
    return UNIT_OF_LABEL.sub("", key.strip())


class CellReader:
    """What the cells of a text state about names, and of its topic.

    `name_of` has the names of the text by their normalised forms, and `argument` says what is known
    of one. Cells without a subject are about the `topic`, if there is one.
    """

    def __init__(
        self,
        matcher: PhraseMatcher,
        name_of: Mapping[str, str],
        argument: Callable[[str], Argument],
        topic: str,
    ) -> None:
        self._matcher, self._name_of, self._argument = matcher, name_of, argument
        self._topic = topic
        self.mentions: dict[str, Mention] = {}
        """The names that only cells name."""

    def relations(self, cells: Iterable[Cell]) -> Iterator[Relation]:
        """The statements of the cells, each of the one property with the key that fits best."""
        for cell in cells:
            name = cell.subject if cell.kind else self._known(cell.subject) or self._topic
            if not _is_name(name):
                continue
            subject = self._named(name, self._matcher.classes_of_noun(cell.kind)[:1])
            fitting = [
                (self._matcher.fit(subject, property_.domains), property_, objects)
                for property_ in self._matcher.labelled(_bare(cell.key))
                if (objects := [*self._objects(cell, property_)])
            ]
            best = max((fit for fit, _, _ in fitting), default=0)
            chosen = [each for each in fitting if each[0] == best > 0]
            for _, property_, objects in chosen if len(chosen) == 1 else ():
                for end in (subject, *(each for each in objects if each.value is None)):
                    if not self._known(end.text):
                        mention = Mention(end.text, end.type, classes=end.classes)
                        self.mentions.setdefault(end.text, mention)
                for end in objects:
                    words = subject.text, cell.key.lower(), end.text
                    yield Relation(*words, "", CONFIDENCE, property_.iri, value=end.value)

    def _objects(self, cell: Cell, property_: OntologyProperty) -> Iterator[Argument]:
        text = cell.text.strip().rstrip(".")
        if property_.is_literal:
            value = next(filter(None, (parse_value(text, kind) for kind in _KINDS)), None)
            unit = UNIT_OF_LABEL.search(cell.key)
            if value and unit and not value.unit:
                value = replace(value, unit=UNIT_IRIS[unit[1]])
            if text and (said := literal(property_, text, value)):
                yield Argument(text, "value", value=said)
            return
        [type_, *more] = set().union(*map(self._matcher.entity_types, property_.ranges)) or {"misc"}
        for name in [text] if self._known(text) else _LISTED.split(text):
            object_ = self._named(name, type_="misc" if more else type_)
            if _is_name(name) and self._matcher.fit(object_, property_.ranges) > 0:
                yield object_

    def _known(self, name: str) -> str:
        return self._name_of.get(normalize_name(name), "")

    def _named(
        self, name: str, classes: tuple[str, ...] = (), type_: EntityType = "misc"
    ) -> Argument:
        """What is known of a name; else what the header or the range says."""
        known = self._known(name)
        argument = self._argument(known) if known else Argument(name, "name", type_)
        return replace(argument, classes=argument.classes or classes)


def _is_name(text: str) -> bool:
    """Whether a text may be a name: few words, the first with a capital letter or a digit."""
    return text[:1].isalnum() and not text[0].islower() and len(text.split()) <= _MAX_WORDS
