"""A YARRRML mapping suggested for a table, from its columns and an ontology, for a person to edit.

The file name gives the class, an identifying column the IRI of a row, a name column its label. Each
other column gets the property whose name shares most words with it, if the values fit its range;
values of a property between things become things with labels.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sarag_rdf.base.errors import InputError
from sarag_rdf.base.iris import local_name, namespace
from sarag_rdf.base.options import MAX_SECONDS
from sarag_rdf.base.vocab import DCTERMS, RDFS, SARAG, XSD
from sarag_rdf.building.graph_import import Importer
from sarag_rdf.graph.ontology.schema import (
    OntologyClass,
    OntologyProperty,
    Schema,
    is_code,
    is_datatype,
)
from sarag_rdf.graph.store.input_files import InputFile, run_in_child, unpacked
from sarag_rdf.plugins.tables.table import LEXICAL, TableOptions, blocks, normalized, table_rows

MAX_ROWS = 20_000
"""Rows from which a mapping is suggested, the first of the table."""
MIN_FIT = 0.8
"""Share of the values that a datatype must fit."""
MIN_SCORE = 0.6
"""Least similarity of a column and a property."""
_DOMAINS = 2
"""Properties of a domain from which it is the class of the rows, if the file name gives none."""
_BY_RANGE, _BY_CLASS = 0.65, 0.8
"""Similarities of a column called like the last word of the range of a property, and like it."""
_BY_PREFIX = 0.7
"""Similarity of a column whose name is short for that of a property: "lon" for "longitude"."""
_SHORTEST = 3
"""Letters of an abbreviation."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_STOP = frozenset("a an the of in on at by to for with is was were are has have had be as".split())
_UNITS = frozenset("mm cm m km g kg t s min h l ml hz mw eur usd gbp c k percent 2 3".split())
_SAME = {"year": "date", "day": "date", "organisation": "organization", "colour": "color"}
_TIME_WORDS = frozenset("date year born died founded built made since released published".split())
_NAME_WORDS = ("name", "title", "label")
_ID_WORDS = frozenset(
    "id identifier code key number nr no inventory accession qid ref reference uuid "
    "isbn issn doi".split()
)
_TEXT_WORDS = frozenset("description notes note text abstract summary comment remarks".split())
_LONG = 60
"""Mean length in characters from which a column is a text."""
_PASSAGES = 400
"""Mean length in characters from which a text becomes documents."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: how many cells have a value, how many values differ, and what they look like."""

    name: str
    values: int
    distinct: int
    mean_length: float
    fits: Mapping[str, float]
    """Datatype -> the share of values that fit it."""
    codes: float
    """The share of values that are codes, such as ``Q937``."""

    @property
    def words(self) -> frozenset[str]:
        return content_words(self.name)

    def is_a(self, datatype: str) -> bool:
        """Whether nearly all values fit a datatype."""
        return self.values > 0 and self.fits.get(datatype, 0.0) >= MIN_FIT


def _columns(file: InputFile) -> Iterator[tuple[Column, ...]]:
    with unpacked(file) as (stream, _):
        rows = table_rows(file, stream)
        _, header = next(rows)
        cells: list[list[str]] = [[] for _ in header]
        for count, (_, row) in enumerate(rows):
            if count == MAX_ROWS:
                break
            for values, cell in zip(cells, row, strict=True):
                if cell.strip():
                    values.append(cell.strip())
    yield tuple(_column(name, values) for name, values in zip(header, cells, strict=True) if name)


def _column(name: str, values: Sequence[str]) -> Column:
    count = len(values) or 1
    fits = {
        datatype: sum(bool(pattern.fullmatch(normalized(v, datatype))) for v in values) / count
        for datatype, pattern in LEXICAL.items()
    }
    booleans = sum(value.lower() in ("true", "false", "yes", "no") for value in values)
    fits[XSD.boolean.value] = booleans / count
    codes = sum(map(is_code, values)) / count
    return Column(name, len(values), len(set(values)), sum(map(len, values)) / count, fits, codes)


def content_words(text: str) -> frozenset[str]:
    """Words of a name in lower case and singular, without articles, prepositions and units.

    >>> sorted(content_words("birthPlace")), sorted(content_words("Height_cm"))
    (['birth', 'place'], ['height'])
    """
    words = _words(text)
    content = [w for n, w in enumerate(words) if w not in _STOP and not (n and w in _UNITS)]
    return frozenset(_SAME.get(w, w) for w in map(_singular, content or words))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and len(word) > 3 and word[-2] not in "su" else word


class _Line(NamedTuple):
    """What a column becomes: a predicate, an object, and the reason."""

    predicate: str
    object: str
    type: str = ""
    reason: str = ""


def suggested_mapping(
    file: InputFile, schema: Schema, base: str, prefixes: Mapping[str, str]
) -> str:
    """A mapping of a table, in YARRRML with comments."""
    (columns,) = run_in_child(file, MAX_SECONDS, _columns, file)
    if not columns:
        raise InputError(f"{file.name} has no columns with names: name them in its first line")
    return _Suggestion(file.name, columns, schema, base, prefixes).text()


class _Suggestion:
    def __init__(
        self,
        table: str,
        columns: Sequence[Column],
        schema: Schema,
        base: str,
        prefixes: Mapping[str, str],
    ) -> None:
        self._table, self._columns, self._schema = table, columns, schema
        stem = Path(table).stem
        self._base = f"{base}table/{re.sub(r'[^a-z0-9]+', '-', stem.lower()).strip('-')}/"
        common = {"dcterms": DCTERMS.base, "rdfs": RDFS.base, "sarag": SARAG.base, "xsd": XSD.base}
        self._known = _prefixes_of(schema) | dict(prefixes) | common
        self._used: set[str] = {"rdfs"}
        self._words = _ordered_words(stem)
        self._by_name = {
            tuple(_ordered_words(name)): c
            for c in reversed(list(schema.classes.values()))
            for name in (*c.alternatives, c.label, local_name(c.iri))
        }
        ends = (tuple(self._words[n:]) for n in range(len(self._words)))  # the longest first
        self._class = next((self._by_name[end] for end in ends if end in self._by_name), None)
        self._most = max((column.values for column in columns), default=0)
        self._name = self._name_column()
        self._id = self._id_column()
        others = [c for c in columns if c is not self._name and c is not self._id]
        self._properties = self._matched(others)
        if self._class is None:  # the domain of most of the properties
            domains = Counter(d for p, _ in self._properties.values() for d in p.domains)
            known = [d for d in domains.keys() & schema.classes.keys() if domains[d] >= _DOMAINS]
            best = min(known, key=lambda d: (-domains[d], d), default="")
            self._class = schema.classes.get(best)
            self._properties = {
                name: (p, score)
                for name, (p, score) in self._matched(others).items()
                if self._class or score == 1 or not p.domains
            }
        self._entities: dict[tuple[str, str], str] = {}

    def text(self) -> str:
        words = self._words or ["row"]
        thing = self._class.label if self._class else " ".join(words)
        term = "ex:" + "".join(map(str.capitalize, words))
        lines = [_Line("a", term, reason="no class found in the ontology")]
        if self._class:
            lines = [_Line("a", self._short(self._class.iri))]
        label = self._name or self._id
        lines += [_Line("rdfs:label", _reference(label.name))] if label else []
        lines += [line for column in self._columns for line in self._lines(column)]
        key = self._id or self._name
        subject = f"ex:{_slug(thing)}/"
        subject += (
            _reference(key.name) if key else "-".join(_reference(c.name) for c in self._columns)
        )
        reason = "" if key else "no column identifies a row"
        maps = [self._map(_slug(thing), subject, lines, reason)]
        for (slug, column), class_ in sorted(self._entities.items()):
            inner = [_Line("a", self._short(class_))] if class_ else []
            inner.append(_Line("rdfs:label", _reference(column)))
            name = f"{slug}-{_slug(column)}" if slug != _slug(column) else slug
            maps.append(self._map(name, f"ex:{slug}/{_reference(column)}", inner, ""))
        used = {name: self._known[name] for name in sorted(self._used)} | {"ex": self._base}
        head = [
            f"# A mapping suggested for {self._table}. Check each line, correct it, and then:",
            f"#   sarag import {self._table} --as table --mapping THIS-FILE",
            "prefixes:",
            *(f"  {name}: {_quoted(iri)}" for name, iri in used.items()),
            "mappings:",
        ]
        return "\n".join([*head, *maps]) + "\n"

    def _map(self, name: str, subject: str, lines: Sequence[_Line], reason: str) -> str:
        rows = [
            f"      - [{', '.join(map(_quoted, filter(None, parts)))}]{_comment(why)}"
            for *parts, why in lines
        ]
        source = _quoted(f"{self._table}~csv")
        head = [f"  {_quoted(name)}:", f"    sources: [[{source}]]"]
        return "\n".join([*head, f"    s: {_quoted(subject)}{_comment(reason)}", "    po:", *rows])

    # Identifier and name

    def _name_column(self) -> Column | None:
        class_words = self._words[-1:] + (self._class.label.split()[-1:] if self._class else [])
        texts = [c for c in self._columns if c.values and not _is_number(c)]
        texts = [c for c in texts if c.mean_length < _LONG and not c.is_a(XSD.anyURI.value)]
        texts = [c for c in texts if c.values >= self._most / 2]
        candidates = [  # "name" before "film name" before "river name"
            *(
                column
                for word in _NAME_WORDS
                for more in ((), class_words, ("full", "preferred", "display"))
                for column in texts
                if word in column.words and column.words <= {word, *more}
            ),
            *(column for column in texts if column.words <= set(class_words)),
            *(
                column
                for column in texts
                if column.distinct == column.values == self._most
                if column.codes < MIN_FIT and not self._is_id_name(column)
            ),
        ]
        return next(iter(candidates), None)

    def _is_id_name(self, column: Column) -> bool:
        return not _ID_WORDS.isdisjoint(_ordered_words(column.name)[-1:])

    def _id_column(self) -> Column | None:
        """The first column with a value of its own in each row whose name says that it is an id."""
        unique = [c for c in self._columns if c.values == c.distinct == self._most and c.values]
        named = [c for c in unique if self._is_id_name(c)]
        if named:
            return min(named, key=lambda c: (len(c.words), self._columns.index(c)))
        return next((c for c in unique if c is self._name), None) or (unique[0] if unique else None)

    # Properties

    def _matched(self, columns: Sequence[Column]) -> dict[str, tuple[OntologyProperty, float]]:
        """Column -> property and similarity; each property once, those with a domain first."""
        scored = sorted(
            (-score, not property_.domains, number, property_.iri)
            for number, column in enumerate(columns)
            for property_ in self._schema.properties.values()
            if self._admits(property_, column)
            if (score := self._similarity(column, property_)) >= MIN_SCORE
        )
        matched: dict[str, tuple[OntologyProperty, float]] = {}
        given: set[str] = set()
        for score, _, number, iri in scored:
            name = columns[number].name
            if name not in matched and iri not in given:
                matched[name] = self._schema.properties[iri], -score
                given.add(iri)
        return matched

    def _similarity(self, column: Column, property_: OntologyProperty) -> float:
        """By the names of a property, or of what only it, or one with a domain, leads to."""
        every = self._schema.properties.values()
        is_range = column.words in self._range_words(property_) and (
            bool(property_.domains)
            or [p for p in every if column.words in self._range_words(p)] == [property_]
        )
        ranges = filter(None, map(self._schema.classes.get, property_.ranges))
        names = [content_words(name) for r in ranges for name in (r.label, *r.alternatives)]
        by_range = _BY_CLASS if column.words in names else _BY_RANGE
        return max(_similarity(column, property_), by_range if is_range else 0.0)

    def _range_words(self, property_: OntologyProperty) -> list[frozenset[str]]:
        """The words of each name of the classes that a property leads to, and the last word."""
        ranges = [self._schema.classes[r] for r in property_.ranges if r in self._schema.classes]
        names = [name for r in ranges for name in (r.label, *r.alternatives)]
        return [content_words(part) for name in names for part in (name, *name.split()[-1:])]

    def _admits(self, property_: OntologyProperty, column: Column) -> bool:
        classes = [self._class.iri] if self._class else []
        if not self._schema.may_belong(classes, property_.domains):
            return False
        if not _is_literal(property_):
            return not (_is_number(column) or column.is_a(XSD.boolean.value))
        patterned = [r for r in property_.ranges if r in LEXICAL]
        if not patterned or RDFS.Literal.value in property_.ranges:
            return True
        return any(column.fits.get(r, 0.0) >= 0.5 for r in patterned) or (
            any(r in _DATES for r in patterned) and any(column.is_a(d) for d in _DATES)
        )

    def _lines(self, column: Column) -> Iterator[_Line]:
        if column is self._name:
            return
        if column is self._id:
            if not column.is_a(XSD.anyURI.value):
                yield _Line(self._short(DCTERMS.identifier.value), _reference(column.name))
            return
        if not column.values:
            return
        property_, score = self._properties.get(column.name, (None, 0.0))
        if property_ is None:
            yield self._unmatched(column)
            return
        predicate = self._short(property_.iri)
        reason = "" if score >= 0.999 else f"{property_.label}? similarity {score:.2f}"
        if _is_literal(property_):
            yield self._literal(predicate, column, property_, reason)
        elif column.is_a(XSD.anyURI.value):
            yield _Line(predicate, f"{_reference(column.name)}~iri", reason=reason)
        else:
            known = [r for r in property_.ranges if r in self._schema.classes]
            class_ = self._schema.classes[known[0]] if len(known) == 1 else None
            yield _Line(predicate, self._entity(column, class_), reason=reason)

    def _entity(self, column: Column, class_: OntologyClass | None) -> str:
        slug = _slug(class_.label if class_ else column.name)
        self._entities[slug, column.name] = class_.iri if class_ else ""
        return f"ex:{slug}/{_reference(column.name)}~iri"

    def _unmatched(self, column: Column) -> _Line:
        if column.mean_length >= _PASSAGES:
            return _Line(self._short(SARAG.text.value), _reference(column.name))
        if column.words & _TEXT_WORDS or column.mean_length >= _LONG:
            return _Line(self._short(DCTERMS.description.value), _reference(column.name))
        words = _words(column.name) or ["value"]
        predicate = "ex:" + words[0] + "".join(word.capitalize() for word in words[1:])
        reason = "no property found in the ontology"
        if column.is_a(XSD.anyURI.value):
            return _Line(predicate, f"{_reference(column.name)}~iri", reason=reason)
        class_ = self._by_name.get(tuple(_ordered_words(column.name)))
        if class_ is not None and column.distinct < column.values and not _is_number(column):
            return _Line(predicate, self._entity(column, class_), reason=reason)
        return self._literal(predicate, column, None, reason)

    def _literal(
        self, predicate: str, column: Column, property_: OntologyProperty | None, reason: str
    ) -> _Line:
        type_ = self._short(_datatype(column, property_))
        return _Line(predicate, _reference(column.name), type_, reason)

    def _short(self, iri: str) -> str:
        """An IRI with a prefix, if one is known; empty without one."""
        for name, base in self._known.items():
            if base and iri.startswith(base) and re.fullmatch(r"[\w.-]+", iri[len(base) :]):
                self._used.add(name)
                return f"{name}:{iri[len(base) :]}"
        return iri


_DATES = tuple(XSD[name].value for name in ("date", "gYear", "gYearMonth", "dateTime"))
_NUMBERS = tuple(XSD[name].value for name in ("integer", "decimal"))


def _is_number(column: Column) -> bool:
    return any(column.is_a(d) for d in (*_NUMBERS, *_DATES))


def _is_literal(property_: OntologyProperty) -> bool:
    return property_.is_literal or any(map(is_datatype, property_.ranges))


def _datatype(column: Column, property_: OntologyProperty | None) -> str:
    """The datatype of a column: that of the property if the values fit, else what they fit."""
    ranges = property_.ranges if property_ else ()
    words = column.words | (content_words(property_.label) if property_ else frozenset())
    if XSD.string.value in ranges:
        return ""
    if fitting := [r for r in ranges if r in LEXICAL and column.is_a(r)]:
        return fitting[0]
    is_year = column.is_a(XSD.gYear.value) and column.mean_length == 4
    is_time = bool(words & _TIME_WORDS) or any(r in _DATES for r in ranges)
    order = [*_DATES[2:], _DATES[0], *([_DATES[1]] if is_year and is_time else []), *_NUMBERS]
    order += [XSD.boolean.value, XSD.anyURI.value]
    return next((datatype for datatype in order if column.is_a(datatype)), "")


def _similarity(column: Column, property_: OntologyProperty) -> float:
    """How much the name of a column is one of the names of a property, in [0, 1]."""
    names = (property_.label, local_name(property_.iri), *property_.alternatives)
    phrases = property_.phrases
    return max(
        [_overlap(column.words, content_words(name)) for name in names]
        + [0.85 * _overlap(column.words, content_words(phrase)) for phrase in phrases]
        + [_BY_PREFIX for name in names if _is_short_for(column.words, content_words(name))],
        default=0.0,
    )


def _is_short_for(left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether both are one word, of which the first is the beginning of the other."""
    short, word = "".join(left), "".join(right)
    return len(left) == len(right) == 1 and len(short) >= _SHORTEST and word.startswith(short)


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """1 for equal sets of words; less if one contains the other, and least if they overlap."""
    if not left & right:
        return 0.0
    share = len(left & right) / len(left | right)
    if share == 1:
        return 1.0
    return 0.5 + 0.4 * share if left <= right or right <= left else 0.6 * share


def _ordered_words(name: str) -> list[str]:
    return list(map(_singular, _words(name)))


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def _reference(column: str) -> str:
    return "$(" + re.sub(r"([\\()])", r"\\\1", column) + ")"


def _prefixes_of(schema: Schema) -> dict[str, str]:
    """Prefixes for the namespaces of a schema, named after their last words."""
    prefixes: dict[str, str] = {}
    for iri in (*schema.classes, *schema.properties):
        base = namespace(iri)
        if base and base not in prefixes.values():
            word = next(reversed(re.findall(r"[a-z]+", base.lower())), "ns")
            prefixes[word if word not in prefixes else f"{word}{len(prefixes)}"] = base
    return prefixes


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "thing"


def _comment(reason: str) -> str:
    return f"  # {reason}" if reason else ""


_PLAIN = re.compile(r"[A-Za-z$][\w$()~./:@-]*(?<!:)")


def _quoted(text: str) -> str:
    """A text as a scalar of YAML in a list."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


IMPORTER = Importer(
    "a table (CSV or TSV) with a mapping", blocks, options=TableOptions, suggest=suggested_mapping
)
