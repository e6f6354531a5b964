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
from sarag_rdf.extraction.names import ENGLISH, listed
from sarag_rdf.extraction.phrases import Argument, PhraseMatcher
from sarag_rdf.extraction.prose import fenced
from sarag_rdf.extraction.text_values import UNIT_IRIS, ValueKind, parse_value
from sarag_rdf.extraction.typed_statements import CONFIDENCE, UNIT_OF_LABEL, literal
from sarag_rdf.graph.ontology.schema import OntologyProperty

_KEYED = re.compile(r"[\s>*+-]*([A-Z\w][^\n:;*|.,]{1,40}?)\**:\**[ \t]+([^\n;*|]+)")
_NEXT_KEYED = re.compile(r"; ([A-Z\w][^\n:;*|.,]{1,40}?): ([^\n;*|]+)")
_HEADING = re.compile(r"(?:#{1,6}[ \t]+|\*\*)([^|:]+?)[ \t#*]*$")
_INDENTED = re.compile(r"(?:\t| {4}| +[*+-] )")
_RULE = re.compile(r"[\s|:+-]+")
_MARKS = re.compile(r"[*_`]+|<[^<>]*>")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_BAR = re.compile(r"(?<!\\)\|")
_LISTED = re.compile(r"\s*(?:[,;]|(?<=\s)and(?=\s))\s*")
_KINDS: tuple[ValueKind, ...] = ("date", "money", "duration", "quantity", "number", "url")
_SECTIONS, _NO_NAMES, _JOINTS = (
    frozenset(listed(ENGLISH["tables"][name])) for name in ("sections", "no_names", "joints")
)
_MAX_WORDS = 8
"""Words of a cell that may be a name."""
_TWO = 2


@dataclass(frozen=True, slots=True)
class Cell:
    """A text under or beside a key; `subject` is empty for what the whole text is about."""

    key: str
    text: str
    subject: str = ""
    is_row: bool = False
    """Whether the subject is the first cell of a row."""
    kind: str = ""
    """What the header calls the things in the first column."""


def find_cells(text: str, prose: str, matcher: PhraseMatcher) -> Iterator[Cell]:
    """The cells with a key that is a label of a property, in the order of the text.

    Lines that are not prose are no keys and values, but code and settings; nor are those below
    others. A heading that is no usual one of a section says what the lines below it are about.
    """
    subject, is_comment = "", False
    lines = text.split("\n")
    code = {number for block in fenced(lines) for number in block}
    said_lines = zip(range(len(lines)), lines, prose.split("\n"), strict=True)
    for is_table, block in groupby(said_lines, lambda each: "|" in each[1]):
        if is_table:
            rows = [line for number, line, _ in block if number not in code]
            if not is_comment and not any(map(_INDENTED.match, rows)):
                yield from _of_table(rows, subject, matcher)
            continue
        for number, line, said in block:
            is_comment ^= line.strip() in ("<!--", "-->")
            if number in code or is_comment or _INDENTED.match(line):
                continue
            if heading := _HEADING.match(line):
                is_usual = heading[1].casefold() in _SECTIONS
                subject = subject if is_usual else heading[1]
            first = _KEYED.match(line) if said.strip() else None
            for key, value in (first.groups(), *_NEXT_KEYED.findall(line)) if first else ():
                if matcher.labelled(_bare(key)):
                    yield Cell(key.strip(), value.strip(), subject)
                elif matcher.classes_of_noun(key.lower()):
                    subject = value.strip()  # "Company: Fell Works"


def _of_table(lines: Sequence[str], subject: str, matcher: PhraseMatcher) -> Iterator[Cell]:
    has_header = any(_RULE.fullmatch(line) for line in lines[1:2])
    rows = [_cells(line) for line in lines if not _RULE.fullmatch(line)]
    header = rows[0] if len(rows) > 1 else []
    keys = {n: key for n, key in enumerate(header) if n and matcher.labelled(_bare(key))}
    for row in rows[1 if keys or has_header else 0 :]:
        if keys and row[0] and len(row) == len(header):
            if not all(matcher.labelled(_bare(row[n])) for n in keys):  # another header
                yield from (Cell(k, row[n], row[0], True, header[0]) for n, k in keys.items())
        elif not keys and len(row) == _TWO and matcher.labelled(_bare(row[0])):
            named = header[1] if has_header and header[1].casefold() not in _SECTIONS else ""
            yield Cell(row[0], row[1], named or subject)


def _cells(line: str) -> list[str]:
    line = line.strip()
    line = line[line.startswith("|") : -1 if line.endswith("|") else None]
    return [_MARKS.sub("", _BREAK.sub(" ", cell)).strip() for cell in _BAR.split(line)]


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
            name, classes = self._subject(cell)
            if not name:
                continue
            subject = self._named(name, classes)
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
                        general = self._matcher.general_classes.get(end.type)
                        is_person = end.type == "person" and " " in end.text and general
                        classes = end.classes or ((general,) if general and is_person else ())
                        mention = Mention(end.text, end.type, classes=classes)
                        self.mentions.setdefault(end.text, mention)
                for end in objects:
                    words = subject.text, cell.key.lower(), end.text
                    yield Relation(*words, "", CONFIDENCE, property_.iri, value=end.value)

    def _subject(self, cell: Cell) -> tuple[str, tuple[str, ...]]:
        """What a cell is about, with its class; nothing for what may be no name.

        That of a row is known from the text, or of a class that the header names.
        """
        classes = self._matcher.classes_of_noun(cell.kind.lower())[:1] if cell.kind else ()
        known = self._known(cell.subject)
        if cell.is_row:
            return (cell.subject if known or (classes and _is_name(cell.subject)) else ""), classes
        return (known if cell.subject else self._topic), ()

    def _objects(self, cell: Cell, property_: OntologyProperty) -> Iterator[Argument]:
        text = cell.text.strip().rstrip(".")
        if text.casefold() in _NO_NAMES or not text.strip("-\u2013\u2014/? "):
            return
        if property_.is_literal:
            value = next(filter(None, (parse_value(text, kind) for kind in _KINDS)), None)
            unit = UNIT_OF_LABEL.search(cell.key)
            if value and unit and not value.unit:
                text = f"{text} {unit[1]}"
                value = replace(value, unit=UNIT_IRIS[unit[1]])
            is_text = text.split()[0].islower() and len(text.split()) > _MAX_WORDS
            if not is_text and (said := literal(property_, text, value)):
                yield Argument(text, "value", value=said)
            return
        [type_, *more] = set().union(*map(self._matcher.entity_types, property_.ranges)) or {"misc"}
        parts = [text] if self._known(text) else _LISTED.split(text)
        is_place = type_ == "geopolitical" and " and " not in text
        if len(parts) > 1 and (is_place or not all(map(self._known, parts))):
            return  # "Paris, Texas", "Holm, Ida", "Farrar, Straus and Giroux"
        for name in parts:
            object_ = self._named(name, type_="misc" if more else type_)
            is_named = object_.value is None and (self._known(name) or _is_name(name))
            if is_named and self._matcher.fit(object_, property_.ranges) > 0:
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
    """Whether a text can only be a name: few words with capital letters, no date or number."""
    words = text.split()
    if not 0 < len(words) <= _MAX_WORDS or text.casefold() in _NO_NAMES:
        return False
    is_plain = not any(mark in text for mark in '()<>?!:;,\u201c"') and any(map(str.isalpha, text))
    is_value = any(parse_value(text, kind) for kind in _KINDS)
    named = (w[0].isupper() or w[0].isdigit() or w in _JOINTS for w in words)
    return is_plain and not is_value and text[0].isalnum() and all(named)
